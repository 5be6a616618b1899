"""Tables of some of the cells of a larger one, and sums of these: "one of several answers".

With s the shares of everybody in the cells that count, each perhaps the sum of several cells of
the larger table, and b = 1ᵀs their *base*, the shares among them are p = s/b. With V the covariance
of s, theirs is J V Jᵀ, J = (I − p 1ᵀ)/b (delta method). The covariance of all cells is needed for
it, so that such a table is a small one.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from halftruth_shared import Attribute, ParameterError
from halftruth_shared.channels.axes import Places
from halftruth_shared.mechanisms import Margins, TableEstimate, Target
from halftruth_shared.mechanisms.reconstruction import Sample
from numpy.typing import NDArray

from .bounds import Array
from .presence import category_code

#: Against the variances that a variance is the difference of, one that is nothing but rounding.
ROUNDING = 1e-12

#: What is taken for the share of a cell that is estimated to be nobody's.
_SOMEBODY = 1e-9

#: Margins whose covariance is computed at a time.
_ROWS = 512


@dataclass(frozen=True, eq=False)
class PartTable(TableEstimate):
    """Table of those whose answers are among some, with the shares of them.

    Attributes
    ----------
    attributes : tuple of str
    everybody : int
        All reports.
    joint : TableEstimate
        Of these attributes, and of further ones over whose answers is summed.
    kept : tuple of tuple of int
        Codes of the answers that count, for each axis of it.
    reports : int
        About how many of the reports are of them, at least 1.
    """

    attributes: tuple[str, ...]
    everybody: int
    joint: TableEstimate
    kept: tuple[tuple[int, ...], ...]
    reports: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "reports", max(1, round(self.everybody * self.base)))

    @property
    def condition_number(self) -> float | None:
        return self.joint.condition_number

    @cached_property
    def cells(self) -> Array:
        """s, share of everybody of each cell."""
        summed = tuple(range(len(self.attributes), len(self.kept)))
        return np.asarray(self.joint.support[np.ix_(*self.kept)].sum(axis=summed))

    @cached_property
    def base(self) -> float:
        """b, share of everybody of all cells."""
        return float(self.cells.sum())

    @cached_property
    def support(self) -> Array:
        return np.asarray(self.cells / self.base)

    @property
    def effective_reports(self) -> Array:
        summed = tuple(range(len(self.attributes), len(self.kept)))
        return np.asarray(self.joint.effective_reports[np.ix_(*self.kept)].sum(axis=summed))

    def cells_covariance(self, target: Target) -> Array:
        """V, covariance of `cells` in row-major order."""
        chosen = self._chosen.ravel()
        covariance = self.joint.covariance(target)[np.ix_(chosen, chosen)]
        size, each = self._chosen.shape
        return np.asarray(covariance.reshape(size, each, size, each).sum(axis=(1, 3)))

    @property
    def _chosen(self) -> NDArray[np.int64]:
        """Cells of the larger table that make up each one of this."""
        shape = self.joint.support.shape
        chosen = np.arange(math.prod(shape)).reshape(shape)[np.ix_(*self.kept)]
        return chosen.reshape(self.cells.size, -1)

    def samples(self, shares: Array) -> Iterator[Sample]:
        return samples_within(self.joint, self._chosen, shares.ravel())

    def cells_variance(self, target: Target) -> Array:
        """Variance of `cells`; NaN where the reports do not determine one."""
        return self._known(np.diag(self.cells_covariance(target)), 1.0, target)

    def base_error(self, target: Target) -> float:
        """Standard error of `base`, NaN where unknown; 0 where every report tells it."""

        def variance(aim: Target) -> float:
            return float(self._known(self.cells_covariance(aim).sum(), 1.0, aim))

        found = variance(target)
        if math.isnan(found) and variance("respondents") == 0:
            return 0.0
        return math.sqrt(found)

    def variance(self, target: Target = "population") -> Array:
        return self._known(np.diag(self._covariance(target)), self.base**2, target)

    def _known(self, spread: Array, scale: float, target: Target) -> Array:
        if self.joint.reports < 2:
            return np.full(self._shape_of(spread), np.nan)
        nothing = ROUNDING * self._largest / scale
        if target == "population":
            found = np.where(spread > nothing, spread, np.nan)
        else:
            found = np.where(spread < -nothing, np.nan, np.maximum(spread, 0.0))
        return found.reshape(self._shape_of(spread))

    def _shape_of(self, spread: Array) -> tuple[int, ...]:
        return self.cells.shape if np.ndim(spread) else ()

    @cached_property
    def _largest(self) -> float:
        # Reports of one weight each leave nothing but rounding of its square.
        of_cells = np.diag(self.joint.covariance("population")).max()
        return float(max(of_cells, np.square(self.joint.support).max() / self.everybody))

    def _covariance(self, target: Target) -> Array:
        share, cells = self.support.ravel(), self.cells_covariance(target)
        crossed = np.outer(share, cells.sum(axis=0))
        spread = cells - crossed - crossed.T + cells.sum() * np.outer(share, share)
        return np.asarray(spread / self.base**2)


def samples_within(
    joint: TableEstimate, cells: NDArray[np.int64], shares: Array
) -> Iterator[Sample]:
    """Reports behind the shares of some cells among those in any of them (delta method).

    Parameters
    ----------
    joint : TableEstimate
        Of everybody.
    cells : ndarray of int, shape (R, several)
        Which cells of it make up each one, in row-major order.
    shares : ndarray, shape (R,)
        What is taken to be true of the part; of all others it is what is estimated.
    """
    everybody = np.maximum(joint.support.ravel(), _SOMEBODY)
    inside = everybody[cells]
    inside *= (shares * inside.sum() / inside.sum(axis=1))[:, None]
    everybody[cells] = inside
    base = inside.sum() / everybody.sum()
    for each in joint.samples((everybody / everybody.sum()).reshape(joint.support.shape)):
        added = each.weights[:, cells].sum(axis=2)
        added = (added - added.sum(axis=1, keepdims=True) * shares) / base
        yield Sample(each.reports, each.chances, added)


class TableMargins(Margins):
    """Margins of a table that is small enough for its covariance.

    Parameters
    ----------
    table : TableEstimate
    """

    def __init__(self, table: TableEstimate) -> None:
        self._table = table
        support = table.support
        for axis in range(support.ndim):
            total = support.sum(axis=axis, keepdims=True)
            support = np.concatenate([support, total], axis=axis)
        self.support = support

    def variance(self, target: Target = "population") -> Array:
        places = np.indices(self.support.shape).reshape(self.support.ndim, -1).T
        found = self.covariance(places, places, target)
        # The sum of all is 1, and without variance.
        return np.maximum(found, 0.0).reshape(self.support.shape)

    def covariance(self, first: Places, second: Places, target: Target = "population") -> Array:
        whole = self._table.covariance(target)
        found = np.empty(len(first))
        for start in range(0, len(first), _ROWS):
            rows = slice(start, start + _ROWS)
            weights, others = (self._weights(places[rows]) for places in (first, second))
            found[rows] = np.einsum("ri,ri->r", weights @ whole, others)
        return found

    def _weights(self, places: Places) -> Array:
        """Which cells of the table each cell of a margin is the sum of."""
        weights = np.ones((len(places), 1))
        for axis, size in enumerate(self._table.support.shape):
            own = np.vstack([np.eye(size), np.ones(size)])[places[:, axis]]
            weights = (weights[:, :, None] * own[:, None, :]).reshape(len(places), -1)
        return weights


def codes_of(attribute: Attribute, said: str | Sequence[str], field: str) -> tuple[int, ...]:
    """Codes of one or several categories that an analyst names in some field.

    Raises
    ------
    ParameterError
        If there is none, or one that the attribute does not have.
    """
    categories = [said] if isinstance(said, str) else said
    if not categories:
        raise ParameterError(
            f"{field}: '{attribute.name}' has no answer; expected one or more", field=field
        )
    return tuple(sorted({category_code(attribute, c, field) for c in categories}))


def answer_codes(attribute: Attribute) -> tuple[int, ...]:
    """Codes of the categories that are answers."""
    return tuple(np.flatnonzero(~attribute.missing_mask).tolist())
