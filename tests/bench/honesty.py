"""How often results are wrong: in worlds without association, and against everything that is known.

``python tests/bench/honesty.py [--surveys 400] [--world NAME] [--csv FILE] [null] [known]``, some
half an hour on two cores. Every analysis of the registry is asked of every simulated survey; each
of its intervals, tests, decisions and claims has a row. ``tests/support/worlds.py`` says how.
"""

import csv
import math
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import click
from halftruth_collector.cli.output import print_table
from halftruth_shared import GammaDiagonal, RandomizedResponse, Schema, SplitQuestionnaire
from tqdm import tqdm
from worlds import Tally, World, simulate

Make = Callable[[Schema], Any]

#: Surveys of one piece of work.
_PIECE = 10

#: Rates that are right of tests and intervals; a bound has the upper one alone.
TWO_SIDED = (0.03, 0.07)

#: Share of surveys without an interval or a p-value from which on it is not always there.
SELDOM = 0.05

#: Simulation errors that none of thousands of rates is above what it should be by chance.
DOUBTLESS = 5.0

#: Kinds of rates among the surveys that have one.
WHERE_GIVEN = ("missed where given", "rejected where given")


def split(longest: int) -> Make:
    """Split questionnaires at γ = 19 for tables of up to so many questions."""
    lengths = dict.fromkeys(range(1, longest + 1), 1.0)
    return lambda schema: SplitQuestionnaire.designed(schema, 19, (), lengths)


def keep(probability: str) -> Make:
    """Randomized response that keeps each answer with this probability."""
    return lambda schema: RandomizedResponse(dict.fromkeys(schema.names, probability))


def whole(_: Schema) -> GammaDiagonal:
    """The gamma-diagonal matrix at γ = 19."""
    return GammaDiagonal(19)


SEVEN = (6,) * 7
NULL = (
    World("split, 7×6, pairs, 5 000", SEVEN, split(2), 5_000),
    World("split, 7×6, pairs, 5 000, skewed", SEVEN, split(2), 5_000, skewed=True),
    World("split, 7×6, pairs, 20 000", SEVEN, split(2), 20_000),
    World("split, 7×6, triples, 5 000", SEVEN, split(3), 5_000),
    World("unperturbed, 7×6, 1 000, skewed", SEVEN, keep("1"), 1_000, skewed=True, perturbed=False),
    World("kept with 0.8, 7×6, 5 000", SEVEN, keep("0.8"), 5_000),
    World("kept with 0.7, 3×6, 5 000", (6,) * 3, keep("0.7"), 5_000),
    World("split, 3×6, pairs, 5 000", (6,) * 3, split(2), 5_000),
    World("split, 3×4, pairs, 5 000", (4,) * 3, split(2), 5_000),
    World("split, 3×4, triples, 1 000, skewed", (4,) * 3, split(3), 1_000, skewed=True),
    World("gamma-diagonal, 3×4, 5 000", (4,) * 3, whole, 5_000),
    World("gamma-diagonal, 5 yes/no, 20 000", (2,) * 5, whole, 20_000, skewed=True),
    World("split, 8 yes/no, triples, 1 000", (2,) * 8, split(3), 1_000),
)
KNOWN = (
    World("split, 3×4, pairs, 5 000, weak", (4,) * 3, split(2), 5_000, strength=0.3),
    World("split, 3×4, pairs, 5 000, strong", (4,) * 3, split(2), 5_000, strength=1.0),
    World("split, 3×6, pairs, 20 000, strong", (6,) * 3, split(2), 20_000, strength=1.0),
    World("split, 6 yes/no, triples, 5 000, strong", (2,) * 6, split(3), 5_000, strength=1.0),
    World("split, 3×3, pairs, 5 000, no answer", (3,) * 3, split(2), 5_000, True, 0.6, True),
    World("gamma-diagonal, 3×3, 5 000, strong", (3,) * 3, whole, 5_000, strength=1.0),
    World("kept with 0.8, 3×4, 5 000, strong", (4,) * 3, keep("0.8"), 5_000, strength=1.0),
    World("kept with 0.8, 5 yes/no, 1 000, weak", (2,) * 5, keep("0.8"), 1_000, strength=0.5),
    World(
        "unperturbed, 3×4, 1 000, strong", (4,) * 3, keep("1"), 1_000, strength=1.0, perturbed=False
    ),
)

Job = tuple[World, str]
Key = tuple[str, str, str]


def run(jobs: Sequence[Job], surveys: int) -> dict[Job, Tally]:
    """Tallies of the surveys of every world, on all processors, with a bar."""
    found: dict[Job, Tally] = {job: Tally() for job in jobs}
    starts = range(0, surveys, _PIECE)
    with ProcessPoolExecutor() as pool:
        pieces = {
            pool.submit(_piece, number, start, min(_PIECE, surveys - start)): jobs[number]
            for start in starts
            for number in range(len(jobs))
        }
        for piece in tqdm(as_completed(pieces), total=len(pieces), unit="piece"):
            for key, sums in piece.result().items():
                found[pieces[piece]].sums[key] += sums
    return found


