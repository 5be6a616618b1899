"""Loglinear models that a survey is expected to give, for the people who are assumed to answer."""

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
from halftruth_shared import Mechanism, RandomizedResponse, Schema, Survey
from halftruth_shared.attribute import MultipleResponse

from ...counts import Counts
from ..bounds import Array
from ..groups import in_detail, survey_in_groups, with_attributes
from ..model import LoglinearModel
from ..model.design import Design
from ..model.fit import (
    PenalizedLikelihood,
    design_of,
    fit_design,
    is_identified,
    penalties,
    schema_of,
)
from ..report_model import report_parts

#: Number of reports for the expected information; that of one report is in proportion.
_MANY = 10**12

#: Number of people by whom an association is represented, so that a combination of answers that
#: nobody has keeps a finite parameter.
_PEOPLE = 10**6


def planned_survey(schema: Schema, mechanism: Mechanism) -> Survey:
    """Return a survey of a schema, read in groups of answers if the schema is."""
    survey = Survey("plan", "Plan", in_detail(schema), mechanism)
    return survey if survey.schema is schema else survey_in_groups(survey)


def expected_model(
    schema: Schema,
    mechanism: Mechanism,
    respondents: int,
    attributes: Sequence[str] | None = None,
    terms: Sequence[Collection[str]] | None = None,
    people: Array | None = None,
) -> LoglinearModel | None:
    """Return the fit of `fit_model` to the expected reports; None if it is not identified.

    It is the median of the fits to reports, but for terms of the order of 1/N: the penalty moves
    both equally.

    Parameters
    ----------
    attributes : sequence of str, optional
        All by default.
    terms : sequence of collections of str, optional
        Highest-order interactions; by default all pairs that some report asks together.
    people : ndarray, optional
        Shares of the people by these attributes, in the order of the survey; by default all
        feasible combinations of answers are equally frequent.

    Raises
    ------
    DomainTooLarge
        If the model has too many cells or parameters.
    """
    survey = planned_survey(schema, mechanism)
    part = schema_of(schema, attributes)
    design = design_of(survey, part, terms)
    reports = _expected_reports(survey)
    parts = report_parts(survey.perturbation, reports, part.names)
    if not all(is_identified(term, parts) for term in design.terms):
        return None
    theta = np.zeros(design.parameters) if people is None else _parameters(part, design, people)
    likelihood = PenalizedLikelihood(part, design, parts, penalties(design))
    probabilities, share = likelihood.at(theta).probabilities, respondents / reports.reports
    expected = [replace(p, counts=p.counts.sum() * share * probabilities(p)) for p in parts]
    model = replace(likelihood, parts=expected).maximum(theta)
    return replace(model, reports=respondents)


def _expected_reports(survey: Survey) -> Counts:
    """Return reports of each view in the expected number; the information needs nothing else."""
    views = survey.perturbation.views
    cells = np.zeros((len(views), len(survey.report_space.shape)), dtype=np.int64)
    if not survey.perturbation.reports_records:
        cells[:, -1] = [view.first for view in views]
    weights = np.array([view.weight for view in views], dtype=np.float64)
    expected = np.rint(weights / weights.sum() * _MANY).astype(np.int64)
    return Counts.from_cells(survey, cells, expected)


def _without_limit(question: MultipleResponse | None) -> MultipleResponse | None:
    return None if question is None else replace(question, at_most=None)


def _parameters(schema: Schema, design: Design, people: Array) -> Array:
    """Return θ of the model of people with these shares, from their unperturbed answers."""
    # Options of a set are unperturbed one by one.
    alone = [
        replace(each, sensitive=False, question=_without_limit(each.question))
        for each in schema.attributes
    ]
    public = with_attributes(schema, alone)
    unperturbed = RandomizedResponse(dict.fromkeys(public.names, "1"))
    survey = Survey("people", "People", public, unperturbed)
    number = np.rint(people / people.sum() * _PEOPLE).astype(np.int64)
    counts = Counts.from_cells(survey, np.argwhere(number), number[number > 0])
    return fit_design(survey, counts, public, design).coefficients
