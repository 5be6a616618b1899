"""Options of which people choose several: how many each of them chooses, and which go together.

All are functions of tables of two places along every axis, not chosen and chosen, of those who
answered all of its options. What is missing is a part of the table that is left out, so every share
is a ratio a/x with the error of how many answered (:mod:`.ratios`).

The mean number of options that a person chooses is the sum of their shares r = a/x. The covariance
of two of these is cᵀ C c′ with the covariance C of the table of both attributes and the gradients
c = (1[chosen] − r·1[answered])/x along each: margins of larger tables are the smaller ones, so no
table of all options is needed. That of the number itself is known by the pairs, too, since
E K² = Σ r_j + 2 Σ r_jk.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np
from halftruth_shared import Attribute
from halftruth_shared.analyses.base import Target
from halftruth_shared.mechanisms.reconstruction import COVARIANCE_CELLS

from .answers import answered, answers_of
from .association import collapse, known_covariance
from .bounds import Array
from .estimator import Estimator
from .gradients import Jet
from .ratios import ConditionalShares, Ratios, conditional_shares


def option_code(attribute: Attribute) -> int | None:
    """Code that means that an option is chosen: of its item, or the second of two answers.

    None where there is neither.
    """
    items = np.flatnonzero(attribute.item_mask)
    if len(items) == 1:
        return int(items[0])
    answers = np.flatnonzero(~attribute.missing_mask)
    return int(answers[1]) if len(answers) == 2 else None


@dataclass(frozen=True, eq=False)
class Number:
    """Mean number of options that people choose, with its variance."""

    mean: float
    variance: float


class Options:
    """Tables of some options among those who answered them.

    Parameters
    ----------
    codes : mapping of str to int
        Of each attribute, the code that means that it is chosen.
    """

    def __init__(self, estimator: Estimator, codes: Mapping[str, int], target: Target) -> None:
        self._estimator = estimator
        self._schema = estimator.schema
        self._codes = dict(codes)
        self._target: Target = target
        # Those of pairs are asked for three times.
        self.table = cache(self._table)
        self._everybody = cache(self._whole_table)
        self.names = tuple(codes)

    def _attribute(self, name: str) -> Attribute:
        return self._schema.attributes[self._schema.position(name)]

    def _table(self, *names: str) -> tuple[Array, Array]:
        """Supports of shape (2, …, 2) of those who answered, and their covariance.

        What is missing is how much their sum is below 1.
        """
        support, covariance = answered(self._schema, *self._everybody(*names), names)
        return collapse(support, covariance, [self._place(name) for name in names])

    def _whole_table(self, *names: str) -> tuple[Array, Array]:
        """Supports of all categories, and their covariance."""
        table = self._estimator.table(names)
        return table.support, known_covariance(table, self._target)

    def pairs(self) -> list[tuple[str, str]]:
        """All pairs of options; none where reports tell of one attribute at a time."""
        return list(combinations(self.names, 2)) if self._estimator.max_order > 1 else []

    def answer(self, name: str) -> str:
        """The category that means that an option is chosen."""
        return self._attribute(name).categories[self._codes[name]]

    def _place(self, name: str) -> int:
        """Return the place among its answers that means that an option is chosen."""
        return answers_of(self._attribute(name)).index(self.answer(name))

    def shares(self, names: Sequence[str], confidence: float) -> ConditionalShares:
        """Shares of those who chose some and not others of these, of those who answered."""
        return conditional_shares(*self.table(*names), [], confidence)

    def number(self) -> Number:
        """Return the mean number of options that people choose, from the tables of all pairs.

        Without these, errors are unknown, unless there is one option alone.
        """
        gradients: dict[str, Array] = {}
        mean = variance = 0.0
        for name in self.names:
            attribute, (support, covariance) = self._attribute(name), self._everybody(name)
            answered = ~attribute.missing_mask
            chosen = np.arange(len(answered)) == self._codes[name]
            base = float(support @ answered)
            share = float(support @ chosen) / base if base > 0 else np.nan
            gradient = (chosen - share * answered) / base
            gradients[name] = gradient
            mean += share
            variance += float(gradient @ covariance @ gradient)
        if len(self.names) > 1 and self._estimator.max_order < 2:
            return Number(mean, np.nan)
        for one, other in self.pairs():
            _, covariance = self._everybody(one, other)
            sizes = (len(gradients[one]), len(gradients[other]))
            variance += 2 * float(
                np.repeat(gradients[one], sizes[1])
                @ covariance
                @ np.tile(gradients[other], sizes[0])
            )
        return Number(mean, variance)

    def combined(self, longest: int, most: int) -> list[tuple[str, ...]]:
        """At most so many sets of three options or more, no longer than reports tell of.

        Each set is of those who answered all of it, so that a rare subset rules none out. Where
        there are too many, they are of those options that are chosen most often.
        """
        cells = [len(self._attribute(name).categories) for name in self.names]
        longest = min(longest, self._estimator.max_order)
        while math.prod(sorted(cells)[-longest:]) > COVARIANCE_CELLS:
            longest -= 1
        kept = sorted(self.names, key=lambda name: -self.shares([name], 0.95).share[1])
        while sum(math.comb(len(kept), k) for k in range(3, longest + 1)) > most:
            kept.pop()
        ordered = [name for name in self.names if name in kept]
        return [each for k in range(3, longest + 1) for each in combinations(ordered, k)]


def lift(support: Array, covariance: Array) -> Ratios:
    """Ratio of those who chose both of two options to as many as would by chance.

    Parameters
    ----------
    support : ndarray, shape (2, 2)
    covariance : ndarray, shape (4, 4)

    Examples
    --------
    >>> table = np.array([[0.5, 0.1], [0.1, 0.3]])
    >>> covariance = (np.diag(table.ravel()) - np.outer(table.ravel(), table.ravel())) / 999
    >>> estimate = lift(table, covariance)
    >>> [round(float(number), 3) for number in (estimate.value, *estimate.interval(1.96))]
    [1.875, 1.758, 2.0]
    """
    cells = Jet.variables(support)
    both, everybody = cells[1, 1], cells.sum()[0, 0]
    return Ratios.of([both, everybody], [cells.sum(1)[1, 0], cells.sum(0)[0, 1]], covariance)
