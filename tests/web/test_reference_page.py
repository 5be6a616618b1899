"""The description of the HTTP interface, read in a browser."""

import pytest
from halftruth_collector.api.openapi.table import OPERATIONS
from playwright.sync_api import expect

from .conftest import SCREENSHOTS

NARROW = {"width": 360, "height": 740}


@pytest.mark.parametrize(("scheme", "width"), [("light", 360), ("dark", 1280)])
def test_everyone_can_read_the_description(live, visit, scheme, width):
    viewport = {"width": width, "height": 800}
    found = visit(f"{live.url}/docs", color_scheme=scheme, viewport=viewport)
    page = found.page
    expect(page.get_by_role("heading", name="HTTP interface")).to_be_visible()
    SCREENSHOTS.mkdir(exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"reference-{scheme}-{width}.png")
    for summary in page.locator("summary").all()[:4]:
        summary.click()
    assert found.violations() == []
    assert found.said == []
    page.locator("#addReports").scroll_into_view_if_needed()
    page.screenshot(path=SCREENSHOTS / f"reference-{scheme}-{width}-call.png")


def test_a_narrow_page_scrolls_in_one_direction(live, visit):
    page = visit(f"{live.url}/docs", viewport=NARROW).page
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]


def test_every_call_is_found_from_the_list(live, visit):
    page = visit(f"{live.url}/docs").page
    listed = page.get_by_role("navigation", name="Calls")
    assert listed.get_by_role("link").count() == len(OPERATIONS)
    listed.get_by_role("link", name="Frequent itemsets").click()
    expect(page.get_by_role("heading", name="Frequent itemsets")).to_be_in_viewport()
    parameters = page.get_by_role("region", name="Parameters of getItemsets")
    expect(parameters.get_by_role("row", name="min_support")).to_contain_text("required")
    page.locator("#getItemsets").get_by_role("link", name="ItemsetsResult").click()
    expect(page.get_by_role("heading", name="ItemsetsResult", exact=True)).to_be_in_viewport()


def test_examples_open_from_the_keyboard(live, visit):
    page = visit(f"{live.url}/docs").page
    example = page.get_by_label("Receipt, example of the answer of addReports")
    expect(example).to_be_hidden()
    page.locator("#addReports summary").last.focus()
    page.keyboard.press("Enter")
    expect(example).to_contain_text('"accepted": 1')
