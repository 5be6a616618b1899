"""Break a collector in every way it may break; exit 1 if a report is lost or counted twice."""

import argparse
import logging
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from halftruth_collector.cli.output import print_table
from programs import NotRun
from promise import Broken
from scenarios import SCENARIOS, Kind, Scenario, Stage

HEADER = [
    *["scenario", "database", "rounds", "reports sent", "acknowledged at first"],
    *["in flight at faults", "duplicates at retry", "counted", "by invitation", "verdict"],
]

#: Exit statuses: the invariant is violated; a requirement is missing on this machine.
BROKEN, NOT_RUN = 1, 3


@dataclass(frozen=True)
class Result:
    """One row of the table, and the notes below it."""

    row: list[str]
    notes: tuple[str, ...] = ()
    status: int = 0


def main() -> int:
    """Run the selected scenarios, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    names = [scenario.name for scenario in SCENARIOS]
    parser.add_argument("--quick", action="store_true", help="few rounds of everything")
    parser.add_argument("--only", action="append", choices=names, help="one scenario; repeatable")
    parser.add_argument("--database", choices=get_args(Kind), help="one database")
    parser.add_argument("--unsynced", action="store_true", help="a power cut has to be noticed")
    parser.add_argument("--seed", type=int, default=1, help="of all that is drawn at random")
    asked = parser.parse_args()
    # Signals raise SystemExit, so that all blocks are left and all processes and mounts cleaned up.
    # Shells start background processes with SIGINT ignored.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda received, _: sys.exit(128 + received))
    logging.getLogger("halftruth_client").setLevel(logging.ERROR)
    results = [
        _run(scenario, kind, asked)
        for scenario in SCENARIOS
        if not asked.only or scenario.name in asked.only
        for kind in scenario.kinds
        if asked.database in (None, kind)
    ]
    print_table(HEADER, [result.row for result in results])
    notes = [note for result in results for note in result.notes]
    if notes:
        print("", *notes, sep="\n")
    statuses = {result.status for result in results}
    return BROKEN if BROKEN in statuses else max(statuses, default=0)


def _run(scenario: Scenario, kind: Kind, asked: argparse.Namespace) -> Result:
    """Run one scenario on one database, and convert all errors to a result."""
    rng = random.Random(f"{asked.seed} {scenario.name} {kind}")
    began = time.monotonic()
    print(f"{scenario.title}, {kind} …", end=" ", flush=True, file=sys.stderr)
    with _folder() as folder:
        try:
            figures = scenario.run(
                Stage(kind, rng, folder, quick=asked.quick, synced=not asked.unsynced)
            )
        except NotRun as reason:
            result = Result(_row(scenario, kind, "NOT RUN"), (f"NOT RUN: {reason}",), NOT_RUN)
        except Exception as error:
            said = str(error) if isinstance(error, Broken) else traceback.format_exc()
            logs = [f"{log.name}:\n{log.read_text()[-2_000:]}" for log in folder.glob("*.log")]
            note = "\n".join([f"{scenario.title}, {kind}: {said}", *logs])
            result = Result(_row(scenario, kind, "BROKEN"), (note,), BROKEN)
        else:
            numbers = (
                *(figures.rounds, figures.sent, figures.at_first),
                *(figures.in_flight, figures.duplicates, figures.counted, figures.invited),
            )
            result = Result(_row(scenario, kind, "kept", *numbers), figures.notes)
    print(f"{result.row[-1]}, {time.monotonic() - began:.0f} s", file=sys.stderr)
    return result


def _row(scenario: Scenario, kind: Kind, verdict: str, *numbers: int) -> list[str]:
    shown = [str(number) for number in numbers] or [""] * (len(HEADER) - 3)
    return [scenario.title, kind, *shown, verdict]


@contextmanager
def _folder() -> Iterator[Path]:
    """Create a folder for one scenario that other users, such as PostgreSQL's, may enter."""
    with tempfile.TemporaryDirectory(prefix="halftruth-soak-") as name:
        os.chmod(name, 0o755)
        yield Path(name)


if __name__ == "__main__":
    sys.exit(main())
