"""Simulated surveys of populations with known truth, and error rates of their results.

Every analysis is run for every survey. Intervals are compared with the same row of the same
analysis of a population that answered without perturbation; claims are judged by that truth. Only
`read` knows the shape of results.
"""

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import msgspec
import numpy as np
from halftruth_collector.analyses import ANALYSES, AnalysisContext, answer, identified
from halftruth_collector.analyses.answering import answer_pilot
from halftruth_collector.analyses.base import is_in_groups
from halftruth_collector.analyses.survey_report import survey_report
from halftruth_collector.estimation import Counts
from halftruth_collector.estimation.groups import survey_in_groups
from halftruth_collector.estimation.measures import MEASURE_NAMES
from halftruth_shared import (
    Attribute,
    DistortionMatrices,
    GammaDiagonal,
    HalftruthError,
    RandomizedGammaDiagonal,
    RandomizedResponse,
    Schema,
    Series,
    SplitQuestionnaire,
    Survey,
)
from halftruth_shared.analyses import Query
from halftruth_shared.mechanisms.split_questionnaire import WantedTables
from halftruth_shared.results import NAMES, Result, quantity
from halftruth_shared.results.claims import Claim
from scipy.stats import binom, norm
from scipy.stats import t as student
from sources import NOW

#: Level of tests, and nominal rate of intervals that miss.
ALPHA = 0.05

#: Limits of the rate of misses for one quantity, given the delta method, and for all pooled.
LIMIT, LIMIT_OF_ALL = 0.07, 0.055

#: Probability that a suite with all rates at their limits fails, for each of its tables.
CHANCE = 0.01

#: Size of the population that represents the true shares.
_MANY = 10**9

#: Powers of the number of reports with which statistics grow.
_GROWTH = {"chi_squared": 1.0, "g_squared": 1.0, "standardized_residual": 0.5}


