"""The largest weight that a single report about a view has for a cell of a table."""

from collections.abc import Sequence

import numpy as np

from ...errors import DomainTooLarge
from ..reconstruction import COVARIANCE_CELLS
from .incidence import orthogonal_sums, placement
from .overlaps import Overlaps, Views
from .views import View

#: Numbers of kernels and symbols that are held at once.
_AT_ONCE = 2**22


def largest_weight(
    views: Sequence[View], columns: Views, positions: Sequence[int], overlaps: Overlaps
) -> float:
    """Over all reports and all cells of the table of the attributes at some positions.

    A report of symbol y about a view weighs 1/n + (i/n_v)/κ·Σ_u R_W(c, u) over the cells u of the
    view that y is a symbol of.

    Parameters
    ----------
    views : sequence of View
    columns : Views
        The same as columns.
    positions : sequence of int
        In increasing order.
    overlaps : Overlaps
        With `columns.weights` as numbers of reports.

    Raises
    ------
    DomainTooLarge
        If the table has too many cells.
    """
    cells = int(np.prod(overlaps.sizes))
    if cells > COVARIANCE_CELLS:
        raise DomainTooLarge(
            f"attributes: the weights of {cells} cells; expected at most {COVARIANCE_CELLS} cells",
            field="attributes",
        )
    # Views of one kind, which cut the table in the same way, have the same weights.
    kinds = {
        (
            view.response,
            view.shape,
            tuple(positions.index(j) if j in positions else -1 for j in view.positions),
        ): number
        for number, view in enumerate(views)
    }
    largest = 1.0
    for (_, shape, axes), number in kinds.items():
        overlap = sum(1 << (len(positions) - 1 - axis) for axis in axes if axis >= 0)
        component = _largest_sum(views[number], shape, axes, overlaps, overlap)
        scale = columns.strength[number] / columns.scale[number]
        largest = max(largest, *(abs(1 + scale * sum_) for sum_ in component))
    return float(largest / cells)


def _largest_sum(
    view: View, shape: tuple[int, ...], axes: tuple[int, ...], overlaps: Overlaps, overlap: int
) -> tuple[float, float]:
    """The smallest and the largest n·Σ_u R_W(c, u), over the symbols and the cells c."""
    if not view.response.prime:
        [kernel] = overlaps.kernels(np.array([overlap]), -1)
        return float(kernel.min()), float(kernel.max())
    matrix = overlaps.kernel_matrix(overlap)
    grid = np.arange(len(matrix)).reshape(
        [d if axis >= 0 else 1 for d, axis in zip(shape, axes, strict=True)]
    )
    inside = np.broadcast_to(grid, shape).ravel()
    smallest = largest = 0.0
    step = max(1, _AT_ONCE // view.response.symbols)
    for start in range(0, len(matrix), step):
        rows = matrix[start : start + step]
        values = np.zeros((len(rows), view.response.symbols))
        values[:, placement(view.response)] = rows[:, inside]
        sums = orthogonal_sums(values, view.response.prime, view.response.dimension)
        smallest, largest = min(smallest, sums.min()), max(largest, sums.max())
    return float(smallest), float(largest)
