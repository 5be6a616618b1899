"""Reports from a file of answers that were already randomized: by dice, cards or a program.

Each row represents one person, or the number of people in a column. Answers are matched to the
categories of the survey. Errors name the row, counted from 1 after the header, and the column, but
no value.
"""

from __future__ import annotations

import csv
import hashlib
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from halftruth_shared import Attribute, ParameterError, RecordError, Survey
from halftruth_shared.errors import listing
from numpy.typing import NDArray

#: Largest number of people of one row, and of all rows of a file.
MAX_PEOPLE_OF_ROW, MAX_PEOPLE_OF_FILE = 1_000_000, 10_000_000

#: Largest uncompressed size of the columns of a Parquet file, in bytes and values.
_MAX_BYTES, _MAX_VALUES = 2**28, 2**25

#: Length of the id of a report in bytes.
_ID_SIZE = 16

#: A symbol in the format of 'halftruth reports perturb', or only its number.
_SYMBOL = re.compile(r"(?:code )?(\d{1,10})(?: about .*)?", re.ASCII | re.DOTALL)

#: Placeholder for values that are neither text nor number.
_NOT_TEXT = "\0"


class _Column(NamedTuple):
    """Values of a column, with None for empty cells."""

    name: str
    values: Sequence[Any]


@dataclass(frozen=True, eq=False)
class RandomizedReports:
    """Reports of a file.

    Attributes
    ----------
    packed : bytes
        Concatenated packed reports of all rows.
    numbers : ndarray of int, shape (rows,)
        Number of people of each row.
    keys : sequence of str, or range
        Key of each row.
    source : bytes
        Hash from which ids are derived.
    """

    packed: bytes
    numbers: NDArray[np.int64]
    keys: Sequence[str] | range
    source: bytes

    @property
    def people(self) -> int:
        """Number of reports."""
        return int(self.numbers.sum())

    def pages(self, size: int) -> Iterator[tuple[list[bytes], list[bytes]]]:
        """Yield ids and packed reports of all people, `size` at a time.

        An id is derived from the survey, the key of the row (or the file and the row number), and
        the number of the person in the row. So reading the same file again gives the same ids.
        """
        ids: list[bytes] = []
        cells: list[bytes] = []
        width = len(self.packed) // len(self.numbers)
        for row, (key, number) in enumerate(zip(self.keys, self.numbers.tolist(), strict=True)):
            cell = self.packed[row * width : (row + 1) * width]
            for person in range(number):
                text = f"{person}:{key}".encode("utf-8", "surrogatepass")
                ids.append(hashlib.sha256(self.source + text).digest()[:_ID_SIZE])
                cells.append(cell)
                if len(ids) == size:
                    yield ids, cells
                    ids, cells = [], []
        if ids:
            yield ids, cells


