"""Measures of the reports themselves, what they may claim of the answers, partial correlation."""

import math
from functools import reduce
from types import SimpleNamespace

import numpy as np
import pytest
from halftruth_collector.estimation.measures import MEASURE_NAMES
from halftruth_shared import (
    DistortionMatrices,
    EstimateError,
    GammaDiagonal,
    RandomizedGammaDiagonal,
    RandomizedResponse,
    SplitQuestionnaire,
    Survey,
)
from halftruth_studies.reports.loglinear import model_of_reports
from halftruth_studies.reports.randomized import (
    correlation_given_others_never_grows,
    randomized_measures,
)

from ...collector.estimation.definitions import (
    FROM_ZERO,
    category_measures,
    estimator_of,
    one_against_the_rest,
    pair_measures,
    random_tables,
    schema_of,
    survey_of,
)

REPORTS = 1_000
DRAWS = 10_000
ROUNDING = 1e-9

#: Measures that shrink under any matrices, and those that shrink where truth is mostly kept.
DIVERGENCES = {"chi_squared", "g_squared"}
NORMALIZED = {"mutual_information", "uncertainty_coefficient", "concentration"}
ANY_MATRIX = {"phi", "risk_difference", "column_risk_difference", "piatetsky_shapiro"}
MOSTLY_KEPT = {
    "certainty",
    "added_value",
    "kappa",
    "odds_ratio",
    "interest",
    "conviction",
    "collective_strength",
    "j_measure",
}
#: Measures that move either way under any distortion worth the name.
EITHER_WAY = {"jaccard", "cosine", "standardized_residual", "laplace"}
EVERY = DIVERGENCES | NORMALIZED | ANY_MATRIX | MOSTLY_KEPT | EITHER_WAY
FROM_ONE = {"odds_ratio", "interest", "conviction", "collective_strength"}


# Surveys


ASYMMETRIC = [["9/10", "3/10"], ["1/10", "7/10"]]
#: Presence is reported more often of those it is not true of.
LYING = [["1/10", "6/10"], ["9/10", "4/10"]]
WARNER_LYING = [["3/10", "7/10"], ["7/10", "3/10"]]
TRUE = [[1, 0], [0, 1]]
#: Categories 1 and 2 nearly become one.
MERGING = [[1, 0, 0], [0, "95/100", "90/100"], [0, "5/100", "10/100"]]
#: Asymmetric, but the third category is reported as often of the first as of the second.
EVEN_THIRD = [["7/10", "2/10", "1/4"], ["2/10", "7/10", "1/4"], ["1/10", "1/10", "1/2"]]


def responses(sizes, *keep, public=""):
    return survey_of(RandomizedResponse(dict(zip("abcde", keep, strict=False))), sizes, public)


def matrices(*chosen, public=""):
    mechanism = DistortionMatrices(dict(zip("abcde", chosen, strict=False)))
    return survey_of(mechanism, [len(matrix) for matrix in chosen], public)


def case(survey, present, never, order):
    return SimpleNamespace(survey=survey, present=present, never=never, order=order)


SMALLER = DIVERGENCES | NORMALIZED | ANY_MATRIX | MOSTLY_KEPT

#: What never grows by Results 4, 5 and 8, and whose order Results 6 and 7 keep.
RESULT_8 = DIVERGENCES | NORMALIZED
RESULT_4 = RESULT_8 | ANY_MATRIX
PS = {"piatetsky_shapiro"}
FIRST, SECOND = PS | {"column_risk_difference"}, PS | {"added_value", "risk_difference"}
NO_MERGED = DIVERGENCES | {"uncertainty_coefficient", "concentration"}

