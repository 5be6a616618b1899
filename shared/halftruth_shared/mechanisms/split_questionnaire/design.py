"""Optimal design of the views of a split questionnaire, and of their weights.

A table over the attributes T splits into orthogonal components, one for each ∅ ≠ U ⊆ T, with
D_U = ∏_{j∈U}(d_j − 1) dimensions. With information J_U about each dimension of component U, the
mean variance of a cell of a table of n_T cells is Σ_{∅≠U⊆T} D_U/(n_T²·J_U).

Attributes with the same number of categories are interchangeable. A set of attributes is therefore
described by its *type*, the number of its attributes from each group.

A view v with probability w_v and information i_v about each contrast of its n_v cells adds
w_v·i_v/n_v to the information J_U about every component U ⊆ v. So the squared error of the tables
of one length, or of a table that is wanted, is convex in the probabilities, and can be minimized.

Views of several attributes have the groups of collapsed answers for categories, and so have the
tables. An attribute alone has its answers in detail: with c groups of d answers, c − 1 of the d − 1
dimensions are those of its groups, about which all views inform, and d − c are differences *within*
groups, about which only the view of this attribute alone informs.
"""

import itertools
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from itertools import pairwise

import msgspec
import numpy as np
import scipy
from numpy.typing import NDArray

from ...deadlines import check_deadline
from ...errors import ParameterError
from ...schema import Schema
from ...subset_responses import MAX_CELLS, SubsetResponse, choose_direct, is_prime, response
from .views import MAX_SYMBOLS, MAX_VIEWS, ViewClass

Array = NDArray[np.float64]

#: Types of sets of attributes, one in each row: the number of attributes of each group.
Types = NDArray[np.int64]

#: Response to a view with some number of cells.
Respond = Callable[[int], SubsetResponse]

#: Exponent of the power mean that approximates the largest error. Unlike the maximum, it is smooth,
#: and it also reduces the errors that are not the largest.
EXPONENT = 20

#: Lower bound of the variables of the minimization, since no information may be 0.
_MIN_VALUE = 1e-10


@dataclass(frozen=True)
class Chosen:
    """Chosen views, and the square of their largest weighted error of one report."""

    classes: tuple[ViewClass, ...]
    square: float


@dataclass(frozen=True)
class Group:
    """Attributes that are treated as interchangeable.

    Their `positions` in the schema are in increasing order, their `sizes`, which are numbers of
    categories in tables of several attributes, and their `details`, those alone, in decreasing
    order.
    """

    positions: tuple[int, ...]
    sizes: tuple[int, ...]
    details: tuple[int, ...]

    @cached_property
    def size(self) -> float:
        """Number of categories assumed for each attribute: the geometric mean."""
        return _geometric_mean(self.sizes)

    @cached_property
    def detail(self) -> float:
        """Number of categories assumed for each attribute alone."""
        return _geometric_mean(self.details)

    @property
    def collapsed(self) -> bool:
        """Whether an attribute has more categories alone than in tables of several."""
        return self.details != self.sizes

    def subsets(self, chosen: int) -> int:
        return math.comb(len(self.sizes), chosen)


def _geometric_mean(sizes: Sequence[int]) -> float:
    return math.exp(math.fsum(map(math.log, sizes)) / len(sizes))


Groups = Sequence[Group]

#: Wanted tables, given by the positions of their perturbed attributes, each with the factor by
#: which its typical error is multiplied.
Demands = Mapping[frozenset[int], float]


def group_by_categories(schema: Schema, public: Collection[str]) -> list[Group]:
    """Group the attributes that are not public by number of categories."""
    free = [j for j, name in enumerate(schema.names) if name not in public]
    kinds = list(zip(schema.group_shape, schema.shape, strict=True))
    groups = []
    for kind in sorted({kinds[j] for j in free}):
        positions = tuple(j for j in free if kinds[j] == kind)
        groups.append(Group(positions, *((size,) * len(positions) for size in kind)))
    return groups


