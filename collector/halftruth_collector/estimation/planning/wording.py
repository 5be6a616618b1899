"""Plans in words: the same sentences and table from the command and on the page."""

from collections.abc import Iterator

import numpy as np
from halftruth_shared.analyses.plan import Planned, PlannedMargin, PlanResult
from halftruth_shared.results.wording import GAP, half_width, number, percent, value

from ..reliability import RELIABILITIES, UNDETERMINED, grades
from .summaries import MAX_PAIRS

#: What is planned, as lines of a table say it.
NAMES: dict[Planned, str] = {
    "share": "share of an answer",
    "detectable_share": "detectable share",
    "share_within": "share within a group",
    "difference": "difference of two groups",
    "detectable_difference": "detectable difference",
    "detectable_association": "detectable association",
    "mean": "mean, of its range",
    "odds_ratio": "odds ratio, a factor",
}

#: Text in place of a margin that says nothing, as that of half of all that is possible.
_UNKNOWN = "unknown"


#: Quantities that are detectable, and have no margin of their own.
_DETECTABLE = ("detectable_share", "detectable_difference", "detectable_association")


def planned_heads(result: PlanResult) -> list[str]:
    """Return the heads of the table of what is planned."""
    wanted = result.query.half_width
    needed = [] if wanted is None else [f"respondents for {half_width(wanted)}"]
    relay = [] if result.relayed is None else ["behind a relay"]
    return ["estimate", "typical margin", *relay, "worst", "verdict", *needed]


def planned_rows(result: PlanResult) -> list[list[str]]:
    """Return its lines, one for each quantity."""
    wanted = result.query.half_width is not None
    return [
        [
            name,
            _formatted(each, each.median),
            *_behind_relay(result, quantity),
            _worst(each),
            _verdict(each),
            *([_needed(each)] if wanted else []),
        ]
        for quantity, name in NAMES.items()
        for each in result.margins
        if each.quantity == quantity
    ]


def _behind_relay(result: PlanResult, quantity: Planned) -> list[str]:
    """Return the typical margin behind a relay, where one is planned."""
    if result.relayed is None:
        return []
    of = {each.quantity: each for each in result.relayed.margins}
    return [_formatted(of[quantity], of[quantity].median) if quantity in of else _UNKNOWN]


def mechanism_heads() -> list[str]:
    """Return the heads of the table of mechanisms of one amplification."""
    return ["mechanism", "share", "within a group", "times the bound", "γ of one answer"]


def mechanism_rows(result: PlanResult) -> list[list[str]]:
    """Return its lines, one for each mechanism."""
    rows = []
    for plan in result.mechanisms:
        of = {each.quantity: _formatted(each, each.median) for each in plan.margins}
        rows.append(
            [
                plan.kind + (" (the survey's)" if plan.own else ""),
                of.get("share", _UNKNOWN),
                of.get("share_within", ""),
                "" if plan.times_bound is None else f"{plan.times_bound:.3g}",
                value(plan.answer_amplification, None),
            ]
        )
    return rows


def _verdict(margin: PlannedMargin) -> str:
    """Return how reliable estimates with the typical margin are, and with the worst."""
    if margin.quantity in _DETECTABLE:
        return ""
    known = [np.inf if each is None else each for each in (margin.median, margin.worst)]
    typical, worst = grades(known, ratio=margin.quantity == "odds_ratio").tolist()
    said = RELIABILITIES[typical]
    return said if worst == typical else f"{said}, worst {RELIABILITIES[worst]}"


def _formatted(margin: PlannedMargin, width: float | None) -> str:
    if width is None:
        return "none" if margin.quantity in _DETECTABLE else _UNKNOWN
    if width >= UNDETERMINED and margin.quantity in ("share", "share_within", "difference", "mean"):
        return _UNKNOWN
    if margin.quantity == "mean":
        return f"±{percent(width, 1)}"
    if margin.quantity == "detectable_share":
        return percent(width, 1)
    if margin.quantity == "odds_ratio":
        return number(float(f"{width:.3g}"))
    if margin.quantity == "detectable_association":
        return number(float(f"{width:.2g}"))
    if margin.quantity == "detectable_difference":
        return half_width(width).removeprefix("±")
    return half_width(width)


def _worst(margin: PlannedMargin) -> str:
    """Describe the worst question, and which that is; nothing where there is one alone."""
    if margin.examined == 1 and margin.quantity != "mean":
        return ""
    *given, about = margin.worst_of
    said = f"{about} by {', '.join(given)}" if given else about
    if margin.quantity == "mean" and margin.worst is not None and margin.unit is not None:
        return f"±{number(float(f'{margin.worst * margin.unit:.2g}'))} ({said})"
    return f"{_formatted(margin, margin.worst)} ({said})"


def _needed(margin: PlannedMargin) -> str:
    count = margin.respondents_needed
    return "" if count is None else f"{count:,}".replace(",", GAP)


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
difference of 4.8 points between two groups is detectable.'
    """
    said = {each.quantity: _formatted(each, each.median) for each in result.margins}
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
    return f"{typical}; a difference of {least} between two groups is detectable."


def footnotes(result: PlanResult, pilot: bool = False) -> Iterator[str]:
    """Yield the definitions and assumptions of the table."""
    answers = "the answers of the pilot" if pilot else "evenly spread answers"
    yield (
        f"Margins: half-widths of {percent(result.query.confidence)} intervals for {answers};"
        " typical is the median over questions or pairs of them, worst the worst of these."
    )
    if any(each.quantity in _DETECTABLE for each in result.margins):
        yield (
            "Detectable: significant at 5 % in 80 % of surveys, a share as above 0; an association"
            " is Cramér's V."
        )
    if (relayed := result.relayed) is not None:
        yield (
            f"Behind a relay: the same kind of mechanism with γ = {number(relayed.gamma)}, the"
            f" largest that the bound allows in a batch of {number(relayed.batch)} honest reports."
            " If 5 of 100 people are believed to have a secret, a report can raise that to at most"
            f" {relayed.apart} if the relay and the asker do not work together, and to at most"
            f" {relayed.together} if they do."
        )
    for each in result.margins:
        if each.quantity == "share_within" and each.examined < each.possible:
            which = f"{each.examined} of {each.possible} pairs of questions"
            if each.possible > MAX_PAIRS:
                yield f"{which} were looked at."
            else:
                yield f"The reports identify {which}, without tables that are too large."
