"""Output of commands: tables, JSON, CSV, files and charts."""

from __future__ import annotations

import math
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec
from halftruth_shared import ParameterError
from halftruth_shared.columns import encode
from halftruth_shared.deadlines import Deadline, until
from halftruth_shared.private_files import open_new, write_durably
from tabulate import tabulate
from tqdm import tqdm

if TYPE_CHECKING:
    # Most commands have no result, and these modules are slow to import.
    from halftruth_shared.results.charts import Chart

    from ..store.sqlite_files import Progress
    from .options import OutputFormat

R = TypeVar("R", bound=Any)

#: Seconds after which a command shows its progress on a terminal.
PATIENCE = 1.0


def json_text(value: object) -> str:
    """Return indented JSON; fractions become numbers, and infinite numbers null."""
    return msgspec.json.format(encode(value), indent=2).decode()


def write(file: str, content: bytes, option: str = "parquet") -> None:
    """Write a file that an option names (ParameterError)."""
    try:
        Path(file).write_bytes(content)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "not the name of a file"
        raise ParameterError(
            f"{option}: expected a file that can be written: {why}", field=option
        ) from None


@contextmanager
def secrets_to(file: str | None, what: str) -> Iterator[Callable[[str], None]]:
    """Open the output for secrets: a new file of mode 0600, or standard output.

    Use it before creating a secret, since a secret cannot be shown again. After an error, the new
    file is deleted. `what` describes the secrets, for the message about the file.

    Raises ParameterError if the file exists or cannot be written, or standard output is a file that
    others can read.
    """
    if file is None:
        _check_standard_output()
        yield lambda text: click.echo(text, nl=False)
        return
    try:
        descriptor = open_new(file)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "not the name of a file"
        raise ParameterError(
            f"output: expected a new file that can be written: {why}", field="output"
        ) from None
    with open(descriptor, "wb") as opened:
        try:
            yield lambda text: write_durably(opened, text.encode())
        except BaseException:
            Path(file).unlink(missing_ok=True)
            raise
    click.echo(f"{what} in {file}")


def _check_standard_output() -> None:
    """Refuse standard output if it is a file that other accounts can read."""
    try:
        mode = os.fstat(sys.stdout.fileno()).st_mode
    except (OSError, ValueError):
        # Standard output is not a system file, such as a buffer in a test.
        return
    if os.name == "posix" and stat.S_ISREG(mode) and mode & 0o044:
        raise ParameterError(
            "output: standard output is a file that other accounts can read; expected --output FILE"
            " in its place",
            field="output",
        )


def show(
    result: R,
    form: OutputFormat,
    lines: Callable[[R], Iterable[str]],
    chart: Callable[[R], Chart] | None = None,
    plot: str | None = None,
) -> None:
    """Print a result as text, JSON or CSV, and write the requested files, after it is computed.

    `chart` returns the chart of the result, for the file `plot`.
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


class _Steps(Deadline):
    """A deadline that never passes, whose checks count the steps of a computation."""

    def __init__(self, count: Callable[[], object]) -> None:
        super().__init__(math.inf)
        self._count = count

    def check(self) -> None:
        self._count()


@contextmanager
def computing(what: str) -> Iterator[None]:
    """Show on a terminal that a computation of unknown length goes on.

    It shows the number of steps, between which the computation checks its deadline.
    """
    written = "{desc}: {n_fmt} steps, {elapsed}"
    with tqdm(
        desc=what, bar_format=written, delay=PATIENCE, leave=False, disable=None, mininterval=0.5
    ) as bar:
        if bar.disable:
            yield
            return
        with until(_Steps(bar.update)):
            yield


def print_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print rows as aligned text."""
    click.echo(table(header, rows))


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Format rows as aligned text."""
    return tabulate(rows, header, disable_numparse=True, missingval="undefined")
