"""Association of two scales: polychoric correlation, and the test for trend.

Scales are ordered answers that cut two normal variables with correlation ρ at thresholds
(Olsson 1979). The estimate is in two steps: the thresholds follow from the margins of the table
π̂, and ρ from the score equation

    s(ρ) = f(ρ)ᵀ (π̂ − P(ρ)) = 0,    f(ρ) = V(ρ)⁺ P′(ρ),

with P(ρ) the table that the thresholds and ρ imply, P′ its derivative, and V(ρ) the covariance that
the reports have if P(ρ) is the true table. It is the best linear combination of the departures from
P(ρ). Without perturbation f = P′/P, so that s is the score of the multinomial likelihood with fixed
thresholds, and ρ̂ the two-step polychoric correlation. No assumption about the mechanism is needed.

The thresholds are estimated, too. To first order s(ρ) is g(ρ)ᵀ(π̂ − P(ρ)), where g has the slopes of
the thresholds in the margins besides f. Its variance gᵀVg gives the score test of each ρ, and so
the interval: all ρ that it does not reject, after the correction for skewness of `independence`.

Tables of more than two by two cells are tested for normal variables: departures from P(ρ̂) that are
too large at a level of 1 % leave the correlation undefined. The test of ρ = 0 does not need them.

The test for trend is the score test of the linear-by-linear term of a loglinear model (Agresti
2013, section 2.5): answers are independent, against shares π_i+ π_+j (1 + β u_i v_j), with u and v
the centred ranks of the answers. Of all linear combinations of the departures from independence,
its form is the one that is most powerful for small β by these reports. Without perturbation it is
Mantel's test, (N − 1) r².
"""

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy
from halftruth_shared import ParameterError, Schema
from halftruth_shared.deadlines import check_deadline
from halftruth_shared.results import QUANTITIES

from .answers import answer_codes
from .bounds import Array, significantly_positive
from .derived import merged, restricted
from .estimates import Estimates, positive
from .estimator import Estimator
from .groups import in_detail
from .independence import unskewed
from .intervals import ConfidenceSets
from .merging import Merging, rare_merged
from .table import SOMEBODY, Table

#: Smallest number of answers of a scale.
LEAST_ANSWERS = 3

#: Nodes and weights of the integral of a bivariate normal density, from 0 to 1.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(48)
_NODES, _WEIGHTS = (_NODES + 1) / 2, _WEIGHTS / 2

#: Largest absolute correlation that is examined. A set that contains it extends to ±1.
LARGEST = 0.995

#: Correlations between which the ends of a set are searched.
_GRID = np.tanh(np.linspace(-np.arctanh(LARGEST), np.arctanh(LARGEST), 9))

#: Smallest share of a cell that is computed from thresholds; smaller ones are rounding errors.
_LEAST_SHARE = 1e-12

#: Directions in which the covariance of a table is below this part of its largest are known.
_KNOWN = 1e-10

#: Reason why ranks have no correlation.
NO_VARIANCE = "the estimated variance of the ranks is not above 0"

#: Level of the test that normal variables are behind the answers.
CONTRADICTED = 0.01

#: Reasons why there is no correlation.
NOT_NORMAL = "the reports contradict normal variables behind the answers"
UNCLEAR_MARGIN = "a share that it rests on is not significantly above zero"
NO_ERROR = "the reports do not determine the error of the table"
UNIDENTIFIED_ERRORS = "one report shows no error"


def scales_of(schema: Schema) -> frozenset[str]:
    """Return the names of ordered attributes with three answers or more in detail."""
    return frozenset(
        each.name
        for each in in_detail(schema).attributes
        if each.ordered and len(answer_codes(each)) >= LEAST_ANSWERS
    )


def are_scales(schema: Schema, names: Collection[str]) -> bool:
    """Return whether all attributes are ordered, with three answers or more in detail."""
    return scales_of(schema).issuperset(names)


def table_of_scales(estimator: Estimator, names: Sequence[str]) -> Table:
    """Return the table of two scales, of the people who answered both.

    Rare neighbouring answers are merged, as in `rare_merged`: this changes no correlation of the
    variables behind them.
    """
    return _without_rare(estimator, names)[0]