def read_randomized(
    path: str,
    survey: Survey,
    *,
    key: str | None = None,
    count: str | None = None,
) -> RandomizedReports:
    """Read reports from a CSV or Parquet file.

    Parameters
    ----------
    path : str
    survey : Survey
        Only the columns of its reports are read. Categories are given by name or label, or by code
        in the whole column. An empty cell is the missing category, if there is exactly one.
    key : str, optional
        Column with a key that is unique among all files of this survey.
    count : str, optional
        Column with the number of people that a row represents.

    Raises
    ------
    ParameterError
        If the file cannot be read.
    RecordError
        If the file does not match the survey; the message names row and column, but no value.
    """
    space = survey.report_space
    required = [*space.names, *(name for name in (key, count) if name is not None)]
    twice = {name for name in required if required.count(name) > 1}
    if twice:
        raise ParameterError(
            f"key, count: expected columns of their own, not '{min(twice)}'", field="key"
        )
    read = _READERS.get(Path(path).suffix.lower())
    if read is None:
        raise ParameterError(
            f"file: {path}: expected a name that ends with one of: {listing(list(_READERS))}",
            field="file",
        )
    try:
        columns = {column.name: column for column in read(path, required)}
        with open(path, "rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        codes = _report_codes(survey, columns)
        rows = len(codes)
        numbers = np.ones(rows, dtype=np.int64) if count is None else _read_people(columns[count])
        keys = range(1, rows + 1) if key is None else _read_keys(columns[key])
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "not such a file"
        raise ParameterError(f"file: {path}: cannot be read: {why}", field="file") from None
    except RecordError as error:
        raise RecordError(f"{path}: {error}", field=error.field) from None
    kind = f"file:{content}:" if key is None else "key:"
    source = hashlib.sha256(f"{survey.digest}:{kind}".encode()).digest()
    return RandomizedReports(codes.astype(space.dtype).tobytes(), numbers, keys, source)


def _report_codes(survey: Survey, columns: Mapping[str, _Column]) -> NDArray[np.int64]:
    """Return the values of all reports, shape (rows, columns of a report)."""
    space = survey.report_space
    attributes = {attribute.name: attribute for attribute in survey.schema.attributes}
    codes = [
        _encode_answers(columns[name], attributes[name], survey.languages)
        if name in attributes
        else _encode_symbols(columns[name], size)
        for name, size in zip(space.names, space.shape, strict=True)
    ]
    if not len(codes[0]):
        raise RecordError("has no rows; expected one for each person", field="file")
    return np.column_stack(codes)


def _encode_answers(
    column: _Column, attribute: Attribute, languages: Sequence[str]
) -> NDArray[np.int64]:
    """Return the codes of the answers in a column of names, or of codes only."""
    names = _collect_names(attribute, languages)
    missing = set(attribute.missing)
    blank = names[attribute.missing[0]] if len(missing) == 1 else -1

    def named(value: Any) -> int:
        text = _format_cell(value)
        if text is None:
            return blank
        code = names.get(text, -1)
        if code < 0 and attribute.number is not None:
            place = attribute.number.bin(text)
            code = -1 if place is None else place
        return code

    codes = {value: named(value) for value in _distinct(column)}
    if attribute.number is None and not any(
        code >= 0 and attribute.categories[code] not in missing for code in codes.values()
    ):
        # No answer is given by name, so the column has codes.
        numbers = {str(code): code for code in range(len(attribute.categories))}
        codes |= {
            v: numbers.get(_format_cell(v) or "", -1) for v, code in codes.items() if code < 0
        }
    expected = attribute.expected
    if attribute.number is None:
        expected += f", or in the whole column codes from 0 to {len(attribute.categories) - 1}"

    def refused(value: Any) -> str:
        if _format_cell(value) is not None:
            return f"expected {expected}"
        if len(missing) > 1:
            return f"is empty; expected which it is of: {listing(attribute.missing)}"
        return (
            f"is empty, and the survey has no category for a missing answer; expected {expected},"
            ' or missing = ["no answer given"] of this attribute in the survey'
        )

    return _encode_values(column, codes, refused)


def _collect_names(attribute: Attribute, languages: Sequence[str]) -> dict[str, int]:
    """Return the codes by category and by label, with −1 for ambiguous labels."""
    names = {category: code for code, category in enumerate(attribute.categories)}
    for language in languages or ("",):
        for code, label in enumerate(attribute.answers_in(language)):
            if names.setdefault(label, code) != code and label not in attribute.categories:
                names[label] = -1
    return names


def _encode_symbols(column: _Column, size: int) -> NDArray[np.int64]:
    def number(value: Any) -> int:
        match = _SYMBOL.fullmatch(_format_cell(value) or "")
        symbol = -1 if match is None else int(match[1])
        return symbol if symbol < size else -1

    codes = {value: number(value) for value in _distinct(column)}
    return _encode_values(column, codes, lambda value: f"expected a code from 0 to {size - 1}")


def _read_people(column: _Column) -> NDArray[np.int64]:
    """Return the number of people of each row."""

    def number(value: Any) -> int:
        text = _format_cell(value) or ""
        digits = text.isascii() and text.isdigit() and len(text) <= len(str(MAX_PEOPLE_OF_ROW))
        return int(text) if digits and int(text) <= MAX_PEOPLE_OF_ROW else -1

    expected = f"expected how many people the row stands for, from 0 to {MAX_PEOPLE_OF_ROW}"
    numbers = {value: number(value) for value in _distinct(column)}
    people = _encode_values(column, numbers, lambda value: expected)
    total = np.cumsum(people)
    if total[-1] > MAX_PEOPLE_OF_FILE:
        row = int(np.argmax(total > MAX_PEOPLE_OF_FILE)) + 1
        raise _row_error(row, column, f"expected at most {MAX_PEOPLE_OF_FILE} people in a file")
    if not total[-1]:
        raise _row_error(len(people), column, "expected a row that stands for somebody")
    return people


def _read_keys(column: _Column) -> list[str]:
    """Return the key of each row."""
    seen: dict[str, None] = {}
    for row, value in enumerate(column.values, start=1):
        text = _format_cell(value)
        if text is None or text == _NOT_TEXT:
            raise _row_error(row, column, "expected a key")
        if text in seen:
            raise _row_error(row, column, "has the key of an earlier row; expected each once")
        seen[text] = None
    return list(seen)


def _distinct(column: _Column) -> Collection[Any]:
    try:
        return set(column.values)
    except TypeError:
        raise RecordError(
            f"column '{column.name}': expected texts or numbers", field=column.name
        ) from None


def _encode_values(
    column: _Column, codes: Mapping[Any, int], refused: Callable[[Any], str]
) -> NDArray[np.int64]:
    """Return the code of each value; raise RecordError for the first value without a code."""
    mapped = np.fromiter(map(codes.__getitem__, column.values), np.int64, len(column.values))
    wrong = mapped < 0
    if wrong.any():
        place = int(np.argmax(wrong))
        raise _row_error(place + 1, column, refused(column.values[place]))
    return mapped


def _row_error(row: int, column: _Column, what: str) -> RecordError:
    return RecordError(f"row {row}, column '{column.name}': {what}", field=column.name)


def _format_cell(value: Any) -> str | None:
    """Return a value as text, as in a CSV file; None for an empty one."""
    if isinstance(value, str):
        return value.strip() or None
    if value is None or value != value:
        return None
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    return str(int(value)) if isinstance(value, int) else _NOT_TEXT


def _check_columns(names: Sequence[Any], wanted: Sequence[str], rows: int = 0) -> None:
    """Check the column names, and the number of rows if known, before reading any row."""
    if rows > MAX_PEOPLE_OF_FILE:
        raise RecordError(f"has {rows} rows; expected at most {MAX_PEOPLE_OF_FILE}", field="file")
    for name in wanted:
        if names.count(name) != 1:
            problem = "is there twice; expected once" if name in names else "is missing"
            raise RecordError(f"column '{name}' {problem}", field=name)


def _read_csv(path: str, wanted: Sequence[str]) -> Iterator[_Column]:
    row = 0
    with open(path, encoding="utf-8-sig", newline="") as file:
        try:
            first = file.readline()
            # Depending on the locale, spreadsheets use semicolons or tabs as separators.
            delimiter = max(",;\t", key=first.count)
            file.seek(0)
            rows = csv.reader(file, delimiter=delimiter, strict=True)
            names = next(rows, [])
            _check_columns(names, wanted)
            take = itemgetter(*map(names.index, wanted), 0)
            taken = []
            for cells in rows:
                # Skip empty lines.
                if cells:
                    row += 1
                    if len(cells) != len(names):
                        last = names[min(len(cells), len(names)) - 1]
                        raise RecordError(
                            f"row {row}, after column '{last}': has {len(cells)} values; expected"
                            f" {len(names)}",
                            field="file",
                        )
                    taken.append(take(cells))
        except UnicodeDecodeError:
            raise RecordError(f"after row {row}: expected CSV in UTF-8", field="file") from None
        except csv.Error:
            raise RecordError(f"row {row + 1}: expected CSV", field="file") from None
    values: Sequence[Sequence[str]] = list(zip(*taken, strict=True)) or [()] * len(wanted)
    yield from map(_Column, wanted, values)


def _read_parquet(path: str, wanted: Sequence[str]) -> Iterator[_Column]:
    try:
        import pyarrow.parquet as pq
    except ImportError:
        raise ParameterError(
            "file: reading it needs pyarrow; expected halftruth-field[parquet] to be installed",
            field="file",
        ) from None
    # For a damaged file, Arrow raises a ValueError or OSError.
    metadata = pq.read_metadata(path)
    _check_columns(metadata.schema.to_arrow_schema().names, wanted, metadata.num_rows)
    _check_sizes(metadata, wanted)
    leaves = {metadata.schema.column(place).path for place in range(metadata.num_columns)}
    file = pq.ParquetFile(path, metadata=metadata, read_dictionary=leaves.intersection(wanted))
    for name in wanted:
        yield _Column(name, _read_arrow_values(file.read(columns=[name]).column(name)))


def _check_sizes(metadata: Any, wanted: Sequence[str]) -> None:
    """Check the uncompressed size of the columns of a Parquet file, before reading them."""
    paths = tuple(f"{name}." for name in wanted)
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    chunks = [group.column(place) for group in groups for place in range(group.num_columns)]
    of_wanted = [chunk for chunk in chunks if f"{chunk.path_in_schema}.".startswith(paths)]
    if (
        sum(chunk.total_uncompressed_size for chunk in of_wanted) > _MAX_BYTES
        or sum(chunk.num_values for chunk in of_wanted) > _MAX_VALUES
    ):
        raise RecordError(
            f"unpacks to more than {_MAX_BYTES} bytes or {_MAX_VALUES} values; expected fewer"
            " rows in a file, or a column that says how many people a row stands for",
            field="file",
        )


def _read_arrow_values(column: Any) -> list[Any]:
    """Return the values of an Arrow column; equal values share one object."""
    import pyarrow as pa
    import pyarrow.compute as pc

    values: list[Any] = []
    for chunk in column.chunks:
        if pa.types.is_nested(chunk.type):
            values += chunk.to_pylist()
            continue
        coded = chunk if pa.types.is_dictionary(chunk.type) else chunk.dictionary_encode()
        distinct = np.array([*coded.dictionary.to_pylist(), None], dtype=object)
        values += distinct[np.from_dlpack(pc.fill_null(coded.indices, len(distinct) - 1))].tolist()
    return values


#: Readers of files, by the suffixes of their names.
_READERS: dict[str, Callable[[str, Sequence[str]], Iterator[_Column]]] = {
    ".csv": _read_csv,
    ".parquet": _read_parquet,
}