def group_by_use(schema: Schema, demands: Demands) -> list[Group]:
    """Group the attributes that the wanted tables use in the same way.

    Two attributes are in one group if they have as many categories, and the demands stay the same
    when both are exchanged. So the demand of a table depends on its type alone.

    Parameters
    ----------
    demands : mapping of frozenset of int to float
        As `wanted.demands` returns them.
    """

    def rest(position: int, other: int) -> dict[frozenset[int], float]:
        return {
            table - {position}: demand
            for table, demand in demands.items()
            if position in table and other not in table
        }

    together = schema.group_shape
    kinds = list(zip(together, schema.shape, strict=True))
    classes: list[list[int]] = []
    for j in sorted(frozenset().union(*demands)):
        check_deadline()
        for alike in classes:
            k = alike[0]
            if kinds[j] == kinds[k] and rest(j, k) == rest(k, j):
                alike.append(j)
                break
        else:
            classes.append([j])
    return [
        Group(tuple(each), tuple(together[j] for j in each), tuple(schema.shape[j] for j in each))
        for each in classes
    ]


def merge_similar_groups(groups: Groups) -> list[Group]:
    """Merge the two groups with the most similar sizes; keep a single group unchanged."""
    if len(groups) == 1:
        return list(groups)
    ratios = [above.size / below.size for below, above in pairwise(groups)]
    k = ratios.index(min(ratios))
    below, above = groups[k], groups[k + 1]
    merged = Group(
        tuple(sorted(below.positions + above.positions)),
        tuple(sorted(below.sizes + above.sizes, reverse=True)),
        tuple(sorted(below.details + above.details, reverse=True)),
    )
    return [*groups[:k], merged, *groups[k + 2 :]]


def enumerate_types(groups: Groups, max_length: int, most: int) -> Types | None:
    """Return the types of all sets of 1 to `max_length` attributes, shape (types, groups).

    They are in the order of their lengths; None if there would be more than `most` numbers.
    """
    types = np.zeros((1, 0), dtype=np.int64)
    for group in groups:
        choices = np.arange(min(len(group.sizes), max_length) + 1)
        types = np.column_stack(
            [np.repeat(types, len(choices), axis=0), np.tile(choices, len(types))]
        )
        types = types[types.sum(axis=1) <= max_length]
        if len(types) * len(groups) > most:
            return None
    return types[np.argsort(types.sum(axis=1), kind="stable")][1:]


def product_over_groups(
    groups: Groups, types: Types, factor: Callable[[Group, int], float]
) -> Array:
    """Return, for each type, the product over the groups of factor(group, number of attributes)."""
    product = np.ones(len(types))
    for group, chosen in zip(groups, types.T, strict=True):
        product *= np.array(
            [factor(group, n) for n in range(chosen.max(initial=0) + 1)], dtype=float
        )[chosen]
    return product


def count_largest_cells(groups: Groups, types: Types) -> list[int]:
    """Return the number of cells of the largest table of each type."""
    return [
        math.prod(
            math.prod((group.sizes if sum(chosen) > 1 else group.details)[:n])
            for group, n in zip(groups, chosen, strict=True)
        )
        for chosen in types.tolist()
    ]


def objective_of_lengths(groups: Groups, components: Types, lengths: Sequence[int]) -> "Objective":
    """Return the mean squared error of tables of each length."""
    coefficients = _error_coefficients(groups, components, lengths)
    within = _collapsed(groups)
    added = np.zeros((len(lengths), len(within)))
    if lengths[0] == 1:
        cells = math.fsum(math.fsum(group.details) for group in groups)
        for column, k in enumerate(within):
            group = groups[k]
            share = len(group.sizes) / group.detail / cells
            added[0, column] = share * (group.detail - group.size)
        alone = components.sum(axis=1) == 1
        for column in np.flatnonzero(alone).tolist():
            group = groups[int(components[column].argmax())]
            coefficients[0, column] = len(group.sizes) * (group.size - 1) / group.detail / cells
    return Objective(components, within, np.hstack([coefficients, added]))


