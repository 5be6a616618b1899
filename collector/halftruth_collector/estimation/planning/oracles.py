"""Frequency oracles of the literature, planned by closed formulas.

A frequency oracle is a protocol for one question under local differential privacy: each report
*supports* some of the answers, the true one with probability p and every other one with q, and the
number of reports that support an answer gives an unbiased estimate of its share (pure protocols:
Wang, Blocki, Li & Jha 2017, USENIX Security, "Locally differentially private protocols for
frequency estimation"). Subset selection is that of Ye & Barg (2018, IEEE Transactions on
Information Theory 64(8)). Tables of several questions need more than p and q: the probabilities
with which a report supports two answers together. No reports of this kind are collected here.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property

import numpy as np
from halftruth_shared import EstimateError, Schema
from halftruth_shared.analyses.base import Target
from halftruth_shared.channels.axes import Array
from halftruth_shared.rational import as_float, root_below

from ..identified import IdentifiedSets
from ..table import Table
from ..variances import UnitVariance, effective_reports, variance

#: Largest second moment that is computed with; its square is a floating-point number.
_MOST = 1e150

#: Share of all people that is a rounding error.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Support:
    """Probabilities with which a report about one question supports answers.

    Attributes
    ----------
    true, other : Fraction
        p and q: of the true answer, and of any other answer.
    with_true, two_others : Fraction
        Of the true answer and another one together, and of two other answers together.
    """

    true: Fraction
    other: Fraction
    with_true: Fraction
    two_others: Fraction


def k_ary_response(gamma: Fraction, answers: int) -> Support:
    """Return the answer itself with probability γ/(γ + n − 1), or any other one equally likely."""
    total = gamma + answers - 1
    return Support(gamma / total, 1 / total, Fraction(0), Fraction(0))


def optimized_unary_encoding(gamma: Fraction, answers: int) -> Support:
    """Return a bit for each answer: 1 for the true one with 1/2, for others with 1/(γ + 1)."""
    true, other = Fraction(1, 2), 1 / (gamma + 1)
    return Support(true, other, true * other, other**2)


def optimized_local_hashing(gamma: Fraction, answers: int) -> Support:
    """Return a random hash function into γ + 1 values, with the k-ary response to the hash.

    γ + 1 is rounded. Hashes of different answers are independent.
    """
    values = max(2, round(gamma + 1))
    true, other = gamma / (gamma + values - 1), Fraction(1, values)
    return Support(true, other, true * other, other**2)


def subset_selection(gamma: Fraction, answers: int) -> Support:
    """Return a set of about n/(γ + 1) answers, γ times as likely if the true one is among them.

    Of the two sizes next to n/(γ + 1), the one with the smaller variance of a rare answer is taken.
    """
    size = math.floor(answers / (gamma + 1))
    sizes = {min(max(each, 1), answers - 1) for each in (size, size + 1)}
    return min((_subsets(gamma, answers, each) for each in sorted(sizes)), key=_variance_of_rare)


def _subsets(gamma: Fraction, answers: int, size: int) -> Support:
    true = gamma * size / (gamma * size + answers - size)
    rest = Fraction(answers - 1)
    other = (true * (size - 1) + (1 - true) * size) / rest
    two = Fraction(0)
    if answers > 2:
        with_it, without = (size - 1) * (size - 2), size * (size - 1)
        two = (true * with_it + (1 - true) * without) / (rest * (rest - 1))
    return Support(true, other, true * (size - 1) / rest, two)


def _variance_of_rare(support: Support) -> Fraction:
    return support.other * (1 - support.other) / (support.true - support.other) ** 2


#: Support of the reports by γ and the number of answers, for each frequency oracle.
ORACLES: dict[str, Callable[[Fraction, int], Support]] = {
    "k-ary randomized response": k_ary_response,
    "optimized unary encoding": optimized_unary_encoding,
    "optimized local hashing": optimized_local_hashing,
    "subset selection": subset_selection,
}


@dataclass(frozen=True)
class Moments:
    """Second moments of the weights of one report for the cells of a table.

    A share is estimated by the mean of a weight of each report, whose expectation is 1 for people
    in the cell, and otherwise 0.

    Attributes
    ----------
    own, other : float
        Expected squared weight for a cell of a person in it, and of another one.
    with_own, two_others : float
        Expected product of the weights for two cells, of a person in one of them, and in neither.
    """

    own: float
    other: float
    with_own: float
    two_others: float

    @classmethod
    def of(cls, support: Support, answers: int) -> "Moments":
        """Return the moments for cells that are sums of some number of answers each."""
        p, q, m = support.true, support.other, answers
        r, t = support.with_true, support.two_others
        # Expected numbers of supported answers of a cell, of people in it and of others.
        inside, outside = p + (m - 1) * q, m * q
        squared_inside = inside + 2 * (m - 1) * r + (m - 1) * (m - 2) * t
        squared_outside = outside + m * (m - 1) * t
        product = m * r + (m - 1) * m * t
        moments = (
            squared_inside - 2 * outside * inside + outside**2,
            squared_outside - outside**2,
            product - outside * inside,
            m**2 * t - outside**2,
        )
        return cls(*(_limited(each / (p - q) ** 2) for each in moments))


def _limited(moment: Fraction) -> float:
    return min(max(as_float(moment), -_MOST), _MOST)


#: Reports that state an answer unperturbed.
UNPERTURBED = Moments(1.0, 0.0, 0.0, 0.0)

#: Axes of a table whose answers one question of an oracle combines, with the moments of its cells.
Factor = tuple[tuple[int, ...], Moments]


@dataclass(eq=False)
class OracleTable(Table):
    """Expected table of a frequency oracle, or of several, one for each factor of the table.

    Reports of the factors are independent, so the weights of a cell are products.
    """

    axes: tuple[str, ...]
    shares: Array
    factors: Sequence[Factor]
    reports: int
    fraction: float = 0.0

    @property
    def value(self) -> Array:
        return self.shares

    @property
    def effective_reports(self) -> Array:
        """Effective reports, as if only the reports of a cell informed about it."""
        return effective_reports(self.reports, self.value)

    @cached_property
    def _order(self) -> list[int]:
        """Axes in the order of the factors."""
        return [axis for axes, _ in self.factors for axis in axes]

    def _by_factor(self, people: Array) -> Array:
        """Return a table with one axis for each factor."""
        sizes = [math.prod(people.shape[axis] for axis in axes) for axes, _ in self.factors]
        return people.transpose(self._order).reshape(sizes)

    def _squares(self, people: Array) -> Array:
        """Return the mean squared weight for each cell, if these are the shares of people."""
        squares = self._by_factor(people)
        for axis, (_, moments) in enumerate(self.factors):
            total = squares.sum(axis=axis, keepdims=True)
            squares = moments.other * total + (moments.own - moments.other) * squares
        shape = [people.shape[axis] for axis in self._order]
        return np.asarray(squares.reshape(shape).transpose(np.argsort(self._order)))

    def _products(self, people: Array) -> Array:
        """Return the mean product of the weights for each pair of cells, (cells, cells)."""
        products, count = self._by_factor(people), len(self.factors)
        for _, moments in self.factors:
            # The first axis becomes two of the pair, which are the last ones then.
            there = np.moveaxis(products, 0, -1)
            size, total = there.shape[-1], there.sum(axis=-1)[..., None, None]
            pairs = moments.two_others * total + (moments.with_own - moments.two_others) * (
                there[..., :, None] + there[..., None, :]
            )
            same = np.arange(size)
            pairs[..., same, same] = (
                moments.other * total[..., 0] + (moments.own - moments.other) * there
            )
            products = pairs
        # (first, second) of each factor in turn, to all first ones and all second ones.
        first, second = range(0, 2 * count, 2), range(1, 2 * count, 2)
        places = np.arange(float(people.size)).reshape(people.shape)
        position = np.argsort(self._by_factor(places).ravel())
        whole = products.transpose([*first, *second]).reshape(people.size, people.size)
        return np.asarray(whole[np.ix_(position, position)])

    def _variance(self, target: Target) -> Array:
        return variance(self._squares(self.shares), self.shares, self.reports, target)

    def _covariance(self, target: Target) -> Array:
        return self._covariance_at(self.shares, target) / (self.reports - 1)

    def _covariance_at(self, people: Array, target: Target) -> Array:
        flat = people.ravel()
        subtracted = np.outer(flat, flat) if target == "population" else np.diag(flat)
        return self._products(people) - subtracted

    def _expected_covariance(self, forms: Array, shares: Array) -> Array:
        if self.reports < 2:
            return np.full((len(forms), len(forms)), np.nan)
        target: Target = "population" if self.is_sample else "respondents"
        covariance = self._covariance_at(shares.reshape(self.shares.shape), target)
        return np.asarray(forms @ covariance @ forms.T / (self.reports - 1))

    def third_moment(self, forms: Array, shares: Array) -> Array:
        raise EstimateError(
            "estimate: the reports of frequency oracles have no score test; expected a mechanism",
            field="estimate",
        )

    def _unit_variance(self, target: Target) -> UnitVariance:
        return self.unit_variance_at(self.shares, target)

    def unit_variance_at(self, people: Array, target: Target) -> UnitVariance:
        """Return the unit variances, with other people in proportion to some shares."""
        own = math.prod(moments.own for _, moments in self.factors)
        others = people.sum() - people
        known = others > _ROUNDING * people.sum()
        rest = (self._squares(people) - own * people) / np.where(known, others, 1.0)
        return UnitVariance.of_weights(np.full(people.shape, own), rest, target)


class OracleTables:
    """Tables from a frequency oracle that asks for the whole record, or for each question.

    Public attributes are sent unperturbed. If each of M questions is asked, it has γ^(1/M).

    Parameters
    ----------
    schema : Schema
    oracle : str
        One of `ORACLES`.
    gamma : Fraction
        Amplification of all attributes that are not public, above 1.
    public : collection of str
        Attributes that are sent unperturbed.
    whole : bool
        Whether all combinations of answers are the answers of one question.
    """

    def __init__(
        self, schema: Schema, oracle: str, gamma: Fraction, public: frozenset[str], *, whole: bool
    ) -> None:
        self.schema, self.oracle, self.gamma = schema, oracle, gamma
        self.public, self.whole = public, whole

    @cached_property
    def _perturbed(self) -> int:
        return sum(name not in self.public for name in self.schema.names)

    def amplification(self, names: Sequence[str]) -> Fraction:
        """Return the amplification between records that differ in some attributes alone."""
        asked = sum(name not in self.public for name in names)
        if not asked:
            return Fraction(1)
        return self.gamma if self.whole else self._gamma_of_each**asked

    @cached_property
    def _gamma_of_each(self) -> Fraction:
        return self.gamma if self._perturbed == 1 else root_below(self.gamma, self._perturbed)

    @cached_property
    def identified_sets(self) -> IdentifiedSets:
        """All sets of attributes."""
        return IdentifiedSets.everything(len(self.schema.attributes))

    def identified(self, attributes: Sequence[str]) -> bool:
        """Return true; an unknown attribute raises SchemaError."""
        return self.schema.positions(attributes) in self.identified_sets

    @cached_property
    def _moments_of(self) -> Callable[[int, int], Moments]:
        """Moments by the number of answers that are asked together, and that of each cell."""
        support = ORACLES[self.oracle]
        gamma = self.gamma if self.whole else self._gamma_of_each
        return cache(lambda answers, of_cell: Moments.of(support(gamma, answers), of_cell))

    def _factors(self, attributes: Sequence[str]) -> list[Factor]:
        shape = [self.schema.shape[j] for j in self.schema.positions(attributes)]
        factors: list[Factor] = [
            ((axis,), UNPERTURBED) for axis, name in enumerate(attributes) if name in self.public
        ]
        asked = tuple(axis for axis, name in enumerate(attributes) if name not in self.public)
        if not self.whole:
            factors += [((axis,), self._moments_of(shape[axis], 1)) for axis in asked]
        elif asked:
            every = zip(self.schema.names, self.schema.shape, strict=True)
            answers = math.prod(size for name, size in every if name not in self.public)
            own = answers // math.prod(shape[axis] for axis in asked)
            factors.append((asked, self._moments_of(answers, own)))
        return factors

    def expected_table(self, attributes: Sequence[str], shares: Array, reports: int) -> OracleTable:
        """Return the table for a number of reports with exactly the expected frequencies."""
        return OracleTable(tuple(attributes), shares, self._factors(attributes), reports)

    def unit_variance(self, attributes: Sequence[str], target: Target) -> UnitVariance:
        """Return N times the variance of each cell, with other people evenly on other cells."""
        shape = tuple(self.schema.shape[j] for j in self.schema.positions(attributes))
        public = tuple(name in self.public for name in attributes)
        if (shape, public, target) not in self._variances:
            even = np.full(shape, 1 / math.prod(shape))
            found = self.expected_table(attributes, even, 1).unit_variance_at(even, target)
            self._variances[shape, public, target] = found
        return self._variances[shape, public, target]

    @cached_property
    def _variances(self) -> dict[tuple[object, ...], UnitVariance]:
        """Unit variances of tables, which depend on nothing but numbers of answers."""
        return {}
