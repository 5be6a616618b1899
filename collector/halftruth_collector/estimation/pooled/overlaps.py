"""Overlaps of the views with a table, and moments of the weights of their reports.

Component U of a table over T is pooled over the views S ⊇ U with weights ω = N_v·i/n and their sum
Ω_U. So the weight of a report is ω/κ, with κ = c(γ−1)(k−λ₂), times a kernel R_W that is the same
for all views with the overlap W = S ∩ T. All estimates and variances of a table are sums over the
2^|T| overlaps, of numbers that are summed over views.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from halftruth_shared.analyses.base import Target
from halftruth_shared.channels import SubsetChannel
from halftruth_shared.channels.axes import Array
from halftruth_shared.deadlines import check_deadline
from halftruth_shared.mechanisms import View
from numpy.typing import NDArray

from ..report_model import response_of
from ..variances import UnitVariance
from . import agreement

#: Largest number of elements of kernels in memory.
_AT_ONCE = 2**22


def report_moments(response: SubsetChannel) -> tuple[float, float, float]:
    """Return κ and the moments of one report about a cell of a view.

    They are for kernels R whose rows add up to 0. A report of symbol y has the weight
    Σ_u R(c,u)·[y ∈ A_u]/κ. Its mean is (Rπ)(c); its mean square is constant·ΣR² + slope·(R²π)(c),
    with R² elementwise. This is exact for k-ary randomized response. In a geometry, the number of
    symbols that three points have in common is approximated by its mean λ₃; it is λ₂ for
    collinear points, and smaller for others.

    Returns
    -------
    scale, constant, slope : float
        κ comes first.
    """
    gamma, share = response.gamma, response.share
    own = response.subset_size - response.common
    apart = response.common - response.common_to_three
    scale = share * (gamma - 1) * own
    constant = share * (own + (gamma - 1) * apart) / scale**2
    slope = share * (gamma - 1) * (own - 2 * apart) / scale**2
    return float(scale), float(constant), float(slope)


class Views:
    """The views of a survey as columns, shape (V,).

    Attributes
    ----------
    asked : ndarray of bool, shape (V, M)
        Whether each view asks about each of M attributes.
    weights : ndarray
        Probability of each view.
    strength : ndarray
        i/n, the weight of a report in pooled estimates.
    scale : ndarray
        κ.
    responses : list of SubsetChannel
        The distinct responses.
    kind : ndarray of int
        Index of the response of each view.
    """

    def __init__(self, views: Sequence[View], attributes: int) -> None:
        # Positions beyond the schema have a column, too.
        attributes = max(attributes, 1 + max(max(view.positions, default=-1) for view in views))
        every = list(map(response_of, views))
        self.responses = responses = list(dict.fromkeys(every))
        number = {response: row for row, response in enumerate(responses)}
        self.kind = of_view = np.array([number[response] for response in every], dtype=np.int64)
        scale, constant, slope = np.reshape(list(map(report_moments, responses)), (-1, 3)).T
        cells = np.array([response.cells for response in responses], dtype=np.float64)
        strength = np.array([float(r.information) for r in responses]) / cells
        # Column-major order, since columns are selected.
        self.asked = np.zeros((len(views), attributes), dtype=bool, order="F")
        for row, view in enumerate(views):
            check_deadline()
            self.asked[row, list(view.positions)] = True
        total = sum(view.weight for view in views)
        self.weights = np.array([view.weight / total for view in views])
        self.strength = strength[of_view]
        self.scale = scale[of_view]
        self._sums = np.stack(
            [strength, constant * cells * strength**2, slope * strength**2, strength**2]
        )

    def overlaps(
        self, positions: Sequence[int], sizes: Sequence[int], reports: Array
    ) -> "Overlaps":
        """Return the overlaps with the attributes at some positions, with `sizes` categories.

        `reports` are N_v, or proportional to it, shape (V,).
        """
        overlap = np.zeros(len(self.asked), dtype=np.int64)
        for position in positions:
            overlap = 2 * overlap + self.asked[:, position]
        # Views of one kind have the same sums for each report, so their reports are added up.
        kinds, cells = len(self.responses), 2 ** len(positions)
        counts = np.bincount(self.kind * cells + overlap, reports, kinds * cells)
        pooled, *sums = self._sums @ counts.reshape(kinds, cells)
        return Overlaps(tuple(sizes), agreement.superset_sums(pooled), *sums)


#: Second moments of the weights for two cells that agree on common attributes: `constant`,
#: `by_margin` and `by_overlap`, the last two of shape (2^m,). The sum over the views of N_v times
#: the mean product is constant·g + Σ_B by_margin[B]·π_B, from which Σ_W by_overlap[W]·E_W·E'_W has
#: to be subtracted, with the product of the means.
SecondMoments = tuple[float, Array, Array]


@dataclass(frozen=True, eq=False)
class Overlaps:
    """Sums over the views by their overlap with a table of m attributes.

    Attributes
    ----------
    sizes : tuple of int
        d_j.
    pooled : ndarray, shape (2^m,)
        Ω_U, the weight of component U in the pooling; 0 if no report identifies it.
    constants, slopes, squares : ndarray, shape (2^m,)
        Σ constant·n·ω²/N_v, Σ slope·ω²/N_v and Σ ω²/N_v over the views of each overlap.
    """

    sizes: tuple[int, ...]
    pooled: Array
    constants: Array
    slopes: Array
    squares: Array

    @cached_property
    def shares(self) -> Array:
        """1/Ω_U, and 0 for U = ∅, whose component is known."""
        result = np.divide(1.0, self.pooled, out=np.zeros_like(self.pooled), where=self.pooled > 0)
        result[0] = 0.0
        return result

    @cached_property
    def dimensions(self) -> Array:
        """D_U, dimensions of each component."""
        return agreement.products([size - 1.0 for size in self.sizes])

    def margin(self, axes: Sequence[int]) -> "Overlaps":
        """Return the overlaps of a margin of the table, over some axes in increasing order."""
        count = len(self.sizes)
        others = tuple(j for j in range(count) if j not in axes)

        def summed(values: Array) -> Array:
            return np.asarray(values.reshape((2,) * count).sum(axis=others)).ravel()

        place = tuple(slice(None) if j in axes else 0 for j in range(count))
        return Overlaps(
            tuple(self.sizes[j] for j in axes),
            self.pooled.reshape((2,) * count)[place].ravel(),
            summed(self.constants),
            summed(self.slopes),
            summed(self.squares),
        )

    def kernels(self, overlaps: NDArray[np.int64], within: int) -> Array:
        """n·R_W by agreement, shape (overlaps, 2^m), for the margin over a subset."""
        subsets = np.arange(len(self.pooled))
        weights = np.where(subsets & ~within, 0.0, self.shares)
        contained = subsets & ~overlaps[:, None] == 0
        return agreement.kernel(contained * weights, self.sizes)

    def kernel_matrix(self, overlap: int) -> Array:
        """n·R_W between the cells of the table over W."""
        inside = agreement.members(len(self.sizes))[overlap]
        [values] = self.kernels(np.array([overlap]), -1).reshape(-1, *(2,) * len(self.sizes))
        # Agreement outside of W does not matter.
        values = values[tuple(slice(None) if within else 0 for within in inside)]
        sizes = [size for size, within in zip(self.sizes, inside, strict=True) if within]
        return agreement.matrix(values.ravel(), sizes)

    def constant_kernel(self) -> Array:
        """n² times the constant part of the mean product of weights for two cells, by agreement."""
        weights = agreement.superset_sums(self.constants) * self.shares**2
        weights += agreement.superset_sums(self.squares) * self.shares**3
        return agreement.kernel(weights, self.sizes)

    def second_moments(
        self, first: int = -1, second: int = -1, corrected: bool = True
    ) -> SecondMoments:
        """Return the second moments of the weights for a cell of each of two margins.

        Parameters
        ----------
        first, second : int
            Subsets of attributes of the margins; −1 for the table itself.
        corrected : bool
            Whether to correct the bias of the estimated product of two means by adding their
            covariance in a uniform table.
        """
        subsets = np.arange(len(self.pooled))
        both = np.where(subsets & ~(first & second), 0.0, self.shares)
        constant = self.constants @ agreement.subset_sums(self.dimensions * both**2)
        if corrected:
            constant += self.squares @ agreement.subset_sums(self.dimensions * both**3)
        by_agreement = np.zeros_like(self.pooled)
        present = np.flatnonzero(self.slopes)
        step = max(1, _AT_ONCE // len(subsets))
        for rows in (present[start : start + step] for start in range(0, len(present), step)):
            check_deadline()
            kernels = self.kernels(rows, first)
            other = kernels if second == first else self.kernels(rows, second)
            by_agreement += self.slopes[rows] @ (kernels * other)
        cells = agreement.products(self.sizes)
        scale = 1 / cells[first] / cells[second]
        by_margin = scale * agreement.subset_differences(by_agreement)
        return float(scale * constant), by_margin, scale * self.squares

    def unit_variance(self, others: int, shape: tuple[int, ...], target: Target) -> UnitVariance:
        """N times the variance of each cell, if `reports` was the probability of each view.

        `others` is the number of public cells, and `shape` that of the table.
        """
        constant, by_margin, by_overlap = self.second_moments(corrected=False)
        cells = agreement.products(self.sizes)
        own = agreement.subset_sums(self.dimensions * self.shares)
        everything = cells[-1] * others

        def variance(share: float) -> float:
            even = (1 - share) / (everything - 1)
            known = share + (cells[-1] - 1) * even
            margins = share + (cells[-1] / cells - 1) * even
            means = (share - even) * own
            total = constant * known + by_margin @ margins
            total -= by_overlap @ means**2
            total += (1 - known) * (2 * share - known / cells[-1]) / cells[-1]
            return float(total - share * (1 - share) * (target == "respondents"))

        nobody, half, everybody = map(variance, (0.0, 0.5, 1.0))
        quadratic = 2 * nobody - 4 * half + 2 * everybody
        values = (nobody, everybody - nobody - quadratic, quadratic)
        return UnitVariance(*(np.full(shape, value) for value in values))
