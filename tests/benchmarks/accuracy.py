"""Root-mean-square errors of the estimates of supports on CENSUS, by length of itemsets."""

from itertools import combinations

import numpy as np
from halftruth_collector.demo.census import SCHEMA, census_codes, census_counts, census_survey
from halftruth_collector.estimate import Counts, Estimator
from halftruth_shared import GammaDiagonal, RandomizedResponse

METHODS = ("moment", "projected", "likelihood")
SURVEYS = 5
SUBSETS = [
    positions
    for length in range(1, len(SCHEMA.shape) + 1)
    for positions in combinations(range(len(SCHEMA.shape)), length)
]


def errors_by_length() -> tuple[list[str], list[list[str]]]:
    """Header and rows: mechanism, estimate, and the error for each length in percentage points."""
    truth = census_counts()
    rows = []
    for mechanism in (GammaDiagonal(19), RandomizedResponse.for_amplification(SCHEMA, 19)):
        survey = census_survey("census", mechanism)
        squares: dict[tuple[str, int], list[np.ndarray]] = {}
        for seed in range(SURVEYS):
            rng = np.random.default_rng(seed)
            reports = mechanism.perturb_many(SCHEMA, census_codes(), rng)
            estimator = Estimator(survey, Counts.from_reports(SCHEMA, reports))
            for positions in SUBSETS:
                shares = truth.marginal(positions) / truth.reports
                names = [SCHEMA.names[j] for j in positions]
                for method in METHODS:
                    squared = (estimator.support(names, method) - shares) ** 2
                    squares.setdefault((method, len(positions)), []).append(squared.ravel())
        for method in METHODS:
            by_length = [
                100 * np.sqrt(np.concatenate(squares[method, length]).mean())
                for length in range(1, len(SCHEMA.shape) + 1)
            ]
            rows.append([mechanism.kind, method, *(f"{error:.2f}" for error in by_length)])
    return ["mechanism", "estimate", *map(str, range(1, len(SCHEMA.shape) + 1))], rows
