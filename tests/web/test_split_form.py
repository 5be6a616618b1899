"""A form of a split questionnaire asks the view that was drawn once per browser."""

import json
import re

import numpy as np
import pytest
from halftruth_shared import Attribute, Schema, SplitQuestionnaire, Survey
from halftruth_shared.mechanisms.split_questionnaire.views import ViewClass
from halftruth_shared.protection import Protection
from playwright.sync_api import expect

from .conftest import (
    anyone_can_use,
    begin,
    element,
    heading,
    posted,
    press,
    script,
    send,
)
from .test_no_second_draw import BROKEN

WORK = {
    "sleep": "Do you sleep badly because of work?",
    "absent": "Were you absent without being ill?",
    "harassed": "Were you harassed?",
    "reported": "Did you report it?",
    "quit": "Do you want to quit?",
}
HOME = {
    "smoker": "Do you smoke?",
    "drinks": "Do you drink every day?",
    "pills": "Do you take pills to sleep?",
    "alone": "Do you live alone?",
    "debts": "Are you in debt?",
}
LABELS = {"age": "How old are you?"} | WORK | HOME
NO, YES = "no-hush", "yes-hush"
SCHEMA = Schema(
    [
        Attribute(
            "age",
            ["under 40", "40 or older"],
            sensitive=False,
            label=LABELS["age"],
            page="About you",
        ),
        *(Attribute(name, [NO, YES], label=label, page="Work") for name, label in WORK.items()),
        *(Attribute(name, [NO, YES], label=label, page="Home") for name, label in HOME.items()),
    ]
)
PRIVATE = SCHEMA.names[1:]


@pytest.fixture
def survey():
    pairs = ViewClass(attributes=(PRIVATE,), choose=(2,), weight=2)
    triple = ViewClass(attributes=(PRIVATE,), choose=(6,), weight=1)
    mechanism = SplitQuestionnaire(19, [pairs, triple], public=["age"])
    return Survey("split", "Health at work", SCHEMA, mechanism, description="Two minutes.")


def walk(page, each=lambda fieldset: fieldset.get_by_label(YES)):
    """Answer every page up to the summary panel and return the questions in order."""
    asked = []
    panel = heading(page, "Nothing has been sent yet")
    begin(page)
    first = page.locator("fieldset").first
    expect(first.or_(panel)).to_be_visible()
    while not panel.is_visible():
        for fieldset in page.locator("fieldset").all():
            asked.append(fieldset.locator("legend").text_content())
            of_all = asked[-1] == LABELS["age"]
            (fieldset.get_by_label("40 or older") if of_all else each(fieldset)).check()
        before = page.locator("h2").text_content()
        press(page, "Continue")
        expect(page.locator("h2")).not_to_have_text(before)
    return asked


def kept(page):
    """Return what the browser stores, by the first word of its key."""
    items = page.evaluate("({...localStorage})")
    return {name.split(":")[0]: json.loads(text) for name, text in items.items()}


def asked_about(survey, symbol):
    """Return the labels of a symbol's view, found by iterating over the views."""
    first = 0
    for view in survey.perturbation.views:
        if first <= symbol < first + view.channel.symbols:
            return [LABELS["age"], *(LABELS[SCHEMA.names[j]] for j in view.positions)]
        first += view.channel.symbols
    raise AssertionError(symbol)


def named_by(survey, symbol):
    """Return the combinations of answers whose report is likelier to be a symbol, as lines."""
    first = 0
    for view in survey.perturbation.views:
        if first <= symbol < first + view.channel.symbols:
            belongs = view.channel.belongs(np.array([symbol - first])).ravel()
            [cell] = np.flatnonzero(belongs).tolist()
            labels = [LABELS[SCHEMA.names[j]] for j in view.positions]
            codes = np.unravel_index(cell, [2] * len(labels))
            return [
                f"{label} – {(NO, YES)[code]}" for label, code in zip(labels, codes, strict=True)
            ]
        first += view.channel.symbols
    raise AssertionError(symbol)


def counted(live):
    _, counts, _ = live.store.reports.counts("split")
    return [
        tuple(cell)
        for cell, n in zip(counts.cells.tolist(), counts.counts.tolist(), strict=True)
        for _ in range(n)
    ]


