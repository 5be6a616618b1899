"""``halftruth audit``: text, JSON and a page of one audit."""

import json

import pytest
from halftruth_shared import Protection, read_survey
from markupsafe import Markup

TOML = """
id = "health"
title = "Health <at> work"

[mechanism]
kind = "randomized-response"
keep = { smoker = "3/4", drinks = "1/2" }

[[attributes]]
name = "smoker"
categories = ["no", "yes"]

[[attributes]]
name = "drinks"
categories = ["never", "<b>weekly</b>", "daily"]
"""
RECORDS = "smoker,drinks\n" + "no,never\n" * 40 + "yes,<b>weekly</b>\n" * 9 + "yes,daily\n" * 3


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "health.toml").write_text(TOML, encoding="utf-8")
    (tmp_path / "pilot.csv").write_text(RECORDS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


LINKED = ("--pilot", "pilot.csv", "--quasi", "drinks", "--sensitive", "smoker")


def test_the_audit_covers_every_kind_of_attacker(command, folder):
    status, said, complaint = command("audit", "health.toml", "--respondents", "5000")
    assert (status, complaint) == (0, "")
    assert "5\u202f000 planned respondents" in said
    flat = said.replace("\n", " ")
    for sentence in Protection.of(read_survey("health.toml")).sentences():
        assert sentence in flat
    for title in ("takes part more than once", "sees only the counts", "can change them"):
        assert title in said
    assert "quasi-identifiers" not in said
    # Text is wrapped; tables are not.
    assert max(len(line) for line in said.splitlines() if not set("  ") <= set(line)) <= 100


def test_a_pilot_sets_the_number_of_respondents_and_adds_linking(command, folder):
    said = command("audit", "health.toml", *LINKED)[1]
    assert "52 planned respondents" in said
    assert "Suppose someone knows drinks of the 52 people of the pilot" in said


def test_json_has_every_number_and_null_for_missing_ones(command, folder):
    found = json.loads(command("audit", "health.toml", *LINKED, "--json", "--delta", "0.001")[1])
    assert (found["survey"], found["respondents"], found["pilot"]) == ("health", 52, 52)
    assert found["protection"]["record"]["gamma"] == 6.0
    assert found["counts"]["delta"] == 0.001
    assert found["counts"]["closed_form"] is None
    assert {answer["category"] for answer in found["answers"]} >= {"no", "<b>weekly</b>"}
    assert 0 < found["linking"]["at_once"] < 1


def test_the_page_has_the_text_of_the_terminal(command, folder):
    text = command("audit", "health.toml", *LINKED, "--output", "audit.html")[1]
    written = (folder / "audit.html").read_text(encoding="utf-8")
    assert "Health &lt;at&gt; work" in written
    assert "<b>" not in written
    # Except for the layout of the terminal.
    spoken = {word for word in text.split() if set(word) - set("-•")}
    assert spoken <= set(Markup(written.replace("<", " <")).striptags().split())


def test_a_wave_states_its_share_of_the_total_of_its_series(command, folder):
    series = '[series]\nid = "health"\nwave = 1\ntotal_gamma = "100"\norigin = "https://a.test"\n\n[mechanism]'
    text = TOML.replace("[mechanism]", series)
    (folder / "wave.toml").write_text(text, encoding="utf-8")
    status, said, _ = command("audit", "wave.toml", "--output", "audit.html")
    assert status == 0
    # Smoking is kept with probability 3/4 (γ = 3), and drinking with 1/2 (γ = 2).
    assert "This wave has γ = 6." in " ".join(said.split())
    assert "Assumptions of the total" in (folder / "audit.html").read_text(encoding="utf-8")
    found = json.loads(command("audit", "wave.toml", "--json")[1])["series"]
    assert (found["total"]["gamma"], found["cost"]["gamma"], found["waves"]) == (100.0, 6.0, 2)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("no.toml",), "no.toml: cannot be read"),
        (("health.toml", "--quasi", "drinks", "--sensitive", "smoker"), "pilot: expected"),
        (("health.toml", "--pilot", "pilot.csv", "--quasi", "drinks"), "sensitive: expected"),
        (("health.toml", *LINKED[:2], "--quasi", "age", "--sensitive", "smoker"), "quasi: unknown"),
        (("health.toml", "--pilot", "no.csv"), "pilot: cannot be read"),
        (("health.toml", "--respondents", "1"), "--respondents"),
        (("health.toml", "--delta", "2"), "--delta"),
        (("health.toml", "--output", "no/where.html"), "output: expected a file"),
    ],
)
def test_invalid_input_is_refused_with_one_line(refused, folder, words, said):
    assert said in refused("audit", *words)
