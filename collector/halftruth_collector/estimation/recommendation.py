"""What a plan comes to, in words."""

from collections.abc import Sequence

from halftruth_shared.analyses.plan import (
    EvenPlan,
    LengthPlan,
    MechanismPlan,
    PlanQuery,
    PlanResult,
)
from halftruth_shared.analyses.wording import GAP, half_width, percent

#: Half-widths nearer to each other than this count as equal.
_EQUAL = 1.01

_TOGETHER = {1: "one question", 2: "two questions together", 3: "three questions together"}


def foretold(result: PlanResult) -> list[str]:
    """How well the survey's own mechanism will tell of each number of questions, a sentence each.

    Examples
    --------
    >>> from halftruth_shared import Attribute, GammaDiagonal, Schema, Survey
    >>> from halftruth_shared.analyses.plan import PlanQuery
    >>> from .planner import plan
    >>> schema = Schema([Attribute("smoker", ["no", "yes"])])
    >>> survey = Survey("health", "Health", schema, GammaDiagonal("19"))
    >>> [said] = foretold(plan(survey, PlanQuery(respondents=5000)))
    >>> for part in said.split(": "):
    ...     print(part.replace("\u202f", " "))
    Of one question, enough will be known to tell an answer that 5 % give from one that nobody gives
    ±1.5 %; at this protection, nothing does better than ±1.4 %.
    """
    own = next(found for found in result.mechanisms if found.own)
    bounds = {bound.length: bound.by_itself for bound in result.bound}
    return [_foretold(length, bounds.get(length.length), result.query) for length in own.lengths]


def _foretold(length: LengthPlan, bound: EvenPlan | None, query: PlanQuery) -> str:
    even = length.even or length
    known = half_width(even.half_width) + ("" if even.half_width < 1 else ", which is nothing")
    best = ""
    if bound is not None:
        best = f"; at this protection, nothing does better than {half_width(bound.half_width)}"
    said = f"{_verdict(length, query.support)}: {known}{best}."
    if even.respondents_needed is None or query.half_width is None:
        return said
    never = "" if bound is None else f", never fewer than {_grouped(bound.respondents_needed)}"
    needed = f"{_grouped(even.respondents_needed)} respondents{never}"
    return f"{said} {half_width(query.half_width)} takes {needed}."


def _verdict(length: LengthPlan, support: float) -> str:
    """Whether so many questions can be told of, at the support asked about."""
    which = _TOGETHER.get(length.length, f"{length.length} questions together")
    what = "an answer" if length.length == 1 else "a combination"
    enough = "enough" if length.half_width < support else "too little"
    return (
        f"Of {which}, {enough} will be known to tell {what} that {percent(support)} give from one"
        " that nobody gives"
    )


def _grouped(count: int | None) -> str:
    return "unknown" if count is None else f"{count:,}".replace(",", GAP)


def recommend(plans: Sequence[MechanismPlan], support: float) -> tuple[MechanismPlan, str]:
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
    parts = [f"{best.kind}: {where} its typical interval is {half_width(widest(best))} or narrower"]
    for found in plans:
        if found is best:
            continue
        if widest(best) <= _EQUAL * widest(found) and widest(found) <= _EQUAL * widest(best):
            parts.append(f"the same as with {found.kind}")
        else:
            parts.append(f"against {half_width(widest(found))} with {found.kind}")
    reason = ", ".join(parts) + _near_the_best(best) + _less_protected(best, plans)
    return best, reason + _useless(widest(best), support)


def _near_the_best(best: MechanismPlan) -> str:
    if best.times_bound is None:
        return ""
    return (
        f"; for evenly spread answers its largest error is {best.times_bound:.3g} times the least"
        " possible at this amplification"
    )


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


def _useless(widest: float, support: float) -> str:
    if widest < support:
        return ""
    return f"; even so, a support of {percent(support)} cannot be told from zero at each length"
