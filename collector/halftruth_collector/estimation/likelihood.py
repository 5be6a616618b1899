"""Best guess of the table of all or some attributes: expectation maximization, stopped early.

The moment estimate is unbiased and the basis of all intervals, but can be outside the simplex. The
best guess is inside, and its margins are consistent: a superset is never more frequent than its
subset. It is biased.

One EM step is π ← π∘Aᵀ(λ̂ / Aπ). The limit, the maximum likelihood table, overfits the noise of the
perturbation. EM starts from independence, and its first steps fit the strongest associations; the
number of steps maximizes the likelihood of held-out reports (cross-validation).
"""

import math
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from itertools import accumulate, combinations
from typing import NamedTuple

import numpy as np
import scipy
from halftruth_shared import DomainTooLarge, EstimateError, NoReports, Schema, Survey
from halftruth_shared.analyses.base import TypicalError
from halftruth_shared.deadlines import check_deadline
from numpy.typing import NDArray

from ..counts import Counts
from .bounds import Array, normal_quantile, project_to_simplex
from .domain import Domain
from .reconstruction import reconstruction
from .report_model import Likelihood, likelihood
from .table import Reconstruction, Table

#: Returns the table of some attributes.
TableOf = Callable[[Sequence[str]], Table]

#: Largest table of all attributes for which a best guess is computed.
CONSTRAINED_CELLS = 2**18

#: Largest number of tables, and of their cells in total, for estimating the typical error.
TYPICAL_TABLES, _TYPICAL_CELLS = 50, 2**15

#: Number of folds of the cross-validation.
PARTS = 4

#: The number of steps grows by this factor from one comparison to the next.
_GROWTH = 1.25

#: The search ends at this multiple of the best number of steps; and the number always tried.
_PATIENCE, _LEAST = 2, 20

#: Smallest relevant gain of the log-likelihood of all held-out reports.
_WORTH = 0.01

#: Level of the test of the best guess against independence.
_LEVEL = 0.05

#: Cells times steps after which the search ends; about a minute for large tables.
_MOST_WORK = 2**31


class BestGuess(NamedTuple):
    """Estimate of a table by EM with early stopping.

    Attributes
    ----------
    table : ndarray
        At least 0 and adding up to 1; shrunk towards independence, without error bounds.
    steps : int
        Number of EM steps from independence.
    learned : bool
        Whether held-out reports favour it significantly over independence, at a level of 5 %.
    """

    table: Array
    steps: int
    learned: bool


