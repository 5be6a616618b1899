"""Predictors of a regression: their columns, interactions, and what is compared of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from .bounds import Array

#: Step of a derivative by scores, as a part of their range.
_DIFFERENCE = 1e-4


@dataclass(frozen=True)
class Factor:
    """One of the predictors of a term: a category against a reference, or a unit of scores."""

    attribute: str
    category: str | None = None
    reference: str | None = None


@dataclass(frozen=True, eq=False)
class Predictor:
    """Columns of one predictor.

    Attributes
    ----------
    name : str
    factors : tuple of Factor
        What each column is about.
    values : ndarray, shape (x, columns)
        Of each answer, or of each person.
    """

    name: str
    factors: tuple[Factor, ...]
    values: Array

    @property
    def is_scored(self) -> bool:
        return self.factors[0].category is None

    def at(self, codes: NDArray[np.int64]) -> "Predictor":
        """Return that of people who give these answers."""
        return replace(self, values=self.values[codes])

    def contrasts(self) -> Iterator[tuple[Array, Array, float]]:
        """Yield for each column values for everybody to compare, and what to divide by."""
        if self.is_scored:
            step = _DIFFERENCE * float(np.ptp(self.values) or 1.0)
            yield self.values + step, self.values - step, 2 * step
            return
        for row in np.eye(len(self.factors)):
            high = np.broadcast_to(row, self.values.shape)
            yield high, np.zeros_like(high), 1.0


@dataclass(frozen=True, eq=False)
class Predictors:
    """Predictors with their interactions.

    Attributes
    ----------
    each : tuple of Predictor
    interactions : tuple of tuple of int
        Numbers of the predictors of each.
    """

    each: tuple[Predictor, ...]
    interactions: tuple[tuple[int, ...], ...] = ()

    @property
    def terms(self) -> list[tuple[Factor, ...]]:
        """Factors of each term, none of the intercept."""
        main = [(factor,) for predictor in self.each for factor in predictor.factors]
        crossed = [
            term
            for numbers in self.interactions
            for term in product(*(self.each[number].factors for number in numbers))
        ]
        return [(), *main, *crossed]

    def at(self, cells: NDArray[np.int64]) -> "Predictors":
        """Return those of people whose answers are given, a column for each predictor."""
        pairs = zip(self.each, cells.T, strict=True)
        return replace(self, each=tuple(predictor.at(codes) for predictor, codes in pairs))

    def everywhere(self) -> "Predictors":
        """Return those of every combination of answers, in row-major order."""
        cells = np.indices([len(predictor.values) for predictor in self.each])
        return self.at(cells.reshape(len(self.each), -1).T)

    @property
    def columns(self) -> Array:
        """A column for each term, shape (x, terms)."""
        return self._with({})

    def contrasts(self) -> Iterator[tuple[Array, Array, float]]:
        """Yield for each term of one factor columns to compare, and what to divide by."""
        for number, predictor in enumerate(self.each):
            for high, low, divisor in predictor.contrasts():
                yield self._with({number: high}), self._with({number: low}), divisor

    def _with(self, changed: Mapping[int, Array]) -> Array:
        values = [changed.get(n, predictor.values) for n, predictor in enumerate(self.each)]
        return columns_of(values, self.interactions)


def indicators(categories: int, reference: int) -> Array:
    """Columns that tell each category but one from that one.

    >>> indicators(3, 1).astype(int).tolist()
    [[1, 0], [0, 0], [0, 1]]
    """
    return np.delete(np.eye(categories), reference, axis=1)


def columns_of(values: Sequence[Array], interactions: Sequence[Sequence[int]] = ()) -> Array:
    """Intercept, predictors, and the products of the columns of some of them.

    Parameters
    ----------
    values : sequence of ndarray, shapes (x, k_j)
        Columns of each predictor.
    interactions : sequence of sequences of int
        Numbers of the predictors of each interaction.

    Returns
    -------
    ndarray, shape (x, 1 + Σ k_j + …)

    Examples
    --------
    >>> columns_of([np.array([[2.0], [3.0]]), np.array([[1.0, 0.0], [0.0, 1.0]])], [(0, 1)])
    array([[1., 2., 1., 0., 2., 0.],
           [1., 3., 0., 1., 0., 3.]])
    """
    blocks = [np.ones((len(values[0]) if values else 1, 1)), *values]
    for numbers in interactions:
        product = blocks[0]
        for number in numbers:
            several = product[:, :, None] * values[number][:, None]
            product = several.reshape(len(product), -1)
        blocks.append(product)
    return np.hstack(blocks)
