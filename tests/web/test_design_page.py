"""Designing a survey in a real browser by keyboard."""

import re

import pytest
from installed import needs_addons
from playwright.sync_api import expect
from questionnaires import workbook

from .conftest import anyone_can_use, begin, counted, fits_a_phone, heading, press, send, sign_in

DESKTOP, NARROW = {"width": 1280, "height": 800}, {"width": 390, "height": 844}

XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"

XLSFORM = {
    "survey": [
        ["type", "name", "label", "required", "relevant", "constraint"],
        ["select_one yn", "smoker", "Do you smoke?", "yes", "", ""],
        ["select_one often", "daily", "How often?", "yes", "${smoker} = 'yes'", ""],
        ["text", "remarks", "Anything else?", "", "", ""],
        ["integer", "age", "How old are you?", "yes", "", ".>=16 and .<=95"],
    ],
    "choices": [
        ["list_name", "name", "label"],
        ["yn", "no", "No"],
        ["yn", "yes", "Yes"],
        ["often", "some", "On some days"],
        ["often", "all", "Every day"],
    ],
}


@pytest.fixture
def design(live, visit):
    """Open the design page, signed in."""

    def open_page(path="design", **options):
        return sign_in(visit(f"{live.url}/operate/{path}", **options), live)

    return open_page


def by_key(page, name):
    """Press a button by keyboard."""
    page.get_by_role("button", name=name, exact=True).press("Enter")


def file_of(page):
    return page.get_by_label("Survey file (TOML)")


def replace(page, old, new):
    """Replace a part of the file by typing."""
    file = file_of(page)
    file.evaluate(
        "(text, old) => { const at = text.value.indexOf(old);"
        " text.setSelectionRange(at, at + old.length); text.focus(); }",
        old,
    )
    page.keyboard.type(new)


def margin(page):
    """Return the margin of error of single questions."""
    return page.get_by_role("row").nth(1).get_by_role("cell").first


@needs_addons
def test_an_imported_xlsform_can_be_edited_published_and_answered(design, live, visit):
    pytest.importorskip("openpyxl")
    found = design(viewport=NARROW)
    page = found.page
    content = workbook(**XLSFORM)
    sheet = {"name": "Smoking 2027.xlsx", "mimeType": XLSX, "buffer": content}
    page.get_by_label("Open a file").set_input_files(sheet)
    by_key(page, "Open it")
    expect(page.locator("#imported")).to_contain_text(
        "Imported unchanged: 2 questions. Changed: 1. Left out: 1."
    )
    expect(file_of(page)).to_have_value(re.compile("# 'remarks': left out: it asks for free text"))
    expect(file_of(page)).to_have_value(re.compile("# changed: a number: check the width of its"))
    anyone_can_use(found, "design-imported")
    # Bins of ten years from 15, a title, and more respondents.
    replace(page, "minimum = 16", "minimum = 15")
    replace(page, "maximum = 95", "maximum = 94")
    replace(page, "step = 16", "step = 0")
    said = page.get_by_role("status").and_(page.locator("#said"))
    expect(said).to_contain_text("attribute 'age': step: expected")
    replace(page, "step = 0", "step = 20")
    replace(page, 'title = "Survey"', 'title = "Smoking"')
    expect(said).to_have_text("No errors: 3 questions.")
    before = margin(page).text_content()
    page.get_by_label("Respondents", exact=True).fill("100000")
    expect(margin(page)).not_to_have_text(before)
    preview = page.locator("halftruth-preview")
    preview.get_by_role("button", name="Begin", exact=True).press("Enter")
    expect(preview.get_by_text("Do you smoke?")).to_be_visible()
    assert [stored.id for stored in live.store.surveys.all()] == ["work"]
    page.get_by_label("Most reports").fill("400")
    by_key(page, "Publish")
    expect(heading(page, "Smoking")).to_be_visible()
    survey = live.store.surveys.get("smoking-2027").survey()
    assert survey.schema.names == ("smoker", "daily", "age")
    assert survey.schema.attributes[2].categories[:2] == ("15 to 34", "35 to 54")
    assert live.store.surveys.get("smoking-2027").terms.max_reports == 400
    respondent = visit(f"{live.url}/s/smoking-2027", viewport=NARROW).page
    begin(respondent)
    expect(respondent.get_by_role("button", name="Continue")).to_be_visible()
    # A split questionnaire asks only some questions.
    for number in respondent.get_by_role("textbox").all():
        number.fill("30")
    for group in respondent.get_by_role("group").all():
        group.get_by_role("radio").first.check()
    press(respondent, "Continue")
    expect(heading(respondent, "Nothing has been sent yet")).to_be_visible()
    send(respondent)
    expect(heading(respondent, "Thank you")).to_be_visible()
    assert live.store.surveys.state("smoking-2027").reports == 1


