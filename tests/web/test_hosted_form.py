"""The hosted form in a real browser: what it shows and what it sends."""

from playwright.sync_api import expect

from .conftest import (
    answer,
    anyone_can_use,
    begin,
    counted,
    heading,
    press,
    send,
    shown_report,
)


def test_a_survey_can_be_answered_by_keyboard_alone(live, visit):
    found = visit(f"{live.url}/s/work")
    page = found.page
    expect(heading(page, "Before you begin")).to_be_visible()
    keyboard = page.keyboard
    # The link home and the main button come before practice and the exact wording.
    for _ in range(2):
        keyboard.press("Tab")
    keyboard.press("Enter")
    expect(heading(page, "Habits (1 of 2)")).to_be_focused()
    keyboard.press("Tab")
    keyboard.press("ArrowDown")
    keyboard.press("Tab")
    keyboard.press("Space")
    keyboard.press("ArrowDown")
    keyboard.press("Enter")
    expect(heading(page, "About you (2 of 2)")).to_be_focused()
    keyboard.press("Tab")
    keyboard.press("e")
    keyboard.press("Tab")
    keyboard.press("Tab")
    keyboard.press("Enter")
    expect(heading(page, "Nothing has been sent yet")).to_be_focused()
    answers = page.locator(".card").first.locator("dd").all_text_contents()
    assert answers == ["yes-hush", "weekly-hush", "east-hush"]
    assert not live.store.reports.counts("work")[1].reports
    keyboard.press("Tab")
    keyboard.press("Tab")
    keyboard.press("Enter")
    expect(heading(page, "Thank you")).to_be_focused()
    assert counted(live) == [shown_report(page)]
    assert "hush" not in found.traffic()
    # No policy violation or error is logged.
    assert found.said == []


def test_nothing_is_drawn_or_stored_before_sending(live, visit):
    found = visit()
    found.page.add_init_script(
        "const real = crypto.getRandomValues.bind(crypto);"
        "window.draws = 0;"
        "crypto.getRandomValues = (bytes) => { window.draws += 1; return real(bytes); };"
    )
    page = found.page
    for _ in range(2):
        page.goto(f"{live.url}/s/work")
        answer(page)
        for _ in range(3):
            press(page, "Back")
            press(page, "Continue")
        # Reloading, going back or changing an answer reveals no draw.
        assert page.evaluate("window.draws") == 0
        assert page.evaluate("localStorage.length") == 0
    send(page)
    expect(heading(page, "Thank you")).to_be_visible()
    assert page.evaluate("window.draws") > 0
    assert counted(live) == [shown_report(page)]


def test_without_scripts_the_page_shows_a_notice_and_no_form(live, visit):
    found = visit(f"{live.url}/s/work", java_script_enabled=False)
    expect(found.page.get_by_text("scripts are blocked or could not")).to_be_visible()
    assert found.page.locator("form, input, button").count() == 0


def test_every_step_is_accessible(live, visit):
    found = visit(f"{live.url}/s/work")
    page = found.page

    expect(heading(page, "Before you begin")).to_be_visible()
    page.get_by_text("The same in exact terms").click()
    anyone_can_use(found, "opening")
    begin(page)
    expect(heading(page, "Habits (1 of 2)")).to_be_visible()
    press(page, "Continue")
    anyone_can_use(found, "missing")
    answer(page)
    anyone_can_use(found, "panel")
    send(page)
    expect(heading(page, "Thank you")).to_be_visible()
    anyone_can_use(found, "thanks")


def test_the_other_public_pages_are_accessible(live, visit):
    found = visit()
    for path in ("/", "/s/none", "/sign-in"):
        found.page.goto(live.url + path)
        assert found.violations() == [], path
