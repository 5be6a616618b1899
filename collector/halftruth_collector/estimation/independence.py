"""A test whether two questions are answered independently, valid under every mechanism.

Reconstructed χ² and G² are estimates of association and no tests: perturbation inflates them, so
that over independent answers they exceed the usual limits in most surveys. What is tested here is
the vector h of the departures π̂_ij − π̂_i+ π̂_+j from independence, by Wald's quadratic form
hᵀ(HVHᵀ)⁻¹h ~ χ² with H = ∂h/∂π and the full covariance V of the table.

V is taken *under independence*: its part from sampling is that of the table of independent answers
with the estimated margins, its part from perturbation is estimated. Where nothing is perturbed this
is Pearson's test. With the estimated V instead, small surveys reject true independence too often
(0.14 to 0.30 instead of 0.05 for a 5×2 table with rare categories and 300 to 1 000 reports).

Where a category cannot be told from nobody's, or independent answers would leave a cell with
less than one person, nothing is tested.
"""

from dataclasses import dataclass

import numpy as np
from halftruth_shared import ParameterError
from scipy.special import chdtrc

from .bounds import normal_quantile
from .table import Table

#: Standard errors by which every category has to be above 0.
_CLEAR = normal_quantile(0.05)

#: People that every cell has to expect under independence (Cochran's rule for single cells).
_LEAST_EXPECTED = 1.0

#: Smallest eigenvalue of the departures' covariance, against the largest.
_ROUNDING = 1e-10


@dataclass(frozen=True)
class IndependenceTest:
    """Outcome of the test, or why there is none.

    Attributes
    ----------
    statistic : float or None
        About a χ² variable of `degrees_of_freedom` where the answers are independent.
    degrees_of_freedom : int
        (R − 1)(C − 1).
    p_value : float or None
    undefined : str or None
        Why nothing was tested.
    """

    statistic: float | None
    degrees_of_freedom: int
    p_value: float | None
    undefined: str | None = None


def independence_test(table: Table) -> IndependenceTest:
    """Test the independence of the two attributes of a table in the population.

    Parameters
    ----------
    table : Table
        Of two attributes, R × C.

    Raises
    ------
    ParameterError
        If there are not two attributes.
    DomainTooLarge
        If the table is too large for its covariance.
    """
    if len(table.attributes) != 2:
        raise ParameterError("attributes: expected two attributes", field="attributes")
    support, reports = table.support, table.reports
    rows, columns = support.shape
    freedom = (rows - 1) * (columns - 1)

    def untested(reason: str) -> IndependenceTest:
        return IndependenceTest(None, freedom, None, reason)

    if reports < 2:
        return untested("one report shows no error")
    margins = support.sum(axis=1), support.sum(axis=0)
    whole = table.covariance("population").reshape(rows, columns, rows, columns)
    # Σ over the other attribute, on both sides of the covariance.
    variances = np.einsum("ijil->i", whole), np.einsum("ijkj->j", whole)
    for name, margin, variance in zip(table.attributes, margins, variances, strict=True):
        with np.errstate(invalid="ignore"):
            if not (margin > _CLEAR * np.sqrt(variance)).all():
                return untested(f"a category of '{name}' cannot be told from one that nobody gives")
    expected = np.outer(*margins)
    if reports * expected.min() < _LEAST_EXPECTED:
        return untested("independent answers would leave a cell with less than one person")
    departures = (support - expected)[:-1, :-1].ravel()
    slopes = _slopes(*margins)
    spread = slopes @ _covariance_under(expected.ravel(), table) @ slopes.T
    eigenvalues = np.linalg.eigvalsh(spread)
    if not eigenvalues[0] > _ROUNDING * eigenvalues[-1]:
        return untested("the reports do not determine the error of every departure")
    statistic = float(departures @ np.linalg.solve(spread, departures))
    return IndependenceTest(statistic, freedom, float(chdtrc(freedom, statistic)))


def _slopes(rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """H = ∂h/∂π: departures in rows, cells of the table in columns."""
    r, c = len(rows), len(columns)
    slopes = np.zeros((r, c, r, c))
    for i in range(r):
        for j in range(c):
            slopes[i, j, i, :] -= columns[j]
            slopes[i, j, :, j] -= rows[i]
            slopes[i, j, i, j] += 1
    return slopes[:-1, :-1].reshape(-1, r * c)


def _covariance_under(independent: np.ndarray, table: Table) -> np.ndarray:
    """Covariance of the table for the population if these were its true shares."""
    sampling = (np.diag(independent) - np.outer(independent, independent)) / (table.reports - 1)
    return sampling + table.covariance("respondents")
