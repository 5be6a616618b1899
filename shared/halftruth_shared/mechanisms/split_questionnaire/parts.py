"""Reports of one view after the other, as parts of a likelihood."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from math import prod

import numpy as np

from ...channels import UniformMixture
from ..parts import Operator, ReportPart
from ..reconstruction import ReportCounts
from .operators import PairsOperator, ViewOperator
from .responses import Response
from .views import View

#: Most pairs of a cell and a symbol of its own that are listed; beyond, sums take transforms.
_MOST_PAIRS = 2**23


@lru_cache(maxsize=16)
def _geometry(response: Response, gamma: Fraction) -> Operator:
    if response.cells * response.inside > _MOST_PAIRS:
        return ViewOperator(response, gamma)
    return PairsOperator([response], [np.arange(response.symbols)], gamma)


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
        table = sums.astype(np.float64).reshape(*sizes, response.symbols)
        if response.prime:
            yield ReportPart(known, kept, _geometry(response, gamma), table)
            continue
        others = tuple(len(sizes) + axis for axis, j in enumerate(view.positions) if j not in among)
        table = table.reshape(*sizes, *view.shape).sum(axis=others).reshape(*sizes, -1)
        keep = (gamma - 1) * response.share(gamma)
        yield ReportPart(known, kept, UniformMixture(table.shape[-1:], keep), table)
