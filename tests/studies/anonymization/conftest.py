"""The data on which the source compares releases."""

import csv
from pathlib import Path

import numpy as np
import pytest
from halftruth_shared import Attribute, Schema

FOLDER = Path(__file__).parents[3] / "docs" / "studies" / "data"


@pytest.fixture(scope="session")
def adult():
    """ES-GRO: schema and counts of education, salary, sex, race and occupation."""
    with open(FOLDER / "adult-occupation.csv", encoding="ascii", newline="") as file:
        header, *rows = csv.reader(file)
    columns = list(zip(*rows, strict=True))
    categories = [sorted(set(column)) for column in columns[:-1]]
    schema = Schema(
        [Attribute(name, found) for name, found in zip(header[:-1], categories, strict=True)]
    )
    counts = np.zeros(schema.shape, dtype=np.int64)
    for *values, count in rows:
        counts[tuple(c.index(v) for c, v in zip(categories, values, strict=True))] = int(count)
    return schema, counts
