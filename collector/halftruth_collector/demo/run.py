"""The command that runs the demonstration."""

import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import click
import numpy as np
from halftruth_client import Analyst, Client
from halftruth_shared import (
    GammaDiagonal,
    Mechanism,
    ParameterError,
    Protection,
    RandomizedResponse,
    SplitQuestionnaire,
    Survey,
)
from halftruth_shared.results.long_table import decision
from halftruth_shared.results.wording import items, number, percent, share, share_interval
from numpy.typing import NDArray
from tabulate import tabulate
from tqdm import tqdm

from .. import operations
from ..collector_store import Store
from ..estimation import Counts, Estimator
from .census import SCHEMA, census_codes, census_survey
from .comparison import (
    Itemset,
    LengthComparison,
    compare,
    root_mean_square_errors,
    true_supports,
)
from .process import collector_process

GAMMA = "19"
MIN_SUPPORT = 0.02

#: Largest half-width of intervals; the list of largest itemsets leaves out other lengths.
SHOWN_HALF_WIDTH = 0.1


def run_demo(keep: str | None = None, people: int | None = None) -> None:
    """Send CENSUS with three mechanisms, and print the estimates with the true values.

    Parameters
    ----------
    keep : str, optional
        New SQLite file for the database of the collector; by default it is deleted.
    people : int, optional
        Size of a sample of the people.

    Raises
    ------
    ParameterError
        If the file exists.
    """
    if keep is not None and Path(keep).exists():
        raise ParameterError(f"keep: '{keep}' is there already; expected a new file", field="keep")
    # Terminating this process must terminate the collector, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    started = time.monotonic()
    codes = census_codes(people)
    truth_counts = Counts(SCHEMA.names, SCHEMA.shape, *np.unique(codes, axis=0, return_counts=True))
    truth = true_supports(SCHEMA, truth_counts)
    lengths = range(1, len(SCHEMA.attributes) + 1)
    mechanisms: tuple[Mechanism, ...] = (
        SplitQuestionnaire.designed(SCHEMA, GAMMA, (), dict.fromkeys(lengths, 1.0)),
        GammaDiagonal(GAMMA),
        RandomizedResponse.for_amplification(SCHEMA, GAMMA),
    )
    surveys = [census_survey(f"census-{mechanism.kind}", mechanism) for mechanism in mechanisms]
    click.echo(
        f"CENSUS: {truth_counts.reports} people, {len(SCHEMA.attributes)} attributes,"
        f" {SCHEMA.size} cells"
    )
    with tempfile.TemporaryDirectory(prefix="halftruth-demo-") as folder:
        file = Path(folder) / "demo.db" if keep is None else Path(keep)
        database = f"sqlite:///{file}"
        with Store(database) as store:
            for survey in surveys:
                operations.publish_survey(store, survey)
            token = operations.create_token(store, "analyst")
        with collector_process(database, "--quiet") as url:
            for survey in surveys:
                _send(url, survey, codes)
                _report(Analyst(url, token), survey, truth_counts, truth)
        with Store(database) as store:
            _summarize(store, surveys, truth_counts)
    click.echo(f"\nDone in {time.monotonic() - started:.0f} s.")
    if keep is None:
        click.echo("Nothing is left behind.")
        return
    # Repeat the command as it was called, since it may not be on the path.
    command = sys.argv[0] if Path(sys.argv[0]).name == "halftruth" else "halftruth"
    click.echo(
        f"The reports are in {keep}. This shows them as pages, after signing in with {token}:\n"
        f"  {command} serve --database sqlite:///{keep}"
    )
    for survey in surveys:
        click.echo(f"  http://127.0.0.1:8000/results/{survey.id}/itemsets")


