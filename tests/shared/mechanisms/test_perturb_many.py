"""The vectorized samplers: exact distribution, randomness, and invalid input.

Tests with fixed seeds accept p-values above 1e-4: a correct sampler fails for one seed in ten
thousand, and these seeds pass. Tests of the operating system's randomness accept p-values above
1e-8; there are fewer than twenty, so even with the error of the chi-square approximation the
probability of a false alarm of this module is below 1e-6.
"""

import math
import os
import sys
from fractions import Fraction

import numpy as np
import pytest
from halftruth_shared import GammaDiagonal, RecordError
from halftruth_shared.sampling import (
    MAX_VECTOR_OUTCOMES,
    draw_below_from_os,
    simulated_randbelow,
)
from scipy import stats

SEEDED = 1e-4
FROM_OS = 1e-8

ONE_OF_EACH = [
    ("det", (2, 2, 3), ("19",)),
    ("ran", (3, 2, 2), ("19", "1/2", 32_768)),
    ("response", (2, 3), ("3/4", "2/5")),
    ("distortion", (3, 2), ((("1/2", "1/5", "0"), ("1/4", "3/5", "1/4"), ("1/4", "1/5", "3/4")),
                            (("1/7", "5/6"), ("6/7", "1/6")))),
    ("split", (2, 2, 2), ("4", 2, 3, ((((0, 1, 2),), (3,), 1),))),
]  # fmt: skip

# Weights of more than 64 bits: sampled record by record.
TINY = Fraction(1, 2**70)
BEYOND_VECTORS = [
    ("det", (2, 3), (19 + TINY,)),
    ("det", (2, 2, 3), (Fraction(3, 2) + Fraction(1, 3**50),)),
    ("ran", (2, 3), (19 + TINY, Fraction(1, 5), 32_768)),
    ("ran", (2, 3), (19, Fraction(1, 5) + TINY, 2)),
    ("response", (2, 3), (Fraction(3, 4) + TINY, Fraction(2, 5))),
    ("distortion", (2, 3), (((Fraction(3, 4) + TINY, TINY), (Fraction(1, 4) - TINY, 1 - TINY)),
                            (("1/2", "1/5", "0"), ("1/4", "3/5", "1/4"), ("1/4", "1/5", "3/4")))),
    ("split", (2, 2, 2), (Fraction(5) + Fraction(1, 2**80), 2, 3, ((((0, 1, 2),), (3,), 1),))),
]  # fmt: skip

# Weights of at most, or nearly, 62 bits.
NEARLY = MAX_VECTOR_OUTCOMES // 24
BARELY_VECTORS = [
    ("det", (2, 3), (19 + Fraction(1, NEARLY),)),
    ("ran", (2, 3), (19 + Fraction(1, NEARLY), 0, 2**20)),
    ("ran", (2, 3), (19, Fraction(1, 5) + Fraction(1, 2**50), 3)),
    ("response", (2, 3), (Fraction(3, 4) + Fraction(1, 2**62), "2/5")),
    ("distortion", (2,), (((Fraction(3**38, 2**62), "1/4"), (1 - Fraction(3**38, 2**62), "3/4")),)),
]  # fmt: skip


def name_of(value):
    return f"{value[0]}-{'x'.join(map(str, value[1]))}" if isinstance(value, tuple) else None


def all_records(case, times):
    """Return all records of the schema repeatedly, with different neighbours."""
    return np.tile(np.array(case.cells), (times, 1))


def generator(number=0):
    return np.random.default_rng([20240229, number])


def test_seeded_reports_follow_the_matrix(case, p_value):
    records = all_records(case, 10_000)
    reports = case.perturbation.reports(records, generator())
    assert reports.dtype == np.int64
    found = p_value(reports, records, case.shape, case.matrix, every=case.reports)
    assert found > SEEDED


@pytest.mark.parametrize("of", ONE_OF_EACH, ids=name_of)
def test_reports_with_the_operating_systems_randomness_follow_the_matrix(of, case_of, p_value):
    case = case_of(*of)
    records = all_records(case, 50_000)
    reports = case.perturbation.reports(records)
    found = p_value(reports, records, case.shape, case.matrix, least=1000, every=case.reports)
    assert found > FROM_OS


