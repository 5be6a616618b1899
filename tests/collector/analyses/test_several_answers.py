"""Multiple-response questions, against NumPy on unperturbed records."""

from functools import partial
from itertools import product

import numpy as np
import pytest
from halftruth_collector.analyses import ANALYSES, answer
from halftruth_collector.analyses.labels import labels_of
from halftruth_collector.analyses.overview import NONE
from halftruth_shared import (
    Attribute,
    GammaDiagonal,
    HalftruthError,
    RandomizedResponse,
    Schema,
    SplitQuestionnaire,
    Survey,
)
from halftruth_shared.attribute import MultipleResponse
from sources import counts_of, source_of

OPTIONS = ("cough", "fever", "rash")
NAMES = [f"symptoms.{option}" for option in OPTIONS]


def schema_of(*, sensitive):
    question = MultipleResponse("symptoms", "Which symptoms do you have?")
    return Schema(
        (
            Attribute("town", ("big", "small"), sensitive=sensitive),
            *(
                Attribute(
                    name, ("no", "yes"), ("yes",), sensitive, option.title(),
                    question=question, optional=True,
                )
                for name, option in zip(NAMES, OPTIONS, strict=True)
            ),
        )
    )  # fmt: skip


SCHEMA, OPEN = schema_of(sensitive=True), schema_of(sensitive=False)
UNPERTURBED = Survey("s", "S", OPEN, RandomizedResponse(dict.fromkeys(OPEN.names, "1")))
SURVEYS = {
    mechanism.kind: Survey("s", "S", SCHEMA, mechanism)
    for mechanism in (
        SplitQuestionnaire.designed(SCHEMA, "19", (), {1: 1.0, 2: 1.0, 3: 1.0}),
        RandomizedResponse({"town": "0.9", **dict.fromkeys(NAMES, "0.85")}),
        GammaDiagonal("19"),
    )
}


def people(count=4_000):
    """Codes of `count` people: cough makes fever likelier, and a tenth do not answer."""
    rng = np.random.default_rng(1)
    town, cough, rash = rng.random((3, count)) < [[0.4], [0.5], [0.4]]
    fever = rng.random(count) < 0.2 + 0.4 * cough
    codes = np.stack([town, cough, fever, rash], axis=1).astype(int)
    codes[rng.random(count) < 0.1, 1:] = 2
    return codes


def asked(analysis, survey, reports, **query):
    of = ANALYSES[analysis]
    return answer(of, source_of(survey, reports), of.query(**query))


unperturbed = partial(asked, survey=UNPERTURBED)


def values_of(found, quantity="share", question="symptoms"):
    rows = (found.rows[place] for place in found.places(quantity, question=question))
    return {row["answer"]: row.value for row in rows}


def truths(codes):
    """Shares of each option and of no option, and the mean number, among those who answered."""
    chosen = codes[codes[:, 1] < 2, 1:] == 1
    shares = dict(zip(OPTIONS, chosen.mean(axis=0), strict=True))
    return {**shares, NONE: (~chosen.any(axis=1)).mean(), "mean": chosen.sum(axis=1).mean()}


def test_the_overview_has_the_shares_of_options_and_of_none_and_the_mean_number():
    codes = people()
    for query in ({}, {"attributes": ["town", "symptoms"]}):
        found = unperturbed("overview", reports=codes, missing="exclude", **query)
        assert [*dict.fromkeys(found.key("question").values)] == ["town", "symptoms"]
    rows = ANALYSES["overview"].present(found, labels_of(UNPERTURBED)).grid.rows
    assert [(cell.above or cell.text) for cell in rows[2][:2]] == [
        "Which symptoms do you have?",
        "Cough",
    ]
    expected, mean = truths(codes), found.find("mean_number")
    assert mean.value == pytest.approx(expected.pop("mean"))
    assert values_of(found) == pytest.approx(expected)
    number = (codes[codes[:, 1] < 2, 1:] == 1).sum(axis=1)
    error = number.std(ddof=1) / np.sqrt(len(number))
    assert mean.standard_error == pytest.approx(error, rel=1e-3)
    # The share of missing answers refers to all people.
    silent = (codes[:, 1] == 2).mean()
    assert values_of(found, "missing") == pytest.approx({"no answer": silent})
    error = np.sqrt(silent * (1 - silent) / len(codes))
    assert found.find("missing").standard_error == pytest.approx(error, rel=1e-3)


