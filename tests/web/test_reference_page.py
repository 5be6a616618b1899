"""The description of the HTTP interface, read in a browser."""

from halftruth_collector.web.openapi.operations import OPERATIONS
from playwright.sync_api import expect

from .conftest import SCREENSHOTS


def test_everyone_can_read_the_description(live, visit):
    found = visit(f"{live.url}/docs", viewport={"width": 360, "height": 800})
    page = found.page
    expect(page.get_by_role("heading", name="HTTP interface")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    for summary in page.locator("summary").all()[:4]:
        summary.click()
    page.screenshot(path=SCREENSHOTS / "reference-light-360.png")
    page.locator("#addReports").scroll_into_view_if_needed()
    page.screenshot(path=SCREENSHOTS / "reference-light-360-call.png")
    # Contrast takes long, and is that of the first calls and messages on all others.
    assert found.violations(without="color-contrast") == []
    page.evaluate(
        "document.querySelectorAll('article:nth-of-type(n+3)').forEach((a) => a.remove())"
    )
    assert found.violations() == []
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 1280, "height": 800})
    page.screenshot(path=SCREENSHOTS / "reference-dark-1280.png")
    assert found.violations() == []
    assert found.said == []


def test_every_call_is_found_from_the_list(live, visit):
    page = visit(f"{live.url}/docs").page
    listed = page.get_by_role("navigation", name="Calls")
    assert listed.get_by_role("link").count() == len(OPERATIONS)
    listed.get_by_role("link", name="Itemsets", exact=True).click()
    expect(page.get_by_role("heading", name="Itemsets", exact=True)).to_be_in_viewport()
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
