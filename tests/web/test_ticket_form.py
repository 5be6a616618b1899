"""Tickets of a collector and of a relay, taken by the form, a page's own form and SurveyJS."""

import json

import pytest
from halftruth_relay import operations as relaying
from halftruth_shared import SplitQuestionnaire, Survey
from halftruth_shared.mechanisms import ViewClass
from halftruth_shared.survey import Reporting
from playwright.sync_api import expect
from relays import parties, with_relay
from wire import free_port, listening

from .conftest import (
    RECORD,
    REGIONS,
    SCHEMA,
    Origin,
    attach,
    begin,
    heading,
    heard,
    posted,
    press,
    send,
)
from .test_opening import BYTES, DEPTH, REQUESTS, Fetched

#: A survey of which everybody is asked some of three questions.
BY_TICKET = Survey(
    "work",
    "Health at work",
    SCHEMA,
    SplitQuestionnaire(
        19,
        [
            ViewClass(attributes=[["smoker", "drinks"]], weight=3),
            ViewClass(attributes=[["smoker", "region"]], weight=2),
            ViewClass(attributes=[["drinks"]], weight=1),
        ],
    ),
    reporting=Reporting(tickets="required"),
)


@pytest.fixture
def survey():
    return BY_TICKET


@pytest.fixture
def two(database, tmp_path):
    """A collector and its relay, which issues the tickets, and the collector's URL."""
    port = free_port()
    made = with_relay(BY_TICKET, tmp_path, url=f"http://127.0.0.1:{port}", batch=2)
    (tmp_path / "relay").mkdir()
    relay_database = f"sqlite:///{tmp_path}/relay/relay.db"
    with (
        parties(made, database, relay_database, tmp_path) as both,
        listening(both.collector) as url,
        listening(both.relay, port),
    ):
        both.url = url
        yield both


def taken(found):
    """Return the requests for tickets."""
    lines = [line for line in found.requests if line.startswith("POST")]
    return [line.split()[1] for line in lines if line.split()[1].endswith("/tickets")]


def fill(page):
    """Answer what is asked, up to the summary panel."""
    begin(page)
    panel = heading(page, "Nothing has been sent yet")
    while not panel.is_visible():
        before = page.locator("h2").first.text_content()
        for name in ("smoker", "drinks"):
            if page.get_by_label(RECORD[name]).is_visible():
                page.get_by_label(RECORD[name]).check()
        if page.get_by_label("Where do you live?").is_visible():
            page.get_by_label("Where do you live?").select_option(REGIONS[2])
        press(page, "Continue")
        expect(page.locator("h2").first).not_to_have_text(before)


def opened(visit, address):
    found = visit(viewport={"width": 390, "height": 844}, locale="en-US")
    fetched = Fetched().watch(found.page)
    found.page.goto(address)
    expect(found.page.locator("halftruth-form button").first).to_be_enabled()
    return found, fetched


@pytest.mark.usefixtures("built")
def test_a_form_with_a_ticket_of_the_collector_opens_with_at_most_seven_requests(live, visit):
    found, first = opened(visit, f"{live.url}/s/work")
    assert taken(found) == [f"{live.url}/v1/surveys/work/tickets"]
    assert len(first.after) <= REQUESTS + 1, list(first.after)
    assert first.bytes <= BYTES
    print(f"{len(first.after)} requests, {first.bytes} bytes, {first.chain} after one another")
    # The ticket waits for the script, which the page names.
    assert first.chain <= DEPTH + 1, first.after
    assert found.said == []


@pytest.mark.usefixtures("built")
def test_a_form_with_a_ticket_of_a_relay_opens_with_at_most_seven_requests(two, visit):
    found, first = opened(visit, f"{two.url}/s/work")
    ticket = f"{two.survey.relay.url}/v1/surveys/work/tickets"
    assert taken(found) == [ticket]
    # It is not asked before whether it takes reports: that is what the ticket says.
    # The browser asks the relay first whether it may ask for one.
    assert f"OPTIONS {ticket}" in first.after
    assert len(first.after) <= REQUESTS + 1, list(first.after)
    assert first.bytes <= BYTES
    assert first.chain <= DEPTH + 2, first.after
    print(f"{len(first.after)} requests, {first.bytes} bytes, {first.chain} after one another")
    assert found.said == []


