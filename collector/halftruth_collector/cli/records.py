"""Records of people whose true answers are at hand, from CSV files. Nothing of them is sent."""

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar

import numpy as np
from halftruth_shared import RecordError, Schema
from numpy.typing import NDArray

T = TypeVar("T")

#: Column that says how many people a line stands for.
COUNT = "count"


class _Answers:
    """Names of answers, also where a whole column has their codes, as in files that are counted."""

    def __init__(self, schema: Schema) -> None:
        self._attributes = [each for each in schema.attributes if each.number is None]
        self._coded: dict[str, int] = {}
        self._named: set[str] = set()

    def named(self, record: dict[str, Any], line: int) -> dict[str, Any]:
        """Return a record with the names of its answers.

        Raises
        ------
        RecordError
            If a column has names and codes; the message names it, and never an answer.
        """
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
    """Read each record of a CSV file.

    Parameters
    ----------
    lines : iterable of str
    schema : Schema
        What the answers are. A column without any name of an answer has their codes, from 0.
    read : callable
        What to make of a record, by column.
    needed : sequence of str
        Columns that there have to be.

    Raises
    ------
    RecordError
        If it is no CSV, or what `read` raises; the message names the line, and never an answer.
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
    """Count the people of a CSV file by some attributes.

    Each line is one person, or as many as its column `COUNT` says, if there is one that is no
    attribute; other columns are not looked at.

    Parameters
    ----------
    path : str
    schema : Schema
        What the answers are.
    names : sequence of str
        Of the attributes, in the order of the axes.

    Raises
    ------
    RecordError
        If it cannot be read; the message names line and attribute and never an answer.
    """
    attributes = [schema.attributes[j] for j in schema.positions(names)]
    table = np.zeros([len(attribute.categories) for attribute in attributes])

    def add(record: Mapping[str, Any]) -> None:
        cell = tuple(attribute.code(record[attribute.name]) for attribute in attributes)
        counted = COUNT in record and COUNT not in schema.names
        table[cell] += people_of(record[COUNT], COUNT) if counted else 1

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


def people_of(text: object, column: str) -> int:
    """Number of people that a line stands for.

    Raises
    ------
    RecordError
        If the text in its column is no whole number.
    """
    if isinstance(text, str) and text.isascii() and text.isdigit() and len(text) <= 15:
        return int(text)
    raise RecordError(
        f"column '{column}': expected how many people it stands for, from 0 on", field=column
    )
