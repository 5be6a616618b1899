"""Results as CSV and Parquet, with plain columns."""

import csv
import io
from collections.abc import Sequence
from typing import Any

from halftruth_shared.analyses.base import Columnar, Columns, Tabular, numbers, texts
from halftruth_shared.results import Result
from halftruth_shared.results.showing import assumptions
from halftruth_shared.results.wording import items

from ..errors import NotAcceptable

__all__ = ["Tabular", "to_csv", "to_parquet"]

#: Of how many reports the numbers of a result are, of which group, what its intervals are, and what
#: became of missing answers; and what a model assumes.
BESIDE: Columns = [
    ("reports", int),
    *texts("filter"),
    *numbers("confidence_level"),
    *texts("target", "missing_answers", "assumption"),
]

#: First characters by which spreadsheets take a text for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def to_csv(result: Tabular | Columnar) -> str:
    """Format a result as CSV, with undefined numbers empty.

    The last columns of a result are the same in all rows: a file goes further than its name, and
    shares of a group look like any others. A text that a spreadsheet would take for a formula has
    an apostrophe before it.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([harmless(name) for name, _ in _columns(result)])
    kinds = [kind for _, kind in _columns(result)]
    columns = (
        map(harmless, column) if kind is str else column
        for column, kind in zip(_cells(result), kinds, strict=True)
    )
    writer.writerows(zip(*columns, strict=True))
    return text.getvalue()


def to_parquet(result: Tabular | Columnar) -> bytes:
    """Format a result as Parquet with typed columns, undefined numbers null.

    Raises
    ------
    NotAcceptable
        If PyArrow is not installed.
    """
    pa = arrow()
    types = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    names, kinds = zip(*_columns(result), strict=True)
    arrays = [
        pa.array(column, types[kind]) for column, kind in zip(_cells(result), kinds, strict=True)
    ]
    from pyarrow import parquet

    buffer = io.BytesIO()
    parquet.write_table(pa.Table.from_arrays(arrays, names=list(names)), buffer)
    return buffer.getvalue()


def arrow() -> Any:
    """PyArrow.

    Raises
    ------
    NotAcceptable
        If it is not installed.
    """
    try:
        import pyarrow
    except ImportError:
        raise NotAcceptable(
            "parquet: expected PyArrow, which is not installed here"
            " (pip install 'halftruth-collector[parquet]')",
            field="format",
        ) from None
    return pyarrow


def _columns(result: Tabular | Columnar) -> Columns:
    """Return the columns of a result, and of the collector's own also provenance."""
    if not isinstance(result, Result):
        return result.columns
    return [*result.columns, *BESIDE]


def _cells(result: Tabular | Columnar) -> list[Sequence[Any]]:
    """Return the cells of each column."""
    columns: list[Sequence[Any]]
    if isinstance(result, Columnar):
        columns = result.column_lists()
    else:
        columns = [*zip(*result.rows(), strict=True)] or [()] * len(result.columns)
    if not isinstance(result, Result):
        return columns
    query: Any = getattr(result, "query", None)
    beside = (
        result.reports,
        None if result.group is None else items(result.group.items),
        getattr(query, "confidence", None),
        getattr(query, "target", None),
        getattr(query, "missing", None),
        " ".join(assumptions(result)) or None,
    )
    return [*columns, *([value] * len(columns[0]) for value in beside)]


def harmless(value: object) -> object:
    """Put an apostrophe before a text that a spreadsheet would take for a formula."""
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return value
