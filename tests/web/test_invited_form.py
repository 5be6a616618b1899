"""Forms of surveys that need an invitation, seal their reports, or must be signed."""

import base64
import hashlib
import json

import pytest
from halftruth_collector import operations
from halftruth_shared.protocol.signing import OperatorKey, sign
from halftruth_shared.protocol.terms import Terms
from playwright.sync_api import expect

from .conftest import (
    RECORD,
    answer,
    answer_and_send,
    attach,
    begin,
    counted,
    heading,
    heard,
    is_not_asked,
    listening,
    posted,
    press,
    send,
    shown_report,
)


@pytest.fixture
def invited(live, survey):
    """The collector, whose survey needs an invitation."""
    operations.publish_survey(live.store, survey, Terms(invitations=True))
    return live


@pytest.fixture
def sealed(live, survey, sealing_key):
    """The collector, whose survey takes sealed reports only."""
    operations.publish_survey(live.store, survey, Terms(sealing_key=sealing_key))
    return live


@pytest.fixture
def both(live, survey, sealing_key):
    """The collector, whose survey takes sealed reports with an invitation."""
    operations.publish_survey(live.store, survey, Terms(invitations=True, sealing_key=sealing_key))
    return live


def invitation_of(live):
    (made,) = operations.create_invitations(live.store, "work", 1)
    return made


def link(live, invitation):
    return f"{live.url}/s/work#invitation={invitation}"


def is_asked(page):
    expect(heading(page, "Before you begin")).to_be_visible()


def test_an_invitation_in_the_address_lets_one_report_in_and_goes_nowhere_else(invited, visit):
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
    # Nowhere else: not in an address, a header, another body, the history, or what is kept.
    assert found.traffic().count(invitation) == 1
    for place in range(4):
        page.wait_for_function("(place) => history.state?.['halftruth-page'] === place", arg=place)
        assert page.evaluate("Object.keys(history.state)") == ["halftruth-page"]
        page.evaluate("history.forward()")
    assert found.said == []


def test_a_link_that_is_opened_in_the_same_place_is_taken_and_outlives_a_reload(invited, visit):
    page = visit(f"{invited.url}/s/work").page
    expect(heading(page, "An invitation is needed")).to_be_visible()
    page.evaluate("(hash) => { location.hash = hash; }", f"invitation={invitation_of(invited)}")
    is_asked(page)
    assert page.url == f"{invited.url}/s/work"
    page.reload()
    begin(page)
    # Also in the middle, in another place of the history.
    page.reload()
    is_asked(page)
    answer_and_send(page)
    assert len(counted(invited)) == 1


def test_a_spent_invitation_is_told_before_anything_is_asked(both, visit):
    spent = invitation_of(both)
    found = visit(link(both, spent))
    answer_and_send(found.page)
    # Not even the hash that it was asked about by goes with the report.
    digest = hashlib.sha256(bytes.fromhex(spent)).hexdigest()
    (report,) = posted(found)
    assert spent not in report
    assert digest not in report
    assert found.traffic().count(digest) == 1
    again = visit(link(both, spent))
    is_not_asked(again, "It was used already, or withdrawn, and nothing was asked or sent.")
    assert spent not in again.traffic()


def test_an_invitation_that_is_spent_meanwhile_lets_nothing_in_and_another_one_the_same_report(
    invited, visit
):
    spent = invitation_of(invited)
    found = visit(link(invited, spent))
    page = found.page
    answer(page)
    operations.revoke_invitations(invited.store, "work")
    send(page)
    expect(heading(page, "Your report was not counted")).to_be_visible()
    expect(page.get_by_text("Please ask whoever invited you for another one")).to_be_visible()
    assert len(counted(invited)) == 0
    page.goto("about:blank")
    page.goto(link(invited, invitation_of(invited)))
    press(page, "Try again")
    expect(heading(page, "Thank you")).to_be_visible()
    assert len(counted(invited)) == 1
    assert "hush" not in found.traffic()


def test_a_sealed_report_holds_nothing_that_can_be_read_on_the_way(sealed, visit):
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


def own_page(found, live, more, body=None):
    """A page of the same origin, made here; the value is its address."""
    address = f"{live.url}/own"
    form = body or f'<halftruth-form survey="work" max-gamma="19" {more}></halftruth-form>'
    html = (
        f'<!doctype html><html lang="en"><head><title>News</title>'
        f'<script type="module" src="{live.url}/js/form/index.js"></script></head>'
        f"<body><main>{form}</main></body></html>"
    )
    found.page.route(address, lambda route: route.fulfill(body=html, content_type="text/html"))
    found.page.goto(address)
    return found.page


def test_a_form_with_pins_asks_what_one_of_them_signed_and_nothing_else(
    live, survey, operator, visit
):
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


def test_a_form_of_ones_own_takes_pins_and_an_invitation(
    live, survey, operator, sealing_key, visit
):
    publish_signed(live, survey, operator, Terms(invitations=True, sealing_key=sealing_key))
    inputs = "".join(f'<input name="{name}" value="{value}">' for name, value in RECORD.items())
    found = listening(visit)
    form = f'<form id="own" method="dialog">{inputs}<button>Send</button></form>'
    page = own_page(found, live, "", form)
    invitation, pins = invitation_of(live), [operator.public]
    for options, wrong in (
        ({"operatorKeys": pins}, "ParameterError: invitation: "),
        ({"operatorKeys": [OperatorKey.create().public]}, "SurveyRefused: operatorKeys: "),
        ({"operatorKeys": pins, "invitation": "0123"}, "ParameterError: invitation: "),
    ):
        assert attach(page, live, **options).startswith(wrong)
    assert posted(found) == []
    assert attach(page, live, operatorKeys=pins, invitation=invitation) == "attached"
    press(page, "Send")
    *refused, (name, detail) = heard(page, 4)
    assert [name for name, _ in refused] == ["refused"] * 3
    assert (name, detail["status"]) == ("submitted", "accepted")
    assert len(counted(live)) == 1
    assert invitation not in found.traffic()
