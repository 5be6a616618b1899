"""Merged categories: sums of a finer table, in every analysis."""

from datetime import UTC, datetime
from itertools import combinations

import numpy as np
import pytest
from halftruth_collector.analyses import ANALYSES, AnalysisContext, answer
from halftruth_collector.analyses.labels import labels_of
from halftruth_collector.demo.census import SCHEMA as CENSUS
from halftruth_collector.demo.census import census_codes, census_survey
from halftruth_collector.estimation import Counts, Estimator
from halftruth_collector.estimation.association import rare_answers
from halftruth_collector.estimation.intervals import table_intervals
from halftruth_shared import (
    Attribute,
    GammaDiagonal,
    ParameterError,
    RandomizedResponse,
    Schema,
    SchemaError,
    SplitQuestionnaire,
    Survey,
)
from halftruth_shared.analyses.comparison import ComparisonQuery
from halftruth_shared.analyses.crosstab import CrosstabQuery
from halftruth_shared.analyses.distribution import DistributionQuery
from halftruth_shared.analyses.measures import MeasuresQuery
from halftruth_shared.analyses.overview import OverviewQuery
from halftruth_shared.analyses.reading import fields, make, read, write
from halftruth_shared.analyses.regression import RegressionQuery
from halftruth_shared.analyses.table import TableQuery
from mined import itemsets_of, measures_of

INCOME = ["1, or less", "2", "3", "4", "5"]
SCHEMA = Schema(
    [
        Attribute(
            "income", [*INCOME, "refused"], missing=["refused"], ordered=True, answers={"5": "much"}
        ),
        Attribute("sex", ["female", "male"]),
        Attribute("region", ["north", "east", "south"]),
    ]
)
MERGE = {"income": [["1, or less", "2"], ["4", "5"]], "region": [["north", "south"]]}
LOW, HIGH, OUTER = "1, or less or 2", "4 or 5", "north or south"
#: Sums of the fine categories in the merged ones.
SUMS = {
    "income": np.array([[1, 1, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0], [0, 0, 0, 1, 1, 0], [0] * 5 + [1]]),
    "sex": np.eye(2),
    "region": np.array([[1, 0, 1], [0, 1, 0]]),
}
MECHANISMS = {
    "gamma-diagonal": GammaDiagonal(19),
    "randomized response": RandomizedResponse(dict.fromkeys(SCHEMA.names, "0.7")),
    "split": SplitQuestionnaire.for_amplification(SCHEMA, 19, max_length=2),
}


def drawn(people, rng):
    sex = rng.integers(0, 2, people)
    income = np.minimum(rng.poisson(1.0 + 0.5 * sex), 4)
    income[rng.random(people) < 0.1] = 5
    return np.stack([income, sex, rng.choice(3, people, p=[0.5, 0.2, 0.3])], axis=1)


def counted(mechanism="split", people=20_000, seed=0):
    survey = Survey("s", "S", SCHEMA, MECHANISMS[mechanism])
    rng = np.random.default_rng(seed)
    reports = survey.perturbation.reports(drawn(people, rng).astype(np.int64), rng)
    counts = Counts.from_reports(survey, reports)
    return AnalysisContext(survey, counts, datetime(2026, 5, 9, tzinfo=UTC), min_reports=1)


