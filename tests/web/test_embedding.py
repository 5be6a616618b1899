"""The form on pages of other origins: its events, and access to the collector."""

import re
from datetime import UTC, datetime

from halftruth_collector import operations
from halftruth_shared import GammaDiagonal, Survey
from playwright.sync_api import expect

from .conftest import (
    RECORD,
    SCHEMA,
    answer,
    answer_and_send,
    begin,
    counted,
    element,
    heading,
    heard,
    listening,
    posted,
    press,
    script,
    send,
    shown_report,
    sign_in,
)


def test_a_form_on_another_origin_sends_one_report_and_emits_an_event(live, origin, visit):
    found = listening(visit)
    page = found.page
    page.goto(origin.add(element(live), script(live)))
    answer(page)
    send(page)
    expect(heading(page, "Thank you")).to_be_focused()
    ((name, detail),) = heard(page)
    assert name == "submitted"
    assert detail.keys() == {"id", "status"}
    assert detail["status"] == "accepted"
    assert counted(live) == [shown_report(page)]
    # The page's own server received only the request for the page.
    assert origin.asked == {"GET /page.html"}
    assert "hush" not in found.traffic() + str(heard(page))


def test_missing_exceeded_or_invalid_limits_are_refused_with_an_event(live, origin, visit):
    limits = ['max-gamma="18.999"', 'max-gamma="1"', 'max-gamma="x"', ""]
    settings = [
        "send-every",
        "max-answer-gamma",
        "max-total-gamma",
        "digests",
        "operator-keys",
        "ask",
    ]
    limits += [f'max-gamma="19" {name}="{value}"' for name in settings for value in ("", "5abc")]
    limits += [f'max-gamma="19" send-every="{minutes}"' for minutes in ("0", "-5", "1441", "1e1")]
    limits += ['max-gamma="19" max-total-gamma="1"', 'max-gamma="19,5"']
    found = listening(visit)
    page = found.page
    page.goto(origin.add("".join(element(live, more=more) for more in limits), script(live)))
    told = heard(page, len(limits))
    assert [name for name, _ in told] == ["refused"] * len(limits)
    for _, detail in told:
        assert re.search(
            "amplification|max-?gamma|max(Answer|Total)Gamma|sendEvery: expected minutes"
            "|^digests: expected|^operatorKeys: expected|ask: expected drawn or all",
            detail["message"],
            re.IGNORECASE,
        )
    expect(heading(page, "You cannot answer this survey here")).to_have_count(len(limits))
    assert page.locator("halftruth-form input, halftruth-form select").count() == 0
    assert posted(found) == []


def test_an_unreachable_collector_emits_an_event_and_can_be_retried(live, origin, visit):
    found = listening(visit)
    page = found.page
    page.route("**/v1/**", lambda route: route.abort())
    page.goto(origin.add(element(live), script(live)))
    ((name, detail),) = heard(page)
    assert (name, detail) == (
        "refused",
        {"message": f"collector {live.url} cannot be reached"},
    )
    expect(heading(page, "The survey cannot be reached")).to_be_visible()
    # Once the collector is reachable, the survey starts.
    page.unroute("**/v1/**")
    press(page, "Try again")
    expect(heading(page, "Before you begin")).to_be_visible()


def test_two_forms_on_one_page_answer_separate_surveys(live, store, origin, visit):
    operations.publish_survey(store, Survey("other", "Other", SCHEMA, GammaDiagonal(7)))
    page = visit(origin.add(element(live) + element(live, "other"), script(live))).page
    forms = page.locator("halftruth-form").all()
    for form in forms:
        answer(form)
    for form in forms:
        send(form)
    reports = [shown_report(form) for form in forms]
    assert [counted(live), counted(live, "other")] == [[report] for report in reports]


def test_a_strict_content_security_policy_needs_only_the_collector(live, origin, visit):
    origin.headers["Content-Security-Policy"] = (
        f"default-src 'none'; script-src {live.url}; connect-src {live.url}; form-action 'none';"
        " require-trusted-types-for 'script'"
    )
    found = visit(origin.add(element(live), script(live)))
    answer_and_send(found.page)
    assert [line for line in found.said if "favicon" not in line] == []


def test_a_report_is_sent_at_a_multiple_of_the_send_interval(live, origin, visit):
    taken, leaves = 300_000, 600_000
    found = visit()
    page = found.page
    page.clock.install(time=datetime(2030, 1, 1, 8, tzinfo=UTC))
    page.clock.pause_at(datetime(2030, 1, 1, 10, tzinfo=UTC))
    more = 'max-gamma="19" send-every="5"'
    page.goto(origin.add(element(live, more=more), script(live)))
    answer(page)
    page.clock.run_for(taken)
    asked = len(found.requests)
    send(page)
    expect(heading(page, "Your report is waiting")).to_be_visible()
    expect(
        page.get_by_text("this device sends your report no earlier than January 1, 2030 at ")
    ).to_be_visible()
    assert page.get_by_role("button", name="Send the same report again").count() == 0
    page.clock.run_for(leaves - 1 - taken)
    assert len(found.requests) == asked
    with page.expect_request("**/reports"):
        page.clock.run_for(1)
    expect(heading(page, "Thank you")).to_be_visible()
    assert counted(live) == [shown_report(page)]


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


def test_scripts_of_other_origins_can_read_surveys_but_no_results(live, origin, visit):
    page = sign_in(visit(f"{live.url}/results/work"), live, "analyst").page
    token = operations.create_token(live.store, "analyst")
    page.goto(origin.add("<p>nothing</p>"))
    # Without credentials, with the cookie of a signed-in analyst, and with a leaked token.
    outcomes = page.evaluate(READ, [[live.url + path for path in READABLE], token])
    # Public resources allow no requests with credentials.
    expected = {path: [readable, False, False] for path, readable in READABLE.items()}
    assert dict(zip(READABLE, outcomes, strict=True)) == expected


