"""The form with every kind of question: display, input, and reports."""

import pytest
from halftruth_shared import Attribute, RandomizedResponse, Schema, Survey
from halftruth_shared.attribute import MultipleResponse
from halftruth_shared.number import NumberRange
from playwright.sync_api import expect

from .conftest import PHONE, anyone_can_use, begin, heading, press, send, shown_report

SYMPTOMS = MultipleResponse(
    "symptoms", label="Which of these did you have?", help="Small ones count, too."
)
OPTION = {
    "categories": ("no", "yes", "hush"),
    "items": ("yes",),
    "missing": ("hush",),
    "page": "Health",
    "shuffle": True,
    "question": SYMPTOMS,
}
SCHEMA = Schema(
    [
        Attribute(
            "smoker",
            ("no-hush", "yes-hush"),
            label="Do you smoke?",
            missing=("rather-hush",),
            page="Habits",
        ),
        Attribute(
            "cigarettes",
            number=NumberRange(1, 6000, 1000),
            label="How many a year?",
            missing=("unsure-hush",),
            ask_if={"smoker": ["yes-hush"]},
            page="Habits",
        ),
        Attribute(
            "content",
            ("1", "2", "3", "4", "5", "6", "7"),
            kind="scale",
            label="How content are you?",
            answers={"1": "not at all", "7": "very much"},
            optional=True,
            page="Habits",
        ),
        Attribute(
            "often",
            ("never", "monthly or less", "weekly", "daily"),
            kind="scale",
            label="How often do you drink?",
            page="Habits",
        ),
        Attribute("reason", ("cost", "health"), label="Why never?", ask_if={"often": ["never"]}),
        Attribute("symptoms.cough", label="A cough-hush", **OPTION),
        Attribute("symptoms.fever", label="Fever-hush", **OPTION),
        Attribute("symptoms.pain", label="Pain-hush", **OPTION),
        Attribute(
            "sleep",
            number=NumberRange("0", "14", "3.5"),
            label="Hours of sleep?",
            optional=True,
            page="Health",
        ),
    ]
)

#: Displayed names of the categories that no survey names.
PLAINLY = {
    "no answer": "No answer",
    "not asked": "Not asked",
    "[0, 3.5)": "0 to less than 3.5",
    "[3.5, 7)": "3.5 to less than 7",
    "[7, 10.5)": "7 to less than 10.5",
    "[10.5, 14]": "10.5 to 14",
}


@pytest.fixture
def survey():
    return Survey(
        "kinds", "Health at work", SCHEMA, RandomizedResponse.for_amplification(SCHEMA, 19)
    )


def test_every_kind_of_question_can_be_answered_by_keyboard(live, visit):
    found = visit(f"{live.url}/s/kinds", viewport=PHONE)
    page, keyboard = found.page, found.page.keyboard
    begin(page)
    expect(heading(page, "Habits (1 of 2)")).to_be_visible()
    asked = page.locator("legend, .label")
    expect(asked).to_have_text(
        [
            "Do you smoke?",
            "How content are you? (you may leave this out)",
            "How often do you drink?",
        ]
    )

    # Each incomplete question has a message, and the first gets the focus.
    press(page, "Continue")
    expect(page.get_by_text("Please choose an answer.")).to_have_count(2)
    expect(page.get_by_label("no-hush")).to_be_focused()
    anyone_can_use(found, "questions-left")

    # A conditional question appears right after the question that it depends on.
    keyboard.press("ArrowDown")
    expect(page.get_by_label("yes-hush")).to_be_focused()
    expect(page.get_by_text("Please choose an answer.")).to_have_count(1)
    expect(asked.nth(1)).to_have_text("How many a year?")
    keyboard.press("Tab")
    number = page.get_by_label("How many a year?")
    expect(number).to_be_focused()
    keyboard.type("9911")
    keyboard.press("Enter")
    expect(page.get_by_text("Please enter a whole number from 1 to 6000.")).to_be_visible()
    expect(number).to_be_focused()
    expect(number).to_have_value("9911")
    assert number.get_attribute("aria-invalid") == "true"
    anyone_can_use(found, "questions-number")

    # A special answer clears the number, and a number clears the special answer.
    page.get_by_label("unsure-hush").check()
    expect(number).to_have_value("")
    number.fill("4711")
    expect(page.get_by_label("unsure-hush")).not_to_be_checked()

    # It disappears with that answer, too, and reappears empty.
    page.get_by_label("rather-hush").check()
    expect(number).to_have_count(0)
    page.get_by_label("yes-hush").check()
    expect(number).to_have_value("")
    number.fill("4711")

    # A scale is one row with labelled ends; an optional answer can be cleared.
    scale = page.get_by_role("radio", name="1: not at all")
    row = [page.get_by_label(str(point), exact=True).bounding_box()["y"] for point in (2, 4, 6)]
    assert row == [scale.bounding_box()["y"]] * 3
    scale.focus()
    keyboard.press("Space")
    keyboard.press("ArrowRight")
    expect(page.get_by_label("2", exact=True)).to_be_checked()
    press(page, "Take my answer back")
    expect(page.locator("input[name=content]:checked")).to_have_count(0)
    expect(scale).to_be_focused()

    # Pages can appear and disappear, too.
    page.get_by_label("never").check()
    expect(heading(page, "Habits (1 of 3)")).to_be_visible()
    page.get_by_label("weekly").check()
    expect(heading(page, "Habits (1 of 2)")).to_be_visible()
    press(page, "Continue")

    # Multiple responses exclude "none"; the order of options stays.
    expect(heading(page, "Health (2 of 2)")).to_be_focused()
    boxes = page.get_by_role("group", name="Which of these").locator(".option")
    order = boxes.all_text_contents()
    assert order[3:] == ["None of these", "hush"]
    press(page, "Continue")
    expect(page.get_by_text("Please choose what applies, or “None of these”.")).to_be_visible()
    boxes.first.locator("input").focus()
    keyboard.press("Space")
    page.get_by_label("None of these").check()
    expect(boxes.first.locator("input")).not_to_be_checked()
    page.get_by_label("Fever-hush").check()
    page.get_by_label("Pain-hush").check()
    expect(page.get_by_label("None of these")).not_to_be_checked()
    anyone_can_use(found, "questions-several")
    press(page, "Back")
    expect(page.get_by_label("How many a year?")).to_have_value("4711")
    expect(page.get_by_label("weekly")).to_be_checked()
    press(page, "Continue")
    assert boxes.all_text_contents() == order
    expect(page.get_by_label("Fever-hush")).to_be_checked()
    page.get_by_label("Hours of sleep?").fill("7.5")
    press(page, "Continue")

    expect(heading(page, "Nothing has been sent yet")).to_be_focused()
    lines = page.locator(".card dd").all_text_contents()
    fever_and_pain = ", ".join(text for text in order if text[:5] in ("Fever", "Pain-"))
    assert sorted(lines[4].split(", ")) == sorted(fever_and_pain.split(", "))
    assert lines[:4] + lines[5:] == ["yes-hush", "4711", "No answer", "weekly", "7.5"]
    send(page)
    expect(heading(page, "Thank you")).to_be_visible()
    stored, counts, _ = live.store.reports.counts("kinds")
    [report] = counts.cells.tolist()
    attributes = stored.survey().schema.attributes
    words = [a.answers_in()[code] for a, code in zip(attributes, report, strict=True)]
    assert shown_report(page) == [PLAINLY.get(word, word) for word in words]

    # No answer leaves the device, and no error is logged.
    for secret in ("hush", "4711", "9911", "7.5"):
        assert secret not in found.traffic()
    assert found.said == []
