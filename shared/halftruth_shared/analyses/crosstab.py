"""Cross-tabulation of two to four questions."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from ..results import Result
from .base import CovarianceOf, MergeOf, QuestionName, SampleQuery

#: Base of the shares: everybody, or those with a row's or a column's answer.
Percentages = Literal["joint", "row", "column"]


class CrosstabQuery(SampleQuery[Result[Any]], frozen=True, kw_only=True):
    """Cross-tabulation of two to four questions, each percentage with its interval.

    *share* is that of a cell among its base. Its set is Fieller's, which is no interval unless the
    base is significantly above zero. `statistic` is its departure from independent answers in
    standard errors, among those of the same further answers, and `p_value` that of its test. *base*
    is the share of a base among everybody, and *people* the estimated number of respondents in it,
    with an interval for exactly these respondents; where a key is null they are those with any
    answer to it. Of two questions there are measures of association, too.
    """

    attributes: Annotated[
        list[QuestionName],
        Meta(
            min_length=2,
            max_length=4,
            description="Which questions: that of the rows, that of the columns, and up to two"
            " whose answers make layers. One of the first two may have several answers.",
            extra_json_schema={"uniqueItems": True},
            extra={"places": ("rows", "columns", "layers", "further layers")},
        ),
    ]
    percentages: Annotated[
        Percentages,
        Meta(
            description="Of whom the cells are shares: of everybody, or of those in the same row or"
            " the same column (and layer)."
        ),
    ] = "row"
    merge: MergeOf = msgspec.field(default_factory=dict)
    covariance: CovarianceOf = False
