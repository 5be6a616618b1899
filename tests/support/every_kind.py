"""A survey with every kind of question, simulated respondents, and their shares."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from halftruth_shared import Survey

Record = dict[str, Any]

FILE = """\
id = "every-kind"
title = "Work and health"

[mechanism]
kind = "split-questionnaire"
gamma = "19"
max_length = 2

[[attributes]]
name = "drinks"
categories = ["never", "weekly", "daily"]
missing = ["hush"]

[[attributes]]
name = "smoker"
categories = ["no", "yes"]

[[attributes]]
name = "cigarettes"
kind = "number"
minimum = 1
maximum = 60
step = 20
ask_if = {smoker = ["yes"]}

[[attributes]]
name = "content"
kind = "scale"
categories = ["1", "2", "3", "4", "5"]
optional = true

[[attributes]]
name = "symptoms"
kind = "several"
label = "Which did you have?"
options = [{name = "cough"}, {name = "fever"}, {name = "pain"}]

[[attributes]]
name = "sleep"
kind = "number"
minimum = 0
maximum = 14
step = "3.5"
optional = true
"""

#: Categories of each attribute in the order of tables.
CATEGORIES: dict[str, list[str]] = {
    "drinks": ["never", "weekly", "daily", "hush"],
    "smoker": ["no", "yes"],
    "cigarettes": ["1 to 20", "21 to 40", "41 to 60", "not asked"],
    "content": ["1", "2", "3", "4", "5", "no answer"],
    "symptoms.cough": ["no", "yes"],
    "symptoms.fever": ["no", "yes"],
    "symptoms.pain": ["no", "yes"],
    "sleep": ["[0, 3.5)", "[3.5, 7)", "[7, 10.5)", "[10.5, 14]", "no answer"],
}


def survey(mechanism: str = "") -> Survey:
    """Return the survey, optionally with another mechanism."""
    return Survey.from_toml(file(mechanism) if mechanism else FILE)


def file(mechanism: str) -> str:
    """Return the survey file with another mechanism."""
    before, _, after = FILE.partition('kind = "split-questionnaire"\ngamma = "19"\nmax_length = 2')
    return before + mechanism + after


def people(count: int, seed: int) -> list[Record]:
    """Return simulated answers, with no entry for questions that are skipped or not asked.

    Answers depend on each other; the numbers include the bounds of bins.
    """
    rng = np.random.default_rng(seed)
    return [_person(rng) for _ in range(count)]


def _person(rng: np.random.Generator) -> Record:
    drinks = str(rng.choice(CATEGORIES["drinks"], p=[0.35, 0.4, 0.15, 0.1]))
    smokes = rng.random() < (0.5 if drinks == "daily" else 0.25)
    record: Record = {"drinks": drinks, "smoker": "yes" if smokes else "no"}
    if smokes:
        ends = (1, 20, 21, 40, 41, 60)
        record["cigarettes"] = int(rng.choice(ends) if rng.random() < 0.3 else rng.integers(1, 41))
    if rng.random() < 0.85:
        shares = [0.25, 0.25, 0.2, 0.2, 0.1] if smokes else [0.05, 0.1, 0.25, 0.35, 0.25]
        record["content"] = str(rng.choice(CATEGORIES["content"][:5], p=shares))
    coughs = 0.5 if smokes else 0.2
    chances = {"cough": coughs, "fever": 0.1, "pain": 0.3}
    record["symptoms"] = [name for name, chance in chances.items() if rng.random() < chance]
    if rng.random() < 0.9:
        hours = rng.choice([0.0, 3.5, 7.0, 10.5, 14.0]) if rng.random() < 0.2 else rng.normal(7, 2)
        record["sleep"] = round(min(max(float(hours), 0), 14), 1)
    return record


def category(record: Record, name: str) -> str:
    """Return the category of an answer, decided independently of the code under test."""
    if name.startswith("symptoms."):
        return "yes" if name.removeprefix("symptoms.") in record["symptoms"] else "no"
    if name not in record:
        return "not asked" if name == "cigarettes" else "no answer"
    if name == "cigarettes":
        return CATEGORIES[name][(record[name] - 1) // 20]
    if name == "sleep":
        return CATEGORIES[name][min(int(record[name] / 3.5), 3)]
    return str(record[name])


def shares(records: Sequence[Record], names: Sequence[str]) -> dict[tuple[str, ...], float]:
    """Return the true shares of all combinations of answers, in row-major order."""
    found = [tuple(category(record, name) for name in names) for record in records]
    cells = product(*(CATEGORIES[name] for name in names))
    return {cell: found.count(cell) / len(records) for cell in cells}