def _without_rare(
    estimator: Estimator, names: Sequence[str]
) -> tuple[Table, list[list[list[int]]]]:
    """Return the table of two scales, and the answers that make up its categories."""
    schema = estimator.schema
    about = [schema.attributes[schema.position(name)] for name in names]
    rare = {
        each.name: groups
        for each in about
        if (groups := rare_merged(each, estimator.table([each.name])))
    }
    merging = Merging(schema, rare)
    table = _answered(merging.schema, merged(estimator.pair(names), merging.parts))
    parts = [merging.parts.get(each.name) or [[c] for c in answer_codes(each)] for each in about]
    answers = [set(answer_codes(each)) for each in about]
    return table, [
        [codes for codes in each if answers[axis].issuperset(codes)]
        for axis, each in enumerate(parts)
    ]


def answered_pair(estimator: Estimator, names: Sequence[str]) -> Table:
    """Return the table of the people who answered two scales."""
    return _answered(estimator.schema, estimator.pair(names))


def _answered(schema: Schema, table: Table) -> Table:
    kept = [answer_codes(schema.attributes[schema.position(name)]) for name in table.axes]
    if all(len(codes) == size for codes, size in zip(kept, table.value.shape, strict=True)):
        return table
    return restricted(table, 2, kept)


class Binormal(NamedTuple):
    """A table of two normal variables that are cut at thresholds.

    Attributes
    ----------
    rows, columns : ndarray, shapes (R − 1,) and (C − 1,)
        Thresholds, in increasing order.
    """

    rows: Array
    columns: Array

    @classmethod
    def of_margins(cls, rows: Array, columns: Array) -> "Binormal":
        """Return the thresholds for positive shares of the answers to both questions."""
        return cls(*(scipy.special.ndtri(np.cumsum(each)[:-1]) for each in (rows, columns)))

    def shares(self, correlation: float) -> Array:
        """Return the share of each cell, shape (R, C).

        The distribution function is Φ(h)Φ(k) plus the integral of the density over the correlation,
        by its arc sine (Drezner & Wesolowsky 1990).
        """
        h, k = self.rows[:, None, None], self.columns[None, :, None]
        end = np.arcsin(correlation)
        angle = end * _NODES
        density = np.exp(-((h**2 + k**2) / 2 - h * k * np.sin(angle)) / np.cos(angle) ** 2)
        below = np.multiply.outer(*map(scipy.special.ndtr, self))
        return _cells(below + end * (density @ _WEIGHTS) / (2 * np.pi), *self._margins)

    @property
    def _margins(self) -> tuple[Array, Array]:
        return scipy.special.ndtr(self.rows), scipy.special.ndtr(self.columns)

    def slopes(self, correlation: float) -> Array:
        """Return the derivatives of `shares` by the correlation: densities at the corners."""
        h, k = self.rows[:, None], self.columns[None]
        free = 1 - correlation**2
        density = np.exp(-(h**2 - 2 * correlation * h * k + k**2) / (2 * free))
        density /= 2 * np.pi * np.sqrt(free)
        return _cells(density, np.zeros(len(self.rows)), np.zeros(len(self.columns)), 0.0)

    def through_thresholds(self, correlation: float, forms: Array) -> Array:
        """Return the slopes of a form of `shares` by the margins, through the thresholds.

        Parameters
        ----------
        forms : ndarray, shape (R, C)

        Returns
        -------
        ndarray, shape (R, C)
            Change of the form Σ f P for one more share in each cell of the table whose margins
            determine the thresholds.
        """
        by_row, by_column = (
            np.append(np.cumsum(each[::-1])[::-1], 0.0)
            for each in (
                _by_threshold(self.rows, self.columns, correlation, forms),
                _by_threshold(self.columns, self.rows, correlation, forms.T),
            )
        )
        return np.asarray(by_row[:, None] + by_column)


def _by_threshold(own: Array, others: Array, correlation: float, forms: Array) -> Array:
    """Return the slopes of a form by the share below each threshold of the rows."""
    ends = np.concatenate([[-np.inf], others, [np.inf]])
    at = (ends - correlation * own[:, None]) / np.sqrt(1 - correlation**2)
    return np.asarray((-np.diff(forms, axis=0) * np.diff(scipy.special.ndtr(at), axis=1)).sum(1))


