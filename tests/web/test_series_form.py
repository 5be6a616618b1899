"""Four waves in browsers: the ledger, refusals, and explanations."""

import dataclasses
import json
import re

import msgspec
from halftruth_collector import operations
from halftruth_shared import (
    GammaDiagonal,
    Series,
    Survey,
)
from playwright.sync_api import expect

from .conftest import (
    SCHEMA,
    answer,
    anyone_can_use,
    attach,
    element,
    fits_a_phone,
    heading,
    posted,
    press,
    script,
    send,
)
from .test_no_second_draw import BROKEN

COUNT = "Reports from this browser so far, at this web address"
SCREEN = {"width": 390, "height": 844}


def wave(live, number, title="Health at work"):
    series = Series(id="work", wave=number, total_gamma="361", origin=live.url)
    return Survey(f"work-{number}", title, SCHEMA, GammaDiagonal(19), series=series)


def ask(found, live, survey):
    """Publish a wave and open its form."""
    operations.publish_survey(live.store, survey)
    found.page.goto(f"{live.url}/s/{survey.id}")


def answer_and_send(found):
    answer(found.page)
    send(found.page)
    expect(heading(found.page, "Thank you")).to_be_visible()


def ledger(found):
    """Return the ledger that the browser stores."""
    kept = found.page.evaluate("localStorage.getItem('halftruth-ledger')")
    return [(entry["survey"], entry["gamma"]) for entry in json.loads(kept or "[]")]


def test_waves_are_counted_up_to_the_total_and_the_count_can_be_deleted(live, visit):
    found = visit()
    page = found.page
    ask(found, live, wave(live, 1))
    # Of 100: a secret of 5 becomes at most 50 with γ = 19, and 95 with 361.
    figures = page.locator(".figures li")
    expect(figures).to_contain_text(
        ["before anyone answers", "if they send the same report as you", "in all waves", "ordinary"]
    )
    most = [text.split()[-1] for text in figures.locator("strong").all_text_contents()]
    assert most == ["5", "50", "95", "100"]
    said = page.locator(".happens")
    for part in ("wave 1 of a series", "at this web address", "private window", "starts again"):
        expect(said).to_contain_text(part)
    expect(page.get_by_text(COUNT)).to_have_count(0)
    anyone_can_use(found, "series-first-wave")
    answer_and_send(found)
    page.get_by_text(COUNT).click()
    expect(page.locator(".counted")).to_contain_text(
        "All protected answers to all surveys, in one report"
    )
    anyone_can_use(found, "series-after-first-wave")

    # This survey replaces another one.
    operations.publish_survey(live.store, wave(live, 2, "A draft"))
    ask(found, live, wave(live, 2))
    page.get_by_text(COUNT).click()
    expect(page.locator(".counted")).to_contain_text("from 5\u202f% to at most 50\u202f% (γ = 19)")
    anyone_can_use(found, "series-second-wave")
    answer_and_send(found)
    assert ledger(found) == [("work-1", "19"), ("work-2", "19")]

    ask(found, live, wave(live, 3))
    before = len(posted(found))
    expect(heading(page, "Your reports have reached the limit")).to_be_visible()
    expect(page.get_by_text("So nothing was asked or sent.")).to_be_visible()
    page.get_by_text(COUNT).click()
    expect(page.locator(".counted")).to_contain_text(
        "All protected answers to all surveys, in 2 reports"
    )
    anyone_can_use(found, "series-refused")
    assert page.locator("input, select:not([name=language])").count() == 0
    assert len(posted(found)) == before

    # The consequences are explained before: 19² was sent, and 19² is promised again.
    press(page, "Start counting again for someone else")
    expect(heading(page, "Start counting again?")).to_be_visible()
    assert len(ledger(found)) == 2
    for language, said in FORGET.items():
        page.goto(f"{live.url}/s/work-3?lang={language}")
        page.locator(".counted summary").click()
        page.locator(".counted button").click()
        cost = page.locator("section p").first
        expect(cost).to_contain_text(said)
        numbers = re.findall(r"\d+", cost.inner_text().replace("\u202f", ""))
        assert numbers == ["5", "95", "361", "5", "100", "130321"]
        expect(page.locator("section p").nth(1)).to_contain_text(DELETES[language])
        fits_a_phone(found, f"series-forget-{language}")
    anyone_can_use(found, "series-forget")
    page.goto(f"{live.url}/s/work-3")
    page.get_by_text(COUNT).click()
    press(page, "Start counting again for someone else")
    press(page, "Back")
    expect(heading(page, "Your reports have reached the limit")).to_be_visible()
    page.get_by_text(COUNT).click()
    press(page, "Start counting again for someone else")
    press(page, "Yes, start again")
    expect(heading(page, "Before you begin")).to_be_visible()
    assert ledger(found) == []
    # The survey still counts as answered.
    page.goto(f"{live.url}/s/work-1")
    expect(heading(page, "Already answered in this browser")).to_be_visible()


