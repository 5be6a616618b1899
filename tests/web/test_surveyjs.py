"""SurveyJS questionnaires displayed by SurveyJS, with reports sent by the client."""

import json
import random
import re
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from halftruth_collector import operations
from halftruth_importing.readers import SURVEYJS
from halftruth_shared import Survey
from playwright.sync_api import expect
from relays import with_relay

from .conftest import PICTURES, bundle_surveyjs, counted, heading, posted, press

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
QUESTIONNAIRE = json.loads((HERE / "surveyjs.json").read_text("utf-8"))
IMPORTED = SURVEYJS.convert(json.dumps(QUESTIONNAIRE).encode(), "surveyjs.json", "health", "19")
#: The survey once its author has checked the questions.
TEXT = re.sub("(?m)^unconfirmed = .*\n", "", IMPORTED.text)
SURVEY = Survey.from_toml(TEXT)


@pytest.fixture
def people(live, origin, visit, scripted):
    """A page that answers the model for several people; the value is the outcome of each."""
    (origin.folder / "app.js").write_text(scripted, "utf-8")
    found = visit(origin.add("", '<script type="module" src="app.js"></script>'))
    settings = {"collector": live.url, "survey": "health", "map": IMPORTED.names, "maxGamma": "19"}

    def answer(*records, **more):
        arguments = [QUESTIONNAIRE, settings | more, records]
        return found.page.evaluate("(given) => answerAll(...given)", arguments)

    answer.visit = found
    answer.settings = settings
    return answer


def person(draw):
    """Return simulated answers to all questions in SurveyJS's own values."""
    smoker = draw.choices([0, 1, "refused"], [6, 3, 1])[0]
    record = {
        "smoker": smoker,
        "how many": draw.choice(["1 to 10", "11 to 20", "other"]),
        "symptoms": draw.choice(
            [["cough"], ["cough", "sore throat"], ["other"], ["none"], ["dontknow"], None]
        ),
        "shift": draw.choice(["early", "late", None]),
        "helpers": draw.choice([["family"], ["friends"], ["family", "friends"], None]),
        "nights?": draw.choices("YN", [1, 3])[0],
        "content": draw.choice([1, 2, 3, None]),
        "mood": {"in the morning": draw.choice([1, 2]), "night": draw.choice([1, 2])},
        "hours": draw.randrange(80),
        "pain": draw.choice([0, 3, 8, 10, None]),
        "home": draw.choice(["flat", "house", None]),
        "pets": draw.choice([["cat"], ["dog"], ["cat", "dog"], None]),
    }
    return {name: answer for name, answer in record.items() if answer is not None}


def truth(record):
    """Return the same answers in the categories of the survey, converted by hand."""
    several = {
        "symptoms": {"cough": "cough", "sore-throat": "sore throat", "other": "other"},
        "helpers": {"family": "family", "friends": "friends"},
        "pets": {"cat": "cat", "dog": "dog"},
    }
    options = {
        f"{name}.{ours}": "no answer"
        if name not in record
        else "don't know"
        if record[name] == ["dontknow"]
        else "yes"
        if theirs in record[name]
        else "no"
        for name, all in several.items()
        for ours, theirs in all.items()
    }
    hours, pain = record["hours"] // 16 * 16, record.get("pain")
    return options | {
        "smoker": str(record["smoker"]),
        "how-many": record["how many"] if record["smoker"] == 1 else "not asked",
        "shift": record.get("shift", "no answer"),
        "nights": {"Y": "yes", "N": "no"}[record["nights?"]],
        "content": str(record.get("content", "no answer")),
        "mood-in-the-morning": str(record["mood"]["in the morning"]),
        "mood-night": str(record["mood"]["night"]),
        "hours": f"{hours} to {hours + 15}",
        "pain": {None: "no answer", 0: "0 to 2", 3: "3 to 5", 8: "6 to 8", 10: "9 to 10"}[pain],
        "home": record.get("home", "no answer"),
    }


def with_mechanism(keep):
    """Return the survey with another mechanism, which asks all questions."""
    names = ", ".join(f'"{name}" = "{keep}"' for name in SURVEY.schema.names)
    mechanism = f'kind = "randomized-response"\nkeep = {{{names}}}'
    text = re.sub(r'kind = "split-q[^\[]*', f"{mechanism}\n\n", TEXT)
    text = text.replace('[reports]\ntickets = "required"\n', "")
    if keep == "1":
        text = re.sub("(?m)^(name = .*)$", r"\1\nsensitive = false", text)
    return Survey.from_toml(text)


