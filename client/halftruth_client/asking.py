"""A method for each analysis, with its signature and what it says of itself from the registry."""

from collections.abc import Callable
from inspect import Parameter, Signature, formatannotation, getdoc
from typing import Any, get_type_hints

from halftruth_shared.analyses import Query, name_of, result_of
from halftruth_shared.analyses.base import R
from halftruth_shared.analyses.reading import Field, fields, make

from .questions import plain

_RAISES = "\nRaises\n------\nParameterError, RequestRefused, CollectorUnavailable"


def method_of(query: type[Query[R]], *before: str) -> Callable[..., R]:
    """A method that asks a question with its fields as parameters, by ``ask`` of its object.

    Parameters
    ----------
    query : type
    *before : str
        Parameters of ``ask`` before the question.
    """
    known = fields(query)
    types = get_type_hints(query)
    signature = Signature(
        [
            Parameter("self", Parameter.POSITIONAL_OR_KEYWORD),
            *(Parameter(n, Parameter.POSITIONAL_OR_KEYWORD, annotation=str) for n in before),
            *(_parameter(field, types[field.name]) for field in known.values()),
        ],
        return_annotation=result_of(query),
    )

    def method(*given: Any, **named: Any) -> R:
        asked = signature.bind(*given, **named).arguments
        this, *beside = [asked.pop(name) for name in ("self", *before)]
        values = {name: plain(known[name], value) for name, value in asked.items()}
        result: R = this.ask(*beside, make(query, values))
        return result

    method.__name__ = name_of(query).replace("-", "_")
    method.__signature__ = signature  # type: ignore[attr-defined]
    described = [
        *(f"{name} : str\n    Id of the {name}." for name in before),
        *(_described(field, types[field.name]) for field in known.values()),
    ]
    parameters = ["\nParameters\n----------", *described] if described else []
    method.__doc__ = "\n".join([getdoc(query) or "", *parameters, _RAISES])
    return method


def _parameter(field: Field, kind: Any) -> Parameter:
    if field.required:
        return Parameter(field.name, Parameter.POSITIONAL_OR_KEYWORD, annotation=kind)
    return Parameter(field.name, Parameter.KEYWORD_ONLY, default=field.default, annotation=kind)


def _described(field: Field, kind: Any) -> str:
    limits = "" if field.several or field.kind == "text" else f" Expected {field.accepted}."
    return f"{field.name} : {formatannotation(kind)}\n    {field.description}{limits}"
