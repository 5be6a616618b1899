"""Score sets of shares within groups: the variance is that at the share that is tested."""

import numpy as np
import pytest
from halftruth_collector.estimation.contrasts import ratio_variance, shares_of, shares_within
from halftruth_collector.estimation.intervals import (
    EVERYTHING,
    INTERVAL,
    SHARE,
    intervals_at,
    score_sets,
)
from halftruth_collector.estimation.subgroups import Groups
from halftruth_collector.estimation.variances import RatioVariance
from halftruth_shared import (
    Attribute,
    GammaDiagonal,
    RandomizedResponse,
    Schema,
    SplitQuestionnaire,
    Survey,
    ViewClass,
)
from sources import estimator_of

Z = 1.959964
SHARES = ([0.7, 0.3], [0.5, 0.3, 0.2], [0.55, 0.3, 0.1, 0.05])


def schema_of(public=(), **more):
    return Schema(
        [
            Attribute(
                f"q{j}",
                [f"a{i}" for i in range(len(shares))],
                sensitive=f"q{j}" not in public,
                **more.get(f"q{j}", {}),
            )
            for j, shares in enumerate(SHARES)
        ]
    )


def views(*sizes, names=("q0", "q1", "q2")):
    return [ViewClass(attributes=(names,), choose=(size,), weight=2) for size in sizes]


GROUPS = {"q2": {"collapsed": {"some": ["a0", "a1"], "few": ["a2", "a3"]}}}
#: Schema and mechanism.
CASES = {
    "kept": (schema_of(), RandomizedResponse(dict.fromkeys(("q0", "q1", "q2"), "0.8"))),
    "whole": (schema_of(), GammaDiagonal("19")),
    "views": (schema_of(), SplitQuestionnaire("19", views(1, 2, 3), direct=6)),
    "public": (
        schema_of(("q0",)),
        SplitQuestionnaire("19", views(1, 2, names=("q1", "q2")), ["q0"]),
    ),
    "groups": (
        schema_of(("q0",), **GROUPS),
        SplitQuestionnaire("19", views(1, 2, names=("q1", "q2")), ["q0"]),
    ),
}
NAMES = {"groups": ["q0", "q2"]}


def a_table(case, reports=2_000):
    schema, mechanism = CASES[case]
    rng = np.random.default_rng(11)
    people = np.stack([rng.choice(len(p), reports, p=p) for p in SHARES], 1)
    estimator = estimator_of(Survey("s", "S", schema, mechanism), people, rng)
    return estimator.table(NAMES.get(case, ["q0", "q1", "q2"]))


def at_a_share(table, given, cell, share):
    """Return a − c·x, and its variance if the share of the cell within its group is c."""
    cells = np.indices(table.value.shape).reshape(table.value.ndim, -1).T
    inside = (cells[:, given] == cells[cell, given]).all(axis=1)
    own = np.arange(len(cells)) == cell
    people = np.maximum(table.value.ravel(), 1e-9)
    people /= people.sum()
    size = people[inside].sum()
    others = people * (inside & ~own)
    null = np.where(inside, 0.0, people) + size * share * own
    null += size * (1 - share) * others / others.sum()
    form = own - share * inside
    shares = null.reshape(table.value.shape)
    variance = table.sampled(0.0).covariance(form[None], shares).item()
    alone = table.sampled(1.0).covariance(form[None], shares).item()
    return form @ table.value.ravel(), (1 - table.fraction) * variance + table.fraction * alone


@pytest.mark.parametrize("fraction", [0.0, 0.4])
@pytest.mark.parametrize("case", CASES)
def test_at_the_ends_a_share_is_z_errors_away_of_the_tested_variance(case, fraction):
    """The errors are those of the expected covariance of a table with the tested share."""
    table = a_table(case).sampled(fraction)
    within = 0
    for given in ([0], [1], [0, 1][: table.value.ndim - 1]):
        sets = shares_within(table, given).sets(Z)
        for cell in range(0, table.value.size, 2):
            assert sets.kind[cell] == INTERVAL
            for end in (sets.lower[cell], sets.upper[cell]):
                if 0 < end < 1:
                    distance, variance = at_a_share(table, given, cell, end)
                    assert distance**2 == pytest.approx(Z**2 * variance, rel=1e-6)
                    within += 1
    assert within > 8


