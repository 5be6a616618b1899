"""What somebody who writes a survey does in a real browser, by keyboard."""

import re

import pytest
from halftruth_shared.protocol.terms import Terms
from playwright.sync_api import expect

from .conftest import PHONE, anyone_can_use, begin, counted, heading, send, sign_in

QUESTIONNAIRE = {
    "name": "health.csv",
    "mimeType": "text/csv",
    "buffer": b"""survey
,type,name,label,required,constraint
,select_one yn,smoker,Do you smoke?,yes,
,text,remarks,Anything else?,,
,integer,age,How old are you?,yes,.>=16 and .<=95
choices
,list_name,name
,yn,no
,yn,yes
""",
}


@pytest.fixture
def designer(live, visit):
    """Open the designer, signed in."""

    def begin_design(**options):
        return sign_in(visit(f"{live.url}/operate/design", **options), live)

    return begin_design


def button(page, name):
    """Press a button by keyboard."""
    page.get_by_role("button", name=name, exact=True).focus()
    page.keyboard.press("Enter")


def write(page, label, words):
    """Type into a control in the place of what is there."""
    page.get_by_label(label, exact=True).focus()
    page.keyboard.press("Control+a")
    page.keyboard.type(words)


def file_holds(page, *lines):
    """Wait for lines of the file."""
    for line in lines:
        written = re.compile(re.escape(line))
        expect(page.get_by_label("Survey file (TOML)")).to_have_value(written)


def step(page, name):
    """Go to a step by keyboard."""
    page.get_by_role("radio", name=name, exact=True).press("Space")


def add(page, kind, name):
    button(page, f"Add a question: {kind}")
    expect(page.get_by_label("Name", exact=True)).to_have_value(re.compile("question"))
    write(page, "Name", name)


def test_without_scripts_a_survey_of_all_kinds_in_two_languages_is_designed_and_answered(
    designer, live, visit
):
    page = designer(java_script_enabled=False).page
    step(page, "Publish")
    write(page, "Id", "habits")
    step(page, "Around the questions")
    write(page, "Languages", "en de")
    button(page, "Check")
    write(page, "Title (en)", "Habits")
    write(page, "Who asks (en)", "The works council")
    button(page, "de")
    write(page, "Title (de)", "Gewohnheiten")
    write(page, "Who asks (de)", "Der Betriebsrat")
    step(page, "Questions")
    write(page, "Question (de)", "Rauchen Sie?")
    button(page, "en")
    write(page, "Question (en)", "Do you smoke?")
    button(page, "Remove second")
    expect(page.get_by_role("button", name="Remove second")).to_have_count(0)
    add(page, "scale", "content")
    write(page, "Answers, one per line", "1\n2\n3")
    add(page, "number", "age")
    write(page, "Least number", "20")
    write(page, "Largest number", "79")
    write(page, "Width of a bin", "20")
    add(page, "several", "symptoms")
    write(page, "Options, one per line", "cough\nfever")
    button(page, "de")
    write(page, "Shown as, line by line (de)", "Husten\nFieber")
    button(page, "Move up symptoms")
    page.get_by_text("Asked after some answers only").press("Enter")
    page.get_by_role("group", name="first").get_by_label("yes").press("Space")
    step(page, "Protection")
    write(page, "Most questions in a table", "1")
    slider = page.get_by_role("slider")
    slider.focus()
    for _ in range(5):
        page.keyboard.press("ArrowLeft")
    button(page, "Check")
    shown = page.get_by_role("region", name="Protection")
    expect(shown.get_by_text("a report can at most make 45")).to_be_visible()
    single = re.compile(r"A single answer: from 5\s% to at most 45\s%")
    expect(shown.get_by_text(single)).to_be_visible()
    step(page, "File")
    file_holds(
        page,
        'label = {en = "Do you smoke?", de = "Rauchen Sie?"}',
        'name = "fever", label = {en = "fever", de = "Fieber"}',
        "maximum = 79",
        'ask_if = {first = ["yes"]}',
        'asked_by = {en = "The works council", de = "Der Betriebsrat"}',
        'breach = ["0.05", "0.45"]',
        "max_length = 1",
    )
    step(page, "Publish")
    write(page, "Most reports", "400")
    button(page, "Publish")
    expect(heading(page, "Habits")).to_be_visible()
    assert live.store.surveys.get("habits").terms == Terms(max_reports=400)
    survey = live.store.surveys.get("habits").survey()
    kinds = [question.kind for question in survey.schema.questions]
    assert kinds == ["choice", "scale", "several", "number"]
    assert survey.languages == ("en", "de")
    assert survey.schema.attributes[0].label_in("de") == "Rauchen Sie?"
    respondent = visit(f"{live.url}/s/habits").page
    begin(respondent)
    # Some questions are drawn, of whatever kind.
    expect(respondent.get_by_role("button", name="Continue")).to_be_visible()
    for number in respondent.get_by_role("textbox").all():
        number.fill("30")
    for group in respondent.get_by_role("group").all():
        group.get_by_role("radio").or_(group.get_by_label("None of these")).first.check()
    respondent.get_by_role("button", name="Continue").click()
    expect(heading(respondent, "Nothing has been sent yet")).to_be_visible()
    send(respondent)
    expect(heading(respondent, "Thank you")).to_be_visible()
    assert live.store.state("habits").reports == 1


