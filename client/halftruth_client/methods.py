"""Methods that send a query, made from the fields of the query."""

from collections.abc import Callable, Sequence
from inspect import Parameter, Signature, formatannotation, getdoc
from typing import Any, Generic, get_type_hints

from halftruth_shared.analyses import Query, name_of, result_of
from halftruth_shared.analyses.base import R
from halftruth_shared.analyses.reading import Field, fields, make

from .questions import to_names

_RAISES = "\nRaises\n------\nParameterError, RequestRefused, CollectorUnavailable"


class AnalysisMethod(Generic[R]):
    """Descriptor of a method that sends a query, with the fields of the query as parameters.

    The method is created at its first access, so that importing the client is fast.

    Parameters
    ----------
    query : type
    *before : str
        Parameters of ``ask`` before the query.
    """

    def __init__(self, query: type[Query[R]], *before: str) -> None:
        self._query, self._before = query, before
        #: Name as a Python identifier.
        self.name = name_of(query).replace("-", "_")

    def __get__(self, this: object, owner: type) -> Any:
        method = _method(self._query, self._before)
        method.__name__, method.__qualname__ = self.name, f"{owner.__name__}.{self.name}"
        setattr(owner, self.name, method)
        return getattr(owner if this is None else this, self.name)


def _method(query: type[Query[R]], before: Sequence[str]) -> Callable[..., R]:
    query_fields = fields(query)
    types = get_type_hints(query)
    signature = Signature(
        [
            Parameter("self", Parameter.POSITIONAL_OR_KEYWORD),
            *(Parameter(n, Parameter.POSITIONAL_OR_KEYWORD, annotation=str) for n in before),
            *(_parameter(field, types[field.name]) for field in query_fields.values()),
        ],
        return_annotation=result_of(query),
    )

    def method(*positional: Any, **named: Any) -> R:
        arguments = signature.bind(*positional, **named).arguments
        this, *preceding = [arguments.pop(name) for name in ("self", *before)]
        values = {name: to_names(query_fields[name], value) for name, value in arguments.items()}
        result: R = this.ask(*preceding, make(query, values))
        return result

    method.__signature__ = signature  # type: ignore[attr-defined]
    described = [
        *(f"{name} : str\n    Id of the {name}." for name in before),
        *(_describe(field, types[field.name]) for field in query_fields.values()),
    ]
    parameters = ["\nParameters\n----------", *described] if described else []
    method.__doc__ = "\n".join([getdoc(query) or "", *parameters, _RAISES])
    return method


def _parameter(field: Field, kind: Any) -> Parameter:
    if field.required:
        return Parameter(field.name, Parameter.POSITIONAL_OR_KEYWORD, annotation=kind)
    return Parameter(field.name, Parameter.KEYWORD_ONLY, default=field.default, annotation=kind)


def _describe(field: Field, kind: Any) -> str:
    limits = "" if field.several or field.kind == "text" else f" Expected {field.accepted}."
    return f"{field.name} : {formatannotation(kind)}\n    {field.description}{limits}"
