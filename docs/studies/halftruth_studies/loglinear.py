"""Hierarchical loglinear models of randomized counts (Guo ch. 4).

A model is defined by its highest-order terms, sets of attributes: (AD, G) means that G is
independent of A and D jointly. If attributes are distorted independently, a model of the answers
also holds for the reports if and only if no distorted attribute is in more than one of these terms
(Theorem 2, Korn's criterion).
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import scipy
from halftruth_collector.estimation.bounds import Array
from halftruth_shared import DomainTooLarge, EstimateError

#: Largest number of iterations of iterative proportional fitting. Decomposable models need two;
#: convergence is slow if empty cells put the maximum on the boundary.
MAX_SWEEPS = 1_000

#: Largest table that is fitted.
MAX_CELLS = 2**16

#: Largest difference of a fitted margin from its count, as a share of all counts, of a converged
#: fit, and of an acceptable one.
_PRECISION = 1e-12
_FAILED = 1e-3

Terms = tuple[frozenset[int], ...]


@dataclass(frozen=True, eq=False)
class LoglinearFit:
    """A hierarchical loglinear model fitted to counts.

    Attributes
    ----------
    fitted : ndarray
        Expected counts under the model, same shape as the counts.
    chi_squared, g_squared : float
        Pearson's statistic Σ (n − m)²/m and the likelihood ratio's 2 Σ n ln(n/m).
    degrees_of_freedom : int
        Cells less parameters; 0 for a model that fits any counts.
    """

    counts: Array
    fitted: Array
    chi_squared: float
    g_squared: float
    degrees_of_freedom: int

    def p_value(self, statistic: float) -> float | None:
        """Return the p-value of a statistic; None without degrees of freedom.

        It assumes a χ² distribution, and so expected counts of about 5 or more.
        """
        if self.degrees_of_freedom == 0:
            return None
        return float(scipy.special.chdtrc(self.degrees_of_freedom, statistic))


def fit_loglinear(counts: Array, terms: Sequence[Collection[int]]) -> LoglinearFit:
    """Fit a hierarchical loglinear model by iterative proportional fitting.

    Parameters
    ----------
    counts : ndarray
        One axis for each attribute; at least one count above 0.
    terms : sequence of collections of int
        Axes of each highest-order term; every axis is in at least one.

    Raises
    ------
    DomainTooLarge
        If there are more than `MAX_CELLS` cells.
    EstimateError
        If the fit does not converge in `MAX_SWEEPS` iterations.

    Examples
    --------
    >>> fit = fit_loglinear(np.array([[30.0, 10], [20, 40]]), [{0}, {1}])
    >>> fit.fitted.tolist(), fit.degrees_of_freedom, round(fit.chi_squared, 2)
    ([[20.0, 20.0], [30.0, 30.0]], 1, 16.67)
    """
    if counts.size > MAX_CELLS:
        raise DomainTooLarge(
            f"terms: a table of {counts.size} cells; expected at most {MAX_CELLS}", field="terms"
        )
    total = counts.sum()
    generators = highest_order(terms)
    sums = [tuple(axis for axis in range(counts.ndim) if axis not in term) for term in generators]
    margins = [counts.sum(axis=axes, keepdims=True) for axes in sums]
    fitted = np.full(counts.shape, total / counts.size)
    for _ in range(MAX_SWEEPS):
        for axes, margin in zip(sums, margins, strict=True):
            current = fitted.sum(axis=axes, keepdims=True)
            fitted = fitted * np.divide(
                margin, current, out=np.zeros_like(margin), where=current > 0
            )
        gap = max(
            np.abs(fitted.sum(axis=axes, keepdims=True) - margin).max()
            for axes, margin in zip(sums, margins, strict=True)
        )
        if gap <= _PRECISION * total:
            break
    if gap > _FAILED * total:
        raise EstimateError(
            "terms: the fit does not settle, for want of reports in some cells; expected smaller"
            " terms",
            field="terms",
        )
    # If a margin is 0, so are counts and fit, and the cells contribute nothing.
    there = fitted > 0
    deviation = (counts[there] - fitted[there]) ** 2 / fitted[there]
    ratio = scipy.special.xlogy(counts[there], counts[there] / fitted[there])
    return LoglinearFit(
        counts,
        fitted,
        float(deviation.sum()),
        max(2 * float(ratio.sum()), 0.0),
        counts.size - parameters(generators, counts.shape),
    )


def highest_order(terms: Sequence[Collection[int]]) -> Terms:
    """Return the distinct terms that no other term contains."""
    sets = list(dict.fromkeys(frozenset(term) for term in terms))
    return tuple(term for term in sets if not any(term < other for other in sets))


def parameters(generators: Terms, shape: tuple[int, ...]) -> int:
    """Count the parameters of a model: ∏(d_j − 1) for every subset of a term, even empty."""
    subsets = {
        frozenset(subset)
        for term in generators
        for size in range(len(term) + 1)
        for subset in combinations(sorted(term), size)
    }
    return sum(math.prod(shape[axis] - 1 for axis in subset) for subset in subsets)


def is_preserved(terms: Sequence[Collection[int]], distorted: Collection[int]) -> bool:
    """Check Korn's criterion: no distorted attribute is in more than one highest-order term."""
    generators = highest_order(terms)
    return all(sum(axis in term for term in generators) <= 1 for axis in distorted)
