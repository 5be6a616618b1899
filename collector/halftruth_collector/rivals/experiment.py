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
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from halftruth_shared import (
    GammaDiagonal,
    Mechanism,
    ParameterError,
    RandomizedGammaDiagonal,
    RandomizedResponse,
    Schema,
    SplitQuestionnaire,
    Survey,
)
from halftruth_shared.analyses.base import Columns
from halftruth_shared.mechanisms.records import RecordMechanism
from halftruth_shared.protocol.base import Message
from numpy.typing import NDArray

from ..estimation import Counts, Estimator
from ..estimation.bounds import Array
from ..estimation.constrained import CONSTRAINED_CELLS
from .baskets import BasketScheme, BasketSupports
from .cut_and_paste import CUTOFF, CutAndPaste
from .errors import MiningErrors, mining_errors
from .mask import Mask

#: Estimated supports of a table, None where a scheme tells nothing of so many attributes together.
Support = Callable[[Sequence[str]], Array | None]

#: Most itemsets of all lengths that are looked at, and the longest unless told.
MOST_ITEMSETS, USUAL_LENGTH = 2**18, 6


@dataclass(frozen=True)
class Scheme:
    """A way to perturb records, as the experiment uses it.

    Attributes
    ----------
    amplification : Fraction or float
    condition_number : callable
        That of the matrix by which the supports of a table are reconstructed; infinite where there
        is no inverse, None where no single matrix is inverted.
    simulate : callable
        One simulated survey: its supports by the name of the estimate.
    """

    amplification: Fraction | float
    condition_number: Callable[[Sequence[str]], float | None]
    simulate: Callable[[np.random.Generator], Mapping[str, Support]]


class LengthErrors(Message, frozen=True, kw_only=True):
    """Errors over all itemsets of one length, as means over the simulated surveys.

    `frequent` is the number of truly frequent itemsets, `found` of those found. `support_error` is
    ρ, null where no frequent itemset was found; `false_negatives` and `false_positives` are σ⁻ and
    σ⁺, null where nothing is frequent. `root_mean_square` is the error of the supports of all
    itemsets, null where the scheme tells nothing of this length: then nothing is found.
    `condition_number` is the largest of the tables of this length, null where it is infinite or no
    single matrix is inverted.
    """

    length: int
    frequent: int
    found: float
    support_error: float | None
    false_negatives: float | None
    false_positives: float | None
    root_mean_square: float | None
    condition_number: float | None


class SchemeErrors(Message, frozen=True, kw_only=True):
    """Errors of one scheme by length of itemsets."""

    scheme: str
    amplification: float
    lengths: list[LengthErrors]


class RandomizedErrors(Message, frozen=True, kw_only=True):
    """RAN-GD with one α: range of the posterior of a property, and errors.

    `alpha` is the half-range of r as a share of γx. `lower` and `upper` are the posteriors for
    someone who knows that r is at its lower or upper end (FRAPP eq. 31).
    """

    alpha: float
    lower: float
    upper: float
    errors: SchemeErrors


class RivalsResult(Message, frozen=True, kw_only=True):
    """Schemes beside each other on the same records.

    `left_out` says which scheme cannot serve these records, and why. `randomized` has RAN-GD for
    several α, and is empty where it cannot serve them.
    """

    records: int
    gamma: float
    min_support: float
    surveys: int
    schemes: list[SchemeErrors]
    left_out: list[str]
    randomized: list[RandomizedErrors]

    @property
    def columns(self) -> Columns:
        """Name and type of each column of `rows`."""
        counted = ("length", "frequent")
        return [
            ("scheme", str),
            ("amplification", float),
            *((name, int if name in counted else float) for name in _OF_LENGTH),
        ]

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """One row of `columns` for each scheme and length."""
        for scheme in self.schemes:
            for length in scheme.lengths:
                values = (getattr(length, name) for name in _OF_LENGTH)
                yield (scheme.scheme, scheme.amplification, *values)


_OF_LENGTH = LengthErrors.__struct_fields__