def test_every_question_type_is_counted_correctly(live, people):
    asked = with_mechanism("1")
    operations.publish_survey(live.store, asked)
    draw = random.Random(4)
    records = [person(draw) for _ in range(15)]
    names = list(asked.schema.names)
    ends = people(*records, unprotected=names, digests=[asked.digest])
    assert {end["state"] for end in ends} == {"success"}, ends[0]
    # Non-smokers are not asked how much they smoke.
    assert [("how many" in end["asked"]) for end in ends] == [r["smoker"] == 1 for r in records]
    expected = Counter(tuple(truth(record)[name] for name in names) for record in records)
    assert Counter(map(tuple, counted(live, "health"))) == expected


def test_only_the_drawn_view_is_asked_and_only_reports_are_sent(live, people):
    operations.publish_survey(live.store, SURVEY)
    draw = random.Random(7)
    ends = people(*[person(draw) for _ in range(20)])
    assert {end["state"] for end in ends} == {"success"}, ends[0]
    # Each report is about two questions, options or rows, each with at most one condition.
    assert max(len(end["asked"]) for end in ends) <= 4
    # Of twelve questions, twenty people are asked more than six, with probability above 1 − 10⁻⁶.
    assert len({name for end in ends for name in end["asked"]}) > 6
    # The data for SurveyJS's own handlers and the stored data are empty.
    assert {end["seen"][0] for end in ends} == {"{}"}
    assert [end["data"] for end in ends] == [{}] * 20
    bodies = [json.loads(line[line.index('{"digest"') :]) for line in posted(people.visit)]
    assert len(bodies) == 20
    for body in bodies:
        [report] = body["reports"]
        assert body.keys() == {"digest", "reports"}
        assert report.keys() == {"id", "values", "ticket"}
    addresses = {line.split()[1] for line in people.visit.requests}
    assert {address.removeprefix(live.url) for address in addresses if live.url in address} == {
        "/v1/surveys/health",
        "/v1/surveys/health/tickets",
        "/v1/surveys/health/reports",
    }
    assert people.visit.page.context.cookies() == []
    kept = people.visit.page.evaluate("Object.keys(localStorage)")
    assert {key.split(":")[0] for key in kept} == {
        "halftruth",
        "halftruth-view",
        "halftruth-ledger",
    }


SPY = "spy({smoker}, {hours}, {symptoms})"
LATER = "spyLater({smoker}, {hours}) notempty"

#: All properties of a questionnaire in which survey-core 2.5 evaluates an expression.
OF_QUESTIONS = {
    **dict.fromkeys(("visibleIf", "enableIf", "requiredIf", "resetValueIf", "setValueIf"), SPY),
    **dict.fromkeys(("setValueExpression", "defaultValueExpression", "watch"), SPY),
    "validators": [{"type": "expression", "expression": LATER}],
}
OF_SURVEYS = {
    "calculatedValues": [
        {"name": "kept", "expression": SPY, "includeIntoResult": True},
        {"name": "sent", "expression": "spyLater({smoker})"},
    ],
    "triggers": [
        {"type": "runexpression", "expression": SPY, "runExpression": SPY},
        {"type": "setvalue", "expression": LATER, "setToName": "why", "setValue": "{smoker}"},
    ],
    "completedHtmlOnCondition": [{"expression": SPY, "html": "smokes: {smoker}"}],
    "navigateToUrlOnCondition": [{"expression": LATER, "url": "/{smoker}"}],
}
UNMAPPED = [
    {"type": "expression", "name": "sum", "expression": SPY},
    {
        "type": "matrixdynamic",
        "name": "table",
        "rowCount": 2,
        "rowsVisibleIf": SPY,
        "columns": [
            {"name": "a", "cellType": "text", "totalExpression": SPY, "defaultValueExpression": SPY}
        ],
    },
    {
        "type": "paneldynamic",
        "name": "people",
        "panelCount": 1,
        "templateVisibleIf": SPY,
        "templateElements": [{"type": "text", "name": "b", "setValueExpression": SPY}],
    },
]


