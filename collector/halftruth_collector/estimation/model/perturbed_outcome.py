"""Multinomial logistic regression where the outcome alone is perturbed.

Reports tell the predictors as they are. So only combinations of them that occur matter, however
many there might be, and a report v of the outcome has the probability λ_v = Σ_u P(v|u) m_u(x; B).
Its likelihood is maximized by Newton's method; with q the probability of each true answer given the
report, the observed information is that of true answers, less what q leaves open of them (Louis
1982): Σ_x [n(diag m − mm') − Σ_v n_v (diag q − qq')] ⊗ xx'.
"""

from collections.abc import Sequence

import numpy as np
from halftruth_shared import EstimateError, ParameterError, Survey
from halftruth_shared.analyses.base import Items
from halftruth_shared.mechanisms.records import RecordReconstruction
from numpy.typing import NDArray

from ..answers import answer_codes
from ..bounds import Array
from ..counts import Counts
from .regression import (
    HALVINGS,
    STEPS,
    LogitCoefficients,
    Scores,
    design_of,
    means_of,
    outcome_answers,
    predictor_columns,
    spread,
)

#: Newton's steps end where one would be so short in standard errors.
_PRECISION = 1e-8


def perturbed_outcome_regression(
    survey: Survey,
    counts: Counts,
    outcome: str,
    predictors: Sequence[str] = (),
    reference: Items | None = None,
    scores: Scores | None = None,
) -> LogitCoefficients:
    """Return the regression of a perturbed answer on others that are sent unperturbed.

    Parameters
    ----------
    survey : Survey
        Whose mechanism perturbs every attribute by itself, and none of the predictors.
    counts : Counts
    outcome : str
    predictors : sequence of str
        None for the shares of the answers alone. Who did not answer one of them is left out.
    reference : mapping of str to str, optional
        The category of outcome or predictor that its others are compared with; the first answer
        by default.
    scores : mapping of str to sequence of float, optional
        Numbers that the answers to a predictor stand for.

    Raises
    ------
    SchemaError, ParameterError
        For unknown attributes or categories, or a predictor that is perturbed.
    EstimateError
        If the reports do not determine the coefficients.
    """
    counts.check(survey)
    schema = survey.schema
    if outcome in predictors:
        raise ParameterError("predictors: expected others than the outcome", field="predictors")
    answers, base = outcome_answers(schema, outcome, reference or {})
    terms, by_answer = predictor_columns(schema, predictors, reference or {}, scores or {})
    channel = _channel(survey, outcome, predictors)
    combinations, numbers = _combinations(counts, schema.positions([*predictors, outcome]))
    kept = [answer_codes(schema.attributes[schema.position(name)]) for name in predictors]
    answered = np.ones(len(combinations), dtype=bool)
    for column, codes in zip(combinations.T, kept, strict=True):
        answered &= np.isin(column, codes)
    cells = np.zeros((int(answered.sum()), len(predictors)), dtype=np.int64)
    for place, codes in enumerate(kept):
        cells[:, place] = np.searchsorted(codes, combinations[answered, place])
    design = design_of(by_answer, cells)
    order = answer_codes(schema.attributes[schema.position(outcome)])
    if len(order) < len(channel):
        raise ParameterError(
            f"outcome: '{outcome}' has answers that are missing, which a report does not tell;"
            " expected a question that everybody answers",
            field="outcome",
        )
    coefficients, information = _maximum(design, numbers[answered], channel, base)
    return LogitCoefficients(
        outcome=outcome,
        answers=tuple(answers),
        reference=schema.attributes[schema.position(outcome)].categories[base],
        terms=terms,
        coefficients=coefficients,
        covariance=np.asarray(np.linalg.inv(information), dtype=np.float64),
    )


def _channel(survey: Survey, outcome: str, predictors: Sequence[str]) -> Array:
    """P(report | answer) of the outcome, where nothing else is perturbed.

    Raises
    ------
    ParameterError
    """
    reconstruction = survey.mechanism.reconstruction(survey.schema)
    names = [*predictors, outcome]
    factors = None
    if isinstance(reconstruction, RecordReconstruction):
        factors = reconstruction.factors(names)
    if factors is None:
        raise ParameterError(
            "outcome: the mechanism does not perturb each answer by itself; expected a regression"
            " by a model of all answers",
            field="outcome",
        )
    for name, factor in zip(predictors, factors, strict=False):
        if not np.allclose(factor.dense(), np.eye(factor.shape[0])):
            raise ParameterError(
                f"predictors: '{name}' is perturbed; expected predictors that are not, or a"
                " regression by a model of all answers",
                field="predictors",
            )
    return factors[-1].dense()


def _combinations(counts: Counts, positions: Sequence[int]) -> tuple[NDArray[np.int64], Array]:
    """Combinations of predictors that occur, and the number of each report of the outcome."""
    cells = counts.cells[:, positions]
    # A column that is the same for all stands for no predictors, of which NumPy makes none.
    same = np.zeros((len(cells), 1), dtype=np.int64)
    found, which = np.unique(np.hstack([same, cells[:, :-1]]), axis=0, return_inverse=True)
    found, size = found[:, 1:], counts.shape[positions[-1]]
    places = which.ravel() * size + cells[:, -1]
    numbers = np.bincount(places, counts.counts, len(found) * size)
    return found, numbers.reshape(-1, size).astype(np.float64)


def _maximum(design: Array, numbers: Array, channel: Array, base: int) -> tuple[Array, Array]:
    """Return the coefficients with their observed information."""
    answers = len(channel) - 1
    coefficients = np.zeros((answers, design.shape[1]))
    total = numbers.sum(axis=1)
    means, logs = means_of(design, coefficients, base)
    for _ in range(STEPS):
        joint = np.exp(logs)[:, None] * channel
        reports = joint.sum(axis=2)
        level = _level(numbers, reports)
        posterior = joint / np.where(reports > 0, reports, 1.0)[:, :, None]
        weighted = numbers[:, :, None] * np.delete(posterior, base, axis=2)
        expected = weighted.sum(axis=1)
        score = ((expected - total[:, None] * means).T @ design).ravel()
        complete = _of_shares(total, means)
        open_ = _diagonal(expected) - np.einsum(
            "xva,xvb->xab", weighted, np.delete(posterior, base, axis=2)
        )
        information = spread(design, complete - open_)
        definite = bool(np.linalg.eigvalsh(information)[0] > 0)
        metric = information if definite else spread(design, complete)
        try:
            step = np.linalg.solve(metric, score)
        except np.linalg.LinAlgError:
            break
        if definite and score @ step <= _PRECISION**2:
            return coefficients, information
        for halving in range(HALVINGS):
            trial = coefficients + step.reshape(coefficients.shape) / 2**halving
            means, logs = means_of(design, trial, base)
            if _level(numbers, np.exp(logs) @ channel.T) >= level - 1e-12 * abs(level):
                break
        coefficients = trial
    raise EstimateError(
        "predictors: the reports do not determine the coefficients; expected fewer predictors, or"
        " more reports",
        field="predictors",
    )


def _level(numbers: Array, reports: Array) -> float:
    came = numbers > 0
    if (reports[came] <= 0).any():
        return -np.inf
    return float(numbers[came] @ np.log(reports[came]))


def _of_shares(total: Array, means: Array) -> Array:
    return total[:, None, None] * (
        means[:, :, None] * np.eye(means.shape[1]) - means[:, :, None] * means[:, None]
    )


def _diagonal(values: Array) -> Array:
    return np.asarray(values[:, :, None] * np.eye(values.shape[1]))
