"""What operators do with surveys and tokens on the command line, from a dry run to deletion."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from click.testing import CliRunner
from halftruth_collector import operations
from halftruth_collector.cli import main
from halftruth_shared import Survey

from ..store.conftest import report

TOML = """
id = "health"
title = "Health at work"
[mechanism]
kind = "gamma-diagonal"
gamma = "{gamma}"
[[attributes]]
name = "smoker"
categories = ["no", "yes"]
[[attributes]]
name = "drinks"
categories = ["never", "weekly", "daily"]
"""


@pytest.fixture
def survey_file(tmp_path):
    file = tmp_path / "health.toml"
    file.write_text(TOML.format(gamma=19), encoding="utf-8")
    return file


@pytest.fixture
def filled(done, store, survey_file):
    """The survey with three reports."""
    done("survey", "publish", survey_file)
    digest = store.surveys.get("health").digest
    store.reports.add("health", digest, [report(n, 0, 0) for n in range(3)])
    return store


def test_a_check_says_what_is_promised_and_whether_the_form_asks_it(done, survey_file):
    survey = Survey.from_toml(TOML.format(gamma=19))
    first, *promised, form = done("survey", "check", survey_file).splitlines()
    assert first == f"health: Health at work, 2 questions, digest {survey.digest}"
    assert any("γ = 19" in line for line in promised)
    assert form == "The hosted form asks it."
    survey_file.write_text(TOML.format(gamma=57), encoding="utf-8")
    *_, form = done("survey", "check", survey_file).splitlines()
    assert form == (
        "The hosted form refuses it: its amplification 57 exceeds 19 (HALFTRUTH_MAX_GAMMA)."
    )
    found = json.loads(done("survey", "check", survey_file, "--max-gamma", "57", "--json"))
    assert found["refused_by_form"] is None
    assert found["questions"] == 2


def test_a_check_names_the_question_that_a_report_can_rule_an_answer_out_of(done, survey_file):
    """Nobody who drinks weekly ever reports to drink never."""
    mechanism = """kind = "distortion-matrices"
[mechanism.matrices]
smoker = [["3/4", "1/4"], ["1/4", "3/4"]]
drinks = [["1/2", "0", "1/4"], ["1/4", "3/4", "1/4"], ["1/4", "1/4", "1/2"]]"""
    text = TOML.replace('kind = "gamma-diagonal"\ngamma = "{gamma}"', mechanism)
    survey_file.write_text(text, encoding="utf-8")
    found = json.loads(done("survey", "check", survey_file, "--json"))["refused_by_form"]
    assert found == "a report can rule out an answer to 'drinks' (γ is infinite)"


def test_a_check_opens_no_database(done, survey_file, monkeypatch):
    monkeypatch.setenv("HALFTRUTH_DATABASE", "sqlite:////nowhere/at/all.db")
    assert "The hosted form asks it." in done("survey", "check", survey_file)


def test_a_survey_is_unlisted_and_listed_again(done, store, survey_file):
    done("survey", "publish", survey_file, "--unlisted")
    assert store.surveys.listed() == []
    done("survey", "relist", "health")
    assert [each.id for each in store.surveys.listed()] == ["health"]
    assert done("survey", "unlist", "health") == "unlisted health\n"
    assert store.surveys.listed() == []


def test_a_survey_is_reopened_until_it_has_reports(done, refused, filled, store):
    done("survey", "close", "health")
    complaint = refused("survey", "reopen", "health")
    assert complaint.startswith("halftruth: survey 'health': it has reports already")
    operations.publish_survey(store, Survey("new", "New", *parts(store)))
    done("survey", "close", "new")
    assert done("survey", "reopen", "new") == "reopened new\n"


def parts(store):
    survey = store.surveys.get("health").survey()
    return survey.schema, survey.mechanism


@pytest.mark.parametrize("typed", ["health\n", "Health\n", "\n"])
def test_a_survey_is_deleted_by_whoever_types_its_id(filled, database, store, typed):
    words = ["survey", "delete", "health", "--database", database]
    result = CliRunner().invoke(main, words, input=typed)
    assert "health has 3 reports: Health at work" in result.output
    if typed == "health\n":
        assert result.exit_code == 0
        assert "deleted health: 3 reports, 3 ids, 0 unused invitations, 0 tokens" in result.output
        assert store.surveys.all() == []
    else:
        assert result.exit_code != 0
        assert store.surveys.state("health").reports == 3


def test_a_script_deletes_with_the_id_once_more(done, refused, filled, store):
    complaint = refused("survey", "delete", "health", "--confirm", "yes")
    assert complaint == "halftruth: confirm: expected health; nothing was deleted\n"
    assert store.surveys.state("health").reports == 3
    done("survey", "delete", "health", "--confirm", "health")
    assert store.surveys.all() == []


@pytest.mark.parametrize("setting", ["HALFTRUTH_MAX_GAMMA", "HALFTRUTH_PROXIES"])
def test_a_wrong_setting_is_found_before_anything_is_published(
    halftruth, store, survey_file, monkeypatch, setting
):
    monkeypatch.setenv(setting, "x")
    status, said, complaint = halftruth("survey", "publish", survey_file)
    # The form's limit alone is read here; whether it asks the survey is part of the answer.
    if setting == "HALFTRUTH_MAX_GAMMA":
        assert (status, said) == (2, "")
        assert complaint.startswith("halftruth: HALFTRUTH_MAX_GAMMA: expected")
        assert store.surveys.all() == []
    else:
        assert (status, complaint) == (0, "")
        assert [each.id for each in store.surveys.all()] == ["health"]


def test_closed_surveys_are_purged(done, filled, store):
    done("survey", "close", "health")
    assert done("admin", "purge") == "no survey that ended 30 days ago still has ids\n"
    said = "health: 3 ids and 0 unused invitations deleted\n"
    assert done("admin", "purge", "--closed-for", "0") == said


def test_a_token_has_a_name_and_a_last_day(done, store):
    day = (datetime.now(UTC) + timedelta(days=90)).date()
    token = done(
        "admin", "token", "create", "--role", "analyst", "--name", "Anna", "--expires", day
    ).strip()
    known = store.tokens.bearer(token)
    assert (known.name, known.expires_at.date()) == ("Anna", day + timedelta(days=1))
    *_, line = done("admin", "token", "list").splitlines()
    assert line.split()[:4] == [known.id, "Anna", "analyst", "all"]
    assert str(day + timedelta(days=1)) in line


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("survey", "reopen", "nothing"), "there is no survey 'nothing'"),
        (("survey", "unlist", "nothing"), "there is no survey 'nothing'"),
        (("survey", "relist", "nothing"), "there is no survey 'nothing'"),
        (("survey", "delete", "nothing"), "there is no survey 'nothing'"),
        (("survey", "check", "no.toml"), "no.toml: cannot be read"),
        (("survey", "check", "{file}", "--max-gamma", "x"), "max_gamma: "),
        (("admin", "purge", "--closed-for", "-1"), "days: expected 0 to 36500 days"),
        (("admin", "token", "create", "--role", "analyst", "--expires", "soon"), "'%Y-%m-%d'"),
        (
            ("admin", "token", "create", "--role", "analyst", "--expires", "2020-01-01"),
            "expected a day",
        ),
        (
            ("admin", "token", "create", "--role", "analyst", "--name", "x" * 101),
            "name: expected a line",
        ),
    ],
)
def test_bad_input_is_one_line_and_changes_nothing(refused, store, survey_file, words, said):
    assert said in refused(*(word.format(file=survey_file) for word in words))
    assert store.tokens.all() == store.audit.all() == []
