"""The Adult data, as arrays: the tables of the studies, and all people of the original files."""

import csv
from bisect import bisect_right
from pathlib import Path

import numpy as np
from halftruth_shared import Attribute

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


def _cut(*bounds):
    """Return the ranges of a number that begin at these bounds."""
    return lambda text: str(bisect_right(bounds, int(text)))


def _same(text):
    return text


_SCHOOL = ("Preschool", "1st-4th", "5th-6th", "7th-8th", "9th", "10th", "11th", "12th")
_COLLEGE = ("Some-college", "Assoc-acdm", "Assoc-voc")
_DEGREE = ("Bachelors", "Masters", "Prof-school", "Doctorate")
_SELF = ("Self-emp-inc", "Self-emp-not-inc")
_STATE = ("Federal-gov", "Local-gov", "State-gov")

#: Twelve questions: column of the files, what becomes of a value, and groups of answers.
_COLUMNS = {
    "sex": (9, _same, {}),
    "education": (
        3,
        lambda text: "school" if text in _SCHOOL else text,
        {"school": ("school",), "HS-grad": ("HS-grad",), "college": (*_COLLEGE, *_DEGREE)},
    ),
    "age": (
        0,
        _cut(25, 35, 45, 55, 65),
        {"young": ("0", "1"), "middle": ("2", "3"), "old": ("4", "5")},
    ),
    "workclass": (
        1,
        lambda text: text if text in (*_SELF, *_STATE, "Private") else "none",
        {"self": _SELF, "state": _STATE, "other": ("Private", "none")},
    ),
    "marital": (
        5,
        lambda text: "Married" if text.startswith("Married") else text,
        {
            "Married": ("Married",),
            "Never-married": ("Never-married",),
            "before": ("Divorced", "Separated", "Widowed"),
        },
    ),
    "income": (14, lambda text: text.rstrip("."), {}),
    "race": (8, lambda text: "White" if text == "White" else "other", {}),
    "country": (13, lambda text: "US" if text == "United-States" else "other", {}),
    "hours": (12, _cut(35, 45), {}),
    "gain": (10, lambda text: "some" if int(text) else "none", {}),
    "loss": (11, lambda text: "some" if int(text) else "none", {}),
    "weight": (2, _cut(100_000, 200_000, 300_000), {}),
}


#: Answers to the questions, in the order of the scales.
ANSWERS = {
    "sex": ("Male", "Female"),
    "education": ("school", "HS-grad", *_COLLEGE, *_DEGREE),
    "age": tuple("012345"),
    "workclass": ("Private", *_SELF, *_STATE, "none"),
    "marital": ("Married", "Never-married", "Divorced", "Separated", "Widowed"),
    "income": ("<=50K", ">50K"),
    "race": ("White", "other"),
    "country": ("US", "other"),
    "hours": ("0", "1", "2"),
    "gain": ("none", "some"),
    "loss": ("none", "some"),
    "weight": ("0", "1", "2", "3"),
}


def adult_questions(collapsed=True):
    """Return attributes of twelve questions about the people of Adult, some with groups."""
    return [
        Attribute(name, answers, collapsed=(_COLUMNS[name][2] or None) if collapsed else None)
        for name, answers in ANSWERS.items()
    ]


def adult_people(folder):
    """Return the codes of all 48 842 people, from the folder of the original files."""
    places = {name: {a: code for code, a in enumerate(of)} for name, of in ANSWERS.items()}
    codes = []
    for name in ("adult.data", "adult.test"):
        with open(folder / name, encoding="ascii", newline="") as file:
            rows = (row for row in csv.reader(file, skipinitialspace=True) if len(row) == 15)
            codes += [
                [places[name][of(row[column])] for name, (column, of, _) in _COLUMNS.items()]
                for row in rows
            ]
    return np.array(codes)
