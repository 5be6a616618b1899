"""Equation of a regression, from the names that an analyst gives."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from halftruth_shared import Attribute, DomainTooLarge, ParameterError, Schema
from halftruth_shared.analyses.base import Items
from halftruth_shared.analyses.regression import Model
from halftruth_shared.errors import listing
from halftruth_shared.mechanisms.reconstruction import COVARIANCE_CELLS

from .answers import answers_of, category_code, presence
from .bounds import Array

Scores = Mapping[str, Sequence[float]]


@dataclass(frozen=True)
class Term:
    """Term of a model, which a coefficient belongs to.

    Attributes
    ----------
    attribute : str or None
        None for the intercept.
    category : str or None
        None for the intercept and for scores.
    reference : str or None
        The category that it is compared with.
    """

    attribute: str | None = None
    category: str | None = None
    reference: str | None = None


@dataclass(frozen=True, eq=False)
class Equation:
    """A model with main effects alone.

    Attributes
    ----------
    names : tuple of str
        The predictors, and then the outcome: axes of the table that it is fitted to.
    terms : tuple of Term, length k
        The intercept first.
    design : ndarray, shape (cells of the predictors, k)
        Predictors of every combination of answers, in row-major order.
    outcome_scores : ndarray, shape (answers to the outcome,)
        What each answer counts as: 0 or 1 in a logistic model, its score in a linear one. Missing
        categories are no answers, here and in the design.
    present, reference : mapping of str to str
        The answer whose odds are modelled, and the category of each predictor that its others are
        compared with.
    """

    names: tuple[str, ...]
    terms: tuple[Term, ...]
    design: Array
    outcome_scores: Array
    present: Items
    reference: Items
    scores: Scores


def equation(
    schema: Schema,
    outcome: str,
    predictors: Sequence[str],
    model: Model = "logistic",
    present: Items | None = None,
    reference: Items | None = None,
    scores: Items | None = None,
) -> Equation:
    """The equation of a regression.

    Parameters
    ----------
    predictors : sequence of str
        One or more others.
    present : mapping of str to str, optional
        The answer to the outcome whose odds are modelled; by default its only item, or the second
        of two.
    reference : mapping of str to str, optional
        By predictor, the first category by default.
    scores : mapping of str to str, optional
        "ranks", or as many numbers as categories with commas between them, by attribute.

    Raises
    ------
    SchemaError
        If an attribute is unknown or named twice.
    ParameterError
        If a category is unknown, or something is given that such a model does not have.
    DomainTooLarge
        If the table is too large for its covariance.
    """
    schema.positions([outcome], "outcome")
    positions = schema.positions(predictors, "predictors")
    if outcome in predictors or not predictors:
        raise ParameterError(
            "predictors: expected one or more other attributes", field="predictors"
        )
    explained = schema.attributes[schema.position(outcome)]
    attributes = [schema.attributes[j] for j in positions]
    cells = math.prod(len(a.categories) for a in (explained, *attributes))
    if cells > COVARIANCE_CELLS:
        raise DomainTooLarge(
            f"predictors: a table of {cells} cells; expected at most {COVARIANCE_CELLS}, so fewer"
            " predictors",
            field="predictors",
        )
    scored = _scores([explained, *attributes], scores or {})
    # What stands for a number, unless it is said otherwise, is the middle of its bin.
    spoken = () if model == "logistic" else (outcome,)
    for attribute in (explained, *attributes):
        if attribute.number is None or attribute.name in (reference or {}):
            continue
        if attribute.name in (*spoken, *predictors) and attribute.name not in scored:
            scored[attribute.name] = [float(middle) for middle in attribute.number.midpoints]
    outcome_scores, present = _outcome(schema, explained, model, present or {}, scored)
    reference = _reference(attributes, scored, reference or {})
    terms, columns = [Term()], []
    for attribute in attributes:
        name = attribute.name
        if name in scored:
            values = np.array(scored[name])
            terms.append(Term(name))
            columns.append(values[:, None])
            continue
        answers = answers_of(attribute)
        base = answers.index(reference[name])
        others = [category for category in answers if category != reference[name]]
        terms += [Term(name, category, reference[name]) for category in others]
        columns.append(indicators(len(answers), base))
    return Equation(
        names=(*predictors, outcome),
        terms=tuple(terms),
        design=design_matrix(columns),
        outcome_scores=outcome_scores,
        present=present,
        reference=reference,
        scores=scored,
    )


def indicators(categories: int, reference: int) -> Array:
    """Columns that tell each category but one from that one.

    >>> indicators(3, 1).astype(int).tolist()
    [[1, 0], [0, 0], [0, 1]]
    """
    return np.delete(np.eye(categories), reference, axis=1)


def design_matrix(columns: Sequence[Array]) -> Array:
    """Predictors of every combination of answers, main effects alone.

    Parameters
    ----------
    columns : sequence of ndarray, shapes (d_j, k_j)
        What each answer to predictor j is in its columns.

    Returns
    -------
    ndarray, shape (∏ d_j, 1 + Σ k_j)
        Combinations in row-major order; the first column is the intercept.

    Examples
    --------
    >>> design_matrix([indicators(2, 0), np.array([[1.0], [2.0]])]).astype(int).tolist()
    [[1, 0, 1], [1, 0, 2], [1, 1, 1], [1, 1, 2]]
    """
    cells = np.indices([len(column) for column in columns]).reshape(len(columns), -1)
    found = [column[codes] for column, codes in zip(columns, cells, strict=True)]
    return np.hstack([np.ones((cells.shape[1], 1)), *found])


def _outcome(
    schema: Schema, outcome: Attribute, model: Model, present: Items, scores: Scores
) -> tuple[Array, Items]:
    """Return the score of each answer to the outcome, and the answer whose odds are modelled."""
    name = outcome.name
    if model == "linear":
        if present:
            raise ParameterError("present: expected none in a linear model", field="present")
        if name not in scores:
            raise ParameterError(
                f"scores: expected those of '{name}' for a linear model, such as {name}=ranks",
                field="scores",
            )
        return np.array(scores[name]), {}
    if name in scores:
        raise ParameterError(
            f"scores: expected none of '{name}', whose odds a logistic model is about",
            field="scores",
        )
    [code] = presence(schema, [name], present)
    if code is None:
        raise ParameterError(
            f"present: expected the answer to '{name}' whose odds are modelled", field="present"
        )
    answers, category = answers_of(outcome), outcome.categories[code]
    if category not in answers:
        raise ParameterError(
            f"present: '{category}' is no answer to '{name}'; expected one of: {listing(answers)}",
            field="present",
        )
    outcome_scores = np.zeros(len(answers))
    outcome_scores[answers.index(category)] = 1
    return outcome_scores, {name: outcome.categories[code]}


def _reference(attributes: Sequence[Attribute], scores: Scores, given: Items) -> Items:
    """The category that others are compared with, of every predictor without scores."""
    found = {a.name: a for a in attributes if a.name not in scores}
    _known("reference", given, tuple(found), "predictors without scores")
    for name, category in given.items():
        category_code(found[name], category, "reference")
        if category not in (answers := answers_of(found[name])):
            raise ParameterError(
                f"reference: '{category}' is no answer to '{name}'; expected one of:"
                f" {listing(answers)}",
                field="reference",
            )
    return {name: given.get(name, answers_of(a)[0]) for name, a in found.items()}


def _scores(attributes: Sequence[Attribute], given: Items) -> dict[str, list[float]]:
    """Return the scores of the categories of attributes."""
    found = {a.name: answers_of(a) for a in attributes}
    _known("scores", given, tuple(found), "attributes of the model")
    return {name: score_values(name, len(found[name]), text) for name, text in given.items()}


def score_values(name: str, categories: int, text: str) -> list[float]:
    """Return scores of so many categories: 1, 2, … for "ranks", or the numbers given."""
    if text.strip() == "ranks":
        return [float(rank) for rank in range(1, categories + 1)]
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = []
    different = len(set(values)) > 1 and all(map(math.isfinite, values))
    if len(values) != categories or not different:
        raise ParameterError(
            f"scores: expected {name}=ranks, or {categories} numbers that are not all equal, with"
            " commas between them",
            field="scores",
        )
    return values


def _known(field: str, given: Items, names: Sequence[str], what: str) -> None:
    for name in given:
        if name not in names:
            accepted = f"expected some of: {listing(names)}" if names else "expected none"
            raise ParameterError(
                f"{field}: '{name}' is none of the {what}; {accepted}", field=field
            )
