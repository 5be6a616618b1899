"""Association measures of two questions, and the map of all pairs."""

from typing import Annotated, Any, ClassVar

import msgspec
from msgspec import Meta

from ..results import Result
from ..results.caveats import Sentences, folded
from .base import KEPT, AnsweredQuery, AttributeName, MeasureNames, MergeOf, Presence

#: Attributes whose association is estimated.
Associated = Annotated[
    list[AttributeName],
    Meta(
        min_length=2,
        extra=KEPT,
        description="Two or more attributes. Two have all measures; more have the named measures,"
        " or the map of all pairs. By default, the map of all attributes.",
        extra_json_schema={"uniqueItems": True},
    ),
]


class MeasuresQuery(AnsweredQuery[Result[Any]], frozen=True, kw_only=True):
    """Association measures of two questions, or the map of associations of every pair.

    The result of two attributes has all measures of their table, and the result of more attributes
    the requested measures. The map has Cramér's V of every pair, corrected for bias. Its p-value is
    that of the cell with the strongest evidence against independence, with Bonferroni's correction
    for the cells of the pair. Two scales, which are ordered questions of three answers or more,
    have their *polychoric* correlation there, with the test that it is 0, and among their measures
    also the correlation of ranks (*score_correlation*), whose p-value is of the test for trend.
    Intervals of ratios are on the logarithmic scale. Nonnegative measures that are 0 at
    independence are corrected for bias and truncated at 0.
    """

    needs_many_tables: ClassVar[bool] = True

    attributes: Associated | None = None
    present: Presence = msgspec.field(default_factory=dict)
    measures: MeasureNames | None = None
    merge: MergeOf = msgspec.field(default_factory=dict)

    @property
    def maps_pairs(self) -> bool:
        """True if the query requests the map of pairs."""
        single = len(self.attributes or ()) == 2 or self.measures is not None or self.present
        return not single


#: Sentences of the caveats of this analysis.
CAVEATS: Sentences = {
    "merged": lambda labels, groups: folded(
        "Rare answers were merged for V, by their shares alone: {}. The p-values are for all"
        " answers.",
        [*map(labels.quoted_items, groups)],
        "groups of answers",
    ),
    "cramers_v": lambda _: (
        "Cramér’s V is the root of χ²/N over its largest value; that of no association is 0, since"
        " its bias is removed. A pair that is not significant may still be associated; the reports"
        " cannot show it."
    ),
    "polychoric": lambda _: (
        "The polychoric correlation is that of two normal variables behind the ordered answers,"
        " which this assumes. Rare neighbouring answers are merged for it, which changes no such"
        " correlation. Its p-value is of the score test that it is 0."
    ),
    "by design": lambda labels, pairs: folded(
        "Not tested: {}. One is asked after certain answers to the other, so that they depend on"
        " each other by design.",
        [" and ".join(map(labels.quoted, pair)) for pair in pairs],
        "pairs of questions",
    ),
    "presence": lambda labels, answers: f"Presence means {labels.quoted_items(answers)}.",
}
