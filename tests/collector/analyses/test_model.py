"""Estimates by a model of all answers, against its definition and in results."""

from statistics import NormalDist

import msgspec
import numpy as np
import pytest
from halftruth_collector.analyses import ANALYSES, answer
from halftruth_collector.estimation.model.cached import MOST_TESTED
from halftruth_shared import (
    Attribute,
    DomainTooLarge,
    EstimateError,
    HalftruthError,
    RandomizedResponse,
    Schema,
    SplitQuestionnaire,
    Survey,
)
from halftruth_shared.results.showing import basis
from mined import rules_of
from sources import source_of

SCHEMA = Schema(
    [
        Attribute("a", ("no", "yes")),
        Attribute("b", ("low", "middle", "high")),
        Attribute("c", ("no", "yes", "none"), missing=("none",)),
        Attribute("d", ("no", "yes")),
    ]
)
WARNER = RandomizedResponse(dict.fromkeys(SCHEMA.names, "0.8"))
Z = 1.959963984540054


def world(triple=0.0):
    """Shares with pairwise interactions, and a three-way interaction of this size."""
    u = np.stack(np.indices(SCHEMA.shape)).astype(float)
    log = 0.5 * u[0] * u[1] - 0.8 * (u[2] == 1) * u[3] - 1.5 * (u[2] == 2) - 0.3 * u[1] * u[3]
    weights = np.exp(log + triple * (2 * u[0] - 1) * (u[1] - 1) * (2 * (u[2] == 1) - 1))
    return weights / weights.sum()


def counted(truth, people=20_000, mechanism=WARNER, seed=0, schema=SCHEMA):
    rng = np.random.default_rng(seed)
    survey = Survey("s", "S", schema, mechanism)
    cells = rng.choice(truth.size, people, p=truth.ravel())
    codes = np.stack(np.unravel_index(cells, truth.shape), axis=1)
    return source_of(survey, codes, rng)


def asked(name, source, **fields):
    query = ANALYSES[name].query(estimate="model", **fields)
    return answer(ANALYSES[name], source, query)


@pytest.fixture(scope="module")
def study_of_pairs():
    return counted(world())


def delta(model, function):
    """Return a function of the table and its standard error, by numerical derivatives."""
    design, theta = model.design, model.coefficients

    def at(parameters):
        table = np.exp(design.predictor(design.corner @ parameters))
        return function(table / table.sum())

    steps = 1e-5 * np.eye(len(theta))
    slopes = np.array([(at(theta + step) - at(theta - step)) / 2e-5 for step in steps])
    return at(theta), float(np.sqrt(slopes @ model.covariance @ slopes))


def hull(share, error):
    """Ends of the union of the normal intervals of a share and of its logit or fourth root."""
    logit, width = np.log(share / (1 - share)), Z * error / (share * (1 - share))
    low, high = (1 / (1 + np.exp(-logit - sign * width)) for sign in (-1, 1))
    roots = [(each**0.25 + Z * error / (4 * each**0.75)) ** 4 for each in (share, 1 - share)]
    low, high = max(low, 1 - roots[1]), min(high, roots[0])
    return [max(0, min(low, share - Z * error)), min(1, max(high, share + Z * error))]


def from_shares(model, error, *functions):
    """Ends of a difference by Zou & Donner (2008), from those of two shares."""
    (one, its), (other, others) = (delta(model, function) for function in functions)
    correlation = (its**2 + others**2 - error**2) / (2 * its * others)
    gaps = [np.abs(np.array(hull(s, e)) - s) for s, e in ((one, its), (other, others))]

    def reach(side):
        a, b = gaps[0][side], gaps[1][1 - side]
        return np.sqrt(a**2 + b**2 - 2 * correlation * a * b)

    return one - other - reach(0), one - other + reach(1)


def check_share(estimate, model, function):
    share, error = delta(model, function)
    assert estimate.value == pytest.approx(share, rel=1e-6)
    assert estimate.standard_error == pytest.approx(error, rel=1e-4)
    assert estimate.interval == pytest.approx(hull(share, error), rel=1e-4)


