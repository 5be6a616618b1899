"""The messages between client, collector and analyst, version 1.

The types are the schema: both sides decode straight into these structs, which refuse unknown
fields in what a client sends and whole kinds of wrong values (``true`` or ``1.0`` for 1). A
quantity that is undefined is null.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, ClassVar, Literal
from uuid import UUID

import msgspec

Decision = Literal["frequent", "infrequent", "undecided"]
Selection = Literal["estimate", "lower", "upper"]
Target = Literal["population", "respondents"]
Interval = tuple[float, float]
Items = dict[str, str]


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """Base of what a collector answers; a client ignores fields it does not know."""


class Request(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of what a client sends; a field nobody knows is an error."""


class ItemsetsQuery(Request, frozen=True, kw_only=True):
    """Which itemsets an analyst asks for; see ``Estimator.itemsets``."""

    min_support: float
    max_length: int | None = None
    confidence: float = 0.95
    select: Selection = "estimate"
    target: Target = "population"


class RulesQuery(ItemsetsQuery, frozen=True, kw_only=True):
    """Which rules an analyst asks for; see ``Estimator.rules``."""

    min_confidence: float
    min_lift: float | None = None
    measures: list[str] = []
    sort: str = "confidence"
    limit: int | None = None


class RuleQuery(Request, frozen=True, kw_only=True):
    """Which one rule an analyst asks for; see ``Estimator.rule``."""

    antecedent: Items
    consequent: Items
    measures: list[str] | None = None
    confidence: float = 0.95
    target: Target = "population"


class TableQuery(Request, frozen=True, kw_only=True):
    """Which table an analyst asks for, and whether with the covariance of its cells."""

    attributes: list[str]
    confidence: float = 0.95
    target: Target = "population"
    covariance: bool = False


class MeasuresQuery(Request, frozen=True, kw_only=True):
    """Whose association an analyst asks for; see ``Estimator.measures``."""

    attributes: list[str]
    present: Items = {}
    names: list[str] | None = None
    confidence: float = 0.95
    target: Target = "population"


class Report(Request, frozen=True, kw_only=True):
    """One perturbed record."""

    id: UUID
    values: list[int]


class ReportBatch(Request, frozen=True, kw_only=True):
    """Reports that are counted together or not at all."""

    digest: str
    reports: list[Report]


class Receipt(Message, frozen=True, kw_only=True):
    """How many reports of a batch were counted now, and how many had been before."""

    accepted: int
    duplicates: int


class PublishedSurvey(Message, frozen=True, kw_only=True):
    """A survey in canonical JSON with its digest."""

    survey: msgspec.Raw
    digest: str
    status: Literal["open", "closed"] = "open"


class SurveySummary(Message, frozen=True, kw_only=True):
    """One line of the list of surveys."""

    id: str
    title: str
    digest: str
    status: Literal["open", "closed"]


class SurveyList(Message, frozen=True, kw_only=True):
    """The surveys of a collector."""

    surveys: list[SurveySummary]


class Result(Message, frozen=True, kw_only=True):
    """What every result says of where it comes from."""

    survey: str
    digest: str
    reports: int
    as_of: datetime


class Precision(Message, frozen=True, kw_only=True):
    """What the itemsets of one length can be told apart by.

    `half_width` is the typical half-width of an interval, which is also the smallest support that
    can be told from zero; null where undefined. `verdict` says in words what it means.
    """

    length: int
    examined: int
    half_width: float | None
    usable: bool
    verdict: str


class ItemsetEstimate(Message, frozen=True, kw_only=True):
    """An itemset with the estimate of its support."""

    items: Items
    support: float
    standard_error: float | None
    interval: Interval | None
    decision: Decision


class ItemsetsResult(Result, frozen=True, kw_only=True):
    """Itemsets, shortest first and most frequent first within a length."""

    columns: ClassVar[tuple[str, ...]] = (
        "itemset",
        "length",
        "support",
        "standard_error",
        "lower",
        "upper",
        "decision",
    )

    query: ItemsetsQuery
    precision: list[Precision]
    itemsets: list[ItemsetEstimate]

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """One row of `columns` for each itemset, its items as a dict."""
        for itemset in self.itemsets:
            yield (
                itemset.items,
                len(itemset.items),
                itemset.support,
                itemset.standard_error,
                *_ends(itemset.interval),
                itemset.decision,
            )


