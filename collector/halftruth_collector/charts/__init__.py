"""Charts: what they show; those of plans, schemes and attacks are in modules of their own.

``halftruth_collector.charts.rendering`` draws them. It is imported where something is drawn, for
Matplotlib is too slow to load for those who draw nothing.
"""

from .specification import (
    Axis,
    BarChart,
    BarGroup,
    Chart,
    Curve,
    CurveChart,
    Estimate,
    HeatMap,
    Panel,
    Reference,
    WhiskerChart,
)

__all__ = [
    "Axis",
    "BarChart",
    "BarGroup",
    "Chart",
    "Curve",
    "CurveChart",
    "Estimate",
    "HeatMap",
    "Panel",
    "Reference",
    "WhiskerChart",
]
