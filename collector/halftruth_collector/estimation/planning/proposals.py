"""Designs for differences that are to be detected: wanted tables, and groups of answers.

Each design keeps the questions and γ. It is planned like the survey itself, so what is proposed and
what is estimated later differ only by chance.
"""

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from halftruth_shared import (
    Attribute,
    HalftruthError,
    ParameterError,
    Perturbation,
    Schema,
    SplitQuestionnaire,
)
from halftruth_shared.analyses.plan import DesignName, DesignPlan, Goal
from halftruth_shared.deadlines import check_deadline
from halftruth_shared.mechanisms import WantedTables
from halftruth_shared.rational import as_float
from halftruth_shared.results.wording import half_width, number, quoted

from ..bounds import optional
from .summaries import Chosen, median, planned_margins

#: Number of answers from which a question is collapsed, and number of groups.
_MANY, _GROUPS = 4, 3

#: Largest factor of respondents, and of γ, that is named.
_LARGEST = 100

#: Largest number of values of γ that are tried; change of the logarithm of a detectable difference
#: with that of γ that is assumed first, and at least; and what is expected of the next value.
_TRIES, _SLOPE, _LEAST_SLOPE, _CAREFUL = 4, -0.3, -0.05, 0.9

#: Names of the designs in sentences and tables.
DESIGN_NAMES: dict[DesignName, str] = {
    "own": "the survey as it is",
    "all pairs": "all pairs of questions",
    "tables": "these tables",
    "tables of groups": "these tables, with groups of answers",
}

_GOAL = re.compile(r"(?P<of>\S+) by (?P<by>\S+): (?P<points>\d+(\.\d+)?) points?")


@dataclass(frozen=True)
class _Design:
    """A design with the lines of a survey file that differ, and its attributes."""

    name: DesignName
    lines: str
    perturbation: Perturbation


def goals_of(schema: Schema, texts: Sequence[str]) -> list[Goal]:
    """Parse what is to be detected, as in "drugs by sex: 10 points".

    Raises
    ------
    SchemaError, ParameterError
        If a text has another form, or names no attribute or the same one twice.
    """
    found = []
    for text in texts:
        match = _GOAL.fullmatch(" ".join(text.split()))
        if match is None or not 0 < float(match["points"]) < 100:
            raise ParameterError(
                'detect: expected an outcome by a group and points, as in "drugs by sex: 10'
                ' points"',
                field="detect",
            )
        names = match["of"], match["by"]
        schema.positions(names, "detect")
        found.append(
            Goal(outcome=names[0], group=names[1], difference=float(match["points"]) / 100)
        )
    return found


def propose(
    chosen: Chosen, goals: Sequence[Goal], gamma: Fraction
) -> tuple[list[DesignPlan], list[str]]:
    """Plan the designs for some goals, and say in sentences what they show.

    Parameters
    ----------
    gamma : Fraction
        Amplification of the perturbed attributes.
    """
    survey = chosen.survey
    own = _Design("own", "", survey.perturbation)
    others = _designs(survey.schema, goals, gamma, survey.perturbation.unperturbed)
    plans = [_planned(chosen, goals, each) for each in (own, *others)]
    best = best_design(goals, plans)
    sentences = [*_verdicts(goals, plans[0], best)]
    if _farthest(goals, best) > 1 and best is not plans[0]:
        sentences += _further(chosen, goals, gamma, best)
    return plans, sentences


def _designs(
    schema: Schema,
    goals: Sequence[Goal],
    gamma: Fraction,
    public: frozenset[str],
    only: DesignName | None = None,
) -> Iterator[_Design]:
    """Yield the designs of split questionnaires that are possible."""
    tables = _tables(goals)
    named = {name for goal in goals for name in (goal.outcome, goal.group)} - public
    collapsed = {each.name: each for each in _collapsed(schema, named)}
    grouped = Schema(tuple(collapsed.get(each.name, each) for each in schema.attributes))
    lines = "".join(map(_table_lines, tables))
    with_groups = lines + "".join(map(_group_lines, collapsed.values()))
    designs: list[tuple[DesignName, str, Schema, Sequence[WantedTables]]] = [
        ("all pairs", "max_length = 2\n", schema, ()),
        ("tables", lines, schema, tables),
    ]
    if collapsed:
        designs.append(("tables of groups", with_groups, grouped, tables))
    for name, its_lines, its_schema, its_tables in designs:
        check_deadline()
        if only is not None and name != only:
            continue
        mechanism = _mechanism(its_schema, gamma, public, its_tables)
        if mechanism is not None:
            yield _Design(name, its_lines, mechanism.bind(its_schema))