# -- worlds ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class World:
    """A population and its survey.

    Attributes
    ----------
    name : str
    shape : tuple of int
        Number of answers of each question.
    mechanism : callable
        Returns the mechanism for a schema.
    reports : int
    strength, triples : float
        Standard deviation of the log odds ratios of pairs and of triples; 0 for independence.
    rare : float
        Share of the last answer of each question; 0 for even answers.
    public : tuple of str
        Questions that are not sensitive.
    groups : mapping of int to tuple of int
        Group of each answer, by position of a collapsed question.
    condition : bool
        Whether the second question is conditional on the first answer of the first.
    missing : bool
        Whether the last answer of each question is no answer, and excluded.
    waves : tuple of float
        Shift of the log odds of the first question in each wave.
    target : str
    parts : set of str
        Groups of queries of :func:`questions` to run.
    """

    name: str
    shape: tuple[int, ...]
    mechanism: Callable[[Schema], Any]
    reports: int
    strength: float = 0.0
    triples: float = 0.0
    rare: float = 0.0
    public: tuple[str, ...] = ()
    groups: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    condition: bool = False
    missing: bool = False
    waves: tuple[float, ...] = ()
    target: str = "population"
    parts: frozenset[str] = frozenset({"default", "moment"})

    @cached_property
    def surveys(self) -> list[Survey]:
        """The survey, or the survey of each wave."""
        schema = self._schema(self.public)
        return self._series(schema, self.mechanism(schema))

    @cached_property
    def _open(self) -> list[Survey]:
        """Return the same surveys without perturbation."""
        return self._without_perturbation(self.surveys[0].schema)

    def _without_perturbation(self, schema: Schema) -> list[Survey]:
        questions = [replace(a, sensitive=False, collapsed=None) for a in schema.attributes]
        kept = RandomizedResponse(dict.fromkeys(schema.names, "1"))
        return self._series(Schema(questions), kept)

    def _series(self, schema: Schema, mechanism: Any) -> list[Survey]:
        if not self.waves:
            return [Survey("world", "World", schema, mechanism)]
        panel = {"id": "world", "total_gamma": 10**30, "origin": "https://a.test"}
        series = [Series(wave=wave, **panel) for wave in range(1, len(self.waves) + 1)]
        return [Survey(f"w{s.wave}", "World", schema, mechanism, series=s) for s in series]

    def _schema(self, public: Sequence[str]) -> Schema:
        return Schema(
            [
                Attribute(
                    f"q{j}",
                    [str(code) for code in range(size)],
                    sensitive=f"q{j}" not in public,
                    missing=(str(size - 1),) if self.missing else (),
                    ask_if={"q0": ["0"]} if self.condition and j == 1 else {},
                    collapsed=_by_group(self.groups[j]) if j in self.groups else None,
                )
                for j, size in enumerate(self.shape)
            ]
        )

    @cached_property
    def shares(self) -> list[np.ndarray]:
        """True share of each record, for each wave."""
        rng = np.random.default_rng(sum(self.shape))
        shape = self.surveys[0].schema.shape
        log = np.zeros(shape)
        for j, size in enumerate(shape):
            margin = np.full(size, (1 - self.rare) / (size - 1))
            margin[-1] = self.rare or margin[-1]
            log += np.log(margin).reshape(_on((j,), shape))
        for order, strength in ((2, self.strength), (3, self.triples)):
            for axes in combinations(range(len(shape)), order):
                log += strength * rng.standard_normal(_on(axes, shape))
        first, tables = np.arange(shape[0]).reshape(_on((0,), shape)), []
        for tilt in self.waves or (0.0,):
            table = np.exp(log + tilt * first)
            if self.condition:
                asked, answered = np.indices(shape)[0] == 0, np.indices(shape)[1] < shape[1] - 1
                table = np.where(asked == answered, table, 0.0)
            tables.append(table / table.sum())
        return tables

    def people(self, rng: np.random.Generator) -> list[np.ndarray]:
        """Return counts of respondents drawn from the population, for each wave."""
        return [rng.multinomial(self.reports, table.ravel()) for table in self.shares]

    def reported(self, people: Sequence[np.ndarray], rng: np.random.Generator) -> AnalysisContext:
        """Return counts of the perturbed reports of these people."""
        found = []
        for survey, drawn in zip(self.surveys, people, strict=True):
            records = np.repeat(self._records, drawn, axis=0)
            reports = survey.perturbation.reports(records, rng)
            found.append((survey, Counts.from_reports(survey, reports)))
        return _counted(found)

    def answered(self, people: Sequence[np.ndarray]) -> AnalysisContext:
        """Return counts of the true answers of these people."""
        pairs = zip(self._open, people, strict=True)
        return _counted(
            [(s, Counts.from_cells(s, self._records[n > 0], n[n > 0])) for s, n in pairs]
        )

    @cached_property
    def population(self) -> AnalysisContext:
        """Counts of a population of 10⁹ people that answered without perturbation."""
        return self.answered(
            [np.rint(table.ravel() * _MANY).astype(np.int64) for table in self.shares]
        )

    @cached_property
    def _population_in_groups(self) -> AnalysisContext:
        """Counts of the same population, with groups as answers."""
        [survey] = self.surveys
        [grouped] = self._without_perturbation(survey_in_groups(survey).schema)
        codes = {
            j: np.array(a.groups.codes)
            for j, a in enumerate(survey.schema.attributes)
            if a.collapsed
        }
        cells = self.population.counts.cells.copy()
        for j, of in codes.items():
            cells[:, j] = of[cells[:, j]]
        return _counted(
            [(grouped, Counts.from_cells(grouped, cells, self.population.counts.counts))]
        )

    def known(self, query: Query[Any]) -> AnalysisContext:
        """Return the counts of the population, in groups if the query is read so."""
        in_groups = is_in_groups(self.surveys[0], query)
        return self._population_in_groups if in_groups else self.population

    @cached_property
    def truths(self) -> dict[str, Any]:
        """Cached results about the population."""
        return {}

    @cached_property
    def _records(self) -> np.ndarray:
        shape = self.surveys[0].schema.shape
        return np.stack(np.indices(shape), axis=-1).reshape(-1, len(shape))


@dataclass(frozen=True, eq=False)
class RealWorld(World):
    """A population of real people, from which respondents are drawn.

    Attributes
    ----------
    attributes : tuple of Attribute
    everybody : ndarray of int, shape (people, attributes)
        Codes of their answers.
    """

    attributes: tuple[Attribute, ...] = ()
    everybody: np.ndarray = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64))

    def _schema(self, public: Sequence[str]) -> Schema:
        return Schema([replace(a, sensitive=a.name not in public) for a in self.attributes])

    @cached_property
    def _distinct(self) -> tuple[np.ndarray, np.ndarray]:
        return np.unique(self.everybody, axis=0, return_counts=True)

    @cached_property
    def shares(self) -> list[np.ndarray]:
        """True share of each record that somebody has."""
        counts = self._distinct[1]
        return [counts / counts.sum()]

    @cached_property
    def _records(self) -> np.ndarray:
        return self._distinct[0]


def _by_group(codes: Sequence[int]) -> dict[str, list[str]]:
    return {
        f"g{group}": [str(code) for code, each in enumerate(codes) if each == group]
        for group in sorted(set(codes))
    }