#: Shapes of a set of ratios: between two ends, outside of two ends, or every ratio.
FiellerKind = Literal["interval", "outside", "everything"]


class FiellerSet(Message, frozen=True, kw_only=True):
    """Fieller's confidence set of a ratio.

    An *interval* from `lower` to `upper`; or everything *outside* of them, so up to `lower` and
    from `upper` on; or *everything*, without ends.
    """

    kind: FiellerKind
    lower: float | None
    upper: float | None


class MeasureEstimate(Message, frozen=True, kw_only=True):
    """An association measure; where it is undefined, why."""

    name: str
    value: float | None = None
    standard_error: float | None = None
    interval: Interval | None = None
    chebyshev_interval: Interval | None = None
    undefined: str | None = None


class RuleEstimate(Message, frozen=True, kw_only=True):
    """A rule with the estimates of its support and its confidence.

    `confidence` is the plain ratio. `confidence_mean` is its expected value to second order, so
    the ratio and its estimated bias together, and the centre of the Chebyshev
    `confidence_interval` (Guo Results 2, 3). These are null where the antecedent is not clearly
    there. `confidence_fieller` is tighter, and says so where nothing is known.
    """

    antecedent: Items
    consequent: Items
    support: float
    support_standard_error: float | None
    support_interval: Interval | None
    confidence: float
    confidence_mean: float | None
    confidence_standard_error: float | None
    confidence_interval: Interval | None
    confidence_fieller: FiellerSet | None
    measures: list[MeasureEstimate] = []


class RulesResult(Result, frozen=True, kw_only=True):
    """Rules, those with bounds first, most confident first."""

    columns: ClassVar[tuple[str, ...]] = (
        "antecedent",
        "consequent",
        "support",
        "support_standard_error",
        "support_lower",
        "support_upper",
        "confidence",
        "confidence_mean",
        "confidence_standard_error",
        "confidence_lower",
        "confidence_upper",
        "fieller_kind",
        "fieller_lower",
        "fieller_upper",
    )

    query: RulesQuery
    rules: list[RuleEstimate]

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """One row of `columns` for each rule, its two sides as dicts."""
        for rule in self.rules:
            fieller = rule.confidence_fieller
            yield (
                rule.antecedent,
                rule.consequent,
                rule.support,
                rule.support_standard_error,
                *_ends(rule.support_interval),
                rule.confidence,
                rule.confidence_mean,
                rule.confidence_standard_error,
                *_ends(rule.confidence_interval),
                *((fieller.kind, fieller.lower, fieller.upper) if fieller else (None, None, None)),
            )


class TableCell(Message, frozen=True, kw_only=True):
    """One cell of a reconstructed table."""

    values: Items
    support: float
    standard_error: float | None
    interval: Interval | None


class TableResult(Result, frozen=True, kw_only=True):
    """A reconstructed table, cells in row-major order."""

    query: TableQuery
    condition_number: float
    cells: list[TableCell]
    covariance: list[list[float]] | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The attributes, then the numbers of a cell."""
        return (*self.query.attributes, "support", "standard_error", "lower", "upper")

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """One row of `columns` for each cell."""
        for cell in self.cells:
            yield (*cell.values.values(), cell.support, cell.standard_error, *_ends(cell.interval))


class MeasuresResult(Result, frozen=True, kw_only=True):
    """Association measures of some attributes."""

    columns: ClassVar[tuple[str, ...]] = (
        "measure",
        "value",
        "standard_error",
        "lower",
        "upper",
        "chebyshev_lower",
        "chebyshev_upper",
        "undefined",
    )

    query: MeasuresQuery
    measures: list[MeasureEstimate]

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """One row of `columns` for each measure."""
        for measure in self.measures:
            yield (
                measure.name,
                measure.value,
                measure.standard_error,
                *_ends(measure.interval),
                *_ends(measure.chebyshev_interval),
                measure.undefined,
            )


class CountedReport(Message, frozen=True, kw_only=True):
    """How often one perturbed record was reported."""

    values: list[int]
    count: int


class CountsResult(Result, frozen=True, kw_only=True):
    """The counts of perturbed records that everything else is computed from."""

    columns: list[str]
    shape: list[int]
    cells: list[CountedReport]


class Problem(Message, frozen=True, kw_only=True):
    """What went wrong (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    field: str | None = None
    report: int | None = None


def _ends(interval: Interval | None) -> tuple[float | None, float | None]:
    return (None, None) if interval is None else interval
