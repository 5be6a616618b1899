"""Rules with all measures and intervals against rules without; best guesses against one solve.

mlxtend's `association_rules` starts from the frequent itemsets of the true records and computes no
errors; ours starts from counts of perturbed reports and includes the mining of itemsets.
"""

from collections.abc import Iterator
from functools import partial

import pandas as pd
from halftruth_collector.demo.census import SCHEMA, census_codes, census_survey
from halftruth_collector.estimation import Counts, Estimator, Rules, likelihood
from halftruth_collector.estimation.measures import MEASURE_NAMES
from halftruth_collector.estimation.reconstruction import of_perturbation
from halftruth_collector.estimation.rules import mine_rules
from halftruth_shared import GammaDiagonal, RandomizedResponse, SplitQuestionnaire, Survey
from halftruth_shared.analyses.rules import RulesQuery
from measure import Comparison, by_turns
from mining import MIN_SUPPORT, perturbed
from mlxtend.frequent_patterns import apriori, association_rules

MIN_CONFIDENCE = 0.3
RULES = 1_000
#: Moment solves timed as one run, since a single one is too short.
SOLVES = 20


def records_as_frame() -> pd.DataFrame:
    """Return one column of truth values per category, the input of mlxtend."""
    codes = census_codes()
    return pd.DataFrame(
        {
            f"{attribute.name}={category}": codes[:, j] == code
            for j, attribute in enumerate(SCHEMA.attributes)
            for code, category in enumerate(attribute.categories)
        }
    )


def find(survey: Survey, counts: Counts) -> Rules:
    """Return the rules with the highest confidence, without cached results."""
    fresh = Counts.from_cells(survey, counts.cells, counts.counts)
    query = RulesQuery(
        min_support=MIN_SUPPORT,
        min_confidence=MIN_CONFIDENCE,
        max_length=len(SCHEMA.names),
        measures=list(MEASURE_NAMES),
        limit=RULES,
    )
    return mine_rules(Estimator(survey, fresh), query)


def rules(notes: list[str]) -> Iterator[Comparison]:
    """Compare a thousand rules at 2 % support and 30 % confidence, and note their number."""
    frequent = apriori(records_as_frame(), min_support=MIN_SUPPORT, use_colnames=True)
    theirs = partial(association_rules, frequent, metric="confidence", min_threshold=MIN_CONFIDENCE)
    for mechanism in (GammaDiagonal(19), RandomizedResponse.for_amplification(SCHEMA, 19)):
        survey = census_survey("census", mechanism)
        counts = perturbed(survey)
        ours = partial(find, survey, counts)
        notes.append(f"{mechanism.kind}: {len(ours())} rules; mlxtend: {len(theirs())}.")
        yield Comparison(
            f"rules with {len(MEASURE_NAMES)} measures, {mechanism.kind} : association_rules",
            *by_turns(ours, theirs),
            lambda seconds: f"{seconds * 1e3:.1f} ms",
            speed=False,
            target=2,
        )


def best_guess() -> Iterator[Comparison]:
    """Compare the best guess of the 2 000 cells of CENSUS with one moment solve."""
    for mechanism in (
        SplitQuestionnaire.designed(SCHEMA, 19, (), dict.fromkeys(range(1, 7), 1.0)),
        GammaDiagonal(19),
        RandomizedResponse.for_amplification(SCHEMA, 19),
    ):
        counts = perturbed(census_survey("census", mechanism))
        reconstruction = of_perturbation(mechanism.bind(SCHEMA))
        ours, solves = by_turns(
            partial(likelihood.best_guess, reconstruction, counts),
            lambda solve=reconstruction.table, counts=counts: [
                solve(counts, SCHEMA.names).value for _ in range(SOLVES)
            ],
        )
        yield Comparison(
            f"best guess, {mechanism.kind} : moment solve",
            ours,
            [seconds / SOLVES for seconds in solves],
            lambda seconds: f"{seconds * 1e3:.3f} ms",
            speed=False,
            target=None,
        )
