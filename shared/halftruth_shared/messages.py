"""The messages between client, collector and analyst, version 1.

The types are the schema: both sides decode straight into these structs, which refuse unknown
fields in what a client sends and whole kinds of wrong values (``true`` or ``1.0`` for 1). A
quantity that is undefined is null.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, ClassVar, Literal, Protocol
from uuid import UUID

import msgspec

Decision = Literal["frequent", "infrequent", "undecided"]
Selection = Literal["estimate", "lower", "upper", "bonferroni", "holm"]
Method = Literal["moment", "projected", "likelihood"]
Target = Literal["population", "respondents"]
ClassifierKind = Literal["naive-bayes", "decision-tree"]
Interval = tuple[float, float]
Items = dict[str, str]


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """Base of what a collector answers; a client ignores fields it does not know."""


class Request(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of what a client sends; a field nobody knows is an error."""


class MiningQuery(Request, frozen=True, kw_only=True):
    """What itemsets and rules are chosen by."""

    min_support: float
    max_length: int | None = None
    confidence: float = 0.95
    select: Selection = "estimate"
    target: Target = "population"


class ItemsetsQuery(MiningQuery, frozen=True, kw_only=True):
    """Which itemsets an analyst asks for; see ``Estimator.itemsets``."""

    estimate: Method = "moment"


class RulesQuery(MiningQuery, frozen=True, kw_only=True):
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
    estimate: Method = "moment"
    covariance: bool = False


class MeasuresQuery(Request, frozen=True, kw_only=True):
    """Whose association an analyst asks for; see ``Estimator.measures``."""

    attributes: list[str]
    present: Items = {}
    measures: list[str] | None = None
    confidence: float = 0.95
    target: Target = "population"


class AssociationsQuery(Request, frozen=True, kw_only=True):
    """Between which attributes an analyst asks for associations; None for all of them."""

    attributes: list[str] | None = None
    confidence: float = 0.95
    target: Target = "population"


class RandomizedQuery(Request, frozen=True, kw_only=True):
    """Whose measures among the reports themselves an analyst asks for."""

    attributes: list[str]
    present: Items = {}
    measures: list[str] | None = None
    confidence: float = 0.95


class PartialQuery(Request, frozen=True, kw_only=True):
    """Whose partial correlation an analyst asks for; see ``Estimator.partial_correlation``."""

    attributes: list[str]
    given: list[str]
    present: Items = {}
    confidence: float = 0.95
    target: Target = "population"


class LoglinearQuery(Request, frozen=True, kw_only=True):
    """Which loglinear model of the reports an analyst asks for, by its highest-order terms."""

    terms: list[list[str]]


class ClassifierQuery(Request, frozen=True, kw_only=True):
    """Which classifier an analyst asks for; see ``Estimator.classifier``."""

    predict: str
    kind: ClassifierKind = "naive-bayes"
    features: list[str] | None = None
    max_depth: int = 3
    min_support: float = 0.05
    confidence: float = 0.95
    estimate: Method = "likelihood"


class PlanQuery(Request, frozen=True, kw_only=True):
    """What a planner is asked of a survey before any field work; see ``plan``."""

    respondents: int
    support: float = 0.05
    lengths: list[int] | None = None
    half_width: float | None = None
    confidence: float = 0.95
    target: Target = "population"


class PlanRequest(PlanQuery, frozen=True, kw_only=True):
    """The same with the survey, which need not have been published."""

    survey: msgspec.Raw


class Report(Request, frozen=True, kw_only=True):
    """One perturbed record, with an invitation (hexadecimal) where the survey asks for one."""

    id: UUID
    values: list[int]
    invitation: str | None = None


class ReportBatch(Request, frozen=True, kw_only=True):
    """Reports that are counted together or not at all."""

    digest: str
    reports: list[Report]


class SealedReport(Request, frozen=True, kw_only=True):
    """One perturbed record, with its invitation encrypted to the collector's key (base64)."""

    id: UUID
    sealed: bytes


class SealedBatch(Request, frozen=True, kw_only=True):
    """Sealed reports that are counted together or not at all."""

    digest: str
    reports: list[SealedReport]


class Receipt(Message, frozen=True, kw_only=True):
    """How many reports of a batch were counted now, and how many had been before."""

    accepted: int
    duplicates: int


class Terms(Request, frozen=True, kw_only=True):
    """How a collector takes the reports of a survey.

    `invitations` says whether each report needs a single-use token; `sealing_key` is the X25519
    public key (hexadecimal) that every report is encrypted to, None where none is.
    """

    invitations: bool = False
    sealing_key: str | None = None