#: What processes of the pool have inherited.
_JOBS: list[Job] = []


def _piece(number: int, start: int, count: int) -> dict[Key, Any]:
    world, target = _JOBS[number]
    return simulate(world, target, range(start, start + count)).plain()


Rate = tuple[Job, int, float, float]


def below_or_above(kind: str, field: str, rate: Rate, seldom: bool, errors: float = 2.0) -> str:
    """Return where a rate is outside of what it should be, by so many of its simulation errors.

    `seldom` says that there often is no interval or p-value. Then nothing is claimed, and the
    rate of all surveys may be lower.
    """
    _, surveys, share, error = rate
    # Surveys in which outcomes that do not depend on each other would scatter as much.
    worth = share * (1 - share) / error**2 if error else surveys
    test = kind in ("missed", "rejected") and not seldom
    low, high = TWO_SIDED
    if share > high + errors * math.sqrt(high * (1 - high) / worth):
        return "above"
    if test and share < low - errors * math.sqrt(low * (1 - low) / worth):
        return "below"
    return ""


def report(found: dict[Job, Tally], file: Path | None) -> bool:
    """Print both tables and the rates that are outside; whether one is above without doubt."""
    rates: dict[Key, list[Rate]] = defaultdict(list)
    for job, tally in found.items():
        for analysis, field, kind, surveys, rate, error in tally.rows():
            rates[analysis, field, kind].append((job, surveys, rate, error))
    if file is not None:
        with file.open("w", newline="") as opened:
            writer = csv.writer(opened)
            writer.writerow(
                ["analysis", "field", "kind", "world", "target", "surveys", "rate", "error"]
            )
            for key, rows in sorted(rates.items()):
                writer.writerows([*key, w.name, t, n, r, e] for (w, t), n, r, e in rows)
    print_table(
        ["analysis", "field", "what", "worlds", "least %", "median %", "most %"],
        [
            [
                *key,
                len(rows),
                *(f"{100 * of([r for _, _, r, _ in rows]):.1f}" for of in (min, median, max)),
            ]
            for key, rows in sorted(rates.items())
            if key[2] not in ("above truth", "not given", *WHERE_GIVEN)
        ],
    )
    bad, doubtless = defaultdict(list), False
    for key, rows in sorted(rates.items()):
        analysis, field, kind = key
        if kind in ("refused", "above truth", "not given"):
            continue
        lacking = {job: rate for job, _, rate, _ in rates.get((analysis, field, "not given"), [])}
        for rate in rows:
            (world, target), surveys, share, error = rate
            seldom = lacking.get((world, target), 0) > SELDOM
            found_where = below_or_above(kind, field, rate, seldom)
            if not found_where or (kind in WHERE_GIVEN and not seldom):
                continue
            doubtless |= kind not in WHERE_GIVEN and (
                below_or_above(kind, field, rate, seldom, DOUBTLESS) == "above"
            )
            given = f"{100 * (1 - lacking.get((world, target), 0)):.0f}"
            row = [analysis, field, world.name, target, surveys, given]
            bad[kind, found_where].append([*row, f"{100 * share:.1f} ± {100 * error:.1f}"])
    for (kind, where), rows in sorted(bad.items()):
        limit = f"{100 * TWO_SIDED[where == 'above']:.0f} %"
        print(f"\n{len(rows)} times, more often than chance has it, {kind}: {where} {limit}")
        print_table(["analysis", "field", "world", "target", "surveys", "given %", "%"], rows)
    return doubtless


@click.command()
@click.argument("which", nargs=-1, type=click.Choice(["null", "known"]))
@click.option("--surveys", default=400, help="Surveys of each world.")
@click.option("--world", "only", default="", help="Only worlds with this in their name.")
@click.option("--csv", "file", type=click.Path(path_type=Path), help="Write every rate to a file.")
def main(which: tuple[str, ...], surveys: int, only: str, file: Path | None) -> None:
    """Print how often tests, intervals and claims of every analysis are wrong; 1 if too often."""
    wrong = False
    for name in which or ("null", "known"):
        targets = ("population",) if name == "null" else ("population", "respondents")
        worlds = [world for world in (NULL if name == "null" else KNOWN) if only in world.name]
        _JOBS[:] = [(world, target) for world in worlds for target in targets]
        print(f"{name}: {surveys} surveys of each of {len(worlds)} worlds")
        wrong |= report(run(_JOBS, surveys), file and file.with_stem(f"{file.stem}-{name}"))
    sys.exit(int(wrong))


if __name__ == "__main__":
    main()
