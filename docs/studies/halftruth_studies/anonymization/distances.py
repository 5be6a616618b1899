"""Distances of an estimated table from the true one (GYW §V)."""

from dataclasses import dataclass

import numpy as np
from halftruth_shared.channels.axes import Array, along_axes, append_sum, same


@dataclass(frozen=True)
class Distances:
    """Distances of an estimated table q from the true one p.

    Attributes
    ----------
    variational : float
        ½Σ|p − q|.
    l2 : float
        Root of Σ(p − q)².
    kl : float or None
        Kullback-Leibler divergence Σ p ln(p/q); None if q is not positive in a cell with people.
    chi_squared : float
        Σ(p − q)²/p over the cells with people; only the first two distances include other cells.
    base_error, cube_error : float
        Mean of |p − q|/p over the cells with people: of the table itself, and of the cube of all
        its margins, that is, the table, every sum over some of its axes, and the total.
    """

    variational: float
    l2: float
    kl: float | None
    chi_squared: float
    base_error: float
    cube_error: float


def distances(actual: Array, estimated: Array) -> Distances:
    """Compare two tables of the same shape that each add up to 1."""
    p, q = actual[actual > 0], estimated[actual > 0]
    departure = np.abs(actual - estimated)
    return Distances(
        variational=float(departure.sum() / 2),
        l2=float(np.sqrt((departure**2).sum())),
        kl=float((p * np.log(p / q)).sum()) if (q > 0).all() else None,
        chi_squared=float(((p - q) ** 2 / p).sum()),
        base_error=relative_error(actual, estimated),
        cube_error=relative_error(cube(actual), cube(estimated)),
    )


def relative_error(actual: Array, estimated: Array) -> float:
    """Return the mean of |p − q|/p over the cells with p > 0."""
    p, q = actual[actual > 0], estimated[actual > 0]
    return float((np.abs(p - q) / p).mean())


def cube(table: Array) -> Array:
    """Append all margins to a table: the last entry along an axis is the sum over it."""
    return along_axes([append_sum(same)] * table.ndim, table, table.shape)