class Signature(Request, frozen=True, kw_only=True):
    """An operator's Ed25519 signature of a survey's digest and terms, both in hexadecimal."""

    key: str
    value: str


class SignedTerms(Request, frozen=True, kw_only=True):
    """How reports are to be taken from now on, and the signature of that."""

    terms: Terms
    signature: Signature | None = None


class PublishedSurvey(Message, frozen=True, kw_only=True):
    """A survey in canonical JSON with its digest, its terms and who signed them."""

    survey: msgspec.Raw
    digest: str
    status: Literal["open", "closed"] = "open"
    terms: Terms = Terms()
    signature: Signature | None = None


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


class Tabular(Protocol):
    """A result that is also a table, for CSV and data frames."""

    @property
    def columns(self) -> tuple[str, ...]: ...

    def rows(self) -> Iterator[tuple[Any, ...]]: ...


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
    """An itemset with the estimate of its support.

    Standard error and interval are always those of the moment estimate.
    """

    items: Items
    support: float
    standard_error: float | None
    interval: Interval | None
    decision: Decision


class ItemsetsResult(Result, frozen=True, kw_only=True):
    """Itemsets, shortest first and most frequent first within a length.

    `candidates` counts the itemsets that could have been examined, before any was ruled out.
    """

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
    candidates: int
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


class RuleResult(Result, frozen=True, kw_only=True):
    """One rule."""

    query: RuleQuery
    rule: RuleEstimate

    @property
    def columns(self) -> tuple[str, ...]:
        """As of :class:`RulesResult`."""
        return _rule_columns([measure.name for measure in self.rule.measures])

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """One row of `columns`."""
        yield _rule_row(self.rule)


class RulesResult(Result, frozen=True, kw_only=True):
    """Rules, those with bounds first, then in the order asked for."""

    query: RulesQuery
    rules: list[RuleEstimate]

    @property
    def columns(self) -> tuple[str, ...]:
        """The rule and its bounds, then four columns for each measure asked for."""
        return _rule_columns(self.query.measures)

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """One row of `columns` for each rule, its two sides as dicts."""
        yield from map(_rule_row, self.rules)


def _rule_columns(measures: list[str]) -> tuple[str, ...]:
    parts = ("", "_standard_error", "_lower", "_upper")
    return (
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
        *(f"{name}{part}" for name in measures for part in parts),
    )


def _rule_row(rule: RuleEstimate) -> tuple[Any, ...]:
    fieller = rule.confidence_fieller
    row = [
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
    ]
    for measure in rule.measures:
        row += [measure.value, measure.standard_error, *_ends(measure.interval)]
    return tuple(row)


class TableCell(Message, frozen=True, kw_only=True):
    """One cell of a reconstructed table.

    Standard error and interval are always those of the moment estimate.
    """

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
        yield from map(_measure_row, self.measures)


class Association(Message, frozen=True, kw_only=True):
    """Concentration τ of two attributes: the share by which the gini index of the second falls
    when the first is known.
    """

    row: str
    column: str
    estimate: MeasureEstimate


class AssociationsResult(Result, frozen=True, kw_only=True):
    """Concentration τ of every ordered pair of attributes, row by row."""

    columns: ClassVar[tuple[str, ...]] = ("row", "column", *MeasuresResult.columns)

    query: AssociationsQuery
    attributes: list[str]
    associations: list[Association]

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """One row of `columns` for each pair."""
        for found in self.associations:
            yield (found.row, found.column, *_measure_row(found.estimate))


class RandomizedMeasure(Message, frozen=True, kw_only=True):
    """A measure of the reports themselves, and what it says of the answers.

    `never_grows`: distortion can only have brought it nearer to that of independence.
    `order_preserved`: pairs of attributes distorted alike are in the order of the answers.
    """

    estimate: MeasureEstimate
    never_grows: bool
    order_preserved: bool
    statement: str


class RandomizedResult(Result, frozen=True, kw_only=True):
    """Measures of the reports themselves."""

    columns: ClassVar[tuple[str, ...]] = (
        *MeasuresResult.columns,
        "never_grows",
        "order_preserved",
        "statement",
    )

    query: RandomizedQuery
    measures: list[RandomizedMeasure]

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """One row of `columns` for each measure."""
        for measure in self.measures:
            yield (
                *_measure_row(measure.estimate),
                measure.never_grows,
                measure.order_preserved,
                measure.statement,
            )


