"""What commands print and write: tables to read, JSON and CSV, files and pictures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec
from halftruth_shared import ParameterError
from tabulate import tabulate

if TYPE_CHECKING:
    # Most commands have no result, and what makes one takes a while to load.
    from halftruth_shared.analyses.base import Tabular
    from halftruth_shared.protocol.base import Message

    from ..charts import Chart
    from .options import Form


def as_form(result: Message | Tabular, form: Form) -> str:
    """Everything for programs; what is undefined is null in JSON and empty in CSV."""
    if form.json:
        return msgspec.json.format(msgspec.json.encode(result), indent=2).decode()
    from ..analyses.tabular import to_csv

    return to_csv(result).rstrip("\n")  # type: ignore[arg-type]


def write(file: str, content: bytes, option: str = "parquet") -> None:
    """Write a file that an option names.

    Raises
    ------
    ParameterError
        If it cannot be written.
    """
    try:
        Path(file).write_bytes(content)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "not the name of a file"
        raise ParameterError(
            f"{option}: expected a file that can be written: {why}", field=option
        ) from None


def draw(chart: Chart, file: str) -> None:
    """Draw a chart into a file, and say so on standard error."""
    from ..charts.rendering import render

    render(chart, file)
    click.echo(f"drawn: {file}", err=True)


def print_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print rows as aligned text."""
    click.echo(table(header, rows))


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Rows as aligned text."""
    return tabulate(rows, header, disable_numparse=True, missingval="undefined")
