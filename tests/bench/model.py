"""Intervals of itemsets on CENSUS at γ = 19 by one model of all answers, and unbiased ones.

Usage: .venv/bin/python tests/bench/model.py [SURVEYS]. Half-widths of 95 % intervals are in
percentage points, with their coverage, for itemsets with a true support of at least 2 %; the last
column has the coverage of all cells, at the lengths with the least and the most. A second table
compares root mean square errors of all cells by the best guess and by the model.
"""

import sys
from itertools import combinations

import numpy as np
from halftruth_collector.cli.output import print_table
from halftruth_collector.demo.census import SCHEMA, census_codes, census_survey
from halftruth_collector.estimation import Counts, Estimator
from halftruth_collector.estimation.intervals import table_intervals
from halftruth_collector.estimation.likelihood import best_guess, margin
from halftruth_collector.estimation.model import fit_model, shares
from halftruth_collector.estimation.model.fit import PRIOR_VARIANCES
from halftruth_collector.estimation.reconstruction import reconstruction
from halftruth_shared import SplitQuestionnaire

LENGTHS = range(1, len(SCHEMA.names) + 1)
MIN_SUPPORT = 0.02
PEOPLE = census_codes()
#: Surveys of the table of errors, of which the best guess takes long.
SURVEYS_OF_ERRORS = 4
SMALLER = (PRIOR_VARIANCES[0], PRIOR_VARIANCES[1] / 10)


def truth_of(names):
    """Return the true shares of a table."""
    axes = SCHEMA.positions(names)
    sizes = [SCHEMA.shape[axis] for axis in axes]
    cells = np.ravel_multi_index(tuple(PEOPLE[:, axes].T), sizes)
    return np.bincount(cells, minlength=np.prod(sizes)).reshape(sizes) / len(PEOPLE)


TRUTH = {
    names: truth_of(names) for length in LENGTHS for names in combinations(SCHEMA.names, length)
}


def surveyed(max_length, reports, seed):
    """Return a survey and the counts of its simulated reports."""
    mechanism = SplitQuestionnaire.designed(
        SCHEMA, 19, (), dict.fromkeys(range(1, max_length + 1), 1.0)
    )
    survey, rng = census_survey("census", mechanism), np.random.default_rng(seed)
    people = PEOPLE[rng.integers(0, len(PEOPLE), reports)]
    return survey, Counts.from_reports(survey, mechanism.bind(SCHEMA).reports(people, rng))


def tables(max_length, reports, seed):
    """Yield all tables by the model, and the unbiased ones that the reports identify."""
    survey, counts = surveyed(max_length, reports, seed)
    model = fit_model(survey, counts)
    assert model.converged
    estimator = Estimator(survey, counts)
    for names in TRUTH:
        yield "model", names, shares(model, names)
        if len(names) <= max_length:
            yield "moment", names, estimator.table(names)


def guesses(max_length, reports, seed):
    """Yield the shares of all tables by the best guess and by the model with two priors."""
    survey, counts = surveyed(max_length, reports, seed)
    guess = best_guess(reconstruction(survey), counts).table
    for names in TRUTH:
        yield "best guess", names, margin(guess, SCHEMA.positions(names))
    for variances in (PRIOR_VARIANCES, SMALLER):
        model = fit_model(survey, counts, variances=variances)
        for names in TRUTH:
            yield f"model, prior variance {variances[1]:g}", names, shares(model, names).value


def add(sums, way, names, *values):
    """Add values to the sums of an estimate and a length."""
    key = (way, len(names))
    sums[key] = sums.get(key, 0) + np.array(values, dtype=float)


def interval_rows(max_length, reports, surveys):
    """Return a row of half-widths and coverage by length for each estimate."""
    sums = {}
    for seed in range(surveys):
        for way, names, table in tables(max_length, reports, seed):
            truth, (lower, upper) = TRUTH[names], table_intervals(table)
            frequent, held = truth >= MIN_SUPPORT, (lower <= truth) & (truth <= upper)
            width = (upper - lower)[frequent].sum() / 2
            add(
                sums, way, names, frequent.sum(), width, held[frequent].sum(), held.size, held.sum()
            )
    rows = []
    for way in ("model", "moment"):
        cells, covered = [], []
        for length in LENGTHS:
            if (way, length) in sums:
                frequent, width, held, size, all_held = sums[way, length]
                cells.append(f"{100 * width / frequent:.1f} ({held / frequent:.2f})")
                covered.append(all_held / size)
            else:
                cells.append("")
        extremes = f"{min(covered):.2f} to {max(covered):.2f}"
        rows.append([f"{max_length}, {reports}", way, *cells, extremes])
    return rows


def error_rows(max_length, reports, surveys):
    """Return a row of root mean square errors by length for each estimate."""
    sums = {}
    for seed in range(surveys):
        for way, names, value in guesses(max_length, reports, seed):
            add(sums, way, names, value.size, ((value - TRUTH[names]) ** 2).sum())
    return [
        [
            f"{max_length}, {reports}",
            way,
            *(f"{100 * (sums[way, k][1] / sums[way, k][0]) ** 0.5:.2f}" for k in LENGTHS),
        ]
        for way in dict.fromkeys(way for way, _ in sums)
    ]


def main(surveys):
    """Print a row for each design, number of reports and estimate."""
    header = ["max_length, reports", "", *map(str, LENGTHS)]
    rows = [
        row
        for max_length in (2, 3, 6)
        for reports in (5_000, 48_842)
        for row in interval_rows(max_length, reports, surveys)
    ]
    print_table([*header, "all cells"], rows)
    rows = [
        row
        for reports in (5_000, 48_842)
        for row in error_rows(3, reports, min(surveys, SURVEYS_OF_ERRORS))
    ]
    print_table(header, rows)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