def _cells(below: Array, rows: Array, columns: Array, everything: float = 1.0) -> Array:
    """Return the shares of cells from the distribution function at the corners."""
    whole = np.zeros((len(rows) + 2, len(columns) + 2))
    whole[1:-1, 1:-1], whole[1:-1, -1], whole[-1, 1:-1] = below, rows, columns
    whole[-1, -1] = everything
    return np.asarray(np.diff(np.diff(whole, axis=0), axis=1))


@dataclass(frozen=True, eq=False)
class Score:
    """Score s of a hypothesis about a table, a linear form of the departures from it.

    Attributes
    ----------
    form : ndarray, shape (cells,)
        g, the form of the table whose departure from its mean is the score.
    null : ndarray, shape of the table
        Its shares under the hypothesis.
    value : float
        s.
    variance : float
        Of s under the hypothesis; 0 if the reports do not determine it.
    slope : float
        Derivative of the mean of s by the parameter.
    """

    form: Array
    null: Array
    value: float
    variance: float
    slope: float

    def z(self, table: Table) -> float:
        """Return s in standard errors, corrected for its skewness; NaN without a variance."""
        ratio = self.ratio
        if table.logit:
            return ratio
        third = table.third_moment(self.form[None], self.null)
        return float(unskewed(np.array([ratio]), third / self.variance**1.5)[0])

    @property
    def ratio(self) -> float:
        """The score in standard errors; NaN without a variance."""
        return self.value / math.sqrt(self.variance) if self.variance > 0 else math.nan

    def moved(self, table: Table) -> float:
        """Return by how much one false report can move the statistic towards 0."""
        null = None if table.logit else self.null
        [fall] = table.largest_falls(np.sign(self.value) * self.form[None], null)
        return float(fall * abs(self.z(table) / self.value)) if self.value else math.nan


def covariance_under(table: Table, null: Array) -> Array:
    """Return the covariance of the cells if a table is the true one; a model's, if it has none."""
    return table.identified_covariance() if table.logit else table.covariance(shares=null)


def _solved(covariance: Array, direction: Array) -> Array:
    """Return V⁺ d."""
    inverse = np.linalg.pinv(covariance, rcond=_KNOWN, hermitian=True)
    return np.asarray(inverse @ direction.ravel())


