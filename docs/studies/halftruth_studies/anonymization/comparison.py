"""Comparison of anonymized and randomized releases of the same people (GYW §V).

From every release, the table of quasi-identifiers and sensitive attribute is estimated and compared
with the true one. The releases give different guarantees:

- *generalization* and *anatomy* need a trusted party with all true records, and limit the inference
  of sensitive values from their tables: their entropy is at least ln l, or their share at most 1/l;
- *randomized* perturbs every quasi-identifier, so that a report is linked to a person's values
  with a risk of at most 1/l (:mod:`halftruth_collector.disclosure.linking`). It does not limit the
  inference from the table about people with certain quasi-identifiers, and sensitive values are
  unperturbed;
- *split-questionnaire* guarantees γ to all people against any prior knowledge, without a trusted
  party; it has no l.

`guessed` and `over_limit` measure in the same way for all releases how much their tables disclose
of individual people.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from halftruth_collector.estimation import Counts, Estimator
from halftruth_collector.estimation.likelihood import CONSTRAINED_CELLS
from halftruth_collector.estimation.measures import Cells, find_measure
from halftruth_shared import (
    Attribute,
    DomainTooLarge,
    RandomizedResponse,
    Schema,
    SplitQuestionnaire,
    Survey,
)
from halftruth_shared.analyses.base import AttributeName, AttributeNames, Columns
from halftruth_shared.channels.axes import Array
from halftruth_shared.protocol.base import Message, Request
from halftruth_shared.rational import Rational
from msgspec import Meta
from numpy.typing import NDArray

from ..limits import best_under_limit
from .anatomy import anatomize, anatomy_estimate
from .distances import distances
from .generalization import generalize
from .hierarchies import Hierarchy

#: Tolerance for rounding of shares above 1/l.
_ROUNDING = 1e-9


class CompareQuery(Request, frozen=True, kw_only=True):
    """Releases to compare, and their attributes."""

    quasi: Annotated[AttributeNames, Meta(description="Quasi-identifiers, which others may know.")]
    sensitive: Annotated[AttributeName, Meta(description="Sensitive attribute.")]
    diversity: Annotated[
        list[Annotated[int, Meta(ge=2)]],
        Meta(min_length=1, description="Values of l, separated by commas; the limit is 1/l."),
    ]
    gamma: Annotated[str, Meta(description="Amplification of the split questionnaire.")] = "19"
    pairs: (
        Annotated[
            list[Annotated[list[AttributeName], Meta(min_length=2, max_length=2)]],
            Meta(
                description="Two attributes whose uncertainty coefficient is estimated: how much"
                " the first says about the second. By default each quasi-identifier and the"
                " sensitive attribute."
            ),
        ]
        | None
    ) = None
    repetitions: Annotated[
        int, Meta(ge=1, description="Number of simulations of everything random.")
    ] = 3
    seed: Annotated[int, Meta(ge=0, description="Seed of the simulation.")] = 0


class Release(Message, frozen=True, kw_only=True):
    """Distance of the estimate from one release to the true table.

    `diversity` is null without an l, `repetition` in means. `kl` is null if the estimate is not
    positive in a cell with people; `uncertainty`, for each pair, if it has a negative cell or a
    category without a positive share. `guessed` is the share of people with the sensitive value
    that is most frequent in the estimate given their quasi-identifiers, and `over_limit` the share
    of people whose actual value has an estimated share of more than 1/l given them.
    """

    kind: str
    estimate: str
    diversity: int | None
    repetition: int | None
    variational: float
    l2: float
    kl: float | None
    chi_squared: float
    base_error: float
    cube_error: float
    guessed: float
    over_limit: float | None
    uncertainty: list[float | None]


#: Measures of a release.
MEASURED = Release.__struct_fields__[4:-1]


class ReleaseParameters(Message, frozen=True, kw_only=True):
    """Parameters of releases that meet a limit.

    `levels` are the groups of each quasi-identifier, and `minimal` is the number of minimal
    generalizations; `keep` is the probability of reporting each quasi-identifier unchanged, with
    the smallest loss under a limit of 1/l on the linking risk.
    """

    diversity: int
    levels: dict[str, list[str]]
    minimal: int
    keep: dict[str, float]


class CompareResult(Message, frozen=True, kw_only=True):
    """All releases, with one entry for each repetition.

    `original` are the uncertainty coefficients of the true table. `guessed` is the share of people
    whose value could be guessed from it, `guessed_without` from the sensitive attribute alone.
    """

    query: CompareQuery
    people: int
    pairs: list[list[str]]
    original: list[float | None]
    guessed: float
    guessed_without: float
    parameters: list[ReleaseParameters]
    releases: list[Release]

    @property
    def means(self) -> list[Release]:
        """Means of each release over the repetitions; null if one of them is."""
        groups: dict[tuple[str, str, int | None], list[Release]] = {}
        for release in self.releases:
            key = (release.kind, release.estimate, release.diversity)
            groups.setdefault(key, []).append(release)
        return [_mean(repetitions) for repetitions in groups.values()]

    @property
    def columns(self) -> Columns:
        """Name and type of each column of `rows`."""
        return [
            ("kind", str),
            ("estimate", str),
            ("diversity", int),
            ("repetition", int),
            *((name, float) for name in MEASURED),
            *((f"uncertainty {row} {column}", float) for row, column in self.pairs),
        ]

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Iterate over rows of `columns`, one for each release and repetition."""
        for release in self.releases:
            fields = [getattr(release, name) for name in Release.__struct_fields__[:-1]]
            yield (*fields, *release.uncertainty)


