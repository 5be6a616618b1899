"""What an analyst sees in a real browser."""

import csv
from uuid import UUID

import numpy as np
import pytest
from halftruth_shared.messages import Report
from playwright.sync_api import expect

from .conftest import SCREENSHOTS

VIEWS = ("itemsets", "rules", "table", "measures", "associations")


@pytest.fixture
def filled(live, survey):
    """A collector with 3 000 reports of people who differ."""
    rng = np.random.default_rng(4)
    smoker = rng.integers(0, 2, 3_000)
    drinks = np.minimum(smoker + rng.integers(0, 2, 3_000), 2)
    records = np.stack([smoker, drinks, rng.integers(0, 8, 3_000)], axis=1)
    reports = survey.mechanism.perturb_many(survey.schema, records, rng).tolist()
    batch = [Report(id=UUID(int=i), values=values) for i, values in enumerate(reports)]
    live.store.reports.add("work", survey.digest, batch)
    return live


@pytest.fixture
def analyst(filled, visit):
    """An analyst who signed in."""
    found = visit(f"{filled.url}/results/work")
    page = found.page
    page.get_by_label("Token").fill(filled.store.tokens.create("analyst"))
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="3\u202f000 reports")).to_be_visible()
    return found


def test_a_wrong_token_shows_nothing(filled, visit):
    page = visit(f"{filled.url}/results/work").page
    page.get_by_label("Token").fill("ht_wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("not known")
    page.goto(f"{filled.url}/results/work/itemsets")
    expect(page.get_by_label("Token")).to_be_visible()


@pytest.mark.parametrize("view", VIEWS)
def test_everyone_can_read_every_view(analyst, filled, view):
    page = analyst.page
    name = {"table": "Tables"}.get(view, view.capitalize())
    page.get_by_role("link", name=name, exact=True).click()
    expect(page.get_by_role("heading", name=name, exact=True)).to_be_visible()
    assert page.locator("tbody tr").count() > 1
    if view != "rules":
        expect(page.get_by_role("img").first).to_be_visible()
    assert analyst.violations() == []
    assert [line for line in analyst.said if "401" not in line and "Password" not in line] == []
    SCREENSHOTS.mkdir(exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"results-{view}.png", full_page=True)


def test_everyone_can_read_the_overview(analyst):
    assert analyst.violations() == []
    expect(analyst.page.get_by_role("cell", name="3000")).to_be_visible()


def test_scripts_cannot_read_the_token(analyst):
    assert analyst.page.evaluate("document.cookie") == ""


def test_filters_are_kept_in_the_address_and_in_the_file(analyst, filled, tmp_path):
    page = analyst.page
    page.get_by_role("link", name="Itemsets").click()
    page.get_by_label("Least support").fill("0.1")
    page.get_by_label("Only with").select_option("smoker")
    page.get_by_label("Only length").fill("1")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_role("cell", name="smoker=yes-hush")).to_be_visible()
    rows = page.locator("tbody tr").count()
    with page.expect_download() as waited:
        page.get_by_role("link", name="CSV").click()
    file = tmp_path / "itemsets.csv"
    waited.value.save_as(file)
    found = list(csv.DictReader(file.read_text(encoding="utf-8").splitlines()))
    assert len(found) == rows
    assert all("smoker=" in row["itemset"] and row["length"] == "1" for row in found)
    page.get_by_role("link", name="Link to this view").click()
    assert page.locator("tbody tr").count() == rows


def test_who_signs_out_sees_nothing_any_more(analyst, filled):
    page = analyst.page
    page.get_by_role("button", name="Sign out").click()
    page.goto(f"{filled.url}/results/work")
    expect(page.get_by_label("Token")).to_be_visible()
