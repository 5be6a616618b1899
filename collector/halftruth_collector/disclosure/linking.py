"""Linking risk: people re-identified by known quasi-identifiers (Guo ch. 5; GYW §IV).

An attacker knows a person's quasi-identifiers q and wants their sensitive answer s. They know the
survey, the table π of all people, and the reports, and re-identify each report: they draw a record
from its posterior. For a person in cell (q, s) of the table,

- *share* is π_qs / π_q, the probability of s given q, without any report;
- *quasi* is the probability that the quasi-identifiers of their report are re-identified as q
  (eq. 5.14), Σ_v P[v,q]² π_q / λ_v;
- *sensitive* is the probability that their sensitive report is re-identified as s given q
  (eq. 5.8), Σ_v P[v,s]² π_qs / Σ_t P[v,t] π_qt. It is also the posterior of s for an attacker who
  knows q and *who sent which report*, averaged over the reports of people in this cell.

The **risk** is share · quasi · sensitive (eq. 5.6): the probability that a person with q answers s
and has a report that is re-identified as (q, s). This is exact. Three caveats:

- It is not a posterior. It is at most *share* and at most *sensitive*, so a limit on it limits
  neither the inference from the table about all people with q, nor inference from a known report.
- Quasi-identifiers and answer are re-identified separately, each from its columns of the report.
  Since the other columns are informative, too, re-identification of the *whole* report has another
  probability, E[Pr(q, s | report)], which can be larger or smaller. For mechanisms that perturb
  answers jointly, `record` is this probability.
- It assumes a known table. A reconstructed table is too uncertain in cells with few people.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from halftruth_shared import DomainTooLarge, ParameterError, Survey
from halftruth_shared.channels import Channel
from halftruth_shared.channels.axes import Array, along_axes
from halftruth_shared.deadlines import check_deadline
from numpy.typing import ArrayLike

from ..estimation.report_model import ReportKinds

#: Largest number of cells of a table, and of categories of an attribute.
MAX_CELLS, MAX_CATEGORIES = 2**20, 2**11

#: Largest number of probabilities of reports: over all non-empty cells, and of one group.
MAX_PROBABILITIES, MAX_AT_ONCE = 2**28, 2**25

#: Tolerance for rounding of shares and limits.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class LinkingRisk:
    """Risk of every cell of a table, NaN if empty; the sensitive attribute is the last axis.

    Attributes
    ----------
    table : ndarray, shape (d_1, …, d_m, d_S)
        π, shares of all people.
    quasi : ndarray, shape (d_1, …, d_m)
        Probability that a person's quasi-identifiers are re-identified.
    sensitive : ndarray, shape as `table`
        Probability that the sensitive answer is re-identified, given the quasi-identifiers.
    record : ndarray, shape as `table`
        Probability that both are re-identified separately: quasi · sensitive.
    whole : ndarray, shape as `table`
        Probability that both are re-identified from the whole report.
    """

    table: Array
    quasi: Array
    sensitive: Array
    record: Array
    whole: Array

    @cached_property
    def share(self) -> Array:
        """π_qs / π_q."""
        return _shares(self.table)

    @cached_property
    def most_revealed(self) -> tuple[int, ...]:
        """Cell where a report increases the probability of the answer the most."""
        place = np.nanargmax(self.sensitive - self.share)
        return tuple(int(code) for code in np.unravel_index(place, self.share.shape))

    @cached_property
    def risk(self) -> Array:
        """Pr(S|QI) (eq. 5.6)."""
        return self.share * self.record

    @cached_property
    def of_whole_reports(self) -> "LinkingRisk":
        """Risk with `whole` in place of `record`."""
        return replace(self, record=self.whole)

    @cached_property
    def of_the_larger(self) -> "LinkingRisk":
        """Risk with the larger of `record` and `whole` in every cell."""
        return replace(self, record=np.fmax(self.record, self.whole))

    @cached_property
    def maximum(self) -> float:
        """Largest risk of all people."""
        return float(np.nanmax(self.risk))

    @cached_property
    def _ordered(self) -> tuple[Array, Array]:
        """Risks in increasing order, and cumulative shares of people."""
        there = self.table > 0
        order = np.argsort(self.risk[there])
        return self.risk[there][order], np.cumsum(self.table[there][order])

    def quantiles(self, shares: ArrayLike) -> Array:
        """Return quantiles of the risk over people."""
        risks, people = self._ordered
        places = np.searchsorted(people, np.asarray(shares) - _ROUNDING)
        return np.asarray(risks[np.minimum(places, len(risks) - 1)])

    def above(self, limit: float) -> float:
        """Return the share of people whose risk is above a limit."""
        risks, people = self._ordered
        safe = np.searchsorted(risks, limit * (1 + _ROUNDING), side="right")
        return max(0.0, float(1 - people[safe - 1])) if safe else 1.0


def linking_risk(table: ArrayLike, factors: Sequence[Channel]) -> LinkingRisk:
    """Compute the risk if attributes are perturbed independently (eq. 5.6), without a joint matrix.

    Parameters
    ----------
    table : array_like, shape (d_1, …, d_m, d_S)
        Counts or shares of people by quasi-identifiers and, last, sensitive attribute.
    factors : sequence of Channel
        Channel of each axis.

    Raises
    ------
    ParameterError
        If a count is below 0 or not finite, or all are 0.
    DomainTooLarge
        If there are too many cells.

    Examples
    --------
    Two quasi-identifiers that are kept with 0.8, and an unperturbed answer:

    >>> from halftruth_shared.channels import Dense
    >>> keep = Dense([[0.8, 0.2], [0.2, 0.8]])
    >>> unperturbed = Dense(np.eye(2))
    >>> people = [[[30, 10], [20, 0]], [[5, 5], [0, 30]]]
    >>> risk = linking_risk(people, [keep, keep, unperturbed])
    >>> risk.risk.round(3).tolist()
    [[[0.464, 0.155], [0.374, nan]], [[0.121, 0.121], [nan, 0.555]]]
    >>> round(risk.maximum, 3), round(risk.above(0.5), 3)
    (0.555, 0.3)
    """
    people = _people(table)
    matrices = [factor.dense() for factor in factors]
    marginal = people.sum(axis=-1)
    quasi = _reidentified(marginal, matrices[:-1])
    inverse = _inverse(people @ matrices[-1].T)
    sensitive = np.where(people > 0, people * (inverse @ matrices[-1] ** 2), np.nan)
    whole = _reidentified(people, matrices)
    return LinkingRisk(people, quasi, sensitive, quasi[..., None] * sensitive, whole)


def _reidentified(people: Array, matrices: Sequence[Array]) -> Array:
    """η = π ∘ (⊗P∘2)ᵀ(1/λ), λ = (⊗P)π, axis by axis (eq. 5.14); NaN if empty."""
    observed = along_axes([matrix.T.__rmatmul__ for matrix in matrices], people, people.shape)
    squared = [(matrix**2).__rmatmul__ for matrix in matrices]
    shares = people * along_axes(squared, _inverse(observed), people.shape)
    return np.where(people > 0, shares, np.nan)


def linking_risk_of_reports(
    table: ArrayLike, forward: Callable[[Array], Array], reports: int = 1
) -> LinkingRisk:
    """Compute the risk if whole reports are re-identified, for any report space.

    `whole` and `record` are E[Pr(q, s | report)] over the reports of people in cell (q, s), and
    `quasi` is E[Pr(q | report)]. If attributes are perturbed independently, and quasi-identifiers
    are unperturbed or independent of the sensitive answer, the risk is that of eq. 5.6; otherwise
    it is larger in some cells and smaller in others.

    Parameters
    ----------
    table : array_like, shape (d_1, …, d_m, d_S)
        As for `linking_risk`.
    forward : callable
        Linear function from a table of this shape to the probabilities of the reports.
    reports : int
        Number of distinct reports, to limit the computing time.

    Raises
    ------
    ParameterError
        If a count is below 0 or not finite, or all are 0.
    DomainTooLarge
        If there are too many cells or reports.
    """
    people = _people(table)
    cells = np.count_nonzero(people)
    if cells * reports > MAX_PROBABILITIES or people.shape[-1] * reports > MAX_AT_ONCE:
        raise DomainTooLarge(
            f"quasi: {cells} cells with people and {reports} different reports; expected a product"
            f" of at most {MAX_PROBABILITIES}, so fewer quasi-identifiers",
            field="quasi",
        )
    all_reports = _inverse(forward(people)).ravel()
    quasi = np.full(people.shape[:-1], np.nan)
    sensitive, record = np.full((2, *people.shape), np.nan)
    for cell, own, joint in _groups(people, forward):
        check_deadline()
        group = joint.sum(axis=0)
        quasi[cell] = (group**2 * all_reports).sum() / own.sum()
        there = (*cell, own > 0)
        squares = joint**2
        sensitive[there] = (squares * _inverse(group)).sum(axis=1) / own[own > 0]
        record[there] = (squares * all_reports).sum(axis=1) / own[own > 0]
    return LinkingRisk(people, quasi, sensitive, record, record)


def linking_risk_of(
    survey: Survey, quasi: Sequence[str], sensitive: str, table: ArrayLike
) -> LinkingRisk:
    """Compute the risk of the people of a table under a survey.

    It is that of eq. 5.6 if attributes are perturbed independently, and otherwise that of whole
    reports about these attributes, with uniform answers to all others.

    Parameters
    ----------
    quasi : sequence of str
        Quasi-identifiers, in the order of the table's axes.
    sensitive : str
        The table's last axis.

    Raises
    ------
    HalftruthError
        If an attribute is unknown or named twice, or the table is invalid or too large.
    """
    return Linking(survey, quasi, sensitive).risk(table)


class Linking:
    """Linking under a survey, with what the risks of several tables have in common.

    Parameters are those of `linking_risk_of`.

    Attributes
    ----------
    reports : int
        Number of kinds of reports that its risks are summed over; 0 if attributes are perturbed
        independently, since their risks are products.

    Raises
    ------
    HalftruthError
        If an attribute is unknown or named twice.
    DomainTooLarge
        If there are too many cells, or possible reports.
    """

    def __init__(self, survey: Survey, quasi: Sequence[str], sensitive: str) -> None:
        names = [*quasi, sensitive]
        self._shape = shape_of(survey, quasi, sensitive)
        channel = survey.perturbation.channel(names)
        self._factors = (channel.factors if channel is not None else None) or ()
        self._kinds = None if self._factors else ReportKinds(survey.perturbation, names)
        self.reports = 0 if self._kinds is None else self._kinds.number

    def risk(self, table: ArrayLike) -> LinkingRisk:
        """Compute `linking_risk_of` for a table."""
        people = _people(table)
        if people.shape != self._shape:
            raise ParameterError(f"table: expected one of shape {self._shape}", field="table")
        if self._kinds is None:
            return linking_risk(people, self._factors)
        return linking_risk_of_reports(people, self._kinds.probabilities, self.reports)


def shape_of(survey: Survey, quasi: Sequence[str], sensitive: str) -> tuple[int, ...]:
    """Return the shape of the table of these attributes.

    Raises
    ------
    HalftruthError
        If an attribute is unknown or named twice.
    DomainTooLarge
        If it has too many cells.
    """
    schema = survey.schema
    schema.position(sensitive, "sensitive")
    positions = schema.positions(quasi, "quasi")
    if sensitive in quasi:
        raise ParameterError(
            f"sensitive: '{sensitive}' is a quasi-identifier; expected another attribute",
            field="sensitive",
        )
    shape = tuple(schema.shape[j] for j in (*positions, schema.position(sensitive)))
    _check_size(shape)
    return shape


def _groups(
    people: Array, forward: Callable[[Array], Array]
) -> Iterator[tuple[tuple[int, ...], Array, Array]]:
    """Iterate over groups of equal quasi-identifiers: cell, shares, and Pr(answer, report)."""
    for cell in zip(*np.nonzero(people.sum(axis=-1)), strict=True):
        check_deadline()
        own = people[cell]
        rows = []
        for answer in np.flatnonzero(own):
            alone = np.zeros_like(people)
            alone[(*cell, answer)] = own[answer]
            rows.append(forward(alone).ravel())
        yield tuple(map(int, cell)), own, np.array(rows)


def _people(table: ArrayLike) -> Array:
    people: Array = np.asarray(table, dtype=np.float64)
    _check_size(people.shape)
    if people.ndim < 2 or not np.isfinite(people).all() or (people < 0).any() or not people.any():
        raise ParameterError(
            "table: expected counts of at least 0, not all 0, with an axis for each"
            " quasi-identifier and one for the sensitive attribute",
            field="table",
        )
    return np.asarray(people / people.sum())


def _check_size(shape: tuple[int, ...]) -> None:
    cells = math.prod(shape)
    if cells > MAX_CELLS or max(shape, default=0) > MAX_CATEGORIES:
        raise DomainTooLarge(
            f"quasi: a table of {cells} cells; expected at most {MAX_CELLS}, and {MAX_CATEGORIES}"
            " categories of each attribute, so fewer quasi-identifiers",
            field="quasi",
        )


def _shares(people: Array) -> Array:
    """Return the share of each answer given the quasi-identifiers, NaN if empty."""
    shares = people * _inverse(people.sum(axis=-1, keepdims=True))
    return np.where(people > 0, shares, np.nan)


def _inverse(values: Array) -> Array:
    """Return 1/x, and 0 for 0."""
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)
