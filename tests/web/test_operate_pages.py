"""What an operator does in a real browser, with scripts and without."""

import csv
import re
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from halftruth_collector import operations
from halftruth_shared.protocol.reports import Report
from halftruth_shared.protocol.sealing import create_sealing_key
from halftruth_shared.protocol.signing import OperatorKey, sign
from halftruth_shared.protocol.terms import Terms
from playwright.sync_api import expect

from .conftest import answer_and_send, anyone_can_use, counted, heading, press, sign_in

PAGES = ("", "surveys/work", "tokens")

TOML = """
id = "short"
title = "A short one"
[mechanism]
kind = "gamma-diagonal"
gamma = "{}"
[[attributes]]
name = "smoker"
categories = ["no", "yes"]
"""


@pytest.fixture
def filled(live, survey):
    """A collector with three reports, an unused invitation, a token with a name, and a key."""
    reports = [Report(id=UUID(int=n), values=[0, n, 0]) for n in range(3)]
    live.store.reports.add("work", survey.digest, reports)
    operations.create_invitations(live.store, "work", 1)
    operations.create_token(live.store, "analyst", "work", name="Anna, paper")
    terms = Terms()
    operations.set_terms(
        live.store, "work", terms, sign(OperatorKey.create(), survey.digest, terms)
    )
    return live


@pytest.fixture
def operator(filled, visit):
    """An operator who signed in, without scripts: only the design page has any."""
    return sign_in(visit(f"{filled.url}/operate/", java_script_enabled=False), filled)


def open_page(operator, filled, path):
    operator.page.goto(f"{filled.url}/operate/{path}")
    return operator.page


def test_every_page_is_accessible_and_fits_a_phone(filled, visit):
    found = visit(f"{filled.url}/operate/")
    assert found.violations() == []
    sign_in(found, filled)
    for path in PAGES:
        open_page(found, filled, path)
        anyone_can_use(found, f"operate-{path.replace('/', '-') or 'surveys'}")
    assert found.page.evaluate("document.cookie") == ""
    page = open_page(found, filled, "surveys/work")
    page.get_by_label("New invitations").fill("2")
    press(page, "Cards to print")
    expect(page.get_by_role("img", name="QR code")).to_have_count(2)
    anyone_can_use(found, "operate-cards")


def test_a_survey_is_checked_published_unlisted_closed_and_reopened(operator, filled):
    page = open_page(operator, filled, "design")
    file = page.get_by_label("Survey file")
    file.fill(TOML.format(57))
    press(page, "Check")
    protection = page.get_by_role("region", name="Protection")
    expect(protection).to_contain_text("its amplification 57 exceeds 19")
    assert [each.id for each in filled.store.surveys.all()] == ["work"]
    file.fill(TOML.replace("no", "yes").format(19))
    press(page, "Publish")
    expect(page.get_by_role("status")).to_contain_text("yes")
    file.fill(TOML.format(19))
    page.get_by_label("Unlisted").check()
    press(page, "Publish")
    expect(heading(page, "A short one")).to_be_visible()
    assert filled.store.surveys.get("short").listed is False
    press(page, "List the survey")
    assert filled.store.surveys.get("short").listed is True
    press(page, "Unlist the survey")
    assert filled.store.surveys.get("short").listed is False
    press(page, "Close the survey")
    press(page, "Reopen the survey")
    assert filled.store.surveys.get("short").status == "open"
    open_page(operator, filled, "surveys/work")
    press(page, "Close the survey")
    expect(page.get_by_text("It has reports, so its end is final.")).to_be_visible()
    actions = [(each.action, each.subject) for each in filled.store.audit.all()[-6:]]
    assert actions == [
        ("survey publish", "short"),
        ("survey list", "short"),
        ("survey unlist", "short"),
        ("survey close", "short"),
        ("survey reopen", "short"),
        ("survey close", "work"),
    ]


def test_a_survey_is_deleted_by_typing_its_id(operator, filled):
    page = open_page(operator, filled, "surveys/work")
    page.get_by_label("Type work to delete it").fill("wrok")
    press(page, "Delete for good")
    expect(page.get_by_role("alert")).to_contain_text("expected work; nothing was deleted")
    assert filled.store.surveys.state("work").reports == 3
    page.get_by_label("Type work to delete it").fill("work")
    press(page, "Delete for good")
    expect(page.get_by_role("status")).to_contain_text("work is deleted: 3 reports, 3 ids")
    assert filled.store.surveys.all() == []
    assert filled.store.audit.all()[-1].actor.startswith("token ")


