"""Queries and results, one module for each analysis.

Each module here defines the query of one analysis, whose type parameter is its result. `QUERIES`
collects them, so that adding an analysis touches nothing else.
"""

from importlib import import_module
from pkgutil import iter_modules
from typing import Any, get_args, get_origin

from ..protocol.base import Message, Request, prepare
from .base import Query, R, Result

__all__ = ["QUERIES", "Query", "Result", "name_of", "result_of"]


def name_of(query: type[Query[Any]]) -> str:
    """Return the name of an analysis, as used in URLs and commands."""
    return query.__module__.rpartition(".")[2].replace("_", "-")


def result_of(query: type[Query[R]]) -> type[R]:
    """Return the result type of a query."""
    [base] = query.__orig_bases__  # type: ignore[attr-defined]
    result: Any = get_args(base)[0]
    kind: type[R] = result if isinstance(result, type) else get_origin(result)[query]
    return kind


def _queries() -> dict[str, type[Query[Any]]]:
    queries = {}
    for module in iter_modules(__path__, f"{__name__}."):
        for value in vars(import_module(module.name)).values():
            if not isinstance(value, type) or not issubclass(value, Query):
                continue
            # A generic base class does not define its result type.
            if value.__module__ == module.name and not getattr(value, "__parameters__", ()):
                queries[name_of(value)] = value
    return queries


#: The query of every analysis, by its name.
QUERIES = _queries()

prepare(Message)
prepare(Request)
