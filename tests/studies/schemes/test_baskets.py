"""Schemes for baskets, compared with matrices from their definitions, as fractions."""

import math
from collections import defaultdict
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from halftruth_shared import Attribute, ParameterError, Schema
from halftruth_studies.schemes.baskets import BasketSupports
from halftruth_studies.schemes.cut_and_paste import CutAndPaste
from halftruth_studies.schemes.mask import Mask
from scipy import stats
from witnesses import witness

SHAPES = [(2, 2), (2, 3)]
MASK = Mask(Fraction(3, 4), Fraction(3, 4))
EMASK = Mask(Fraction(1, 2), Fraction(4, 5))
SCHEMES = [
    MASK,
    EMASK,
    CutAndPaste(1, Fraction(1, 2)),
    CutAndPaste(2, Fraction(1, 3)),
    # A cutoff beyond the number of items.
    CutAndPaste(3, Fraction(1, 3)),
]


def schema_of(shape):
    return Schema([Attribute(f"a{j}", [f"c{c}" for c in range(d)]) for j, d in enumerate(shape)])


def records_of(shape):
    return list(product(*map(range, shape)))


def bits_of(shape, record):
    """Return the basket of a record."""
    return tuple(
        int(item == code) for size, code in zip(shape, record, strict=True) for item in range(size)
    )


def distribution(scheme, shape, record):
    """Return the probability of each report of a record, from the definition (FRAPP §2)."""
    bits = bits_of(shape, record)
    if isinstance(scheme, Mask):
        return {
            report: math.prod(
                (scheme.ones if bit else scheme.zeros)
                if bit == reported
                else 1 - (scheme.ones if bit else scheme.zeros)
                for bit, reported in zip(bits, report, strict=True)
            )
            for report in product((0, 1), repeat=len(bits))
        }
    own = [item for item, bit in enumerate(bits) if bit]
    found = defaultdict(Fraction)
    for drawn in range(scheme.cutoff + 1):
        kept_sets = list(combinations(own, min(drawn, len(own))))
        for kept in kept_sets:
            for report in product((0, 1), repeat=len(bits)):
                if all(report[item] for item in kept):
                    added = sum(report) - len(kept)
                    left_out = len(bits) - sum(report)
                    found[report] += (
                        Fraction(1, (scheme.cutoff + 1) * len(kept_sets))
                        * scheme.rate**added
                        * (1 - scheme.rate) ** left_out
                    )
    return dict(found)


cases = pytest.mark.parametrize(
    ("scheme", "shape"), [(s, d) for s in SCHEMES for d in SHAPES], ids=str
)


@cases
def test_the_amplification_is_the_largest_ratio_of_two_records(scheme, shape):
    every = [distribution(scheme, shape, record) for record in records_of(shape)]
    ratios = [
        one[report] / other[report] for report in every[0] for one in every for other in every
    ]
    assert scheme.amplification(schema_of(shape)) == max(ratios)


@cases
def test_the_matrix_of_held_items_matches_the_enumeration(scheme, shape):
    attributes = len(shape)
    starts = np.cumsum([0, *shape])
    for length in range(1, attributes + 1):
        expected = {}
        for record in records_of(shape):
            held = sum(code == 0 for code in record[:length])
            column = [Fraction(0)] * (length + 1)
            for report, chance in distribution(scheme, shape, record).items():
                column[sum(report[starts[j]] for j in range(length))] += chance
            assert expected.setdefault(held, column) == column
        columns = [expected[held] for held in range(length + 1)]
        assert scheme.held_matrix(attributes, length) == [
            list(row) for row in zip(*columns, strict=True)
        ]


@cases
def test_the_expected_reports_of_a_record_reconstruct_it_exactly(scheme, shape):
    schema = schema_of(shape)
    for record in records_of(shape):
        chances = distribution(scheme, shape, record)
        supports = BasketSupports(
            scheme,
            schema,
            np.array(list(chances), dtype=bool),
            np.array([*map(float, chances.values())]),
        )
        for length in range(1, len(shape) + 1):
            for positions in combinations(range(len(shape)), length):
                found = supports.support([schema.names[j] for j in positions])
                if length > scheme.max_order(len(shape)):
                    assert found is None
                    continue
                expected = np.zeros([shape[j] for j in positions])
                expected[tuple(record[j] for j in positions)] = 1
                np.testing.assert_allclose(found, expected, atol=1e-12)


@cases
def test_simulated_reports_have_the_defined_distribution(scheme, shape):
    # Ten tests at the 0.1 % level, which all pass by chance for 99 % of seeds.
    schema, record, count = schema_of(shape), records_of(shape)[-1], 10_000
    reports = scheme.simulate(schema, np.array([record] * count), np.random.default_rng(7))
    chances = distribution(scheme, shape, record)
    places = {report: place for place, report in enumerate(chances)}
    seen = np.bincount(
        [places[tuple(r)] for r in reports.astype(int).tolist()], minlength=len(places)
    )
    assert stats.chisquare(seen, [count * float(c) for c in chances.values()]).pvalue > 1e-3


@pytest.mark.parametrize("at_once", [True, False])
def test_mask_matches_the_inverse_of_the_matrix_of_all_bits(monkeypatch, at_once):
    if not at_once:
        monkeypatch.setattr("halftruth_studies.schemes.baskets._AT_ONCE", 0)
    shape = (2, 3, 2)
    schema, rng = schema_of(shape), np.random.default_rng(1)
    baskets = rng.random((500, sum(shape))) < 0.4
    bit = np.array([[EMASK.zeros, 1 - EMASK.ones], [1 - EMASK.zeros, EMASK.ones]], dtype=float)
    matrix = np.kron(bit, bit)
    found = BasketSupports(EMASK, schema, baskets).support(["a2", "a1"])
    for second, first in product(range(3), range(2)):
        bits = baskets[:, [5 + first, 2 + second]]
        patterns = np.bincount(bits @ [2, 1], minlength=4) / len(baskets)
        assert found[first, second] == pytest.approx(np.linalg.solve(matrix, patterns)[3])
    assert EMASK.condition_number(3, 2) == pytest.approx(np.linalg.cond(matrix))


