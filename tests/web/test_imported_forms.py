"""Imported questionnaires, as rich as those from the field, are answered in a browser."""

import json
import re

import pytest
from halftruth_collector import operations
from halftruth_collector.importing import read_questionnaire
from halftruth_shared import Survey
from playwright.sync_api import expect
from questionnaires import lss, question, row, text, workbook

from .conftest import PICTURES, anyone_can_use, heading, press, send

pytestmark = pytest.mark.nightly

AGREE = [{"value": n, "text": t} for n, t in enumerate(("Never", "Rarely", "Often", "Always"))]


def surveyjs():
    """A questionnaire on sleep: panels with titles, a matrix, conditions, two languages."""
    form = {
        "title": {"default": "Sleep and shifts", "de": "Schlaf und Schicht"},
        "description": "<p>Five minutes,</p><p>nobody is named.</p>",
        "completedHtml": "<h3>Thank you!</h3><p>Sleep well.</p>",
        "pages": [
            {
                "title": {"default": "Your work", "de": "Ihre Arbeit"},
                "description": "About the last <b>four weeks</b>.",
                "elements": [
                    {
                        "type": "radiogroup",
                        "name": "shift",
                        "title": {
                            "default": "Which shifts do you work?",
                            "de": "Welche Schichten?",
                        },
                        "isRequired": True,
                        "choices": ["days", "nights", {"value": "both", "text": "days and nights"}],
                        "showOtherItem": True,
                    },
                    {
                        "type": "text",
                        "name": "age",
                        "title": "How old are you?",
                        "inputType": "number",
                        "min": 16,
                        "max": 75,
                        "isRequired": True,
                    },
                    {
                        "type": "boolean",
                        "name": "pension",
                        "title": "Do you think of retiring early?",
                        "visibleIf": "{age} >= 55",
                    },
                ],
            },
            {
                "title": "Your sleep",
                "elements": [
                    {
                        "type": "panel",
                        "name": "nights",
                        "title": "What helps you to fall asleep after a night shift?",
                        "visibleIf": "{shift} anyof ['nights', 'both']",
                        "elements": [
                            {
                                "type": "checkbox",
                                "name": "helps",
                                "choices": ["tea", "sport", "pills", "alcohol"],
                                "showNoneItem": True,
                            }
                        ],
                    },
                    {
                        "type": "matrix",
                        "name": "nightly",
                        "title": "How often does this happen?",
                        "columns": AGREE,
                        "rows": [
                            "I lie awake",
                            {"value": "early", "text": "I wake up too early"},
                            {"value": "day", "text": "I fall asleep <i>during</i> the day"},
                        ],
                    },
                    {
                        "type": "rating",
                        "name": "quality",
                        "title": "How well do you sleep, all in all?",
                        "rateMax": 7,
                        "minRateDescription": "very badly",
                        "maxRateDescription": "very well",
                    },
                    {
                        "type": "dropdown",
                        "name": "doctor",
                        "title": "Have you seen a doctor about it?",
                        "visibleIf": "{quality} < 4",
                        "choices": ["yes", "no", "not yet"],
                        "showRefuseItem": True,
                        "refuseText": "I would rather not say",
                    },
                    {"type": "comment", "name": "more", "title": "Anything else?"},
                ],
            },
        ],
    }
    return json.dumps(form).encode(), "sleep.json"


def limesurvey():
    """A questionnaire on work: groups with descriptions, arrays, a privacy notice, a long text."""
    long = "In the last twelve months, " + "counting everything that you did for pay, " * 7
    words = {
        1: "<p>Are you</p><p>in <strong>paid</strong> work?</p>",
        2: f"{long}how many hours a week did you work?",
        3: "Which of these did you ever do?",
        4: "How much do you agree?",
        5: "How would you rate your boss?",
        6: "What is your contract?",
        31: "Took something home",
        32: "Called in sick while well",
        33: "Wrote down more hours",
        41: "My work is of use.",
        42: "I am paid fairly.",
        7: "Why?",
    }
    content = lss(
        surveys=[row(language="en", showsurveypolicynotice=2)],
        surveys_languagesettings=[
            row(
                surveyls_language="en",
                surveyls_title="Working honestly",
                surveyls_description="Of a university.",
                surveyls_welcometext="<p>We study rules at work.</p><p>Ten minutes.</p>",
                surveyls_endtext="Thank you.",
                surveyls_policy_notice="<script>track()</script>Answers are randomized.",
            )
        ],
        groups=[row(gid=1, group_order=0), row(gid=2, group_order=1)],
        group_l10ns=[
            row(gid=1, group_name="Your work", description="First, what you do.", language="en"),
            row(gid=2, group_name="Rules", description="<p>Nobody can know.</p>", language="en"),
        ],
        questions=[
            question(1, "Y", "paid", 1, mandatory="Y"),
            question(2, "N", "hours", 2, relevance='paid.NAOK == "Y"'),
            question(6, "L", "contract", 3, other="Y", relevance="hours > 19", mandatory="Y"),
            question(3, "M", "rules", 4, gid=2, other="Y"),
            question(7, "T", "why", 5, gid=2),
            question(4, "F", "agree", 6, gid=2, relevance="!is_empty(rules_home.NAOK)"),
            question(5, "5", "boss", 7, gid=2),
        ],
        subquestions=[
            row(qid=31, parent_qid=3, title="home", question_order=1),
            row(qid=32, parent_qid=3, title="sick", question_order=2),
            row(qid=33, parent_qid=3, title="hours", question_order=3),
            row(qid=41, parent_qid=4, title="use", question_order=1),
            row(qid=42, parent_qid=4, title="fair", question_order=2),
        ],
        question_l10ns=[each for qid, said in words.items() for each in text(qid, en=said)],
        answers=[
            *(row(aid=n, qid=4, code=f"A{n}", sortorder=n) for n in (1, 2, 3)),
            *(row(aid=n, qid=6, code=f"B{n}", sortorder=n) for n in (4, 5)),
        ],
        answer_l10ns=[
            row(aid=n, answer=said, language="en")
            for n, said in enumerate(
                ("not at all", "partly", "wholly", "for some years", "for good"), 1
            )
        ],
        question_attributes=[
            row(qid=2, attribute="min_num_value_n", value="0"),
            row(qid=2, attribute="max_num_value_n", value="79"),
            row(qid=2, attribute="num_value_int_only", value="1"),
        ],
    )
    return content.encode(), "rules.lss"


