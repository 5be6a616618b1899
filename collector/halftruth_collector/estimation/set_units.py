"""Units of sets in tables, and the reports of set views in classes.

A *unit* is an option that was chosen, a pair of options that both were, or a missing category of
the whole question. The shares of a table of one or two options of a set are linear in the shares of
its units. Reports about all other units have the same probability, so that a table needs few
classes of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import comb, prod

import numpy as np
from halftruth_shared import Schema
from halftruth_shared.channels import Operator
from halftruth_shared.channels.axes import Array
from halftruth_shared.mechanisms import View
from halftruth_shared.set_responses import SetResponse, pair_number
from numpy.typing import NDArray

#: Positions of the options of a unit; of a missing category −1 minus its number, and of a dummy −1
#: minus its number after these.
Unit = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class UnitTable:
    """Table whose shares are linear in those of some units.

    Attributes
    ----------
    units : tuple of Unit
    cells : ndarray, shape (cells, 1 + units)
        Map from the share of all people, and the shares of the units, to the table.
    having : ndarray, shape (units, cells)
        Which units the people of each cell have.
    """

    units: tuple[Unit, ...]
    cells: Array
    having: Array

    @classmethod
    def of_options(cls, schema: Schema, options: Sequence[int]) -> "UnitTable":
        """Return the table of one or two options of a set, an axis for each."""
        units = units_of(schema, options)
        cells = cells_of_units(schema, options, units)
        return cls(tuple(units), cells, units_of_cells(schema, options, units))

    @classmethod
    def of_numbers(cls, at_most: int, missing: int) -> "UnitTable":
        """Return the table of the number of chosen options, from 0 on, and missing categories.

        People with at most k units have the k-th last dummy. A missing category is one unit.
        """
        units = [(-1 - code,) for code in range(missing + at_most)]
        number = at_most + 1
        having = np.zeros((len(units), number + missing))
        having[:missing, number:] = np.eye(missing)
        for dummy in range(at_most):
            most = at_most - 1 - dummy
            having[missing + dummy, : most + 1] = 1.0
            having[missing + dummy, number:] = most >= 1
        # Everybody is in one cell, and cells differ in their units.
        everybody = np.ones((1, number + missing))
        return cls(tuple(units), np.linalg.inv(np.vstack([everybody, having])), having)


def response_to_set(view: View) -> SetResponse:
    """Return the response of a view of a set."""
    assert isinstance(view.response, SetResponse)  # noqa: S101 - views with options have one
    return view.response


def units_of(schema: Schema, options: Sequence[int]) -> list[Unit]:
    """Return the units of which a table of some options of a set has the shares."""
    missing = schema.attributes[options[0]].missing
    alone = [(j,) for j in options]
    return [*alone, *combinations(options, 2), *((-1 - code,) for code in range(len(missing)))]


def place_of(view: View, unit: Unit) -> int | None:
    """Return the number of a unit in a view; None if the view is not about it."""
    response = response_to_set(view)
    if len(unit) == 2:
        pair = sorted(map(view.options.index, unit))
        return pair_number(*pair) if response.pairs else None
    if response.pairs:
        return None
    [one] = unit
    return response.options - 1 - one if one < 0 else view.options.index(one)


def units_of_cells(schema: Schema, options: Sequence[int], units: Sequence[Unit]) -> Array:
    """Return which units people have, by cell of a table of some options; shape (units, cells).

    A missing category is that of the first of these options.
    """
    codes = np.array(list(product(*(range(schema.shape[j]) for j in options))))
    column = {j: place for place, j in enumerate(options)}
    rows = [
        codes[:, 0] == 1 - unit[0]
        if unit[0] < 0
        else (codes[:, [column[j] for j in unit]] == 1).all(axis=1)
        for unit in units
    ]
    return np.array(rows, dtype=np.float64).reshape(len(units), len(codes))


def cells_of_units(schema: Schema, options: Sequence[int], units: Sequence[Unit]) -> Array:
    """Return the map to a table of one or two options; shape (cells, 1 + units).

    It is from the share of all people, and the shares of the units: the inverse of
    `units_of_cells`, where each cell is possible.
    """
    sizes = [schema.shape[j] for j in options]
    matrix = np.zeros((*sizes, 1 + len(units)))
    place = {unit: 1 + number for number, unit in enumerate(units)}
    for code in range(2, sizes[0]):
        matrix[(code,) * len(sizes)][place[1 - code,]] = 1.0
    # Chosen options: those in `inside` and no other, by inclusion and exclusion.
    for inside in product((False, True), repeat=len(options)):
        chosen = tuple(j for j, within in zip(options, inside, strict=True) if within)
        others = [j for j in options if j not in chosen]
        cell = matrix[tuple(int(within) for within in inside)]
        for number in range(len(others) + 1):
            for more in combinations(others, number):
                unit = tuple(sorted((*chosen, *more), key=options.index))
                cell[place[unit] if unit else 0] += (-1) ** number
    matrix[(0,) * len(sizes)][[place[1 - code,] for code in range(2, sizes[0])]] -= 1.0
    return matrix.reshape(-1, 1 + len(units))


def memberships(view: View, options: Sequence[int]) -> Array:
    """Return how likely each symbol of a group is in the padded set of people.

    Rows are the cells of a table of some options, perhaps none. All possible answers to the
    question with these answers are equally likely.

    Returns
    -------
    ndarray, shape (cells, U + m)
    """
    response = response_to_set(view)
    places = [view.options.index(j) for j in options]
    others = [place for place in range(response.options) if place not in places]
    rows = []
    for codes in product(range(2 + response.missing), repeat=len(options)):
        own = np.zeros(response.options)
        own[[place for place, code in zip(places, codes, strict=True) if code == 1]] = 1.0
        absent = [code for code in codes if code > 1][:1]
        more = max(response.at_most - codes.count(1), 0)
        ways = [comb(len(others), number) for number in range(min(more, len(others)) + 1)]
        answers = [] if absent else [(number, way) for number, way in enumerate(ways)]
        # A missing category is a single answer; it has no options.
        missing = absent or ([] if codes else list(range(2, 2 + response.missing)))
        row = np.zeros(response.block)
        for number, way in answers:
            chosen = own.copy()
            chosen[others] = number / max(len(others), 1)
            row += way * _members(response, chosen, others, number, codes.count(1) + number)
        for code in missing:
            alone = np.zeros(response.block)
            found = 0
            if not response.pairs:
                alone[response.options + code - 2] = found = 1
            alone[response.units : response.block - found] = 1.0
            row += alone
        rows.append(row / (sum(ways) * bool(answers) + len(missing)))
    return np.array(rows)


def _members(
    response: SetResponse, chosen: Array, others: Sequence[int], number: int, total: int
) -> Array:
    """Return how likely each symbol is, if `number` of the other options are chosen at random."""
    row, units = np.zeros(response.block), total
    if response.pairs:
        units, count = comb(total, 2), len(others)
        both = number * (number - 1) / max(count * (count - 1), 1)
        for smaller, larger in combinations(range(response.options), 2):
            inside = smaller in others and larger in others
            chance = both if inside else chosen[smaller] * chosen[larger]
            row[pair_number(smaller, larger)] = chance
    else:
        row[: response.options] = chosen
    row[response.units : response.block - min(units, response.most)] = 1.0
    return row


@dataclass(frozen=True, eq=False)
class SetClasses:
    """Classes of the reports of a view of a set, for a table of some of its attributes.

    A class is a cell of the margin over the groups that the table and the view have in common,
    with one of the units, or with any other symbol. Classes are in row-major order.

    Attributes
    ----------
    view : View
    kept : tuple of int
        Positions of the groups that both have in common, in the order of the margin.
    units : tuple of Unit
        Those units of the table that the view is about.
    """

    view: View
    kept: tuple[int, ...]
    units: tuple[Unit, ...]

    @classmethod
    def of(cls, view: View, free: Sequence[int], units: Sequence[Unit]) -> "SetClasses":
        """Return the classes for a table with attributes at the positions `free`."""
        kept = tuple([j for j in free if j in view.others])
        return cls(view, kept, tuple([unit for unit in units if place_of(view, unit) is not None]))

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of answers of `kept`."""
        size = dict(zip(self.view.positions, self.view.shape, strict=True))
        return tuple([size[j] for j in self.kept])

    @property
    def cells(self) -> int:
        """Number of cells of the margin."""
        return prod(self.sizes)

    @property
    def number(self) -> int:
        """Number of classes."""
        return self.cells * (len(self.units) + 1)

    def of_symbols(self, symbols: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return the class of each symbol of the view."""
        response = response_to_set(self.view)
        groups, within = np.divmod(symbols.astype(np.int64), response.block)
        size = dict(zip(self.view.positions, self.view.shape, strict=True))
        codes = np.unravel_index(groups, [size[j] for j in self.view.others] or [1])
        margin = np.zeros(len(symbols), dtype=np.int64)
        for j, count in zip(self.kept, self.sizes, strict=True):
            margin = margin * count + codes[self.view.others.index(j)]
        column = np.full(response.block, len(self.units))
        for number, unit in enumerate(self.units):
            place = place_of(self.view, unit)
            assert place is not None  # noqa: S101 - such units are left out
            column[place] = number
        return np.asarray(margin * (len(self.units) + 1) + column[within], dtype=np.int64)

    def chances(self, groups: NDArray[np.int64], units: Array) -> Array:
        """Return the probability of each class, by people.

        Parameters
        ----------
        groups : ndarray of int, shape (R,)
            Cell of the margin of some people.
        units : ndarray, shape (units, R)
            Which of the units they have.

        Returns
        -------
        ndarray, shape (R, classes)
        """
        response = response_to_set(self.view)
        among = response.groups // self.cells
        own = np.eye(self.cells)[groups][:, :, np.newaxis]
        # Nobody has more units than there are in the largest set.
        rest = np.maximum(response.most - units.sum(axis=0), 0.0)
        known = np.vstack([units, rest]).T[:, np.newaxis]
        even = np.ones(len(self.units) + 1)
        even[-1] = response.block - len(self.units)
        # γ can exceed all floating-point numbers, unlike its product with the share.
        share, more = float(response.share), float(response.share * (response.gamma - 1))
        chances = share * among * even + more * own * known
        return np.asarray(chances.reshape(len(groups), -1))


class ClassOperator(Operator):
    """Classes of reports as a linear operator from a table."""

    def __init__(self, matrix: Array) -> None:
        #: Probabilities of classes, a row for each cell.
        self._matrix = matrix

    @property
    def reports(self) -> int:
        return int(self._matrix.shape[1])

    def forward(self, x: Array) -> Array:
        return np.asarray(x @ self._matrix)

    def adjoint(self, y: Array) -> Array:
        return np.asarray(y @ self._matrix.T)
