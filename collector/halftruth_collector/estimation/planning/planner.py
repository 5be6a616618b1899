"""Expected precision of a survey, before any field work.

Every estimated support is a mean over the reports of one weight each, so its variance is known
from the mean square of the weights by true record: E[w²] is linear in the shares of the people,
and depends on them only through the channel. No report is needed.
"""

import math
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from itertools import combinations
from typing import Any, TypeVar

import numpy as np
from halftruth_shared import (
    DomainTooLarge,
    HalftruthError,
    Mechanism,
    ParameterError,
    Protection,
    Reconstruction,
    Schema,
    Survey,
)
from halftruth_shared.analyses.base import Target
from halftruth_shared.analyses.plan import (
    EvenPlan,
    LengthBound,
    LengthPlan,
    MechanismPlan,
    PlanQuery,
    PlanResult,
    SetPlan,
)
from halftruth_shared.analyses.reading import fields, make
from halftruth_shared.mechanisms import MECHANISMS, UnitVariance
from halftruth_shared.mechanisms.split_questionnaire.bound import information_bound, largest_error
from halftruth_shared.rational import as_float

from ...executors import Map
from ..bounds import normal_quantile, optional
from .recommendation import recommend

P = TypeVar("P", bound=EvenPlan)

#: Sets of attributes of one length up to which all are looked at, and how many of more are.
MAX_SETS, SAMPLED = 1_000, 300

#: Largest table that is looked at, and most cells of all tables of one length together.
MAX_CELLS = 2**18
_ALL_CELLS = 2**22

#: Lengths that matter where nobody says which.
_USUAL_LENGTHS = 3


def plan(survey: Survey, query: PlanQuery, map_pieces: Map = map) -> PlanResult:
    """Return the expected precision of each mechanism that meets the amplification γ of a survey.

    Parameters
    ----------
    survey : Survey
        Its own mechanism is compared with one of every other kind and the same amplification γ, as
        far as these can serve its schema. Attributes that the survey sends as they are may be sent
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
    0.0115
    """
    query = make(PlanQuery, {name: getattr(query, name) for name in fields(PlanQuery)})
    lengths = _lengths(survey, query.lengths)
    public = survey.mechanism.unperturbed(survey.schema)
    gamma = _amplification(survey, public)
    bound = [] if gamma is None else _bound(survey.schema, gamma, public, lengths, query)
    candidates = [survey.mechanism]
    if not query.alone and gamma is not None:
        candidates += _others(survey, gamma, public, max(lengths))
    work = partial(_plan_mechanism, survey, public, lengths, query, bound)
    plans = [planned for planned in map_pieces(work, candidates) if planned.lengths]
    served = [p for p in plans if len(p.lengths) == len(lengths)]
    best, reason = recommend(served)
    return PlanResult(
        query=query,
        gamma=None if gamma is None else optional(as_float(gamma)),
        mechanisms=plans,
        bound=bound,
        sets=[] if query.sets is None else _plan_sets(survey, lengths, query),
        recommended=best.kind,
        reason=reason,
        protection=Protection.of(survey).sentences(),
    )


def unit_variances(
    reconstruction: Reconstruction, sets: Iterable[Sequence[int]], target: Target
) -> dict[tuple[int, ...], UnitVariance]:
    """Variances of all cells of the tables of some sets of attributes, by their positions."""
    names = reconstruction.schema.names
    return {
        tuple(positions): reconstruction.unit_variance([names[j] for j in positions], target)
        for positions in sets
    }


def of_itemsets(schema: Schema, tables: Mapping[tuple[int, ...], UnitVariance]) -> UnitVariance:
    """Variances of those cells of some tables that are itemsets, in one row."""
    found = []
    for positions, variances in tables.items():
        masks = [schema.attributes[j].item_mask for j in positions]
        found.append(variances.take(np.ix_(*masks)))
    return UnitVariance.together(found)