def xlsform():
    """A form on households: groups, bounds, ranges, several answers, a condition on a number."""
    columns = ("type", "name", "label::English (en)", "label::Swahili (sw)", "hint", "relevant",
               "constraint", "required", "parameters", "appearance")  # fmt: skip
    survey = [
        columns,
        ("start", "start"),
        ("note", "hello", "Welcome"),
        ("begin group", "home", "Your household", "Kaya yako"),
        ("integer", "people", "How many people live here?", "Watu wangapi?", "With children.",
         None, ". >= 1 and . <= 20", "yes"),
        ("select_one yn", "water", "Is there clean water?", "Kuna maji safi?", None, None, None,
         "yes"),
        ("select_multiple from_where", "sources", "Where do you fetch water?", "Wapi?", None,
         "${water} != 'y'"),
        ("end group",),
        ("begin group", "health", "Health"),
        ("select_one often or_other", "ill", "How often was somebody ill?", None, "Last month.",
         "${people} > 4", None, None, None, "likert"),
        ("range", "worry", "How worried are you?", None, "0 is not at all.", None, None, None,
         "start=0;end=10;step=1"),
        ("begin repeat", "person", "Person"),
        ("integer", "years", "Age"),
        ("end repeat",),
        ("text", "remarks", "Remarks"),
        ("end group",),
    ]  # fmt: skip
    choices = [
        ("list_name", "name", "label::English (en)", "label::Swahili (sw)"),
        *(("yn", "y", "Yes", "Ndiyo"), ("yn", "n", "No", "Hapana")),
        *(("from_where", "well", "A well", "Kisima"), ("from_where", "river", "The river", "Mto")),
        *(("often", n, said) for n, said in enumerate(("Never", "Once", "Often"))),
    ]
    settings = [("form_title", "default_language"), ("Water and health", "English (en)")]
    return workbook(survey, choices, settings), "homes.xlsx"


def fill(page):
    """Answer each question of the page that is shown, also those that come with the answers."""
    for _ in range(3):
        for field in page.locator("fieldset").all():
            boxes = field.get_by_role("checkbox")
            (boxes.first if boxes.count() else field.get_by_role("radio").nth(1)).check()
        # The first one is of the language.
        for control in page.locator("select:visible").all()[1:]:
            control.select_option(index=1)
        for control in page.locator("input[inputmode]:visible").all():
            control.fill("20")


@pytest.mark.parametrize("form", [surveyjs, limesurvey, xlsform])
def test_an_imported_survey_is_answered_and_counted_on_a_phone_and_on_a_screen(live, visit, form):
    content, name = form()
    made = read_questionnaire(content, name)
    # All of it is asked, and seen.
    whole = re.sub('"split-.*\n.*\n.*', '"randomized-response"\ngamma = "19"', made.text)
    survey = Survey.from_toml(whole)
    operations.publish_survey(live.store, survey)
    asked = {question.name for question in survey.schema.questions}
    for width in (390, 1280):
        found = visit(f"{live.url}/s/{survey.id}", viewport={"width": width, "height": 900})
        page = found.page
        expect(heading(page, "Before you begin")).to_be_visible()
        if survey.framing.consent:
            page.get_by_role("checkbox").check()
        press(page, "Begin")
        pages = list(dict.fromkeys(each.page["en"] for each in survey.schema.attributes))
        for place, each in enumerate(pages, 1):
            expect(heading(page, f"{each} ({place} of")).to_be_visible()
            fill(page)
            assert "1: 1" not in page.inner_text("main")
            if PICTURES:
                page.screenshot(path=f"{PICTURES}/{name}-{width}-{place}.png", full_page=True)
            anyone_can_use(found, f"{name}-{place}")
            press(page, "Continue")
        expect(heading(page, "Nothing has been sent yet")).to_be_visible()
        if PICTURES:
            page.screenshot(path=f"{PICTURES}/{name}-{width}-end.png", full_page=True)
        assert page.locator(".card").first.locator("dt").count() >= len(asked) - 1
        send(page)
        expect(heading(page, "Thank you")).to_be_visible()
        assert found.said == []
    assert live.store.reports.counts(survey.id)[1].reports == 2
