"""Multinomial logistic regression, read from a model of all answers.

The coefficients B of one answer y on the main effects of others x solve
Σ_x Σ_y π(x, y)(e_y − m(x; B)) x' = 0 for the table π of the model: they are those of the population
that it describes, smooth functions of its parameters θ, whose errors follow by the delta method.
Where the model has all pairs, and x are all attributes but y, its logits of y are linear in x, so
that the coefficients are parameters of the model itself (Agresti 2013, §10.1).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from halftruth_shared import EstimateError, ParameterError, Schema
from halftruth_shared.analyses.base import Answers, Items
from numpy.typing import NDArray

from ..answers import answer_codes, category_code
from ..bounds import Array, check_confidence, normal_quantile
from ..equation import Term, indicators
from .fit import LoglinearModel
from .predict import shares

#: Newton's steps end where they change no logit by more.
_PRECISION = 1e-9

#: Most of Newton's steps, and most halvings of each.
STEPS, HALVINGS = 100, 30

Scores = Mapping[str, Sequence[float]]


@dataclass(frozen=True, eq=False)
class LogitCoefficients:
    """Coefficients of a multinomial logistic regression.

    Attributes
    ----------
    outcome : str
    answers : tuple of str
        The answers whose log odds against `reference` are modelled.
    reference : str
    terms : tuple of Term, length k
        The intercept first.
    coefficients : ndarray, shape (answers, k)
    covariance : ndarray, shape (answers·k, answers·k)
        In row-major order of the coefficients.
    """

    outcome: str
    answers: tuple[str, ...]
    reference: str
    terms: tuple[Term, ...]
    coefficients: Array
    covariance: Array

    def standard_error(self) -> Array:
        """Standard error of each coefficient, shape of `coefficients`."""
        errors: Array = np.sqrt(np.maximum(np.diag(self.covariance), 0.0))
        return errors.reshape(self.coefficients.shape)

    def interval(self, confidence: float = 0.95) -> tuple[Array, Array]:
        """Normal interval of each coefficient; exp of it is that of an odds ratio."""
        check_confidence(confidence)
        width = normal_quantile(1 - confidence) * self.standard_error()
        return self.coefficients - width, self.coefficients + width


def regression(
    model: LoglinearModel,
    outcome: str,
    predictors: Sequence[str],
    reference: Items | None = None,
    scores: Scores | None = None,
    where: Answers | None = None,
) -> LogitCoefficients:
    """Return the regression of an answer on the main effects of others, by a fitted model.

    Parameters
    ----------
    model : LoglinearModel
        A model without the pairs of the outcome and the predictors says that they have no effect.
    outcome : str
    predictors : sequence of str
        Any number of others. Missing answers of all of them are left out.
    reference : mapping of str to str, optional
        The category of outcome or predictor that its others are compared with; the first answer
        by default.
    scores : mapping of str to sequence of float, optional
        Numbers that the answers to a predictor stand for.
    where : mapping of str to str or sequence of str, optional

    Raises
    ------
    SchemaError, ParameterError
        For unknown attributes or categories.
    DomainTooLarge
        If the table of all of them has too many cells.
    EstimateError
        If a predictor follows from the others.
    """
    if outcome in predictors:
        raise ParameterError("predictors: expected others than the outcome", field="predictors")
    joint = shares(model, [*predictors, outcome], where, "exclude")
    terms, by_answer = predictor_columns(model.schema, predictors, reference or {}, scores or {})
    answers, base = outcome_answers(model.schema, outcome, reference or {})
    table = joint.support.reshape(-1, len(answers) + 1)
    cells = np.indices(joint.support.shape[:-1], dtype=np.int64)
    design = design_of(by_answer, cells.reshape(len(predictors), len(table)).T)
    coefficients, means = _maximum(design, table, base)
    information = _information(design, table.sum(axis=1), means)
    # The derivative of the score by each cell of the table, and of the table by θ.
    inside = np.delete(np.eye(table.shape[1]), base, axis=0)[None] - means[:, :, None]
    change = np.einsum("xk,xay->akxy", design, inside).reshape(coefficients.size, -1)
    by_parameter = change @ (joint.gradient * joint.support.reshape(-1, 1))
    influence = np.linalg.solve(information, by_parameter)
    return LogitCoefficients(
        outcome=outcome,
        answers=tuple(answers),
        reference=model.schema.attributes[model.schema.position(outcome)].categories[
            answer_codes(model.schema.attributes[model.schema.position(outcome)])[base]
        ],
        terms=terms,
        coefficients=coefficients,
        covariance=influence @ model.covariance @ influence.T,
    )


def predictor_columns(
    schema: Schema, predictors: Sequence[str], reference: Items, scores: Scores
) -> tuple[tuple[Term, ...], list[Array]]:
    """Terms of main effects, and what each answer to each predictor is in its columns."""
    terms, columns = [Term()], []
    for position in schema.positions(predictors, "predictors") if predictors else ():
        attribute = schema.attributes[position]
        answers = [attribute.categories[code] for code in answer_codes(attribute)]
        if attribute.name in scores:
            values = np.array(scores[attribute.name], dtype=np.float64)
            if values.shape != (len(answers),) or not np.isfinite(values).all():
                raise ParameterError(
                    f"scores: expected a number for each of the {len(answers)} answers to"
                    f" '{attribute.name}'",
                    field="scores",
                )
            terms.append(Term(attribute.name))
            columns.append(values[:, None])
            continue
        base = reference.get(attribute.name, answers[0])
        category_code(attribute, base, "reference")
        others = [answer for answer in answers if answer != base]
        terms += [Term(attribute.name, answer, base) for answer in others]
        columns.append(indicators(len(answers), answers.index(base)))
    return tuple(terms), columns


def outcome_answers(schema: Schema, outcome: str, reference: Items) -> tuple[list[str], int]:
    """Answers other than the reference, and the number of that among all of them."""
    attribute = schema.attributes[schema.position(outcome, "outcome")]
    answers = [attribute.categories[code] for code in answer_codes(attribute)]
    base = reference.get(outcome, answers[0])
    category_code(attribute, base, "reference")
    return [answer for answer in answers if answer != base], answers.index(base)


def design_of(by_answer: Sequence[Array], cells: NDArray[np.int64]) -> Array:
    """Intercept and predictors of each combination of answers, shape (combinations, k)."""
    columns = [column[codes] for column, codes in zip(by_answer, cells.T, strict=True)]
    return np.hstack([np.ones((len(cells), 1)), *columns])


def means_of(design: Array, coefficients: Array, base: int) -> tuple[Array, Array]:
    """Probability of every answer but the reference, and the logarithm of that of every one."""
    logits = np.insert(design @ coefficients.T, base, 0.0, axis=1)
    logs = logits - scipy.special.logsumexp(logits, axis=1, keepdims=True)
    return np.delete(np.exp(logs), base, axis=1), np.asarray(logs)


def spread(design: Array, by_answer: Array) -> Array:
    """Σ_x w(x) ⊗ x x' with a matrix w over the answers for each combination."""
    products = np.einsum("xk,xab,xl->akbl", design, by_answer, design, optimize=True)
    return np.asarray(products.reshape(by_answer.shape[1] * design.shape[1], -1))


