"""A survey of every kind of question in four languages, people who answer it, and their shares."""

import re
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from halftruth_shared import Survey

LANGUAGES = ("en", "de", "fr", "es")
Record = dict[str, Any]

FILE = """\
id = "every-kind"
title = {en = "Work and health", de = "Arbeit und Gesundheit", fr = "Travail et santé", \
es = "Trabajo y salud"}
languages = ["en", "de", "fr", "es"]

[mechanism]
kind = "split-questionnaire"
gamma = "19"
max_length = 2

[[attributes]]
name = "drinks"
label = {en = "How often do you drink?", de = "Wie oft trinken Sie?", \
fr = "À quelle fréquence buvez-vous ?", es = "¿Con qué frecuencia bebe?"}
categories = ["never", "weekly", "daily"]
missing = ["hush"]
answers.never = {en = "never", de = "nie", fr = "jamais", es = "nunca"}
answers.weekly = {en = "every week", de = "jede Woche", fr = "chaque semaine", es = "cada semana"}
answers.daily = {en = "every day", de = "jeden Tag", fr = "chaque jour", es = "cada día"}
answers.hush = {en = "I'd rather not say", de = "Sage ich nicht", fr = "Je préfère me taire", \
es = "Prefiero no decirlo"}

[[attributes]]
name = "smoker"
label = {en = "Do you smoke?", de = "Rauchen Sie?", fr = "Fumez-vous ?", es = "¿Fuma?"}
categories = ["no", "yes"]
answers.no = {en = "no", de = "nein", fr = "non", es = "no"}
answers.yes = {en = "yes", de = "ja", fr = "oui", es = "sí"}

[[attributes]]
name = "cigarettes"
kind = "number"
label = {en = "How many a day?", de = "Wie viele am Tag?", fr = "Combien par jour ?", \
es = "¿Cuántos al día?"}
minimum = 1
maximum = 60
step = 20
ask_if = {smoker = ["yes"]}

[[attributes]]
name = "content"
kind = "scale"
label = {en = "How content are you?", de = "Wie zufrieden sind Sie?", \
fr = "Êtes-vous satisfait ?", es = "¿Está contento?"}
categories = ["1", "2", "3", "4", "5"]
optional = true
answers.1 = {en = "not at all", de = "gar nicht", fr = "pas du tout", es = "nada"}
answers.5 = {en = "very much", de = "sehr", fr = "tout à fait", es = "mucho"}

[[attributes]]
name = "symptoms"
kind = "several"
label = {en = "Which did you have?", de = "Was hatten Sie?", fr = "Qu'avez-vous eu ?", \
es = "¿Qué ha tenido?"}
options = [
  {name = "cough", label = {en = "a cough", de = "Husten", fr = "une toux", es = "tos"}},
  {name = "fever", label = {en = "fever", de = "Fieber", fr = "de la fièvre", es = "fiebre"}},
  {name = "pain", label = {en = "pain", de = "Schmerzen", fr = "des douleurs", es = "dolor"}},
]

[[attributes]]
name = "sleep"
kind = "number"
label = {en = "Hours of sleep?", de = "Stunden Schlaf?", fr = "Heures de sommeil ?", \
es = "¿Horas de sueño?"}
minimum = 0
maximum = 14
step = "3.5"
optional = true
"""

#: Every category by attribute, in the order of tables, and what an answer has to be for it.
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
    """The survey of the file, or of the file with another mechanism."""
    return Survey.from_toml(file(mechanism) if mechanism else FILE)


def unprotected() -> Survey:
    """The same questions, of which every answer is sent as it is, so that counts are exact."""
    keep = ", ".join(f'"{name}" = "1"' for name in CATEGORIES)
    written = file(f'kind = "randomized-response"\nkeep = {{{keep}}}')
    return Survey.from_toml(re.sub("(?m)^(name = .*)$", r"\1\nsensitive = false", written))


def file(mechanism: str) -> str:
    """The file with another mechanism."""
    before, _, after = FILE.partition('kind = "split-questionnaire"\ngamma = "19"\nmax_length = 2')
    return before + mechanism + after


def people(count: int, seed: int) -> list[Record]:
    """Answers as people give them; what they are not asked or leave out is not there.

    Answers depend on each other, and the ends of bins are among the numbers.
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
    """Which category an answer is, by what the survey's author meant."""
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
    """True shares of all combinations of answers, in row-major order."""
    found = [tuple(category(record, name) for name in names) for record in records]
    cells = product(*(CATEGORIES[name] for name in names))
    return {cell: found.count(cell) / len(records) for cell in cells}
