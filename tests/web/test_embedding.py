"""The form on pages of other origins: what it tells them, and what they may fetch."""

import re
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from halftruth_shared import GammaDiagonal, Survey
from playwright.sync_api import expect

from .conftest import REGIONS, SCHEMA

RECORD = {"smoker": "yes-hush", "drinks": "weekly-hush", "region": REGIONS[2]}


@dataclass
class Elsewhere:
    """An origin that is not the collector's, with pages made for a test."""

    url: str
    pages: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def add(self, body, head="", path="/page"):
        """Serve a page; the value is its address."""
        self.pages[path] = (
            '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>News</title>'
            f"{head}</head><body><main><h1>News</h1>{body}</main></body></html>"
        )
        return self.url + path


@pytest.fixture
def elsewhere():
    made = Elsewhere("")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            made.asked.append(f"{self.command} {self.path}")
            page = made.pages.get(self.path.partition("?")[0])
            self.send_response(404 if page is None else 200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            for name, text in made.headers.items():
                self.send_header(name, text)
            self.end_headers()
            self.wfile.write((page or "").encode())

        def do_POST(self):
            self.do_GET()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield made
    server.shutdown()
    thread.join()
    server.server_close()


def script(live):
    return f'<script type="module" src="{live.url}/js/form/index.js"></script>'


def element(live, survey="work", more='max-gamma="19"'):
    return f'<halftruth-form survey="{survey}" collector="{live.url}" {more}></halftruth-form>'


def listening(visit, **options):
    """A page that writes down the events of forms; without an address yet."""
    found = visit(**options)
    found.page.add_init_script(
        "window.heard = [];"
        "for (const name of ['submitted', 'refused'])"
        "  addEventListener(name, (event) => heard.push([name, event.detail]));"
    )
    return found


def heard(page, number=1):
    """The events so far, once there are so many."""
    page.wait_for_function("(number) => window.heard.length >= number", arg=number)
    return page.evaluate("window.heard")


def answer(page):
    page.get_by_label(RECORD["smoker"]).check()
    page.get_by_label(RECORD["drinks"]).check()
    page.get_by_role("button", name="Continue").click()
    page.get_by_label("Where do you live?").select_option(RECORD["region"])
    page.get_by_role("button", name="Continue").click()


def send(page):
    page.get_by_role("button", name="Send this report").click()


def counted(live, survey="work"):
    """How many reports the store holds of each cell that has any, in words."""
    stored, counts, _ = live.store.reports.counts(survey)
    schema = stored.survey().schema
    return [
        (list(schema.decode(cell).values()), number)
        for cell, number in zip(counts.cells.tolist(), counts.counts.tolist(), strict=True)
    ]


def test_a_form_on_another_origin_sends_one_report_and_tells_its_page(live, elsewhere, visit):
    found = listening(visit)
    page = found.page
    page.goto(elsewhere.add(element(live), script(live)))
    answer(page)
    report = page.locator(".card.sent dd").all_text_contents()
    send(page)
    expect(page.get_by_role("heading", name="Thank you")).to_be_focused()
    ((name, detail),) = heard(page)
    assert name == "submitted"
    assert detail.keys() == {"id", "status"}
    assert detail["status"] == "accepted"
    assert counted(live) == [(report, 1)]
    # The page loaded itself and perhaps an icon; its own server never saw anything else.
    assert {line for line in elsewhere.asked if "favicon" not in line} == {"GET /page"}
    assert "hush" not in found.traffic() + str(heard(page))


def test_forms_below_their_floor_or_without_one_tell_their_page_and_send_nothing(
    live, elsewhere, visit
):
    floors = ['max-gamma="18.999"', 'max-gamma="1"', 'max-gamma="x"', ""]
    found = listening(visit)
    page = found.page
    page.goto(elsewhere.add("".join(element(live, more=more) for more in floors), script(live)))
    told = heard(page, len(floors))
    assert [name for name, _ in told] == ["refused"] * len(floors)
    for _, detail in told:
        assert re.search("amplification|max-?gamma", detail["message"], re.IGNORECASE)
    expect(page.get_by_role("heading", name="This survey is not asked")).to_have_count(len(floors))
    assert page.locator("halftruth-form input, halftruth-form select").count() == 0
    assert not any(line.startswith("POST") for line in found.requests)


def test_two_forms_of_one_page_are_two_surveys(live, store, elsewhere, visit):
    store.surveys.publish(Survey("other", "Other", SCHEMA, GammaDiagonal(7)))
    page = visit(elsewhere.add(element(live) + element(live, "other"), script(live))).page
    first, second = page.locator("halftruth-form").all()
    for form in (first, second):
        form.get_by_label(RECORD["smoker"]).check()
        form.get_by_label(RECORD["drinks"]).check()
        form.get_by_role("button", name="Continue").click()
        form.get_by_label("Where do you live?").select_option(RECORD["region"])
        form.get_by_role("button", name="Continue").click()
    reports = [form.locator(".card.sent dd").all_text_contents() for form in (first, second)]
    for form in (first, second):
        form.get_by_role("button", name="Send this report").click()
        expect(form.get_by_role("heading", name="Thank you")).to_be_visible()
    assert [counted(live), counted(live, "other")] == [[(report, 1)] for report in reports]


def test_a_page_with_a_strict_policy_has_only_to_name_the_collector(live, elsewhere, visit):
    elsewhere.headers["Content-Security-Policy"] = (
        f"default-src 'none'; script-src {live.url}; connect-src {live.url}; form-action 'none';"
        " require-trusted-types-for 'script'"
    )
    found = visit(elsewhere.add(element(live), script(live)))
    answer(found.page)
    send(found.page)
    expect(found.page.get_by_role("heading", name="Thank you")).to_be_visible()
    assert [line for line in found.said if "favicon" not in line] == []


READABLE = {
    "/v1/surveys/work": True,
    "/v1/surveys": False,
    "/v1/surveys/work/counts": False,
    "/v1/surveys/work/itemsets": False,
    "/v1/surveys/work/table?attributes=smoker": False,
    "/results/work": False,
    "/results/work/itemsets.json": False,
    "/s/work": False,
    "/healthz": False,
}

READ = """
async ([addresses, token]) => {
  const ways = [{}, { credentials: "include" }, { headers: { Authorization: "Bearer " + token } }];
  const read = (url, way) => fetch(url, way).then((r) => r.text()).then(() => true, () => false);
  return Promise.all(addresses.map((url) => Promise.all(ways.map((way) => read(url, way)))));
}
"""


def test_scripts_of_other_origins_read_a_survey_and_no_result(live, elsewhere, visit):
    page = visit(f"{live.url}/results/work").page
    token = live.store.tokens.create("analyst")
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="0 reports")).to_be_visible()
    page.goto(elsewhere.add("<p>nothing</p>"))
    # Plainly, with the cookie of an analyst who signed in here, and with a token that got out.
    outcomes = page.evaluate(READ, [[live.url + path for path in READABLE], token])
    # What answers everyone answers no request with credentials.
    expected = {path: [readable, False, False] for path, readable in READABLE.items()}
    assert dict(zip(READABLE, outcomes, strict=True)) == expected


