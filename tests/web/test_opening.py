"""What a phone has to fetch until the form can be used: requests, bytes, and the longest chain.

Times on slow networks follow from these; `tests/bench/opening.py` measures them.
"""

from dataclasses import dataclass, field

import pytest
from halftruth_collector import operations
from halftruth_shared import GammaDiagonal, Survey
from halftruth_shared.protocol.signing import OperatorKey, sign
from halftruth_shared.protocol.terms import Terms
from playwright.sync_api import expect

from .conftest import SCHEMA, answer, counted, element, heading, posted, script, send, shown_report

pytestmark = pytest.mark.usefixtures("built")

#: The largest number of requests of the first visit, of their bytes, and of requests that wait for
#: one another: the page, and what it names.
REQUESTS, BYTES, DEPTH = 6, 75_000, 2


@dataclass
class Fetched:
    """Requests of one page that reached a server, by address."""

    #: Address of the request that each one had to wait for.
    after: dict[str, str | None] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    _names: dict[str, str] = field(default_factory=dict)

    def watch(self, page):
        session = page.context.new_cdp_session(page)
        session.send("Network.enable")
        session.on("Network.requestWillBeSent", self._begin)
        session.on("Network.requestServedFromCache", self._omit)
        session.on("Network.responseReceived", self._receive)
        session.on("Network.loadingFinished", self._end)
        return self

    def _begin(self, event):
        address, initiator = event["request"]["url"], event["initiator"]
        frames = initiator.get("stack", {}).get("callFrames", [])
        before = initiator.get("url") or (frames[0]["url"] if frames else None)
        # A browser asks another origin whether it may send, before it does.
        asking = f"OPTIONS {address}"
        if initiator["type"] == "preflight":
            address, before = asking, None
        elif asking in self.after:
            self.after[asking], before = before, asking
        self._names[event["requestId"]] = address
        self.after[address] = before

    def _receive(self, event):
        if event["response"].get("fromDiskCache"):
            self._omit(event)

    def _omit(self, event):
        self.after.pop(self._names[event["requestId"]], None)

    def _end(self, event):
        self.sizes[self._names[event["requestId"]]] = event["encodedDataLength"]

    @property
    def bytes(self):
        return sum(self.sizes.get(address, 0) for address in self.after)

    def depth(self, address):
        before = self.after.get(address)
        return 1 if before is None else 1 + self.depth(before)

    @property
    def chain(self):
        return max(map(self.depth, self.after))


@pytest.fixture
def survey():
    titles = {"en": "Work", "de": "Arbeit", "fr": "Travail", "es": "Trabajo"}
    return Survey("work", titles, SCHEMA, GammaDiagonal(19))


@pytest.fixture
def opened(visit):
    """Return a function that opens a form, and waits until something in it can be tapped."""

    def open_form(address, found=None, locale="de-DE"):
        found = found or visit(viewport={"width": 390, "height": 844}, locale=locale)
        fetched = Fetched().watch(found.page)
        found.page.goto(address)
        expect(found.page.locator("halftruth-form button").first).to_be_enabled()
        return found, fetched

    return open_form


def test_a_form_opens_with_few_requests_that_do_not_wait_for_one_another(live, opened):
    address = f"{live.url}/s/work"
    found, first = opened(address)
    expect(heading(found.page, "Bevor Sie beginnen")).to_be_visible()
    assert len(first.after) <= REQUESTS, list(first.after)
    assert 20_000 < first.bytes <= BYTES, first.sizes
    assert first.chain <= DEPTH, first.after
    # The second visit only asks whether the page has changed.
    found.page.goto("about:blank")
    _, again = opened(address, found)
    assert list(again.after) == [address]
    assert again.bytes < 1_000
    assert found.said == []


