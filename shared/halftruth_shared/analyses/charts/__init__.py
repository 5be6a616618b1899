"""Charts: what they show; ``drawing`` draws them, which takes Matplotlib."""

from .specification import (
    Axis,
    BarChart,
    BarGroup,
    Chart,
    Curve,
    CurveChart,
    HeatMap,
    Mark,
    Panel,
    Reference,
    Scale,
    WhiskerChart,
)

__all__ = [
    "Axis",
    "BarChart",
    "BarGroup",
    "Chart",
    "Curve",
    "CurveChart",
    "HeatMap",
    "Mark",
    "Panel",
    "Reference",
    "Scale",
    "WhiskerChart",
]
