"""Navigation in the form: the opening screen, numbers, the Back key, and leaving."""

import re

import pytest
from halftruth_collector import operations
from halftruth_shared import Attribute, Schema, SplitQuestionnaire, Survey
from halftruth_shared.framing import Framing
from halftruth_shared.mechanisms.split_questionnaire.views import ViewClass
from halftruth_shared.number import NumberRange
from playwright.sync_api import expect

from .conftest import anyone_can_use, begin, element, heading, posted, press, script, send

SCREEN = {"width": 390, "height": 844}
NARROW = {"width": 320, "height": 700}
SCHEMA = Schema(
    [
        Attribute("sleep", ["no-hush", "yes-hush"], label="Do you sleep badly?", page="Nights"),
        Attribute(
            "hours", number=NumberRange("0", "14", "3.5"), label="Hours of sleep?", page="Nights"
        ),
        Attribute("quit", ["no-hush", "yes-hush"], label="Do you want to quit?", page="Work"),
    ]
)
FRAMING = Framing(
    asked_by="Works council of the Nordstadt hospital",
    purpose="To find out where shifts have to change. Results are published in March.",
    contact="council@nordstadt.example",
    privacy_notice="https://nordstadt.example/privacy",
)


@pytest.fixture
def survey():
    view = ViewClass(attributes=(SCHEMA.names,), choose=(3,), weight=1)
    return Survey("work", "Nights", SCHEMA, SplitQuestionnaire(19, [view]), framing=FRAMING)


def answer_first(page):
    begin(page)
    page.get_by_label("yes-hush").check()
    page.get_by_label("Hours of sleep?").fill("7.5")
    press(page, "Continue")
    expect(heading(page, "Work (2 of 2)")).to_be_visible()


@pytest.fixture
def conditional():
    """The same survey with a conditional question."""
    quit_ = Attribute("quit", ["no-hush", "yes-hush"], ask_if={"sleep": ["yes-hush"]})
    schema = Schema([*SCHEMA.attributes[:2], quit_])
    view = ViewClass(attributes=(schema.names,), choose=(3,), weight=1)
    return Survey("after", "Nights", schema, SplitQuestionnaire(19, [view]), framing=FRAMING)


@pytest.mark.parametrize("language", ["en", "de", "fr", "es"])
def test_opening_screen_and_framing_fit_a_phone(live, visit, conditional, language):
    operations.publish_survey(live.store, conditional)
    found = visit(f"{live.url}/s/after?lang={language}", viewport=SCREEN)
    page = found.page
    for survey in ("after", "work"):
        page.goto(f"{live.url}/s/{survey}?lang={language}")
        main = page.locator("halftruth-form button.main")
        expect(main).to_be_visible()
        # The opening fits one screen; the exact wording is collapsed.
        assert main.bounding_box()["y"] + main.bounding_box()["height"] <= SCREEN["height"], survey
        assert page.locator("details[open]").count() == 0
        anyone_can_use(found, f"opening-{survey}-{language}")
    assert page.locator(".happens li").count() == 4
    links = page.locator(".links a")
    addresses = [link.get_attribute("href") for link in links.all()]
    assert addresses == ["mailto:council@nordstadt.example", "https://nordstadt.example/privacy"]
    # Out of 100 people, 5 with a secret: at most 50 after the report, for γ = 19.
    figures = page.locator(".figures strong").all_text_contents()
    assert [figures[0], figures[1].split()[-1], figures[2]] == ["5", "50", "100"]
    assert page.locator("footer").inner_text() == ""
    main.click()
    page.get_by_label("yes-hush").check()
    page.locator("input.number").fill("7")
    main.click()
    page.get_by_label("no-hush").check()
    main.click()
    main.click()
    expect(page.locator(".card.sent")).to_be_visible()
    anyone_can_use(found, f"receipt-{language}")


def test_each_step_is_accessible_on_the_narrowest_screen(live, visit):
    found = visit(f"{live.url}/s/work", viewport=NARROW)
    page, keyboard = found.page, found.page.keyboard

    def looks_right(step):
        assert found.violations() == [], step
        assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"], step

    expect(heading(page, "Before you begin")).to_be_visible()
    expect(page.locator(".happens")).to_contain_text("about 56 of 100")
    looks_right("opening")
    kept, requests = found.kept(), len(found.requests)
    page.get_by_role("button", name="Try it first").focus()
    keyboard.press("Enter")
    expect(heading(page, "A practice round")).to_be_focused()
    press(page, "Change it at random")
    expect(page.get_by_text("Please enter a whole number from 1 to 16.")).to_be_visible()
    page.get_by_label("Which number").focus()
    keyboard.type("9")
    for key in ("Tab", *["Enter"] * 6):
        keyboard.press(key)
    expect(page.get_by_text("This would be sent: ")).to_be_visible()
    # 16 cells: 19/34, as in the promise and on the receipt.
    expect(page.get_by_text("tries that match: about 56 of 100")).to_be_visible()
    tally = page.get_by_text("Tries that match your choice").text_content()
    assert sum(map(int, re.findall(r"\d+", tally))) == 6
    tries = page.locator("ol li")
    assert [line[:4] for line in tries.all_text_contents()] == ["9 → "] * 5
    looks_right("practice")
    # Practice sends and stores nothing.
    assert len(found.requests) == requests
    assert found.kept() == kept
    keyboard.press("Tab")
    keyboard.press("Enter")
    expect(heading(page, "Before you begin")).to_be_focused()
    answer_first(page)
    page.get_by_label("no-hush").check()
    press(page, "Continue")
    looks_right("review")
    send(page)
    expect(heading(page, "Thank you")).to_be_focused()
    # 16 cells: 19/34 and 1/34.
    how_often = page.locator(".often dd").first.text_content()
    assert "with your answers: about " in how_often
    assert {*how_often.replace("\n", " ").split()} & {"56", "3"}
    looks_right("receipt")
    assert found.said == []