def test_a_form_behind_a_relay_keeps_one_ticket_and_sends_it_inside_of_the_report(two, visit):
    found = visit(f"{two.url}/s/work", locale="en-US")
    page = found.page
    expect(heading(page, "Before you begin")).to_be_visible()
    ticket = page.evaluate(f"localStorage.getItem('halftruth-ticket:{two.survey.digest}')")
    view = page.evaluate(f"localStorage.getItem('halftruth-view:{two.survey.digest}')")
    assert len(ticket) == 2 * (16 + 32 + 64)
    page.reload()
    expect(heading(page, "Before you begin")).to_be_visible()
    assert page.evaluate(f"localStorage.getItem('halftruth-ticket:{two.survey.digest}')") == ticket
    fill(page)
    assert len(taken(found)) == 1
    before = len(found.requests)
    send(page)
    expect(page.locator(".card.sent")).to_be_visible()
    [request] = posted(found)
    assert request.startswith(f"POST {two.survey.relay.url}/v1/surveys/work/reports ")
    assert {line.split()[1] for line in found.requests[before:] if "/v1/" in line} <= {
        f"{two.survey.relay.url}/v1/surveys/work/reports",
        f"{two.url}/v1/surveys/work",
    }
    # Neither the secret nor the signature is readable on its way, or stored afterwards.
    secret = ticket[32:96]
    assert secret not in found.traffic()
    kept = json.loads(page.evaluate("localStorage.getItem('halftruth:work')"))
    [symbol] = kept["values"]
    assert two.survey.perturbation.view_number([symbol]) == int(view)
    other = visit(f"{two.url}/s/work", locale="en-US")
    fill(other.page)
    send(other.page)
    expect(other.page.locator(".card.sent")).to_be_visible()
    two.close()
    assert (two.held(), two.counted()) == (0, 2)
    assert found.said == other.said == []


def test_a_relay_that_is_closed_is_stated_before_the_first_question(two, visit):
    relaying.close(two.relay_store, "work", confirm="work")
    found = visit(f"{two.url}/s/work", locale="en-US")
    host = two.survey.relay.url.removeprefix("http://")
    said = f"Its relay, {host}, accepts no reports for it."
    expect(found.page.get_by_text(said)).to_be_visible()
    assert found.page.locator("input, select:not([name=language])").count() == 0
    assert found.page.evaluate("Object.keys(localStorage)") == []


def test_a_relay_that_does_not_answer_draws_nothing_and_is_tried_again(two, visit):
    found = visit(locale="en-US")
    page = found.page
    page.route(f"{two.survey.relay.url}/**", lambda route: route.abort())
    page.goto(f"{two.url}/s/work")
    expect(page.get_by_role("button", name="Try again")).to_be_visible(timeout=20_000)
    assert page.evaluate("Object.keys(localStorage)") == []
    page.unroute(f"{two.survey.relay.url}/**")
    press(page, "Try again")
    fill(page)
    send(page)
    expect(page.locator(".card.sent")).to_be_visible()
    assert two.held() == 1


OWN = """<form id="own" method="dialog">
  <select name="smoker"><option>yes-hush</option></select>
  <select name="drinks"><option>weekly-hush</option></select>
  <select name="region"><option>{region}</option></select>
  <button>Send</button>
</form>"""


def test_a_pages_own_form_takes_its_ticket_of_the_relay(two, visit, origin: Origin):
    found = visit(origin.add("", OWN.format(region=REGIONS[2])))
    page = found.page
    hear = (
        "window.heard = []; document.getElementById('own')"
        ".addEventListener('submitted', ({detail}) => window.heard.push(detail))"
    )
    page.evaluate(hear)
    assert attach(page, two) == "attached"
    # Taken when it opens, so that no request depends on the answers.
    assert taken(found) == [f"{two.survey.relay.url}/v1/surveys/work/tickets"]
    press(page, "Send")
    heard(page)
    assert len(taken(found)) == len(posted(found)) == 1
    assert two.held() == 1


def test_surveyjs_takes_its_ticket_of_the_relay(two, visit, origin, scripted):
    (origin.folder / "app.js").write_text(scripted, "utf-8")
    found = visit(origin.add("", '<script type="module" src="app.js"></script>'))
    model = {
        "elements": [
            {"type": "radiogroup", "name": each.name, "choices": list(each.categories)}
            for each in SCHEMA.attributes
        ]
    }
    named = {
        each.name: {"name": each.name, "answers": {text: text for text in each.categories}}
        for each in SCHEMA.attributes
    }
    settings = {"collector": two.url, "survey": "work", "maxGamma": "19", "map": named}
    given = [model, settings, [RECORD]]
    [end] = found.page.evaluate("(given) => answerAll(...given)", given)
    assert end["state"] == "success", end
    assert taken(found) == [f"{two.survey.relay.url}/v1/surveys/work/tickets"]
    assert len(end["asked"]) <= 2
    assert two.held() == 1