def _on(axes: Sequence[int], shape: Sequence[int]) -> list[int]:
    return [n if k in axes else 1 for k, n in enumerate(shape)]


def _counted(found: Sequence[tuple[Survey, Counts]]) -> AnalysisContext:
    each = [AnalysisContext(survey, counts, NOW, min_reports=1) for survey, counts in found]
    return replace(each[0], waves=lambda: each)


def split(longest: int, public: Sequence[str] = ()) -> Callable[[Schema], Any]:
    """Return split questionnaires at γ = 19 for tables of up to `longest` questions."""
    lengths = dict.fromkeys(range(1, longest + 1), 1.0)
    return lambda schema: SplitQuestionnaire.designed(schema, 19, public, lengths)


def wanted(*by: str | tuple[str, ...], public: Sequence[str] = ()) -> Callable[[Schema], Any]:
    """Return split questionnaires at γ = 19 for tables of the first question by some groups."""
    tables = [WantedTables(of=("q0",), by=by)]
    return lambda schema: SplitQuestionnaire.designed(schema, 19, public, tables)


def keep(probability: str) -> Callable[[Schema], Any]:
    """Return randomized response that keeps each answer with this probability."""
    return lambda schema: RandomizedResponse(dict.fromkeys(schema.names, probability))


def whole(_: Schema) -> Any:
    """Return the gamma-diagonal matrix at γ = 19."""
    return GammaDiagonal(19)


def drawn(_: Schema) -> Any:
    """Return the randomized gamma-diagonal matrix at γ = 19."""
    return RandomizedGammaDiagonal(19, "1/20")


def forced(schema: Schema) -> Any:
    """Return forced response, the unrelated question, and a matrix, for one question each."""
    designs = {"q0": {"design": "forced-response", "answer": "1", "yes": "1/6", "no": "1/6"}}
    designs["q1"] = {"design": "unrelated-question", "answer": "1", "p": "3/4", "prevalence": "1/4"}
    matrix = [["4/5", "1/10", "0"], ["1/5", "4/5", "1/10"], ["0", "1/10", "9/10"]]
    return DistortionMatrices({"q2": matrix}, designs)


DEFAULT, BOTH = frozenset({"default"}), frozenset({"default", "moment"})
ALL, MODEL = BOTH | {"model"}, frozenset({"model"})
EIGHT = (5,) * 8

WORLDS = (
    World("null, 8×5, split, pairs, 5 000", EIGHT, split(2), 5_000, parts=DEFAULT),
    World("null, 8×5, kept with 0.8, 5 000", EIGHT, keep("0.8"), 5_000, parts=DEFAULT),
    World("null, 2×3×5, split, pairs, 5 000, 1 %", (2, 3, 5), split(2), 5_000, rare=0.01),
    World("null, 3×2×4, kept with 0.8, 300", (3, 2, 4), keep("0.8"), 300),
    World(
        "null, 2×2×2×2, gamma-diagonal, 20 000, 1 %",
        (2,) * 4,
        whole,
        20_000,
        rare=0.01,
        parts=MODEL,
    ),
    World(
        "null, three waves, kept with 0.7, 2 000",
        (3, 2, 2),
        keep("0.7"),
        2_000,
        waves=(0.0,) * 3,
        parts=ALL,
    ),
    World(
        "null, 8×5, split, wanted tables, 5 000", EIGHT, wanted("q5", "q6"), 5_000, parts=DEFAULT
    ),
    World(
        "null, 2×5×5×5, split, wanted tables of groups, 3 000",
        (2, 5, 5, 5),
        wanted("q1", "q2"),
        3_000,
        groups={1: (0, 0, 1, 1, 2), 2: (0, 0, 1, 1, 1)},
        parts=DEFAULT,
    ),
    World(
        "2×6×5×3, split, wanted tables of groups, 5 000",
        (2, 6, 5, 3),
        wanted("q1", "q2"),
        5_000,
        0.5,
        groups={1: (0, 0, 1, 1, 2, 2), 2: (0, 0, 1, 1, 2)},
        parts=DEFAULT,
    ),
    World(
        "2×3×4×5, split, wanted tables, 5 000",
        (2, 3, 4, 5),
        wanted("q1", "q2"),
        5_000,
        0.5,
        parts=DEFAULT,
    ),
    World(
        "2×3×3×2, split, wanted tables of three, 5 000",
        (2, 3, 3, 2),
        wanted(("q1", "q2"), "q3"),
        5_000,
        0.5,
        parts=DEFAULT,
    ),
    World(
        "2×3×4, split, wanted tables, 3 000, one public",
        (2, 3, 4),
        wanted("q1", "q2", public=("q2",)),
        3_000,
        0.6,
        public=("q2",),
        parts=DEFAULT,
    ),
    World("3×4×5, split, pairs, 5 000, 1 %", (3, 4, 5), split(2), 5_000, 0.5, rare=0.01, parts=ALL),
    World("2×3×3, split, triples, 5 000, interactions", (2, 3, 3), split(3), 5_000, 0.7, 0.7),
    World(
        "2×2×2×2, gamma-diagonal, 20 000, interactions",
        (2,) * 4,
        whole,
        20_000,
        0.7,
        0.7,
        parts=ALL,
    ),
    World("3×3×2, randomized gamma-diagonal, 5 000", (3, 3, 2), drawn, 5_000, 0.7),
    World("2×2×3, designs, 2 000", (2, 2, 3), forced, 2_000, 0.7, parts=ALL),
    World(
        "2×3×3, kept with 0.8, 2 000, asked of some",
        (2, 3, 3),
        keep("0.8"),
        2_000,
        0.5,
        condition=True,
    ),
    World(
        "3×3×3, split, pairs, 3 000, one public",
        (3,) * 3,
        split(2, ("q0",)),
        3_000,
        0.6,
        public=("q0",),
    ),
    World(
        "3×4×2, kept with 0.8, 2 000, no answer", (4, 3, 3), keep("0.8"), 2_000, 0.6, missing=True
    ),
    World("2×3×4, kept with 0.9, 300", (2, 3, 4), keep("0.9"), 300, 0.7),
    World(
        "2×3×2, three waves, split, pairs, 5 000",
        (2, 3, 2),
        split(2),
        5_000,
        0.5,
        waves=(0.0, 0.4, 0.4),
    ),
    World(
        "3×3×2, split, pairs, 3 000, respondents",
        (3, 3, 2),
        split(2),
        3_000,
        0.6,
        target="respondents",
    ),
    World(
        "2×4×2, kept with 0.8, 1 000, respondents",
        (2, 4, 2),
        keep("0.8"),
        1_000,
        0.6,
        target="respondents",
    ),
)


