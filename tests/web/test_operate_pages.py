"""The operator's pages in a real browser, with and without scripts."""

import csv
from uuid import UUID

import pytest
from halftruth_collector import operations
from halftruth_shared.protocol.reports import Report
from halftruth_shared.protocol.signing import OperatorKey, sign
from halftruth_shared.protocol.terms import Terms
from playwright.sync_api import expect

from .conftest import answer_and_send, anyone_can_use, counted, press, sign_in

PAGES = ("", "surveys/work", "tokens")


@pytest.fixture
def filled(live, survey):
    """A collector with three reports, an unused invitation, a named token, and a key."""
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
    """A signed-in operator without scripts: only the design page has any."""
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


def test_invitation_links_from_the_csv_file_admit_reports(operator, filled, visit, tmp_path):
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
    # No requested URL contains an invitation.
    assert not any(rows[1]["invitation"] in line for line in operator.requests)
    page.reload()
    expect(page.get_by_text("3 issued, 1 used, 0 withdrawn, 2 unused")).to_be_visible()
    page.get_by_label("Type work to withdraw all that are unused").fill("work")
    press(page, "Withdraw all unused invitations")
    expect(page.get_by_text("3 issued, 1 used, 2 withdrawn, 0 unused")).to_be_visible()


def test_a_survey_with_reports_is_closed_after_typing_its_id(operator, filled):
    page = open_page(operator, filled, "surveys/work")
    final = page.get_by_role("button", name="Close the survey for good")
    colours = "e => getComputedStyle(e).backgroundColor"
    assert final.evaluate(colours) != page.get_by_role("button", name="Unlist").evaluate(colours)
    typed = page.get_by_label("Type work to close it")
    # A browser sends no form without it.
    final.click()
    assert typed.evaluate("e => e.validity.valueMissing")
    typed.fill("Work")
    press(page, "Close the survey for good")
    expect(page.get_by_role("alert")).to_contain_text(
        "confirm: expected work, since with 3 reports"
    )
    assert filled.store.surveys.get("work").status == "open"
    page.get_by_label("Type work to close it").fill(" work ")
    press(page, "Close the survey for good")
    expect(page.get_by_text("It has reports, so its end is final.")).to_be_visible()
    assert filled.store.surveys.get("work").status == "closed"
