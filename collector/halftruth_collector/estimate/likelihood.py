"""Maximum-likelihood estimate of a table: ℓ(π) = Σ_v λ̂_v ln (Aπ)_v, largest over the simplex.

With g = Aᵀ(λ̂ / Aπ), expectation maximization (EM) is π ← π∘g. Since ℓ is concave,
ℓ* − ℓ(π) ≤ max_u g_u − 1, whatever led to π: this bound comes with every estimate.

Where the moment estimate lies in the simplex it is the maximum (Guo §2.2). For a uniform mixture
the maximum has a closed form. Else EM alone would take tens of thousands of steps, so that Newton's
method is used on the equation of its fixed points, π∘(1 − g) = 0: with D = diag(λ̂/(Aπ)²) that is
(AᵀDA + diag((1 − g)/π)) Δ = g − 1. With |1 − g|, damped, the matrix is positive definite and Δ an
ascent direction; the system is solved by conjugate gradients, from products with A and Aᵀ alone.
"""

from dataclasses import dataclass

import numpy as np
from halftruth_shared import Channel, UniformMixture
from scipy.linalg.blas import daxpy
from scipy.special import xlogy

from .bounds import Array

#: Bound of what is missing of the mean log-likelihood, at which an estimate is good enough.
TOLERANCE = 1e-9

#: Newton steps at most; the bound tells how near they came.
MAX_STEPS = 200

#: Cells times products with A or Aᵀ after which the search ends; half a minute for large tables.
_MOST_WORK = 2**30

#: Most conjugate gradients in one step.
_MAX_GRADIENTS = 200

#: Weight of |1 − g|/π. With 1 this is Newton's method on EM's own equation; with less, a cell on
#: its way to 0 shrinks by `_SHRINK` at once, which takes half the steps.
_DAMPING = 0.1

#: Least part of a cell that a step leaves, so that a wrongly emptied cell can come back.
_SHRINK = 0.01

#: Cells never fall below: nothing is divided by 0, and no subnormal number slows the products.
_LEAST = 1e-20

#: Plain EM steps before the first Newton step.
_EM_STEPS = 3

#: Increases of ℓ below this are rounding.
_ROUNDING = 4e-15

#: Least part of the promised increase that a step must bring (Armijo).
_SUFFICIENT = 1e-4


@dataclass(frozen=True, eq=False)
class Likelihood:
    """A maximum-likelihood estimate.

    Attributes
    ----------
    table : ndarray
        π, at least 0 and adding up to 1.
    bound : float
        Upper bound of what is missing of the largest mean log-likelihood.
    path : tuple of float
        Mean log-likelihood before and after each step.
    """

    table: Array
    bound: float
    path: tuple[float, ...]


def maximum_likelihood(
    channel: Channel,
    observed: Array,
    tolerance: float = TOLERANCE,
    max_steps: int = MAX_STEPS,
) -> Likelihood:
    """Most likely table of true records.

    Parameters
    ----------
    channel : Channel
    observed : ndarray
        λ̂, shares of the reports, adding up to 1.
    tolerance : float
        Bound to stop at; rounding hinders one below 1e-10.
    max_steps : int

    Returns
    -------
    Likelihood
        The log-likelihood never decreases from step to step, up to rounding.

    Examples
    --------
    >>> channel = UniformMixture((2,), 0.5)
    >>> maximum_likelihood(channel, np.array([0.6, 0.4])).table.round(3).tolist()
    [0.7, 0.3]
    >>> maximum_likelihood(channel, np.array([0.9, 0.1])).table.tolist()
    [1.0, 0.0]
    """
    moment = channel.solve(observed)
    if moment.min() >= 0:
        table = moment / moment.sum()
    elif isinstance(channel, UniformMixture):
        table = water_filling(observed, channel.keep)
    else:
        quick = channel.merged()
        found = _ascend(quick, observed.reshape(quick.output_shape), tolerance, max_steps)
        return Likelihood(found.table.reshape(channel.input_shape), found.bound, found.path)
    image = channel.forward(table)
    # Where nothing was reported, the image may be 0.
    ratio = np.divide(observed, image, out=np.zeros_like(image), where=observed > 0)
    bound = float(channel.adjoint(ratio).max()) - 1
    return Likelihood(table, max(bound, 0.0), (float(xlogy(observed, image).sum()),))


