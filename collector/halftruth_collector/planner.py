"""What a survey will tell, foretold before any field work.

Every estimated support is a mean over the reports of one weight each, so its variance is known
from the mean square of the weights by true record: E[w²] is linear in the shares of the people,
and depends on them only through the channel. No report is needed.
"""

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from numbers import Integral, Real

import numpy as np
from halftruth_shared import (
    DomainTooLarge,
    GammaDiagonal,
    Mechanism,
    ParameterError,
    RandomizedGammaDiagonal,
    RandomizedResponse,
    Schema,
    Survey,
)
from halftruth_shared.messages import LengthPlan, MechanismPlan, PlanQuery, PlanResult, Target
from numpy.typing import NDArray

from .estimate.bounds import check_confidence, check_target, normal_quantile

#: Sets of attributes of one length that are looked at; beyond, this many drawn from all.
MAX_SETS = 1_000

#: Largest table that is looked at.
MAX_CELLS = 2**18

#: Lengths that matter where nobody says which.
_USUAL_LENGTHS = 3

#: Half-widths nearer to each other than this count as equal.
_EQUAL = 1.01

Array = NDArray[np.float64]


def plan(survey: Survey, query: PlanQuery) -> PlanResult:
    """Foretell what a survey will tell, for each mechanism that meets its amplification γ.

    Parameters
    ----------
    survey : Survey
        Of its mechanism the amplification counts; the survey's own is compared with
        gamma-diagonal, randomized gamma-diagonal and randomized response of the same γ. (No
        distortion matrices of the same γ do better for every attribute than randomized response.)
    query : PlanQuery

    Returns
    -------
    PlanResult
        Standard errors and half-widths of normal intervals by itemset length, and the mechanism
        whose widest interval at the lengths asked for is narrowest.

    Raises
    ------
    ParameterError
        If a field of the query is outside its range.
    DomainTooLarge
        If a table of some length has too many cells.

    Examples
    --------
    >>> from halftruth_shared import Attribute
    >>> schema = Schema([Attribute(name, ["no", "yes"]) for name in ("smoker", "coughs")])
    >>> survey = Survey("health", "Health", schema, GammaDiagonal("19"))
    >>> result = plan(survey, PlanQuery(respondents=5000, lengths=[1]))
    >>> result.recommended
    'gamma-diagonal'
    >>> round(result.mechanisms[0].lengths[0].half_width, 4)
    0.0162
    """
    lengths = _check(survey.schema, query)
    gamma = _amplification(survey)
    plans = [
        _plan_mechanism(survey.schema, mechanism, mechanism is survey.mechanism, lengths, query)
        for mechanism in _candidates(survey, gamma)
    ]
    best, reason = _recommend(plans)
    return PlanResult(
        query=query,
        gamma=None if gamma is None else float(gamma),
        mechanisms=plans,
        recommended=best.kind,
        reason=reason,
    )


@dataclass(frozen=True)
class UnitVariance:
    """N times the variance of estimated supports, for the itemsets of one length.

    With s the support: own·s + rest·(1 − s) − s² for the population, and own·s + rest·(1 − s) − s
    for exactly these respondents.

    Attributes
    ----------
    own : ndarray
        Expected squared weight of those who have the itemset.
    even : ndarray
        The same of the others, if they are spread evenly over all other cells.
    largest : ndarray
        The same if they are all where it is largest.
    """

    own: Array
    even: Array
    largest: Array
    target: Target

    def at(self, support: float) -> Array:
        """With this support and the others spread evenly."""
        subtracted = support**2 if self.target == "population" else support
        return self.own * support + self.even * (1 - support) - subtracted

    def worst(self) -> Array:
        """Largest over every support and every way to spread the others."""
        slope = self.own - self.largest
        if self.target == "respondents":
            return self.largest + np.maximum(slope - 1, 0.0)
        support = np.clip(slope / 2, 0.0, 1.0)
        return self.largest + slope * support - support**2

    def smallest_support(self, z_squared_per_report: float) -> Array:
        """Smallest support that is z standard errors above 0; more than 1 where there is none."""
        # s² (1 + q) = q (own − even) s + q·even, with q = z²/N; without q·s² for respondents.
        q = z_squared_per_report
        population = self.target == "population"
        leading = 1 + q if population else 1.0
        middle = q * (self.own - self.even - (0 if population else 1))
        return (middle + np.sqrt(middle**2 + 4 * leading * q * self.even)) / (2 * leading)


def unit_variance(
    schema: Schema, mechanism: Mechanism, sets: Sequence[Sequence[int]], target: Target
) -> UnitVariance:
    """Variances of all itemsets of some sets of attributes.

    Raises
    ------
    DomainTooLarge
        If one of the tables has more than `MAX_CELLS` cells.
    """
    columns = []
    for positions in sets:
        cells = math.prod(schema.shape[j] for j in positions)
        if cells > MAX_CELLS:
            raise DomainTooLarge(
                f"lengths: a table of {cells} cells at length {len(positions)}; expected at most"
                f" {MAX_CELLS}, so shorter itemsets",
                field="lengths",
            )
        channel = mechanism.channel(schema, [schema.names[j] for j in positions])
        moments = channel.weight_moments()
        masks = [schema.attributes[j].item_mask for j in positions]
        items = np.ix_(*masks)
        even = (moments.total - moments.own) / (cells - 1)
        columns.append([part[items].ravel() for part in (moments.own, even, moments.largest_other)])
    own, even, largest = (np.concatenate(parts) for parts in zip(*columns, strict=True))
    return UnitVariance(own, even, largest, target)


