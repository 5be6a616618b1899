"""Results as CSV and Parquet, with plain columns."""

import csv
import io
from collections.abc import Sequence
from typing import Any
from unicodedata import normalize

from halftruth_shared.analyses.base import Columnar, Columns, Tabular, numbers, texts
from halftruth_shared.results import Result
from halftruth_shared.results.showing import assumptions
from halftruth_shared.results.wording import items

from ..errors import NotAcceptable

__all__ = ["Tabular", "to_csv", "to_parquet"]

#: Columns of the provenance of a result.
BESIDE: Columns = [
    ("reports", int),
    *texts("filter"),
    *numbers("confidence_level"),
    *texts("target", "missing_answers", "assumption"),
]

#: First characters of formulas in spreadsheets. Some also take their compatibility forms for them,
#: such as full-width ones, and skip blanks before them or drop control characters.
_FORMULA, _DROPPED = ("=", "+", "-", "@"), ("\t", "\r", "\n")


def to_csv(result: Tabular | Columnar, *, provenance: bool = True) -> str:
    """Format a result as CSV, with undefined numbers empty.

    With `provenance`, further columns of a result repeat it in all rows, since files are shared
    without their names. A text that a spreadsheet would take for a formula has an apostrophe before
    it.
    """
    columns, cells = _table(result, provenance)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([harmless(name) for name, _ in columns])
    written = (
        map(harmless, column) if kind is str else column
        for column, (_, kind) in zip(cells, columns, strict=True)
    )
    writer.writerows(zip(*written, strict=True))
    return text.getvalue()


def to_parquet(result: Tabular | Columnar, *, provenance: bool = True) -> bytes:
    """Format a result as Parquet with typed columns, undefined numbers null.

    Raises
    ------
    NotAcceptable
        If PyArrow is not installed.
    """
    pa = arrow()
    columns, cells = _table(result, provenance)
    types = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    pairs = zip(cells, columns, strict=True)
    arrays = [pa.array(column, types[kind]) for column, (_, kind) in pairs]
    from pyarrow import parquet

    buffer = io.BytesIO()
    table = pa.Table.from_arrays(arrays, names=[name for name, _ in columns])
    parquet.write_table(table, buffer)
    return buffer.getvalue()


def arrow() -> Any:
    """Return PyArrow, or raise `NotAcceptable` if it is not installed."""
    try:
        import pyarrow
    except ImportError:
        raise NotAcceptable(
            "parquet: expected PyArrow, which is not installed here"
            " (pip install 'halftruth-collector[parquet]')",
            field="format",
        ) from None
    return pyarrow


def _table(result: Tabular | Columnar, provenance: bool) -> tuple[Columns, list[Sequence[Any]]]:
    """Return the columns of a result with their cells, and optionally its provenance."""
    cells: list[Sequence[Any]]
    if isinstance(result, Columnar):
        cells = result.column_lists()
    else:
        cells = [*zip(*result.rows(), strict=True)] or [()] * len(result.columns)
    if not isinstance(result, Result) or not provenance:
        return result.columns, cells
    beside = (
        result.reports,
        None if result.group is None else items(result.group.items),
        *(getattr(result.query, name, None) for name in ("confidence", "target", "missing")),
        " ".join(assumptions(result)) or None,
    )
    return [*result.columns, *BESIDE], [*cells, *([each] * len(cells[0]) for each in beside)]


def harmless(value: object) -> object:
    """Put an apostrophe before a text that a spreadsheet would interpret as a formula."""
    if not isinstance(value, str):
        return value
    first = normalize("NFKC", value.lstrip()[:1])
    is_risky = first.startswith(_FORMULA) or value.startswith(_DROPPED)
    return f"'{value}" if is_risky else value