def test_the_overview_is_about_all_people_if_missing_answers_are_kept():
    codes = people()
    found = unperturbed("overview", reports=codes)
    shares = {name: (codes[:, j] == 1).mean() for j, name in enumerate(OPTIONS, 1)}
    assert values_of(found) == pytest.approx(
        {**shares, NONE: (codes[:, 1:] == 0).all(axis=1).mean()}
    )
    assert found.find("mean_number").value == pytest.approx(truths(codes)["mean"])


def test_the_overview_of_people_with_one_option_has_the_shares_of_the_others():
    codes = people()
    found = unperturbed("overview", reports=codes, where={NAMES[0]: "yes"}, missing="exclude")
    coughing = codes[codes[:, 1] == 1, 2:] == 1
    assert values_of(found) == pytest.approx(
        dict(zip(OPTIONS[1:], coughing.mean(axis=0), strict=True))
    )
    assert len(found.places("mean_number")) == 0


def test_the_share_of_no_option_is_omitted_if_no_view_covers_all_options():
    survey = Survey("s", "S", SCHEMA, SplitQuestionnaire.designed(SCHEMA, "19", (), {1: 1, 2: 1}))
    counts = counts_of(survey, people(), np.random.default_rng(3))
    found = asked("overview", survey, counts)
    assert [*values_of(found)] == [*OPTIONS]
    said = [caveat.sentence for caveat in found.caveats]
    assert "symptoms: the reports do not show how many chose no option." in said
    guess = asked("overview", survey, counts, estimate="likelihood")
    assert guess.estimates.texts("quantity").levels == ("share",)


@pytest.mark.parametrize("missing", ["keep", "exclude"])
@pytest.mark.parametrize("percentages", ["row", "column", "joint"])
@pytest.mark.parametrize("attributes", [["symptoms", "town"], ["town", "symptoms"]])
def test_a_crosstab_has_the_cells_of_the_crosstab_of_each_option(attributes, percentages, missing):
    codes, query = people(), {"percentages": percentages, "missing": missing}
    asked = {"reports": codes, "covariance": True, **query}
    found = unperturbed("crosstab", attributes=attributes, **asked)
    places = {}
    for place in found.places("share").tolist():
        places[found.rows[place]["symptoms"], found.rows[place]["town"]] = place
    p_values = []
    for name, option in zip(NAMES, OPTIONS, strict=True):
        one = [name if each == "symptoms" else each for each in attributes]
        by_itself = unperturbed("crosstab", attributes=one, **asked)
        p_values.append(by_itself.tests[0].p_value)
        alone = [p for p in by_itself.places("share").tolist() if by_itself.rows[p][name] == "yes"]
        same = [places[option, by_itself.rows[place]["town"]] for place in alone]
        for place, other in zip(alone, same, strict=True):
            cell, expected = found.rows[other], by_itself.rows[place]
            for field in ("value", "interval", "statistic"):
                assert getattr(cell, field) == getattr(expected, field)
            assert people_of(found, cell) == people_of(by_itself, expected)
        assert np.array_equal(
            np.array(found.covariance)[np.ix_(same, same)],
            np.array(by_itself.covariance)[np.ix_(alone, alone)],
        )
    assert len(places) == len(found.places("share")) == 6
    # The covariance between shares of two options is unknown.
    assert found.covariance[places["cough", "big"]][places["fever", "big"]] is None
    assert found.tests[0].p_value == min(1, 3 * min(p_values))
    # In the order of rows and columns, as in tables and files.
    axes = [OPTIONS if name == "symptoms" else ("big", "small") for name in attributes]
    cells = [tuple(row.keys.values()) for row in found.rows if row.quantity == "share"]
    assert cells == [*product(*axes)]
    shown = ANALYSES["crosstab"].present(found, labels_of(UNPERTURBED))
    assert {"Cough", "big"} <= {*shown.grid.header, *(str(row[0]) for row in shown.grid.rows)}
    assert "allows several options" in " ".join(shown.notes)


def people_of(found, cell):
    """Return the number of people of a cell's base, and its interval."""
    return next(
        (row.value, row.interval)
        for row in found.rows
        if row.quantity == "people"
        and all(value in (None, cell[name]) for name, value in row.keys.items())
    )


