"""Association measures of a reconstructed table, with errors by the delta method.

The measures are those of Guo Table 3.6; their variance is ∇gᵀ Cov(π̂) ∇g (Guo §3.3.1), with exact
gradients. A measure is a function of a table of supports, written with jets and evaluated once.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import mul
from typing import Literal

import numpy as np
from halftruth_shared import ParameterError, Schema
from halftruth_shared.messages import MeasureEstimate, Target
from numpy.typing import NDArray

from .bounds import Array, chebyshev_factor, check_confidence, normal_quantile
from .jets import Jet
from .presence import presence
from .table import Table

#: What a measure is computed from: presence and absence of two attributes, of any number of
#: attributes, or the categories as they are.
Scope = Literal["pair", "itemset", "categories"]


#: Shares below this are differences of equal numbers.
_ROUNDING = 1e-12


class Cells:
    """A table of supports π and its margins, under the names of the literature.

    Parameters
    ----------
    table : Jet
        π, one axis for each attribute, then any axes that tell tables of one batch apart. Where
        categories are absence and presence, place 1 of an axis is presence.
    attributes : int
        How many axes are those of attributes.

    Attributes
    ----------
    margins : tuple of Jet
        Share of each category, attribute by attribute, of a shape that broadcasts with π; NaN
        where it is not positive.
    """

    def __init__(self, table: Jet, attributes: int) -> None:
        self._axes = axes = range(attributes)
        # A cell that is 0 but for rounding is none to divide by.
        cells = np.where(np.abs(table.value) < _ROUNDING, 0.0, table.value)
        self.table = Jet(cells, table.gradient)
        self.margins = tuple(
            self.table.sum(*(a for a in axes if a != axis)).positive() for axis in axes
        )

    def total(self, terms: Jet) -> Jet:
        """Sum over the axes of the attributes, each of which stays with length 1."""
        return terms.sum(*self._axes)

    @cached_property
    def expected(self) -> Jet:
        """Product of the margins, the table of independent attributes."""
        return reduce(mul, self.margins)

    def cell(self, *codes: int) -> Jet:
        """π of one cell."""
        return self.table[codes]

    @property
    def r1(self) -> Jet:
        """π_1+."""
        return self.margins[0][1, 0]

    @property
    def r0(self) -> Jet:
        """π_0+."""
        return self.margins[0][0, 0]

    @property
    def c1(self) -> Jet:
        """π_+1."""
        return self.margins[1][0, 1]

    @property
    def c0(self) -> Jet:
        """π_+0."""
        return self.margins[1][0, 0]

    @cached_property
    def every(self) -> Jet:
        """π_1…1, all present."""
        return self.table[(1,) * len(self.margins)]

    @cached_property
    def none(self) -> Jet:
        """π_0…0, all absent."""
        return self.table[(0,) * len(self.margins)]

    @cached_property
    def every_expected(self) -> Jet:
        """Product of the shares of presence."""
        return self.expected[(1,) * len(self.margins)]

    @cached_property
    def information(self) -> Jet:
        """Σ π ln(π / product of the margins)."""
        return self.total(self.table.entropy_terms(self.expected))

    @cached_property
    def reason(self) -> NDArray[np.str_]:
        """Why a measure of each table is undefined, if one is."""
        axes = tuple(self._axes)
        empty = np.any([np.isnan(m.value).any(axis=axes) for m in self.margins], axis=0)
        outside = (self.table.value < 0).any(axis=axes)
        return np.select(
            [empty, outside],
            [
                "a category has no positive estimated share",
                "a cell has a negative estimate, outside the simplex",
            ],
            "it divides by a cell whose estimate is 0",
        )

    @cached_property
    def agreement(self) -> Jet:
        """π_11 + π_00."""
        return self.every + self.none

    @cached_property
    def chance_agreement(self) -> Jet:
        """π_1+ π_+1 + π_0+ π_+0."""
        return self.r1 * self.c1 + self.r0 * self.c0


@dataclass(frozen=True)
class Measure:
    """One measure: its name, what it is computed from, and how from a table and N."""

    name: str
    scope: Scope
    of: Callable[[Cells, float], Jet]


def _phi(t: Cells, n: float) -> Jet:
    difference = t.cell(1, 1) * t.cell(0, 0) - t.cell(0, 1) * t.cell(1, 0)
    return difference / (t.r1 * t.c1 * t.r0 * t.c0) ** 0.5


def _odds_ratio(t: Cells, n: float) -> Jet:
    same = t.cell(1, 1).positive() * t.cell(0, 0).positive()
    return same / (t.cell(1, 0).positive() * t.cell(0, 1).positive())


def _j_measure(t: Cells, n: float) -> Jet:
    present = t.cell(1, 1).entropy_terms(t.r1 * t.c1)
    return present + t.cell(1, 0).entropy_terms(t.r1 * t.c0)


def _certainty(t: Cells, n: float) -> Jet:
    return (t.cell(1, 1) / t.r1 - t.c1) / t.c0


def _standardized_residual(t: Cells, n: float) -> Jet:
    return math.sqrt(n) * (t.every - t.every_expected) / t.every_expected**0.5


def _kappa(t: Cells, n: float) -> Jet:
    return (t.agreement - t.chance_agreement) / (1 - t.chance_agreement)


def _collective_strength(t: Cells, n: float) -> Jet:
    disagreement = (1 - t.agreement).positive()
    return t.agreement / t.chance_agreement * (1 - t.chance_agreement) / disagreement


def _chi_squared(t: Cells, n: float) -> Jet:
    return n * t.total((t.table - t.expected) ** 2 / t.expected)


def _mutual_information(t: Cells, n: float) -> Jet:
    return t.information / -t.total(t.margins[0].entropy_terms())


def _uncertainty_coefficient(t: Cells, n: float) -> Jet:
    return t.information / -t.total(t.margins[1].entropy_terms())


def _concentration(t: Cells, n: float) -> Jet:
    columns = t.total(t.margins[1] ** 2)
    return (t.total(t.table**2 / t.margins[0]) - columns) / (1 - columns)


#: Every measure of Guo Table 3.6. Cosine of k attributes is the root of interest times support.
MEASURES = (
    Measure("phi", "pair", _phi),
    Measure("odds_ratio", "pair", _odds_ratio),
    Measure("jaccard", "itemset", lambda t, n: t.every / (1 - t.none).positive()),
    Measure("cosine", "itemset", lambda t, n: t.every / t.every_expected**0.5),
    Measure("interest", "itemset", lambda t, n: t.every / t.every_expected),
    Measure("piatetsky_shapiro", "itemset", lambda t, n: t.every - t.every_expected),
    Measure("conviction", "pair", lambda t, n: t.r1 * t.c0 / t.cell(1, 0).positive()),
    Measure("j_measure", "pair", _j_measure),
    Measure("certainty", "pair", _certainty),
    Measure("standardized_residual", "pair", _standardized_residual),
    Measure("added_value", "pair", lambda t, n: t.cell(1, 1) / t.r1 - t.c1),
    Measure("risk_difference", "pair", lambda t, n: t.cell(0, 0) / t.c0 - t.cell(0, 1) / t.c1),
    Measure("laplace", "pair", lambda t, n: (n * t.cell(1, 1) + 1) / (n * t.r1 + 2)),
    Measure("kappa", "pair", _kappa),
    Measure("collective_strength", "pair", _collective_strength),
    Measure("chi_squared", "categories", _chi_squared),
    Measure("g_squared", "categories", lambda t, n: 2 * n * t.information),
    Measure("mutual_information", "categories", _mutual_information),
    Measure("uncertainty_coefficient", "categories", _uncertainty_coefficient),
    Measure("concentration", "categories", _concentration),
)

#: The names that rules have for some of them.
ALIASES = {"lift": "interest", "leverage": "piatetsky_shapiro"}

#: Every name, in the order in which measures are given.
MEASURE_NAMES = tuple(measure.name for measure in MEASURES)

_BY_NAME = {measure.name: measure for measure in MEASURES}
_BY_NAME |= {alias: _BY_NAME[name] for alias, name in ALIASES.items()}

#: Measures of categories that make sense for more than two attributes.
_OF_MANY = ("chi_squared", "g_squared")


@dataclass(frozen=True, eq=False)
class MeasureColumn:
    """One measure of a batch of tables.

    Attributes
    ----------
    name : str
    value, standard_error : ndarray, shape (R,)
        NaN where undefined.
    reason : ndarray of str, shape (R,)
        Why there is no value; empty where there is one.
    """

    name: str
    value: Array
    standard_error: Array
    reason: NDArray[np.str_]

    def interval(self, confidence: float) -> tuple[Array, Array]:
        """Normal interval of each, value ± z·sd; NaN where undefined."""
        return self._around(normal_quantile(1 - confidence))

    def chebyshev_interval(self, confidence: float) -> tuple[Array, Array]:
        """Chebyshev's interval of each, value ± sd/√α; NaN where undefined."""
        return self._around(chebyshev_factor(1 - confidence))

    def _around(self, factor: float) -> tuple[Array, Array]:
        half_width = factor * self.standard_error
        return self.value - half_width, self.value + half_width

    def estimates(self, confidence: float) -> Iterator[MeasureEstimate]:
        """The measure of one table after the other, with its intervals."""
        columns = (
            self.value,
            self.standard_error,
            *self.interval(confidence),
            *self.chebyshev_interval(confidence),
            self.reason,
        )
        for value, error, low, high, lowest, highest, reason in zip(
            *(column.tolist() for column in columns), strict=True
        ):
            if reason:
                yield MeasureEstimate(name=self.name, undefined=reason)
            elif error != error:
                yield MeasureEstimate(name=self.name, value=value)
            else:
                yield MeasureEstimate(
                    name=self.name,
                    value=value,
                    standard_error=error,
                    interval=(low, high),
                    chebyshev_interval=(lowest, highest),
                )