def test_custom_functions_of_the_page_receive_no_answers(live, people):
    """The questionnaire calls one in every place; without `connect` each call would get answers."""
    asked = with_mechanism("1")
    operations.publish_survey(live.store, asked)
    questionnaire = json.loads(json.dumps(QUESTIONNAIRE)) | OF_SURVEYS
    for page in questionnaire["pages"]:
        page |= {"visibleIf": SPY, "enableIf": LATER, "requiredIf": SPY}
        for question in page["elements"]:
            question |= OF_QUESTIONS
            if "choices" in question:
                question |= {"choicesVisibleIf": SPY, "choicesEnableIf": SPY}
            if question["type"] == "matrix":
                question |= {"rowsVisibleIf": SPY, "columnsVisibleIf": SPY}
            if question["type"] == "text":
                question |= {"minValueExpression": "spy({pain})", "maxValueExpression": SPY}
    questionnaire["pages"][0]["elements"] += UNMAPPED
    page, record = people.visit.page, person(random.Random(1))
    names = list(asked.schema.names)
    settings = people.settings | {"unprotected": names, "digests": [asked.digest]}
    page.evaluate("localStorage.clear()")
    end = page.evaluate("(given) => answer(...given)", [questionnaire, settings, record])
    assert end.get("state") == "success", end
    assert (end["seen"], end["data"]) == (["{}"], {})
    assert "smokes" not in end["html"]
    assert [tuple(row) for row in counted(live, "health")] == [
        tuple(truth(record)[name] for name in names)
    ]
    seen = [json.loads(each) for each in page.evaluate("seenByFunctions")]
    # It was called while the model was created, before the first question.
    assert seen
    rows = {"table", "people"}
    assert [each for each in seen if each["data"].keys() - rows or any(each["params"])] == []


def test_without_connect_custom_functions_receive_answers(people):
    """Check that the spy works."""
    questionnaire = QUESTIONNAIRE | OF_SURVEYS
    made = "(given) => Object.assign(plain(given), { data: { smoker: 1 } }).data"
    people.visit.page.evaluate(made, questionnaire)
    seen = [json.loads(each) for each in people.visit.page.evaluate("seenByFunctions")]
    assert any(each["data"].get("smoker") == 1 for each in seen)


def test_a_model_without_the_expression_event_is_refused(live, people):
    operations.publish_survey(live.store, SURVEY)
    page = people.visit.page
    arguments = [QUESTIONNAIRE, people.settings, {}, {"onExpressionRunning": None}]
    end = page.evaluate("(given) => answer(...given)", arguments)
    assert end["failed"].startswith("model: expected one of survey-core with the event")
    assert posted(people.visit) == []


def changed(**entries):
    return {"map": {**IMPORTED.names, **entries}}


#: Invalid settings, and the message in place of the first question.
WRONG = {
    "a map of another questionnaire": ({"map": {}}, "expected a question of the model for"),
    "a question of another survey": (
        changed(shift={"name": "shifts", "answers": {}}),
        "expected a question of the survey for 'shift'",
    ),
    "a question twice": (
        changed(shift=IMPORTED.names["content"]),
        "expected an answer of the survey for 'early' of 'shift'",
    ),
    "a value less": (
        changed(shift={"name": "shift", "answers": {"early": "early"}}),
        "expected an answer of the survey for 'late' of 'shift'",
    ),
    "an option less": (
        {"map": {k: v for k, v in IMPORTED.names.items() if k != "pets[dog]"}},
        "expected a question of the survey for 'pets[dog]'",
    ),
    "a weaker survey": ({"maxGamma": "18"}, "amplification"),
}


def test_invalid_settings_are_explained_in_place_of_the_questions(live, people):
    operations.publish_survey(live.store, SURVEY)
    for settings, said in WRONG.values():
        [end] = people(person(random.Random(1)), **settings)
        assert end["state"] == "loading"
        assert said in re.sub("<[^>]*>", "", end["html"])
        assert end["failed"]
    settings = people.settings | {"maxGamma": "18"}
    arguments = [QUESTIONNAIRE, settings, {}, {"locale": "de"}]
    end = people.visit.page.evaluate("(given) => answer(...given)", arguments)
    assert "Diese Umfrage kann hier nicht beantwortet werden" in end["html"]
    assert posted(people.visit) == []
    assert counted(live, "health") == []