def test_a_sealed_form_by_invitation_needs_one_more_request(live, survey, sealing_key, opened):
    operator, terms = OperatorKey.create(), Terms(invitations=True, sealing_key=sealing_key)
    operations.publish_survey(live.store, survey, terms, sign(operator, survey.digest, terms))
    (ticket,) = operations.create_invitations(live.store, "work", 1)
    found, first = opened(f"{live.url}/s/work#invitation={ticket}", locale="en-US")
    checks = [address for address in first.after if address.endswith("/invitations/check")]
    assert len(checks) == 1
    assert len(first.after) <= REQUESTS + 1, list(first.after)
    assert first.bytes <= BYTES
    answer(found.page)
    send(found.page)
    expect(heading(found.page, "Thank you")).to_be_visible()
    (report,) = posted(found)
    assert '"sealed":' in report
    assert counted(live) == [shown_report(found.page)]
    assert found.said == []


def test_a_form_of_another_page_needs_the_script_and_then_the_survey(live, origin, opened):
    address = origin.add(element(live), script(live))
    found, first = opened(address)
    survey, stable = f"{live.url}/v1/surveys/work", f"{live.url}/form/halftruth.js"
    assert {survey, stable} <= first.after.keys()
    assert len(first.after) <= REQUESTS
    assert first.bytes <= BYTES
    assert first.chain <= DEPTH + 1, first.after
    found.page.goto("about:blank")
    _, again = opened(address, found)
    # The survey has not changed, so that only headers come.
    assert set(again.after) - {address} == {survey}
    assert again.sizes[survey] < 1_000
    assert found.said == []


def asked(found, survey="work"):
    lines = [line.split()[:2] for line in found.requests]
    return [url for method, url in lines if method == "GET" and url.endswith(f"/surveys/{survey}")]


def test_the_survey_in_the_page_is_used_once_and_only_for_its_form(live, store, opened):
    other = Survey("other", "Other", SCHEMA, GammaDiagonal(7))
    operations.publish_survey(store, other)
    found, _ = opened(f"{live.url}/s/work", locale="en-US")
    page = found.page
    assert asked(found) == []
    # Terms can change while a page is open, so that a form which starts again fetches them.
    for number, name in enumerate(["other", "work"], 1):
        page.evaluate("(name) => document.querySelector('halftruth-form').survey = name", name)
        expect(heading(page, "Before you begin")).to_be_visible()
        assert len(asked(found) + asked(found, "other")) == number
    # A page with the survey of another form fetches its own.
    page.route(
        "**/s/work",
        lambda route: route.fulfill(
            response=(page := route.fetch()),
            body=page.text().replace('survey="work"', 'survey="other"'),
        ),
    )
    page.reload()
    expect(heading(page, "Before you begin")).to_be_visible()
    assert len(asked(found, "other")) == 2


def test_terms_that_change_while_a_page_is_open_are_fetched_for_sending(live, sealing_key, opened):
    found, _ = opened(f"{live.url}/s/work", locale="en-US")
    page = found.page
    answer(page)
    operations.set_terms(live.store, "work", Terms(sealing_key=sealing_key))
    send(page)
    expect(heading(page, "Thank you")).to_be_visible()
    plain, sealed = posted(found)
    assert '"sealed":' not in plain
    assert '"sealed":' in sealed
    assert asked(found) == [f"{live.url}/v1/surveys/work"]
    assert counted(live) == [shown_report(page)]


def test_a_page_that_is_gone_back_to_fetches_the_survey(live, survey, opened):
    """Browsers show then what they had, and the survey can have been closed meanwhile."""
    found, _ = opened(f"{live.url}/s/work", locale="en-US")
    page = found.page
    page.goto(f"{live.url}/")
    operations.close_survey(live.store, "work", confirm="work")
    page.go_back()
    expect(heading(page, "This survey has ended")).to_be_visible()
    assert asked(found) == [f"{live.url}/v1/surveys/work"]


EVIL = "</script><script>window.alerted = 1</script><img src=x onerror='window.alerted = 2'><!--"


def test_a_hostile_title_is_only_a_text(live, store, opened):
    operations.publish_survey(store, Survey("evil", EVIL, SCHEMA, GammaDiagonal(19)))
    found, fetched = opened(f"{live.url}/s/evil", locale="en-US")
    page = found.page
    assert page.locator("h1").text_content() == EVIL
    assert page.evaluate("window.alerted") is None
    assert page.locator("img").count() == 0
    assert not [address for address in fetched.after if address.endswith("/x")]
    assert found.said == []
