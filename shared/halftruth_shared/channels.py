"""Channels: FRAPP's matrix A as a structured operator.

A channel maps the distribution of true cells to the distribution of reports, λ = A π. Arrays
carry one axis for each attribute (or report column) and any number of batch axes before them;
no method but :meth:`Channel.dense` ever builds the full matrix, and each costs at most
O(n_s · Σ d_j) for n_s cells.

The inverse is what reconstruction needs: W = A⁻¹ gives the moment estimate π̂ = W λ̂ (FRAPP
eq. 8), and sums of products of its entries give the variances and covariances (Guo Result 1).
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from fractions import Fraction
from functools import cached_property, partial, reduce

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


class Channel(ABC):
    """A column-stochastic, invertible map between tables."""

    @property
    @abstractmethod
    def input_shape(self) -> tuple[int, ...]:
        """Shape of a table of true records."""

    @property
    @abstractmethod
    def output_shape(self) -> tuple[int, ...]:
        """Shape of a table of reports."""

    @property
    @abstractmethod
    def condition_number(self) -> float:
        """Ratio of the largest to the smallest singular value."""

    @abstractmethod
    def forward(self, x: ArrayLike) -> Array:
        """A x: from shape (…, *input_shape) to (…, *output_shape)."""

    @abstractmethod
    def solve(self, y: ArrayLike) -> Array:
        """W y: from shape (…, *output_shape) to (…, *input_shape)."""

    @abstractmethod
    def solve_squared(self, y: ArrayLike, summed: Collection[int] = ()) -> Array:
        """Second moments of the inverse, Σ_v W[u,v] W̄[u,v] y[v] for each true cell u.

        W̄[u,·] is the sum of W[u',·] over the cells u' that differ from u only in the `summed`
        axes. Without any, that is the elementwise square W∘W of a variance; with some it is the
        product whose mean gives the covariance of a cell with its margin over these axes.

        Parameters
        ----------
        y : array_like, shape (…, *output_shape)
        summed : collection of int
            Axes of the input table.

        Returns
        -------
        ndarray, shape (…, *input_shape)
        """

    def margin_moments(self, y: ArrayLike) -> tuple[Array, Array] | None:
        """Reconstruct every margin of the table at once, where the structure allows.

        Parameters
        ----------
        y : array_like, shape output_shape

        Returns
        -------
        support, second_moment : ndarray, shape (d_1 + 1, …, d_k + 1)
            What `solve` and `solve_squared` of each margin's own channel give; the last place
            along an axis stands for the sum over it. None where there is no quick way.
        """
        return None

    def dense(self) -> Array:
        """A as a matrix of shape (outputs, inputs), cells in row-major order.

        For small tables, to look at or to compare with; nothing computes with it.
        """
        inputs = math.prod(self.input_shape)
        columns = self.forward(np.eye(inputs).reshape(inputs, *self.input_shape))
        return columns.reshape(inputs, -1).T.copy()


class UniformMixture(Channel):
    """Keep the cell with probability p, else draw any cell uniformly: A = p·I + (1−p)/n·J.

    The gamma-diagonal matrix and its restriction to any subset of attributes (FRAPP eq. 17, 40);
    for a single attribute also randomized response.

    Parameters
    ----------
    shape : tuple of int
        Shape of the table.
    keep : Fraction or float
        p, above 0 and at most 1.
    """

    def __init__(self, shape: tuple[int, ...], keep: Fraction | float) -> None:
        if not 0 < keep <= 1:
            raise ValueError("keep: expected a probability above 0 and at most 1")
        self._shape = shape
        self._axes = tuple(range(-len(shape), 0))
        self._cells = math.prod(shape)
        self._keep = float(keep)
        #: What each cell receives from the uniform draws, (1−p)/n.
        self._spread = float(1 - keep) / self._cells

    @property
    def input_shape(self) -> tuple[int, ...]:
        return self._shape

    @property
    def output_shape(self) -> tuple[int, ...]:
        return self._shape

    @property
    def condition_number(self) -> float:
        return 1 / self._keep if self._cells > 1 else 1.0

    def _total(self, x: Array) -> Array:
        return np.asarray(np.add.reduce(x, axis=self._axes, keepdims=True))

    def forward(self, x: ArrayLike) -> Array:
        x = _table(x, self._shape)
        return self._keep * x + self._spread * self._total(x)

    def solve(self, y: ArrayLike) -> Array:
        y = _table(y, self._shape)
        return (y - self._spread * self._total(y)) / self._keep

    def solve_squared(self, y: ArrayLike, summed: Collection[int] = ()) -> Array:
        # W[u,v] = (δ − c)/p and W̄[u,v] = (δ̄ − n_A c)/p, with δ̄ = 1 where u and v agree outside
        # the summed axes A, and n_A cells in A.
        y = _table(y, self._shape)
        c, total = self._spread, self._total(y)
        if not summed:
            return ((1 - 2 * c) * y + c * c * total) / self._keep**2
        axes = tuple(axis - len(self._shape) for axis in summed)
        margin: Array = y.sum(axis=axes, keepdims=True)
        merged = c * math.prod(self._shape[axis] for axis in summed)
        return ((1 - merged) * y - c * margin + c * merged * total) / self._keep**2

    def margin_moments(self, y: ArrayLike) -> tuple[Array, Array]:
        # Each margin has the same p and a number of cells of its own (FRAPP eq. 40).
        margins = _along_axes([_with_sum(_same)] * len(self._shape), y, self._shape)
        shares = [np.append(np.full(size, 1 / size), 1.0) for size in self._shape]
        spread: Array = self._spread * self._cells * reduce(np.multiply.outer, shares)
        total = margins[(-1,) * margins.ndim]
        support = (margins - spread * total) / self._keep
        return support, ((1 - 2 * spread) * margins + spread**2 * total) / self._keep**2


class Kronecker(Channel):
    """Independent channels side by side, A = A_1 ⊗ … ⊗ A_k, each on one axis of its own.

    Applied axis by axis by (A⊗B) vec(X) = vec(B X Aᵀ) (Guo Lemma 3): the product is never built.

    Parameters
    ----------
    factors : sequence of Channel
        The channel of each axis, from one axis to one axis.
    """

    def __init__(self, factors: Sequence[Channel]) -> None:
        self.factors = tuple(factors)

    @property
    def input_shape(self) -> tuple[int, ...]:
        return tuple(factor.input_shape[0] for factor in self.factors)

    @property
    def output_shape(self) -> tuple[int, ...]:
        return tuple(factor.output_shape[0] for factor in self.factors)

    @property
    def condition_number(self) -> float:
        return math.prod(factor.condition_number for factor in self.factors)

    def forward(self, x: ArrayLike) -> Array:
        return _along_axes([factor.forward for factor in self.factors], x, self.input_shape)

    def solve(self, y: ArrayLike) -> Array:
        return _along_axes([factor.solve for factor in self.factors], y, self.output_shape)

    def solve_squared(self, y: ArrayLike, summed: Collection[int] = ()) -> Array:
        steps: list[Callable[[Array], Array]] = [
            partial(factor.solve_squared, summed=(0,)) if axis in summed else factor.solve_squared
            for axis, factor in enumerate(self.factors)
        ]
        return _along_axes(steps, y, self.output_shape)

    def margin_moments(self, y: ArrayLike) -> tuple[Array, Array]:
        # Columns of an inverse sum to 1, so an axis that a margin leaves out is only summed.
        first = [_with_sum(factor.solve) for factor in self.factors]
        second = [_with_sum(factor.solve_squared) for factor in self.factors]
        shape = self.output_shape
        return _along_axes(first, y, shape), _along_axes(second, y, shape)


def _table(values: ArrayLike, shape: tuple[int, ...]) -> Array:
    """A table with any batch axes before those of this shape.

    Raises
    ------
    ValueError
        For another shape, which would be scrambled without a word.
    """
    table = np.asarray(values, dtype=np.float64)
    if table.shape[table.ndim - len(shape) :] != shape:
        raise ValueError(f"expected a table of shape (…, {', '.join(map(str, shape))})")
    return table


def _same(table: Array) -> Array:
    return table


def _with_sum(step: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """The step along the last axis, with the sum over that axis put behind it."""

    def stepped(table: Array) -> Array:
        return np.concatenate([step(table), table.sum(axis=-1, keepdims=True)], axis=-1)

    return stepped


def _along_axes(
    steps: Sequence[Callable[[Array], Array]], x: ArrayLike, shape: tuple[int, ...]
) -> Array:
    """Apply the k-th step along the k-th of the last axes of `x`, which have this shape.

    Each step works on what is the first axis, brought to the end as the last one. The batch axes
    start at the end, so that after all steps every axis is back in its place.
    """
    table = _table(x, shape)
    batch = table.shape[: table.ndim - len(shape)]
    if batch:
        table = table.reshape(math.prod(batch), math.prod(shape)).T
    after = []
    for step, size in zip(steps, shape, strict=True):
        table = step(table.reshape(size, table.size // size).T)
        after.append(table.shape[-1])
    return table.reshape(*batch, *after)


class Dense(Channel):
    """Any invertible matrix, given whole.

    Parameters
    ----------
    matrix : array_like, shape (cells, cells)
        Column-stochastic; cells in row-major order.
    shape : tuple of int
        Shape of the tables whose cells these are.
    """

    def __init__(self, matrix: ArrayLike, shape: tuple[int, ...]) -> None:
        self._matrix: Array = np.array(matrix, dtype=np.float64)
        self._shape = shape
        if self._matrix.shape != (math.prod(shape), math.prod(shape)):
            raise ValueError("matrix: expected one row and one column for each cell")

    @property
    def input_shape(self) -> tuple[int, ...]:
        return self._shape

    @property
    def output_shape(self) -> tuple[int, ...]:
        return self._shape

    @cached_property
    def condition_number(self) -> float:
        singular = np.linalg.svd(self._matrix, compute_uv=False)
        return float(singular[0] / singular[-1]) if singular[-1] > 0 else math.inf

    @cached_property
    def _inverse(self) -> Array:
        return np.asarray(np.linalg.inv(self._matrix), dtype=np.float64)

    def _apply(self, matrix: Array, x: ArrayLike) -> Array:
        table = _table(x, self._shape)
        return (table.reshape(-1, len(matrix)) @ matrix.T).reshape(table.shape)

    def forward(self, x: ArrayLike) -> Array:
        return self._apply(self._matrix, x)

    def solve(self, y: ArrayLike) -> Array:
        return self._apply(self._inverse, y)

    def solve_squared(self, y: ArrayLike, summed: Collection[int] = ()) -> Array:
        rows = self._inverse.reshape(*self._shape, -1)
        margins = rows.sum(axis=tuple(summed), keepdims=True) if summed else rows
        return self._apply((rows * margins).reshape(self._matrix.shape), y)
