"""The form of a survey that is tried before it opens says on every page that it is a test."""

from datetime import UTC, datetime

import pytest
from halftruth_collector import operations
from halftruth_shared.protocol.terms import Terms
from playwright.sync_api import expect

from .conftest import answer, anyone_can_use, counted, heading, press, send, shown_report, sign_in

FUTURE = datetime(2131, 3, 31, 12, tzinfo=UTC)

#: What the form of a test says, by language.
SAID = {
    "en": "This is a test of a survey, to try it before it opens.",
    "de": "Dies ist ein Test, um eine Umfrage vor ihrem Beginn auszuprobieren.",
    "fr": "Ceci est un test pour essayer une enquête avant son ouverture.",
    "es": "Esto es una prueba de una encuesta antes de que empiece.",
}


def test_a_survey_is_tried_from_its_page_and_its_reports_are_dropped(live, visit, survey):
    operations.publish_survey(live.store, survey, Terms(opens_at=FUTURE))
    found = visit(f"{live.url}/operate/surveys/work")
    page = found.page
    sign_in(found, live)
    expect(page.locator("dl.facts").first).to_contain_text("planned")
    press(page, "Try the survey")
    for language, said in SAID.items():
        page.goto(f"{live.url}/s/work-test?lang={language}")
        expect(page.get_by_text(said)).to_be_visible()
        assert page.locator("h1").text_content() == "Health at work (test)"
    page.goto(f"{live.url}/s/work-test?lang=en")
    said = page.get_by_text(SAID["en"])
    answer(page)
    expect(said).to_be_visible()
    send(page)
    expect(heading(page, "Thank you")).to_be_visible()
    expect(said).to_be_visible()
    anyone_can_use(found, "test-thanks")
    assert counted(live, "work-test") == [shown_report(page)]
    assert counted(live) == []
    page.goto(f"{live.url}/operate/surveys/work-test")
    expect(page.get_by_text("This is the test of work.")).to_be_visible()
    anyone_can_use(found, "test-operate")
    press(page, "Drop the test reports")
    assert counted(live, "work-test") == []


@pytest.mark.parametrize("is_test", [False, True])
def test_only_a_test_is_called_one(live, visit, survey, is_test):
    operations.publish_survey(live.store, survey, Terms(opens_at=FUTURE))
    operations.try_survey(live.store, "work")
    if not is_test:
        operations.set_terms(live.store, "work", {"opens_at": None})
    page = visit(f"{live.url}/s/{'work-test' if is_test else 'work'}?lang=en").page
    expect(heading(page, "Before you begin")).to_be_visible()
    expect(page.get_by_text(SAID["en"])).to_have_count(int(is_test))
