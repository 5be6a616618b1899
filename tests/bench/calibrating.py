"""How often intervals of the split questionnaire cover, and its standard errors beside simulated
ones: ``python tests/bench/calibrating.py``, some ten minutes.
"""

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np
from halftruth_collector.cli.output import print_table
from halftruth_collector.estimation import Counts, Estimator
from halftruth_shared import Attribute, Schema, SplitQuestionnaire, Survey

SURVEYS, RESPONDENTS = 400, 5_000
TARGETS = ("population", "respondents")
LENGTHS = {1: 1.0, 2: 1.0, 3: 1.0}


def survey_of(shape: Sequence[int], public: Sequence[int] = ()) -> Survey:
    """At γ = 19, designed for tables of up to three attributes."""
    schema = Schema(
        [
            Attribute(f"q{j}", [str(code) for code in range(size)], sensitive=j not in public)
            for j, size in enumerate(shape)
        ]
    )
    names = [schema.names[j] for j in public]
    mechanism = SplitQuestionnaire.designed(schema, 19, names, LENGTHS)
    return Survey("survey", "Survey", schema, mechanism)


def calibration(survey: Survey) -> list[list[str]]:
    """Rows: length and target, share of 95 % intervals that cover, and ratios of errors.

    Answers are drawn from one uneven population, in which questions depend on each other.
    """
    schema = survey.schema
    rng = np.random.default_rng(2026)
    truth = rng.dirichlet(np.full(schema.size, 0.5)).reshape(schema.shape)
    sets = [s for k in LENGTHS for s in combinations(range(len(schema.shape)), k)]
    lengths = np.concatenate([np.full(math.prod(schema.shape[j] for j in s), len(s)) for s in sets])
    errors = np.empty((2, SURVEYS, len(lengths)))
    foretold = np.empty_like(errors)
    for number in range(SURVEYS):
        drawn = rng.multinomial(RESPONDENTS, truth.ravel())
        cells = np.repeat(np.arange(schema.size), drawn)
        records = np.stack(np.unravel_index(cells, schema.shape), axis=1)
        reports = survey.mechanism.perturb_many(schema, records, rng)
        estimator = Estimator(survey, Counts.from_reports(survey, reports))
        tables = [estimator.table([schema.names[j] for j in s]) for s in sets]
        support = np.concatenate([table.support.ravel() for table in tables])
        respondents = drawn.reshape(schema.shape) / RESPONDENTS
        for row, (target, whole) in enumerate(zip(TARGETS, (truth, respondents), strict=True)):
            errors[row, number] = support - _margins(whole, sets)
            variances = [table.variance(target).ravel() for table in tables]
            foretold[row, number] = np.sqrt(np.concatenate(variances))
    rows = []
    for length in LENGTHS:
        for row, target in enumerate(TARGETS):
            # What respondents answered to public questions is known.
            of_length = np.flatnonzero((lengths == length) & (foretold[row] > 0).all(axis=0))
            error, own = errors[row][:, of_length], foretold[row][:, of_length]
            ratios = np.sqrt((own**2).mean(axis=0)) / np.sqrt((error**2).mean(axis=0))
            covered = (np.abs(error) <= 1.959964 * own).mean()
            low, middle, high = np.quantile(ratios, [0.05, 0.5, 0.95])
            rows.append(
                [str(length), target, f"{100 * covered:.2f}"]
                + [f"{value:.3f}" for value in (middle, low, high)]
            )
    return rows


def _margins(table: np.ndarray, sets: Sequence[tuple[int, ...]]) -> np.ndarray:
    axes = range(table.ndim)
    return np.concatenate(
        [table.sum(axis=tuple(j for j in axes if j not in kept)).ravel() for kept in sets]
    )


if __name__ == "__main__":
    for title, survey in {
        "ten yes/no questions": survey_of([2] * 10),
        "five questions of up to six answers, the second public": survey_of([5, 3, 4, 2, 6], [1]),
    }.items():
        print(f"{title}, {SURVEYS} surveys of {RESPONDENTS:,} respondents")
        header = ["length", "target", "covered %", "foretold : simulated error", "5 %", "95 %"]
        print_table(header, calibration(survey))
        print()
