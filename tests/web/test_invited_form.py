"""Forms of surveys with invitations, sealed reports or signatures."""

import base64
import hashlib
import json

import pytest
from halftruth_collector import operations
from halftruth_shared.protocol.signing import OperatorKey, sign
from halftruth_shared.protocol.terms import Terms
from playwright.sync_api import expect

from .conftest import (
    answer,
    answer_and_send,
    begin,
    counted,
    heading,
    is_not_asked,
    posted,
    send,
    shown_report,
)


@pytest.fixture
def invited(live, survey):
    """A collector whose survey requires an invitation."""
    operations.publish_survey(live.store, survey, Terms(invitations=True))
    return live


@pytest.fixture
def sealed(live, survey, sealing_key):
    """A collector whose survey accepts only sealed reports."""
    operations.publish_survey(live.store, survey, Terms(sealing_key=sealing_key))
    return live


@pytest.fixture
def both(live, survey, sealing_key):
    """A collector whose survey accepts only sealed reports with an invitation."""
    operations.publish_survey(live.store, survey, Terms(invitations=True, sealing_key=sealing_key))
    return live


def invitation_of(live):
    (made,) = operations.create_invitations(live.store, "work", 1)
    return made


def link(live, invitation):
    return f"{live.url}/s/work#invitation={invitation}"


def is_asked(page):
    expect(heading(page, "Before you begin")).to_be_visible()


def test_an_invitation_link_admits_one_report_and_is_sent_nowhere_else(invited, visit):
    invitation = invitation_of(invited)
    found = visit(link(invited, invitation))
    page = found.page
    is_asked(page)
    assert page.url == f"{invited.url}/s/work"
    answer(page)
    with page.expect_request("**/reports") as waited:
        send(page)
    expect(heading(page, "Thank you")).to_be_visible()
    assert counted(invited) == [shown_report(page)]
    assert invited.store.invitations.count("work").used == 1
    (one,) = json.loads(waited.value.post_data)["reports"]
    assert one["invitation"] == invitation
    # In no URL, header, other body, history entry or storage.
    assert found.traffic().count(invitation) == 1
    for place in range(4):
        page.wait_for_function("(place) => history.state?.['halftruth-page'] === place", arg=place)
        assert page.evaluate("Object.keys(history.state)") == ["halftruth-page"]
        page.evaluate("history.forward()")
    assert found.said == []


def test_an_invitation_link_opened_in_the_same_tab_survives_a_reload(invited, visit):
    page = visit(f"{invited.url}/s/work").page
    expect(heading(page, "You need an invitation")).to_be_visible()
    page.evaluate("(hash) => { location.hash = hash; }", f"invitation={invitation_of(invited)}")
    is_asked(page)
    assert page.url == f"{invited.url}/s/work"
    page.reload()
    begin(page)
    # Also in the middle, at another history entry.
    page.reload()
    is_asked(page)
    answer_and_send(page)
    assert len(counted(invited)) == 1


def test_a_used_invitation_is_refused_before_the_first_question(both, visit):
    spent = invitation_of(both)
    found = visit(link(both, spent))
    answer_and_send(found.page)
    # The report does not even include the hash used for the check.
    digest = hashlib.sha256(bytes.fromhex(spent)).hexdigest()
    (report,) = posted(found)
    assert spent not in report
    assert digest not in report
    assert found.traffic().count(digest) == 1
    again = visit(link(both, spent))
    is_not_asked(again, "It was already used or withdrawn, and nothing was asked or sent.")
    assert spent not in again.traffic()


def test_a_sealed_report_is_sent_without_readable_values(sealed, visit):
    found = visit(f"{sealed.url}/s/work")
    page = found.page
    answer(page)
    with page.expect_request("**/reports") as waited:
        send(page)
    expect(heading(page, "Thank you")).to_be_visible()
    assert counted(sealed) == [shown_report(page)]
    (one,) = json.loads(waited.value.post_data)["reports"]
    assert one.keys() == {"id", "sealed"}
    # Ephemeral key, one byte for each of three values, tag.
    assert len(base64.b64decode(one["sealed"], validate=True)) == 32 + 3 + 16
    assert found.said == []


@pytest.fixture
def operator():
    return OperatorKey.create()


def publish_signed(live, survey, operator, terms):
    operations.publish_survey(live.store, survey, terms, sign(operator, survey.digest, terms))


def own_page(found, live, more):
    """Serve a page from the collector's origin and return its URL."""
    address = f"{live.url}/own"
    form = f'<halftruth-form survey="work" max-gamma="19" {more}></halftruth-form>'
    html = (
        f'<!doctype html><html lang="en"><head><title>News</title>'
        f'<script type="module" src="{live.url}/form/halftruth.js"></script></head>'
        f"<body><main>{form}</main></body></html>"
    )
    found.page.route(address, lambda route: route.fulfill(body=html, content_type="text/html"))
    found.page.goto(address)
    return found.page


def test_a_form_with_pinned_keys_accepts_only_surveys_signed_by_one(live, survey, operator, visit):
    other = OperatorKey.create()
    found = visit()
    for signed, pins in (
        (False, operator.public),
        (True, other.public),
        (True, ""),
        (True, "0123"),
    ):
        if signed:
            publish_signed(live, survey, operator, Terms())
        own_page(found, live, f'operator-keys="{pins}"')
        is_not_asked(found, "operatorKeys: ")
    page = own_page(visit(), live, f'operator-keys="{other.public} {operator.public}"')
    answer_and_send(page)
    assert counted(live) == [shown_report(page)]
