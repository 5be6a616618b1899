"""Association measures of a reconstructed table, with errors by the delta method.

The measures are those of Guo Table 3.6; their variance is ∇gᵀ Cov(π̂) ∇g (Guo §3.3.1), with exact
gradients. A measure is a function of a table of supports, written with jets and evaluated once.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import mul
from typing import Literal

import numpy as np
from halftruth_shared import ParameterError, Schema
from halftruth_shared.errors import listing
from halftruth_shared.messages import MeasureEstimate, Target

from .bounds import Array, chebyshev_factor, check_confidence, normal_quantile
from .jets import Jet
from .table import Table

#: What a measure is computed from: presence and absence of two attributes, of any number of
#: attributes, or the categories as they are.
Scope = Literal["pair", "itemset", "categories"]


class Cells:
    """A table of supports π and its margins, under the names of the literature.

    Attributes
    ----------
    table : Jet
        π, one axis for each attribute. Where categories are absence and presence, place 1 of an
        axis is presence.
    margins : tuple of Jet
        Share of each category, attribute by attribute, of a shape that broadcasts with π; NaN
        where it is not positive.
    """

    def __init__(self, table: Jet) -> None:
        axes = range(len(table.shape))
        self.table = table
        self.margins = tuple(table.sum(*(a for a in axes if a != axis)).positive() for axis in axes)

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
        return self.table.entropy_terms(self.expected).sum()

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
    return (t.cell(1, 1) / t.r1 - t.c1) / (1 - t.c1)


def _standardized_residual(t: Cells, n: float) -> Jet:
    return math.sqrt(n) * (t.every - t.every_expected) / t.every_expected**0.5


def _kappa(t: Cells, n: float) -> Jet:
    return (t.agreement - t.chance_agreement) / (1 - t.chance_agreement)


def _collective_strength(t: Cells, n: float) -> Jet:
    disagreement = (1 - t.agreement).positive()
    return t.agreement / t.chance_agreement * (1 - t.chance_agreement) / disagreement


def _chi_squared(t: Cells, n: float) -> Jet:
    return n * ((t.table - t.expected) ** 2 / t.expected).sum()


def _mutual_information(t: Cells, n: float) -> Jet:
    return t.information / -t.margins[0].entropy_terms().sum()


def _uncertainty_coefficient(t: Cells, n: float) -> Jet:
    return t.information / -t.margins[1].entropy_terms().sum()


def _concentration(t: Cells, n: float) -> Jet:
    columns = (t.margins[1] ** 2).sum()
    return ((t.table**2 / t.margins[0]).sum() - columns) / (1 - columns)


#: Every measure of Guo Table 3.6. Cosine of k attributes is the root of interest times support.
MEASURES = (
    Measure("phi", "pair", _phi),
    Measure("odds_ratio", "pair", _odds_ratio),
    Measure("jaccard", "itemset", lambda t, n: t.every / (1 - t.none)),
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

#: Measures of categories that make sense for more than two attributes.
_OF_MANY = ("chi_squared", "g_squared")


def estimate_measures(
    schema: Schema,
    table: Table,
    present: Mapping[str, str],
    confidence: float,
    target: Target,
) -> list[MeasureEstimate]:
    """Every measure that a table has, each with its standard error and intervals.

    Parameters
    ----------
    schema : Schema
    table : Table
        Of two or more attributes.
    present : mapping of str to str
        The category that counts as presence, by attribute. An attribute that is not named has
        its only item, or the second of two categories. Where an attribute has neither, only the
        measures of its categories are computed.
    confidence : float
    target : {"population", "respondents"}

    Raises
    ------
    ParameterError
        If there are fewer than two attributes, or a category is unknown.
    DomainTooLarge
        If the table is too large for its covariance.
    """
    check_confidence(confidence)
    if len(table.attributes) < 2:
        raise ParameterError("attributes: expected two or more", field="attributes")
    codes = _presence(schema, table.attributes, present)
    covariance = table.covariance(target)
    binary = None if None in codes else _collapse(table.support, covariance, codes)
    estimates = []
    for measure in MEASURES:
        many = len(table.attributes) > 2
        if measure.scope == "categories":
            if not many or measure.name in _OF_MANY:
                estimates.append(
                    _estimate(measure, table.support, covariance, table.reports, confidence)
                )
        elif binary is not None and not (many and measure.scope == "pair"):
            estimates.append(_estimate(measure, *binary, table.reports, confidence))
    return estimates


def _collapse(
    support: Array, covariance: Array, codes: Sequence[int | None]
) -> tuple[Array, Array]:
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


def _presence(schema: Schema, names: Sequence[str], present: Mapping[str, str]) -> list[int | None]:
    """Code of the category that counts as presence, None where nothing says which."""
    for name in present:
        if name not in names:
            raise ParameterError(
                f"present: expected categories of: {listing(names)}", field="present"
            )
    codes: list[int | None] = []
    for name in names:
        attribute = schema.attributes[schema.position(name)]
        items = np.flatnonzero(attribute.item_mask)
        if name in present:
            if present[name] not in attribute.categories:
                raise ParameterError(
                    f"present: '{name}' has no category '{present[name]}'; expected one of:"
                    f" {listing(attribute.categories)}",
                    field="present",
                )
            codes.append(attribute.categories.index(present[name]))
        elif len(items) == 1:
            codes.append(int(items[0]))
        else:
            codes.append(1 if len(attribute.categories) == 2 else None)
    return codes


def _estimate(
    measure: Measure, support: Array, covariance: Array, reports: int, confidence: float
) -> MeasureEstimate:
    """One measure, or in plain words why it is undefined."""
    with np.errstate(divide="ignore", invalid="ignore"):
        result = measure.of(Cells(Jet.variables(support)), float(reports))
    value = float(result.value.reshape(()))
    if not math.isfinite(value):
        return MeasureEstimate(name=measure.name, undefined=_reason(support))
    gradient = result.gradient.reshape(-1)
    with np.errstate(invalid="ignore"):
        variance = float(gradient @ covariance @ gradient)
    if not (math.isfinite(variance) and variance >= 0):
        return MeasureEstimate(name=measure.name, value=value)
    error = math.sqrt(variance)
    normal = normal_quantile(1 - confidence) * error
    chebyshev = chebyshev_factor(1 - confidence) * error
    return MeasureEstimate(
        name=measure.name,
        value=value,
        standard_error=error,
        interval=(value - normal, value + normal),
        chebyshev_interval=(value - chebyshev, value + chebyshev),
    )


def _reason(support: Array) -> str:
    """Why a measure of this table is undefined."""
    axes = range(support.ndim)
    margins = [support.sum(axis=tuple(a for a in axes if a != axis)) for axis in axes]
    if any((margin <= 0).any() for margin in margins):
        return "a category has no positive estimated share"
    if (support < 0).any():
        return "a cell has a negative estimate, outside the simplex"
    return "it needs a cell whose estimate is 0"
