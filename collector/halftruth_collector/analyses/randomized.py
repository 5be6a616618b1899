"""Measures of the reports themselves."""

import msgspec
from halftruth_shared.analyses.randomized import RandomizedQuery, RandomizedResult

from ..estimation.answers import present_items
from ..estimation.reports.randomized import randomized_measures
from . import sentences
from .base import Analysis, Counted, Grid, names_of_clearest


def compute(counted: Counted, query: RandomizedQuery) -> RandomizedResult:
    """Measures of the reports as ``randomized_measures`` gives them."""
    measures = randomized_measures(counted.estimator, **msgspec.structs.asdict(query))
    present = present_items(counted.survey.schema, query.attributes, query.present)
    return RandomizedResult(**counted.origin(), query=query, present=present, measures=measures)


def grid(result: RandomizedResult) -> Grid:
    """Table of measures with their implications for the answers."""
    level = sentences.level(result.query.confidence)
    rows = zip(sentences.measure_rows(result.measures), result.measures, strict=True)
    return Grid(
        ["measure", sentences.VALUE, level, "what holds of the answers"],
        [[*row, measure.statement] for row, measure in rows],
    )


def warnings(result: RandomizedResult) -> list[str]:
    """Warn of measures that are too uncertain."""
    return sentences.too_uncertain(
        (sentences.named(measure.name), measure) for measure in result.measures
    )


ANALYSIS = Analysis(
    query=RandomizedQuery,
    title="Measures of the reports",
    compute=compute,
    start=lambda survey: RandomizedQuery(attributes=names_of_clearest(survey)),
    grid=grid,
    warnings=warnings,
    interpretation=lambda result: sentences.presence(result.present),
    of_records=True,
    order=80,
)
