"""The analyst's pages in a real browser."""

import io
from shutil import copyfile
from uuid import UUID

import numpy as np
import pytest
from common_fixtures import LiveCollector
from halftruth_collector import operations
from halftruth_collector.analyses import ANALYSES, identified
from halftruth_collector.ops.settings import Config
from halftruth_collector.web import create_app
from halftruth_shared.analyses.reading import fields
from halftruth_shared.protocol.reports import Report
from PIL import Image
from playwright.sync_api import expect
from wire import listening

from .conftest import PHONE, SCHEMA, anyone_can_use, sign_in

#: The numeric values of cells.
VALUES = "cells => cells.flatMap(({ dataset }) => 'value' in dataset ? Number(dataset.value) : [])"


@pytest.fixture(scope="module")
def filled(sqlite_template, tmp_path_factory, survey):
    """A collector with 3 000 reports of an uneven population.

    All tests only read it.
    """
    database = copyfile(sqlite_template, tmp_path_factory.mktemp("results") / "filled.db")
    app = create_app(Config(database=f"sqlite:///{database}", rate_limit=None, min_reports=1))
    store = app.extensions["halftruth"].store
    operations.publish_survey(store, survey)
    rng = np.random.default_rng(4)
    smoker = rng.integers(0, 2, 3_000)
    drinks = np.minimum(smoker + rng.integers(0, 2, 3_000), 2)
    records = np.stack([smoker, drinks, rng.integers(0, 8, 3_000)], axis=1)
    reports = survey.perturbation.reports(records, rng).tolist()
    batch = [Report(id=UUID(int=i), values=values) for i, values in enumerate(reports)]
    store.reports.add("work", survey.digest, batch)
    with listening(app) as url:
        yield LiveCollector(url, app, store)
    store.close()


@pytest.fixture
def analyst(filled, visit):
    """A signed-in analyst."""
    return sign_in(visit(f"{filled.url}/results/work"), filled, "analyst")


#: Analyses whose pages together have every kind of field, one without fields and one without a
#: chart. Nightly tests cover all others.
KINDS = ("overview", "weighted", "comparison", "distribution", "rules", "counts")


def test_default_pages_cover_every_kind_of_field():
    def kinds(names):
        return {field.kind for name in names for field in fields(ANALYSES[name].query).values()}

    assert kinds(KINDS) == kinds(ANALYSES)
    assert {ANALYSES[name].pictured for name in KINDS} == {True, False}


@pytest.mark.parametrize(
    "looked_at",
    [KINDS, pytest.param(tuple(ANALYSES), marks=pytest.mark.nightly)],
    ids=["each kind", "all"],
)
def test_every_analysis_is_accessible_and_fits_a_phone(analyst, filled, survey, looked_at):
    page = analyst.page
    # All pages share the menu, and further rows of a table are like its first ones.
    without = ["nav[aria-label=Results]", "tbody tr:nth-child(n+8)"]
    offered = [one.name for one in identified(survey) if one.name in looked_at]
    for place, name in enumerate(offered):
        analysis = ANALYSES[name]
        page.goto(f"{filled.url}/results/work/{name}")
        expect(
            page.get_by_role("heading", level=2, name=analysis.title, exact=True)
        ).to_be_visible()
        assert page.locator("tbody tr").count() > 0 or analysis.placeholder
        assert page.locator(".answer").text_content(timeout=5_000).endswith("."), name
        if analysis.pictured:
            expect(page.locator("figure, .questions").first).to_be_visible()
        anyone_can_use(analyst, f"results-{name}", without if place > 0 else ())
    assert page.evaluate("document.cookie") == ""
    assert [line for line in analyst.said if "401" not in line and "Password" not in line] == []


#: Elements that overflow their box, unless it scrolls.
STICKING_OUT = """() => {
  const style = (each) => getComputedStyle(each);
  const named = (each) => `${each.tagName} ${each.className}: ${each.textContent.slice(0, 30)}`;
  const every = [...document.querySelectorAll("main *:not(svg *, option, optgroup, .unseen)")];
  return every.filter((each) => {
    const box = each.getBoundingClientRect();
    let around = each.parentElement;
    while (style(around).display === "inline") around = around.parentElement;
    const edge = around.getBoundingClientRect();
    const negative = style(each).marginLeft.startsWith("-");
    const beside = box.width && (box.right > edge.right + 1.5 || box.left < edge.left - 1.5);
    const wide = each.scrollWidth > each.clientWidth + 1 && style(each).display !== "inline";
    const scrolls = style(each).overflowX === "auto" || each.closest(".scroll, select");
    // On a phone, charts reach to the edges of the screen.
    const holdsChart = each.querySelector(":scope .chart");
    return each.checkVisibility() && !scrolls && ((beside && !negative) || (wide && !holdsChart));
  }).map(named);
}"""


