"""Whoever leaves and comes back, has no storage or loses the connection draws once all the same."""

import json

import pytest
from playwright.sync_api import Error, expect
from wire import PATIENCE

from .conftest import (
    Visit,
    answer,
    answer_and_send,
    begin,
    counted,
    element,
    heading,
    let_time_pass,
    posted,
    press,
    script,
    send,
    shown_report,
    watch,
)

ANSWERED = "Answered in this browser already"

#: What is in the browser's own copies of a page at the moment in which they are shown again.
NOTE_COPIES = """
window.copies = [];
addEventListener("pageshow", ({ persisted }) => {
  if (persisted) copies.push(document.querySelector("halftruth-form").root.innerHTML);
});
"""

#: Storage that is there and takes nothing more: nothing as long as a report, or no report.
FULL = """
const real = Storage.prototype.setItem;
Storage.prototype.setItem = function (key, text) {
  if (WHEN) throw new DOMException("no room", "QuotaExceededError");
  return real.call(this, key, text);
};
"""

#: Storage of every kind of which each use fails.
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
    """Neither an answer nor a report is in the page."""
    assert page.locator(".card, input:checked").count() == 0
    assert "hush" not in page.locator("halftruth-form").evaluate("(form) => form.root.innerHTML")


def bodies(found):
    """What was sent, each once."""
    return {line[line.index('{"digest"') :] for line in posted(found)}


@pytest.fixture
def copying(chromium):
    """A page of a browser that keeps copies of pages that were left, as people's browsers do."""
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
    """A page of a browser whose owner forbade all sites to keep anything."""
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
    """Let reports through to the collector, and none of its answers back."""

    def lose(route):
        route.fetch()
        route.abort()

    page.route("**/reports", lose)


def draws_once_without_storage(found, live):
    page = found.page
    page.goto(f"{live.url}/s/work")
    answer(page)
    expect(page.get_by_text("This browser keeps nothing for this page")).to_be_visible()
    page.clock.install()
    lose_answers(page)
    send(page)
    let_time_pass(page, heading(page, "Kept for later"))
    expect(page.get_by_text("please leave the page open")).to_be_visible()
    press(page, "Send the same report again")
    let_time_pass(page, heading(page, "Kept for later"))
    # Whoever does otherwise still finds the same report.
    page.reload()
    let_time_pass(page, heading(page, "Kept for later"))
    page.unroute("**/reports")
    let_time_pass(page, heading(page, "Thank you"))
    # In the place that the Back key left the form at, too.
    assert "halftruth:work" in page.evaluate("Object.keys(history.state.halftruth)")
    page.goto(f"{live.url}/")
    page.go_back()
    expect(heading(page, ANSWERED)).to_be_visible()
    shows_nothing_of_anybody(page)
    assert len(counted(live)) == 1
    assert len(bodies(found)) == 1
    assert "hush" not in "\n".join(found.requests + found.said)


#: What is said before the first question, in each language.
FORGETFUL = {
    "en": "This browser keeps nothing for this page. If you open the page's address again, you are"
    " asked again, and a second report would tell more of you. Please answer only once.",
    "de": "Wenn Sie ihre Adresse noch einmal öffnen, werden Sie noch einmal gefragt",
    "es": "Si vuelve a abrir su dirección, se le preguntará de nuevo",
    "fr": "Si vous ouvrez de nouveau son adresse, les questions vous seront posées de nouveau",
}


def test_where_a_second_visit_would_draw_again_this_is_said_before_anything_is_asked(live, visit):
    page = visit().page
    page.add_init_script(BROKEN)
    page.goto(f"{live.url}/s/work")
    expect(heading(page, "Before you begin")).to_be_visible()
    for language, said in FORGETFUL.items():
        page.evaluate("(tag) => { document.querySelector('halftruth-form').lang = tag; }", language)
        expect(page.get_by_text(said)).to_be_visible()


def test_where_sites_may_keep_nothing_one_report_is_drawn_and_sent(live, without_site_data):
    without_site_data.page.goto(live.url)
    with pytest.raises(Error, match="SecurityError"):
        without_site_data.page.evaluate("localStorage.length")
    draws_once_without_storage(without_site_data, live)


def test_where_storage_is_full_one_report_is_drawn_and_sent(live, visit):
    found = visit()
    found.page.add_init_script(FULL.replace("WHEN", "text.length > 20"))
    draws_once_without_storage(found, live)


def test_a_full_storage_still_knows_who_answered(live, visit):
    found = visit(f"{live.url}/s/work")
    page = found.page
    answer_and_send(page)
    report = shown_report(page)
    page.add_init_script(FULL.replace("WHEN", "text.length > 20"))
    page.reload()
    expect(heading(page, ANSWERED)).to_be_visible()
    assert counted(live) == [report]


def test_where_there_is_no_room_for_a_report_nothing_is_sent_and_the_page_says_so(live, visit):
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


def test_an_answer_that_is_lost_on_its_way_back_is_asked_for_with_the_same_report(live, visit):
    found = visit(f"{live.url}/s/work")
    page = found.page
    answer(page)
    page.clock.install()
    lose_answers(page)
    send(page)
    let_time_pass(page, heading(page, "Kept for later"))
    assert len(counted(live)) == 1
    assert len(posted(found)) > 1
    page.unroute("**/reports")
    with page.expect_response("**/reports") as answered:
        let_time_pass(page, heading(page, "Thank you"))
    assert answered.value.json() == {"accepted": 0, "duplicates": 1}
    assert len(bodies(found)) == 1
    assert counted(live) == [shown_report(page)]
    assert "hush" not in found.traffic()


def test_a_page_that_a_browser_brings_back_shows_and_draws_nothing_again(live, origin, copying):
    page = copying.page
    page.add_init_script(NOTE_COPIES)
    page.goto(origin.add(element(live), script(live)))
    copies = []

    def leave_and_come_back(seen):
        page.goto(f"{live.url}/")
        # Of a copy nothing is loaded that could be waited for.
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