#: Kinds of surveys of two attributes: what never grows, and what keeps its order.
CASES = {
    "both by response": case(responses((2, 2), "0.9", "0.6"), {}, SMALLER, PS),
    # Result 7: of the table of D the columns are true, of that of AV the rows.
    "first by response": case(responses((2, 2), "0.8", 1, public="b"), {}, SMALLER, FIRST),
    # Laplace is linear in the confidence only under Warner's model.
    "second by response": case(
        responses((2, 2), 1, "0.8", public="a"), {}, SMALLER, SECOND | {"laplace"}
    ),
    "neither": case(responses((2, 2), 1, 1, public="ab"), {}, EVERY, EVERY),
    "neither, by matrices": case(matrices(TRUE, TRUE, public="ab"), {}, EVERY, EVERY),
    # Determinants above 0 are all that Result 5 needs.
    "asymmetric": case(matrices(ASYMMETRIC, ASYMMETRIC), {}, SMALLER, PS),
    "second asymmetric": case(matrices(TRUE, ASYMMETRIC, public="a"), {}, SMALLER, SECOND),
    # A determinant below 0 ends Result 5, but neither Result 4 nor the order of sizes.
    "first lying": case(matrices(LYING, TRUE, public="b"), {}, RESULT_4, FIRST),
    "second lying": case(matrices(TRUE, LYING, public="a"), {}, RESULT_4, SECOND),
    # Warner's model with p below 1/2 turns the order of Laplace round.
    "second by response, lying": case(
        matrices(TRUE, WARNER_LYING, public="a"), {}, RESULT_4, SECOND
    ),
    # The determinant is the same whichever category is called presence.
    "absence as presence": case(matrices(ASYMMETRIC, LYING), {"a": "c0", "b": "c0"}, RESULT_4, PS),
    # Three and four categories kept less often than not, but more than any other.
    "categories by response": case(responses((3, 4), "0.4", "0.3"), {}, RESULT_8, set()),
    "many categories by response": case(responses((40, 3), "0.4", "0.5"), {}, RESULT_8, set()),
    # One category against the rest is a binary attribute under a matrix of its own.
    "one category by response": case(
        responses((3, 4), "0.4", "0.3"), {"a": "c2", "b": "c1"}, SMALLER, PS
    ),
    "one of many categories by response": case(
        responses((40, 3), "0.4", "0.5"), {"a": "c7", "b": "c1"}, SMALLER, PS
    ),
    # That matrix is not Warner's, so that Laplace's order is not kept.
    "second one of three categories": case(
        responses((2, 3), 1, "1/2", public="a"), {"b": "c1"}, SMALLER, SECOND
    ),
    # Matrices that merge categories can raise what is divided by the entropy of these.
    "merging first": case(matrices(MERGING, TRUE, public="ab"), {}, NO_MERGED, set()),
    "merging second": case(
        matrices(TRUE, MERGING, public="ab"), {}, DIVERGENCES | {"mutual_information"}, set()
    ),
    # Presence of a category that others are taken for unevenly has no matrix of its own.
    "uneven one of three categories": case(
        matrices(EVEN_THIRD, TRUE, public="b"), {"a": "c0"}, NO_MERGED, set()
    ),
    "even one of three categories": case(
        matrices(EVEN_THIRD, TRUE, public="b"), {"a": "c2"}, SMALLER - {"mutual_information"}, FIRST
    ),
    # Independent answers give dependent reports: none of the results holds.
    "gamma-diagonal": case(survey_of(GammaDiagonal(19), (2, 2)), {}, set(), set()),
    "gamma-diagonal, public": case(survey_of(GammaDiagonal(19), (2, 2), "ab"), {}, set(), set()),
    "randomized-gamma-diagonal": case(
        survey_of(RandomizedGammaDiagonal(19, "1/4"), (2, 3)), {}, set(), set()
    ),
}


@pytest.fixture(params=CASES)
def kind(request):
    return CASES[request.param]


def code_of(survey, name, present):
    """Code of presence, None where nothing says it."""
    categories = survey.schema.attributes[survey.schema.names.index(name)].categories
    if name in present:
        return categories.index(present[name])
    return 1 if len(categories) == 2 else None


def some_reports(survey):
    """Reports in which no cell is empty where there are few."""
    rng = np.random.default_rng(0)
    shape = survey.schema.shape
    shares = rng.dirichlet(np.full(math.prod(shape), 3.0))
    codes = rng.choice(shares.size, REPORTS, p=shares)
    return np.stack(np.unravel_index(codes, shape), axis=1)


def randomized(survey, present):
    estimator = estimator_of(survey, some_reports(survey))
    measures = randomized_measures(estimator, survey.schema.names[:2], present)
    return {measure.name: measure for measure in measures}


# Formulas


def all_formulas(t, codes):
    pair = {} if None in codes else pair_measures(one_against_the_rest(t, codes), REPORTS)
    return pair | category_measures(t, REPORTS)


def distance(name, values):
    """Of a measure from that of independent attributes."""
    return np.abs(values - 1 if name in FROM_ONE else values)


