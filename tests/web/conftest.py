"""Browser fixtures, and helpers that answer forms and record traffic."""

import os
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import product
from pathlib import Path
from typing import Any

import axe_playwright_python
import pytest
from halftruth_collector import operations
from halftruth_collector.web.bundle import built_form
from halftruth_shared import Attribute, GammaDiagonal, Schema, Survey
from installed import missing, module, program
from playwright.sync_api import Page, expect, sync_playwright
from playwright.sync_api import TimeoutError as PlaywrightTimeout
from wire import PATIENCE, running

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
expect.set_options(timeout=1_000 * PATIENCE)
LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]

CLIENT = Path(__file__).parents[2] / "client"

#: Folder for screenshots of the pages; none are taken without HALFTRUTH_TEST_PICTURES.
PICTURES = os.environ.get("HALFTRUTH_TEST_PICTURES")
PHONE = {"width": 360, "height": 700}

#: Eight answers make a select box, fewer make radio buttons.
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
    """A page with its recorded requests and messages."""

    page: Page
    requests: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def kept(self) -> str:
        """Return everything that the browser stores for this origin."""
        return self.page.evaluate(
            "JSON.stringify([{...localStorage}, {...sessionStorage},"
            " document.cookie, location.href])"
        )

    def traffic(self) -> str:
        """Return all URLs, headers, bodies and messages, and the stored data of this origin."""
        return "\n".join([*self.requests, *self.said, self.kept()])

    def violations(self, without: Sequence[str] = (), **only: Any) -> list[str]:
        """Return violations of WCAG 2.1 A and AA found by axe-core, as rule and place.

        Parts of the page may be excluded, and the rules be restricted.
        """
        if self.page.evaluate("typeof axe === 'undefined'"):
            self.page.evaluate(AXE)
        run = "([context, options]) => axe.run(context, options).then((done) => done.violations)"
        context = {"include": ["html"], "exclude": list(without)}
        options = {"runOnly": only or {"type": "tag", "values": LEVELS}, "elementRef": False}
        found = self.page.evaluate(run, [context, options | {"resultTypes": ["violations"]}])
        return [f"{v['id']}: {n['target']}" for v in found for n in v["nodes"]]


@pytest.fixture(scope="session")
def node() -> str:
    """Path of Node.js, 20 or later."""
    return program("node")


@pytest.fixture(scope="session")
def playwright():
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="session")
def chromium(playwright):
    """Executable and options of the full Chromium browser."""
    path = program("chromium", "chromium-browser")
    return playwright.chromium, {"executable_path": path, "args": ["--no-sandbox"]}


@pytest.fixture(scope="session")
def browser(playwright):
    """Headless Chromium where installed: it uses a third of the processor time."""
    path = program("chromium-headless-shell", "chromium", "chromium-browser")
    opened = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
    yield opened
    opened.close()


@pytest.fixture
def visit(browser):
    """Open a page in a separate browser context with any options."""
    contexts = []

    def open_page(url=None, **options):
        context = browser.new_context(**options)
        context.set_default_timeout(1_000 * PATIENCE)
        contexts.append(context)
        found = Visit(context.new_page())
        watch(found, found.page)
        if url is not None:
            found.page.goto(url)
        return found

    yield open_page
    for context in contexts:
        context.close()


def anyone_can_use(found, name, without=()):
    """Assert that a page is accessible in light and dark mode, and fits a phone.

    Dark mode changes only colours, and a phone only the layout.
    """
    page = found.page
    assert found.violations(without) == [], name
    page.emulate_media(color_scheme="dark")
    colours = found.violations(without, type="rule", values=["color-contrast"])
    assert colours == [], f"{name} at night"
    page.emulate_media(color_scheme="light")
    fits_a_phone(found, name)


def fits_a_phone(found, name):
    """Assert that a page does not overflow the width of a phone."""
    page, wide = found.page, found.page.viewport_size
    page.set_viewport_size(PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], name
    page.set_viewport_size(wide)
    if PICTURES:
        take_pictures(page, Path(PICTURES) / name)


