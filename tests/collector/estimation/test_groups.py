"""Estimates about a group: formula, coverage, and refusals."""

import numpy as np
import pytest
from halftruth_collector.estimation import Counts, Estimator
from halftruth_collector.estimation.intervals import table_intervals
from halftruth_shared import (
    Attribute,
    DomainTooLarge,
    EstimateError,
    GammaDiagonal,
    ParameterError,
    RandomizedResponse,
    Schema,
    SchemaError,
    Survey,
)
from halftruth_shared.mechanisms import SplitQuestionnaire, ViewClass
from mined import itemsets_of, mined_rules, rule_of, rules_of
from sources import aim, aimed, estimator_of

from .definitions import TARGETS, differences

SHAPE = (2, 3, 2)
NAMES = ("a", "b", "c")
WHERE = [
    {"a": "c1"},
    {"b": "c2"},
    {"c": "c0", "a": "c1"},
    {"b": ["c0", "c2"]},
    {"b": ["c1", "c0"], "a": ["c1"]},
]


def within(table, where):
    """Return the part of a table of all attributes inside the group, with a sum of 1."""
    summed = tuple(axis for axis, name in enumerate(NAMES) if name in where)
    part = (table.reshape(SHAPE) * inside_of(where)).sum(axis=summed)
    return (part / part.sum()).ravel()


def inside_of(where):
    """1 in the cells of the group, 0 in the others."""
    inside = np.ones(SHAPE)
    for axis, (name, size) in enumerate(zip(NAMES, SHAPE, strict=True)):
        if name in where:
            chosen = [f"c{code}" in where[name] for code in range(size)]
            inside *= np.reshape(chosen, [size if k == axis else 1 for k in range(len(SHAPE))])
    return inside


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("where", WHERE, ids=str)
def test_a_table_of_a_group_is_the_normalized_slice_of_the_larger_table(
    reports, oracle, where, target
):
    """Against a dense covariance, and a gradient by finite differences."""
    survey, found = reports
    whole = oracle.support(survey, found, NAMES)
    covariance = oracle.covariance(survey, found, NAMES, target)
    slopes = differences(lambda table: within(table, where), whole)
    expected = slopes @ covariance @ slopes.T

    group = Estimator(survey, Counts.from_reports(survey, found)).where(where)
    names = [name for name in NAMES if name not in where]
    table = group.table(names)
    assert table.axes == tuple(names)
    np.testing.assert_allclose(table.value.ravel(), within(whole, where), atol=1e-9)
    np.testing.assert_allclose(
        aim(table, target).covariance(), expected, atol=1e-8 * expected.max()
    )
    np.testing.assert_allclose(aim(table, target).variance().ravel(), np.diag(expected), rtol=1e-6)

    inside = inside_of(where)
    share, sd = inside.ravel() @ whole, np.sqrt(inside.ravel() @ covariance @ inside.ravel())
    described = aimed(group, target).group(0.95)
    single = {name: said[0] if len(said) == 1 else said for name, said in where.items()}
    assert described.items == {
        n: where[n] if isinstance(where[n], str) else single[n] for n in where
    }
    assert described.share == pytest.approx(share)
    interval = share - 1.959964 * sd, share + 1.959964 * sd
    if all(isinstance(said, str) or len(said) == 1 for said in where.values()):
        # One cell of a table has a score interval, a sum of several cells a normal one.
        everybody = Estimator(survey, Counts.from_reports(survey, found)).table(list(where))
        cell = np.unravel_index(np.argmin(abs(everybody.value - share)), everybody.value.shape)
        interval = [end[cell] for end in table_intervals(aim(everybody, target), 0.95)]
    assert described.interval == pytest.approx(interval)
    assert described.people == pytest.approx(30_000 * share)
    assert table.reports == round(30_000 * share)


@pytest.mark.parametrize("target", TARGETS)
def test_a_rule_in_a_group_equals_the_rule_with_the_group_in_its_antecedent(reports, target):
    survey, found = reports
    everybody = Estimator(survey, Counts.from_reports(survey, found))
    group = everybody.where({"b": "c2"})
    inside = rule_of(aimed(group, target), {"a": "c1"}, {"c": "c0"}).rows[0]
    outside = rule_of(aimed(everybody, target), {"a": "c1", "b": "c2"}, {"c": "c0"}).rows[0]
    assert inside.value == pytest.approx(outside.value)
    assert inside.standard_error == pytest.approx(outside.standard_error)


