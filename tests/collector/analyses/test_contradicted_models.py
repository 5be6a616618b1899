"""Models that the reports contradict: by default completed, otherwise not usable."""

from importlib import import_module

import msgspec
import numpy as np
import pytest
from halftruth_collector.analyses import ANALYSES, answer
from halftruth_collector.estimation.model import cached, design
from halftruth_shared import Attribute, Schema, SplitQuestionnaire, Survey
from halftruth_shared.analyses import name_of
from halftruth_shared.results.showing import basis
from sources import source_of

SCHEMA = Schema(
    [
        Attribute(f"q{j}", [f"c{code}" for code in range(size)])
        for j, size in enumerate((2, 2, 2, 3, 2))
    ]
)
SURVEY = Survey("s", "S", SCHEMA, SplitQuestionnaire.for_amplification(SCHEMA, 19, max_length=3))
NAMES = ["q0", "q1", "q2", "q3"]
LACKING = ["q0", "q1", "q2"]


def world(*triples):
    """Shares with all pairwise interactions, and these three-way ones with their sizes."""
    rng = np.random.default_rng(5)
    u = np.indices(SCHEMA.shape)
    # Effects of mean square 1.
    x = [
        2.0 * codes - 1 if size == 2 else (codes - 1) * np.sqrt(1.5)
        for codes, size in zip(u, SCHEMA.shape, strict=True)
    ]
    log = sum(rng.uniform(-0.4, 0.4) * each for each in x)
    log = log + sum(rng.uniform(-0.3, 0.3) * x[i] * x[j] for i in range(5) for j in range(i))
    for size, (i, j, k) in triples:
        log = log + size * x[i] * x[j] * x[k]
    return np.exp(log) / np.exp(log).sum()


TWO_TRIPLES = world((0.5, (0, 1, 2)), (0.3, (1, 3, 4)))


def counted(truth, people, seed):
    rng = np.random.default_rng(seed)
    cells = rng.choice(truth.size, people, p=truth.ravel())
    codes = np.stack(np.unravel_index(cells, truth.shape), axis=1)
    return source_of(SURVEY, codes, rng)


def asked(name, source, **fields):
    return answer(ANALYSES[name], source, ANALYSES[name].query(**fields))


@pytest.fixture(scope="module")
def source():
    return counted(world((0.5, (0, 1, 2))), 5_000, 1)


def test_a_default_model_has_the_interactions_that_the_reports_demand(source):
    result = asked("table", source, attributes=NAMES)
    [added] = result.model_fit.added
    assert (added.attributes, added.p_value) == (LACKING, 1 / 200)
    assert result.model_fit.interactions == []
    assert not result.model_fit.contradicted
    assert result.query.interactions == [LACKING]
    model, why = basis(result)
    assert model.startswith(
        "The model has no interaction of three or more questions besides q0:q1:q2; the reports do"
        " not contradict this assumption"
    )
    assert why == (
        "The interaction q0:q1:q2 was added because the reports speak against the model without"
        " it (p = 0.005)."
    )
    assert (
        ANALYSES["table"]
        .headline(result)
        .startswith("Assuming no interaction of three or more questions besides those named: ")
    )
    assert msgspec.to_builtins(result.model_fit)["added"] == [
        {"attributes": LACKING, "p_value": 0.005}
    ]
    assert "usable" in set(result.estimates.texts("reliability"))


def test_a_completed_query_can_be_repeated_by_name(source):
    result = asked("table", source, attributes=NAMES)
    again = answer(ANALYSES["table"], source, result.query)
    np.testing.assert_array_equal(again.estimates.value, result.estimates.value)
    np.testing.assert_array_equal(again.estimates.lower, result.estimates.lower)
    assert again.model_fit.added == []
    assert [each.attributes for each in again.model_fit.interactions] == [LACKING]


def test_interactions_that_were_named_stay_and_others_are_added(source):
    result = asked("table", source, attributes=NAMES, interactions=[["q0", "q1", "q4"]])
    assert [each.attributes for each in result.model_fit.interactions] == [["q0", "q1", "q4"]]
    assert result.model_fit.added[0].attributes == LACKING