#: Text before the count is deleted, in each language.
FORGET = {
    "en": "From the reports so far, others can learn: from 5\u202f% to at most 95\u202f%",
    "de": "können andere erfahren: von 5\u202f% auf höchstens 95\u202f%",
    "es": "otros pueden saber: de 5\u202f% a 95\u202f% como mucho",
    "fr": "on peut apprendre\u202f: de 5\u202f% à 95\u202f% au maximum",
}


#: That nothing is deleted that was sent, in each language.
DELETES = {
    "en": "This deletes nothing that was sent",
    "de": "Damit wird nichts gelöscht, was gesendet wurde",
    "es": "no se borra nada de lo enviado",
    "fr": "Cela ne supprime rien de ce qui a été envoyé",
}


def test_waves_are_explained_on_one_screen_in_every_language(live, visit):
    found = visit(viewport=SCREEN)
    page = found.page
    ask(found, live, wave(live, 1))
    answer_and_send(found)
    operations.publish_survey(live.store, wave(live, 2))
    for language in FORGET:
        page.goto(f"{live.url}/s/work-2?lang={language}")
        main = page.locator("halftruth-form button.main")
        expect(main).to_be_visible()
        box = main.bounding_box()
        assert box["y"] + box["height"] <= SCREEN["height"], language
        page.locator(".counted summary").click()
        counts = page.locator(".counted dd").all_text_contents()
        # For all answers and for each question, 19: from 5 % to 50 %.
        assert len(counts) == 1 + len(SCHEMA.names)
        for text in counts:
            assert re.findall(r"\d+", text) == ["5", "50", "19"]
        fits_a_phone(found, f"series-ledger-{language}")


def test_a_wave_is_not_asked_without_storage(live, visit, origin):
    said = "This browser must count what all your reports at this web address reveal together."
    found = visit()
    page = found.page
    page.add_init_script(BROKEN)
    ask(found, live, wave(live, 1))
    expect(heading(page, "You cannot answer this survey here")).to_be_visible()
    anyone_can_use(found, "series-storage-less")
    expect(page.get_by_text(said)).to_be_visible()
    assert page.get_by_role("button").count() == 0
    # Nor by an attached form, under a total of the page.
    unbound = Survey("other", "Another", SCHEMA, GammaDiagonal(19))
    operations.publish_survey(live.store, unbound)
    page.goto(origin.add('<form id="own" method="dialog"></form>'))
    attach(page, live, survey="other", maxTotalGamma="361")
    expect(page.get_by_role("alert")).to_contain_text(said)
    assert posted(found) == []


#: Where a form is refused because of its web address, in each language.
ELSEWHERE = {
    "en": "asked only at the web address {}, where a browser counts all waves together",
    "de": "nur unter der Webadresse {} gestellt wird, wo ein Browser alle Wellen",
    "es": "solo se ofrece en la dirección web {}, donde un navegador cuenta todas las oleadas",
    "fr": "n’est proposée qu’à l’adresse web {}, où un navigateur compte toutes les vagues",
}