def _send(url: str, survey: Survey, codes: NDArray[np.int64]) -> None:
    """Send every record through the client."""
    click.echo(f"\n{survey.title_in()}, through {url}")
    click.echo("\n".join(Protection.of(survey).sentences()))
    client = Client(url, max_gamma=GAMMA)
    records = [SCHEMA.decode(row) for row in codes.tolist()]
    with tqdm(total=len(records), desc="sending", unit=" reports", disable=None) as bar:
        delivery = client.submit_many(client.survey(survey.id), records, progress=bar.update)
    click.echo(f"{delivery.accepted} reports counted")


def _report(analyst: Analyst, survey: Survey, counts: Counts, truth: dict[Itemset, float]) -> None:
    """Fetch the itemsets and print them with the true values."""
    # The true values are those of the people in the sample.
    result = analyst.itemsets(
        survey.id,
        min_support=MIN_SUPPORT,
        max_length=len(SCHEMA.attributes),
        target="respondents",
    )
    click.echo(f"\nItemsets with a support of at least {percent(MIN_SUPPORT)}, by length:")
    rows = compare(truth, result, MIN_SUPPORT)
    _print(
        [
            *("length", "truly frequent", "found", "support error", "false negatives"),
            *("false positives", "intervals with the truth"),
        ],
        [
            [
                *(row.length, row.errors.frequent, row.errors.found),
                *(
                    percent(value, 1)
                    for value in (
                        row.errors.support_error,
                        row.errors.false_negatives,
                        row.errors.false_positives,
                        row.covered,
                    )
                ),
            ]
            for row in rows
        ],
    )
    click.echo("\nPrecision by length:")
    for row in rows:
        unexamined = f"Length {row.length}: nothing left to examine."
        click.echo(f"  {row.precision.sentence if row.precision else unexamined}")
    shown = {row.length for row in rows if _is_telling(row)}
    click.echo(
        "\nThe ten largest itemsets. Their intervals are adjusted, since the largest of many"
        " estimates tend\nto be too large:"
    )
    if len(shown) < len(rows):
        lengths = ", ".join(str(row.length) for row in rows if row.length not in shown)
        click.echo(
            f"(Without length {lengths}, whose margin of error is above"
            f" ±{percent(SHOWN_HALF_WIDTH)}: the largest estimates would be noise.)"
        )
    itemsets = [itemset for itemset in result.rows if len(itemset["itemset"]) in shown]
    largest = sorted(itemsets, key=lambda itemset: -(itemset.value or 0.0))[:10]
    _print(
        ["itemset", "support", "interval", "decision", "truth"],
        [
            [
                items(itemset["itemset"]),
                share(itemset.value, itemset.ends),
                share_interval(itemset.ends),
                decision(itemset, result.query.confidence),
                share(truth[tuple(itemset["itemset"].items())], itemset.ends),
            ]
            for itemset in largest
        ],
    )


def _summarize(store: Store, surveys: Sequence[Survey], truth: Counts) -> None:
    """Print the errors of all surveys in one table."""
    lengths = range(1, len(SCHEMA.attributes) + 1)
    click.echo(
        "\nThe same people and the same protection: root-mean-square error of all supports, in"
        " percentage points,\nby length. Only unbiased estimates have intervals:"
    )
    rows: list[list[object]] = []
    for survey in surveys:
        estimator = Estimator(survey, store.reports.counts(survey.id)[1])
        for name, table in (
            ("unbiased", partial(_unbiased, estimator)),
            ("best guess", estimator.best_guess.table),
        ):
            errors = root_mean_square_errors(table, truth, lengths)
            rows.append([survey.mechanism.kind, name, *(number(100 * e, 2) for e in errors)])
    _print(["mechanism", "estimate", *map(str, lengths)], rows)


def _unbiased(estimator: Estimator, names: Sequence[str]) -> NDArray[np.float64]:
    return estimator.table(names).value


def _is_telling(row: LengthComparison) -> bool:
    half_width = None if row.precision is None else row.precision.values.get("margin")
    return half_width is not None and half_width <= SHOWN_HALF_WIDTH


def _print(header: list[str], rows: list[list[object]]) -> None:
    click.echo(tabulate(rows, header, disable_numparse=True))