def test_without_perturbation_the_sets_are_wilsons():
    """Wilson (1927), of the people of the group."""
    schema = schema_of(("q0", "q1"))
    mechanism = RandomizedResponse(dict.fromkeys(("q0", "q1"), "1") | {"q2": "0.9"})
    rng = np.random.default_rng(3)
    people = np.stack([rng.choice(len(p), 400, p=p) for p in SHARES], 1)
    table = estimator_of(Survey("s", "S", schema, mechanism), people).table(["q0", "q1"])
    counted = np.round(table.value * 400)
    size = counted.sum(axis=1, keepdims=True) * 399 / 400
    share = counted / counted.sum(axis=1, keepdims=True)
    middle = (share + Z**2 / (2 * size)) / (1 + Z**2 / size)
    half = Z / (1 + Z**2 / size) * np.sqrt(share * (1 - share) / size + Z**2 / (4 * size**2))
    for sets in (
        shares_within(table, [0]).sets(Z),
        shares_of(Groups.of_codes(table, [0, 1], ["x", "y"]), 2, 0.95).sets(Z),
    ):
        chosen = slice(None) if len(sets.lower) > 2 else (slice(None), 2)
        assert sets.lower == pytest.approx((middle - half)[chosen].ravel(), rel=1e-9)
        assert sets.upper == pytest.approx((middle + half)[chosen].ravel(), rel=1e-9)


@pytest.mark.parametrize("case", ["kept", "whole"])
def test_of_everybody_they_are_the_intervals_of_the_table(case):
    """But for the factor N/(N − 1) of the variance."""
    table = a_table(case, 3_000)
    sets, (lower, upper) = shares_within(table, []).sets(Z), intervals_at(table, Z)
    possible = (lower > 0).ravel()
    assert sets.lower[possible] == pytest.approx(lower.ravel()[possible], abs=1e-5)
    assert sets.upper == pytest.approx(upper.ravel(), abs=1e-5)


def test_a_share_in_a_domain_has_the_set_of_all_groups():
    """A filter on a group, or the group as an axis of the table, give the same set."""
    schema, mechanism = CASES["kept"]
    rng = np.random.default_rng(11)
    people = np.stack([rng.choice(len(p), 4_000, p=p) for p in SHARES], 1)
    survey = Survey("s", "S", schema, mechanism)
    whole = estimator_of(survey, people, np.random.default_rng(1))
    domain = type(whole)(survey, whole.counts, {"q0": "a1"})
    of_all = shares_within(whole.table(["q0", "q1", "q2"]), [0, 1]).sets(Z)
    filtered = shares_within(domain.table(["q1", "q2"]), [0]).sets(Z)
    # Numbers of reports differ, which matters for the factor N/(N − 1) alone.
    assert filtered.lower == pytest.approx(of_all.lower[12:], abs=2e-4)
    assert filtered.upper == pytest.approx(of_all.upper[12:], abs=2e-4)


def test_a_group_that_the_tested_variance_does_not_tell_from_nobody_has_no_ends():
    moments = np.array([[1e-4], [0.0], [4e-4]])
    variance = RatioVariance(moments, moments, 0 * moments, np.zeros(1))
    part, whole = np.array([0.02]), np.array([0.03])
    fieller = shares_within(a_table("kept"), [0]).sets(Z)[:1]
    assert score_sets(part, whole, variance, Z, fieller).kind.tolist() == [EVERYTHING]
    clear = score_sets(part * 10, whole * 10, variance, Z, fieller)
    assert clear.kind.tolist() == [INTERVAL]
    assert clear.lower[0] < 2 / 3 < clear.upper[0]


def test_few_reports_have_sets_that_keep_their_level():
    """Seven groups and answers of 2 %, 300 reports; with estimated variances 86 % are covered."""
    rng, shares = np.random.default_rng(5), ([1 / 7] * 7, [0.02] * 7 + [0.86])
    schema = Schema([Attribute(f"q{j}", list("abcdefgh"[: len(p)])) for j, p in enumerate(shares)])
    survey = Survey("s", "S", schema, RandomizedResponse({"q0": "0.8", "q1": "0.8"}))
    truth, covered = np.tile(shares[1], 7), []
    for _ in range(100):
        people = np.stack([rng.choice(len(p), 300, p=p) for p in shares], 1)
        table = estimator_of(survey, people, rng).table(["q0", "q1"])
        sets = shares_within(table, [0]).sets(Z).within(SHARE)
        inside = (sets.lower <= truth) & (truth <= sets.upper)
        covered.append(np.where(sets.kind == INTERVAL, inside, sets.kind == EVERYTHING))
    assert 0.94 < np.mean(covered) < 0.98


def test_variances_are_unknown_without_the_probabilities_of_reports():
    survey = Survey("s", "S", *CASES["kept"])
    single = estimator_of(survey, np.zeros((1, 3), dtype=np.int64)).table(["q0", "q1"])
    assert ratio_variance(single, lambda cells: cells, lambda cells: cells) is None