THEMES = {
    "accent": (".main", "background-color"),
    "on-accent": (".main", "color"),
    "text": ("h2", "color"),
    "muted": (".help", "color"),
    "line": (".option", "border-top-color"),
    "surface": (".option", "background-color"),
}


def test_custom_properties_set_the_colours_of_the_form(live, origin, visit):
    colours = {name: f"rgb({10 + i}, {20 + i}, {30 + i})" for i, name in enumerate(THEMES)}
    style = "".join(f"--halftruth-{name}: {colour};" for name, colour in colours.items())
    head = f"<style>halftruth-form {{{style} --halftruth-radius: 0}}</style>{script(live)}"
    page = visit(origin.add(element(live), head)).page
    begin(page)
    expect(heading(page, "Habits")).to_be_visible()

    def drawn(selector, what):
        found = page.locator(selector).first
        return found.evaluate("(node, what) => getComputedStyle(node)[what]", what)

    assert {name: drawn(*where) for name, where in THEMES.items()} == colours
    assert drawn(".main", "border-radius") == "0px"


def test_a_page_styles_only_the_exposed_parts_of_the_form(live, origin, visit):
    around = "text-align: center; text-transform: uppercase; letter-spacing: 9px; text-indent: 4em"
    parts = ["heading", "button", "main-button", "question", "label", "help", "option", "control"]
    style = "".join(
        f"halftruth-form::part({part}) {{ outline-offset: {n}px }}" for n, part in enumerate(parts)
    )
    head = f"<style>main {{ {around}; white-space: pre }} {style}</style>{script(live)}"
    page = visit(origin.add(element(live), head)).page
    begin(page)
    expect(heading(page, "Habits")).to_be_visible()
    selectors = [
        "h2",
        "button:not(.main)",
        ".main",
        "fieldset",
        "legend",
        ".help",
        ".option",
        "input",
    ]
    drawn = "(node) => { const { outlineOffset } = getComputedStyle(node); return outlineOffset; }"
    offsets = [page.locator(selector).first.evaluate(drawn) for selector in selectors]
    assert offsets == [f"{n}px" for n in range(len(parts))]
    text = """(node) => {
      const style = getComputedStyle(node);
      const names = ["textAlign", "textTransform", "letterSpacing", "textIndent", "whiteSpace"];
      return names.map((name) => style[name]).join(" ");
    }"""
    assert page.locator(".help").first.evaluate(text) == "start none normal 0px normal"


def test_changing_the_survey_discards_the_state_of_the_first(live, store, origin, visit):
    operations.publish_survey(store, Survey("other", "Other", SCHEMA, GammaDiagonal(7)))
    found = listening(visit)
    page = found.page
    page.goto(origin.add(element(live), script(live)))
    answer(page)
    form = "document.querySelector('halftruth-form')"
    # Of several changes at once, only the last survey is fetched.
    page.evaluate(f"for (const id of ['none', 'other']) {form}.survey = id")
    expect(heading(page, "Before you begin")).to_be_visible()
    begin(page)
    assert page.get_by_label(RECORD["smoker"]).is_checked() is False
    # Setting the same survey or an invitation does not restart the form.
    page.get_by_label(RECORD["smoker"]).check()
    page.evaluate(f"{form}.survey = 'other'; {form}.invitation = '{32 * '0'}'")
    page.evaluate("new Promise((done) => setTimeout(done, 50))")
    assert page.get_by_label(RECORD["smoker"]).is_checked()
    # No event is emitted for a report in flight when the survey changes.
    page.evaluate(f"{form}.survey = 'work'")
    answer(page)
    held = []
    page.route("**/reports", lambda route: held.append(route), times=1)
    send(page)
    while not held:
        page.wait_for_timeout(5)
    page.evaluate(f"{form}.survey = 'other'")
    expect(heading(page, "Before you begin")).to_be_visible()
    open_to_all = {"Access-Control-Allow-Origin": "*"}
    held[0].fulfill(status=202, json={"accepted": 1}, headers=open_to_all)
    page.wait_for_timeout(50)
    expect(heading(page, "Before you begin")).to_be_visible()
    assert page.evaluate("window.heard") == []
    asked = [line.split()[1] for line in found.requests if line.startswith("GET")]
    assert not [url for url in asked if url.endswith("/none")]


def test_properties_set_before_the_script_loads_are_applied(live, origin, visit):
    form = "const form = document.querySelector('halftruth-form')"
    page = visit(origin.add("<halftruth-form></halftruth-form>")).page
    page.evaluate(
        f"""async (url) => {{
        {form};
        Object.assign(form, {{ survey: "work", collector: url, maxGamma: 19, digests: null }});
        await import(url + "/form/halftruth.js");
    }}""",
        live.url,
    )
    expect(heading(page, "Before you begin")).to_be_visible()
    read = f"{form}; form.operatorKeys = ['a', 'b']; form.maxGamma = null; form.outerHTML"
    html = page.evaluate(read)
    assert html.startswith(
        f'<halftruth-form survey="work" collector="{live.url}" operator-keys="a b">'
    )


ONLY_LIGHT = "<style>body { background: #ffffff; color: #111111; }</style>"


def test_the_form_has_enough_contrast_on_a_light_page_in_dark_mode(live, origin, visit):
    found = visit(origin.add(element(live), ONLY_LIGHT + script(live)), color_scheme="dark")
    expect(heading(found.page, "Before you begin")).to_be_visible()
    assert found.violations(type="rule", values=["color-contrast"]) == []
