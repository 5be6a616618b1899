"""Plans in words: the same sentences and table from the command and on the page."""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
from halftruth_shared.analyses.plan import DesignPlan, Planned, PlannedMargin, PlanResult
from halftruth_shared.protection import Guarantee
from halftruth_shared.protection import percent as at_most
from halftruth_shared.relayed import delta_of
from halftruth_shared.results.wording import GAP, half_width, number, percent, quoted, value

from ..reliability import RELIABILITIES, UNDETERMINED, grades
from .margins import OF_RARE, RARE
from .proposals import DESIGN_NAMES
from .summaries import MAX_PAIRS

#: Names of the planned quantities in tables, in this order.
NAMES: dict[Planned, str] = {
    "share": "share of an answer",
    "detectable_share": "detectable share",
    "share_within": "share within a group",
    "difference": "difference of two groups",
    "detectable_difference": "detectable difference",
    "detectable_association": "detectable association",
    "detectable_correlation": "detectable correlation",
    "mean": "mean, of its range",
    "odds_ratio": "odds ratio, a factor",
}

#: An odds ratio with a larger factor as its margin is unknown.
_LARGEST_FACTOR = 100.0

#: Text for a margin that is undetermined.
_UNKNOWN = "unknown"

#: Head of the margins for a group, or an answer, of few people.
_AT_RARE = f"at {percent(RARE)}"

#: Quantities that are the smallest detectable effects, not margins of error.
_DETECTABLE = (
    "detectable_share",
    "detectable_difference",
    "detectable_association",
    "detectable_correlation",
)


def planned_table(result: PlanResult) -> tuple[list[str], list[list[str]]]:
    """Return heads and lines of the table of margins, a line for each quantity."""
    wanted = result.query.half_width
    heads = ["estimate", "typical margin", "worst", "verdict"]
    if result.relayed is not None:
        heads.insert(2, "behind a relay")
    if _plans_rare(result):
        heads.insert(2, _AT_RARE)
    if wanted is not None:
        heads.append(f"respondents for {half_width(wanted)}")
    margins = {each.quantity: each for each in result.margins}
    return heads, [_line(result, margins[each]) for each in NAMES if each in margins]


def _plans_rare(result: PlanResult) -> bool:
    return not result.pilot and any(each.quantity in OF_RARE for each in result.margins)


def _line(result: PlanResult, margin: PlannedMargin) -> list[str]:
    line = [
        NAMES[margin.quantity],
        formatted(margin.quantity, margin.median),
        worst(margin),
        _verdict(result, margin),
    ]
    if result.relayed is not None:
        line.insert(2, _medians(result.relayed.margins).get(margin.quantity, _UNKNOWN))
    if _plans_rare(result):
        of_rare = margin.quantity in OF_RARE
        line.insert(2, formatted(margin.quantity, margin.rare) if of_rare else "")
    if result.query.half_width is not None:
        count = margin.respondents_needed
        line.append("" if count is None else f"{count:,}".replace(",", GAP))
    return line


def mechanism_table(result: PlanResult) -> tuple[list[str], list[list[str]]]:
    """Return heads and lines of the comparison of mechanisms of one amplification."""
    lines = []
    for plan in result.mechanisms:
        medians = _medians(plan.margins)
        lines.append(
            [
                plan.name + (" (the survey's)" if plan.own else ""),
                medians.get("share", _UNKNOWN),
                medians.get("share_within", ""),
                "" if plan.times_bound is None else times(plan.times_bound),
                value(plan.amplification),
                value(plan.answer_amplification),
            ]
        )
    heads = ["mechanism", "share", "within a group", "times the bound"]
    return [*heads, "γ of the record", "γ of one answer"], lines


def promise_table(result: PlanResult) -> tuple[list[str], list[list[str]]]:
    """Return heads and lines of the choice between promises.

    Each line has what somebody can learn who knows all other answers, and what anybody else can.
    """
    lines = []
    for plan in result.promises:
        medians = _medians(plan.margins)
        of = "the record" if plan.promise == "record" else "each answer"
        lines.append(
            [
                f"{plan.kind}, γ = {value(plan.gamma)} of {of}"
                + (" (the survey's)" if plan.own else ""),
                _learned(plan.answer_amplification),
                _learned(plan.amplification),
                medians.get("share", _UNKNOWN),
                medians.get("share_within", ""),
            ]
        )
    heads = ["promise", "who knows all other answers", "anybody else", "share", "within a group"]
    return heads, lines


def _learned(gamma: float | None) -> str:
    """Say up to which probability something can rise that was thought 5 % likely."""
    bound = Guarantee(math.inf if gamma is None else Fraction(gamma))
    written = "above 10³⁰⁸" if gamma is None else f"= {value(gamma)}"
    return f"{at_most(bound.posterior)} (γ {written})"


def promise_notes() -> Iterator[str]:
    """Yield the definitions of the choice between promises."""
    yield (
        "The second and third column have the largest probability of an answer after a report, if"
        " someone thought it 5 % likely before. Where each answer is protected separately, someone"
        " who does not know the others can learn more if answers are related. This needs promise ="
        ' "answer" in the survey file, and clients that accept it (max_answer_gamma).'
    )


