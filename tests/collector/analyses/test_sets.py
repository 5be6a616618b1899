"""Analyses of a question that is perturbed as one set."""

import numpy as np
import pytest
from halftruth_collector.analyses import ANALYSES, answer
from halftruth_collector.analyses.labels import labels_of
from halftruth_collector.analyses.overview import NONE
from halftruth_collector.disclosure.audit import audit
from halftruth_collector.estimation import Estimator
from halftruth_collector.survey_file import of_survey
from halftruth_shared import (
    Attribute,
    ParameterError,
    Schema,
    SplitQuestionnaire,
    Survey,
    ViewClass,
)
from halftruth_shared.attribute import MultipleResponse
from sources import source_of

QUESTION = MultipleResponse("brands", at_most=3)
NAMES = [f"brands.{letter}" for letter in "abcdef"]
SCHEMA = Schema(
    [
        *(
            Attribute(name, ("no", "yes"), ("yes",), question=QUESTION, optional=True)
            for name in NAMES
        ),
        Attribute("sex", ("m", "f")),
        Attribute("mood", ("1", "2", "3"), ordered=True),
    ]
)
VIEWS = [
    (("brands",), False, 2),
    (("brands",), True, 2),
    (("brands", "sex"), False, 2),
    (("sex", "mood"), False, 1),
]
SURVEY = Survey(
    "s",
    "S",
    SCHEMA,
    SplitQuestionnaire(
        "30",
        [ViewClass(attributes=(names,), pairs=pairs, weight=w) for names, pairs, w in VIEWS],
    ),
)


def people(count=20_000):
    """Codes of people: a is more frequent among women, and b among those with a."""
    rng = np.random.default_rng(1)
    sex = rng.integers(0, 2, count)
    chosen = (rng.random((count, 6)) < [0.3, 0.2, 0.25, 0.2, 0.1, 0.05]).astype(int)
    chosen[:, 0] |= sex & (rng.random(count) < 0.4)
    chosen[:, 1] |= chosen[:, 0] & (rng.random(count) < 0.5)
    for row in np.flatnonzero(chosen.sum(axis=1) > 3):
        chosen[row, rng.permutation(np.flatnonzero(chosen[row]))[3:]] = 0
    chosen[rng.random(count) < 0.1] = 2
    return np.column_stack([chosen, sex, rng.integers(0, 3, count)])


PEOPLE = people()
REPORTS = SURVEY.perturbation.reports(PEOPLE, np.random.default_rng(2))
SOURCE = source_of(SURVEY, REPORTS)


def asked(analysis, **query):
    of = ANALYSES[analysis]
    return answer(of, SOURCE, of.query(**query))


def rows_of(found, quantity, **keys):
    return [found.rows[place] for place in found.places(quantity, **keys)]


def near(row, truth):
    """Whether an estimate is at most 3.5 standard errors off; 1 of 2 000 is farther."""
    return abs(row.value - truth) < 3.5 * row.standard_error


def test_the_overview_has_the_options_and_their_number():
    found = asked("overview", attributes=["brands"])
    shares = {row["answer"]: row for row in rows_of(found, "share")}
    assert list(shares) == [*"abcdef", NONE]
    chosen = PEOPLE[:, :6] == 1
    for place, letter in enumerate("abcdef"):
        assert near(shares[letter], chosen[:, place].mean())
    numbers = rows_of(found, "number_chosen")
    answered = PEOPLE[:, 0] < 2
    assert [row["answer"] for row in numbers] == ["0", "1", "2", "3"]
    for number, row in enumerate(numbers):
        assert near(row, (answered & (chosen.sum(axis=1) == number)).mean())
    [missing] = rows_of(found, "missing")
    assert sum(row.value for row in numbers) + missing.value == pytest.approx(1)
    assert shares[NONE].value == numbers[0].value
    [mean] = rows_of(found, "mean_number")
    assert near(mean, chosen[answered].sum(axis=1).mean())
    # It is that of the options, since both are from the same reports.
    assert mean.value == pytest.approx(
        sum(shares[letter].value for letter in "abcdef") / (1 - missing.value)
    )
    blocks = ANALYSES["overview"].layout(found, labels_of(SURVEY))
    assert "Number of options chosen" in [block.title for block in blocks]


def test_options_by_groups_are_compared():
    found = asked("crosstab", attributes=["sex", "brands"])
    women = PEOPLE[:, 6] == 1
    for group, inside in (("f", women), ("m", ~women)):
        for row in rows_of(found, "share", sex=group):
            option = "abcdef".index(row["brands"])
            assert near(row, (PEOPLE[inside, option] == 1).mean())
    compared = asked("comparison", answer={"brands": "a"}, groups="sex")
    [difference] = rows_of(compared, "difference")
    truth = (PEOPLE[women, 0] == 1).mean() - (PEOPLE[~women, 0] == 1).mean()
    assert near(difference, truth)
    with pytest.raises(ParameterError, match="no report is about"):
        asked("crosstab", attributes=["mood", "brands"])


