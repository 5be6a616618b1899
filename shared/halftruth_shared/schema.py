"""Attributes, schemas, and records as tuples of category codes."""

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .errors import RecordError, SchemaError, listing

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}", re.ASCII)
_MAX_CATEGORIES = 65_536
_MAX_ATTRIBUTES = 1_024
_MAX_TEXT = 256
_MAX_HELP = 2_000


@dataclass(frozen=True)
class Attribute:
    """One categorical question.

    Parameters
    ----------
    name : str
        Letters, digits, ``_``, ``.`` and ``-``, starting with a letter, at most 64.
    categories : sequence of str
        The possible answers, at least two, all different. An answer's *code* is its position.
    items : sequence of str, optional
        The categories that count in itemsets; all of them by default. A market-basket
        attribute has ``("yes",)``.
    sensitive : bool
        Whether the answer must be perturbed.
    label, help : str
        What a form shows; the label is the name by default.
    page : str
        Title of the page of a form that asks this, together with its neighbours of the same title.

    Raises
    ------
    SchemaError
        If a name, category or item cannot be used.
    """

    name: str
    categories: tuple[str, ...]
    items: tuple[str, ...] | None = None
    sensitive: bool = True
    label: str = ""
    help: str = ""
    page: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise SchemaError(
                "attribute name: expected a letter followed by letters, digits, '_', '.' or '-',"
                " 64 at most",
                field="name",
            )
        object.__setattr__(self, "categories", self._texts("categories", self.categories))
        if len(self.categories) < 2:
            raise SchemaError(
                f"attribute '{self.name}': expected 2 to {_MAX_CATEGORIES} categories,"
                f" got {len(self.categories)}",
                field="categories",
            )
        if self.items is not None:
            object.__setattr__(self, "items", self._texts("items", self.items))
            for item in self.items:
                if item not in self._codes:
                    raise SchemaError(
                        f"attribute '{self.name}': item '{item}' is not one of its categories:"
                        f" {listing(self.categories)}",
                        field="items",
                    )
        if not isinstance(self.sensitive, bool):
            raise SchemaError(
                f"attribute '{self.name}': sensitive: expected true or false", field="sensitive"
            )
        for what in ("label", "help", "page"):
            if not is_text(getattr(self, what), _MAX_HELP):
                raise SchemaError(
                    f"attribute '{self.name}': {what}: expected text of at most {_MAX_HELP}"
                    " characters",
                    field=what,
                )

    def _texts(self, what: str, values: Sequence[str]) -> tuple[str, ...]:
        if isinstance(values, str) or not isinstance(values, Sequence):
            raise SchemaError(f"attribute '{self.name}': {what}: expected a list", field=what)
        if len(values) > _MAX_CATEGORIES:
            raise SchemaError(
                f"attribute '{self.name}': expected 2 to {_MAX_CATEGORIES} {what},"
                f" got {len(values)}",
                field=what,
            )
        for value in values:
            if not isinstance(value, str) or not _is_plain_text(value):
                raise SchemaError(
                    f"attribute '{self.name}': {what}: expected text of 1 to {_MAX_TEXT}"
                    " characters without control characters or outer blanks",
                    field=what,
                )
        twice = _repeated(values)
        if twice is not None:
            raise SchemaError(
                f"attribute '{self.name}': {what}: '{twice}' is named twice; expected once",
                field=what,
            )
        return tuple(values)

    @cached_property
    def _codes(self) -> dict[str, int]:
        return {category: code for code, category in enumerate(self.categories)}

    @cached_property
    def item_mask(self) -> NDArray[np.bool_]:
        """Which category codes count in itemsets, shape (d,)."""
        if self.items is None:
            return np.ones(len(self.categories), dtype=np.bool_)
        return np.array([category in self.items for category in self.categories])

    def code(self, answer: object) -> int:
        """The code of an answer.

        Raises
        ------
        RecordError
            If it is not one of the categories; the message does not hold the answer.
        """
        code = self._codes.get(answer) if isinstance(answer, str) else None
        if code is None:
            raise RecordError(
                f"attribute '{self.name}': the answer is not one of: {listing(self.categories)}",
                field=self.name,
            )
        return code


