"""Questions of which several options may be chosen, against NumPy on unperturbed records."""

from itertools import combinations

import numpy as np
import pytest
from halftruth_collector.analyses import ANALYSES
from halftruth_collector.analyses.labels import labelled
from halftruth_collector.charts.rendering import to_svg
from halftruth_shared import (
    Attribute,
    GammaDiagonal,
    ParameterError,
    RandomizedResponse,
    Schema,
    SplitQuestionnaire,
    Survey,
)
from halftruth_shared.analyses.several import SeveralQuery
from halftruth_shared.attribute import Several
from sources import counts_of, source_of

SEVERAL = ANALYSES["several"]
OPTIONS = ("cough", "fever", "rash")
NAMES = [f"symptoms.{option}" for option in OPTIONS]


def schema_of(*, sensitive):
    question = Several("symptoms", "Which symptoms do you have?")
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
    """Codes of so many people; cough brings fever, and a tenth do not answer."""
    rng = np.random.default_rng(1)
    town, cough, rash = rng.random((3, count)) < [[0.4], [0.5], [0.4]]
    fever = rng.random(count) < 0.2 + 0.4 * cough
    codes = np.stack([town, cough, fever, rash], axis=1).astype(int)
    codes[rng.random(count) < 0.1, 1:] = 2
    return codes


def asked_of(survey, reports, **query):
    return SEVERAL.compute(source_of(survey, reports), SeveralQuery(**query))


def unperturbed(codes, **query):
    return asked_of(UNPERTURBED, codes, **query)


def truths(codes, names=NAMES):
    """By estimate and options: shares, means, conditional shares, lifts, of those who answered."""
    chosen = codes[codes[:, 1] < 2, 1 : len(names) + 1] == 1
    found = {("mean_number", ""): chosen.sum(axis=1).mean()}
    for j, name in enumerate(names):
        found["share", name] = chosen[:, j].mean()
    for i, j in combinations(range(len(names)), 2):
        both = (chosen[:, i] & chosen[:, j]).mean()
        first, second = chosen[:, i].mean(), chosen[:, j].mean()
        found["share_of_all", f"{names[i]} + {names[j]}"] = both
        found["lift", f"{names[i]} + {names[j]}"] = both / (first * second)
        found["conditional_share", names[j], names[i]] = both / first
        found["conditional_share", names[i], names[j]] = both / second
    if len(names) > 2:
        found["share_of_all", " + ".join(names)] = chosen.all(axis=1).mean()
    return found


def rows_of(result):
    """Value, standard error and interval of every row, by estimate and options."""
    return {
        tuple(key for i, key in enumerate(row[:3]) if key or i < 2): row[3:7]
        for row in result.rows()
    }


def test_without_perturbation_all_is_that_of_the_records():
    codes = people()
    found, expected = rows_of(unperturbed(codes)), truths(codes)
    assert found.keys() == expected.keys()
    for key, row in found.items():
        assert row[0] == pytest.approx(expected[key]), key
    chosen = codes[codes[:, 1] < 2, 1:] == 1
    number = chosen.sum(axis=1)
    assert found["mean_number", ""][1] == pytest.approx(
        number.std(ddof=1) / np.sqrt(len(number)), rel=1e-3
    )
    for name, column in zip(NAMES, chosen.T, strict=True):
        error = column.std(ddof=1) / np.sqrt(len(column))
        assert found["share", name][1] == pytest.approx(error, rel=1e-3)
    # The logarithm of a lift, by the delta method on multinomial counts.
    both = (chosen[:, 0] & chosen[:, 1]).sum()
    first, second = chosen[:, 0].sum(), chosen[:, 1].sum()
    scores = (
        chosen[:, 0] * chosen[:, 1] / both
        - chosen[:, 0] / first
        - chosen[:, 1] / second
        + 1 / len(chosen)
    )
    lift = found["lift", f"{NAMES[0]} + {NAMES[1]}"]
    assert lift[1] == pytest.approx(np.sqrt(np.sum(scores**2)), rel=1e-3)
    assert lift[2:] == pytest.approx(lift[0] * np.exp(np.array([-1.96, 1.96]) * lift[1]), rel=1e-3)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", SURVEYS)
def test_intervals_of_simulated_surveys_hold_the_truth_as_often_as_they_say(kind):
    """Of 400 surveys, the standard error of a coverage is 1.1 points."""
    survey, codes, rng = SURVEYS[kind], people(), np.random.default_rng(5)
    # Under the others two options show that the tables are right, in a third of the time.
    asked = NAMES if kind == "randomized-response" else NAMES[:2]
    expected = truths(codes, asked)
    held = {key: [] for key in expected}
    for _ in range(400):
        sample = rng.choice(codes, len(codes))
        counts = counts_of(survey, sample, rng)
        for key, (_, _, lower, upper) in rows_of(
            asked_of(survey, counts, attributes=asked, min_support=1e-9)
        ).items():
            upper = np.inf if upper is None else upper
            held[key].append(lower <= expected[key] <= upper)
    coverage = {key: np.mean(found) for key, found in held.items()}
    assert all(len(found) >= 398 for found in held.values())
    assert min(coverage.values()) > 0.915
    for what in {key[0] for key in coverage}:
        mean = np.mean([found for key, found in coverage.items() if key[0] == what])
        assert 0.93 <= mean <= 0.97, (what, mean)


