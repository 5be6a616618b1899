"""Add-ons: what other installed packages add, declared as entry points of their distributions.

The groups are ``halftruth.queries`` and ``halftruth.analyses`` (modules), ``halftruth.importers``,
``halftruth.exporters``, ``halftruth.commands`` and ``halftruth.studies`` (objects).
"""

from collections.abc import Iterator
from importlib.metadata import entry_points
from typing import Any

from .errors import ParameterError


def added(kind: str) -> Iterator[tuple[str, Any]]:
    """Yield the name and the object of each add-on of a kind, sorted by name.

    Parameters
    ----------
    kind : str
        Last part of the name of the group, such as ``analyses``.

    Raises
    ------
    ParameterError
        If an add-on cannot be imported.
    """
    for point in sorted(entry_points(group=f"halftruth.{kind}")):
        try:
            yield point.name, point.load()
        except Exception as error:
            package = point.dist.name if point.dist else point.value
            raise ParameterError(
                f"the add-on '{point.name}' of the package {package} cannot be imported: {error}",
                field=point.name,
            ) from error
