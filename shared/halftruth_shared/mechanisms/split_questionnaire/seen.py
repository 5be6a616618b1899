"""Probabilities of the reports that came, and of no others, for the likelihood.

A symbol of a geometry is orthogonal to one in q of the cells of its view. Where few of all symbols
came, one sparse matrix of these pairs takes less time than transforms over all symbols.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import scipy
from numpy.typing import NDArray

from ...channels.axes import Array
from ..reconstruction import ReportCounts
from .channel import SplitChannel
from .incidence import belongs
from .views import View

#: Pairs for each symbol that there is, up to which the matrix takes less time.
_FEW = 16


class SeenReports(SplitChannel):
    """The columns of a channel for the symbols that are among some counts.

    Parameters
    ----------
    shape, gamma, views, public
        As of the channel.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        gamma: Fraction,
        views: Sequence[View],
        public: Sequence[int],
        counts: ReportCounts,
    ) -> None:
        super().__init__(shape, gamma, views, public)
        self._seen = np.unique(counts.cells[:, -1])
        self._lowest = self._lowest[self._seen]
        begins = np.searchsorted(self._seen, [view.first for view in views])
        own = np.split(self._seen, begins[1:])
        places = np.cumsum([0, *(view.response.cells for view in views)])
        self._margins, shape_of_all = places[1:-1], (len(self._seen), int(places[-1]))
        pairs = [
            np.add(_pairs(symbols - view.first, view), [[begin], [place]])
            for symbols, view, begin, place in zip(own, views, begins, places, strict=False)
        ]
        pair_array = np.concatenate(pairs, axis=1)
        ones = np.ones(pair_array.shape[1])
        self._cells = scipy.sparse.csr_array((ones, tuple(pair_array)), shape=shape_of_all)
        self._symbols_of = self._cells.T.tocsr()

    def _reports(self, table: Array, margins: Sequence[Array]) -> Array:
        rows = len(table)
        cells = np.concatenate([margin.reshape(rows, -1) for margin in margins], axis=1)
        everybody = table.reshape(rows, -1).sum(axis=1, keepdims=True)
        result = (self._cells @ cells.T).T * (self._gamma - 1)
        return np.asarray((result + everybody) * self._lowest)

    def adjoint(self, weights: Array) -> Array:
        scaled = weights * self._lowest
        cells = (self._symbols_of @ scaled.T).T * (self._gamma - 1)
        return self._by_record(np.split(cells, self._margins, axis=1), scaled.sum(axis=1))

    def observed(self, counts: ReportCounts) -> Array:
        cells = np.array(counts.cells)
        cells[:, -1] = np.searchsorted(self._seen, cells[:, -1])
        return self._share(cells, counts, len(self._seen))


def few(views: Sequence[View], counts: ReportCounts) -> bool:
    """Return true if the symbols that occur have so few pairs that these are quicker."""
    seen = np.unique(counts.cells[:, -1])
    ends = [view.first + view.response.symbols for view in views]
    own = np.diff(np.searchsorted(seen, ends), prepend=0)
    responses = [view.response for view in views]
    pairs = [response.cells / response.prime if response.prime else 1 for response in responses]
    return bool(own @ pairs <= _FEW * ends[-1])


def _pairs(symbols: NDArray[np.int64], view: View) -> NDArray[np.int64]:
    """Symbols of a view, by their position among these, with their cells."""
    response = view.response
    if not response.prime:
        return np.stack([np.arange(len(symbols)), symbols])
    return np.stack(np.nonzero(belongs(symbols, response)))