def _collapsed(groups: Groups) -> tuple[int, ...]:
    return tuple(k for k, group in enumerate(groups) if group.collapsed)


def _error_coefficients(groups: Groups, components: Types, lengths: Sequence[int]) -> Array:
    """Return the coefficients of 1/J_U in the mean squared error of tables of each length.

    Shape (lengths, types of components). With e_k the elementary symmetric polynomials, the sets U
    of one type, of n_U cells, add D_U/n_U·e_{l−|U|}(1/d_j, j ∉ U)/e_l(d_j) each.
    """
    used = components.sum(axis=1)
    cells = _compute_elementary_polynomials(groups, np.zeros_like(components[:1]), lengths[-1], +1)[
        0
    ]
    around = _compute_elementary_polynomials(groups, components, lengths[-1], -1)
    dimensions = product_over_groups(
        groups, components, lambda group, n: group.subsets(n) * (1 - 1 / group.size) ** n
    )
    rows = np.arange(len(components))
    return np.array(
        [
            np.where(used <= length, around[rows, np.maximum(length - used, 0)], 0.0)
            * (dimensions / cells[length])
            for length in lengths
        ]
    )


def _compute_elementary_polynomials(groups: Groups, without: Types, most: int, sign: int) -> Array:
    """Return elementary symmetric polynomials of d_j or 1/d_j.

    Row i leaves out as many attributes of each group as row i of `without` says.
    """
    values = np.eye(1, most + 1).repeat(len(without), axis=0)
    for group, taken in zip(groups, without.T, strict=True):
        powers = np.array(
            [
                [
                    math.comb(len(group.sizes) - n, k) * group.size ** (sign * k)
                    for k in range(most + 1)
                ]
                for n in range(taken.max(initial=0) + 1)
            ]
        )[taken]
        values = np.stack(
            [(values[:, : k + 1] * powers[:, k::-1]).sum(axis=1) for k in range(most + 1)], axis=1
        )
    return values


def smooth_largest_square(squares: Array) -> float:
    """Return a smooth approximation of the largest squared error, by a power mean."""
    largest = squares.max()
    if not largest > 0:
        return 0.0
    return float(largest * ((squares / largest) ** (EXPONENT / 2)).sum() ** (2 / EXPONENT))


def minimize_convex(loss: Callable[[Array], tuple[float, Array]], variables: int) -> Array:
    """Return the minimum of a convex function of positive variables, each of about 1."""
    options = {"maxcor": 30, "maxiter": 5_000, "maxfun": 10_000, "ftol": 1e-13, "gtol": 1e-9}
    result = scipy.optimize.minimize(
        loss,
        np.ones(variables),
        jac=True,
        method="L-BFGS-B",
        bounds=[(_MIN_VALUE, None)] * variables,
        options=options,
    )
    return np.asarray(result.x)


#: Largest number of vectors of a geometry, since decoding needs memory for each.
_MAX_VECTORS = 2**24

#: Limits of the number of views of one class. The smallest limit whose error is near the best is
#: used; the last one only if smaller limits leave some table without a view.
_CLASS_VIEWS = (2**10, 2**12, 2**14, MAX_VIEWS)

#: Accepted relative increase of the largest error for having fewer views.
_FEWER_VIEWS_TOLERANCE = 0.02

#: Largest optimization problem: types of sets, and entries of a matrix.
_MAX_TYPES = 2**14
_MAX_MATRIX_ENTRIES = 2**21

#: Largest number of pairs of tables that are united.
_MAX_UNIONS = 2**16

#: Largest number of cells of unions of smaller wanted tables, as a multiple of γ + 1. A report has
#: about the largest information for γ − 1 cells; larger views are useful only to join tables.
_UNION_CELLS = 4