def test_reports_of_other_origins_are_asked_for_by_a_preflight(live, elsewhere, visit):
    page = visit(elsewhere.add("<p>nothing</p>")).page
    # The collector takes no report from what a form without scripts could post.
    status = page.evaluate(
        """(url) => fetch(url, {method: "POST", body: '{"reports":[]}',
             headers: {"Content-Type": "text/plain"}}).then((r) => r.status)""",
        f"{live.url}/v1/surveys/work/reports",
    )
    assert status in (400, 409, 415, 422)
    assert counted(live) == []


THEMES = {
    "accent": (".main", "background-color"),
    "on-accent": (".main", "color"),
    "text": ("h2", "color"),
    "muted": (".help", "color"),
    "line": (".option", "border-top-color"),
    "surface": (".option", "background-color"),
}


def test_a_page_gives_the_form_its_colours(live, elsewhere, visit):
    colours = {name: f"rgb({10 + i}, {20 + i}, {30 + i})" for i, name in enumerate(THEMES)}
    style = "".join(f"--halftruth-{name}: {colour};" for name, colour in colours.items())
    head = f"<style>halftruth-form {{{style} --halftruth-radius: 0}}</style>{script(live)}"
    page = visit(elsewhere.add(element(live), head)).page
    expect(page.get_by_role("heading", name="Habits")).to_be_visible()

    def drawn(selector, what):
        found = page.locator(selector).first
        return found.evaluate("(node, what) => getComputedStyle(node)[what]", what)

    assert {name: drawn(*where) for name, where in THEMES.items()} == colours
    assert drawn(".main", "border-radius") == "0px"


