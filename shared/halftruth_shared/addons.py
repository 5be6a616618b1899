"""Add-ons: what other installed packages add, declared as entry points of their distributions.

The groups are ``halftruth.queries`` and ``halftruth.analyses`` (modules), ``halftruth.importers``,
``halftruth.exporters`` and ``halftruth.commands`` (objects).
"""

from collections.abc import Iterator
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from .errors import ParameterError


def points(kind: str) -> dict[str, EntryPoint]:
    """Return the entry points of a kind by name, sorted, without importing any.

    Parameters
    ----------
    kind : str
        Last part of the name of the group, such as ``analyses``.
    """
    return {point.name: point for point in sorted(entry_points(group=f"halftruth.{kind}"))}


def load(point: EntryPoint) -> Any:
    """Import the object of an entry point.

    Raises
    ------
    ParameterError
        If it cannot be imported.
    """
    try:
        return point.load()
    except Exception as error:
        package = point.dist.name if point.dist else point.value
        raise ParameterError(
            f"the add-on '{point.name}' of the package {package} cannot be imported: {error}",
            field=point.name,
        ) from error


def added(kind: str) -> Iterator[tuple[str, Any]]:
    """Yield the name and the object of each add-on of a kind, sorted by name.

    Raises
    ------
    ParameterError
        If an add-on cannot be imported.
    """
    for name, point in points(kind).items():
        yield name, load(point)