def test_the_drawn_view_is_asked_and_reported_accessibly(live, visit, survey):
    found = visit(f"{live.url}/s/split")
    page = found.page
    page.get_by_text("The same in exact terms").click()
    for sentence in Protection.of(survey).sentences()[1:]:
        expect(page.get_by_text(sentence, exact=True)).to_be_visible()
    # Unperturbed questions are listed by label, without opening anything.
    bare = f"Sent as answered, without protection: {LABELS['age']}"
    expect(page.get_by_text(bare, exact=True).first).to_be_visible()
    picked = re.compile("^You also answer [26] of the 10 other questions, picked at random;")
    expect(page.get_by_text(picked)).to_be_visible()
    anyone_can_use(found, "split-opening")
    asked = walk(page)
    assert asked[0] == LABELS["age"]
    assert len(asked) in (3, 7)
    # Questions keep the order of the survey, and the panel lists them.
    assert asked == [label for label in LABELS.values() if label in asked]
    assert page.locator(".card dt").all_text_contents() == asked
    assert kept(page).keys() == {"halftruth-view"}
    assert posted(found) == []
    expect(page.get_by_text(bare, exact=True)).to_be_visible()
    anyone_can_use(found, "split-panel")
    send(page)
    expect(heading(page, "Thank you")).to_be_visible()
    anyone_can_use(found, "split-thanks")
    ((age, symbol),) = counted(live)
    assert age == 1
    assert asked_about(survey, symbol) == asked
    expect(heading(page, "This is what was sent")).to_be_visible()
    shown = page.locator(".card.sent dd").all_text_contents()
    sent, about, says, learnt = shown
    assert sent == "40 or older\nsent exactly as answered, without protection"
    assert about == "\n".join(asked[1:])
    # The receipt names the answers that make the symbol more likely, as everybody can who has it.
    if len(asked) == 3:
        assert says.split("\n") == named_by(survey, symbol)
    words = page.locator(".card.sent dt").all_text_contents()
    number = {3: 2, 7: 6}[len(asked)]
    assert words[1] == f"Your report is also about these {number} of the 10 other questions"
    assert words[2].endswith(
        "(whether that fits your answers was decided at random by this device)"
    )
    often, code = page.locator(".often dt").all()
    expect(often).to_be_hidden()
    expect(code).to_have_text(f"Sent as code {symbol}.")
    page.get_by_text("How often this report is sent").first.click()
    expect(often).to_contain_text(
        "people with your answer to “How old are you?” send exactly this report, if theirs is"
        " about the same questions"
    )
    expect(page.locator(".often dd").first).to_contain_text("do not say how sure others can be")
    anyone_can_use(found, "split-often")
    assert learnt.startswith(
        "Suppose 5 of 100 people with your answer to “How old are you?” have a secret."
    )
    assert "hush" not in found.traffic()
    assert found.said == []


def test_reloads_and_other_tabs_ask_the_same_view_without_a_new_draw(live, visit):
    found = visit()
    found.page.context.add_init_script(
        "const real = crypto.getRandomValues.bind(crypto);"
        "window.draws = 0;"
        "crypto.getRandomValues = (bytes) => { window.draws += 1; return real(bytes); };"
    )
    page = found.page
    page.goto(f"{live.url}/s/split")
    asked = walk(page)
    assert page.evaluate("window.draws") > 0
    view = kept(page)
    other = page.context.new_page()
    for tab in (other, page):
        # Background tabs render only once a second.
        tab.bring_to_front()
        tab.goto(f"{live.url}/s/split")
        # The same view is asked, whatever the answers.
        assert walk(tab, lambda fieldset: fieldset.get_by_label(NO)) == asked
        press(tab, "Back")
        press(tab, "Continue")
        assert tab.locator(".card dt").all_text_contents() == asked
        assert tab.evaluate("window.draws") == 0
    assert kept(page) == view
    for tab, said in ((page, "Thank you"), (other, "Already answered in this browser")):
        tab.bring_to_front()
        send(tab)
        expect(heading(tab, said)).to_be_visible()
    assert len(counted(live)) == 1


def test_without_storage_the_page_keeps_the_drawn_view(live, visit, survey):
    found = visit()
    page = found.page
    page.add_init_script(
        "Object.defineProperty(window, 'localStorage', { get() { throw new Error('blocked'); } });"
    )
    page.goto(f"{live.url}/s/split")
    asked = walk(page)
    expect(page.get_by_text("This browser stores nothing for this page.")).to_be_visible()
    # Remove the element and put it back, as pages that hide and show it do.
    page.evaluate("const form = document.querySelector('halftruth-form'); form.replaceWith(form)")
    assert walk(page) == asked
    send(page)
    expect(heading(page, "Thank you")).to_be_visible()
    ((_, symbol),) = counted(live)
    assert asked_about(survey, symbol) == asked


def test_ask_all_asks_all_questions(live, origin, visit, survey):
    allowed = f'max-gamma="19" unprotected="age" digests="{survey.digest}" ask="all"'
    page = visit(origin.add(element(live, "split", allowed), script(live))).page
    asked = walk(page)
    assert len(asked) == 11
    assert page.locator(".card dt").all_text_contents() == asked
    send(page)
    expect(heading(page, "Thank you")).to_be_visible()
    ((_, symbol),) = counted(live)
    assert set(asked_about(survey, symbol)) <= set(asked)


def test_without_storage_the_back_key_keeps_the_drawn_view(live, visit):
    page = visit().page
    page.add_init_script(BROKEN)
    page.goto(f"{live.url}/s/split")
    begin(page)
    page.get_by_label("40 or older").check()
    press(page, "Continue")
    asked = page.locator("legend").all_text_contents()
    page.go_back()
    page.reload()
    begin(page)
    page.get_by_label("40 or older").check()
    press(page, "Continue")
    assert page.locator("legend").all_text_contents() == asked
