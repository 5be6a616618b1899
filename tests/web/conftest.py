"""A browser, and what it sends and says."""

import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import axe_playwright_python
import pytest
from halftruth_collector.api import create_app
from halftruth_collector.config import Config
from halftruth_shared import Attribute, GammaDiagonal, RandomizedResponse, Schema, Survey
from playwright.sync_api import Page, sync_playwright

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]

#: Where pictures of the pages go, for looking at.
SCREENSHOTS = Path(__file__).parent / "screenshots"

#: Eight regions are asked by a list to choose from, the others by buttons.
REGIONS = [
    f"{name}-hush" for name in ("north", "south", "east", "west", "mid", "isle", "far", "off")
]
SCHEMA = Schema(
    [
        Attribute("smoker", ["no-hush", "yes-hush"], label="Do you smoke?", page="Habits"),
        Attribute(
            "drinks",
            ["never-hush", "weekly-hush", "daily-hush"],
            label="How often do you drink?",
            help="At work, too.",
            page="Habits",
        ),
        Attribute("region", REGIONS, label="Where do you live?", page="About you"),
    ]
)


@dataclass
class Visit:
    """A page with everything that it sent and said."""

    page: Page
    requests: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def traffic(self) -> str:
        """Every URL, header and body, and all that the browser keeps of this origin."""
        kept = self.page.evaluate(
            "JSON.stringify([{...localStorage}, {...sessionStorage},"
            " document.cookie, location.href])"
        )
        return "\n".join([*self.requests, *self.said, kept])

    def violations(self) -> list[str]:
        """What axe-core finds against WCAG 2.1 A and AA, as rule and place."""
        self.page.evaluate(AXE)
        found = self.page.evaluate(
            "(levels) => axe.run(document, {runOnly: {type: 'tag', values: levels}})", LEVELS
        )
        return [f"{v['id']}: {n['target']}" for v in found["violations"] for n in v["nodes"]]


@pytest.fixture(scope="session")
def browser():
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        reason = "no Chromium on the path: the pages are not tried in a browser"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def visit(browser):
    """Open a page in a browser of its own, with any options of a context."""
    contexts = []

    def open_page(url=None, **options):
        context = browser.new_context(**options)
        context.set_default_timeout(8_000)
        contexts.append(context)
        found = Visit(context.new_page())
        watch(found, found.page)
        if url is not None:
            found.page.goto(url)
        return found

    yield open_page
    for context in contexts:
        context.close()


def watch(found, page):
    """Write down what a page sends and says."""
    page.on(
        "request",
        lambda request: found.requests.append(
            f"{request.method} {request.url} {request.headers} {request.post_data}"
        ),
    )
    page.on("console", lambda message: found.said.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: found.said.append(f"error: {error}"))


@pytest.fixture
def survey():
    """The survey that the live collector asks."""
    return Survey("work", "Health at work", SCHEMA, GammaDiagonal(19), description="Two minutes.")


@pytest.fixture
def app(database, store):
    made = create_app(Config(database=database))
    yield made
    made.extensions["halftruth"].store.close()


@pytest.fixture
def weak_survey(store):
    """A survey that protects less than the forms ask for."""
    keep = dict.fromkeys(SCHEMA.names, "0.9")
    made = Survey("weak", "Weak", SCHEMA, RandomizedResponse(keep))
    store.surveys.publish(made)
    return made