# -- questions -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """A query, and its counterpart for true answers without thresholds or assumptions."""

    label: str
    query: Query[Any]
    truth: Query[Any]

    @property
    def selects(self) -> bool:
        """Whether the rows of its result are selected by their estimates."""
        return hasattr(self.query, "min_support") and not getattr(self.query, "names_rule", False)


def compute(counted: AnalysisContext, query: Query[Any]) -> Any:
    """Return the result of a query, or None if it is refused."""
    analysis = next(each for each in ANALYSES.values() if each.query is type(query))
    try:
        return answer(analysis, counted, query)
    except HalftruthError:
        return None


def truth_of(survey: Survey, known: AnalysisContext, query: Query[Any]) -> Any:
    """Return the result of a query about people whose answers are known.

    A risk depends on how the answers are perturbed, so it is that of these people in the survey.
    """
    analysis = next(each for each in ANALYSES.values() if each.query is type(query))
    if analysis.from_pilot is None:
        return compute(known, query)
    if is_in_groups(survey, query):
        survey = survey_in_groups(survey)

    def people(names: Sequence[str]) -> np.ndarray:
        return known.counts.marginal(survey.schema.positions(names))

    return answer_pilot(analysis, survey, query, people)


def questions(world: World) -> list[Asked]:
    """Return the queries for a world: the default of each analysis, and variants by `parts`."""
    survey, asked = world.surveys[0], []
    for analysis in identified(survey):
        first = analysis.start(survey)
        by_default = "default" in world.parts and analysis.name != "microdata"
        variants: dict[str, Mapping[str, Any]] = {"default": {}} if by_default else {}
        for part in ("moment", "model", "respondents"):
            if part in world.parts:
                variants |= _VARIANTS[part](world).get(analysis.name, {})
        for label, changes in variants.items():
            common = {"target": world.target, "missing": "exclude" if world.missing else "keep"}
            common = {k: v for k, v in common.items() if k in first.__struct_fields__}
            query = msgspec.structs.replace(first, **common, **changes)
            if world.target != "population" and getattr(query, "target", "") != world.target:
                continue
            known: dict[str, Any] = {"estimate": "moment"}
            if hasattr(query, "min_support"):
                # Rarer itemsets are far below the threshold.
                known |= {"min_support": query.min_support / 20}
                known |= {"min_confidence": 0.0, "limit": None}
            if hasattr(query, "modelled") and analysis.name != "microdata":
                known["interactions"] = []
            known = {k: v for k, v in known.items() if k in first.__struct_fields__}
            asked.append(
                Asked(f"{analysis.name} {label}", query, msgspec.structs.replace(query, **known))
            )
    return asked


