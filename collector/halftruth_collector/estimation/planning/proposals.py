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
from itertools import combinations

import msgspec
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
from halftruth_shared.protection import Guarantee
from halftruth_shared.results.wording import half_width, number, percent, quoted

from ..bounds import Array, optional
from .margins import RARE, Expectation, People
from .summaries import Chosen, Names, count, median, planned, planned_margins

#: Number of answers from which a question is collapsed, and number of groups.
_MANY, _GROUPS = 4, 3

#: Largest factor of respondents, and of γ, that is named.
_LARGEST = 100

#: Largest number of values of γ that are tried; change of the logarithm of a detectable difference
#: with that of γ that is assumed first, and at least; and what is expected of the next value.
_TRIES, _SLOPE, _LEAST_SLOPE, _CAREFUL = 4, -0.3, -0.05, 0.9

#: Detectable differences whose ratio is below this count as equal.
_EQUAL = 1.01

#: Factor to the next γ while no difference is detectable.
_STEP = 4

#: Names of the designs in sentences and tables.
DESIGN_NAMES: dict[DesignName, str] = {
    "own": "the survey as it is",
    "all pairs": "all pairs of questions",
    "tables": "wanted tables",
    "tables of groups": "wanted tables and groups of answers",
}

_GOAL = re.compile(r"(?P<of>\S+) by (?P<by>\S+): (?P<points>\d+(\.\d+)?) points?")


@dataclass(frozen=True)
class Design:
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
    own = Design("own", "", survey.perturbation)
    public = survey.perturbation.unperturbed
    others = [*designs_for(survey.schema, tables_for(goals), gamma, public, people=chosen.people)]
    plans = [_planned(chosen, goals, each) for each in (own, *others)]
    best = best_design(goals, plans)
    sentences = [*_verdicts(goals, plans[0], best)]
    if not _reached(goals, best) and others:
        # The survey can have the best design already; the same one can then be planned for more.
        same = best_design(goals, plans[1:])
        if _distance(goals, same)[0]:
            by_many = [_planned(_with_many(chosen), goals, each) for each in others]
            same = plans[1 + by_many.index(best_design(goals, by_many))]
        if _farthest(goals, same) <= _EQUAL * _farthest(goals, best):
            sentences += _further(chosen, goals, gamma, same)
    return plans, sentences


def designs_for(
    schema: Schema,
    tables: Sequence[WantedTables],
    gamma: Fraction,
    public: frozenset[str],
    only: DesignName | None = None,
    people: People | None = None,
) -> Iterator[Design]:
    """Yield the split questionnaires for wanted tables that are possible, and for all pairs.

    Parameters
    ----------
    gamma : Fraction
        Amplification of the attributes that are not public.
    only : str, optional
        Name of a single design.
    people : callable, optional
        Counts of a pilot, from which neighbouring answers are put in groups of similar size.
    """
    named = {name for table in tables for name in _names_in(table)} - public
    collapsed = {each.name: each for each in _collapsed(schema, named, people)}
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
            yield Design(name, _response_lines(mechanism) + its_lines, mechanism.bind(its_schema))


def _mechanism(
    schema: Schema, gamma: Fraction, public: frozenset[str], tables: Sequence[WantedTables]
) -> SplitQuestionnaire | None:
    names = [name for name in schema.names if name in public]
    try:
        if tables:
            return SplitQuestionnaire.for_tables(schema, gamma, names, tables)
        return SplitQuestionnaire.for_amplification(schema, gamma, names, 2)
    except HalftruthError:
        return None


def _names_in(table: WantedTables) -> Iterator[str]:
    yield from table.of
    for group in table.by or ():
        yield from (group,) if isinstance(group, str) else group


def tables_for(goals: Sequence[Goal]) -> list[WantedTables]:
    """Return the tables that are wanted for some goals.

    Outcomes with the same groups share an entry.
    """
    groups: dict[str, list[str]] = {}
    for goal in goals:
        groups.setdefault(goal.outcome, []).append(goal.group)
    outcomes: dict[tuple[str, ...], list[str]] = {}
    for outcome, by in groups.items():
        outcomes.setdefault(tuple(dict.fromkeys(by)), []).append(outcome)
    return [WantedTables(of=tuple(of), by=by) for by, of in outcomes.items()]


def _collapsed(schema: Schema, names: set[str], people: People | None) -> list[Attribute]:
    """Return the attributes of many answers among some, with neighbouring answers in groups.

    Groups have as many answers each or, of an ordered attribute with a pilot, similar numbers of
    people: with one group of most people, little is seen of differences and correlations.
    """
    found = []
    for each in schema.attributes:
        answers = [a for a in each.categories if a not in each.missing]
        if each.name not in names or each.collapsed or len(answers) < _MANY or each.question:
            continue
        groups = {}
        cuts: Sequence[int] | int = _GROUPS
        if each.ordered and people is not None:
            numbers = people([each.name])[[each.categories.index(a) for a in answers]]
            cuts = _even_cuts(numbers)
        for part in np.array_split(np.array(answers, dtype=object), cuts):
            first, last = part[0], part[-1]
            name = f"{first} to {last}" if each.ordered else " or ".join(part)
            groups[name if len(part) > 1 else first] = tuple(part)
        try:
            found.append(replace(each, collapsed=groups))
        except HalftruthError:
            continue
    return found


