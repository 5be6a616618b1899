"""Cross-tabulation of two to four questions."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from ..results import Result
from .base import CovarianceOf, MergeOf, QuestionName, SampleQuery

#: Base of the shares: all respondents, or the respondents of a row or of a column.
Percentages = Literal["joint", "row", "column"]


class CrosstabQuery(SampleQuery[Result[Any]], frozen=True, kw_only=True):
    """Cross-tabulation of two to four questions, each percentage with its interval.

    *share* is the share of a cell in its base, with Fieller's confidence set, which is an interval
    only if the base is significantly above zero. `statistic` is the departure of the cell from
    independence within its layer, in standard errors, and `p_value` is of the test of
    independence. *base* is the share of a base among all respondents, and *people* its estimated
    number of respondents, with an interval for exactly these respondents; a null key stands for
    any answer. The result of two questions includes measures of association.
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
