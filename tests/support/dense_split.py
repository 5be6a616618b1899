"""A split questionnaire as a dense matrix of fractions, computed from its definition."""

from fractions import Fraction
from itertools import chain, combinations, count, product
from math import prod
from types import MappingProxyType


def points(prime, dimension):
    """Return vectors whose first non-zero entry is 1, ordered by its position, then by value."""
    every = [v for v in product(range(prime), repeat=dimension) if next(filter(None, v), 0) == 1]
    return sorted(every, key=lambda v: (v.index(1), v))


def orthogonal(u, y, prime):
    """Whether two vectors are orthogonal modulo a prime."""
    return sum(a * b for a, b in zip(u, y, strict=True)) % prime == 0


def placement(cells, symbols):
    """Return the point index of each cell: cubes modulo `ring`, repeated if out of range."""
    ring = next(
        m
        for m in count(max(symbols, 5))
        if m % 3 == 2 and all(m % divisor for divisor in range(2, m))
    )

    def cubed(value):
        return (value + ring // 3) ** 3 % ring

    found = []
    for cell in range(cells):
        point = cubed(cell)
        while point >= symbols:
            point = cubed(point)
        found.append(point)
    return found


def belongs(cells, prime, direct, pairs=0):
    """Whether each symbol (row) belongs to each cell (column)."""
    if cells <= direct:
        return [[y == u for u in range(cells)] for y in range(cells)]
    if cells <= pairs:
        return [[u in (a, b) for u in range(cells)] for b in range(cells) for a in range(b)]
    dimension = next(t for t in count(3) if len(points(prime, t)) >= cells)
    every = points(prime, dimension)
    placed = [every[i] for i in placement(cells, len(every))]
    return [[orthogonal(u, y, prime) for u in placed] for y in every]


def views(shape, classes):
    """Return weight and attributes of each view; classes are (groups, choose, weight)."""
    return [
        (weight, tuple(sorted(chain(*chosen))))
        for groups, choose, weight in classes
        for chosen in product(
            *(combinations(sorted(g), k) for g, k in zip(groups, choose, strict=True))
        )
    ]


def view_matrix(shape, positions, gamma, prime, direct, groups=MappingProxyType({}), pairs=0):
    """Return P(symbol | record) of one view; columns are the records in row-major order."""
    each = {j: list(range(shape[j])) for j in positions}
    if len(positions) > 1:
        # Of several questions, a report has the groups of collapsed answers.
        each |= {j: groups[j] for j in positions if j in groups}
    own_cells = list(product(*(sorted(set(each[j])) for j in positions)))
    rows = belongs(len(own_cells), prime, direct, pairs)
    total = [sum(gamma if row[u] else 1 for row in rows) for u in range(len(own_cells))]
    cell_of = [
        own_cells.index(tuple(each[j][record[j]] for j in positions))
        for record in product(*map(range, shape))
    ]
    return [[(gamma if row[u] else Fraction(1)) / total[u] for u in cell_of] for row in rows]


def padded_set(codes, at_most, missing, pairs):
    """Return the units of an answer to a set, with as many dummies as are wanting.

    Codes of options are 0, 1 and those of missing categories. Units are options, pairs of them, and
    missing categories; a dummy is a negative number, −1 first. None if there is no such answer.
    """
    chosen = [option for option, code in enumerate(codes) if code == 1]
    absent = {code for code in codes if code > 1}
    if len(chosen) > at_most or (absent and len(set(codes)) > 1):
        return None
    if pairs:
        units, most = list(combinations(chosen, 2)), at_most * (at_most - 1) // 2
    else:
        units, most = [*chosen, *(("missing", code - 2) for code in absent)], at_most
    return {*units, *range(-1, -1 - (most - len(units)), -1)}


def set_matrix(shape, others, gamma, options, at_most, missing, pairs, groups=MappingProxyType({})):
    """Return P(symbol | record) of a view of a set and other questions; 1/symbols if impossible."""
    count_of = len(options)
    if pairs:
        units = [(a, b) for b in range(count_of) for a in range(b)]
        most = at_most * (at_most - 1) // 2
    else:
        units = [*range(count_of), *(("missing", code) for code in range(missing))]
        most = at_most
    units += range(-1, -1 - most, -1)
    each = {j: groups.get(j, list(range(shape[j]))) for j in others}
    cells = list(product(*(sorted(set(each[j])) for j in others)))
    columns = []
    for record in product(*map(range, shape)):
        own = padded_set([record[j] for j in options], at_most, missing, pairs)
        cell = tuple(each[j][record[j]] for j in others)
        if own is None:
            columns.append([Fraction(1, len(cells) * len(units))] * (len(cells) * len(units)))
            continue
        likely = [gamma if c == cell and u in own else Fraction(1) for c in cells for u in units]
        columns.append([weight / sum(likely) for weight in likely])
    return [list(row) for row in zip(*columns, strict=True)]


def matrix(shape, public, gamma, prime, direct, classes, groups=MappingProxyType({}), pairs=0):
    """Return P(report | record) by report, for each record in row-major order.

    `groups` has for the positions of collapsed attributes the group of each answer.
    """
    drawn = views(shape, classes)
    weights = sum(weight for weight, _ in drawn)
    records = list(product(*map(range, shape)))
    rows, first = {}, 0
    for weight, positions in drawn:
        part = view_matrix(shape, positions, gamma, prime, direct, groups, pairs)
        for y, row in enumerate(part):
            for answers in product(*(range(shape[j]) for j in sorted(public))):
                rows[(*answers, first + y)] = [
                    p * Fraction(weight, weights)
                    if tuple(record[j] for j in sorted(public)) == answers
                    else Fraction(0)
                    for record, p in zip(records, row, strict=True)
                ]
        first += len(part)
    assert len(rows) == first * prod(shape[j] for j in public)
    return rows
