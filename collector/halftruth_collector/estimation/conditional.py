"""Shares within groups: conditional distributions of a reconstructed table, with their errors.

The share of a cell among those in its group is a ratio a/x of two estimates, the cell and its
*base* x, the sum of the cells of that group. Where x is clearly above 0 it has the variance of the
delta method (Guo Result 3). Fieller's set is right wherever x is, and unbounded where x cannot be
told from 0. Both need only an unbiased table and its covariance, whatever the mechanism and the
target.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .bounds import Array, normal_quantile
from .confidences import confidence_moments
from .fieller import FiellerSets, fieller_sets

#: Against the largest variance of a cell, one of a base that is nothing but rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class ConditionalShares:
    """Share of every cell of a table among those in its group; arrays have the table's shape.

    Attributes
    ----------
    share : ndarray
        a/x; NaN where the base is not above 0.
    variance : ndarray
        Of the share, by the delta method; NaN where the base is not clearly above 0, which is by
        `confidences.CLEARLY` standard errors, and where the reports determine none.
    sets : FiellerSets
        Of the cells in row-major order.
    base, base_variance : ndarray
        x, with its variance, the same for all cells of a group.
    """

    share: Array
    variance: Array
    sets: FiellerSets
    base: Array
    base_variance: Array


def conditional_shares(
    support: Array, covariance: Array, given: Sequence[int], confidence: float = 0.95
) -> ConditionalShares:
    """Distribution of the other attributes within each group.

    Parameters
    ----------
    support : ndarray
        π̂, an axis for each attribute: ``Table.support``, or what was made of it linearly.
    covariance : ndarray, shape (cells, cells)
        Of the supports in row-major order, as ``delta_method.known_covariance`` gives it for
        either target: NaN where the reports determine none.
    given : sequence of int
        Axes of the attributes whose categories make the groups. Without any everybody is one
        group, and shares and sets are the supports with their normal intervals.
    confidence : float
        Level of each single set.

    Examples
    --------
    >>> table = np.array([[0.3, 0.1], [0.2, 0.4]])
    >>> covariance = (np.diag(table.ravel()) - np.outer(table, table)) / 999
    >>> found = conditional_shares(table, covariance, [0])
    >>> found.share.round(2).tolist(), found.base.round(2).tolist()
    ([[0.75, 0.25], [0.33, 0.67]], [[0.4, 0.4], [0.6, 0.6]])
    >>> np.sqrt(found.variance).round(4).tolist()
    [[0.0217, 0.0217], [0.0193, 0.0193]]
    """
    base, with_base, of_bases = _bases(support, covariance, given)
    variance, var_base = np.diag(covariance), np.diag(of_bases)
    # A base that is known exactly, such as that of everybody, is so but for rounding.
    var_base = np.where(np.abs(var_base) <= _ROUNDING * variance.max(), 0.0, var_base)
    columns = (support.ravel(), base, variance, var_base, np.diag(with_base))
    moments = confidence_moments(*columns)
    return ConditionalShares(
        moments.estimate.reshape(support.shape),
        moments.variance.reshape(support.shape),
        fieller_sets(*columns, quantile=normal_quantile(1 - confidence)),
        base.reshape(support.shape),
        var_base.reshape(support.shape),
    )


def conditional_covariance(support: Array, covariance: Array, given: Sequence[int]) -> Array:
    """Covariance of all shares within groups by the delta method, shape (cells, cells).

    What compares groups, such as a difference of shares, has its error from it. Its diagonal is
    the variance of :func:`conditional_shares`, but for bases that are not clearly above 0: there
    it is no error, so look at that variance first. Parameters are as there.
    """
    base, with_base, of_bases = _bases(support, covariance, given)
    share = support.ravel() / np.where(base > 0, base, np.nan)
    # Between a/x − r·x/x of two cells, the differential of their ratios r = a/x.
    crossed = share[:, None] * with_base
    spread = covariance - crossed - crossed.T + np.outer(share, share) * of_bases
    return np.asarray(spread / np.outer(base, base))


def _bases(support: Array, covariance: Array, given: Sequence[int]) -> tuple[Array, Array, Array]:
    """Base of every cell; its covariances with every cell, and with the base of every cell."""
    others = tuple(axis for axis in range(support.ndim) if axis not in given)

    def in_groups(cells: Array) -> Array:
        shape = (*support.shape, *cells.shape[1:])
        summed = cells.reshape(shape).sum(axis=others, keepdims=True)
        return np.broadcast_to(summed, shape).reshape(cells.shape)

    with_base = in_groups(covariance)
    return in_groups(support.ravel()), with_base, in_groups(with_base.T)
