"""Run the demonstration."""

import signal
import sys
import tempfile
import time
from pathlib import Path

import click
from halftruth_client import Analyst, Client
from halftruth_shared import GammaDiagonal, ParameterError, RandomizedResponse, Survey
from tqdm import tqdm

from ..charts.wording import words
from ..cli.output import print_table
from ..estimate import Counts
from ..presentation import between, percent
from ..store import Store
from .census import SCHEMA, census_counts, census_records, census_survey
from .comparison import Itemset, LengthComparison, compare, true_supports
from .process import collector_process

GAMMA = "19"
MIN_SUPPORT = 0.02

#: Lengths whose supports are known less well are left out of the list of largest itemsets.
SHOWN_HALF_WIDTH = 0.1


def run_demo(keep: str | None = None) -> None:
    """Send CENSUS with two mechanisms, and print what comes back beside the truth.

    Parameters
    ----------
    keep : str, optional
        A new SQLite file for what the collector counts; by default it is thrown away.

    Raises
    ------
    ParameterError
        If the file is there already.
    """
    if keep is not None and Path(keep).exists():
        raise ParameterError(f"keep: '{keep}' is there already; expected a new file", field="keep")
    # Whoever ends this process ends the collector with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    started = time.monotonic()
    truth_counts = census_counts()
    truth = true_supports(SCHEMA, truth_counts)
    click.echo(
        f"CENSUS: {truth_counts.reports} people, {len(SCHEMA.attributes)} attributes,"
        f" {SCHEMA.size} cells; privacy level gamma = {GAMMA}:\n"
        "what someone thought 5 % likely, a report can at most make 50 % likely."
    )
    surveys = (
        census_survey("census-gamma-diagonal", GammaDiagonal(GAMMA)),
        census_survey(
            "census-randomized-response", RandomizedResponse.for_amplification(SCHEMA, GAMMA)
        ),
    )
    with tempfile.TemporaryDirectory(prefix="halftruth-demo-") as folder:
        file = Path(folder) / "demo.db" if keep is None else Path(keep)
        database = f"sqlite:///{file}"
        with Store(database) as store:
            for survey in surveys:
                store.surveys.publish(survey)
            token = store.tokens.create("analyst")
        with collector_process(database, "--quiet") as url:
            for survey in surveys:
                _send(url, survey)
                _report(Analyst(url, token), survey, truth_counts, truth)
    click.echo(f"\nDone in {time.monotonic() - started:.0f} s.")
    if keep is None:
        click.echo("Nothing is left behind.")
        return
    click.echo(
        f"The reports are in {keep}. Serve it, and look at the results with the token {token}:"
    )
    for survey in surveys:
        click.echo(f"  http://127.0.0.1:8000/results/{survey.id}/itemsets")


def _send(url: str, survey: Survey) -> None:
    """Send every record through the client."""
    click.echo(f"\n{survey.title}, through {url}")
    client = Client(url, max_gamma=GAMMA)
    records = census_records()
    with tqdm(total=len(records), desc="sending", unit=" reports", disable=None) as bar:
        delivery = client.submit_many(client.survey(survey.id), records, progress=bar.update)
    click.echo(f"{delivery.accepted} reports counted")


def _report(analyst: Analyst, survey: Survey, counts: Counts, truth: dict[Itemset, float]) -> None:
    """Fetch the itemsets and print them beside the truth."""
    # Exactly these people are described, and every itemset not ruled out is wanted.
    result = analyst.itemsets(
        survey.id, min_support=MIN_SUPPORT, select="upper", target="respondents"
    )
    click.echo(f"\nItemsets with a support of at least {MIN_SUPPORT:.0%}, by length:")
    rows = compare(truth, result.itemsets, result.precision, MIN_SUPPORT)
    print_table(
        [
            "length",
            "truly frequent",
            "found",
            "support error",
            "false negatives",
            "false positives",
            "intervals with the truth",
        ],
        [
            [
                row.length,
                row.frequent,
                row.found,
                percent(row.support_error),
                percent(row.false_negatives),
                percent(row.false_positives),
                percent(row.covered),
            ]
            for row in rows
        ],
    )
    click.echo("\nWhat can be concluded from this many reports:")
    for row in rows:
        click.echo(f"  length {row.length}: {_verdict(row)}")
    shown = {row.length for row in rows if _is_telling(row)}
    lengths = ", ".join(map(str, sorted(shown)))
    click.echo(
        f"\nThe ten largest itemsets of length {lengths}; those of other lengths are known only to"
        f" more than ±{SHOWN_HALF_WIDTH:.0%}, and the largest of them would be mere noise."
        "\nEach interval is for one itemset by itself; the largest of many estimates are likelier"
        " to be too large:"
    )
    found = [itemset for itemset in result.itemsets if len(itemset.items) in shown]
    largest = sorted(found, key=lambda itemset: -itemset.support)[:10]
    print_table(
        ["itemset", "support", "95% interval", "decision", "truth"],
        [
            [
                words(itemset.items),
                percent(itemset.support),
                between(itemset.interval),
                itemset.decision,
                percent(truth[tuple(itemset.items.items())]),
            ]
            for itemset in largest
        ],
    )


def _is_telling(row: LengthComparison) -> bool:
    half_width = None if row.precision is None else row.precision.half_width
    return half_width is not None and half_width <= SHOWN_HALF_WIDTH


def _verdict(row: LengthComparison) -> str:
    return "nothing left to examine" if row.precision is None else row.precision.verdict
