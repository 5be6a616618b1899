"""Read records of true answers from CSV files; they stay on this machine."""

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar

import numpy as np
from halftruth_shared import RecordError, Schema
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
    read: Callable[[dict[str, Any]], T],
    needed: Sequence[str] = (),
) -> Iterator[T]:
    """Read each record of a CSV file by `read`, which converts a mapping by column.

    A column without names of answers is read as codes, from 0. A file that is not CSV, lacks one of
    the `needed` columns or has an invalid record raises RecordError, which names the line, but no
    answer.
    """
    reader = csv.DictReader(lines, restkey="(a value beyond the last column)")
    answers = _Answers(schema)
    try:
        for name in needed:
            if name not in (reader.fieldnames or []):
                raise RecordError(f"column '{name}' is missing", field=name)
        for record in reader:
            yield read(answers.named(record, reader.line_num))
    except RecordError as error:
        line = f"line {reader.line_num}: " if reader.line_num > 1 else ""
        raise RecordError(f"{line}{error}", field=error.field) from None
    except (UnicodeDecodeError, csv.Error):
        raise RecordError(
            f"line {reader.line_num + 1}: expected CSV in UTF-8", field="records"
        ) from None


def read_pilot(path: str, schema: Schema, names: Sequence[str]) -> NDArray[np.float64]:
    """Count the people of a CSV file by some attributes, which are the axes of the result.

    Each line is one person, or the number of people in its column `COUNT`, unless that is an
    attribute. Other columns are ignored. Errors name line and attribute, but no answer.
    """
    attributes = [schema.attributes[j] for j in schema.positions(names)]
    table = np.zeros([len(attribute.categories) for attribute in attributes])

    def add(record: Mapping[str, Any]) -> None:
        cell = tuple(attribute.code(record[attribute.name]) for attribute in attributes)
        has_count = COUNT in record and COUNT not in schema.names
        table[cell] += parse_people(record[COUNT], COUNT) if has_count else 1

    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            for _ in read_records(file, schema, add, names):
                pass
    except OSError as error:
        raise RecordError(f"pilot: cannot be read: {error.strerror}", field="pilot") from None
    except RecordError as error:
        raise RecordError(f"pilot: {error}", field="pilot") from None
    if not table.any():
        raise RecordError("pilot: expected at least one person", field="pilot")
    return table


def parse_people(text: object, column: str) -> int:
    """Parse the number of people that a line represents."""
    if isinstance(text, str) and text.isascii() and text.isdigit() and len(text) <= 15:
        return int(text)
    raise RecordError(
        f"column '{column}': expected how many people it stands for, from 0 on", field=column
    )
