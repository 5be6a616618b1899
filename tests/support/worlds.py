"""Simulated surveys of a world whose truth is known, and the intervals and claims of their results.

Every analysis of the registry is asked of each survey. A result is walked field by field: each
interval is held against the same field of the same analysis of the truth, whatever it is called,
so that a new analysis or field cannot escape.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, cached_property
from typing import Any, NamedTuple

import msgspec
import numpy as np
from halftruth_collector.analyses import ANALYSES, Counted, identified
from halftruth_collector.analyses.survey_report import survey_report
from halftruth_collector.estimation import Counts
from halftruth_collector.estimation.measures import MEASURE_NAMES
from halftruth_collector.estimation.reconstruction import reconstruction
from halftruth_shared import (
    Attribute,
    HalftruthError,
    RandomizedResponse,
    Schema,
    Survey,
)
from halftruth_shared.analyses import Query
from halftruth_shared.analyses.base import Group
from halftruth_shared.analyses.comparison import GroupComparison
from halftruth_shared.analyses.estimate import Estimate
from halftruth_shared.analyses.regression import Coefficient

NOW = datetime(2026, 1, 1, tzinfo=UTC)

#: Level of tests, and of what intervals may miss.
ALPHA = 0.05

#: Results of thousands of numbers, which only each so many-th survey is asked for.
_SELDOM = {"rules": 4}

#: Statistics that grow with the number of reports.
_EXTENSIVE = {"chi_squared", "g_squared"}

#: People of a population that stands for its shares.
_MANY = 10**9

#: Fields that say what a part of a list is about.
_IDENTITY = (
    "name",
    "attribute",
    "category",
    "values",
    "items",
    "group",
    "against",
    "answer",
    "antecedent",
    "consequent",
    "row",
    "column",
    "of",
    "among",
    "first",
    "second",
    "percentile",
)


# -- worlds ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class World:
    """A population, and the survey that it is asked.

    Attributes
    ----------
    name : str
    shape : tuple of int
        Number of answers of each question.
    mechanism : callable
        The mechanism for a schema.
    reports : int
    skewed : bool
        Whether the first answers are far commoner than the last ones.
    strength : float
        Of the association of every two questions, as the standard deviation of its log odds
        ratios; 0 for independent answers.
    missing : bool
        Whether the last answer of each question is no answer, and left out.
    perturbed : bool
    """

    name: str
    shape: tuple[int, ...]
    mechanism: Callable[[Schema], Any]
    reports: int
    skewed: bool = False
    strength: float = 0.0
    missing: bool = False
    perturbed: bool = True

    @cached_property
    def survey(self) -> Survey:
        schema = self._schema(sensitive=self.perturbed)
        return Survey("world", "World", schema, self.mechanism(schema))

    @cached_property
    def open_survey(self) -> Survey:
        """The same questions, answered without perturbation."""
        schema = self._schema(sensitive=False)
        keep = RandomizedResponse(dict.fromkeys(schema.names, "1"))
        return Survey("world", "World", schema, keep)

    def _schema(self, sensitive: bool) -> Schema:
        return Schema(
            [
                Attribute(
                    f"q{j}",
                    [str(code) for code in range(size)],
                    sensitive=sensitive,
                    missing=(str(size - 1),) if self.missing else (),
                )
                for j, size in enumerate(self.shape)
            ]
        )

    @cached_property
    def shares(self) -> np.ndarray:
        """True share of every record, shape `shape`."""
        rng = np.random.default_rng(len(self.shape) + sum(self.shape))
        log = np.zeros(self.shape)
        for j, size in enumerate(self.shape):
            margin = np.linspace(1.0, 0.25, size) ** 2 if self.skewed else np.ones(size)
            log = log + np.log(margin / margin.sum()).reshape(self._on(j))
            for i in range(j):
                pair = rng.standard_normal((self.shape[i], size)) * self.strength
                log = log + pair.reshape(
                    [n if k in (i, j) else 1 for k, n in enumerate(self.shape)]
                )
        table = np.exp(log)
        return table / table.sum()

    def _on(self, axis: int) -> list[int]:
        return [n if k == axis else 1 for k, n in enumerate(self.shape)]

    def people(self, rng: np.random.Generator) -> np.ndarray:
        """Codes of respondents drawn from the population, shape (reports, questions)."""
        drawn = rng.multinomial(self.reports, self.shares.ravel())
        cells = np.repeat(np.arange(drawn.size), drawn)
        return np.stack(np.unravel_index(cells, self.shape), axis=1)

    def counted(self, people: np.ndarray, rng: np.random.Generator) -> Counted:
        """Counts of the perturbed reports of these people."""
        reports = self.survey.perturbation.reports(people, rng)
        return _counted(self.survey, Counts.from_reports(self.survey, reports))

    @cached_property
    def population(self) -> Counted:
        """Counts of a population of a thousand millions that answered openly."""
        cells = np.stack(np.indices(self.shape), axis=-1).reshape(-1, len(self.shape))
        return self._many(self.open_survey, cells, self.shares)

    def _many(self, survey: Survey, cells: np.ndarray, shares: np.ndarray) -> Counted:
        many = np.rint(shares.ravel() * _MANY).astype(np.int64)
        return _counted(survey, Counts.from_cells(survey, cells[many > 0], many[many > 0]))

    def respondents(self, people: np.ndarray) -> Counted:
        """Counts of the true answers of these people."""
        return _counted(self.open_survey, Counts.from_reports(self.open_survey, people))


def _counted(survey: Survey, counts: Counts) -> Counted:
    return Counted(survey, counts, NOW, min_reports=1)


# -- questions -------------------------------------------------------------------------------------


def questions(world: World, target: str) -> Iterator[tuple[str, Query[Any]]]:
    """Queries of every analysis of the registry, each under a name of its own."""
    survey = world.survey
    for analysis in identified(survey):
        name = analysis.name
        first = analysis.start(survey)
        variants = _variants(name, world)
        for label, changes in variants.items() if variants else [("", {})]:
            fields = set(type(first).__struct_fields__)
            common = {"target": target} if "target" in fields else {}
            if world.missing and "missing" in fields:
                common["missing"] = "exclude"
            query = msgspec.structs.replace(first, **changes, **common)
            yield f"{name} {label}".strip(), query


def _variants(name: str, world: World) -> Mapping[str, Mapping[str, Any]]:
    """What an analysis is asked besides what its page begins with."""
    names = world.survey.schema.names
    a, b = names[:2]
    pair = {"attributes": [a, b]}
    third = {"where": {names[2]: "0"}} if len(names) > 2 and _longest(world) > 2 else None
    lowest = float(world.shares.sum(axis=tuple(range(2, world.shares.ndim))).min()) / 4
    groups = {"answer": {b: "1"}, "groups": a}
    margins = {a: _margin(world, 0)}
    found: dict[str, dict[str, Mapping[str, Any]]] = {
        "table": {
            "one": {"attributes": [a]},
            "two": pair,
            "model": {"attributes": list(names[:3]), "estimate": "model"},
        },
        "crosstab": {kind: {**pair, "percentages": kind} for kind in ("joint", "row", "column")},
        "comparison": {
            **{
                f"{effect}": {**groups, "effect": effect, "reference": "0", "trend": True}
                for effect in ("difference", "risk_ratio", "odds_ratio")
            },
            "all others": groups,
            "model": {**groups, "reference": "0", "trend": True, "estimate": "model"},
        },
        "distribution": {"all": {"attribute": a}, "groups": {"attribute": a, "groups": b}},
        "itemsets": {
            "single": {"min_support": lowest, "max_length": 2},
            "threshold": {"min_support": _threshold(world), "max_length": 2},
        },
        "measures": {"": {**pair, "present": {a: "1", b: "1"}}, "map": {}},
        "rules": {
            "": {
                "min_support": lowest,
                "max_length": 2,
                "min_confidence": 0.01,
                "measures": list(MEASURE_NAMES),
                "include_uncertain": True,
                "limit": None,
            }
        },
        "regression": {
            "logistic": {"outcome": b, "predictors": [a], "present": {b: "1"}},
            "logistic by model": {
                "outcome": b,
                "predictors": [a, *names[2:]],
                "present": {b: "1"},
                "estimate": "model",
            },
            "linear": {
                "outcome": b,
                "predictors": [a],
                "model": "linear",
                "present": {},
                "scores": {b: "ranks"},
            },
        },
        "weighted": {
            way: {"margins": margins, "attributes": [b], "method": way}
            for way in ("raking", "calibration")
        },
        "overview": {"": {}, **({"where": third} if third else {})},
    }
    return found.get(name, {})


def _longest(world: World) -> int:
    return reconstruction(world.survey).max_order


def _margin(world: World, axis: int) -> dict[str, float]:
    others = tuple(j for j in range(len(world.shape)) if j != axis)
    margin = world.shares.sum(axis=others)[: -1 if world.missing else None]
    return {str(code): float(share) for code, share in enumerate(margin / margin.sum())}


def _threshold(world: World) -> float:
    """A share of two answers that half of the pairs reach, or all where answers are even."""
    pairs = world.shares.sum(axis=tuple(range(2, world.shares.ndim)))
    return 0.999 * float(np.median(pairs))


# -- walking ---------------------------------------------------------------------------------------


class Interval(NamedTuple):
    """An interval of a result, with the value that it is of."""

    value: float | None
    lower: float
    upper: float
    outside: bool = False


Path = tuple[Any, ...]


@dataclass(frozen=True)
class Walked:
    """Numbers of a result by the path that leads to them.

    Attributes
    ----------
    intervals, values, p_values, decisions, splits : dict
    """

    intervals: dict[Path, Interval | None]
    values: dict[Path, float | None]
    p_values: dict[Path, float | None]
    decisions: dict[Path, str]
    splits: list[bool]


def walk(result: Any) -> Walked:
    """All intervals, p-values and decisions of a result."""
    walked = Walked({}, {}, {}, {}, [])
    _walk(result, (), walked)
    return walked


def _walk(part: Any, path: Path, walked: Walked) -> None:
    if isinstance(part, msgspec.Struct):
        _walk_struct(part, path, walked)
    elif isinstance(part, Mapping):
        for key, one in part.items():
            _walk(one, (*path, key), walked)
    elif isinstance(part, Sequence) and not isinstance(part, str):
        for place, one in enumerate(part):
            _walk(one, (*path, _identity(one, place)), walked)


def _walk_struct(part: msgspec.Struct, path: Path, walked: Walked) -> None:
    names = part.__struct_fields__
    if isinstance(part, Estimate):
        walked.intervals[path] = _interval(part)
        walked.values[path] = part.value
        # An intercept is not 0 in any world.
        of_effect = isinstance(part, GroupComparison) or path[-1:] == ("trend",)
        if of_effect or (isinstance(part, Coefficient) and part.attribute is not None):
            walked.p_values[path] = part.p_value
    if isinstance(part, Group):
        walked.intervals[*path, "share"] = part.interval and Interval(part.share, *part.interval)
        walked.values[*path, "share"] = part.share
        ends = part.people_interval
        walked.intervals[*path, "people"] = ends and Interval(part.people, *ends)
        walked.values[*path, "people"] = part.people
    for name in names:
        value = getattr(part, name)
        here = (*path, name)
        if name == "query" or name.endswith("interval"):
            continue
        if name.endswith("_p") or (name == "p_value" and not isinstance(part, Estimate)):
            walked.p_values[here] = value
        elif name == "decision":
            walked.decisions[here] = value
            walked.values[here] = part.value
        elif name == "uncertain" and hasattr(part, "gain"):
            # A node of a tree that splits although nothing is to be known.
            walked.splits.append(part.gain is not None and not value)
        else:
            _walk(value, here, walked)


def _interval(estimate: Estimate) -> Interval | None:
    if estimate.set == "empty" and estimate.value is not None:
        # It misses every possible value, on the side where the estimate is.
        return Interval(estimate.value, estimate.value, estimate.value)
    if estimate.gap is not None:
        return Interval(estimate.value, *estimate.gap, outside=True)
    if estimate.interval is None:
        return None
    lower, upper = estimate.interval
    return Interval(
        estimate.value,
        -math.inf if lower is None else lower,
        math.inf if upper is None else upper,
    )


def _identity(part: Any, place: int) -> Any:
    if not isinstance(part, msgspec.Struct):
        return place
    fields = [
        (name, getattr(part, name))
        for name in _IDENTITY
        if name in part.__struct_fields__
        # Which answer a percentile falls on is a result.
        and not (name == "answer" and "percentile" in part.__struct_fields__)
    ]
    found = tuple(
        (n, tuple(sorted(v.items())) if isinstance(v, Mapping) else v)
        for n, v in fields
        if isinstance(v, str | int | Mapping)
    )
    return found or place


def pattern(path: Path) -> str:
    """Path without what it is about, but with the name of a measure."""
    words = []
    for step in path:
        if isinstance(step, str):
            words.append(step)
        elif isinstance(step, tuple):
            named = dict(step).get("name") or dict(step).get("percentile")
            words += [str(named)] if named is not None else []
    return ".".join(words)


# -- tallies ---------------------------------------------------------------------------------------


class Tally:
    """Rates by analysis and field; each survey counts once, with its own mean."""

    def __init__(self) -> None:
        self.sums: dict[tuple[str, str, str], np.ndarray] = defaultdict(lambda: np.zeros(4))

    def add(self, analysis: str, field: str, kind: str, values: Sequence[float]) -> None:
        """Add one survey's outcomes (1 = missed, rejected or claimed)."""
        if values:
            mean = float(np.mean(values))
            self.sums[analysis, field, kind] += [1, mean, mean**2, len(values)]

    def rows(self) -> Iterator[tuple[str, str, str, int, float, float]]:
        """Analysis, field, kind, surveys, rate, standard error of the rate."""
        for (analysis, field, kind), (surveys, total, squares, _) in sorted(self.sums.items()):
            rate = total / surveys
            error = math.sqrt(max(squares / surveys - rate**2, 0.0) / surveys)
            yield analysis, field, kind, int(surveys), rate, error

    def plain(self) -> dict[tuple[str, str, str], np.ndarray]:
        """The sums, to be sent between processes."""
        return dict(self.sums)


