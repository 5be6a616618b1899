"""``halftruth study limit``: parameters that go into a survey file and meet a limit."""

import csv

import pytest
from halftruth_shared import Protection, Survey
from halftruth_shared.analyses import result_of
from halftruth_shared.analyses.risk import RiskQuery
from halftruth_shared.protocol.base import decode
from refusals import assert_one_line

ATTRIBUTES = """
[[attributes]]
name = "home.town"
categories = ["north", "south", "west"]

[[attributes]]
name = "job"
categories = ["office", "field"]

[[attributes]]
name = "coughs"
categories = ["no", "yes"]
"""
HEADER = 'id = "health"\ntitle = "Health"\n'
MECHANISM = '[mechanism]\nkind = "gamma-diagonal"\ngamma = "19"\n'
PEOPLE = [
    ("north", "office", "no", 60),
    ("north", "office", "yes", 5),
    ("north", "field", "no", 20),
    ("south", "office", "no", 30),
    ("south", "field", "yes", 40),
    ("west", "office", "yes", 3),
]
ASKED = ("--quasi", "home.town,job", "--sensitive", "coughs")


@pytest.fixture
def files(tmp_path):
    """The survey's file and the pilot's."""
    survey, pilot = tmp_path / "health.toml", tmp_path / "pilot.csv"
    survey.write_text(HEADER + MECHANISM + ATTRIBUTES, encoding="utf-8")
    with open(pilot, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("home.town", "job", "coughs", "count"), *PEOPLE])
    return survey, pilot


@pytest.fixture
def limit(command, files):
    """``study limit`` of the survey and its pilot."""

    def run(*words, asked=ASKED):
        return command("study", "limit", files[0], "--pilot", files[1], *asked, *words)

    return run


@pytest.mark.parametrize(
    ("words", "largest"),
    [
        ((), "largest_risk"),
        (("--whole-reports",), "whole_largest_risk"),
        (("--table", "coughs,job"), "largest_risk"),
    ],
)
def test_the_lines_go_into_a_survey_file_that_meets_the_limit(
    limit, command, files, tmp_path, words, largest
):
    out, survey = tmp_path / "mechanism.toml", tmp_path / "planned.toml"
    status, said, complaint = limit("--risk", "0.4", "--answer-gamma", "9", "--out", out, *words)
    assert (status, complaint) == (0, "")
    lines = out.read_text(encoding="utf-8")
    assert lines in said
    survey.write_text(HEADER + lines + ATTRIBUTES, encoding="utf-8")
    planned = Survey.from_toml(survey.read_text(encoding="utf-8"))
    for question in planned.schema.questions:
        assert planned.perturbation.amplification(question) <= 9
    for sentence in Protection.of(planned).sentences():
        assert sentence in said
    said = command("analyse", "risk", survey, "--pilot", files[1], *ASKED, "--json")[1]
    risk = decode(said.encode(), result_of(RiskQuery))
    assert 0.36 < risk.find(largest).value <= 0.4


def test_it_says_what_the_largest_risk_is_and_is_not(limit):
    said = limit("--risk", "0.4", "--answer-gamma", "9")[1].replace(
        "\N{NARROW NO-BREAK SPACE}", " "
    )
    assert said.startswith("the largest risk is ")
    assert "of at most 40 %" in said
    assert "not what somebody believes: the table alone tells up to 100.0 % of an answer" in said


def test_attributes_that_the_risk_is_not_about_keep_what_the_survey_says(limit, files):
    asked = ("--quasi", "home.town", "--sensitive", "coughs")
    words = ("--risk", "0.5", "--answer-gamma", "9")
    status, _, complaint = limit(*words, asked=asked)
    assert (status, "it says nothing of 'job'" in complaint) == (2, True)
    keep = 'keep = { "home.town" = "1/2", job = "3/4", coughs = "3/4" }\n'
    mechanism = f'[mechanism]\nkind = "randomized-response"\n{keep}'
    files[0].write_text(HEADER + mechanism + ATTRIBUTES, encoding="utf-8")
    status, said, _ = limit(*words, asked=asked)
    assert status == 0
    assert 'job = "0.75"' in said


def test_what_is_not_sensitive_is_sent_as_it_is(limit, files):
    public = ATTRIBUTES.replace('"field"]', '"field"]\nsensitive = false')
    files[0].write_text(HEADER + MECHANISM + public, encoding="utf-8")
    said = limit("--risk", "0.7", "--answer-gamma", "9")[1]
    assert 'job = "1"' in said
    assert "Sent as answered, without protection: job." in said


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--whole-reports",), "risk: expected a number"),
        (("--risk", "0.4", "--table", "age"), "tables: 'age' is none of the attributes"),
        (("--risk", "0.9"), "which a survey accepts only with sensitive = false"),
        (("--risk", "0.4", "--answer-gamma", "1"), "answer_gamma: expected a number above 1"),
        (("--risk", "0.4", "--answer-gamma", "9", "--out", "/nowhere/x"), "out: expected a file"),
    ],
)
def test_a_bad_limit_is_one_line(limit, words, complaint):
    assert_one_line(limit(*words), complaint)


def test_a_limit_needs_people(command, files):
    status, _, complaint = command("study", "limit", files[0], *ASKED, "--risk", "0.4")
    assert (status, complaint) == (2, "halftruth: pilot: expected a name\n")
