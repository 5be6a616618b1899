"""Exact samplers of the split questionnaire, from integers alone."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from itertools import accumulate
from math import prod
from operator import mul
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...sampling import DrawBelow, RandBelow, Sampler
from .responses import Response, coordinates, modulus, number, placed, points
from .views import View

Integers = NDArray[np.int64]


def outcomes(response: Response, gamma: Fraction) -> int:
    """Equally likely outcomes of the draw of a symbol: γ for each of a cell's own, 1 for others.

    Both are multiplied by the denominator of γ.
    """
    own, other = gamma.as_integer_ratio()
    return own * response.inside + other * (response.symbols - response.inside)


def symbol(response: Response, gamma: Fraction, cell: int, randbelow: RandBelow) -> int:
    """Draw a symbol that answers for a cell."""
    own, other = gamma.as_integer_ratio()
    chances = own * response.inside
    drawn = randbelow(chances + other * (response.symbols - response.inside))
    inside = drawn < chances
    place = drawn // own if inside else (drawn - chances) // other
    prime, rest_of = response.prime, response.dimension - 1
    if not prime:
        return cell if inside else place + (place >= cell)
    vector = coordinates(placed(cell, response.symbols), prime, rest_of + 1)
    pivot = vector.index(1)
    # The orthogonal points are those of the other coordinates, the pivot's being solved from
    # ⟨u,y⟩ = 0. Each other point has one vector with ⟨u,y⟩ = 1, and that one is solved likewise.
    rest = (coordinates if inside else digits)(place, prime, rest_of)
    # Before its pivot, u is 0.
    across = sum(map(mul, vector[pivot + 1 :], rest[pivot:]))
    answer = ((not inside) - across) % prime
    return number((*rest[:pivot], answer, *rest[pivot:]), prime)


def digits(value: int, base: int, count: int) -> tuple[int, ...]:
    """The last so many digits of a number, the most significant first."""
    digits = []
    for _ in range(count):
        value, digit = divmod(value, base)
        digits.append(digit)
    return tuple(reversed(digits))


def symbols(response: Response, gamma: Fraction, cells: Integers, draw: DrawBelow) -> Integers:
    """Draw a symbol for each of many cells; at most 2⁶² outcomes."""
    own, other = gamma.as_integer_ratio()
    drawn = draw(outcomes(response, gamma), len(cells))
    inside = drawn < own * response.inside
    place = np.where(inside, drawn // own, (drawn - own * response.inside) // other)
    if not response.prime:
        return np.where(inside, cells, place + (place >= cells))
    prime, dimension = response.prime, response.dimension
    vectors = coordinates_of(placed_of(cells, response.symbols), prime, dimension)
    rest = digits_of(place, prime, dimension - 1)
    orthogonal = np.flatnonzero(inside)
    rest[:, orthogonal] = coordinates_of(place[orthogonal], prime, dimension - 1)
    return numbers_of(solved(vectors, rest, 1 - inside, prime), prime)


def solved(vectors: Integers, rest: Integers, product: Integers, prime: int) -> Integers:
    """Vectors y of these coordinates other than the pivot's, so that ⟨u,y⟩ is as given.

    Parameters
    ----------
    vectors : ndarray of int64, shape (t, N)
        The points u; their pivot is their first coordinate that is not 0.
    rest : ndarray of int64, shape (t − 1, N)
    product : ndarray, shape (N,)
        ⟨u,y⟩ modulo the prime.
    """
    pivot = np.argmax(vectors != 0, axis=0)
    result = np.zeros_like(vectors)
    for j in range(len(rest)):
        # What stands before the pivot keeps its place.
        result[j] = np.where(pivot > j, rest[j], result[j])
        result[j + 1] = np.where(pivot > j, 0, rest[j])
    across = (vectors * result).sum(axis=0)
    result[pivot, np.arange(len(pivot))] = (product - across) % prime
    return result


def placed_of(cells: Integers, count: int) -> Integers:
    """`placed` of many cells, of so many points."""
    ring = np.uint64(modulus(count))
    third = ring // np.uint64(3)
    indices = cells.astype(np.uint64)
    left = np.arange(len(cells))
    while left.size:
        moved = (indices[left] + third) % ring
        moved = moved * moved % ring * moved % ring
        indices[left] = moved
        left = left[moved >= count]
    return indices.astype(np.int64)


def digits_of(values: Integers, base: int, count: int) -> Integers:
    """`digits` of many numbers, shape (count, N)."""
    digits = np.empty((count, len(values)), dtype=np.int64)
    for j in reversed(range(count)):
        # Much quicker than the remainder.
        whole = values // base
        digits[j] = values - whole * base
        values = whole
    return digits


def coordinates_of(indices: Integers, prime: int, dimension: int) -> Integers:
    """`coordinates` of many points, shape (t, N)."""
    blocks = _blocks(prime, dimension)
    place = np.searchsorted(blocks, indices, side="right") - 1
    coordinates = digits_of(indices - blocks[place], prime, dimension)
    coordinates[place, np.arange(len(indices))] = 1
    return coordinates


def numbers_of(vectors: Integers, prime: int) -> Integers:
    """`number` of many vectors, shape (t, N)."""
    dimension = len(vectors)
    place = np.argmax(vectors != 0, axis=0)
    scale = _inverses(prime)[vectors[place, np.arange(len(place))]]
    value = np.zeros(len(place), dtype=np.int64)
    for j, column in enumerate(vectors):
        value = value * prime + np.where(place < j, column * scale % prime, 0)
    return np.asarray(value + _blocks(prime, dimension)[place])


@cache
def _blocks(prime: int, dimension: int) -> Integers:
    """Number of points whose first 1 is before each place."""
    total = points(prime, dimension)
    return np.array([total - points(prime, dimension - j) for j in range(dimension)])


@cache
def _inverses(prime: int) -> Integers:
    """The inverse of each number modulo a prime, 0 for 0."""
    return np.array([0, *(pow(number, -1, prime) for number in range(1, prime))])


@dataclass(frozen=True)
class SplitSampler(Sampler):
    """A view, drawn first, and then a symbol for the cell of its answers.

    Attributes
    ----------
    public : tuple of int
        Positions of the attributes that are sent unperturbed.
    """

    gamma: Fraction
    public: tuple[int, ...]
    views: tuple[View, ...]

    @cached_property
    def _until(self) -> list[int]:
        """Sums of the weights of the views up to each."""
        return list(accumulate(view.weight for view in self.views))

    @property
    def outcomes(self) -> int:
        answers = {view.response for view in self.views}
        return max(self._until[-1], *(outcomes(response, self.gamma) for response in answers))

    def report(self, record: Sequence[int], randbelow: RandBelow) -> tuple[int, ...]:
        drawn = self.views[bisect_right(self._until, randbelow(self._until[-1]))]
        cell = 0
        for j, size in zip(drawn.positions, drawn.shape, strict=True):
            cell = cell * size + record[j]
        answer = drawn.first + symbol(drawn.response, self.gamma, cell, randbelow)
        return (*[record[j] for j in self.public], answer)

    def reports(self, records: Integers, draw: DrawBelow) -> Integers:
        table = self._table
        drawn = np.searchsorted(table.until, draw(self._until[-1], len(records)), side="right")
        own = np.take_along_axis(records, table.positions[drawn], axis=1)
        cells = np.einsum("ij,ij->i", own, table.strides[drawn])
        answers = table.first[drawn]
        kinds = table.kind[drawn]
        order = np.argsort(kinds, kind="stable")
        ends = np.searchsorted(kinds[order], np.arange(len(table.responses)), side="right")
        for response, chosen in zip(table.responses, np.split(order, ends[:-1]), strict=True):
            if chosen.size:
                answers[chosen] += symbols(response, self.gamma, cells[chosen], draw)
        return np.column_stack([records[:, list(self.public)], answers])

    @cached_property
    def _table(self) -> "_Table":
        longest = max(len(view.positions) for view in self.views)
        positions, strides = np.zeros((2, len(self.views), longest), dtype=np.int64)
        for row, view in enumerate(self.views):
            positions[row, : len(view.positions)] = view.positions
            strides[row, : len(view.shape)] = [
                prod(view.shape[axis + 1 :]) for axis in range(len(view.shape))
            ]
        # Geometries of the same points draw alike, however many of them are cells.
        ways = [(view.response.symbols, view.response.prime) for view in self.views]
        responses = {way: view.response for way, view in zip(ways, self.views, strict=True)}
        number = {way: kind for kind, way in enumerate(responses)}
        # Numbers of 16 bits are sorted quickest.
        kinds = np.array([number[way] for way in ways], np.min_scalar_type(len(responses)))
        first = np.array([view.first for view in self.views])
        return _Table(
            np.array(self._until), positions, strides, first, kinds, tuple(responses.values())
        )


class _Table(NamedTuple):
    """The views as columns, for looking up those of many records at once.

    Where the answers are in a record, and what each adds to the number of the cell, has shape
    (views, longest view); `kind` says which of the responses is that of a view.
    """

    until: Integers
    positions: Integers
    strides: Integers
    first: Integers
    kind: NDArray[np.unsignedinteger]
    responses: tuple[Response, ...]
