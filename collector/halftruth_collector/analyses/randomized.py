"""Measures of the reports themselves."""

import msgspec
from halftruth_shared.analyses.randomized import RandomizedQuery, RandomizedResult

from ..estimation.answers import present_items
from ..estimation.reports.randomized import randomized_measures
from . import sentences
from .base import Analysis, Counted, names_of_clearest


def compute(counted: Counted, query: RandomizedQuery) -> RandomizedResult:
    """Measures of the reports as ``randomized_measures`` gives them."""
    measures = randomized_measures(counted.estimator, **msgspec.structs.asdict(query))
    present = present_items(counted.survey.schema, query.attributes, query.present)
    return RandomizedResult(**counted.origin(), query=query, present=present, measures=measures)


ANALYSIS = Analysis(
    query=RandomizedQuery,
    title="Measures of the reports",
    compute=compute,
    start=lambda survey: RandomizedQuery(attributes=names_of_clearest(survey)),
    grid=lambda result: sentences.estimates_grid(
        result, {"statement": "what holds of the answers"}
    ),
    warnings=lambda result: sentences.uncertain_measures(result.measures),
    interpretation=lambda result: sentences.presence(result.present),
    of_records=True,
    order=80,
)
