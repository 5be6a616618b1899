"""The form of a question that is perturbed as one set, of which few options can be chosen."""

import pytest
from halftruth_shared import Attribute, Schema, SplitQuestionnaire, Survey, ViewClass
from halftruth_shared.attribute import MultipleResponse
from playwright.sync_api import expect

from .conftest import PHONE, anyone_can_use, begin, fits_a_phone, press, send, shown_report

OPTIONS = ("cough", "fever", "pain", "rash", "fatigue", "nausea", "none of it")
AT_MOST = 5

#: The hint of the question, and what the form says once five are chosen, by language.
SAID = {
    "en": (
        "Choose all that apply, at most 5.",
        "5 are chosen, which is the most. To choose another, first remove one.",
    ),
    "de": (
        "Wählen Sie alles, was zutrifft, höchstens 5.",
        "5 sind gewählt, mehr sind nicht möglich. Um etwas anderes zu wählen, nehmen Sie zuerst"
        " etwas zurück.",
    ),
    "fr": (
        "Choisissez tout ce qui convient, 5 au plus.",
        "5 choix sont faits, le maximum. Pour en ajouter un autre, retirez-en d’abord un.",
    ),
    "es": (
        "Elija todo lo que corresponda, 5 como máximo.",
        "Ha elegido 5, el máximo. Para elegir otra, quite primero una.",
    ),
}


def in_all(word):
    return {language: f"{word} {language}" for language in SAID}


def survey_of(views):
    asked = MultipleResponse("symptoms", label=in_all("Symptoms"), at_most=AT_MOST)
    schema = Schema(
        [
            Attribute(
                f"symptoms.o{number}",
                ("no", "yes"),
                ("yes",),
                label=in_all(option),
                question=asked,
                optional=True,
            )
            for number, option in enumerate(OPTIONS)
        ]
    )
    classes = [ViewClass(attributes=(("symptoms",),), weight=1, pairs=pairs) for pairs in views]
    return Survey("sets", in_all("Health"), schema, SplitQuestionnaire("19", classes))


@pytest.fixture
def survey():
    return survey_of([False])


def labels(language, *numbers):
    return [f"{OPTIONS[number]} {language}" for number in numbers]


@pytest.mark.parametrize("language", SAID)
def test_no_more_options_can_be_chosen_than_the_survey_allows(live, visit, language):
    found = visit(f"{live.url}/s/sets?lang={language}", viewport=PHONE)
    page = found.page
    page.locator("button.main").click()
    hint, full = SAID[language]
    expect(page.get_by_text(hint)).to_be_visible()
    status = page.locator("fieldset [role=status]")
    expect(status).to_have_text("")
    boxes = [page.get_by_label(label) for label in labels(language, *range(7))]
    for box in boxes[:AT_MOST]:
        expect(boxes[5]).to_be_enabled()
        box.check()
    expect(status).to_have_text(full)
    expect(boxes[5]).to_be_disabled()
    expect(boxes[6]).to_be_disabled()
    assert all(box.is_enabled() for box in boxes[:AT_MOST])
    anyone_can_use(found, f"sets-{language}")
    fits_a_phone(found, f"sets-{language}")
    # One less, and another can be chosen.
    boxes[0].uncheck()
    expect(status).to_have_text("")
    expect(boxes[6]).to_be_enabled()
    boxes[6].check()
    expect(boxes[0]).to_be_disabled()
    # What excludes all options frees them.
    page.locator("input[value=no]").check()
    assert all(box.is_enabled() and not box.is_checked() for box in boxes)
    assert found.said == []


def test_the_chosen_options_are_sent_as_one_symbol(live, visit):
    found = visit(f"{live.url}/s/sets?lang=en")
    page = found.page
    begin(page)
    for label in labels("en", 1, 4):
        page.get_by_label(label).check()
    press(page, "Continue")
    expect(page.locator(".card dd")).to_have_text(["fever en, fatigue en"])
    send(page)
    asked, named = shown_report(page)
    # All options have the label of their question.
    assert asked == "Symptoms en"
    _, counts, _ = live.store.reports.counts("sets")
    assert counts.reports == 1
    symbol = int(counts.cells[0, -1])
    page.locator(".often summary").click()
    expect(page.locator(".often dt").last).to_have_text(f"Sent as code {symbol}.")
    # An option, no answer, or a placeholder, by the symbol alone.
    options = [f"Symptoms en – {label} (perhaps with others)" for label in labels("en", *range(7))]
    placeholder = "a placeholder instead of an answer, sent more often by people who chose few"
    assert named == [*options, "Symptoms en – No answer", *[placeholder] * AT_MOST][symbol]
    # Of 7 options at most 5, or no answer: 1 + 7 + 21 + 35 + 35 + 21, and 1.
    expect(page.locator(".often dd").last).to_contain_text("of the 121 possible combinations")
    assert found.said == []
