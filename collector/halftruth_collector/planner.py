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
    HalftruthError,
    Kronecker,
    Mechanism,
    ParameterError,
    RandomizedGammaDiagonal,
    RandomizedResponse,
    Schema,
    Survey,
    UniformMixture,
)
from halftruth_shared.messages import LengthPlan, MechanismPlan, PlanQuery, PlanResult, Target
from numpy.typing import NDArray

from .estimate.bounds import check_confidence, check_target, normal_quantile

#: Most sets of attributes of one length that are looked at.
MAX_SETS = 1_000

#: Largest table that is looked at, and most cells of all tables of one length together.
MAX_CELLS = 2**18
_ALL_CELLS = 2**22

#: Most respondents, and narrowest half-width, that anybody could ask for.
_MOST_RESPONDENTS = 10**18
_NARROWEST = 1e-9

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
        Its own mechanism is compared with gamma-diagonal, randomized gamma-diagonal and
        randomized response of the same amplification γ, as far as these can serve its schema.
        Attributes that the survey sends as they are, randomized response does too.
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
    0.0115
    """
    lengths = _check(survey.schema, query)
    public = _public(survey)
    gamma = _amplification(survey, public)
    plans = [
        _plan_mechanism(survey, mechanism, public, lengths, query)
        for mechanism in _candidates(survey, gamma, public)
    ]
    best, reason = _recommend(plans, query.support)
    return PlanResult(
        query=query,
        gamma=_number(gamma),
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
    """Variances of all itemsets of some sets of attributes."""
    columns = []
    for positions in sets:
        cells = math.prod(schema.shape[j] for j in positions)
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
    if not isinstance(query.respondents, Integral) or not (
        2 <= query.respondents <= _MOST_RESPONDENTS
    ):
        raise ParameterError(
            "respondents: expected an integer from 2 to 10**18", field="respondents"
        )
    if not isinstance(query.support, Real) or not 0 < query.support < 1:
        raise ParameterError(
            "support: expected a number above 0 and below 1, such as 0.05", field="support"
        )
    if query.half_width is not None and (
        not isinstance(query.half_width, Real) or not _NARROWEST <= query.half_width < 1
    ):
        raise ParameterError(
            f"half_width: expected a number from {_NARROWEST:g} to 1, such as 0.01",
            field="half_width",
        )
    askable = _askable(schema)
    if not askable:
        raise ParameterError(
            "lengths: expected a survey with an attribute that has items", field="lengths"
        )
    if query.lengths is None:
        return [
            length
            for length in range(1, min(len(askable), _USUAL_LENGTHS) + 1)
            if length == 1 or _largest_table(schema, length) <= MAX_CELLS
        ]
    if (
        not isinstance(query.lengths, Sequence)
        or not query.lengths
        or not all(type(n) is int and 1 <= n <= len(askable) for n in query.lengths)
    ):
        raise ParameterError(
            f"lengths: expected integers from 1 to {len(askable)}, the number of attributes that"
            " have items",
            field="lengths",
        )
    return sorted(set(query.lengths))


def _askable(schema: Schema) -> list[int]:
    """Positions of the attributes that itemsets can have."""
    return [j for j, attribute in enumerate(schema.attributes) if attribute.item_mask.any()]


def _largest_table(schema: Schema, length: int) -> int:
    return math.prod(sorted(schema.shape[j] for j in _askable(schema))[-length:])


def _public(survey: Survey) -> frozenset[str]:
    """The attributes that the survey sends as they are."""
    schema, mechanism = survey.schema, survey.mechanism
    names = set(schema.names)
    return frozenset(
        attribute.name
        for attribute in schema.attributes
        if not attribute.sensitive
        and mechanism.amplification(schema, public=names - {attribute.name}) == math.inf
    )


def _amplification(survey: Survey, public: frozenset[str]) -> Fraction | None:
    """γ over the attributes that are perturbed; None where there is none."""
    gamma = survey.mechanism.amplification(survey.schema, public=public)
    return gamma if isinstance(gamma, Fraction) and gamma > 1 else None


def _number(value: Fraction | None) -> float | None:
    """A fraction for a message; None also where it is beyond floating point."""
    try:
        return None if value is None else float(value)
    except OverflowError:
        return None


def _candidates(
    survey: Survey, gamma: Fraction | None, public: frozenset[str]
) -> Iterator[Mechanism]:
    """The survey's own mechanism, and one of every other kind with the same amplification."""
    yield survey.mechanism
    if gamma is None:
        return
    schema = survey.schema
    private = Schema(tuple(a for a in schema.attributes if a.name not in public))
    response = RandomizedResponse.for_amplification(private, gamma)
    alpha = min(Fraction(1, 2), Fraction(schema.size - 1) / gamma)
    for mechanism in (
        GammaDiagonal(gamma),
        RandomizedGammaDiagonal(gamma, alpha),
        RandomizedResponse({**response.keep, **dict.fromkeys(public, Fraction(1))}),
    ):
        if mechanism.kind == survey.mechanism.kind:
            continue
        try:
            mechanism.check(schema)
        except HalftruthError:
            # No survey could have it.
            continue
        yield mechanism


