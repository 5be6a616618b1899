"""Queries and results, one module for each analysis.

Each module here defines the query of one analysis, whose type parameter is its result. It can
declare sentences of caveats, as `CAVEATS`, and estimated quantities, as `QUANTITIES`. `QUERIES`
collects them, so that adding an analysis touches nothing else. Other packages add such modules by
the entry points ``halftruth.queries``.
"""

from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, get_args, get_origin

from ..addons import added
from ..protocol.base import Message, Request, prepare
from ..results.caveats import SENTENCES
from ..results.quantities import QUANTITIES
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
    queries: dict[str, type[Query[Any]]] = {}
    own = [import_module(found.name) for found in iter_modules(__path__, f"{__name__}.")]
    for module in (*own, *(module for _, module in added("queries"))):
        for known, declared in ((SENTENCES, "CAVEATS"), (QUANTITIES, "QUANTITIES")):
            _add(known, getattr(module, declared, {}), module.__name__)
        for value in vars(module).values():
            if not isinstance(value, type) or not issubclass(value, Query):
                continue
            # A generic base class does not define its result type.
            if value.__module__ == module.__name__ and not getattr(value, "__parameters__", ()):
                _add(queries, {name_of(value): value}, module.__name__)
    return queries


def _add(known: dict[str, Any], declared: Mapping[str, Any], module: str) -> None:
    """Add what a module declares by name; the same name twice is an error."""
    for name, each in declared.items():
        if name in known:
            raise ValueError(f"{module}: '{name}' is declared twice")
        known[name] = each


#: The query of every analysis, by its name.
QUERIES = _queries()

prepare(Message)
prepare(Request)
