"""Derive the tables of the studies from the UCI "Adult" file: ``python derive.py ADULT_FOLDER``.

The people of ``adult.data`` whose every value is known, 30 162 of them, as Guo's chapter 5 has
them. Only the count of each combination of the attributes studied is kept.

Source: Becker, B. and Kohavi, R. (1996), Adult, UCI Machine Learning Repository, licensed under
CC BY 4.0.
"""

import csv
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

#: Column of each attribute in the Adult files.
COLUMNS = {
    "workclass": 1,
    "education": 3,
    "marital-status": 5,
    "occupation": 6,
    "race": 8,
    "sex": 9,
    "salary": 14,
}

#: The tables: quasi-identifiers, and the sensitive attribute that each is called after.
TABLES = {
    "adult-workclass": ["education", "marital-status", "sex", "race", "workclass"],
    "adult-occupation": ["education", "salary", "sex", "race", "occupation"],
}


def people(folder: Path) -> Iterator[list[str]]:
    """All columns of every person without a missing value."""
    with open(folder / "adult.data", encoding="ascii", newline="") as file:
        for row in csv.reader(file, skipinitialspace=True):
            if len(row) == 15 and "?" not in row:
                yield row


def main(folder: Path) -> None:
    """Write the counts beside this script."""
    rows = list(people(folder))
    for name, attributes in TABLES.items():
        counts = Counter(tuple(row[COLUMNS[attribute]] for attribute in attributes) for row in rows)
        file = Path(__file__).with_name(f"{name}.csv")
        with open(file, "w", encoding="ascii", newline="") as target:
            writer = csv.writer(target, lineterminator="\n")
            writer.writerow([*attributes, "count"])
            writer.writerows([*cell, count] for cell, count in sorted(counts.items()))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
