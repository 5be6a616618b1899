"""Coefficients of a regression as messages."""

import math
from collections.abc import Iterator

import numpy as np
import scipy
from halftruth_shared.analyses.regression import Coefficient, RegressionQuery
from halftruth_shared.results import QUANTITIES
from halftruth_shared.results.estimate import Estimate

from ..estimation.bounds import normal_quantile, optional
from ..estimation.equation import Equation
from ..estimation.estimates import estimates
from ..estimation.intervals import ConfidenceSets, fieller_sets
from ..estimation.regression import Regression
from ..estimation.reliability import NOT, grades

#: Largest logarithm of an odds ratio that is written.
_FARTHEST = 700.0


def coefficients_of(
    query: RegressionQuery, model: Equation, fit: Regression
) -> Iterator[Coefficient]:
    """Coefficients of a fit, with intervals, odds ratios, marginal effects and verdicts."""
    odds_scale = query.model != "linear"
    quantile = normal_quantile(1 - query.confidence)
    half_widths = quantile * fit.standard_error
    ends = fit.coefficients - half_widths, fit.coefficients + half_widths
    sets = ConfidenceSets.intervals(*ends)
    if fit.ratio is not None:
        sets = fieller_sets(*fit.ratio, quantile=quantile)
    p_values = 2 * scipy.special.ndtr(-np.abs(fit.z))
    terms = model.predictors.terms
    # An odds ratio, or a difference on the scale of the outcome, between the ends of a predictor
    # with scores: a unit of them may be a year or a decade.
    spans = {each.name: float(np.ptp(each.values)) for each in model.predictors.each}
    scored = [[f.attribute for f in term if f.category is None] for term in terms]
    over = sets.half_width * [math.prod(spans[name] for name in names) for names in scored]
    with np.errstate(over="ignore"):
        odds = np.exp([fit.coefficients, *ends])
        margins = np.exp(over) if odds_scale else over / np.ptp(model.outcome.scores)
    untested = np.isnan(fit.z) & (fit.standard_error > 0)
    grade = np.where(untested, NOT, grades(margins, ratio=odds_scale))
    # An end may be too far for a number, and then there is no interval.
    near = np.where(ends[1] < _FARTHEST, odds[1:], np.nan)
    of_odds = QUANTITIES["odds_ratio"]
    ratios = estimates(Estimate, of_odds, odds[0], half_widths * np.nan, tuple(near), grade=grade)
    first = [term[0] if term else None for term in terms]
    return estimates(
        Coefficient,
        QUANTITIES["coefficient"],
        fit.coefficients,
        fit.standard_error,
        sets,
        grade=grade,
        p_value=p_values,
        undefined=[fit.undefined] * len(terms),
        attribute=[factor and factor.attribute for factor in first],
        category=[factor and factor.category for factor in first],
        reference=[factor and factor.reference for factor in first],
        by=[list(term[1:]) for term in terms],
        odds_ratio=[ratio if odds_scale and ratio.value is not None else None for ratio in ratios],
        marginal_effect=_effects(fit, quantile),
        z=[*map(optional, fit.z.tolist())],
    )


def _effects(fit: Regression, quantile: float) -> list[Estimate | None]:
    """Average marginal effect beside each coefficient that has one: those of one factor."""
    effects: list[Estimate | None] = [None] * len(fit.coefficients)
    for number, (value, error) in enumerate(zip(fit.effects, fit.effect_errors, strict=True), 1):
        error = np.nan if np.isnan(fit.z[number]) else error
        ends = value - quantile * error, value + quantile * error
        [effects[number]] = estimates(Estimate, QUANTITIES["marginal_effect"], value, error, ends)
    return effects