def test_a_report_for_a_relay_is_sent_only_to_it_and_disclosed(live, people, tmp_path, sealing_key):
    address = "http://127.0.0.1:1"
    relay = {"url": address, "batch": 500, "sealing_key": sealing_key}
    asked = with_relay(with_mechanism("9/10"), tmp_path, **relay)
    operations.publish_survey(live.store, asked)
    answer = {"status": 202, "json": {"accepted": 1}}
    answer["headers"] = {"Access-Control-Allow-Origin": "*"}
    people.visit.page.route(f"{address}/**", lambda route: route.fulfill(**answer))
    [end] = people(person(random.Random(1)), maxGamma=str(10**40))
    assert (end["state"], end["seen"]) == ("success", ["{}"])
    assert "with at least 499 others" in end["text"]
    [post] = posted(people.visit)
    assert post.startswith(f"POST {address}/v1/surveys/health/reports ")
    [report] = json.loads(post[post.index('{"digest"') :])["reports"]
    assert report.keys() == {"id", "sealed"}
    assert counted(live, "health") == []


#: Runs periodic retries without waiting.
SOON = "const every = setInterval; window.setInterval = (action) => every(action, 50);"


def test_a_failed_report_is_an_error_and_is_sent_again_unchanged(live, people):
    operations.publish_survey(live.store, SURVEY)
    page = people.visit.page
    page.evaluate(SOON)
    page.route("**/reports", lambda route: route.abort())
    [end] = people(person(random.Random(1)))
    assert (end["state"], end["text"], end["seen"]) == (
        "error", "Your report is waiting", ["{}"],
    )  # fmt: skip
    assert "Thank" not in end["html"]
    assert "This browser keeps it" in end["html"]
    page.unroute("**/reports")
    # The retry happens automatically.
    page.wait_for_function("model.completedState === 'success'")
    assert "was counted" in page.evaluate("model.completedHtml")
    assert len({line[line.index('{"digest"') :] for line in posted(people.visit)}) == 1
    assert live.store.reports.counts("health")[1].reports == 1
    # A returning respondent is not asked again.
    arguments = [QUESTIONNAIRE, people.settings, {}]
    again = page.evaluate("(given) => answer(...given)", arguments)
    assert again["state"] == "loading"
    assert "Already answered in this browser" in again["html"]


def test_two_clicks_send_a_report_once(live, people):
    """SurveyJS completes again for every click on *Try again*."""
    operations.publish_survey(live.store, SURVEY)
    page = people.visit.page
    page.route("**/reports", lambda route: route.abort())
    [end] = people(person(random.Random(1)))
    assert end["state"] == "error"
    page.unroute("**/reports")
    before = len(posted(people.visit))
    page.evaluate("model.saveDataOnComplete(); model.saveDataOnComplete();")
    page.wait_for_function("model.completedState === 'success'")
    page.evaluate("model.saveDataOnComplete()")
    page.wait_for_function("model.completedState === 'success'")
    page.wait_for_timeout(300)
    assert len(posted(people.visit)) == before + 1
    assert live.store.reports.counts("health")[1].reports == 1


def test_a_report_to_a_changed_survey_is_refused_with_a_message(live, people):
    operations.publish_survey(live.store, SURVEY)
    page = people.visit.page

    def change(route):
        text = TEXT.replace('title = "Work', 'title = "Sleep')
        operations.publish_survey(live.store, Survey.from_toml(text))
        route.continue_()

    page.route("**/reports", change, times=1)
    [end] = people(person(random.Random(1)))
    assert (end["state"], end["text"]) == ("error", "Your report was not counted")
    assert "Thank" not in end["html"]
    assert live.store.reports.counts("health")[1].reports == 0


def test_missing_answers_and_numbers_out_of_range_are_asked_for_again(live, people):
    operations.publish_survey(live.store, with_mechanism("1"))
    names = list(SURVEY.schema.names)
    more = {"unprotected": names, "digests": [with_mechanism("1").digest]}
    record = person(random.Random(1))
    [end] = people({name: record[name] for name in record if name != "smoker"}, **more)
    assert (end["state"], end["wrong"]) == ("running", ["Response required."])
    [end] = people(record | {"hours": 3.5}, **more)
    assert end["wrong"] == ["Please enter a whole number from 0 to 79."]
    assert posted(people.visit) == []