def _moment(world: World) -> Mapping[str, Mapping[str, Mapping[str, Any]]]:
    names = world.surveys[0].schema.names
    a, b, c = (*names, names[-1])[:3]
    pair, groups = {"attributes": [a, b]}, {"answer": {b: "1"}, "groups": a}
    effects = ("difference", "risk_ratio", "odds_ratio")
    threshold = {"min_support": _threshold(world), "max_length": 2}
    return {
        "table": {"two": pair, "three": {"attributes": names[:3]}},
        "crosstab": {kind: {**pair, "percentages": kind} for kind in ("joint", "row", "column")},
        "comparison": {
            **{e: {**groups, "effect": e, "reference": "0", "trend": True} for e in effects},
            "all others": groups,
            **({"within": {**groups, "where": {c: "0"}}} if c != b else {}),
        },
        "distribution": {"groups": {"attribute": a, "groups": b}},
        "itemsets": {"threshold": threshold},
        "measures": {"two": {**pair, "present": {a: "1", b: "1"}}},
        "rules": {
            "all": {
                **threshold,
                "min_confidence": 0.01,
                "measures": list(MEASURE_NAMES),
                "include_uncertain": True,
                "limit": None,
            },
            "one": {"antecedent": {a: "0"}, "consequent": {b: "0"}},
        },
        "regression": {
            "logistic": {"outcome": b, "predictors": [a], "present": {b: "1"}},
            "logistic, two": {"outcome": b, "predictors": [a, c], "present": {b: "1"}},
            "linear": _linear(a, [b, c]),
        },
        "weighted": {
            way: {"margins": {a: _margin(world)}, "attributes": [b], "method": way}
            for way in ("raking", "calibration")
        },
        "overview": {"group": {"where": {c: "0"}}},
        "waves": {"all": {"attributes": None}, "groups": {"attributes": [a], "groups": b}},
    }


def _model(world: World) -> Mapping[str, Mapping[str, Mapping[str, Any]]]:
    names = list(world.surveys[0].schema.names)
    a, b, c = (*names, names[-1])[:3]
    by_model: dict[str, Any] = {"estimate": "model"}
    if world.triples:
        by_model["interactions"] = [list(each) for each in combinations(names, 3)]
    groups = {"answer": {b: "1"}, "groups": a, "reference": "0"}
    regression = {"estimate": "model"}
    if world.triples:
        regression["interactions"] = [[a, c]]
    return {
        "table": {"model": {"attributes": names[:3], **by_model}},
        "comparison": {"model": {**groups, "trend": True, **by_model}},
        "itemsets": {"model": {"min_support": _threshold(world), **by_model}},
        "regression": {
            "logistic by model": {
                "outcome": b,
                "predictors": [n for n in names if n != b],
                "present": {b: "1"},
                **regression,
            },
            "linear, all": _linear(a, [n for n in names if n != a]),
        },
        "microdata": {
            "svymean": {} if not world.triples else {"interactions": by_model["interactions"]}
        },
    }


_VARIANTS = {"moment": _moment, "model": _model, "respondents": _moment}


def _linear(outcome: str, predictors: Sequence[str]) -> Mapping[str, Any]:
    scores = {outcome: "ranks", predictors[-1]: "ranks"}
    return {
        "outcome": outcome,
        "predictors": list(dict.fromkeys(predictors)),
        "model": "linear",
        "present": {},
        "scores": scores,
    }


def _margin(world: World) -> dict[str, float]:
    [table] = world.shares[:1]
    margin = table.sum(axis=tuple(range(1, table.ndim)))[: -1 if world.missing else None]
    return {str(code): float(share) for code, share in enumerate(margin / margin.sum())}


def _threshold(world: World) -> float:
    """Return a threshold just above the median share of all pairs of answers."""
    [table] = world.shares[:1]
    pairs = [
        table.sum(axis=tuple({*range(table.ndim)} - {*axes})).ravel()
        for axes in combinations(range(table.ndim), 2)
    ]
    return 1.001 * float(np.median(np.concatenate(pairs)))


# -- results ---------------------------------------------------------------------------------------


