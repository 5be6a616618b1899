"""Measures of ordered answers, against SciPy and a count of all pairs of people."""

import numpy as np
import pytest
import scipy.stats
from halftruth_shared import (
    Attribute,
    GammaDiagonal,
    ParameterError,
    RandomizedResponse,
    Schema,
    SplitQuestionnaire,
    Survey,
)
from mined import measures_of, rows_of, rule_of
from respondents import answers, estimators
from sources import estimator_of

NAMES = ["goodman_kruskal_gamma", "tau_b", "somers_d"]


def schema_of(*, sensitive=True):
    return Schema(
        (
            Attribute("x", ("a", "b", "c", "-"), ordered=True, missing=("-",), sensitive=sensitive),
            Attribute("y", ("1", "2", "3", "4"), kind="scale", sensitive=sensitive),
            Attribute("z", ("no", "yes"), sensitive=sensitive),
            Attribute("party", ("left", "right", "none"), sensitive=sensitive),
        )
    )


OPEN = schema_of(sensitive=False)
UNPERTURBED = Survey("s", "S", OPEN, RandomizedResponse(dict.fromkeys(OPEN.names, "1")))
PAIR = Schema(schema_of().attributes[:2])
SURVEYS = {
    mechanism.kind: Survey("s", "S", PAIR, mechanism)
    for mechanism in (
        SplitQuestionnaire.designed(PAIR, "19", (), {1: 1.0, 2: 1.0}),
        RandomizedResponse({"x": "0.8", "y": "0.8"}),
        GammaDiagonal("19"),
    )
}


def people(count=3_000, *, independent=False):
    """Codes of x and y of `count` people; a tenth have no x."""
    if independent:
        shares = np.multiply.outer([0.3, 0.35, 0.25, 0.1], [0.4, 0.3, 0.2, 0.1])
        cells = np.stack(np.indices(shares.shape), axis=-1).reshape(-1, 2)
        return np.repeat(cells, np.rint(count * shares.ravel()).astype(int), axis=0)
    rng = np.random.default_rng(1)
    x = rng.choice(4, count, p=[0.3, 0.35, 0.25, 0.1])
    moved = rng.integers(0, 2, count) - (rng.random(count) < 0.4)
    return np.stack([x, np.clip(np.where(x == 3, 1, x) + moved, 0, 3)], axis=1)


def truths(codes):
    """For people with an x: γ from all pairs, τ_b and d from SciPy."""
    x, y = codes[codes[:, 0] < 3].T
    signs = np.sign(np.subtract.outer(x, x)) * np.sign(np.subtract.outer(y, y))
    alike, against = (signs > 0).sum(), (signs < 0).sum()
    return [
        (alike - against) / (alike + against),
        scipy.stats.kendalltau(x, y).statistic,
        scipy.stats.somersd(x, y).statistic,
    ]


def estimate(codes, attributes, names=NAMES):
    rest = np.zeros_like(codes)
    estimator = estimator_of(UNPERTURBED, np.hstack([codes, rest]))
    return rows_of(measures_of(estimator, attributes, measures=names))


def test_ordered_measures_without_perturbation_are_those_of_the_records():
    codes = people(800)
    assert [m.value for m in estimate(codes, ["x", "y"])] == pytest.approx(truths(codes))
    # Somers' d is not symmetric.
    gamma, tau, d = (m.value for m in estimate(codes, ["y", "x"]))
    x, y = codes[codes[:, 0] < 3].T
    assert [gamma, tau] == pytest.approx(truths(codes)[:2])
    assert d == pytest.approx(scipy.stats.somersd(y, x).statistic)


def test_the_error_of_gamma_is_that_of_the_literature():
    # ASE₁ of γ: Agresti (2013), eq. 3.9, from all pairs.
    codes = people(800)
    x, y = codes[codes[:, 0] < 3].T
    signs = np.sign(np.subtract.outer(x, x)) * np.sign(np.subtract.outer(y, y))
    alike, against = (signs > 0).sum(axis=1), (signs < 0).sum(axis=1)
    p, q = alike.sum(), against.sum()
    expected = 4 / (p + q) ** 2 * np.sqrt(((q * alike - p * against) ** 2).sum())
    [gamma] = estimate(codes, ["x", "y"], NAMES[:1])
    assert gamma.standard_error == pytest.approx(expected, rel=2e-3)


@pytest.mark.nightly
@pytest.mark.parametrize("independent", [False, True])
@pytest.mark.parametrize("kind", SURVEYS)
def test_intervals_of_ordered_measures_have_their_nominal_coverage(kind, independent):
    # With 400 surveys, a coverage outside of 92.5 to 97.3 % has a probability of 2 %. With
    # independent answers, an interval that excludes 0 is a test at the level of 5 %.
    codes = people(independent=independent)
    expected = truths(codes)
    held, values = [], []
    for estimator in estimators(SURVEYS[kind], answers(codes, PAIR)):
        found = rows_of(measures_of(estimator, ["x", "y"], measures=NAMES))
        # An empty set, which is entirely outside the possible range, does not cover the truth.
        ends = np.array([m.interval or (np.nan, np.nan) for m in found])
        held.append((ends[:, 0] <= expected) & (expected <= ends[:, 1]))
        values.append([m.value for m in found])
    covered = np.mean(held, axis=0)
    assert ((covered > 0.925) & (covered < 0.973)).all(), covered
    bias = np.abs(np.mean(values, axis=0) - expected) / np.std(values, axis=0)
    assert (bias < 0.15).all(), bias


def test_ordered_measures_are_listed_only_for_pairs_of_ordered_attributes():
    estimator = estimator_of(
        UNPERTURBED, np.random.default_rng(1).integers(0, [3, 4, 2, 3], (500, 4))
    )

    def listed(*names):
        listed = measures_of(estimator, names).texts("quantity")
        return [name for name in listed if name in NAMES]

    assert listed("x", "y") == listed("x", "z") == NAMES
    # Two answers count as ordered only beside an ordered attribute.
    assert listed("z", "party") == listed("x", "party") == listed("x", "y", "z") == []
    for names, said in (
        (("x", "party"), "which the survey does not say of 'party'"),
        (("z", "party"), "which the survey does not say of 'party'"),
        (("x", "y", "z"), "tau_b needs two attributes, not 3"),
    ):
        with pytest.raises(ParameterError, match=said) as caught:
            measures_of(estimator, names, measures=["tau_b"])
        assert caught.value.field == "measures"
    # With two answers each, τ_b is φ.
    rule = rule_of(estimator, {"z": "yes"}, {"party": "left"}, measures=["tau_b", "phi"])
    tau, phi = rule.rows[2:]
    assert tau.value == pytest.approx(phi.value)