@pytest.mark.parametrize("of", BEYOND_VECTORS + BARELY_VECTORS, ids=name_of)
def test_weights_around_64_bits_follow_the_matrix(of, case_of, p_value):
    case = case_of(*of)
    # test_exactness proves `perturb`; this covers the code around it. Reports with tiny
    # probabilities would need too many records and count as impossible.
    matrix, times = case.matrix, 8000
    if of in BEYOND_VECTORS:
        matrix, times = [[entry if entry > 1e-9 else 0 for entry in row] for row in matrix], 1500
    records = all_records(case, times)
    reports = case.perturbation.reports(records, generator())
    assert reports.dtype == np.int64
    assert p_value(reports, records, case.shape, matrix, every=case.reports) > SEEDED


@pytest.mark.parametrize("shape", [(2,) * 14, (2,) * 15, (3, 5, 7, 11, 13, 2), (100, 3, 101)])
def test_margins_of_large_tables_follow_their_matrix(shape, schema_of, p_value):
    # FRAPP eq. 40: p·I + (1−p)/n_s·J for any subset, with the same p.
    schema = schema_of(shape)
    n = math.prod(shape)
    gamma = n // 2
    keep = (gamma - 1) / (gamma + n - 1)
    records = generator(4).integers(0, shape, size=(60_000, len(shape)))
    reports = GammaDiagonal(gamma).bind(schema).reports(records, generator(5))
    unchanged = (reports == records).all(axis=1).sum()
    assert stats.binomtest(unchanged, len(records), gamma / (gamma + n - 1)).pvalue > SEEDED
    pairs = [(0, 1), (0, len(shape) - 1), (len(shape) - 2, len(shape) - 1)]
    for j, k in pairs if max(shape) < 20 else []:
        sizes = [shape[j], shape[k]]
        cells = math.prod(sizes)
        matrix = keep * np.eye(cells) + (1 - keep) / cells
        assert p_value(reports[:, [j, k]], records[:, [j, k]], sizes, matrix) > SEEDED
    for j, size in enumerate(shape):
        matrix = keep * np.eye(size) + (1 - keep) / size
        least = 2 if size > 50 else 20
        assert p_value(reports[:, [j]], records[:, [j]], [size], matrix, least=least) > SEEDED


@pytest.mark.parametrize("of", ONE_OF_EACH[:-1], ids=name_of)
def test_records_are_perturbed_independently(of, case_of):
    # Adjacent equal records: the pair of their reports has the product distribution.
    case = case_of(*of)
    record = 1
    records = np.tile(case.cells[record], (200_000, 1))
    reports = case.perturbation.reports(records, generator(1))
    codes = np.ravel_multi_index(tuple(reports.T), case.shape).reshape(-1, 2)
    n = len(case.cells)
    seen = np.bincount(codes[:, 0] * n + codes[:, 1], minlength=n * n)
    column = case.dense[:, record]
    expected = np.outer(column, column).ravel() * len(codes)
    possible = expected > 0
    assert not seen[~possible].any()
    assert expected[possible].min() > 20
    assert stats.chisquare(seen[possible], expected[possible]).pvalue > SEEDED


@pytest.mark.parametrize("of", ONE_OF_EACH + BEYOND_VECTORS, ids=name_of)
@pytest.mark.parametrize("rng", [None, generator()], ids=["os", "seeded"])
def test_no_records_give_no_reports(of, rng, case_of):
    case = case_of(*of)
    reports = case.perturbation.reports(np.empty((0, len(case.shape)), int), rng)
    assert reports.shape == (0, len(case.reports[0]))
    assert reports.dtype == np.int64


@pytest.mark.parametrize("of", ONE_OF_EACH + BEYOND_VECTORS[:1], ids=name_of)
def test_a_seed_repeats_the_reports_and_leaves_the_records_unchanged(of, case_of):
    case = case_of(*of)
    records = all_records(case, 50)
    before = records.copy()
    first, second = (case.perturbation.reports(records, generator(2)) for _ in range(2))
    assert (first == second).all()
    assert (records == before).all()
    assert not np.shares_memory(first, records)


# Messages must not contain the values 7654321 and 7654.5.
BAD_RECORDS = {
    "floats": np.array([[0.0, 1.0], [1.0, 7654.5]]),
    "whole floats": np.array([[0.0, 1.0]]),
    "not a number": np.array([[0.0, np.nan]]),
    "bools": np.array([[True, False]]),
    "text": np.array([["0", "7654321"]]),
    "objects": np.array([[0, 7654321 * 10**30]], dtype=object),
    "none": np.array([[0, None]], dtype=object),
    "too large": np.array([[0, 0], [1, 7654321]]),
    "one too large": np.array([[0, 3]]),
    "negative": np.array([[0, 2], [-7654321, 0]]),
    "above 2^63": np.array([[0, 2**63 + 7654321]], dtype=np.uint64),
    "one row": np.array([0, 1]),
    "a column too many": np.array([[0, 1, 7654321]]),
    "a column too few": np.array([[7654321]]),
    "three axes": np.zeros((1, 1, 2), dtype=int),
    "dates": np.array([["2024-01-01", "2024-01-02"]], dtype="datetime64[D]"),
}