class Number(NamedTuple):
    """An estimate with its interval, or the gap in its confidence set."""

    value: float | None
    lower: float | None
    upper: float | None
    gap: tuple[float, float] | None = None
    log: bool = False

    def miss(self, true: float) -> float:
        """Return the smallest multiple of its width at which the interval covers the true value."""
        slack = 1e-6 * max(1.0, abs(true))
        if self.gap is not None:
            return math.inf if self.gap[0] + slack < true < self.gap[1] - slack else 0.0
        lower = -math.inf if self.lower is None else self.lower
        upper = math.inf if self.upper is None else self.upper
        value = min(max(lower if self.value is None else self.value, lower), upper)
        if abs(true - value) <= slack or (end := upper if true > value else lower) in (
            math.inf,
            -math.inf,
        ):
            return 0.0
        if self.log and min(true, value, end) > 0:
            true, value, end = math.log(true), math.log(value), math.log(end)
        return math.inf if end == value else (true - value) / (end - value) - slack


class Line(NamedTuple):
    """A row of a result: its estimates by name, its p-values, and its deviation from no effect."""

    kind: str
    numbers: dict[str, Number]
    p_value: float | None
    adjusted: float | None
    effect: float | None


def read(result: Any, *, exact: bool = False) -> dict[tuple[str, ...], Line]:
    """Return the rows of a result by their keys; those without an interval only if it is exact."""
    names = [name for name, _ in result.columns]
    if "rep1" in names:
        return _weighted_means(names, [*zip(*result.column_lists(), strict=True)], result.scale)
    return {**_long(result, exact), **_group(result)}


def _long(result: Result[Any], exact: bool) -> dict[tuple[str, ...], Line]:
    lines = {}
    for row in result.rows:
        without = row.interval is None and row.set != "empty" and not exact
        ends = (row.value, row.value) if row.set == "empty" else row.interval or (None, None)
        log = row.standard_error_log is not None
        numbers = (
            {} if row.value is None or without else {"": Number(row.value, *ends, row.gap, log)}
        )
        none = quantity(row.quantity).no_effect or 0.0
        departure = None if row.value is None else row.value - none
        lines[row.quantity, *map(str, row.keys.values())] = Line(
            row.quantity if quantity(row.quantity).no_effect is not None else "",
            numbers,
            row.p_value,
            row.adjusted_p_value,
            row.statistic or departure,
        )
    return lines


def _group(result: Any) -> dict[tuple[str, ...], Line]:
    if result.group is None:
        return {}
    group = result.group
    numbers = {
        "share": Number(group.share, *(group.interval or (None, None))),
        "people": Number(group.people, *(group.people_interval or (None, None))),
    }
    return {("group",): Line("group", numbers, None, None, None)}


def _weighted_means(
    names: Sequence[str], rows: Sequence[Sequence[Any]], scale: float
) -> dict[tuple[str, ...], Line]:
    """Return shares of weighted records with errors as of R's `svymean`."""
    first = names.index("weight")
    weights = np.array([row[first:] for row in rows], dtype=float)
    lines = {}
    for place in range(1, first):
        answers = np.array([row[place] for row in rows])
        for given in sorted({*answers.tolist()}):
            shares = weights[answers == given].sum(axis=0) / weights.sum(axis=0)
            error = math.sqrt(scale * ((shares[1:] - shares[0]) ** 2).sum())
            share, margin = float(shares[0]), norm.isf(ALPHA / 2) * error
            found = {"": Number(share, share - margin, share + margin)}
            lines[names[place], given] = Line("", found, None, None, None)
    return lines


# -- rates -----------------------------------------------------------------------------------------


