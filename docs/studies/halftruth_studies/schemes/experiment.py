"""FRAPP's experiment (§7) for any records: comparison of schemes of one amplification.

Every scheme perturbs the same records in repeated simulations from fixed seeds. Supports of all
itemsets are reconstructed, and frequent ones are found as by Apriori: an itemset is found if its
estimated support reaches the threshold and all its subsets were found. The condition on subsets is
optional.
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

#: Estimated supports of a table, None if a scheme does not identify this number of attributes.
Support = Callable[[Sequence[str]], Array | None]

#: Largest number of itemsets of all lengths, and default of the largest length.
MOST_ITEMSETS, USUAL_LENGTH = 2**18, 6


@dataclass(frozen=True)
class Scheme:
    """A perturbation of records for the experiment.

    Attributes
    ----------
    condition_number : callable
        Condition number of the matrix by which the supports of a table are reconstructed; infinite
        without an inverse, None if no single matrix is inverted.
    simulate : callable
        Function that simulates a survey and returns its supports by the name of the estimate.
    """

    amplification: Fraction | float
    condition_number: Callable[[Sequence[str]], float | None]
    simulate: Callable[[np.random.Generator], Mapping[str, Support]]


@dataclass(frozen=True)
class Records:
    """True records, and the itemsets to mine.

    Attributes
    ----------
    lengths : range
        Lengths of itemsets.
    min_support : float
        Smallest support of a frequent itemset.
    levels : bool
        Whether an itemset is found only if all its subsets are.
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
        """Choose itemsets of all lengths up to one, by default limited by computing time.

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
        """Codes of all records, shape (N, M)."""
        return np.repeat(self.truth.cells, self.truth.counts, axis=0)

    def tables(self, length: int) -> Iterator[tuple[int, ...]]:
        """Iterate over the positions of the attributes of every table of a length."""
        return combinations(range(len(self.schema.shape)), length)

    def names(self, positions: Sequence[int]) -> list[str]:
        """Return the names of the attributes at some positions."""
        return [self.schema.names[j] for j in positions]


def errors_of(
    name: str, scheme: Scheme, records: Records, surveys: int, seed: int = 0
) -> list[SchemeErrors]:
    """Compute errors of each estimate of a scheme, over several simulated surveys.

    Parameters
    ----------
    surveys : int
        Number of simulated surveys, at least 1.
    seed : int
        Seed of the first survey; the others have the next integers.
    """
    by_estimate: dict[str, list[list[tuple[MiningErrors, float | None]]]] = {}
    for k in range(surveys):
        estimates = scheme.simulate(np.random.default_rng(seed + k))
        for estimate, support in estimates.items():
            by_estimate.setdefault(estimate, []).append(list(_by_length(support, records)))
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
        for estimate, of_surveys in by_estimate.items()
    ]


def _by_length(support: Support, records: Records) -> Iterator[tuple[MiningErrors, float | None]]:
    """Compute errors of mining each length in one survey, and mean square errors of supports."""
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
    """Return the mean of the values that are not None, None without any."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def _largest(values: Iterator[float | None]) -> float | None:
    known = [math.inf if value is None else value for value in values]
    return max(known) if math.isfinite(max(known)) else None


def _itemsets(schema: Schema, longest: int) -> int:
    """Count itemsets up to a length: elementary symmetric sums of the numbers of categories."""
    by_length = [1] + [0] * longest
    for size in schema.shape:
        for length in range(longest, 0, -1):
            by_length[length] += size * by_length[length - 1]
    return sum(by_length[1:])
