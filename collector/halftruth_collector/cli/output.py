"""Results on standard output: as a table to read, as JSON or as CSV."""

import csv
import sys
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

import click
import msgspec
from halftruth_shared import ParameterError
from halftruth_shared.messages import Interval, Items, Message
from tabulate import tabulate


class Format(StrEnum):
    """How a result is printed."""

    TEXT = "text"
    JSON = "json"
    CSV = "csv"


def format_options(command: Any) -> Any:
    """Add ``--json`` and ``--csv``."""
    command = click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")(command)
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


def chosen_format(*, as_json: bool, as_csv: bool) -> Format:
    """The format asked for.

    Raises
    ------
    ParameterError
        If both are.
    """
    if as_json and as_csv:
        raise ParameterError("--json, --csv: expected one of them", field="json")
    return Format.JSON if as_json else Format.CSV if as_csv else Format.TEXT


def print_json(message: Message) -> None:
    """Print a message as JSON."""
    click.echo(msgspec.json.format(msgspec.json.encode(message), indent=2).decode())


def print_csv(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print rows as CSV; what is undefined is empty."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)


def print_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print rows as aligned text."""
    click.echo(tabulate(rows, header, disable_numparse=True, missingval="undefined"))


def percent(value: float | None) -> str:
    """A share as a percentage."""
    return "undefined" if value is None else f"{value:.2%}"


def between(interval: Interval | None) -> str:
    """An interval of shares as percentages."""
    return "undefined" if interval is None else f"{interval[0]:.2%} to {interval[1]:.2%}"


def words(items: Items) -> str:
    """An itemset in words."""
    return ", ".join(f"{name}={category}" for name, category in items.items())


def ends(interval: Interval | None) -> tuple[float | None, float | None]:
    """The two ends of an interval, for CSV."""
    return (None, None) if interval is None else interval
