"""Tables of a model, in the place of those that are estimated without bias."""

from collections.abc import Sequence

import numpy as np
from halftruth_shared.channels.axes import Places
from halftruth_shared.mechanisms import Margins, Target, UnitVariance
from halftruth_shared.mechanisms.reconstruction import ReportCounts, TableSource

from ..bounds import Array
from .fit import LoglinearModel
from .predict import shares
from .predictions import Shares

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

    def complete(self, counts: ReportCounts) -> bool:
        cells = np.prod([size + 1.0 for size in self.schema.shape])
        return bool(cells * self.model.design.parameters <= _MARGINS)

    def table(self, counts: ReportCounts, attributes: Sequence[str]) -> Shares:
        return shares(self.model, attributes)

    def margins(self, counts: ReportCounts, attributes: Sequence[str]) -> Margins:
        return ModelMargins(shares(self.model, attributes))

    def unit_variance(self, attributes: Sequence[str], target: Target) -> UnitVariance:
        # By the logits of the shares their errors are taken to be the same at any threshold.
        nothing = np.zeros(1)
        return UnitVariance(nothing, nothing, nothing, nothing)


class ModelMargins(Margins):
    """Margins of a table by a model."""

    def __init__(self, table: Shares) -> None:
        sizes = table.support.shape
        support, slopes = table.support, table.slopes.reshape(*sizes, -1)
        for axis in range(len(sizes)):
            support, slopes = (
                np.concatenate([cells, cells.sum(axis=axis, keepdims=True)], axis=axis)
                for cells in (support, slopes)
            )
        self.support = np.minimum(support, 1.0)
        self._table, self._slopes = table, slopes

    @property
    def logit(self) -> bool:
        return True

    def variance(self, target: Target = "population") -> Array:
        spread = self._slopes @ self._table.parameters
        return self._table.known(np.einsum("...p,...p->...", spread, self._slopes), target)

    def covariance(self, first: Places, second: Places, target: Target = "population") -> Array:
        one, other = (self._slopes[tuple(places.T)] for places in (first, second))
        return self._table.known(np.einsum("rp,rp->r", one @ self._table.parameters, other), target)