def simulate(world: World, target: str, seeds: Sequence[int]) -> Tally:
    """Tally of simulated surveys of a world; each seed is a survey."""
    tally = Tally()
    for seed in seeds:
        rng = np.random.default_rng([seed, 20])
        people = world.people(rng)
        counted = world.counted(people, rng)
        for label, query in questions(world, target):
            # Without a choice of the target everything is of the population.
            if seed % _SELDOM.get(label, 1) or getattr(query, "target", "population") != target:
                continue
            if target == "population":
                truth = _of_population(world, label)
            else:
                truth = _answer(world.respondents(people), _of_truth(query))
            scaled = target == "population"
            _tally(tally, world, label, query, _answer(counted, query), truth, scaled=scaled)
        if world.strength == 0 and target == "population":
            named = len(survey_report(counted).associations.rows) > 0
            tally.add("report", "associations named", "claim", [float(named)])
    return tally


@cache
def _of_population(world: World, label: str) -> "Walked | None":
    return _answer(world.population, _of_truth(dict(questions(world, "population"))[label]))


def _of_truth(query: Query[Any]) -> Query[Any]:
    """The same question of true answers, with nothing left out of what is mined."""
    if hasattr(query, "min_support"):
        query = msgspec.structs.replace(query, min_support=1e-9)
    return query


