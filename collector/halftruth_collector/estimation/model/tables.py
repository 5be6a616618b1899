"""Tables of a fitted model, with their errors.

Each share is a smooth function of the parameters θ and has the variance ∇f' V ∇f (delta method).
The logarithm of the share of an event E among a domain W has the gradient E[D | E] − E[D | W], the
difference of two means of the design. All is said of the population that the respondents are a
sample of. Intervals are on the logit scale.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np
from halftruth_shared import EstimateError
from halftruth_shared.analyses.base import Answers, Missing, Target
from halftruth_shared.channels.axes import Places
from halftruth_shared.results.wording import items as in_words

from ..bounds import Array
from ..counts import Counts
from ..domain import Restriction
from ..table import Sample, Table, TableSource, with_sums
from ..variances import UnitVariance
from .fit import LoglinearModel


class ModelTable(Table):
    """Shares of the cells of a table by a model, among everybody or a domain.

    Parameters
    ----------
    attributes : tuple of str
        One for each axis.
    support : ndarray
    gradient : ndarray, shape (cells, p)
        Derivatives of the logarithm of each share by θ, cells in row-major order; 0 where the share
        is 0 because nobody can give these answers.
    parameters : ndarray, shape (p, p)
        Covariance of θ̂.
    reports : int
    """

    def __init__(
        self,
        attributes: tuple[str, ...],
        support: Array,
        gradient: Array,
        parameters: Array,
        reports: int,
    ) -> None:
        self.attributes, self.reports = attributes, reports
        self.gradient, self.parameters = gradient, parameters
        self._support = support

    @property
    def support(self) -> Array:
        return self._support

    @property
    def logit(self) -> bool:
        return True

    @property
    def slopes(self) -> Array:
        """Derivatives of each share by θ, shape (cells, p)."""
        return np.asarray(self.gradient * self.support.reshape(-1, 1))

    @property
    def effective_reports(self) -> Array:
        # By a model every report tells of every cell.
        return np.full(self.support.shape, float(self.reports))

    def or_nan(self, variance: Array, target: Target) -> Array:
        """Variances for a population; a model says nothing of exactly these respondents."""
        return variance if target == "population" else np.full_like(variance, np.nan)

    def samples(self, shares: Array) -> Iterable[Sample]:
        raise NotImplementedError("the reports behind a model have no weights")

    def _variance(self, target: Target) -> Array:
        squares = np.einsum("cp,cp->c", self.slopes @ self.parameters, self.slopes)
        return self.or_nan(np.maximum(squares, 0.0).reshape(self.support.shape), target)

    def _covariance(self, target: Target) -> Array:
        return self.or_nan(self.slopes @ self.parameters @ self.slopes.T, target)

    @cached_property
    def margins(self) -> Array:
        return np.minimum(with_sums(self.support), 1.0)

    @cached_property
    def _margin_slopes(self) -> Array:
        return with_sums(self.slopes.reshape(*self.support.shape, -1), self.support.ndim)

    def _margin_variance(self, target: Target) -> Array:
        spread = self._margin_slopes @ self.parameters
        return self.or_nan(np.einsum("...p,...p->...", spread, self._margin_slopes), target)

    def _margin_covariance(self, first: Places, second: Places, target: Target) -> Array:
        one, other = (self._margin_slopes[tuple(places.T)] for places in (first, second))
        return self.or_nan(np.einsum("rp,rp->r", one @ self.parameters, other), target)


def shares(
    model: LoglinearModel,
    attributes: Sequence[str],
    where: Answers | None = None,
    missing: Missing = "keep",
    answering: Sequence[str] = (),
) -> ModelTable:
    """Return the table of some attributes by a model, of any length.

    Parameters
    ----------
    model : LoglinearModel
    attributes : sequence of str
        An axis for each, in this order.
    where : mapping of str to str or sequence of str, optional
        Answers of those whom the shares are among.
    missing : {"keep", "exclude"}
        Whether the table is of those alone who answered all of `attributes` and `answering`, with
        answers alone on its axes.
    answering : sequence of str

    Raises
    ------
    SchemaError, ParameterError
        For an unknown attribute or answer.
    DomainTooLarge
        If the table has too many cells.
    EstimateError
        If nobody can give the answers of `where`.
    """
    restriction = _restriction(model, where, missing)
    restriction.schema.positions([*attributes, *answering])
    axes = model.schema.positions(attributes)
    if not where and not restriction.leaves_out([*attributes, *answering]):
        cube, mass, mean = model.fitted.cube, 1.0, model.fitted.means
    else:
        weights = _within(model, restriction, [*attributes, *answering])
        cube, (mass, mean) = model.design.cube(weights), _moments(model, weights, where)
    columns = model.design.margin(cube, axes)
    kept = np.ix_(*restriction.kept(attributes))
    table = columns.reshape(*(model.schema.shape[axis] for axis in axes), -1)[kept]
    sizes, table = table.shape[:-1], table.reshape(-1, table.shape[-1])
    own = table[:, :1]
    means = np.divide(table[:, 1:], own, out=np.tile(mean, (len(own), 1)), where=own > 0)
    gradient = (means - mean) @ model.design.corner
    support = np.clip(own[:, 0] / mass, 0.0, 1.0).reshape(sizes)
    return ModelTable(tuple(attributes), support, gradient, model.covariance, model.reports)


def _restriction(model: LoglinearModel, where: Answers | None, missing: Missing) -> Restriction:
    return Restriction(model.schema, where or {}, missing == "exclude")


def _within(model: LoglinearModel, restriction: Restriction, attributes: Sequence[str]) -> Array:
    """The model's table with 0 in all cells outside of a domain."""
    kept = [set(range(size)) for size in model.schema.shape]
    for axis, codes in zip(restriction.positions, restriction.codes, strict=True):
        kept[axis] &= set(codes)
    axes = model.schema.positions(attributes) if attributes else ()
    for axis, codes in zip(axes, restriction.kept(attributes), strict=True):
        kept[axis] &= set(codes)
    cells = np.ix_(*map(sorted, kept))
    inside = np.zeros_like(model.table)
    inside[cells] = model.table[cells]
    return inside


def _moments(
    model: LoglinearModel, weights: Array, answers: Mapping[str, str | Sequence[str]] | None
) -> tuple[float, Array]:
    """Sum of weights, and mean of the design by these."""
    mass = float(weights.sum())
    if not mass > 0:
        raise EstimateError(
            f"where: nobody can give {in_words(answers or {})}; expected other answers",
            field="where",
        )
    return mass, model.design.cube(weights)[model.design.place] / mass


#: Most numbers in the derivatives of all margins of a table.
_MARGINS = 2**24


class ModelTables(TableSource):
    """Tables of the true answers by a model that was fitted to the same counts.

    Parameters
    ----------
    model : LoglinearModel
    """

    def __init__(self, model: LoglinearModel) -> None:
        super().__init__(model.schema)
        self.model = model

    def complete(self, counts: Counts) -> bool:
        cells = np.prod([size + 1.0 for size in self.schema.shape])
        return bool(cells * self.model.design.parameters <= _MARGINS)

    def table(self, counts: Counts, attributes: Sequence[str]) -> ModelTable:
        return shares(self.model, attributes)

    def unit_variance(self, attributes: Sequence[str], target: Target) -> UnitVariance:
        # By the logits of the shares their errors are taken to be the same at any threshold.
        nothing = np.zeros(1)
        return UnitVariance(nothing, nothing, nothing, nothing)
