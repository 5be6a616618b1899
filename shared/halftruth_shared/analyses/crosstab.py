"""Cross-tabulation of two to four questions."""

from collections.abc import Iterator, Sequence
from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from ..protocol.base import Message
from ..results.estimate import Estimate, Reliability
from .base import (
    CovarianceOf,
    EstimatesResult,
    Items,
    MeasureEstimate,
    QuestionName,
    Row,
    SampleQuery,
)

#: Base of the shares: everybody, or those with a row's or a column's answer.
Percentages = Literal["joint", "row", "column"]


class CrosstabBase(Message, frozen=True, kw_only=True):
    """Base of percentages: those with some answers; without any, everybody.

    `people` is the estimated number of respondents among them, with the interval for exactly these
    respondents; that of `share` is for the requested target.
    """

    values: Items
    share: Estimate
    people: Estimate


class CrosstabCell(Estimate, frozen=True, kw_only=True):
    """Share of one cell among its base.

    Its set is Fieller's, which is no interval unless the base is significantly above 0, and
    `standard_error` that of the delta method, null there. `residual` is the departure from
    independent answers, among those of the same further answers, in standard errors, `p_value` that
    of its test, and `adjusted` the smallest false discovery rate at which it is significant among
    the cells.
    """

    values: Items
    residual: float | None
    adjusted: float | None


class IndependenceOutcome(Message, frozen=True, kw_only=True):
    """Test of independence of the first two questions in the population, in all layers together.

    `statistic` is approximately χ² distributed with `degrees_of_freedom` under independence, and
    `p_value` the probability of a larger one. A small p-value is evidence against independence; a
    large one proves nothing. If nothing can be tested both are null, and `undefined` gives the
    reason.
    """

    statistic: float | None
    degrees_of_freedom: int
    p_value: float | None
    undefined: str | None
    statement: str


class CrosstabResult(EstimatesResult, frozen=True, kw_only=True):
    """A cross-tabulation, cells in row-major order.

    `verdict` says in words whether its shares are precise enough to be used. There is a
    test of independence in the population, in all layers together; of two questions there are
    measures of association, too.

    With `multiple_response`, a question with several answers, there is a cell for each of its
    options, of those who chose it. The test is then that of the option with the smallest p-value,
    multiplied by the number of options (Bonferroni), and there are no measures.
    """

    query: "CrosstabQuery"
    reliability: Reliability
    verdict: str
    multiple_response: QuestionName | None = None
    bases: list[CrosstabBase]
    cells: list[CrosstabCell]
    independence: IndependenceOutcome | None
    measures: list[MeasureEstimate]

    @property
    def base_of_each(self) -> list[CrosstabBase]:
        """The base of each cell's share, cell by cell."""
        names = list(self.bases[0].values)
        known = {tuple(base.values.values()): base for base in self.bases}
        return [known[tuple(cell.values[name] for name in names)] for cell in self.cells]

    QUANTITY: ClassVar = "share"
    OTHERS: ClassVar = (
        ("base", Estimate),
        ("people", Estimate),
        ("residual", float),
        ("adjusted_p_value", float),
    )

    @property
    def keys(self) -> Sequence[str]:
        return self.query.attributes

    def estimates(self) -> Iterator[Row]:
        for cell, base in zip(self.cells, self.base_of_each, strict=True):
            yield (
                tuple(cell.values.values()),
                cell,
                (base.share, base.people, cell.residual, cell.adjusted),
            )


class CrosstabQuery(SampleQuery[CrosstabResult], frozen=True, kw_only=True):
    """Cross-tabulation of two to four questions, each percentage with its interval."""

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
    covariance: CovarianceOf = False
