"""Base classes of channels: the perturbation matrix A of FRAPP as a structured operator.

A channel maps the distribution of true cells to the distribution of reports, λ = A π. Arrays have
one axis for each attribute (or report column), after any number of batch axes. Only
:meth:`Channel.dense` builds the full matrix; every other method costs at most O(n_s · Σ d_j) for
n_s cells.

Reconstruction uses the inverse, W = A⁻¹: the moment estimate is π̂ = W λ̂ (FRAPP eq. 8), and sums
of products of the entries of W give variances and covariances (Guo Result 1). A row of W holds the
weight of every report for one cell. The weight of a report for a cell of a margin is the sum of its
weights for the cells of that margin.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .axes import Array, Places


class MarginMoments(ABC):
    """Moments of all margins of a table, reconstructed at once.

    A cell of a margin is given by its place along each of the k axes; the last place along an axis,
    d_j, is the sum over that axis. `support` and `second_moment`, of shape (d_1 + 1, …, d_k + 1),
    are the results of `solve` and `solve_squared` of the channel of each margin.
    """

    support: Array
    second_moment: Array

    @abstractmethod
    def product(self, first: Places, second: Places) -> Array:
        """Return the mean product of the weights of the reports for pairs of cells, shape (R,).

        `first` and `second`, of shape (R, k), are the places of the cells of each pair. Raises
        ValueError if the cells of a pair have different categories of one axis.
        """


@dataclass(frozen=True)
class WeightMoments:
    """Expected squared weight for cell u of a report from true cell u', Σ_v W[u,v]² A[v,u'].

    `own` is the value for u' = u, and `total` the sum over all u'; both have the shape of the
    table.
    """

    own: Array
    total: Array


class Operator(ABC):
    """Column-stochastic map from the cells of a table to reports."""

    @property
    @abstractmethod
    def reports(self) -> int:
        """Number of possible reports."""

    @property
    def factors(self) -> "tuple[Channel, ...] | None":
        """Channels of the single axes; None if the axes are not perturbed independently."""
        return None

    @abstractmethod
    def forward(self, x: Array) -> Array:
        """Return A x, the probabilities of reports; batch axes come first."""

    @abstractmethod
    def adjoint(self, y: Array) -> Array:
        """Return Aᵀ y."""


class Channel(Operator):
    """Column-stochastic, invertible map between tables with one axis for each attribute."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """Shape of a table, of true records as of reports."""

    @property
    def reports(self) -> int:
        return math.prod(self.shape)

    @abstractmethod
    def margin(self, axes: Sequence[int]) -> "Channel":
        """Return the channel of the margin over some axes, in this order."""

    @property
    @abstractmethod
    def condition_number(self) -> float:
        """Ratio of the largest to the smallest singular value."""

    @abstractmethod
    def solve(self, y: Array) -> Array:
        """Return W y, shape ``(…, *shape)``."""

    @abstractmethod
    def solve_squared(self, y: Array) -> Array:
        """Return (W∘W) y, the second moments of the weights, shape ``(…, *shape)``."""

    @abstractmethod
    def margins(self, y: Array) -> MarginMoments:
        """Reconstruct all margins of a table at once."""

    @abstractmethod
    def weight_moments(self) -> WeightMoments:
        """Return the moments of the weights by true cell, for predicting variances."""

    @property
    def factors(self) -> "tuple[Channel, ...] | None":
        return (self,) if len(self.shape) == 1 else None

    def merged(self) -> "Channel":
        """Return the same channel with neighbouring axes combined, cells in row-major order."""
        return self

    def dense(self) -> Array:
        """Return A as a matrix of shape (reports, cells) in row-major order, for small tables."""
        cells = math.prod(self.shape)
        columns = self.forward(np.eye(cells).reshape(cells, *self.shape))
        return columns.reshape(cells, -1).T.copy()