@pytest.mark.parametrize("estimate", ["moment", "likelihood"])
def test_itemsets_and_rules_of_a_group_are_those_of_its_tables(reports, estimate):
    survey, found = reports
    group = Estimator(survey, Counts.from_reports(survey, found)).where({"b": "c0"})
    itemsets = list(itemsets_of(group, 0.01, 2, estimate=estimate).rows)
    assert len(itemsets) == 8
    for itemset in itemsets:
        names = list(itemset["itemset"])
        cell = tuple(int(category[1:]) for category in itemset["itemset"].values())
        table = group.table(names)
        shares = group.best_guess.table(names) if estimate == "likelihood" else table.value
        assert itemset.value == pytest.approx(shares[cell])
        # Likelihood estimates have no errors.
        error = None if estimate == "likelihood" else pytest.approx(np.sqrt(table.variance())[cell])
        assert itemset.standard_error == error
    for rule in rules_of(mined_rules(group, 0.01, 0.0, max_length=2)):
        [again] = rules_of(rule_of(group, rule.antecedent, rule.consequent, measures=[]))
        assert rule.value == pytest.approx(again.value)
        assert rule.support.standard_error == pytest.approx(again.support.standard_error)
    assert group.table(["a", "c"]).value.sum() == pytest.approx(1)
    assert group.best_guess.table(["a", "c"]).sum() == pytest.approx(1)


def test_a_group_in_unperturbed_answers_has_the_error_of_its_members(public_survey):
    """With n_w members of the group, the variance of a share p is p(1 − p)/n_w."""
    survey = public_survey(SHAPE)
    records = np.random.default_rng(3).integers(0, SHAPE, size=(600, 3))
    group = Estimator(survey, Counts.from_reports(survey, records)).where({"b": "c1"})
    members = records[records[:, 1] == 1]
    p = np.bincount(members[:, 0], minlength=2) / len(members)
    table = group.table(["a"])
    np.testing.assert_allclose(table.value, p)
    np.testing.assert_allclose(table.variance(), p * (1 - p) / len(members) * 600 / 599)
    np.testing.assert_allclose(table.alone.variance(), 0, atol=1e-18)
    described = aimed(group, "respondents").group()
    assert described.people == pytest.approx(len(members))
    assert described.people_interval == pytest.approx((len(members), len(members)))


def test_a_group_of_all_people_changes_nothing(public_survey):
    survey = public_survey(SHAPE)
    records = np.random.default_rng(3).integers(0, SHAPE, size=(600, 3))
    records[:, 2] = 1
    everybody = Estimator(survey, Counts.from_reports(survey, records))
    group = everybody.where({"c": "c1"})
    for target in TARGETS:
        expected, found = (aim(e.table(["b"]), target).variance() for e in (everybody, group))
        np.testing.assert_allclose(found, expected, atol=1e-18)
    # Wilson's interval of 600 of 600 for a population; for the respondents it is exact.
    assert group.group().interval == pytest.approx((600 / (600 + 1.959964**2), 1.0))
    assert aimed(group, "respondents").group().interval == (1.0, 1.0)


SIZES = (2, 3, 2, 2)
SCHEMA = Schema(
    [
        Attribute(name, [f"c{code}" for code in range(size)], sensitive=name != "p")
        for name, size in zip("pqrs", SIZES, strict=True)
    ]
)
PAIRS = ViewClass(attributes=(("q", "r", "s"),), choose=(2,), weight=1)
SIMULATED = {
    "split-questionnaire": SplitQuestionnaire("19", [PAIRS], public=["p"]),
    "randomized response": RandomizedResponse({"p": 1, "q": "0.85", "r": "0.85", "s": "0.9"}),
    "gamma-diagonal": GammaDiagonal("40"),
}
ASKED = [({"r": "c1"}, "q"), ({"p": "c1"}, "q"), ({"p": "c0", "s": "c1"}, "r")]


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("mechanism", "target"),
    [*((name, "population") for name in SIMULATED), ("randomized response", "respondents")],
)
def test_intervals_of_shares_in_a_group_have_their_nominal_coverage(mechanism, target):
    # 400 surveys, 8 shares of which 5 are free, in three groups: the pooled coverage has a standard
    # deviation of about 0.55 %, so that 93 to 97 % is 3.6 of these each way; the four checks
    # together raise a false alarm in less than one run of 700.
    survey = Survey("s", "S", SCHEMA, SIMULATED[mechanism])
    rng = np.random.default_rng(17)
    people, surveys = 2_000, 400
    shares = rng.dirichlet(np.full(SCHEMA.size, 6.0))
    every = np.stack(np.unravel_index(np.arange(SCHEMA.size), SIZES), axis=1)
    drawn = rng.choice(SCHEMA.size, size=(surveys, people), p=shares)
    if target == "respondents":
        drawn = np.broadcast_to(drawn[0], drawn.shape)
        shares = np.bincount(drawn[0], minlength=SCHEMA.size) / people
    reports = survey.perturbation.reports(every[drawn.ravel()], rng)
    hits = []
    for rows in reports.reshape(surveys, people, -1):
        everybody = Estimator(survey, Counts.from_reports(survey, rows))
        for where, name in ASKED:
            lower, upper = table_intervals(aim(everybody.where(where).table([name]), target), 0.95)
            truth = of_group(shares, where, name)
            hits.append((lower <= truth) & (truth <= upper))
    assert 0.93 <= np.concatenate(hits).mean() <= 0.97


