"""Weighted records of a fitted model, with replicate weights for variance estimation.

A row is a combination of answers u with the weight N π(u). With V = LL' the covariance of θ̂ and
g(u) the gradient of ln π(u), there are two replicate weights for each column of L,
N π(u) exp(±h g(u)'L_j), scaled to the same sum. For every smooth statistic f of the weights

    Σ_j [(f_j⁺ − f)² + (f_j⁻ − f)²] / 2h²

equals its delta method variance ∇f' V ∇f up to terms of order h². Survey software computes
variances in this way from replicate weights (Wolter 2007, ch. 6); the replicates here are
deterministic.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from halftruth_shared import DomainTooLarge, EstimateError
from halftruth_shared.deadlines import check_deadline
from numpy.typing import NDArray

from ..bounds import Array
from ..calibration import Margin, raking_factors
from .fit import LoglinearModel
from .tables import shares

#: h, in standard errors; with h = 1, imprecise parameters would leave the linear range.
STEP = 0.1

#: Largest number of replicate weights, rows times replicates.
MAX_NUMBERS = 2**23

#: Largest number of Newton's steps for the weights of drawn rows, and their tolerance.
_STEPS, _NEAR = 50, 1e-10


@dataclass(frozen=True, eq=False)
class WeightedRecords:
    """Combinations of answers with their weights.

    Attributes
    ----------
    codes : ndarray of int, shape (rows, attributes)
    weights : ndarray, shape (rows,)
    replicates : ndarray, shape (rows, replicates)
    drawn : bool
        Whether the rows are a sample of all combinations.
    scale : float
        Factor of the sum of squared differences in the variance.
    """

    codes: NDArray[np.int64]
    weights: Array
    replicates: Array
    drawn: bool
    scale: float = 1 / (2 * STEP**2)


def weighted_records(
    model: LoglinearModel, attributes: Sequence[str], people: float, most: int
) -> WeightedRecords:
    """Return the combinations of answers to some questions by a model, with replicate weights.

    If there are too many for `most` rows, or for `MAX_NUMBERS` replicate weights, the most frequent
    ones and a systematic sample of the others are returned. Their weights reproduce every table of
    the model's interactions exactly, and their replicate weights its errors.

    Parameters
    ----------
    people : float
        Sum of the weights.
    most : int
        Largest number of rows.

    Raises
    ------
    DomainTooLarge
        If `most` is too small for a sample of all combinations.
    """
    sizes = [model.schema.shape[axis] for axis in model.schema.positions(attributes)]
    drawn = np.prod(sizes, dtype=float) > most
    if not drawn:
        table = shares(model, attributes)
        inside = np.flatnonzero(table.value)
        codes = np.stack(np.unravel_index(inside, sizes), axis=1)
        weights = table.value.ravel()[inside]
        moves = _moves(weights, table.gradient[inside] @ _root(model.covariance))
        drawn = 2 * moves.size > MAX_NUMBERS
    if drawn:
        rows = min(most, MAX_NUMBERS // (2 * model.design.parameters))
        codes, weights, by_root = _drawn(model, attributes, rows)
        moves = _moves(weights, by_root)
    replicates = weights[:, None] * np.exp(np.hstack([moves, -moves]))
    replicates *= people / replicates.sum(axis=0)
    return WeightedRecords(codes, people / weights.sum() * weights, replicates, bool(drawn))


def _moves(weights: Array, by_root: Array) -> Array:
    """Return the changes of ln π, a column for each pair of replicates that changes weights."""
    _, sizes, directions = np.linalg.svd(np.sqrt(weights)[:, None] * by_root, full_matrices=False)
    moving = sizes > 1e-9 * sizes.max(initial=0.0)
    return np.asarray(STEP * by_root @ directions[moving].T)


def raked(
    records: WeightedRecords, axes: Sequence[int], margins: Sequence[Margin], people: float
) -> WeightedRecords:
    """Rake the weights and each replicate to known margins of some columns (`axes`).

    Raises
    ------
    EstimateError
        If no weights give these margins.
    """
    known = [margin.shares for margin in margins]
    sizes = [len(of_margin) for of_margin in known]
    cells = np.ravel_multi_index(tuple(records.codes[:, list(axes)].T), sizes)
    weights = np.column_stack([records.weights, records.replicates])
    for column in weights.T:
        check_deadline()
        table = np.bincount(cells, column, np.prod(sizes)).reshape(sizes)
        factors = raking_factors(table / table.sum(), known)
        if factors is None:
            raise EstimateError("margins: no weights give these margins", field="margins")
        column *= factors.ravel()[cells] * people / table.sum()
    return WeightedRecords(records.codes, weights[:, 0], weights[:, 1:], records.drawn)


def _root(covariance: Array) -> Array:
    """Return L with LL' = V."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def _drawn(
    model: LoglinearModel, attributes: Sequence[str], rows: int
) -> tuple[NDArray[np.int64], Array, Array]:
    """Return codes, weights, and the gradients of their logarithms times L, of drawn rows."""
    design, table = model.design, model.table.ravel()
    cells, weights = _systematic(table, rows)
    codes = np.stack(np.unravel_index(cells, design.shape), axis=1)
    columns = np.ones((len(cells), design.columns), dtype=bool)
    for own, wanted in zip(codes.T, design.codes.T, strict=True):
        columns &= (wanted == 0) | (own[:, None] == wanted)
    departures = columns - model.fitted.means
    # Exponential tilting gives the sample the model's tables of the interactions.
    tilt = np.zeros(design.columns)
    for _ in range(_STEPS):
        check_deadline()
        exponent = departures @ tilt
        tilted = weights * np.exp(exponent - exponent.max())
        tilted /= tilted.sum()
        off = departures.T @ tilted
        scatter = (departures * tilted[:, None]).T @ departures - np.outer(off, off)
        if np.abs(off).max() < _NEAR:
            break
        tilt -= np.linalg.lstsq(scatter, off, rcond=1e-12)[0]
    else:
        raise DomainTooLarge(
            f"max_rows: {rows} cannot stand for all combinations of answers; expected more, or"
            " fewer attributes",
            field="max_rows",
        )
    # Moments of the sample change as those of the model do.
    moved = model.fitted.scatter(model.table) @ design.corner @ _root(model.covariance)
    by_root = departures @ np.linalg.lstsq(scatter, moved, rcond=1e-12)[0]
    return codes[:, list(model.schema.positions(attributes))], tilted, by_root


def _systematic(shares: Array, rows: int) -> tuple[NDArray[np.int64], Array]:
    """Return the cells with the largest shares and a sample of the others, with weights."""
    order = np.argsort(-shares, kind="stable")
    certain, others = order[: rows // 2], np.sort(order[rows // 2 :])
    ends = np.cumsum(shares[others])
    points = (np.arange(rows - len(certain)) + 0.5) * ends[-1] / (rows - len(certain))
    cells, hits = np.unique(others[np.searchsorted(ends, points)], return_counts=True)
    weights = hits * ends[-1] / len(points)
    return np.concatenate([certain, cells]), np.concatenate([shares[certain], weights])
