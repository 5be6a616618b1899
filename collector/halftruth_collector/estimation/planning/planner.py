"""Expected precision of a survey, before any field work.

Every estimated support is a mean over the reports of one weight each, so its variance is known
from the mean square of the weights by true record: E[w²] is linear in the shares of the people,
and depends on them only through the channel. No report is needed.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache, partial

import numpy as np
from halftruth_shared import (
    HalftruthError,
    Mechanism,
    ParameterError,
    Protection,
    Schema,
    Survey,
)
from halftruth_shared.analyses.base import Target
from halftruth_shared.analyses.plan import (
    LengthBound,
    LengthPlan,
    MechanismPlan,
    PlanQuery,
    PlanResult,
    SetPlan,
)
from halftruth_shared.analyses.reading import fields, make
from halftruth_shared.mechanisms import MECHANISMS
from halftruth_shared.rational import as_float

from ...executors import Map
from ..bounds import normal_quantile, optional
from ..reconstruction import of_perturbation, reconstruction
from ..variances import UnitVariance
from .bound import information_bound, largest_error
from .designs import plan_designs
from .recommendation import recommend, recommend_designs
from .sets import (
    MAX_CELLS,
    USUAL_LENGTHS,
    even_plan,
    even_variance,
    largest_table,
    perturbed_of,
    sets_of,
    unit_variances,
)


def plan(survey: Survey, query: PlanQuery, map_pieces: Map = map) -> PlanResult:
    """Return the expected precision of each mechanism that meets the amplification γ of a survey.

    Parameters
    ----------
    survey : Survey
        Its own mechanism is compared with one of every other kind and the same amplification γ, as
        far as these can serve its schema. Attributes that the survey sends unperturbed may be sent
        so by the others too.
    map_pieces : callable
        Where the mechanisms are planned; the numbers are the same everywhere.

    Returns
    -------
    PlanResult
        Standard errors and half-widths of normal intervals by itemset length, and the mechanism
        whose widest margin for evenly spread answers at the lengths asked for is narrowest.

    Raises
    ------
    ParameterError
        If a field of the query is outside its range.
    DomainTooLarge
        If a table of some length has too many cells.

    Examples
    --------
    >>> from halftruth_shared import Attribute, GammaDiagonal
    >>> schema = Schema([Attribute(name, ["no", "yes"]) for name in ("smoker", "coughs")])
    >>> survey = Survey("health", "Health", schema, GammaDiagonal("19"))
    >>> result = plan(survey, PlanQuery(respondents=5000, lengths=[1]))
    >>> result.recommended
    'gamma-diagonal'
    >>> round(result.mechanisms[0].lengths[0].half_width, 4)
    0.0169
    """
    query = make(PlanQuery, {name: getattr(query, name) for name in fields(PlanQuery)})
    lengths = _lengths(survey, query.lengths)
    public = survey.perturbation.unperturbed
    gamma = _amplification(survey, public)
    bound = [] if gamma is None else _bound(survey.schema, gamma, public, lengths, query)
    candidates = [survey.mechanism]
    if not query.alone and gamma is not None:
        candidates += _others(survey, gamma, public, max(lengths))
    work = partial(_plan_mechanism, survey, public, lengths, query, bound)
    plans = [planned for planned in map_pieces(work, candidates) if planned.lengths]
    served = [p for p in plans if len(p.lengths) == len(lengths)]
    best, reason = recommend(served)
    designs = plan_designs(survey, gamma, public, query) if query.designs else []
    return PlanResult(
        query=query,
        gamma=None if gamma is None else optional(as_float(gamma)),
        mechanisms=plans,
        bound=bound,
        sets=[] if query.sets is None else _plan_sets(survey, lengths, query),
        recommended=best.kind,
        reason=reason,
        protection=Protection.of(survey).sentences(),
        designs=designs,
        advice=list(recommend_designs(designs)),
    )


def of_itemsets(schema: Schema, tables: Mapping[tuple[int, ...], UnitVariance]) -> UnitVariance:
    """Variances of those cells of some tables that are itemsets, in one row."""
    kept = []
    for positions, variances in tables.items():
        masks = [schema.attributes[j].item_mask for j in positions]
        kept.append(variances.take(np.ix_(*masks)))
    return UnitVariance.concatenate(kept)


def _lengths(survey: Survey, wanted: Sequence[int] | None) -> list[int]:
    """The lengths that matter.

    Raises
    ------
    ParameterError
    """
    schema = survey.schema
    askable = _askable(schema)
    longest = min(len(askable), reconstruction(survey).max_order)
    if not askable:
        raise ParameterError(
            "lengths: expected a survey with an attribute that has items", field="lengths"
        )
    if wanted is None:
        return [
            length
            for length in range(1, min(longest, USUAL_LENGTHS) + 1)
            if length == 1 or largest_table(schema, askable, length) <= MAX_CELLS
        ]
    if not wanted or max(wanted) > longest:
        raise ParameterError(
            f"lengths: expected integers from 1 to {longest}, the most attributes that have items"
            " and that a report tells of together",
            field="lengths",
        )
    return sorted(set(wanted))


def _askable(schema: Schema) -> list[int]:
    """Positions of the attributes that itemsets can have."""
    return [j for j, attribute in enumerate(schema.attributes) if attribute.item_mask.any()]


def _amplification(survey: Survey, public: frozenset[str]) -> Fraction | None:
    """γ over the attributes that are perturbed; None where there is none."""
    gamma = survey.perturbation.amplification(public=public)
    return gamma if isinstance(gamma, Fraction) and gamma > 1 else None


def _others(
    survey: Survey, gamma: Fraction, public: frozenset[str], longest: int
) -> Iterator[Mechanism]:
    """One mechanism of every other kind with the same amplification as the survey's."""
    for offered in MECHANISMS:
        if offered.kind == survey.mechanism.kind:
            continue
        try:
            mechanism = offered.for_amplification(survey.schema, gamma, public, longest)
            if mechanism is None:
                continue
            mechanism.bind(survey.schema)
        except HalftruthError:
            # No survey could have it.
            continue
        yield mechanism


