"""A form of named designs describes the device's draws in the words of the survey."""

import pytest
from halftruth_shared import Attribute, DistortionMatrices, Schema, Survey
from halftruth_shared.protection import Protection
from playwright.sync_api import expect

from .conftest import PHONE, anyone_can_use, counted, heading, press, send, shown_report

LABELS = {
    "cheated": {
        "en": "Have you ever cheated in an exam?",
        "de": "Haben Sie je in einer Prüfung betrogen?",
        "fr": "Avez-vous déjà triché à un examen ?",
        "es": "¿Ha copiado alguna vez en un examen?",
    },
    "smokes": {
        "en": "Do you smoke?",
        "de": "Rauchen Sie?",
        "fr": "Fumez-vous ?",
        "es": "¿Fuma usted?",
    },
}
#: Category codes, which are never displayed.
CODES = ("n0", "y1")
ANSWERS = {
    "n0": {"en": "Never", "de": "Nie", "fr": "Jamais", "es": "Nunca"},
    "y1": {"en": "At times", "de": "Manchmal", "fr": "Parfois", "es": "A veces"},
}
DESIGNS = {
    "cheated": {
        "design": "triangular",
        "prevalence": "1/4",
        "answer": "y1",
        "not_sensitive": "n0",
    },
    "smokes": {"design": "forced-response", "yes": "1/4", "no": "1/4", "answer": "y1"},
}


@pytest.fixture
def survey():
    asked = [Attribute(name, CODES, label=label, answers=ANSWERS) for name, label in LABELS.items()]
    return Survey("work", "Exams", Schema(asked), DistortionMatrices({}, DESIGNS))


def test_the_form_explains_how_reports_are_drawn_and_what_they_prove(live, visit, survey):
    found = visit(f"{live.url}/s/work", viewport=PHONE)
    page = found.page
    # What a report can prove is visible without opening anything.
    [proof] = [each for each in Protection.of(survey).sentences() if "can prove" in each]
    expect(page.get_by_text(proof, exact=True).first).to_be_visible()
    page.get_by_text("The same in exact terms").click()
    for sentence in Protection.of(survey).sentences():
        expect(page.get_by_text(sentence, exact=True).last).to_be_visible()
    # The exception concerns the answer "Never".
    expect(page.get_by_text("Apart from the answers named above: no one")).to_be_visible()
    anyone_can_use(found, "designs")
    press(page, "Begin")
    for label in LABELS.values():
        page.get_by_role("group", name=label["en"]).get_by_label("Never").check()
    press(page, "Continue")
    expect(heading(page, "Nothing has been sent yet")).to_be_visible()
    assert page.get_by_text("can be certain which").count() == 0
    send(page)
    expect(heading(page, "Thank you")).to_be_visible()
    expect(
        page.get_by_text("Apart from the report, nothing about your answers leaves this device.")
    ).to_be_visible()
    [report] = counted(live)
    said = [ANSWERS[code]["en"] for code in report]
    assert shown_report(page) == said
    assert found.said == []


def test_designs_are_described_with_translated_answers(live, visit):
    page = visit().page
    for language in ("en", "de", "fr", "es"):
        page.goto(f"{live.url}/s/work?lang={language}")
        page.locator("summary").click()
        for label in LABELS.values():
            told = page.locator("details p").filter(has_text=label[language])
            expect(told.first).to_contain_text(ANSWERS["y1"][language])
            expect(told.first).to_contain_text(ANSWERS["n0"][language])
        shown = page.locator("halftruth-form").inner_text()
        assert not [word for word in (*CODES, *LABELS) if word in shown.split()]
