"""The most accurate randomized response whose linking risk stays below a limit (Guo Result 16).

Minimize a loss over the p_i of the attributes that are perturbed, 1/d_i < p_i ≤ 1, subject to the
risk of every person of the table being at most τ = 1/l. The risk is that of
`halftruth_collector.disclosure.linking`, with its caveats.

The maximum of thousands of risks is not smooth, and most of these risks are far below the limit. So
each round of sequential quadratic programming has a smooth constraint for each of the cells with
the largest risks, and the next round adds the cells that are above the limit after it. The problem
is not convex: the best result of several starting points is used. Every result is moved back until
all constraints are met, and rounded to decimals that meet them.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy
from halftruth_collector.disclosure.linking import linking_risk
from halftruth_shared import ParameterError
from halftruth_shared.channels import Channel, UniformMixture
from halftruth_shared.channels.axes import Array
from numpy.typing import ArrayLike, NDArray

#: Function of the p_i to minimize.
Loss = Callable[[Array], float]

#: Starting points as shares of the way from 1/d to 1, and number of additional random ones.
_STARTS, _DRAWN = (0.25, 0.5, 0.75), 5

#: Largest number of cells that one round adds, and of rounds.
_CELLS, _ROUNDS = 40, 20

#: Smallest p, as a share of the way from 1/d to 1, so that matrices are invertible; and
#: number of bisection steps.
_BLIND, _HALVINGS = 1e-3, 50

#: Tolerance of constraints in the search, relative to the limit.
_MET = 1e-6

#: Tolerance for rounding, in units of the last decimal.
_NEARLY = 1e-2

#: Numbers of decimals of the result; the smallest that meets the limit is used.
_PLACES = range(4, 10)


@dataclass(frozen=True)
class Limited:
    """Parameters that meet a limit.

    Attributes
    ----------
    keep : tuple of Fraction
        p_i of each axis as decimals; 1 for unperturbed axes.
    maximum : float
        The largest risk with exactly these parameters.
    """

    keep: tuple[Fraction, ...]
    loss: float
    maximum: float


def best_under_limit(
    table: ArrayLike,
    limit: float,
    perturbed: Sequence[int],
    *,
    whole_reports: bool = False,
) -> Limited:
    """Find the p_i of smallest ∏‖P_i⁻¹‖_F² with all risks at most a limit.

    Parameters
    ----------
    table : array_like, shape (d_1, …, d_m, d_S)
        Counts or shares of people by quasi-identifiers and, last, sensitive attribute.
    limit : float
        τ, above 0 and below 1.
    perturbed : sequence of int
        Axes of the attributes that are perturbed.
    whole_reports : bool
        Whether to use the risk of whole reports instead of eq. 5.6.

    Raises
    ------
    ParameterError
        If no parameters meet the limit, or `table` or `perturbed` is invalid.

    Examples
    --------
    >>> best = best_under_limit([[30, 10], [5, 25]], 0.5, perturbed=[0, 1])
    >>> [float(p) for p in best.keep], round(best.maximum, 3)
    ([0.8125, 0.9136], 0.5)
    """
    sizes, axes = np.shape(table), np.unique(np.asarray(perturbed, dtype=int))
    people = linking_risk(table, factors_of(np.ones(len(sizes)), sizes)).table
    if not axes.size or axes[0] < 0 or axes[-1] >= people.ndim:
        raise ParameterError("perturbed: expected axes of the table", field="perturbed")
    if not 0 < limit < 1:
        raise ParameterError("limit: expected a number above 0 and below 1", field="limit")
    search = _Search(people, limit, axes, whole_reports)
    lowest = float(search.risks(np.full(len(axes), _BLIND)).max())
    if lowest > limit:
        raise ParameterError(_unmet(people, axes, lowest), field="limit")
    return search.rounded(min(map(search.end, search.starts()), key=search.loss_at))


def factors_of(keep: ArrayLike, sizes: Sequence[int]) -> list[Channel]:
    """Make channels that keep an answer with p_i ≥ 1/d_i and otherwise report another one."""
    return [
        UniformMixture((size,), p - (1 - p) / (size - 1))
        for p, size in zip(np.asarray(keep, dtype=np.float64).tolist(), sizes, strict=True)
    ]


def inverse_norm(sizes: ArrayLike) -> Loss:
    """Return the loss ∏‖P_i⁻¹‖_F² = ∏[(d_i − 1)³/(d_i p_i − 1)² + 1]."""
    d = np.asarray(sizes, dtype=np.float64)
    return lambda keep: float(np.prod((d - 1) ** 3 / (d * keep - 1) ** 2 + 1))


def single_valued(table: ArrayLike) -> tuple[int, float]:
    """Count the groups of equal quasi-identifiers with a single sensitive answer.

    With unperturbed quasi-identifiers, their risk is 1 for any perturbation of that answer.

    Returns
    -------
    int
        Number of these groups.
    float
        Share of all people in them.
    """
    people = np.asarray(table, dtype=np.float64)
    alone = np.count_nonzero(people, axis=-1) == 1
    return int(alone.sum()), float(people[alone].sum() / people.sum())


class _Search:
    """Search for the best p_i.

    Points are shares of the way from 1/d to 1, one for each perturbed attribute.
    """

    def __init__(
        self,
        people: Array,
        limit: float,
        axes: NDArray[np.intp],
        whole_reports: bool,
    ) -> None:
        self._people, self._there, self._limit = people, people > 0, limit
        self._axes, self._least = axes, 1 / np.array(people.shape)
        self._whole_reports, self._loss = whole_reports, inverse_norm(people.shape)

    def keep(self, point: Array) -> Array:
        """Return all p_i of a point."""
        keep = np.ones(len(self._least))
        least = self._least[self._axes]
        keep[self._axes] = np.minimum(least + point * (1 - least), 1)
        return keep

    def loss_at(self, point: Array) -> float:
        return self._loss(self.keep(point))

    def risks(self, point: Array) -> Array:
        """Return the risks of all cells with people."""
        return self._risks(self.keep(point))

    def _risks(self, keep: Array) -> Array:
        risk = linking_risk(self._people, factors_of(keep, self._people.shape))
        risk = risk.of_whole_reports if self._whole_reports else risk
        return np.asarray(risk.risk[self._there])

    def starts(self) -> list[Array]:
        """Return starting points that meet the limit, on the diagonal and in random directions."""
        rng, count = np.random.default_rng(0), len(self._axes)
        drawn = rng.uniform(_BLIND, 1, (_DRAWN, count))
        return [self._within(point) for point in [*(np.full(count, t) for t in _STARTS), *drawn]]

    def _within(self, point: Array) -> Array:
        """Find the farthest point towards this one that meets the limit."""
        if self.risks(point).max() <= self._limit:
            return point
        blind, low, high = np.full(len(point), _BLIND), 0.0, 1.0
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            within = self.risks(blind + middle * (point - blind)).max() <= self._limit
            low, high = (middle, high) if within else (low, middle)
        return np.asarray(blind + low * (point - blind))

    def end(self, point: Array) -> Array:
        """Minimize the loss from a starting point, and move the result back to the limit."""
        near = np.argsort(-self.risks(point))[:_CELLS]
        for _ in range(_ROUNDS):
            found = scipy.optimize.minimize(
                lambda x: math.log(self.loss_at(x)),
                point,
                method="SLSQP",
                bounds=[(_BLIND, 1.0)] * len(point),
                constraints={
                    "type": "ineq",
                    "fun": lambda x, near=near: 1 - self.risks(x)[near] / self._limit,
                },
                options={"ftol": 1e-10, "maxiter": 200},
            )
            point = np.clip(found.x, _BLIND, 1.0)
            risks = self.risks(point)
            worst = np.argsort(-risks)[:_CELLS]
            above = worst[risks[worst] > self._limit * (1 + _MET)]
            if np.isin(above, near).all():
                break
            near = np.union1d(near, above)
        return self._within(point)

    def rounded(self, point: Array) -> Limited:
        """Round the p_i down to decimals that meet the limit.

        Risks do not always increase with p, so that rounded parameters are checked.
        """
        exact = self.keep(point)
        for places in _PLACES:
            scale = 10**places
            # Rounding errors do not reduce the last digit.
            keep = [
                Fraction(min(math.floor(p * scale + _NEARLY), scale), scale) for p in exact.tolist()
            ]
            rounded = np.array([float(p) for p in keep])
            if (rounded > self._least).all():
                maximum = float(self._risks(rounded).max())
                if maximum <= self._limit:
                    return Limited(tuple(keep), self._loss(rounded), maximum)
        raise ParameterError(
            f"limit: no parameters of up to {_PLACES[-1]} decimals meet it; expected a larger one",
            field="limit",
        )


def _unmet(people: Array, axes: NDArray[np.intp], lowest: float) -> str:
    """Return an explanation why no parameters meet the limit."""
    groups, share = single_valued(people)
    if groups and axes.tolist() == [people.ndim - 1]:
        return (
            f"limit: in {groups} group{'s' * (groups > 1)} of equal quasi-identifiers"
            f" ({share:.2%} of the people) all give one sensitive answer, so that perturbing this"
            " answer alone leaves their risk at 1; expected quasi-identifiers that are perturbed,"
            " too"
        )
    return (
        f"limit: even blind reports about these attributes leave a risk of {lowest:.4g}; expected"
        " a limit above that, or more attributes that are perturbed"
    )