def test_a_named_design_is_chosen_and_said_in_the_words_of_respondents(designer, live):
    page = designer().page
    step(page, "Protection")
    page.get_by_label("Mechanism").select_option("distortion-matrices")
    step(page, "Questions")
    page.get_by_label("Design", exact=True).select_option("forced-response")
    write(page, "Chance that yes is reported whatever the answer is", "1/6")
    expect(page.locator("#preview").get_by_text("with chance 1 in 6")).to_have_count(1)
    shown = page.locator(".in-protection")
    expect(shown).to_contain_text("with chance 1 in 6 the device reports “yes”")
    page.get_by_label("Design", exact=True).select_option("triangular")
    expect(page.get_by_role("alert")).to_contain_text("a report can prove the answer 'no'")
    page.get_by_label("A report may prove the other answer").check()
    expect(shown).to_contain_text("It never proves “yes”")
    step(page, "Publish")
    button(page, "Publish")
    expect(heading(page, "My survey")).to_be_visible()
    mechanism = live.store.surveys.get("my-survey").survey().mechanism
    assert mechanism.designs["first"].written() == {
        "design": "triangular",
        "prevalence": "1/3",
        "not_sensitive": "no",
    }


def test_the_file_follows_the_controls_and_text_that_is_no_survey_stays(designer):
    page = designer().page
    page.get_by_role("button", name="Begin", exact=True).click()
    write(page, "Question", "Are you well?")
    expect(page.locator("#open-0")).to_contain_text("Are you well?")
    # The preview that was begun shows it, and does not take the focus.
    expect(page.locator("halftruth-preview legend").first).to_have_text("Are you well?")
    expect(page.get_by_label("Question", exact=True)).to_be_focused()
    step(page, "File")
    file_holds(page, 'label = "Are you well?"')
    write(page, "Survey file (TOML)", "id = 'x")
    expect(page.get_by_role("alert")).to_contain_text("survey: not valid TOML")
    expect(page.get_by_label("Survey file (TOML)")).to_have_value("id = 'x")
    expect(page.get_by_text("There is a form as soon as the file is a survey.")).to_be_visible()


def test_a_preview_sends_and_keeps_nothing(designer, live):
    found = designer()
    page = found.page
    page.get_by_role("button", name="Begin", exact=True).click()
    form = page.locator("halftruth-preview")
    form.get_by_label("yes").check()
    form.get_by_label("often").check()
    form.get_by_role("button", name="Continue").click()
    asked = len(found.requests)
    form.get_by_role("button", name="Send", exact=True).click()
    expect(form.get_by_role("heading", name="The preview ends here")).to_be_visible()
    assert found.requests[asked:] == []
    assert page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])") == "[{},{}]"
    assert [stored.id for stored in live.store.surveys.all()] == ["work"]
    assert counted(live) == []


def test_a_questionnaire_is_opened_with_what_became_of_each_question_on_a_phone(designer):
    found = designer(viewport=PHONE)
    page = found.page
    step(page, "File")
    page.get_by_label("Open a file").set_input_files(QUESTIONNAIRE)
    button(page, "Open it")
    rows = page.locator(".outline li")
    expect(rows).to_contain_text(
        [
            "Taken over as it is",
            "remarks left out: it asks for free text",
            "Changed: a number: see to the width of its bins",
        ]
    )
    page.locator("#open-0").press("Enter")
    write(page, "Name", "smokes")
    expect(rows.first).to_contain_text("smokes · choice · 2 answers")
    expect(rows.first).to_contain_text("Taken over as it is")
    step(page, "Preview")
    expect(heading(page, "Before you begin")).to_be_visible()
    # With none of them chosen all steps are shown, and looked at at once.
    page.evaluate("document.querySelector('[name=step]:checked').checked = false")
    expect(page.get_by_role("button", name="Publish", exact=True)).to_be_visible()
    anyone_can_use(found, "designer")
    assert [line for line in found.said if "401" not in line and "Password" not in line] == []