def take_pictures(page, path):
    """Write a page as it is on a screen and on a phone, by day and by night."""
    before = page.viewport_size
    for scheme, size in product(("light", "dark"), ({"width": 1_280, "height": 900}, PHONE)):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size(size)
        page.screenshot(path=f"{path}-{size['width']}-{scheme}.png", full_page=True)
    page.emulate_media(color_scheme="light")
    page.set_viewport_size(before)


def watch(found, page):
    """Record the requests and messages of a page."""
    page.on(
        "request",
        lambda request: found.requests.append(
            f"{request.method} {request.url} {request.headers} {request.post_data}"
        ),
    )
    page.on("console", lambda message: found.said.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: found.said.append(f"error: {error}"))


@pytest.fixture(scope="session")
def survey():
    """The survey of the live collector."""
    return Survey("work", "Health at work", SCHEMA, GammaDiagonal(19), description="Two minutes.")


@pytest.fixture(scope="session")
def built():
    """The built form, which other tests do without: the modules take longer to load."""
    return built_form() or missing("the built form, which make test makes where there is Node.js,")


@pytest.fixture
def app(store, sealing_app):
    return sealing_app


@dataclass
class Origin:
    """Another origin than the collector's that serves a folder and records its requests."""

    url: str
    folder: Path
    headers: dict[str, str] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)
    bodies: list[bytes] = field(default_factory=list)

    def add(self, body, head=""):
        """Serve a page and return its URL."""
        page = self.folder / "page.html"
        # Browsers reuse their copy of a file that was modified within the same second.
        later = page.stat().st_mtime + 1 if page.exists() else time.time()
        page.write_text(
            '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>News</title>'
            f"{head}</head><body><main><h1>News</h1>{body}</main></body></html>",
            encoding="utf-8",
        )
        os.utime(page, (later, later))
        return f"{self.url}/page.html"


@pytest.fixture
def origin(tmp_path):
    made = Origin("", tmp_path / "origin")
    made.folder.mkdir()

    class Handler(SimpleHTTPRequestHandler):
        def end_headers(self):
            for name, text in made.headers.items():
                self.send_header(name, text)
            super().end_headers()

        def do_POST(self):
            made.bodies.append(self.rfile.read(int(self.headers.get("Content-Length", 0))))
            self.do_GET()

        def log_message(self, *_):
            # Browsers request an icon on their own.
            if "favicon" not in self.path:
                made.asked.add(f"{self.command} {self.path}")

    handler = partial(Handler, directory=str(made.folder))
    with running(ThreadingHTTPServer(("127.0.0.1", 0), handler)) as server:
        made.url = f"http://127.0.0.1:{server.server_port}"
        yield made


# -- actions of respondents, and what the page shows then ------------------------------------------

RECORD = {"smoker": "yes-hush", "drinks": "weekly-hush", "region": REGIONS[2]}


def answer(page, **changed):
    """Answer all questions of a page or form with a mouse, up to the summary panel."""
    record = RECORD | changed
    begin(page)
    page.get_by_label(record["smoker"]).check()
    page.get_by_label(record["drinks"]).check()
    page.get_by_role("button", name="Continue").click()
    page.get_by_label("Where do you live?").select_option(record["region"])
    page.get_by_role("button", name="Continue").click()
    expect(heading(page, "Nothing has been sent yet")).to_be_visible()


def begin(page):
    """Leave the opening screen, if there is one."""
    opened = heading(page, "Before you begin")
    expect(opened.or_(page.locator("fieldset")).first).to_be_visible()
    if opened.count():
        press(page, "Begin")


def heading(page, name):
    return page.get_by_role("heading", name=name)


def press(page, name):
    page.get_by_role("button", name=name).click()


def send(page):
    page.get_by_role("button", name="Send", exact=True).click()


def answer_and_send(page):
    answer(page)
    send(page)
    expect(heading(page, "Thank you")).to_be_visible()


def shown_report(page):
    """Return the report as the receipt shows it."""
    expect(heading(page, "This is what was sent")).to_be_visible()
    *report, learnt = page.locator(".card.sent dd").all_text_contents()
    # Shown on demand: it is easily taken for the probability of the answers.
    expect(page.locator(".often .card")).to_be_hidden()
    assert "with your answers: " in page.locator(".often dd").first.text_content()
    assert "Of 100 people who send the same report, at most " in learnt
    return [text.split("\n")[0] for text in report]