def test_a_cell_of_all_answers_is_that_of_the_fitted_table(study_of_pairs):
    result = asked("table", study_of_pairs, attributes=["d", "b", "a", "c"], covariance=True)
    model = study_of_pairs.model()
    for place in (0, 17, 35):
        d, b, a, c = np.unravel_index(place, (2, 3, 2, 3))
        check_share(result.rows[place], model, lambda table, at=(a, b, c, d): table[at])
    errors = np.sqrt(np.diag(result.covariance))
    np.testing.assert_allclose(errors, result.estimates.standard_error, rtol=1e-9)
    assert {cell.perturbation_error for cell in result.rows} == {None}


@pytest.mark.parametrize("where", [{"b": "high"}, {"b": ["low", "high"], "d": "yes"}])
@pytest.mark.parametrize("missing", ["keep", "exclude"])
def test_shares_within_a_group_are_conditional_on_the_group_and_on_answering(
    study_of_pairs, where, missing
):
    result = asked("table", study_of_pairs, attributes=["c", "a"], where=where, missing=missing)
    among = [2] if where["b"] == "high" else [0, 2]
    days = [1] if "d" in where else [0, 1]
    kept = 3 if missing == "keep" else 2

    def share(table, c, a):
        within = table[:, among][..., days].sum(axis=(1, 3))[:, :kept]
        return within[a, c] / within.sum()

    places = [(c, a) for c in range(kept) for a in range(2)]
    for (c, a), cell in zip(places, result.rows, strict=True):
        check_share(cell, study_of_pairs.model(), lambda table, c=c, a=a: share(table, c, a))


