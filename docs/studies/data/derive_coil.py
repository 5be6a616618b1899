"""Derive ``coil.csv`` from the UCI file ``ticdata2000.txt``: ``python derive_coil.py FOLDER``.

Six of the yes/no items that Guo makes of it, under the letters of that source: a customer has an
item if a number about him is above a bound. Only the count of each combination of the 5 822
customers is kept.

Source: van der Putten, P. (2000), Insurance Company Benchmark (COIL 2000), UCI Machine Learning
Repository, licensed under CC BY 4.0.
"""

import csv
import sys
from collections import Counter
from pathlib import Path

#: Column of each item, from 1, and its bound.
ITEMS = {"A": (18, 4), "B": (37, 4), "C": (42, 4), "D": (43, 3), "G": (59, 0), "H": (65, 0)}


def main(folder: Path) -> None:
    """Write the counts beside this script."""
    with open(folder / "ticdata2000.txt", encoding="ascii") as file:
        customers = [line.split() for line in file]
    counts = Counter(
        tuple("yes" if int(row[column - 1]) > bound else "no" for column, bound in ITEMS.values())
        for row in customers
    )
    with open(Path(__file__).with_name("coil.csv"), "w", encoding="ascii", newline="") as target:
        writer = csv.writer(target, lineterminator="\n")
        writer.writerow([*ITEMS, "count"])
        writer.writerows([*cell, count] for cell, count in sorted(counts.items()))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