def binary(attributes):
    return schema_of((2,) * attributes)


def test_mask_has_the_published_probabilities_at_gamma_19():
    found = []
    for attributes in (6, 7):
        schema = binary(attributes)
        mask = Mask.for_amplification(schema, 19)
        assert 19 * (1 - 1e-6) < mask.amplification(schema) <= 19
        found.append(mask.ones)
    witness("FRAPP", "Equation 11").assert_own(found)


def test_emask_has_the_smallest_variance_for_evenly_spread_records():
    shape = (2, 3)
    schema = schema_of(shape)

    def variance(scheme):
        """Variance of the supports of whole records in one report, for equally likely records."""
        even = defaultdict(Fraction)
        for record in records_of(shape):
            for report, chance in distribution(scheme, shape, record).items():
                even[report] += chance / math.prod(shape)
        flipped = 1 - scheme.zeros
        return sum(
            chance
            * math.prod(
                (report[item] - flipped) / (scheme.ones - flipped) for item in (first, 2 + second)
            )
            ** 2
            for report, chance in even.items()
            for first in range(2)
            for second in range(3)
        )

    best = Mask.extended(schema, 19)
    assert 19 * (1 - 1e-6) < best.amplification(schema) <= 19
    odds = 19**0.5
    for place in range(1, 20):
        ones = Fraction(place, 20)
        other = Fraction(odds).limit_denominator(10**6) * (1 - ones) / ones
        if ones + other / (1 + other) > 1:
            tried = Mask(ones, other / (1 + other))
            assert variance(best) <= variance(tried) * (1 + 1e-6)
    assert variance(best) < variance(Mask.for_amplification(schema, 19))


def test_the_published_cut_and_paste_is_stricter_than_necessary():
    # The likelihood of a record depends only on how many of its items a report has, so the ratio is
    # computed over these numbers for six answers.
    row = witness("FRAPP", "Section 7 (cut-and-paste)")
    rate = Fraction("0.494")
    scheme = CutAndPaste(3, rate)

    def chance(own):
        """Probability, up to a constant, of a report with `own` of a record's six items."""
        return sum(
            Fraction(1, 4)
            * Fraction(len(list(combinations(range(own), kept))), math.comb(6, kept))
            / rate**kept
            for kept in range(4)
        )

    chances = [chance(own) for own in range(7)]
    assert scheme.amplification(binary(6)) == max(chances) / min(chances)
    assert float(scheme.amplification(binary(6))) == pytest.approx(15.417, abs=5e-4)
    exact = CutAndPaste.for_amplification(binary(6), 19)
    row.assert_own(19, exact.rate)
    assert 19 * (1 - 1e-6) < exact.amplification(binary(6)) <= 19


@pytest.mark.parametrize("scheme", [EMASK, CutAndPaste(2, Fraction(1, 3))], ids=str)
def test_the_mean_square_of_weights_matches_the_enumeration(scheme):
    shape, schema = (2, 2, 2), binary(3)
    square = 0.0
    for record in records_of(shape):
        for report, chance in distribution(scheme, shape, record).items():
            one = BasketSupports(scheme, schema, np.array([report], dtype=bool))
            square += float(chance) * one.support(["a0", "a1"])[0, 0] ** 2 / 8
    assert scheme.weight_square(3, 2, Fraction(1, 2)) == pytest.approx(square)


def test_the_best_cutoff_has_the_smallest_error_at_the_length():
    schema = binary(8)
    best = CutAndPaste.best(schema, 19, 2)
    every = [CutAndPaste.for_amplification(schema, 19, cutoff) for cutoff in range(1, 9)]
    errors = [scheme.weight_square(8, 2, Fraction(1, 2)) for scheme in every]
    assert errors[0] == math.inf
    assert errors.index(min(errors)) == best.cutoff - 1
    assert CutAndPaste.best(schema, 3, 2) is None


@pytest.mark.parametrize("cutoff", [1, 2, 3])
def test_cut_and_paste_identifies_no_itemsets_longer_than_its_cutoff(cutoff):
    witness("FRAPP", "Equations 12–15")
    scheme = CutAndPaste(cutoff, Fraction(1, 3))
    for length in range(1, 7):
        matrix = np.array(scheme.held_matrix(6, length), dtype=float)
        assert np.linalg.matrix_rank(matrix) == min(length, cutoff) + 1
        assert math.isinf(scheme.condition_number(6, length)) == (length > cutoff)


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: Mask(Fraction(1, 2), Fraction(1, 2)), "ones"),
        (lambda: Mask(Fraction(9, 10), Fraction(1)), "zeros"),
        (lambda: Mask.for_amplification(binary(2), 1), "gamma"),
        (lambda: Mask.extended(binary(2), "1/2"), "gamma"),
        (lambda: CutAndPaste(0, Fraction(1, 2)), "cutoff"),
        (lambda: CutAndPaste(3, Fraction(1)), "rate"),
        (lambda: CutAndPaste.for_amplification(binary(4), 4), "gamma"),
    ],
)
def test_parameters_out_of_range_are_refused(make, field):
    with pytest.raises(ParameterError, match="expected") as raised:
        make()
    assert raised.value.field == field