def _answer(counted: Counted, query: Query[Any]) -> Walked | None:
    name = next(n for n, analysis in ANALYSES.items() if analysis.query is type(query))
    try:
        return walk(ANALYSES[name].compute(counted, query))
    except HalftruthError:
        return None


def _tally(
    tally: Tally,
    world: World,
    label: str,
    query: Query[Any],
    found: Walked | None,
    truth: Walked | None,
    *,
    scaled: bool,
) -> None:
    tally.add(label, "", "refused", [float(found is None)])
    if found is None or truth is None:
        return
    _tally_intervals(tally, world, label, query, found, truth, scaled=scaled)
    if scaled:
        _tally_tests(tally, world, label, query, found, truth)
    _tally_decisions(tally, label, query, found, truth)
    if found.splits and world.strength == 0:
        tally.add(label, "root splits", "claim", [float(found.splits[0])])


def _tally_tests(
    tally: Tally, world: World, label: str, query: Query[Any], found: Walked, truth: Walked
) -> None:
    by_field: dict[str, list[float | None]] = defaultdict(list)
    for path, p in found.p_values.items():
        # A hypothesis is true where a thousand millions of answers do not contradict it.
        true = truth.p_values.get(path)
        if world.strength == 0 if true is None else true > ALPHA:
            by_field[pattern(path)].append(p)
    for field, values in by_field.items():
        given = [p < ALPHA for p in values if p is not None]
        rejected = [p is not None and p < ALPHA for p in values]
        tally.add(label, field, "not given", [p is None for p in values])
        tally.add(label, field, "rejected", rejected)
        tally.add(label, field, "rejected where given", given)


