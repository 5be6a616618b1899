"""A form of a page's own that is set up wrongly: nothing is sent, and the page says why."""

import re

import pytest
from playwright.sync_api import expect

from .conftest import REGIONS, counted, posted, press

SECRET = "hush-on-the-wire"

#: Forms as they should be, and as they are usually written.
MARKUPS = {"dialog": 'method="dialog"', "post": 'method="post" action="/page.html"'}

RIGHT = {"survey": "work", "maxGamma": 19}

#: What is passed as the form, if not the form, the options, and what people read of it.
WRONG = {
    "no options": ("own", None, "something unforeseen"),
    "no address": ("own", {"collector": None}, "url: expected"),
    "an address that is none": ("own", {"collector": "nowhere"}, "url: expected"),
    "no limit": ("own", {"maxGamma": None}, "maxGamma"),
    "a limit that is none": ("own", {"maxGamma": "many"}, "maxGamma"),
    "too strict a limit": ("own", {"maxGamma": 2}, "amplification"),
    "an operator that did not sign": ("own", {"operatorKeys": ["ab" * 32]}, "operatorKeys"),
    "an unknown survey": ("own", {"survey": "nothing"}, "nothing"),
    "no collector": ("own", {"collector": "http://127.0.0.1:1"}, "cannot be reached"),
    "a page in the collector's place": ("own", {"collector": "PAGE"}, "answered"),
    "no form": ("another", {}, "form: expected an element"),
    "a field around the form": ("around", {}, "form: expected an element"),
    "an invitation that is none": ("own", {"invitation": "me"}, "invitation"),
}

ATTACH = """
async ([url, id, options]) => {
  const { attach } = await import(url + "/js/form/index.js");
  const attached = attach(document.getElementById(id), options ?? undefined);
  window.outcome = attached.then(() => "attached", (error) => `${error.name}: ${error.message}`);
  // At once: nothing was fetched yet.
  SUBMIT
}
"""

#: Ways to send a form; the last ones leave a page that nothing holds.
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


def form(markup, names=("smoker", "drinks", "region")):
    """A form whose values are secret, by names of its own."""
    fields = "".join(
        f'<label>{name} <input name="{name}" value="{SECRET}-{name}"></label>' for name in names
    )
    hidden = f'<input type="hidden" name="region" value="{SECRET}"><div id="around"></div>'
    return (
        f'<form id="own" {MARKUPS[markup]}>{fields}{hidden}<button name="go">Send</button></form>'
    )


def attach(page, live, origin, id="own", options=None, then=""):
    if options is not None:
        options = RIGHT | {"collector": live.url} | options
        if options["collector"] == "PAGE":
            options["collector"] = origin.url
    page.evaluate(ATTACH.replace("SUBMIT", then), [live.url, id, options])


def outcome(page):
    return page.evaluate("window.outcome")


CASES = [*[(wrong, "dialog") for wrong in WRONG], ("no form", "post")]
CASES += [("nothing but the form itself", "post"), ("no options", "post")]


@pytest.mark.parametrize(("wrong", "markup"), CASES)
def test_whatever_is_set_up_wrongly_the_browser_sends_no_answer(live, origin, visit, wrong, markup):
    id, options, said = WRONG.get(wrong, ("own", {}, 'method="dialog"'))
    found = visit(origin.add(form(markup)))
    page = found.page
    if wrong == "no collector":
        page.clock.install()
    attach(page, live, origin, id, options, SUBMIT)
    if wrong == "no collector":
        page.clock.run_for(60_000)
    assert outcome(page) != "attached"
    expect(page.get_by_role("alert")).to_contain_text(said)
    press(page, "Send")
    page.get_by_label("smoker").press("Enter")
    page.evaluate(f"() => {{ {SUBMIT} }}")
    assert page.url == f"{origin.url}/page.html"
    method = "get" if len(wrong) % 2 else "post"
    with page.expect_navigation():
        page.evaluate(f"() => {{ {SUBMIT} {SCRIPTED.replace('METHOD', repr(method))} }}")
    assert SECRET not in found.traffic()
    # The page, and what the last script of it sent, which was empty.
    assert len([line for line in found.requests if "page.html" in line.split()[1]]) == 2
    assert counted(live) == []


