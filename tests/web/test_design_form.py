"""A form of named designs says what the device does, by what name of a question people know it."""

import pytest
from halftruth_shared import Attribute, DistortionMatrices, Schema, Survey
from halftruth_shared.protection import Protection
from playwright.sync_api import expect

from .conftest import SCREENSHOTS, counted, heading, press, send

LABELS = {"cheated": "Have you ever cheated in an exam?", "smokes": "Do you smoke?"}
DESIGNS = {
    "cheated": {"design": "triangular", "prevalence": "1/4", "not_sensitive": "no"},
    "smokes": {"design": "warner", "p": "3/4"},
}


@pytest.fixture
def survey():
    asked = [Attribute(name, ["no", "yes"], label=label) for name, label in LABELS.items()]
    return Survey("work", "Exams", Schema(asked), DistortionMatrices({}, DESIGNS))


def test_people_read_how_reports_are_drawn_and_what_one_can_prove(live, visit, survey):
    found = visit(f"{live.url}/s/work", viewport={"width": 360, "height": 800})
    page = found.page
    for sentence in Protection.of(survey).sentences():
        for name, label in LABELS.items():
            sentence = sentence.replace(f"“{name}”", f"“{label}”")
        expect(page.get_by_text(sentence, exact=True)).to_be_visible()
    # Not so here, of an answer "no".
    assert page.get_by_text("Whoever sees it cannot know which.").count() == 0
    SCREENSHOTS.mkdir(exist_ok=True)
    page.screenshot(path=SCREENSHOTS / "designs-360.png", full_page=True)
    assert found.violations() == []
    press(page, "Begin")
    for label in LABELS.values():
        page.get_by_role("group", name=label).get_by_label("no").check()
    press(page, "Continue")
    expect(heading(page, "Nothing has been sent yet")).to_be_visible()
    assert page.get_by_text("nobody who sees it can tell").count() == 0
    send(page)
    expect(heading(page, "Thank you")).to_be_visible()
    expect(page.get_by_text("Nothing but the report left this device.")).to_be_visible()
    [report] = counted(live)
    assert page.locator(".card.sent dd").all_text_contents() == report
    assert found.said == []
