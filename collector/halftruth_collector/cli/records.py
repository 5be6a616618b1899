"""Read records of true answers from CSV files; they stay on this machine."""

import csv
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar

import numpy as np
from halftruth_shared import RecordError, Schema
from halftruth_shared.attribute import NO_ANSWER
from numpy.typing import NDArray

T = TypeVar("T")

#: Column with the number of people that a line represents.
COUNT = "count"


class _Answers:
    """Converter of columns of codes to names of answers."""

    def __init__(self, schema: Schema) -> None:
        self._attributes = [each for each in schema.attributes if each.number is None]
        self._coded: dict[str, int] = {}
        self._named: set[str] = set()

    def named(self, record: dict[str, Any], line: int) -> dict[str, Any]:
        """Return a record with the names of its answers; names and codes do not mix."""
        changed = {}
        for attribute in self._attributes:
            name, value = attribute.name, record.get(attribute.name)
            if value in attribute.categories:
                if value not in attribute.missing:
                    self._named.add(name)
            elif name not in self._named and value in _codes(len(attribute.categories)):
                self._coded.setdefault(name, line)
                changed[name] = attribute.categories[int(value)]
            if name in self._named and name in self._coded:
                raise RecordError(
                    f"attribute '{name}': answers by name, and by code in line"
                    f" {self._coded[name]}; expected one of them in the whole column",
                    field=name,
                )
        return record | changed


@cache
def _codes(answers: int) -> frozenset[str]:
    return frozenset(map(str, range(answers)))


def read_records(
    lines: Iterable[str],
    schema: Schema,
    read: Callable[[dict[str, Any], int], T],
) -> Iterator[T]:
    """Read each record of a CSV file by `read`, of a mapping by column and the line's number.

    A column without names of answers is read as codes, from 0. A file that is not CSV or has an
    invalid record raises RecordError, which names the line, but no answer.
    """
    reader = csv.DictReader(lines, restkey="(a value beyond the last column)")
    answers = _Answers(schema)
    try:
        for record in reader:
            yield read(answers.named(record, reader.line_num), reader.line_num)
    except RecordError as error:
        line = f"line {reader.line_num}: " if reader.line_num > 1 else ""
        raise RecordError(f"{line}{error}", field=error.field) from None
    except (UnicodeDecodeError, csv.Error):
        raise RecordError(
            f"line {reader.line_num + 1}: expected CSV in UTF-8", field="records"
        ) from None


class Pilot:
    """People of a CSV file, which is read once; call it to count them by some attributes.

    Each line is one person, or the number of people in its column `COUNT`, unless that is an
    attribute. Columns that are not asked for may be missing or have invalid answers. Errors name
    line and attribute, but no answer.
    """

    def __init__(self, path: str, schema: Schema) -> None:
        self._schema = schema
        columns = _Columns(schema)
        try:
            with open(path, encoding="utf-8-sig", newline="") as file:
                for _ in read_records(file, schema, columns.add):
                    pass
        except OSError as error:
            raise RecordError(f"pilot: cannot be read: {error.strerror}", field="pilot") from None
        except RecordError as error:
            raise RecordError(f"pilot: {error}", field="pilot") from None
        numbers = np.array(columns.numbers)
        if not numbers.any():
            raise RecordError("pilot: expected at least one person", field="pilot")
        # Rows with the same answers are counted together, since tables are asked for many times.
        codes = np.array([*columns.codes.values()], dtype=np.int64).reshape(-1, len(numbers))
        records, places = np.unique(codes, axis=1, return_inverse=True)
        self._codes = dict(zip(columns.codes, records, strict=True))
        self._people = np.bincount(places.ravel(), numbers, records.shape[1])
        self._invalid = columns.invalid

    @property
    def people(self) -> int:
        """Number of people."""
        return int(self._people.sum())

    def __call__(self, names: Sequence[str]) -> NDArray[np.float64]:
        """Count the people by some attributes, which are the axes of the result."""
        shape = [self._schema.shape[j] for j in self._schema.positions(names)]
        for name in names:
            if name not in self._codes:
                raise RecordError(f"pilot: column '{name}' is missing", field="pilot")
            if name in self._invalid:
                raise RecordError(f"pilot: {self._invalid[name]}", field="pilot")
        places = np.ravel_multi_index([self._codes[name] for name in names], shape)
        counts = np.bincount(places, self._people, math.prod(shape))
        return np.asarray(counts.reshape(shape), dtype=np.float64)


class _Columns:
    """Codes of the answers in each column of a pilot, and the number of people of each line.

    The first invalid answer of a column makes it invalid.
    """

    def __init__(self, schema: Schema) -> None:
        self._attributes = {each.name: each for each in schema.attributes}
        self._known = {name: dict[object, int]() for name in self._attributes}
        self._has_count = COUNT not in self._attributes
        self.codes: dict[str, list[int]] = {}
        self.invalid: dict[str, str] = {}
        self.numbers: list[int] = []

    def add(self, record: Mapping[str, Any], line: int) -> None:
        if not self.numbers:
            self.codes = {name: [] for name in self._attributes if name in record}
        counted = self._has_count and COUNT in record
        self.numbers.append(parse_people(record[COUNT], COUNT) if counted else 1)
        for name, codes in self.codes.items():
            answer, known = record[name], self._known[name]
            if answer not in known:
                attribute = self._attributes[name]
                given = NO_ANSWER if answer == "" and attribute.optional else answer
                try:
                    known[answer] = attribute.code(given)
                except RecordError as error:
                    self.invalid.setdefault(name, f"line {line}: {error}")
                    known[answer] = 0
            codes.append(known[answer])


def parse_people(text: object, column: str) -> int:
    """Parse the number of people that a line represents."""
    if isinstance(text, str) and text.isascii() and text.isdigit() and len(text) <= 15:
        return int(text)
    raise RecordError(
        f"column '{column}': expected how many people it stands for, from 0 on", field=column
    )
