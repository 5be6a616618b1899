"""Reports of one view after the other, as parts of a likelihood."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from math import prod

import numpy as np
import scipy

from ...channels import UniformMixture
from ...channels.axes import Array
from ..parts import ReportPart
from ..reconstruction import ReportCounts
from .incidence import belongs, orthogonal_sums, placement
from .responses import Response
from .views import View

#: Most pairs of a cell and a symbol of its own that are listed; beyond, sums take transforms.
_MOST_PAIRS = 2**23

#: Pairs that are looked at at once.
_AT_ONCE = 2**21


class GeometryOperator:
    """Projective geometry response to the cells of a view.

    Parameters
    ----------
    response : Response
        A geometry.
    gamma : Fraction
    """

    def __init__(self, response: Response, gamma: Fraction) -> None:
        self._response = response
        self._lowest, self._more = float(response.share(gamma)), float(gamma - 1)

    def forward(self, x: Array) -> Array:
        own = self._sums(x, adjoint=False)
        return np.asarray(self._lowest * (self._more * own + x.sum(axis=-1, keepdims=True)))

    def adjoint(self, y: Array) -> Array:
        own = self._sums(y, adjoint=True)
        return np.asarray(self._lowest * (self._more * own + y.sum(axis=-1, keepdims=True)))

    def _sums(self, values: Array, *, adjoint: bool) -> Array:
        """Sum over the cells of each symbol, or over the symbols of each cell."""
        response = self._response
        flat = values.reshape(-1, values.shape[-1])
        if response.cells * response.inside <= _MOST_PAIRS:
            pairs = _pairs(response)
            sums = (pairs.T @ flat.T).T if adjoint else (pairs @ flat.T).T
        else:
            placed = flat
            if not adjoint:
                placed = np.zeros((len(flat), response.symbols))
                placed[:, placement(response)] = flat
            sums = orthogonal_sums(placed, response.prime, response.dimension)
            sums = sums[:, placement(response)] if adjoint else sums
        return np.asarray(sums).reshape(*values.shape[:-1], -1)


@lru_cache(maxsize=16)
def _pairs(response: Response) -> "scipy.sparse.csr_array":
    """Return which symbols (rows) are each cell's own (columns)."""
    step = max(1, _AT_ONCE // response.cells)
    blocks = [
        scipy.sparse.csr_array(belongs(some, response).astype(np.float64))
        for some in np.split(np.arange(response.symbols), range(step, response.symbols, step))
    ]
    return scipy.sparse.vstack(blocks, format="csr")


def parts_of(
    views: Sequence[View],
    gamma: Fraction,
    shape: tuple[int, ...],
    public: Sequence[int],
    counts: ReportCounts,
    among: Sequence[int],
) -> Iterator[ReportPart]:
    """Yield the reports of each view that has some, as far as they are about some attributes.

    Of views with others besides, k-ary reports are taken as reports of what they have in common:
    each stands for all that agree with it there. Those of a geometry tell nothing alone of a
    margin, and are left out.

    Parameters
    ----------
    views : sequence of View
    gamma : Fraction
    shape : tuple of int
        Of the schema.
    public : sequence of int
    counts : ReportCounts
    among : sequence of int
        Positions of the attributes that count.
    """
    order = np.argsort(counts.cells[:, -1], kind="stable")
    cells, numbers = counts.cells[order], counts.counts[order]
    ends = np.searchsorted(cells[:, -1], [view.first + view.response.symbols for view in views])
    columns = [column for column, j in enumerate(public) if j in among]
    known = tuple(public[column] for column in columns)
    sizes = tuple(shape[j] for j in known)
    for view, end, start in zip(views, ends, [0, *ends[:-1]], strict=True):
        kept = tuple(j for j in view.positions if j in among)
        response = view.response
        if end == start or not (kept or known):
            continue
        if response.prime and kept != view.positions:
            continue
        symbols = cells[start:end, -1] - view.first
        row = [cells[start:end, column] for column in columns]
        place = np.ravel_multi_index((*row, symbols), (*sizes, response.symbols))
        sums = np.bincount(place, numbers[start:end], prod(sizes) * response.symbols)
        found: Array = sums.astype(np.float64)
        if response.prime:
            table = found.reshape(*sizes, response.symbols)
            yield ReportPart(known, kept, GeometryOperator(response, gamma), table)
            continue
        others = tuple(len(sizes) + axis for axis, j in enumerate(view.positions) if j not in among)
        table = found.reshape(*sizes, *view.shape).sum(axis=others).reshape(*sizes, -1)
        keep = (gamma - 1) * response.share(gamma)
        yield ReportPart(known, kept, UniformMixture(table.shape[-1:], keep), table)
