"""A page's own form sends one report; a misconfigured one sends nothing and says why."""

import re
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import requests
from halftruth_collector import operations
from playwright.sync_api import expect
from wire import PATIENCE, running, wait_until

from .conftest import (
    ATTACH,
    CLIENT,
    RECORD,
    REGIONS,
    SCHEMA,
    attach,
    counted,
    heard,
    listening,
    posted,
    press,
)

SECRET = "hush-on-the-wire"

#: Forms as required, and as usually written.
MARKUPS = {
    "dialog": 'method="dialog"',
    "post": 'method="post" action="/page.html"',
    "files": 'method="post" enctype="multipart/form-data"',
    "get": "",
}
SELECT = f'<select name="region"><option>{SECRET}-or-so</option></select>'
BUTTONS = '<button formaction="/page.html">Go</button><input type="image" alt="" formmethod="get">'

#: Id of the form, options, the message shown, and the form's markup, names and further controls.
WRONG = {
    "no options, by post": ("own", {"none": True}, "an unexpected error", "post"),
    "too strict a limit": ("own", {"maxGamma": 2}, "amplification"),
    "no collector": ("own", {"collector": "http://127.0.0.1:1"}, "cannot be reached"),
    "no form, by post": ("another", {}, "form: expected an element", "post"),
    "names of its own": ("own", {}, "the name 'smoker'", "dialog", ["smokes", "drinks"]),
    "values of its own": ("own", {}, "'region': expected answers", "dialog", [], SELECT),
    "a map to no answers": ("own", {"values": {"smoker": {"ja": "perhaps"}}}, "values: 'smoker'"),
    "files, sent by post": (
        "own",
        {},
        'method="dialog"',
        "files",
        [],
        '<input type="file" name="f">',
    ),
    "an address of a button": ("own", {}, 'method="dialog"', "dialog", [], BUTTONS),
}

#: Scripts that submit a form; SCRIPTED bypasses its submit handlers.
SUBMIT = """
  const form = document.getElementById("own");
  const native = HTMLFormElement.prototype;
  const button = document.createElement("button");
  for (const [name, value] of
    [["form", "own"], ["formmethod", "post"], ["formaction", "/page.html"], ["name", "hush"]]) {
    button.setAttribute(name, value);
  }
  document.body.append(button);
  button.click();
  for (const inside of document.querySelectorAll("#own button")) inside.click();
  native.requestSubmit.call(form);
  native.requestSubmit.call(form, button);
"""
SCRIPTED = """
  Element.prototype.setAttribute.call(form, "method", METHOD);
  Element.prototype.setAttribute.call(form, "action", "/page.html");
  native.submit.call(form);
"""


#: Runs timers of retries at once.
AT_ONCE = """
const later = setTimeout;
window.setTimeout = (action, pause) => later(action, Math.min(pause, 5));
"""


def form(markup, names=(), more=""):
    """Return a form with secret values and, optionally, other names."""
    fields = "".join(
        f'<label>{name} <input name="{name}" value="{SECRET}-{name}"></label>'
        for name in names or ("smoker", "drinks", "region")
    )
    hidden = f'<input type="hidden" name="region" value="{SECRET}"><div id="around"></div>'
    return (
        f'<form id="own" {MARKUPS[markup]}>{fields}{hidden}{more}'
        '<button name="go">Send</button></form>'
    )


@dataclass
class Wire:
    """A proxy for all traffic of a browser, with the recorded requests."""

    url: str = ""
    sent: list[str] = field(default_factory=list)
    #: Requests to collectors wait for this.
    opened: threading.Event = field(default_factory=threading.Event)

    def posts(self):
        return [text for text in self.sent if text.startswith("POST")]


