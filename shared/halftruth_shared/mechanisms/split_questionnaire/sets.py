"""Views of questions that are perturbed as one set, and their weights beside those of other views.

A share of few people has the variance c/κ² of one report, with c and κ = (γ − 1)c of the response.
So the weights have a closed form: every wanted table gets the same product of its demand and its
error, which is also the largest such product of the other views.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, prod

import msgspec

from ...errors import ParameterError, listing
from ...rational import as_float
from ...schema import Schema
from .views import ViewClass, set_response

#: Least total weight of all views, so that rounding changes no probability much.
_RESOLUTION = 1_000


@dataclass(frozen=True)
class SetView:
    """A wanted view of a set: of its options or pairs of them, by the groups at some positions."""

    name: str
    pairs: bool
    groups: tuple[int, ...]

    def variance(self, schema: Schema, gamma: Fraction) -> float:
        """Return the variance of the share of a unit in a group of one report, if it is near 0."""
        cells = prod(schema.group_shape[j] for j in self.groups)
        response = set_response(schema, self.name, gamma, cells, self.pairs)
        return as_float(1 / (response.share * (gamma - 1) ** 2))


def views_of_lengths(
    schema: Schema, public: Collection[str], importance: Mapping[int, float]
) -> dict[SetView, float]:
    """Return the demands of the views of sets, for tables of one and two attributes.

    These are options, pairs of options of one set, and options by each other attribute.
    """
    others = [
        j for j, name in enumerate(schema.names) if j not in schema.set_of and name not in public
    ]
    found: dict[SetView, float] = {}
    for name in schema.sets:
        if 1 in importance:
            found[SetView(name, False, ())] = importance[1]
        if 2 in importance:
            if schema.at_most(name) > 1:
                found[SetView(name, True, ())] = importance[2]
            found |= dict.fromkeys((SetView(name, False, (j,)) for j in others), importance[2])
    return found


def views_of_tables(
    schema: Schema, demands: Iterable[tuple[frozenset[int], float]]
) -> dict[SetView, float]:
    """Return the demands of the views of sets for wanted tables, as `wanted.demands` returns them.

    Raises
    ------
    ParameterError
        If a table has options of two sets, or more than two options of one.
    """
    found: dict[SetView, float] = {}
    for table, demand in demands:
        options = sorted(schema.set_of.keys() & table)
        if not options:
            continue
        names = list(dict.fromkeys(schema.set_of[j] for j in options))
        if len(names) > 1:
            raise ParameterError(
                f"tables: {listing(names)} are perturbed as one set each (at_most), and no report"
                " is about two of them; expected tables with one of them",
                field="tables",
            )
        if len(options) > 2 or (len(options) == 2 and schema.at_most(names[0]) < 2):
            raise ParameterError(
                f"tables: {len(options)} options of '{names[0]}' together; expected"
                f" {min(2, schema.at_most(names[0]))} at most",
                field="tables",
            )
        view = SetView(names[0], len(options) == 2, tuple(sorted(table - {*options})))
        found[view] = max(demand, found.get(view, 0.0))
    return found


def add_views(
    schema: Schema,
    gamma: Fraction,
    demands: Mapping[SetView, float],
    others: Sequence[ViewClass],
    square: float,
) -> tuple[ViewClass, ...]:
    """Return the views of sets together with other views.

    Parameters
    ----------
    others : sequence of ViewClass
        Views of other questions.
    square : float
        Square of their largest product of demand and error, for one report about them.
    """
    needed: dict[SetView, float] = {}
    # Views of options by groups tell of the options alone as well.
    for view in sorted(demands, key=lambda view: -len(view.groups)):
        cells = prod(schema.group_shape[j] for j in view.groups)
        told = sum(
            chance * cells * _told(schema, gamma, other)
            for other, chance in needed.items()
            if (other.name, other.pairs) == (view.name, view.pairs)
            and {*other.groups} > {*view.groups}
        )
        needed[view] = max(demands[view] ** 2 - told, 0.0) * view.variance(schema, gamma)
    total = sum(each.number * each.weight for each in others)
    scale = max(1, ceil(_RESOLUTION / total)) if total else 1
    # Without other views, only the ratios of weights matter.
    unit = scale * total / square if total else _RESOLUTION / sum(needed.values())
    classes = [msgspec.structs.replace(each, weight=each.weight * scale) for each in others]
    for view in sorted(demands, key=lambda view: (schema.sets[view.name], view.pairs, view.groups)):
        if needed[view] > 0:
            names = (view.name, *(schema.names[j] for j in view.groups))
            weight = max(1, round(needed[view] * unit))
            classes.append(ViewClass(attributes=(names,), weight=weight, pairs=view.pairs))
    return tuple(classes)


def _told(schema: Schema, gamma: Fraction, view: SetView) -> float:
    """Return what a report of a view tells of the shares of all people, as 1/variance."""
    cells = prod(schema.group_shape[j] for j in view.groups)
    return 1 / (view.variance(schema, gamma) * cells)
