"""Reports of many records at once, by NumPy, with the same distribution as those of one record.

`Perturbation.reports` calls it. Randomness is arrays of machine words, so that weights are at most
2⁶²; records of surveys with larger weights are perturbed one by one.
"""

import math
import secrets
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import singledispatch

import numpy as np
from numpy.typing import NDArray

from ..cells import ravel, unravel
from ..channels.geometry import (
    coordinates_of_points,
    digits_of_numbers,
    points_of_cells,
    points_of_vectors,
    solve_coordinates,
)
from ..channels.subset_response import cells_of_pairs, pair_numbers
from ..errors import RecordError
from ..responses import Column, Columns, Kept, Mixture, Response, Transitions
from ..sampling import (
    MAX_VECTOR_OUTCOMES,
    DrawBelow,
    draw_below_from_os,
    simulated_draw_below,
    simulated_randbelow,
)
from ..schema import Schema, incomplete_set, too_many_chosen
from ..set_responses import SetResponse
from ..subset_responses import PairResponse, SubsetResponse
from .base import Perturbation, View

Integers = NDArray[np.int64]

#: Largest number of members of padded sets in memory.
_AT_ONCE = 2**24


def check_records(schema: Schema, codes: NDArray[np.integer] | Sequence[Sequence[int]]) -> Integers:
    """Check the codes of N records and return them as an int64 array of shape (N, M).

    Raises
    ------
    RecordError
        If a code is invalid; the message names the attribute, but not the code.
    """
    try:
        array = np.asarray(codes)
    except ValueError:
        array = np.zeros(0)
    if array.ndim != 2 or array.shape[1] != len(schema.shape):
        raise RecordError(f"records: expected an array of shape (N, {len(schema.shape)})")
    if array.dtype.kind not in "iu":
        raise RecordError("records: expected an array of integers")
    outside = (array < 0) | (array >= np.array(schema.shape))
    if outside.any():
        j = int(np.argmax(outside.any(axis=0)))
        raise RecordError(
            f"attribute '{schema.names[j]}': expected codes from 0 to {schema.shape[j] - 1}",
            field=schema.names[j],
        )
    checked = array.astype(np.int64, copy=False)
    for name, positions in schema.sets.items():
        own = checked[:, positions]
        if ((own.max(axis=1) > 1) & (own.min(axis=1) < own.max(axis=1))).any():
            raise incomplete_set(name)
        if ((own == 1).sum(axis=1) > schema.at_most(name)).any():
            raise too_many_chosen(name, schema.at_most(name))
    return checked


def draw_reports(
    perturbation: Perturbation,
    records: NDArray[np.integer] | Sequence[Sequence[int]],
    rng: np.random.Generator | None = None,
) -> Integers:
    """Perturb N records independently, as :meth:`.Perturbation.reports` describes."""
    checked = check_records(perturbation.schema, records)
    sampler = perturbation.derive(_Sampler)
    if sampler.outcomes <= MAX_VECTOR_OUTCOMES:
        draw = draw_below_from_os if rng is None else simulated_draw_below(rng)
        return sampler.draw(checked, draw)
    randbelow = secrets.randbelow if rng is None else simulated_randbelow(rng)
    reports = [perturbation.report(record, randbelow) for record in checked.tolist()]
    return np.array(reports, dtype=np.int64).reshape(len(checked), len(perturbation.space.shape))


@dataclass(frozen=True)
class _ViewColumns:
    """Where each view finds its answers, and what it answers with.

    `columns` and `strides`, of shape (views, length of the longest view), end with zeros; columns
    are those of `_Sampler._with_groups`. `first` is the first symbol of each view, and `number` the
    index of its response.
    """

    columns: Integers
    strides: Integers
    first: Integers
    number: Integers


