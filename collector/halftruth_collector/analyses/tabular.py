"""Results as CSV and Parquet, with plain columns."""

import csv
import io

from halftruth_shared.analyses.base import Tabular

from ..errors import NotAcceptable

__all__ = ["Tabular", "to_csv", "to_parquet"]

#: First characters by which spreadsheets take a text for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def to_csv(result: Tabular) -> str:
    """Everything as CSV; what is undefined is empty.

    A text that a spreadsheet would take for a formula has an apostrophe before it.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([name for name, _ in result.columns])
    writer.writerows([_harmless(value) for value in row] for row in result.rows())
    return text.getvalue()


def to_parquet(result: Tabular) -> bytes:
    """Everything as Parquet, each column with its type; what is undefined is null.

    Raises
    ------
    NotAcceptable
        If PyArrow is not installed.
    """
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise NotAcceptable(
            "parquet: expected PyArrow, which is not installed here"
            " (pip install 'halftruth-collector[parquet]')",
            field="format",
        ) from None
    types = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    names, kinds = zip(*result.columns, strict=True)
    columns = list(zip(*result.rows(), strict=True)) or [()] * len(names)
    arrays = [pa.array(column, types[kind]) for column, kind in zip(columns, kinds, strict=True)]
    buffer = io.BytesIO()
    parquet.write_table(pa.Table.from_arrays(arrays, names=list(names)), buffer)
    return buffer.getvalue()


def _harmless(value: object) -> object:
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return value
