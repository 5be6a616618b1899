"""The hosted form of a survey that promises by answer: refused by default, asked by a setting."""

import dataclasses

import msgspec
from halftruth_collector import operations
from halftruth_shared import Protection, RandomizedResponse, Survey
from playwright.sync_api import expect

from .conftest import (
    SCHEMA,
    answer_and_send,
    anyone_can_use,
    counted,
    heading,
    posted,
    shown_report,
)

MECHANISM = RandomizedResponse.for_answers(SCHEMA, 5)
SURVEY = Survey("work", "Health at work", SCHEMA, MECHANISM, promise="answer")


def test_the_form_asks_only_by_the_operators_setting_and_states_both_figures(live, visit):
    operations.publish_survey(live.store, SURVEY)
    found = visit()
    page = found.page
    page.goto(f"{live.url}/s/work")
    expect(heading(page, "You cannot answer this survey here")).to_be_visible()
    expect(page.locator("halftruth-form")).to_contain_text("(maxGamma)")
    assert posted(found) == []
    service = live.app.extensions["halftruth"]
    config = msgspec.structs.replace(service.config, max_answer_gamma="5")
    live.app.extensions["halftruth"] = dataclasses.replace(service, config=config)
    page.reload()
    assert Protection.of(SURVEY).answer.gamma <= 5 < 19 < Protection.of(SURVEY).record.gamma
    both = (
        "If someone knows all your other answers, the number rises from 5 to at most 21 of 100."
        " Someone who does not know them can learn more if answers are related: at most 87 of 100."
    )
    expect(page.locator(".happens li").first).to_have_text(both)
    # The bars are those of the record.
    assert page.locator(".figures strong").all_text_contents() == ["5", "at most 87", "100"]
    anyone_can_use(found, "promise-by-answer")
    answer_and_send(page)
    assert counted(live) == [shown_report(page)]
    page.get_by_text("Reports from this browser so far, at this web address").click()
    card = page.locator(".counted")
    expect(card).to_contain_text("All protected answers to all surveys, in one report")
    expect(card).to_contain_text("to someone who already knows the other answers")
