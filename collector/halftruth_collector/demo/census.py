"""The CENSUS table of FRAPP Table 1, as counts by `docs/studies/data/derive_census.py`.

Source: Becker, B. and Kohavi, R. (1996), Adult, UCI Machine Learning Repository, licensed under
CC BY 4.0.
"""

import csv
from importlib.resources import files

import numpy as np
from halftruth_shared import Attribute, Mechanism, Schema, Survey
from numpy.typing import NDArray

from ..estimation import Counts

_RANGES = {
    "age": ("up to 35", "36 to 55", "56 to 75", "over 75"),
    "fnlwgt": (
        "up to 100000",
        "100001 to 200000",
        "200001 to 300000",
        "300001 to 400000",
        "over 400000",
    ),
    "hours-per-week": ("up to 19", "20 to 39", "40 to 59", "60 to 79", "over 79"),
    "race": ("Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "Other", "White"),
    "sex": ("Female", "Male"),
    "native-country": ("United-States", "Other"),
}

#: Six attributes with 2 000 cells.
SCHEMA = Schema(tuple(Attribute(name, categories) for name, categories in _RANGES.items()))


def census_survey(id: str, mechanism: Mechanism) -> Survey:
    """Return CENSUS as a survey with some mechanism."""
    return Survey(id, f"CENSUS with {mechanism.kind}", SCHEMA, mechanism)


def census_counts() -> Counts:
    """Return the counts of the 48 842 people."""
    with (files(__package__) / "census.csv").open(encoding="ascii") as file:
        rows = list(csv.DictReader(file))
    cells = [SCHEMA.encode({name: row[name] for name in SCHEMA.names}) for row in rows]
    return Counts(
        SCHEMA.names, SCHEMA.shape, np.array(cells), np.array([int(row["count"]) for row in rows])
    )


def census_codes(people: int | None = None) -> NDArray[np.int64]:
    """Return one record for each person, shape (people, 6), in the order of the cells.

    Parameters
    ----------
    people : int, optional
        Size of an evenly spaced sample of the 48 842 people; by default all.
    """
    counts = census_counts()
    everybody = np.repeat(counts.cells, counts.counts, axis=0)
    if people is None:
        return everybody
    return everybody[np.arange(people) * len(everybody) // people]