def water_filling(observed: Array, keep: float) -> Array:
    """Exact maximum for A = p·I + (1−p)/n·J, in O(n log n).

    λ = Aπ ranges over the λ ≥ c = (1−p)/n that add up to 1, so that by the Karush-Kuhn-Tucker
    conditions λ = max(c, λ̂/μ). The m largest of λ̂ stay above c, and their sum S makes
    μ = S / (1 − (n−m) c).

    Parameters
    ----------
    observed : ndarray
        λ̂, adding up to 1.
    keep : float
        p, above 0 and at most 1.
    """
    cells = observed.size
    spread = (1 - keep) / cells
    largest = np.sort(observed, axis=None)[::-1]
    # μ for m = 1, …, n; 1 − (n−m) c is p + m c without cancellation.
    levels = np.cumsum(largest) / (keep + spread * np.arange(1, cells + 1))
    above = np.count_nonzero(largest > spread * levels)
    table = np.maximum(observed / levels[above - 1] - spread, 0.0) / keep
    return np.asarray(table / table.sum())


def _ascend(channel: Channel, observed: Array, tolerance: float, max_steps: int) -> Likelihood:
    """Newton's method on EM's equation, from the uniform table on."""
    table = np.full(channel.input_shape, 1 / observed.size)
    for _ in range(_EM_STEPS):
        image = channel.forward(table)
        table = np.maximum(table * channel.adjoint(observed / image), _LEAST)
    table /= table.sum()
    image = channel.forward(table)
    path = [float(np.vdot(observed, np.log(image)))]
    work = 0
    while True:
        ratio = observed / image
        gradient = channel.adjoint(ratio) - 1
        bound = max(float(gradient.max()), 0.0)
        if bound <= tolerance or len(path) > max_steps or work > _MOST_WORK:
            break
        # The last step need not be more exact than the tolerance asks.
        accuracy = max(min(0.1, bound**0.5), 0.1 * tolerance / bound)
        direction, products = _newton_direction(channel, ratio / image, table, gradient, accuracy)
        work += products * table.size
        step = _line_search(channel, observed, table, image, gradient, direction)
        if step is None:
            break
        table, image, gain = step
        path.append(path[-1] + gain)
    return Likelihood(table, bound, tuple(path))


def _newton_direction(
    channel: Channel, curvature: Array, table: Array, gradient: Array, accuracy: float
) -> tuple[Array, int]:
    """Solve (AᵀDA + Θ) Δ = g − 1 by conjugate gradients, Θ = diag(damped |1 − g|/π).

    Stops when the residual, in the norm of the inverse preconditioner, is `accuracy` times that of
    the right side. From 0 on, every iterate is an ascent direction. Returns Δ, and how many
    products with A or Aᵀ it took.
    """
    shape = table.shape
    theta = (_DAMPING * np.abs(gradient) / table).ravel()
    # The diagonal of the matrix.
    preconditioner = 1 / (channel.adjoint_squared(curvature).ravel() + theta)
    solution = np.zeros(table.size)
    residual = gradient.flatten()
    scaled = preconditioner * residual
    direction = scaled
    norm = residual @ scaled
    enough = accuracy**2 * norm
    products = 0
    while products < 2 * _MAX_GRADIENTS:
        products += 2
        image = channel.forward(direction.reshape(shape))
        product = channel.adjoint(curvature * image).ravel()
        product += theta * direction
        length = norm / (direction @ product)
        # In place, without a product in between: these take as long as the channel.
        daxpy(direction, solution, a=length)
        daxpy(product, residual, a=-length)
        scaled = preconditioner * residual
        before, norm = norm, residual @ scaled
        if norm <= enough:
            break
        direction = scaled + (norm / before) * direction
    return solution.reshape(shape), products


def _line_search(
    channel: Channel,
    observed: Array,
    table: Array,
    image: Array,
    gradient: Array,
    direction: Array,
) -> tuple[Array, Array, float] | None:
    """The longest of the steps Δ, Δ/2, Δ/4, … that raises ℓ enough: π, Aπ and the rise.

    None if rounding hides the rise of every one.
    """
    length = 1.0
    while length > 1e-12:
        trial = np.maximum(np.maximum(table + length * direction, _SHRINK * table), _LEAST)
        trial /= trial.sum()
        after = channel.forward(trial)
        # ℓ(trial) − ℓ(π), without the cancellation of the difference.
        gain = float(np.vdot(observed, np.log(after / image)))
        if gain >= _SUFFICIENT * float(np.vdot(gradient, trial - table)) - _ROUNDING:
            return trial, after, gain
        length /= 2
    return None
