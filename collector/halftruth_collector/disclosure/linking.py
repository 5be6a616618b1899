"""What a release tells of people whose quasi-identifiers are known (Guo ch. 5; GYW §IV).

Somebody knows a person's quasi-identifiers q and wants their sensitive answer s. They know the
survey, the table π of all people, and the reports, and put each report back: they draw a record
from what the report makes likely. Of somebody in cell (q, s) of the table,

- *share* is π_qs / π_q, what the table says of all who have q, without any report;
- *quasi* is the chance that q is what the quasi-identifiers of their report are put back to
  (eq. 5.14), Σ_v P[v,q]² π_q / λ_v;
- *sensitive* is the chance that s is what their sensitive report is put back to where q is known
  (eq. 5.8), Σ_v P[v,s]² π_qs / Σ_t P[v,t] π_qt. It is also what someone who knows q and *who sent
  which report* believes of s, averaged over the reports of those who are in this cell.

The **risk** is share · quasi · sensitive (eq. 5.6): the chance that somebody with q answers s and
has a report that is put back to (q, s). Taken so, it is exact. Three things it is not:

- It is no belief. It is never above *share*, nor above *sensitive*, so that a limit on it limits
  neither what the table tells of everybody with q, nor what a report tells of who sent it.
- It puts quasi-identifiers and answer back one by one, each from its own columns. What stands
  beside them tells of them too: put back at once, from the *whole* report, they come out right
  with E[Pr(q, s | report)], which can be more or less. Where mechanisms perturb answers together
  there is nothing else, and `record` is that.
- It is of a table that is known. Of a cell of few people the reconstructed table says next to
  nothing, and nobody can use what it does not say.

Use::

    linking_risk(table, factors)               # each attribute perturbed by itself: eq. 5.6
    linking_risk_of_reports(table, forward)    # any mechanism, by the probabilities of its reports
    found = linking_risk_of(survey, quasi, sensitive, table)    # of the two what applies
    found.risk, found.maximum, found.quantiles([0.5, 0.95]), found.above(1 / 2)
    found.of_whole_reports.maximum             # the same where whole reports are put back
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from halftruth_shared import DomainTooLarge, ParameterError, Survey
from halftruth_shared.channels import Channel
from halftruth_shared.channels.axes import Array, along_axes
from halftruth_shared.mechanisms.records import RecordReconstruction
from numpy.typing import ArrayLike

#: Most cells of a table, and most categories of an attribute.
MAX_CELLS, MAX_CATEGORIES = 2**20, 2**11

#: Most probabilities of reports: over all cells where somebody is, and of one group at once.
MAX_PROBABILITIES, MAX_AT_ONCE = 2**28, 2**25

#: Shares of people by which a risk is above a limit only by rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class LinkingRisk:
    """Risk of every cell of a table, NaN where nobody is; the sensitive attribute is the last axis.

    Attributes
    ----------
    table : ndarray, shape (d_1, …, d_m, d_S)
        π, shares of all people.
    quasi : ndarray, shape (d_1, …, d_m)
        Chance that somebody's quasi-identifiers are put back to what they are.
    sensitive : ndarray, shape as `table`
        The same of the sensitive answer where the quasi-identifiers are known.
    record : ndarray, shape as `table`
        The same of both together: quasi · sensitive where they are put back one by one.
    whole : ndarray, shape as `table`
        The same of both together, put back at once from the whole report.
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
    def most_told(self) -> tuple[int, ...]:
        """The cell whose answer a report makes likelier by most, beyond the table alone."""
        place = np.nanargmax(self.sensitive - self.share)
        return tuple(int(code) for code in np.unravel_index(place, self.share.shape))

    @cached_property
    def risk(self) -> Array:
        """Pr(S|QI) (eq. 5.6)."""
        return self.share * self.record

    @cached_property
    def of_whole_reports(self) -> "LinkingRisk":
        """The same where `whole` takes the place of `record`."""
        return replace(self, record=self.whole)

    @cached_property
    def of_the_larger(self) -> "LinkingRisk":
        """The same of the larger of both in every cell."""
        return replace(self, record=np.fmax(self.record, self.whole))

    @cached_property
    def maximum(self) -> float:
        """The largest risk of anybody."""
        return float(np.nanmax(self.risk))

    @cached_property
    def _ordered(self) -> tuple[Array, Array]:
        """Risks in increasing order, and the share of people whose risk is at most that."""
        there = self.table > 0
        order = np.argsort(self.risk[there])
        return self.risk[there][order], np.cumsum(self.table[there][order])

    def quantiles(self, shares: ArrayLike) -> Array:
        """The risk that at least these shares of all people do not exceed."""
        risks, people = self._ordered
        places = np.searchsorted(people, np.asarray(shares) - _ROUNDING)
        return np.asarray(risks[np.minimum(places, len(risks) - 1)])

    def above(self, limit: float) -> float:
        """Share of the people whose risk is above a limit."""
        risks, people = self._ordered
        safe = np.searchsorted(risks, limit * (1 + _ROUNDING), side="right")
        return max(0.0, float(1 - people[safe - 1])) if safe else 1.0