@dataclass(frozen=True)
class Records:
    """True records, and what is asked of them.

    Attributes
    ----------
    truth : Counts
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


def candidates(records: Records, gamma: Fraction) -> tuple[dict[str, Scheme], list[str]]:
    """The schemes of an amplification, and why others are left out.

    Cut-and-paste is there twice: with FRAPP's cutoff, and with the best one for the longest
    itemsets, of which the first may tell nothing.
    """
    schema, lengths = records.schema, records.lengths
    best = CutAndPaste.best(schema, gamma, lengths[-1])
    cutoffs = {CUTOFF} if best is None else {CUTOFF, best.cutoff}
    makers: list[tuple[str, Callable[[], Scheme]]] = [
        ("gamma-diagonal", lambda: own(records, GammaDiagonal(gamma))),
        (
            "randomized gamma-diagonal",
            lambda: own(records, RandomizedGammaDiagonal.for_amplification(schema, gamma)),
        ),
        ("MASK", lambda: rival(records, Mask.for_amplification(schema, gamma))),
        ("EMASK", lambda: rival(records, Mask.extended(schema, gamma))),
        *(
            (f"cut-and-paste, K = {cutoff}", partial(_cut_and_paste, records, gamma, cutoff))
            for cutoff in sorted(cutoffs)
        ),
        (
            "randomized response",
            lambda: own(records, RandomizedResponse.for_amplification(schema, gamma)),
        ),
        (
            "split questionnaire",
            lambda: own(
                records,
                SplitQuestionnaire.designed(schema, gamma, (), dict.fromkeys(lengths, 1.0)),
                guess=schema.size <= CONSTRAINED_CELLS,
            ),
        ),
    ]
    schemes, left_out = {}, []
    for name, make in makers:
        try:
            schemes[name] = make()
        except ParameterError as error:
            left_out.append(f"{name}: {error}")
    return schemes, left_out


def own(records: Records, mechanism: Mechanism, guess: bool = False) -> Scheme:
    """One of halftruth's own mechanisms, estimated from its reports without bias.

    Parameters
    ----------
    records : Records
    mechanism : Mechanism
    guess : bool
        Whether to have the best guess beside it.

    Raises
    ------
    ParameterError
        If it cannot serve these records.
    """
    schema, codes = records.schema, records.codes
    mechanism.check(schema)
    survey = Survey("rivals", "Rivals", schema, mechanism)
    longest = mechanism.reconstruction(schema).longest

    def simulate(rng: np.random.Generator) -> dict[str, Support]:
        reports = mechanism.perturb_many(schema, codes, rng)
        estimator = Estimator(survey, Counts.from_reports(survey, reports))

        def support(names: Sequence[str]) -> Array | None:
            return estimator.support(names) if len(names) <= longest else None

        guesses = {"best guess": partial(estimator.support, estimate="likelihood")} if guess else {}
        return {"": support, **guesses}

    def condition_number(names: Sequence[str]) -> float | None:
        if isinstance(mechanism, RecordMechanism):
            return mechanism.channel(schema, names).condition_number
        return None

    return Scheme(mechanism.amplification(schema), condition_number, simulate)


def rival(records: Records, scheme: BasketScheme) -> Scheme:
    """An earlier scheme, on the baskets of the records."""
    schema, codes = records.schema, records.codes
    attributes = len(schema.shape)
    return Scheme(
        scheme.amplification(schema),
        lambda names: scheme.condition_number(attributes, len(names)),
        lambda rng: {
            "": BasketSupports(scheme, schema, scheme.simulate(schema, codes, rng)).support
        },
    )


def errors_of(
    name: str, scheme: Scheme, records: Records, surveys: int, seed: int = 0
) -> list[SchemeErrors]:
    """Errors of each estimate of a scheme, over several simulated surveys.

    Parameters
    ----------
    name : str
    scheme : Scheme
    records : Records
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


def randomized_errors(
    records: Records, gamma: Fraction, prior: Fraction, surveys: int, steps: int = 4
) -> list[RandomizedErrors]:
    """RAN-GD for α from 0 to γx, or as far as no probability is negative.

    Parameters
    ----------
    records : Records
    gamma : Fraction
    prior : Fraction
        Of the property whose posterior is told.
    surveys : int
        How many are simulated for each α.
    steps : int
        Number of steps from the smallest to the largest α.

    Raises
    ------
    ParameterError
        If gamma-diagonal matrices cannot serve these records.
    """
    most = min(Fraction(1), Fraction(records.schema.size - 1) / gamma)
    found = []
    for step in range(steps + 1):
        mechanism = RandomizedGammaDiagonal(gamma, most * step / steps)
        lower, upper = mechanism.posterior_range(records.schema, prior)
        # Surveys of their own: what differs between two α is then as uncertain as it looks.
        [errors] = errors_of(
            "randomized gamma-diagonal", own(records, mechanism), records, surveys, step * surveys
        )
        found.append(
            RandomizedErrors(
                alpha=float(mechanism.alpha), lower=float(lower), upper=float(upper), errors=errors
            )
        )
    return found


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


def _cut_and_paste(records: Records, gamma: Fraction, cutoff: int) -> Scheme:
    return rival(records, CutAndPaste.for_amplification(records.schema, gamma, cutoff))


def _itemsets(schema: Schema, longest: int) -> int:
    """Number of itemsets up to a length: elementary symmetric sums of the numbers of categories."""
    by_length = [1] + [0] * longest
    for size in schema.shape:
        for length in range(longest, 0, -1):
            by_length[length] += size * by_length[length - 1]
    return sum(by_length[1:])