#: Pages that know light and dark, and pages that are light whatever a device prefers.
BOTH = "<style>html { color-scheme: light dark; } body { background: Canvas; }</style>"
ONLY_LIGHT = "<style>body { background: #ffffff; color: #111111; }</style>"


@pytest.mark.parametrize("head", [BOTH, ONLY_LIGHT], ids=["both", "only-light"])
def test_the_form_can_be_read_on_dark_devices_whatever_the_page_is_like(
    live, elsewhere, visit, head
):
    found = visit(elsewhere.add(element(live), head + script(live)), color_scheme="dark")
    expect(found.page.get_by_role("heading", name="Habits")).to_be_visible()
    assert found.violations() == []


def controls(extra="", attributes='method="dialog"', button="<button>Send</button>"):
    """A form of a page's own."""
    chosen = "".join(
        f'<label>{name} <input name="{name}" value="{value}"></label>'
        for name, value in RECORD.items()
    )
    return f'<form id="own" {attributes}>{chosen}{extra}{button}</form>'


def attach(page, live, more=None):
    """Attach to the page's own form; the value is what went wrong, if anything did."""
    return page.evaluate(
        """async ([url, more]) => {
          const { attach } = await import(url + "/js/form/index.js");
          const options = { survey: "work", collector: url, maxGamma: 19, ...more };
          try {
            await attach(document.getElementById("own"), options);
          } catch (error) {
            return `${error.name}: ${error.message}`;
          }
        }""",
        [live.url, more or {}],
    )


def test_a_form_of_ones_own_sends_one_report_and_never_itself(live, elsewhere, visit):
    found = listening(visit)
    page = found.page
    page.goto(elsewhere.add(controls('<input type="hidden" name="more" value="hush">')))
    assert attach(page, live) is None
    for number, status in enumerate(["accepted", "duplicate", "duplicate"], start=1):
        # By the button, by the keyboard, and by a script.
        [
            page.get_by_role("button", name="Send").click,
            lambda: page.get_by_label("smoker").press("Enter"),
            lambda: page.evaluate("document.getElementById('own').requestSubmit()"),
        ][number - 1]()
        name, detail = heard(page, number)[-1]
        assert (name, detail["status"]) == ("submitted", status)
    ((report, number),) = counted(live)
    assert number == 1
    assert page.url == f"{elsewhere.url}/page"
    assert {line for line in elsewhere.asked if "favicon" not in line} == {"GET /page"}
    posted = [line for line in found.requests if line.startswith("POST")]
    assert len(posted) == 3
    assert all(line.split()[1] == f"{live.url}/v1/surveys/work/reports" for line in posted)
    # The stored report is the one that was sent, in all three requests.
    codes = SCHEMA.encode(dict(zip(SCHEMA.names, report, strict=True)))
    values = "[" + ",".join(str(code) for code in codes) + "]"
    assert all(f'"values":{values}' in line for line in posted)
    assert "hush" not in found.traffic() + str(heard(page))


@pytest.mark.parametrize("scripts", [True, False])
def test_a_form_of_ones_own_sends_nothing_before_or_without_the_script(elsewhere, visit, scripts):
    found = visit(elsewhere.add(controls()), java_script_enabled=scripts)
    found.page.get_by_role("button", name="Send").click()
    found.page.get_by_label("smoker").press("Enter")
    assert found.page.url == f"{elsewhere.url}/page"
    assert {line for line in elsewhere.asked if "favicon" not in line} == {"GET /page"}


LEAKS = {
    "no method": controls(attributes=""),
    "get": controls(attributes='method="get"'),
    "post": controls(attributes='method="post"'),
    "an action": controls(attributes='method="dialog" action="/page"'),
    "an action of a button": controls(button='<button formaction="/page">Send</button>'),
    "a method of a button": controls(button='<button formmethod="post">Send</button>'),
    "a button beside the form": controls(button="")
    + '<button form="own" formmethod="get">Send</button>',
}

