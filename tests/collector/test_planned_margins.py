"""Every surface that prints a planned margin prints the same one: plan, audit and design page."""

import json
import re
from html import unescape
from itertools import product

import pytest
from halftruth_collector import operations
from halftruth_collector.web.pages.session import COOKIE
from halftruth_shared import Survey
from halftruth_shared.results.wording import half_width

QUESTIONS = """
[[attributes]]
name = "age"
categories = ["under 30", "30 to 49", "50 and over", "refused"]
missing = ["refused"]
sensitive = false

[[attributes]]
name = "smoker"
categories = ["no", "yes"]

[[attributes]]
name = "weekly"
categories = ["never", "once", "often", "always"]
ask_if = { smoker = ["yes"] }

[[attributes]]
name = "coughs"
categories = ["no", "yes"]
"""
MECHANISMS = {
    "split questionnaire": 'kind = "split-questionnaire"\ngamma = "19"\nmax_length = 2',
    "one public": 'kind = "split-questionnaire"\ngamma = "19"\nmax_length = 2\npublic = ["age"]',
    "gamma-diagonal": 'kind = "gamma-diagonal"\ngamma = "19"',
    "randomized response": 'kind = "randomized-response"\n'
    'keep = { age = "3/4", smoker = "9/10", weekly = "3/5", coughs = "4/5" }',
}
PILOT = [
    *["30 to 49,no,not asked,no"] * 60,
    *["50 and over,yes,often,yes"] * 25,
    *["under 30,yes,never,no"] * 9,
    *["refused,yes,always,yes"] * 6,
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    names = ",".join(re.findall('name = "(.*)"', QUESTIONS))
    (tmp_path / "pilot.csv").write_text("\n".join([names, *PILOT]), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def cells(text, line, gap):
    """The cells of the line of a table that begins with a word."""
    [row] = [each for each in text.splitlines() if re.match(rf"{line}\s\s", each)]
    return re.split(gap, row.strip())


def cases():
    """Yield all combinations; by day half of them, in which every two choices occur together."""
    for number, mechanism in enumerate(MECHANISMS):
        for has_pilot, respondents in product((False, True), (800, 30_000)):
            by_day = (number + has_pilot + (respondents > 800)) % 2 == 0
            pilot = ("--pilot=pilot.csv",) if has_pilot else ()
            marks = [] if by_day else [pytest.mark.nightly]
            yield pytest.param(mechanism, pilot, respondents, marks=marks)


@pytest.mark.parametrize(("mechanism", "pilot", "respondents"), list(cases()))
def test_all_surfaces_print_the_same_margin(
    mechanism, pilot, respondents, command, folder, http, store, analyst
):
    text = f'id = "health"\ntitle = "Health"\n[mechanism]\n{MECHANISMS[mechanism]}\n{QUESTIONS}'
    (folder / "health.toml").write_text(text, encoding="utf-8")
    words = ("health.toml", f"--respondents={respondents}", *pilot)
    # Other mechanisms are planned by the design page alone, which always compares them.
    planned = json.loads(command("plan", *words, "--alone", "--json")[1])
    [share] = [each for each in planned["margins"] if each["quantity"] == "share"]
    own = planned["mechanisms"][0]["margins"][0]
    assert (own["median"], own["worst"]) == (share["median"], share["worst"])
    audited = json.loads(command("audit", *words, "--json")[1])["precision"][0]
    assert audited == share
    said = half_width(share["median"])
    plan_text, audit_text = command("plan", *words, "--alone")[1], command("audit", *words)[1]
    of_plan = cells(plan_text, "share of an answer", r"\s{2,}")
    of_audit = cells(audit_text, "1", r"\s{2,}")
    assert of_plan[1] == said
    assert of_audit[1].split(" (")[0] == said
    # The worst margin with its question, and the definition.
    assert next(each for each in of_plan[2:] if "(" in each) == of_audit[2]
    [definition] = [line for line in plan_text.splitlines() if line.startswith("Margins: ")]
    assert definition in audit_text.replace("\n", " ")
    command("audit", *words, "--output=audit.html")
    page = re.sub("<[^>]*>", "", unescape((folder / "audit.html").read_text(encoding="utf-8")))
    assert said in page
    assert definition in page
    if pilot:
        return
    body = {"survey": json.loads(Survey.from_toml(text).canonical_json)}
    body |= {"respondents": respondents, "alone": True}
    answered = http.post("/v1/plan", json=body, headers=analyst).get_json()
    assert answered["margins"] == planned["margins"]
    http.set_cookie(COOKIE, operations.create_token(store, "operator"), path="/operate/")
    form = {"survey": text, "do": "check", "respondents": str(respondents)}
    design = unescape(http.post("/operate/design", data=form).get_data(as_text=True))
    cell = f'<td data-heading="typical margin">{said}</td>'
    assert f'<th scope="row">share of an answer</th>{cell}' in design
    assert definition in design
