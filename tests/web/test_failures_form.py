"""Error messages of the form: in each language, on phones, in light and dark mode."""

import json
import re
from datetime import UTC, datetime
from uuid import uuid4

import pytest
from halftruth_collector import operations
from halftruth_shared import GammaDiagonal, Survey
from halftruth_shared.protocol.reports import Report
from halftruth_shared.protocol.terms import Terms
from playwright.sync_api import expect

from .conftest import PHONE, SCHEMA, anyone_can_use, heading, posted

LANGUAGES = ("de", "fr", "es")
ELSE = "0123456789abcdef" * 2
REPORT = {"id": str(uuid4()), "values": [0, 0, 0], "invitation": None}


@pytest.fixture
def survey():
    titles = {"en": "Health at work", "de": "Gesund arbeiten", "fr": "La santé", "es": "La salud"}
    return Survey("work", titles, SCHEMA, GammaDiagonal(19))


def published(**terms):
    """Publish the survey under other terms."""
    return lambda live, page, survey: operations.publish_survey(live.store, survey, Terms(**terms))


def full(live, page, survey):
    operations.publish_survey(live.store, survey, Terms(max_reports=1))
    live.store.reports.add("work", survey.digest, [Report(id=uuid4(), values=[0, 0, 0])])


def closed(live, page, survey):
    operations.close_survey(live.store, "work", confirm="work")


def changed(page, text, instead):
    """Change the text of the hosted page, which has the survey."""

    def change(route):
        answer = route.fetch()
        assert answer.text().count(text) == 1
        route.fulfill(response=answer, body=answer.text().replace(text, instead))

    page.route("**/s/work*", change)


def cut_off(live, page, survey):
    page.route("**/v1/**", lambda route: route.abort())
    changed(page, 'type="application/json"', 'type="text/plain"')


def forged(live, page, survey):
    changed(page, f'"digest":"{survey.digest}"', '"digest":"00"')


def kept(**more):
    """Store a report of an earlier visit in the browser."""

    def keep(live, page, survey):
        page.route("**/reports", lambda route: route.abort())
        report = {"digest": survey.digest, "collector": live.url, "sent": True, **REPORT, **more}
        item = f"'halftruth:work', {json.dumps(json.dumps(report))}"
        page.add_init_script(f"localStorage.setItem({item})")

    return keep


def refused(about, why="it is so"):
    return kept(refused=why, about=about)


def invited_only(about):
    def arrange(live, page, survey):
        published(invitations=True)(live, page, survey)
        refused(about)(live, page, survey)

    return arrange


FUTURE = datetime(2131, 3, 31, 12, tzinfo=UTC)
PAST = datetime(2020, 3, 31, 12, tzinfo=UTC)

#: For each failure: its cause, the end of the URL, and the English title and text.
FAILURES = {
    "deadline": (
        published(closes_at=PAST), "", "This survey has ended",
        r"You could answer until March 31, 2020.*\. Thank you",
    ),
    "planned": (
        published(opens_at=FUTURE), "", "This survey is not open yet",
        r"You can answer from March 31, 2131.* on\. Nothing was asked or sent\.",
    ),
    "quota": (full, "", "This survey has ended", "Enough people have answered already"),
    "closed": (closed, "", None, "closed"),
    "unreachable": (cut_off, "", "The survey cannot be reached", "try again"),
    "forged": (
        forged, "", "You cannot answer this survey here", "Nothing was sent: survey 'work': the",
    ),
    "not invited": (
        published(invitations=True), "", "You need an invitation", "open the link",
    ),
    "half a link": (
        published(invitations=True), "#invitation=01", "This invitation cannot be read", "whole",
    ),
    "spent": (
        published(invitations=True), f"#invitation={ELSE}",
        "This invitation is no longer valid", "nothing was asked or sent",
    ),
    "another version": (kept(digest="00"), "", "Already answered", "Another version"),
    "waiting": (kept(sent=False), "", "Your report is waiting", "not confirmed your report yet"),
    "late": (refused("closes_at"), "", "Your report came too late", "It was not counted."),
    "refused": (refused("values"), "", "Your report was not counted", "refused it: it is so"),
    "not let in": (
        invited_only("invitation"), "", "Your report was not counted", "was not accepted",
    ),
}  # fmt: skip


#: Failures that together show all elements of the others.
LOOKED_AT = ("closed", "unreachable", "waiting", "refused")


@pytest.mark.parametrize("failure", FAILURES)
def test_each_failure_is_explained_in_every_language(live, survey, visit, failure):
    arrange, end, title, words = FAILURES[failure]
    found = visit(viewport=PHONE, timezone_id="UTC")
    page = found.page
    arrange(live, page, survey)
    said = {}
    # Each failure in English and one other language; other tests compare the translations.
    for language in ("en", LANGUAGES[list(FAILURES).index(failure) % len(LANGUAGES)]):
        # A fresh load, also where only the fragment differs.
        page.goto("about:blank")
        page.goto(f"{live.url}/s/work?lang={language}{end}")
        # A manually closed survey does not load the form.
        shown = page.locator(".notice" if failure == "closed" else "halftruth-form section")
        expect(shown).to_be_visible()
        said[language] = shown.inner_text()
        if language == "en":
            expect(heading(page, title) if title else shown).to_be_visible()
            assert re.search(words, said["en"])
            # Other languages differ only in their words.
            if failure in LOOKED_AT:
                anyone_can_use(found, f"failure-{failure.replace(' ', '-')}")
        assert page.locator("input, select:not([name=language])").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, language
    assert len(set(said.values())) == 2
    assert posted(found) == [] or failure == "waiting"
