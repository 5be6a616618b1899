"""Design of a hierarchical loglinear model, without its matrix of cells by parameters.

With corner coding, a column of the design matrix D indicates the cells with certain categories,
other than the first, of the attributes of one interaction. A product of columns is a column or 0,
so every sum over cells that a fit needs, D'w and D' diag(w) D, is an entry of the *cube* of w: w,
with the sum over each axis in place of its first category.

Parameters are estimated in sum-to-zero coding: orthogonal contrasts of the categories of each
attribute, scaled to mean square 1, without a reference category.
"""

from collections.abc import Collection, Sequence
from functools import cached_property
from itertools import combinations, product
from math import prod

import numpy as np
from halftruth_shared import DomainTooLarge
from halftruth_shared.deadlines import check_deadline
from numpy.typing import NDArray

from ..bounds import Array

Integers = NDArray[np.int64]

#: Largest number of parameters of a model.
MAX_PARAMETERS = 1_000

#: Largest number of derivatives of a margin: its cells times parameters.
MAX_DERIVATIVES = 2**25

#: Place of the product of two columns that is 0; larger than any cube.
_NEVER = 2**40


class Design:
    """Columns of the design matrix of a hierarchical loglinear model (Agresti 2013, ch. 9).

    Parameters
    ----------
    shape : tuple of int
        Shape of the table.
    generators : collection of collections of int
        Axes of each highest-order interaction. Main effects are always included.

    Attributes
    ----------
    terms : tuple of tuple of int
        Axes of every interaction, main effects first.
    codes : ndarray of int, shape (p, M)
        Category of each attribute in each column, 0 for attributes that are not in its interaction.
    term_of : ndarray of int, shape (p,)
        Index of the interaction of each column.

    Raises
    ------
    DomainTooLarge
        If there are more than `MAX_PARAMETERS` parameters.
    """

    def __init__(self, shape: tuple[int, ...], generators: Collection[Collection[int]]) -> None:
        self.shape = shape
        terms: set[tuple[int, ...]] = {(axis,) for axis in range(len(shape))}
        for generator in generators:
            axes = sorted(generator)
            for size in range(1, len(axes) + 1):
                terms.update(combinations(axes, size))
        self.terms = tuple(sorted(terms, key=lambda term: (len(term), term)))
        columns = [prod(shape[axis] - 1 for axis in term) for term in self.terms]
        if sum(columns) > MAX_PARAMETERS:
            raise DomainTooLarge(
                f"terms: {sum(columns)} parameters; expected at most {MAX_PARAMETERS}, so fewer"
                " attributes or interactions",
                field="terms",
            )
        self.codes: Integers = np.zeros((sum(columns), len(shape)), dtype=np.int64)
        rows = iter(self.codes)
        for term in self.terms:
            for categories in product(*(range(1, shape[axis]) for axis in term)):
                next(rows)[list(term)] = categories
        self.term_of = np.repeat(np.arange(len(self.terms)), columns)
        self._strides = np.array([prod(shape[axis + 1 :]) for axis in range(len(shape))])
        self._margins: dict[tuple[int, ...], Integers] = {}

    @property
    def cells(self) -> int:
        return prod(self.shape)

    @property
    def parameters(self) -> int:
        return len(self.codes)

    @cached_property
    def place(self) -> Integers:
        """Place of each column's sum in a cube, shape (p,)."""
        return np.asarray(self.codes @ self._strides)

    @cached_property
    def corner(self) -> Array:
        """Matrix T that maps sum-to-zero to corner coding, shape (p, p)."""
        return self._recoded([_corner_inverse(d) @ _contrasts(d) for d in self.shape])

    @cached_property
    def contrast(self) -> Array:
        """T⁻¹."""
        return self._recoded([_contrasts(d).T @ _corner(d) / d for d in self.shape])

    def _recoded(self, matrices: Sequence[Array]) -> Array:
        result = np.ones((self.parameters, self.parameters))
        for axis, matrix in enumerate(matrices):
            result *= matrix[np.ix_(self.codes[:, axis], self.codes[:, axis])]
        return result

    def predictor(self, corner: Array) -> Array:
        """Return Dθ of parameters in corner coding, shape of the table."""
        table = np.zeros(self.cells)
        table[self.place] = corner
        return self.expanded(table)

    def expanded(self, effects: Array) -> Array:
        """Return the table with these effects in corner coding, shape (cells,) as in a cube."""
        table = effects.copy()
        for size, stride in zip(self.shape, self._strides, strict=True):
            by_category = table.reshape(-1, size, stride)
            by_category[:, 1:] += by_category[:, :1]
        return table.reshape(self.shape)

    def cube(self, weights: Array) -> Array:
        """Return the cube of weights of cells, shape (cells + 1,); the last entry is 0."""
        cube = np.zeros(self.cells + 1)
        cube[:-1] = weights.ravel()
        for size, stride in zip(self.shape, self._strides, strict=True):
            by_category = cube[:-1].reshape(-1, size, stride)
            by_category[:, 0] = by_category.sum(axis=1)
        return cube

    def second_moments(self, cube: Array) -> Array:
        """Return D' diag(w) D, shape (p, p), from the cube of w."""
        return np.asarray(cube[self._pairs])

    @cached_property
    def _pairs(self) -> Integers:
        places = np.zeros((self.parameters, self.parameters), dtype=np.int64)
        for size, stride, codes in zip(self.shape, self._strides, self.codes.T, strict=True):
            places += _both(size, int(stride))[np.ix_(codes, codes)]
        return np.minimum(places, self.cells)

    def margin(self, cube: Array, axes: tuple[int, ...]) -> Array:
        """Return the margin of w and of the columns of diag(w) D, shape (cells, 1 + p).

        Raises
        ------
        DomainTooLarge
            If these are more than `MAX_DERIVATIVES` numbers.
        """
        sizes = [self.shape[axis] for axis in axes]
        if prod(sizes) * (1 + self.parameters) > MAX_DERIVATIVES:
            raise DomainTooLarge(
                f"attributes: a table of {prod(sizes)} cells in a model of {self.parameters}"
                f" parameters; expected at most {MAX_DERIVATIVES // (1 + self.parameters)} cells",
                field="attributes",
            )
        sums = np.ascontiguousarray(cube[self._places_with_columns(axes)])
        _leave_first(sums, sizes)
        return sums

    def margin_alone(self, cube: Array, axes: tuple[int, ...]) -> Array:
        """Return the margin of w, at least 0, with an axis for each of `axes`."""
        sums = cube[self._places(axes)]
        _leave_first(sums, sums.shape)
        return np.maximum(sums, 0.0)

    def add_effects(self, effects: Array, values: Array, axes: tuple[int, ...]) -> None:
        """Add to effects those of a function of some attributes, an axis for each of `axes`."""
        own = values.copy()
        for axis, size in enumerate(own.shape):
            by_category = own.reshape(prod(own.shape[:axis]), size, -1)
            by_category[:, 1:] -= by_category[:, :1]
        effects[self._places(axes)] += own

    def _places(self, axes: tuple[int, ...]) -> Integers:
        """Return the places in a cube of the cells of a margin."""
        places = np.zeros((), dtype=np.int64)
        for axis in axes:
            places = np.add.outer(places, np.arange(self.shape[axis]) * self._strides[axis])
        return places

    def _places_with_columns(self, axes: tuple[int, ...]) -> Integers:
        if axes in self._margins:
            return self._margins[axes]
        codes = np.vstack([np.zeros(len(self.shape), dtype=np.int64), self.codes])
        others = [axis for axis in range(len(self.shape)) if axis not in axes]
        places = (codes[:, others] @ self._strides[others])[None]
        for axis in axes:
            check_deadline()
            both = _both(self.shape[axis], int(self._strides[axis]))
            places = (places[:, None] + both[:, codes[:, axis]]).reshape(-1, len(codes))
        places = np.ascontiguousarray(np.minimum(places, self.cells))
        if sum(map(np.size, self._margins.values())) + places.size <= MAX_DERIVATIVES:
            self._margins[axes] = places
        return places

    @cached_property
    def suffixes(self) -> list[tuple[Integers, Integers]]:
        """Distinct codes of the last axes of the constant and all columns, as a trie.

        For each axis, from the last to the first: the parent of each distinct code of this and the
        later axes, among those of the later axes, and the code of this axis. The leaves are the
        constant and all columns, in the order of `order`.
        """
        codes = np.vstack([np.zeros(len(self.shape), dtype=np.int64), self.codes])
        number, steps = np.zeros(len(codes), dtype=np.int64), []
        for column in codes.T[::-1]:
            pairs, number = np.unique(
                np.stack([number, column], axis=1), axis=0, return_inverse=True
            )
            number = number.ravel()
            steps.append((pairs[:, 0], pairs[:, 1]))
        self._order = number
        return steps

    @property
    def order(self) -> Integers:
        """Leaf of the constant and of each column, shape (1 + p,)."""
        _ = self.suffixes
        return self._order