@pytest.mark.parametrize("modelled", [False, True])
@pytest.mark.parametrize("fraction", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_merged_table_has_the_sums_of_a_finer_one_and_their_covariance(
    mechanism, fraction, modelled
):
    if modelled and fraction:
        return
    of = counted(mechanism)
    names = ["income", "region"]
    model = of.model() if modelled else None
    asked = {"model": model}
    if fraction:
        asked = {"population": 40_000} if fraction == 0.5 else {"target": "respondents"}
    fine = Estimator(of.survey, of.counts, **asked).table(names)
    merged = Estimator(of.survey, of.counts, merge=MERGE, **asked).table(names)
    sums = np.kron(SUMS["income"], SUMS["region"])
    np.testing.assert_allclose(merged.value.ravel(), sums @ fine.value.ravel(), atol=1e-12)
    expected = sums @ fine.covariance() @ sums.T
    np.testing.assert_allclose(merged.covariance(), expected, atol=1e-15)
    np.testing.assert_allclose(merged.variance().ravel(), np.diag(expected), atol=1e-15)
    # A margin over a merged attribute, and a domain of merged answers.
    places = np.array([[0, 2], [2, 2], [4, 1]])
    weights = np.array([np.kron([1, 0, 0, 0], [1, 1]), np.kron([0, 0, 1, 0], [1, 1])])
    np.testing.assert_allclose(
        merged.margin_covariance(places[:1], places[1:2]),
        weights[:1] @ expected @ weights[1:].T[:, 0],
        atol=1e-15,
    )
    within = Estimator(of.survey, of.counts, {"income": HIGH}, merge=MERGE, **asked).table(["sex"])
    several = Estimator(of.survey, of.counts, {"income": ["4", "5"]}, **asked).table(["sex"])
    np.testing.assert_allclose(within.value, several.value, atol=1e-12)
    np.testing.assert_allclose(within.covariance(), several.covariance(), atol=1e-15)


def test_an_answer_without_a_known_error_does_not_hide_the_errors_of_others():
    """Nobody gives the last answer, which is sent unperturbed: its error is unknown."""
    answers = Attribute("a", ["w", "x", "y", "z"], sensitive=False)
    survey = Survey("s", "S", Schema([answers]), RandomizedResponse({"a": 1}))
    counts = Counts.from_cells(survey, [[0], [1], [2]], [20, 30, 50])
    merged = Estimator(survey, counts, merge={"a": [["w", "x"]]}).table(["a"])
    assert merged.variance()[:2] == pytest.approx([0.25 / 99, 0.25 / 99])
    assert np.isnan(merged.variance()[2])


def test_itemsets_of_merged_categories_need_no_covariance_of_all_questions():
    schema = Schema([Attribute(name, list("abcdefg")) for name in ("p", "q", "r", "s", "t")])
    survey = Survey("s", "S", schema, RandomizedResponse(dict.fromkeys(schema.names, "0.8")))
    rng = np.random.default_rng(1)
    rows = survey.perturbation.reports(rng.integers(0, 7, (5_000, 5)), rng)
    estimator = Estimator(survey, Counts.from_reports(survey, rows), merge={"p": [["a", "b"]]})
    table = estimator.table(["p", "q"])
    found = itemsets_of(estimator, 0.03, max_length=2)
    both = np.flatnonzero((found.codes[:, :2] >= 0).all(axis=1))
    pairs = {tuple(found.codes[row, :2]): row for row in both}
    assert (0, 0) in pairs
    error = found.estimates.numbers("standard_error")
    for cell, row in pairs.items():
        assert found.estimates.value[row] == pytest.approx(table.value[cell])
        assert error[row] == pytest.approx(np.sqrt(table.variance()[cell]))


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_intervals_of_merged_shares_have_their_nominal_coverage(mechanism):
    truth = np.bincount(drawn(2_000_000, np.random.default_rng(1))[:, 0], minlength=6) / 2e6
    truth = SUMS["income"] @ truth
    held, surveys = np.zeros(4), 200
    for seed in range(surveys):
        of = counted(mechanism, 1_000, seed)
        table = Estimator(of.survey, of.counts, merge=MERGE).table(["income"])
        lower, upper = table_intervals(table)
        held += (lower <= truth) & (truth <= upper)
    # Four standard errors of a rate of 95 %.
    assert (np.abs(held / surveys - 0.95) < 4 * np.sqrt(0.05 * 0.95 / surveys)).all()


QUERIES = [
    TableQuery(attributes=["income", "sex"], merge=MERGE),
    TableQuery(
        attributes=["income", "sex"], merge=MERGE, estimate="model", modelled=["income", "sex"]
    ),
    CrosstabQuery(attributes=["income", "sex"], merge=MERGE, missing="exclude"),
    ComparisonQuery(answer={"sex": "male"}, groups="income", among=[LOW, HIGH], merge=MERGE),
    MeasuresQuery(attributes=["income", "region"], merge=MERGE, missing="exclude"),
    MeasuresQuery(merge=MERGE),
    DistributionQuery(attribute="income", groups="region", merge=MERGE),
    RegressionQuery(outcome="sex", predictors=["income", "region"], merge=MERGE),
    RegressionQuery(outcome="sex", predictors=["income", "region"], merge=MERGE, estimate="model"),
    OverviewQuery(merge=MERGE, missing="exclude"),
]


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: type(query).__name__)
def test_every_analysis_shows_merged_categories_by_name_and_label(query):
    of = counted()
    analysis = ANALYSES[type(query).__name__.removesuffix("Query").lower()]
    result = answer(analysis, of, query)
    # Written and read again, with commas inside a category.
    assert read(type(query), write(query)) == query
    said = str(result.to_pandas().to_dict())
    shown = analysis.present(result, labels_of(of.survey, query))
    if analysis.name != "measures":
        assert HIGH in said
        cells = (str(cell) for part in shown.parts for row in part.grid.rows for cell in row)
        assert any("4 or much" in text for text in cells)
        assert LOW in said or analysis.name == "regression"
    assert np.isfinite(result.estimates.value).any()


