"""Expected errors of the tables of all sets of attributes of one length, for even answers."""

import math
import random
from collections.abc import Iterable, Sequence
from itertools import combinations

from halftruth_shared import DomainTooLarge, Schema
from halftruth_shared.analyses.base import Target
from halftruth_shared.deadlines import check_deadline

from ..table import Reconstruction
from ..variances import UnitVariance
from .oracles import OracleTables

#: Number of sets of one length up to which all are examined, and the sample size of more.
MAX_SETS, SAMPLED = 1_000, 300

#: Largest table, and largest number of cells of all tables of one length.
MAX_CELLS, _ALL_CELLS = 2**18, 2**22

#: Largest length of tables by default.
USUAL_LENGTHS = 3


def unit_variances(
    tables: Reconstruction | OracleTables, sets: Iterable[Sequence[int]], target: Target
) -> dict[tuple[int, ...], UnitVariance]:
    """Return the variances of the tables of some sets of attributes, by their positions."""
    names = tables.schema.names
    return {
        tuple(positions): tables.unit_variance([names[j] for j in positions], target)
        for positions in sets
    }


def largest_table(schema: Schema, positions: Sequence[int], length: int) -> int:
    """Return the number of cells of the largest table of `length` of these attributes."""
    return math.prod(sorted(schema.shape[j] for j in positions)[-length:])


def perturbed_of(schema: Schema, public: frozenset[str]) -> list[int]:
    """Return the positions of the perturbed attributes."""
    return [j for j, name in enumerate(schema.names) if name not in public]


def sets_of(schema: Schema, positions: Sequence[int], length: int) -> list[tuple[int, ...]]:
    """Return sets of `length` of these attributes: all, or a fixed sample.

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
    most = max(1, _ALL_CELLS // largest)
    if math.comb(len(positions), length) <= min(MAX_SETS, most):
        return list(combinations(positions, length))
    most = min(SAMPLED, most)
    simulated = random.Random(0)  # noqa: S311 - a choice of examples, no perturbation
    drawn: set[tuple[int, ...]] = set()
    while len(drawn) < most:
        check_deadline()
        drawn.add(tuple(sorted(simulated.sample(positions, length))))
    return sorted(drawn)


def even_variance(tables: Sequence[UnitVariance]) -> float:
    """Return the mean variance over all cells of some tables, under uniform answers."""
    square = cells = 0.0
    for variances in tables:
        check_deadline()
        size = variances.constant.size
        square += float(variances.at(1 / size).sum())
        cells += size
    return max(square, 0.0) / cells