def test_itemsets_of_any_length_are_decided_by_their_own_intervals(study_of_pairs):
    result = asked("itemsets", study_of_pairs, min_support=0.05, all_answers=True)
    lengths = {len(row["itemset"]) for row in result.rows}
    assert lengths == {1, 2, 3, 4}
    for itemset in result.rows[:: len(result.rows) // 12]:
        axes = {
            SCHEMA.position(n): SCHEMA.attributes[SCHEMA.position(n)].categories.index(c)
            for n, c in itemset["itemset"].items()
        }
        cells = tuple(axes.get(axis, slice(None)) for axis in range(4))
        share, error = delta(study_of_pairs.model(), lambda table, at=cells: table[at].sum())
        assert itemset.value == pytest.approx(share, rel=1e-6)
        assert itemset.standard_error == pytest.approx(error, rel=1e-4)
        if itemset.adjusted_p_value <= 0.05:
            assert itemset.interval[0] >= 0.05


@pytest.mark.parametrize("at_once", [True, False])
def test_itemsets_are_the_same_level_by_level(monkeypatch, at_once):
    source = counted(world(), seed=3)
    expected = [row["itemset"] for row in asked("itemsets", source, min_support=0.2).rows]
    if not at_once:
        monkeypatch.setattr("halftruth_collector.estimation.estimator._AT_ONCE", 1)
    found = asked("itemsets", source, min_support=0.2)
    assert [row["itemset"] for row in found.rows] == expected


def test_a_rule_has_the_share_of_its_consequent_within_its_antecedent(study_of_pairs):
    result = asked("rules", study_of_pairs, min_support=0.1, min_confidence=0.1, measures=["lift"])
    [rule] = [
        rule
        for rule in rules_of(result)
        if (rule.antecedent, rule.consequent) == ({"b": "high"}, {"a": "yes"})
    ]
    model = study_of_pairs.model()
    by_name = asked("rules", study_of_pairs, antecedent=rule.antecedent, consequent=rule.consequent)
    [one] = rules_of(by_name)
    assert (one.value, one.standard_error) == pytest.approx((rule.value, rule.standard_error))
    check_share(one, model, lambda table: table[1, 2].sum() / table[:, 2].sum())
    check_share(one.support, model, lambda table: table[1, 2].sum())
    lift = delta(model, lambda t: t[1, 2].sum() / t[:, 2].sum() / t[1].sum())[0]
    assert rule.measures[0].value == pytest.approx(lift, rel=1e-6)


@pytest.mark.parametrize("effect", ["difference", "risk_ratio", "odds_ratio"])
def test_effects_between_groups_have_intervals_on_their_own_scale(study_of_pairs, effect):
    result = asked(
        "comparison",
        study_of_pairs,
        answer={"a": "yes"},
        groups="b",
        reference="low",
        effect=effect,
    )

    def of(table, group):
        share = table[1, group].sum() / table[:, group].sum()
        return share / (1 - share) if effect == "odds_ratio" else share

    model = study_of_pairs.model()
    effects = [result.rows[place] for place in result.places(effect)]
    for group, compared in zip((1, 2), effects, strict=True):
        if effect == "difference":
            value, error = delta(model, lambda t, g=group: of(t, g) - of(t, 0))
            ends = from_shares(model, error, *(lambda t, g=g: of(t, g) for g in (group, 0)))
        else:
            log, error = delta(model, lambda t, g=group: np.log(of(t, g) / of(t, 0)))
            value, ends = np.exp(log), np.exp([log - Z * error, log + Z * error])
        assert compared.value == pytest.approx(value, rel=1e-6)
        errors = compared.standard_error, compared.standard_error_log
        assert errors[effect != "difference"] == pytest.approx(error, rel=1e-4)
        assert errors[effect == "difference"] is None
        assert compared.interval == pytest.approx(ends, rel=1e-4)
        # Wald's test at the pooled share.
        both = model.table[:, [0, group]]
        common = both[1].sum() / both.sum()

        def beyond(t, g, common=common):
            return (t[1, g].sum() - common * t[:, g].sum()) / model.table[:, g].sum()

        z = np.divide(*delta(model, lambda t, g=group: beyond(t, g) - beyond(t, 0)))
        assert compared.p_value == pytest.approx(2 * NormalDist().cdf(-abs(z)), rel=1e-3)
    check_share(result.find("share", group="low"), model, lambda t: t[1, 0].sum() / t[:, 0].sum())
    assert "Wald tests by the model" in result.caveats[-1].sentence


def test_the_overview_has_shares_of_answers_and_of_missing_answers(study_of_pairs):
    result = asked("overview", study_of_pairs, missing="exclude")
    model = study_of_pairs.model()
    silent, second = (
        result.find("missing"),
        result.rows[int(result.places("share", question="c")[1])],
    )
    check_share(silent, model, lambda table: table[:, :, 2].sum())
    check_share(second, model, lambda t: t[:, :, 1].sum() / (1 - t[:, :, 2].sum()))


def test_a_three_way_interaction_contradicts_the_model():
    source = counted(world(0.5))
    result = asked("table", source, attributes=["a", "b"])
    fit = result.model_fit
    assert fit.converged
    assert (fit.p_value, fit.clearest.attributes) == (1 / 200, ["a", "b", "c"])
    [line] = basis(result)
    assert line == (
        "The model has no interaction of three or more questions; the reports contradict this"
        " assumption (p = 0.005; strongest evidence: a:b:c). Try interactions = a,b,c."
    )
    better = asked("table", source, attributes=["a", "b"], interactions=[["a", "b", "c"]])
    assert better.model_fit.p_value > 0.05
    line, compared = basis(better)
    assert line.startswith(
        "The model has no interaction of three or more questions besides a:b:c; the"
    )
    assert "do not contradict" in line
    assert compared == "Without a:b:c the model would be contradicted (p = 0.005)."


def test_pairwise_interactions_do_not_contradict_the_model(study_of_pairs):
    result = asked("table", study_of_pairs, attributes=["a"], interactions=[["a", "b", "d"]])
    line, compared = basis(result)
    assert "do not contradict" in line
    assert compared.startswith("Without a:b:d the model would not be contradicted (p = 0.")


def test_adding_a_three_way_interaction_restores_the_coverage_of_intervals():
    truth = world(0.5)
    names, cell = ["a", "b", "c"], (1, 2, 1)
    true = truth.sum(axis=3)[cell]
    hits = {0: 0, 1: 0}
    for seed in range(12):
        source = counted(truth, seed=seed)
        for extra in hits:
            terms = [names] * extra
            found = asked("table", source, attributes=names, interactions=terms)
            lower, upper = found.rows[int(np.ravel_multi_index(cell, (2, 3, 3)))].interval
            hits[extra] += lower <= true <= upper
    assert hits[0] <= 3
    assert hits[1] >= 9


def test_reports_about_pairs_give_longer_tables_but_no_test_of_the_model():
    schema = Schema([Attribute(name, ("no", "yes", "much")) for name in "abcd"])
    pairs = SplitQuestionnaire.designed(schema, 19, (), {2: 1.0})
    source = counted(np.full((3,) * 4, 1 / 81), 3_000, pairs, schema=schema)
    result = asked("itemsets", source, min_support=0.005)
    assert max(len(row["itemset"]) for row in result.rows) == 4
    assert basis(result) == [
        "The model has no interaction of three or more questions; this assumption was not"
        " tested, because the reports do not identify such interactions."
    ]
    with pytest.raises(EstimateError, match=r"^interactions: no report is about 'a', 'b' and 'c'"):
        asked("overview", source, interactions=[["a", "b", "c"]])


def test_tests_that_would_take_too_long_are_not_computed_and_this_is_stated(monkeypatch):
    monkeypatch.setattr("halftruth_collector.estimation.model.cached.MOST_TESTED", 10)
    assert MOST_TESTED > 10
    result = asked("table", counted(world(), 500, seed=9), attributes=["a"])
    assert result.model_fit.p_value is None
    assert basis(result)[0].endswith("was not tested, because the test would take too long.")


def test_a_fit_that_did_not_converge_is_stated():
    result = asked("table", counted(world(), 500, seed=9), attributes=["a"])
    fit = msgspec.structs.replace(result.model_fit, converged=False)
    lines = basis(msgspec.structs.replace(result, model_fit=fit))
    assert lines[-1] == "The fit of the model did not converge: do not rely on it."


@pytest.mark.parametrize(
    ("fields", "field", "said"),
    [
        ({"target": "respondents"}, "target", "expected population, since a model is of those"),
        ({"modelled": ["b", "c"]}, "attributes", "unknown attribute 'a'"),
        ({"modelled": ["a", "a"]}, "modelled", "'a' is named twice"),
        ({"interactions": [["a", "x"]]}, "interactions", "unknown attribute 'x'"),
        ({"where": {"a": "yes"}}, "attributes", "is filtered on by where"),
    ],
)
def test_invalid_requests_of_a_model_are_refused(study_of_pairs, fields, field, said):
    with pytest.raises(HalftruthError, match=said) as caught:
        asked("table", study_of_pairs, attributes=["a"], **fields)
    assert caught.value.field == field


def test_a_model_of_too_many_questions_is_refused_but_can_be_restricted():
    many = Schema([Attribute(f"q{j}", ("no", "yes")) for j in range(20)])
    rng = np.random.default_rng(0)
    survey = Survey("m", "M", many, RandomizedResponse(dict.fromkeys(many.names, "0.8")))
    records = rng.integers(0, 2, (500, 20))
    source = source_of(survey, records, rng)
    with pytest.raises(DomainTooLarge, match=r"^attributes: a model of 1048576 cells; expect") as e:
        asked("overview", source)
    assert e.value.field == "attributes"
    result = asked("overview", source, modelled=["q3", "q5", "q7"])
    assert [*dict.fromkeys(result.key("question").values)] == ["q3", "q5", "q7"]
    assert result.model_fit.attributes == ["q3", "q5", "q7"]


def test_two_scales_have_a_linear_by_linear_term_unless_their_interaction_is_named():
    fives = [Attribute(name, [*"abcde"], ordered=True) for name in ("trust", "mood")]
    schema = Schema([*fives, Attribute("sex", ["m", "f"])])
    mechanism = SplitQuestionnaire.designed(schema, "19", (), {1: 1, 2: 1})
    survey, rng = Survey("s", "S", schema, mechanism), np.random.default_rng(7)
    latent = rng.multivariate_normal([0, 0], [[1, 0.3], [0.3, 1]], 5_000)
    codes = np.clip(np.rint(2 + latent), 0, 4).astype(int)
    people = np.column_stack([codes, rng.integers(0, 2, len(codes))])
    source = source_of(survey, survey.perturbation.reports(people, rng))
    result = asked("table", source, attributes=["trust", "mood"])
    assert result.model_fit.linear_pairs == [["trust", "mood"]]
    [line] = basis(result)
    assert line.startswith(
        "The model has no interaction of three or more questions, and only a linear-by-linear term"
        " of trust and mood; the reports do not contradict this assumption (p = "
    )
    headline = (
        "Assuming no interaction of three or more questions, a linear-by-linear association of"
        " trust and mood: "
    )
    assert repr(ANALYSES["table"].described(result)).count(headline) == 1
    named = asked("table", source, attributes=["trust", "mood"], interactions=[["trust", "mood"]])
    assert named.model_fit.linear_pairs == []
    line, compared = basis(named)
    assert "besides trust:mood; " in line
    assert compared.startswith("Without trust:mood the model would not be contradicted (p = 0.")
    errors = [each.estimates.standard_error for each in (result, named)]
    assert np.median(errors[0] / errors[1]) < 0.8