@dataclass(frozen=True, eq=False)
class People:
    """Microdata: quasi-identifiers and, last, the sensitive attribute.

    Attributes
    ----------
    counts : ndarray of int, shape of the schema
        Number of people in each cell.
    """

    schema: Schema
    counts: NDArray[np.int64]

    @cached_property
    def records(self) -> NDArray[np.int64]:
        """Codes of all people, shape (N, M)."""
        cells = np.argwhere(self.counts > 0)
        return np.repeat(cells, self.counts[tuple(cells.T)], axis=0)

    @cached_property
    def shares(self) -> Array:
        """The true table."""
        return np.asarray(self.counts / self.counts.sum())


def anatomized(people: People, diversity: int, rng: np.random.Generator) -> Array:
    """Estimate the table from a release by anatomy."""
    shape, records = people.schema.shape, people.records
    cells = np.ravel_multi_index(tuple(records[:, :-1].T), shape[:-1])
    groups = anatomize(records[:, -1], diversity, rng)
    size = people.counts.size // shape[-1]
    return anatomy_estimate(cells, records[:, -1], groups, (size, shape[-1])).reshape(shape)


def randomized(people: People, keep: Mapping[str, Rational], rng: np.random.Generator) -> Estimator:
    """Simulate randomized response, by default of the quasi-identifiers alone.

    Parameters
    ----------
    keep : mapping of str to Fraction, int or str
        Probability of reporting each quasi-identifier unchanged; that of the sensitive attribute
        is 1 by default.
    rng : Generator
        Seeded generator of the simulation.
    """
    *quasi, sensitive = people.schema.attributes
    mechanism = RandomizedResponse({sensitive.name: Fraction(1), **keep})
    public = {name for name, p in mechanism.keep.items() if p == 1}
    attributes = [
        Attribute(a.name, a.categories, sensitive=a.name not in public) for a in (*quasi, sensitive)
    ]
    return _simulated(
        Survey("release", "Release", Schema(tuple(attributes)), mechanism), people, rng
    )


def split_questionnaire(people: People, gamma: Rational, rng: np.random.Generator) -> Estimator:
    """Simulate a split questionnaire for tables of all attributes, none of them public."""
    every = dict.fromkeys(range(1, len(people.schema.names) + 1), 1.0)
    mechanism = SplitQuestionnaire.designed(people.schema, gamma, (), every)
    return _simulated(Survey("release", "Release", people.schema, mechanism), people, rng)


def _simulated(survey: Survey, people: People, rng: np.random.Generator) -> Estimator:
    reports = survey.perturbation.reports(people.records, rng)
    return Estimator(survey, Counts.from_reports(survey, reports))


def estimates(estimator: Estimator) -> dict[str, Array]:
    """Return three estimates of the table of all attributes.

    *moment* is the unbiased moment estimate, which can be negative; *clipped* replaces its negative
    cells by 0 and scales the others to add up to 1; *likelihood* is the best guess.
    """
    names = estimator.survey.schema.names
    moment = estimator.table(names).value
    clipped = np.maximum(moment, 0)
    return {
        "moment": moment,
        "clipped": clipped / clipped.sum(),
        "likelihood": estimator.best_guess.table(names),
    }