class Tally:
    """Sums over surveys of error rates, by table and name.

    Intervals enter three tables: each row of each world, the mean of a quantity over its rows,
    pooled over worlds, and the mean over all quantities.
    """

    def __init__(self, factors: Sequence[float]) -> None:
        self.factors = tuple(factors)
        self.sums: dict[tuple[str, ...], np.ndarray] = defaultdict(
            lambda: np.zeros((len(self.factors), 4))
        )

    def add(self, table: str, *name: str, outcomes: Sequence[Any]) -> None:
        """Add the outcomes of one survey, each a number or one number per factor."""
        if len(outcomes):
            means = np.broadcast_to(
                np.mean(np.array(outcomes, dtype=float), axis=0), len(self.factors)
            )
            sums = self.sums[table, *name]
            sums += np.stack(
                [np.ones_like(means), means, means**2, np.full_like(means, len(outcomes))], 1
            )

    def merge(self, other: Mapping[tuple[str, ...], np.ndarray]) -> None:
        for key, sums in other.items():
            self.sums[key] += sums

    def rates(
        self, table: str, factor: float = 1.0
    ) -> Iterator[tuple[tuple[str, ...], int, float, float]]:
        """Yield name, surveys, rate and its standard error, clustered by survey."""
        place = self.factors.index(factor)
        for (of, *name), sums in sorted(self.sums.items()):
            if of == table:
                surveys, total, squares, number = sums[place]
                rate = total / surveys
                spread = max(squares / surveys - rate**2, 0.0) * surveys / max(surveys - 1, 1)
                # A few surveys may have no miss; independent outcomes bound the error.
                least = ALPHA * (1 - ALPHA) * surveys / number
                yield tuple(name), int(surveys), rate, math.sqrt(max(spread, least) / surveys)

    def failures(self, factor: float = 1.0) -> list[str]:
        """Return rates that significantly exceed their limits, with narrower intervals."""
        found = []
        for table, limit in (
            ("all", LIMIT_OF_ALL),
            ("quantity", LIMIT),
            ("list", ALPHA),
            ("claim", ALPHA),
        ):
            rows = [*self.rates(table, factor)]
            for name, surveys, rate, error in rows:
                z = student.isf(CHANCE / len(rows), max(surveys - 1, 1))
                if rate > limit + z * error:
                    found.append(f"{table} {': '.join(name)}: {_percent(rate, error)}")
        rows = [*self.rates("row", factor)]
        for name, surveys, rate, error in rows:
            if binom.sf(round(rate * surveys) - 1, surveys, LIMIT) < CHANCE / len(rows):
                found.append(f"row {': '.join(name)}: {_percent(rate, error)} of {surveys}")
        return found

    def remarks(self) -> list[str]:
        """Return quantities with too high coverage, or without an interval in many surveys."""
        given = {name: rate for name, _, rate, _ in self.rates("given")}
        found = [
            f"{': '.join(n)}: {100 * g:.0f} % have an interval" for n, g in given.items() if g < 0.8
        ]
        for name, _, rate, error in self.rates("quantity"):
            if rate + 3 * error < 0.03:
                found.append(f"{': '.join(name)}: misses only {_percent(rate, error)}")
        return found


def _percent(rate: float, error: float) -> str:
    return f"{100 * rate:.1f} ± {100 * error:.1f} %"


def simulate(world: World, seeds: Sequence[int], factors: Sequence[float] = (1.0,)) -> Tally:
    """Return the tally of simulated surveys, with all intervals narrowed by each factor."""
    tally, asked = Tally(factors), questions(world)
    for seed in seeds:
        rng = np.random.default_rng([seed, sum(world.name.encode())])
        people = world.people(rng)
        counted, quantities = world.reported(people, rng), {}
        of_respondents = world.target == "respondents"
        truths: dict[str, Any] = {} if of_respondents else world.truths
        answered = world.answered(people) if of_respondents else None
        for each in asked:
            result = compute(counted, each.query)
            tally.add("refused", world.name, each.label, outcomes=[result is None])
            if result is None:
                continue
            merge = _merged(result)
            asked_about = f"{each.label} {merge or ''}"
            if asked_about not in truths:
                about = {"merge": merge} if merge else {}
                query = msgspec.structs.replace(each.truth, **about)
                known = answered or world.known(each.query)
                truths[asked_about] = truth_of(counted.survey, known, query)
            if truths[asked_about] is not None:
                _tally_result(tally, world, each, result, truths[asked_about], quantities)
        if not world.strength and world.target == "population" and "default" in world.parts:
            claim = survey_report(counted).claim
            tally.add("claim", "report", "associated", outcomes=[claim.rate > 0])
        for name, misses in quantities.items():
            tally.add("quantity", *name, outcomes=misses)
        if quantities:
            tally.add(
                "all", "intervals", outcomes=[np.mean(m, axis=0) for m in quantities.values()]
            )
    return tally


def _merged(result: Any) -> dict[str, list[list[str]]]:
    """Return the merged answers of a result."""
    groups: dict[str, list[list[str]]] = {}
    for caveat in getattr(result, "caveats", []):
        if caveat.code == "merged":
            for each in caveat.values["groups"]:
                [(name, group)] = each.items()
                groups.setdefault(name, []).append(group)
    return groups


