"""Reloads, missing storage or lost connections never lead to a second draw."""

import json

import pytest
from playwright.sync_api import Error, expect
from wire import PATIENCE, wait_until

from .conftest import (
    Visit,
    answer,
    answer_and_send,
    begin,
    counted,
    element,
    heading,
    heard,
    let_time_pass,
    listening,
    posted,
    press,
    script,
    send,
    shown_report,
    watch,
)

ANSWERED = "Already answered in this browser"

#: Records the content of a page when it is restored from the back-forward cache.
NOTE_COPIES = """
window.copies = [];
addEventListener("pageshow", ({ persisted }) => {
  if (persisted) copies.push(document.querySelector("halftruth-form").root.innerHTML);
});
"""

#: Storage that is readable but full.
FULL = """
const real = Storage.prototype.setItem;
Storage.prototype.setItem = function (key, text) {
  if (WHEN) throw new DOMException("no room", "QuotaExceededError");
  return real.call(this, key, text);
};
"""

#: Storage of every kind, each use of which fails.
BROKEN = """
for (const kind of [Storage, IDBFactory, CacheStorage]) {
  for (const name of Object.getOwnPropertyNames(kind.prototype)) {
    const fail = () => { throw new DOMException("no access", "SecurityError"); };
    if (name !== "constructor") {
      Object.defineProperty(kind.prototype, name, { get: fail, set: fail });
    }
  }
}
"""


def shows_nothing_of_anybody(page):
    """Assert that the page contains no answer and no report."""
    assert page.locator(".card:not(.ledger), input:checked").count() == 0
    assert "hush" not in page.locator("halftruth-form").evaluate("(form) => form.root.innerHTML")


def bodies(found):
    """Return the distinct bodies that were sent."""
    return {line[line.index('{"digest"') :] for line in posted(found)}


@pytest.fixture
def copying(chromium):
    """A page of a browser with the back-forward cache enabled."""
    kind, options = chromium
    opened = kind.launch(**options, ignore_default_args=["--disable-back-forward-cache"])
    context = opened.new_context()
    context.set_default_timeout(1_000 * PATIENCE)
    found = Visit(context.new_page())
    watch(found, found.page)
    yield found
    opened.close()


@pytest.fixture
def without_site_data(chromium, tmp_path):
    """A page of a browser that blocks all site data."""
    kind, options = chromium
    settings = tmp_path / "profile" / "Default" / "Preferences"
    settings.parent.mkdir(parents=True)
    forbidden = {"default_content_setting_values": {"cookies": 2}}
    settings.write_text(json.dumps({"profile": forbidden}), encoding="utf-8")
    context = kind.launch_persistent_context(tmp_path / "profile", **options)
    found = Visit(context.new_page())
    watch(found, found.page)
    yield found
    context.close()


def lose_answers(page):
    """Let reports reach the collector, but drop its answers."""

    def lose(route):
        route.fetch()
        route.abort()

    page.route("**/reports", lose)


def test_two_clicks_send_a_report_once(live, origin, visit):
    """While it is being sent, by each button that sends it."""
    found = listening(visit)
    page = found.page
    held = []

    def hold(route):
        held.append(route)

    def click(name, number):
        page.get_by_role("button", name=name, exact=True).dblclick()
        page.evaluate("void document.querySelector('halftruth-form').session.submit()")
        wait_until(lambda: page.evaluate("1") and len(held) == number)

    page.goto(origin.add(element(live), script(live)))
    answer(page)
    page.route("**/reports", hold)
    click("Send", 1)
    held[0].fulfill(status=404)
    expect(heading(page, "Your report is waiting")).to_be_visible()
    click("Send the same report again", 2)
    held[1].continue_()
    expect(heading(page, "Thank you")).to_be_visible()
    page.wait_for_timeout(300)
    assert [detail["status"] for _, detail in heard(page, 2)] == ["waiting", "accepted"]
    assert len(posted(found)) == 2
    assert len(counted(live)) == 1


def draws_once_without_storage(found, live):
    page = found.page
    page.goto(f"{live.url}/s/work")
    answer(page)
    expect(page.get_by_text("This browser stores nothing for this page")).to_be_visible()
    page.clock.install()
    lose_answers(page)
    send(page)
    let_time_pass(page, heading(page, "Your report is waiting"))
    expect(page.get_by_text("please leave the page open")).to_be_visible()
    press(page, "Send the same report again")
    let_time_pass(page, heading(page, "Your report is waiting"))
    # After a reload the same report is found.
    page.reload()
    let_time_pass(page, heading(page, "Your report is waiting"))
    page.unroute("**/reports")
    let_time_pass(page, heading(page, "Thank you"))
    # The history entry that the Back key left has the report, too.
    assert "halftruth:work" in page.evaluate("Object.keys(history.state.halftruth)")
    page.goto(f"{live.url}/")
    page.go_back()
    expect(heading(page, ANSWERED)).to_be_visible()
    shows_nothing_of_anybody(page)
    assert len(counted(live)) == 1
    assert len(bodies(found)) == 1
    assert "hush" not in "\n".join(found.requests + found.said)


