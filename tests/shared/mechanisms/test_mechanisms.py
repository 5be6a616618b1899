"""The amplification of each mechanism by brute force, and invalid parameters."""

import math
import random
from collections import defaultdict
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from itertools import chain, combinations

import pytest
from halftruth_shared import (
    DistortionMatrices,
    DomainTooLarge,
    GammaDiagonal,
    ParameterError,
    RandomizedGammaDiagonal,
    RandomizedResponse,
    SplitQuestionnaire,
    ViewClass,
    worst_case_posterior,
)
from halftruth_shared.mechanisms import MECHANISMS


def worst_ratio(matrix, cells, public=()):
    """max_v max_{u1,u2} A[v,u1]/A[v,u2] over records that agree on the public attributes."""
    worst = Fraction(1)
    for row in matrix:
        groups = defaultdict(list)
        for cell, probability in zip(cells, row, strict=True):
            groups[tuple(cell[j] for j in public)].append(probability)
        for group in filter(any, groups.values()):
            if min(group) == 0:
                return math.inf
            worst = max(worst, max(group) / min(group))
    return worst


def test_the_cases_cover_every_mechanism(cases):
    assert {type(case.mechanism) for case in cases} == set(MECHANISMS)


def test_the_amplification_is_the_worst_ratio_of_the_exact_matrix(case):
    # If all attributes are public, any bound is true.
    count = len(case.shape)
    for size in range(count):
        for public in combinations(range(count), size):
            names = [f"a{j}" for j in public]
            amplification = case.perturbation.amplification(public=names)
            assert amplification == worst_ratio(case.matrix, case.cells, public)
            assert amplification == math.inf or isinstance(amplification, Fraction)
            assert case.perturbation.amplification(public=set(names)) == amplification


def test_the_amplification_of_an_answer_matches_the_exact_matrix(case):
    # The largest ratio within a row of two records that differ only in this answer.
    count, unperturbed = len(case.shape), case.perturbation.unperturbed
    assert unperturbed <= {f"a{j}" for j in case.public}
    assert case.kind != "split" or len(unperturbed) == len(case.public)
    apart = [j for j in range(count) if f"a{j}" in unperturbed]
    for public in chain(*(combinations(range(count), size) for size in range(count))):
        for j in set(range(count)) - {*apart, *public}:
            worst = worst_ratio(case.matrix, case.cells, [k for k in range(count) if k != j])
            question = case.schema.questions[j]
            found = case.perturbation.amplification(
                question, public=[*unperturbed, *(f"a{k}" for k in public)]
            )
            assert found == worst
    question = case.schema.questions[0]
    assert case.perturbation.amplification(question, public=case.schema.names) == 1


def test_public_must_be_a_list_of_names(refused, schema_of):
    views = [ViewClass(attributes=(("a0",),), weight=1)]
    for mechanism in (
        GammaDiagonal("19"),
        RandomizedResponse({"a0": "0.9"}),
        SplitQuestionnaire("19", views),
    ):
        refused(
            ParameterError,
            lambda mechanism=mechanism: mechanism.bind(schema_of((2,))).amplification(public="a0"),
            field="public",
            mentions=["a list of names"],
        )


def test_equal_mechanisms_have_equal_hashes(case):
    again = replace(case).mechanism
    assert again is not case.mechanism
    assert again == case.mechanism
    assert hash(again) == hash(case.mechanism)


def test_different_mechanisms_are_unequal():
    assert GammaDiagonal("19") != GammaDiagonal("18")
    assert GammaDiagonal("19") != RandomizedGammaDiagonal("19", 0)
    assert RandomizedGammaDiagonal("19", 0) != RandomizedGammaDiagonal("19", 0, steps=1)
    assert RandomizedResponse({"a": "0.9"}) != RandomizedResponse({"a": "0.8"})
    assert RandomizedResponse({"a": "0.9"}) != RandomizedResponse({"b": "0.9"})


def test_the_order_of_parameters_does_not_matter():
    matrix = [["0.9", "0.2"], ["0.1", "0.8"]]
    for kind, value in [(RandomizedResponse, "0.9"), (DistortionMatrices, matrix)]:
        one, other = kind({"a": value, "b": value}), kind({"b": value, "a": value})
        assert one == other
        assert hash(one) == hash(other)


def test_the_worst_case_posterior_is_attained_and_never_exceeded(case):
    # By Bayes' theorem for a property Q with prior ρ and any distribution within and outside Q.
    amplification = case.perturbation.amplification()
    generator = random.Random(7)
    for rho in (Fraction(1, 20), Fraction(1, 3)):
        bound = worst_case_posterior(rho, amplification)
        n = len(case.cells)
        extremes = [(max(row), min(row)) for row in case.matrix if any(row)]
        assert max(rho * a / (rho * a + (1 - rho) * b) for a, b in extremes) == bound
        for _ in range(5):
            inside = set(generator.sample(range(n), generator.randint(1, n - 1)))
            weights = [Fraction(generator.randint(1, 20)) for _ in range(n)]
            row = generator.choice(case.matrix)

            def likelihood(cells, weights=weights, row=row):
                return sum(weights[u] * row[u] for u in cells) / sum(weights[u] for u in cells)

            a, b = likelihood(inside), likelihood(set(range(n)) - inside)
            if a + b > 0:
                assert rho * a / (rho * a + (1 - rho) * b) <= bound