class WholeTable:
    """Best guess of the table of all attributes, and its margins.

    If all are too many, there is a table for each set of attributes that is asked for, with those
    of the filter. Such tables need not agree with each other.

    Parameters
    ----------
    survey : Survey
    counts : Counts
    domain : Domain
    unbiased : callable
        Returns unbiased estimates of tables of the domain, by their names, from other counts.
    names : tuple of str, optional
        Attributes of the table, in the order of the survey; all by default.
    """

    def __init__(
        self,
        survey: Survey,
        counts: Counts,
        domain: Domain,
        unbiased: Callable[[Counts], TableOf],
        names: tuple[str, ...] | None = None,
    ) -> None:
        self._survey, self._counts, self._names = survey, counts, names
        self._whole_domain, self._unbiased = domain, unbiased
        self._smaller: dict[tuple[str, ...], WholeTable] = {}

    @cached_property
    def estimate(self) -> Array:
        """Table of the domain, an axis for each attribute.

        Raises
        ------
        DomainTooLarge, EstimateError
        """
        size = self._domain.whole.size
        if size > CONSTRAINED_CELLS:
            raise DomainTooLarge(
                f"estimate: a whole table of {size} cells; expected at most"
                f" {CONSTRAINED_CELLS}, or estimate = moment",
                field="estimate",
            )
        return self._domain.slice(self._best_guess.table)

    @cached_property
    def _domain(self) -> Domain:
        """The domain among the attributes of the table."""
        domain = self._whole_domain
        if self._names is None:
            return domain
        among = [domain.whole.attributes[j] for j in domain.whole.positions(self._names)]
        return Domain(Schema(tuple(among)), domain.where, domain.answered)

    def _of(self, attributes: Sequence[str]) -> "WholeTable":
        """Return the table of all attributes, or if these are too many that of some."""
        domain = self._whole_domain
        if self._names is not None or domain.whole.size <= CONSTRAINED_CELLS:
            return self
        wanted = {*attributes, *domain.where}
        names = tuple(name for name in domain.whole.names if name in wanted)
        if names not in self._smaller:
            of_names = WholeTable(self._survey, self._counts, domain, self._unbiased, names)
            self._smaller[names] = of_names
        return self._smaller[names]

    def table(self, attributes: Sequence[str]) -> Array:
        """Return the margin of some attributes, in this order."""
        table = self._of(attributes)
        return _part_of(table.estimate, table._domain, attributes)

    def typical_error(self, attributes: Sequence[str]) -> TypicalError:
        """Estimate the root mean square error of best guesses in tables of as many attributes.

        Cross-validation: the mean of (guess from the other folds − unbiased estimate from the
        fold)², minus the variance of the latter. It is too large by up to √(4/3), because the other
        folds are three quarters of the reports.
        """
        if (table := self._of(attributes)) is not self:
            return table.typical_error(attributes)
        estimated, subsets, squares = None, self._like(attributes), []
        with suppress(EstimateError, NoReports):
            for part, guess in self._held_out:
                squares.append(self._mean_square_error(part, guess, subsets))
            estimated = typical_error(np.array(squares))
        error, bound = estimated or (None, True)
        learned = len(attributes) > 1 and self._best_guess.learned
        return TypicalError(length=len(attributes), error=error, bound=bound, learned=learned)

    @property
    def _source(self) -> Reconstruction:
        return reconstruction(self._survey)

    @cached_property
    def _best_guess(self) -> BestGuess:
        return best_guess(self._source, self._counts, self._names)

    @cached_property
    def _held_out(self) -> list[tuple[Counts, Array]]:
        """Folds of the reports, each with the best guess from the other folds."""
        source, counts = self._source, self._counts
        folds = [
            (part, rest, independence(source, rest, self._names)) for rest, part in _divided(counts)
        ]
        if not (steps := self._best_guess.steps):
            return [(part, start) for part, _, start in folds]
        model = likelihood(source.perturbation, counts, self._names)
        return [(part, _guess(model, rest, start, steps)) for part, rest, start in folds]

    def _like(self, attributes: Sequence[str]) -> list[tuple[int, ...]]:
        """Return the positions of these attributes, and of all or some sets of as many others."""
        schema, rng = self._domain, np.random.default_rng(0)
        positions = tuple(sorted(schema.positions(attributes)))
        size, every = len(positions), range(len(schema.shape))
        if math.comb(len(every), size) <= TYPICAL_TABLES:
            others = list(combinations(every, size))
        else:
            drawn = (rng.choice(len(every), size, replace=False) for _ in range(TYPICAL_TABLES))
            others = [tuple(sorted(each.tolist())) for each in drawn]
        cells = accumulate(math.prod(schema.shape[j] for j in each) for each in others)
        few = [each for each, sum_ in zip(others, cells, strict=True) if sum_ <= _TYPICAL_CELLS]
        return list(dict.fromkeys([positions, *few]))

    def _mean_square_error(
        self, part: Counts, guess: Array, subsets: Sequence[tuple[int, ...]]
    ) -> float:
        """Estimate the error of a guess by the unbiased estimates from other reports."""
        domain, unbiased = self._domain, self._unbiased(part)
        guess = domain.slice(guess)
        squares = []
        for positions in subsets:
            check_deadline()
            names = [domain.names[j] for j in positions]
            table = unbiased(names)
            off = (_part_of(guess, domain, names) - table.value) ** 2 - table.variance()
            squares.append(off.ravel())
        return float(np.concatenate(squares).mean())


def _part_of(whole: Array, domain: Domain, attributes: Sequence[str]) -> Array:
    """Return the margin of some attributes in the domain, with or without missing answers."""
    table = margin(whole, domain.positions(attributes))
    if not domain.leaves_out(attributes):
        return table
    kept = table[np.ix_(*domain.kept(attributes))]
    return np.asarray(kept / kept.sum())


def best_guess(
    unbiased: Reconstruction, counts: Counts, names: Sequence[str] | None = None
) -> BestGuess:
    """Compute the best guess of the table of some attributes, all by default.

    A single one has no association to learn.
    """
    start = independence(unbiased, counts, names)
    if names is not None and len(names) == 1:
        return BestGuess(start, 0, False)
    model = likelihood(unbiased.perturbation, counts, names)
    steps, learned = _steps_by_held_out_reports(model, counts, start)
    return BestGuess(_guess(model, counts, start, steps), steps, learned)


def typical_error(squares: Array) -> tuple[float, bool] | None:
    """Return the root mean square error of a best guess from one estimate of its square per fold.

    Each estimate is the mean over cells of (guess from the other folds − unbiased estimate from the
    fold)², minus the variance of the latter. Its expectation is the mean square error of the guess,
    because folds are independent.

    Returns
    -------
    error : float
    bound : bool
        Whether it is an upper bound (95 %) instead of an estimate, because it is not significantly
        above 0.
    """
    if len(squares) < PARTS or np.isnan(squares).any():
        return None
    mean, error = squares.mean(), squares.std(ddof=1) / math.sqrt(len(squares))
    margin = scipy.special.stdtrit(len(squares) - 1, 1 - _LEVEL) * error
    bound = bool(mean <= margin)
    return math.sqrt(max(mean, 0.0) + margin if bound else mean), bound


