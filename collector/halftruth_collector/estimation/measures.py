"""Association measures, each a function of a table of supports (Guo Table 3.6).

They are plain arithmetic on shares, so that a complex step gives the exact gradient of each (see
`estimates`).

Measures that are 0 at independence and never negative are corrected to second order.
Near independence such a measure g is a quadratic form of the departures of the estimates: its
gradient vanishes, it has the bias b = ½ tr(H V), with H its second derivative and V the covariance
of the table, and its variance is ∇ᵀV∇ + ½ tr((H V)²). So the estimate is g − b, truncated at 0. Its
interval contains every value θ within z standard errors of the estimate. The squared standard error
at θ is ½ tr((H V)²) + κθ with κ = ∇ᵀV∇/g, since ∇ᵀV∇ grows with θ as g does. At θ = 0 the estimate
is a centred weighted χ², and 95 % intervals exclude 0 in about 5 % of surveys.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add, mul
from typing import Any, Literal

import numpy as np
from halftruth_shared import ParameterError
from halftruth_shared.results import Quantity, quantity
from numpy.typing import NDArray

from .estimates import positive

#: Input of a measure: presence and absence of two attributes, or of any number of attributes, or
#: all categories.
Scope = Literal["pair", "itemset", "categories", "ordered"]


Limits = tuple[float, float]

#: Reasons why a measure of a table is undefined: it does not exist, or its bias is unknown.
REASONS = (
    "a category has no positive estimated share",
    "a cell has a negative estimate",
    "it divides by a cell whose estimate is 0",
    "a share that it rests on is not significantly above zero",
    "a cell is less than three standard errors above zero, too few for its logarithm",
)
_NO_CATEGORY, _OUTSIDE, _NO_CELL, UNCLEAR, UNCLEAR_CELL = range(len(REASONS))

#: Limits of a share, and of a nonnegative measure that is 0 at independence.
_NEVER_NEGATIVE = (0.0, 1.0)

#: Shares below this are rounding errors of differences.
_ROUNDING = 1e-12


def _sum(terms: Any, *axes: int) -> Any:
    """Sum over some axes, each kept with length 1."""
    return terms.sum(axis=axes, keepdims=True)


def _entropy_terms(shares: Any, reference: Any = None) -> Any:
    """X ln x, or x ln(x/reference); 0 where x is 0, without a gradient there."""
    terms = shares * np.log(shares if reference is None else shares / reference)
    if np.iscomplexobj(terms):
        return np.where(np.real(shares) == 0, complex(0.0, np.nan), terms)
    return np.where(shares == 0, 0.0, terms)


class Cells:
    """A table of shares π and its margins, under the names of the literature.

    The first axes of π are the attributes; any further axes distinguish the tables of a batch.
    If categories are absence and presence, place 1 of an axis is presence. `margins` are the
    shares of each category, attribute by attribute, of a shape that broadcasts with π; NaN if not
    positive.
    """

    def __init__(self, table: Any, attributes: int) -> None:
        self._axes = axes = range(attributes)
        # A cell that is 0 up to rounding must not be a divisor.
        nothing = np.abs(np.real(table)) < _ROUNDING
        self.table = np.where(nothing, table - np.real(table), table)
        self.margins = tuple(
            positive(_sum(self.table, *(a for a in axes if a != axis))) for axis in axes
        )

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of categories of each attribute."""
        return tuple(self.table.shape[: len(self._axes)])

    def total(self, terms: Any) -> Any:
        """Sum over the axes of the attributes, keeping them with length 1."""
        return _sum(terms, *self._axes)

    @cached_property
    def expected(self) -> Any:
        """Product of the margins, the table of independent attributes."""
        return reduce(mul, self.margins)

    @cached_property
    def present(self) -> tuple[Any, ...]:
        """Share of presence of each attribute."""
        places = np.eye(len(self.margins), dtype=int).tolist()
        return tuple(m[tuple(place)] for m, place in zip(self.margins, places, strict=True))

    def cell(self, *codes: int) -> Any:
        """π of one cell."""
        return self.table[codes]

    @property
    def sides(self) -> tuple[Any, Any, Any, Any]:
        """π_0+, π_1+, π_+0, π_+1."""
        rows, columns = self.margins
        return rows[0, 0], rows[1, 0], columns[0, 0], columns[0, 1]

    @cached_property
    def every(self) -> Any:
        """π_1…1, all present."""
        return self.table[(1,) * len(self.margins)]

    @cached_property
    def none(self) -> Any:
        """π_0…0, all absent."""
        return self.table[(0,) * len(self.margins)]

    @cached_property
    def every_expected(self) -> Any:
        """Product of the shares of presence."""
        return self.expected[(1,) * len(self.margins)]

    @cached_property
    def information(self) -> Any:
        """Σ π ln(π / product of the margins)."""
        return self.total(_entropy_terms(self.table, self.expected))

    @cached_property
    def concordance(self) -> tuple[Any, Any]:
        """P and Q, shares of concordant and discordant pairs of people."""
        earlier = self.table.cumsum(0) - self.table
        both = earlier.cumsum(1) - earlier
        against = _sum(earlier, 1) - earlier.cumsum(1)
        return self.total(self.table * both), self.total(self.table * against)

    def untied(self, axis: int) -> Any:
        """Share of the pairs of people whose answers to an attribute differ."""
        categories = _sum(self.table, 1 - axis)
        return 0.5 * (self.total(self.table) ** 2 - self.total(categories**2))

    @cached_property
    def reason(self) -> NDArray[np.int64]:
        """Reason why a measure of each table is undefined, as a position in `REASONS`."""
        axes = tuple(self._axes)
        empty = np.any([np.isnan(m).any(axis=axes) for m in self.margins], axis=0)
        outside = (self.table < 0).any(axis=axes)
        return np.where(empty, _NO_CATEGORY, np.where(outside, _OUTSIDE, _NO_CELL))

    @cached_property
    def agreement(self) -> Any:
        """π_11 + π_00."""
        return self.every + self.none

    @cached_property
    def chance_agreement(self) -> Any:
        """π_1+ π_+1 + π_0+ π_+0."""
        r0, r1, c0, c1 = self.sides
        return r1 * c1 + r0 * c0