class _Sampler:
    """Draws the reports of many records of one survey."""

    def __init__(self, perturbation: Perturbation) -> None:
        self._perturbation, views = perturbation, perturbation.views
        #: A view for each way of drawing a symbol.
        self._responses = tuple({_way(view): view for view in views}.values())
        #: Positions of attributes of which some view has groups of answers.
        self._collapsed = sorted(frozenset[int]().union(*(view.collapsed for view in views)))
        #: Largest number of equally likely outcomes of one draw.
        self.outcomes: int = max(
            perturbation.cumulative_weights[-1],
            *(view.response.outcomes for view in self._responses),
        )
        self._view_columns = None if perturbation.reports_records else self._find_view_columns()

    def _find_view_columns(self) -> _ViewColumns:
        schema, views = self._perturbation.schema, self._perturbation.views
        groups = {j: len(schema.names) + k for k, j in enumerate(self._collapsed)}
        longest = max(len(view.others) for view in views)
        columns, strides = np.zeros((2, len(views), longest), dtype=np.int64)
        for row, view in enumerate(views):
            sizes = dict(zip(view.positions, view.shape, strict=True))
            others = view.others
            columns[row, : len(others)] = [groups[j] if j in view.collapsed else j for j in others]
            strides[row, : len(others)] = [
                math.prod(sizes[j] for j in others[axis + 1 :]) for axis in range(len(others))
            ]
        first = np.array([view.first for view in views])
        numbers = {_way(view): number for number, view in enumerate(self._responses)}
        number = np.array([numbers[_way(view)] for view in views])
        return _ViewColumns(columns, strides, first, number)

    def draw(self, records: Integers, draw: DrawBelow) -> Integers:
        """Draw the reports of checked records, of shape (N, M)."""
        if self._view_columns is None:
            return draw_many(self._responses[0].response, records, draw)
        of, weights = self._view_columns, self._perturbation.cumulative_weights
        drawn = draw(weights[-1], len(records))
        view = np.searchsorted(np.array(weights), drawn, side="right")
        own = np.take_along_axis(self._with_groups(records), of.columns[view], axis=1)
        cells = np.einsum("ij,ij->i", own, of.strides[view])
        symbols, numbers = of.first[view], of.number[view]
        for one, alike in enumerate(self._responses):
            chosen = np.flatnonzero(numbers == one)
            if chosen.size:
                options = records[chosen][:, list(alike.options)]
                codes = np.column_stack([cells[chosen], options])
                symbols[chosen] += draw_many(alike.response, codes, draw)[:, 0]
        unperturbed = records[:, list(self._perturbation.unperturbed_columns)]
        return np.column_stack([unperturbed, symbols])

    def _with_groups(self, records: Integers) -> Integers:
        """Append a column with the group of the answer for each collapsed attribute."""
        attributes = self._perturbation.schema.attributes
        codes = [np.array(attributes[j].groups.codes) for j in self._collapsed]
        columns = [of[records[:, j]] for of, j in zip(codes, self._collapsed, strict=True)]
        return np.column_stack([records, *columns]) if columns else records


def _way(view: View) -> Hashable:
    """Return the same value for views that draw in the same way."""
    response = view.response
    if view.options:
        return response, view.options
    if isinstance(response, SubsetResponse):
        # Geometries with the same points draw alike, whatever their numbers of cells.
        return response.symbols, response.prime, type(response)
    return response


@singledispatch
def draw_many(response: Response, codes: Integers, draw: DrawBelow) -> Integers:
    """Draw the reports of N records, of shape (N, codes); requires at most 2⁶² outcomes.

    Raises
    ------
    TypeError
        For a kind of response that cannot be drawn here.
    """
    raise TypeError(f"no draws of {type(response).__name__}")


@draw_many.register(Columns)
def _(response: Columns, codes: Integers, draw: DrawBelow) -> Integers:
    reports = np.empty_like(codes)
    for j, column in enumerate(response.columns):
        reports[:, j] = _values(column, codes[:, j], draw(column.total, len(codes)))
    return reports


@singledispatch
def _values(column: Column, codes: Integers, drawn: Integers) -> Integers:
    """Return the reported values of N answers to one question."""
    raise TypeError(f"no values of {type(column).__name__}")


@_values.register(Kept)
def _(column: Kept, codes: Integers, drawn: Integers) -> Integers:
    return _keep_or_move(codes, drawn, column.same, column.other)


@_values.register(Transitions)
def _(column: Transitions, codes: Integers, drawn: Integers) -> Integers:
    values = np.empty_like(codes)
    for code, cumulative in enumerate(column.bounds):
        own = codes == code
        values[own] = np.searchsorted(np.array(cumulative), drawn[own], side="right")
    return values


