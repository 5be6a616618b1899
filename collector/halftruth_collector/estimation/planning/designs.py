"""Precision by the longest tables that a survey is designed for, unbiased and by the model."""

import math
from fractions import Fraction

from halftruth_shared import DomainTooLarge, Mechanism, ParameterError, Schema, Survey
from halftruth_shared.analyses.plan import DesignPlan, LengthMargin, PlanQuery
from msgspec.structs import replace

from ..bounds import normal_quantile
from ..reconstruction import of_perturbation, reconstruction
from .expected_model import expected_model, variance_of_odds_ratios, variance_of_tables
from .sets import (
    MAX_CELLS,
    USUAL_LENGTHS,
    even_plan,
    largest_table,
    margins,
    perturbed_of,
    sets_of,
)


def plan_designs(
    survey: Survey,
    gamma: Fraction | None,
    public: frozenset[str],
    query: PlanQuery,
) -> list[DesignPlan]:
    """Plan the mechanism of a survey, designed for tables of up to one attribute, two, and so on.

    All margins are about evenly spread answers and tables without public attributes. Designs that
    are the same mechanism are planned once.

    Raises
    ------
    ParameterError
        If the query is about the respondents, of whom the model says nothing.
    """
    if query.target != "population":
        raise ParameterError(
            "designs: the model is of the population; expected target = population",
            field="designs",
        )
    if gamma is None:
        return []
    schema, positions = survey.schema, perturbed_of(survey.schema, public)
    longest = min(max(query.lengths or [USUAL_LENGTHS]), len(positions))
    while largest_table(schema, positions, longest) > MAX_CELLS:
        longest -= 1
    designs: dict[Mechanism, int] = {}
    for max_length in range(1, longest + 1):
        kind = type(survey.mechanism)
        mechanism = kind.for_amplification(schema, gamma, public, max_length)
        if mechanism is not None:
            designs[mechanism] = max_length
    if survey.mechanism not in designs:
        most = min(longest, reconstruction(survey).max_order)
        # One whose designs are all the same has other parameters than lengths.
        designs = {survey.mechanism: most, **(designs if len(designs) > 1 else {})}
    return [
        _plan_design(
            schema, mechanism, max_length, mechanism == survey.mechanism, positions, longest, query
        )
        for mechanism, max_length in designs.items()
    ]


def _plan_design(
    schema: Schema,
    mechanism: Mechanism,
    max_length: int,
    own: bool,
    positions: list[int],
    longest: int,
    query: PlanQuery,
) -> DesignPlan:
    respondents, unbiased = query.respondents, of_perturbation(mechanism.bind(schema))
    sets = {length: sets_of(schema, positions, length) for length in range(1, longest + 1)}
    by_length = margins(unbiased, sets, query)
    try:
        model = expected_model(schema, mechanism, respondents)
    except DomainTooLarge:
        model = None
    design = DesignPlan(
        max_length=max_length, own=own, unbiased=by_length, model=[], odds_ratio=None
    )
    if model is None:
        return design
    by_model = [
        even_plan(LengthMargin, variance_of_tables(model, of) * respondents, query, length=length)
        for length, of in sets.items()
    ]
    odds_ratio = None
    if len(positions) > 1:
        error = math.sqrt(variance_of_odds_ratios(model, positions))
        odds_ratio = math.exp(normal_quantile(1 - query.confidence) * error)
    return replace(design, model=by_model, odds_ratio=odds_ratio)
