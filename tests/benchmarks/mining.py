"""Itemsets with their bounds from perturbed counts, against Eclat on the true records.

Counting is what a collector does as reports arrive, so ours starts from counts. That is also why
Eclat is shown on counted records too, for information.
"""

from collections import Counter
from collections.abc import Iterator

import fim
import numpy as np
from halftruth_collector.demo.census import SCHEMA, census_codes, census_survey
from halftruth_collector.estimate import Counts, Estimator, Itemsets
from halftruth_shared import GammaDiagonal, RandomizedResponse, Survey
from measure import Comparison, by_turns

PERCENT = 2
CODES = census_codes()
#: Every category of every attribute is an integer of its own.
TRANSACTIONS = [tuple(items) for items in (CODES + np.cumsum([0, *SCHEMA.shape[:-1]])).tolist()]
SURVEYS = tuple(
    census_survey("census", mechanism)
    for mechanism in (GammaDiagonal(19), RandomizedResponse.for_amplification(SCHEMA, 19))
)


def perturbed_counts(survey: Survey) -> Counts:
    """The same counts in every run, since the time depends on what is found."""
    reports = survey.mechanism.perturb_many(SCHEMA, CODES, np.random.default_rng(1))
    return Counts.from_reports(SCHEMA, reports)


def mine(survey: Survey, counts: Counts) -> tuple[Itemsets, np.ndarray, np.ndarray]:
    """Mine with nothing remembered of these counts, and read the bounds."""
    fresh = Counts.from_cells(SCHEMA, counts.cells, counts.counts)
    itemsets = Estimator(survey, fresh).itemsets(PERCENT / 100)
    return itemsets, itemsets.lower, itemsets.upper


def eclat(transactions: object) -> list[tuple[object, ...]]:
    return fim.eclat(transactions, supp=PERCENT, report="s")


def itemsets() -> Iterator[Comparison]:
    """Itemsets of every length at 2 %, as arrays and as objects."""
    counted = dict(Counter(TRANSACTIONS))
    for survey in SURVEYS:
        counts = perturbed_counts(survey)
        arrays = lambda survey=survey, counts=counts: mine(survey, counts)  # noqa: E731
        objects = lambda survey=survey, counts=counts: list(mine(survey, counts)[0])  # noqa: E731
        for what, ours, transactions, target in (
            ("itemsets, {} : eclat", arrays, TRANSACTIONS, 5),
            ("itemsets as objects, {} : eclat", objects, TRANSACTIONS, None),
            ("itemsets, {} : eclat on counted records", arrays, counted, None),
        ):
            yield Comparison(
                what.format(survey.mechanism.kind),
                *by_turns(ours, lambda transactions=transactions: eclat(transactions)),
                lambda seconds: f"{seconds * 1e3:.2f} ms",
                speed=True,
                target=target,
            )


def found() -> str:
    """How many itemsets each finds."""
    ours = (
        f"{len(mine(survey, perturbed_counts(survey))[0])} with {survey.mechanism.kind}"
        for survey in SURVEYS
    )
    return f"Itemsets found: {', '.join(ours)}, {len(eclat(TRANSACTIONS))} by eclat on the truth."
