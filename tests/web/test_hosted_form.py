"""The hosted form in a real browser: what a person sees, and what leaves the device."""

import re

import pytest
from playwright.sync_api import expect

from .conftest import REGIONS, SCREENSHOTS


def answer(page, *, smoker="yes-hush", drinks="weekly-hush", region=REGIONS[2]):
    """Answer all questions with a mouse, up to the panel."""
    page.get_by_label(smoker).check()
    page.get_by_label(drinks).check()
    page.get_by_role("button", name="Continue").click()
    page.get_by_label("Where do you live?").select_option(region)
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("heading", name="Nothing has been sent yet")).to_be_visible()


def shown_report(page):
    """What the panel says will be sent."""
    return page.locator(".card.sent dd").all_text_contents()


def send(page):
    page.get_by_role("button", name="Send this report").click()


def counted(live):
    """Every report that the store holds, one by one, in words."""
    stored, counts, _ = live.store.reports.counts("work")
    schema = stored.survey().schema
    return [
        list(schema.decode(cell).values())
        for cell, count in zip(counts.cells.tolist(), counts.counts.tolist(), strict=True)
        for _ in range(count)
    ]


def test_a_person_answers_by_keyboard_alone(live, visit):
    found = visit(f"{live.url}/s/work")
    page = found.page
    expect(page.get_by_role("heading", name="Habits (1 of 2)")).to_be_visible()
    keyboard = page.keyboard
    for _ in range(2):  # the way home, then the first question
        keyboard.press("Tab")
    keyboard.press("ArrowDown")
    keyboard.press("Tab")
    keyboard.press("Space")
    keyboard.press("ArrowDown")
    keyboard.press("Enter")
    expect(page.get_by_role("heading", name="About you (2 of 2)")).to_be_focused()
    keyboard.press("Tab")
    keyboard.press("e")
    keyboard.press("Tab")
    keyboard.press("Tab")
    keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Nothing has been sent yet")).to_be_focused()
    answers = page.locator(".card").first.locator("dd").all_text_contents()
    assert answers == ["yes-hush", "weekly-hush", "east-hush"]
    report = shown_report(page)
    assert not live.store.reports.counts("work")[1].reports
    keyboard.press("Tab")
    keyboard.press("Tab")
    keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Thank you")).to_be_focused()
    assert counted(live) == [report]
    assert "hush" not in found.traffic()


def test_the_panel_promises_what_gamma_does(live, visit):
    page = visit(f"{live.url}/s/work").page
    answer(page)
    expect(page.get_by_role("heading", name="Your answers stay here")).to_be_visible()
    expect(page.get_by_role("heading", name="This is what will be sent")).to_be_visible()
    promise = r"thought 5\s%\slikely of you, the report can at most make it 50\s%"
    expect(page.get_by_text(re.compile(promise))).to_be_visible()


def test_reloading_and_answering_again_is_still_one_report(live, visit):
    found = visit(f"{live.url}/s/work")
    page = found.page
    answer(page)
    report = shown_report(page)
    send(page)
    expect(page.get_by_role("heading", name="Thank you")).to_be_visible()
    for _ in range(2):
        page.reload()
        page.get_by_role("button", name="Send the same report again").click()
        expect(page.get_by_text("had been counted already")).to_be_visible()
    assert counted(live) == [report]
    assert "hush" not in found.traffic()


def test_going_back_with_the_same_answers_draws_nothing_new(live, visit):
    page = visit(f"{live.url}/s/work").page
    answer(page)
    report = shown_report(page)
    for _ in range(5):
        page.get_by_role("button", name="Back").click()
        page.get_by_role("button", name="Continue").click()
        assert shown_report(page) == report
    send(page)
    expect(page.get_by_role("heading", name="Thank you")).to_be_visible()
    assert counted(live) == [report]


def test_a_report_is_kept_while_the_collector_is_away_and_sent_once_it_is_back(live, visit):
    found = visit(f"{live.url}/s/work")
    page = found.page
    answer(page)
    report = shown_report(page)
    page.context.set_offline(True)
    send(page)
    expect(page.get_by_role("heading", name="Kept for later")).to_be_visible(timeout=15_000)
    assert counted(live) == []
    page.context.set_offline(False)
    expect(page.get_by_role("heading", name="Thank you")).to_be_visible(timeout=15_000)
    assert counted(live) == [report]
    assert "hush" not in found.traffic()


def test_a_report_that_was_kept_is_sent_when_the_page_is_opened_again(live, visit):
    page = visit(f"{live.url}/s/work").page
    answer(page)
    report = shown_report(page)
    page.route("**/reports", lambda route: route.abort())
    send(page)
    expect(page.get_by_role("heading", name="Kept for later")).to_be_visible(timeout=15_000)
    page.unroute("**/reports")
    page.reload()
    expect(page.get_by_role("heading", name="Thank you")).to_be_visible()
    assert counted(live) == [report]


def test_a_survey_that_protects_too_little_is_not_asked(live, weak_survey, visit):
    found = visit(f"{live.url}/s/weak")
    expect(found.page.get_by_role("heading", name="This survey is not asked")).to_be_visible()
    expect(found.page.get_by_text("its amplification is")).to_be_visible()
    assert found.page.get_by_role("radio").count() == 0
    assert not any(line.startswith("POST") for line in found.requests)


def test_an_open_question_is_named_and_has_the_focus(live, visit):
    page = visit(f"{live.url}/s/work").page
    page.get_by_label("yes-hush").check()
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_text("Please choose an answer.")).to_have_count(1)
    expect(page.get_by_label("never-hush")).to_be_focused()
    expect(page.get_by_label("yes-hush")).to_be_checked()


def test_without_scripts_the_page_says_so_and_can_send_nothing(live, visit):
    found = visit(f"{live.url}/s/work", java_script_enabled=False)
    expect(found.page.get_by_text("scripts are blocked or could not")).to_be_visible()
    assert found.page.locator("form, input, button").count() == 0


def test_no_policy_is_violated_and_nothing_fails(live, visit):
    found = visit(f"{live.url}/s/work")
    answer(found.page)
    send(found.page)
    expect(found.page.get_by_role("heading", name="Thank you")).to_be_visible()
    assert found.said == []


LOOKS = {
    "light": {"viewport": {"width": 900, "height": 800}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 900, "height": 800}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 360, "height": 700}, "color_scheme": "light"},
}


@pytest.mark.parametrize("look", LOOKS)
def test_everyone_can_use_every_step(live, visit, look):
    found = visit(f"{live.url}/s/work", **LOOKS[look])
    page = found.page
    SCREENSHOTS.mkdir(exist_ok=True)

    def check(step):
        page.screenshot(path=SCREENSHOTS / f"{step}-{look}.png", full_page=True)
        assert found.violations() == [], step
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= LOOKS[look]["viewport"]["width"], step

    expect(page.get_by_role("heading", name="Habits (1 of 2)")).to_be_visible()
    check("form")
    page.get_by_role("button", name="Continue").click()
    check("missing")
    answer(page)
    check("panel")
    send(page)
    expect(page.get_by_role("heading", name="Thank you")).to_be_visible()
    check("thanks")


@pytest.mark.parametrize("path", ["/", "/s/none", "/results/sign-in"])
def test_everyone_can_use_the_other_pages(live, visit, path):
    found = visit(f"{live.url}{path}")
    assert found.violations() == []
