"""Planned margins over the questions, and pairs of questions, of a survey: median and worst."""

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from halftruth_shared import DomainTooLarge, HalftruthError, ParameterError, Perturbation, Survey
from halftruth_shared.analyses.plan import Planned, PlannedMargin, PlanQuery

from ..bounds import optional
from ..distribution import scale_of
from ..scales import scales_of
from .margins import OF_RARE, UNDONE, Expectation, People, PlannedTables
from .sets import USUAL_LENGTHS, sets_of

#: Largest number of questions, and of pairs, that are planned; of more, a fixed sample.
MAX_QUESTIONS, MAX_PAIRS = 100, 30

#: Largest number of cells of a planned table of several questions.
_CELLS = 1_024

#: Number of respondents with which every margin is small.
_MANY = 10**12

#: Quantities with a target half-width; four times the respondents halve their margin.
_OF_SHARES = ("share", "share_within", "difference", "detectable_difference")

#: Names of a question, of a group and a question, or of predictors and their outcome.
Names = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Chosen:
    """The questions, and pairs of a group and a question, of a plan, and who answers.

    `wanted` are the pairs if they are not those of the query and the survey.

    Raises
    ------
    SchemaError, ParameterError
        If a field of the query names an unknown attribute, or no pair.
    """

    survey: Survey
    query: PlanQuery
    people: People | None = None
    wanted: Sequence[Names] | None = None

    def __post_init__(self) -> None:
        query, schema = self.query, self.survey.schema
        for field in ("groups", "questions", "predictors"):
            if getattr(query, field) is not None:
                schema.positions(getattr(query, field), field)
        if (query.outcome is None) != (not query.predictors):
            field = "outcome" if query.outcome is None else "predictors"
            raise ParameterError(f"{field}: expected too, for a regression", field=field)
        if query.outcome is not None:
            schema.position(query.outcome, "outcome")
            if query.outcome in (query.predictors or ()):
                raise ParameterError(
                    "predictors: expected one or more other attributes", field="predictors"
                )

    def expectation(
        self, perturbation: Perturbation, tables: PlannedTables | None = None
    ) -> Expectation:
        """Return the expected tables under a perturbation, or those of another mechanism."""
        query = self.query
        return Expectation(
            perturbation,
            query.respondents,
            query.confidence,
            self.people,
            query.target,
            tables=tables,
        )

    @cached_property
    def questions(self) -> list[Names]:
        """Questions whose answers are estimated; by default all perturbed ones."""
        public = self.survey.perturbation.unperturbed
        names: Sequence[str] = self.survey.schema.names
        if self.query.questions is not None:
            names = self.query.questions
        elif not public.issuperset(names):
            names = [name for name in names if name not in public]
        return [(name,) for name in names]

    @cached_property
    def pairs(self) -> list[Names]:
        """Pairs of a group and a question, except two options of one question.

        All are planned by default, or those that are wanted if the survey says which.
        """
        schema, query = self.survey.schema, self.query
        if self.wanted is not None:
            return list(self.wanted)
        if query.groups is None and query.questions is None and (wanted := self._wanted()):
            return wanted
        groups = schema.names if self.query.groups is None else self.query.groups
        of = {each.name: each.question or each.name for each in schema.attributes}
        return [(g, name) for g in groups for (name,) in self.questions if of[g] != of[name]]

    @cached_property
    def _unordered_pairs(self) -> list[Names]:
        """Pairs of two attributes, each in the order in which it comes last."""
        return list({frozenset(pair): pair for pair in self.pairs}.values())

    def _wanted(self) -> list[Names]:
        """Return the wanted tables of two attributes, the group first."""
        every = self.survey.mechanism.wanted(self.survey.schema)
        return list(dict.fromkeys((names[1], names[0]) for names in every if len(names) == 2))

    def about(self, quantity: Planned) -> list[Names]:
        """Return the questions, pairs or regressions that a quantity is planned for."""
        if quantity in ("share", "detectable_share"):
            return self.questions
        if quantity == "mean":
            return [(name,) for (name,) in self.questions if self._is_numeric(name)]
        if quantity == "odds_ratio" and self.query.outcome is not None:
            return [(*(self.query.predictors or ()), self.query.outcome)]
        if quantity in ("detectable_association", "detectable_correlation"):
            if quantity == "detectable_association":
                return self._unordered_pairs
            scales = scales_of(self.survey.schema)
            return [pair for pair in self._unordered_pairs if scales.issuperset(pair)]
        return self.pairs

    def _is_numeric(self, name: str) -> bool:
        attribute = self.survey.schema.attributes[self.survey.schema.position(name)]
        answers = len(attribute.categories) - len(attribute.missing)
        return answers > 1 and scale_of(attribute, {}).counted_as != "ranks"

    def summaries(
        self, expected: Expectation, quantities: Sequence[Planned]
    ) -> list[PlannedMargin]:
        """Plan each quantity that has a margin for at least one question or pair."""
        found = (self._summary(expected, quantity) for quantity in quantities)
        return [each for each in found if each is not None]

    def _summary(self, expected: Expectation, quantity: Planned) -> PlannedMargin | None:
        return self._summary_of(expected, quantity, self.about(quantity))

    def shares_of_lengths(self, expected: Expectation) -> list[PlannedMargin]:
        """Plan the share of an answer to one question, of answers to two, and to three.

        Longer tables than the reports identify, or than can be planned, are left out.
        """
        schema, found = self.survey.schema, []
        positions = schema.positions([name for (name,) in self.questions])
        longest = min(len(positions), expected.longest, USUAL_LENGTHS)
        for length in range(1, longest + 1):
            try:
                sets = sets_of(schema, positions, length)
            except DomainTooLarge:
                break
            names = [tuple(schema.names[j] for j in each) for each in sets]
            planned = self._summary_of(expected, "share", names)
            if planned is None:
                break
            found.append(planned)
        return found

    def _summary_of(
        self, expected: Expectation, quantity: Planned, possible: Sequence[Names]
    ) -> PlannedMargin | None:
        named = quantity == "odds_ratio" and self.query.outcome is not None
        margins = planned_margins(expected, some_of(possible), quantity, strict=named)
        if not margins:
            return None
        worst = max(margins, key=lambda names: margins[names])
        unit = None
        if quantity == "mean":
            schema = self.survey.schema
            values = scale_of(schema.attributes[schema.position(*worst)], {}).values
            unit = float(values[-1] - values[0])
        needed, wanted = math.nan, self.query.half_width
        if wanted is not None and quantity in _OF_SHARES:
            large = replace(expected, respondents=_MANY)
            typical = median(planned_margins(large, list(margins), quantity))
            needed = _MANY * (typical / wanted) ** 2
        rare = math.nan
        if self.people is None and quantity in OF_RARE:
            rare = median(planned_margins(expected, list(margins), quantity, rare=True))
        undone = math.nan
        if quantity in UNDONE:
            undone = median(
                planned(expected, list(margins), lambda design, of: design.undone_by(quantity, of))
            )
        return PlannedMargin(
            quantity=quantity,
            median=optional(median(margins)),
            rare=optional(rare),
            worst=optional(margins[worst]),
            worst_of=list(worst),
            respondents_needed=max(2, math.ceil(needed)) if math.isfinite(needed) else None,
            examined=len(margins),
            possible=len(possible),
            unit=unit,
            undone_by=count(undone),
        )


