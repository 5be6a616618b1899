"""Reading of public microdata as a table of categories, without sending them."""

import csv
from collections.abc import Sequence
from typing import IO

import numpy as np
from halftruth_collector.cli.records import COUNT, parse_people
from halftruth_collector.estimation import Counts
from halftruth_shared import Attribute, ParameterError, RecordError, Schema
from halftruth_shared.errors import listing
from numpy.typing import NDArray

#: Largest number of different values of a column.
MOST_CATEGORIES = 200

#: Category of empty fields.
_EMPTY = "(empty)"


def read_microdata(
    records: IO[str], attributes: Sequence[str] | None = None, count: str | None = None
) -> tuple[Schema, Counts]:
    """Read a CSV file: each column is an attribute, whose categories are its values in order.

    Parameters
    ----------
    attributes : sequence of str, optional
        Columns to read, in this order; all by default.
    count : str, optional
        Column with the number of people of each line. By default, this is `COUNT` if it is a column
        and not an attribute; otherwise each line is one person.

    Raises
    ------
    RecordError
        If the file is not a table of categories; the message names line or column but no answer.
    ParameterError
        If a column does not exist.
    SchemaError
        If a column cannot be an attribute, such as one with a single value.
    """
    reader = csv.reader(records)
    try:
        names = [name.strip() for name in next(reader, [])]
        rows = [[value.strip() or _EMPTY for value in row] for row in reader if row]
    except (UnicodeDecodeError, csv.Error):
        raise RecordError(
            f"line {reader.line_num + 1}: expected CSV in UTF-8", field="records"
        ) from None
    if not rows:
        raise RecordError(
            "records: expected a line with the names of the columns, and records", field="records"
        )
    wrong = next((k for k, row in enumerate(rows) if len(row) != len(names)), None)
    if wrong is not None:
        raise RecordError(
            f"record {wrong + 1}: expected {len(names)} values, got {len(rows[wrong])}",
            field="records",
        )
    if count is None and COUNT in names and COUNT not in (attributes or ()):
        count = COUNT
    chosen = [name for name in names if name != count] if attributes is None else attributes
    for name in [*chosen, *([] if count is None else [count])]:
        if name not in names:
            raise ParameterError(
                f"records: no column '{name}'; the file has: {listing(names)}", field=name
            )
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    weights = np.ones(len(rows), dtype=np.int64)
    if count is not None:
        weights = _people(columns[count], count)
    read, codes = [], []
    for name in chosen:
        values, numbered = np.unique(columns[name], return_inverse=True)
        if len(values) > MOST_CATEGORIES:
            raise RecordError(
                f"column '{name}': expected categories, {MOST_CATEGORIES} at most, got"
                f" {len(values)} different values; cut numbers into ranges, or leave it out",
                field=name,
            )
        read.append(Attribute(name, values.tolist()))
        codes.append(numbered)
    schema = Schema(tuple(read))
    cells, place = np.unique(np.stack(codes, axis=1), axis=0, return_inverse=True)
    counts = np.bincount(place.reshape(-1), weights=weights).astype(np.int64)
    return schema, Counts(schema.names, schema.shape, cells[counts > 0], counts[counts > 0])


def _people(column: Sequence[str], name: str) -> NDArray[np.int64]:
    numbers = []
    for k, value in enumerate(column):
        try:
            numbers.append(parse_people(value, name))
        except RecordError as error:
            raise RecordError(f"record {k + 1}: {error}", field=name) from None
    return np.array(numbers, dtype=np.int64)
