"""Views: the groups of questions that are drawn, with their weights."""

from collections.abc import Collection, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import chain, combinations, product
from math import comb, prod

import msgspec

from ...deadlines import check_deadline
from ...errors import ParameterError, SchemaError, listing
from ...schema import Schema
from ...set_responses import SetResponse
from ...subset_responses import MAX_CELLS, SubsetResponse, response
from ..base import View

#: Largest number of views of a survey.
MAX_VIEWS = 2**17

#: Largest number of symbols of all views of a survey, so that a report takes four bytes.
MAX_SYMBOLS = 2**32 - 1

#: Largest weight of a view.
MAX_WEIGHT = 2**32 - 1


class ViewClass(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """Views of equal weight: all choices of ``choose[k]`` attributes from the k-th group.

    Without ``choose`` it is one view of all attributes. A question that is perturbed as one set is
    named instead of its options; a report is then about one of its options or, with ``pairs``,
    about one pair of them.
    """

    attributes: tuple[tuple[str, ...], ...]
    choose: tuple[int, ...] | None = None
    weight: int
    pairs: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all attributes of the class."""
        return tuple(chain(*self.attributes))

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of attributes of each group in a view."""
        return tuple(map(len, self.attributes)) if self.choose is None else self.choose

    @property
    def number(self) -> int:
        """Number of views."""
        return prod(map(comb, map(len, self.attributes), self.sizes))


#: Groups of attributes of a class, the number of each group in a view, the weight of a view, and
#: whether a view of a set is about pairs of options.
_Class = tuple[tuple[tuple[str, ...], ...], tuple[int, ...], int, bool]


def enumerate_views(
    schema: Schema,
    classes: Sequence[ViewClass],
    gamma: Fraction,
    prime: int,
    direct: int,
    pairs: int = 0,
) -> tuple[View, ...]:
    """Return all views, class by class.

    Within a class, the subset of the last group changes fastest. The subsets of a group are in
    lexicographic order of their positions in the schema. Raises ParameterError if a view has too
    many cells, or all views together have too many symbols.
    """
    # Callers may name attributes in lists, which are no keys.
    keys = tuple(
        (tuple(map(tuple, each.attributes)), tuple(each.sizes), each.weight, each.pairs)
        for each in classes
    )
    return _enumerate_views(schema, keys, gamma, prime, direct, pairs)


# A design is looked at, and then bound; it may be one of two, without and with pairs.
@lru_cache(maxsize=2)
def _enumerate_views(
    schema: Schema,
    classes: tuple[_Class, ...],
    gamma: Fraction,
    prime: int,
    direct: int,
    pairs: int,
) -> tuple[View, ...]:
    views: list[View] = []
    first, responses = 0, dict[tuple[int, str, bool], SubsetResponse | SetResponse]()
    collapsed = frozenset(
        j for j, attribute in enumerate(schema.attributes) if attribute.collapsed is not None
    )
    for positions, weight, by_pairs in _enumerate_subsets(schema, classes):
        name = _set_among(schema, positions)
        options = schema.sets[name] if name else ()
        shape = schema.view_shape(positions)
        cells = prod(size for j, size in zip(positions, shape, strict=True) if j not in options)
        if cells > MAX_CELLS:
            names = listing([schema.names[j] for j in positions])
            raise ParameterError(
                f"views: one of {cells} cells ({names}); expected at most {MAX_CELLS}",
                field="views",
            )
        kind = cells, name, by_pairs
        if kind not in responses:
            responses[kind] = (
                set_response(schema, name, gamma, cells, by_pairs)
                if name
                else response(gamma, cells, prime, direct, pairs)
            )
        answered = responses[kind]
        groups = collapsed.intersection(positions) if len(positions) > 1 else frozenset[int]()
        views.append(View(positions, shape, weight, answered, first, groups, options))
        first += answered.symbols
    if first > MAX_SYMBOLS:
        raise ParameterError(
            f"views: {first} symbols; expected at most {MAX_SYMBOLS}, so fewer or smaller views,"
            " or a smaller prime",
            field="views",
        )
    return tuple(views)


def set_response(
    schema: Schema, name: str, gamma: Fraction, groups: int = 1, pairs: bool = False
) -> SetResponse:
    """Return the response to a question that is perturbed as one set."""
    options = schema.sets[name]
    missing = len(schema.attributes[options[0]].missing)
    return SetResponse(gamma, len(options), schema.at_most(name), missing, groups, pairs)


def _set_among(schema: Schema, positions: Sequence[int]) -> str:
    """Return the name of the set that a view asks; empty without one."""
    names = list(dict.fromkeys(schema.set_of[j] for j in positions if j in schema.set_of))
    if len(names) > 1:
        raise ParameterError(
            f"views: {listing(names)} are perturbed as one set each (at_most); expected one of"
            " them at most in a view",
            field="views",
        )
    return names[0] if names else ""


def check_sets(schema: Schema, public: Collection[str]) -> None:
    """Raise ParameterError if a question cannot be perturbed as one set."""
    for name, positions in schema.sets.items():
        if schema.at_most(name) > len(positions):
            raise ParameterError(
                f"attribute '{name}': at_most: expected from 1 to {len(positions)}, the number of"
                " options",
                field="at_most",
            )
        if not {schema.names[j] for j in positions}.isdisjoint(public):
            raise ParameterError(
                f"public: options of '{name}', which is perturbed as one set (at_most); expected"
                " other attributes",
                field="public",
            )


def check_set_views(schema: Schema, views: Sequence[View]) -> None:
    """Raise ParameterError unless there are views of options for all views of pairs of options."""
    of_sets = [view for view in views if isinstance(view.response, SetResponse)]
    for view in of_sets:
        if not isinstance(view.response, SetResponse) or not view.response.pairs:
            continue
        name = schema.set_of[view.options[0]]
        if view.response.most < 1:
            raise ParameterError(
                f"views: pairs: '{name}' has at_most = 1; expected 2 or more, or no pairs",
                field="views",
            )
        if not any(
            isinstance(each.response, SetResponse)
            and not each.response.pairs
            and {*each.positions} >= {*view.positions}
            for each in of_sets
        ):
            named = listing([name, *(schema.names[j] for j in view.others)])
            raise ParameterError(
                f"views: pairs of the options of {named} without the options themselves; expected"
                " a view of these as well",
                field="views",
            )


def check_views(schema: Schema, classes: Sequence[ViewClass], public: Collection[str]) -> None:
    """Raise ParameterError unless the views cover exactly the attributes that are not public."""
    for views in classes:
        for group in (*views.attributes, views.names):
            _resolve_units(schema, group)
        if views.pairs and not any(name in schema.sets for name in views.names):
            raise ParameterError(
                "views: pairs: expected with a question that is perturbed as one set (at_most)",
                field="views",
            )
        for name in views.names:
            if name in public:
                raise ParameterError(
                    f"views: '{name}' is public; expected attributes that are not", field="views"
                )
        _check_numbers(views)
    in_views = set(chain(*(views.names for views in classes)))
    for name in (schema.set_of.get(j, name) for j, name in enumerate(schema.names)):
        if name not in in_views and name not in public:
            raise ParameterError(
                f"views: '{name}' is in none; expected every attribute that is not public",
                field="views",
            )
    count = sum(views.number for views in classes)
    if not 1 <= count <= MAX_VIEWS:
        raise ParameterError(f"views: expected 1 to {MAX_VIEWS}, got {count}", field="views")


def _check_numbers(views: ViewClass) -> None:
    if len(views.sizes) != len(views.attributes) or not all(
        1 <= size <= len(group) for size, group in zip(views.sizes, views.attributes, strict=True)
    ):
        raise ParameterError(
            "views: choose: expected for each group of attributes a number from 1 to as many as"
            " it has",
            field="views",
        )
    if type(views.weight) is not int or not 1 <= views.weight <= MAX_WEIGHT:
        raise ParameterError(
            f"views: weight: expected an integer from 1 to {MAX_WEIGHT}", field="views"
        )


def check_unperturbed(schema: Schema, public: Sequence[str]) -> None:
    """Raise ParameterError if attributes must not be sent unperturbed.

    These are sensitive attributes, attributes with collapsed answers, and all attributes together.
    """
    for j in resolve_positions(schema, public, "public") if public else ():
        if schema.attributes[j].collapsed is not None:
            raise ParameterError(
                f"attribute '{schema.names[j]}': collapsed: public attributes are sent in detail;"
                " expected only of attributes that are not public",
                field="collapsed",
            )
        if schema.attributes[j].sensitive:
            raise ParameterError(
                f"public: '{schema.names[j]}' would be sent unperturbed; expected attributes with"
                " sensitive = false",
                field="public",
            )
    if len(public) == len(schema.names):
        raise ParameterError("public: expected at least one attribute that is not", field="public")


def resolve_positions(schema: Schema, names: Sequence[str], field: str) -> tuple[int, ...]:
    """Return the positions of attributes; ParameterError if a name is unknown or repeated."""
    try:
        return schema.positions(names, field)
    except SchemaError as error:
        raise ParameterError(str(error), field=field) from None


def _resolve_units(schema: Schema, names: Sequence[str]) -> list[int]:
    """Return the positions of attributes and sets in increasing order; a set has that of its first.

    Raises ParameterError if a name is unknown or repeated, or that of an option of a set.
    """
    known = [schema.names[schema.sets[name][0]] if name in schema.sets else name for name in names]
    positions = resolve_positions(schema, known, "views")
    for name, j in zip(names, positions, strict=True):
        if j in schema.set_of and name not in schema.sets:
            raise ParameterError(
                f"views: '{name}' is an option of '{schema.set_of[j]}', which is perturbed as one"
                " set (at_most); expected its name",
                field="views",
            )
    return sorted(positions)


def _enumerate_subsets(
    schema: Schema, classes: Sequence[_Class]
) -> Iterator[tuple[tuple[int, ...], int, bool]]:
    for attributes, sizes, weight, pairs in classes:
        groups = [_resolve_units(schema, group) for group in attributes]
        for chosen in product(*map(combinations, groups, sizes)):
            check_deadline()
            asked = chain(*chosen)
            positions = [
                schema.sets[schema.set_of[j]] if j in schema.set_of else (j,) for j in asked
            ]
            has_set = not schema.set_of.keys().isdisjoint(chain(*positions))
            yield tuple(sorted(chain(*positions))), weight, pairs and has_set