#: Numerators and denominators of a ratio.
Factors = tuple[Sequence[Any], Sequence[Any]]


@dataclass(frozen=True)
class Measure:
    """A measure: its name, its input, and its computation from a table and N.

    Attributes
    ----------
    limits : pair of float, or callable
        Smallest and largest possible value, which may depend on the size of the table and on N.
    ratio : bool
        Whether it has no scale of 1, because it is a ratio or grows with N.
    factors : callable or None
        Numerators and denominators of a ratio, whose interval is on the logarithmic scale.
    slopes : callable or None
        Gradient in the cells, up to a constant, of a nonnegative measure that is 0 at
        independence. The gradient is 0 there, so that second derivatives are needed.
    denominators : callable or None
        Its denominators; None for the share of every category.
    logarithms : bool
        Whether it has logarithms of cells, which are not usable for a cell that can be 0.
    root : bool
        Whether the measure is the square root of what `of` computes, after its correction.
    to_expected : bool
        Whether it is the ratio of a share to that of independent answers. Its margin is that of
        the share relative to the expected share: the error of the ratio itself is small if the
        share is overestimated, so grading by it would select overestimates.
    """

    name: str
    scope: Scope
    of: Callable[[Cells, float], Any]
    limits: Limits | Callable[[Sequence[int], float], Limits] = (-1.0, 1.0)
    ratio: bool = False
    factors: Callable[[Cells], Factors] | None = None
    slopes: Callable[[Cells, float], Any] | None = None
    denominators: Callable[[Cells], Sequence[Any]] | None = None
    logarithms: bool = False
    root: bool = False
    to_expected: bool = False

    def quantity(self, cells: Cells, n: float) -> Quantity:
        """Return the quantity of the measure in a table of N respondents."""
        limits = self.limits if isinstance(self.limits, tuple) else self.limits(cells.sizes, n)
        of = quantity(self.name).within(*limits)
        return replace(of, ratio=self.ratio, logarithmic=self.factors is not None)


def _phi(t: Cells, n: float) -> Any:
    difference = t.cell(1, 1) * t.cell(0, 0) - t.cell(0, 1) * t.cell(1, 0)
    return difference / reduce(mul, t.sides) ** 0.5


def _ratio(name: str, scope: Scope, factors: Callable[[Cells], Factors]) -> Measure:
    def of(t: Cells, n: float) -> Any:
        numerators, denominators = factors(t)
        return reduce(mul, numerators) / reduce(mul, [positive(each) for each in denominators])

    return Measure(name, scope, of, (0.0, math.inf), ratio=True, factors=factors)


def _j_measure(t: Cells, n: float) -> Any:
    _, r1, c0, c1 = t.sides
    return _entropy_terms(t.cell(1, 1), r1 * c1) + _entropy_terms(t.cell(1, 0), r1 * c0)


def _added_value(t: Cells, n: float) -> Any:
    _, r1, _, c1 = t.sides
    return t.cell(1, 1) / r1 - c1


def _certainty(t: Cells, n: float) -> Any:
    return _added_value(t, n) / t.sides[2]


def _risk_difference(t: Cells, n: float) -> Any:
    r0, r1, _, _ = t.sides
    return t.cell(1, 1) / r1 - t.cell(0, 1) / r0


def _column_risk_difference(t: Cells, n: float) -> Any:
    _, _, c0, c1 = t.sides
    return t.cell(0, 0) / c0 - t.cell(0, 1) / c1