@dataclass(frozen=True)
class Schema:
    """The attributes of a survey, in order; a record is a tuple of one code for each.

    Raises
    ------
    SchemaError
        If there is no attribute, or two share a name.
    """

    attributes: tuple[Attribute, ...]
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", tuple(self.attributes))
        if not 1 <= len(self.attributes) <= _MAX_ATTRIBUTES:
            raise SchemaError(
                f"attributes: expected 1 to {_MAX_ATTRIBUTES}, got {len(self.attributes)}",
                field="attributes",
            )
        twice = _repeated(self.names)
        if twice is not None:
            raise SchemaError(f"attributes: '{twice}' is named twice; expected once", field=twice)
        # Samplers look their prepared weights up by schema, so its hash is computed once.
        object.__setattr__(self, "_hash", hash(self.attributes))

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[type["Schema"], tuple[tuple[Attribute, ...]]]:
        # Another process hashes text differently.
        return Schema, (self.attributes,)

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {attribute.name: j for j, attribute in enumerate(self.attributes)}

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Attribute names in order."""
        return tuple(attribute.name for attribute in self.attributes)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Number of categories of each attribute, (d_1, …, d_M)."""
        return tuple(len(attribute.categories) for attribute in self.attributes)

    @cached_property
    def size(self) -> int:
        """Number of cells n = ∏ d_j, an exact integer of any size."""
        return math.prod(self.shape)

    def position(self, name: str, field: str = "attributes") -> int:
        """Position of an attribute that some field names.

        Raises
        ------
        SchemaError
            If there is none of that name.
        """
        try:
            return self._positions[name]
        except (KeyError, TypeError):
            raise SchemaError(
                f"{field}: unknown attribute '{name}'; the survey has: {listing(self.names)}",
                field=field,
            ) from None

    def positions(self, names: Sequence[str], field: str = "attributes") -> tuple[int, ...]:
        """Positions of several different attributes that some field names, in the order given.

        Raises
        ------
        SchemaError
            If one is unknown or is named twice, or there is none.
        """
        if not names or isinstance(names, str):
            raise SchemaError(
                f"{field}: expected a list with one or more of: {listing(self.names)}", field=field
            )
        found = tuple([self.position(name, field) for name in names])
        twice = _repeated(names)
        if twice is not None:
            raise SchemaError(f"{field}: '{twice}' is named twice; expected once", field=field)
        return found

    def encode(self, record: Mapping[str, str]) -> tuple[int, ...]:
        """Codes of a record that answers every attribute.

        Raises
        ------
        RecordError
            For an unknown or missing attribute or an answer outside its categories. The message
            names attributes of this schema and never an answer, nor a key from outside, which
            may be an answer in the wrong place.
        """
        if not isinstance(record, Mapping):
            raise RecordError("record: expected a mapping of attribute names to answers")
        unknown = sum(name not in self._positions for name in record)
        if unknown:
            raise RecordError(
                f"record: {unknown} unknown attribute{'s' if unknown > 1 else ''}; the survey has:"
                f" {listing(self.names)}",
                field="record",
            )
        for attribute in self.attributes:
            if attribute.name not in record:
                raise RecordError(
                    f"attribute '{attribute.name}' is missing; answer one of:"
                    f" {listing(attribute.categories)}",
                    field=attribute.name,
                )
        return tuple([attribute.code(record[attribute.name]) for attribute in self.attributes])

    def decode(self, codes: Sequence[int]) -> dict[str, str]:
        """The record that these codes stand for."""
        return {
            attribute.name: attribute.categories[code]
            for attribute, code in zip(self.attributes, self.check(codes), strict=True)
        }

    def check(self, codes: Sequence[int]) -> tuple[int, ...]:
        """Codes as a tuple of integers inside the schema.

        Raises
        ------
        RecordError
            Otherwise; the message names the attribute and never the code.
        """
        if not isinstance(codes, Sequence | np.ndarray) or len(codes) != len(self.shape):
            raise RecordError(f"record: expected {len(self.shape)} codes, one for each attribute")
        for j, (code, size) in enumerate(zip(codes, self.shape, strict=True)):
            if (type(code) is not int and not isinstance(code, np.integer)) or not 0 <= code < size:
                raise RecordError(
                    f"attribute '{self.names[j]}': expected a code from 0 to {size - 1}",
                    field=self.names[j],
                )
        return tuple(map(int, codes))

    def check_many(self, codes: NDArray[np.integer]) -> NDArray[np.int64]:
        """Codes of N records as an int64 array of shape (N, M) inside the schema.

        Raises
        ------
        RecordError
            Otherwise; the message names the attribute and never the code.
        """
        try:
            array = np.asarray(codes)
        except ValueError:
            array = np.zeros(0)
        if array.ndim != 2 or array.shape[1] != len(self.shape):
            raise RecordError(f"records: expected an array of shape (N, {len(self.shape)})")
        if array.dtype.kind not in "iu":
            raise RecordError("records: expected an array of integers")
        if (array < 0).any() or (array >= np.array(self.shape)).any():
            outside = ((array < 0) | (array >= np.array(self.shape))).any(axis=0)
            j = int(np.argmax(outside))
            raise RecordError(
                f"attribute '{self.names[j]}': expected codes from 0 to {self.shape[j] - 1}",
                field=self.names[j],
            )
        return array.astype(np.int64, copy=False)


def is_text(value: object, most: int) -> bool:
    """Whether a value is text of at most so many characters that can be written as UTF-8."""
    return (
        isinstance(value, str)
        and len(value) <= most
        and not any(unicodedata.category(character) == "Cs" for character in value)
    )


def _repeated(values: Sequence[str]) -> str | None:
    """The first value that stands there a second time."""
    seen: set[str] = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None


def _is_plain_text(value: str) -> bool:
    return (
        0 < len(value) <= _MAX_TEXT
        and value == value.strip()
        and not any(unicodedata.category(character) in ("Cc", "Cs") for character in value)
    )