def counted(live, survey="work"):
    """Return each report in the store as answers."""
    stored, counts, _ = live.store.reports.counts(survey)
    schema = stored.survey().schema
    return [
        list(schema.decode(cell).values())
        for cell, count in zip(counts.cells.tolist(), counts.counts.tolist(), strict=True)
        for _ in range(count)
    ]


def posted(found):
    """Return the requests that send reports."""
    posts = [line for line in found.requests if line.startswith("POST")]
    others = ("/invitations/check", "/tickets")
    return [line for line in posts if not line.split()[1].endswith(others)]


def is_not_asked(found, said):
    """Assert that nothing is asked or sent, and that the page gives the reason."""
    expect(found.page.get_by_text(said)).to_be_visible()
    assert found.page.locator("input, select").count() == 0
    assert posted(found) == []


def script(live):
    """Return the script element that a page of another origin needs."""
    return f'<script type="module" src="{live.url}/form/halftruth.js"></script>'


def element(live, survey="work", more='max-gamma="19"'):
    """Return the element of the form."""
    return f'<halftruth-form survey="{survey}" collector="{live.url}" {more}></halftruth-form>'


def listening(visit, **options):
    """Open a blank page that records the events of forms."""
    found = visit(**options)
    found.page.add_init_script(
        "window.heard = [];"
        "for (const name of ['submitted', 'refused'])"
        "  addEventListener(name, (event) => heard.push([name, event.detail]));"
    )
    return found


def heard(page, number=1):
    """Return the events so far, once there are at least `number`."""
    page.wait_for_function("(number) => window.heard.length >= number", arg=number)
    return page.evaluate("window.heard")


def sign_in(found, live, role="operator"):
    """Sign in on the page that asks for a token."""
    found.page.get_by_label("Token").fill(operations.create_token(live.store, role))
    found.page.get_by_label("Token").press("Enter")
    expect(found.page.get_by_label("Token")).to_have_count(0)
    return found


def let_time_pass(page, sign):
    """Advance the clock of a page until a locator is visible."""
    for _ in range(40):
        # Advance in small steps: requests take real time but time out by the page's clock.
        with suppress(PlaywrightTimeout):
            sign.wait_for(timeout=100)
            return
        page.clock.run_for(1_000)
    expect(sign).to_be_visible()


def keep_for_later(page, address):
    """Answer while reports cannot be sent; from then on the test controls the page's clock."""
    page.clock.install()
    page.goto(address)
    answer(page)
    page.route("**/reports", lambda route: route.abort())
    send(page)
    let_time_pass(page, heading(page, "Your report is waiting"))


ATTACH = """
async ([url, id, options]) => {
  const { attach } = await import(url + "/form/halftruth.js");
  const attached = attach(document.getElementById(id), options ?? undefined);
  const outcome = attached.then(() => "attached", (error) => `${error.name}: ${error.message}`);
  // At once: nothing was fetched yet.
  SUBMIT
  return outcome;
}
"""


def attach(page, live, id="own", then="", **options):
    """Attach to a form of the page, run more script, and return the outcome."""
    given = (
        None
        if "none" in options
        else {"survey": "work", "maxGamma": 19, "collector": live.url} | options
    )
    return page.evaluate(ATTACH.replace("SUBMIT", then), [live.url, id, given])


def bundle_surveyjs(folder, entry):
    """Bundle a page's script with SurveyJS and the client."""
    modules = module("survey-core").parent
    options = ["--bundle", "--format=esm", f"--outfile={folder / 'app.js'}", "--log-level=warning"]
    client = CLIENT / "halftruth_client/js/surveyjs/index.js"
    subprocess.run(
        [modules / ".bin/esbuild", entry, *options, f"--alias:halftruth-client/surveyjs={client}"],
        cwd=folder,
        env={**os.environ, "NODE_PATH": str(modules)},
        check=True,
    )


@pytest.fixture(scope="session")
def scripted(tmp_path_factory):
    """The script of a page that shows models by SurveyJS."""
    folder = tmp_path_factory.mktemp("surveyjs")
    bundle_surveyjs(folder, Path(__file__).with_name("surveyjs.mjs"))
    return (folder / "app.js").read_text("utf-8")
