"""Equation of a regression: outcome, predictors and their columns.

The linear predictor η is the log odds of an answer (*logistic*), or the mean score (*linear*). Both
links are canonical: the curvature of the log-likelihood is the same for every answer, and is the
derivative of the mean.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import scipy
from halftruth_shared import Attribute, ParameterError, Schema
from halftruth_shared.analyses.base import Items
from halftruth_shared.analyses.regression import Model, RegressionQuery
from halftruth_shared.errors import listing
from numpy.typing import NDArray

from .answers import answers_of, category_code, presence
from .bounds import Array

Scores = Mapping[str, Sequence[float]]

#: Step of a derivative by scores, relative to their range.
_DIFFERENCE = 1e-4


@dataclass(frozen=True)
class Factor:
    """Predictor in a term: a category against a reference, or one unit of scores."""

    attribute: str
    category: str | None = None
    reference: str | None = None


@dataclass(frozen=True, eq=False)
class Predictor:
    """Columns of one predictor.

    Attributes
    ----------
    name : str
    factors : tuple of Factor
        Factor of each column.
    values : ndarray, shape (x, columns)
        Values of each answer, or of each person.
    """

    name: str
    factors: tuple[Factor, ...]
    values: Array

    @property
    def is_scored(self) -> bool:
        return self.factors[0].category is None

    def at(self, codes: NDArray[np.int64]) -> "Predictor":
        """Return the predictor of people with these answers."""
        return replace(self, values=self.values[codes])

    def contrasts(self) -> Iterator[tuple[Array, Array, float]]:
        """Yield two values to compare for each column, and the divisor of the difference."""
        if self.is_scored:
            step = _DIFFERENCE * float(np.ptp(self.values) or 1.0)
            yield self.values + step, self.values - step, 2 * step
            return
        for row in np.eye(len(self.factors)):
            high = np.broadcast_to(row, self.values.shape)
            yield high, np.zeros_like(high), 1.0


@dataclass(frozen=True, eq=False)
class Predictors:
    """Predictors with their interactions.

    Attributes
    ----------
    each : tuple of Predictor
    interactions : tuple of tuple of int
        Indices of the predictors of each.
    """

    each: tuple[Predictor, ...]
    interactions: tuple[tuple[int, ...], ...] = ()

    @property
    def terms(self) -> list[tuple[Factor, ...]]:
        """Factors of each term; the intercept has none."""
        main = [(factor,) for predictor in self.each for factor in predictor.factors]
        crossed = [
            term
            for numbers in self.interactions
            for term in product(*(self.each[number].factors for number in numbers))
        ]
        return [(), *main, *crossed]

    def at(self, cells: NDArray[np.int64]) -> "Predictors":
        """Return the predictors of people whose answers are given, a column for each predictor."""
        pairs = zip(self.each, cells.T, strict=True)
        return replace(self, each=tuple(predictor.at(codes) for predictor, codes in pairs))

    def everywhere(self) -> "Predictors":
        """Return the predictors of every combination of answers, in row-major order."""
        cells = np.indices([len(predictor.values) for predictor in self.each])
        return self.at(cells.reshape(len(self.each), -1).T)

    @property
    def columns(self) -> Array:
        """Design matrix, shape (x, terms)."""
        return self._with({})

    def contrasts(self) -> Iterator[tuple[Array, Array, float]]:
        """Yield two design matrices to compare for each term of one factor, and the divisor."""
        for number, predictor in enumerate(self.each):
            for high, low, divisor in predictor.contrasts():
                yield self._with({number: high}), self._with({number: low}), divisor

    def _with(self, changed: Mapping[int, Array]) -> Array:
        values = [changed.get(n, predictor.values) for n, predictor in enumerate(self.each)]
        return columns_of(values, self.interactions)


def indicators(categories: int, reference: int) -> Array:
    """Return indicator columns of all categories except the reference.

    >>> indicators(3, 1).astype(int).tolist()
    [[1, 0], [0, 0], [0, 1]]
    """
    return np.delete(np.eye(categories), reference, axis=1)


def columns_of(values: Sequence[Array], interactions: Sequence[Sequence[int]] = ()) -> Array:
    """Return the columns of the intercept, the predictors, and their interactions.

    >>> columns_of([np.array([[2.0], [3.0]]), np.array([[1.0, 0.0], [0.0, 1.0]])], [(0, 1)])
    array([[1., 2., 1., 0., 2., 0.],
           [1., 3., 0., 1., 0., 3.]])
    """
    blocks = [np.ones((len(values[0]) if values else 1, 1)), *values]
    for numbers in interactions:
        product = blocks[0]
        for number in numbers:
            several = product[:, :, None] * values[number][:, None]
            product = several.reshape(len(product), -1)
        blocks.append(product)
    return np.hstack(blocks)


@dataclass(frozen=True, eq=False)
class Response:
    """Log-likelihood of each answer, for x linear predictors.

    Attributes
    ----------
    level, slope : ndarray, shape (x, answers)
        The log-likelihood, and its derivative.
    mean, curvature : ndarray, shape (x,)
        Probability of the answer, and its derivative.
    """

    level: Array
    slope: Array
    mean: Array
    curvature: Array


@dataclass(frozen=True, eq=False)
class Outcome:
    """Outcome of a regression.

    Attributes
    ----------
    model : {"logistic", "linear"}
    scores : ndarray, shape (answers,)
        0 or 1 in a logistic model.
    """

    model: Model
    scores: Array

    @property
    def is_distribution(self) -> bool:
        """True if the log-likelihood determines the probability of every answer."""
        return self.model == "logistic" and len(self.scores) == 2

    def response(self, predictor: Array) -> Response:
        """Return the log-likelihood of a logistic model at linear predictors of shape (x,)."""
        mean = scipy.special.expit(predictor)
        return Response(
            level=self.scores * predictor[:, None] - np.logaddexp(0.0, predictor)[:, None],
            slope=self.scores - mean[:, None],
            mean=mean,
            curvature=mean * (1 - mean),
        )


@dataclass(frozen=True, eq=False)
class Equation:
    """Specification of a regression: outcome and predictors.

    Attributes
    ----------
    names : tuple of str
        The predictors, and then the outcome: axes of the table that it is fitted to.
    predictors : Predictors
        A row for each answer, without missing categories.
    outcome : Outcome
    present : mapping of str to str
        The answer whose odds are modelled.
    reference : mapping of str to str
        Reference category of each predictor.
    scores : mapping of str to sequence of float
    """

    names: tuple[str, ...]
    predictors: Predictors
    outcome: Outcome
    present: Items
    reference: Items
    scores: Scores

    @property
    def cells(self) -> int:
        """Number of combinations of all answers."""
        sizes = [len(predictor.values) for predictor in self.predictors.each]
        return math.prod(sizes) * len(self.outcome.scores)


def equation(schema: Schema, query: RegressionQuery) -> Equation:
    """Return the equation of a regression.

    Raises
    ------
    SchemaError
        If an attribute is unknown or named twice.
    ParameterError
        If a category is unknown, or an option does not apply to the model.
    """
    schema.positions([query.outcome], "outcome")
    predictors = query.predictors
    positions = schema.positions(predictors, "predictors")
    if query.outcome in predictors or not predictors:
        raise ParameterError(
            "predictors: expected one or more other attributes", field="predictors"
        )
    explained = schema.attributes[schema.position(query.outcome)]
    attributes = [schema.attributes[j] for j in positions]
    scored = _scores([explained, *attributes], query.scores)
    # By default, the score of a bin of numbers is its midpoint.
    for attribute in (explained, *attributes) if query.model == "linear" else attributes:
        if attribute.number is not None and attribute.name not in (*query.reference, *scored):
            scored[attribute.name] = [float(middle) for middle in attribute.number.midpoints]
    outcome, present = outcome_of(schema, query, scored)
    reference = _reference(attributes, scored, query.reference)
    return Equation(
        names=(*predictors, query.outcome),
        predictors=Predictors(
            tuple(_predictor(a, scored, reference) for a in attributes), _interactions(query)
        ),
        outcome=outcome,
        present=present,
        reference=reference,
        scores=scored,
    )


def _predictor(attribute: Attribute, scores: Scores, reference: Items) -> Predictor:
    name, answers = attribute.name, answers_of(attribute)
    if name in scores:
        return Predictor(name, (Factor(attribute=name),), np.array(scores[name])[:, None])
    base = answers.index(reference[name])
    factors = [
        Factor(attribute=name, category=category, reference=reference[name])
        for category in answers
        if category != reference[name]
    ]
    return Predictor(name, tuple(factors), indicators(len(answers), base))


def _interactions(query: RegressionQuery) -> tuple[tuple[int, ...], ...]:
    interactions = []
    for names in query.interactions:
        numbers = sorted({query.predictors.index(n) for n in names if n in query.predictors})
        if len(numbers) != len(names) or len(names) < 2 or tuple(numbers) in interactions:
            raise ParameterError(
                f"interactions: {listing(names)}; expected two or more different predictors, not"
                " the same ones twice",
                field="interactions",
            )
        interactions.append(tuple(numbers))
    return tuple(interactions)


def outcome_of(schema: Schema, query: RegressionQuery, scores: Scores) -> tuple[Outcome, Items]:
    """Return the outcome of a regression, and the answer whose odds are modelled.

    Raises
    ------
    SchemaError, ParameterError
    """
    outcome = schema.attributes[schema.position(query.outcome, "outcome")]
    name, answers = outcome.name, answers_of(outcome)
    if query.model == "linear":
        if query.present:
            raise ParameterError("present: expected none in a linear model", field="present")
        if name not in scores:
            raise ParameterError(
                f"scores: expected those of '{name}' for a linear model, such as {name}=ranks",
                field="scores",
            )
        return Outcome("linear", np.array(scores[name])), {}
    if name in scores:
        raise ParameterError(
            f"scores: expected none of '{name}', whose odds a logistic model is about",
            field="scores",
        )
    [code] = presence(schema, [name], query.present)
    if code is None:
        raise ParameterError(
            f"present: expected the answer to '{name}' whose odds are modelled", field="present"
        )
    category = outcome.categories[code]
    _check_answer(outcome, category, "present")
    outcome_scores = np.zeros(len(answers))
    outcome_scores[answers.index(category)] = 1
    return Outcome("logistic", outcome_scores), {name: category}


def _check_answer(attribute: Attribute, category: str, field: str) -> None:
    """Raise an error unless a category is an answer."""
    category_code(attribute, category, field)
    if category not in (answers := answers_of(attribute)):
        raise ParameterError(
            f"{field}: '{category}' is no answer to '{attribute.name}'; expected one of:"
            f" {listing(answers)}",
            field=field,
        )


def _reference(attributes: Sequence[Attribute], scores: Scores, given: Items) -> Items:
    """Return the reference category of every predictor without scores."""
    without_scores = {a.name: a for a in attributes if a.name not in scores}
    _known("reference", given, tuple(without_scores), "predictors without scores")
    for name, category in given.items():
        _check_answer(without_scores[name], category, "reference")
    return {name: given.get(name, answers_of(a)[0]) for name, a in without_scores.items()}


def _scores(attributes: Sequence[Attribute], given: Items) -> dict[str, list[float]]:
    """Return the scores of the categories of attributes."""
    answers = {a.name: answers_of(a) for a in attributes}
    _known("scores", given, tuple(answers), "attributes of the model")
    return {name: score_values(name, len(answers[name]), text) for name, text in given.items()}


def score_values(name: str, categories: int, text: str) -> list[float]:
    """Parse the scores of an attribute: "ranks" for 1, 2, …, or numbers with commas."""
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