def linking_risk(table: ArrayLike, factors: Sequence[Channel]) -> LinkingRisk:
    """Risk where each attribute is perturbed by itself (eq. 5.6), without any joint matrix.

    Parameters
    ----------
    table : array_like, shape (d_1, …, d_m, d_S)
        Counts or shares of people by quasi-identifiers and, last, sensitive attribute.
    factors : sequence of Channel
        Of each axis.

    Raises
    ------
    ParameterError
        If a count is below 0 or not finite, or nobody is there.
    DomainTooLarge
        If there are too many cells.

    Examples
    --------
    Two quasi-identifiers that are kept with 0.8, and an answer that is sent as it is:

    >>> from halftruth_shared.channels import Dense
    >>> keep = Dense([[0.8, 0.2], [0.2, 0.8]], (2,))
    >>> as_it_is = Dense(np.eye(2), (2,))
    >>> people = [[[30, 10], [20, 0]], [[5, 5], [0, 30]]]
    >>> risk = linking_risk(people, [keep, keep, as_it_is])
    >>> risk.risk.round(3).tolist()
    [[[0.464, 0.155], [0.374, nan]], [[0.121, 0.121], [nan, 0.555]]]
    >>> round(risk.maximum, 3), round(risk.above(0.5), 3)
    (0.555, 0.3)
    """
    people = _people(table)
    matrices = [factor.dense() for factor in factors]
    marginal = people.sum(axis=-1)
    quasi = _put_back(marginal, matrices[:-1])
    given = _inverse(people @ matrices[-1].T)
    sensitive = np.where(people > 0, people * (given @ matrices[-1] ** 2), np.nan)
    whole = _put_back(people, matrices)
    return LinkingRisk(people, quasi, sensitive, quasi[..., None] * sensitive, whole)


def _put_back(people: Array, matrices: Sequence[Array]) -> Array:
    """η = π ∘ (⊗P∘2)ᵀ(1/λ), λ = (⊗P)π, axis by axis (eq. 5.14); NaN where nobody is."""
    observed = along_axes([matrix.T.__rmatmul__ for matrix in matrices], people, people.shape)
    squared = [(matrix**2).__rmatmul__ for matrix in matrices]
    found = people * along_axes(squared, _inverse(observed), people.shape)
    return np.where(people > 0, found, np.nan)


def linking_risk_of_reports(
    table: ArrayLike, forward: Callable[[Array], Array], reports: int = 1
) -> LinkingRisk:
    """Risk where whole reports are put back, whatever they look like.

    `whole` and `record` are E[Pr(q, s | report)] over the reports of those in cell (q, s), and
    `quasi` is E[Pr(q | report)]. Where each attribute is perturbed by itself, that is eq. 5.6 if
    the quasi-identifiers are sent as they are or are independent of the sensitive answer;
    elsewhere it is larger for some and smaller for others.

    Parameters
    ----------
    table : array_like, shape (d_1, …, d_m, d_S)
        As for `linking_risk`.
    forward : callable
        From a table of this shape to the probabilities of the reports, linear.
    reports : int
        How many different reports there are, to refuse what would take hours.

    Raises
    ------
    ParameterError
        If a count is below 0 or not finite, or nobody is there.
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
    """Risk of the people of a table under a survey.

    By eq. 5.6 where each attribute is perturbed by itself, else by whole reports about these
    attributes, with all others evenly spread.

    Parameters
    ----------
    survey : Survey
    quasi : sequence of str
        Quasi-identifiers, in the order of the table's axes.
    sensitive : str
        The table's last axis.
    table : array_like

    Raises
    ------
    HalftruthError
        If an attribute is unknown or named twice, or the table cannot be looked at.
    """
    names = [*quasi, sensitive]
    shape = shape_of(survey, quasi, sensitive)
    people = _people(table)
    if people.shape != shape:
        raise ParameterError(f"table: expected one of shape {shape}", field="table")
    reconstruction = survey.mechanism.reconstruction(survey.schema)
    if isinstance(reconstruction, RecordReconstruction) and (
        factors := reconstruction.factors(names)
    ):
        return linking_risk(people, factors)
    size = np.size(reconstruction.expected_of(people, names))
    return linking_risk_of_reports(
        people, lambda cells: reconstruction.expected_of(cells, names), size
    )


def shape_of(survey: Survey, quasi: Sequence[str], sensitive: str) -> tuple[int, ...]:
    """Shape of the table of these attributes.

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
    """Each group of equal quasi-identifiers: where, its shares, and Pr(answer, report) of each."""
    for cell in zip(*np.nonzero(people.sum(axis=-1)), strict=True):
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
    """Share of each answer among those of equal quasi-identifiers, NaN where nobody is."""
    shares = people * _inverse(people.sum(axis=-1, keepdims=True))
    return np.where(people > 0, shares, np.nan)


def _inverse(values: Array) -> Array:
    """1/x, and 0 for what never happens."""
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)