def _standardized_residual(t: Cells, n: float) -> Any:
    return math.sqrt(n) * (t.every - t.every_expected) / t.every_expected**0.5


def _kappa(t: Cells, n: float) -> Any:
    return (t.agreement - t.chance_agreement) / (1 - t.chance_agreement)


def _collective_strength(t: Cells) -> Factors:
    return [t.agreement, 1 - t.chance_agreement], [t.chance_agreement, 1 - t.agreement]


def _j_slopes(t: Cells, n: float) -> Any:
    present = t.table[1:2]
    rows = np.array([0.0, 1.0]).reshape(2, *[1] * (t.table.ndim - 1))
    return rows * np.log(present / t.expected[1:2]) - present / t.margins[1]


def _chi_squared(t: Cells, n: float) -> Any:
    return n * t.total((t.table - t.expected) ** 2 / t.expected)


def _chi_squared_slopes(t: Cells, n: float) -> Any:
    parts, axes = t.table**2 / t.expected, range(len(t.margins))
    falls = [_sum(parts, *(a for a in axes if a != axis)) / m for axis, m in enumerate(t.margins)]
    return n * (2 * t.table / t.expected - reduce(add, falls))


def _cramers_squared(t: Cells, n: float) -> Any:
    """V² = φ²/(min(r, c) − 1), with φ² = χ²/n."""
    return _chi_squared(t, 1.0) / (min(t.sizes) - 1)


def _cramers_slopes(t: Cells, n: float) -> Any:
    return _chi_squared_slopes(t, 1.0) / (min(t.sizes) - 1)


def _information_slopes(t: Cells, n: float) -> Any:
    return 2 * n * np.log(t.table / t.expected)


def _share_of_entropy(name: str, axis: int) -> Measure:
    """Information as a share of the entropy of one attribute."""

    def entropy(t: Cells) -> Any:
        return -t.total(_entropy_terms(t.margins[axis]))

    def slopes(t: Cells, n: float) -> Any:
        share = t.information / entropy(t)
        return (np.log(t.table / t.expected) + share * np.log(t.margins[axis])) / entropy(t)

    def of(t: Cells, n: float) -> Any:
        return t.information / entropy(t)

    return Measure(name, "categories", of, _NEVER_NEGATIVE, slopes=slopes, logarithms=True)


def _concentration(t: Cells, n: float) -> Any:
    columns = t.total(t.margins[1] ** 2)
    return (t.total(t.table**2 / t.margins[0]) - columns) / (1 - columns)


def _concentration_slopes(t: Cells, n: float) -> Any:
    columns, parts = t.total(t.margins[1] ** 2), t.table / t.margins[0]
    left = 1 - _concentration(t, n)
    return (2 * parts - _sum(parts**2, 1) - 2 * left * t.margins[1]) / (1 - columns)


def _gamma(t: Cells, n: float) -> Any:
    alike, against = t.concordance
    return (alike - against) / positive(alike + against)


def _tau_b(t: Cells, n: float) -> Any:
    alike, against = t.concordance
    return (alike - against) / (positive(t.untied(0)) * positive(t.untied(1))) ** 0.5


def _somers_d(t: Cells, n: float) -> Any:
    alike, against = t.concordance
    return (alike - against) / positive(t.untied(0))


def _leverage_limits(sizes: Sequence[int], n: float) -> Limits:
    """Return limits for k attributes: all present together, or each 1 − 1/k and never together."""
    k = len(sizes)
    share = k ** (-1 / (k - 1))
    return -((1 - 1 / k) ** k), share - share**k


def _cosine_limits(sizes: Sequence[int], n: float) -> Limits:
    """Return limits: at most 1 for two attributes, unbounded for more."""
    return 0.0, 1.0 if len(sizes) == 2 else math.inf


def _chi_squared_limits(sizes: Sequence[int], n: float) -> Limits:
    """Return limits: at most N·(min(r, c) − 1) for two attributes, unbounded for more."""
    return 0.0, n * (min(sizes) - 1) if len(sizes) == 2 else math.inf


def _g_squared_limits(sizes: Sequence[int], n: float) -> Limits:
    """Return limits: at most 2N times the entropy of all answers but that with most categories."""
    return 0.0, 2 * n * (sum(map(math.log, sizes)) - math.log(max(sizes)))