class PartialResult(Result, frozen=True, kw_only=True):
    """Partial correlation of two attributes: reconstructed, and of the reports themselves."""

    columns: ClassVar[tuple[str, ...]] = ("of", *MeasuresResult.columns)

    query: PartialQuery
    reconstructed: MeasureEstimate
    randomized: RandomizedMeasure

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """One row of `columns` for the answers, and one for the reports."""
        yield ("answers", *_measure_row(self.reconstructed))
        yield ("reports", *_measure_row(self.randomized.estimate))


class FittedCell(Message, frozen=True, kw_only=True):
    """A cell of a table of reports under a model; residual (n − m)/√m, null where m is 0."""

    values: Items
    count: int
    fitted: float
    residual: float | None


class LoglinearResult(Result, frozen=True, kw_only=True):
    """A loglinear model of the reports, tested.

    `preserved`: if the model holds for the answers it holds for the reports, so that a small
    p-value speaks against it. A large p-value speaks for nothing. The p-values are null where the
    model fits any counts.
    """

    query: LoglinearQuery
    chi_squared: float
    g_squared: float
    degrees_of_freedom: int
    chi_squared_p: float | None
    g_squared_p: float | None
    preserved: bool
    statement: str
    cells: list[FittedCell]

    @property
    def attributes(self) -> list[str]:
        """The attributes of the table, in the order of its axes."""
        return list(dict.fromkeys(name for term in self.query.terms for name in term))

    @property
    def columns(self) -> tuple[str, ...]:
        """The attributes, then the numbers of a cell."""
        return (*self.attributes, "count", "fitted", "residual")

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """One row of `columns` for each cell."""
        for cell in self.cells:
            yield (*cell.values.values(), cell.count, cell.fitted, cell.residual)


class LengthPlan(Message, frozen=True, kw_only=True):
    """What the itemsets of one length will be known to.

    `standard_error` and `half_width` are those of the median itemset at the support asked about,
    when everybody else is spread evenly; `worst_…` those of the worst itemset among the worst
    people. `smallest_support` is the smallest one that half of all surveys can tell from zero,
    null if there is none.
    `respondents_needed` is for the half-width asked about. `examined` of `possible` sets of
    attributes were looked at.
    """

    length: int
    standard_error: float
    half_width: float
    worst_standard_error: float
    worst_half_width: float
    smallest_support: float | None
    respondents_needed: int | None
    examined: int
    possible: int


class MechanismPlan(Message, frozen=True, kw_only=True):
    """What one mechanism will give; `own` if it is the survey's.

    `answer_amplification` is the largest one of a single answer, when nothing is known of the
    others; null where it has none. Mechanisms of one γ share it out differently.
    """

    kind: str
    own: bool
    answer_amplification: float | None
    lengths: list[LengthPlan]


class PlanResult(Message, frozen=True, kw_only=True):
    """What a survey will tell, mechanism by mechanism at the same amplification γ.

    `gamma` is null where the survey's own mechanism has none, and then no other is compared with
    it, or where it is beyond floating point.
    """

    columns: ClassVar[tuple[str, ...]] = (
        "mechanism",
        "own",
        "answer_amplification",
        *LengthPlan.__struct_fields__,
    )

    query: PlanQuery
    gamma: float | None
    mechanisms: list[MechanismPlan]
    recommended: str
    reason: str

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """One row of `columns` for each mechanism and length."""
        for mechanism in self.mechanisms:
            for length in mechanism.lengths:
                yield (
                    mechanism.kind,
                    mechanism.own,
                    mechanism.answer_amplification,
                    *msgspec.structs.astuple(length),
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


def prepare(kind: type[msgspec.Struct]) -> None:
    """Let msgspec look at a type, and at all types derived from it.

    It does that when it first decodes one, and two threads that do so at the same moment crash the
    process. So each is looked at where it is defined, before there are threads.
    """
    msgspec.json.Decoder(kind)
    for derived in kind.__subclasses__():
        prepare(derived)


def _ends(interval: Interval | None) -> tuple[float | None, float | None]:
    return (None, None) if interval is None else interval


def _measure_row(measure: MeasureEstimate) -> tuple[Any, ...]:
    return (
        measure.name,
        measure.value,
        measure.standard_error,
        *_ends(measure.interval),
        *_ends(measure.chebyshev_interval),
        measure.undefined,
    )


prepare(Message)
prepare(Request)
