"""Models of surveys in which no report asks some questions together.

Whether people vote is asked with their sex and with their age, which no report asks together.
"""

import numpy as np
import pytest
from halftruth_collector.analyses import ANALYSES, answer
from halftruth_collector.estimation import Estimator
from halftruth_collector.estimation.intervals import table_intervals
from halftruth_collector.estimation.model import fit_model, shares
from halftruth_collector.estimation.model.records import weighted_records
from halftruth_shared import ParameterError, Survey
from halftruth_shared.analyses.comparison import ComparisonQuery
from halftruth_shared.analyses.itemsets import ItemsetsQuery
from halftruth_shared.analyses.microdata import MicrodataQuery
from halftruth_shared.analyses.regression import RegressionQuery
from halftruth_shared.analyses.rules import RulesQuery
from halftruth_shared.analyses.table import TableQuery
from halftruth_shared.results.showing import basis
from sources import source_of

VOTE = """
id = "vote"
title = "Vote"

[mechanism]
kind = "split-questionnaire"
gamma = "19"

[[mechanism.tables]]
of = ["voted"]
by = ["sex", "age"]

[[attributes]]
name = "sex"
categories = ["female", "male"]

[[attributes]]
name = "age"
categories = ["18", "30", "40", "50", "60", "70"]

[[attributes]]
name = "voted"
categories = ["no", "yes"]
"""

ASSUMED = (
    "Assuming no interaction of three or more questions, and independence of sex and age given the"
    " other answers: "
)

#: Coefficients of the log odds of voting, where sex and age are associated.
SEX, AGE = 0.8, np.linspace(0, 1.2, 6)


def people(*, associated):
    """Return the shares of all people by sex, age and whether they vote.

    Given whether they vote, sex and age are either associated or independent.
    """
    if associated:
        groups = [[0.14, 0.12, 0.1, 0.08, 0.06, 0.04], [0.04, 0.05, 0.07, 0.08, 0.1, 0.12]]
        yes = 1 / (1 + np.exp(0.6 - SEX * np.arange(2)[:, None] - AGE))
        return np.array(groups)[:, :, None] * np.stack([1 - yes, yes], axis=-1)
    sex = np.array([[0.6, 0.4], [0.4, 0.6]])
    age = np.array([[0.25, 0.2, 0.2, 0.15, 0.1, 0.1], [0.1, 0.1, 0.15, 0.2, 0.2, 0.25]])
    return np.einsum("y,ys,ya->say", [0.45, 0.55], sex, age)


@pytest.fixture(scope="module")
def survey():
    survey = Survey.from_toml(VOTE)
    views = [{survey.schema.names[j] for j in v.positions} for v in survey.perturbation.views]
    assert sorted(map(sorted, views)) == [["age", "voted"], ["sex", "voted"]]
    return survey


def simulated(survey, truth, rng, reports=5_000):
    cells = rng.choice(truth.size, reports, p=truth.ravel())
    return source_of(survey, np.stack(np.unravel_index(cells, truth.shape), axis=1), rng)


@pytest.fixture(scope="module")
def counted(survey):
    return simulated(survey, people(associated=True), np.random.default_rng(2))


def covered(counted, truth):
    """Return which intervals of tables and of coefficients include the truth, by what they are of.

    `adjusted` coefficients compare people of the same age or sex, `unadjusted` ones all people.
    """
    found, model = {}, fit_model(counted.survey, counted.counts)
    for names, about, axes in (
        (["sex", "voted"], "pairs", 1),
        (["age", "voted"], "pairs", 0),
        (["sex", "age", "voted"], "three", ()),
    ):
        lower, upper = table_intervals(shares(model, names), 0.95)
        true = truth.sum(axis=axes)
        found.setdefault(about, []).extend(((lower <= true) & (true <= upper)).ravel())
    query = RegressionQuery(outcome="voted", predictors=["sex", "age"])
    result = answer(ANALYSES["regression"], counted, query)
    rows = [each for each in result.rows if each.quantity == "coefficient"]
    rows = [each for each in rows if each["against"] is not None]
    log_odds = np.log(truth[..., 1] / truth[..., 0])
    by_sex, by_age = (np.log(each[:, 1] / each[:, 0]) for each in (truth.sum(1), truth.sum(0)))
    true = {
        "adjusted": [log_odds[1, 0] - log_odds[0, 0], *(log_odds[0, 1:] - log_odds[0, 0])],
        "unadjusted": [by_sex[1] - by_sex[0], *(by_age[1:] - by_age[0])],
    }
    for about, values in true.items():
        ends = [each.interval for each in rows]
        found[about] = [a <= value <= b for (a, b), value in zip(ends, values, strict=True)]
    return found


