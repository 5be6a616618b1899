"""Channels: FRAPP's matrix A as a structured operator.

A channel maps the distribution of true cells to the distribution of reports, λ = A π. Arrays
carry one axis for each attribute (or report column) and any number of batch axes before them;
no method but :meth:`Channel.dense` ever builds the full matrix, and each costs at most
O(n_s · Σ d_j) for n_s cells.

The inverse is what reconstruction needs: W = A⁻¹ gives the moment estimate π̂ = W λ̂ (FRAPP
eq. 8), and sums of products of its entries give the variances and covariances (Guo Result 1).
A row of W holds the weight of every report for one cell; a report's weight for a cell of a margin
is the sum of its weights for the cells that the margin sums up.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from .axes import Array, Places


class MarginMoments(ABC):
    """Every margin of a table, reconstructed at once.

    A cell of a margin is a place along each of the k axes; the last place along an axis, d_j, is
    the sum over it.

    Attributes
    ----------
    support, second_moment : ndarray, shape (d_1 + 1, …, d_k + 1)
        What `solve` and `solve_squared` of each margin's own channel give: mean and mean square
        over the reports of their weights for a cell.
    """

    support: Array
    second_moment: Array

    @abstractmethod
    def product(self, first: Places, second: Places) -> Array:
        """Mean over the reports of the product of their weights for pairs of cells, shape (R,).

        Places of both have shape (R, k). Where both name a category of one axis it is the same, or
        it is a ValueError.
        """


@dataclass(frozen=True)
class WeightMoments:
    """Expected squared weights of a report from true cell u' for cell u, Σ_v W[u,v]² A[v,u'].

    Attributes
    ----------
    own : ndarray, shape of the table
        For u' = u.
    largest_other : ndarray
        The largest for a u' ≠ u; 0 for a table of one cell.
    total : ndarray
        The sum over all u'.
    """

    own: Array
    largest_other: Array
    total: Array


class Operator(ABC):
    """A column-stochastic map from the cells of a table to reports."""

    @property
    @abstractmethod
    def reports(self) -> int:
        """Number of different reports."""

    @property
    def factors(self) -> "tuple[Channel, ...] | None":
        """The channel of each axis, None if it does not change each by itself."""
        return None

    @abstractmethod
    def amplification(self, axes: Collection[int]) -> Fraction | float:
        """Return how many times as likely a report can be for one cell as for another, at most.

        Compared are cells that differ along some axes alone. It is exact, 1 for no axes, and
        infinite where a report can rule a cell out.
        """

    @abstractmethod
    def forward(self, x: Array) -> Array:
        """Return the probabilities of reports, A x, with any batch axes before the table's."""

    @abstractmethod
    def adjoint(self, y: Array) -> Array:
        """Return Aᵀ y."""


class Channel(Operator):
    """A column-stochastic, invertible map between tables, with an axis for each attribute."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """Shape of a table, of true records or of reports."""

    @property
    def reports(self) -> int:
        return math.prod(self.shape)

    @abstractmethod
    def margin(self, axes: Sequence[int]) -> "Channel":
        """Return the channel from the margin over some axes, in this order, to that of reports."""

    @property
    @abstractmethod
    def condition_number(self) -> float:
        """Ratio of the largest to the smallest singular value."""

    @abstractmethod
    def solve(self, y: Array) -> Array:
        """W y, shape ``(…, *shape)``."""

    @abstractmethod
    def solve_squared(self, y: Array) -> Array:
        """(W∘W) y, second moments of the weights, shape ``(…, *shape)``."""

    @abstractmethod
    def margins(self, y: Array) -> MarginMoments:
        """Reconstruct every margin of a table at once."""

    @abstractmethod
    def weight_moments(self) -> WeightMoments:
        """Moments of the weights by true cell, from which variances can be predicted."""

    @property
    def factors(self) -> "tuple[Channel, ...] | None":
        return (self,) if len(self.shape) == 1 else None

    def merged(self) -> "Channel":
        """Return the same channel with fewer axes, each a product of several.

        This may be quicker. A table keeps its cells in row-major order.
        """
        return self

    def dense(self) -> Array:
        """A as a matrix of shape (outputs, inputs), cells in row-major order.

        For small tables, for inspection and comparison; no computation uses it.
        """
        cells = math.prod(self.shape)
        columns = self.forward(np.eye(cells).reshape(cells, *self.shape))
        return columns.reshape(cells, -1).T.copy()
