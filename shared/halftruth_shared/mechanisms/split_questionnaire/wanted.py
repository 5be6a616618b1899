"""Wanted tables: what will be asked of the results, for which the views are chosen."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from itertools import combinations, product
from math import isfinite, prod, sqrt

import msgspec

from ...errors import ParameterError, listing
from ...rational import as_float, format_rational, parse_rational
from ...schema import Schema
from ...set_responses import SetResponse
from ..base import View

#: Largest number of wanted tables of a survey.
MAX_TABLES = 2_000

#: Demand of an attribute alone. Of twelve questions with twelve tables, it lowers the largest error
#: of a question alone by a quarter, and raises those of shares within groups by a twentieth.
ALONE = 1.4


class WantedTables(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """Tables of some outcomes: each of them by each group, or else all pairs of them.

    Attributes
    ----------
    of : tuple of str
        Outcomes: attributes, or questions with several answers, which stand for their options.
        A single one without groups is wanted by itself.
    by : tuple of str or tuple of str, optional
        Groups of people: attributes, or lists of attributes whose combinations are the groups.
    pairs : bool
        Whether pairs of options of each question in `of` that is perturbed as one set are wanted,
        too, alone and by each group.
    importance : str, int, float or Fraction, optional
        Weight of the errors of these tables, 1 by default. It is kept as text, since a published
        survey has no numbers that programs could write differently.

    Raises
    ------
    ParameterError
        If the importance is not a number above 0.
    """

    of: tuple[str, ...]
    by: tuple[str | tuple[str, ...], ...] | None = None
    importance: str | int | float | None = None
    pairs: bool = False

    def __post_init__(self) -> None:
        field = "tables.importance"
        given = 1 if self.importance is None else self.importance
        if isinstance(given, float) and isfinite(given):
            given = f"{Decimal(str(given)):f}"
        exact = Fraction(0)
        with suppress(ParameterError):
            exact = parse_rational(given, field)
        if exact <= 0:
            raise ParameterError("tables: importance: expected a number above 0", field=field)
        written = None if exact == 1 else format_rational(exact, field)
        msgspec.structs.force_setattr(self, "importance", written)

    @property
    def weight(self) -> float:
        """Importance as a number."""
        return as_float(Fraction(self.importance or 1))


def enumerate_tables(schema: Schema, wanted: WantedTables) -> Iterator[tuple[str, ...]]:
    """Yield the attributes of each table, the outcome or both options of a pair first.

    Raises
    ------
    ParameterError
        If a name is unknown or repeated, or if a question is wanted by itself.
    """
    outcomes = [_attributes(schema, name, "of") for name in wanted.of]
    if len(set(wanted.of)) < len(wanted.of):
        raise ParameterError("tables: of: expected each question once", field="tables.of")
    if wanted.pairs and not any(name in schema.sets for name in wanted.of):
        raise ParameterError(
            "tables: pairs: expected with a question that is perturbed as one set (at_most)",
            field="tables.pairs",
        )
    pairs = {
        name: [*combinations(options, 2)]
        for name, options in zip(wanted.of, outcomes, strict=True)
        if wanted.pairs and name in schema.sets
    }
    for each in pairs.values():
        yield from each
    if not wanted.by:
        if len(outcomes) == 1:
            yield from ((name,) for name in outcomes[0])
        for first, second in combinations(outcomes, 2):
            yield from product(first, second)
        return
    for group in wanted.by:
        names = (group,) if isinstance(group, str) else group
        if len({*names}) < max(1, len(names)):
            raise ParameterError(
                "tables: by: expected questions, or lists of different questions",
                field="tables.by",
            )
        for outcome, asked in zip(outcomes, wanted.of, strict=True):
            if asked in names:
                raise ParameterError(
                    f"tables: by: '{asked}' is also in of; expected other questions",
                    field="tables.by",
                )
            groups = [*product(*(_attributes(schema, name, "by") for name in names))]
            for first in (*((option,) for option in outcome), *pairs.get(asked, ())):
                yield from ((*first, *rest) for rest in groups)


def _attributes(schema: Schema, name: str, field: str) -> list[str]:
    options = schema.options.get(name)
    if options:
        return [option.name for option in options]
    if name not in schema.names:
        known = listing([*schema.options, *schema.names])
        raise ParameterError(
            f"tables: {field}: unknown question '{name}'; the survey has: {known}",
            field=f"tables.{field}",
        )
    return [name]


def demands(
    schema: Schema, wanted: Sequence[WantedTables], public: Collection[str]
) -> tuple[tuple[frozenset[int], float], ...]:
    """Return the demand of each wanted table, by the positions of its perturbed attributes.

    The views are chosen so that the largest product of demand and typical error of a cell is as
    small as possible. For an outcome by groups, the product is the typical error of the share of
    an answer within a group: the error of a cell times the number of groups. Without `by`, either
    of two outcomes can be the group. Public attributes split the reports, without views of them.
    Every attribute alone is wanted, with the demand `ALONE` times its importance, 1 unless it is
    named alone.

    Raises
    ------
    ParameterError
        If a name is unknown, or the tables are too many.
    """
    together = schema.group_shape
    alone = {j for j, name in enumerate(schema.names) if name not in public}
    found = {frozenset([j]): ALONE for j in alone}
    named: dict[frozenset[int], float] = {}
    count = 0
    for each in wanted:
        for names in enumerate_tables(schema, each):
            count += 1
            if count > MAX_TABLES:
                raise ParameterError(
                    f"tables: expected at most {MAX_TABLES} tables", field="tables"
                )
            positions = schema.positions(names)
            sizes = [together[j] for j in positions]
            # Both options of a pair are the outcome.
            sets = [schema.set_of.get(j) for j in positions[:2]]
            is_pair = len(sets) == 2 and sets[0] is not None and sets[0] == sets[1]
            groups = prod(sizes[1 + is_pair :]) if each.by or is_pair else max(sizes)
            perturbed = frozenset(alone.intersection(positions))
            if not perturbed:
                continue
            if len(names) == 1:
                named[perturbed] = max(ALONE * each.weight, named.get(perturbed, 0.0))
                continue
            known = prod(size for j, size in zip(positions, sizes, strict=True) if j not in alone)
            demand = each.weight * groups / sqrt(known)
            found[perturbed] = max(demand, found.get(perturbed, 0.0))
    # An importance of a question alone replaces the usual one, but not those of its tables with
    # public attributes.
    found.update((table, value) for table, value in named.items() if found[table] <= ALONE)
    return tuple(sorted(found.items(), key=lambda item: (len(item[0]), sorted(item[0]))))


def _is_of_pairs(view: View) -> bool:
    return isinstance(view.response, SetResponse) and view.response.pairs


def check_wanted(
    schema: Schema, wanted: Sequence[WantedTables], public: Collection[str], views: Sequence[View]
) -> None:
    """Raise ParameterError unless some view has each of the wanted tables."""
    if not wanted:
        return
    about: dict[int, set[int]] = {j: set() for j in range(len(schema.names))}
    for number, view in enumerate(views):
        for j in view.positions:
            about[j].add(number)
    by_pairs = {number for number, view in enumerate(views) if _is_of_pairs(view)}
    for table, _ in demands(schema, wanted, public):
        asked = set.intersection(*(about[j] for j in table))
        options = len(schema.set_of.keys() & table)
        if options:
            asked = asked & by_pairs if options == 2 else asked - by_pairs
        if not asked or options > 2:
            names = listing([schema.names[j] for j in sorted(table)])
            raise ParameterError(
                f"tables: no view asks {names} together; expected views of all wanted tables",
                field="tables",
            )
