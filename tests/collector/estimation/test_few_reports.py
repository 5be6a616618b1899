"""Numbers of reports behind a cell, and their contributions to an estimate."""

import re
from collections import Counter
from fractions import Fraction
from math import factorial, prod

import numpy as np
import pytest
from dense_split import view_matrix
from halftruth_collector.analyses.survey_report import survey_report
from halftruth_collector.estimation import Counts, Estimator
from halftruth_collector.estimation.independence import Departures
from halftruth_shared import (
    GammaDiagonal,
    RandomizedResponse,
    SplitQuestionnaire,
    Survey,
)
from sources import estimator_of, source_of

from .definitions import schema_of, survey_of


def split(longest, *sizes, gamma="19"):
    schema, lengths = schema_of(sizes), range(1, longest + 1)
    importance = dict.fromkeys(lengths, 1.0)
    return Survey("s", "S", schema, SplitQuestionnaire.designed(schema, gamma, (), importance))


def unperturbed(*sizes):
    names = "abcd"[: len(sizes)]
    return survey_of(RandomizedResponse(dict.fromkeys(names, "1")), sizes, public=names)


def even_people(survey, respondents, rng):
    return np.column_stack([rng.integers(0, size, respondents) for size in survey.schema.shape])


def test_effective_reports_are_those_of_the_view():
    rng = np.random.default_rng(1)
    survey = split(2, *[6] * 7)
    estimator = estimator_of(survey, even_people(survey, 5_000, rng), rng)
    views = survey.perturbation.views
    by_view = Counter(
        next(v.positions for v in reversed(views) if v.first <= symbol)
        for symbol, count in zip(
            estimator.counts.cells[:, -1].tolist(), estimator.counts.counts.tolist(), strict=True
        )
        for _ in range(count)
    )
    effective = estimator.table(["b", "e"]).effective_reports
    assert effective.shape == (6, 6)
    assert effective.mean() == pytest.approx(by_view[1, 4] / 36, rel=0.15)
    assert effective.max() < 20


def test_effective_reports_of_whole_records_are_those_in_the_cell():
    rng = np.random.default_rng(2)
    for survey in (unperturbed(6, 6), survey_of(GammaDiagonal("19"), (6, 6))):
        estimator = estimator_of(survey, even_people(survey, 3_600, rng), rng)
        effective = estimator.table(["a", "b"]).effective_reports
        reports = estimator.counts.marginal([0, 1])
        assert effective == pytest.approx(reports, rel=0.1)


def test_effective_reports_follow_the_moments_of_a_geometry():
    # One view of 216 cells: one in 19 symbols belongs to each, and six are one cell of a and b.
    survey = split(3, 6, 6, 6)
    rng = np.random.default_rng(3)
    estimator = estimator_of(survey, even_people(survey, 20_000, rng), rng)
    [view] = [v for v in survey.perturbation.views if len(v.positions) == 3]
    matrix = view_matrix((6, 6, 6), (0, 1, 2), 19, view.channel.prime, 45)
    matrix = np.array(matrix, dtype=float)
    own = (matrix > matrix.min() * 2).reshape(-1, 36, 6).sum(axis=2)
    chance = matrix.mean(axis=1)
    apart = own - chance @ own
    reports = sum(
        count
        for [symbol], count in zip(
            estimator.counts.cells.tolist(), estimator.counts.counts.tolist(), strict=True
        )
        if view.first <= symbol < view.first + view.channel.symbols
    )
    expected = reports * (chance @ apart**2) ** 2 / (chance @ apart**4)
    effective = estimator.table(["a", "b"]).effective_reports
    assert effective.mean() == pytest.approx(expected.mean(), rel=0.2)


def test_the_strongest_association_is_found_with_few_reports_for_each_cell():
    survey, respondents = split(2, *[6] * 7), 20_000
    rng = np.random.default_rng(8)
    people = even_people(survey, respondents, rng)
    people[:, 3] = np.where(rng.random(respondents) < 0.7, people[:, 1], people[:, 3])
    [row, *_] = survey_report(source_of(survey, people, rng)).associations.rows
    assert re.fullmatch(r"b=c\d, d=c\d", row[0].text)


OF_REPORTS = {
    "split of pairs": split(2, *[4] * 5),
    "split with a geometry": split(3, 6, 6, 6, 6),
    "gamma-diagonal": survey_of(GammaDiagonal("19"), (3, 4, 2, 3)),
    "unperturbed": unperturbed(3, 4, 2, 3),
}


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        (kind, names)
        for kind in OF_REPORTS
        for names in (["b", "d"], ["d", "a", "c"])
        # No report of pairs is about all three.
        if (kind, len(names)) != ("split of pairs", 3)
    ],
)
def test_report_distributions_have_the_mean_and_covariance_of_the_estimate(kind, names):
    survey = OF_REPORTS[kind]
    rng = np.random.default_rng(9)
    estimate = estimator_of(survey, even_people(survey, 4_000, rng), rng).table(names)
    shares = np.maximum(estimate.value, 0.001)
    shares /= shares.sum()
    total, covariance = np.zeros(shares.size), 0.0
    for sample in estimate.report_distributions(shares):
        assert sample.chances.sum() == pytest.approx(1)
        mean = sample.chances @ sample.weights
        total += sample.reports * mean
        spread = (sample.weights.T * sample.chances) @ sample.weights - np.outer(mean, mean)
        covariance = covariance + sample.reports * spread
    # A constant over all reports may be missing.
    assert total - total.mean() == pytest.approx(shares.ravel() - shares.mean(), abs=1e-12)
    errors = np.sqrt(np.diag(covariance))
    assert errors == pytest.approx(np.sqrt(np.diag(estimate.covariance())), rel=0.2)


@pytest.mark.nightly
@pytest.mark.parametrize("keep", ["1", "9/10"])
def test_independence_keeps_its_level_over_all_tables_of_twenty_reports(keep):
    """Two yes/no questions with uniform answers; each table has its exact probability."""
    survey = survey_of(RandomizedResponse({"a": keep, "b": keep}), (2, 2), public="ab")
    cells = np.stack(np.indices((2, 2)), axis=-1).reshape(-1, 2)
    chance = below = tested = Fraction(0)
    for first in np.ndindex(21, 21, 21):
        counts = [*first, 20 - sum(first)]
        if counts[-1] < 0:
            continue
        weight = Fraction(factorial(20), 4**20 * prod(map(factorial, counts)))
        table = Estimator(survey, Counts.from_cells(survey, cells, counts)).table(["a", "b"])
        p_value = Departures(table).test().p_value
        chance += weight
        tested += weight * (p_value is not None)
        below += weight * (p_value is not None and p_value < 0.05)
    assert chance == 1
    assert tested > 0.7
    assert 0.03 < below / tested < 0.07
