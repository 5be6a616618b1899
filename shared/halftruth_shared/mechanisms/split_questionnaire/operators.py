"""Operators from the cells of views to the probabilities of their reports."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import scipy
from numpy.typing import NDArray

from ...channels.axes import Array
from .incidence import belongs, sums_by_cell, sums_by_symbol
from .responses import Response

#: Pairs that are looked at at once.
_AT_ONCE = 2**21


class ViewOperator:
    """From the cells of a view to all symbols.

    Parameters
    ----------
    response : Response
    gamma : Fraction
    """

    def __init__(self, response: Response, gamma: Fraction) -> None:
        self._response = response
        self._lowest, self._more = float(response.share(gamma)), float(gamma - 1)

    def forward(self, x: Array) -> Array:
        own = self._more * sums_by_symbol(x, self._response)
        return np.asarray(self._lowest * (own + x.sum(axis=-1, keepdims=True)))

    def adjoint(self, y: Array) -> Array:
        own = self._more * sums_by_cell(y, self._response)
        return np.asarray(self._lowest * (own + y.sum(axis=-1, keepdims=True)))


class PairsOperator:
    """Responses to the cells of some views, by a sparse matrix of symbols and the cells they own.

    A symbol of a geometry is orthogonal to one in q of the cells of its view. Where these are few,
    or few of all symbols are wanted, this takes less time than transforms over all symbols.

    Parameters
    ----------
    responses : sequence of Response
        Those of the views, whose cells, and whose symbols, follow each other.
    symbols : sequence of ndarray of int
        Symbols that are wanted of each.
    gamma : Fraction
    """

    def __init__(
        self,
        responses: Sequence[Response],
        symbols: Sequence[NDArray[np.int64]],
        gamma: Fraction,
    ) -> None:
        self._views, self._more = len(responses), float(gamma - 1)
        shares = [float(response.share(gamma)) for response in responses]
        self._lowest = np.repeat(shares, [len(some) for some in symbols])
        blocks = [_pairs(each, some) for each, some in zip(responses, symbols, strict=True)]
        self._cells = scipy.sparse.block_diag(blocks, format="csr")
        self._symbols = self._cells.T.tocsr()

    def forward(self, x: Array) -> Array:
        own = self._more * _product(self._cells, x)
        # Each view has all people in its cells.
        return np.asarray(self._lowest * (own + x.sum(axis=-1, keepdims=True) / self._views))

    def adjoint(self, y: Array) -> Array:
        scaled = y * self._lowest
        own = self._more * _product(self._symbols, scaled)
        return np.asarray(own + scaled.sum(axis=-1, keepdims=True) / self._views)


def _product(matrix: "scipy.sparse.csr_array", values: Array) -> Array:
    """Multiply a matrix by the last axis of values."""
    flat = values.reshape(-1, values.shape[-1])
    return np.asarray((matrix @ flat.T).T).reshape(*values.shape[:-1], -1)


def _pairs(response: Response, symbols: NDArray[np.int64]) -> "scipy.sparse.csr_array":
    """Return which cells (columns) own each of some symbols (rows)."""
    if not response.prime:
        rows = np.arange(len(symbols))
        shape = (len(symbols), response.cells)
        return scipy.sparse.csr_array((np.ones(len(rows)), (rows, symbols)), shape=shape)
    step = max(1, _AT_ONCE // response.cells)
    blocks = [
        scipy.sparse.csr_array(belongs(some, response).astype(np.float64))
        for some in np.split(symbols, range(step, len(symbols), step))
    ]
    return scipy.sparse.vstack(blocks, format="csr")
