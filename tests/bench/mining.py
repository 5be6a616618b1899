"""Itemsets with their bounds from perturbed counts, compared with Eclat on the true records.

A collector counts reports as they arrive, so ours starts from counts, and Eclat from records. Eclat
on counted records is shown for information.
"""

from collections import Counter
from collections.abc import Iterator
from functools import partial

import fim
import numpy as np
from halftruth_collector.demo.census import SCHEMA, census_codes, census_survey
from halftruth_collector.estimation import Counts, Estimator, Itemsets
from halftruth_collector.estimation.itemsets import mine_itemsets
from halftruth_shared import GammaDiagonal, RandomizedResponse, SplitQuestionnaire, Survey
from halftruth_shared.analyses.itemsets import ItemsetsQuery
from measure import Comparison, by_turns

MIN_SUPPORT = 0.02
CODES = census_codes()
#: Every category of every attribute is a distinct integer.
TRANSACTIONS = [tuple(row) for row in (CODES + np.cumsum([0, *SCHEMA.shape[:-1]])).tolist()]


def perturbed(survey: Survey) -> Counts:
    """Return the same counts in every run, since the time depends on them."""
    reports = survey.perturbation.reports(CODES, np.random.default_rng(1))
    return Counts.from_reports(survey, reports)


def mine(survey: Survey, counts: Counts) -> Itemsets:
    """Mine itemsets without cached results, and compute their bounds."""
    fresh = Counts.from_cells(survey, counts.cells, counts.counts)
    query = ItemsetsQuery(min_support=MIN_SUPPORT, max_length=len(SCHEMA.names))
    itemsets = mine_itemsets(Estimator(survey, fresh), query)
    _ = itemsets.estimates.lower, itemsets.estimates.upper
    return itemsets


def itemsets(notes: list[str]) -> Iterator[Comparison]:
    """Compare itemsets of all lengths at 2 % support, and note their number."""
    eclat = partial(fim.eclat, supp=100 * MIN_SUPPORT, report="s")
    on_records, on_counts = partial(eclat, TRANSACTIONS), partial(eclat, Counter(TRANSACTIONS))
    lengths = dict.fromkeys(range(1, len(SCHEMA.names) + 1), 1.0)
    for mechanism, speed, target in (
        (SplitQuestionnaire.designed(SCHEMA, 19, (), lengths), False, 10),
        (GammaDiagonal(19), True, 5),
        (RandomizedResponse.for_amplification(SCHEMA, 19), True, 5),
    ):
        survey = census_survey("census", mechanism)
        arrays = partial(mine, survey, perturbed(survey))
        notes.append(f"{mechanism.kind}: {len(arrays())} itemsets; eclat: {len(on_records())}.")
        for name, ours, peer, wanted in (
            ("itemsets, {} : eclat", arrays, on_records, target),
            (
                "list of itemsets, {} : eclat",
                lambda mine=arrays: list(mine().rows),
                on_records,
                None,
            ),
            ("itemsets, {} : eclat on counted records", arrays, on_counts, None),
        ):
            yield Comparison(
                name.format(mechanism.kind),
                *by_turns(ours, peer),
                lambda seconds: f"{seconds * 1e3:.2f} ms",
                speed=speed,
                target=wanted,
            )