def _even_cuts(numbers: Array) -> tuple[int, ...]:
    """Return where answers are cut into groups whose numbers of people differ least.

    >>> _even_cuts(np.array([1, 2, 3, 30, 30, 40]))
    (4, 5)
    """
    ends = np.concatenate([[0], np.cumsum(numbers)])

    def squares(cuts: tuple[int, ...]) -> float:
        return float((np.diff(ends[[0, *cuts, -1]]) ** 2).sum())

    return min(combinations(range(1, len(numbers)), _GROUPS - 1), key=squares)


def _response_lines(mechanism: SplitQuestionnaire) -> str:
    return "" if mechanism.pairs is None else "pairs = true\n"


def _table_lines(table: WantedTables) -> str:
    lines = f"\n[[mechanism.tables]]\nof = {json.dumps(table.of, ensure_ascii=False)}\n"
    return lines + f"by = {json.dumps(table.by, ensure_ascii=False)}\n"


def _group_lines(attribute: Attribute) -> str:
    groups = [
        f"{json.dumps(name, ensure_ascii=False)} = {json.dumps(answers, ensure_ascii=False)}"
        for name, answers in (attribute.collapsed or {}).items()
        if not set(answers) <= set(attribute.missing)
    ]
    return f"\n# for the question {attribute.name}\ncollapsed = {{ {', '.join(groups)} }}\n"


def _planned(chosen: Chosen, goals: Sequence[Goal], design: Design) -> DesignPlan:
    """Plan what is detectable, and the shares of questions alone."""
    perturbation = design.perturbation
    if chosen.survey.has_tickets:
        perturbation = perturbation.with_tickets()
    expected = chosen.expectation(perturbation)
    about = [(goal.group, goal.outcome) for goal in goals]

    def detectable(*, rare: bool) -> list[float | None]:
        found = planned_margins(expected, about, "detectable_difference", rare=rare)
        return [optional(found.get(names, math.inf)) for names in about]

    def undone(goal: Goal) -> int | None:
        names = (goal.group, goal.outcome)

        def needed(read: Expectation, _: Names) -> float:
            return read.undone_difference(*names, goal.difference)

        return count(planned(expected, [names], needed).get(names, math.inf))

    names = perturbation.schema.names
    public = perturbation.unperturbed
    alone = planned_margins(expected, [(name,) for name in names if name not in public], "share")
    worst = max(alone, key=lambda names: alone[names], default=None)
    return DesignPlan(
        design=design.name,
        lines=design.lines,
        detectable=detectable(rare=False),
        rare=detectable(rare=True) if chosen.people is None else None,
        undone_by=[undone(goal) for goal in goals],
        share=optional(median(alone)),
        worst_share=None if worst is None else optional(alone[worst]),
        worst_of=None if worst is None else worst[0],
    )


def best_design(goals: Sequence[Goal], plans: Sequence[DesignPlan]) -> DesignPlan:
    """Return the design with the fewest goals out of reach, and the farthest other one nearest.

    A goal is out of reach if no difference is detectable. Of equal designs, the first is returned.
    """
    return min(plans, key=lambda plan: _distance(goals, plan))


def _distance(goals: Sequence[Goal], plan: DesignPlan) -> tuple[int, float]:
    """Return the number of goals for which no difference is detectable, and the farthest other one.

    That is the largest ratio of a detectable difference and the one that is to be detected.
    """
    pairs = list(zip(goals, plan.detectable, strict=True))
    ratios = [least / goal.difference for goal, least in pairs if least is not None]
    return len(pairs) - len(ratios), max(ratios, default=0.0)


def _reached(goals: Sequence[Goal], plan: DesignPlan) -> bool:
    """Return whether all goals are detected."""
    return _farthest(goals, plan) <= 1


def _farthest(goals: Sequence[Goal], plan: DesignPlan) -> float:
    """Return the ratio of the farthest goal, infinite if no difference is detectable."""
    unreachable, ratio = _distance(goals, plan)
    return math.inf if unreachable else ratio