@pytest.mark.parametrize(
    "names",
    [KINDS, pytest.param(tuple(ANALYSES), marks=pytest.mark.nightly)],
    ids=["each kind", "all"],
)
def test_nothing_overflows_its_box_at_any_width(analyst, filled, names):
    page = analyst.page
    for name in (*names, "export"):
        page.goto(f"{filled.url}/results/work/{name}")
        page.evaluate(
            "document.querySelectorAll('main details').forEach((each) => { each.open = true; })"
        )
        for width in (390, 1280, 1600):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate(STICKING_OUT) == [], (name, width)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (name, width)


def test_the_association_map_links_to_cross_tabulations(analyst, filled):
    page = analyst.page
    page.goto(f"{filled.url}/results/work/measures?confidence=0.9")
    expect(page.get_by_role("figure", name="Associations of all pairs")).to_be_visible()
    table = page.get_by_role("region", name="Measures of association as a table")
    pairs = table.get_by_role("link")
    expect(pairs).to_have_count(3)
    pairs.first.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Cross-tabulation")).to_be_visible()
    assert "confidence=0.9" in page.url


def test_choosing_a_question_lists_its_answers(analyst, filled):
    page = analyst.page
    page.goto(f"{filled.url}/results/work/comparison")
    question = page.get_by_label("Question", exact=True)
    question.select_option("How often do you drink? (drinks)")
    answer = page.get_by_label("Answer", exact=True)
    assert answer.locator("option").all_text_contents() == list(SCHEMA.attributes[1].categories)
    answer.select_option("drinks=daily-hush")
    page.get_by_label("Groups", exact=True).select_option("smoker")
    page.get_by_role("button", name="Show").click()
    expect(page.locator(".answer")).to_contain_text("daily-hush")
    assert "answer=drinks%3Ddaily-hush" in page.url
    expect(question).to_have_value("How often do you drink? (drinks)")


def test_the_menu_is_collapsed_on_a_phone_and_open_on_wide_screens(filled, visit):
    found = visit(f"{filled.url}/results/work", java_script_enabled=False, viewport=PHONE)
    page = sign_in(found, filled, "analyst").page
    menu, link = page.get_by_role("navigation", name="Results"), page.get_by_role("link")
    explore = link.filter(has_text="Explore")
    expect(explore).not_to_be_visible()
    assert menu.bounding_box()["height"] < 60
    menu.get_by_text("Menu").focus()
    page.keyboard.press("Enter")
    explore.click()
    expect(page.get_by_role("heading", name="Itemsets")).to_be_visible()
    expect(explore).not_to_be_visible()
    page.set_viewport_size({"width": 1280, "height": 740})
    expect(explore).to_be_visible()


@pytest.mark.parametrize(("scheme", "ground"), [("light", 255), ("dark", 25)])
def test_charts_follow_the_colour_scheme_and_files_are_light(filled, visit, scheme, ground):
    found = visit(f"{filled.url}/results/work/crosstab", color_scheme=scheme)
    page = sign_in(found, filled, "analyst").page
    drawn = Image.open(io.BytesIO(page.locator("figure.chart").first.screenshot())).convert("L")
    assert drawn.getpixel((20, 5)) == pytest.approx(ground, abs=3)
    with page.expect_download() as saved:
        page.get_by_role("link", name="PNG").click()
    assert Image.open(saved.value.path()).convert("L").getpixel((2, 2)) == 255


def test_pointing_at_a_row_of_a_chart_or_walking_to_it_shows_all_about_it(analyst, filled):
    page = analyst.page
    page.goto(f"{filled.url}/results/work/crosstab")
    rows = page.locator(".chart .mark")
    expect(rows.first.locator(".detail")).to_be_hidden()
    rows.nth(1).hover()
    expect(rows.nth(1).locator(".detail")).to_be_visible()
    expect(rows.nth(1).locator(".detail")).to_contain_text("3\u202f000 reports")
    rows.first.focus()
    expect(rows.first.locator(".detail")).to_be_visible()
    for key, place in (("ArrowDown", 1), ("ArrowDown", 2), ("ArrowUp", 1), ("Home", 0)):
        page.keyboard.press(key)
        expect(rows.nth(place)).to_be_focused()
    # One tab leaves the chart.
    assert page.locator(".chart [tabindex='0']").count() == 1


def test_each_question_of_the_overview_is_one_line_that_unfolds(analyst):
    page = analyst.page
    lines = page.locator(".chart details.question")
    expect(lines).to_have_count(3)
    expect(lines.first.locator(".mark")).to_have_count(2)
    expect(lines.first.locator(".mark").first).to_be_hidden()
    page.get_by_text("Do you smoke?").first.click()
    expect(lines.first.locator(".mark").first).to_be_visible()