@pytest.mark.parametrize("of", [*ONE_OF_EACH[2:3], BEYOND_VECTORS[0]], ids=["vector", "single"])
@pytest.mark.parametrize("bad", BAD_RECORDS)
def test_invalid_records_are_refused_without_their_values(of, bad, case_of, refused):
    case = case_of(*of)
    refused(
        RecordError,
        lambda: case.perturbation.reports(BAD_RECORDS[bad]),
        never=["7654321", "7654.5", "nan", "None", "2024-01"],
    )


@pytest.mark.parametrize("outcomes", [1, 2, 3, 7, 2**20, 10**6, MAX_VECTOR_OUTCOMES])
def test_draws_are_uniform_over_their_range(outcomes):
    draws = draw_below_from_os(outcomes, 100_000)
    assert draws.shape == (100_000,)
    assert draws.min() >= 0
    assert draws.max() < outcomes
    bins = min(outcomes, 16)
    seen = np.bincount((draws.astype(object) * bins // outcomes).astype(int), minlength=bins)
    # If the number of outcomes is no multiple of the bins, their sizes differ by one.
    share = np.diff([-(-k * outcomes // bins) for k in range(bins + 1)]).astype(float) / outcomes
    assert stats.chisquare(seen, share * len(draws)).pvalue > FROM_OS if bins > 1 else True


def scripted_urandom(monkeypatch, outcomes, *answers):
    """Let `os.urandom` return scripted words of any width, and return the numbers requested.

    An answer is a function of the number of words of that width and of the first word to reject.
    """
    asked = []
    rest = list(answers)

    def urandom(size):
        words = rest.pop(0)
        width, remainder = divmod(size, len(words))
        assert not remainder
        space = 2 ** (8 * width)
        asked.append(len(words))
        return b"".join(
            word(space, space - space % outcomes).to_bytes(width, sys.byteorder) for word in words
        )

    monkeypatch.setattr(os, "urandom", urandom)
    return asked


@pytest.mark.parametrize("outcomes", [3 * 2**60, 3 * 2**40, 10**9 + 7, 3 * 2**22, 30, 3])
def test_words_that_would_bias_the_outcome_are_rejected(outcomes, monkeypatch):
    asked = scripted_urandom(
        monkeypatch,
        outcomes,
        [
            lambda space, first: 7 % outcomes,
            lambda space, first: first,
            lambda space, first: first - 1,
            lambda space, first: space - 1,
            lambda space, first: outcomes,
        ],
        [lambda space, first: space - 1, lambda space, first: 2],
        [lambda space, first: first],
        [lambda space, first: first - outcomes + 1],
    )
    draws = draw_below_from_os(outcomes, 5)
    assert draws.tolist() == [7 % outcomes, 1, outcomes - 1, 2, 0]
    assert asked == [5, 2, 1, 1]


@pytest.mark.parametrize("outcomes", [1, 2, 2**20, 2**62])
def test_no_word_is_rejected_if_the_outcomes_divide_all_words(outcomes, monkeypatch):
    words = [lambda space, first: 0, lambda space, first: 1, lambda space, first: space - 1]
    asked = scripted_urandom(monkeypatch, outcomes, words)
    assert draw_below_from_os(outcomes, 3).tolist() == [0, 1 % outcomes, outcomes - 1]
    assert asked == [3]


@pytest.mark.parametrize("outcomes", [1, 3, 5, 256, 257, 3 * 2**60, 5 * 2**80])
def test_simulated_draws_are_unbiased(outcomes):
    randbelow = simulated_randbelow(generator(3))
    draws = [randbelow(outcomes) for _ in range(4_000)]
    assert all(type(draw) is int and 0 <= draw < outcomes for draw in draws)
    bins = next(size for size in (5, 3, 4, 257, 1) if outcomes % size == 0)
    seen = np.bincount([draw * bins // outcomes for draw in draws], minlength=bins)
    assert bins == 1 or stats.chisquare(seen).pvalue > SEEDED
