"""The CENSUS table of FRAPP Table 1, as counts by `docs/studies/data/derive_census.py`.

Source: Becker, B. and Kohavi, R. (1996), Adult, UCI Machine Learning Repository, licensed under
CC BY 4.0.
"""

import csv
from dataclasses import replace
from importlib.resources import files

import numpy as np
from halftruth_shared import Attribute, Mechanism, Schema, Survey
from halftruth_shared.mechanisms.split_questionnaire import WantedTables
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

#: Tables that a user of CENSUS could want: two outcomes, each by three groups of people.
WANTED = WantedTables(of=("hours-per-week", "fnlwgt"), by=("sex", "age", "race"))

_GROUPS = {
    "age": {"up to 35": ("up to 35",), "36 to 55": ("36 to 55",), "over 55": _RANGES["age"][2:]},
    "fnlwgt": {
        "up to 100000": ("up to 100000",),
        "100001 to 200000": ("100001 to 200000",),
        "over 200000": _RANGES["fnlwgt"][2:],
    },
    "hours-per-week": {
        "up to 39": _RANGES["hours-per-week"][:2],
        "40 to 59": ("40 to 59",),
        "over 59": _RANGES["hours-per-week"][3:],
    },
    "race": {"White": ("White",), "other than White": _RANGES["race"][:4]},
}

#: The same attributes, with groups of answers for reports about several questions.
GROUPED = Schema(
    tuple(replace(each, collapsed=_GROUPS.get(each.name)) for each in SCHEMA.attributes)
)


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