def test_a_combination_is_given_by_its_share_of_those_who_answered_it_however_rare_its_pairs():
    """Options of which each pair is answered by other people, most of whom choose one alone."""
    schema = Schema(
        [Attribute(name, ("no", "yes", "refused"), missing=("refused",)) for name in "abc"]
    )
    rows = np.array([(1, 0, 2)] * 4_000 + [(2, 1, 0)] * 4_000 + [(0, 2, 1)] * 4_000
                    + [(1, 1, 1)] * 1_000 + [(0, 0, 0)] * 200)  # fmt: skip
    survey = Survey("o", "O", schema, RandomizedResponse(dict.fromkeys("abc", "19/20")))
    counts = counts_of(survey, rows, np.random.default_rng(1))
    found = asked_of(survey, counts, attributes=[*"abc"], min_support=0.25)
    # Of those who answered two of them a fifth chose both, of those who answered all three most.
    assert all(pair.value < 0.22 for pair in found.pairs)
    [triple] = found.combinations
    assert triple.interval[0] < 1_000 / 1_200 < triple.interval[1]
    assert triple.value > 0.7


def test_of_too_many_combinations_those_of_the_commonest_options_are_looked_at(monkeypatch):
    monkeypatch.setattr("halftruth_collector.analyses.several.MAX_SETS", 4)
    rows = np.random.default_rng(2).random((2_000, 6)) < [0.5, 0.1, 0.6, 0.7, 0.2, 0.4]
    schema = Schema([Attribute(name, ("no", "yes"), sensitive=False) for name in "abcdef"])
    survey = Survey("o", "O", schema, RandomizedResponse(dict.fromkeys("abcdef", "1")))
    found = asked_of(survey, rows.astype(int), attributes=[*"abcdef"], min_support=1e-9)
    assert found.combined == ["a", "c", "d", "f"]
    expected = {names: rows[:, ["abcdef".index(n) for n in names]].all(axis=1).mean()
                for names in combinations("acdf", 3)}  # fmt: skip
    given = {tuple(each.items): each.value for each in found.combinations}
    assert given == pytest.approx(expected)
    assert "of the 4 options that are chosen most often" in " ".join(SEVERAL.interpretation(found))


def test_a_group_is_asked_about_its_own_options():
    codes = people()
    found = unperturbed(codes, where={"town": "small"})
    assert [one.value for one in found.options] == pytest.approx(
        [truths(codes[codes[:, 0] == 1])["share", name] for name in NAMES]
    )
    # Who has one option can be asked about the others.
    rest = unperturbed(codes, where={NAMES[0]: "yes"})
    coughing = codes[codes[:, 1] == 1, 2:] == 1
    assert [one.attribute for one in rest.options] == NAMES[1:]
    assert [one.value for one in rest.options] == pytest.approx(coughing.mean(axis=0))
    assert rest.mean.value == pytest.approx(coughing.sum(axis=1).mean())


def test_options_may_be_attributes_of_one_item_or_two_answers():
    found = unperturbed(people(), attributes=["town", NAMES[1]])
    assert [(one.attribute, one.answer) for one in found.options] == [
        ("town", "small"),
        (NAMES[1], "yes"),
    ]
    baskets = Schema(
        (
            Attribute("bread", ("no", "yes"), ("yes",), sensitive=False),
            Attribute("day", ("weekday", "weekend"), sensitive=False),
            Attribute("milk", ("no", "yes"), ("yes",), sensitive=False),
        )
    )
    survey = Survey("b", "B", baskets, RandomizedResponse(dict.fromkeys(baskets.names, "1")))
    reports = np.random.default_rng(3).integers(0, 2, (100, 3))
    assert [one.attribute for one in asked_of(survey, reports).options] == ["bread", "milk"]


def test_what_is_no_option_is_refused_in_one_line():
    schema = Schema((Attribute("vote", ("left", "right", "none"), sensitive=False),))
    survey = Survey("v", "V", schema, RandomizedResponse({"vote": "1"}))
    for query, said in (
        ({}, "attributes: the survey has no question of which several options may be chosen"),
        ({"attributes": ["vote"]}, "attributes: 'vote' is no option that is chosen or not"),
        ({"question": "vote"}, "question: 'vote' is no question of which several options"),
        ({"question": "q", "attributes": ["vote"]}, "question: expected this, or attributes"),
    ):
        with pytest.raises(ParameterError, match=said) as error:
            asked_of(survey, np.zeros((10, 1), dtype=int), **query)
        assert "\n" not in str(error.value)


def test_few_reports_are_said_to_be_too_few():
    survey, codes = SURVEYS["gamma-diagonal"], people(200)
    result = asked_of(survey, counts_of(survey, codes, np.random.default_rng(4)))
    said = SEVERAL.warnings(result)
    assert said[0].startswith("Not usable: shares are known only to ±")
    assert "Not usable, as too little is known: 3 of 3 lifts." in said
    assert all("not usable" in row[1] for row in SEVERAL.grid(result).rows[:3])
    assert to_svg(SEVERAL.chart(result)).startswith("<svg")


def test_an_option_is_called_as_below_its_question():
    result = labelled(unperturbed(people()), UNPERTURBED)
    grid, chart = SEVERAL.grid(result), SEVERAL.chart(result)
    assert [row[0] for row in grid.rows[:5]] == [
        "Cough", "Fever", "Rash", "number of options, on average", "Cough and Fever"
    ]  # fmt: skip
    assert grid.rows[-1][0] == "Cough, Fever and Rash"
    assert chart.rows == ("Cough", "Fever", "Rash")
    assert chart.title.startswith("Which symptoms do you have?")
    assert chart.cells[0][1].value == pytest.approx(chart.cells[1][0].value)
    assert "above 1 they go together" in " ".join(SEVERAL.interpretation(result))