def independence(
    unbiased: Reconstruction, counts: Counts, names: Sequence[str] | None = None
) -> Array:
    """Return the product of the tables of single attributes, all by default.

    Each is projected onto the simplex.
    Shares are at least 1/N, because EM cannot change a share of 0.
    """
    table = np.ones(())
    for name in unbiased.schema.names if names is None else names:
        estimate = project_to_simplex(unbiased.table(counts, [name]).value)
        shares = np.maximum(estimate, 1 / counts.reports)
        table = np.multiply.outer(table, shares / shares.sum())
    return table


def _steps_by_held_out_reports(model: Likelihood, counts: Counts, start: Array) -> tuple[int, bool]:
    """Choose the number of EM steps by the mean likelihood of held-out reports.

    Also return whether it is significantly larger than that of independence.
    """
    if not (divided := _divided(counts)):
        return 0, False
    learned = [model.observed(rest) for rest, _ in divided]
    held_out = [model.observed(part) * model.reports(part) for _, part in divided]
    learning = [model.reports(rest) for rest, _ in divided]
    before = model.expected(start)
    tables, images = [start] * len(divided), [before] * len(divided)
    most = _MOST_WORK // (start.size * len(divided))
    done, best, highest, clear, steps = 0, 0, 0.0, False, 1
    while steps <= min(most, _PATIENCE * max(best, _LEAST)):
        gain = squares = 0.0
        for number, reports in enumerate(learning):
            for _ in range(steps - done):
                check_deadline()
                tables[number] = _step(model, learned[number], images[number], tables[number])
                images[number] = model.expected(tables[number])
            # Add one pseudo-report of independence, so that no probability is 0.
            predicted = (reports * images[number] + before) / (reports + 1)
            seen = held_out[number] > 0
            gains = np.log(predicted[seen] / before[seen])
            gain += float(held_out[number][seen] @ gains)
            squares += float(held_out[number][seen] @ gains**2)
        done = steps
        if gain > highest + _WORTH:
            best, highest = steps, gain
            clear = gain > normal_quantile(2 * _LEVEL) * math.sqrt(squares)
        steps = max(steps + 1, round(steps * _GROWTH))
    return best, clear


def _divided(counts: Counts) -> list[tuple[Counts, Counts]]:
    """Return the counts of the other folds and of each fold, drawn at random; none is empty."""
    # The seed depends on the counts, so the same reports give the same estimate.
    rng = np.random.default_rng(zlib.crc32(counts.counts.tobytes()))
    left, pairs = counts.counts, []
    for number in range(PARTS):
        drawn = rng.binomial(left, 1 / (PARTS - number))
        left = left - drawn
        pairs.append((replace(counts, counts=counts.counts - drawn), replace(counts, counts=drawn)))
    return [(rest, part) for rest, part in pairs if rest.reports and part.reports]


def _guess(model: Likelihood, counts: Counts, start: Array, steps: int) -> Array:
    """Return the table after a number of EM steps."""
    observed, table = model.observed(counts), start
    # Without a report about the table nothing is learned.
    for _ in range(steps if observed.any() else 0):
        check_deadline()
        table = _step(model, observed, model.expected(table), table)
    return table


def _step(model: Likelihood, observed: Array, image: Array, table: Array) -> Array:
    """Return the table after one more EM step; `image` is Aπ."""
    # Aπ can be 0 for reports without counts.
    ratio = np.divide(observed, image, out=np.zeros_like(image), where=observed > 0)
    return table * model.adjoint(ratio)


def margin(table: Array, positions: Sequence[int]) -> Array:
    """Return a margin of a table, with its axes in this order."""
    others = tuple(axis for axis in range(table.ndim) if axis not in positions)
    order = sorted(positions)
    summed: Array = table.sum(axis=others)
    return summed.transpose([order.index(position) for position in positions])


def supports_within(table: Array, codes: NDArray[np.int64]) -> Array:
    """Return supports of itemsets; codes of shape (K, M) are −1 for attributes not in them."""
    supports = np.empty(len(codes))
    patterns, group = np.unique(codes >= 0, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        check_deadline()
        rows = np.flatnonzero(group.reshape(-1) == number)
        positions = np.flatnonzero(pattern)
        supports[rows] = margin(table, positions.tolist())[tuple(codes[rows][:, positions].T)]
    return supports