def _tally_intervals(
    tally: Tally,
    world: World,
    label: str,
    query: Query[Any],
    found: Walked,
    truth: Walked,
    *,
    scaled: bool,
) -> None:
    by_field: dict[str, list[tuple[bool, bool, bool]]] = defaultdict(list)
    for path in truth.intervals:
        true = truth.values.get(path)
        # How many of the respondents are meant is no number of the population.
        if true is None or not math.isfinite(true) or (scaled and path[-1] == "people"):
            continue
        # The truth of exactly these respondents counts as many as they are.
        true *= _scale(world, path) if scaled else 1.0
        interval = found.intervals.get(path)
        if interval is None:
            by_field[pattern(path)].append((True, False, False))
            continue
        low, high = (_misses(interval, true, lower=side) for side in (True, False))
        # What is exact, such as a share of all, has no rate.
        if interval.lower < interval.upper or low or high:
            by_field[pattern(path)].append((False, low, high))
    for field, outcomes in by_field.items():
        missed = [low or high for _, low, high in outcomes]
        given = [low or high for none, low, high in outcomes if not none]
        tally.add(label, field, "not given", [none for none, _, _ in outcomes])
        tally.add(label, field, "missed", missed)
        tally.add(label, field, "missed where given", given)
        tally.add(label, field, "above truth", [low for none, low, _ in outcomes if not none])


def _scale(world: World, path: Path) -> float:
    """What a number of the population is multiplied by, if it counts people."""
    names = {dict(step).get("name") for step in path if isinstance(step, tuple)}
    if names & _EXTENSIVE:
        return world.reports / _MANY
    return math.sqrt(world.reports / _MANY) if "standardized_residual" in names else 1.0


def _misses(interval: Interval, true: float, *, lower: bool) -> bool:
    # What counts of the population are rounded by.
    slack = 1e-6 * max(1.0, abs(true))
    if interval.outside:
        return lower and interval.lower + slack < true < interval.upper - slack
    return true < interval.lower - slack if lower else true > interval.upper + slack


def _tally_decisions(
    tally: Tally, label: str, query: Query[Any], found: Walked, truth: Walked | None
) -> None:
    outcomes = []
    for path, decision in found.decisions.items():
        true = truth.values.get(path) if truth else None
        if true is not None:
            outcomes.append(float(decision == "frequent" and true < query.min_support))
    if outcomes:
        tally.add(label, "falsely frequent", "decision", outcomes)