def _mechanism(
    schema: Schema, gamma: Fraction, public: frozenset[str], tables: Sequence[WantedTables]
) -> SplitQuestionnaire | None:
    names = [name for name in schema.names if name in public]
    try:
        if tables:
            return SplitQuestionnaire.designed_for(schema, gamma, names, tables)
        return SplitQuestionnaire.for_amplification(schema, gamma, names, 2)
    except HalftruthError:
        return None


def _tables(goals: Sequence[Goal]) -> list[WantedTables]:
    """Return the wanted tables of some goals; outcomes with the same groups share an entry."""
    groups: dict[str, list[str]] = {}
    for goal in goals:
        groups.setdefault(goal.outcome, []).append(goal.group)
    outcomes: dict[tuple[str, ...], list[str]] = {}
    for outcome, by in groups.items():
        outcomes.setdefault(tuple(dict.fromkeys(by)), []).append(outcome)
    return [WantedTables(of=tuple(of), by=by) for by, of in outcomes.items()]


def _collapsed(schema: Schema, names: set[str]) -> list[Attribute]:
    """Return the attributes of many answers among some, with neighbouring answers in groups."""
    found = []
    for each in schema.attributes:
        answers = [a for a in each.categories if a not in each.missing]
        if each.name not in names or each.collapsed or len(answers) < _MANY or each.question:
            continue
        groups = {}
        for part in np.array_split(np.array(answers, dtype=object), _GROUPS):
            first, last = part[0], part[-1]
            groups[f"{first} to {last}" if len(part) > 1 else first] = tuple(part)
        try:
            found.append(replace(each, collapsed=groups))
        except HalftruthError:
            continue
    return found


def _table_lines(table: WantedTables) -> str:
    lines = f"\n[[mechanism.tables]]\nof = {json.dumps(table.of, ensure_ascii=False)}\n"
    return lines + f"by = {json.dumps(table.by, ensure_ascii=False)}\n"


def _group_lines(attribute: Attribute) -> str:
    groups = [
        f"{json.dumps(name, ensure_ascii=False)} = {json.dumps(answers, ensure_ascii=False)}"
        for name, answers in (attribute.collapsed or {}).items()
        if not set(answers) <= set(attribute.missing)
    ]
    return f"\n# {attribute.name}\ncollapsed = {{ {', '.join(groups)} }}\n"


def _planned(chosen: Chosen, goals: Sequence[Goal], design: _Design) -> DesignPlan:
    """Plan what is detectable, and the shares of questions alone."""
    expected = chosen.expectation(design.perturbation)
    about = [(goal.group, goal.outcome) for goal in goals]
    even = planned_margins(expected, about, "detectable_difference")
    rare = {}
    if chosen.people is None:
        rare = planned_margins(expected, about, "detectable_difference", rare=True)
    names = design.perturbation.schema.names
    public = design.perturbation.unperturbed
    alone = planned_margins(expected, [(name,) for name in names if name not in public], "share")
    worst = max(alone, key=lambda names: alone[names], default=None)
    return DesignPlan(
        design=design.name,
        lines=design.lines,
        detectable=[optional(even.get(names, math.inf)) for names in about],
        rare=[optional(rare.get(names, math.inf)) for names in about] if rare else None,
        share=optional(median(alone)),
        worst_share=None if worst is None else optional(alone[worst]),
        worst_of=None if worst is None else worst[0],
    )


def best_design(goals: Sequence[Goal], plans: Sequence[DesignPlan]) -> DesignPlan:
    """Return the design whose farthest goal is nearest; of equal ones the first."""
    return min(plans, key=lambda plan: _farthest(goals, plan))


def _farthest(goals: Sequence[Goal], plan: DesignPlan) -> float:
    """Return the largest ratio of a detectable difference and the one that is to be detected."""
    return max(
        math.inf if least is None else least / goal.difference
        for goal, least in zip(goals, plan.detectable, strict=True)
    )


