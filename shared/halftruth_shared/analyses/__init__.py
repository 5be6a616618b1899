"""Queries and results, one module for each analysis.

An analysis is known by its module here: the query that it defines, and the result that the query
names as its answer. `QUERIES` finds them, so that adding one touches nothing else.
"""

from importlib import import_module
from pkgutil import iter_modules
from typing import Any, get_args

from ..protocol.base import Message, Request, prepare
from .base import Query, R, Result

__all__ = ["QUERIES", "Query", "Result", "name_of", "result_of"]


def name_of(query: type[Query[Any]]) -> str:
    """Name of an analysis, as in addresses and commands."""
    return query.__module__.rpartition(".")[2].replace("_", "-")


def result_of(query: type[Query[R]]) -> type[R]:
    """What a query is answered with."""
    [base] = query.__orig_bases__  # type: ignore[attr-defined]
    result: type[R] = get_args(base)[0]
    return result


def _queries() -> dict[str, type[Query[Any]]]:
    found = {}
    for module in iter_modules(__path__, f"{__name__}."):
        for value in vars(import_module(module.name)).values():
            if not isinstance(value, type) or not issubclass(value, Query):
                continue
            # Those that others derive from leave the result open.
            if value.__module__ == module.name and not getattr(value, "__parameters__", ()):
                found[name_of(value)] = value
    return found


#: The query of every analysis, by its name.
QUERIES = _queries()

prepare(Message)
prepare(Request)