def evaluate(
    measure: Measure, cells: Cells, covariance: Array, reports: int, name: str | None = None
) -> MeasureColumn:
    """One measure of a batch of R tables, with its standard error by the delta method.

    Parameters
    ----------
    measure : Measure
    cells : Cells
        With gradients in V variables.
    covariance : ndarray, shape (R, V, V)
        Of the variables.
    reports : int
        N.
    name : str, optional
        Under which the measure was asked for.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        result = measure.of(cells, float(reports))
        value = result.value.reshape(-1)
        gradient = result.gradient.reshape(len(value), result.gradient.shape[-1])
        variance = np.einsum("rv,rvw,rw->r", gradient, covariance, gradient)
        known = np.isfinite(value)
        error = np.sqrt(np.where(known & (variance >= 0), variance, np.nan))
    error[~np.isfinite(error)] = np.nan
    reason = np.where(known, "", cells.reason.reshape(-1))
    return MeasureColumn(name or measure.name, np.where(known, value, np.nan), error, reason)


def check_measures(names: Sequence[str]) -> None:
    """Raise ParameterError unless these are different names of measures."""
    if isinstance(names, str) or len(set(names)) < len(names):
        raise ParameterError(
            "measures: expected a list of different names, such as phi", field="measures"
        )
    for name in names:
        find_measure(name)


def find_measure(name: str) -> Measure:
    """The measure of this name, or of the name that rules have for it.

    Raises
    ------
    ParameterError
        If there is none.
    """
    if name not in _BY_NAME:
        raise ParameterError(
            f"measures: unknown measure '{name}'; expected some of: {', '.join(_BY_NAME)}",
            field="measures",
        )
    return _BY_NAME[name]


def estimate_measures(
    schema: Schema,
    table: Table,
    present: Mapping[str, str],
    names: Sequence[str] | None,
    confidence: float,
    target: Target,
) -> list[MeasureEstimate]:
    """Measures of one table, each with its standard error and intervals.

    Parameters
    ----------
    schema : Schema
    table : Table
        Of two or more attributes.
    present : mapping of str to str
        The category that counts as presence, by attribute. An attribute that is not named has
        its only item, or the second of two categories.
    names : sequence of str or None
        The measures; None for every one that such a table has.
    confidence : float
    target : {"population", "respondents"}

    Raises
    ------
    ParameterError
        If there are fewer than two attributes, a category or a measure is unknown, or a measure
        was asked for that such a table does not have.
    DomainTooLarge
        If the table is too large for its covariance.
    """
    check_confidence(confidence)
    if len(table.attributes) < 2:
        raise ParameterError("attributes: expected two or more", field="attributes")
    codes = presence(schema, table.attributes, present)
    check_measures(names or ())
    chosen = {name: find_measure(name) for name in (MEASURE_NAMES if names is None else names)}
    lacking = {name: _lack(measure, table.attributes, codes) for name, measure in chosen.items()}
    if names is None:
        chosen = {name: measure for name, measure in chosen.items() if lacking[name] is None}
    elif first := next(filter(None, lacking.values()), None):
        raise ParameterError(f"measures: {first}", field="measures")
    covariance = table.covariance(target)
    tables = {"categories": (table.support, covariance)}
    if None not in codes:
        binary = collapse(table.support, covariance, codes)
        tables |= {"pair": binary, "itemset": binary}
    cells = {
        scope: Cells(Jet.variables(support), support.ndim) for scope, (support, _) in tables.items()
    }
    columns = [
        evaluate(measure, cells[measure.scope], tables[measure.scope][1][None], table.reports, name)
        for name, measure in chosen.items()
    ]
    return [estimate for column in columns for estimate in column.estimates(confidence)]


def _lack(measure: Measure, names: Sequence[str], codes: Sequence[int | None]) -> str | None:
    """Why a measure does not apply to these attributes, None where it does."""
    if measure.scope == "categories":
        fits = len(names) == 2 or measure.name in _OF_MANY
        return None if fits else f"{measure.name} needs two attributes, not {len(names)}"
    if measure.scope == "pair" and len(names) != 2:
        return f"{measure.name} needs two attributes, not {len(names)}"
    for name, code in zip(names, codes, strict=True):
        if code is None:
            return (
                f"{measure.name} needs binary attributes; expected the category of '{name}' that"
                " counts as presence, in 'present'"
            )
    return None


def collapse(support: Array, covariance: Array, codes: Sequence[int | None]) -> tuple[Array, Array]:
    """One category of each attribute against the rest: supports of shape (2, …, 2).

    Works axis by axis, on the supports and on both sides of their covariance.
    """
    sides = [
        np.stack([np.arange(size) != code, np.arange(size) == code]).astype(np.float64)
        for size, code in zip(support.shape, codes, strict=True)
    ]
    both = covariance.reshape(support.shape * 2)
    for axis, side in enumerate(sides * 2):
        if axis < support.ndim:
            support = np.moveaxis(np.tensordot(side, support, axes=(1, axis)), 0, axis)
        both = np.moveaxis(np.tensordot(side, both, axes=(1, axis)), 0, axis)
    return support, both.reshape(support.size, support.size)