@draw_many.register(Mixture)
def _(response: Mixture, codes: Integers, draw: DrawBelow) -> Integers:
    t: Integers | int = 0
    if response.steps:
        t = draw(2 * response.steps + 1, len(codes)) - response.steps
    same = response.same + response.shift * (response.cells - 1) * t
    drawn = draw(response.outcomes, len(codes))
    other = response.other - response.shift * t
    cells = _keep_or_move(ravel(codes, response.sizes), drawn, same, other)
    return unravel(cells, response.sizes)


def _keep_or_move(
    values: Integers, drawn: Integers, same: int | Integers, other: int | Integers
) -> Integers:
    """Perturb N values from 0 to d−1: weight `same` for the true one, `other` for each other one.

    `drawn` are uniform below same + other·(d−1).
    """
    moved = (drawn - same) // np.maximum(other, 1)
    moved += moved >= values
    return np.where(drawn < same, values, moved)


@draw_many.register(SubsetResponse)
def _(response: SubsetResponse, codes: Integers, draw: DrawBelow) -> Integers:
    own, other = response.gamma.as_integer_ratio()
    cells, drawn = codes[:, 0], draw(response.outcomes, len(codes))
    chances = own * response.subset_size
    in_subset = drawn < chances
    place = np.where(in_subset, drawn // own, (drawn - chances) // other)
    return _symbols(response, cells, place, in_subset)[:, np.newaxis]


@singledispatch
def _symbols(
    response: SubsetResponse, cells: Integers, place: Integers, in_subset: NDArray[np.bool_]
) -> Integers:
    """Return the symbols of many cells by their places, as `SubsetResponse.draw` finds them."""
    if response.is_direct:
        return np.where(in_subset, cells, place + (place >= cells))
    prime, dimension = response.prime, response.dimension
    vectors = coordinates_of_points(points_of_cells(cells, response.symbols), prime, dimension)
    rest = digits_of_numbers(place, prime, dimension - 1)
    orthogonal = np.flatnonzero(in_subset)
    rest[:, orthogonal] = coordinates_of_points(place[orthogonal], prime, dimension - 1)
    return points_of_vectors(solve_coordinates(vectors, rest, 1 - in_subset, prime), prime)


@_symbols.register(PairResponse)
def _(
    response: PairResponse, cells: Integers, place: Integers, in_subset: NDArray[np.bool_]
) -> Integers:
    smaller, larger = cells_of_pairs(place)
    first = np.where(in_subset, place, smaller)
    first += first >= cells
    second = np.where(in_subset, cells, larger + (larger >= cells))
    return pair_numbers(first, second)


@draw_many.register(SetResponse)
def _(response: SetResponse, codes: Integers, draw: DrawBelow) -> Integers:
    own, other = response.gamma.as_integer_ratio()
    drawn, chances = draw(response.outcomes, len(codes)), own * response.most
    symbols = np.empty(len(codes), dtype=np.int64)
    step = max(1, _AT_ONCE // response.block)
    for start in range(0, len(codes), step):
        rows = slice(start, start + step)
        padded = _padded(response, codes[rows])
        inside = drawn[rows] < chances
        place = np.where(inside, drawn[rows] // own, (drawn[rows] - chances) // other)
        outside = place.copy()
        for member in padded.T:
            outside += outside >= member
        member = np.minimum(place, response.most - 1)
        symbols[rows] = np.where(inside, padded[np.arange(len(padded)), member], outside)
    return symbols[:, np.newaxis]


def _padded(response: SetResponse, codes: Integers) -> Integers:
    """Return the symbols of the padded sets, shape (N, m), as `SetResponse.padded` does."""
    cells, own = codes[:, 0], codes[:, 1:]
    if response.pairs:
        smaller, larger = cells_of_pairs(np.arange(response.units))
        units = (own[:, smaller] == 1) & (own[:, larger] == 1)
    else:
        categories = np.arange(2, 2 + response.missing)
        units = np.concatenate([own == 1, own[:, :1] == categories], axis=1)
    wanting = response.most - units.sum(axis=1)
    members = np.concatenate([units, np.arange(response.most) < wanting[:, None]], axis=1)
    return np.nonzero(members)[1].reshape(len(codes), -1) + cells[:, None] * response.block
