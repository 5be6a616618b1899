"""Lower bound on the errors of any mechanism of an amplification."""

from collections.abc import Collection
from fractions import Fraction

import numpy as np
from halftruth_shared import DomainTooLarge, Schema
from halftruth_shared.analyses.base import Target
from halftruth_shared.mechanisms.split_questionnaire.design import (
    EXPONENT,
    Array,
    enumerate_types,
    group_by_categories,
    minimize_convex,
    objective_of_lengths,
    smooth_largest_square,
)
from halftruth_shared.rational import as_float

#: Largest number of integers that identify the components of the information bound.
_COMPONENTS = 2**24


def information_bound(
    schema: Schema,
    gamma: Fraction,
    respondents: int,
    public: Collection[str],
    lengths: Collection[int],
    target: Target = "population",
) -> dict[int, float]:
    """Return the errors of the best possible mechanism, under uniform answers.

    The information of a report about all dimensions together is at most (γ − 1)²/(4γ), and about
    each at most that of an unperturbed answer. Its allocation minimizes the largest error of the
    lengths. No mechanism has a smaller largest error for every population, but some may be more
    accurate if answers are not uniform.

    Parameters
    ----------
    gamma : Fraction
        Amplification, above 1.
    public : collection of str
        Attributes that are in none of the tables.

    Returns
    -------
    dict of int to float
        Root mean square error over the cells of all tables of each length.

    Raises
    ------
    DomainTooLarge
        If the tables have too many components of different sizes.
    """
    groups = group_by_categories(schema, public)
    asked = sorted(lengths)
    components = enumerate_types(groups, asked[-1], _COMPONENTS)
    if components is None:
        raise DomainTooLarge(
            f"lengths: tables of {asked[-1]} attributes have too many components; expected fewer",
            field="lengths",
        )
    objective = objective_of_lengths(groups, components, asked)
    coefficients, dimensions = objective.coefficients, objective.dimensions(groups)
    squares = _best_squares(coefficients, dimensions, as_float((gamma - 1) ** 2 / (4 * gamma)))
    if target == "respondents":
        squares = np.maximum(squares - coefficients.sum(axis=1), 0.0)
    errors = np.sqrt(squares / respondents)
    return dict(zip(asked, errors.tolist(), strict=True))


def largest_error(errors: Collection[float]) -> float:
    """Return the largest error of some lengths, as `information_bound` minimizes it."""
    return float(np.sqrt(smooth_largest_square(np.square(list(errors)))))


def _best_squares(coefficients: Array, dimensions: Array, information: float) -> Array:
    """Return the squared errors of each length for one report with optimal allocation.

    Given prices of the squared errors, the optimal allocation is explicit. The best prices solve
    the dual problem, which is concave with one variable for each length.

    Parameters
    ----------
    coefficients : ndarray, shape (lengths, components)
    dimensions : ndarray, shape (components,)
    information : float
        Information about all dimensions together.
    """
    dual = EXPONENT / (EXPONENT - 2)

    def squares(prices: Array) -> Array:
        allocated = _allocate(prices @ coefficients, dimensions, information)
        return np.asarray(coefficients @ (1 / allocated))

    unit = float(squares(np.ones(len(coefficients))).sum())

    def loss(prices: Array) -> tuple[float, Array]:
        errors = squares(prices) / unit
        norm = float((prices**dual).sum() ** (1 / dual))
        gradient = norm ** (2 - dual) * prices ** (dual - 1)
        return norm**2 / 2 - float(prices @ errors), gradient - errors

    return squares(minimize_convex(loss, len(coefficients)))


def _allocate(price: Array, dimensions: Array, information: float) -> Array:
    """Return the information J ≤ 1 of each component with the smallest Σ price/J.

    With Σ dimensions·J ≤ information, J is in proportion to √(price/dimensions) below 1.
    """
    wanted = np.sqrt(price / dimensions)
    order = np.argsort(-wanted)
    # Remaining information if the first k components have 1, by k.
    left = information - np.concatenate([[0.0], np.cumsum(dimensions[order])[:-1]])
    others = np.cumsum((wanted * dimensions)[order][::-1])[::-1]
    fits = left * wanted[order] <= others
    if not fits.any():
        return np.ones_like(wanted)
    k = int(np.argmax(fits))
    return np.asarray(np.minimum(1.0, wanted * (left[k] / others[k])))