@dataclass(frozen=True, eq=False)
class Polychoric:
    """Polychoric correlation of the two questions of a table, all of whose margins are positive."""

    table: Table

    @cached_property
    def _large(self) -> Table:
        return self.table.sampled(0.0)

    @cached_property
    def thresholds(self) -> Binormal:
        value = self.table.value
        return Binormal.of_margins(value.sum(axis=1), value.sum(axis=0))

    @cached_property
    def _scores(self) -> dict[float, Score]:
        return {}

    def score(self, correlation: float) -> Score:
        """Return the score of the hypothesis that the correlation has this value."""
        found = self._scores.get(correlation)
        if found is None:
            found = self._scores[correlation] = self._score(correlation)
        return found

    def _score(self, correlation: float) -> Score:
        check_deadline()
        shares = self.thresholds.shares(correlation)
        null = np.maximum(shares, _LEAST_SHARE)
        null /= null.sum()
        slopes = self.thresholds.slopes(correlation)
        spread = covariance_under(self._large, null)
        # The length of the direction does not matter, and can be near 0 at the ends.
        form = _solved(spread, slopes / np.abs(slopes).max()).reshape(shares.shape)
        own = form - self.thresholds.through_thresholds(correlation, form)
        if self.table.fraction:
            spread = covariance_under(self.table, null)
        return Score(
            form=own.ravel(),
            null=null,
            value=float((form * (self.table.value - shares)).sum()),
            variance=float(own.ravel() @ spread @ own.ravel()),
            slope=float(-(form * slopes).sum()),
        )

    def fit(self) -> float:
        """Return the p-value of the test that normal variables are behind the answers.

        The departures from P(ρ̂) have (R − 1)(C − 1) − 1 degrees of freedom, so two questions of two
        answers each have no test: NaN.
        """
        value, size = self.table.value, self.table.value.size
        freedom = (value.shape[0] - 1) * (value.shape[1] - 1) - 1
        if freedom < 1 or not abs(self.root) < 1:
            return math.nan
        score, slopes = self.score(self.root), self.thresholds.slopes(self.root).ravel()
        units = np.eye(size).reshape(size, *value.shape)
        moved = [self.thresholds.through_thresholds(self.root, unit).ravel() for unit in units]
        onto = np.eye(size) - np.array(moved) + np.outer(slopes, score.form) / score.slope
        spread = onto @ covariance_under(self._large, score.null) @ onto.T
        departures = (value - self.thresholds.shares(self.root)).ravel()
        statistic = max(float(departures @ _solved(spread, departures)), 0.0)
        return float(scipy.special.gammaincc(freedom / 2, statistic / 2))

    def variance_of(self, form: Array, correlation: float) -> float:
        """Return the variance of a form of the table if the correlation has some value."""
        null = np.maximum(self.thresholds.shares(correlation), _LEAST_SHARE)
        return float(form @ covariance_under(self.table, null / null.sum()) @ form)

    def statistic(self, correlation: float) -> float:
        """Return the score in standard errors, corrected for skewness."""
        return self.score(correlation).z(self.table)

    @cached_property
    def root(self) -> float:
        """The estimate; ±1 if the score has no root within `LARGEST`."""
        values = [self.score(each).ratio for each in _GRID.tolist()]
        if not np.isfinite(values).all():
            return math.nan
        falls = [k for k in range(len(_GRID) - 1) if values[k] > 0 >= values[k + 1]]
        if not falls:
            return 1.0 if values[-1] > 0 else -1.0
        # Of several roots, that with the largest rise before and fall after it.
        place = max(falls, key=lambda k: values[k] - values[k + 1])
        return self._crossing(lambda each: self.score(each).ratio, _GRID[place], _GRID[place + 1])

    @staticmethod
    def _crossing(function: Callable[[float], float], low: float, high: float) -> float:
        return float(scipy.optimize.brentq(function, low, high, xtol=1e-8, rtol=1e-7))

    @cached_property
    def error(self) -> float:
        """Standard error by the delta method; NaN at the ends of the scale."""
        if not abs(self.root) < 1:
            return math.nan
        score = self.score(self.root)
        return math.sqrt(score.variance) / abs(score.slope) if score.variance > 0 else math.nan

    def sets(self, quantile: float) -> ConfidenceSets:
        """Return the correlations that the score test does not reject, as an interval."""
        if np.isnan(self.root):
            return ConfidenceSets.intervals(np.nan, np.nan)
        ends = []
        for way in (-1, 1):
            inside = float(np.clip(self.root, -LARGEST, LARGEST))
            beyond = [each for each in _GRID[::way].tolist() if way * (each - inside) > 0]
            end = float(way)
            for each in beyond:
                if -way * self.statistic(each) > quantile:

                    def excess(place: float, way: int = way) -> float:
                        return -way * self.statistic(place) - quantile

                    end = each if excess(inside) >= 0 else self._crossing(excess, inside, each)
                    break
                inside = each
            ends.append(end)
        return ConfidenceSets.intervals(*ends)


def correlation_of(table: Table) -> Estimates:
    """Return the polychoric correlation of the two questions of a table, with the test of 0.

    Undefined if the share of an answer is not significantly above zero.
    """
    of = QUANTITIES["polychoric"]
    nothing = np.full(1, np.nan)

    def undefined(reason: str) -> Estimates:
        return Estimates(
            of,
            nothing,
            nothing,
            lambda _: ConfidenceSets.intervals(nothing, nothing),
            undefined=[reason],
        )

    if table.reports < 2:
        return undefined(UNIDENTIFIED_ERRORS)
    if not with_clear_margins(table):
        return undefined(UNCLEAR_MARGIN)
    found = Polychoric(table)
    if np.isnan(found.root):
        return undefined(NO_ERROR)
    score = found.score(0.0)
    z = score.z(table)
    # Independent answers fit whatever is behind them, so the test holds in any case.
    fits = not found.fit() < CONTRADICTED
    return Estimates(
        of,
        np.array([found.root]) if fits else nothing,
        np.array([found.error]) if fits else nothing,
        found.sets if fits else lambda _: ConfidenceSets.intervals(nothing, nothing),
        undefined=None if fits else [NOT_NORMAL],
        statistic=np.array([z]),
        p_value=np.array([2 * scipy.special.ndtr(-abs(z))]),
        moved=np.array([score.moved(table)]),
    )


