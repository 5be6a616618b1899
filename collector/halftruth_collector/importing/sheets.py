"""Read the sheets of XLSForms as rows of text, with bounded time and memory.

Functions raise ValidationError if the format is invalid.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any
from zipfile import ZipFile

import msgspec
from halftruth_shared import ParameterError

Row = dict[str, str]

#: Limits of a workbook: uncompressed bytes, tags, and rows and columns of a sheet.
_MOST_BYTES, _MOST_TAGS, _MOST_ROWS, _MOST_COLUMNS = 20_000_000, 1_000_000, 10_000, 250

#: Names of sheets, and alternative names of columns.
_SHEETS = ("survey", "choices", "settings")
_ALIASES = {
    "list name": "list_name",
    "relevance": "relevant",
    "read_only": "readonly",
    "calculate": "calculation",
    "title": "form_title",
    "value": "name",
}


def read_workbook(content: bytes) -> dict[str, list[Row]]:
    """Read the sheets of a workbook."""
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise ParameterError(
            "file: workbooks need openpyxl (pip install 'halftruth-collector[xlsx]')", field="file"
        ) from None
    with _parsing():
        packed = ZipFile(io.BytesIO(content))
        size = sum(part.file_size for part in packed.infolist())
    # zipfile never unpacks more than the declared size.
    if size > _MOST_BYTES:
        raise ParameterError(
            f"file: expected a workbook of at most {_MOST_BYTES} bytes when unpacked", field="file"
        )
    with _parsing():
        parts = [packed.read(part) for part in packed.infolist()]
    if sum(part.count(b"<") for part in parts) > _MOST_TAGS or any(
        b"<!DOCTYPE" in part for part in parts
    ):
        raise ParameterError(
            f"file: expected a workbook of at most {_MOST_TAGS} tags, none of them a document type",
            field="file",
        )
    with _parsing():
        book = load_workbook(io.BytesIO(content), read_only=True, data_only=True)
        names = {sheet.lower(): sheet for sheet in reversed(book.sheetnames)}
    return {name: _rows(_lines(book, names[name])) if name in names else [] for name in _SHEETS}


@contextmanager
def _parsing() -> Iterator[None]:
    """Turn every error of another project's parser into one that says that the file is invalid."""
    try:
        yield
    except Exception as error:
        raise msgspec.ValidationError("expected a workbook") from error


def _lines(book: Any, sheet: str) -> Iterator[Sequence[object]]:
    """Iterate over the rows of a sheet, with one more row and column than is allowed."""
    with _parsing():
        yield from book[sheet].iter_rows(
            max_row=_MOST_ROWS + 2, max_col=_MOST_COLUMNS + 1, values_only=True
        )


def read_tables(content: bytes) -> dict[str, list[Row]]:
    """Read a table with the names of sheets in its first column, or the sheet ``survey`` alone."""
    tables: dict[str, list[list[str]]] = {name: [] for name in _SHEETS}
    text = io.TextIOWrapper(io.BytesIO(content), "utf-8-sig", newline="")
    try:
        lines = list(islice(csv.reader(text), 3 * _MOST_ROWS))
    except (csv.Error, UnicodeDecodeError) as error:
        raise msgspec.ValidationError("expected a table") from error
    names = {line[0].strip().lower() for line in lines if line}
    if "survey" in names:
        sheet = ""
        for first, *cells in filter(None, lines):
            sheet = first.strip().lower() or sheet
            if any(cells) and sheet in tables:
                tables[sheet].append(cells)
    else:
        tables["survey"] = lines
    return {name: _rows(lines) for name, lines in tables.items()}


def _rows(lines: Iterable[Sequence[object]]) -> list[Row]:
    """Read a sheet: a header of column names, and rows of cells."""
    rows: list[Row] = []
    columns: list[str] | None = None
    for place, line in enumerate(lines):
        if place > _MOST_ROWS or any(line[_MOST_COLUMNS:]):
            raise ParameterError(
                f"file: expected sheets of at most {_MOST_ROWS} rows and {_MOST_COLUMNS} columns",
                field="file",
            )
        cells = [_cell(value) for value in line]
        if not any(cells):
            continue
        if columns is None:
            columns = [_column(cell) for cell in cells]
        else:
            row: Row = {}
            for name, cell in zip(columns, cells, strict=False):
                if name and cell and row.setdefault(name, cell) != cell:
                    raise ParameterError(
                        f"file: expected each column of a sheet once, got '{name}' twice",
                        field="file",
                    )
            if row:
                rows.append(row)
    return rows


def _cell(value: object) -> str:
    """Format a cell like a value in expressions."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return "" if value is None else str(value).strip()


def _column(written: str) -> str:
    """Return the current name of a column.

    >>> [_column(name) for name in ("label::French (fr)", "Label:de", "relevance", "list name")]
    ['label::French (fr)', 'label::de', 'relevant', 'list_name']
    """
    name, _, more = written.strip().partition(":")
    name = name.strip().lower()
    if name == "bind" and more.lower().lstrip(": ") in ("relevant", "constraint", "required"):
        return more.lower().lstrip(": ")
    language = more.strip(": ")
    return _ALIASES.get(name, name) + (f"::{language}" if language else "")