@pytest.mark.parametrize("shape", [(2,), (7,), (2,) * 5, (2, 3, 50), (9, 2, 2, 17), (3,) * 40,
                                   (2,) * 200], ids=lambda shape: f"M={len(shape)}")  # fmt: skip
@pytest.mark.parametrize("gamma", ["1.5", "19", "19/7", "1000000", "1.0001"])
def test_a_symmetric_budget_is_used_fully_and_never_exceeded(shape, gamma, schema_of):
    schema = schema_of(shape)
    mechanism = RandomizedResponse.for_amplification(schema, gamma)
    budget = Fraction(gamma)
    # The amplification of one attribute, from its probabilities.
    shares = []
    for size, name in zip(shape, schema.names, strict=True):
        p = mechanism.keep[name]
        q = (1 - p) / (size - 1)
        shares.append(p / q)
    assert len(set(shares)) == 1
    assert math.prod(shares) <= budget
    assert math.prod(shares) >= budget * (1 - Fraction(1, 10**6))
    # A schema whose matrices are too close to singular is refused.
    with suppress(ParameterError):
        assert mechanism.bind(schema).amplification() == math.prod(shares)
    assert float(shares[0]) == pytest.approx(float(budget) ** (1 / len(shape)), rel=2e-9)


def matrix(*rows):
    return DistortionMatrices({"a0": list(rows)})


def clients(alpha="1/2", steps=1, gamma="19"):
    return RandomizedGammaDiagonal(gamma, alpha, steps=steps)


FITS = {
    "keep": (RandomizedResponse, "0.9"),
    "matrices": (DistortionMatrices, [["0.9", "0.2"], ["0.1", "0.8"]]),
}

#: Invalid constructor arguments, the named field, and the message.
UNMADE = [
    *(
        (make, field, f"{field}: expected an exact number")
        for bad in (19.0, "1/0", None)
        for make, field in (
            (lambda bad=bad: GammaDiagonal(bad), "gamma"),
            (lambda bad=bad: clients(gamma=bad), "gamma"),
            (lambda bad=bad: clients(bad), "alpha"),
            (lambda bad=bad: RandomizedResponse({"a0": bad}), "keep.a0"),
            (lambda bad=bad: matrix([bad, "1/2"], ["1/4", "1/2"]), "matrices.a0"),
        )
    ),
    *(
        (make, "gamma", "above 1")
        for bad in ("1", 1, "0.999", "0", "-19", "1/1", "18/19")
        for make in (lambda bad=bad: GammaDiagonal(bad), lambda bad=bad: clients(gamma=bad))
    ),
    *((lambda bad=bad: clients(bad), "alpha", "from 0 to 1") for bad in ("-0.001", "1.001", 2)),
    *(
        (lambda bad=bad: clients(steps=bad), "steps", "from 1 to 1048576")
        for bad in (0, 2**20 + 1, 1.0, True, None)
    ),
    *(
        (lambda rows=rows: DistortionMatrices({"a0": rows}), "matrices.a0", words)
        for rows, words in [
            ([["1/2", "1/2"]], "square"),
            ([["1/2"], ["1/2"]], "square"),
            ([["1/2", "1/2"], ["1/2"]], "square"),
            ([[1]], "square"),
            ([], "square"),
            ([["0.9", "0.2"], ["0.1", "0.7"]], "column 1 sums to 9/10"),
            ([["0.9", "0.1"], ["0.2", "0.8"]], "column 0 sums to 11/10"),
            ([["1.1", "0.2"], ["-0.1", "0.8"]], "from 0 to 1"),
            ([["1/2", "1/5", "1/5"], ["3/5", "3/5", "1/5"], ["-1/10", "1/5", "3/5"]], "from 0 to"),
            ([["1/2", "1/2"], ["1/2", "1/2"]], "nearly singular"),
            # [[½+δ, ½], [½−δ, ½]] has det δ and ‖·‖_F² ≈ 1, so its condition number is 1/δ.
            ([["0.50000001", "0.5"], ["0.49999999", "0.5"]], "1e+08; expected at most 1e+06"),
        ]
    ),
]


@pytest.mark.parametrize(("make", "field", "words"), UNMADE)
def test_invalid_parameters_are_refused(make, field, words, refused):
    refused(ParameterError, make, field=field, mentions=[words])


