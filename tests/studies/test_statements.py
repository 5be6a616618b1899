"""Statements of the sources that the product uses or replaces, computed on their own."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from adult import adult
from halftruth_collector.demo.census import SCHEMA, census_counts
from halftruth_collector.disclosure.linking import linking_risk
from halftruth_collector.estimation import Counts, Estimator
from halftruth_shared import (
    Attribute,
    GammaDiagonal,
    RandomizedResponse,
    Schema,
    Survey,
    worst_case_posterior,
)
from halftruth_shared.channels import Dense
from halftruth_studies.limits import inverse_norm
from witnesses import witness

MECHANISMS = {
    "gamma-diagonal": GammaDiagonal("13"),
    "randomized response": RandomizedResponse({"a": "3/4", "b": "3/4"}),
}


def survey_of(mechanism, sizes=(2, 2)):
    attributes = [
        Attribute(name, [f"c{code}" for code in range(size)])
        for name, size in zip("abcd", sizes, strict=False)
    ]
    return Survey("s", "S", Schema(attributes), mechanism)


def kept(sizes, keep):
    """Return the matrices of randomized response."""
    return [
        np.full((d, d), (1 - p) / (d - 1)) + np.eye(d) * (p - (1 - p) / (d - 1))
        for d, p in zip(sizes, keep, strict=True)
    ]


def test_census_has_the_published_size():
    """Six attributes of 48 842 people."""
    counts = census_counts()
    witness("FRAPP", "Table 1").assert_own([len(a.categories) for a in SCHEMA.attributes])
    assert counts.reports == 48_842


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_relative_error_is_at_most_the_condition_number_times_that_of_the_reports(name):
    witness("FRAPP", "Theorem 1 and Equation 9")
    channel = survey_of(MECHANISMS[name]).perturbation.channel(["a", "b"])
    rng = np.random.default_rng(1)
    for concentration in (0.1, 1, 10):
        for _ in range(100):
            truth = rng.dirichlet(np.full(4, concentration)).reshape(2, 2)
            expected = channel.forward(truth)
            seen = rng.multinomial(500, expected.ravel()).reshape(2, 2) / 500
            error = np.linalg.norm(channel.solve(seen) - truth) / np.linalg.norm(truth)
            deviation = np.linalg.norm(seen - expected) / np.linalg.norm(expected)
            assert error <= channel.condition_number * deviation + 1e-12
    # The bound is attained for evenly spread answers, along the weakest direction.
    values, vectors = np.linalg.eigh(channel.dense())
    assert 1 / values[0] == pytest.approx(channel.condition_number)
    even = np.full((2, 2), 1 / 4)
    off = channel.solve(even + vectors[:, 0].reshape(2, 2) / 10) - even
    assert np.linalg.norm(off) == pytest.approx(channel.condition_number / 10)


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_reports_of_fixed_respondents_are_sums_of_unlike_draws(name):
    """A number of reports has the variance Σ_u X_u A_vu (1 − A_vu)."""
    witness("FRAPP", "Equation 10")
    survey = survey_of(MECHANISMS[name])
    matrix = survey.perturbation.channel(["a", "b"]).dense()
    people = np.array([160, 320, 480, 640])
    reports = matrix @ people
    np.testing.assert_allclose(reports, np.rint(reports))
    draws = sum(
        number * (np.diag(column) - np.outer(column, column))
        for number, column in zip(people, matrix.T, strict=True)
    )
    np.testing.assert_allclose(np.diag(draws), (matrix * (1 - matrix)) @ people)
    inverse, number = np.linalg.inv(matrix), people.sum()
    cells = list(product(range(2), repeat=2))
    counts = Counts.from_cells(survey, cells, np.rint(reports).astype(int))
    found = Estimator(survey, counts).table(["a", "b"]).alone.covariance()
    # The product divides by N − 1.
    expected = inverse @ draws @ inverse.T / number / (number - 1)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-15)


def amplification(matrix):
    return (matrix.max(axis=1) / matrix.min(axis=1)).max()


@pytest.mark.parametrize("size", [2, 3, 6])
def test_no_symmetric_matrix_has_a_smaller_condition_number(size):
    """Random means of permutations, mixed with the even matrix up to an amplification of 19."""
    witness("FRAPP", "Section 3 (condition number)")
    gamma, rng = 19, np.random.default_rng(2)
    best = (gamma + size - 1) / (gamma - 1)
    diagonal = (np.ones((size, size)) + (gamma - 1) * np.eye(size)) / (gamma + size - 1)
    assert amplification(diagonal) == pytest.approx(gamma)
    assert np.linalg.cond(diagonal) == pytest.approx(best)
    lowest = np.inf
    for _ in range(300):
        drawn = [np.eye(size), *(np.eye(size)[rng.permutation(size)] for _ in range(2 * size))]
        matrix = np.tensordot(rng.dirichlet([2, *[0.5] * 2 * size]), drawn, axes=1)
        matrix = (matrix + matrix.T) / 2
        low, high = 0.0, 1.0
        for _ in range(50):
            middle = (low + high) / 2
            mixed = middle * matrix + (1 - middle) / size
            low, high = (middle, high) if amplification(mixed) <= gamma else (low, middle)
        lowest = min(lowest, np.linalg.cond(low * matrix + (1 - low) / size))
    assert best * (1 - 1e-9) <= lowest < 1.5 * best


def test_the_matrix_of_several_attributes_is_the_kronecker_product_of_theirs():
    witness("Guo", "Lemmas 1 and 3")
    sizes, keep = (2, 3, 4), (0.8, 0.6, 0.7)
    survey = survey_of(RandomizedResponse({"a": "0.8", "b": "0.6", "c": "0.7"}), sizes)
    channel = survey.perturbation.channel(["a", "b", "c"])
    first, second, third = kept(sizes, keep)
    whole = np.kron(first, np.kron(second, third))
    table = np.random.default_rng(3).dirichlet(np.ones(24)).reshape(sizes)
    np.testing.assert_allclose(channel.forward(table).ravel(), whole @ table.ravel())
    inverses = [np.linalg.inv(matrix) for matrix in (first, second, third)]
    inverse = np.kron(inverses[0], np.kron(inverses[1], inverses[2]))
    np.testing.assert_allclose(channel.solve(table).ravel(), inverse @ table.ravel(), atol=1e-12)
    # (A ⊗ B) vec(X) = vec(B X Aᵀ), with vec by columns.
    X = table[0]
    np.testing.assert_allclose(
        (third @ X.T @ second.T).ravel(order="F"), np.kron(second, third) @ X.T.ravel(order="F")
    )


def test_the_posterior_of_an_answer_follows_from_its_jeopardy():
    """g(R|A) = P(R|A)/P(R|not A); a report R raises the odds of A by this factor."""
    row = witness("Guo", "Definitions 5 and 6")
    keep, prior = Fraction(3, 4), Fraction(1, 20)
    survey = survey_of(RandomizedResponse({"a": keep}), (2,))
    jeopardy = keep / (1 - keep)
    assert survey.perturbation.amplification() == jeopardy
    joint = prior * keep
    posterior = joint / (joint + (1 - prior) * (1 - keep))
    assert worst_case_posterior(prior, jeopardy) == posterior
    row.assert_own(jeopardy, 100 * posterior)


@pytest.mark.parametrize("share", [Fraction(1, 100), Fraction(1, 4)])
@pytest.mark.parametrize("keep", [Fraction(9, 10), Fraction(14, 25)])
def test_the_reconstruction_probability_of_mask_is_that_of_one_answer(share, keep):
    """Rizvi & Haritsa 2002, of a 1 and of a 0, as fractions."""
    witness("Guo", "Chapter 5 (total reconstruction probability of MASK)")

    def reconstruction(of):
        first = of * keep**2 / (of * keep + (1 - of) * (1 - keep))
        return first + of * (1 - keep) ** 2 / (of * (1 - keep) + (1 - of) * keep)

    total = share * reconstruction(share) + (1 - share) * reconstruction(1 - share)
    table = np.array([[float(1 - share), float(share)]])
    (flip,) = kept([2], [float(keep)])
    found = linking_risk(table, [Dense(np.eye(1)), Dense(flip)]).sensitive[0]
    assert found[1] == pytest.approx(float(reconstruction(share)))
    assert table[0] @ found == pytest.approx(float(total))


def test_the_loss_of_parameters_determines_the_mean_square_distance():
    """E‖π̂ − π‖² = (∏‖P⁻¹‖²/∏d − ‖π‖²)/(N − 1), for the published parameters of l = 2."""
    row = witness("Guo", "Figure 5.3")
    witness("GYW", "Figure 3")
    people, keep = adult(), ["0.824", "0.872", "0.920", "0.941", 1]
    sizes, reports = people.shape, int(people.sum())
    schema = Schema(
        [
            Attribute(name, [f"c{code}" for code in range(size)], sensitive=name != "s")
            for name, size in zip("qrtus", sizes, strict=True)
        ]
    )
    survey = Survey("s", "S", schema, RandomizedResponse(dict(zip("qrtus", keep, strict=True))))
    shares = people / reports
    matrices = kept(sizes, map(float, keep))
    inverses = [np.linalg.inv(matrix) for matrix in matrices]
    loss = inverse_norm(list(sizes))(np.array(keep, dtype=float))
    squared = loss / people.size - (shares**2).sum()
    # Cell by cell: ((P⁻¹)∘2 Pπ − π²)/N, for records drawn from the table.
    moments = shares
    for axis, (matrix, inverse) in enumerate(zip(matrices, inverses, strict=True)):
        weights = inverse**2 @ matrix
        moments = np.moveaxis(np.tensordot(weights, moments, axes=(1, axis)), 0, axis)
    assert (moments - shares**2).sum() == pytest.approx(squared)
    rng = np.random.default_rng(5)
    cells = np.repeat(np.argwhere(people), people[people > 0].astype(int), axis=0)
    perturbed = survey.perturbation.reports(cells, rng)
    table = Estimator(survey, Counts.from_reports(survey, perturbed)).table(list("qrtus"))
    # The sum of 7 840 variances varies by 1 % between surveys.
    assert table.variance().sum() == pytest.approx(squared / reports, rel=0.05)
    row.assert_own(np.sqrt(squared / reports))
