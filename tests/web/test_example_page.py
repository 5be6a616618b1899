"""The example page of the documentation, on an origin of its own."""

from pathlib import Path

import pytest
from halftruth_shared import Survey
from playwright.sync_api import expect

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


@pytest.fixture
def example(live, origin):
    """The example with the address of this collector in it, served from another port."""
    for file in EXAMPLES.iterdir():
        text = file.read_text(encoding="utf-8").replace("http://127.0.0.1:8000", live.url)
        (origin.folder / file.name).write_text(text, encoding="utf-8")
    return f"{origin.url}/embedded.html"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_newspaper_asks_its_readers(live, survey, example, visit, scheme):
    health = Survey("health", "Health", survey.schema, survey.mechanism)
    live.store.surveys.publish(health)
    found = visit(example, color_scheme=scheme)
    page = found.page
    page.get_by_role("button", name="Begin").click()
    page.get_by_label("yes-hush").check()
    page.get_by_label("never-hush").check()
    assert found.violations() == []
    page.get_by_role("button", name="Continue").click()
    page.get_by_label("Where do you live?").select_option(index=3)
    page.get_by_role("button", name="Continue").click()
    assert found.violations() == []
    page.get_by_role("button", name="Send a report").click()
    expect(page.get_by_text("Thank you for taking part!")).to_be_visible()
    assert live.store.reports.counts("health")[1].reports == 1
    assert "hush" not in found.traffic()
