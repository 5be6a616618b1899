"""Derive ``census.csv`` from the UCI "Adult" files: ``python derive_census.py ADULT_FOLDER``.

CENSUS is the table of FRAPP Table 1: six attributes of the 48 842 people of ``adult.data`` and
``adult.test`` together, numbers cut into ranges. Only the count of each combination is kept.

FRAPP prints every range as closed above, such as (20, 40] hours per week. Its Table 3 counts
itemsets of hours closed below, such as [20, 40), and so do the ranges here. The difference is
large: 47 % of the people work 40 hours.

Source: Becker, B. and Kohavi, R. (1996), Adult, UCI Machine Learning Repository, licensed under
CC BY 4.0.
"""

import csv
import sys
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

CENSUS = Path(__file__).parents[3] / "collector" / "halftruth_collector" / "demo" / "census.csv"


def ranges(*bounds: int) -> Callable[[str], str]:
    """Cut a number into ranges whose upper bounds are included."""
    labels = [f"up to {bounds[0]}"]
    labels += [f"{low + 1} to {high}" for low, high in pairwise(bounds)]
    labels.append(f"over {bounds[-1]}")
    return lambda text: labels[bisect_left(bounds, int(text))]


#: Column of the Adult files and what becomes of its value, by attribute.
ATTRIBUTES: dict[str, tuple[int, Callable[[str], str]]] = {
    "age": (0, ranges(35, 55, 75)),
    "fnlwgt": (2, ranges(100_000, 200_000, 300_000, 400_000)),
    "hours-per-week": (12, ranges(19, 39, 59, 79)),
    "race": (8, str),
    "sex": (9, str),
    "native-country": (
        13,
        lambda country: country if country == "United-States" else "Other",
    ),
}


def people(folder: Path) -> Iterator[tuple[str, ...]]:
    """The six attributes of every person."""
    for name in ("adult.data", "adult.test"):
        with open(folder / name, encoding="ascii", newline="") as file:
            for row in csv.reader(file, skipinitialspace=True):
                if len(row) == 15:
                    yield tuple(cut(row[column]) for column, cut in ATTRIBUTES.values())


def main(folder: Path) -> None:
    """Write the counts where the demo has them."""
    counts = Counter(people(folder))
    with open(CENSUS, "w", encoding="ascii", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*ATTRIBUTES, "count"])
        writer.writerows([*cell, count] for cell, count in sorted(counts.items()))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