def score_correlation_of(estimator: Estimator, names: Sequence[str]) -> Estimates:
    """Return the correlation of the ranks of the answers to two scales, with the test for trend.

    People with a missing answer are left out. The test merges rare neighbouring answers, whose
    ranks are then the mean of both.
    """
    of = QUANTITIES["score_correlation"]
    found = Estimates.contrast(answered_pair(estimator, names), correlation_of_ranks, of)
    if np.isnan(found.value).any():
        found = replace(found, undefined=[NO_VARIANCE])
    coarse, parts = _without_rare(estimator, names)
    if coarse.reports < 2 or not with_clear_margins(coarse):
        return found
    trend = trend_score(coarse, *(_mean_ranks(each) for each in parts))
    z = trend.z(coarse)
    return replace(
        found,
        statistic=np.array([z]),
        p_value=np.array([2 * scipy.special.ndtr(-abs(z))]),
        moved=np.array([trend.moved(coarse)]),
    )


def correlation_of_ranks(people: Any) -> Any:
    """Return the product-moment correlation of ranks in a table (R, C, …), shape (1, …)."""
    total = positive(people.sum(axis=(0, 1)))
    ranks = [np.arange(size, dtype=np.float64) for size in people.shape[:2]]

    def mean(rows: Array, columns: Array) -> Any:
        return np.einsum("ij...,i,j->...", people, rows, columns) / total

    even = [np.ones_like(each) for each in ranks]
    first, second = mean(ranks[0], even[1]), mean(even[0], ranks[1])
    spread = mean(ranks[0] ** 2, even[1]) - first**2, mean(even[0], ranks[1] ** 2) - second**2
    error = (positive(spread[0]) * positive(spread[1])) ** 0.5
    return ((mean(*ranks) - first * second) / error)[None]


def _mean_ranks(parts: Sequence[Sequence[int]]) -> Array:
    """Return the mean rank of the answers in each merged category."""
    order = sorted(code for codes in parts for code in codes)
    return np.array([np.mean([order.index(code) for code in codes]) for codes in parts])


def trend_score(table: Table, rows: Array, columns: Array) -> Score:
    """Return the score of the linear-by-linear term in a table of independent answers.

    Parameters
    ----------
    rows, columns : ndarray
        Scores of the answers.
    """
    value = table.value
    of_rows, of_columns = value.sum(axis=1), value.sum(axis=0)
    null = np.multiply.outer(of_rows, of_columns)
    centred = rows - of_rows @ rows, columns - of_columns @ columns
    direction = (null * np.multiply.outer(*centred)).ravel()
    cells = np.eye(value.size).reshape(*value.shape, -1)
    onto = cells - of_columns[:, None] * cells.sum(axis=1, keepdims=True)
    onto -= of_rows[:, None, None] * cells.sum(axis=0, keepdims=True)
    onto = onto.reshape(value.size, -1)
    large, own = (covariance_under(each, null) for each in (table.sampled(0.0), table))
    form = _solved(onto @ large @ onto.T, direction)
    departures = onto.T @ form
    return Score(
        form=departures,
        null=null,
        value=float(form @ (value - null).ravel()),
        variance=float(departures @ own @ departures),
        slope=-float(form @ direction),
    )


def with_clear_margins(table: Table) -> bool:
    """Return whether the shares of all answers are significantly above zero."""
    large = table.sampled(0.0)
    for axis in range(2):
        share, error = large.margin([axis])
        # Reports that state the answers have no error in a share of 0.
        if not (significantly_positive(share, np.nan_to_num(error)) & (share > SOMEBODY)).all():
            return False
    return True


#: Measures of two scales, by name.
_MEASURES: dict[str, Callable[[Estimator, Sequence[str]], Estimates]] = {
    "polychoric": lambda estimator, names: correlation_of(table_of_scales(estimator, names)),
    "score_correlation": score_correlation_of,
}


def estimate_scales(estimator: Estimator, names: Sequence[str], measure: str) -> Estimates:
    """Return one of `SCALE_NAMES` of two scales, with its test.

    Raises
    ------
    ParameterError
        If these are not two scales.
    """
    if len(names) != 2 or not are_scales(estimator.survey.schema, names):
        raise ParameterError(
            f"measures: {measure} is of two ordered questions of {LEAST_ANSWERS} answers or more",
            field="measures",
        )
    return _MEASURES[measure](estimator, names)