def test_a_wave_is_asked_on_one_page_address_alone(live, visit, origin):
    found = visit()
    page = found.page
    ask(found, live, wave(live, 1))
    answer_and_send(found)
    # The collector under another name, and a page of another site.
    operations.publish_survey(live.store, wave(live, 2))
    other_name = live.url.replace("127.0.0.1", "localhost")
    elsewhere = origin.add(element(live, "work-2", 'max-gamma="361"'), script(live))
    for address in (f"{other_name}/s/work-2", elsewhere):
        for language, said in ELSEWHERE.items():
            page.goto(f"{address}?lang={language}")
            expect(page.get_by_text(said.format(live.url))).to_be_visible()
        page.goto(f"{address}?lang=en")
        expect(heading(page, "You cannot answer this survey here")).to_be_visible()
        assert page.locator("input, select:not([name=language])").count() == 0
    anyone_can_use(found, "series-other-address")
    assert len(posted(found)) == 1
    page.goto(f"{live.url}/s/work-2")
    answer_and_send(found)
    assert ledger(found) == [("work-1", "19"), ("work-2", "19")]


def limit_hosted_forms(live, total):
    """Set the total of hosted forms of a running collector."""
    service = live.app.extensions["halftruth"]
    config = msgspec.structs.replace(service.config, max_total_gamma=total)
    live.app.extensions["halftruth"] = dataclasses.replace(service, config=config)


def test_hosted_forms_show_and_limit_what_all_surveys_add_up_to(live, visit):
    found = visit()
    page = found.page
    for number in (1, 2):
        ask(found, live, Survey(f"alone-{number}", "Alone", SCHEMA, GammaDiagonal(19)))
        expect(page.get_by_text(COUNT)).to_have_count(number - 1)
        answer_and_send(found)
        expect(page.get_by_text(COUNT)).to_be_visible()
    page.get_by_text(COUNT).click()
    expect(page.locator(".counted")).to_contain_text(
        "All protected answers to all surveys, in 2 reports"
    )
    # Without a limit, nothing is allowed again by forgetting.
    press(page, "Start counting again for someone else")
    expect(
        page.get_by_text("refuses no survey at this web address because of them")
    ).to_be_visible()
    expect(page.get_by_text("a report can prove an answer")).to_have_count(0)
    press(page, "Back")
    # A wave shows its series and all surveys.
    for number in (1, 2):
        ask(found, live, wave(live, number))
        answer_and_send(found)
    page.get_by_text(COUNT).click()
    counted = page.locator(".counted")
    expect(counted).to_contain_text("All protected answers in this series, in 2 reports")
    expect(counted).to_contain_text("All protected answers to all surveys, in 4 reports")
    limit_hosted_forms(live, "130321")
    before = len(posted(found))
    ask(found, live, Survey("alone-3", "Alone", SCHEMA, GammaDiagonal(19)))
    refusal = page.get_by_text("more about you than this page allows for all surveys")
    expect(refusal).to_be_visible()
    assert len(posted(found)) == before
    limit_hosted_forms(live, "2476099")
    page.reload()
    answer_and_send(found)
    assert len(ledger(found)) == 5


def test_max_total_gamma_bounds_all_surveys_of_a_page(live, visit, origin):
    for id in ("one", "other"):
        operations.publish_survey(live.store, Survey(id, id, SCHEMA, GammaDiagonal(19)))
    found = visit()
    limits = 'max-gamma="19" max-total-gamma="360"'
    found.page.goto(origin.add(element(live, "one", limits), script(live)))
    answer_and_send(found)
    found.page.goto(origin.add(element(live, "other", limits), script(live)))
    refusal = found.page.get_by_text("more about you than this page allows for all surveys")
    expect(refusal).to_be_visible()
    assert len(posted(found)) == 1
    # An attached form refuses it, too.
    found.page.goto(origin.add('<form method="dialog" id="own"></form>') + "?own")
    outcome = attach(found.page, live, survey="other", maxTotalGamma="360")
    assert "LedgerRefused" in outcome
    expect(refusal).to_be_visible()