#: All measures of Guo Table 3.6. Its D is the *column* risk difference P(not X | not Y) −
#: P(not X | Y); in other sources, risk difference means P(Y | X) − P(Y | not X), along the rule.
#: Cosine of k attributes is the root of interest times support.
MEASURES = (
    Measure("phi", "pair", _phi),
    _ratio(
        "odds_ratio",
        "pair",
        lambda t: ([t.cell(1, 1), t.cell(0, 0)], [t.cell(1, 0), t.cell(0, 1)]),
    ),
    Measure(
        "jaccard",
        "itemset",
        lambda t, n: t.every / positive(1 - t.none),
        _NEVER_NEGATIVE,
        denominators=lambda t: [1 - t.none],
    ),
    Measure("cosine", "itemset", lambda t, n: t.every / t.every_expected**0.5, _cosine_limits),
    replace(_ratio("interest", "itemset", lambda t: ([t.every], t.present)), to_expected=True),
    Measure(
        "piatetsky_shapiro",
        "itemset",
        lambda t, n: t.every - t.every_expected,
        _leverage_limits,
    ),
    _ratio("conviction", "pair", lambda t: (t.sides[1:3], [t.cell(1, 0)])),
    # For P(X) = x the measure is at most −x ln x.
    Measure("j_measure", "pair", _j_measure, (0.0, 1 / math.e), slopes=_j_slopes, logarithms=True),
    # For a frequent answer it can be as low as −P(Y)/(1 − P(Y)).
    Measure("certainty", "pair", _certainty, (-math.inf, 1.0)),
    Measure(
        "standardized_residual",
        "pair",
        _standardized_residual,
        lambda sizes, n: (-math.sqrt(n), math.sqrt(n)),
        ratio=True,
    ),
    Measure("added_value", "pair", _added_value),
    Measure("risk_difference", "pair", _risk_difference),
    Measure("column_risk_difference", "pair", _column_risk_difference),
    Measure(
        "laplace",
        "pair",
        lambda t, n: (n * t.cell(1, 1) + 1) / (n * t.sides[1] + 2),
        _NEVER_NEGATIVE,
        denominators=lambda t: [t.sides[1]],
    ),
    Measure("kappa", "pair", _kappa),
    _ratio("collective_strength", "pair", _collective_strength),
    Measure(
        "chi_squared",
        "categories",
        _chi_squared,
        _chi_squared_limits,
        ratio=True,
        slopes=_chi_squared_slopes,
    ),
    Measure(
        "g_squared",
        "categories",
        lambda t, n: 2 * n * t.information,
        _g_squared_limits,
        ratio=True,
        slopes=_information_slopes,
        logarithms=True,
    ),
    _share_of_entropy("mutual_information", 0),
    _share_of_entropy("uncertainty_coefficient", 1),
    Measure(
        "concentration",
        "categories",
        _concentration,
        _NEVER_NEGATIVE,
        slopes=_concentration_slopes,
    ),
)

#: Cramér's V (1946), corrected for bias as its square is (Bergsma 2013 for plain samples). It has
#: no direction, and is comparable between tables of different size.
CRAMERS_V = Measure(
    "cramers_v",
    "categories",
    _cramers_squared,
    _NEVER_NEGATIVE,
    slopes=_cramers_slopes,
    root=True,
)

#: Measures of two attributes with ordered answers (Goodman & Kruskal 1954; Kendall 1945;
#: Somers 1962, of the second attribute on the first).
ORDERED = (
    Measure("goodman_kruskal_gamma", "ordered", _gamma),
    Measure("tau_b", "ordered", _tau_b),
    Measure("somers_d", "ordered", _somers_d),
)

#: Other names of some measures, for rules.
ALIASES = {"lift": "interest", "leverage": "piatetsky_shapiro"}

#: Names in the order of results.
MEASURE_NAMES = tuple(measure.name for measure in MEASURES)

#: Names of measures of ordered answers, which follow the others in results.
ORDERED_NAMES = tuple(measure.name for measure in ORDERED)

#: Names of measures of two scales (see `scales`), which follow all others.
SCALE_NAMES = ("polychoric", "score_correlation")

_BY_NAME = {measure.name: measure for measure in (*MEASURES, CRAMERS_V, *ORDERED)}
_BY_NAME |= {alias: _BY_NAME[name] for alias, name in ALIASES.items()}

#: All names of measures.
NAMES = tuple(_BY_NAME)

#: Measures of categories that make sense for more than two attributes.
OF_MANY = ("chi_squared", "g_squared")


def check_measures(names: Sequence[str]) -> None:
    """Raise ParameterError unless these are distinct names of measures."""
    if isinstance(names, str) or len(set(names)) < len(names):
        raise ParameterError(
            "measures: expected a list of different names, such as phi", field="measures"
        )
    for name in names:
        find_measure(name)


def find_measure(name: str) -> Measure:
    """Return a measure by its name, or by its name for rules."""
    if name in SCALE_NAMES:
        raise ParameterError(
            f"measures: {name} is of the table of two scales; expected it of their measures alone",
            field="measures",
        )
    if name not in _BY_NAME:
        raise ParameterError(
            f"measures: unknown measure '{name}'; expected some of: {', '.join(_BY_NAME)}",
            field="measures",
        )
    return _BY_NAME[name]
