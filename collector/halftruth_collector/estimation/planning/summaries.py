"""Planned margins over the questions, and pairs of questions, of a survey: median and worst."""

import math
import random
from collections.abc import Callable, Sequence, Sized
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

from halftruth_shared import HalftruthError, ParameterError, Survey
from halftruth_shared.analyses.plan import Planned, PlannedMargin, PlanQuery

from ..bounds import optional
from ..distribution import scale_of
from .margins import Expectation

T = TypeVar("T", bound=Sized)

#: Most questions, and most pairs of them, that are looked at; of more, always the same ones.
MAX_QUESTIONS, MAX_PAIRS = 100, 30

#: Most cells of a table of two questions that is looked at.
_CELLS = 1_024

#: Respondents among whom every margin is a small number.
_MANY = 10**12

#: Quantities with a target half-width; four times the respondents halve their margin.
_OF_SHARES = ("share", "share_within", "difference", "detectable_difference")

#: Names of a question, of a group and a question, or of predictors and their outcome.
Names = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Chosen:
    """The questions, and pairs of a group and a question, that a plan is about.

    Raises
    ------
    SchemaError, ParameterError
        If a field of the query names an attribute that is unknown, or no pair.
    """

    survey: Survey
    query: PlanQuery

    def __post_init__(self) -> None:
        query = self.query
        for field in ("groups", "questions", "predictors"):
            if getattr(query, field) is not None:
                self.survey.schema.positions(getattr(query, field), field)
        if (query.outcome is None) != (not query.predictors):
            field = "outcome" if query.outcome is None else "predictors"
            raise ParameterError(f"{field}: expected too, for a regression", field=field)
        if query.outcome is not None:
            self.survey.schema.position(query.outcome, "outcome")
            if query.outcome in (query.predictors or ()):
                raise ParameterError(
                    "predictors: expected one or more other attributes", field="predictors"
                )

    @cached_property
    def questions(self) -> list[Names]:
        """Those whose answers are estimated: by default all that are perturbed."""
        names = self.survey.schema.names
        if self.query.questions is not None:
            return [(name,) for name in self.query.questions]
        public = self.survey.perturbation.unperturbed
        return [(name,) for name in names if name not in public] or [(name,) for name in names]

    @cached_property
    def with_numbers(self) -> list[Names]:
        """The questions whose answers are numbers."""
        attributes = self.survey.schema.attributes
        about = [attributes[self.survey.schema.position(name)] for (name,) in self.questions]
        return [
            (each.name,)
            for each in about
            if len(each.categories) - len(each.missing) > 1
            and scale_of(each, {}).counted_as != "ranks"
        ]

    @cached_property
    def pairs(self) -> list[Names]:
        """All pairs of a group and a question; options of one question make none."""
        schema = self.survey.schema
        groups = schema.names if self.query.groups is None else self.query.groups
        of = {each.name: each.question or each.name for each in schema.attributes}
        return [(g, name) for g in groups for (name,) in self.questions if of[g] != of[name]]

    @cached_property
    def regressions(self) -> list[Names]:
        """Predictors with their outcome: one if it is asked about, and else of every pair."""
        if self.query.outcome is None:
            return self.pairs
        return [(*(self.query.predictors or ()), self.query.outcome)]

    def summaries(
        self, expected: Expectation, quantities: Sequence[Planned]
    ) -> list[PlannedMargin]:
        """Plan each quantity, as far as there is something that it is about."""
        found = (self._summary(expected, quantity) for quantity in quantities)
        return [each for each in found if each is not None]

    def _summary(self, expected: Expectation, quantity: Planned) -> PlannedMargin | None:
        possible, margin = self._of(quantity)
        named = quantity == "odds_ratio" and self.query.outcome is not None
        margins = Margins.of(expected, some_of(possible), margin, strict=named)
        if not margins.each:
            return None
        unit = None
        if quantity == "mean":
            schema = self.survey.schema
            values = scale_of(schema.attributes[schema.position(*margins.worst_of)], {}).values
            unit = float(values[-1] - values[0])
        return PlannedMargin(
            quantity=quantity,
            median=optional(margins.median),
            worst=optional(margins.worst),
            worst_of=list(margins.worst_of),
            respondents_needed=self._needed(expected, quantity, margins, margin),
            examined=len(margins.each),
            possible=len(possible),
            unit=unit,
        )

    def _of(self, quantity: Planned) -> tuple[list[Names], Callable[..., float]]:
        """Return the questions or pairs of a quantity, and the function that plans its margin."""
        if quantity in ("share", "detectable_share"):
            return self.questions, getattr(Expectation, quantity)
        if quantity == "mean":
            return self.with_numbers, Expectation.mean
        if quantity == "odds_ratio":
            return self.regressions, lambda e, *names: e.odds_ratio(names[-1], names[:-1])
        if quantity == "detectable_association":
            once = {frozenset(pair): pair for pair in self.pairs}
            return list(once.values()), Expectation.detectable_association
        return self.pairs, getattr(Expectation, quantity)

    def _needed(
        self,
        expected: Expectation,
        quantity: Planned,
        margins: "Margins",
        margin: Callable[..., float],
    ) -> int | None:
        """Respondents for the target half-width, from the margin of a very large survey."""
        wanted = self.query.half_width
        if wanted is None or quantity not in _OF_SHARES:
            return None
        large = Margins.of(replace(expected, respondents=_MANY), list(margins.each), margin)
        needed = _MANY * (large.median / wanted) ** 2
        return max(2, math.ceil(needed)) if math.isfinite(needed) else None


@dataclass(frozen=True, eq=False)
class Margins:
    """Margins of one quantity, by the names that each is about."""

    each: dict[Names, float]

    @classmethod
    def of(
        cls,
        expected: Expectation,
        about: Sequence[Names],
        margin: Callable[..., float],
        *,
        strict: bool = False,
    ) -> "Margins":
        """Plan each quantity whose table the reports identify and which is not too large.

        Parameters
        ----------
        strict : bool
            Whether a margin that cannot be planned raises an error instead of being left out.

        Raises
        ------
        HalftruthError
        """
        found, known = {}, dict[object, float]()
        for names in about:
            large = len(names) == 2 and expected.cells(names) > _CELLS
            untold = len(names) <= 2 and not expected.tells(names)
            if (large or untold) and not strict:
                continue
            key = expected.likeness(names)
            if key not in known:
                try:
                    known[key] = margin(expected, *names)
                except HalftruthError:
                    if strict:
                        raise
                    known[key] = math.nan
            if not math.isnan(known[key]):
                found[names] = known[key]
        return cls(found)

    @property
    def median(self) -> float:
        """The median; of an even number the larger one of the two in the middle."""
        values = sorted(self.each.values())
        return values[len(values) // 2] if values else math.nan

    @property
    def worst(self) -> float:
        return max(self.each.values())

    @property
    def worst_of(self) -> Names:
        return max(self.each, key=lambda names: self.each[names])


def some_of(everything: Sequence[T]) -> list[T]:
    """Return all questions or pairs, or a fixed sample of them if they are many."""
    most = MAX_QUESTIONS if everything and len(everything[0]) == 1 else MAX_PAIRS
    if len(everything) <= most:
        return list(everything)
    simulated = random.Random(0)  # noqa: S311 - a choice of examples, no perturbation
    places = sorted(simulated.sample(range(len(everything)), most))
    return [everything[place] for place in places]