#: Notice before the first question, in each language.
FORGETFUL = {
    "en": "This browser stores nothing for this page. If you open the page again, you are asked"
    " again, and a second report would reveal more about you. Please answer only once.",
    "de": "Wenn Sie die Seite noch einmal öffnen, werden Sie noch einmal gefragt",
    "es": "Si vuelve a abrir la página, se le preguntará de nuevo",
    "fr": "Si vous ouvrez de nouveau la page, les questions vous seront posées de nouveau",
}


def test_without_storage_a_notice_precedes_the_first_question(live, visit):
    page = visit().page
    page.add_init_script(BROKEN)
    page.goto(f"{live.url}/s/work")
    expect(heading(page, "Before you begin")).to_be_visible()
    for language, said in FORGETFUL.items():
        page.evaluate("(tag) => { document.querySelector('halftruth-form').lang = tag; }", language)
        expect(page.get_by_text(said)).to_be_visible()


def test_one_report_is_drawn_and_sent_if_site_data_are_blocked(live, without_site_data):
    without_site_data.page.goto(live.url)
    with pytest.raises(Error, match="SecurityError"):
        without_site_data.page.evaluate("localStorage.length")
    draws_once_without_storage(without_site_data, live)


def test_one_report_is_drawn_and_sent_if_storage_is_full(live, visit):
    found = visit()
    found.page.add_init_script(FULL.replace("WHEN", "text.length > 20"))
    draws_once_without_storage(found, live)


def test_a_full_storage_still_records_that_the_survey_was_answered(live, visit):
    found = visit(f"{live.url}/s/work")
    page = found.page
    answer_and_send(page)
    report = shown_report(page)
    page.add_init_script(FULL.replace("WHEN", "text.length > 20"))
    page.reload()
    expect(heading(page, ANSWERED)).to_be_visible()
    assert counted(live) == [report]


def test_nothing_is_sent_if_the_report_cannot_be_stored(live, visit):
    found = visit()
    page = found.page
    page.add_init_script(FULL.replace("WHEN", "key === 'halftruth:work'"))
    page.goto(f"{live.url}/s/work")
    answer(page)
    send(page)
    expect(page.get_by_text("Nothing was sent")).to_be_visible()
    shows_nothing_of_anybody(page)
    assert posted(found) == []
    assert counted(live) == []


def test_a_lost_response_is_retried_with_the_same_report(live, visit):
    found = visit(f"{live.url}/s/work")
    page = found.page
    answer(page)
    page.clock.install()
    lose_answers(page)
    send(page)
    let_time_pass(page, heading(page, "Your report is waiting"))
    assert len(counted(live)) == 1
    assert len(posted(found)) > 1
    page.unroute("**/reports")
    with page.expect_response("**/reports") as answered:
        let_time_pass(page, heading(page, "Thank you"))
    assert answered.value.json() == {"accepted": 0, "duplicates": 1}
    assert len(bodies(found)) == 1
    assert counted(live) == [shown_report(page)]
    assert "hush" not in found.traffic()


def test_a_page_restored_from_the_cache_shows_and_draws_nothing(live, origin, copying):
    page = copying.page
    page.add_init_script(NOTE_COPIES)
    page.goto(origin.add(element(live), script(live)))
    copies = []

    def leave_and_come_back(seen):
        page.goto(f"{live.url}/")
        # A page restored from the cache fires no load event to wait for.
        page.go_back(wait_until="commit")
        expect(heading(page, seen)).to_be_visible()
        copies.append(page.evaluate("copies.at(-1)"))
        shows_nothing_of_anybody(page)

    answer(page)
    leave_and_come_back("Before you begin")
    begin(page)
    expect(page.get_by_role("radio").first).to_be_visible()
    assert page.locator("input:checked").count() == 0
    answer_and_send(page)
    report = shown_report(page)
    for _ in range(2):
        leave_and_come_back(ANSWERED)
    assert len(copies) == 3
    assert all("Loading" in copy and "<dd" not in copy for copy in copies)
    assert counted(live) == [report]
    assert len(posted(copying)) == 1
    assert "hush" not in copying.traffic()
