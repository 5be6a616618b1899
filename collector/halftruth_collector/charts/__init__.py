"""Charts of results: what they show, and the charts of plans, schemes and attacks.

``halftruth_collector.charts.rendering`` draws them. It is imported where something is drawn, for
Matplotlib is too slow to load for those who draw nothing.
"""

from .comparison import COMPARED, compare_chart
from .noise import attack_chart
from .planning import plan_chart
from .rivals import RIVAL_CHARTS
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
    "COMPARED",
    "RIVAL_CHARTS",
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
    "attack_chart",
    "compare_chart",
    "plan_chart",
]
