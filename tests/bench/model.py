"""Intervals of itemsets on CENSUS at γ = 19 by one model of all answers, and unbiased ones.

Usage: .venv/bin/python tests/bench/model.py [SURVEYS]. Half-widths of 95 % intervals and root mean
square errors are in percentage points, with the coverage of intervals, for itemsets with a true
support of at least 2 %.
"""

import sys
import time
from itertools import combinations

import numpy as np
from halftruth_collector.cli.output import print_table
from halftruth_collector.demo.census import SCHEMA, census_codes, census_survey
from halftruth_collector.estimation import Counts, Estimator
from halftruth_collector.estimation.intervals import table_intervals
from halftruth_collector.estimation.model import fit_model, shares
from halftruth_shared import SplitQuestionnaire

LENGTHS = range(1, len(SCHEMA.names) + 1)
MIN_SUPPORT = 0.02
PEOPLE = census_codes()


def truth_of(names):
    """Return the true shares of a table."""
    axes = SCHEMA.positions(names)
    sizes = [SCHEMA.shape[axis] for axis in axes]
    cells = np.ravel_multi_index(tuple(PEOPLE[:, axes].T), sizes)
    return np.bincount(cells, minlength=np.prod(sizes)).reshape(sizes) / len(PEOPLE)


TRUTH = {
    names: truth_of(names) for length in LENGTHS for names in combinations(SCHEMA.names, length)
}


def one_survey(max_length, reports, seed):
    """Yield estimates with intervals of all tables: by the model, and unbiased if identified."""
    mechanism = SplitQuestionnaire.designed(
        SCHEMA, 19, (), dict.fromkeys(range(1, max_length + 1), 1.0)
    )
    survey, rng = census_survey("census", mechanism), np.random.default_rng(seed)
    people = PEOPLE[rng.integers(0, len(PEOPLE), reports)]
    counts = Counts.from_reports(survey, mechanism.bind(SCHEMA).reports(people, rng))
    started = time.process_time()
    model = fit_model(survey, counts)
    seconds = time.process_time() - started
    assert model.converged
    estimator = Estimator(survey, counts)
    for names, truth in TRUTH.items():
        of_model = shares(model, names)
        yield "model", names, truth, of_model.value, table_intervals(of_model), seconds
        if len(names) <= max_length:
            table = estimator.table(names)
            yield "unbiased", names, truth, table.value, table_intervals(table), seconds


def main(surveys):
    """Print a row for each design, number of reports and estimate."""
    rows = []
    for max_length in (2, 3, 6):
        for reports in (5_000, 48_842):
            sums, times = {}, []
            for seed in range(surveys):
                for way, names, truth, support, (lower, upper), seconds in one_survey(
                    max_length, reports, seed
                ):
                    frequent = truth >= MIN_SUPPORT
                    covered = ((lower <= truth) & (truth <= upper))[frequent]
                    found = [
                        frequent.sum(),
                        (upper - lower)[frequent].sum() / 2,
                        covered.sum(),
                        truth.size,
                        ((support - truth) ** 2).sum(),
                    ]
                    key = (way, len(names))
                    sums[key] = sums.get(key, 0) + np.array(found)
                    times.append(seconds)
            for way in ("model", "unbiased"):
                cells = []
                for length in LENGTHS:
                    n, width, covered, size, squares = sums.get((way, length), [0] * 5)
                    error = 100 * (squares / size) ** 0.5 if size else 0
                    interval = f"{100 * width / n:.2f} ({covered / n:.3f})" if n else ""
                    cells.append(f"{interval} {error:.2f}" if n else "")
                rows.append([f"{max_length}, {reports}", way, *cells, f"{np.median(times):.1f}"])
    header = ["max_length, reports", "half-width (coverage) error", *map(str, LENGTHS), "CPU s"]
    print_table(header, rows)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
