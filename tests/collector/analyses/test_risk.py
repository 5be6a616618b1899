"""Linking risk of a pilot and of a survey's likelihood estimate, against manual calculations."""

import csv
import io

import numpy as np
import pytest
from halftruth_collector.analyses import ANALYSES
from halftruth_collector.estimation import Counts
from halftruth_shared import (
    Attribute,
    GammaDiagonal,
    RandomizedResponse,
    Schema,
    Survey,
)
from halftruth_shared.analyses import result_of
from halftruth_shared.analyses.risk import RiskQuery
from halftruth_shared.protocol.base import decode
from sources import source_of

TOML = """
id = "health"
title = "Health"

[mechanism]
kind = "randomized-response"
keep = { town = "4/5", job = "1", coughs = "9/10" }

[[attributes]]
name = "town"
categories = ["north", "south"]

[[attributes]]
name = "job"
categories = ["office", "field", "none"]
sensitive = false

[[attributes]]
name = "coughs"
categories = ["no", "yes"]
"""
#: People by town and cough.
PEOPLE = {("north", "no"): 50, ("north", "yes"): 10, ("south", "no"): 40}
ASKED = ("--quasi", "town", "--sensitive", "coughs")

#: λ of "north", and of "yes" in the north; from these eq. 5.14, 5.8 and 5.6.
NORTH, YES = 0.6 * 0.8 + 0.4 * 0.2, 1 / 6 * 0.9 + 5 / 6 * 0.1
QUASI = {
    "north": 0.6 * (0.8**2 / NORTH + 0.2**2 / (1 - NORTH)),
    "south": 0.4 * (0.2**2 / NORTH + 0.8**2 / (1 - NORTH)),
}
SENSITIVE = {
    ("north", "no"): 5 / 6 * (0.1**2 / YES + 0.9**2 / (1 - YES)),
    ("north", "yes"): 1 / 6 * (0.9**2 / YES + 0.1**2 / (1 - YES)),
    ("south", "no"): 1.0,
}
GIVEN = {("north", "no"): 5 / 6, ("north", "yes"): 1 / 6, ("south", "no"): 1.0}
RISK = {cell: GIVEN[cell] * QUASI[cell[0]] * SENSITIVE[cell] for cell in PEOPLE}


@pytest.fixture
def survey_file(tmp_path):
    path = tmp_path / "health.toml"
    path.write_text(TOML, encoding="utf-8")
    return str(path)


@pytest.fixture
def pilot(tmp_path):
    """Return a function that writes lines to a CSV file."""

    def make(*lines):
        path = tmp_path / "pilot.csv"
        with open(path, "w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(lines)
        return str(path)

    return make


@pytest.fixture
def counted(pilot):
    return pilot(["coughs", "town", "count"], *([c, t, n] for (t, c), n in PEOPLE.items()))


def test_the_risk_of_a_pilot_follows_the_formula(halftruth, survey_file, counted):
    status, said, _ = halftruth(
        "analyse", "risk", survey_file, "--pilot", counted, *ASKED, "--json"
    )
    found = decode(said.encode(), result_of(RiskQuery))
    assert (status, found.reports) == (0, 0)
    assert found.caveats[0].sentence == "These are 100 people of a pilot, not reports."
    assert len(found.places("share")) == len(PEOPLE)
    for (town, coughs), n in PEOPLE.items():
        cell = town, coughs
        numbers = (n / 100, GIVEN[cell], QUASI[town], SENSITIVE[cell], RISK[cell])
        names = ("share", "prior", "quasi_linked", "posterior", "risk")
        assert [
            found.find(name, town=town, coughs=coughs).value for name in names
        ] == pytest.approx(numbers)
    # The largest risk is first.
    assert found.rows[0].value == pytest.approx(max(RISK.values()))
    assert found.find("largest_risk").value == pytest.approx(max(RISK.values()))
    assert found.find("median_risk").value == pytest.approx(RISK["north", "no"])
    # The answer with the largest gain, not the one that is certain beforehand.
    cell = max(GIVEN, key=lambda cell: SENSITIVE[cell] - GIVEN[cell])
    revealed = found.caveats[1].values
    assert revealed == pytest.approx({"prior": GIVEN[cell], "posterior": SENSITIVE[cell]})
    assert revealed["prior"] < 1


def test_a_line_is_one_person_unless_it_has_a_count(halftruth, survey_file, pilot, counted):
    words = ("analyse", "risk", survey_file, "--pilot", counted, *ASKED, "--csv")
    expected = halftruth(*words)[1]
    people = [[t, "blue", c] for (t, c), n in PEOPLE.items() for _ in range(n)]
    pilot(["town", "favourite colour", "coughs"], *people)
    assert halftruth(*words)[1] == expected
    header, *rows = csv.reader(io.StringIO(expected))
    assert header[:4] == ["town", "coughs", "quantity", "value"]
    # Six quantities for each of three cells, and five summaries for each of two attacks.
    assert len(rows) == 6 * 3 + 2 * 5


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        ([["town"], ["north"]], "pilot: column 'coughs' is missing"),
        ([["town", "coughs"]], "pilot: expected at least one person"),
        (
            [["town", "coughs"], ["north", "no"], ["north", "secret"]],
            "pilot: line 3: attribute 'coughs': the answer is not one of: no, yes",
        ),
        ([["town", "coughs"], ["north"]], "pilot: line 2: attribute 'coughs': the answer is not"),
        (
            [["town", "coughs", "count"], ["north", "no", "-3"]],
            "pilot: line 2: column 'count': expected how many people it stands for",
        ),
    ],
)
def test_an_invalid_pilot_is_refused_without_quoting_an_answer(
    halftruth, survey_file, pilot, lines, complaint
):
    status, said, found = halftruth(
        "analyse", "risk", survey_file, "--pilot", pilot(*lines), *ASKED
    )
    assert (status, said) == (2, "")
    assert complaint in found
    assert found.count("\n") == 1
    assert "secret" not in found


