"""Coefficients of a regression as rows of a long table."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import scipy
from halftruth_shared.analyses.regression import RegressionQuery
from halftruth_shared.results import QUANTITIES, AnswerSets, EstimateColumns, Key

from ..estimation.bounds import Array
from ..estimation.equation import Equation, Factor
from ..estimation.estimates import fixed_sets, normal_sets
from ..estimation.regression import Regression
from ..estimation.reliability import NOT, grades
from ..estimation.selection import adjusted_p_values

#: Estimators of coefficients: moment (unbiased table), model of all answers, or maximum likelihood
#: for a perturbed outcome with unperturbed predictors.
Method = Literal["moment", "model", "outcome"]

#: Placeholder for the answer to a predictor with scores.
UNIT = "each unit"

#: Largest logarithm of an odds ratio in results.
_FARTHEST = 700.0


def term_of(factors: Sequence[Factor]) -> dict[str, str]:
    """Return the answers of a term; a unit of scores has none."""
    return {factor.attribute: factor.category or UNIT for factor in factors}


def coefficient_rows(
    query: RegressionQuery, model: Equation, fit: Regression
) -> tuple[list[Key], list[EstimateColumns], Array]:
    """Return the coefficients of a fit with their odds ratios, and then its marginal effects.

    Returns
    -------
    keys : list of Key
    estimates : list of EstimateColumns
    covariance : ndarray, shape (rows, rows)
        That of an odds ratio is that of its logarithm; NaN between marginal effects and others.
    """
    odds_scale = query.model != "linear"
    found, z = fit.coefficients, np.asarray(fit.coefficients.statistic)
    sets = found.interval(query.confidence)
    p_values = 2 * scipy.special.ndtr(-np.abs(z))
    adjusted = adjusted_p_values(p_values[1:], int(np.isfinite(p_values[1:]).sum()) or 1)
    terms = model.predictors.terms
    # An odds ratio, or a difference on the scale of the outcome, between the ends of a predictor
    # with scores: a unit of them may be a year or a decade.
    spans = {each.name: float(np.ptp(each.values)) for each in model.predictors.each}
    scored = [[f.attribute for f in term if f.category is None] for term in terms]
    over = sets.half_width * [math.prod(spans[name] for name in names) for names in scored]
    with np.errstate(over="ignore"):
        odds = np.exp([found.value, sets.lower, sets.upper])
        margins = np.exp(over) if odds_scale else over / np.ptp(model.outcome.scores)
    untested = np.isnan(z) & (found.standard_error > 0)
    grade = np.where(untested, NOT, grades(margins, ratio=odds_scale))
    # If an end overflows, there is no interval.
    odds_ends = np.where(sets.upper < _FARTHEST, odds[1:], np.nan)
    undefined = fit.undefined and "there are no coefficients"
    parts, places = [], []
    for name, of_odds, rows in (
        ("intercept", "odds", slice(0, 1)),
        ("coefficient", "odds_ratio", slice(1, None)),
    ):
        chosen = np.arange(len(terms))[rows]
        tested = None if name == "intercept" else adjusted
        kept = replace(
            found.take(chosen),
            of=QUANTITIES[name],
            statistic=z[rows],
            p_value=p_values[rows],
            # The intercept is no finding.
            moved=None if tested is None or found.moved is None else found.moved[rows],
            undefined=undefined,
        )
        parts.append(kept.columns(query.confidence, grade=grade[rows], adjusted=tested))
        places.append(chosen)
        if odds_scale:
            odds_sets = fixed_sets(*odds_ends[:, rows])
            ratios = replace(kept, of=QUANTITIES[of_odds], value=odds[0, rows], sets=odds_sets)
            parts.append(ratios.columns(query.confidence, grade=grade[rows], adjusted=tested))
            places.append(chosen)
    gradient = np.eye(len(terms))[np.concatenate(places)]
    covariance = gradient @ found.covariance @ gradient.T
    if fit.effects is not None:
        known = len(covariance)
        covariance = np.pad(covariance, (0, len(fit.effects.value)), constant_values=np.nan)
        places.append(np.arange(1, len(fit.effects.value) + 1))
        error = np.where(np.isnan(z[places[-1]]), np.nan, fit.effects.standard_error)
        np.fill_diagonal(covariance[known:, known:], error**2)
        effects = replace(
            fit.effects,
            standard_error=error,
            sets=normal_sets(fit.effects.value, error),
        )
        parts.append(effects.columns(query.confidence))
    against = [{f.attribute: f.reference for f in term if f.reference} or None for term in terms]
    of_rows = np.concatenate(places)
    known_terms = [term_of(term) or None for term in terms]
    keys = [
        Key(name=name, kind="answers", values=AnswerSets.of(answers).take(of_rows))
        for name, answers in (("term", known_terms), ("against", against))
    ]
    return keys, parts, covariance
