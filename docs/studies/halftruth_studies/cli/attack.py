"""``halftruth study attack``: assessment of additive noise by attacks."""

import csv
import math
from collections.abc import Iterator, Sequence
from typing import IO, Any

import click
import numpy as np
from halftruth_collector.cli import options
from halftruth_collector.cli.output import show, table
from halftruth_shared import ParameterError, RecordError
from halftruth_shared.results.wording import number, percent, places
from numpy.typing import NDArray

from ..attacks.assessment import ATTACKS, LARGEST, AttackResult, assess
from ..attacks.charts import attack_chart


@click.command()
@click.argument("records", type=click.File("r", encoding="utf-8-sig"))
@click.option(
    "--noise",
    required=True,
    metavar="NUMBER|NUMBERsd",
    help="Standard deviation of the noise: 5, or 0.5sd for half of each attribute's own.",
)
@click.option("--correlated", is_flag=True, help="Give the noise the correlations of the data.")
@click.option(
    "--attributes", metavar="NAMES", help="Columns of numbers, with commas between; all by default."
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    help="Of the simulation.",
)
@options.formats
@options.plot
def attack(
    records: IO[str],
    noise: str,
    correlated: bool,
    attributes: str | None,
    seed: int,
    plot: str | None,
    **given: Any,
) -> None:
    """Say what normal noise would hide of the numbers in RECORDS, a CSV file.

    The noise is added in a simulation, and five attacks try to take it out again. None of the
    records leaves this machine, and none is printed.
    """
    form = options.pop_output_format(given)
    names, values = _read(records, attributes)
    result = assess(names, values, noise, correlated=correlated, seed=seed)
    show(result, form, _lines, attack_chart, plot)


def _lines(result: AttackResult) -> Iterator[str]:
    kind = "with the data's correlations" if result.correlated else "independent between attributes"
    yield (
        f"{number(result.records)} records; simulated noise {kind}, of standard deviation"
        f" {result.noise}, seed {result.seed}; what is left of it is a root mean square error"
    )
    attacks = [left.attack for left in result.attributes[0].remaining]
    rows = []
    for found in result.attributes:
        digits = places([2 * min(left.error for left in found.remaining)], 3)
        rows.append(
            [
                found.attribute,
                number(found.standard_deviation, digits),
                number(found.noise, digits),
                *(number(left.error, digits) for left in found.remaining),
                found.best,
                percent(found.removed, 0),
            ]
        )
    yield table(
        ["attribute", "standard deviation", "noise", *(f"left by {name}" for name in attacks),
         "best attack", "of the noise's variance removed"],
        rows,
    )  # fmt: skip
    yield ("; ".join(f"{name}: {ATTACKS[name]}" for name in attacks))
    yield from result.reading


def _read(file: IO[str], wanted: str | None) -> tuple[Sequence[str], NDArray[np.float64]]:
    """Read names and values of columns; errors name line and attribute, but no value."""
    reader = csv.DictReader(file)
    try:
        known = reader.fieldnames or []
        names = known
        if wanted is not None:
            names = [part.strip() for part in wanted.split(",")]
            if not set(names) <= set(known):
                raise ParameterError(
                    "attributes: expected names of columns, with commas between them",
                    field="attributes",
                )
        if len(set(names)) < len(names) or not names:
            raise RecordError("line 1: expected different names of columns", field="records")
        values = [[_number(row[name], name, reader.line_num) for name in names] for row in reader]
    except (UnicodeDecodeError, csv.Error):
        raise RecordError(
            f"line {reader.line_num + 1}: expected CSV in UTF-8", field="records"
        ) from None
    return names, np.array(values, dtype=float).reshape(-1, len(names))


def _number(text: str | None, name: str, line: int) -> float:
    try:
        found = float(text or "")
    except ValueError:
        found = math.nan
    if not abs(found) <= LARGEST:
        raise RecordError(
            f"line {line}: attribute '{name}': expected a number (--attributes chooses columns)",
            field=name,
        )
    return found
