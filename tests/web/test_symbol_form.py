"""A form of a mechanism whose report is no record: nothing of the form knows the difference."""

import hashlib
import json
from pathlib import Path

from playwright.sync_api import expect

SYMBOL = (Path(__file__).parent / "symbol.mjs").read_text(encoding="utf-8")

SURVEY = {
    "attributes": [
        {"categories": ["no", "yes"], "name": "smoker"},
        {"categories": ["never", "weekly", "daily"], "name": "drinks"},
    ],
    "id": "symbols",
    "mechanism": {"gamma": "19", "kind": "test-symbol", "size": 13},
    "title": "Symbols",
}


def test_a_report_that_is_one_symbol_is_asked_for_sent_and_shown(live, visit):
    found = visit()
    page = found.page
    canonical = json.dumps(SURVEY, sort_keys=True, separators=(",", ":"))
    published = {
        "survey": SURVEY,
        "digest": hashlib.sha256(canonical.encode()).hexdigest(),
        "status": "open",
        "terms": {"invitations": False, "sealing_key": None},
        "signature": None,
    }
    module = (
        'import { register } from "/js/mechanisms/index.js";\n'
        + SYMBOL.replace("../../client/halftruth_client/js/", "/js/")
        + "register(TestSymbol);\n"
    )
    html = (
        "<!doctype html><html lang='en'><head><title>News</title>"
        f"<script type='module'>{module}</script>"
        "<script type='module' src='/js/form/index.js'></script></head><body><main>"
        "<halftruth-form survey='symbols' max-gamma='19'></halftruth-form></main></body></html>"
    )
    page.route("**/own", lambda route: route.fulfill(body=html, content_type="text/html"))
    page.route("**/v1/surveys/symbols", lambda route: route.fulfill(json=published))
    receipt = {"accepted": 1, "duplicates": 0}
    page.route("**/reports", lambda route: route.fulfill(status=202, json=receipt))
    page.goto(f"{live.url}/own")
    page.get_by_text("The same in exact words").click()
    # 1 + 18 · 3/6 = 10 for an answer of three, where the other one is equally likely either way.
    promise = "A single answer: from 5 % to at most 50 % (γ = 19) for someone who knows all other"
    expect(page.get_by_text(promise.replace(" %", "\u202f%"))).to_be_visible()
    expect(page.get_by_text("(γ = 10) for someone who knows none of them.")).to_be_visible()
    # It has nothing to practise on.
    assert page.get_by_role("button", name="Try it").count() == 0
    page.get_by_role("button", name="Begin").click()
    page.get_by_label("yes").check()
    page.get_by_label("daily").check()
    page.get_by_role("button", name="Continue").click()
    with page.expect_request("**/reports") as waited:
        page.get_by_role("button", name="Send a report").click()
    ((symbol,),) = [report["values"] for report in json.loads(waited.value.post_data)["reports"]]
    assert 0 <= symbol < 13
    expect(page.get_by_role("heading", name="Thank you")).to_be_visible()
    assert page.locator(".card.sent dd").all_text_contents()[-1] == str(symbol)
    assert found.said == []