def test_numbers_are_parsed_by_the_language_of_the_form(live, visit):
    page = visit(f"{live.url}/s/work?lang=de").page
    page.locator("halftruth-form button.main").click()
    page.get_by_label("Hours of sleep?").fill("7,5")
    expect(page.locator("output")).to_have_text("Gelesen als 7,5.")
    # An ambiguous number is asked for again, and no interpretation is shown.
    page.get_by_label("Hours of sleep?").fill("1.234")
    expect(page.locator("output")).to_have_text("")
    page.get_by_label("yes-hush").check()
    page.locator("halftruth-form button.main").click()
    expect(page.locator(".problem:not([hidden])")).to_contain_text("14")


def test_the_back_key_returns_to_the_previous_page_and_keeps_answers(live, visit):
    found = visit(f"{live.url}/")
    page = found.page
    page.goto(f"{live.url}/s/work")
    answer_first(page)
    page.get_by_label("no-hush").check()
    press(page, "Continue")
    expect(heading(page, "Nothing has been sent yet")).to_be_visible()
    page.go_back()
    expect(heading(page, "Work (2 of 2)")).to_be_visible()
    expect(page.get_by_label("no-hush")).to_be_checked()
    page.go_back()
    expect(page.get_by_label("Hours of sleep?")).to_have_value("7.5")
    # The Forward key is validated like the form's own button.
    page.get_by_label("Hours of sleep?").fill("")
    page.evaluate("history.forward()")
    expect(page.get_by_text("Please enter a number from 0 to 14.")).to_be_visible()
    page.get_by_label("Hours of sleep?").fill("8")
    page.evaluate("history.forward()")
    expect(heading(page, "Work (2 of 2)")).to_be_visible()
    press(page, "Continue")
    send(page)
    expect(heading(page, "Thank you")).to_be_visible()
    page.go_back()
    expect(page).to_have_url(f"{live.url}/")
    assert len(posted(found)) == 1
    assert "hush" not in found.traffic()


def test_a_reload_in_the_middle_restarts_the_form(live, visit):
    page = visit(f"{live.url}/").page
    page.goto(f"{live.url}/s/work")
    answer_first(page)
    page.reload()
    expect(heading(page, "Before you begin")).to_be_visible()
    # Old history entries show nothing.
    page.evaluate("history.back()")
    page.wait_for_function("history.state['halftruth-page'] === 0")
    expect(heading(page, "Before you begin")).to_be_visible()
    assert page.locator("input").count() == 0
    page.go_back()
    expect(page).to_have_url(f"{live.url}/")


def test_leaving_asks_for_confirmation_only_with_unsent_answers(live, visit):
    found = visit(f"{live.url}/s/work")
    page = found.page
    asked = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    begin(page)
    page.reload()
    begin(page)
    assert asked == []
    page.get_by_label("yes-hush").check()
    page.reload()
    assert asked == ["beforeunload"]
    answer_first(page)
    page.get_by_label("no-hush").check()
    press(page, "Continue")
    send(page)
    expect(heading(page, "Thank you")).to_be_visible()
    page.reload()
    assert asked == ["beforeunload"]


def test_an_embedded_form_changes_the_history_only_if_enabled(live, origin, visit):
    page = visit(origin.add(element(live), script(live))).page
    places = page.evaluate("history.length")
    answer_first(page)
    assert page.evaluate("[history.length, history.state]") == [places, None]
    press(page, "Back")
    expect(page.get_by_label("Hours of sleep?")).to_have_value("7.5")
    address = origin.add(element(live, more='max-gamma="19" history'), script(live))
    # Another URL, since the browser may reuse its copy of this one.
    page.goto(f"{address}?history")
    page.evaluate("history.replaceState({router: 1}, '')")
    answer_first(page)
    assert page.evaluate("history.state") == {"router": 1, "halftruth-page": 2}
    press(page, "Back")
    expect(page.get_by_label("Hours of sleep?")).to_have_value("7.5")
    assert page.evaluate("history.state") == {"router": 1, "halftruth-page": 1}


def test_the_forward_key_leads_to_the_page_that_was_left(live, visit):
    page = visit(f"{live.url}/").page
    page.goto(f"{live.url}/s/work")
    press(page, "Try it first")
    expect(heading(page, "A practice round")).to_be_visible()
    page.go_back()
    expect(heading(page, "Before you begin")).to_be_visible()
    page.evaluate("history.forward()")
    expect(heading(page, "A practice round")).to_be_visible()
    press(page, "Back")
    press(page, "Begin")
    expect(heading(page, "(1 of 2)")).to_be_visible()
    page.go_back()
    expect(heading(page, "Before you begin")).to_be_visible()
    page.evaluate("history.forward()")
    expect(heading(page, "(1 of 2)")).to_be_visible()
    # Nothing is ahead of a page that was not left.
    page.evaluate("history.forward()")
    page.evaluate("new Promise((resolve) => setTimeout(resolve, 100))")
    expect(heading(page, "(1 of 2)")).to_be_visible()