def of_group(shares, where, name):
    place = [int(where[n][1:]) if n in where else slice(None) for n in SCHEMA.names]
    part = shares.reshape(SIZES)[tuple(place)]
    left = [n for n in SCHEMA.names if n not in where]
    part = part.sum(axis=tuple(axis for axis, n in enumerate(left) if n != name))
    return part / part.sum()


def few_of(count, reports=400):
    """Unperturbed reports, `count` of which have w = c1."""
    schema = Schema([Attribute(n, ["c0", "c1"], sensitive=n != "w") for n in ("a", "w")])
    survey = Survey("s", "S", schema, RandomizedResponse({"a": "0.9", "w": "1"}))
    rows = np.zeros((reports, 2), dtype=int)
    rows[:count, 1], rows[::2, 0] = 1, 1
    return Estimator(survey, Counts.from_reports(survey, rows))


@pytest.mark.parametrize("count", [0, 1, 20])
def test_a_group_not_significantly_above_zero_is_refused_in_one_line(count):
    with pytest.raises(EstimateError) as caught:
        few_of(count).where({"w": "c1"})
    assert caught.value.field == "where"
    assert str(caught.value).startswith("where: those with w=c1 are ")
    assert "\n" not in str(caught.value)


def test_a_group_significantly_above_zero_is_accepted():
    # 40 of 400 are 40/√36 = 6.7 standard errors above zero.
    assert few_of(40).where({"w": "c1"}).table(["a"]).reports == 40


def test_a_group_of_one_report_is_refused():
    with pytest.raises(EstimateError, match="where: "):
        few_of(1, reports=1).where({"w": "c1"})


@pytest.mark.parametrize(
    ("where", "error", "said"),
    [
        ({"x": "c1"}, SchemaError, "where: unknown attribute 'x'"),
        ({"w": "c7"}, ParameterError, "where: 'w' has no category 'c7'; expected one of: c0, c1"),
        ({"a": "c0", "w": "c1"}, ParameterError, "where: every attribute is filtered on"),
    ],
)
def test_an_invalid_group_is_refused_in_one_line(where, error, said):
    with pytest.raises(error) as caught:
        few_of(200).where(where)
    assert caught.value.field == "where"
    assert str(caught.value).startswith(said)


def test_attributes_of_the_filter_cannot_be_analysed():
    group = few_of(200).where({"w": "c1"})
    for ask, field in (
        (lambda: group.table(["a", "w"]), "attributes"),
        (lambda: rule_of(group, {"w": "c1"}, {"a": "c0"}), "antecedent"),
    ):
        with pytest.raises(ParameterError) as caught:
            ask()
        assert caught.value.field == field
        assert str(caught.value) == (
            f"{field}: 'w' is filtered on by where; expected other attributes"
        )


def test_too_many_cells_are_refused_in_one_line(public_survey):
    survey = public_survey((2,) * 15)
    everybody = Estimator(survey, Counts.from_reports(survey, np.eye(15, dtype=int).repeat(50, 0)))
    names = survey.schema.names
    assert everybody.table(names).value.size == 2**15
    with pytest.raises(DomainTooLarge, match=f"{3**15} cells of all margins") as caught:
        everybody.where({"a": "c0"}).table(names[1:])
    assert "\n" not in str(caught.value)


def test_groups_in_a_split_questionnaire_are_limited_by_its_views():
    survey = Survey("s", "S", SCHEMA, SIMULATED["split-questionnaire"])
    records = np.random.default_rng(4).integers(0, SIZES, size=(4_000, 4))
    everybody = estimator_of(survey, records, np.random.default_rng(5))
    public, private = everybody.where({"p": "c1"}), everybody.where({"s": "c1"})
    assert itemsets_of(public, 0.05).lengths.max() == 2
    # Besides one further question, every report states the public one.
    found = itemsets_of(private, 0.05)
    pairs = found.codes[found.lengths == 2]
    assert found.lengths.max() == 2
    assert (pairs[:, private.schema.names.index("p")] >= 0).all()
    with pytest.raises(ParameterError, match="together"):
        private.table(["q", "r"])
    two = everybody.where({"q": "c1", "s": "c1"})
    assert (two.identified(["p"]), two.identified(["r"])) == (True, False)
    with pytest.raises(ParameterError, match=r"where: no report is about further attributes"):
        everybody.where({"q": "c1", "s": "c1", "p": "c1"})