#: Largest size of the views in a survey document, in bytes.
_MAX_DOCUMENT_BYTES = 40_000

#: Accepted relative increase of the largest error for rounding probabilities to integer weights.
_ROUNDING_TOLERANCE = 0.001


# A survey is planned many times before it is published.
@lru_cache(maxsize=64)
def choose_views(
    schema: Schema,
    gamma: Fraction,
    public: frozenset[str],
    importances: tuple[tuple[int, float], ...],
    prime: int,
    direct: int,
    pairs: int = 0,
) -> Chosen:
    """Return the views that minimize the largest error over tables of some lengths.

    The error of a length is the root mean square over the cells of all tables of that length, for
    uniform answers. Every set of attributes of these lengths will be in some view. The weights of
    the views are small integers; rounding increases the error by at most 0.1 %.

    Parameters
    ----------
    importances : tuple of (int, float)
        Lengths with the weights of their errors.
    prime, direct, pairs : int
        As for `response`.

    Raises
    ------
    ParameterError
        If all tables of the greatest length would need too many or too large views.
    """
    importance = dict(importances)
    respond = partial(response, gamma, prime=prime, direct=direct, pairs=pairs)
    groups = group_by_categories(schema, public)
    max_length = max(importance)
    largest = count_largest_table(schema, public, max_length)
    if largest <= MAX_CELLS:
        chosen = None
        while chosen is None:
            check_deadline()
            chosen = _choose_for_lengths(schema, groups, importance, respond)
            groups = merge_similar_groups(groups)
        if chosen.classes:
            return chosen
    raise ParameterError(
        f"max_length: tables of {max_length} attributes, of up to {largest} cells, need views that"
        f" are too many or too large; expected at most {MAX_VIEWS} views of at most {MAX_CELLS}"
        f" cells, whose geometry of prime {prime} has at most {_MAX_VECTORS} vectors; so less, or"
        " fewer attributes",
        field="max_length",
    )


def decodable_prime(gamma: Fraction, cells: int, usual: int) -> int:
    """Return the usual prime, or the nearest prime with a decodable geometry of so many cells.

    The usual prime is also returned if there are too many cells for every prime.
    """
    if _is_decodable(response(gamma, cells, usual, choose_direct(gamma, usual))):
        return usual
    # For larger primes, even a plane has too many vectors.
    primes = filter(is_prime, range(2, round(_MAX_VECTORS ** (1 / 3)) + 1))
    return min(
        (q for q in primes if _is_decodable(response(gamma, cells, q, direct=0))),
        key=lambda q: max(q / (gamma + 1), (gamma + 1) / q),
        default=usual,
    )


def count_largest_table(schema: Schema, public: Collection[str], max_length: int) -> int:
    """Return the number of cells of the largest table of attributes that are not public."""
    sizes = schema.shape if max_length == 1 else schema.group_shape
    free = [size for name, size in zip(schema.names, sizes, strict=True) if name not in public]
    return math.prod(sorted(free)[-max_length:])


def _is_decodable(answered: SubsetResponse) -> bool:
    return bool(answered.prime**answered.dimension <= _MAX_VECTORS)