def _leave_first(sums: Array, sizes: Sequence[int]) -> None:
    """Replace the sum in the first category of each axis by the share of that category."""
    for axis, size in enumerate(sizes):
        check_deadline()
        by_category = sums.reshape(prod(sizes[:axis]), size, -1)
        by_category[:, 0] -= by_category[:, 1:].sum(axis=1)


def _both(size: int, stride: int) -> Integers:
    """Return the part of the place of a product of two columns, by their codes of one axis."""
    first, second = np.indices((size, size))
    never = (first != second) & (first > 0) & (second > 0)
    return np.where(never, _NEVER, stride * np.maximum(first, second))


def _corner(size: int) -> Array:
    """Return constant and indicators of all categories but the first, in columns."""
    matrix = np.eye(size)
    matrix[:, 0] = 1.0
    return matrix


def _corner_inverse(size: int) -> Array:
    matrix = np.eye(size)
    matrix[1:, 0] = -1.0
    return matrix


def _contrasts(size: int) -> Array:
    """Return constant and Helmert contrasts, in columns of mean square 1."""
    matrix = np.triu(np.ones((size, size)))
    matrix[range(1, size), range(size - 1)] = -np.arange(1, size)
    matrix = np.column_stack([matrix[:, -1], matrix[:, :-1]])
    return np.asarray(matrix / np.sqrt((matrix**2).mean(axis=0)))
