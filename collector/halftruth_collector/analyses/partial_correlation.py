"""Partial correlation."""

from halftruth_shared import Survey
from halftruth_shared.analyses.partial_correlation import PartialQuery, PartialResult

from ..estimation.answers import present_items
from ..estimation.reports.randomized import randomized_partial_correlation
from . import sentences
from .base import Analysis, Counted, clearest, middle_answer


def compute(counted: Counted, query: PartialQuery) -> PartialResult:
    """Partial correlation of the answers and of the reports."""
    asked = (query.attributes, query.given, query.present, query.confidence)
    # It validates the query, with errors that name its fields.
    reconstructed = counted.estimator.partial_correlation(*asked, query.target)
    names = [*query.attributes, *query.given]
    return PartialResult(
        **counted.origin(),
        query=query,
        present=present_items(counted.estimator.schema, names, query.present),
        reconstructed=reconstructed,
        randomized=randomized_partial_correlation(counted.estimator, *asked),
    )


def interpretation(result: PartialResult) -> list[str]:
    """Describe presence, and conclusions without parameters of the mechanism."""
    lines = sentences.presence(result.present)
    if result.randomized is not None:
        lines.append(f"What the reports alone say of the answers: {result.randomized.statement}.")
    return lines


def warnings(result: PartialResult) -> list[str]:
    """Warn if it is too uncertain."""
    return sentences.too_uncertain([("the partial correlation", result.reconstructed)])


def start(survey: Survey) -> PartialQuery:
    """The two clearest attributes, given the third."""
    three = clearest(survey)[:3]
    names = [attribute.name for attribute in three]
    return PartialQuery(
        attributes=names[:2],
        given=names[2:],
        present={attribute.name: middle_answer(attribute) for attribute in three},
    )


ANALYSIS = Analysis(
    query=PartialQuery,
    title="Partial correlation",
    compute=compute,
    start=start,
    grid=sentences.estimates_grid,
    warnings=warnings,
    interpretation=interpretation,
    together=3,
    order=70,
)