def compare(people: People, query: CompareQuery, hierarchies: Sequence[Hierarchy]) -> CompareResult:
    """Simulate every release of the same people, and measure its loss of information.

    Parameters
    ----------
    people : People
        People with the attributes of the query, the sensitive one last.
    hierarchies : sequence of tuple of Level
        Hierarchy of each quasi-identifier.

    Raises
    ------
    ParameterError
        If a release of the people with some l is impossible, or a parameter is outside its range.
    DomainTooLarge
        If the table has more than `CONSTRAINED_CELLS` cells.
    """
    if people.schema.size > CONSTRAINED_CELLS:
        raise DomainTooLarge(
            f"quasi: a table of {people.schema.size} cells; expected at most {CONSTRAINED_CELLS},"
            " so fewer quasi-identifiers",
            field="quasi",
        )
    names, actual = people.schema.names, people.shares
    pairs = query.pairs or [[name, names[-1]] for name in names[:-1]]
    axes = [people.schema.positions(pair, "pairs") for pair in pairs]
    parameters: list[ReleaseParameters] = []
    releases: list[Release] = []

    def measure(
        kind: str, diversity: int | None, repetition: int, tables: Mapping[str, Array]
    ) -> None:
        releases.extend(
            Release(
                kind=kind,
                estimate=estimate,
                diversity=diversity,
                repetition=repetition,
                **asdict(distances(actual, table)),
                guessed=guessed(actual, table),
                over_limit=None if diversity is None else over_limit(actual, table, diversity),
                uncertainty=[uncertainty_coefficient(table, *pair) for pair in axes],
            )
            for estimate, table in tables.items()
        )

    def rng(diversity: int, repetition: int) -> np.random.Generator:
        return np.random.default_rng([query.seed, diversity, repetition])

    times = range(query.repetitions)
    for limit in sorted(set(query.diversity)):
        found = generalize(people.counts, hierarchies, limit)
        # If anatomy has groups, no cell exceeds 1/l of all people: uninformative reports suffice.
        limited = best_under_limit(people.counts, 1 / limit, range(len(names) - 1))
        keep = dict(zip(names[:-1], limited.keep, strict=False))
        parameters.append(
            ReleaseParameters(
                diversity=limit,
                levels={
                    name: list(levels[level].names)
                    for name, levels, level in zip(names, hierarchies, found.levels, strict=False)
                },
                minimal=len(found.minimal),
                keep={name: float(p) for name, p in keep.items()},
            )
        )
        measure("generalization", limit, 0, {"uniform in groups": found.estimate})
        for k in times:
            measure(
                "anatomy", limit, k, {"shares of groups": anatomized(people, limit, rng(limit, k))}
            )
        for k in times:
            measure("randomized", limit, k, estimates(randomized(people, keep, rng(limit, k))))
    for k in times:
        estimator = split_questionnaire(people, query.gamma, rng(0, k))
        measure("split-questionnaire", None, k, estimates(estimator))
    return CompareResult(
        query=query,
        people=int(people.counts.sum()),
        pairs=pairs,
        original=[uncertainty_coefficient(actual, *pair) for pair in axes],
        guessed=guessed(actual, actual),
        guessed_without=float(actual.sum(axis=tuple(range(actual.ndim - 1))).max()),
        parameters=parameters,
        releases=releases,
    )


def guessed(actual: Array, estimated: Array) -> float:
    """Return the share of people with the value estimated as most frequent in their group."""
    guess = estimated.argmax(axis=-1)[..., None]
    return float(np.take_along_axis(actual, guess, axis=-1).sum())


def over_limit(actual: Array, estimated: Array, diversity: int) -> float:
    """Return the share of people whose value is estimated for more than 1/l of their group."""
    likely = estimated * diversity > estimated.sum(axis=-1, keepdims=True) * (1 + _ROUNDING)
    return float(actual[likely].sum())


def uncertainty_coefficient(table: Array, row: int, column: int) -> float | None:
    """Return the uncertainty coefficient of two attributes, None if undefined (Guo Table 3.6)."""
    others = tuple(axis for axis in range(table.ndim) if axis not in (row, column))
    margin = table.sum(axis=others)
    margin = margin if row < column else margin.T
    cells = Cells(margin, 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = find_measure("uncertainty_coefficient").of(cells, 1.0).item()
    # Negative values are rounding errors.
    return None if np.isnan(value) else max(value, 0.0)


def _mean(several: Sequence[Release]) -> Release:
    def mean(values: Sequence[float | None]) -> Any:
        known = [value for value in values if value is not None]
        return sum(known) / len(known) if len(known) == len(values) else None

    first = several[0]
    return Release(
        kind=first.kind,
        estimate=first.estimate,
        diversity=first.diversity,
        repetition=None,
        **{name: mean([getattr(release, name) for release in several]) for name in MEASURED},
        uncertainty=[
            mean(values) for values in zip(*(r.uncertainty for r in several), strict=True)
        ],
    )
