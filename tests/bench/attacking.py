"""Cost of hostile requests to a collector by size, and delay of concurrent single reports.

As a program, it prints only these figures.
"""

import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from time import monotonic, sleep
from uuid import uuid4

from halftruth_collector import operations

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import msgspec
from halftruth_collector.cli.output import print_table
from halftruth_collector.collector_store import Store
from halftruth_shared import Attribute, GammaDiagonal, Schema, Survey
from hostile import ATTACKS, SIZES, ask, cost, half_sent, reports, reports_beside
from serving import run_collector

SURVEY = Survey(
    "health",
    "Health at work",
    Schema((Attribute("smoker", ("no", "yes")), Attribute("drinks", ("never", "weekly", "daily")))),
    GammaDiagonal("19"),
)

#: Seconds of each attack next to single reports, and number of half-sent connections.
BESIDE, HALF = 2.0, 200


def body() -> bytes:
    """Return the body of a request with one new report."""
    report = {"id": str(uuid4()), "values": [0, 1]}
    return msgspec.json.encode({"digest": SURVEY.digest, "reports": [report]})


def costs() -> tuple[list[str], list[list[str]]]:
    """Return header and rows: processor milliseconds by size, and the delay of single reports."""
    attacks = {**ATTACKS, "reports": reports(SURVEY.digest)}
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        database = f"sqlite:///{folder}/bench.db"
        with Store(database) as store:
            operations.publish_survey(store, SURVEY)
        with run_collector(database, Path(folder), "--quiet") as collector:
            url, workers = collector.url, collector.workers()
            for name, make in attacks.items():
                spent = [1e3 * cost(url, workers, make, size) for size in SIZES]
                beside = _beside(url, partial(ask, url, make(SIZES[-1])))
                rows.append([name, *(f"{one:.2f}" for one in spent), *beside])
            for heads in (True, False):
                with half_sent(url, HALF, heads=heads):
                    beside = _beside(url, partial(sleep, 0.1))
                name = f"{HALF} connections with half a {'head' if heads else 'body'}"
                rows.append([name, *[""] * len(SIZES), *beside])
            rows.append(["nothing", *[""] * len(SIZES), *_beside(url, partial(sleep, 0.1))])
    header = ["one request with", *(f"{size // 1024} kB" for size in SIZES)]
    return [*header, "a report beside, median", "and worst"], rows


def _beside(url: str, attack: Callable[[], object]) -> list[str]:
    end = monotonic() + BESIDE
    with reports_beside(url, body) as seen:
        while monotonic() < end:
            attack()
    if seen.statuses != {202}:
        raise RuntimeError(f"single reports were answered {sorted(seen.statuses)}")
    return [f"{1e3 * median(seen.seconds):.1f}", f"{1e3 * max(seen.seconds):.1f}"]


def print_costs() -> None:
    """Print all costs."""
    print("Milliseconds of processor time that a hostile request costs, and of single reports:")
    print_table(*costs())


if __name__ == "__main__":
    print_costs()
