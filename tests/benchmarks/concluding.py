"""Rules with all measures and intervals against rules without, and likelihood against one solve.

mlxtend's `association_rules` starts from the frequent itemsets of the true records and knows no
error; ours starts from counts of perturbed reports, and mines the itemsets in the same time.
"""

from collections.abc import Iterator
from functools import partial

import pandas as pd
from halftruth_collector.demo.census import SCHEMA, census_codes, census_survey
from halftruth_collector.estimate import Counts, Estimator, Rules
from halftruth_collector.estimate.likelihood import maximum_likelihood
from halftruth_collector.estimate.measures import MEASURE_NAMES
from halftruth_shared import GammaDiagonal, Mechanism, RandomizedResponse, Survey
from measure import Comparison, by_turns
from mining import MIN_SUPPORT, perturbed
from mlxtend.frequent_patterns import apriori, association_rules

MIN_CONFIDENCE = 0.3
RULES = 1_000
#: Moment solves that are timed as one run: a single one is too short.
SOLVES = 20


def records_as_frame() -> pd.DataFrame:
    """One column of truth values for each category, as mlxtend takes records."""
    codes = census_codes()
    return pd.DataFrame(
        {
            f"{attribute.name}={category}": codes[:, j] == code
            for j, attribute in enumerate(SCHEMA.attributes)
            for code, category in enumerate(attribute.categories)
        }
    )


def find(survey: Survey, counts: Counts, select: str) -> Rules:
    """The rules with the highest confidence, with nothing remembered of these counts."""
    fresh = Counts.from_cells(SCHEMA, counts.cells, counts.counts)
    rules = Estimator(survey, fresh).rules(
        MIN_SUPPORT, MIN_CONFIDENCE, select=select, measures=MEASURE_NAMES, limit=RULES
    )
    for column in rules.measures:
        _ = column.interval(rules.level), column.chebyshev_interval(rules.level)
    return rules


def rules(notes: list[str]) -> Iterator[Comparison]:
    """A thousand rules at 2 % support and 30 % confidence; notes how many there were."""
    frequent = apriori(records_as_frame(), min_support=MIN_SUPPORT, use_colnames=True)
    theirs = partial(association_rules, frequent, metric="confidence", min_threshold=MIN_CONFIDENCE)
    for mechanism in (GammaDiagonal(19), RandomizedResponse.for_amplification(SCHEMA, 19)):
        survey = census_survey("census", mechanism)
        counts = perturbed(survey)
        for select, target in (("lower", 2), ("estimate", None)):
            ours = partial(find, survey, counts, select)
            notes.append(
                f"{mechanism.kind}, select {select}: {len(ours())} rules; mlxtend: {len(theirs())}."
            )
            yield Comparison(
                f"rules with {len(MEASURE_NAMES)} measures, {mechanism.kind}, {select} :"
                " association_rules",
                *by_turns(ours, theirs),
                lambda seconds: f"{seconds * 1e3:.1f} ms",
                speed=False,
                target=target,
            )


def likelihood() -> Iterator[Comparison]:
    """Maximum likelihood of the 2 000 cells of CENSUS to 1e-9, against one moment solve."""
    mechanisms: tuple[tuple[str, Mechanism, float | None], ...] = (
        ("gamma-diagonal", GammaDiagonal(19), 100),
        ("randomized response keeping 0.9", _keeping("0.9"), 100),
        ("randomized response keeping 0.7", _keeping("0.7"), None),
        ("randomized response", RandomizedResponse.for_amplification(SCHEMA, 19), None),
    )
    for name, mechanism, target in mechanisms:
        counts = perturbed(census_survey("census", mechanism))
        channel = mechanism.channel(SCHEMA, SCHEMA.names)
        observed = counts.marginal(range(len(SCHEMA.shape))) / counts.reports
        ours, solves = by_turns(
            partial(maximum_likelihood, channel, observed),
            lambda channel=channel, observed=observed: [
                channel.solve(observed) for _ in range(SOLVES)
            ],
        )
        yield Comparison(
            f"maximum likelihood, {name} : moment solve",
            ours,
            [seconds / SOLVES for seconds in solves],
            lambda seconds: f"{seconds * 1e3:.3f} ms",
            speed=False,
            target=target,
        )


def _keeping(share: str) -> RandomizedResponse:
    return RandomizedResponse(dict.fromkeys(SCHEMA.names, share))