def test_nothing_is_added_to_a_model_that_is_not_contradicted():
    result = asked("table", counted(world(), 5_000, 4), attributes=NAMES)
    assert result.model_fit.added == []
    assert result.query.interactions == []


def test_comparisons_regressions_and_weighted_records_have_the_same_interactions(source):
    within = {"where": {"q2": "c1", "q3": ["c0", "c1"]}}
    for result in (
        asked("comparison", source, answer={"q0": "c1"}, groups="q1", **within),
        asked("regression", source, outcome="q0", predictors=["q1", "q2", "q3"]),
        asked("microdata", source),
    ):
        assert [each.attributes for each in result.model_fit.added] == [LACKING]
        assert set(result.estimates.texts("reliability")) & {"usable", "barely usable"}
        assert result.claims


QUERIES = {
    "table": {"attributes": NAMES},
    "overview": {},
    "comparison": {"answer": {"q0": "c1"}, "groups": "q1"},
    "itemsets": {"min_support": 0.05},
    "rules": {"min_support": 0.05, "min_confidence": 0.5},
    "regression": {"outcome": "q0", "predictors": ["q1", "q2", "q3"]},
}


def check_unusable(result):
    grades = set(result.estimates.texts("reliability")) - {None}
    assert grades == {"not usable"}
    assert (result.tests, result.claims) == ([], [])
    for name in ("statistic", "p_value", "adjusted_p_value"):
        assert np.isnan(result.estimates.numbers(name)).all()
    said = "The reports contradict the model behind these estimates (p = 0.005: q0:q1:q2 is missing"
    shown = ANALYSES[name_of(type(result.query))].present(result)
    assert shown.headline.startswith(said)
    assert shown.headline.endswith("none of them is usable and nothing is concluded from them.")
    # Nothing else says how precise the estimates are.
    assert not [line for line in (*shown.warnings, *shown.notes) if "sable" in line]


@pytest.mark.parametrize("name", QUERIES)
def test_nothing_is_claimed_from_a_chosen_model_that_is_contradicted(source, name):
    result = asked(name, source, estimate="model", **QUERIES[name])
    assert result.model_fit.added == []
    check_unusable(result)


@pytest.mark.parametrize("name", ["table", "regression", "microdata"])
def test_a_default_model_that_stays_contradicted_is_not_usable(source, name, monkeypatch):
    monkeypatch.setattr(cached, "MOST_ADDED", 0)
    result = asked(name, source, **QUERIES.get(name, {}))
    check_unusable(result)
    if name == "microdata":
        assert set(result.column_lists()[0]) == {
            "a combination of answers, no person, by a model that the reports contradict"
        }


def test_no_interaction_is_tested_that_would_make_the_model_too_large(monkeypatch):
    here = counted(world((0.5, (0, 1, 2))), 5_000, 2)
    parameters = here.model().design.parameters
    for module in (design, import_module(f"{cached.__package__}.adequacy")):
        monkeypatch.setattr(module, "MAX_PARAMETERS", parameters)
    result = asked("table", here, attributes=NAMES)
    assert result.model_fit.added == []
    assert basis(result)[0].endswith(
        "was not tested, because a model with such interactions would have too many parameters."
    )


def coverage(people, surveys):
    """Coverage of the default table of four of five questions, and mean number of additions."""
    true, hits, added = TWO_TRIPLES.sum(axis=4).ravel(), [], []
    for seed in range(1_000, 1_000 + surveys):
        result = asked("table", counted(TWO_TRIPLES, people, seed), attributes=NAMES)
        table = result.estimates
        hits.append(np.mean((table.lower <= true) & (true <= table.upper)))
        added.append(len(result.model_fit.added))
    return np.mean(hits), np.mean(added)


def test_default_tables_cover_three_way_interactions():
    """Without additions, 38 % of these intervals cover."""
    covered, added = coverage(5_000, 5)
    assert covered >= 0.93
    assert added >= 1


@pytest.mark.nightly
@pytest.mark.parametrize("people", [1_000, 3_000, 5_000])
def test_default_tables_cover_three_way_interactions_with_any_number_of_reports(people):
    """The standard error of the coverage is up to 1.8 %; without additions 90, 56 and 38 %."""
    covered, _ = coverage(people, 40)
    assert covered >= 0.93