@pytest.mark.parametrize("gamma", ["1", "-19", 0, "1.000000000000000001", 19.0, "1/0", None])
def test_an_invalid_budget_is_refused(gamma, refused, schema_of):
    refused(
        ParameterError,
        lambda: RandomizedResponse.for_amplification(schema_of((2, 3)), gamma),
        field="gamma",
    )


#: Mechanisms that do not fit a survey of this shape, the named field, and the message.
UNFIT = [
    # x − r/(n−1) ≥ 0 at r = αγx needs α ≤ (n−1)/γ = 5/19.
    (clients(Fraction(5, 19) + Fraction(1, 10**30)), (2, 3), "alpha", "5/19"),
    *(
        (RandomizedResponse({"a0": p}), (size,), "keep.a0", f"above 1/{size} and at most 1")
        for size, p in [(2, "1/2"), (2, "0.49"), (3, "1/3"), (3, "0"), (3, "-1"), (3, "1.0001")]
    ),
    # 1/(p − q) for two categories: 1/(2·10⁻⁷).
    (RandomizedResponse({"a0": "0.5000001"}), (2,), "keep.a0", "5e+06; expected at most 1e+06"),
    (RandomizedResponse({"a0": "1"}), (3,), "keep.a0", "sensitive"),
    (matrix(["0.9", "0.2"], ["0.1", "0.8"]), (3,), "matrices.a0", "3 rows"),
    *(
        (kind(dict.fromkeys(names, fits)), (2, 2), f"{field}.{wrong}", words)
        for field, (kind, fits) in FITS.items()
        for names, wrong, words in ((["a0"], "a1", "missing"), (["a0", "a1", "b"], "b", "a0, a1"))
    ),
]


@pytest.mark.parametrize(("mechanism", "shape", "field", "words"), UNFIT)
def test_a_mechanism_that_does_not_fit_the_schema_is_refused(
    mechanism, shape, field, words, refused, schema_of
):
    schema, record = schema_of(shape), (0,) * len(shape)
    for call in (
        lambda: mechanism.bind(schema),
        lambda: mechanism.bind(schema).report(record),
        lambda: mechanism.bind(schema).reports([record]),
    ):
        refused(ParameterError, call, field=field, mentions=[words])


def test_parameters_at_the_limits_are_accepted(schema_of):
    clients("5/19").bind(schema_of((2, 3)))
    RandomizedResponse({"a0": "0.500001"}).bind(schema_of((2,)))
    RandomizedResponse({"a0": "1"}).bind(schema_of((3,), public=(0,)))
    matrix(["0.500002", "0.5"], ["0.499998", "0.5"])


@pytest.mark.parametrize(
    "rows",
    [
        [[1, 0], [0, 1]],
        [[0, 1], [1, 0]],
        [["1/2", 0], ["1/2", 1]],
        [["1/2", "1/4", 0], ["1/2", "3/4", 0], [0, 0, 1]],
        [["1/2", 0, 0], ["1/4", "1/2", "1/4"], ["1/4", "1/2", "3/4"]],
    ],
)
def test_a_matrix_that_reveals_a_sensitive_answer_is_refused(rows, refused, schema_of):
    mechanism, shape = matrix(*rows), (len(rows),)
    mechanism.bind(schema_of(shape, public=(0,)))
    assert mechanism.bind(schema_of(shape, public=(0,))).amplification() == math.inf
    for call in (
        lambda: mechanism.bind(schema_of(shape)),
        lambda: mechanism.bind(schema_of(shape)).report((1,)),
    ):
        refused(ParameterError, call, field="matrices.a0", mentions=["matrices.a0", "sensitive"])


def test_a_domain_too_large_for_its_gamma_is_refused(refused, schema_of):
    # (γ+n−1)/(γ−1) ≤ 10⁶ at γ = 1.001 means n ≤ 999.999.
    fits, too_large = schema_of((999,)), schema_of((1000,))
    for mechanism in (GammaDiagonal("1.001"), RandomizedGammaDiagonal("1.001", "1/2")):
        mechanism.bind(fits)
        for call in (
            lambda: mechanism.bind(too_large),  # noqa: B023
            lambda: mechanism.bind(too_large).report((0,)),  # noqa: B023
        ):
            refused(
                DomainTooLarge,
                call,
                field="attributes",
                mentions=["1000 cells", "999 at most", "randomized-response", mechanism.kind],
            )


def test_a_huge_domain_is_refused_without_enumeration(refused, schema_of):
    schema = schema_of((16,) * 300)
    refused(DomainTooLarge, lambda: GammaDiagonal("19").bind(schema), mentions=["17999982"])
    # Independent attributes are accepted.
    mechanism = RandomizedResponse.for_amplification(schema, 10**9)
    assert len(mechanism.bind(schema).report((0,) * 300)) == 300
