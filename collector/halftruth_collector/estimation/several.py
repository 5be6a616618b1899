"""Options of which people choose several: how many each of them chooses, and which go together.

All are functions of tables of two places along every axis, not chosen and chosen, of those who
answered all of its options. What is missing is a part of the table that is left out, so every share
is a ratio a/x with the error of how many answered (:mod:`.conditional`).

The mean number of options that a person chooses is the sum of their shares r = a/x. The covariance
of two of these is cᵀ C c′ with the covariance C of the table of both attributes and the gradients
c = (1[chosen] − r·1[answered])/x along each: margins of larger tables are the smaller ones, so no
table of all options is needed. That of the number itself is known by the pairs, too, since
E K² = Σ r_j + 2 Σ r_jk.

The lift of a pair has its interval on the logarithmic scale. Where both together cannot be told
from nobody it begins at 0, and where one of the options cannot, it has no upper end.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations

import numpy as np
from halftruth_shared import Attribute, Schema
from halftruth_shared.analyses.base import Target

from .answered import answered, answers_of
from .bounds import Array, normal_quantile
from .conditional import ConditionalShares, conditional_shares
from .delta_method import collapse, known_covariance
from .estimator import Estimator
from .itemsets import Criteria, Itemsets, examine_levels, select_itemsets
from .jets import Jet

#: Standard errors by which what is divided by has to be above 0, whatever the confidence.
_CLEAR = normal_quantile(0.05)


def option_code(attribute: Attribute) -> int | None:
    """Code that means that an option is chosen: of its item, or the second of two answers.

    None where there is neither.
    """
    items = np.flatnonzero(attribute.item_mask)
    if len(items) == 1:
        return int(items[0])
    given = np.flatnonzero(~attribute.missing_mask)
    return int(given[1]) if len(given) == 2 else None


@dataclass(frozen=True, eq=False)
class Number:
    """How many options people choose: mean, its variance, and the variance of the number."""

    mean: float
    variance: float
    spread: float


@dataclass(frozen=True, eq=False)
class RatioToIndependence:
    """A lift, with the standard error of its logarithm; all NaN where it is undefined."""

    value: float
    standard_error: float
    lower: float
    upper: float


class Options:
    """Tables of some options among those who answered them.

    Parameters
    ----------
    estimator : Estimator
    codes : mapping of str to int
        Of each attribute, the code that means that it is chosen.
    target : {"population", "respondents"}
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
        return list(combinations(self.names, 2)) if self._estimator.longest > 1 else []

    def _chosen_or_not(self, name: str) -> Attribute:
        chosen = self._attribute(name).categories[self._codes[name]]
        return Attribute(name, (f"not {chosen}"[:256], chosen), (chosen,))

    def _place(self, name: str) -> int:
        """Where among its answers an option is chosen."""
        attribute = self._attribute(name)
        return answers_of(attribute).index(attribute.categories[self._codes[name]])

    def shares(self, names: Sequence[str], confidence: float) -> ConditionalShares:
        """Shares of those who chose some and not others of these, of those who answered."""
        return conditional_shares(*self.table(*names), [], confidence)

    def number(self) -> Number:
        """How many of the options people choose, from the tables of all pairs.

        Without these, errors are unknown, unless there is one option alone.
        """
        gradients: dict[str, Array] = {}
        mean = variance = squares = 0.0
        for name in self.names:
            attribute, (support, covariance) = self._attribute(name), self._everybody(name)
            given = ~attribute.missing_mask
            chosen = np.arange(len(given)) == self._codes[name]
            base = float(support @ given)
            share = float(support @ chosen) / base if base > 0 else np.nan
            gradient = (chosen - share * given) / base
            gradients[name] = gradient
            mean, squares = mean + share, squares + share
            variance += float(gradient @ covariance @ gradient)
        if len(self.names) > 1 and self._estimator.longest < 2:
            return Number(mean, np.nan, np.nan)
        for one, other in self.pairs():
            _, covariance = self._everybody(one, other)
            sizes = (len(gradients[one]), len(gradients[other]))
            variance += 2 * float(
                np.repeat(gradients[one], sizes[1])
                @ covariance
                @ np.tile(gradients[other], sizes[0])
            )
            support, _ = self.table(one, other)
            squares += 2 * float(support[1, 1] / support.sum())
        return Number(mean, variance, squares - mean**2 + variance)

    def combinations(self, criteria: Criteria) -> Itemsets:
        """Sets of options that enough people choose together, of those who answered them all.

        They are no longer than reports tell of.
        """
        longest = min(criteria.max_length or len(self.names), self._estimator.longest)
        criteria = replace(criteria, max_length=longest)
        # Itemsets are mined among what is left once answers are only not chosen and chosen.
        schema = Schema(tuple([self._chosen_or_not(name) for name in self.names]))

        def tables(subsets: Iterable[tuple[int, ...]]) -> Iterator[_Supports]:
            for positions in subsets:
                found = self.shares([self.names[j] for j in positions], criteria.confidence)
                yield _Supports(found.share, found.variance)

        examined = examine_levels(schema, tables, self._estimator.reports, criteria)
        return select_itemsets(schema, examined, examined.support, criteria)


@dataclass(frozen=True, eq=False)
class _Supports:
    """Shares of those who answered, in the place of a table."""

    support: Array
    found: Array

    def variance(self, _: Target = "population") -> Array:
        """Of the target that they were estimated for."""
        return self.found


def lift(support: Array, covariance: Array, confidence: float) -> RatioToIndependence:
    """Ratio of those who chose both of two options to as many as would by chance.

    Parameters
    ----------
    support : ndarray, shape (2, 2)
    covariance : ndarray, shape (4, 4)
    confidence : float

    Examples
    --------
    >>> table = np.array([[0.5, 0.1], [0.1, 0.3]])
    >>> covariance = (np.diag(table.ravel()) - np.outer(table.ravel(), table.ravel())) / 999
    >>> found = lift(table, covariance, 0.95)
    >>> round(found.value, 3), round(found.lower, 3), round(found.upper, 3)
    (1.875, 1.758, 2.0)
    """
    cells = Jet.variables(support)
    both, first, second = cells[1, 1], cells.sum(1)[1, 0], cells.sum(0)[0, 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = [jet.positive().log() for jet in (both, cells.sum()[0, 0], first, second)]
        found = logs[0] + logs[1] - logs[2] - logs[3]

        def error(jet: Jet) -> float:
            gradient = jet.gradient.ravel()
            return float(np.sqrt(np.maximum(gradient @ covariance @ gradient, 0.0)))

        logarithm, deviation = float(found.value), error(found)
        if not np.isfinite(logarithm):
            return RatioToIndependence(*[np.nan] * 4)
        z = normal_quantile(1 - confidence)
        told = max(z, _CLEAR)
        clear = [float(jet.value) > told * error(jet) for jet in (both, first, second)]
        value, lower, upper = np.exp(
            [logarithm, logarithm - z * deviation, logarithm + z * deviation]
        )
    if np.isnan(deviation):
        return RatioToIndependence(float(value), np.nan, np.nan, np.nan)
    return RatioToIndependence(
        float(value),
        deviation,
        float(lower) if clear[0] else 0.0,
        float(upper) if clear[1] and clear[2] else np.inf,
    )
