"""Numbers and itemsets in words, the same here as in notebooks."""

from halftruth_shared.analyses.wording import (
    GAP,
    UNDEFINED,
    half_width,
    items,
    judged,
    number,
    p_value,
    percent,
    places,
    ratio,
    ratio_set,
    share,
    share_interval,
    value,
    value_interval,
)

__all__ = [
    "GAP",
    "UNDEFINED",
    "half_width",
    "items",
    "judged",
    "number",
    "p_value",
    "percent",
    "places",
    "ratio",
    "ratio_set",
    "share",
    "share_interval",
    "value",
    "value_interval",
]
