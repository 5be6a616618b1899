"""Pilots of ``plan``, ``audit`` and ``analyse risk``: one file of true answers, read once."""

import numpy as np
import pytest
from halftruth_collector.cli import records
from halftruth_collector.cli.records import Pilot
from halftruth_shared import Attribute, RecordError, Survey

TOML = """
id = "health"
title = "Health"

[mechanism]
kind = "randomized-response"
keep = { smoker = "3/4", drinks = "1/2", hours = "3/4" }

[[attributes]]
name = "smoker"
categories = ["no", "yes"]

[[attributes]]
name = "drinks"
categories = ["never", "weekly", "daily"]

[[attributes]]
name = "hours"
kind = "number"
minimum = 0
maximum = 59
step = 20
"""
PEOPLE = [("no", "never", "38")] * 40 + [("yes", "weekly", "41")] * 9 + [("yes", "daily", "12")] * 3


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "health.toml").write_text(TOML, encoding="utf-8")
    lines = ["smoker,drinks,hours", *map(",".join, PEOPLE)]
    (tmp_path / "pilot.csv").write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    "words",
    [
        ("plan", "health.toml", "--respondents=5000"),
        ("audit", "health.toml", "--quasi=drinks,hours", "--sensitive=smoker"),
        ("analyse", "risk", "health.toml", "--quasi=drinks,hours", "--sensitive=smoker"),
    ],
)
def test_a_pilot_is_read_once_and_each_answer_is_parsed_once(command, folder, monkeypatch, words):
    reads, parsed = [], []
    read_records, code = records.read_records, Attribute.code

    def counted_read(*arguments):
        reads.append(arguments)
        return read_records(*arguments)

    def counted_code(attribute, answer):
        if answer in {answer for person in PEOPLE for answer in person}:
            parsed.append((attribute.name, answer))
        return code(attribute, answer)

    monkeypatch.setattr(records, "read_records", counted_read)
    monkeypatch.setattr(Attribute, "code", counted_code)
    status, _, complaint = command(*words, "--pilot=pilot.csv")
    assert (status, complaint) == (0, "")
    assert len(reads) == 1
    # Two names of answers to smoker, three to drinks, and three different numbers of hours; nothing
    # is parsed for each of the 52 people, or for each table.
    assert len(parsed) == len(set(parsed)) == 8


def test_tables_of_a_pilot_are_those_of_its_people(folder):
    pilot = Pilot("pilot.csv", Survey.from_toml(TOML).schema)
    assert pilot.people == 52
    assert pilot(["drinks", "smoker"]).tolist() == [[40, 0], [0, 9], [0, 3]]
    assert pilot(["hours"]).tolist() == [3, 40, 9]
    np.testing.assert_array_equal(
        pilot(["smoker", "drinks", "hours"]).sum(axis=0), pilot(["hours", "drinks"]).T
    )


def test_columns_that_are_not_asked_for_may_be_missing_or_invalid(folder, tmp_path):
    path = tmp_path / "partial.csv"
    path.write_text("smoker,hours\nno,many\nyes,39\n", encoding="utf-8")
    pilot = Pilot(str(path), Survey.from_toml(TOML).schema)
    assert pilot(["smoker"]).tolist() == [1, 1]
    with pytest.raises(RecordError, match=r"^pilot: line 2: attribute 'hours': the answer is not"):
        pilot(["smoker", "hours"])
    with pytest.raises(RecordError, match=r"^pilot: column 'drinks' is missing$"):
        pilot(["drinks"])
