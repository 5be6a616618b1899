"""Hierarchies of categories for full-domain generalization."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from halftruth_shared import Attribute, ParameterError
from halftruth_shared.errors import listing

#: Name of the group of all categories.
SUPPRESSED = "*"


@dataclass(frozen=True)
class Level:
    """A partition of the categories of an attribute into groups.

    Attributes
    ----------
    names : tuple of str
        The groups.
    group : tuple of int
        Number of the group of each category.
    """

    names: tuple[str, ...]
    group: tuple[int, ...]


#: Levels of an attribute, from single categories to one group. Each level merges groups of the
#: level before.
Hierarchy = tuple[Level, ...]


def hierarchy(
    attribute: Attribute, groupings: Sequence[Mapping[str, Sequence[str]]] = ()
) -> Hierarchy:
    """Make the levels from single categories up to ``*``, which is always the last.

    Parameters
    ----------
    groupings : sequence of mapping of str to sequence of str
        Groups of each intermediate level by name, as lists of groups of the level before (of
        categories at the first). Groups that are not listed remain unchanged.

    Raises
    ------
    ParameterError
        If a group does not exist or is listed twice.

    Examples
    --------
    >>> school = Attribute("school", ["none", "primary", "college"])
    >>> [level.names for level in hierarchy(school, [{"low": ["none", "primary"]}])]
    [('none', 'primary', 'college'), ('low', 'college'), ('*',)]
    """
    field = f"hierarchies.{attribute.name}"
    names = attribute.categories
    levels = [Level(names, tuple(range(len(names))))]
    for grouping in groupings:
        into: dict[str, str] = {}
        for name, members in grouping.items():
            for member in members:
                if member not in names or member in into:
                    raise ParameterError(
                        f"{field}: level {len(levels)}: group '{name}': expected groups of the"
                        f" level before, each once: {listing(names)}",
                        field=field,
                    )
                into[member] = name
        names = tuple(dict.fromkeys(into.get(name, name) for name in names))
        below = levels[-1]
        moved = [names.index(into.get(name, name)) for name in below.names]
        levels.append(Level(names, tuple(moved[group] for group in below.group)))
    if len(names) > 1:
        levels.append(Level((SUPPRESSED,), (0,) * len(attribute.categories)))
    return tuple(levels)


def read_hierarchies(
    attributes: Sequence[Attribute], document: Mapping[str, object]
) -> list[Hierarchy]:
    """Read the hierarchy of each attribute from a TOML document.

    Parameters
    ----------
    document : mapping
        List of tables by name of an attribute, one for each level between the categories and
        ``*``; see :func:`hierarchy`. Other attributes have no intermediate level.

    Raises
    ------
    ParameterError
        If the document is invalid.
    """
    known = [attribute.name for attribute in attributes]
    for name, levels in document.items():
        field = f"hierarchies.{name}"
        if name not in known:
            raise ParameterError(
                f"hierarchies: '{name}' is no quasi-identifier; expected some of: {listing(known)}",
                field="hierarchies",
            )
        if not isinstance(levels, list) or not all(map(_is_grouping, levels)):
            raise ParameterError(
                f"{field}: expected tables [[{name}]], one for each level, of lists of texts",
                field=field,
            )
    given: Mapping[str, list[dict[str, list[str]]]] = document  # type: ignore[assignment]
    return [hierarchy(attribute, given.get(attribute.name, [])) for attribute in attributes]


def _is_grouping(value: object) -> bool:
    return isinstance(value, dict) and all(
        isinstance(members, list) and all(isinstance(member, str) for member in members)
        for members in value.values()
    )
