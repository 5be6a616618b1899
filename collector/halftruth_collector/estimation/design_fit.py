"""Goodness of fit: whether any shares of answers explain the reports under the design.

If fewer people say yes than the dice force to say yes, no share from 0 to 1 explains the reports,
and the unbiased estimate is significantly below 0. Then instructions were not followed, or reports
are not genuine, and estimates from these reports are meaningless.

The test statistic is G² = 2 Σ n ln(λ̂/λ̃) with λ̃ = Aπ̃ and the maximum likelihood shares π̃ ≥ 0.
At the boundary of the parameter space, G² is not χ² distributed, so its distribution is simulated
at λ̃ (parametric bootstrap). The test is computed only if an unbiased estimate and its whole
interval are outside 0 to 1.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from halftruth_shared import EstimateError, ParameterError, Survey
from halftruth_shared.analyses.base import Contradiction, Target
from halftruth_shared.channels import Channel
from numpy.typing import NDArray

from .bounds import Array, normal_quantile
from .counts import Counts, Snapshot
from .intervals import SHARE, intervals_at
from .reconstruction import reconstruction
from .report_model import ReportPart, report_parts
from .table import DerivedTable, ReportDistribution, Table, TableSource

#: Familywise level of the test, over all tables of a result.
LEVEL = 0.01

#: Number of simulated sets of reports per batch, and in total, including the observed one.
_AT_A_TIME, _MOST = 200, 4_000

#: Seed of the simulation.
_SEED = 20

#: Largest table of several questions that is tested.
_CELLS = 256

#: Steps of the optimization at most, and the gain in G² from one of them that is no more.
_STEPS, _GAIN = 500, 1e-6

#: A long step leaves of each share at least this part of what two short ones do.
_SMALLER = 1e-3

#: Tolerance of G² due to the optimization.
_EQUAL = 0.01


@dataclass(frozen=True, eq=False)
class _Part:
    """Reports of one part of the likelihood, for tables with a batch axis before those of `shape`.

    Attributes
    ----------
    part : ReportPart
    shape : tuple of int
        Of the table.
    """

    part: ReportPart
    shape: tuple[int, ...]

    @cached_property
    def axes(self) -> tuple[int, ...]:
        return (*self.part.unperturbed, *self.part.axes)

    @property
    def reports(self) -> tuple[int, ...]:
        """Shape of the counts."""
        return self.part.counts.shape

    def expected(self, tables: Array) -> Array:
        """Probability of each report, known answers included, shape (B, *reports)."""
        others = tuple(1 + j for j in range(len(self.shape)) if j not in self.axes)
        margin = tables.sum(axis=others)
        kept = sorted(self.axes)
        margin = margin.transpose(0, *(1 + kept.index(axis) for axis in self.axes))
        known = margin.shape[: 1 + len(self.part.unperturbed)]
        cells = self._operator_shape(margin.shape[1 + len(self.part.unperturbed) :])
        chances = self.part.operator.forward(margin.reshape(*known, *cells))
        return chances.reshape(len(tables), *self.reports)

    def weights(self, ratios: Array) -> Array:
        """Mean weight of the reports of each cell of the table, given a weight of each report."""
        known = self.reports[: len(self.part.unperturbed)]
        reports = self._operator_shape(self.reports[len(self.part.unperturbed) :])
        back = self.part.operator.adjoint(ratios.reshape(len(ratios), *known, *reports))
        sizes = [self.shape[axis] for axis in self.axes]
        order = np.argsort(self.axes)
        back = back.reshape(len(ratios), *sizes).transpose(0, *(1 + order))
        whole = [size if j in self.axes else 1 for j, size in enumerate(self.shape)]
        return np.broadcast_to(back.reshape(-1, *whole), (len(ratios), *self.shape))

    def _operator_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        operator = self.part.operator
        return operator.shape if isinstance(operator, Channel) else (math.prod(shape),)


def likeliest_shares(parts: Sequence[_Part], counts: Sequence[Array]) -> tuple[Array, Array]:
    """Return nonnegative maximum likelihood shares, and G².

    By expectation maximization, two steps of which are followed by a longer one in their direction
    (Varadhan & Roland 2008), unless it is less likely.

    Parameters
    ----------
    counts : sequence of ndarray, shape (B, *reports)
        Of each part, in B sets of reports.

    Returns
    -------
    shares : ndarray, shape (B, *table)
    statistic : ndarray, shape (B,)
    """
    batch, shape = len(counts[0]), parts[0].shape
    total = np.add.reduce([each.reshape(batch, -1).sum(axis=1) for each in counts])

    def likelihood(tables: Array) -> Array:
        return _log_likelihood([part.expected(tables) for part in parts], counts)

    def step(tables: Array) -> Array:
        weights = np.zeros(tables.shape)
        for part, n in zip(parts, counts, strict=True):
            chance = part.expected(tables)
            ratio = np.divide(n, chance, out=np.zeros(chance.shape), where=n > 0)
            weights += part.weights(ratio)
        return np.asarray(tables * weights / _rows(total, shape))

    tables = np.full((batch, *shape), 1 / math.prod(shape))
    now = likelihood(tables)
    for _ in range(_STEPS):
        first = step(tables)
        second = step(first)
        change, bend = first - tables, second - 2 * first + tables
        lengths = _length(change), _length(bend)
        far = np.maximum(lengths[0] / np.where(lengths[1] > 0, lengths[1], 1.0), 1.0)
        jump = tables + _rows(2 * far, shape) * change + _rows(far**2, shape) * bend
        jump = np.maximum(jump, second * _SMALLER)
        jump = step(jump / _rows(jump.reshape(batch, -1).sum(axis=1), shape))
        likely = likelihood(jump), likelihood(second)
        better = likely[0] > likely[1]
        tables = np.where(_rows(better, shape), jump, second)
        before, now = now, np.where(better, *likely)
        if (2 * (now - before) < _GAIN).all():
            break
    best = _log_likelihood([each / _total(each) for each in counts], counts)
    return tables, np.maximum(2 * (best - now), 0.0)


def _rows(values: NDArray[Any], shape: Sequence[int]) -> NDArray[Any]:
    """One number for each table of a batch."""
    return np.reshape(values, (-1, *[1] * len(shape)))


def _length(tables: Array) -> Array:
    return np.asarray(np.sqrt(np.square(tables.reshape(len(tables), -1)).sum(axis=1)))


def _total(counts: Array) -> Array:
    axes = tuple(range(1, counts.ndim))
    return np.asarray(np.maximum(counts.sum(axis=axes, keepdims=True), 1))


def _log_likelihood(chances: Sequence[Array], counts: Sequence[Array]) -> Array:
    every = np.zeros(len(counts[0]))
    for chance, number in zip(chances, counts, strict=True):
        logs = np.log(np.where(number > 0, chance, 1.0))
        every += (number * logs).reshape(len(number), -1).sum(axis=1)
    return every


@dataclass(frozen=True)
class Fit:
    """Result of the test that some shares explain the reports about a table.

    Attributes
    ----------
    p_value : float
        Probability of a G² at least this large under λ̃; 1 if no simulation is needed.
    simulated : int
        Number of sets of reports on which it is based.
    """

    p_value: float
    simulated: int


def fit_of(parts: Sequence[_Part], level: float) -> Fit:
    """Test at a level whether some shares explain the reports.

    The simulation ends early if the test cannot reject any more.
    """
    counts = [part.part.counts[None] for part in parts]
    shares, statistic = likeliest_shares(parts, counts)
    rng = np.random.default_rng(_SEED)
    chances = [part.expected(shares)[0] for part in parts]
    # The observed reports count as one of the simulated sets.
    larger = every = 1
    wanted = min(max(2 / level, _AT_A_TIME), _MOST)
    while every < wanted and larger <= level * _MOST:
        size = _AT_A_TIME - every % _AT_A_TIME
        drawn = [
            rng.multinomial(int(n.sum()), (c / c.sum()).ravel(), size=size).reshape(-1, *c.shape)
            for n, c in zip(counts, chances, strict=True)
        ]
        _, at_random = likeliest_shares(parts, [each.astype(float) for each in drawn])
        larger += int((at_random >= statistic[0] - _EQUAL).sum())
        every += size
    return Fit(larger / every, every - 1)


def contradictions(
    survey: Survey, counts: Counts, names: Sequence[str], together: bool
) -> list[Contradiction]:
    """Return the tables of some questions whose reports contradict the design.

    Parameters
    ----------
    names : sequence of str
        Each question is looked at alone.
    together : bool
        Whether to look at the table of all of them, too, if it is small.
    """
    tables: list[tuple[str, ...]] = [(name,) for name in names]
    source = reconstruction(survey)
    cells = math.prod(survey.schema.shape[j] for j in survey.schema.positions(names))
    if together and 1 < len(names) <= source.max_order and cells <= _CELLS:
        tables.append(tuple(sorted(names, key=survey.schema.names.index)))
    found: list[Contradiction] = []
    for table in tables:
        known = any(set(each.attributes) <= set(table) for each in found)
        if known or not _has_impossible(source, counts, table):
            continue
        fit = _fit(Snapshot.of(survey, counts), table, LEVEL / len(tables))
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


@lru_cache(maxsize=256)
def _fit(content: Snapshot, names: tuple[str, ...], level: float) -> Fit | None:
    """Test a table, None where all reports about it are about other questions, too."""
    parts = parts_of(content.survey, content.counts, names)
    return fit_of(parts, level) if parts else None


def parts_of(survey: Survey, counts: Counts, names: Sequence[str]) -> list[_Part]:
    """Reports about some questions alone, by the axes of their table."""
    shape = tuple(survey.schema.shape[j] for j in survey.schema.positions(names))
    parts = report_parts(survey.perturbation, counts, names)
    return [_Part(part, shape) for part in parts]


def most_likely_table(survey: Survey, counts: Counts, unbiased: Table) -> Table:
    """Return the nonnegative maximum likelihood table, for reports that contradict the design.

    Its errors are those of the unbiased table, and are meaningless.
    """
    names = [name for name in survey.schema.names if name in unbiased.axes]
    parts = parts_of(survey, counts, names)
    if not parts or unbiased.value.size > _CELLS:
        return unbiased
    shares, _ = likeliest_shares(parts, [part.part.counts[None] for part in parts])
    order = [names.index(name) for name in unbiased.axes]
    return _MostLikely(unbiased, shares[0].transpose(order))


@dataclass(eq=False)
class _MostLikely(DerivedTable):
    """Maximum likelihood table with the errors of the unbiased table."""

    shares: Array

    @property
    def value(self) -> Array:
        return self.shares

    @property
    def effective_reports(self) -> Array:
        return self.joint.effective_reports

    def report_distributions(self, shares: Array) -> Iterable[ReportDistribution]:
        return self.joint.report_distributions(shares)

    def _variance(self, target: Target) -> Array:
        return self.joint.variance()

    def _covariance(self, target: Target) -> Array:
        return self.joint.covariance()