#: The elements of a form do not hold these.
IMAGES = {
    "an image": controls(button='<input type="image" alt="Send" formmethod="get">'),
    "an image beside the form": controls(button="")
    + '<input type="image" form="own" alt="Send" formaction="/page">',
}


def tried(live, elsewhere, visit, forms):
    """What attaching to each form says, without the forms of which it says that they post."""
    page = visit(elsewhere.add("<p>nothing</p>")).page
    outcomes = {}
    for what, form in forms.items():
        page.evaluate("(form) => { document.querySelector('main').innerHTML = form; }", form)
        outcomes[what] = attach(page, live)
    expected = "ParameterError: form: "
    return {what: said for what, said in outcomes.items() if expected not in (said or "")}


def test_a_form_that_a_browser_would_send_is_refused(live, elsewhere, visit):
    assert tried(live, elsewhere, visit, LEAKS) == {}


def test_a_form_that_a_browser_would_send_by_an_image_is_refused(live, elsewhere, visit):
    assert tried(live, elsewhere, visit, IMAGES) == {}


def test_what_is_no_answer_is_refused_and_not_repeated(live, elsewhere, visit):
    found = listening(visit)
    page = found.page
    page.goto(elsewhere.add(controls()))
    attach(page, live)
    for number, wrong in enumerate(["perhaps-secret", "", "YES-HUSH-secret"], start=1):
        page.get_by_label("smoker").fill(wrong)
        page.get_by_role("button", name="Send").click()
        name, detail = heard(page, number)[-1]
        assert name == "refused"
        assert "smoker" in detail["message"]
        # The possible answers may be named; the one that was given is not.
        assert "secret" not in detail["message"]
    assert "secret" not in found.traffic()
    assert "hush" not in found.traffic()
    assert counted(live) == []


def test_a_form_of_ones_own_is_held_to_its_floor(live, elsewhere, visit):
    found = listening(visit)
    page = found.page
    page.goto(elsewhere.add(controls()))
    assert "SurveyRefused" in attach(page, live, {"maxGamma": 18})
    page.get_by_role("button", name="Send").click()
    assert [name for name, _ in heard(page)] == ["refused"]
    assert not any(line.startswith("POST") for line in found.requests)


def test_a_report_of_a_form_of_ones_own_that_was_kept_is_sent_on_the_next_visit(
    live, elsewhere, visit
):
    found = listening(visit)
    page = found.page
    # Time passes as the test says, so that nobody waits for the tries between.
    page.clock.install()
    page.goto(elsewhere.add(controls()))
    attach(page, live)
    page.route("**/reports", lambda route: route.abort())
    page.get_by_role("button", name="Send").click()
    for _ in range(40):
        page.clock.run_for(2_000)
        if page.evaluate("window.heard.length"):
            break
    assert heard(page)[0][1]["status"] == "waiting"
    assert counted(live) == []
    page.unroute("**/reports")
    page.reload()
    with page.expect_response("**/reports", timeout=2_000):
        attach(page, live)
    assert len(counted(live)) == 1


def test_a_closed_survey_is_not_asked_on_other_pages_either(live, elsewhere, visit):
    live.store.surveys.close("work")
    found = listening(visit)
    page = found.page
    page.goto(elsewhere.add(element(live), script(live)))
    expect(page.locator("halftruth-form h2")).to_be_visible()
    assert page.locator("halftruth-form input").count() == 0


def test_a_report_that_was_refused_is_never_said_to_be_counted(live, elsewhere, visit):
    page = visit(elsewhere.add(element(live), script(live))).page
    answer(page)
    live.store.surveys.close("work")
    send(page)
    expect(page.get_by_text("is closed")).to_be_visible()
    for _ in range(2):
        assert page.get_by_text(re.compile("counted")).count() == 0
        page.reload()
        expect(page.locator("halftruth-form h2")).to_be_visible()
    assert counted(live) == []


def test_who_was_counted_is_never_told_that_nothing_was_sent(live, elsewhere, visit):
    page = visit(elsewhere.add(element(live), script(live))).page
    answer(page)
    send(page)
    expect(page.get_by_role("heading", name="Thank you")).to_be_visible()
    live.store.surveys.close("work")
    page.reload()
    expect(page.locator("halftruth-form h2")).to_be_visible()
    assert page.get_by_text("Nothing was sent").count() == 0
