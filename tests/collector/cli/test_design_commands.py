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
    design("edit", "symptoms", "--ask-if", "smoker=yes", "--ask-if", "smoker=rarely")
    design("edit", "smoker", "--item", "yes")
    design("set", "--asked-by", "The board", "--redirect", "/thanks", "--redirect-after", "9")
    design("move", "age", "1")
    survey = Survey.from_toml(design.file.read_text("utf-8"))
    assert [question.name for question in survey.schema.questions] == ["age", "smoker", "symptoms"]
    assert survey.title_in("de") == "Gewohnheiten"
    smoker = survey.schema.attributes[1]
    assert smoker.answers_in("de") == ("nein", "ja", "selten", "no answer")
    assert survey.mechanism.gamma == Fraction(45 * 95, 5 * 55)
    assert smoker.items == ("yes",)
    assert survey.schema.attributes[-1].ask_if == {"smoker": ("yes", "rarely")}
    assert (survey.framing.asked_by, survey.framing.redirect_after) == ("The board", 9)
    assert halftruth("survey", "publish", design.file)[0] == 0
    status, shown, _ = halftruth("design", "show", "habits")
    assert status == 0
    assert Survey.from_toml(shown).digest == survey.digest


def test_a_named_design_is_chosen_by_command(design):
    design("set", "--mechanism", "distortion-matrices")
    said = design("edit", "first", "--design", "triangular", "--number", "prevalence=1/4")
    assert "a report can prove the answer 'no'" in said
    design("edit", "first", "--design-answer", "no", "--may-prove")
    design("edit", "second", "--ask-if", "first=yes")
    design("edit", "second", "--ask-everybody")
    survey = Survey.from_toml(design.file.read_text("utf-8"))
    first = survey.mechanism.designs["first"]
    assert (first.name, first.answer, first.not_sensitive) == ("triangular", "no", "yes")
    assert first.parameters == {"prevalence": Fraction(1, 4)}
    assert survey.schema.shape == (2, 3)


def test_what_is_no_survey_yet_is_said_and_kept(design):
    said = design("edit", "first", "--answer", "only")
    assert "is no survey yet: attribute 'first': expected 2 to 65536 categories" in said
    assert tomllib.loads(design.file.read_text("utf-8"))["attributes"][0]["categories"] == ["only"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("remove", "FILE", "third"), "question: expected one of: first, second"),
        (("edit", "FILE", "first", "--step", "2"), "step: 'first' has none; expected one of: name"),
        (("edit", "FILE", "first", "--number", "p=1/4"), "design-p: 'first' has none; expected"),
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