# A survey is planned many times before it is published.
@lru_cache(maxsize=64)
def choose_views_for(
    schema: Schema,
    gamma: Fraction,
    demands: tuple[tuple[frozenset[int], float], ...],
    prime: int,
    direct: int,
    pairs: int = 0,
) -> Chosen:
    """Return the views that minimize the largest error over the wanted tables.

    The error of a table is the root mean square over its cells, for uniform answers, multiplied by
    its demand. Candidates are unions of wanted tables; attributes that all tables use in the same
    way get equal weights.

    Parameters
    ----------
    demands : tuple of (frozenset of int, float)
        As `wanted.demands` returns them.
    prime, direct, pairs : int
        As for `response`.

    Raises
    ------
    ParameterError
        If the wanted tables need too many or too large views.
    """
    respond = partial(response, gamma, prime=prime, direct=direct, pairs=pairs)
    groups = group_by_use(schema, dict(demands))
    group_of = {j: k for k, group in enumerate(groups) for j in group.positions}
    by_type: dict[tuple[int, ...], float] = {}
    for table, demand in demands:
        chosen = [group_of[j] for j in table]
        by_type[tuple(np.bincount(chosen, minlength=len(groups)).tolist())] = demand
    wanted: Types = np.array(list(by_type))
    largest = max(count_largest_cells(groups, wanted))
    if largest <= MAX_CELLS:
        # In the power mean over all tables, those of one type have equal errors.
        counts = product_over_groups(groups, wanted, Group.subsets)
        weights = np.array(list(by_type.values())) * counts ** (1 / EXPONENT)
        objective = _objective_of_tables(groups, wanted, weights)
        most = max(largest, math.ceil(_UNION_CELLS * (gamma + 1)))
        types = _unite(groups, wanted, len(objective.components), most)
        best = _choose_views(schema, groups, objective, types, respond)
        if best is not None and best.classes:
            return best
    raise ParameterError(
        f"tables: {len(demands)} tables, of up to {largest} cells, need views that are too many or"
        f" too large; expected at most {MAX_VIEWS} views of at most {MAX_CELLS} cells, whose"
        f" geometry of prime {prime} has at most {_MAX_VECTORS} vectors; so less or"
        " smaller tables",
        field="tables",
    )


@dataclass(frozen=True, eq=False)
class Objective:
    """Squared errors as functions of the information about components.

    Attributes
    ----------
    components : ndarray of int, shape (C, groups)
        Types of the components.
    within : tuple of int
        Groups of attributes whose differences within groups of answers are further components.
    coefficients : ndarray, shape (E, C + number of `within`)
        Coefficients of 1/J_U in each of E squared errors.
    """

    components: Types
    within: tuple[int, ...]
    coefficients: Array

    def dimensions(self, groups: Groups) -> Array:
        """Return the number of dimensions of the components of each type."""
        whole = product_over_groups(
            groups, self.components, lambda group, n: group.subsets(n) * (group.size - 1) ** n
        )
        inside = [len(groups[k].sizes) * (groups[k].detail - groups[k].size) for k in self.within]
        return np.append(whole, inside)


def _objective_of_tables(groups: Groups, wanted: Types, weights: Array) -> Objective:
    """Return the squared error of a table of each type, multiplied by its squared weight."""
    within = _collapsed(groups)
    rows: list[dict[tuple[int, ...], float]] = []
    added = np.zeros((len(wanted), len(within)))
    for row, (chosen, weight) in enumerate(zip(wanted.tolist(), weights, strict=True)):
        check_deadline()
        cells = math.prod(g.size**n for g, n in zip(groups, chosen, strict=True))
        if sum(chosen) == 1:
            group = groups[chosen.index(1)]
            cells = group.detail
            if group.collapsed:
                column = within.index(chosen.index(1))
                added[row, column] = (weight / cells) ** 2 * (group.detail - group.size)
        inside = itertools.product(*(range(n + 1) for n in chosen))
        rows.append(
            {
                part: (weight / cells) ** 2
                * math.prod(
                    math.comb(n, u) * (group.size - 1) ** u
                    for group, n, u in zip(groups, chosen, part, strict=True)
                )
                for part in inside
                if any(part)
            }
        )
    components = sorted({part for row in rows for part in row}, key=lambda part: (sum(part), part))
    coefficients = [[row.get(part, 0.0) for part in components] for row in rows]
    return Objective(np.array(components), within, np.hstack([coefficients, added]))


