"""Tables that a plan looks at, and their precision at evenly spread answers."""

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, TypeVar

from halftruth_shared import DomainTooLarge, Schema
from halftruth_shared.analyses.base import Target
from halftruth_shared.analyses.plan import EvenPlan, LengthMargin, PlanQuery

from ..bounds import normal_quantile
from ..table import Reconstruction
from ..variances import UnitVariance

P = TypeVar("P", bound=EvenPlan)

#: Sets of attributes of one length up to which all are looked at, and how many of more are.
MAX_SETS, SAMPLED = 1_000, 300

#: Largest table that is looked at, and most cells of all tables of one length together.
MAX_CELLS = 2**18
_ALL_CELLS = 2**22

#: Lengths that matter where nobody says which.
USUAL_LENGTHS = 3


def unit_variances(
    reconstruction: Reconstruction, sets: Iterable[Sequence[int]], target: Target
) -> dict[tuple[int, ...], UnitVariance]:
    """Variances of all cells of the tables of some sets of attributes, by their positions."""
    names = reconstruction.schema.names
    return {
        tuple(positions): reconstruction.unit_variance([names[j] for j in positions], target)
        for positions in sets
    }


def largest_table(schema: Schema, positions: Sequence[int], length: int) -> int:
    """Cells of the largest table of so many of some attributes."""
    return math.prod(sorted(schema.shape[j] for j in positions)[-length:])


def perturbed_of(schema: Schema, public: frozenset[str]) -> list[int]:
    """Positions of the attributes that are not sent unperturbed."""
    return [j for j, name in enumerate(schema.names) if name not in public]


def sets_of(
    schema: Schema, positions: Sequence[int], length: int, asked: int | None = None
) -> list[tuple[int, ...]]:
    """Sets of so many of some attributes: all, or the same ones of all every time.

    No more than those `asked` about, but for single attributes.

    Raises
    ------
    DomainTooLarge
        If a table of them has more than `MAX_CELLS` cells.
    """
    largest = largest_table(schema, positions, length)
    if largest > MAX_CELLS:
        raise DomainTooLarge(
            f"lengths: a table of {largest} cells at length {length}; expected at most"
            f" {MAX_CELLS}, so shorter itemsets",
            field="lengths",
        )
    count, at_most = math.comb(len(positions), length), max(1, _ALL_CELLS // largest)
    wanted = MAX_SETS if asked is None or length == 1 else asked
    most = min(wanted, at_most)
    if count <= most:
        return list(combinations(positions, length))
    if asked is None:
        most = min(most, SAMPLED)
    simulated = random.Random(0)  # noqa: S311 - a choice of examples, no perturbation
    drawn: set[tuple[int, ...]] = set()
    while len(drawn) < most:
        drawn.add(tuple(sorted(simulated.sample(positions, length))))
    return sorted(drawn)


def even_variance(tables: Sequence[UnitVariance]) -> float:
    """Mean over all cells of some tables."""
    square = cells = 0.0
    for variances in tables:
        size = variances.constant.size
        square += float(variances.at(1 / size).sum())
        cells += size
    return max(square, 0.0) / cells


def margins(
    reconstruction: Reconstruction,
    sets: Mapping[int, Iterable[Sequence[int]]],
    query: PlanQuery,
) -> list[LengthMargin]:
    """Plan unbiased estimates of sets of each length, as far as reports tell of them."""
    return [
        even_plan(
            LengthMargin,
            even_variance(list(unit_variances(reconstruction, of, query.target).values())),
            query,
            length=length,
        )
        for length, of in sets.items()
        if length <= reconstruction.max_order
    ]


def even_plan(kind: type[P], variance: float, query: PlanQuery, **also: Any) -> P:
    """Plan of some kind for evenly spread answers, by the variance with a single respondent."""
    error = math.sqrt(variance / query.respondents)
    return kind(
        standard_error=error,
        half_width=normal_quantile(1 - query.confidence) * error,
        respondents_needed=respondents_needed(variance, query),
        **also,
    )


def respondents_needed(variance: float, query: PlanQuery) -> int | None:
    """Respondents for the half-width asked about, by the variance with a single one."""
    if query.half_width is None:
        return None
    quantile = normal_quantile(1 - query.confidence)
    return max(2, math.ceil(quantile**2 * variance / query.half_width**2))
