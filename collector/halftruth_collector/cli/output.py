"""Results on standard output: as a table to read, as JSON or as CSV."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import msgspec
from halftruth_shared import ParameterError
from halftruth_shared.protocol.base import Message
from tabulate import tabulate

from ..analyses import Analysis
from ..analyses.sentences import of_group, of_reports
from ..analyses.tabular import Tabular, to_csv, to_parquet
from ..charts import Chart
from .options import Form


def print_result(analysis: Analysis[Any, Any], result: Any, form: Form, plot: str | None) -> None:
    """Print a result: for people a table with what has to be known, for programs everything."""
    # Everything is made before anything is written or said.
    said = _text(analysis, result) if form.is_text else as_form(result, form)
    if form.parquet is not None:
        write(form.parquet, to_parquet(result))
    if plot is not None and analysis.chart is not None:
        draw(analysis.chart(result), plot)
    click.echo(said)


def as_form(result: Message | Tabular, form: Form) -> str:
    """Everything for programs; what is undefined is null in JSON and empty in CSV."""
    if form.json:
        return msgspec.json.format(msgspec.json.encode(result), indent=2).decode()
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


def _text(analysis: Analysis[Any, Any], result: Any) -> str:
    grid = analysis.grid(result)
    return "\n".join(
        [
            of_reports(result),
            *of_group(result),
            *analysis.notices(result),
            table(grid.header, grid.rows),
            *analysis.reading(result),
        ]
    )
