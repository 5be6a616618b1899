"""Recommended mechanism and `max_length`, in sentences."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
from halftruth_shared import HalftruthError, Mechanism, Perturbation, Schema
from halftruth_shared.analyses.plan import MechanismPlan, Planned
from halftruth_shared.deadlines import check_deadline

from ..reliability import UNDETERMINED
from .margins import Expectation
from .summaries import Chosen, median, planned_margins, some_of
from .wording import points, times

#: Margins whose ratio is below this count as equal.
_EQUAL = 1.01

#: Largest `max_length` that is compared.
_LONGEST = 3


def design_perturbation(
    kind: type[Mechanism],
    schema: Schema,
    gamma: Fraction,
    public: Collection[str],
    max_length: int,
) -> Perturbation | None:
    """Return a perturbation of a kind and an amplification; None if it cannot serve the schema."""
    try:
        mechanism = kind.for_amplification(schema, gamma, public, max_length)
        return None if mechanism is None else mechanism.bind(schema)
    except HalftruthError:
        return None


def has_pairs(perturbation: Perturbation) -> bool:
    """Return whether some views are answered by pairs of cells."""
    return getattr(perturbation.mechanism, "pairs", None) is not None


def recommend(plans: Sequence[MechanismPlan]) -> tuple[MechanismPlan, str]:
    """Return the mechanism with the narrowest typical margin, and the reason in one sentence.

    Mechanisms are compared by shares within groups, or by shares if no mechanism determines those.
    Protocols of which no reports can be collected are not recommended.
    """
    plans = [plan for plan in plans if plan.collected]
    about, widths = "shares within groups", _widths(plans, "share_within")
    if not min(widths) < UNDETERMINED:
        about, widths = "shares", _widths(plans, "share")
    # Of equally precise mechanisms, take the survey's mechanism, then the simpler one.
    place = next(k for k, width in enumerate(widths) if width <= _EQUAL * min(widths))
    best, width = plans[place], widths[place]
    said = f"{best.name}: {about} {points(width)}"
    if others := [k for k in range(len(plans)) if k != place]:
        second = min(others, key=lambda k: widths[k])
        its = widths[second]
        if its <= _EQUAL * width and width <= _EQUAL * its:
            said += f", the same with {plans[second].name}"
        elif its < UNDETERMINED:
            said += f", {points(its)} with {plans[second].name}"
        elif width < UNDETERMINED:
            said += ", unknown with every other mechanism"
    if best.times_bound is not None:
        said += (
            f"; its error is {times(best.times_bound)} times the least of an unbiased estimate"
            " at this γ"
        )
    own, answer = plans[0].answer_amplification, best.answer_amplification
    if own is not None and answer is not None and answer > _EQUAL * own:
        said += f"; but γ of one answer is {answer:.3g} then, and {own:.3g} with {plans[0].name}"
    return best, said


def _widths(plans: Sequence[MechanismPlan], quantity: Planned) -> list[float]:
    """Return typical margins of a quantity; infinite if some pairs are not identified."""
    found = [{each.quantity: each for each in plan.margins}.get(quantity) for plan in plans]
    most = max((each.examined for each in found if each is not None), default=0)
    return [
        np.inf if each is None or each.median is None or each.examined < most else each.median
        for each in found
    ]


def advise_length(chosen: Chosen, expected: Expectation, gamma: Fraction) -> Iterator[str]:
    """Yield sentences about the best `max_length` for each kind of estimates, if they differ.

    For each length, a mechanism of the same kind and amplification is planned.

    Parameters
    ----------
    expected : Expectation
        Of the recommended mechanism.
    """
    survey, kind = chosen.survey, type(expected.perturbation.mechanism)
    public = survey.perturbation.unperturbed
    perturbed = len(survey.schema.names) - len(public)
    shares, within = dict[int, float](), dict[int, float]()
    by_pairs = False
    for length in range(1, min(_LONGEST, perturbed) + 1):
        check_deadline()
        shares[length] = within[length] = np.inf
        perturbation = design_perturbation(kind, survey.schema, gamma, public, length)
        if perturbation is None:
            continue
        by_pairs |= has_pairs(perturbation)
        design = replace(expected, perturbation=perturbation)
        shares[length] = _typical(planned_margins(design, some_of(chosen.questions), "share"))
        if length > 1:
            pairs = some_of(chosen.pairs)
            within[length] = _typical(planned_margins(design, pairs, "share_within"))
    if len(shares) < 2 or max(shares.values()) <= _EQUAL * min(shares.values()):
        return
    parts = [
        f"{n} ({points(width)}{f', within groups {points(within[n])}' if n > 1 else ''})"
        for n, width in shares.items()
        if np.isfinite(width)
    ]
    single, best = _longest_best(shares), _longest_best(within)
    said = f"Take {single} for single questions"
    if min(within.values()) < UNDETERMINED:
        said += f", {best} for groups, differences and regression"
        said = f"Take {best}" if best == single else said
    if best == 2 < max(shares):
        said += "; tables of three questions need 3"
    about = "Shares of answers"
    if kind.kind != survey.mechanism.kind:
        about = f"With {kind.kind}, shares of answers"
    listed = " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
    with_pairs = ", with pairs = true" * by_pairs
    yield f"{about} by max_length{with_pairs}: {listed}. {said}."


def _typical(margins: Mapping[tuple[str, ...], float]) -> float:
    """Return the median margin; infinite if it is undetermined."""
    typical = median(margins)
    return typical if np.isfinite(typical) else np.inf


def _longest_best(widths: Mapping[int, float]) -> int:
    """Return the largest length of about the narrowest margin, since it identifies more tables."""
    return max(length for length, width in widths.items() if width <= _EQUAL * min(widths.values()))
