"""Output of commands: tables to read, JSON and CSV, files and pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec
from halftruth_shared import ParameterError
from tabulate import tabulate
from tqdm import tqdm

if TYPE_CHECKING:
    # Most commands have no result, and what makes one takes a while to load.
    from halftruth_shared.analyses.charts import Chart

    from ..store.sqlite_files import Progress
    from .options import Form

R = TypeVar("R", bound=Any)


def json_text(value: object) -> str:
    """JSON with lines to read; fractions are numbers, and what is infinite is null."""
    return msgspec.json.format(msgspec.json.encode(value, enc_hook=float), indent=2).decode()


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


def show(
    result: R,
    form: Form,
    lines: Callable[[R], Iterable[str]],
    chart: Callable[[R], Chart] | None = None,
    plot: str | None = None,
) -> None:
    """Print a result, and write what else was asked for, once everything is made.

    Parameters
    ----------
    result : Result
    form : Form
    lines : callable
        The result as text.
    chart : callable, optional
        The result as a chart, which is drawn into the file `plot`.
    plot : str, optional
    """
    from ..analyses.tabular import to_csv, to_parquet

    if form.json:
        text = json_text(result)
    else:
        text = to_csv(result).rstrip("\n") if form.csv else "\n".join(lines(result))
    if form.parquet is not None:
        write(form.parquet, to_parquet(result))
    if plot is not None and chart is not None:
        from ..charts.rendering import render

        render(chart(result), plot)
        click.echo(f"drawn: {plot}", err=True)
    click.echo(text)


@contextmanager
def progress_bar(unit: str) -> Iterator[Progress]:
    """Show a progress bar on a terminal."""
    with tqdm(unit=f" {unit}", disable=None) as bar:
        yield bar.update


def print_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print rows as aligned text."""
    click.echo(table(header, rows))


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Rows as aligned text."""
    return tabulate(rows, header, disable_numparse=True, missingval="undefined")
