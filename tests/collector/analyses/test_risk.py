"""Linking risk of a pilot and of a survey's likelihood estimate, against manual calculations."""

import csv
import io

import numpy as np
import pytest
from halftruth_collector.analyses import ANALYSES, answer, risk
from halftruth_collector.analyses.answering import answer_pilot
from halftruth_collector.disclosure.linking import linking_risk_of
from halftruth_collector.disclosure.risk_errors import bands_of
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
from halftruth_shared.columns import decode
from halftruth_shared.results.wording import percent
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
    return answer(ANALYSES["risk"], source_of(survey, counted), query)


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
    found = answer_pilot(ANALYSES["risk"], survey, query, lambda _: people)
    chart = ANALYSES["risk"].chart(found)
    assert [panel.heading for panel in chart.panels] == [
        "Risk column by column",
        "Risk of whole reports",
    ]
    panel = chart.panels[0]
    assert (panel.reference.value, panel.reference.label[:8]) == (0.4, "limit 40")
    largest = sorted(found.estimates.value[found.places("risk")])[-20:]
    assert sorted(row.value for _, row in panel.rows) == largest
    assert "Shown are the 20 of 60 that are largest." in chart.notes


#: Age and mood are independent of a rare answer, and of each other; the largest risk is that of
#: three cells, so that the largest estimate is too large.
NULL = {"age": [1 / 3] * 3, "mood": [0.5, 0.3, 0.15, 0.05], "rare": [0.97, 0.03]}


def null_survey(mechanism):
    schema = Schema([Attribute(name, [f"c{k}" for k in range(len(p))]) for name, p in NULL.items()])
    return Survey("s", "S", schema, mechanism(schema))


@pytest.mark.parametrize("surveys", [12, pytest.param(200, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("limit", [0.43, 0.485])
@pytest.mark.parametrize("respondents", [5_000, 40_000])
def test_intervals_hold_the_risks_of_a_world_without_associations(respondents, limit, surveys):
    """All intervals of a survey together, also where a limit is next to the risk of many."""
    survey = null_survey(lambda schema: RandomizedResponse(dict.fromkeys(schema.names, "4/5")))
    people = np.einsum("a,b,c->abc", *NULL.values())
    true = linking_risk_of(survey, ["age", "mood"], "rare", people)
    query = RiskQuery(quasi=["age", "mood"], sensitive="rare", limit=limit)
    expected = answer_pilot(ANALYSES["risk"], survey, query, lambda _: people * 10**6)
    assert true.maximum == pytest.approx(0.4855, abs=1e-3)
    records, rng, held, of_naive = np.argwhere(people > 0), np.random.default_rng(11), 0, 0
    for _ in range(surveys):
        drawn = np.repeat(records, rng.multinomial(respondents, people.ravel()), axis=0)
        counts = Counts.from_reports(survey, survey.perturbation.reports(drawn, rng))
        found = answer(ANALYSES["risk"], source_of(survey, counts), query)
        inside = []
        for name in ("above_limit", "median_risk", "risk_p90", "risk_p99", "largest_risk"):
            for way in ("", "whole_"):
                low, high = found.find(f"{way}{name}").interval
                inside.append(low <= expected.find(f"{way}{name}").value <= high)
        held += all(inside)
        of_naive += found.find("largest_risk").value > true.maximum
    print(f"| {respondents} | {limit} | {held} of {surveys} |")
    # 95 % or more; the estimate itself is too large in nearly all.
    assert held >= 0.93 * surveys
    assert of_naive >= 0.7 * surveys


@pytest.mark.parametrize(
    "mechanism",
    [
        lambda schema: RandomizedResponse(dict.fromkeys(schema.names, "4/5")),
        lambda _: GammaDiagonal("19"),
    ],
)
def test_every_number_has_an_interval_that_the_headline_states(mechanism):
    survey, rng = null_survey(mechanism), np.random.default_rng(2)
    records = np.stack([rng.choice(len(p), 20_000, p=p) for p in NULL.values()], axis=1)
    counts = Counts.from_reports(survey, survey.perturbation.reports(records, rng))
    query = RiskQuery(quasi=["age", "mood"], sensitive="rare", limit=0.4)
    found, again = (answer(ANALYSES["risk"], source_of(survey, counts), query) for _ in range(2))
    lower, upper = (found.estimates.numbers(end) for end in ("lower", "upper"))
    assert (lower <= found.estimates.value + 1e-9).all()
    assert (found.estimates.value <= upper + 1e-9).all()
    np.testing.assert_array_equal(lower, again.estimates.numbers("lower"))
    # Grades are those of the intervals.
    for row in found.rows:
        low, high = row.interval
        if (high - low) / 2 > 0.1:
            assert row.reliability == "not usable"
    above, largest = (found.rows[place].interval for place in found.claims[0].rows)
    text = ANALYSES["risk"].headline(found)
    for low, high in (above, largest):
        assert f"between {percent(low, 1)} and {percent(high, 1)}" in text.lower()
    shown = ANALYSES["risk"].present(found)
    cells = [cell.text for part in shown.parts for row in part.grid.rows for cell in row]
    assert any(percent(largest[1], 1) in cell for cell in cells)


def test_bands_follow_from_the_deviations_of_the_replicates():
    """Two cells of half the people with independent errors; their values are their shares."""
    fitted, error = np.array([[0.4, 0.6]]), 0.02
    covariance = error**2 * np.array([[1.0, -1.0], [-1.0, 1.0]])
    bands = bands_of(lambda table: {"x": table}, fitted, covariance, lambda table: table, [["x"]])
    # Both cells deviate equally: ± the two-sided quantile of 97.5 %, of 200 replicates.
    widths = (bands["x"].upper - bands["x"].lower) / 2
    assert widths == pytest.approx([2.24 * error] * 2, rel=0.15)
    low, high = 0.6 - widths[1], 0.6 + widths[1]
    assert bands["x"].largest == pytest.approx((low, high))
    assert bands["x"].above(0.9) == (0.0, 0.0)
    surely, possibly = bands["x"].above(0.5)
    # The second cell surely, with 60 % of the people give or take.
    assert surely == pytest.approx(0.6 - 2.24 * error, rel=0.05)
    assert possibly == pytest.approx(0.6 + 2.24 * error, rel=0.05)


def test_a_table_that_is_too_large_for_errors_is_not_usable(monkeypatch):
    monkeypatch.setattr(risk, "COVARIANCE_CELLS", 3)
    found = of_reports(survey_of(GammaDiagonal("19")), [[800, 100], [80, 70]])
    assert set(found.estimates.texts("reliability")) == {"not usable"}
    assert "too large to compute the errors" in found.caveats[1].sentence
    assert "between" not in ANALYSES["risk"].headline(found)