def _unite(groups: Groups, wanted: Types, components: int, most: int) -> Types:
    """Return the types of the unions of wanted tables with at most `most` cells.

    Unions are of so many tables that there are not too many types.
    """
    sizes = np.array([len(group.sizes) for group in groups])
    united = wanted
    while len(united) * len(wanted) <= _MAX_UNIONS:
        check_deadline()
        found = {tuple(row) for row in united.tolist()}
        for first, second in itertools.product(united, wanted):
            ranges = [
                range(low, high + 1)
                for low, high in zip(
                    np.maximum(first, second), np.minimum(first + second, sizes), strict=True
                )
            ]
            found.update(itertools.product(*ranges))
        more = np.array(sorted(found))
        cells = np.array(count_largest_cells(groups, more))
        more = more[cells <= most]
        if len(more) == len(united) or len(more) * components > _MAX_MATRIX_ENTRIES:
            break
        united = more
    return united


def _choose_for_lengths(
    schema: Schema, groups: Groups, importance: Mapping[int, float], respond: Respond
) -> Chosen | None:
    """Return the views for these groups; none for too many views, None for too many groups."""
    lengths = sorted(importance)
    # With at least two categories each, more attributes than this have more than MAX_CELLS cells.
    types = enumerate_types(groups, MAX_CELLS.bit_length() - 1, _MAX_TYPES * len(groups))
    components = enumerate_types(groups, lengths[-1], _MAX_TYPES * len(groups))
    if types is None or components is None:
        return None
    objective = objective_of_lengths(groups, components, lengths)
    weights = np.array([[importance[length] ** 2] for length in lengths])
    objective = replace(objective, coefficients=objective.coefficients * weights)
    return _choose_views(schema, groups, objective, types, respond, coarsest=len(groups) == 1)


def _choose_views(
    schema: Schema,
    groups: Groups,
    objective: Objective,
    types: Types,
    respond: Respond,
    *,
    coarsest: bool = True,
) -> Chosen | None:
    """Return the best views of some types; none for too many views.

    None if there are too many groups, which can be merged unless they are the `coarsest`.
    """
    components, coefficients = objective.components, objective.coefficients
    candidates: list[tuple[float, Chosen]] = []
    before = 0
    for most in _CLASS_VIEWS:
        check_deadline()
        views = _keep_feasible(groups, types, most, respond)
        if len(views) == before:
            continue
        before = len(views)
        if len(components) * len(views) > _MAX_MATRIX_ENTRIES and not coarsest:
            return None
        unit_information, most_told = _compute_unit_information(groups, objective, views, respond)
        if (candidates and most == MAX_VIEWS) or not unit_information.any(axis=1).all():
            continue
        numbers = product_over_groups(groups, views, Group.subsets)
        weights, square = _round_to_weights(
            coefficients,
            unit_information,
            numbers,
            _optimize_chances(coefficients, unit_information),
        )
        drawn = weights > 0
        symbols = numbers * [respond(n).symbols for n in count_largest_cells(groups, views)]
        if numbers[drawn].sum() > MAX_VIEWS or symbols[drawn].sum() > MAX_SYMBOLS:
            continue
        chosen = zip(views[drawn].tolist(), weights[drawn].tolist(), strict=True)
        classes = tuple(_make_view_class(schema, groups, *each) for each in chosen)
        if len(msgspec.json.encode(classes)) > _MAX_DOCUMENT_BYTES and not coarsest:
            return None
        candidates.append((math.sqrt(square), Chosen(classes, square / most_told)))
    least = min((error for error, _ in candidates), default=0.0)
    return next(
        (each for error, each in candidates if error <= (1 + _FEWER_VIEWS_TOLERANCE) * least),
        Chosen((), 0.0),
    )


def _keep_feasible(groups: Groups, types: Types, most: int, respond: Respond) -> Types:
    """Return the types whose views are neither too many nor too large."""
    sizes = count_largest_cells(groups, types)
    small = np.array([n <= MAX_CELLS and _is_decodable(respond(n)) for n in sizes])
    return types[small & (product_over_groups(groups, types, Group.subsets) <= most)]


