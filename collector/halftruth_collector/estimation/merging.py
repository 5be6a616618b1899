"""Categories merged into one: a coarser table, as a linear map along each of its axes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from halftruth_shared import Attribute, ParameterError, Schema
from halftruth_shared.analyses.base import Merge
from halftruth_shared.deadlines import check_deadline

from .answers import category_codes, with_condition
from .bounds import SIGNIFICANT
from .table import Table

#: Longest label that names all categories, if `_NAMED` or more are merged.
_LONGEST, _NAMED = 60, 3


@dataclass(frozen=True)
class Merging:
    """Merged categories of some questions: groups of two categories or more, by attribute.

    Raises
    ------
    SchemaError, ParameterError
        If an attribute or a category is unknown, in two groups, or missing; or if one category of a
        question remains.
    """

    whole: Schema
    merge: Merge

    def __post_init__(self) -> None:
        _ = self.schema

    @cached_property
    def parts(self) -> dict[str, list[list[int]]]:
        """Codes of the categories that make up each merged category, by attribute."""
        positions = self.whole.positions(list(self.merge), "merge") if self.merge else ()
        return {
            name: _parts(self.whole.attributes[j], groups)
            for j, (name, groups) in zip(positions, self.merge.items(), strict=True)
        }

    @cached_property
    def schema(self) -> Schema:
        """The attributes with merged categories."""
        if not self.merge:
            return self.whole
        attributes = [
            _merged(each, self.parts[each.name]) if each.name in self.parts else each
            for each in self.whole.attributes
        ]
        names = {
            fine.name: {
                fine.categories[code]: category
                for category, codes in zip(coarse.categories, self.parts[fine.name], strict=True)
                for code in codes
            }
            for fine, coarse in zip(self.whole.attributes, attributes, strict=True)
            if fine.name in self.parts
        }
        return Schema(tuple(with_condition(each, names) for each in attributes))

    def among(self, schema: Schema) -> "Merging":
        """Restrict the merging to the attributes of a schema."""
        if schema is self.whole:
            return self
        return Merging(schema, {n: each for n, each in self.merge.items() if n in schema.names})


def rare_merged(attribute: Attribute, table: Table) -> list[list[str]]:
    """Group the rare answers to a question, for measures that need every share above zero.

    Each group and each remaining answer has a share that would be significantly above zero in 97.5
    % of surveys. Rare ordered answers are merged with the rarer neighbour, others with each other.

    Parameters
    ----------
    attribute : Attribute
    table : Table
        Of this question alone.

    Returns
    -------
    list of list of str
        Empty if no answer is rare, or if a single category would remain.
    """
    design = table.unit_variance()
    if design is None:
        return []
    least = design.smallest_share((2 * SIGNIFICANT) ** 2 / table.reports)
    share = table.value
    groups = [[code] for code in range(share.size) if not attribute.is_missing[code]]

    def is_rare(group: list[int]) -> bool:
        return float(share[group].sum()) < float(least[group].max())

    while len(groups) > 1 and any(map(is_rare, groups)):
        check_deadline()
        rarest = min(filter(is_rare, groups), key=lambda group: float(share[group].sum()))
        place = groups.index(rarest)
        near = (place - 1, place + 1) if attribute.ordered else range(len(groups))
        others = [groups[j] for j in near if j != place and 0 <= j < len(groups)]
        joined = min(others, key=lambda group: float(share[group].sum()))
        groups = [group for group in groups if group not in (rarest, joined)]
        groups = sorted([*groups, sorted(rarest + joined)])
    if len(groups) < 2:
        return []
    names = attribute.categories
    return [[names[code] for code in group] for group in groups if len(group) > 1]


def _parts(attribute: Attribute, groups: Sequence[Sequence[str]]) -> list[list[int]]:
    """Return the codes that make up each merged category, in the order of the first ones."""
    parts = {code: [code] for code in range(len(attribute.categories))}
    taken: set[int] = set()
    for group in groups:
        codes = category_codes(attribute, group, "merge")
        said = f"merge: '{attribute.name}'"
        if len(codes) < 2:
            raise ParameterError(
                f"{said}: one category by itself; expected two or more", field="merge"
            )
        if twice := taken.intersection(codes):
            name = attribute.categories[min(twice)]
            raise ParameterError(f"{said}: '{name}' is merged twice; expected once", field="merge")
        if any(attribute.is_missing[code] for code in codes):
            raise ParameterError(
                f"{said}: a missing value is no answer; expected answers", field="merge"
            )
        taken.update(codes)
        for code in codes:
            del parts[code]
        parts[codes[0]] = list(codes)
    if len(parts) < 2:
        raise ParameterError(
            f"merge: '{attribute.name}' has one category left; expected two or more",
            field="merge",
        )
    return [parts[first] for first in sorted(parts)]


def _merged(attribute: Attribute, parts: Sequence[Sequence[int]]) -> Attribute:
    """Return an attribute with merged categories. Merged numbers are answers in an order."""
    names = {
        tuple(codes): _joined([attribute.categories[code] for code in codes]) for codes in parts
    }
    answers, short = attribute.answers_in(), attribute.short_answers_in()
    items = attribute.items
    return replace(
        attribute,
        categories=tuple(names.values()),
        collapsed=None,
        items=None
        if items is None
        else tuple(
            n for codes, n in names.items() if all(attribute.is_item[code] for code in codes)
        ),
        kind="choice",
        number=None,
        answers={name: _joined([answers[code] for code in codes]) for codes, name in names.items()},
        short_answers={
            name: _joined([short[code] for code in codes]) for codes, name in names.items()
        },
    )


def _joined(labels: Sequence[str]) -> str:
    """Return the label of merged categories: all of them, or the first ones."""
    joined = " or ".join(labels)
    if len(joined) <= _LONGEST or len(labels) < _NAMED:
        return joined
    return f"{labels[0]} or {len(labels) - 1} others"
