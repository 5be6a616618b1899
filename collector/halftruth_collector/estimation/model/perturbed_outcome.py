"""Regression where the outcome alone is perturbed, by maximum likelihood.

Reports tell the predictors as they are. So only combinations of them that occur matter, however
many there might be, and a report v of the outcome has the probability λ_v = Σ_u P(v|u) m_u(x; β).
Its likelihood is maximized by Newton's method. With q the probability of each true answer given the
report, the score is that of true answers weighted by q, and the observed information is theirs less
what q leaves open of it, the variance of their scores (Louis 1982). Rows may have channels of their
own, as samples that were randomized differently have, and these may depend on an unknown share s:
P(v|u) = C(v|u) + s D(v|u). Then ∂ ln λ_v/∂s = Σ_u D(v|u) m_u/λ_v, whose square is the information.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from halftruth_shared import ParameterError, Survey
from halftruth_shared.analyses.base import Answers
from halftruth_shared.mechanisms.records import RecordReconstruction
from numpy.typing import NDArray

from ..answers import answer_codes, category_codes
from ..bounds import Array
from ..counts import Counts
from ..predictors import Predictors
from ..regression import (
    NotIdentified,
    Regression,
    information_of,
    marginal_effects,
    score_of,
    spread,
    without_numbers,
)
from ..responses import Outcome, Response

#: Most of Newton's steps, and most halvings of each.
_STEPS, _HALVINGS = 100, 30

#: Newton's steps end where one would be so short in standard errors.
_PRECISION = 1e-8


def channel_of_outcome(survey: Survey, outcome: str, others: Sequence[str]) -> Array | None:
    """P(report | answer) of the outcome where reports tell it and others, these unperturbed.

    None where they do not, or do not tell whether the outcome is missing. Where it is, there is
    neither report nor answer.
    """
    reconstruction = survey.mechanism.reconstruction(survey.schema)
    if not isinstance(reconstruction, RecordReconstruction):
        return None
    factors = reconstruction.factors([*others, outcome])
    if factors is None:
        return None
    *known, channel = (factor.dense() for factor in factors)
    exact = all(np.array_equal(factor, np.eye(len(factor))) for factor in known)
    missing = survey.schema.attributes[survey.schema.position(outcome)].missing_mask
    mixed = channel[missing][:, ~missing].any() or channel[~missing][:, missing].any()
    return channel[~missing][:, ~missing] if exact and not mixed else None


@dataclass(frozen=True, eq=False)
class Reported:
    """Reports of an outcome by the combinations of predictors that occur.

    Attributes
    ----------
    cells : ndarray of int, shape (x, predictors)
        Numbers of the answers among those that are not missing.
    numbers : ndarray, shape (x, reports)
    """

    cells: NDArray[np.int64]
    numbers: Array

    @classmethod
    def of(
        cls,
        survey: Survey,
        counts: Counts,
        outcome: str,
        predictors: Sequence[str],
        where: Answers | None = None,
    ) -> "Reported":
        """Count the reports of those who answered all questions, and as `where` says."""
        schema = survey.schema
        attributes = [schema.attributes[schema.position(name)] for name in predictors]
        kept = np.ones(len(counts.cells), dtype=bool)
        for name, answers in (where or {}).items():
            position = schema.position(name, "where")
            codes = category_codes(schema.attributes[position], answers, "where")
            kept &= np.isin(counts.cells[:, position], codes)
        # A column that is the same for all stands for no predictors, of which NumPy makes none.
        columns = [np.zeros(len(counts.cells), dtype=np.int64)]
        for attribute in attributes:
            own = counts.cells[:, schema.position(attribute.name)]
            kept &= np.isin(own, answer_codes(attribute))
            columns.append(np.searchsorted(answer_codes(attribute), own))
        position = schema.position(outcome)
        known = answer_codes(schema.attributes[position])
        kept &= np.isin(counts.cells[:, position], known)
        cells, which = np.unique(np.stack(columns, axis=1)[kept], axis=0, return_inverse=True)
        places = which.ravel() * len(known) + np.searchsorted(known, counts.cells[kept, position])
        numbers = np.bincount(places, counts.counts[kept], len(cells) * len(known))
        return cls(cells[:, 1:], numbers.reshape(len(cells), -1).astype(np.float64))


def perturbed_outcome_regression(
    numbers: Array,
    channel: Array,
    predictors: Predictors,
    outcome: Outcome,
    slope: Array | None = None,
) -> Regression:
    """Return the regression of a perturbed answer on others that are not.

    Parameters
    ----------
    numbers : ndarray, shape (x, reports)
        Of each report of the outcome, for each row of the predictors.
    channel : ndarray, shape (reports, answers) or (x, reports, answers)
        For all rows, or for each.
    predictors : Predictors
    outcome : Outcome
        Whose log-likelihood has the probability of every answer.
    slope : ndarray, shape (x, reports, answers), optional
        Of channels that depend on an unknown share, which is estimated together: what they change
        by for a unit of it, `channel` being where it is 0. It is not kept within 0 and 1, so that
        normal intervals hold where it is at an end; reports never get a chance below 0.

    Raises
    ------
    ParameterError
        For an outcome that has not.
    """
    if not outcome.is_distribution:
        raise ParameterError(
            "model: expected one of the odds of two answers, or of every answer", field="model"
        )
    design = outcome.design(predictors.columns)
    slopes = np.zeros((0, 1, 1, 1)) if slope is None else slope[None]
    size = design.shape[2]
    try:
        optimum, information = _maximum(design, numbers, channel, slopes, outcome)
    except NotIdentified as failure:
        return without_numbers(size, str(failure))
    every: Array = np.asarray(np.linalg.inv(information), dtype=np.float64)
    coefficients, covariance = optimum[:size], every[:size, :size]
    z = coefficients / np.sqrt(np.diag(covariance))
    reports = numbers.sum()
    shares = numbers.sum(axis=1) / reports
    effects, errors = [], []
    for each, effect_slope in marginal_effects(predictors, outcome, coefficients, shares):
        average = shares @ each
        # Of a sample of people, whose predictors say nothing of the error of the coefficients.
        sampling = shares @ (each - average) ** 2 / reports
        effects.append(average)
        variance = np.diag(effect_slope @ covariance @ effect_slope.T)
        errors.append(np.sqrt(variance + sampling))
    return Regression(
        coefficients,
        covariance,
        z,
        effects=np.array(effects),
        effect_errors=np.array(errors),
        share=None if slope is None else (float(optimum[size]), every[size]),
    )


def _maximum(
    design: Array, numbers: Array, channel: Array, slopes: Array, outcome: Outcome
) -> tuple[Array, Array]:
    """Return the coefficients, and then the shares of channels, with their observed information."""
    size, came = design.shape[2], numbers.sum(axis=1)
    # Shares begin in the middle.
    free = np.concatenate([np.zeros(size), np.full(len(slopes), 0.5)])
    now = _channel(channel, slopes, free[size:])
    average = np.einsum("x,xvu->vu", came, np.broadcast_to(now, (len(came), *now.shape[-2:])))
    guess = np.linalg.lstsq(average, numbers.sum(axis=0))[0]
    free[:size] = outcome.start(guess, size)
    here = outcome.response(design @ free[:size])
    for _ in range(_STEPS):
        level, joint, reports = _reports(numbers, now, here)
        posterior = joint / reports
        weighted = numbers[:, :, None] * posterior
        expected = weighted.sum(axis=1)
        # Derivatives of the logarithms of reports' chances by the shares.
        moved = np.exp(here.level)[:, None] * slopes / reports
        gain = moved.sum(axis=3)
        score = np.concatenate(
            [score_of(design, expected, here), np.einsum("xv,kxv->k", numbers, gain)]
        )
        by_report = posterior @ here.slope
        mixed = gain[..., None] * by_report - moved @ here.slope
        cross = np.einsum("xv,kxvq,xqc->kc", numbers, mixed, design, optimize=True)
        own = np.einsum("xv,kxv,lxv->kl", numbers, gain, gain)
        complete = information_of(design, expected, here)
        known = complete - spread(design, _open(weighted, posterior, here))
        information = np.block([[known, cross.T], [cross, own]])
        definite = bool(np.linalg.eigvalsh(information)[0] > 0)
        nothing = np.zeros_like(cross)
        try:
            step = np.linalg.solve(
                information if definite else np.block([[complete, nothing.T], [nothing, own]]),
                score,
            )
        except np.linalg.LinAlgError:
            break
        if definite and score @ step <= _PRECISION**2:
            return free, information
        for halving in range(_HALVINGS):
            trial = free + step / 2**halving
            here = outcome.response(design @ trial[:size])
            now = _channel(channel, slopes, trial[size:])
            if _reports(numbers, now, here)[0] >= level - 1e-12 * abs(level):
                break
        free = trial
    raise NotIdentified("the reports do not determine its coefficients", score[:size])


def _channel(channel: Array, slopes: Array, shares: Array) -> Array:
    return np.asarray(channel + np.tensordot(shares, slopes, axes=1)) if len(slopes) else channel


def _reports(numbers: Array, channel: Array, here: Response) -> tuple[float, Array, Array]:
    """Log-likelihood of the reports, their chances with each answer, and alone (1 for none)."""
    joint = np.exp(here.level)[:, None] * channel
    reports = joint.sum(axis=2)
    came = numbers > 0
    possible = (reports >= 0).all() and (reports[came] > 0).all()
    level = numbers[came] @ np.log(reports[came]) if possible else -np.inf
    return float(level), joint, np.where(reports > 0, reports, 1.0)[:, :, None]


def _open(weighted: Array, posterior: Array, here: Response) -> Array:
    """Σ_v n_v of the variance of the scores of the true answers given report v."""
    by_report = posterior @ here.slope
    second = np.einsum("xu,xuq,xur->xqr", weighted.sum(axis=1), here.slope, here.slope)
    numbers = weighted.sum(axis=2)
    return np.asarray(second - np.einsum("xv,xvq,xvr->xqr", numbers, by_report, by_report))