@pytest.mark.parametrize(
    ("merge", "error", "message"),
    [
        ({"wage": [["1", "2"]]}, SchemaError, "merge: unknown attribute 'wage'"),
        ({"income": [["2", "9"]]}, ParameterError, "merge: 'income' has no category '9'"),
        ({"income": [["2"]]}, ParameterError, "merge: 'income': one category by itself"),
        ({"income": [["2", "3"], ["3", "4"]]}, ParameterError, "merge: 'income': '3' is merged tw"),
        ({"income": [["5", "refused"]]}, ParameterError, "merge: 'income': a missing value is no"),
        ({"sex": [["female", "male"]]}, ParameterError, "merge: 'sex' has one category left"),
    ],
)
def test_invalid_merges_are_refused(merge, error, message):
    with pytest.raises(error) as refused:
        answer(ANALYSES["table"], counted(), TableQuery(attributes=["region"], merge=merge))
    assert message in str(refused.value)
    assert refused.value.field == "merge"


def test_merged_groups_are_parsed_from_lists_and_lines():
    by_itself = make(TableQuery, {"attributes": ["income"], "merge": {"income": ["4", "5"]}})
    assert by_itself.merge == {"income": [["4", "5"]]}
    lines = fields(TableQuery)["merge"].value(["income=1\\, or less,2\n\nincome=4,5"])
    assert lines == {"income": MERGE["income"]}
    with pytest.raises(ParameterError, match="merge: expected attribute=category,category"):
        read(TableQuery, {"attributes": ["income"], "merge": ["4,5"]})


@pytest.mark.parametrize(("longest", "undefined"), [(2, 0), (3, 12), (6, 12)])
def test_the_map_of_census_has_all_associations_by_merging_rare_answers(longest, undefined):
    importance = dict.fromkeys(range(1, longest + 1), 1.0)
    mechanism = SplitQuestionnaire.designed(CENSUS, 19, (), importance)
    survey = census_survey("census", mechanism)
    rng = np.random.default_rng(3)
    counts = Counts.from_reports(survey, survey.perturbation.reports(census_codes(), rng))
    of = AnalysisContext(survey, counts, datetime(2026, 5, 9, tzinfo=UTC), min_reports=1)
    measures = ANALYSES["measures"]
    result = answer(measures, of, MeasuresQuery())
    assert result.estimates.value.shape == (15,)
    assert np.isfinite(result.estimates.value).all()
    assert np.isfinite(result.estimates.numbers("upper")).all()
    [said] = [each.values for each in result.caveats if each.code == "merged"]
    merge = {}
    for each in said["groups"]:
        [(name, group)] = each.items()
        merge.setdefault(name, []).append(group)
    assert {"race", "age"} <= set(merge)
    plain = Estimator(survey, counts)
    pairs = combinations(CENSUS.names, 2)
    alone = [measures_of(plain, pair, measures=["cramers_v"]).value[0] for pair in pairs]
    assert np.isnan(alone).sum() == undefined
    # The same as if the groups are named, independent of the other attributes.
    pair = ["race", "sex"]
    named = measures_of(plain.merged(merge), pair, measures=["cramers_v"])
    place = [(row["row"], row["column"]) for row in result.rows].index(tuple(pair))
    np.testing.assert_allclose(named.value, result.estimates.value[place], rtol=1e-12, atol=1e-15)
    assert rare_answers(plain, pair) == {"race": merge["race"]}
