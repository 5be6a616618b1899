"""Records of people whose true answers are at hand, from CSV files. Nothing of them is sent."""

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from halftruth_shared import RecordError, Schema
from numpy.typing import NDArray

T = TypeVar("T")

#: Column that says how many people a line stands for.
COUNT = "count"


def read_records(
    lines: Iterable[str], read: Callable[[dict[str, Any]], T], needed: Sequence[str] = ()
) -> Iterator[T]:
    """Read each record of a CSV file.

    Parameters
    ----------
    lines : iterable of str
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
    try:
        for name in needed:
            if name not in (reader.fieldnames or []):
                raise RecordError(f"column '{name}' is missing", field=name)
        for record in reader:
            yield read(record)
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
            for _ in read_records(file, add, names):
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