@pytest.mark.parametrize(
    "surveys", [pytest.param(6, id="few"), pytest.param(150, marks=pytest.mark.nightly)]
)
@pytest.mark.parametrize("associated", [False, True])
def test_intervals_cover_what_the_reports_ask_together_and_the_rest_only_if_the_model_holds(
    survey, associated, surveys
):
    truth, rng = people(associated=associated), np.random.default_rng(7)
    hits = [covered(simulated(survey, truth, rng), truth) for _ in range(surveys)]
    rates = {about: float(np.mean([each[about] for each in hits])) for about in hits[0]}
    true, false = {"pairs", "unadjusted"}, {"three", "adjusted"}
    if not associated:
        true, false = true | false, set()
    least, most = (0.93, 0.97) if surveys > 6 else (0.85, 1)
    for about in true:
        assert least <= rates[about] <= most, (about, rates)
    for about in false:
        assert rates[about] < 0.9, (about, rates)


def test_tables_regressions_and_records_name_the_pairs_that_no_report_asks_together(counted):
    queries = {
        "table": TableQuery(attributes=["sex", "age", "voted"]),
        "regression": RegressionQuery(outcome="voted", predictors=["sex", "age"]),
        "microdata": MicrodataQuery(),
    }
    for name, query in queries.items():
        result = answer(ANALYSES[name], counted, query)
        assert result.model_fit.unasked_pairs == [["sex", "age"]]
        shown = ANALYSES[name].present(result)
        assert shown.headline.startswith(ASSUMED), name
        [said] = [each for each in basis(result) if "No report asks" in each]
        assert said.startswith("No report asks sex and age together. The model assumes that they")
        assert said in shown.basis
    [unadjusted] = [
        each
        for each in answer(ANALYSES["regression"], counted, queries["regression"]).caveats
        if each.code == "unasked predictors"
    ]
    assert (unadjusted.values, unadjusted.weight) == ({"pairs": [("sex", "age")]}, "warning")


def test_what_follows_from_the_assumption_alone_is_refused(counted):
    refused = r"no report \w+ .*'sex'.*together"
    for name, query in {
        "table": TableQuery(attributes=["sex", "age"], estimate="model"),
        "comparison": ComparisonQuery(answer={"age": "70"}, groups="sex", estimate="model"),
        "regression": RegressionQuery(outcome="sex", predictors=["voted", "age"]),
        "microdata": MicrodataQuery(attributes=["sex", "age"]),
        "rules": RulesQuery(antecedent={"sex": "male"}, consequent={"age": "70"}, estimate="model"),
    }.items():
        with pytest.raises(ParameterError, match=refused):
            answer(ANALYSES[name], counted, query)
    # Given the vote, sex and age would be independent by assumption.
    voters = TableQuery(attributes=["sex", "age"], where={"voted": "yes"}, estimate="model")
    with pytest.raises(ParameterError, match=refused):
        answer(ANALYSES["table"], counted, voters)
    with pytest.raises(ParameterError, match="'sex' is asked with voted; 'age' is asked with vot"):
        Estimator(counted.survey, counted.counts).table(["sex", "age"])


def test_itemsets_by_the_model_are_of_questions_of_which_every_two_are_asked_together(counted):
    query = ItemsetsQuery(min_support=0.01, estimate="model")
    result = answer(ANALYSES["itemsets"], counted, query)
    sets = {frozenset(row["itemset"]) for row in result.rows}
    alone = {frozenset([name]) for name in ("sex", "age", "voted")}
    assert sets == alone | {frozenset({"sex", "voted"}), frozenset({"age", "voted"})}
    [said] = [each.values for each in result.caveats if each.code == "asked together"]
    assert said == {"what": "itemsets", "length": 2, "asked": 2, "possible": 3}


def test_weighted_records_have_the_independence_that_the_model_assumes(counted):
    model = fit_model(counted.survey, counted.counts)
    records = weighted_records(model, ["sex", "age", "voted"], 1.0, 1_000)
    table = np.zeros((2, 6, 2))
    table[tuple(records.codes.T)] = records.weights
    given = table / table.sum(axis=(0, 1))
    product = given.sum(axis=1)[:, None] * given.sum(axis=0)
    np.testing.assert_allclose(given, product, atol=1e-9)
