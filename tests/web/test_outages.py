"""What a person is told while a collector is away, and what is on its way and kept then."""

import json
import threading
from contextlib import contextmanager

import pytest
from halftruth_collector.api import create_app
from halftruth_collector.config import Config
from halftruth_shared import Attribute, GammaDiagonal, RandomizedResponse, Schema, Survey
from playwright.sync_api import expect
from werkzeug.serving import make_server

from .conftest import SCHEMA
from .test_hosted_form import answer, counted, send, shown_report

#: All that a browser can keep of an origin, by what it is kept in.
KEPT = """
async () => ({
  local: { ...localStorage },
  session: { ...sessionStorage },
  cookies: document.cookie,
  databases: await indexedDB.databases(),
  caches: await caches.keys(),
  workers: (await navigator.serviceWorker.getRegistrations()).length,
  address: location.href,
  history: history.state,
})
"""


@contextmanager
def serving(database, port=0):
    """A collector of its own, with nothing on its port before and after; the value is the port."""
    app = create_app(Config(database=database))
    server = make_server("127.0.0.1", port, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield server.port
    server.shutdown()
    thread.join()
    server.server_close()
    app.extensions["halftruth"].store.close()


def let_time_pass(page, sign):
    """Run the clock of a page until something is to be seen, so that nobody waits for it."""
    for _ in range(40):
        page.clock.run_for(1_000)
        if sign.count():
            return
    expect(sign).to_be_visible()


def heading(page, name):
    return page.get_by_role("heading", name=name)


def codes(report):
    return list(SCHEMA.encode(dict(zip(SCHEMA.names, report, strict=True))))


def posted(found):
    return [line for line in found.requests if line.startswith("POST")]


def test_a_report_outlives_a_collector_that_ends_and_starts_again(database, store, survey, visit):
    store.surveys.publish(survey)
    found = visit()
    page = found.page
    page.clock.install()
    with serving(database) as port:
        page.goto(f"http://127.0.0.1:{port}/s/work")
        answer(page)
        report = shown_report(page)
    send(page)
    let_time_pass(page, heading(page, "Kept for later"))
    assert store.reports.counts("work")[1].reports == 0
    with serving(database, port):
        let_time_pass(page, heading(page, "Thank you"))
    counts = store.reports.counts("work")[1]
    assert counts.cells.tolist() == [codes(report)]
    assert counts.counts.tolist() == [1]
    assert "hush" not in found.traffic()


def test_a_page_says_that_a_survey_cannot_be_reached_and_tries_again(live, visit):
    found = visit()
    page = found.page
    page.clock.install()
    page.route("**/v1/**", lambda route: route.abort())
    page.goto(f"{live.url}/s/work")
    let_time_pass(page, heading(page, "The survey cannot be reached"))
    assert found.violations() == []
    page.unroute("**/v1/**")
    page.get_by_role("button", name="Try again").click()
    expect(heading(page, "Habits (1 of 2)")).to_be_visible()


def test_exactly_the_shown_report_is_sent_and_kept_and_nothing_else(live, visit):
    found = visit(f"{live.url}/s/work")
    page = found.page
    kept = page.evaluate(KEPT)
    assert not any(kept[place] for place in ("local", "session", "cookies"))
    answer(page)
    report = shown_report(page)
    # Neither answers nor draws are kept before they are sent.
    assert page.evaluate(KEPT) == kept
    assert posted(found) == []
    with page.expect_request("**/reports") as waited:
        send(page)
    expect(heading(page, "Thank you")).to_be_visible()
    sent = json.loads(waited.value.post_data)
    assert sent.keys() == {"digest", "reports"}
    (one,) = sent["reports"]
    assert one.keys() == {"id", "values"}
    assert one["values"] == codes(report)
    assert not {"cookie", "referer"} & waited.value.all_headers().keys()
    after = page.evaluate(KEPT)
    ((key, text),) = after.pop("local").items()
    assert key == f"halftruth:{live.url}:work"
    assert json.loads(text) == {"digest": sent["digest"], **one, "sent": True}
    kept.pop("local")
    assert after == kept
    assert len(posted(found)) == 1


def test_the_page_forgets_the_answers_once_they_are_sent(live, visit):
    page = visit(f"{live.url}/s/work").page
    answer(page)
    send(page)
    expect(heading(page, "Thank you")).to_be_visible()
    left = page.locator("halftruth-form").evaluate(
        "(form) => form.shadowRoot.innerHTML + JSON.stringify([...form.answers, ...form.drawn])"
    )
    assert "hush" not in left


def test_an_impatient_person_sends_one_report(live, visit):
    found = visit(f"{live.url}/s/work")
    page = found.page
    answer(page)
    report = shown_report(page)
    page.get_by_role("button", name="Send this report").evaluate(
        "(button) => { for (let i = 0; i < 5; i += 1) button.click(); }"
    )
    expect(heading(page, "Thank you")).to_be_visible()
    assert counted(live) == [report]
    assert len(posted(found)) == 1


def test_two_tabs_of_one_person_make_one_report(live, visit):
    first = visit(f"{live.url}/s/work").page
    second = first.context.new_page()
    second.goto(f"{live.url}/s/work")
    answer(second, smoker="yes-hush")
    # A tab in the background draws slowly, and clicks wait for that.
    first.bring_to_front()
    answer(first, smoker="no-hush")
    report = shown_report(first)
    send(first)
    expect(heading(first, "Thank you")).to_be_visible()
    second.bring_to_front()
    send(second)
    expect(heading(second, "Thank you")).to_be_visible()
    assert counted(live) == [report]


def test_a_busy_collector_is_not_asked_before_its_time_and_the_person_is_told(live, visit):
    found = visit()
    page = found.page
    page.clock.install()
    page.goto(f"{live.url}/s/work")
    answer(page)
    busy = {"status": 429, "headers": {"Retry-After": "30"}, "body": "{}"}
    page.route("**/reports", lambda route: route.fulfill(**busy))
    send(page)
    # At once, and not after the half minute that the collector asks for.
    expect(heading(page, "Kept for later")).to_be_visible()
    page.unroute("**/reports")
    page.clock.run_for(25_000)
    assert len(posted(found)) == 1
    with page.expect_request("**/reports"):
        let_time_pass(page, heading(page, "Thank you"))
    assert len(posted(found)) == 2
    assert len(counted(live)) == 1


def test_a_tab_that_waits_notices_that_another_one_sent_the_report(live, visit):
    page = visit().page
    page.clock.install()
    page.goto(f"{live.url}/s/work")
    answer(page)
    page.route("**/reports", lambda route: route.abort())
    send(page)
    let_time_pass(page, heading(page, "Kept for later"))
    other = page.context.new_page()
    other.goto(f"{live.url}/s/work")
    expect(heading(other, "Thank you")).to_be_visible()
    page.clock.run_for(30_000)
    expect(heading(page, "Thank you")).to_be_visible(timeout=1_000)


def test_a_report_that_came_too_late_is_told(live, visit):
    page = visit().page
    page.clock.install()
    page.goto(f"{live.url}/s/work")
    answer(page)
    page.route("**/reports", lambda route: route.abort())
    send(page)
    let_time_pass(page, heading(page, "Kept for later"))
    live.store.surveys.close("work")
    page.unroute("**/reports")
    with page.expect_response("**/reports"):
        page.clock.run_for(6_000)
    expect(page.get_by_text("closed")).to_be_visible(timeout=1_000)
    assert heading(page, "Kept for later").count() == 0


def test_where_the_script_does_not_load_the_page_says_so(live, visit):
    page = visit().page
    page.route("**/js/**", lambda route: route.abort())
    page.goto(f"{live.url}/s/work")
    expect(page.locator("halftruth-form")).to_contain_text("script", timeout=1_000)


@pytest.fixture
def mixed(store):
    """A survey with a town that is sent as it is."""
    schema = Schema(
        [
            Attribute("smoker", ["no", "yes"], label="Do you smoke?"),
            Attribute("town", ["Ash", "Birch"], label="Town", sensitive=False),
        ]
    )
    keep = {"smoker": "0.9", "town": "1"}
    store.surveys.publish(Survey("mixed", "Mixed", schema, RandomizedResponse(keep)))


def test_no_more_is_promised_than_holds_where_an_answer_is_sent_as_it_is(live, mixed, visit):
    page = visit(f"{live.url}/s/mixed").page
    page.get_by_label("yes").check()
    page.get_by_label("Birch").check()
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_text("without any change: Town")).to_be_visible()
    # 9 · 0.05 / (0.95 + 9 · 0.05) = 0.3214…, rounded up; it holds for the other answers alone.
    expect(page.get_by_text("32.2\u202f%")).to_be_visible()
    assert page.get_by_text("Your answers stay here").count() == 0
    send(page)
    expect(heading(page, "Thank you")).to_be_visible()
    assert page.get_by_text("What you really answered never left this device").count() == 0


