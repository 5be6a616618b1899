"""Changes that would make a survey more precise: public questions, merged answers, fewer questions.

Each change is planned like the survey itself: with the same kind of mechanism, designed once more
for the same amplification.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from halftruth_shared import Attribute, Schema
from halftruth_shared.analyses.plan import Planned
from halftruth_shared.deadlines import check_deadline
from halftruth_shared.results.wording import half_width, percent, quoted

from ..bounds import Array
from ..reliability import UNDETERMINED
from .advice import design_perturbation
from .margins import Expectation, People
from .summaries import Chosen, median, planned_margins, some_of
from .wording import points

#: Smallest relative gain that is mentioned.
_GAIN = 0.05

#: Wanted margin of shares within groups, if the query has none.
_WANTED = 0.1

#: Largest number of questions that are tried as public or as groups, and that are named.
_TRIED, _NAMED = 6, 3

#: Smallest number of answers to a question that are merged in pairs.
_MANY_ANSWERS = 4


@dataclass(frozen=True, eq=False)
class _Redesign:
    """Designs of changed surveys. Their questions are named by position, ``q0``, ``q1`` ….

    Attributes
    ----------
    expected : Expectation
        Expected tables of the unchanged survey.
    max_length : int
    sizes, public : tuple
        Number of answers to each question, and whether it is sent unperturbed.
    """

    expected: Expectation
    gamma: Fraction
    max_length: int
    sizes: tuple[int, ...]
    public: tuple[bool, ...]

    @cached_property
    def _designs(self) -> dict[tuple[object, ...], Expectation | None]:
        """Designs by their changes; the unchanged one is compared with each of the others."""
        return {}

    def within(self, pairs: Sequence[tuple[int, int]], **change: Sequence[int]) -> float:
        """Return the typical margin of shares within groups, for pairs of group and question."""
        return self._typical([(_name(a), _name(b)) for a, b in pairs], change)

    def share(self, questions: Sequence[int], **change: Sequence[int]) -> float:
        """Return the typical margin of shares of answers."""
        return self._typical([(_name(j),) for j in questions], change)

    def _typical(self, names: Sequence[tuple[str, ...]], change: dict[str, Sequence[int]]) -> float:
        key = tuple((name, tuple(values)) for name, values in sorted(change.items()))
        if key not in self._designs:
            self._designs[key] = self._changed(**change)
        design = self._designs[key]
        if design is None:
            return np.inf
        quantity: Planned = "share" if len(names[0]) == 1 else "share_within"
        typical = median(planned_margins(design, names, quantity))
        return typical if np.isfinite(typical) else np.inf

    def _changed(
        self,
        sizes: Sequence[int] | None = None,
        public: Sequence[int] | None = None,
        kept: Sequence[int] | None = None,
    ) -> Expectation | None:
        """Return the expected tables of a changed survey; None if the mechanism cannot serve it.

        Parameters
        ----------
        sizes : sequence of int, optional
            Numbers of answers; a smaller number merges neighbouring answers in pairs.
        public : sequence of int, optional
            Whether each question is public.
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
        kind, longest = type(self.expected.perturbation.mechanism), min(self.max_length, perturbed)
        perturbation = design_perturbation(kind, schema, self.gamma, names, longest)
        if perturbation is None or not perturbation.unperturbed.issuperset(names):
            return None
        people = self.expected.people
        if people is not None or tuple(sizes) != tuple(self.sizes):
            people = self._merged(people or self._even, sizes)
        return replace(self.expected, perturbation=perturbation, people=people)

    def _even(self, names: Sequence[str]) -> Array:
        """Return even counts of the people, whatever the conditions of the questions."""
        return np.ones(
            [self.expected.schema.shape[j] for j in self.expected.schema.positions(names)]
        )

    def _merged(self, people: People, sizes: Sequence[int]) -> People:
        """Return the function that counts the people, with merged answers."""
        attributes = self.expected.schema.names

        def merged(asked: Sequence[str]) -> Array:
            positions = [int(name.removeprefix("q")) for name in asked]
            table = people([attributes[j] for j in positions])
            for axis, j in enumerate(positions):
                if sizes[j] < self.sizes[j]:
                    table = np.add.reduceat(table, range(0, self.sizes[j], 2), axis=axis)
            return table

        return merged