def test_itemsets_and_rules_are_of_one_and_two_options():
    found = asked("itemsets", min_support=0.02)
    estimator = Estimator(SURVEY, SOURCE.counts)
    pairs = 0
    for row in rows_of(found, "support"):
        items = row["itemset"]
        assert sum(name in NAMES for name in items) <= 2
        names = list(items)
        codes = tuple(
            SCHEMA.attributes[SCHEMA.position(n)].categories.index(items[n]) for n in names
        )
        assert row.value == pytest.approx(float(estimator.table(names).value[codes]))
        pairs += len(items) == 2 and all(name in NAMES for name in names)
    assert pairs >= 3
    rules = asked("rules", min_support=0.1, min_confidence=0.3, include_uncertain=True)
    [rule] = [
        row
        for row in rows_of(rules, "confidence")
        if (row["antecedent"], row["consequent"]) == ({"brands.a": "yes"}, {"brands.b": "yes"})
    ]
    having = PEOPLE[:, 0] == 1
    assert near(rule, (PEOPLE[having, 1] == 1).mean())
    # Longer ones are by the model, whose tables have no more options than can be chosen.
    longer = asked("itemsets", min_support=0.02, estimate="model", max_length=3)
    three = {
        tuple(row["itemset"]): row
        for row in rows_of(longer, "support")
        if len(row["itemset"]) == 3 and set(row["itemset"]) <= set(NAMES)
    }
    assert three
    for names, row in three.items():
        truth = (PEOPLE[:, SCHEMA.positions(names)] == 1).all(axis=1).mean()
        assert near(row, truth)


def test_an_option_is_predicted_by_a_group():
    found = asked("regression", outcome="brands.a", predictors=["sex"])
    [odds] = rows_of(found, "odds_ratio")
    women, having = PEOPLE[:, 6] == 1, PEOPLE[:, 0] == 1
    answered = PEOPLE[:, 0] < 2
    shares = having[women & answered].mean(), having[~women & answered].mean()
    truth = shares[0] / (1 - shares[0]) / (shares[1] / (1 - shares[1]))
    lower, upper = odds.interval
    assert lower < truth < upper


def test_reports_that_no_shares_explain_are_found():
    # More reports of an option than all people who have it would send.
    first = SURVEY.perturbation.views[0].first
    cells = [[first], [first + 1]]
    contradicted = source_of(SURVEY, np.repeat(cells, [5_000, 5], axis=0))
    of = ANALYSES["overview"]
    found = answer(of, contradicted, of.query(attributes=["brands.a"]))
    assert [each.attributes for each in found.contradictions] == [["brands.a"]]


def test_an_audit_and_the_file_have_the_set():
    made = audit(SURVEY, 3_000)
    assert str(made.protection.record.gamma) == "30"
    assert {each.question for each in made.answers if each.attribute in NAMES} == {
        f"brands – {letter}" for letter in "abcdef"
    }
    assert made.false_reports[0].weight > 1
    text = of_survey(SURVEY)
    assert "at_most = 3" in text
    assert "pairs = true" in text
    assert Survey.from_toml(text).digest == SURVEY.digest


FILE = """
id = "s"
title = "S"

[mechanism]
kind = "split-questionnaire"
gamma = "30"
{public}

[[mechanism.tables]]
of = ["brands"]
by = ["sex"]
pairs = true

[[attributes]]
name = "brands"
kind = "several"
at_most = 3
optional = true
options = [{options}]

[[attributes]]
name = "sex"
categories = ["m", "f"]
{sensitive}

[[attributes]]
name = "mood"
kind = "scale"
categories = ["1", "2", "3"]
"""


@pytest.mark.parametrize("public", [False, True])
def test_options_and_pairs_of_them_by_wanted_groups(public):
    """The whole way from the file to a table, a comparison, a plan and an audit."""
    survey = Survey.from_toml(
        FILE.format(
            public='public = ["sex"]' if public else "",
            sensitive="sensitive = false" if public else "",
            options=", ".join(f'{{ name = "{letter}" }}' for letter in "abcdef"),
        )
    )
    reports = survey.perturbation.reports(PEOPLE, np.random.default_rng(3))
    source = source_of(survey, reports)

    def made(analysis, **query):
        return answer(ANALYSES[analysis], source, ANALYSES[analysis].query(**query))

    women, chosen = PEOPLE[:, 6] == 1, PEOPLE[:, :6] == 1
    shares = rows_of(made("crosstab", attributes=["sex", "brands"]), "share")
    assert len(shares) >= 12
    for row in shares:
        group = women if row["sex"] == "f" else ~women
        if row["brands"] in "abcdef":
            assert near(row, chosen[group, "abcdef".index(row["brands"])].mean())
    # An option among those who chose another one, by groups, is of a pair by groups.
    for letter, place in (("a", 0), ("c", 2)):
        found = made(
            "comparison", answer={"brands": "b"}, groups="sex", where={f"brands.{letter}": ["yes"]}
        )
        [difference] = rows_of(found, "difference")
        among = chosen[:, place]
        truth = chosen[among & women, 1].mean() - chosen[among & ~women, 1].mean()
        assert near(difference, truth)
    table = rows_of(made("table", attributes=["brands.a", "brands.b", "sex"]), "share")
    for row in table:
        names = ("brands.a", "brands.b")
        codes = [("no", "yes", "no answer").index(row[name].lower()) for name in names]
        own = (PEOPLE[:, [0, 1]] == codes).all(axis=1) & (women == (row["sex"] == "f"))
        assert near(row, own.mean()) or not own.any()
    found = audit(survey, 3_000)
    assert str(found.protection.record.gamma) == "30"
    assert found.false_reports[0].weight > 1
    assert Survey.from_toml(of_survey(survey)).digest == survey.digest
