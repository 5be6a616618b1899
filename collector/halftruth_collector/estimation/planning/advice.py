"""What would make a survey more precise, in sentences."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from halftruth_shared import Attribute, HalftruthError, Schema
from halftruth_shared.analyses.plan import MechanismPlan, Planned
from halftruth_shared.results.wording import half_width, percent, quoted

from ..bounds import Array
from ..reliability import UNDETERMINED
from .margins import Expectation, People
from .summaries import Chosen, Margins, some_of

#: Margins nearer to each other than this count as equal, and gains below this part as none.
_EQUAL, _GAIN = 1.01, 0.05

#: Margin of shares within groups that questions are counted by where none is wanted.
_WANTED = 0.1

#: Most questions that are tried as public or with merged answers, and most that are named.
_TRIED, _NAMED = 6, 3

#: Answers from which on they are tried merged in pairs.
_MANY_ANSWERS = 4

#: Longest tables that a survey is tried for.
_LONGEST = 3


def recommend(plans: Sequence[MechanismPlan]) -> tuple[MechanismPlan, str]:
    """Return the mechanism with the narrowest typical margin, and why in one sentence.

    That is of shares within groups, or of shares where no mechanism has these.
    """
    about, widths = "shares within groups", _widths(plans, "share_within")
    if min(widths) == np.inf:
        about, widths = "shares", _widths(plans, "share")
    narrowest = min(widths)
    # Of equally precise mechanisms, take the survey's mechanism, then the simpler one.
    place = next(k for k, width in enumerate(widths) if width <= _EQUAL * narrowest)
    best, width = plans[place], widths[place]
    said = f"{best.kind}: {about} {_points(width)}"
    if others := [k for k in range(len(plans)) if k != place]:
        second = min(others, key=lambda k: widths[k])
        its = widths[second]
        if its <= _EQUAL * width and width <= _EQUAL * its:
            said += f", the same with {plans[second].kind}"
        elif its < UNDETERMINED:
            said += f", {_points(its)} with {plans[second].kind}"
        else:
            said += ", which no other mechanism tells"
    return best, said + _near_the_best(best) + _less_protected(best, plans)


def _widths(plans: Sequence[MechanismPlan], quantity: Planned) -> list[float]:
    """Return typical margins of a quantity; infinite if some pairs are not identified."""
    found = [{each.quantity: each for each in plan.margins}.get(quantity) for plan in plans]
    most = max((each.examined for each in found if each is not None), default=0)
    return [
        np.inf if each is None or each.median is None or each.examined < most else each.median
        for each in found
    ]


def _points(width: float) -> str:
    return half_width(width) if width < UNDETERMINED else "unknown"


def _near_the_best(best: MechanismPlan) -> str:
    if best.times_bound is None:
        return ""
    return (
        f"; its error is {best.times_bound:.3g} times the least of an unbiased estimate at this"
        " amplification"
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


def advise(
    chosen: Chosen, expected: Expectation, gamma: Fraction, max_length: int
) -> Iterator[str]:
    """Yield what would make a survey with some kind of mechanism more precise.

    Each change is planned as the survey itself would be: with the same kind of mechanism, designed
    once more for the same amplification.

    Parameters
    ----------
    chosen : Chosen
    expected : Expectation
        Of the mechanism that is recommended.
    gamma : Fraction
    max_length : int
        Questions of the tables that it has.
    """
    schema, public = chosen.survey.schema, chosen.survey.perturbation.unperturbed
    open_to_all = tuple(name in public for name in schema.names)
    designs = Designs(expected, gamma, schema.shape, open_to_all)
    yield from _about_lengths(chosen, designs, max_length)
    if max_length < 2:
        return
    if chosen.survey.relay is None:
        # Beside a relay no question can be public.
        yield from _about_public(chosen, designs, max_length)
    yield from _about_merging(chosen, designs, max_length)
    yield from _about_questions(chosen, designs, max_length)


@dataclass(frozen=True, eq=False)
class Designs:
    """Designs of one kind of mechanism for one amplification, of a survey and changes of it.

    Attributes
    ----------
    expected : Expectation
        Expected tables of the unchanged survey.
    sizes, public : tuple
        Number of answers to each question, and whether it is sent unperturbed.
    """

    expected: Expectation
    gamma: Fraction
    sizes: tuple[int, ...]
    public: tuple[bool, ...]

    def of(
        self,
        max_length: int,
        *,
        sizes: Sequence[int] | None = None,
        public: Sequence[bool] | None = None,
        kept: Sequence[int] | None = None,
    ) -> Expectation | None:
        """Return the expected tables of a changed survey; None if the mechanism cannot serve it.

        Parameters
        ----------
        max_length : int
        sizes : sequence of int, optional
            Numbers of answers; a smaller number merges neighbouring answers in pairs.
        public : sequence of bool, optional
        kept : sequence of int, optional
            Positions of the questions that are asked.
        """
        sizes, public = sizes or self.sizes, public or self.public
        positions = range(len(sizes)) if kept is None else kept
        schema = Schema(
            tuple(
                Attribute(_name(j), tuple(map(str, range(sizes[j]))), sensitive=not public[j])
                for j in positions
            )
        )
        names = [_name(j) for j in positions if public[j]]
        perturbed = len(schema.names) - len(names)
        if not perturbed:
            return None
        kind = type(self.expected.mechanism)
        longest = min(max_length, perturbed)
        try:
            mechanism = kind.for_amplification(schema, self.gamma, names, longest)
            if mechanism is None or not mechanism.bind(schema).unperturbed.issuperset(names):
                return None
        except HalftruthError:
            return None
        people = None if self.expected.people is None else self._people(sizes)
        return replace(self.expected, schema=schema, mechanism=mechanism, people=people)

    def _people(self, sizes: Sequence[int]) -> People:
        """Count the people by combination of answers, with merged answers."""
        assert self.expected.people is not None  # noqa: S101 - only called with a pilot
        of_survey, names = self.expected.people, self.expected.schema.names

        def people(asked: Sequence[str]) -> Array:
            positions = [int(name.removeprefix("q")) for name in asked]
            table = of_survey([names[j] for j in positions])
            for axis, j in enumerate(positions):
                if sizes[j] < self.sizes[j]:
                    table = np.add.reduceat(table, range(0, self.sizes[j], 2), axis=axis)
            return table

        return people


def _name(position: int) -> str:
    return f"q{position}"


def _typical(design: Expectation | None, pairs: Sequence[tuple[int, int]]) -> float:
    """Typical margin of shares within groups; infinite where nothing is known of them."""
    if design is None:
        return np.inf
    names = [(_name(group), _name(question)) for group, question in pairs]
    median = Margins.of(design, names, Expectation.share_within).median
    return median if np.isfinite(median) else np.inf


def _share(design: Expectation | None, positions: Sequence[int]) -> float:
    """Typical margin of the share of an answer."""
    if design is None:
        return np.inf
    return Margins.of(design, [(_name(j),) for j in positions], Expectation.share).median


def _pairs(chosen: Chosen) -> list[tuple[int, int]]:
    """Positions of some groups and questions."""
    position = chosen.survey.schema.position
    return [(position(group), position(question)) for group, question, *_ in some_of(chosen.pairs)]


def _about_lengths(chosen: Chosen, designs: Designs, max_length: int) -> Iterator[str]:
    """Say which `max_length` is best for what, if it makes a difference."""
    schema, pairs = chosen.survey.schema, _pairs(chosen)
    positions = [schema.position(name) for (name,) in some_of(chosen.questions)]
    perturbed = designs.public.count(False)
    tried = {n: designs.of(n) for n in range(1, min(_LONGEST, perturbed) + 1)}
    shares = {n: _share(design, positions) for n, design in tried.items()}
    if len(tried) < 2 or max(shares.values()) <= _EQUAL * min(shares.values()):
        return
    within = {n: _typical(design, pairs) if n > 1 else np.inf for n, design in tried.items()}
    parts = [
        f"{n} ({_points(width)}{f', within groups {_points(within[n])}' if n > 1 else ''})"
        for n, width in shares.items()
        if np.isfinite(width)
    ]
    single, best = _longest_best(shares), _longest_best(within)
    said = f"Take {single} for single questions"
    if min(within.values()) < UNDETERMINED:
        said += f", {best} for groups, differences and regression"
        said = f"Take {best}" if best == single else said
    if best == 2 < max(tried):
        said += "; tables of three questions need 3"
    kind, own = designs.expected.mechanism.kind, chosen.survey.mechanism.kind
    about = "Shares of answers" if kind == own else f"With {kind}, shares of answers"
    yield f"{about} by max_length: {_joined(parts)}. {said}."


def _longest_best(widths: Mapping[int, float]) -> int:
    """Return the longest length with about the narrowest margin, since it tells more."""
    narrowest = min(widths.values())
    return max(length for length, width in widths.items() if width <= _EQUAL * narrowest)


def _about_public(chosen: Chosen, designs: Designs, max_length: int) -> Iterator[str]:
    """Say which questions could be public, and what that would gain."""
    attributes = chosen.survey.schema.attributes
    free = [j for j, public in enumerate(designs.public) if not public]
    if len(free) < 2:
        return
    can_be = [j for j in free if not attributes[j].ask_if and attributes[j].question is None]
    declared = [j for j in can_be if not attributes[j].sensitive]
    tried, gains = _of_different_sizes(declared or can_be, designs.sizes), []
    before = designs.of(max_length)
    for j in tried:
        pairs = [(j, other) for other in free if other != j][:_TRIED]
        public = [each or k == j for k, each in enumerate(designs.public)]
        wide, narrow = (
            _typical(each, pairs) for each in (before, designs.of(max_length, public=public))
        )
        if narrow < UNDETERMINED and narrow <= (1 - _GAIN) * wide:
            gains.append((narrow / wide, j, wide, narrow))
    if not gains:
        return
    said = _joined(
        [
            f"{quoted(attributes[j].name)} from {_points(wide)} to {_points(narrow)}"
            for _, j, wide, narrow in sorted(gains)[:_NAMED]
        ]
    )
    yield (
        f"A public question makes groups of it more precise, shares within groups of {said}. It is"
        " sent unchanged and can be read by the collector, so it has to be one that needs no"
        " protection."
    )


def _about_merging(chosen: Chosen, designs: Designs, max_length: int) -> Iterator[str]:
    """Say which question's answers could be merged, and what that would gain."""
    schema = chosen.survey.schema
    many = [
        j
        for j, public in enumerate(designs.public)
        if not public and designs.sizes[j] >= _MANY_ANSWERS and not schema.attributes[j].ask_if
    ]
    if not many:
        return
    j = max(many, key=lambda one: designs.sizes[one])
    others = [k for k in range(len(designs.sizes)) if k != j and not designs.public[k]]
    merged = [(size + 1) // 2 if k == j else size for k, size in enumerate(designs.sizes)]
    before, after = designs.of(max_length), designs.of(max_length, sizes=merged)
    pairs = [(j, other) for other in others[:_TRIED]]
    wide, narrow = _typical(before, pairs), _typical(after, pairs)
    if narrow >= UNDETERMINED or not narrow <= (1 - _GAIN) * wide:
        return
    rest = 1 - _share(after, others) / _share(before, others)
    also = f", and shares of all other answers {percent(rest, 0)} narrower" if rest >= _GAIN else ""
    yield (
        f"Merging the {designs.sizes[j]} answers to {quoted(schema.names[j])} in pairs would make"
        f" shares within its groups {_points(narrow)} instead of {_points(wide)}{also}."
    )


def _about_questions(chosen: Chosen, designs: Designs, max_length: int) -> Iterator[str]:
    """Say how many questions are too many for the margin wanted of shares within groups."""
    free = [j for j, public in enumerate(designs.public) if not public]
    wanted = chosen.query.half_width or _WANTED

    def within(count: int) -> float:
        kept = [j for j in range(len(designs.sizes)) if designs.public[j] or j in free[:count]]
        pairs = [pair for pair in _pairs(chosen) if set(pair) <= set(kept)]
        pairs = pairs or [(kept[0], kept[1]), (kept[1], kept[0])]
        return _typical(designs.of(max_length, kept=kept), pairs)

    whole = within(len(free))
    if whole <= wanted or len(free) < 3:
        return
    few, many = 2, len(free)
    if within(few) > wanted:
        yield (
            f"{len(free)} questions are not too many: even with two of them shares within groups"
            f" would not be known to {half_width(wanted)}. It takes more respondents."
        )
        return
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (middle, many) if within(middle) <= wanted else (few, middle)
    yield (
        f"{len(free)} perturbed questions are too many for {half_width(wanted)} of shares within"
        f" groups: with the first {few} of them it would be {_points(within(few))}."
    )


def _of_different_sizes(positions: Sequence[int], sizes: Sequence[int]) -> list[int]:
    """Return the first question of each number of answers: others would gain as much."""
    first: dict[int, int] = {}
    for j in positions:
        first.setdefault(sizes[j], j)
    return list(first.values())[:_TRIED]


def _joined(parts: Sequence[str]) -> str:
    """Join parts of a sentence."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
