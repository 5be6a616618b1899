"""Every kind of question in four languages: designed on a page, answered in a browser, counted."""

from collections import Counter

import pytest
from every_kind import (
    CATEGORIES,
    FILE,
    LANGUAGES,
    answer,
    answer_by_keyboard,
    category,
    design,
    next_person,
    people,
    survey,
    unprotected,
)
from halftruth_shared import Survey
from halftruth_shared.protocol.terms import Terms

from .conftest import sign_in

# By day a designer of fewer kinds and a form in one language are gone through.
pytestmark = pytest.mark.nightly

#: What each language asks first.
FIRST = {language: Survey.from_toml(FILE).schema.attributes[0].label_in(language)
         for language in LANGUAGES}  # fmt: skip


def test_a_survey_is_designed_with_controls_as_its_file_says(live, visit):
    design(sign_in(visit(f"{live.url}/operate/design"), live).page)
    assert live.store.surveys.get("every-kind").survey().digest == survey().digest


def test_left_out_not_asked_and_several_answers_are_counted_as_people_gave_them(live, visit):
    asked = unprotected()
    live.store.surveys.publish(asked, terms=Terms(shared_devices=True))
    records = people(12, seed=3)
    for place, language in enumerate(LANGUAGES):
        page = visit(f"{live.url}/s/every-kind", locale=language).page
        by_keyboard, *others = records[place :: len(LANGUAGES)]
        answer_by_keyboard(page, by_keyboard)
        next_person(page)
        assert {each[0] for each in answer(page, others)} == {FIRST[language]}
    _, counts, _ = live.store.reports.counts("every-kind")
    found = {
        tuple(asked.schema.decode(cell).values()): count
        for cell, count in zip(counts.cells.tolist(), counts.counts.tolist(), strict=True)
    }
    assert found == Counter(tuple(category(r, n) for n in CATEGORIES) for r in records)
