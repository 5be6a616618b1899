"""FRAPP's experiment (§7) on any records: schemes of one amplification beside each other.

Every scheme perturbs the same records, over and over, by simulation from fixed seeds. Supports of
all itemsets are reconstructed, and mined level by level as Apriori does: an itemset is found if its
estimated support reaches the threshold and all itemsets within it were found. Or each is judged by
itself.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np
from halftruth_collector.demo.comparison import MiningErrors, mining_errors
from halftruth_collector.estimation import Counts
from halftruth_shared import ParameterError, Schema
from halftruth_shared.channels.axes import Array
from numpy.typing import NDArray

from .results import LengthErrors, SchemeErrors

#: Estimated supports of a table, None where a scheme tells nothing of so many attributes together.
Support = Callable[[Sequence[str]], Array | None]

#: Most itemsets of all lengths that are looked at, and the longest unless told.
MOST_ITEMSETS, USUAL_LENGTH = 2**18, 6


@dataclass(frozen=True)
class Scheme:
    """A way to perturb records, as the experiment uses it.

    Attributes
    ----------
    condition_number : callable
        That of the matrix by which the supports of a table are reconstructed; infinite where there
        is no inverse, None where no single matrix is inverted.
    simulate : callable
        One simulated survey: its supports by the name of the estimate.
    """

    amplification: Fraction | float
    condition_number: Callable[[Sequence[str]], float | None]
    simulate: Callable[[np.random.Generator], Mapping[str, Support]]


@dataclass(frozen=True)
class Records:
    """True records, and what is asked of them.

    Attributes
    ----------
    lengths : range
        Lengths of itemsets.
    min_support : float
        Of a frequent itemset.
    levels : bool
        Whether an itemset can be found only if all itemsets within it were.
    """

    schema: Schema
    truth: Counts
    lengths: range
    min_support: float
    levels: bool = True

    @classmethod
    def of(
        cls, schema: Schema, truth: Counts, min_support: float, max_length: int | None = None
    ) -> "Records":
        """Look at itemsets of all lengths up to one, by default as long as there is time for.

        Raises
        ------
        ParameterError
            If the threshold or length is outside its range.
        """
        if not 0 < min_support <= 1:
            raise ParameterError(
                "min_support: expected a number above 0 and at most 1", field="min_support"
            )
        possible = [
            length
            for length in range(1, len(schema.shape) + 1)
            if _itemsets(schema, length) <= MOST_ITEMSETS
        ]
        if not possible or (max_length is not None and max_length not in possible):
            raise ParameterError(
                f"max_length: expected an integer from 1 to {len(possible)}, since at most"
                f" {MOST_ITEMSETS} itemsets are looked at",
                field="max_length",
            )
        longest = min(USUAL_LENGTH, possible[-1]) if max_length is None else max_length
        return cls(schema, truth, range(1, longest + 1), min_support)

    @property
    def codes(self) -> NDArray[np.int64]:
        """One record for each person, shape (N, M)."""
        return np.repeat(self.truth.cells, self.truth.counts, axis=0)

    def tables(self, length: int) -> Iterator[tuple[int, ...]]:
        """Positions of the attributes of every table of a length."""
        return combinations(range(len(self.schema.shape)), length)

    def names(self, positions: Sequence[int]) -> list[str]:
        """Names of the attributes at some positions."""
        return [self.schema.names[j] for j in positions]


def errors_of(
    name: str, scheme: Scheme, records: Records, surveys: int, seed: int = 0
) -> list[SchemeErrors]:
    """Errors of each estimate of a scheme, over several simulated surveys.

    Parameters
    ----------
    surveys : int
        How many are simulated, at least 1.
    seed : int
        Of the first survey; the others have the next ones.
    """
    found: dict[str, list[list[tuple[MiningErrors, float | None]]]] = {}
    for k in range(surveys):
        estimates = scheme.simulate(np.random.default_rng(seed + k))
        for estimate, support in estimates.items():
            found.setdefault(estimate, []).append(list(_by_length(support, records)))
    conditions = [
        _largest(map(scheme.condition_number, map(records.names, records.tables(length))))
        for length in records.lengths
    ]
    return [
        SchemeErrors(
            scheme=f"{name}, {estimate}" if estimate else name,
            amplification=float(scheme.amplification),
            lengths=[
                _means(length, [survey[length - 1] for survey in of_surveys], condition)
                for length, condition in zip(records.lengths, conditions, strict=True)
            ],
        )
        for estimate, of_surveys in found.items()
    ]


def _by_length(support: Support, records: Records) -> Iterator[tuple[MiningErrors, float | None]]:
    """Errors of mining each length in one survey, and the mean square of all its supports."""
    shorter: dict[tuple[int, ...], NDArray[np.bool_]] = {(): np.array(True)}
    for length in records.lengths:
        true, estimated, found = [], [], {}
        for positions in records.tables(length):
            shares = records.truth.marginal(positions) / records.truth.reports
            table = support(records.names(positions))
            table = np.full(shares.shape, np.nan) if table is None else table
            found[positions] = table >= records.min_support
            for axis in range(length) if records.levels else ():
                within = shorter[positions[:axis] + positions[axis + 1 :]]
                found[positions] &= np.expand_dims(within, axis)
            true.append(shares.ravel())
            estimated.append(table.ravel())
        every, estimates = np.concatenate(true), np.concatenate(estimated)
        shown = np.concatenate([mask.ravel() for mask in found.values()])
        square = float(np.mean((estimates - every) ** 2))
        yield (
            mining_errors(every, estimates, shown, records.min_support),
            None if math.isnan(square) else square,
        )
        shorter = found


def _means(
    length: int, of_surveys: list[tuple[MiningErrors, float | None]], condition: float | None
) -> LengthErrors:
    errors = [error for error, _ in of_surveys]
    square = _mean([square for _, square in of_surveys])
    return LengthErrors(
        length=length,
        frequent=errors[0].frequent,
        found=float(np.mean([error.found for error in errors])),
        support_error=_mean([error.support_error for error in errors]),
        false_negatives=_mean([error.false_negatives for error in errors]),
        false_positives=_mean([error.false_positives for error in errors]),
        root_mean_square=None if square is None else math.sqrt(square),
        condition_number=condition,
    )


def _mean(values: list[float | None]) -> float | None:
    """Mean of those that are defined, None if none is."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def _largest(values: Iterator[float | None]) -> float | None:
    known = [math.inf if value is None else value for value in values]
    return max(known) if math.isfinite(max(known)) else None


def _itemsets(schema: Schema, longest: int) -> int:
    """Number of itemsets up to a length: elementary symmetric sums of the numbers of categories."""
    by_length = [1] + [0] * longest
    for size in schema.shape:
        for length in range(longest, 0, -1):
            by_length[length] += size * by_length[length - 1]
    return sum(by_length[1:])