def reported(oracle, survey, t):
    """Expected tables of reports, through the whole channel matrix."""
    matrix = oracle.matrix(survey, survey.schema.names)
    return (t.reshape(len(t), -1) @ matrix.T).reshape(t.shape)


# Numbers


def test_measures_are_those_of_the_plain_table_of_reports(kind, public_survey):
    survey, present = kind.survey, kind.present
    reports = some_reports(survey)
    t = np.zeros((1, *survey.schema.shape))
    np.add.at(t[0], tuple(reports.T), 1 / REPORTS)
    found = randomized(survey, present)
    expected = all_formulas(t, [code_of(survey, name, present) for name in "ab"])
    assert set(found) == set(expected)
    # As if the reports were answers that nothing had been done to.
    plain = estimator_of(public_survey(survey.schema.shape), reports)
    alike = {m.name: m for m in plain.measures(["a", "b"], present)}
    for name, measure in found.items():
        assert measure.standard_error == alike[name].standard_error, name
        # What is 0 at independence is corrected for bias.
        value = alike[name].value if name in FROM_ZERO else pytest.approx(expected[name][0])
        assert measure.value == value, name


# Claims


def test_exactly_what_was_found_to_hold_is_claimed(kind):
    assert set(MEASURE_NAMES) == EVERY
    found = randomized(kind.survey, kind.present)
    assert {n for n, measure in found.items() if measure.never_grows} == kind.never & set(found)
    assert {n for n, measure in found.items() if measure.order_preserved} == kind.order & set(found)


def test_what_is_claimed_holds_for_any_table(kind, oracle):
    rng, shape = np.random.default_rng(2), kind.survey.schema.shape
    codes = [code_of(kind.survey, name, kind.present) for name in "ab"]
    pairs = [random_tables(rng, DRAWS if math.prod(shape) < 100 else 10_000, shape) for _ in "12"]
    before = [all_formulas(t, codes) for t in pairs]
    after = [all_formulas(reported(oracle, kind.survey, t), codes) for t in pairs]
    for name, measure in randomized(kind.survey, kind.present).items():
        if measure.never_grows:
            for true, seen in zip(before, after, strict=True):
                sizes = distance(name, true[name]), distance(name, seen[name])
                assert sizes[0].size >= 10_000
                assert (sizes[1] <= sizes[0] * (1 + ROUNDING) + 1e-9).all(), name
        if measure.order_preserved:
            # Laplace's estimate of a share has no sign.
            first, second = (
                np.subtract(*(t[name] if name == "laplace" else np.abs(t[name]) for t in tables))
                for tables in (before, after)
            )
            assert (first * second >= -1e-15 * (1 + first**2)).all(), name


# A survey of three attributes


@pytest.mark.parametrize(
    ("survey", "never"),
    [
        (responses((2, 3, 2), "0.9", "0.6", "0.8"), DIVERGENCES),
        (matrices(ASYMMETRIC, MERGING, LYING, public="b"), DIVERGENCES),
        (survey_of(GammaDiagonal(19), (2, 2, 2)), set()),
    ],
)
def test_of_more_than_two_attributes_only_divergences_are_known_not_to_grow(survey, never, oracle):
    present = {"b": "c1"}
    measures = randomized_measures(
        estimator_of(survey, some_reports(survey)), ["a", "b", "c"], present
    )
    assert {m.name for m in measures if m.never_grows} == never
    assert not any(m.order_preserved for m in measures)
    rng = np.random.default_rng(4)
    shape = survey.schema.shape
    true = rng.dirichlet(np.full(math.prod(shape), 0.5), 10_000).reshape(-1, *shape) + 1e-9
    seen = reported(oracle, survey, true)

    def divergences(t):
        chance = reduce(
            np.multiply,
            [t.sum(tuple(a for a in (1, 2, 3) if a != axis), keepdims=True) for axis in (1, 2, 3)],
        )
        axes = (1, 2, 3)
        return ((t - chance) ** 2 / chance).sum(axes), (t * np.log(t / chance)).sum(axes)

    grew = [(b > a + 1e-6).any() for a, b in zip(*map(divergences, (true, seen)), strict=True)]
    assert grew == [not never] * 2


# Partial correlation


