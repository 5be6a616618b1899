"""Plans in words; all of them are about evenly spread answers."""

from collections.abc import Mapping, Sequence

from halftruth_shared.analyses.plan import (
    DesignPlan,
    LengthPlan,
    MechanismPlan,
    PlanResult,
)
from halftruth_shared.results.wording import GAP, half_width

#: Half-widths nearer to each other than this count as equal.
_EQUAL = 1.01

_TOGETHER = {1: "One question", 2: "Two questions together", 3: "Three questions together"}


def expected_precision(result: PlanResult) -> list[str]:
    """Return the expected precision of the survey's own mechanism by number of questions.

    Examples
    --------
    >>> from halftruth_shared import Attribute, GammaDiagonal, Schema, Survey
    >>> from halftruth_shared.analyses.plan import PlanQuery
    >>> from .planner import plan
    >>> schema = Schema([Attribute("smoker", ["no", "yes"])])
    >>> survey = Survey("health", "Health", schema, GammaDiagonal("19"))
    >>> [said] = expected_precision(plan(survey, PlanQuery(respondents=5000)))
    >>> said
    'One question: margin ±1.5 points.'
    """
    own = next(plan for plan in result.mechanisms if plan.own)
    return [_of_length(length, result.query.half_width) for length in own.lengths]


def _of_length(length: LengthPlan, wanted: float | None) -> str:
    which = _TOGETHER.get(length.length, f"{length.length} questions together")
    sentence = f"{which}: margin {half_width(length.half_width)}"
    if length.length > 1:
        sentence += " of the share of a combination; shares within groups have wider ones"
    if wanted is None:
        return f"{sentence}."
    needed = f"{_grouped(length.respondents_needed)} respondents"
    return f"{sentence}. {half_width(wanted)} takes {needed}."


def _grouped(count: int | None) -> str:
    return "unknown" if count is None else f"{count:,}".replace(",", GAP)


def recommend(plans: Sequence[MechanismPlan]) -> tuple[MechanismPlan, str]:
    """The mechanism whose widest margin is narrowest, and why in one sentence."""

    def widest(plan: MechanismPlan) -> float:
        return max(length.half_width for length in plan.lengths)

    narrowest = min(map(widest, plans))
    # Among equals the first: the survey's own, then the simpler one.
    best = next(plan for plan in plans if widest(plan) <= _EQUAL * narrowest)
    lengths = [length.length for length in best.lengths]
    where = f"at length {lengths[0]}"
    if len(lengths) > 1:
        where = f"at lengths {', '.join(map(str, lengths[:-1]))} and {lengths[-1]}"
    width = widest(best)
    parts = [f"{best.kind}: {where} its margin is {half_width(width)} or narrower"]
    for other in plans:
        if other is best:
            continue
        if width <= _EQUAL * widest(other) and widest(other) <= _EQUAL * width:
            parts.append(f"the same as with {other.kind}")
        else:
            parts.append(f"against {half_width(widest(other))} with {other.kind}")
    return best, ", ".join(parts) + _near_the_best(best) + _less_protected(best, plans)


def _near_the_best(best: MechanismPlan) -> str:
    if best.times_bound is None:
        return ""
    return (
        f"; its largest error is {best.times_bound:.3g} times the least of an unbiased estimate"
        " at this amplification"
    )


def _less_protected(best: MechanismPlan, plans: Sequence[MechanismPlan]) -> str:
    """Return the cost of the recommended mechanism for a single answer, if there is one."""
    own = plans[0].answer_amplification
    if own is None or best.answer_amplification is None:
        return ""
    if best.answer_amplification <= _EQUAL * own:
        return ""
    return (
        f"; but to someone who already knows all other answers, the amplification of a single"
        f" answer is {best.answer_amplification:.3g} then, and {own:.3g} with {plans[0].kind}"
    )


def recommend_designs(designs: Sequence[DesignPlan]) -> list[str]:
    """Return the best `max_length` for each aim of an analyst, in a sentence; none for one design.

    Of designs that are as good, the one for longer tables is recommended, which tells more.
    """
    if len(designs) < 2:
        return []
    longest = max(margin.length for design in designs for margin in design.unbiased)
    aims = {1: "Shares of single answers", 2: "Pairs of answers"}
    sentences = [_for_tables(aims[n], designs, n) for n in range(1, min(longest, 2) + 1)]
    factors = {d.max_length: d.odds_ratio for d in designs if d.odds_ratio is not None}
    if factors:
        best = _smallest(factors)
        sentences.append(
            f"Regression: max_length = {best}; odds ratios of one answer by another, given all"
            f" others, within a factor of {factors[best]:.3g}."
        )
    if longest > 2:
        sentences.append(_for_tables(f"Itemsets of {longest} answers", designs, longest))
    return sentences


def _for_tables(aim: str, designs: Sequence[DesignPlan], length: int) -> str:
    """Return the best designs for tables of one length, unbiased and by the model."""
    sentences = []
    for how, of_design in (
        ("unbiased", {d.max_length: d.unbiased for d in designs}),
        ("by the model", {d.max_length: d.model for d in designs}),
    ):
        widths = {
            max_length: margin.half_width
            for max_length, margins in of_design.items()
            for margin in margins
            if margin.length == length
        }
        if widths:
            best = _smallest(widths)
            sentences.append(f"max_length = {best}, margin {half_width(widths[best])} {how}")
    return f"{aim}: {'; '.join(sentences)}."


def _smallest(widths: Mapping[int, float]) -> int:
    """Return the longest of those designs that are as good as the best."""
    least = min(widths.values())
    return max(length for length, width in widths.items() if width <= _EQUAL * least)