def _verdicts(goals: Sequence[Goal], own: DesignPlan, best: DesignPlan) -> Iterator[str]:
    """Say of each goal from which difference on it is detected, now and by the best design."""
    for place, goal in enumerate(goals):
        about = f"{goal.outcome} by {goal.group}, {_points(goal.difference)}"
        now, then = own.detectable[place], best.detectable[place]
        if now is not None and now <= goal.difference:
            yield f"{about}: detectable as the survey is, from {_points(now)} on."
            continue
        said = "no difference is" if now is None else f"only {_points(now)} or more are"
        said = f"{about}: {said} detectable as the survey is"
        if best is own or then is None:
            yield f"{said}."
        elif then <= goal.difference:
            yield f"{said}; {_points(then)} or more with {DESIGN_NAMES[best.design]}."
        else:
            yield f"{said}, and only {_points(then)} or more with {DESIGN_NAMES[best.design]}."


def _further(
    chosen: Chosen,
    goals: Sequence[Goal],
    gamma: Fraction,
    best: DesignPlan,
) -> Iterator[str]:
    """Say what else would do: more respondents, a larger γ, or fewer outcomes."""
    ratio = _farthest(goals, best) ** 2
    if ratio < _LARGEST:
        needed = _rounded_up(chosen.query.respondents * ratio)
        yield f"It would need about {number(needed, 0)} respondents."
    if (larger := _enough(chosen, goals, gamma, best)) is not None:
        yield (
            f"Or γ = {number(as_float(larger))}: a report could then make what was believed of 5"
            f" of 100 people believed of up to {_believed(larger)}, now of {_believed(gamma)}."
        )
    outcomes = list(dict.fromkeys(goal.outcome for goal in goals))
    fits = 0
    low, high = 1, len(outcomes) - 1
    while low <= high:
        check_deadline()
        middle = (low + high) // 2
        some = [goal for goal in goals if goal.outcome in outcomes[:middle]]
        found = _replanned(chosen, some, gamma, best)
        if found is not None and _farthest(some, found) <= 1:
            fits, low = middle, middle + 1
        else:
            high = middle - 1
    if fits:
        first = ", ".join(map(quoted, outcomes[:fits]))
        yield f"Or fewer outcomes: this many respondents are enough for {first}."


def _replanned(
    chosen: Chosen, goals: Sequence[Goal], gamma: Fraction, best: DesignPlan
) -> DesignPlan | None:
    """Plan the best design for other goals or another γ."""
    survey = chosen.survey
    every = _designs(survey.schema, goals, gamma, survey.perturbation.unperturbed, best.design)
    return next((_planned(chosen, goals, each) for each in every), None)


def _enough(
    chosen: Chosen, goals: Sequence[Goal], gamma: Fraction, best: DesignPlan
) -> Fraction | None:
    """Return about the smallest γ with which all goals are detected; None if it is very large."""
    tried = [(math.log(gamma), math.log(_farthest(goals, best)))]
    slope, enough = _SLOPE, None
    for _ in range(_TRIES):
        check_deadline()
        place, over = tried[-1]
        value = math.exp(place - over / slope) if over > 0 else math.exp(place)
        if not value < _LARGEST * gamma:
            break
        larger = Fraction(math.ceil(value))
        found = _replanned(chosen, goals, larger, best)
        if found is None:
            break
        tried.append((math.log(larger), math.log(_farthest(goals, found))))
        if tried[-1][1] <= 0:
            enough = larger
            break
        (before, above), (now, still) = tried[-2:]
        slope = min((still - above) / (now - before), _LEAST_SLOPE) * _CAREFUL
    return enough


def _believed(gamma: Fraction) -> int:
    """Return how many of 100 people may be believed to have what 5 had, at most."""
    odds: float = 5 * as_float(gamma)
    return math.ceil(100 * odds / (95 + odds))


def _rounded_up(count: float) -> int:
    """Round up to two digits."""
    unit: int = 10 ** max(0, math.floor(math.log10(count)) - 1)
    return math.ceil(count / unit) * unit


def _points(share: float) -> str:
    return half_width(share).removeprefix("±")
