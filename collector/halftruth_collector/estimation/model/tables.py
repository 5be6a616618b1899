"""Tables of a fitted model, with their errors.

Each share is a smooth function of the parameters θ and has the variance ∇f' V ∇f (delta method).
The logarithm of the share of an event E among a domain W has the gradient E[D | E] − E[D | W], the
difference of two means of the design. The target is the sampled population. Intervals are those of
`intervals.share_interval`.
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from halftruth_shared import ParameterError, Survey
from halftruth_shared.analyses.base import Target
from halftruth_shared.channels.axes import Places

from ...counts import Counts
from ..bounds import Array
from ..identified import IdentifiedSets
from ..reconstruction import reconstruction
from ..table import Table, TableSource, with_sums
from ..variances import UnitVariance
from .fit import LoglinearModel


class ModelTable(Table):
    """Shares of the cells of a table by a model.

    Parameters
    ----------
    gradient : ndarray, shape (cells, p)
        Derivatives of the logarithm of each share by θ; 0 for impossible combinations of answers.
    model : LoglinearModel
    """

    def __init__(
        self,
        attributes: tuple[str, ...],
        support: Array,
        gradient: Array,
        model: LoglinearModel,
    ) -> None:
        self.axes, self.reports = attributes, model.reports
        self.gradient, self.model = gradient, model
        self._support = support

    @property
    def value(self) -> Array:
        return self._support

    @property
    def logit(self) -> bool:
        return True

    @property
    def parameters(self) -> Array:
        """Covariance of θ̂, shape (p, p)."""
        return self.model.covariance

    @property
    def slopes(self) -> Array:
        """Derivatives of each share by θ, shape (cells, p)."""
        return np.asarray(self.gradient * self.value.reshape(-1, 1))

    @property
    def effective_reports(self) -> Array:
        # Under a model every report informs about every cell.
        return np.full(self.value.shape, float(self.reports))

    def or_nan(self, variance: Array, target: Target) -> Array:
        """Return variances for a population; NaN for exactly these respondents."""
        return variance if target == "population" else np.full_like(variance, np.nan)

    def largest_falls(self, forms: Array, shares: Array | None = None) -> Array:
        return self.model.largest_falls(forms @ self.slopes)

    def _variance(self, target: Target) -> Array:
        squares = np.einsum("cp,cp->c", self.slopes @ self.parameters, self.slopes)
        return self.or_nan(np.maximum(squares, 0.0).reshape(self.value.shape), target)

    def _covariance_of(self, forms: Array) -> Array:
        through = forms @ self.slopes
        return np.asarray(through @ self.parameters @ through.T)

    def _covariance(self, target: Target) -> Array:
        return self.or_nan(self.slopes @ self.parameters @ self.slopes.T, target)

    @cached_property
    def margins(self) -> Array:
        return np.minimum(with_sums(self.value), 1.0)

    @cached_property
    def _margin_slopes(self) -> Array:
        return with_sums(self.slopes.reshape(*self.value.shape, -1), self.value.ndim)

    def _margin_variance(self, target: Target) -> Array:
        spread = self._margin_slopes @ self.parameters
        return self.or_nan(np.einsum("...p,...p->...", spread, self._margin_slopes), target)

    def _margin_covariance(self, first: Places, second: Places, target: Target) -> Array:
        one, other = (self._margin_slopes[tuple(places.T)] for places in (first, second))
        return self.or_nan(np.einsum("rp,rp->r", one @ self.parameters, other), target)


def shares(model: LoglinearModel, attributes: Sequence[str]) -> ModelTable:
    """Return the model-based table of any number of attributes.

    Raises
    ------
    SchemaError
        For an unknown attribute.
    """
    axes = model.schema.positions(attributes)
    table = model.design.margin(model.fitted.cube, axes)
    own, mean = table[:, :1], model.fitted.means
    means = np.divide(table[:, 1:], own, out=np.tile(mean, (len(own), 1)), where=own > 0)
    gradient = (means - mean) @ model.design.corner
    support = np.clip(own[:, 0], 0.0, 1.0).reshape([model.schema.shape[j] for j in axes])
    return ModelTable(tuple(attributes), support, gradient, model)


#: Largest number of derivatives of all margins of a table.
_MARGINS = 2**24


class ModelTables(TableSource):
    """Source of model-based tables, from a model fitted to the same counts.

    The model assumes that attributes which no report asks together are independent given the other
    answers. A table that follows from this assumption alone is refused: that of two such
    attributes, and that of attributes which no chain of asked pairs connects.
    """

    def __init__(self, survey: Survey, model: LoglinearModel) -> None:
        super().__init__(model.schema)
        self.model, self._unbiased = model, reconstruction(survey)
        self._asked = self._unbiased.identified_sets
        self._places = survey.schema.positions(model.schema.names)

    @cached_property
    def identified_sets(self) -> IdentifiedSets:
        """Sets of attributes of which every pair is asked together."""
        return self._asked.cliques(self._places)

    def check(self, attributes: Sequence[str]) -> None:
        positions = [self._places[axis] for axis in self.schema.positions(attributes)]
        if self._asked.hang_together(positions):
            return
        part = self._asked.largest_component(positions)
        others = [j for j in positions if j not in part]
        source = self._unbiased
        apart = f"{source.listing(others)} together with {source.listing(part)}"
        expected = f"attributes such as {source.listing(part)}"
        if len(part) == 1:
            apart = f"{source.listing(positions)} together"
            asked = [source.asked_with(j) for j in positions if self._asked.partners(j)]
            expected = f"others: {'; '.join(asked) or 'all attributes are asked alone'}"
        raise ParameterError(
            f"attributes: no report asks {apart}, and a model only assumes that they are"
            f" independent; expected {expected}",
            field="attributes",
        )

    def complete(self, counts: Counts) -> bool:
        cells = np.prod([size + 1.0 for size in self.schema.shape])
        small = bool(cells * self.model.design.columns <= _MARGINS)
        return small and super().complete(counts)

    def table(self, counts: Counts, attributes: Sequence[str]) -> ModelTable:
        return shares(self.model, attributes)

    def unit_variance(self, attributes: Sequence[str], target: Target) -> UnitVariance:
        # The errors of logits are assumed to be equal at all thresholds.
        nothing = np.zeros(1)
        return UnitVariance(nothing, nothing, nothing)
