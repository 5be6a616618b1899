"""Results on standard output: as a table to read, as JSON or as CSV."""

from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import wraps
from typing import Any, Protocol

import click
import msgspec
from halftruth_shared import ParameterError
from halftruth_shared.messages import Tabular
from tabulate import tabulate

from ..charts import Chart
from ..presentation import csv_text


class TabularResult(Tabular, Protocol):
    """A result with rows, from so many reports."""

    @property
    def reports(self) -> int: ...


class Format(StrEnum):
    """How a result is printed."""

    TEXT = "text"
    JSON = "json"
    CSV = "csv"


def format_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--json`` and ``--csv``; the command gets the choice as `form`."""

    @wraps(command)
    def with_form(*args: Any, as_json: bool, as_csv: bool, **kwargs: Any) -> Any:
        if as_json and as_csv:
            raise ParameterError("--json, --csv: expected one of them", field="json")
        form = Format.JSON if as_json else Format.CSV if as_csv else Format.TEXT
        return command(*args, form=form, **kwargs)

    with_csv = click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")(with_form)
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(with_csv)


def plot_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--plot``; the command gets the file's name or None as `plot`."""

    def check(context: click.Context, option: click.Parameter, file: str | None) -> str | None:
        if file is not None:
            # Imported here: few commands draw, and the library takes a while.
            from ..charts.rendering import check_file

            check_file(file)
        return file

    return click.option(
        "--plot",
        type=click.Path(dir_okay=False),
        metavar="FILE",
        callback=check,
        help="Draw a picture too: a .svg, .png or .pdf file.",
    )(command)


def draw(chart: Chart, file: str) -> None:
    """Draw a chart into a file, and say so on standard error."""
    from ..charts.rendering import render

    render(chart, file)
    click.echo(f"drawn: {file}", err=True)


def print_result(
    result: TabularResult,
    form: Format,
    header: Sequence[str],
    rows: Sequence[Sequence[object]],
) -> None:
    """Print a result: for people the rows given, for programs everything as JSON or CSV."""
    if form is not Format.TEXT:
        print_form(result, form)
        return
    click.echo(f"{result.reports} reports")
    print_table(header, rows)


def print_form(result: Tabular, form: Format) -> None:
    """Print everything for programs; what is undefined is null in JSON and empty in CSV."""
    if form is Format.JSON:
        click.echo(msgspec.json.format(msgspec.json.encode(result), indent=2).decode())
        return
    click.echo(csv_text(result), nl=False)


def print_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print rows as aligned text."""
    click.echo(tabulate(rows, header, disable_numparse=True, missingval="undefined"))
