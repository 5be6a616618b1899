"""Log-likelihood of reports under a loglinear model, with its score and Fisher information.

With π the table of the model, D its design matrix in corner coding and μ = D'π, the reports of a
part with the channel A have the probabilities λ = Aπ with the derivatives A diag(π)(D − 1μ'). With
s_y the derivative of ln λ_y, the log-likelihood Σ n_y ln λ_y has the score Σ n_y s_y and the
expected information N Σ λ_y s_y s_y' (van den Hout & van der Heijden 2004). With g = A'(n/λ), the
EM weights of the true cells, the score is also (D − 1μ')'(πg), and the observed information is
(D − 1μ')' diag(Nπ − πg) (D − 1μ') + Σ n_y s_y s_y' (Louis 1982).

No matrix of reports by cells is computed:

- For a mixture of the table and a uniform one, the information consists of second moments of D with
  the weights π²/λ.
- A Kronecker product is applied axis by axis to all columns of diag(π) D at once. Columns with the
  same codes of the last axes share the computation along these axes.
- For reports about a few attributes, the columns are summed over the others first.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy
from halftruth_shared import DomainTooLarge
from halftruth_shared.channels import Channel, UniformMixture
from halftruth_shared.deadlines import check_deadline
from numpy.typing import NDArray

from ..bounds import Array
from ..report_model import ReportPart
from .design import Design, Integers

#: Number of derivatives of the probabilities of reports that are computed at once.
_AT_ONCE = 2**22

#: Largest number of these derivatives for one combination of unperturbed answers.
_MOST_NUMBERS = 2**26


@dataclass(frozen=True, eq=False)
class Fitted:
    """Table of a model at some parameters.

    Attributes
    ----------
    design : Design
    corner : ndarray, shape (c,)
        Parameters in corner coding.
    feasible : ndarray of bool or None
        Cells with a positive share; None for all.
    """

    design: Design
    corner: Array
    feasible: NDArray[np.bool_] | None = None

    @cached_property
    def table(self) -> Array:
        """π."""
        predictor = self.design.predictor(self.corner)
        if self.feasible is not None:
            predictor = np.where(self.feasible, predictor, -np.inf)
        weights = np.exp(predictor - predictor.max())
        return np.asarray(weights / weights.sum())

    @cached_property
    def cube(self) -> Array:
        """Cube of π."""
        return self.design.cube(self.table)

    @cached_property
    def means(self) -> Array:
        """μ, shape (c,)."""
        return np.asarray(self.cube[self.design.place])

    def margin(self, axes: tuple[int, ...]) -> Array:
        """Return the margin of some axes, in this order."""
        if axes == tuple(range(len(self.design.shape))):
            return self.table
        return self.design.margin_alone(self.cube, axes)

    def probabilities(self, part: ReportPart) -> Array:
        """λ, shape of the counts of a part."""
        return part.probabilities(self.margin(part.margin))

    def scatter(self, weights: Array) -> Array:
        """(D − 1μ')' diag(w) (D − 1μ'), shape (c, c)."""
        cube = self.design.cube(weights)
        first = np.outer(cube[self.design.place], self.means)
        around = self.design.second_moments(cube) - first - first.T
        return np.asarray(around + weights.sum() * np.outer(self.means, self.means))


@dataclass(frozen=True, eq=False)
class Derivatives:
    """Score and information of reports in corner coding.

    Attributes
    ----------
    score : ndarray, shape (c,)
    observed, expected : ndarray, shape (c, c)
        Information; the expected one is given the number of reports of each part.
    """

    score: Array
    observed: Array
    expected: Array

    def recoded(self, matrix: Array) -> "Derivatives":
        """Return the derivatives by parameters that `matrix` maps to these."""
        observed, expected = (matrix.T @ x @ matrix for x in (self.observed, self.expected))
        return Derivatives(matrix.T @ self.score, observed, expected)


def log_likelihood(parts: Sequence[ReportPart], fitted: Fitted) -> float:
    """Return Σ n_y ln λ_y over the reports of all parts; −∞ if one of them is impossible."""
    levels = (scipy.special.xlogy(part.counts, fitted.probabilities(part)) for part in parts)
    return math.fsum(float(level.sum()) for level in levels)


def derivatives(
    parts: Sequence[ReportPart], fitted: Fitted, *, expected: bool = True
) -> Derivatives:
    """Return score and information of all parts; the expected information is 0 unless wanted."""
    design = fitted.design
    of_model, of_reports = np.zeros((2, design.columns, design.columns))
    effects = np.zeros(design.cells)
    for part in parts:
        mean, total = _products(part, fitted, expected)
        of_model += part.counts.sum() * mean
        of_reports += total
        probabilities = fitted.probabilities(part)
        ratio = np.zeros_like(probabilities)
        np.divide(part.counts, probabilities, out=ratio, where=part.counts > 0)
        design.add_effects(effects, part.mean_weights(ratio), part.margin)
    reports = math.fsum(part.counts.sum() for part in parts)
    weights = design.expanded(effects) * fitted.table
    score = design.cube(weights)[design.place] - weights.sum() * fitted.means
    observed = of_reports + fitted.scatter(reports * fitted.table - weights)
    return Derivatives(score, observed, of_model)


def _products(part: ReportPart, fitted: Fitted, expected: bool) -> tuple[Array, Array]:
    """Return Σ λ_y s_y s_y' (0 unless wanted) and Σ n_y s_y s_y'."""
    operator, whole = part.operator, len(part.axes) == fitted.table.ndim
    if whole and isinstance(operator, UniformMixture):
        probabilities = (operator.keep * fitted.table + operator.spread).ravel()
        counts, own = part.counts.ravel(), operator.keep * fitted.table.ravel()
        shares = np.divide(own, probabilities, out=np.zeros(own.shape), where=own > 0)
        squares = (shares**2).reshape(fitted.table.shape)
        of_reports = fitted.scatter(counts.reshape(squares.shape) * squares)
        if not expected:
            return np.zeros_like(of_reports), of_reports
        return fitted.scatter(probabilities.reshape(squares.shape) * squares), of_reports
    of_model, of_reports = np.zeros((2, fitted.design.columns, fitted.design.columns))
    for counts, block in blocks(part, fitted):
        check_deadline()
        probabilities, came = block[0], counts > 0
        if expected:
            by_root = block[1:, probabilities > 0] / np.sqrt(probabilities[probabilities > 0])
            of_model += by_root @ by_root.T
        by_root = block[1:, came] * (np.sqrt(counts[came]) / probabilities[came])
        of_reports += by_root @ by_root.T
    return of_model, of_reports


def largest_falls(parts: Sequence[ReportPart], fitted: Fitted, steps: Array, reports: int) -> Array:
    """Return the largest decrease of functions of the parameters by one more report, shape (K,).

    A report y changes the parameters by I⁻¹ s_y. If nobody can choose its view, it is the mean over
    the views of the largest decreases by their reports.

    Parameters
    ----------
    steps : ndarray, shape (K, c)
        Gradients of the functions, times I⁻¹, in corner coding.
    reports : int
        Number of all reports.
    """
    chosen, drawn = np.zeros((2, len(steps)))
    for part in parts:
        largest = np.zeros(len(steps))
        for _, block in blocks(part, fitted):
            check_deadline()
            possible = block[0] > 0
            moved = steps @ (block[1:, possible] / block[0, possible])
            largest = np.maximum(largest, -moved.min(axis=1, initial=0.0))
        if part.by_ticket:
            drawn += float(part.counts.sum()) / reports * largest
        else:
            chosen = np.maximum(chosen, largest)
    return np.maximum(chosen, drawn)


def blocks(part: ReportPart, fitted: Fitted) -> Iterator[tuple[Array, Array]]:
    """Yield counts of some reports, and their λ with its derivatives, shape (1 + c, reports).

    Raises
    ------
    DomainTooLarge
        If there are too many derivatives.
    """
    operator = part.operator
    # A view of all attributes has one axis for all its cells.
    if isinstance(operator, Channel) and operator.factors and operator.shape == fitted.table.shape:
        return _along_axes(part, [factor.dense() for factor in operator.factors], fitted)
    return _of_margin(part, fitted)


def _of_margin(part: ReportPart, fitted: Fitted) -> Iterator[tuple[Array, Array]]:
    """Yield the blocks of reports about a margin."""
    design = fitted.design
    columns = design.margin(fitted.cube, part.margin)
    columns[:, 1:] -= np.outer(columns[:, 0], fitted.means)
    counts = part.counts.reshape(part.rows, -1)
    numbers = counts.shape[1] * (1 + design.columns)
    if numbers > _MOST_NUMBERS:
        raise DomainTooLarge(
            f"attributes: {numbers} derivatives of the probabilities of reports; expected at most"
            f" {_MOST_NUMBERS}, so fewer attributes or interactions",
            field="attributes",
        )
    step = max(1, _AT_ONCE // numbers)
    by_row = columns.reshape(part.rows, *part.cells, -1)
    for start in range(0, part.rows, step):
        check_deadline()
        several = np.moveaxis(by_row[start : start + step], -1, 0)
        block = part.operator.forward(several)
        yield counts[start : start + step].ravel(), block.reshape(1 + design.columns, -1)


def _along_axes(
    part: ReportPart, matrices: Sequence[Array], fitted: Fitted
) -> Iterator[tuple[Array, Array]]:
    """Yield the blocks of reports that are records, perturbed along each axis independently."""
    design = fitted.design
    rows = 1 + design.columns
    steps = list(zip(matrices[::-1], design.suffixes, strict=True))
    # Apply the last axes at once, and the others for each report of these.
    columns, done = fitted.table.reshape(1, -1, 1), 0
    while done < len(steps) and columns.shape[-1] * _AT_ONCE < rows * design.cells:
        columns = _along_axis(columns, *steps[done])
        done += 1
    counts = part.counts.reshape(-1, columns.shape[-1])
    for number in range(columns.shape[-1]):
        check_deadline()
        block = columns[:, :, number, None]
        for step in steps[done:]:
            block = _along_axis(block, *step)
        block = block.reshape(rows, -1)[design.order]
        block[1:] -= np.outer(fitted.means, block[0])
        yield counts[:, number], block


def _along_axis(columns: Array, matrix: Array, suffixes: tuple[Integers, Integers]) -> Array:
    """Apply a matrix along the last of the remaining axes.

    Parameters
    ----------
    columns : ndarray, shape (suffixes, cells of the remaining axes, reports of the others)
    suffixes : tuple of ndarray
        An element of `Design.suffixes`.
    """
    behind, codes = suffixes
    by_category = columns.reshape(len(columns), -1, len(matrix), columns.shape[-1])
    result = np.empty((len(codes), *by_category.shape[1:]))
    about = codes > 0
    result[~about] = matrix @ by_category[behind[~about]]
    # An indicator of a category is 0 for all other categories.
    of_category = by_category[behind[about], :, codes[about], None, :]
    result[about] = of_category * matrix[:, codes[about]].T[:, None, :, None]
    return result.reshape(len(codes), -1, len(matrix) * columns.shape[-1])