def test_controls_that_are_called_like_methods_of_the_form_let_nothing_out(live, origin, visit):
    names = ["addEventListener", "append", "submit", "elements", "getRootNode", "getAttribute"]
    names += ["setAttribute", "reset", "method", "action", "dispatchEvent", "querySelectorAll"]
    found = visit(origin.add(form("dialog", [*names, "smoker"])))
    page = found.page
    attach(page, live, origin, "own", {})
    assert outcome(page) == "attached"
    refused = "new Promise((done) => addEventListener('refused', done, { once: true }))"
    page.evaluate(f"async () => {{ const told = {refused}; {SUBMIT} await told; }}")
    # Nor does the browser's driver find its way about such a form.
    said = page.evaluate("document.querySelector('[role=alert]').textContent")
    assert said.startswith("Nothing was sent: 'smoker': ")
    with page.expect_navigation():
        page.evaluate(f"() => {{ {SUBMIT} {SCRIPTED.replace('METHOD', repr('post'))} }}")
    assert SECRET not in found.traffic()


def test_fields_that_the_survey_does_not_know_are_not_sent_and_the_page_says_what_is_missing(
    live, origin, visit
):
    found = visit(origin.add(form("dialog", ["smokes", "drinks"])))
    page = found.page
    attach(page, live, origin, "own", {})
    assert outcome(page) == "attached"
    press(page, "Send")
    expect(page.get_by_role("alert")).to_have_text(
        re.compile("^Nothing was sent: 'smoker': missing; expected one of")
    )
    assert SECRET not in found.traffic()
    assert posted(found) == []


def test_a_form_is_attached_once_and_what_was_attached_first_goes_on(live, origin, visit):
    right = '<input name="smoker" value="no-hush"><input name="drinks" value="daily-hush">'
    region = f'<input name="region" value="{REGIONS[1]}">'
    found = visit(origin.add(f'<form id="own" method="dialog">{right}{region}<button>Send</form>'))
    page = found.page
    attach(page, live, origin, "own", {})
    assert outcome(page) == "attached"
    attach(page, live, origin, "own", {"maxGamma": 2})
    assert outcome(page) == "ParameterError: form: expected one to attach once"
    # Nor does another form that is not there end what is attached.
    attach(page, live, origin, "another", {})
    assert outcome(page) == "ParameterError: form: expected an element <form>"
    with page.expect_response("**/reports"):
        press(page, "Send")
    assert len(counted(live)) == 1
    expect(page.get_by_role("alert")).to_be_empty()


def test_answers_leave_the_form_once_their_report_is_drawn(live, origin, visit):
    fields = '<label>smoker <input name="smoker"></label><input type="hidden" name="drinks">'
    select = "".join(f"<option>{region}</option>" for region in ["", *REGIONS])
    found = visit(
        origin.add(
            f'<form id="own" method="dialog">{fields}<label>region <select name="region">{select}'
            "</select></label><button>Send</button></form>"
        )
    )
    page = found.page
    attach(page, live, origin, "own", {})
    assert outcome(page) == "attached"
    page.get_by_label("smoker").fill("no-hush")
    page.get_by_label("region").select_option(REGIONS[3])
    press(page, "Send")
    # An answer is missing: what was entered stays, to be completed.
    expect(page.get_by_role("alert")).to_contain_text("'drinks': missing")
    expect(page.get_by_label("smoker")).to_have_value("no-hush")
    page.evaluate("document.querySelector('[name=drinks]').value = 'never-hush'")
    live.store.surveys.close("work")
    press(page, "Send")
    expect(page.get_by_role("alert")).to_contain_text(
        "A report may have been sent. What went wrong"
    )
    entered = (
        "[...document.querySelectorAll('[name]')].map((control) => control.value ?? '').join('')"
    )
    assert page.evaluate(entered) == ""
    assert page.evaluate("document.body.outerHTML").count("never-hush") == 0
