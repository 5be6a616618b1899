"""Labels of questions and answers in results."""

from types import SimpleNamespace

import numpy as np
import pytest
from halftruth_collector.analyses import ANALYSES, answer
from halftruth_collector.analyses.labels import labels_of
from halftruth_shared import Attribute, RandomizedResponse, Schema, Survey
from halftruth_shared.analyses.measures import MeasuresQuery
from halftruth_shared.columns import encode
from halftruth_shared.results import base
from halftruth_shared.results.showing import assumptions
from sources import source_of

QUESTIONS = {"smoker": "Do you smoke?", "drinks": "Alcohol at work", "place": "Wo leben Sie?"}
ANSWERS = {"n0": "not at all", "y1": "every day", "n-north": "im Norden"}
SCHEMA = Schema(
    [
        Attribute(
            "smoker", ["n0", "y1"], label=QUESTIONS["smoker"],
            answers={"n0": ANSWERS["n0"], "y1": ANSWERS["y1"]},
        ),
        Attribute("drinks", ["never", "weekly", "daily"], label=QUESTIONS["drinks"]),
        Attribute(
            "place", ["n-north", "s-south"], label=QUESTIONS["place"],
            answers={"n-north": ANSWERS["n-north"]},
        ),
    ]
)  # fmt: skip
KEPT = RandomizedResponse({"smoker": "9/10", "drinks": "9/10", "place": "9/10"})
SURVEY = Survey("work", "Health at work", SCHEMA, KEPT)


@pytest.fixture(scope="module")
def counted():
    rng = np.random.default_rng(5)
    smoker = rng.integers(0, 2, 9_000)
    drinks = np.where(rng.random(9_000) < 0.3, rng.integers(0, 3, 9_000), smoker)
    records = np.stack([smoker, drinks, rng.integers(0, 2, 9_000)], axis=1)
    return source_of(SURVEY, records, rng)


@pytest.mark.parametrize("name", ANALYSES)
def test_tables_charts_and_sentences_use_labels_instead_of_names(counted, name):
    analysis = ANALYSES[name]
    found = answer(analysis, counted, analysis.start(SURVEY))
    before = encode(found)
    labels = labels_of(SURVEY, found.query)
    grid = analysis.present(found, labels).grid
    said = [*grid.header, *(str(cell) for row in grid.rows for cell in row)]
    if analysis.pictured:
        said.append(analysis.chart(found, labels).description)
    text = " | ".join(said)
    assert not [name for name in ("smoker", "drinks", "n0", "y1", "n-north") if name in text], text
    # Files keep the names.
    assert encode(found) == before


LONG = Schema(
    [
        Attribute(
            "theft",
            ["no", "yes"],
            label="Have you ever taken something home that belongs to the company?",
            short={"en": "Taken home", "de": "Mitgenommen"},
            answers={"yes": "yes, once or several times in the last twelve months"},
            short_answers={"yes": "at least once"},
        ),
        Attribute("a", ["x", "y"], label="How satisfied are you, all in all, with your work?"),
        Attribute("b", ["x", "y"], label="How satisfied are you, all in all, with your pay?"),
        Attribute(
            "c",
            ["x", "y"],
            label="Donaudampfschifffahrtsgesellschaftskapitän?",
            answers={
                "x": "never in the whole of my life so far, not once",
                "y": "never in the whole of my life so far, but once",
            },
        ),
    ]
)


def test_questions_with_long_labels_have_their_names_and_answers_the_words_in_which_they_differ():
    survey = Survey(
        "s", "S", LONG, RandomizedResponse(dict.fromkeys("abc", "0.9") | {"theft": "0.9"})
    )
    labels = labels_of(survey, None, "de")
    assert labels.questions == {
        "theft": "Mitgenommen",
        "a": "a",
        "b": "b",
        "c": "c",
    }
    assert labels.answers["theft"] == {"no": "no", "yes": "at least once"}
    assert labels.answers["c"] == {
        "x": "never in the… far, not once",
        "y": "never in the… far, but once",
    }
    assert Survey.from_json(survey.canonical_json).schema == LONG


def test_equal_labels_are_distinguished_by_names():
    same = Schema(
        [
            Attribute("a", ["no", "yes"], label="Which?"),
            Attribute("b", ["no", "yes"], label="Which?"),
            Attribute("c", ["no", "yes"], label="d"),
            Attribute("d", ["no", "yes"], label="Another"),
        ]
    )
    survey = Survey("s", "S", same, RandomizedResponse(dict.fromkeys("abcd", "0.9")))
    assert labels_of(survey).labelled({"a": "no", "b": "no", "c": "yes", "e": "x"}) == {
        "Which? (a)": "no",
        "Which? (b)": "no",
        "d (c)": "yes",
        "e": "x",
    }


def test_pairs_that_depend_on_each_other_by_design_have_labels():
    schema = Schema(
        [
            Attribute("smoker", ["no", "yes"], label="Do you smoke?"),
            Attribute("daily", ["few", "many"], label="How many?", ask_if={"smoker": ["yes"]}),
        ]
    )
    survey = Survey("s", "S", schema, RandomizedResponse({"smoker": "0.9", "daily": "0.9"}))
    rng = np.random.default_rng(1)
    smoker = rng.integers(0, 2, 2_000)
    records = np.column_stack([smoker, np.where(smoker == 1, rng.integers(0, 2, 2_000), 2)])
    found = answer(ANALYSES["measures"], source_of(survey, records, rng), MeasuresQuery())
    notes = ANALYSES["measures"].present(found, labels_of(survey)).notes
    assert any(note.startswith("Not tested: “Do you smoke?” and “How many?”.") for note in notes)


def test_an_interaction_to_try_is_named_as_the_form_accepts_it():
    attributes = ["smoker", "drinks", "place"]
    lacking = base.TestedInteraction(attributes=attributes, p_value=0.01)
    fit = base.ModelFit(
        attributes=attributes, interactions=[], converged=True, p_value=0.01, clearest=lacking
    )
    result = SimpleNamespace(contradictions=[], model_fit=fit)
    [said] = assumptions(result, labels_of(SURVEY))
    assert "strongest evidence: “Do you smoke?”:“Alcohol at work”:“Wo leben Sie?”" in said
    assert said.endswith("Try interactions = smoker,drinks,place.")
