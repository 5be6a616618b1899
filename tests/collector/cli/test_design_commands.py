"""The designer's page by command."""

import tomllib
from fractions import Fraction

import pytest
from halftruth_shared import Survey


@pytest.fixture
def design(halftruth, tmp_path):
    """Run a command on a file that was begun; what it prints."""
    file = tmp_path / "mine.toml"
    assert halftruth("design", "new", file) == (0, "", "")

    def run(action, *words):
        status, said, complaint = halftruth("design", action, file, *words)
        assert (status, complaint) == (0, "")
        return said

    run.file = file
    return run


def test_a_survey_is_designed_by_command(design, halftruth):
    design("set", "--id", "habits", "--languages", "en de", "--title", "Habits")
    design("set", "--title", "Habits", "--title", "Gewohnheiten", "--chance", "45")
    design("edit", "first", "--name", "smoker", "--label", "Smoke?", "--label", "Rauchen?")
    design("edit", "smoker", "--answer", "no", "--answer", "yes", "--answer", "rarely")
    design("edit", "smoker", "--shown", "", "--shown", "nein\nja\nselten", "--optional")
    design("remove", "second")
    design("add", "number", "age")
    design("edit", "age", "--minimum", "20", "--maximum", "79", "--step", "20")
    design("add", "several", "symptoms")
    design("edit", "symptoms", "--option", "cough", "--option", "fever", "--harmless")
    design("move", "age", "1")
    survey = Survey.from_toml(design.file.read_text("utf-8"))
    assert [question.name for question in survey.schema.questions] == ["age", "smoker", "symptoms"]
    assert survey.title_in("de") == "Gewohnheiten"
    smoker = survey.schema.attributes[1]
    assert smoker.answers_in("de") == ("nein", "ja", "selten", "no answer")
    assert survey.mechanism.gamma == Fraction(45 * 95, 5 * 55)
    assert halftruth("survey", "publish", design.file)[0] == 0
    status, shown, _ = halftruth("design", "show", "habits")
    assert status == 0
    assert Survey.from_toml(shown).digest == survey.digest


def test_what_is_no_survey_yet_is_said_and_kept(design):
    said = design("edit", "first", "--answer", "only")
    assert "is no survey yet: attribute 'first': expected 2 to 65536 categories" in said
    assert tomllib.loads(design.file.read_text("utf-8"))["attributes"][0]["categories"] == ["only"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("remove", "FILE", "third"), "question: expected one of: first, second"),
        (("edit", "FILE", "first", "--step", "2"), "step: 'first' has none; expected one of: name"),
        (("new", "FILE"), "expected a file that is not there yet"),
        (("add", "nowhere.toml", "scale"), "nowhere.toml: cannot be read"),
    ],
)
def test_what_cannot_be_done_is_one_line(design, halftruth, words, said):
    before = design.file.read_text("utf-8")
    words = [design.file if word == "FILE" else word for word in words]
    status, _, complaint = halftruth("design", *words)
    assert status == 2
    assert said in complaint
    assert complaint.count("\n") == 1
    assert design.file.read_text("utf-8") == before
