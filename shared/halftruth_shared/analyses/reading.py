"""Queries from texts and back, field by field, so that an error names the field.

The same for addresses, command lines and forms: names are listed with commas between them; an item
is attribute=category, one a text since categories may hold commas; so are categories by themselves
and the terms of a model.
A known number of a category is attribute=category:number, one a line.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, TypeVar, get_args, get_origin

import msgspec
from msgspec import inspect

from ..errors import ParameterError
from ..protocol.base import Request

Kind = Literal[
    "number",
    "integer",
    "flag",
    "choice",
    "text",
    "integers",
    "names",
    "categories",
    "items",
    "terms",
    "margins",
]

Q = TypeVar("Q", bound=Request)

_COUNTS = {1: "one", 2: "two", 3: "three", 4: "four"}
_MOMENTS = {
    inspect.DateType: "a day, such as 2027-03-31",
    inspect.DateTimeType: "a moment with its time zone, such as 2027-03-31T22:00:00Z",
}
#: As large as a message can say exactly, which is no limit to anybody.
_NO_LIMIT = 2**53 - 1
_LISTED = {
    "integers": "integers",
    "names": "names",
    "categories": "categories",
    "items": "attribute=category",
    "terms": "terms of names",
    "margins": "attribute=category:number",
}


@dataclass(frozen=True)
class Field:
    """What one field of a query takes.

    Attributes
    ----------
    name : str
    kind : str
        How its value is written.
    type : type
        With its limits.
    required : bool
    default : object
        None where it is left out by default.
    description : str
    of : str
        What its names are of: "attribute", "category", "measure", "question", or "" where it has
        none.
    choices : tuple of str
        All that is accepted, or what is besides the names.
    accepted : str
        The same in words.
    written : str
        How each of several is written, in words.
    places : tuple of str
        What each of its names stands for, where their order says it.
    any_of : bool
        Whether an attribute may be given with several categories, any of which is meant.
    """

    name: str
    kind: Kind
    type: Any
    required: bool
    default: Any
    description: str
    of: str
    choices: tuple[str, ...]
    accepted: str
    written: str
    places: tuple[str, ...] = ()
    any_of: bool = False

    @property
    def several(self) -> bool:
        """Whether it may be given more than once."""
        return self.kind in _LISTED

    def value(self, texts: Sequence[str]) -> Any:
        """Its value from texts.

        Raises
        ------
        ParameterError
        """
        if self.kind == "items":
            return self.checked(self._items(texts))
        if self.kind == "terms":
            return self.checked([_names(text) for text in texts if list(texts) != [""]])
        if self.kind == "categories":
            return self.checked(list(texts))
        if self.kind == "margins":
            return self.checked(self._margins(texts))
        if self.several:
            return self.checked([name for text in texts for name in _names(text)])
        if len(texts) > 1:
            raise ParameterError(f"{self.name}: expected once", field=self.name)
        return self.checked(texts[0])

    def checked(self, value: Any) -> Any:
        """A value of the right type and within its limits.

        Raises
        ------
        ParameterError
        """
        if self.several and isinstance(value, (str, bytes)):
            raise self.unexpected()
        try:
            found = msgspec.convert(value, self.type, strict=not isinstance(value, (str, list)))
        except msgspec.ValidationError:
            raise self.unexpected() from None
        # The word "null" is no number, though msgspec reads it as none given.
        if found is None and value is not None:
            raise self.unexpected()
        return found

    def texts(self, value: Any) -> list[str]:
        """A value as the texts that it is read from.

        Raises
        ------
        ParameterError
            If a name holds a comma, which no attribute does.
        """
        if self.kind == "items":
            return [
                f"{name}={category}"
                for name, said in value.items()
                for category in ([said] if isinstance(said, str) else said)
            ]
        if self.kind == "terms":
            return [self._joined(names) for names in value] or [""]
        if self.kind == "categories":
            return list(value)
        if self.kind == "margins":
            return [
                f"{name}={category}:{number}"
                for name, numbers in value.items()
                for category, number in numbers.items()
            ]
        if self.kind == "names":
            return [self._joined(value)]
        if self.kind == "integers":
            return [",".join(map(str, value))]
        return [str(value).lower() if self.kind == "flag" else str(value)]

    def unexpected(self) -> ParameterError:
        """The complaint about a value that this field does not take."""
        return ParameterError(f"{self.name}: expected {self.accepted}", field=self.name)

    def _items(self, texts: Sequence[str]) -> dict[str, str | list[str]]:
        pairs: dict[str, list[str]] = {}
        for text in texts:
            name, equals, category = text.partition("=")
            if not equals:
                raise ParameterError(f"{self.name}: expected {self.written}", field=self.name)
            said = pairs.setdefault(name, [])
            if said and not self.any_of:
                raise ParameterError(
                    f"{self.name}: '{name}' is given twice; expected once", field=self.name
                )
            if category not in said:
                said.append(category)
        return {name: said[0] if len(said) == 1 else said for name, said in pairs.items()}

    def _margins(self, texts: Sequence[str]) -> dict[str, dict[str, float]]:
        found: dict[str, dict[str, float]] = {}
        for line in (line.strip() for text in texts for line in text.split("\n")):
            name, equals, rest = line.partition("=")
            category, colon, written = rest.rpartition(":")
            if not line:
                continue
            if not equals or not colon:
                raise self.unexpected()
            try:
                number = float(written)
            except ValueError:
                raise self.unexpected() from None
            if category in found.setdefault(name, {}):
                raise ParameterError(
                    f"{self.name}: '{name}={category}' is given twice; expected once",
                    field=self.name,
                )
            found[name][category] = number
        return found

    def _joined(self, names: Sequence[str]) -> str:
        if any(not name or "," in name for name in names):
            raise ParameterError(f"{self.name}: expected names without commas", field=self.name)
        return ",".join(names)


@cache
def fields(kind: type[Request]) -> dict[str, Field]:
    """The fields of a query by name, those first that it needs."""
    types = {field.name: field.type for field in msgspec.structs.fields(kind)}
    info = inspect.type_info(kind)
    assert isinstance(info, inspect.StructType)  # noqa: S101 (all queries are)
    found = [_field(field, types[field.name]) for field in info.fields]
    return {field.name: field for field in sorted(found, key=lambda field: not field.required)}


def read(kind: type[Q], given: Mapping[str, Sequence[str]]) -> Q:
    """A query from the texts of its fields.

    Raises
    ------
    ParameterError
        If one is unknown, missing, given twice or not what it takes.
    """
    known = fields(kind)
    _only(known, given)
    return _complete(kind, {name: known[name].value(texts) for name, texts in given.items()})


def make(kind: type[Q], given: Mapping[str, Any]) -> Q:
    """A query from values; what is None is left out.

    Raises
    ------
    ParameterError
        If one is unknown, missing, or not what it takes.
    """
    known = fields(kind)
    _only(known, given)
    values = {name: value for name, value in given.items() if value is not None}
    return _complete(kind, {name: known[name].checked(value) for name, value in values.items()})


def write(query: Request) -> dict[str, list[str]]:
    """The texts that a query is read from; what is None is left out."""
    return {
        name: field.texts(value)
        for name, field in fields(type(query)).items()
        if (value := getattr(query, name)) is not None
    }


def _only(known: Mapping[str, Field], given: Mapping[str, Any]) -> None:
    for name in given:
        if name not in known:
            accepted = f"expected one of: {', '.join(known)}" if known else "expected none"
            raise ParameterError(f"{name}: unknown parameter; {accepted}", field=name)


def _complete(kind: type[Q], values: dict[str, Any]) -> Q:
    for field in fields(kind).values():
        if field.required and field.name not in values:
            raise field.unexpected()
    return kind(**values)


def _names(text: str) -> list[str]:
    return [name for part in text.split(",") if (name := part.strip())]


def _field(field: inspect.Field, type: Any) -> Field:
    said, inner = _said(field.type)
    kind = _kind(inner)
    choices = tuple(_literals(type)) or tuple(said.get("also", ()))
    default = None if field.default is msgspec.NODEFAULT else field.default
    if field.default_factory is not msgspec.NODEFAULT:
        default = field.default_factory()
    return Field(
        name=field.name,
        kind=kind,
        type=type,
        required=field.required,
        default=default,
        description=said.get("description", ""),
        of=said.get("of", ""),
        choices=choices,
        accepted=_accepted(inner, kind, choices, said),
        written=_written(kind, said),
        places=said.get("places", ()),
        any_of=isinstance(inner, inspect.DictType)
        and isinstance(inner.value_type, inspect.UnionType),
    )


def _said(type: inspect.Type) -> tuple[dict[str, Any], Any]:
    """What annotations say of a type or of what it lists, and the type without them and None."""
    if isinstance(type, inspect.Metadata):
        said, inner = _said(type.type)
        return {**said, **(type.extra or {}), **(type.extra_json_schema or {})}, inner
    if isinstance(type, inspect.UnionType):
        [some] = [part for part in type.types if not isinstance(part, inspect.NoneType)]
        return _said(some)
    if isinstance(type, inspect.ListType):
        said, inner = _said(type.item_type)
        return {"of": said.get("of", "")}, type
    return {}, type


def _kind(type: Any) -> Kind:
    match type:
        case inspect.FloatType():
            return "number"
        case inspect.IntType():
            return "integer"
        case inspect.BoolType():
            return "flag"
        case inspect.LiteralType():
            return "choice"
        case inspect.DictType():
            # Of an attribute a category, or any of several; or a number for each of its categories.
            return "margins" if isinstance(type.value_type, inspect.DictType) else "items"
        case inspect.ListType():
            said, inner = _said(type.item_type)
            if said.get("of") == "category":
                return "categories"
            if isinstance(inner, inspect.ListType):
                return "terms"
            return "integers" if isinstance(inner, inspect.IntType) else "names"
    return "text"


def _literals(type: Any) -> Iterator[str]:
    """The choices of a type, in the order in which they are declared."""
    for part in get_args(type):
        yield from _literals(part) if get_origin(type) is not Literal else [str(part)]


def _accepted(type: Any, kind: Kind, choices: Sequence[str], said: Mapping[str, Any]) -> str:
    if kind == "choice":
        return f"one of: {', '.join(choices)}"
    if kind == "flag":
        return "true or false"
    if kind == "text":
        named = {"category": "a category", "attribute": "the name of an attribute"}
        return named.get(said.get("of", "")) or _MOMENTS.get(type.__class__, "a name")
    such = "".join(f", such as {example:g}" for example in said.get("examples", ())[:1])
    if kind in ("number", "integer"):
        return ("an integer" if kind == "integer" else "a number") + _range(type) + such
    more = _written(kind, said)
    least, most = type.min_length or 0, type.max_length
    between = (
        "" if kind in ("categories", "items", "terms", "margins") else ", with commas between them"
    )
    if most is not None and least == most:
        return f"{_COUNTS.get(least, least)} {more}{between}"
    if least and most is not None:
        return f"{_COUNTS.get(least, least)} to {_COUNTS.get(most, most)} {more}{between}"
    if least > 1:
        return f"{_COUNTS.get(least, least)} or more {more}{between}"
    return f"one or more {more}{between}" if least else f"{more}{between}"


def _written(kind: Kind, said: Mapping[str, Any]) -> str:
    return str(said.get("written", _LISTED.get(kind, "")))


def _range(type: Any) -> str:
    low = f"above {type.gt:g}" if type.gt is not None else ""
    high = f"below {type.lt:g}" if type.lt is not None else ""
    if type.ge is not None and type.le is not None and type.le < _NO_LIMIT:
        return f" from {type.ge:g} to {type.le:g}"
    low = f"of at least {type.ge:g}" if type.ge is not None else low
    high = f"at most {type.le:g}" if type.le is not None and type.le < _NO_LIMIT else high
    both = " and ".join(filter(None, [low, high]))
    return f" {both}" if both else ""
