"""Coefficients of a regression as messages."""

from collections.abc import Iterator, Sequence

import numpy as np
import scipy
from halftruth_shared import Schema
from halftruth_shared.analyses.estimate import Estimate
from halftruth_shared.analyses.regression import Coefficient, RegressionQuery

from ..estimation.answers import answers_of
from ..estimation.bounds import normal_quantile, optional
from ..estimation.equation import Equation
from ..estimation.estimates import estimates
from ..estimation.regression import Regression
from ..estimation.reliability import grades

#: Largest logarithm of an odds ratio that is written.
_FARTHEST = 700.0


def coefficients_of(
    schema: Schema, query: RegressionQuery, model: Equation, fit: Regression
) -> Iterator[Coefficient]:
    """Coefficients of a fit, with intervals, odds ratios, marginal effects and verdicts."""
    odds_scale = query.model != "linear"
    quantile = normal_quantile(1 - query.confidence)
    half_widths = quantile * fit.standard_error
    ends = fit.coefficients - half_widths, fit.coefficients + half_widths
    p_values = 2 * scipy.special.ndtr(-np.abs(fit.z))
    # By the row that is shown: of an odds ratio, or of a difference on the scale of the outcome.
    with np.errstate(over="ignore"):
        odds = np.exp([fit.coefficients, *ends])
        margins = np.exp(half_widths) if odds_scale else half_widths / np.ptp(model.outcome.scores)
    grade = grades(margins, ratio=odds_scale)
    # An end may be too far for a number, and then there is no interval.
    near = np.where(ends[1] < _FARTHEST, odds[1:], np.nan)
    ratios = estimates(Estimate, odds[0], half_widths * np.nan, tuple(near), grade=grade)
    terms, places = model.predictors.terms, model.outcome.places(len(model.predictors.terms))
    factors = [terms[term] for _, term in places]
    first = [term[0] if term else None for term in factors]
    answers = answers_of(schema.attributes[schema.position(query.outcome)])
    return estimates(
        Coefficient,
        fit.coefficients,
        fit.standard_error,
        ends,
        grade=grade,
        p_value=p_values,
        undefined=[fit.undefined] * len(places),
        attribute=[factor and factor.attribute for factor in first],
        category=[factor and factor.category for factor in first],
        reference=[factor and factor.reference for factor in first],
        by=[list(term[1:]) for term in factors],
        answer=[{} if each is None else {query.outcome: answers[each]} for each, _ in places],
        odds_ratio=[ratio if odds_scale and ratio.value is not None else None for ratio in ratios],
        marginal_effect=_effects(model, fit, places, quantile),
        z=[*map(optional, fit.z.tolist())],
    )


def _effects(
    model: Equation, fit: Regression, places: Sequence[tuple[int | None, int]], quantile: float
) -> list[Estimate | None]:
    """Average marginal effect beside each coefficient that has one."""
    span = np.ptp(model.outcome.scores) if model.outcome.model == "ordinal" else 1.0
    compared = model.outcome.compared
    effects: list[Estimate | None] = []
    for (answer, term), z in zip(places, fit.z.tolist(), strict=True):
        if not 1 <= term <= len(fit.effects) or not fit.effects.shape[1]:
            effects.append(None)
            continue
        # Of an ordinal outcome one effect is of the mean of all.
        which = 0 if answer is None else compared.index(answer)
        value, error = fit.effects[term - 1, which], fit.effect_errors[term - 1, which]
        error = np.nan if np.isnan(z) else error
        ends = value - quantile * error, value + quantile * error
        effects += estimates(Estimate, value, error, ends, span=float(span))
    return effects
