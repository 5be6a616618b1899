"""Derive ``coil.csv`` from the UCI file ``ticdata2000.txt``: ``python derive_coil.py FOLDER``.

Six of the yes/no items that Guo makes of it, under the letters of that source. Only the count of
each combination of the 5 822 customers is kept.

Source: van der Putten, P. (2000), Insurance Company Benchmark (COIL 2000), UCI Machine Learning
Repository, licensed under CC BY 4.0.
"""

import csv
import sys
from collections import Counter
from pathlib import Path

from halftruth_studies.mining.coil import ITEMS, coil_items

NAMES = ("A", "B", "C", "D", "G", "H")


def main(folder: Path) -> None:
    """Write the counts beside this script."""
    items = coil_items(folder / "ticdata2000.txt")[:, [ITEMS[name][0] - 1 for name in NAMES]]
    counts = Counter(tuple("yes" if has else "no" for has in row) for row in items.tolist())
    with open(Path(__file__).with_name("coil.csv"), "w", encoding="ascii", newline="") as target:
        writer = csv.writer(target, lineterminator="\n")
        writer.writerow([*NAMES, "count"])
        writer.writerows([*cell, count] for cell, count in sorted(counts.items()))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
