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

    Without ``choose`` it is one view of all attributes.
    """

    attributes: tuple[tuple[str, ...], ...]
    choose: tuple[int, ...] | None = None
    weight: int

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all attributes of the class."""
        return tuple(chain(*self.attributes))

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of attributes of each group in a view."""
        return tuple(map(len, self.attributes)) if self.choose is None else self.choose


#: Groups of attributes of a class, the number of each group in a view, and the weight of a view.
_Class = tuple[tuple[tuple[str, ...], ...], tuple[int, ...], int]


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
        (tuple(map(tuple, each.attributes)), tuple(each.sizes), each.weight) for each in classes
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
    first, responses = 0, dict[int, SubsetResponse]()
    collapsed = frozenset(
        j for j, attribute in enumerate(schema.attributes) if attribute.collapsed is not None
    )
    for positions, weight in _enumerate_subsets(schema, classes):
        shape = schema.view_shape(positions)
        cells = prod(shape)
        if cells > MAX_CELLS:
            names = listing([schema.names[j] for j in positions])
            raise ParameterError(
                f"views: one of {cells} cells ({names}); expected at most {MAX_CELLS}",
                field="views",
            )
        if cells not in responses:
            responses[cells] = response(gamma, cells, prime, direct, pairs)
        answered = responses[cells]
        groups = collapsed.intersection(positions) if len(positions) > 1 else frozenset[int]()
        views.append(View(positions, shape, weight, answered, first, groups))
        first += answered.symbols
    if first > MAX_SYMBOLS:
        raise ParameterError(
            f"views: {first} symbols; expected at most {MAX_SYMBOLS}, so fewer or smaller views,"
            " or a smaller prime",
            field="views",
        )
    return tuple(views)


def check_views(schema: Schema, classes: Sequence[ViewClass], public: Collection[str]) -> None:
    """Raise ParameterError unless the views cover exactly the attributes that are not public."""
    for views in classes:
        for group in (*views.attributes, views.names):
            resolve_positions(schema, group, "views")
        for name in views.names:
            if name in public:
                raise ParameterError(
                    f"views: '{name}' is public; expected attributes that are not", field="views"
                )
        _check_numbers(views)
    in_views = set(chain(*(views.names for views in classes)))
    for name in schema.names:
        if name not in in_views and name not in public:
            raise ParameterError(
                f"views: '{name}' is in none; expected every attribute that is not public",
                field="views",
            )
    count = sum(prod(map(comb, map(len, views.attributes), views.sizes)) for views in classes)
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


def _enumerate_subsets(
    schema: Schema, classes: Sequence[_Class]
) -> Iterator[tuple[tuple[int, ...], int]]:
    for attributes, sizes, weight in classes:
        groups = [sorted(schema.positions(group)) for group in attributes]
        for chosen in product(*map(combinations, groups, sizes)):
            check_deadline()
            yield tuple(sorted(chain(*chosen))), weight
