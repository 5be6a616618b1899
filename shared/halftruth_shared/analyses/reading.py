"""Parsing of queries from texts and back, field by field, so that an error names the field.

URLs, command lines and forms use the same syntax. Names are separated by commas. An item is
attribute=category, one per text because categories can contain commas; categories without an
attribute and the terms of a model are one per text, too. A margin is attribute=category:number,
one per line. A group is attribute=category,category, one per line, with a backslash before a
comma inside a category.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, TypeVar, get_args, get_origin

import msgspec
import numpy as np
from msgspec import inspect

from ..errors import ParameterError, SchemaError, listing
from ..protocol.base import Request
from ..schema import Schema

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
    "groups",
]

#: Kinds of values whose keys are names of questions.
_BY_NAME = frozenset(["items", "margins", "groups"])

#: Kinds of names that are of questions.
_OF_QUESTIONS = frozenset(["attribute", "question"])

Q = TypeVar("Q", bound=Request)

_COUNTS = {1: "one", 2: "two", 3: "three", 4: "four"}
_MOMENTS = {
    inspect.DateType: "a day, such as 2027-03-31",
    inspect.DateTimeType: "a moment with its time zone, such as 2027-03-31T22:00:00Z",
}
#: Escaped comma inside a category of a group, and comma between two of its categories.
_COMMA, _UNESCAPED = "\\,", re.compile(r"(?<!\\),")
#: The largest integer that JSON represents exactly, in place of no limit.
_NO_LIMIT = 2**53 - 1
_LISTED = {
    "integers": "integers",
    "names": "names",
    "categories": "categories",
    "items": "attribute=category",
    "terms": "terms of names",
    "margins": "attribute=category:number",
    "groups": "attribute=category,category",
}


@dataclass(frozen=True)
class Field:
    """One field of a query.

    Attributes
    ----------
    name : str
    kind : str
        Syntax of its value.
    type : type
        Type with its limits.
    required : bool
    default : object
        None if the field is omitted by default.
    description : str
    of : str
        Kind of its names: "attribute", "category", "measure", "question", or "" without names.
    choices : tuple of str
        All accepted values, or those accepted besides names.
    accepted : str
        Description of the accepted values, for messages.
    written : str
        Syntax of each value, if the field can have several or declares it.
    places : tuple of str
        Role of each of its names, if it depends on their order.
    any_of : bool
        Whether an attribute can have several alternative categories.
    most : int or None
        Largest number of values, if it is limited.
    links : str
        What links from one page of results to others keep of it: "value", or its name as that of
        the main "question", or of the one that defines "groups"; "" for nothing.
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
    most: int | None = None
    links: str = ""

    @property
    def several(self) -> bool:
        """True if the field can have several values."""
        return self.kind in _LISTED

    def value(self, texts: Sequence[str]) -> Any:
        """Parse its value from texts, or raise a `ParameterError`."""
        parsers: dict[str, Callable[[Sequence[str]], Any]] = {
            "items": self._items,
            "terms": lambda texts: [_names(text) for text in texts if list(texts) != [""]],
            "categories": list,
            "margins": self._margins,
            "groups": self._groups,
        }
        if self.kind in parsers:
            return self.checked(parsers[self.kind](texts))
        if self.several:
            return self.checked([name for text in texts for name in _names(text)])
        if len(texts) > 1:
            raise ParameterError(f"{self.name}: expected once", field=self.name)
        return self.checked(texts[0])

    def named_in(self, value: Any) -> set[str]:
        """Return the names of questions in a value of this field."""
        if value is None:
            return set()
        if self.kind in _BY_NAME:
            return set(value)
        if self.of not in _OF_QUESTIONS:
            return set()
        if self.kind == "terms":
            return {name for names in value for name in names}
        return set(value) if self.several else {value}

    def checked(self, value: Any) -> Any:
        """Convert a value to its type, within its limits, or raise a `ParameterError`."""
        if self.several and isinstance(value, (str, bytes)):
            raise self.unexpected()
        if isinstance(value, np.generic):
            value = value.item()
        if self.kind == "groups" and isinstance(value, Mapping):
            value = {name: _grouped(groups) for name, groups in value.items()}
        try:
            converted = msgspec.convert(value, self.type, strict=not isinstance(value, (str, list)))
        except msgspec.ValidationError:
            raise self.unexpected() from None
        # msgspec reads the text "null" as None.
        if converted is None and value is not None:
            raise self.unexpected()
        if converted == math.inf:
            raise self.unexpected()
        return converted

    def texts(self, value: Any) -> list[str]:
        """Format a value as the texts from which it is parsed; names with a comma are refused."""
        if self.kind == "items":
            return [
                f"{name}={category}"
                for name, categories in value.items()
                for category in ([categories] if isinstance(categories, str) else categories)
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
        if self.kind == "groups":
            return [
                f"{name}={','.join(each.replace(',', _COMMA) for each in group)}"
                for name, groups in value.items()
                for group in groups
            ]
        if self.kind == "names":
            return [self._joined(value)]
        if self.kind == "integers":
            return [",".join(map(str, value))]
        return [str(value).lower() if self.kind == "flag" else str(value)]

    def unexpected(self) -> ParameterError:
        """Error for a value that this field does not accept."""
        return ParameterError(f"{self.name}: expected {self.accepted}", field=self.name)

    def _items(self, texts: Sequence[str]) -> dict[str, str | list[str]]:
        pairs: dict[str, list[str]] = {}
        for text in texts:
            name, equals, category = text.partition("=")
            if not equals:
                raise ParameterError(f"{self.name}: expected {self.written}", field=self.name)
            categories = pairs.setdefault(name, [])
            if categories and not self.any_of:
                raise ParameterError(
                    f"{self.name}: '{name}' is given twice; expected once", field=self.name
                )
            if category not in categories:
                categories.append(category)
        return {name: each[0] if len(each) == 1 else each for name, each in pairs.items()}

    def _lines(self, texts: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Split texts into lines of the form attribute=…; a text can have several lines."""
        for line in (line.strip() for text in texts for line in text.split("\n")):
            name, equals, rest = line.partition("=")
            if line and not equals:
                raise self.unexpected()
            if line:
                yield name, rest

    def _margins(self, texts: Sequence[str]) -> dict[str, dict[str, float]]:
        margins: dict[str, dict[str, float]] = {}
        for name, rest in self._lines(texts):
            category, _, digits = rest.rpartition(":")
            try:
                number = float(digits) if ":" in rest else None
            except ValueError:
                number = None
            if number is None:
                raise self.unexpected()
            if category in margins.setdefault(name, {}):
                raise ParameterError(
                    f"{self.name}: '{name}={category}' is given twice; expected once",
                    field=self.name,
                )
            margins[name][category] = number
        return margins

    def _groups(self, texts: Sequence[str]) -> dict[str, list[list[str]]]:
        groups: dict[str, list[list[str]]] = {}
        for name, rest in self._lines(texts):
            parts = [part.replace(_COMMA, ",").strip() for part in _UNESCAPED.split(rest)]
            groups.setdefault(name, []).append(parts)
        return groups

    def _joined(self, names: Sequence[str]) -> str:
        if any(not name or "," in name for name in names):
            raise ParameterError(f"{self.name}: expected names without commas", field=self.name)
        return ",".join(names)


@cache
def fields(kind: type[Request]) -> dict[str, Field]:
    """Fields of a query by name, required ones first."""
    types = {field.name: field.type for field in msgspec.structs.fields(kind)}
    info = inspect.type_info(kind)
    assert isinstance(info, inspect.StructType)  # noqa: S101 (all queries are)
    parsed = [_field(field, types[field.name]) for field in info.fields]
    return {field.name: field for field in sorted(parsed, key=lambda field: not field.required)}


def read(kind: type[Q], texts: Mapping[str, Sequence[str]]) -> Q:
    """Parse a query from the texts of its fields.

    Raises
    ------
    ParameterError
        For an unknown, invalid or missing field; the message names all of them.
    """
    return _convert(kind, texts, Field.value)


def make(kind: type[Q], values: Mapping[str, Any]) -> Q:
    """Make a query from values, ignoring None; raises the errors of `read`."""
    given = {name: value for name, value in values.items() if value is not None}
    # A name that does not exist is an error even without a value.
    given |= {name: None for name in values if name not in fields(kind)}
    return _convert(kind, given, Field.checked)


def write(query: Request) -> dict[str, list[str]]:
    """Format a query as the texts from which it is parsed, without fields that are None."""
    return {
        name: field.texts(value)
        for name, field in fields(type(query)).items()
        if (value := getattr(query, name)) is not None
    }


def questions_named(query: Request) -> dict[str, set[str]]:
    """Return the names of questions in each field of a query."""
    return {
        name: field.named_in(getattr(query, name)) for name, field in fields(type(query)).items()
    }


def check_questions(query: Request, schema: Schema) -> None:
    """Raise one SchemaError for all names of a query that a schema does not have.

    A single unknown name is left to its field, whose message is more specific.
    """
    known = {*schema.names, *schema.options}
    unknown = {
        field: [f"'{name}'" for name in sorted(missing)]
        for field, names in questions_named(query).items()
        if (missing := names - known)
    }
    if sum(map(len, unknown.values())) > 1:
        parts = [
            f"{field}: unknown attribute{'s' * (len(names) > 1)} {listing(names)}"
            for field, names in unknown.items()
        ]
        raise SchemaError(
            f"{'; '.join(parts)}; the survey has: {listing(schema.names)}",
            field=next(iter(unknown)),
        )


def _convert(kind: type[Q], given: Mapping[str, Any], convert: Callable[[Field, Any], Any]) -> Q:
    """Make a query from the given fields, or raise one error that names all invalid ones."""
    known = fields(kind)
    values: dict[str, Any] = {}
    errors: list[ParameterError] = []
    if unknown := [name for name in given if name not in known]:
        what = "unknown parameter" if len(unknown) == 1 else "unknown parameters"
        accepted = f"expected one of: {', '.join(known)}" if known else "expected none"
        errors.append(ParameterError(f"{listing(unknown)}: {what}; {accepted}", field=unknown[0]))
    for name, field in known.items():
        if name in given:
            try:
                values[name] = convert(field, given[name])
            except ParameterError as error:
                errors.append(error)
        elif field.required:
            errors.append(field.unexpected())
    if len(errors) > 1:
        raise ParameterError("; ".join(map(str, errors)), field=errors[0].field)
    if errors:
        raise errors[0]
    return kind(**values)


def _grouped(groups: Any) -> Any:
    """Return groups of categories; a single group need not be in a list."""
    if isinstance(groups, (list, tuple)) and any(isinstance(each, str) for each in groups):
        return [list(groups)]
    return groups


def _names(text: str) -> list[str]:
    return [name for part in text.split(",") if (name := part.strip())]


def _field(field: inspect.Field, type: Any) -> Field:
    notes, inner = _annotations(field.type)
    kind = _kind(inner)
    choices = tuple(_literals(type)) or tuple(notes.get("also", ()))
    default = None if field.default is msgspec.NODEFAULT else field.default
    if field.default_factory is not msgspec.NODEFAULT:
        default = field.default_factory()
    return Field(
        name=field.name,
        kind=kind,
        type=type,
        required=field.required,
        default=default,
        description=notes.get("description", ""),
        of=notes.get("of", ""),
        choices=choices,
        accepted=_accepted(inner, kind, choices, notes),
        written=_syntax(kind, notes),
        places=notes.get("places", ()),
        any_of=isinstance(inner, inspect.DictType)
        and isinstance(inner.value_type, inspect.UnionType),
        most=getattr(inner, "max_length", None),
        links=notes.get("links", ""),
    )


def _annotations(type: inspect.Type) -> tuple[dict[str, Any], Any]:
    """Return the annotations of a type or of its elements, and the type without them and None."""
    if isinstance(type, inspect.Metadata):
        notes, inner = _annotations(type.type)
        return {**notes, **(type.extra or {}), **(type.extra_json_schema or {})}, inner
    if isinstance(type, inspect.UnionType):
        [some] = [part for part in type.types if not isinstance(part, inspect.NoneType)]
        return _annotations(some)
    if isinstance(type, inspect.ListType):
        notes, inner = _annotations(type.item_type)
        return {"of": notes.get("of", "")}, type
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
            # By attribute: a category, several categories, numbers by category, or groups.
            if isinstance(type.value_type, inspect.ListType):
                return "groups"
            return "margins" if isinstance(type.value_type, inspect.DictType) else "items"
        case inspect.ListType():
            notes, inner = _annotations(type.item_type)
            if notes.get("of") == "category":
                return "categories"
            if isinstance(inner, inspect.ListType):
                return "terms"
            return "integers" if isinstance(inner, inspect.IntType) else "names"
    return "text"


def _literals(type: Any) -> Iterator[str]:
    """Return the choices of a type, in the order of their declaration."""
    for part in get_args(type):
        yield from _literals(part) if get_origin(type) is not Literal else [str(part)]


def _accepted(type: Any, kind: Kind, choices: Sequence[str], notes: Mapping[str, Any]) -> str:
    if kind == "choice":
        return f"one of: {', '.join(choices)}"
    if kind == "flag":
        return "true or false"
    if kind == "text":
        named = {
            "category": "a category",
            "attribute": "the name of an attribute",
            "question": "the name of a question",
        }
        return named.get(notes.get("of", "")) or _MOMENTS.get(type.__class__, "a name")
    such = "".join(f", such as {example:g}" for example in notes.get("examples", ())[:1])
    if kind in ("number", "integer"):
        return ("an integer" if kind == "integer" else "a number") + _range(type) + such
    each = _range(_annotations(type.item_type)[1]) if kind == "integers" else ""
    more = _syntax(kind, notes) + each
    least, most = type.min_length or 0, type.max_length
    between = (
        ""
        if kind in ("categories", "items", "terms", "margins", "groups")
        else ", with commas between them"
    )
    if most is not None and least == most:
        return f"{_COUNTS.get(least, least)} {more}{between}"
    if least and most is not None:
        return f"{_COUNTS.get(least, least)} to {_COUNTS.get(most, most)} {more}{between}"
    if least > 1:
        return f"{_COUNTS.get(least, least)} or more {more}{between}"
    return f"one or more {more}{between}" if least else f"{more}{between}"


def _syntax(kind: Kind, notes: Mapping[str, Any]) -> str:
    return str(notes.get("written", _LISTED.get(kind, "")))


def _range(type: Any) -> str:
    low = f"above {type.gt:g}" if type.gt is not None else ""
    high = f"below {type.lt:g}" if type.lt is not None else ""
    if type.ge is not None and type.le is not None and type.le < _NO_LIMIT:
        return f" from {type.ge:g} to {type.le:g}"
    low = f"of at least {type.ge:g}" if type.ge is not None else low
    high = f"at most {type.le:g}" if type.le is not None and type.le < _NO_LIMIT else high
    both = " and ".join(filter(None, [low, high]))
    return f" {both}" if both else ""
