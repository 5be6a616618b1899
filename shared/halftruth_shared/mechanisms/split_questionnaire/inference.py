"""Amplification of a single answer where the others are not known."""

from collections.abc import Collection, Sequence
from fractions import Fraction
from functools import lru_cache
from math import prod

import numpy as np

from .incidence import sums_by_symbol
from .responses import Response
from .views import View

#: Most symbols of cells that are evaluated; views of one shape are evaluated once.
MAX_SYMBOLS = 2**22


def unknown_amplification(
    views: Sequence[View],
    gamma: Fraction,
    known: Collection[int],
    conditional: Collection[int] = (),
) -> Fraction:
    """Amplification of an answer where others that are not known are equally likely.

    A symbol y that belongs to a share f of the cells with an answer has under it the probability
    c·(1 + (γ−1)·f), so that the amplification is the largest quotient of two of these. It is at
    most γ, which is taken where there are more than `MAX_SYMBOLS` to look at.

    Parameters
    ----------
    known : collection of int
        Positions of the attributes whose answers are known.
    conditional : collection of int
        Positions of others that have a condition, or are named in one. Nothing is averaged over
        these, since an answer may leave a single combination; a geometry is not looked into for it.
    """
    kinds = {
        (
            view.shape,
            tuple(j in known or j in conditional for j in view.positions),
            any(j in conditional for j in view.positions),
        ): view.response
        for view in views
    }
    looked_at = sum(r.cells * r.inside for r in kinds.values() if r.prime)
    if looked_at > MAX_SYMBOLS:
        return gamma
    shares = {share for kind in kinds.items() for share in _shares(*kind)}
    return max(
        (alike + (gamma - 1) * many) / (alike + (gamma - 1) * few) for alike, many, few in shares
    )


@lru_cache(maxsize=2**10)
def _shares(
    kind: tuple[tuple[int, ...], tuple[bool, ...], bool], response: Response
) -> frozenset[tuple[int, int, int]]:
    """Return the number of cells with each answer, and of those with a symbol.

    First for the answer with the most, then for that with the fewest; all combinations that occur
    among symbols and questions. For k-ary randomized response only that of the largest quotient.
    """
    shape, fixed, has_conditional = kind
    free = [axis for axis in range(len(shape)) if not fixed[axis]]
    if not free and not has_conditional:
        return frozenset()
    if has_conditional and response.prime:
        return frozenset({(1, 1, 0)})
    if len(free) == 1 or not response.prime:
        # A symbol of one cell of the answer, and of none of another answer.
        sizes = [shape[axis] for axis in free] + [1] * has_conditional
        return frozenset({(prod(sizes) // max(sizes), 1, 0)})
    taken = [axis for axis in range(len(shape)) if fixed[axis]]
    cells = np.arange(response.cells).reshape(shape)
    shares: set[tuple[int, int, int]] = set()
    for axis in free:
        others = [other for other in free if other != axis]
        alike = prod(shape[other] for other in others)
        by_answer = cells.transpose([*taken, axis, *others]).reshape(-1, shape[axis], alike)
        for answers in by_answer:
            with_answer = np.zeros((len(answers), response.cells))
            np.put_along_axis(with_answer, answers, 1.0, axis=1)
            counts = np.rint(sums_by_symbol(with_answer, response))
            pairs = np.unique([counts.max(axis=0), counts.min(axis=0)], axis=1).astype(int)
            shares.update((alike, most, fewest) for most, fewest in pairs.T.tolist())
    return frozenset(shares)
