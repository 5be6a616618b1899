"""Risk of disclosure by linking."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from msgspec import Meta

from ..protocol.base import Message
from .base import AttributeName, Columns, Items, Query, Result, numbers, texts


class RiskSummary(Message, frozen=True, kw_only=True):
    """Risks of all people.

    `above` is the share of the people whose risk is above the limit; half, nine tenths and 99 in a
    hundred of the people have at most the other risks.
    """

    maximum: float
    above: float
    median: float
    ninth_decile: float
    last_percentile: float


class RiskCell(Message, frozen=True, kw_only=True):
    """People of equal quasi-identifiers and sensitive answer, as shares of all people.

    `given` is the share of this answer among all of equal quasi-identifiers; `quasi` the chance
    that their quasi-identifiers are put back rightly, and `sensitive` that their answer is where
    these are known. `risk` is that of a report that is put back column by column, null where
    attributes are not perturbed one by one, and `whole_risk` that of a report put back at once.
    """

    values: Items
    share: float
    given: float
    quasi: float
    sensitive: float
    risk: float | None
    whole_risk: float


class RiskResult(Result, frozen=True, kw_only=True):
    """Risk of disclosure by linking, of the cells where somebody is, the largest first.

    `pilot` is the number of people of the table looked at, null where that is an estimate from
    the survey's reports; of so many of its cells it is then `uncertain` whether anybody is there.
    `column_by_column` is null where attributes are not perturbed one by one. Of the answer of
    which a report tells most beyond the table, `believed` is how likely it is without any report,
    and `told` how likely, on average over their reports, of somebody whose report is known.
    """

    query: "RiskQuery"
    pilot: int | None = None
    uncertain: int | None = None
    column_by_column: RiskSummary | None
    whole_reports: RiskSummary
    believed: float
    told: float
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

    It is the share of an answer among people of equal quasi-identifiers, times the chance that
    reports of theirs are put back to what they answered (Guo ch. 5).
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
    estimate: Annotated[
        Literal["likelihood", "projected"],
        Meta(
            description="Whose risks: those of the best guess from all questions together, or of"
            " the table without negative shares that is nearest to the unbiased estimate."
        ),
    ] = "projected"