def test_a_missing_or_undecodable_pilot_is_refused(halftruth, survey_file, tmp_path):
    for content in (None, b"\xff\xfe"):
        path = tmp_path / "pilot.csv"
        if content is not None:
            path.write_bytes(content)
        status, _, complaint = halftruth(
            "analyse", "risk", survey_file, "--pilot", str(path), *ASKED
        )
        assert (status, complaint.count("\n")) == (2, 1)
        assert "pilot: " in complaint


def survey_of(mechanism):
    attributes = (Attribute("town", ("north", "south")), Attribute("coughs", ("no", "yes")))
    return Survey("s", "S", Schema(attributes), mechanism)


def of_reports(survey, counts, **asked):
    cells = np.argwhere(np.array(counts) >= 0)
    counted = Counts.from_cells(survey, cells, np.ravel(counts))
    query = RiskQuery(quasi=["town"], sensitive="coughs", **asked)
    return ANALYSES["risk"].compute(source_of(survey, counted), query)


def test_the_risk_of_reports_is_that_of_the_estimated_people():
    """Exactly the expected reports of 50 000, 10 000, 30 000 and 10 000 people."""
    people = np.array([[50_000, 10_000], [30_000, 10_000]])
    town, coughs = np.array([[0.8, 0.2], [0.2, 0.8]]), np.array([[0.9, 0.1], [0.1, 0.9]])
    reports = np.rint(town @ people @ coughs).astype(int)
    found = of_reports(survey_of(RandomizedResponse({"town": "4/5", "coughs": "9/10"})), reports)
    assert found.caveats[0].values == {"uncertain": 0, "cells": 4}
    prior, quasi, risk = (
        found.find(name, town="north", coughs="no").value
        for name in ("prior", "quasi_linked", "risk")
    )
    assert prior == pytest.approx(5 / 6, rel=1e-2)
    assert quasi == pytest.approx(QUASI["north"], rel=1e-2)
    assert risk == pytest.approx(RISK["north", "no"], rel=2e-2)


def test_cells_that_may_be_empty_are_counted():
    found = of_reports(survey_of(GammaDiagonal("19")), [[80, 10], [8, 7]])
    # The other cells alone would cause about five reports of the last one.
    notice = found.caveats[0]
    uncertain, cells = notice.values["uncertain"], len(found.places("share"))
    assert uncertain >= 1
    assert f"{uncertain} of these {cells} cells are not significantly" in notice.sentence
    assert not len(found.places("risk"))
    assert len(found.places("whole_risk")) == cells


def test_the_chart_has_the_largest_risks_and_the_limit():
    people = np.outer(np.arange(1, 31), [10, 40])
    towns = Attribute("town", tuple(map(str, range(30))))
    coughs = Attribute("coughs", ("no", "yes"))
    keep = RandomizedResponse({"town": "0.9", "coughs": "0.8"})
    survey = Survey("s", "S", Schema((towns, coughs)), keep)
    query = RiskQuery(quasi=["town"], sensitive="coughs", limit=0.4)
    found = ANALYSES["risk"].from_pilot(survey, query, lambda _: people)
    chart = ANALYSES["risk"].chart(found)
    assert [panel.heading for panel in chart.panels] == [
        "Risk column by column",
        "Risk of whole reports",
    ]
    panel = chart.panels[0]
    assert (panel.reference.value, panel.reference.label[:8]) == (0.4, "limit 40")
    largest = sorted(found.estimates.value[found.places("risk")])[-20:]
    assert sorted(mark.value for mark in panel.rows) == largest
    assert "Shown are the 20 of 60 that are largest." in chart.notes