def _plan_mechanism(
    survey: Survey,
    mechanism: Mechanism,
    public: frozenset[str],
    lengths: Sequence[int],
    query: PlanQuery,
) -> MechanismPlan:
    planned = []
    for length in lengths:
        sets = _sets(survey.schema, length)
        variances = unit_variance(survey.schema, mechanism, sets, query.target)
        possible = math.comb(len(_askable(survey.schema)), length)
        planned.append(_plan_length(length, len(sets), possible, variances, query))
    return MechanismPlan(
        kind=mechanism.kind,
        own=mechanism is survey.mechanism,
        answer_amplification=_answer_amplification(survey.schema, mechanism, public),
        lengths=planned,
    )


def _answer_amplification(
    schema: Schema, mechanism: Mechanism, public: frozenset[str]
) -> float | None:
    """Largest amplification of one answer by itself, when nothing is known of the others.

    Mechanisms of one γ share it out differently: the gamma-diagonal one protects a single answer
    the better, the more cells there are.
    """
    largest = 1.0
    for name in schema.names:
        if name in public:
            continue
        channel = mechanism.channel(schema, [name])
        factor = channel.factors[0] if isinstance(channel, Kronecker) else channel
        if isinstance(factor, UniformMixture):
            least, most = factor.spread, factor.keep + factor.spread
            ratio = most / least if least > 0 else math.inf
        else:
            rows = factor.dense()
            low = rows.min(axis=1)
            ratio = float((rows.max(axis=1) / low).max()) if (low > 0).all() else math.inf
        largest = max(largest, ratio)
    return largest if math.isfinite(largest) else None


def _plan_length(
    length: int, examined: int, possible: int, variances: UnitVariance, query: PlanQuery
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
        possible=possible,
    )


def _sets(schema: Schema, length: int) -> list[tuple[int, ...]]:
    """Sets of so many attributes: all, or the same ones of all every time.

    Raises
    ------
    DomainTooLarge
        If a table of them has more than `MAX_CELLS` cells.
    """
    largest = _largest_table(schema, length)
    if largest > MAX_CELLS:
        raise DomainTooLarge(
            f"lengths: a table of {largest} cells at length {length}; expected at most"
            f" {MAX_CELLS}, so shorter itemsets",
            field="lengths",
        )
    askable = _askable(schema)
    most = min(MAX_SETS, max(1, _ALL_CELLS // largest))
    if math.comb(len(askable), length) <= most:
        return list(combinations(askable, length))
    simulated = random.Random(0)  # noqa: S311 - a choice of examples, no perturbation
    drawn: set[tuple[int, ...]] = set()
    while len(drawn) < most:
        drawn.add(tuple(sorted(simulated.sample(askable, length))))
    return sorted(drawn)


def _recommend(plans: Sequence[MechanismPlan], support: float) -> tuple[MechanismPlan, str]:
    """The mechanism whose widest interval is narrowest, and why in one sentence."""

    def widest(found: MechanismPlan) -> float:
        return max(length.half_width for length in found.lengths)

    narrowest = min(map(widest, plans))
    # Among equals the first: the survey's own, then the simpler one.
    best = next(found for found in plans if widest(found) <= _EQUAL * narrowest)
    lengths = [length.length for length in best.lengths]
    where = f"at length {lengths[0]}"
    if len(lengths) > 1:
        where = f"at lengths {', '.join(map(str, lengths[:-1]))} and {lengths[-1]}"
    parts = [f"{best.kind}: {where} its typical interval is ±{widest(best):.2%} or narrower"]
    for found in plans:
        if found is best:
            continue
        if widest(best) <= _EQUAL * widest(found) and widest(found) <= _EQUAL * widest(best):
            parts.append(f"the same as with {found.kind}")
        else:
            parts.append(f"against ±{widest(found):.2%} with {found.kind}")
    return best, ", ".join(parts) + _less_protected(best, plans) + _useless(widest(best), support)


def _less_protected(best: MechanismPlan, plans: Sequence[MechanismPlan]) -> str:
    """What the recommended mechanism costs the single answer, if it does."""
    own = plans[0].answer_amplification
    if own is None or best.answer_amplification is None:
        return ""
    if best.answer_amplification <= _EQUAL * own:
        return ""
    return (
        f"; but the amplification of a single answer is {best.answer_amplification:.3g} then, and"
        f" {own:.3g} with {plans[0].kind}"
    )


def _useless(half_width: float, support: float) -> str:
    if half_width < support:
        return ""
    return f"; even so, a support of {100 * support:.6g}% cannot be told from zero at each length"