def test_the_manual_example_works_with_surveyjs(live, origin, visit, command):
    """A respondent reads the promise, answers, sees the report, and is not asked again."""
    file, toml = origin.folder / "health.json", origin.folder / "health.toml"
    file.write_bytes((ROOT / "docs/examples/health.json").read_bytes())
    names = origin.folder / "health.map.json"
    assert command("survey", "import", file, "--output", toml, "--map", names)[0] == 0
    # All questions are asked, so that the pages are the same in each run.
    text = toml.read_text("utf-8").replace("max_length = 2\n", "")
    text = text.replace("split-questionnaire", "gamma-diagonal").replace("required", "none")
    text = text.replace("[form]", '[form]\nasked_by = "A university"\nconsent = "I agree."')
    operations.publish_survey(live.store, Survey.from_toml(text))
    # A URL that contains an answer, which browsers would fetch.
    questionnaire = json.loads(file.read_text("utf-8"))
    picture = {"type": "html", "name": "note", "html": '<img src="/smoker-{smoker}.png" alt="">'}
    questionnaire["pages"][1]["elements"].append(picture)
    # A comment field, which must not be shown, since comments are not sent.
    questionnaire["pages"][1]["elements"][0]["showCommentArea"] = True
    file.write_text(json.dumps(questionnaire), "utf-8")
    [lines] = re.findall(r"```js\n(.*?)```", (ROOT / "docs/surveyjs.md").read_text("utf-8"), re.S)
    lines = lines.replace("https://collector.example", live.url)
    (origin.folder / "own.js").write_text(lines, "utf-8")
    bundle_surveyjs(origin.folder, "own.js")
    head = '<link rel="stylesheet" href="app.css"><script type="module" src="app.js"></script>'
    found = visit(origin.add('<div id="survey"></div>', head))
    page = found.page

    def choose(text):
        page.get_by_text(text, exact=True).first.click()

    expect(page.get_by_text("Before you begin")).to_be_visible()
    expect(page.get_by_text("A university")).to_be_visible()
    expect(page.get_by_text("at most 50", exact=True)).to_be_visible()
    look(page, "surveyjs-promise")
    press(page, "Begin")
    expect(page.get_by_text("Please tick this box if you agree")).to_be_visible()
    choose("I agree.")
    press(page, "Begin")
    expect(page.get_by_text("Do you smoke?")).to_be_visible()
    expect(page.get_by_text("How strong")).to_have_count(0)
    choose("yes")
    choose("2")
    press(page, "Next")
    expect(page.get_by_text("Why?")).to_have_count(0)
    choose("a sore throat")
    choose("Other (describe)")
    expect(page.locator("textarea")).to_have_count(0)
    look(page, "surveyjs-questions")
    # The first request fails; SurveyJS offers to send again.
    page.route("**/reports", lambda route: route.abort())
    press(page, "Complete")
    expect(page.get_by_role("button", name="Try again")).to_be_visible()
    expect(page.get_by_text("Thank")).to_have_count(0)
    look(page, "surveyjs-error")
    page.unroute("**/reports")
    press(page, "Try again")
    expect(heading(page, "This is what was sent")).to_be_visible()
    expect(page.get_by_text("a sore throat, other")).to_be_visible()
    look(page, "surveyjs-receipt")
    assert len(counted(live, "health")) == 1
    assert len({line[line.index('{"digest"') :] for line in posted(found)}) == 1
    [fetched] = {each for each in origin.asked if "smoker" in each}
    assert fetched == "GET /smoker-%7Bsmoker%7D.png"
    # The browser's cached copy of the page, which the next user may restore.
    page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))")
    expect(page.get_by_text("a sore throat")).to_have_count(0)
    with page.expect_navigation():
        page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")
    expect(heading(page, "Already answered in this browser")).to_be_visible()
    expect(page.get_by_text("Do you smoke?")).to_have_count(0)
    look(page, "surveyjs-before")
    assert len(counted(live, "health")) == 1
    # No third party is contacted: no font, style or script of another host.
    asked = {urlsplit(line.split()[1]).netloc for line in found.requests}
    assert asked == {urlsplit(url).netloc for url in (origin.url, live.url)}


def look(page, name):
    if PICTURES:
        page.screenshot(path=Path(PICTURES) / f"{name}.png", full_page=True)
