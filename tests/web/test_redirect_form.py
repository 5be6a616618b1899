"""Redirection after the receipt, without any information on answers or the report."""

import pytest
from halftruth_shared import GammaDiagonal, Survey
from halftruth_shared.framing import Framing
from playwright.sync_api import expect

from .conftest import (
    SCHEMA,
    answer_and_send,
    counted,
    heading,
    keep_for_later,
    let_time_pass,
    posted,
    shown_report,
)

ELSEWHERE = "https://elsewhere.example/thanks?of=work#top"
GOES = "This page goes there in 20 seconds."

#: Everything that a page can learn about the previous one, and its own storage.
LEARNED = """
() => [document.referrer, window.name, window.opener, history.state, document.cookie,
  localStorage.length, sessionStorage.length]
"""


@pytest.fixture
def survey():
    going = Framing(redirect=ELSEWHERE, redirect_after=20)
    return Survey("work", "Health at work", SCHEMA, GammaDiagonal(19), framing=going)


@pytest.fixture
def found(visit):
    """A page with a controlled clock, and a mocked external site."""
    made = visit()
    made.page.clock.install()
    page = '<!doctype html><html lang="en"><title>Thanks</title><h1>Elsewhere</h1>'
    made.page.context.route(
        "https://elsewhere.example/**",
        lambda route: route.fulfill(body=page, content_type="text/html"),
    )
    return made


def test_the_redirect_carries_nothing_about_answers_or_the_report(live, found):
    page = found.page
    page.goto(f"{live.url}/s/work")
    answer_and_send(page)
    report = shown_report(page)
    expect(page.get_by_text(GOES)).to_be_visible()
    assert found.violations() == []
    let_time_pass(page, heading(page, "Elsewhere"))
    assert page.url == ELSEWHERE
    [arrived] = [line for line in found.requests if "elsewhere.example" in line]
    assert arrived.startswith(f"GET {ELSEWHERE.removesuffix('#top')} ")
    assert arrived.endswith(" None")
    assert not any(name in arrived for name in ("referer", "cookie", live.url))
    assert page.evaluate(LEARNED) == ["", "", None, None, "", 0, 0]
    page.go_back()
    expect(heading(page, "Already answered in this browser")).to_be_visible()
    # A returning visitor may be another person: nothing is shown and no redirect happens.
    assert page.locator(".card:not(.ledger), .onward").count() == 0
    page.clock.run_for(60_000)
    expect(heading(page, "Already answered in this browser")).to_be_visible()
    assert counted(live) == [report]
    assert len(posted(found)) == 1
    assert "hush" not in found.traffic()


def test_the_redirect_can_be_stopped_and_followed_by_keyboard(live, found):
    page = found.page
    page.goto(f"{live.url}/s/work")
    answer_and_send(page)
    page.get_by_role("button", name="Stay here").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text(GOES)).to_have_count(0)
    page.clock.run_for(60_000)
    expect(heading(page, "Thank you")).to_be_visible()
    onward = page.get_by_role("link", name="Continue to elsewhere.example")
    expect(onward).to_be_focused()
    page.keyboard.press("Enter")
    expect(heading(page, "Elsewhere")).to_be_visible()
    assert page.url == ELSEWHERE


def test_no_redirect_happens_before_the_report_is_counted(live, found):
    page = found.page
    keep_for_later(page, f"{live.url}/s/work")
    page.clock.run_for(60_000)
    expect(heading(page, "Your report is waiting")).to_be_visible()
    assert page.locator(".onward").count() == 0
    page.unroute("**/reports")
    let_time_pass(page, heading(page, "Elsewhere"))
    assert len(counted(live)) == 1
