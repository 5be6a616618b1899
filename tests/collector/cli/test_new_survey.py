"""``halftruth survey new``: a survey file from the answers to five questions."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from halftruth_collector.cli import main
from halftruth_shared import read_survey


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words, typed=()):
    return CliRunner().invoke(
        main, ["survey", "new", *words], input="".join(f"{t}\n" for t in typed)
    )


SMOKES, SEX, AGE = "Do you smoke?: never, often", "Sex: female, male", "How old are you?: 18 to 99"


def test_five_answers_make_a_survey_with_the_wanted_tables_and_its_headline():
    typed = ["Health at work", SMOKES, SEX, AGE, "", "2, 3", "", "4000"]
    done = run(typed=typed)
    assert done.exit_code == 0, done.stderr
    survey = read_survey("health-at-work.toml")
    assert (survey.id, survey.title) == ("health-at-work", "Health at work")
    smokes, sex, age = survey.schema.attributes
    assert (smokes.name, smokes.label, smokes.ordered) == ("smoke", "Do you smoke?", True)
    assert (sex.categories, sex.ordered) == (("female", "male"), False)
    assert (age.kind, len(age.categories)) == ("number", 5)
    text = Path("health-at-work.toml").read_text(encoding="utf-8")
    assert text.startswith("# A survey of halftruth")
    tables = '[[mechanism.tables]]\nof = ["smoke"]\nby = ["Sex", "old"]\n'
    assert tables in text
    first, headline, more = done.stdout.splitlines()
    assert first == "health-at-work: 3 questions in health-at-work.toml"
    assert headline.startswith("Typical margins: ±")
    assert more == "More: halftruth plan health-at-work.toml --respondents 4000"


def test_the_same_survey_is_written_from_options_without_questions():
    run("asked.toml", typed=["Health", SMOKES, SEX, AGE, "", "Sex,3", "1", "4000"])
    options = [f"--question={each}" for each in (SMOKES, SEX, AGE)]
    done = run(
        *("given.toml", "--title=Health", *options, "--group=2", "--group=old"),
        *("--wanted=smoke", "--respondents=4000"),
    )
    assert (done.exit_code, done.stderr) == (0, "")
    assert Path("given.toml").read_bytes() == Path("asked.toml").read_bytes()


def test_without_groups_all_pairs_are_wanted():
    done = run(typed=["Health", SMOKES, SEX, "", "", "1000"])
    assert done.exit_code == 0
    assert "max_length = 2" in Path("health.toml").read_text(encoding="utf-8")


def test_a_mistake_is_explained_and_asked_again():
    typed = ["Health", "", "no colon", "one: answer", "twice: a, a", SMOKES, SEX, "", "7", "2", "1"]
    done = run(typed=[*typed, "1000"])
    assert done.exit_code == 0
    complaints = [line for line in done.stderr.splitlines() if line.startswith("halftruth: ")]
    assert len(complaints) == 5
    assert complaints[0].startswith("halftruth: question: expected as in")
    assert "group: there is no question '7'" in complaints[-1]
    assert read_survey("health.toml").schema.names == ("smoke", "Sex")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([f"--question={SMOKES}"], "title: expected with --question"),
        (["--title=T", "--question=none"], "question: expected as in"),
        (["--title=T", f"--question={SMOKES}", "--group=sex"], "group: there is no question"),
        (["--title=T", "--question=age: 9 to 2"], "maximum: expected more than the minimum"),
        (["there.toml", "--title=T", f"--question={SMOKES}"], "file: there.toml exists"),
        (["--title=T", f"--question={SMOKES}", "--gamma=many"], "gamma"),
    ],
)
def test_an_invalid_option_is_one_line_and_writes_nothing(folder, words, expected):
    (folder / "there.toml").write_text("kept", encoding="utf-8")
    done = run(*words)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert expected in done.stderr
    assert [each.read_text("utf-8") for each in folder.iterdir()] == ["kept"]


def test_an_end_of_input_writes_nothing(folder):
    done = run(typed=["Health", SMOKES])
    assert done.exit_code == 130
    assert not [*folder.iterdir()]