def test_a_comparison_of_an_option_equals_that_of_its_attribute():
    codes = people()
    for name, option in zip(NAMES, OPTIONS, strict=True):
        of_question, of_option = (
            unperturbed("comparison", reports=codes, answer=given, groups="town")
            for given in ({"symptoms": option}, {name: "yes"})
        )
        assert [*of_question.rows] == [*of_option.rows]
    said = ANALYSES["comparison"].headline(of_question, labels_of(UNPERTURBED))
    assert "Which symptoms do you have? Rash" in said


def test_itemsets_of_a_question_are_those_that_contain_one_of_its_options():
    found = unperturbed("itemsets", reports=people(), min_support=0.1, attribute="symptoms")
    assert len(found.rows) > 0
    assert all({*NAMES} & {*row["itemset"]} for row in found.rows)
    every = unperturbed("itemsets", reports=people(), min_support=0.1)
    with_option = [row for row in every.rows if {*NAMES} & {*row["itemset"]}]
    assert list(found.rows) == with_option


@pytest.mark.parametrize(
    ("analysis", "query", "said"),
    [
        ("overview", {"attributes": ["symptoms", NAMES[1]]}, "attributes: 'symptoms.fever' is nam"),
        ("crosstab", {"attributes": ["symptoms", NAMES[1]]}, "attributes: 'symptoms.fever' is nam"),
        ("comparison", {"answer": {"symptoms": "x"}, "groups": "town"}, "answer: 'symptoms' has n"),
        ("comparison", {"answer": {"town": "big"}, "groups": "symptoms"}, "groups: 'symptoms' is a "
         "question with several answers; expected one of its options: symptoms.cough"),
        ("table", {"attributes": ["symptoms"]}, "attributes: 'symptoms' is a question with"),
        ("overview", {"where": {"symptoms": "cough"}}, "where: 'symptoms' is a question with"),
        ("itemsets", {"min_support": 0.1, "attribute": "symptom"}, "attribute: unknown attribute"),
    ],
)  # fmt: skip
def test_unsupported_uses_of_multiple_response_questions_are_refused_in_one_line(
    analysis, query, said
):
    with pytest.raises(HalftruthError) as error:
        unperturbed(analysis, reports=people(200), **query)
    assert str(error.value).startswith(said)
    assert "\n" not in str(error.value)


def test_a_crosstab_refuses_two_multiple_response_questions_or_one_as_a_layer():
    schema = Schema(
        [
            *(
                Attribute(f"{n}.x", ("no", "yes"), ("yes",), question=MultipleResponse(n))
                for n in "ab"
            ),
            Attribute("c", ("no", "yes")),
            Attribute("d", ("no", "yes")),
        ]
    )  # fmt: skip
    survey = Survey("s", "S", schema, RandomizedResponse(dict.fromkeys(schema.names, "0.9")))
    reports = np.random.default_rng(3).integers(0, 2, (300, 4))
    with pytest.raises(HalftruthError, match="at most one question with several answers, not 'a'"):
        asked("crosstab", survey, reports, attributes=["a", "b"])
    with pytest.raises(HalftruthError, match="expected 'a', which has several answers, in the row"):
        asked("crosstab", survey, reports, attributes=["c", "d", "a"])


@pytest.mark.nightly
@pytest.mark.parametrize("kind", SURVEYS)
def test_intervals_cover_the_truth_in_95_percent_of_simulated_surveys(kind):
    """With 400 surveys, the standard error of a coverage is 1.1 points."""
    survey, codes, rng = SURVEYS[kind], people(), np.random.default_rng(5)
    expected = truths(codes)
    held, contradicted = {key: [] for key in expected}, 0
    for _ in range(400):
        sample = rng.choice(codes, len(codes))
        counts = counts_of(survey, sample, rng)
        found = asked("overview", survey, counts, attributes=["symptoms"], missing="exclude")
        if found.contradictions:
            # No intervals. The test of contradictions has a level of 1 %.
            contradicted += 1
            continue
        shares = [found.rows[place] for place in found.places("share")]
        for estimate in (*shares, found.find("mean_number")):
            lower, upper = estimate.ends
            name = estimate["answer"] or "mean"
            held[name].append(lower <= expected[name] <= upper)
    coverage = {key: np.mean(found) for key, found in held.items()}
    assert contradicted <= 10
    assert all(len(found) == 400 - contradicted for found in held.values())
    assert min(coverage.values()) > 0.915
    assert 0.93 <= np.mean([*coverage.values()]) <= 0.97