@pytest.fixture
def wire():
    made = Wire()
    made.opened.set()

    class Proxy(BaseHTTPRequestHandler):
        def pass_on(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            made.sent.append(f"{self.command} {self.path}\n{self.headers}\n{body!r}")
            if "/v1/" in self.path:
                made.opened.wait(PATIENCE)
            try:
                answer = requests.request(
                    self.command,
                    self.path,
                    headers=dict(self.headers),
                    data=body,
                    timeout=PATIENCE,
                    allow_redirects=False,
                    stream=True,
                )
                # As it was sent: compressed, if it was.
                content = answer.raw.read(decode_content=False)
            except requests.ConnectionError:
                self.send_error(502)
                return
            self.send_response(answer.status_code)
            for name, text in answer.headers.items():
                if name.lower() not in ("content-length", "connection"):
                    self.send_header(name, text)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_OPTIONS = pass_on  # noqa: N815

        def log_message(self, *_):
            pass

    with running(ThreadingHTTPServer(("127.0.0.1", 0), Proxy)) as server:
        made.url = f"http://127.0.0.1:{server.server_port}"
        yield made


def through(wire):
    """Return browser options that route all requests through the proxy, including loopback."""
    return {"proxy": {"server": wire.url, "bypass": "<-loopback>"}}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_misconfigured_form_sends_no_answers(live, origin, visit, wire, wrong):
    id, options, said, *markup = WRONG[wrong]
    found = visit(origin.add(form(*(markup or ["dialog"]))), **through(wire))
    page = found.page
    page.add_script_tag(content=AT_ONCE)
    assert attach(page, live, id, SUBMIT, **options) != "attached"
    expect(page.get_by_role("alert")).to_contain_text(said)
    press(page, "Send")
    page.locator("#own input").first.press("Enter")
    page.evaluate(f"() => {{ {SUBMIT} }}")
    assert page.url == f"{origin.url}/page.html"
    method = "get" if len(wrong) % 2 else "post"
    with page.expect_navigation():
        page.evaluate(f"() => {{ {SUBMIT} {SCRIPTED.replace('METHOD', repr(method))} }}")
    assert SECRET not in found.traffic()
    assert SECRET not in "".join(wire.sent)
    # The page itself, and the empty form submitted by the last script.
    assert len([text for text in wire.sent if "page.html" in text.split()[1]]) == 2
    assert [text.rpartition("\n")[2] for text in wire.posts()] == ["b''"] * (method == "post")
    assert counted(live) == []


def test_nothing_is_sent_before_the_survey_is_loaded_and_then_one_report(live, origin, visit, wire):
    wire.opened.clear()
    found = visit(origin.add(controls()), **through(wire))
    page = found.page
    told = "new Promise((done) => addEventListener('submitted', done, { once: true }))"
    page.evaluate(f"() => {{ window.told = {told}.then(() => 'sent'); }}")
    options = {"survey": "work", "maxGamma": 19, "collector": live.url}
    begun = ATTACH.replace("SUBMIT", SUBMIT).replace("return outcome", "")
    page.evaluate(begun, [live.url, "own", options])
    press(page, "Send")
    page.get_by_label("smoker").press("Enter")
    page.wait_for_timeout(50)
    assert wire.posts() == []
    wire.opened.set()
    assert page.evaluate("told") == "sent"
    assert len(counted(live)) == 1
    assert "hush" not in "".join(wire.sent)


def test_controls_named_like_form_methods_leak_nothing(live, origin, visit):
    names = ["addEventListener", "append", "submit", "elements", "getRootNode", "getAttribute"]
    names += ["setAttribute", "reset", "method", "action", "dispatchEvent", "querySelectorAll"]
    found = visit(origin.add(form("dialog", [*names, "smoker", "drinks"])))
    page = found.page
    assert attach(page, live) == "attached"
    refused = "new Promise((done) => addEventListener('refused', done, { once: true }))"
    page.evaluate(f"async () => {{ const told = {refused}; {SUBMIT} await told; }}")
    # Such a form also confuses the browser's driver; read the text by script.
    said = page.evaluate("document.querySelector('[role=alert]').textContent")
    assert said.startswith("Nothing was sent: 'smoker': ")
    with page.expect_navigation():
        page.evaluate(f"() => {{ {SUBMIT} {SCRIPTED.replace('METHOD', repr('post'))} }}")
    assert SECRET not in found.traffic()


OWN_VALUES = {
    "smoker": {"on": "yes-hush", "": "no-hush"},
    "drinks": {"1": "never-hush", "2": "weekly-hush", "3": "daily-hush"},
}


@pytest.mark.parametrize("checked", [True, False])
def test_a_form_can_map_its_own_values_to_answers(live, origin, visit, checked):
    radios = "".join(
        f'<label>{n} <input type="radio" name="drinks" value="{n}"></label>' for n in "123"
    )
    select = "".join(f"<option>{region}</option>" for region in ("", *REGIONS))
    page = visit(
        origin.add(
            '<form id="own" method="dialog"><label>smoker <input type="checkbox" name="smoker">'
            f'</label>{radios}<label>region <select name="region">{select}</select></label>'
            "<button>Send</button></form>"
        )
    ).page
    # Without perturbation each report equals the record.
    page.evaluate("() => { crypto.getRandomValues = (array) => array.fill(0); }")
    assert attach(page, live, values=OWN_VALUES) == "attached"
    page.get_by_label("smoker").set_checked(checked)
    page.get_by_label("2").check()
    page.get_by_label("region").select_option(REGIONS[1])
    # Frameworks also write entered values into the markup.
    page.evaluate(
        "for (const box of document.querySelectorAll(':checked')) box.defaultChecked = true"
    )
    with page.expect_response("**/reports"):
        press(page, "Send")
    expect(page.get_by_label("2")).not_to_be_checked()
    assert counted(live) == [["yes-hush" if checked else "no-hush", "weekly-hush", REGIONS[1]]]
    assert page.locator("input:checked").count() == 0
    expect(page.get_by_label("region")).to_have_value("")


def test_the_manual_example_of_promise_and_receipt_shows_both(live, origin, visit):
    manual = (CLIENT.parent / "docs" / "embedding.md").read_text(encoding="utf-8")
    [block] = re.findall(r"```js\n(import \{ attach, promiseOf(?:(?!```).*\n)+)```", manual)
    block = block.replace("https://collector.example", live.url)
    block = block.replace("#health", "#own").replace('"health"', '"work"')
    page = visit(origin.add(f'{controls()}<script type="module">{block}</script>')).page
    # γ = 19: of 100 people, five before, at most fifty after.
    said = "if they send the same report as you: at most 50"
    expect(page.get_by_text(said)).to_be_visible()
    press(page, "Send")
    expect(page.get_by_text("Where do you live?: ")).to_be_visible()
    [report] = counted(live)
    shown = page.locator("main").inner_text()
    labels = [attribute.label for attribute in SCHEMA.attributes]
    for label, answer in zip(labels, report, strict=True):
        assert (
            f"{label}: {answer} people with another answer who send this too: about "
            in " ".join(shown.split())
        )


def test_a_second_attachment_is_refused_and_the_first_keeps_working(live, origin, visit):
    right = '<input name="smoker" value="no-hush"><input name="drinks" value="daily-hush">'
    region = f'<input name="region" value="{REGIONS[1]}">'
    found = visit(origin.add(f'<form id="own" method="dialog">{right}{region}<button>Send</form>'))
    page = found.page
    assert attach(page, live) == "attached"
    assert attach(page, live, maxGamma=2) == "ParameterError: form: expected one to attach once"
    # Nor does attaching to a missing form detach the first.
    assert attach(page, live, "another") == "ParameterError: form: expected an element <form>"
    with page.expect_response("**/reports"):
        press(page, "Send")
    assert len(counted(live)) == 1
    expect(page.get_by_role("alert")).to_be_empty()


def test_answers_are_cleared_once_their_report_is_drawn(live, origin, visit):
    fields = '<label>smoker <input name="smoker"></label><input type="hidden" name="drinks">'
    select = "".join(f"<option>{region}</option>" for region in ["", *REGIONS])
    found = visit(
        origin.add(
            f'<form id="own" method="dialog">{fields}<label>region <select name="region">{select}'
            "</select></label><button>Send</button></form>"
        )
    )
    page = found.page
    assert attach(page, live) == "attached"
    page.get_by_label("smoker").fill("no-hush")
    page.get_by_label("region").select_option(REGIONS[3])
    press(page, "Send")
    # If an answer is missing, the entered values stay.
    expect(page.get_by_role("alert")).to_contain_text("'drinks': missing")
    expect(page.get_by_label("smoker")).to_have_value("no-hush")
    page.evaluate("document.querySelector('[name=drinks]').value = 'never-hush'")
    operations.close_survey(live.store, "work", confirm="work")
    press(page, "Send")
    expect(page.get_by_role("alert")).to_contain_text("Your report may have been sent. The problem")
    entered = (
        "[...document.querySelectorAll('[name]')].map((control) => control.value ?? '').join('')"
    )
    assert page.evaluate(entered) == ""
    assert page.evaluate("document.body.outerHTML").count("never-hush") == 0


def controls(extra="", attributes='method="dialog"', button="<button>Send</button>"):
    """Return a page's own form."""
    chosen = "".join(
        f'<label>{name} <input name="{name}" value="{value}"></label>'
        for name, value in RECORD.items()
    )
    return f'<form id="own" {attributes}>{chosen}{extra}{button}</form>'


def test_an_attached_form_sends_one_report_and_is_never_submitted(live, origin, visit):
    found = listening(visit)
    page = found.page
    page.goto(origin.add(controls('<input type="hidden" name="more" value="hush">')))
    assert attach(page, live) == "attached"
    for _ in range(2):
        # By button, keyboard and script.
        page.get_by_role("button", name="Send").click()
        page.get_by_label("smoker").press("Enter")
        page.evaluate("document.getElementById('own').requestSubmit()")
        [(name, detail)] = heard(page, 1)
        assert (name, detail["status"]) == ("submitted", "accepted")
    (report,) = counted(live)
    assert page.url == f"{origin.url}/page.html"
    assert origin.asked == {"GET /page.html"}
    [sent] = posted(found)
    assert sent.split()[1] == f"{live.url}/v1/surveys/work/reports"
    # The stored report is the one that was sent.
    codes = SCHEMA.encode(dict(zip(SCHEMA.names, report, strict=True)))
    values = "[" + ",".join(str(code) for code in codes) + "]"
    assert f'"values":{values}' in sent
    assert "hush" not in found.traffic() + str(heard(page))


def test_answers_entered_while_a_report_is_sent_or_afterwards_are_neither_read_nor_kept(
    live, origin, visit
):
    found = listening(visit)
    page = found.page
    page.goto(origin.add(controls()))
    page.evaluate(
        """async ([url, options]) => {
          const { attach } = await import(url + "/form/halftruth.js");
          window.session = await attach(document.getElementById("own"), options);
        }""",
        [live.url, {"survey": "work", "maxGamma": 19, "collector": live.url}],
    )
    held = []
    page.route("**/reports", lambda route: held.append(route))
    page.get_by_role("button", name="Send").dblclick()
    wait_until(lambda: page.evaluate("1") and held)
    page.get_by_label("smoker").fill("no-hush")
    press(page, "Send")
    assert page.evaluate("[...session.questionnaire.answers]") == [*map(list, RECORD.items())]
    assert page.evaluate("window.heard") == []
    held[0].continue_()
    assert [name for name, _ in heard(page, 1)] == ["submitted"]
    page.get_by_label("smoker").fill("no-hush")
    press(page, "Send")
    expect(page.get_by_label("smoker")).to_have_value("")
    # At a later visit, the page learns that a report was counted before.
    page.reload()
    attach(page, live)
    page.get_by_role("button", name="Send").dblclick()
    [(name, detail)] = heard(page, 1)
    assert (name, detail["status"]) == ("submitted", "duplicate")
    assert len(held) == len(posted(found)) == len(counted(live)) == 1


@pytest.mark.parametrize("scripts", [True, False])
def test_a_form_with_method_dialog_sends_nothing_without_the_script(origin, visit, scripts):
    found = visit(origin.add(controls()), java_script_enabled=scripts)
    press(found.page, "Send")
    found.page.get_by_label("smoker").press("Enter")
    assert found.page.url == f"{origin.url}/page.html"
    assert origin.asked == {"GET /page.html"}


LEAKS = {
    "no method": controls(attributes=""),
    "get": controls(attributes='method="get"'),
    "post": controls(attributes='method="post"'),
    "an action": controls(attributes='method="dialog" action="/page.html"'),
    "an action of a button": controls(button='<button formaction="/page.html">Send</button>'),
    "a method of a button": controls(button='<button formmethod="post">Send</button>'),
    "a button beside the form": controls(button="")
    + '<button form="own" formmethod="get">Send</button>',
    # `form.elements` does not include image buttons.
    "an image": controls(button='<input type="image" alt="Send" formmethod="get">'),
    "an image beside the form": controls(button="")
    + '<input type="image" form="own" alt="Send" formaction="/page.html">',
}


def test_a_form_that_a_browser_would_submit_is_refused(live, origin, visit):
    page = visit(origin.add("<p>nothing</p>")).page
    for what, form in LEAKS.items():
        page.evaluate("(form) => { document.querySelector('main').innerHTML = form; }", form)
        assert attach(page, live).startswith("ParameterError: form: "), what


def test_invalid_answers_are_refused_and_not_repeated_in_messages(live, origin, visit):
    found = listening(visit)
    page = found.page
    page.goto(origin.add(controls()))
    attach(page, live)
    for number, wrong in enumerate(["perhaps-secret", "", "YES-HUSH-secret"], start=1):
        page.get_by_label("smoker").fill(wrong)
        press(page, "Send")
        name, detail = heard(page, number)[-1]
        assert name == "refused"
        assert "smoker" in detail["message"]
        # The message may list valid answers, but not the given value.
        assert "secret" not in detail["message"]
    assert "secret" not in found.traffic()
    assert "hush" not in found.traffic()
    assert counted(live) == []
