"""Results in the words of people."""

from datetime import UTC, datetime

import msgspec
import numpy as np
import pytest
from halftruth_collector.analyses import ANALYSES, Counted
from halftruth_collector.analyses.labels import Labels, labelled
from halftruth_collector.estimation import Counts
from halftruth_shared import Attribute, GammaDiagonal, RandomizedResponse, Schema, Survey
from halftruth_shared.errors import HalftruthError

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
    reports = SURVEY.mechanism.perturb_many(SCHEMA, records, rng)
    counts, as_of = Counts.from_reports(SURVEY, reports), datetime(2026, 11, 1, tzinfo=UTC)
    return Counted(SURVEY, counts, as_of, min_reports=1)


@pytest.mark.parametrize("name", [name for name in ANALYSES if name != "counts"])
def test_no_table_chart_or_sentence_says_a_name_that_has_a_label(counted, name):
    analysis = ANALYSES[name]
    try:
        found = analysis.compute(counted, analysis.start(SURVEY))
    except HalftruthError as error:
        pytest.skip(f"not of such reports: {error}")
    before = msgspec.json.encode(found)
    shown = labelled(found, SURVEY)
    grid = analysis.grid(shown)
    said = [*grid.header, *(str(cell) for row in grid.rows for cell in row)]
    if analysis.chart:
        said.append(analysis.chart(shown).description)
    said += [*analysis.warnings(shown), *analysis.interpretation(shown)]
    text = " | ".join(said)
    assert not [name for name in ("smoker", "drinks", "n0", "y1", "n-north") if name in text], text
    # Files keep the names.
    assert msgspec.json.encode(found) == before


def test_labels_that_several_questions_have_are_told_apart():
    same = Schema(
        [
            Attribute("a", ["no", "yes"], label="Which?"),
            Attribute("b", ["no", "yes"], label="Which?"),
            Attribute("c", ["no", "yes"], label="d"),
            Attribute("d", ["no", "yes"], label="Another"),
        ]
    )
    labels = Labels.of(Survey("s", "S", same, GammaDiagonal(19)))
    assert labels.items({"a": "no", "b": "no", "c": "yes", "e": "x"}) == {
        "Which? (a)": "no",
        "Which? (b)": "no",
        "d (c)": "yes",
        "e": "x",
    }
