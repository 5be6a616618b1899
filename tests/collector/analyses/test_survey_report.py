"""The report of a survey, against records with a known association."""

from datetime import date

import numpy as np
import pytest
from halftruth_collector.analyses.survey_report import brief_findings, survey_report
from halftruth_collector.errors import TooFewReports
from halftruth_collector.web.pages.survey_report import as_file
from halftruth_shared import Attribute, RandomizedResponse, Schema, SplitQuestionnaire, Survey
from halftruth_shared.mechanisms.split_questionnaire import WantedTables
from sources import source_of

SCHEMA = Schema(
    [
        Attribute("smoker", ["no", "yes"], label="Do you smoke?"),
        Attribute("coughs", ["no", "yes"], label="Do you <b>cough</b>?"),
        Attribute("place", ["town", "country"], label="Where do you live?"),
    ]
)
SURVEY = Survey(
    "work", "Health & work", SCHEMA,
    RandomizedResponse({"smoker": "9/10", "coughs": "9/10", "place": "9/10"}),
)  # fmt: skip


DAYS = {date(2026, 11, 1): 9, date(2026, 11, 4): 9}


def counted(people, *, associated=True):
    rng = np.random.default_rng(11)
    smoker, place = rng.integers(0, 2, (2, people))
    coughs = np.where(rng.random(people) < 0.3, smoker, rng.integers(0, 2, people))
    records = np.stack([smoker, coughs if associated else rng.permutation(coughs), place], axis=1)
    return source_of(SURVEY, records, rng, min_reports=40, days=DAYS)


def test_the_only_true_association_is_reported():
    report = survey_report(counted(20_000))
    [cells] = report.associations.rows
    row = [cell.text for cell in cells]
    assert row[0].startswith("Do you smoke? ")
    assert "Do you <b>cough</b>?" in row[0]
    # 0.25 + 0.3/4 of all people give both answers alike; 0.25 if independent.
    same = row[0].count("yes") != 1
    assert float(row[4].replace("−", "-")) * (1 if same else -1) > 4
    assert abs(float(row[1].split("\u202f")[0]) - (32.5 if same else 17.5)) < 2
    assert "1 of 3 pairs of questions is significantly associated" in report.summary
    claim = report.claim
    assert (claim.kind, claim.rows, claim.count, claim.rate) == ("associated", [0], 3, 0.05)
    assert "counted from 2026-11-01 to 2026-11-04" in report.lead
    assert [line.partition(":")[0] for line in report.precision] == ["Usable"]
    count, first, *_ = report.findings
    assert count.startswith("1 of 3 pairs of questions is significantly associated")
    # One estimate has one interval everywhere: the sentence has those of the table.
    assert first == f"{row[0]}: {row[1]} ({row[2]}) of people; {row[3]} if independent."
    assert [chart.title for chart in report.charts] == [a.label_in() for a in SCHEMA.attributes]


def test_independent_answers_are_not_called_associated():
    report = survey_report(counted(20_000, associated=False))
    assert report.associations.rows == []
    assert report.summary.startswith("No significant association among 3 pairs")
    assert report.claim.kind == "none found"


def test_imprecise_questions_are_listed_as_not_usable_without_associations():
    report = survey_report(counted(40))
    assert report.associations.rows == []
    [line] = report.precision
    assert line.startswith("Not usable (shares known to ±")
    assert "“Do you smoke?”" in line


def test_a_report_file_is_complete_and_self_contained():
    page = as_file(survey_report(counted(4_000))).decode()
    assert page.startswith("<!doctype html>")
    assert page.count("<figure") == 3
    assert "Health &amp; work" in page
    assert "<b>cough" not in page
    assert "<script" not in page
    assert "<link" not in page
    assert SURVEY.digest in page
    for promise in ("likely before the report is at most", "γ = 729"):
        assert promise in page


def test_a_report_below_the_minimum_number_of_reports_is_refused():
    with pytest.raises(TooFewReports, match="39 reports have been counted"):
        survey_report(counted(39))


GROUPED = Schema(
    [
        Attribute("sad", ["no", "yes"]),
        Attribute(
            "age",
            ["20s", "30s", "40s", "50s"],
            collapsed={"young": ["20s", "30s"], "old": ["40s", "50s"]},
        ),
    ]
)


def test_questions_that_are_asked_together_in_groups_of_answers_are_tested_in_groups():
    wanted = [WantedTables(of=("sad",), by=("age",))]
    mechanism = SplitQuestionnaire.designed(GROUPED, 99, (), wanted)
    survey = Survey("grouped", "Grouped", GROUPED, mechanism)
    rng = np.random.default_rng(3)
    age = rng.integers(0, 4, 20_000)
    records = np.stack([rng.random(20_000) < 0.2 + 0.4 * (age > 1), age], axis=1).astype(np.int64)
    source = source_of(survey, survey.perturbation.reports(records, rng))
    report = survey_report(source)
    [line] = report.associations.rows
    assert "young" in line[0].text or "old" in line[0].text
    assert brief_findings(source)[0].startswith("1 of 1 pairs of questions")
    assert not [line for line in report.unknown if "together" in line]