def _verdicts(goals: Sequence[Goal], own: DesignPlan, best: DesignPlan) -> Iterator[str]:
    """Say of each goal whether it is detected, and which differences are, now and at best."""
    for place, goal in enumerate(goals):
        about = f"{goal.outcome} by {goal.group}, {_points(goal.difference)}"
        now, then = own.detectable[place], best.detectable[place]
        name, least = DESIGN_NAMES[best.design], _least(own, place)
        if now is not None and now <= goal.difference:
            yield f"{about}: detected. The survey as it is detects {least}."
        elif then is None:
            yield f"{about}: not detected. No difference is, by any design."
        elif best is own:
            yield f"{about}: not detected. Detected are {least}."
        elif then <= goal.difference:
            at_best = f"{about}: detected with {name}. Detected are {_least(best, place)}"
            yield f"{at_best}, and {least} as the survey is."
        else:
            at_best = f"{about}: not detected. Detected are {_least(best, place)} with {name}"
            yield f"{at_best}, and {least} as the survey is."


def _least(plan: DesignPlan, place: int) -> str:
    """Say which differences a design detects, for even answers and for a small group."""
    least = plan.detectable[place]
    if least is None:
        return "none"
    said = f"{_points(least)} or more"
    if plan.rare is None or _points(plan.rare[place]) == _points(least):
        return said
    return f"{said} (at {percent(RARE)}: {_points(plan.rare[place])})"


def _further(
    chosen: Chosen,
    goals: Sequence[Goal],
    gamma: Fraction,
    best: DesignPlan,
) -> Iterator[str]:
    """Say what else would do: more respondents, a larger γ, or fewer outcomes."""
    needed = _respondents(chosen, goals, gamma, best)
    if needed is not None:
        which = DESIGN_NAMES[best.design]
        yield f"About {number(needed, 0)} respondents would be enough with {which}."
    if (larger := _enough(chosen, goals, gamma, best)) is not None:
        yield (
            f"Or a larger γ: a report could then raise a belief {Guarantee(larger)}, and now"
            f" {Guarantee(gamma)}."
        )
    outcomes = list(dict.fromkeys(goal.outcome for goal in goals))
    fits = 0
    low, high = 1, len(outcomes) - 1
    while low <= high:
        check_deadline()
        middle = (low + high) // 2
        some = [goal for goal in goals if goal.outcome in outcomes[:middle]]
        found = _replanned(chosen, some, gamma, best)
        if found is not None and _reached(some, found):
            fits, low = middle, middle + 1
        else:
            high = middle - 1
    if fits:
        first = ", ".join(map(quoted, outcomes[:fits]))
        yield f"Or fewer outcomes: this number of respondents is enough for {first} alone."


def _replanned(
    chosen: Chosen, goals: Sequence[Goal], gamma: Fraction, best: DesignPlan
) -> DesignPlan | None:
    """Plan the best design for other goals or another γ."""
    survey = chosen.survey
    public, tables = survey.perturbation.unperturbed, tables_for(goals)
    every = designs_for(survey.schema, tables, gamma, public, best.design, chosen.people)
    return next((_planned(chosen, goals, each) for each in every), None)


def _respondents(
    chosen: Chosen, goals: Sequence[Goal], gamma: Fraction, best: DesignPlan
) -> int | None:
    """Return about how many respondents detect all goals; None if very many.

    Detectable differences are in proportion to the root of the number, where there are any.
    """
    plan, most = best, _with_many(chosen).query.respondents
    respondents = chosen.query.respondents
    if _distance(goals, best)[0]:
        found = _replanned(_with_many(chosen), goals, gamma, best)
        plan, respondents = best if found is None else found, most
    needed = respondents * _farthest(goals, plan) ** 2
    return _rounded_up(needed) if needed < most else None


def _with_many(chosen: Chosen) -> Chosen:
    """Return the same questions with `_LARGEST` times the respondents."""
    respondents = _LARGEST * chosen.query.respondents
    return replace(chosen, query=msgspec.structs.replace(chosen.query, respondents=respondents))


def _enough(
    chosen: Chosen, goals: Sequence[Goal], gamma: Fraction, best: DesignPlan
) -> Fraction | None:
    """Return about the smallest γ with which all goals are detected; None if it is very large."""
    place, over = math.log(gamma), math.log(_farthest(goals, best))
    slope = _SLOPE
    for _ in range(_TRIES):
        check_deadline()
        further = place - over / slope if math.isfinite(over) else place + math.log(_STEP)
        if not further < math.log(_LARGEST * gamma):
            return None
        larger = Fraction(math.ceil(math.exp(further)))
        found = _replanned(chosen, goals, larger, best)
        if found is None:
            return None
        if _reached(goals, found):
            return larger
        now, still = math.log(larger), math.log(_farthest(goals, found))
        if math.isfinite(over) and now > place:
            slope = min((still - over) / (now - place), _LEAST_SLOPE) * _CAREFUL
        place, over = now, still
    return None


def _rounded_up(count: float) -> int:
    """Round up to two digits."""
    unit: int = 10 ** max(0, math.floor(math.log10(count)) - 1)
    return math.ceil(count / unit) * unit


def _points(share: float | None) -> str:
    return "none" if share is None else half_width(share).removeprefix("±")
