"""Charts: what they show; ``drawing`` draws them, which takes Matplotlib."""

from .specification import (
    Axis,
    Chart,
    Curve,
    CurveChart,
    EstimateChart,
    HeatMap,
    Mark,
    Panel,
    Reference,
    Scale,
)

__all__ = [
    "Axis",
    "Chart",
    "Curve",
    "CurveChart",
    "EstimateChart",
    "HeatMap",
    "Mark",
    "Panel",
    "Reference",
    "Scale",
]
