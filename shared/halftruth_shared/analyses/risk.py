"""Risk of disclosure by linking."""

from collections.abc import Iterator
from typing import Annotated, Any

from msgspec import Meta

from ..protocol.base import Message
from ..results.estimate import Columns
from .base import AttributeName, Items, Query, Result, numbers, texts


class RiskSummary(Message, frozen=True, kw_only=True):
    """Distribution of the risks of all people.

    `above` is the share of the people whose risk is above the limit; the other fields are the
    maximum, the median and the 90th and 99th percentiles.
    """

    maximum: float
    above: float
    median: float
    p90: float
    p99: float


class RiskCell(Message, frozen=True, kw_only=True):
    """People of equal quasi-identifiers and sensitive answer, as shares of all people.

    `given` is the share of this answer among all of equal quasi-identifiers; `quasi` the
    probability that their quasi-identifiers are re-identified, and `sensitive` that their answer
    is, if these are known. `risk` is that of a report re-identified column by column, null unless
    attributes are perturbed independently, and `whole_risk` that of a report re-identified as a
    whole.
    """

    values: Items
    share: float
    given: float
    quasi: float
    sensitive: float
    risk: float | None
    whole_risk: float


class RiskResult(Result, frozen=True, kw_only=True):
    """Risk of disclosure by linking, of the non-empty cells, the largest first.

    `pilot` is the number of people of a given table, null if the table is estimated from the
    survey's reports; `uncertain` is then the number of its cells that are not significantly above
    zero. `column_by_column` is null unless attributes are perturbed independently. For the answer
    about which a report reveals most beyond the table, `prior` is its probability without
    the report, and `posterior` the mean one with it.
    """

    query: "RiskQuery"
    pilot: int | None = None
    uncertain: int | None = None
    column_by_column: RiskSummary | None
    whole_reports: RiskSummary
    prior: float
    posterior: float
    cells: list[RiskCell]

    @property
    def columns(self) -> Columns:
        return [
            *texts(*self.query.quasi, self.query.sensitive),
            *numbers("share", "given", "quasi", "sensitive", "risk", "whole_risk"),
        ]

    @property
    def index(self) -> int:
        return len(self.query.quasi) + 1

    def rows(self) -> Iterator[tuple[Any, ...]]:
        for cell in self.cells:
            yield (
                *cell.values.values(),
                cell.share,
                cell.given,
                cell.quasi,
                cell.sensitive,
                cell.risk,
                cell.whole_risk,
            )


class RiskQuery(Query[RiskResult], frozen=True, kw_only=True):
    """Risk that someone who knows quasi-identifiers links a person with a sensitive answer.

    It is the share of an answer among people of equal quasi-identifiers, times the probability that
    their reports are re-identified as what they answered (Guo ch. 5).
    """

    quasi: Annotated[
        list[AttributeName],
        Meta(
            min_length=1,
            description="Attributes that others may know of a person.",
            extra_json_schema={"uniqueItems": True},
        ),
    ]
    sensitive: Annotated[AttributeName, Meta(description="The attribute that they do not.")]
    limit: Annotated[
        float, Meta(gt=0, le=1, examples=[0.5], description="Largest risk that is accepted.")
    ] = 0.5