def test_errors_appear_while_typing_and_the_last_results_stay(design, live):
    found = design(viewport=DESKTOP)
    page = found.page
    said, stale = page.locator("#said"), page.get_by_text("are of the last text without errors")
    protection = page.get_by_role("region", name="Protection")
    expect(protection).to_contain_text("before the report is at most 50")
    anyone_can_use(found, "design")
    replace(page, 'gamma = "19"', 'gamma = "1"')
    expect(said).to_contain_text("gamma: expected")
    expect(file_of(page)).to_have_attribute("aria-invalid", "true")
    expect(file_of(page)).to_be_focused()
    expect(stale).to_be_visible()
    expect(protection).to_contain_text("before the report is at most 50")
    anyone_can_use(found, "design-error")
    replace(page, 'gamma = "1"', 'gamma = "9"')
    expect(said).to_have_text("No errors: 2 questions.")
    expect(file_of(page)).not_to_have_attribute("aria-invalid", "true")
    expect(stale).to_be_hidden()
    expect(protection).to_contain_text("before the report is at most 32.2")
    replace(page, "[mechanism]", "[mechanism")
    expect(said).to_contain_text("survey: not valid TOML")
    assert [stored.id for stored in live.store.surveys.all()] == ["work"]


def test_the_preview_follows_edits_keeps_its_language_and_sends_nothing(design, live):
    found = design()
    page = found.page
    form = page.locator("halftruth-preview")
    form.get_by_role("button", name="Begin", exact=True).click()
    label = 'label = "Have you smoked in the last month?"'
    replace(page, label, 'label = {en = "Do you smoke?", de = "Rauchen Sie?"}')
    expect(form.locator("legend").first).to_have_text("Do you smoke?")
    expect(file_of(page)).to_be_focused()
    form.get_by_role("combobox", name="Language").select_option("de")
    expect(form.locator("legend").first).to_have_text("Rauchen Sie?")
    replace(page, "Rauchen Sie?", "Rauchst du?")
    expect(form.locator("legend").first).to_have_text("Rauchst du?")
    form.get_by_label("yes").check()
    form.get_by_label("often").check()
    form.get_by_role("button", name="Weiter").click()
    asked = len(found.requests)
    form.get_by_role("button", name="Absenden", exact=True).click()
    expect(form.get_by_role("heading", name="The preview ends here")).to_be_visible()
    assert found.requests[asked:] == []
    assert page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])") == "[{},{}]"
    assert [stored.id for stored in live.store.surveys.all()] == ["work"]
    assert counted(live) == []
    assert [line for line in found.said if "401" not in line and "Password" not in line] == []


def test_the_design_page_works_without_scripts(design):
    found = design(java_script_enabled=False, viewport=NARROW, accept_downloads=True)
    page = found.page
    file_of(page).fill("id = 'x'")
    by_key(page, "Check")
    expect(page.locator("#said")).to_contain_text("survey: Object missing required field")
    expect(file_of(page)).to_have_value("id = 'x'")
    with page.expect_download() as download:
        by_key(page, "Save the file")
    assert download.value.suggested_filename == "survey.toml"
    assert download.value.path().read_text() == "id = 'x'"
    fits_a_phone(found, "design-without-scripts")
