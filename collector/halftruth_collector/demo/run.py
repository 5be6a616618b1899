"""The command that runs the demonstration."""

import signal
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import click
import numpy as np
from halftruth_client import Analyst, Client
from halftruth_shared import (
    GammaDiagonal,
    ParameterError,
    Protection,
    RandomizedResponse,
    SplitQuestionnaire,
    Survey,
)
from halftruth_shared.mechanisms.split_questionnaire import enumerate_tables
from halftruth_shared.results.wording import items, number, percent, share, share_interval
from numpy.typing import NDArray
from tabulate import tabulate
from tqdm import tqdm

from .. import operations
from ..collector_store import Store
from ..estimation import Counts
from ..estimation.bounds import Array
from ..estimation.groups import group_codes, survey_in_groups
from ..estimation.reconstruction import reconstruction
from .census import GROUPED, SCHEMA, WANTED, census_codes, census_survey
from .comparison import Itemset, error_in_groups, root_mean_square_errors, true_supports
from .process import collector_process

GAMMA = "19"
MIN_SUPPORT = 0.02

#: Columns of a terminal that the texts fill.
WIDTH = 100


def run_demo(keep: str | None = None, people: int | None = None) -> None:
    """Send CENSUS with four designs, and print the estimates with the true values.

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
    designs = _designs()
    first = next(iter(designs.values()))
    _introduce(len(codes))
    with tempfile.TemporaryDirectory(prefix="halftruth-demo-") as folder:
        file = Path(folder) / "demo.db" if keep is None else Path(keep)
        database = f"sqlite:///{file}"
        with Store(database) as store:
            for survey in designs.values():
                operations.publish_survey(store, survey)
            token = operations.create_token(store, "analyst")
        with collector_process(database, "--quiet") as url:
            _send(url, list(designs.values()), codes)
            analyst = Analyst(url, token)
            truth = _true_supports(first, codes)
            _print_largest(analyst, first, truth)
            _say("", *Protection.of(first).sentences())
            _print_coverage(analyst, first, truth)
        with Store(database) as store:
            counts = {name: store.reports.counts(each.id)[1] for name, each in designs.items()}
        _print_designs(designs, counts, codes)
    click.echo(f"\nDone in {time.monotonic() - started:.0f} s.")
    # Repeat the command as it was called, since it may not be on the path.
    command = sys.argv[0] if Path(sys.argv[0]).name == "halftruth" else "halftruth"
    if keep is None:
        click.echo("Nothing is left behind. To look at the results as pages, keep the reports:")
        click.echo(f"  {command} demo --keep demo.db")
        return
    click.echo(
        f"The reports are in {keep}. To look at the results as pages, sign in with this token:\n"
        f"  {token}\n"
        f"  {command} serve --database sqlite:///{keep}\n"
        f"  http://127.0.0.1:8000/results/{first.id}/itemsets"
    )


def _designs() -> dict[str, Survey]:
    """Return the surveys that are compared, by name; the first is the one to take."""
    lengths = dict.fromkeys(range(1, len(SCHEMA.names) + 1), 1.0)
    every = SplitQuestionnaire.designed(SCHEMA, GAMMA, (), lengths)
    wanted = SplitQuestionnaire.designed(GROUPED, GAMMA, (), [WANTED])
    randomized = RandomizedResponse.for_amplification(SCHEMA, GAMMA)
    return {
        "split questionnaire, wanted tables": Survey(
            "census-wanted-tables", "CENSUS with wanted tables", GROUPED, wanted
        ),
        "split questionnaire, all tables": census_survey("census-all-tables", every),
        "gamma-diagonal": census_survey("census-gamma-diagonal", GammaDiagonal(GAMMA)),
        "randomized response": census_survey("census-randomized-response", randomized),
    }


def _introduce(people: int) -> None:
    *others, last = map(str, WANTED.by or ())
    _say(
        f"CENSUS: {number(people)} people, {len(SCHEMA.names)} questions. Wanted:"
        f" {' and '.join(WANTED.of)}, each by {', '.join(others)} and {last}.",
        "Each device draws a few of these questions, perturbs the answers, and sends the result.",
    )


def _send(url: str, surveys: Sequence[Survey], codes: NDArray[np.int64]) -> None:
    """Send every record through the client, once for each survey."""
    client = Client(url, max_gamma=GAMMA)
    records = [SCHEMA.decode(row) for row in codes.tolist()]
    total = len(surveys) * len(records)
    with tqdm(total=total, desc="sending", unit=" reports", disable=None, leave=False) as bar:
        for survey in surveys:
            client.submit_many(client.survey(survey.id), records, progress=bar.update)


def _true_supports(survey: Survey, codes: NDArray[np.int64]) -> dict[Itemset, float]:
    """Compute the true support of all itemsets of the answers, and of their groups."""
    columns = [
        group_codes(each)[column] if each.collapsed else column
        for each, column in zip(survey.schema.attributes, codes.T, strict=True)
    ]
    groups = survey_in_groups(survey).schema
    return true_supports(SCHEMA, _count(SCHEMA.shape, codes)) | true_supports(
        groups, _count(groups.shape, np.stack(columns, axis=1))
    )


def _count(shape: tuple[int, ...], codes: NDArray[np.int64]) -> Counts:
    return Counts(SCHEMA.names, shape, *np.unique(codes, axis=0, return_counts=True))


def _print_largest(analyst: Analyst, survey: Survey, truth: dict[Itemset, float]) -> None:
    """Print the ten largest itemsets with the true supports."""
    # The true supports are those of exactly these people.
    result = analyst.itemsets(survey.id, min_support=MIN_SUPPORT, target="respondents")
    rows = sorted(result.rows, key=lambda row: -(row.value or 0.0))[:10]
    caveats = [each.sentence for each in result.caveats if each.code == "asked together"]
    largest = (
        f"The ten largest of {number(len(result.rows))} itemsets with an estimate of at least"
        f" {percent(MIN_SUPPORT)}. Intervals are adjusted for choosing the largest."
    )
    _say("", " ".join([largest, *caveats]))
    _print(
        ["itemset", "support", "interval", "true"],
        [
            [
                items(row["itemset"]),
                share(row.value, row.ends),
                share_interval(row.ends),
                share(truth[tuple(row["itemset"].items())], row.ends),
            ]
            for row in rows
        ],
    )


def _print_coverage(analyst: Analyst, survey: Survey, truth: dict[Itemset, float]) -> None:
    """Print how many of all intervals, adjusted for nothing, contain the true support."""
    views = [sorted(view.positions) for view in survey.perturbation.views]
    tables = {
        table
        for view in views
        for length in range(1, len(view) + 1)
        for table in combinations(view, length)
    }
    covered, without = [], 0
    how: Any = {"unit": " tables", "disable": None, "leave": False}
    for table in tqdm(sorted(tables), desc="comparing intervals", **how):
        names = [SCHEMA.names[position] for position in table]
        result = analyst.table(survey.id, attributes=names, estimate="moment", target="respondents")
        for row in result.rows:
            if row.ends is None and row.set != "empty":
                without += 1
                continue
            # An empty interval, of values outside the possible range, misses the truth.
            share = truth[tuple((name, row[name]) for name in names)]
            covered.append(row.ends is not None and row.ends[0] <= share <= row.ends[1])
    held = percent(sum(covered) / len(covered), 1) if covered else "none"
    _say(
        f"Coverage: {number(sum(covered))} of {number(len(covered))} intervals ({held}) contain the"
        " true support; 95 % are expected on average over surveys. These are the unadjusted"
        " intervals of all itemsets that the reports identify, listed or not: single answers in"
        " detail, combinations in groups of answers."
    )
    if without:
        _say(
            f"Itemsets without an interval: {number(without)}. By chance, as in one survey in a"
            " hundred, their reports contradict the design."
        )


def _print_designs(
    designs: dict[str, Survey], counts: dict[str, Counts], codes: NDArray[np.int64]
) -> None:
    """Print the errors and the promises of all designs in one table."""
    truth, rows = _count(SCHEMA.shape, codes), []
    how: Any = {"unit": " designs", "disable": None, "leave": False}
    for name, survey in tqdm(designs.items(), desc="comparing designs", **how):
        [alone] = root_mean_square_errors(_unbiased(survey, counts[name]), truth, [1])
        wanted = error_in_groups(
            _unbiased(survey_in_groups(survey), counts[name]),
            truth,
            GROUPED,
            enumerate_tables(SCHEMA, WANTED),
        )
        protection = Protection.of(survey)
        errors = [number(100 * error, 2) for error in (alone, wanted)]
        rows.append([name, *errors, protection.record.written, protection.answer.written])
    _say(
        "",
        "The same people with four designs, all sent and counted over HTTP. Root-mean-square"
        " errors in percentage points: of the answers to one question, and of the groups of the"
        " wanted tables. γ of an answer is against someone who knows all other answers.",
    )
    _print(["design", "one question", "wanted tables", "γ of record", "γ of answer"], rows)


def _unbiased(survey: Survey, counts: Counts) -> Callable[[Sequence[str]], Array]:
    source = reconstruction(survey)
    return lambda names: source.table(counts, names).value


def _say(*paragraphs: str) -> None:
    for each in paragraphs:
        click.echo(textwrap.fill(each, WIDTH, break_on_hyphens=False))


def _print(header: list[str], rows: list[list[str]]) -> None:
    click.echo(tabulate(rows, header, disable_numparse=True))