def mechanism_notes(result: PlanResult) -> Iterator[str]:
    """Yield the definitions of the comparison of mechanisms."""
    if result.grouped:
        named = ", ".join(map(quoted, result.grouped))
        yield f"Within a group: of the wanted pairs, with groups of the answers to {named}."
    elif result.goals:
        yield "Within a group: of the wanted pairs."
    if not result.goals and any(DESIGN_NAMES["tables"] in plan.name for plan in result.mechanisms):
        yield "With differences to detect, the plan prints the lines of the file for wanted tables."
    if all(plan.collected for plan in result.mechanisms):
        return
    yield (
        "Whole record, each question: protocols of the literature, by closed formulas. They ask for"
        " the whole record as one answer, or for each question with a part of γ. Only the k-ary"
        " randomized response among them can be chosen: gamma-diagonal is that of the whole record,"
        " randomized-response that of each question."
    )
    yield (
        "γ of the record is that of all perturbed answers together; γ of one answer is that to"
        " someone who already knows all others."
    )


def design_table(result: PlanResult) -> tuple[list[str], list[list[str]]]:
    """Return heads and lines of the smallest differences that each design detects.

    A goal has a second line if a small group makes a difference.
    """
    heads = ["difference between groups", *(DESIGN_NAMES[plan.design] for plan in result.designs)]
    lines = []
    for place, goal in enumerate(result.goals):
        even = [_least(plan.detectable[place]) for plan in result.designs]
        about = f"{goal.outcome} by {goal.group}"
        lines.append([f"{about}: {_least(goal.difference)}", *even])
        rare = [_least(plan.rare[place]) for plan in result.designs if plan.rare is not None]
        if rare and rare != even:
            lines.append([f"{about}, {_AT_RARE}", *rare])
        undone = [plan.undone_by[place] for plan in result.designs]
        if any(count is not None for count in undone):
            counts = ["" if count is None else number(count, 0) for count in undone]
            lines.append([f"{about}, undone by false reports", *counts])
    shares = [formatted("share", plan.share) for plan in result.designs]
    lines.append(["margin of the share of an answer", *shares])
    lines.append(["the largest of these", *map(_worst_share, result.designs)])
    return heads, lines


def design_notes(result: PlanResult) -> Iterator[str]:
    """Yield the definitions of the table of designs."""
    yield "Detected: significant at 5 % in 80 % of surveys."
    if any(count is not None for plan in result.designs for count in plan.undone_by):
        yield (
            "Undone: how many false reports (tickets, if the survey has them) end the significance"
            " of the wanted difference in a typical survey."
        )
    if not result.pilot:
        yield (
            "Answers are assumed to be evenly spread."
            f" {_AT_RARE.capitalize()}: if only {percent(RARE)} of the people are in one of the two"
            " groups."
        )


def lines_for(plan: DesignPlan) -> str:
    """Say where the lines of a design belong."""
    return (
        f"For {DESIGN_NAMES[plan.design]}, these lines of the survey file take the place of"
        " max_length, lengths, views and tables:"
    )


def _least(difference: float | None) -> str:
    return formatted("detectable_difference", difference)


def _worst_share(plan: DesignPlan) -> str:
    return f"{formatted('share', plan.worst_share)} ({plan.worst_of})" if plan.worst_of else ""


def _medians(margins: Sequence[PlannedMargin]) -> dict[Planned, str]:
    """Return the typical margin of each quantity in words."""
    return {each.quantity: formatted(each.quantity, each.median) for each in margins}


def _verdict(result: PlanResult, margin: PlannedMargin) -> str:
    """Return the reliability with the typical margin, and with other ones where it differs."""
    if margin.quantity in _DETECTABLE:
        return "" if margin.undone_by is None else f"undone by {_false_reports(margin.undone_by)}"
    of_rare = margin.rare if margin.quantity in OF_RARE and not result.pilot else margin.median
    known = [np.inf if each is None else each for each in (margin.median, of_rare, margin.worst)]
    is_ratio = margin.quantity == "odds_ratio"
    typical, rare, worst = (RELIABILITIES[grade] for grade in grades(known, ratio=is_ratio))
    others = [f"{_AT_RARE} {rare}"] * (rare != typical) + [f"worst {worst}"] * (worst != typical)
    return ", ".join([typical, *others])


def _false_reports(count: int) -> str:
    return f"{number(count, 0)} false reports" if count > 1 else "1 false report"


def formatted(quantity: Planned, width: float | None) -> str:
    """Return a planned margin in words; unknown if it is undetermined."""
    if width is None:
        return "none" if quantity in _DETECTABLE else _UNKNOWN
    match quantity:
        case "detectable_share":
            return percent(width, 1)
        case "detectable_difference":
            return half_width(width).removeprefix("±")
        case "detectable_association" | "detectable_correlation":
            return number(float(f"{width:.2g}"))
        case "odds_ratio":
            return _UNKNOWN if width > _LARGEST_FACTOR else number(float(f"{width:.3g}"))
    if quantity == "mean" and width < UNDETERMINED:
        return f"±{percent(width, 1)}"
    return points(width)