def _lengths(survey: Survey, wanted: Sequence[int] | None) -> list[int]:
    """The lengths that matter.

    Raises
    ------
    ParameterError
    """
    schema = survey.schema
    askable = _askable(schema)
    longest = min(len(askable), survey.mechanism.reconstruction(schema).max_order)
    if not askable:
        raise ParameterError(
            "lengths: expected a survey with an attribute that has items", field="lengths"
        )
    if wanted is None:
        return [
            length
            for length in range(1, min(longest, _USUAL_LENGTHS) + 1)
            if length == 1 or _largest_table(schema, askable, length) <= MAX_CELLS
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


def _largest_table(schema: Schema, positions: Sequence[int], length: int) -> int:
    return math.prod(sorted(schema.shape[j] for j in positions)[-length:])


def _amplification(survey: Survey, public: frozenset[str]) -> Fraction | None:
    """γ over the attributes that are perturbed; None where there is none."""
    gamma = survey.mechanism.amplification(survey.schema, public=public)
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
            mechanism.check(survey.schema)
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
    schema = survey.schema
    reconstruction = mechanism.reconstruction(schema)
    askable, perturbed = _askable(schema), _perturbed(schema, public)
    planned = []
    for length in lengths:
        if length > reconstruction.max_order:
            continue
        # However many are listed, all verdicts are by the same ones.
        sets = whole = _sets(schema, askable, length)
        fits = _largest_table(schema, perturbed, length) <= MAX_CELLS
        if len(perturbed) >= length and fits:
            whole = _sets(schema, perturbed, length)
        # Most sets are in both.
        tables = unit_variances(reconstruction, dict.fromkeys([*sets, *whole]), query.target)
        variances = of_itemsets(schema, {positions: tables[positions] for positions in sets})
        even = _even(EvenPlan, _even_variance([tables[p] for p in whole]), query)
        possible = math.comb(len(askable), length)
        planned.append(_plan_length(length, len(sets), possible, variances, even, query))
    answer = mechanism.answer_amplification(schema, public)
    return MechanismPlan(
        kind=mechanism.kind,
        # All others are of other kinds.
        own=mechanism.kind == survey.mechanism.kind,
        answer_amplification=optional(as_float(answer.unknown)),
        times_bound=_times_bound(planned, bound),
        lengths=planned,
    )


def _plan_length(
    length: int,
    examined: int,
    possible: int,
    variances: UnitVariance,
    even: EvenPlan,
    query: PlanQuery,
) -> LengthPlan:
    quantile = normal_quantile(1 - query.confidence)
    typical = max(float(np.median(variances.at(query.support))), 0.0)
    error = math.sqrt(typical / query.respondents)
    worst = math.sqrt(float(variances.worst.max()) / query.respondents)
    smallest = float(np.median(variances.smallest_share(quantile**2 / query.respondents)))
    return LengthPlan(
        length=length,
        standard_error=error,
        half_width=quantile * error,
        worst_standard_error=worst,
        worst_half_width=quantile * worst,
        smallest_support=smallest if smallest <= 1 else None,
        respondents_needed=_needed(typical, query),
        examined=examined,
        possible=possible,
        even=even,
    )


def _needed(variance: float, query: PlanQuery) -> int | None:
    """Respondents for the half-width asked about, by the variance with a single one."""
    if query.half_width is None:
        return None
    quantile = normal_quantile(1 - query.confidence)
    return max(2, math.ceil(quantile**2 * variance / query.half_width**2))


def _even_variance(tables: Sequence[UnitVariance]) -> float:
    """Mean over all cells of some tables."""
    square = cells = 0.0
    for variances in tables:
        size = variances.constant.size
        square += float(variances.at(1 / size).sum())
        cells += size
    return max(square, 0.0) / cells


def _even(kind: type[P], variance: float, query: PlanQuery, **also: Any) -> P:
    """Plan of some kind for evenly spread answers, by the variance with a single respondent."""
    error = math.sqrt(variance / query.respondents)
    return kind(
        standard_error=error,
        half_width=normal_quantile(1 - query.confidence) * error,
        respondents_needed=_needed(variance, query),
        **also,
    )


def _plan_sets(survey: Survey, lengths: Sequence[int], query: PlanQuery) -> list[SetPlan]:
    """Each of some sets under the survey's own mechanism, the least known of a length first."""
    schema, found = survey.schema, []
    reconstruction = survey.mechanism.reconstruction(schema)
    positions = range(len(schema.names))
    for length in lengths:
        if _largest_table(schema, positions, length) > MAX_CELLS:
            continue
        sets = _sets(schema, positions, length, query.sets)
        tables = unit_variances(reconstruction, sets, query.target)
        planned = [
            _even(
                SetPlan,
                _even_variance([variances]),
                query,
                attributes=[schema.names[j] for j in chosen],
            )
            for chosen, variances in tables.items()
        ]
        found += sorted(planned, key=lambda one: -one.half_width)
    return found


def _bound(
    schema: Schema,
    gamma: Fraction,
    public: frozenset[str],
    lengths: Sequence[int],
    query: PlanQuery,
) -> list[LengthBound]:
    """The information bound of those lengths that have tables without public attributes."""
    perturbed = len(_perturbed(schema, public))
    asked = [length for length in lengths if length <= perturbed]
    if not asked:
        return []
    errors = _least_errors(schema, gamma, public, tuple(asked), query.target)
    bounds = []
    for n in asked:
        [alone] = _least_errors(schema, gamma, public, (n,), query.target).values()
        by_itself = _even(EvenPlan, alone**2, query)
        bounds.append(_even(LengthBound, errors[n] ** 2, query, length=n, by_itself=by_itself))
    return bounds


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
    even = {found.length: found.even for found in planned}
    errors = [even[b.length].standard_error for b in bound if b.length in even]
    if not errors or len(errors) < len(bound):
        return None
    least = largest_error([found.standard_error for found in bound])
    return largest_error(errors) / least if least > 0 else None


def _perturbed(schema: Schema, public: frozenset[str]) -> list[int]:
    return [j for j, name in enumerate(schema.names) if name not in public]


def _sets(
    schema: Schema, positions: Sequence[int], length: int, asked: int | None = None
) -> list[tuple[int, ...]]:
    """Sets of so many of some attributes: all, or the same ones of all every time.

    No more than those `asked` about, but for single attributes.

    Raises
    ------
    DomainTooLarge
        If a table of them has more than `MAX_CELLS` cells.
    """
    largest = _largest_table(schema, positions, length)
    if largest > MAX_CELLS:
        raise DomainTooLarge(
            f"lengths: a table of {largest} cells at length {length}; expected at most"
            f" {MAX_CELLS}, so shorter itemsets",
            field="lengths",
        )
    count, at_most = math.comb(len(positions), length), max(1, _ALL_CELLS // largest)
    wanted = MAX_SETS if asked is None or length == 1 else asked
    most = min(wanted, at_most)
    if count <= most:
        return list(combinations(positions, length))
    if asked is None:
        most = min(most, SAMPLED)
    simulated = random.Random(0)  # noqa: S311 - a choice of examples, no perturbation
    drawn: set[tuple[int, ...]] = set()
    while len(drawn) < most:
        drawn.add(tuple(sorted(simulated.sample(positions, length))))
    return sorted(drawn)