def _information(design: Array, weights: Array, means: Array) -> Array:
    own = means[:, :, None] * np.eye(means.shape[1]) - means[:, :, None] * means[:, None]
    return spread(design, weights[:, None, None] * own)


def _maximum(design: Array, table: Array, base: int) -> tuple[Array, Array]:
    """Return the coefficients and probabilities, by Newton's method with halved steps."""
    weights, chosen = table.sum(axis=1), np.delete(table, base, axis=1)
    coefficients = np.zeros((chosen.shape[1], design.shape[1]))
    means, logs = means_of(design, coefficients, base)
    for _ in range(STEPS):
        score = (chosen - weights[:, None] * means).T @ design
        information = _information(design, weights, means)
        try:
            np.linalg.cholesky(information)
        except np.linalg.LinAlgError:
            break
        step = np.linalg.solve(information, score.ravel()).reshape(score.shape)
        level = (table * logs).sum()
        for halving in range(HALVINGS):
            trial = coefficients + step / 2**halving
            means, logs = means_of(design, trial, base)
            if (table * logs).sum() >= level - 1e-12:
                break
        coefficients = trial
        if np.abs(design @ step.T).max() < _PRECISION:
            return coefficients, means
    raise EstimateError(
        "predictors: the model does not determine their effects; expected others, none of which"
        " follows from the rest",
        field="predictors",
    )
