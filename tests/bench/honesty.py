"""Error rates of results in populations with known truth, and their power.

``python tests/bench/honesty.py [--surveys 80] [--narrow 0.8] [--world NAME] [--csv FILE]``; the
status is 1 if an interval, a test or a claim is wrong too often. Where the files of Adult are, real
people are among the populations. ``--narrow`` narrows all
intervals, which has to be detected. ``--power`` compares the share of true effects that are claimed
with true records and with a likelihood-ratio test. ``tests/support/worlds.py`` has the details.
"""

import csv
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))


import click
from adult_worlds import adult_worlds
from halftruth_collector.cli.output import print_table
from likelihood_ratio import SETTINGS, power
from tqdm import tqdm
from worlds import WORLDS, Tally, simulate

#: Surveys per task.
_PIECE = 5

#: Multiples of the width of intervals.
FACTORS = (1.0, 0.9, 0.8, 0.6)


EVERY = (*WORLDS, *adult_worlds())


def run(worlds: list[int], surveys: int, factors: tuple[float, ...]) -> Tally:
    """Return the tally of the surveys of some worlds, on all processors, with a progress bar."""
    tally = Tally(factors)
    pieces = [
        (n, range(i, min(i + _PIECE, surveys))) for i in range(0, surveys, _PIECE) for n in worlds
    ]
    with ProcessPoolExecutor() as pool:
        jobs = [pool.submit(_piece, *piece, factors) for piece in pieces]
        for job in tqdm(as_completed(jobs), total=len(jobs), unit="piece"):
            tally.merge(job.result())
    return tally


def _piece(number: int, seeds: range, factors: tuple[float, ...]) -> dict[tuple[str, ...], object]:
    return dict(simulate(EVERY[number], seeds, factors).sums)


def _power(number: int, surveys: int) -> tuple[object, ...]:
    # A setting has functions that cannot be pickled.
    return power(SETTINGS[number], surveys)


def report(tally: Tally, narrow: float, file: Path | None) -> bool:
    """Print rates, remarks and failures; return whether there are failures."""
    if file is not None:
        with file.open("w", newline="") as opened:
            writer = csv.writer(opened)
            writer.writerow(["narrowed to", "table", "name", "surveys", "rate", "error"])
            for factor in tally.factors:
                for table in sorted({key[0] for key in tally.sums}):
                    for name, *numbers in tally.rates(table, factor):
                        writer.writerow([factor, table, ": ".join(name), *numbers])
    for table in ("all", "quantity", "list", "claim"):
        rows = [
            [": ".join(name), surveys, f"{100 * rate:.1f} ± {100 * error:.1f}"]
            for name, surveys, rate, error in tally.rates(table, narrow)
            if rate or table in ("all", "quantity")
        ]
        if rows:
            print(f"\n{table}: % that are false")
            print_table(["", "surveys", "%"], rows)
    print("\nRemarks", *tally.remarks(), sep="\n  ")
    for factor in sorted({narrow, *tally.factors}, reverse=True):
        found = tally.failures(factor)
        print(f"\n{len(found)} failures with intervals of {100 * factor:.0f} % of their width")
        print(*(f"  {each}" for each in (found if factor == narrow else found[:3])), sep="\n")
    return bool(tally.failures(narrow))


@click.command()
@click.option("--surveys", default=80, help="Surveys of each world.")
@click.option("--narrow", default=1.0, help="Narrow all intervals to this multiple of their width.")
@click.option("--world", "only", default="", help="Only worlds with this in their name.")
@click.option("--csv", "file", type=click.Path(path_type=Path), help="Write every rate to a file.")
@click.option("--power", "of_power", is_flag=True, help="Compare power instead.")
def main(surveys: int, narrow: float, only: str, file: Path | None, of_power: bool) -> None:
    """Print how often intervals, tests and claims are wrong; 1 if too often."""
    if of_power:
        with ProcessPoolExecutor() as pool:
            rows = [*pool.map(_power, range(len(SETTINGS)), [surveys] * len(SETTINGS))]
        print_table(
            ["effect", "world", "true records", "reports", "likelihood ratio", "ratio"], rows
        )
        return
    worlds = [n for n, world in enumerate(EVERY) if only in world.name]
    factors = tuple(sorted({*FACTORS, narrow}, reverse=True))
    sys.exit(int(report(run(worlds, surveys, factors), narrow, file)))


if __name__ == "__main__":
    main()