def test_letters_and_intervals_of_charts_are_readable_on_a_phone(analyst, filled):
    page = analyst.page
    page.set_viewport_size(PHONE)
    for name in ("overview", "crosstab", "comparison", "itemsets?min_support=0.05"):
        page.goto(f"{filled.url}/results/work/{name}")
        page.evaluate("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
        texts = page.locator(".chart :is(.name, .words, .axis text, figcaption)")
        sizes = texts.evaluate_all(
            "(all) => all.map((e) => parseFloat(getComputedStyle(e).fontSize))"
        )
        assert min(sizes) >= 13, name
        for box in [each.bounding_box() for each in page.locator(".mark .words").all()]:
            assert box["x"] >= 0, name
            assert box["x"] + box["width"] <= PHONE["width"], name


def test_on_a_phone_an_interval_is_in_the_cell_of_its_estimate(analyst, filled):
    page = analyst.page
    page.goto(f"{filled.url}/results/work/overview")
    share, interval = (page.locator("#table tbody tr td").nth(place) for place in (2, 3))
    after = "each => getComputedStyle(each.querySelector('span'), '::after').content"
    expect(interval).to_be_visible()
    assert share.evaluate(after) == "none"
    words = interval.text_content()
    page.set_viewport_size(PHONE)
    expect(interval).not_to_be_visible()
    assert share.evaluate(after).replace('"', "") == f" ({words})"


def test_the_list_of_surveys_names_the_findings_of_each(analyst, filled):
    page = analyst.page
    page.goto(f"{filled.url}/results/")
    expect(page.get_by_text("pairs of questions")).to_be_visible()
    expect(page.get_by_text("The typical margin of error of a share is ±")).to_be_visible()
    anyone_can_use(analyst, "results-list")


def test_the_survey_page_shows_counts_and_links_to_analyses(analyst, filled):
    page = analyst.page
    expect(page.get_by_role("cell", name="3\u202f000")).to_be_visible()
    expect(page.get_by_role("figure", name="Answers")).to_be_visible()
    table = page.get_by_role("region", name="Overview as a table")
    expect(table.get_by_role("cell", name="yes-hush")).to_be_visible()
    table.get_by_role("link", name="Do you smoke?").click()
    expect(page.get_by_role("heading", name="Comparison of groups")).to_be_visible()
    expect(page.get_by_label("Question", exact=True)).to_have_value("Do you smoke? (smoker)")
    page.get_by_role("link", name="All surveys").click()
    page.get_by_role("link", name="Health at work").first.click()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()


def test_tables_are_sorted_and_searched_in_place(analyst, filled):
    page = analyst.page
    page.goto(f"{filled.url}/results/work/itemsets?min_support=0.01&max_length=3")
    rows, status = page.locator("tbody tr"), page.get_by_role("status")
    every = rows.count()
    expect(status).to_have_text(f"{every} of {every} rows")
    support = page.get_by_role("columnheader", name="support")
    for direction in ("descending", "ascending"):
        support.get_by_role("button").click()
        expect(support).to_have_attribute("aria-sort", direction)
        values = page.locator("tbody td:nth-child(2)").evaluate_all(VALUES)
        assert len(set(values)) > 10
        assert values == sorted(values, reverse=direction == "descending")
    page.get_by_label("Search in the table").fill("DAILY-hush smoke")
    found = rows.all_text_contents()
    assert 0 < len(found) < every
    assert all("daily-hush" in row for row in found)
    expect(status).to_have_text(f"{len(found)} of {every} rows")
    assert analyst.violations() == []
    page.get_by_label("Search in the table").fill("nobody")
    expect(status).to_have_text(f"No row of {every} holds this")
    page.get_by_label("Search in the table").fill("")
    expect(rows).to_have_count(every)


def test_without_scripts_a_table_has_all_rows_and_no_search(filled, visit):
    address = f"{filled.url}/results/work/itemsets?min_support=0.01&max_length=3"
    page = sign_in(visit(address, java_script_enabled=False), filled, "analyst").page
    expect(page.get_by_label("Search in the table")).not_to_be_visible()
    expect(page.get_by_role("columnheader", name="support")).to_be_visible()
    assert page.locator("tbody tr").count() > 25


def test_the_export_page_is_accessible_and_names_its_files(analyst, filled):
    page = analyst.page
    page.goto(f"{filled.url}/results/work/table?attributes=smoker,drinks")
    page.get_by_role("link", name="Export").click()
    expect(page.get_by_text("combination of answers to")).to_contain_text("“Do you smoke?”")
    anyone_can_use(analyst, "export")
    with page.expect_download() as downloaded:
        page.get_by_role("link", name="CSV of the matrix").click()
    assert downloaded.value.suggested_filename == "work-table.covariance.csv"


def test_the_report_is_accessible_and_fits_a_phone_and_paper(analyst, filled):
    page = analyst.page
    page.get_by_role("link", name="Export").click()
    page.get_by_role("link", name="Report to print").click()
    expect(page.get_by_role("heading", name="Findings")).to_be_visible()
    expect(page.get_by_role("figure", name="Do you smoke?")).to_be_visible()
    anyone_can_use(analyst, "report")
    page.emulate_media(media="print")
    expect(page.get_by_role("navigation")).to_be_hidden()
