"""Components of tables, and the errors of all tables of a length by their information.

A table over the attributes T splits into orthogonal components, one for each ∅ ≠ U ⊆ T, with
D_U = ∏_{j∈U}(d_j − 1) dimensions. With information J_U about each dimension of component U, the
variance of a cell of a table of n_T cells is Σ_{∅≠U⊆T} D_U/(n_T²·J_U), in the mean over its cells.

Attributes with the same number of categories are interchangeable: sets of attributes are
distinguished by their *type* only, the number of attributes of each group.
"""

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import scipy
from numpy.typing import NDArray

from ...schema import Schema

Array = NDArray[np.float64]

#: One row for each type: the number of attributes of each group.
Types = NDArray[np.int64]

#: The largest error is taken as the power mean of this exponent. It is smooth and, other than the
#: maximum, leaves no error larger than it need be where another one is the largest.
EXPONENT = 20

#: In place of 0: no information may be 0.
_LEAST = 1e-10


@dataclass(frozen=True)
class Group:
    """Attributes that are interchangeable, or treated as such.

    Attributes
    ----------
    positions : tuple of int
        In the schema, in increasing order.
    sizes : tuple of int
        Their numbers of categories, in decreasing order.
    """

    positions: tuple[int, ...]
    sizes: tuple[int, ...]

    @cached_property
    def size(self) -> float:
        """Assumed number of categories of each, the geometric mean."""
        return math.exp(math.fsum(map(math.log, self.sizes)) / len(self.sizes))

    def subsets(self, chosen: int) -> int:
        return math.comb(len(self.sizes), chosen)


Groups = Sequence[Group]


def interchangeable(schema: Schema, public: Collection[str]) -> list[Group]:
    """Group the attributes that are not public by number of categories."""
    free = [j for j, name in enumerate(schema.names) if name not in public]
    groups = []
    for size in sorted({schema.shape[j] for j in free}):
        positions = tuple(j for j in free if schema.shape[j] == size)
        groups.append(Group(positions, (size,) * len(positions)))
    return groups


def coarser(groups: Groups) -> list[Group]:
    """Merge the two groups of most similar sizes, if there are two."""
    if len(groups) == 1:
        return list(groups)
    ratios = [above.size / below.size for below, above in pairwise(groups)]
    k = ratios.index(min(ratios))
    below, above = groups[k], groups[k + 1]
    together = Group(
        tuple(sorted(below.positions + above.positions)),
        tuple(sorted(below.sizes + above.sizes, reverse=True)),
    )
    return [*groups[:k], together, *groups[k + 2 :]]


def types_of_sets(groups: Groups, longest: int, most: int) -> Types | None:
    """Return the types of all sets of 1 to `longest` attributes; None for more than `most` numbers.

    Shape (types, groups), in the order of their lengths.
    """
    types = np.zeros((1, 0), dtype=np.int64)
    for group in groups:
        choices = np.arange(min(len(group.sizes), longest) + 1)
        types = np.column_stack(
            [np.repeat(types, len(choices), axis=0), np.tile(choices, len(types))]
        )
        types = types[types.sum(axis=1) <= longest]
        if len(types) * len(groups) > most:
            return None
    return types[np.argsort(types.sum(axis=1), kind="stable")][1:]


def product_over_groups(
    groups: Groups, types: Types, factor: Callable[[Group, int], float]
) -> Array:
    """Return for each type the product over the groups of a factor of their contributions."""
    product = np.ones(len(types))
    for group, chosen in zip(groups, types.T, strict=True):
        product *= np.array(
            [factor(group, n) for n in range(chosen.max(initial=0) + 1)], dtype=float
        )[chosen]
    return product


def largest_cells(groups: Groups, types: Types) -> list[int]:
    """Return the cells of the largest table of each type."""
    return [
        math.prod(math.prod(group.sizes[:n]) for group, n in zip(groups, chosen, strict=True))
        for chosen in types.tolist()
    ]


def error_coefficients(groups: Groups, components: Types, lengths: Sequence[int]) -> Array:
    """Coefficients of 1/J_U in the mean squared error of each length.

    Shape (lengths, types of components). With e_k the elementary symmetric polynomials, the sets U
    of one type, of n_U cells, add D_U/n_U·e_{l−|U|}(1/d_j, j ∉ U)/e_l(d_j) each.
    """
    used = components.sum(axis=1)
    cells = _elementary(groups, np.zeros_like(components[:1]), lengths[-1], +1)[0]
    around = _elementary(groups, components, lengths[-1], -1)
    dimensions = product_over_groups(
        groups, components, lambda group, n: group.subsets(n) * (1 - 1 / group.size) ** n
    )
    rows = np.arange(len(components))
    return np.array(
        [
            np.where(used <= length, around[rows, np.maximum(length - used, 0)], 0.0)
            * (dimensions / cells[length])
            for length in lengths
        ]
    )


def _elementary(groups: Groups, without: Types, most: int, sign: int) -> Array:
    """Return elementary symmetric polynomials of d_j or 1/d_j without some attributes, by row."""
    values = np.eye(1, most + 1).repeat(len(without), axis=0)
    for group, taken in zip(groups, without.T, strict=True):
        powers = np.array(
            [
                [
                    math.comb(len(group.sizes) - n, k) * group.size ** (sign * k)
                    for k in range(most + 1)
                ]
                for n in range(taken.max(initial=0) + 1)
            ]
        )[taken]
        values = np.stack(
            [(values[:, : k + 1] * powers[:, k::-1]).sum(axis=1) for k in range(most + 1)], axis=1
        )
    return values


def largest_square(squares: Array) -> float:
    """Return the largest squared error, smoothed."""
    largest = squares.max()
    if not largest > 0:
        return 0.0
    return float(largest * ((squares / largest) ** (EXPONENT / 2)).sum() ** (2 / EXPONENT))


def minimum(loss: Callable[[Array], tuple[float, Array]], variables: int) -> Array:
    """Minimize a convex function of positive variables, of about 1."""
    options = {"maxcor": 30, "maxiter": 5_000, "maxfun": 10_000, "ftol": 1e-13, "gtol": 1e-9}
    result = scipy.optimize.minimize(
        loss,
        np.ones(variables),
        jac=True,
        method="L-BFGS-B",
        bounds=[(_LEAST, None)] * variables,
        options=options,
    )
    return np.asarray(result.x)