def _check(schema: Schema, query: PlanQuery) -> list[int]:
    """The lengths that matter.

    Raises
    ------
    ParameterError
    """
    check_confidence(query.confidence)
    check_target(query.target)
    if not isinstance(query.respondents, Integral) or query.respondents < 2:
        raise ParameterError("respondents: expected an integer of at least 2", field="respondents")
    if not isinstance(query.support, Real) or not 0 < query.support < 1:
        raise ParameterError(
            "support: expected a number above 0 and below 1, such as 0.05", field="support"
        )
    if query.half_width is not None and not 0 < query.half_width < 1:
        raise ParameterError(
            "half_width: expected a number above 0 and below 1, such as 0.01", field="half_width"
        )
    most = len(schema.attributes)
    if query.lengths is None:
        return list(range(1, min(most, _USUAL_LENGTHS) + 1))
    if not query.lengths or not all(1 <= length <= most for length in query.lengths):
        raise ParameterError(f"lengths: expected integers from 1 to {most}", field="lengths")
    return sorted(set(query.lengths))


def _amplification(survey: Survey) -> Fraction | None:
    """γ over the attributes that are perturbed; None where there is none."""
    schema, mechanism = survey.schema, survey.mechanism
    gamma = mechanism.amplification(schema)
    if gamma == math.inf:
        public = [attribute.name for attribute in schema.attributes if not attribute.sensitive]
        gamma = mechanism.amplification(schema, public=public)
    return gamma if isinstance(gamma, Fraction) and gamma > 1 else None


def _candidates(survey: Survey, gamma: Fraction | None) -> Iterator[Mechanism]:
    """The survey's own mechanism, and one of every other kind with the same amplification."""
    yield survey.mechanism
    if gamma is None:
        return
    for mechanism in (
        GammaDiagonal(gamma),
        RandomizedGammaDiagonal(gamma, Fraction(1, 2)),
        RandomizedResponse.for_amplification(survey.schema, gamma),
    ):
        if mechanism.kind != survey.mechanism.kind:
            yield mechanism


def _plan_mechanism(
    schema: Schema, mechanism: Mechanism, own: bool, lengths: Sequence[int], query: PlanQuery
) -> MechanismPlan:
    planned = []
    for length in lengths:
        sets = _sets(len(schema.attributes), length)
        variances = unit_variance(schema, mechanism, sets, query.target)
        planned.append(_plan_length(length, len(sets), schema, variances, query))
    return MechanismPlan(kind=mechanism.kind, own=own, lengths=planned)


def _plan_length(
    length: int, examined: int, schema: Schema, variances: UnitVariance, query: PlanQuery
) -> LengthPlan:
    quantile = normal_quantile(1 - query.confidence)
    typical = max(float(np.median(variances.at(query.support))), 0.0)
    error = math.sqrt(typical / query.respondents)
    worst = math.sqrt(float(variances.worst().max()) / query.respondents)
    smallest = float(np.median(variances.smallest_support(quantile**2 / query.respondents)))
    needed = None
    if query.half_width is not None:
        needed = max(2, math.ceil(quantile**2 * typical / query.half_width**2))
    return LengthPlan(
        length=length,
        standard_error=error,
        half_width=quantile * error,
        worst_standard_error=worst,
        worst_half_width=quantile * worst,
        smallest_support=smallest if smallest <= 1 else None,
        respondents_needed=needed,
        examined=examined,
        possible=math.comb(len(schema.attributes), length),
    )


def _sets(attributes: int, length: int) -> list[tuple[int, ...]]:
    """Every set of so many attributes, or `MAX_SETS` of them, the same ones every time."""
    if math.comb(attributes, length) <= MAX_SETS:
        return list(combinations(range(attributes), length))
    simulated = random.Random(0)  # noqa: S311 - a choice of examples, no perturbation
    drawn = {tuple(sorted(simulated.sample(range(attributes), length))) for _ in range(MAX_SETS)}
    return sorted(drawn)


def _recommend(plans: Sequence[MechanismPlan]) -> tuple[MechanismPlan, str]:
    """The mechanism whose widest interval is narrowest, and why in one sentence."""

    def widest(found: MechanismPlan) -> float:
        return max(length.half_width for length in found.lengths)

    narrowest = min(map(widest, plans))
    # Among equals the first: the survey's own, then the simpler one.
    best = next(found for found in plans if widest(found) <= _EQUAL * narrowest)
    lengths = [length.length for length in best.lengths]
    where = (
        f"at length {lengths[0]}"
        if len(lengths) == 1
        else (f"at lengths {', '.join(map(str, lengths[:-1]))} and {lengths[-1]}")
    )
    compared = [
        f"the same as with {found.kind}"
        if widest(best) <= widest(found) <= _EQUAL * widest(best)
        else f"against ±{widest(found):.2%} with {found.kind}"
        for found in plans
        if found is not best
    ]
    reason = f"{best.kind}: {where} its intervals are at most ±{widest(best):.2%}"
    return best, ", ".join([reason, *compared])
