"""Charts of results: what they show, and how they are built from messages.

``halftruth_collector.charts.rendering`` draws them. It is imported where something is drawn, for
Matplotlib is too slow to load for those who draw nothing.
"""

from .planning import plan_chart
from .results import associations_chart, itemsets_chart, measures_chart, table_chart
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
    "associations_chart",
    "itemsets_chart",
    "measures_chart",
    "plan_chart",
    "table_chart",
]
