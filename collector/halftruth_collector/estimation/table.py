"""Reconstructed tables of a few attributes, as analyses use them."""

from dataclasses import dataclass

import numpy as np
from halftruth_shared.mechanisms import TableEstimate, Target

from .bounds import Array, check_confidence, check_target, normal_quantile

#: Of a variance, a part that is nothing but rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Table:
    """Estimate of a table, with the errors of its cells.

    Unbiased, and so not confined to [0, 1]: an estimate below 0 means that its interval reaches
    up to 0 at best. Arrays have one axis for each attribute.

    Parameters
    ----------
    estimate : TableEstimate
        What the survey's mechanism makes of the counts.
    """

    estimate: TableEstimate

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes, one for each axis."""
        return self.estimate.attributes

    @property
    def reports(self) -> int:
        """Number of reports N, at least 1."""
        return self.estimate.reports

    @property
    def condition_number(self) -> float | None:
        """Condition number of what was inverted, None where it was no single matrix."""
        return self.estimate.condition_number

    @property
    def support(self) -> Array:
        """π̂, estimated share of each cell."""
        return self.estimate.support

    @property
    def effective_reports(self) -> Array:
        """About how many reports each support rests on, as the mechanism says; shape of support.

        So many yes/no answers, half of them yes, have a sum as far from normal.
        """
        return self.estimate.effective_reports

    def variance(self, target: Target = "population") -> Array:
        """Variance of each support (Guo Result 1, diagonal of eq. 5.16).

        Parameters
        ----------
        target : {"population", "respondents"}
            Whether the respondents are a sample of those spoken of, or all of them.

        Returns
        -------
        ndarray
            NaN where the reports do not determine a variance.
        """
        check_target(target)
        return self.estimate.variance(target)

    def covariance(self, target: Target = "population") -> Array:
        """Covariance of the supports, shape (cells, cells), cells in row-major order.

        NaN for fewer than two reports.

        Raises
        ------
        DomainTooLarge
            For more than 2 048 cells.
        """
        check_target(target)
        return self.estimate.covariance(target)

    def standard_error(self, target: Target = "population") -> Array:
        """Standard error of each support, NaN where the reports do not determine one."""
        return np.sqrt(self.variance(target))

    def error_parts(self, target: Target = "population") -> tuple[Array, Array]:
        """Errors by the perturbation alone and by sampling alone: their squares add up.

        Each is what the standard error would be without the other; squared they are the variance.

        Returns
        -------
        perturbation : ndarray
            The standard error for exactly these respondents (Guo's Σ2).
        sampling : ndarray
            What there would be if everybody had answered openly (Σ1), 0 for the target
            *respondents*; NaN where the estimate is outside of 0 to 1, so that it is undefined.
        """
        return error_parts(self.variance(target), self.variance("respondents"))

    def interval(
        self, confidence: float = 0.95, target: Target = "population"
    ) -> tuple[Array, Array]:
        """Normal interval of each support, π̂ ± z·sd (Guo Result 1).

        It assumes enough reports for the central limit theorem and is not cut to [0, 1].

        Returns
        -------
        lower, upper : ndarray
            NaN where the variance is undefined.

        Raises
        ------
        ParameterError
            Unless 0 < confidence < 1 and the target is one of the two.
        """
        check_confidence(confidence)
        half_width = normal_quantile(1 - confidence) * self.standard_error(target)
        return self.support - half_width, self.support + half_width


def error_parts(variance: Array, alone: Array) -> tuple[Array, Array]:
    """Both parts of the standard error of what is linear in a table, or taken to be.

    Parameters
    ----------
    variance : ndarray
        NaN where it is undefined.
    alone : ndarray
        The same for exactly these respondents.

    Returns
    -------
    perturbation, sampling : ndarray
        As :meth:`Table.error_parts`.
    """
    alone, rest = np.maximum(alone, 0.0), variance - alone
    rest = np.where(np.abs(rest) <= _ROUNDING * variance, 0.0, rest)
    return np.sqrt(alone), np.sqrt(np.where(rest >= 0, rest, np.nan))