def _plan_mechanism(
    survey: Survey,
    public: frozenset[str],
    lengths: Sequence[int],
    query: PlanQuery,
    bound: Sequence[LengthBound],
    mechanism: Mechanism,
) -> MechanismPlan:
    schema, perturbation = survey.schema, mechanism.bind(survey.schema)
    unbiased = of_perturbation(perturbation)
    askable, perturbed = _askable(schema), perturbed_of(schema, public)
    planned = []
    for length in lengths:
        if length > unbiased.max_order:
            continue
        # However many are listed, all verdicts are by the same ones.
        sets = whole = sets_of(schema, askable, length)
        fits = largest_table(schema, perturbed, length) <= MAX_CELLS
        if len(perturbed) >= length and fits:
            whole = sets_of(schema, perturbed, length)
        # Most sets are in both.
        tables = unit_variances(unbiased, dict.fromkeys([*sets, *whole]), query.target)
        variances = of_itemsets(schema, {positions: tables[positions] for positions in sets})
        quantile = normal_quantile(1 - query.confidence)
        worst = math.sqrt(float(variances.worst.max()) / query.respondents)
        smallest = float(np.median(variances.smallest_share(quantile**2 / query.respondents)))
        planned.append(
            even_plan(
                LengthPlan,
                even_variance([tables[p] for p in whole]),
                query,
                length=length,
                worst_standard_error=worst,
                worst_half_width=quantile * worst,
                smallest_support=smallest if smallest <= 1 else None,
                examined=len(sets),
                possible=math.comb(len(askable), length),
            )
        )
    answer = max(perturbation.amplification(each, public=public) for each in schema.questions)
    return MechanismPlan(
        kind=mechanism.kind,
        # All others are of other kinds.
        own=mechanism.kind == survey.mechanism.kind,
        answer_amplification=optional(as_float(answer)),
        times_bound=_times_bound(planned, bound),
        lengths=planned,
    )


def _plan_sets(survey: Survey, lengths: Sequence[int], query: PlanQuery) -> list[SetPlan]:
    """Each of some sets under the survey's own mechanism, the least known of a length first."""
    schema, plans = survey.schema, []
    positions = range(len(schema.names))
    for length in lengths:
        if largest_table(schema, positions, length) > MAX_CELLS:
            continue
        sets = sets_of(schema, positions, length, query.sets)
        tables = unit_variances(reconstruction(survey), sets, query.target)
        planned = [
            even_plan(
                SetPlan,
                even_variance([variances]),
                query,
                attributes=[schema.names[j] for j in chosen],
            )
            for chosen, variances in tables.items()
        ]
        plans += sorted(planned, key=lambda one: -one.half_width)
    return plans


def _bound(
    schema: Schema,
    gamma: Fraction,
    public: frozenset[str],
    lengths: Sequence[int],
    query: PlanQuery,
) -> list[LengthBound]:
    """The information bound of those lengths that have tables without public attributes."""
    perturbed = len(perturbed_of(schema, public))
    asked = [length for length in lengths if length <= perturbed]
    if not asked:
        return []
    errors = _least_errors(schema, gamma, public, tuple(asked), query.target)
    return [even_plan(LengthBound, errors[n] ** 2, query, length=n) for n in asked]


@lru_cache(maxsize=64)
def _least_errors(
    schema: Schema,
    gamma: Fraction,
    public: frozenset[str],
    lengths: tuple[int, ...],
    target: Target,
) -> Mapping[int, float]:
    """Information bound for a single respondent, which takes most of the time of a plan."""
    return information_bound(schema, gamma, 1, public, lengths, target)


def _times_bound(planned: Sequence[LengthPlan], bound: Sequence[LengthBound]) -> float | None:
    own = {plan.length: plan.standard_error for plan in planned}
    errors = [own[b.length] for b in bound if b.length in own]
    if not errors or len(errors) < len(bound):
        return None
    least = largest_error([of_length.standard_error for of_length in bound])
    return largest_error(errors) / least if least > 0 else None
