"""Cross-tabulation of two to four questions."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from ..results import Result
from ..results.caveats import Sentences, folded, listed
from ..results.wording import percent
from .base import KEPT, CovarianceOf, MergeOf, QuestionName, SampleQuery

#: Base of the shares: all respondents, or the respondents of a row or of a column.
Percentages = Literal["joint", "row", "column"]


class CrosstabQuery(SampleQuery[Result[Any]], frozen=True, kw_only=True):
    """Cross-tabulation of two to four questions, each percentage with its interval.

    *share* is the share of a cell in its base, with its score set, which is an interval only if the
    base is significantly above zero. `statistic` is the departure of the cell from
    independence within its layer, in standard errors, and `p_value` is of the test of
    independence. *base* is the share of a base among all respondents, and *people* its estimated
    number of respondents, with an interval for exactly these respondents; a null key stands for
    any answer. The result of two questions includes measures of association; of two scales, also
    their *polychoric* correlation, and the correlation of ranks with the test for trend.
    """

    attributes: Annotated[
        list[QuestionName],
        Meta(
            min_length=2,
            max_length=4,
            description="Questions of the rows, of the columns, and of up to two layers. The"
            " question of the rows or of the columns can have several answers.",
            extra_json_schema={"uniqueItems": True},
            extra={**KEPT, "places": ("rows", "columns", "layers", "further layers")},
        ),
    ]
    percentages: Annotated[
        Percentages,
        Meta(
            description="Cells are shares of all people, or of the people in the same row or"
            " column (and layer)."
        ),
    ] = "row"
    merge: MergeOf = msgspec.field(default_factory=dict)
    covariance: CovarianceOf = False


#: Sentences of the caveats of this analysis.
CAVEATS: Sentences = {
    "base of shares": lambda labels, questions: (
        "Each share is among people with the same answer to"
        f" {listed([*map(labels.quoted, questions)])}."
        if questions
        else "Each share is among all people."
    ),
    "departures": lambda _, rate, layers: (
        "▲ significantly more and ▼ significantly fewer people than under independence"
        f"{' within each layer' * layers} (false discovery rate {percent(rate)} among the cells)."
    ),
    "open groups": lambda labels, groups: folded(
        "Shares within these groups can have any value, because the size of the group is not"
        " significantly above zero: {}.",
        [*map(labels.quoted_items, groups)],
        "groups",
    ),
    "several options": lambda labels, question: (
        f"{labels.quoted(question)} allows several options, so shares of different options do not"
        f" add up to {percent(1)}. The test is that of the most significant option."
    ),
}