def test_no_more_is_promised_than_holds_where_an_answer_is_hardly_changed(live, store, visit):
    schema = Schema(
        [
            Attribute("smoker", ["no", "yes"], label="Do you smoke?"),
            Attribute("town", ["Ash", "Birch"], label="Town", sensitive=False),
        ]
    )
    keep = {"smoker": "0.9", "town": "0.999"}
    store.surveys.publish(Survey("mixed", "Mixed", schema, RandomizedResponse(keep)))
    page = visit(f"{live.url}/s/mixed").page
    page.get_by_label("yes").check()
    page.get_by_label("Birch").check()
    page.get_by_role("button", name="Continue").click()
    expect(heading(page, "Nothing has been sent yet")).to_be_visible()
    # Of the town, a report makes 5 % as much as 999 · 0.05 / (0.95 + 999 · 0.05) = 98.1 %.
    assert page.get_by_text("likely of you, the report can at most make it 32.2").count() == 0


def test_questions_keep_their_names_whatever_they_are_called(live, store, visit):
    many = [str(number) for number in range(9)]
    schema = Schema(
        [
            Attribute("a", ["no", "yes"], label="First?", help="Of two."),
            Attribute("a-help", many, label="Second?", help="Of nine."),
        ]
    )
    store.surveys.publish(Survey("alike", "Alike", schema, GammaDiagonal(19)))
    page = visit(f"{live.url}/s/alike").page
    expect(page.get_by_label("yes")).to_be_visible()
    assert page.get_by_role("combobox", name="Second?").count() == 1
    assert page.get_by_role("group", name="First?").count() == 1
