"""Goodness of fit: whether any shares of answers explain the reports under the design.

If fewer people say yes than the dice force to say yes, no share from 0 to 1 explains the reports,
and the unbiased estimate is significantly below 0. Genuine reports, drawn by the instructions, are
like that in at most 1 % of results. Estimates from such reports are meaningless.

The test statistic is G² = 2 Σ n ln(λ̂/λ̃) with λ̃ = Aπ̃ and the maximum likelihood shares π̃ ≥ 0.
At the boundary of the parameter space, G² is not χ² distributed, so its distribution is simulated
at λ̃ (parametric bootstrap). G² is at most the statistic of goodness of fit of the true shares, so
the χ² distribution of the latter bounds the p-value: if the bound is below the level, nothing is
simulated. Simulations are as many as the level needs, so the test decides at every level, whatever
the number of questions. The test is computed only if an unbiased estimate and its whole interval
are outside 0 to 1.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from halftruth_shared import EstimateError, ParameterError, Survey
from halftruth_shared.analyses.base import Contradiction
from halftruth_shared.deadlines import check_deadline
from numpy.typing import NDArray

from ..counts import Counts, CountsKey, RecentResults, key_of
from .bounds import Array, normal_quantile
from .derived import DerivedTable
from .intervals import SHARE, intervals_at
from .reconstruction import reconstruction
from .report_model import ReportPart, report_parts
from .table import Table, TableSource

#: Familywise level of the test, over all tables of a result.
LEVEL = 0.01

#: Number of simulated sets of reports in the first batch, and of it and each further one together;
#: those of a test in multiples of 1/level: a p-value at the level is then that of the second
#: largest statistic. A few sets show that most tests cannot reject.
_FIRST, _AT_A_TIME, _DEPTH = 20, 200, 2

#: Smallest expected number of reports of each kind for which the χ² bound is used.
_EXPECTED = 5

#: Seed of the simulation.
_SEED = 20

#: Largest table of several questions that is tested.
_CELLS = 256

#: Largest number of steps of the optimization, and the gain of G² at which it ends.
_STEPS, _GAIN = 500, 1e-6

#: A long step leaves at least this part of each share of two EM steps.
_SMALLER = 1e-3

#: Tolerance of G² due to the optimization.
_EQUAL = 0.01


@dataclass(frozen=True, eq=False)
class Likelihood:
    """Likelihood of tables, with a batch axis before those of `shape`, by parts of the reports."""

    parts: Sequence[ReportPart]
    shape: tuple[int, ...]

    def probabilities(self, tables: Array) -> list[Array]:
        """Return the probability of each report of each part, shape (B, *reports)."""
        found = []
        for part in self.parts:
            others = tuple(1 + j for j in range(len(self.shape)) if j not in part.margin)
            order = np.argsort(np.argsort(part.margin))
            margin = tables.sum(axis=others).transpose(0, *(1 + order))
            found.append(part.probabilities(margin))
        return found

    def level(self, tables: Array, counts: Sequence[Array]) -> Array:
        """Return the log-likelihood of each table, shape (B,)."""
        return _log_likelihood(self.probabilities(tables), counts)

    def em_step(self, tables: Array, counts: Sequence[Array]) -> Array:
        """Return the tables after one step of expectation maximization."""
        weights = np.zeros(tables.shape)
        for part, n, chance in zip(self.parts, counts, self.probabilities(tables), strict=True):
            ratio = np.divide(n, chance, out=np.zeros(chance.shape), where=n > 0)
            own = part.mean_weights(ratio).transpose(0, *(1 + np.argsort(part.margin)))
            sizes = [size if j in part.margin else 1 for j, size in enumerate(self.shape)]
            weights += own.reshape(-1, *sizes)
        total = np.add.reduce([n.reshape(len(n), -1).sum(axis=1) for n in counts])
        return np.asarray(tables * weights / _rows(total, self.shape))

    def maximum(self, counts: Sequence[Array]) -> tuple[Array, Array]:
        """Return nonnegative maximum likelihood shares, and G².

        Two EM steps are followed by a longer one in their direction (Varadhan & Roland 2008),
        unless it is less likely.

        Parameters
        ----------
        counts : sequence of ndarray, shape (B, *reports)
            Counts of each part, in B sets of reports.

        Returns
        -------
        shares : ndarray, shape (B, *shape)
        statistic : ndarray, shape (B,)
        """
        batch, shape = len(counts[0]), self.shape
        found = np.full((batch, *shape), 1 / math.prod(shape))
        level = self.level(found, counts)
        # Sets of reports whose optimum is reached leave the batch: most need few steps.
        left, inside = np.arange(batch), list(counts)
        tables, now = found, level
        for _ in range(_STEPS):
            check_deadline()
            tables, after = self._steps(tables, inside)
            going = 2 * (after - now) >= _GAIN
            found[left], level[left], now = tables, after, after
            if not going.any():
                break
            if not going.all():
                left, tables, now = left[going], tables[going], now[going]
                inside = [n[going] for n in inside]
        observed = [n / _rows(n.reshape(batch, -1).sum(axis=1), n.shape[1:]) for n in counts]
        best = _log_likelihood(observed, counts)
        return found, np.maximum(2 * (best - level), 0.0)

    def _steps(self, tables: Array, counts: Sequence[Array]) -> tuple[Array, Array]:
        """Return the tables after three EM steps, one of them long, with their log-likelihoods."""
        shape = self.shape
        first = self.em_step(tables, counts)
        second = self.em_step(first, counts)
        change, bend = first - tables, second - 2 * first + tables
        lengths = _length(change), _length(bend)
        far = np.maximum(lengths[0] / np.where(lengths[1] > 0, lengths[1], 1.0), 1.0)
        jump = tables + _rows(2 * far, shape) * change + _rows(far**2, shape) * bend
        jump = np.maximum(jump, second * _SMALLER)
        sums = _rows(jump.reshape(len(tables), -1).sum(axis=1), shape)
        jump = self.em_step(jump / sums, counts)
        likely = self.level(jump, counts), self.level(second, counts)
        better = likely[0] > likely[1]
        return np.where(_rows(better, shape), jump, second), np.where(better, *likely)


def _rows(values: NDArray[Any], shape: Sequence[int]) -> NDArray[Any]:
    """Append axes of length 1 to one number for each table of a batch."""
    return np.reshape(values, (-1, *[1] * len(shape)))


def _length(tables: Array) -> Array:
    return np.asarray(np.linalg.norm(tables.reshape(len(tables), -1), axis=1))


def _log_likelihood(chances: Sequence[Array], counts: Sequence[Array]) -> Array:
    levels = [scipy.special.xlogy(n, chance) for chance, n in zip(chances, counts, strict=True)]
    return np.asarray(sum(level.reshape(len(level), -1).sum(axis=1) for level in levels))


@dataclass(frozen=True)
class Fit:
    """Result of the test that some shares explain the reports about a table.

    Attributes
    ----------
    p_value : float
        Probability of a G² at least this large under λ̃, or an upper bound of it.
    simulated : int
        Number of simulated sets of reports; 0 if `p_value` is the bound by the χ² distribution.
    """

    p_value: float
    simulated: int


def fit_of(likelihood: Likelihood, level: float) -> Fit:
    """Test at a level whether some shares explain the reports.

    The simulation ends early if the test cannot reject any more.
    """
    counts = [part.counts[None] for part in likelihood.parts]
    shares, statistic = likelihood.maximum(counts)
    chances = [chance[0] / chance[0].sum() for chance in likelihood.probabilities(shares)]
    bound = _chi_squared_bound(float(statistic[0]), counts, chances)
    if bound <= level:
        return Fit(bound, 0)
    rng = np.random.default_rng(_SEED)
    # The observed reports count as one of the simulated sets.
    larger = every = 1
    while every < _DEPTH / level and larger <= _DEPTH:
        check_deadline()
        size = _FIRST if every == 1 else _AT_A_TIME - (every - 1) % _AT_A_TIME
        drawn = [
            rng.multinomial(int(n.sum()), c.ravel(), size=size).reshape(-1, *c.shape)
            for n, c in zip(counts, chances, strict=True)
        ]
        _, at_random = likelihood.maximum([each.astype(float) for each in drawn])
        larger += int((at_random >= statistic[0] - _EQUAL).sum())
        every += size
    return Fit(larger / every, every - 1)


def _chi_squared_bound(
    statistic: float, counts: Sequence[Array], chances: Sequence[Array]
) -> float:
    """Return an upper bound of the p-value, 1 if expected numbers of reports are too small.

    Any shares in the parameter space, so also the true ones, have at least this G², and that of the
    true shares has a degree of freedom for each kind of report but one in each part.
    """
    expected = [n.sum() * c for n, c in zip(counts, chances, strict=True)]
    if min(float(each[each > 0].min()) for each in expected) < _EXPECTED:
        return 1.0
    freedom = sum(each.size - 1 for each in expected)
    return float(scipy.stats.chi2.sf(statistic, freedom))


def contradictions(
    survey: Survey, counts: Counts, names: Sequence[str], together: bool
) -> list[Contradiction]:
    """Return the tables of some questions whose reports contradict the design.

    Parameters
    ----------
    names : sequence of str
        Each question is examined alone.
    together : bool
        Whether the table of all of them is examined as well, if it is small.
    """
    tables: list[tuple[str, ...]] = [(name,) for name in names]
    source = reconstruction(survey)
    cells = math.prod(survey.schema.shape[j] for j in survey.schema.positions(names))
    if together and len(names) > 1 and source.identified(names) and cells <= _CELLS:
        tables.append(tuple(sorted(names, key=survey.schema.names.index)))
    found: list[Contradiction] = []
    for table in tables:
        check_deadline()
        known = any(set(each.attributes) <= set(table) for each in found)
        if known or not _has_impossible(source, counts, table):
            continue
        fit = _fit(survey, counts, table, LEVEL / len(tables))
        if fit is not None and fit.p_value <= LEVEL / len(tables):
            found.append(
                Contradiction(attributes=list(table), p_value=fit.p_value, simulated=fit.simulated)
            )
    return found


def _has_impossible(source: TableSource, counts: Counts, names: tuple[str, ...]) -> bool:
    """Return whether an estimated share is outside of 0 to 1 with its whole interval."""
    try:
        table = source.table(counts, names)
    except (EstimateError, ParameterError):
        return False
    lower, upper = intervals_at(table, normal_quantile(0.05))
    return bool(((upper < SHARE.lower) | (lower > SHARE.upper)).any())


#: Recent tests.
_TESTED = RecentResults[tuple[CountsKey, tuple[str, ...], float], Fit | None](256)


def _fit(survey: Survey, counts: Counts, names: tuple[str, ...], level: float) -> Fit | None:
    """Test a table; None if no reports are about its questions alone."""

    def tested() -> Fit | None:
        likelihood = likelihood_of(survey, counts, names)
        return fit_of(likelihood, level) if likelihood.parts else None

    return _TESTED.get((key_of(survey, counts), names, level), tested)


def likelihood_of(survey: Survey, counts: Counts, names: Sequence[str]) -> Likelihood:
    """Return the likelihood of the table of some questions, in the order of the survey."""
    shape = tuple(survey.schema.shape[j] for j in survey.schema.positions(names))
    return Likelihood(report_parts(survey.perturbation, counts, names), shape)


def most_likely_table(survey: Survey, counts: Counts, unbiased: Table) -> Table:
    """Return the nonnegative maximum likelihood table, for reports that contradict the design.

    Its errors are those of the unbiased table, and are meaningless.
    """
    names = [name for name in survey.schema.names if name in unbiased.axes]
    likelihood = likelihood_of(survey, counts, names)
    if not likelihood.parts or unbiased.value.size > _CELLS:
        return unbiased
    shares, _ = likelihood.maximum([part.counts[None] for part in likelihood.parts])
    order = [names.index(name) for name in unbiased.axes]
    alone = [[[code] for code in range(size)] for size in unbiased.value.shape]
    shares = shares[0].transpose(order)
    return DerivedTable(unbiased, alone, unbiased.axes, unbiased.reports, shares=shares)