def times(ratio: float) -> str:
    """Return a ratio in words, with three digits."""
    return number(float(f"{ratio:.3g}"))


def points(width: float) -> str:
    """Return a margin of a share in words."""
    return half_width(width) if width < UNDETERMINED else _UNKNOWN


def worst(margin: PlannedMargin) -> str:
    """Return the worst margin with its questions; empty if there is no other one."""
    if margin.examined == 1 and margin.quantity != "mean":
        return ""
    *given, about = margin.worst_of
    if margin.quantity == "share":
        said = ", ".join(margin.worst_of)
    else:
        said = f"{about} by {', '.join(given)}" if given else about
    if margin.quantity == "mean" and margin.worst is not None and margin.unit is not None:
        return f"±{number(float(f'{margin.worst * margin.unit:.2g}'))} ({said})"
    return f"{formatted(margin.quantity, margin.worst)} ({said})"


def headline(result: PlanResult) -> str:
    """State the typical margins and the detectable difference in one sentence.

    Examples
    --------
    >>> from halftruth_shared import Attribute, GammaDiagonal, Schema, Survey
    >>> from halftruth_shared.analyses.plan import PlanQuery
    >>> from .planner import plan
    >>> schema = Schema([Attribute(name, ["no", "yes"]) for name in ("smoker", "coughs")])
    >>> survey = Survey("health", "Health", schema, GammaDiagonal("19"))
    >>> headline(plan(survey, PlanQuery(respondents=5000)))
    'Typical margins: ±1.7 points of the share of an answer, ±2.4 points within a group; a \
difference of 4.8 points between two groups is detectable, of 6.6 points if one is 20\u202f% of \
the people.'
    """
    said = _medians(result.margins)
    if said.get("share", _UNKNOWN) == _UNKNOWN:
        return "Too few respondents for a share of a single answer."
    typical = f"Typical margins: {said['share']} of the share of an answer"
    if "share_within" not in said:
        return f"{typical}."
    if said["share_within"] == _UNKNOWN:
        return f"{typical}; too few respondents for shares within groups."
    typical += f", {said['share_within']} within a group"
    least = said.get("detectable_difference")
    if least is None:
        return f"{typical}."
    if least == "none":
        return f"{typical}; no difference between two groups is detectable."
    said_so = f"{typical}; a difference of {least} between two groups is detectable"
    if result.pilot:
        return f"{said_so}."
    [rare] = [each.rare for each in result.margins if each.quantity == "detectable_difference"]
    few = f"one is {percent(RARE)} of the people"
    if rare is None:
        return f"{said_so}, none if {few}."
    return f"{said_so}, of {formatted('detectable_difference', rare)} if {few}."


def definition(confidence: float, pilot: bool) -> str:
    """Say what planned margins are."""
    answers = "the answers of the pilot" if pilot else "evenly spread answers"
    return (
        f"Margins: half-widths of {percent(confidence)} intervals for {answers}. Typical is the"
        " median over the questions, or pairs of questions, and worst the largest."
    )


def footnotes(result: PlanResult) -> Iterator[str]:
    """Yield the definitions and assumptions of the table."""
    yield definition(result.query.confidence, result.pilot)
    if _plans_rare(result):
        yield (
            f"{_AT_RARE.capitalize()}: the typical margin if only {percent(RARE)} of the people are"
            " in the group, or in one of two groups, or give the answer of the odds ratio. Margins"
            " are still wider for rarer answers and strong associations; a pilot shows by how much."
        )
    if any(each.quantity in _DETECTABLE for each in result.margins):
        yield (
            "Detectable: significant at 5 % in 80 % of surveys. A share is compared with 0; an"
            " association is Cramér's V."
        )
    if any(each.undone_by is not None for each in result.margins):
        yield (
            "Undone: how many false reports (tickets, if the survey has them) end the significance"
            " of just this effect in a typical survey."
        )
    if (relayed := result.relayed) is not None:
        yield (
            f"Behind a relay: the same kind of mechanism with γ = {number(relayed.gamma)}"
            f"{' and pairs = true' * relayed.pairs}, the largest that the bound allows in a batch"
            f" of {number(relayed.batch)} honest reports that can be decrypted. If someone thinks a"
            " secret true of 5 of 100 people, a report can raise that to at most"
            f" {relayed.apart}, except with a probability of 1 in"
            f" {number(round(1 / delta_of(relayed.batch)))}, if the relay does not cooperate with"
            " the people who run the survey, passes on all reports and adds none; and to at most"
            f" {relayed.together} in any other case."
        )
    for each in result.margins:
        if each.quantity == "share_within" and each.examined < each.possible:
            # Of many pairs some are examined; others are not identified, or too large.
            looked_at = min(each.possible, MAX_PAIRS)
            if each.examined == looked_at:
                yield f"Pairs: {each.examined} of {each.possible} are planned, chosen at random."
            else:
                chosen = f" chosen at random from {each.possible}" * (looked_at < each.possible)
                yield (
                    f"Pairs: {each.examined} of {looked_at}{chosen} are planned; the reports do not"
                    " identify the others, or their tables are too large."
                )
