"""The form while a collector is unreachable: messages, requests and stored data."""

import json

from halftruth_collector import operations
from halftruth_shared import Attribute, GammaDiagonal, Schema, Survey
from playwright.sync_api import expect

from .conftest import (
    REGIONS,
    SCHEMA,
    answer,
    begin,
    counted,
    heading,
    posted,
    send,
    shown_report,
)

#: All kinds of storage that a browser has for an origin.
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


def codes(report):
    return list(SCHEMA.encode(dict(zip(SCHEMA.names, report, strict=True))))


def test_only_the_displayed_report_is_sent_and_stored(live, visit):
    found = visit(f"{live.url}/s/work")
    page = found.page
    kept = page.evaluate(KEPT)
    assert not any(kept[place] for place in ("local", "session", "cookies"))
    answer(page)
    # Neither answers nor a draw are stored before sending, only the page number for the Back key.
    assert page.evaluate(KEPT) == kept | {"history": {"halftruth-page": 3}}
    assert posted(found) == []
    with page.expect_request("**/reports") as waited:
        send(page)
    expect(heading(page, "Thank you")).to_be_visible()
    sent = json.loads(waited.value.post_data)
    assert sent.keys() == {"digest", "reports"}
    (one,) = sent["reports"]
    assert one.keys() == {"id", "values"}
    assert one["values"] == codes(shown_report(page))
    assert not {"cookie", "referer"} & waited.value.all_headers().keys()
    page.wait_for_function("history.state['halftruth-page'] === 0")
    after = page.evaluate(KEPT)
    local = {key: json.loads(text) for key, text in after.pop("local").items()}
    kept_report = {"digest": sent["digest"], **one, "collector": live.url, "sent": True}
    cost = {"gamma": "19", "questions": dict.fromkeys(SCHEMA.names, "19"), "series": None}
    entry = {"survey": "work", "digest": sent["digest"], **cost}
    assert local == {"halftruth:work": kept_report, "halftruth-ledger": [entry]}
    kept.pop("local")
    assert after == kept | {"history": {"halftruth-page": 0}}
    # The answers are shown beside the report until the page is left.
    stayed = page.locator(":not(details) > .card:not(.sent, .ledger) dd").all_text_contents()
    assert stayed == ["yes-hush", "weekly-hush", REGIONS[2]]
    page.reload()
    expect(heading(page, "Already answered in this browser")).to_be_visible()
    assert "hush" not in page.locator("halftruth-form").evaluate("(form) => form.root.innerHTML")
    assert len(posted(found)) == 1


def test_two_tabs_send_one_report(live, visit):
    first = visit(f"{live.url}/s/work").page
    second = first.context.new_page()
    second.goto(f"{live.url}/s/work")
    answer(second, smoker="yes-hush")
    # Background tabs render slowly, which delays clicks.
    first.bring_to_front()
    answer(first, smoker="no-hush")
    send(first)
    expect(heading(first, "Thank you")).to_be_visible()
    second.bring_to_front()
    send(second)
    # The report belongs to the other tab's answers, so this one shows none.
    expect(heading(second, "Already answered in this browser")).to_be_visible()
    assert second.locator(".card:not(.ledger)").count() == 0
    assert counted(live) == [shown_report(first)]


def test_the_page_shows_a_notice_if_the_script_fails_to_load(live, visit):
    page = visit().page
    for scripts in ("**/js/**", "**/form/**"):
        page.route(scripts, lambda route: route.abort())
    page.goto(f"{live.url}/s/work")
    expect(page.locator("halftruth-form")).to_contain_text("script")


def test_names_that_extend_other_names_keep_their_labels(live, store, visit):
    many = [str(number) for number in range(9)]
    schema = Schema(
        [
            Attribute("a", ["no", "yes"], label="First?", help="Of two."),
            Attribute("a-help", many, label="Second?", help="Of nine."),
        ]
    )
    operations.publish_survey(store, Survey("alike", "Alike", schema, GammaDiagonal(19)))
    page = visit(f"{live.url}/s/alike").page
    begin(page)
    expect(page.get_by_label("yes")).to_be_visible()
    assert page.get_by_role("combobox", name="Second?").count() == 1
    assert page.get_by_role("group", name="First?").count() == 1