def _compute_unit_information(
    groups: Groups, objective: Objective, views: Types, respond: Respond
) -> tuple[Array, float]:
    """Return the information about each component in a report about a random view of each type.

    Shape (components, types of views), relative to the most informative view, whose information is
    also returned.
    """
    components = objective.components
    cells = product_over_groups(groups, views, lambda group, n: group.size**n)
    alone = views.sum(axis=1) == 1
    cells[alone] = [groups[k].detail for k in views[alone].argmax(axis=1)]
    absolute = [respond(round(n)).information for n in cells.tolist()]
    most = max(absolute)
    relative = np.array([float(each / most) for each in absolute])
    information = np.tile(relative / cells, (len(components), 1))
    for group, within, chosen in zip(groups, components.T, views.T, strict=True):
        size = len(group.sizes)
        share = [
            [
                math.comb(size - u, v - u) / group.subsets(v) if u <= v else 0.0
                for v in range(chosen.max(initial=0) + 1)
            ]
            for u in range(within.max() + 1)
        ]
        information *= np.array(share)[within[:, np.newaxis], chosen]
    inside = np.zeros((len(objective.within), len(views)))
    for row, k in enumerate(objective.within):
        own = alone & (views[:, k] == 1)
        inside[row, own] = relative[own] / cells[own] / len(groups[k].sizes)
    return np.vstack([information, inside]), float(most)


def _optimize_chances(coefficients: Array, unit_information: Array) -> Array:
    """Return the probabilities of the types of views that minimize the largest error.

    The error is homogeneous in the probabilities. So their sum is added to the objective instead of
    being constrained, and the result is normalized. The coefficients have the shape (lengths,
    components), the information (components, views).
    """
    views = unit_information.shape[1]
    even = unit_information.mean(axis=1)
    unit = smooth_largest_square(coefficients @ (1 / even))

    def objective(chances: Array) -> tuple[float, Array]:
        information = unit_information @ chances / views
        squares = coefficients @ (1 / information) / unit
        largest = smooth_largest_square(squares)
        gradient = (squares / largest) ** (EXPONENT / 2 - 1) @ coefficients / unit
        return largest + chances.mean(), (
            1 - (gradient / information**2) @ unit_information
        ) / views

    chances = minimize_convex(objective, views)
    return np.asarray(chances / chances.sum())


def _round_to_weights(
    coefficients: Array, unit_information: Array, numbers: Array, chances: Array
) -> tuple[Types, float]:
    """Round the probabilities of the types to small integer weights of single views.

    Small probabilities become 0, unless some table would be left without a view. Returns the
    weights and the largest squared error.
    """
    allowed = (1 + _ROUNDING_TOLERANCE) ** 2 * smooth_largest_square(
        coefficients @ (1 / (unit_information @ chances))
    )
    single = chances / numbers
    highest = 1
    while True:
        check_deadline()
        weights = np.rint(single / single.max() * highest)
        drawn = weights * numbers
        information = unit_information @ (drawn / drawn.sum())
        if information.all():
            square = smooth_largest_square(coefficients @ (1 / information))
            if square <= allowed:
                return weights.astype(np.int64), square
        highest += 1 + highest // 32


def _make_view_class(
    schema: Schema, groups: Groups, chosen: Sequence[int], weight: int
) -> ViewClass:
    taken = [(group.positions, n) for group, n in zip(groups, chosen, strict=True) if n]
    if all(len(positions) == n for positions, n in taken):
        positions = sorted(j for positions, _ in taken for j in positions)
        return ViewClass(attributes=(tuple(schema.names[j] for j in positions),), weight=weight)
    return ViewClass(
        attributes=tuple(tuple(schema.names[j] for j in positions) for positions, _ in taken),
        choose=tuple(n for _, n in taken),
        weight=weight,
    )
