"""The Adult data of the studies, as arrays."""

import csv
from pathlib import Path

import numpy as np

STUDIES = Path(__file__).parents[2] / "docs" / "studies" / "data"


def adult(name="adult-workclass"):
    """Return the counts of a file of Adult: quasi-identifiers, then the sensitive attribute."""
    with open(STUDIES / f"{name}.csv", encoding="ascii", newline="") as file:
        rows = [list(row.values()) for row in csv.DictReader(file)]
    *columns, counts = zip(*rows, strict=True)
    codes = [np.unique(column, return_inverse=True) for column in columns]
    table = np.zeros([len(found) for found, _ in codes])
    table[tuple(code for _, code in codes)] = np.array(counts, dtype=float)
    return table