def test_a_deadline_a_quota_and_shared_devices_are_set_and_taken_away(operator, filled):
    page = open_page(operator, filled, "surveys/work")
    page.get_by_label("Deadline (UTC)").fill("2027-03-31T22:00:00")
    page.get_by_label("Most reports").fill("3")
    page.get_by_label("Several people may answer on one device").check()
    press(page, "Set")
    expect(page.get_by_role("alert")).to_contain_text("the terms are signed by")
    page = open_page(operator, filled, "surveys/work")
    page.get_by_label("Deadline (UTC)").fill("2027-03-31T22:00:00")
    page.get_by_label("Most reports").fill("3")
    page.get_by_label("Several people may answer on one device").check()
    page.get_by_label("Drop the signature").check()
    press(page, "Set")
    said = "3 (until 2027-03-31 22:00:00 UTC, at most 3 reports, several people on a device)"
    expect(page.get_by_text(said)).to_be_visible()
    expect(page.get_by_text("It takes no reports any more, by its quota.")).to_be_visible()
    moment = datetime(2027, 3, 31, 22, tzinfo=UTC)
    limited = Terms(closes_at=moment, max_reports=3, shared_devices=True)
    assert filled.store.surveys.get("work").terms == limited
    # Setting something else keeps them.
    page.get_by_label("Each report needs an invitation").check()
    press(page, "Set")
    assert filled.store.surveys.get("work").terms.closes_at == moment
    open_page(operator, filled, "")
    expect(page.get_by_text("until 2027-03-31 22:00:00 UTC, at most 3 reports")).to_be_visible()
    open_page(operator, filled, "surveys/work")
    for label in ("Deadline (UTC)", "Most reports"):
        page.get_by_label(label).fill("")
    page.get_by_label("Several people may answer on one device").uncheck()
    page.get_by_label("Each report needs an invitation").uncheck()
    press(page, "Set")
    assert filled.store.surveys.get("work").terms == Terms()
    assert [each.action for each in filled.store.audit.all()[-3:]] == ["survey terms"] * 3


def test_links_of_a_table_let_people_in(operator, filled, visit, tmp_path):
    page = open_page(operator, filled, "surveys/work")
    page.get_by_label("Each report needs an invitation").check()
    page.get_by_label("Drop the signature").check()
    press(page, "Set")
    assert filled.store.surveys.get("work").terms.invitations
    page.get_by_label("New invitations").fill("2")
    with page.expect_download() as waited:
        press(page, "Links as CSV")
    file = tmp_path / waited.value.suggested_filename
    waited.value.save_as(file)
    assert file.name == "work-invitations.csv"
    rows = list(csv.DictReader(file.read_text(encoding="utf-8").splitlines()))
    assert len(rows) == 2
    assert all(row["link"].endswith(f"/s/work#invitation={row['invitation']}") for row in rows)
    answer_and_send(visit(rows[0]["link"]).page)
    assert len(counted(filled)) == 4
    # No address that was asked for has one.
    assert not any(rows[1]["invitation"] in line for line in operator.requests)
    page.reload()
    expect(page.get_by_text("3 issued, 1 used, 0 withdrawn, 2 unused")).to_be_visible()
    press(page, "Withdraw all unused invitations")
    expect(page.get_by_text("3 issued, 1 used, 2 withdrawn, 0 unused")).to_be_visible()


def test_cards_have_a_code_each(operator, filled):
    page = open_page(operator, filled, "surveys/work")
    page.get_by_label("New invitations").fill("3")
    press(page, "Cards to print")
    expect(page.get_by_role("img", name="QR code")).to_have_count(3)
    links = page.locator("article p").all_text_contents()
    pattern = re.escape(f"{filled.url}/s/work#invitation=") + "[0-9a-f]{32}"
    assert len(set(links)) == 3
    assert all(re.fullmatch(pattern, link) for link in links)
    page.get_by_role("link", name="Back to the survey").click()
    page.get_by_label("New invitations").fill("1001")
    press(page, "Cards to print")
    expect(page.get_by_role("alert")).to_contain_text("expected at most 1000 cards at a time")
    assert filled.store.invitations.count("work").issued == 4


def test_a_token_is_made_shown_once_and_revoked(operator, filled):
    page = open_page(operator, filled, "tokens")
    day = (datetime.now(UTC) + timedelta(days=30)).date()
    page.get_by_label("Name").fill("Bert")
    page.get_by_label("Last day").fill(str(day))
    press(page, "Make a token")
    token = page.locator(".secret").text_content()
    known = filled.store.tokens.bearer(token)
    assert (known.role, known.name, known.expires_at.date()) == (
        "analyst",
        "Bert",
        day + timedelta(days=1),
    )
    page.goto(f"{filled.url}/operate/tokens")
    assert token not in page.content()
    page.get_by_role("button", name=f"Revoke {known.id}").click()
    expect(page.get_by_role("cell", name="revoked")).to_be_visible()
    page.get_by_label("Role").select_option("monitor")
    page.get_by_label("Survey").select_option("work")
    press(page, "Make a token")
    expect(page.get_by_role("alert")).to_contain_text("survey: expected none, but for an analyst")
    expect(page.get_by_label("Role")).to_have_value("monitor")


def test_a_survey_is_sealed_to_another_key(operator, filled, sealing_key, key_file):
    new = create_sealing_key(key_file)
    page = open_page(operator, filled, "surveys/work")
    page.get_by_label("Sealed to").select_option(new)
    page.get_by_label("Drop the signature").check()
    press(page, "Set")
    assert filled.store.surveys.get("work").terms.sealing_key == new
    expect(page.get_by_label("Sealed to").locator("option")).to_have_count(3)