def partials(t, codes):
    """The partial correlation of many tables, from the inverse covariance of the presences."""
    t = one_against_the_rest(t, codes)
    signs = np.indices(t.shape[1:]).reshape(t.ndim - 1, -1).astype(float)
    flat = t.reshape(len(t), -1)
    flat = flat / flat.sum(1, keepdims=True)
    mean, second = flat @ signs.T, np.einsum("nc,ic,jc->nij", flat, signs, signs)
    inverse = np.linalg.inv(second - mean[:, :, None] * mean[:, None, :])
    return -inverse[:, 0, 1] / np.sqrt(inverse[:, 0, 0] * inverse[:, 1, 1])


PARTIAL = {
    # Results 10 and 11: attributes as they like, conditions true.
    "condition public": (responses((2, 2, 2), "0.8", "0.7", 1, public="c"), {}, True),
    "all public": (responses((2, 2, 2), 1, 1, 1, public="abc"), {}, True),
    "condition distorted": (responses((2, 2, 2), "0.8", "0.7", "0.9"), {}, False),
    "only the condition distorted": (responses((2, 2, 2), 1, 1, "0.9", public="ab"), {}, False),
    "lying": (matrices(LYING, ASYMMETRIC, TRUE, public="c"), {}, True),
    "one of two conditions distorted": (
        responses((2, 2, 2, 2), "0.8", "0.7", 1, "0.9", public="c"),
        {},
        False,
    ),
    "both conditions public": (responses((2, 2, 2, 2), "0.8", "0.7", 1, 1, public="cd"), {}, True),
    "categories": (responses((3, 2, 4), "0.5", "0.7", 1, public="c"), {"a": "c1", "c": "c3"}, True),
    "uneven category": (matrices(EVEN_THIRD, TRUE, TRUE, public="bc"), {"a": "c0"}, False),
    "even category": (matrices(EVEN_THIRD, TRUE, TRUE, public="bc"), {"a": "c2"}, True),
    "gamma-diagonal": (survey_of(GammaDiagonal(19), (2, 2, 2)), {}, False),
}


@pytest.mark.parametrize("name", PARTIAL)
def test_a_partial_correlation_is_claimed_not_to_grow_only_while_the_condition_is_true(
    name, oracle
):
    survey, present, never = PARTIAL[name]
    names, shape = survey.schema.names, survey.schema.shape
    estimator = estimator_of(survey, some_reports(survey))
    found = correlation_given_others_never_grows(estimator, names[:2], names[2:], present)
    assert found is never
    codes = [code_of(survey, attribute, present) for attribute in names]
    rng = np.random.default_rng(7)
    spread = rng.choice([0.5, 1, 5], (10_000, 1))
    weights = rng.gamma(spread, size=(10_000, math.prod(shape))) + 1e-3
    true = (weights / weights.sum(1, keepdims=True)).reshape(-1, *shape)
    before, after = (
        np.abs(partials(tables, codes)) for tables in (true, reported(oracle, survey, true))
    )
    assert (after <= before * (1 + ROUNDING) + 1e-9).all() == never


# Where there is no such table


def test_a_group_has_no_reports_of_its_own():
    survey = responses((2, 2, 2, 2), "0.9", "0.8", "0.9", "0.8")
    group = estimator_of(survey, some_reports(survey)).where({"d": "c1"})
    assert not correlation_given_others_never_grows(group, ["a", "b"], [])
    for ask in (
        lambda: randomized_measures(group, ["a", "b"]),
        lambda: model_of_reports(group, [["a"], ["b"]]),
    ):
        with pytest.raises(EstimateError, match="where: "):
            ask()


def test_reports_about_views_have_no_table_of_their_own():
    schema = schema_of((2, 2, 2))
    mechanism = SplitQuestionnaire.designed(schema, 19, (), {1: 1.0, 2: 1.0, 3: 1.0})
    survey = Survey("s", "S", schema, mechanism)
    rng = np.random.default_rng(3)
    reports = mechanism.perturb_many(schema, rng.integers(0, 2, (500, 3)), rng)
    estimator = estimator_of(survey, reports)
    sentence = r"^survey: its reports are no records but symbols that stand for many of them"
    with pytest.raises(EstimateError, match=sentence):
        randomized_measures(estimator, ["a", "c"])
    with pytest.raises(EstimateError, match=sentence):
        model_of_reports(estimator, [["a"], ["c"]])
    with pytest.raises(EstimateError, match=sentence):
        correlation_given_others_never_grows(estimator, ["a", "c"], ["b"])