def _tally_result(
    tally: Tally,
    world: World,
    asked: Asked,
    result: Any,
    truth: Any,
    quantities: dict[Any, list[Any]],
) -> None:
    lines, true = read(result), read(truth, exact=True)
    factors, misses, listed = np.array(tally.factors), {}, []
    scale = world.reports / _MANY if world.target == "population" else 1.0
    for key, line in lines.items():
        for name, number in line.numbers.items():
            known = true[key].numbers.get(name) if key in true else None
            if known is None or ("people" in (name, key[0]) and world.target == "population"):
                continue
            growth = _GROWTH.get(name or key[0], 0.0)
            quantity = asked.label, " ".join([line.kind, name]).strip()
            given = number[1:4] != (None, None, None)
            tally.add("given", *quantity, outcomes=[given])
            if not given:
                continue
            at = known.value * scale**growth
            missed = number.miss(at) > factors
            # Exact values, such as a share of all, have no rate.
            if number.lower == number.upper and not missed.any():
                continue
            misses[key, name] = missed
            quantities.setdefault(quantity, []).append(missed)
            if asked.selects:
                listed.append(missed)
            else:
                tally.add("row", world.name, *quantity, " ".join(key), outcomes=[missed])
    if asked.selects:
        tally.add(
            "list", asked.label, "intervals", outcomes=[np.mean(listed, axis=0)] if listed else [0]
        )
    if world.target != "population":
        return
    marked = [
        key for key, line in lines.items() if line.adjusted is not None and line.adjusted <= ALPHA
    ]
    if any(line.adjusted is not None for line in lines.values()):
        false = [_no_effect(true, key) for key in marked]
        tally.add("list", asked.label, "marks", outcomes=[np.mean(false) if false else 0.0])
    for key, line in lines.items():
        if line.p_value is not None and _no_effect(true, key):
            tally.add(
                "row",
                world.name,
                asked.label,
                "p-value",
                " ".join(key),
                outcomes=[line.p_value < ALPHA],
            )
    keys = [*lines]
    false: dict[str, list[Any]] = {"claims": [bool(result.contradictions)], "named interval": [0.0]}
    shares = [0.0]
    for claim in result.claims:
        named = [keys[row] for row in claim.rows]
        if claim.rate and claim.by_rate:
            shares.append(
                np.mean(
                    [_is_false(claim, each, lines, true, truth, asked) for each in named] or [0]
                )
            )
        elif claim.rate:
            false["claims"].append(_is_false(claim, (named or [()])[0], lines, true, truth, asked))
        # The counted rows of a false discovery rate are marked, and their intervals not stated.
        stated = named if not claim.by_rate and _states_interval(asked, result, claim) else []
        for place, key in enumerate(stated):
            if (key, "") not in misses:
                continue
            missed = misses[key, ""]
            if claim.sets:
                lower, upper = claim.sets[place].interval or (None, None)
                number = lines[key].numbers[""]._replace(lower=lower, upper=upper)
                missed = number.miss(true[key].numbers[""].value) > factors
            false["named interval"].append(missed)
    tally.add("list", world.name, asked.label, "claims", outcomes=[max(shares)])
    for kind, outcomes in false.items():
        wide = [np.broadcast_to(each, len(factors)) for each in outcomes]
        tally.add("claim", world.name, asked.label, kind, outcomes=[np.max(wide, axis=0)])


def _states_interval(asked: Asked, result: Any, claim: Claim) -> bool:
    """Whether the sentence of a claim states an interval, as that of a lower bound does not."""
    analysis = next(each for each in ANALYSES.values() if each.query is type(asked.query))
    sentence = analysis.state(result, claim, NAMES)
    return re.search(r"\([^()]* to [^()]*\)|from [^ ]+ on|, up to ", sentence) is not None


def _is_false(
    claim: Claim,
    key: tuple[str, ...],
    lines: Mapping[tuple[str, ...], Line],
    true: Mapping[tuple[str, ...], Line],
    truth: Any,
    asked: Asked,
) -> bool:
    """Whether a claim is false for the row with this key, or, without one, for the whole table."""
    if not key:
        return truth.tests[claim.test].p_value > ALPHA
    if key not in true:
        # The row is rarer than all rows of the truth.
        return claim.kind in ("frequent", "at least")
    value = true[key].numbers[""].value if "" in true[key].numbers else math.nan
    if claim.kind == "frequent":
        return value < asked.query.min_support
    if claim.kind == "at least":
        return value < claim.bound
    if claim.kind == "largest":
        return value < max(line.numbers[""].value for line in true.values()) - 1e-6
    said = (
        lines[key].effect if claim.direction is None else {"more": 1, "less": -1}[claim.direction]
    )
    # Associations of whole tables have no direction.
    directed = claim.kind != "associated" and said is not None and true[key].effect is not None
    return _no_effect(true, key) or (directed and said * true[key].effect < 0)


def _no_effect(true: Mapping[tuple[str, ...], Line], key: tuple[str, ...]) -> bool:
    """Whether the population of 10⁹ answers is consistent with no effect."""
    p = true[key].p_value if key in true else None
    return p is not None and p > ALPHA
