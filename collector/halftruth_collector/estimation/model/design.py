"""Design of a hierarchical loglinear model, without its matrix of cells by parameters.

With corner coding, a column of the design matrix D indicates the cells with certain categories,
other than the first, of the attributes of one interaction. A product of columns is a column or 0,
so every sum over cells that a fit needs, D'w and D' diag(w) D, is an entry of the *cube* of w: w,
with the sum over each axis in place of its first category.

Parameters are estimated in sum-to-zero coding: orthogonal contrasts of the categories of each
attribute, scaled to mean square 1, without a reference category.

The contrasts of a *scale*, an attribute whose answers have scores, are polynomials of these: the
first one is linear in the scores, and the next ones distinguish the missing categories. So the
linear-by-linear term of two scales (Agresti 2013, section 10.4) is one parameter of their
interaction, and a model without the others is one with fewer parameters, for the same columns.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from itertools import combinations, product
from math import prod
from types import MappingProxyType

import numpy as np
from halftruth_shared import DomainTooLarge
from halftruth_shared.deadlines import check_deadline
from numpy.typing import NDArray

from ..bounds import Array

Integers = NDArray[np.int64]

#: Largest number of parameters of a model; of two scales, all of their interaction count.
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
    scores : mapping of int to ndarray, optional
        Scores of the categories of each scale, by axis; NaN for a missing category.
    linear : collection of pairs of int
        Pairs of scales with a linear-by-linear term alone, unless a generator has both. Missing
        categories have a parameter for each other and for the scores.

    Attributes
    ----------
    terms : tuple of tuple of int
        Axes of every interaction, main effects first.
    linear : frozenset of tuple of int
        Those of which the model has only the linear-by-linear term.
    codes : ndarray of int, shape (c, M)
        Category of each attribute in each column, 0 for attributes that are not in its interaction.
        In sum-to-zero coding they are the numbers of contrasts.
    term_of : ndarray of int, shape (c,)
        Index of the interaction of each column.
    kept : ndarray of bool, shape (c,)
        The contrasts whose parameters are in the model; all without `linear`.

    Raises
    ------
    DomainTooLarge
        If there are more than `MAX_PARAMETERS` columns.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        generators: Collection[Collection[int]],
        scores: Mapping[int, Array] = MappingProxyType({}),
        linear: Collection[tuple[int, ...]] = (),
    ) -> None:
        self.shape, self.scores = shape, scores
        terms: set[tuple[int, ...]] = {(axis,) for axis in range(len(shape))}
        for generator in generators:
            axes = sorted(generator)
            for size in range(1, len(axes) + 1):
                terms.update(combinations(axes, size))
        both = {(min(pair), max(pair)) for pair in linear}
        self.linear: frozenset[tuple[int, ...]] = frozenset(both - terms)
        terms |= self.linear
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
        self.kept = self.of_degree(self.linear, 1)
        self._strides = np.array([prod(shape[axis + 1 :]) for axis in range(len(shape))])
        self._margins: dict[tuple[int, ...], Integers] = {}

    def of_degree(self, pairs: Collection[tuple[int, ...]], degree: int) -> NDArray[np.bool_]:
        """Return the contrasts of at most this degree in both scales of some pairs, shape (c,).

        All contrasts of other interactions are among them.
        """
        found: NDArray[np.bool_] = np.ones(self.columns, dtype=bool)
        for number, term in enumerate(self.terms):
            if term in pairs:
                own = self.term_of == number
                found[own] = self._within(own, term, degree)
        return found

    def _within(
        self, own: NDArray[np.bool_], term: tuple[int, ...], degree: int
    ) -> NDArray[np.bool_]:
        # Contrasts of missing categories follow the linear one.
        most = [degree + int(np.isnan(self.scores[axis]).sum()) for axis in term]
        return np.asarray((self.codes[own][:, list(term)] <= most).all(axis=1))

    @property
    def cells(self) -> int:
        return prod(self.shape)

    @property
    def columns(self) -> int:
        """c, the number of columns."""
        return len(self.codes)

    @cached_property
    def parameters(self) -> int:
        """p, the number of parameters; fewer than columns with linear-by-linear terms."""
        return int(self.kept.sum())

    @cached_property
    def place(self) -> Integers:
        """Place of each column's sum in a cube, shape (c,)."""
        return np.asarray(self.codes @ self._strides)

    @cached_property
    def corner(self) -> Array:
        """Matrix T that maps parameters in sum-to-zero coding to corner coding, shape (c, p)."""
        matrices = [_corner_inverse(len(each)) @ each for each in self._contrasts]
        return self._recoded(matrices)[:, self.kept]

    @cached_property
    def contrast(self) -> Array:
        """Matrix that maps columns in corner coding to parameters, T⁻¹ for all, shape (p, c)."""
        matrices = [each.T @ _corner(len(each)) / len(each) for each in self._contrasts]
        return self._recoded(matrices)[self.kept]

    @cached_property
    def _contrasts(self) -> list[Array]:
        return [
            _contrasts(size) if axis not in self.scores else _polynomials(self.scores[axis])
            for axis, size in enumerate(self.shape)
        ]

    def _recoded(self, matrices: Sequence[Array]) -> Array:
        result = np.ones((self.columns, self.columns))
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
        """Return D' diag(w) D, shape (c, c), from the cube of w."""
        return np.asarray(cube[self._pairs])

    @cached_property
    def _pairs(self) -> Integers:
        places = np.zeros((self.columns, self.columns), dtype=np.int64)
        for size, stride, codes in zip(self.shape, self._strides, self.codes.T, strict=True):
            places += _both(size, int(stride))[np.ix_(codes, codes)]
        return np.minimum(places, self.cells)

    def margin(self, cube: Array, axes: tuple[int, ...]) -> Array:
        """Return the margin of w and of the columns of diag(w) D, shape (cells, 1 + c).

        Raises
        ------
        DomainTooLarge
            If these are more than `MAX_DERIVATIVES` numbers.
        """
        sizes = [self.shape[axis] for axis in axes]
        if prod(sizes) * (1 + self.columns) > MAX_DERIVATIVES:
            raise DomainTooLarge(
                f"attributes: a table of {prod(sizes)} cells in a model of {self.columns}"
                f" parameters; expected at most {MAX_DERIVATIVES // (1 + self.columns)} cells",
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
        """Leaf of the constant and of each column, shape (1 + c,)."""
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


def _polynomials(scores: Array) -> Array:
    """Return constant, polynomials of scores, and missing categories, in columns of mean square 1.

    The first polynomial is linear, and the contrasts of missing categories follow it.
    """
    missing, size = np.isnan(scores), len(scores)
    centred = np.where(missing, 0.0, scores - scores[~missing].mean())
    centred /= np.abs(centred).max()
    powers = centred[:, None] ** np.arange(2, (~missing).sum())
    columns = [np.ones(size), centred, *np.eye(size)[missing], *powers.T]
    basis, upper = np.linalg.qr(np.column_stack(columns))
    return np.asarray(basis * np.sign(np.diag(upper)) * np.sqrt(size))