def advise_changes(
    chosen: Chosen, expected: Expectation, gamma: Fraction, max_length: int
) -> Iterator[str]:
    """Yield a sentence for each change that would make shares within groups more precise.

    Parameters
    ----------
    chosen : Chosen
    expected : Expectation
        Of the recommended mechanism.
    gamma : Fraction
    max_length : int
        Of the recommended mechanism; there is no advice for 1.
    """
    if max_length < 2:
        return
    schema, unperturbed = chosen.survey.schema, chosen.survey.perturbation.unperturbed
    public = tuple(name in unperturbed for name in schema.names)
    redesign = _Redesign(expected, gamma, max_length, schema.shape, public)
    if chosen.survey.relay is None:
        # Behind a relay no question can be public.
        yield from _publish(chosen, redesign)
    yield from _merge(chosen, redesign)
    yield from _ask_fewer(chosen, redesign)


def _publish(chosen: Chosen, redesign: _Redesign) -> Iterator[str]:
    """State which questions could be public, and the gain."""
    attributes = chosen.survey.schema.attributes
    free = [j for j, public in enumerate(redesign.public) if not public]
    if len(free) < 2:
        return
    possible = [j for j in free if not attributes[j].ask_if and attributes[j].question is None]
    declared = [j for j in possible if not attributes[j].sensitive]
    # Questions with equal numbers of answers gain the same.
    different = {redesign.sizes[j]: j for j in reversed(declared or possible)}
    gains = []
    for j in sorted(different.values())[:_TRIED]:
        check_deadline()
        pairs = [(j, other) for other in free if other != j][:_TRIED]
        public = [each or k == j for k, each in enumerate(redesign.public)]
        before, after = redesign.within(pairs), redesign.within(pairs, public=public)
        if after < UNDETERMINED and after <= (1 - _GAIN) * before:
            gains.append((after / before, j, before, after))
    if gains:
        parts = [
            f"{points(after)} instead of {points(before)} by {quoted(attributes[j].name)}"
            for _, j, before, after in sorted(gains)[:_NAMED]
        ]
        listed = " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
        yield (
            f"A question that needs no protection can be public. Shares within its groups would"
            f" then be known to {listed}. Its answers are sent unchanged, and the collector can"
            " read them."
        )


def _merge(chosen: Chosen, redesign: _Redesign) -> Iterator[str]:
    """State the gain from merging the answers to the question with the most answers."""
    schema, sizes = chosen.survey.schema, redesign.sizes
    free = [j for j, public in enumerate(redesign.public) if not public]
    many = [j for j in free if sizes[j] >= _MANY_ANSWERS and not schema.attributes[j].ask_if]
    if not many:
        return
    largest = max(many, key=lambda j: sizes[j])
    others = [j for j in free if j != largest]
    merged = [(size + 1) // 2 if j == largest else size for j, size in enumerate(sizes)]
    pairs = [(largest, other) for other in others[:_TRIED]]
    if not pairs:
        return
    before, after = redesign.within(pairs), redesign.within(pairs, sizes=merged)
    if after >= UNDETERMINED or not after <= (1 - _GAIN) * before:
        return
    rest = 1 - redesign.share(others, sizes=merged) / redesign.share(others)
    also = f", and shares of all other answers {percent(rest, 0)} narrower" if rest >= _GAIN else ""
    yield (
        f"Merging the {sizes[largest]} answers to {quoted(schema.names[largest])} in pairs would"
        f" make shares within its groups {points(after)} instead of {points(before)}{also}."
    )


def _ask_fewer(chosen: Chosen, redesign: _Redesign) -> Iterator[str]:
    """State how many questions are too many for the wanted margin of shares within groups."""
    position = chosen.survey.schema.position
    pairs = [(position(group), position(question)) for group, question in some_of(chosen.pairs)]
    free = [j for j, public in enumerate(redesign.public) if not public]
    wanted = chosen.query.half_width or _WANTED

    def within(count: int) -> float:
        kept = [j for j, public in enumerate(redesign.public) if public or j in free[:count]]
        asked = [pair for pair in pairs if set(pair) <= set(kept)]
        return redesign.within(asked or [(kept[0], kept[1]), (kept[1], kept[0])], kept=kept)

    if len(free) < 3 or within(len(free)) <= wanted:
        return
    few, many = 2, len(free)
    if within(few) > wanted:
        # A margin that is hardly larger than the wanted one looks the same.
        with_two = points(within(few))
        also = f"{'more than ' * (with_two == half_width(wanted))}{with_two}"
        yield (
            f"No number of questions gives {half_width(wanted)} for shares within groups: with two"
            f" questions it is {also}. It takes more respondents."
        )
        return
    while many - few > 1:
        check_deadline()
        middle = (few + many) // 2
        few, many = (middle, many) if within(middle) <= wanted else (few, middle)
    yield (
        f"For {half_width(wanted)} of shares within groups, ask only the first {few} of the"
        f" {len(free)} perturbed questions: {points(within(few))}."
    )


def _name(position: int) -> str:
    return f"q{position}"