def planned_margins(
    expected: Expectation,
    about: Sequence[Names],
    quantity: Planned,
    *,
    rare: bool = False,
    strict: bool = False,
) -> dict[Names, float]:
    """Plan a quantity for each table that the reports identify and that is not too large.

    Parameters
    ----------
    rare : bool
        Whether few people are in a group or give an answer; for one of `OF_RARE`.
    strict : bool
        Whether a margin that cannot be planned raises an error instead of being left out.

    Raises
    ------
    HalftruthError
    """

    def margin(design: Expectation, names: Names) -> float:
        assumed = design.with_rare(quantity, names) if rare else design
        return float(getattr(assumed, quantity)(*names))

    return planned(expected, about, margin, strict=strict)


def planned(
    expected: Expectation,
    about: Sequence[Names],
    number_of: Callable[[Expectation, Names], float],
    *,
    strict: bool = False,
) -> dict[Names, float]:
    """Plan a number for each table that the reports identify and that is not too large.

    Parameters
    ----------
    number_of : callable
        Returns the number of a table in the expectation in which it is read; NaN to leave it out.
    strict : bool
        Whether a number that cannot be planned raises an error instead of being left out.

    Raises
    ------
    HalftruthError
    """
    found, known = {}, dict[object, float]()
    for names in about:
        design = expected.reading(names)
        too_large = len(names) > 1 and design.cells(names) > _CELLS
        if not strict and (too_large or not design.identifies(names)):
            continue
        key = design.likeness(names)
        if key not in known:
            try:
                known[key] = number_of(design, names)
            except HalftruthError:
                if strict:
                    raise
                known[key] = math.nan
        if not math.isnan(known[key]):
            found[names] = known[key]
    return found


def median(margins: Mapping[Names, float]) -> float:
    """Return the median margin; of an even number, the larger of the two in the middle."""
    values = sorted(margins.values())
    return values[len(values) // 2] if values else math.nan


def count(number: float) -> int | None:
    """Return a number of reports for a message; None if it is not finite."""
    return int(number) if math.isfinite(number) else None


def some_of(everything: Sequence[Names]) -> list[Names]:
    """Return all questions or pairs, or a fixed sample of many."""
    most = MAX_QUESTIONS if everything and len(everything[0]) == 1 else MAX_PAIRS
    if len(everything) <= most:
        return list(everything)
    simulated = random.Random(0)  # noqa: S311 - a choice of examples, no perturbation
    places = sorted(simulated.sample(range(len(everything)), most))
    return [everything[place] for place in places]
