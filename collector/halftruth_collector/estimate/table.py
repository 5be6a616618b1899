"""Reconstructed tables of a few attributes."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from halftruth_shared import Channel, DomainTooLarge
from halftruth_shared.channels import Margins
from halftruth_shared.messages import Target

from .bounds import Array, check_confidence, check_target, normal_quantile, variance

#: Most cells of all margins of a table together that are ever reconstructed at once.
MARGIN_CELLS = 2**24

#: Largest table whose covariance matrix is ever built.
COVARIANCE_CELLS = 4_096


@dataclass(frozen=True, eq=False)
class Table:
    """Moment estimate of a table, π̂ = A⁻¹ λ̂ (FRAPP eq. 8, Guo eq. 2.2).

    Unbiased, and so not confined to [0, 1]: an estimate below 0 means that its interval reaches
    up to 0 at best. Arrays have one axis for each attribute.

    Attributes
    ----------
    attributes : tuple of str
    channel : Channel
        From this table to the counted report columns.
    observed : ndarray
        λ̂, shares of the reports.
    reports : int
        N, at least 1.
    """

    attributes: tuple[str, ...]
    channel: Channel
    observed: Array
    reports: int

    @cached_property
    def support(self) -> Array:
        """π̂, estimated share of each cell."""
        return self.channel.solve(self.observed)

    @cached_property
    def second_moment(self) -> Array:
        """(A⁻¹∘A⁻¹) λ̂, mean squared weight of the reports for each cell."""
        return self.channel.solve_squared(self.observed)

    @cached_property
    def margins(self) -> Margins:
        """Every margin of this table, reconstructed at once.

        Raises
        ------
        DomainTooLarge
            If these have more than `MARGIN_CELLS` cells.
        """
        cells = math.prod(size + 1 for size in self.channel.input_shape)
        if cells > MARGIN_CELLS:
            raise DomainTooLarge(
                f"attributes: {cells} cells of all margins together; expected at most"
                f" {MARGIN_CELLS}, so fewer attributes or a lower max_length",
                field="attributes",
            )
        return self.channel.margins(self.observed)

    @property
    def standard_error(self) -> Array:
        """Standard error of each support as an estimate for the population."""
        return np.sqrt(self.variance())

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
        return variance(self.second_moment, self.support, self.reports, target)

    def covariance(self, target: Target = "population") -> Array:
        """Covariance of the supports, [A⁻¹D(λ̂)A⁻ᵀ − π̂π̂ᵀ]/(N−1) (Guo Result 1, eq. 5.16).

        For *respondents* D(π̂) stands in place of π̂π̂ᵀ (FRAPP eq. 10).

        Parameters
        ----------
        target : {"population", "respondents"}

        Returns
        -------
        ndarray, shape (cells, cells)
            Cells in row-major order; NaN for fewer than two reports.

        Raises
        ------
        DomainTooLarge
            For more than `COVARIANCE_CELLS` cells.
        """
        check_target(target)
        cells = self.support.size
        if cells > COVARIANCE_CELLS:
            raise DomainTooLarge(
                f"attributes: the covariance of {cells} cells; expected at most"
                f" {COVARIANCE_CELLS} cells",
                field="attributes",
            )
        if self.reports < 2:
            return np.full((cells, cells), np.nan)
        # A⁻¹ D(λ̂) A⁻ᵀ in two structured solves: down the columns of D(λ̂), then along the rows.
        spread = np.diag(self.observed.ravel()).reshape(-1, *self.observed.shape)
        half = self.channel.solve(spread).reshape(-1, cells).T
        products = self.channel.solve(half.reshape(cells, *self.observed.shape))
        flat = self.support.ravel()
        subtracted = np.outer(flat, flat) if target == "population" else np.diag(flat)
        return (products.reshape(cells, cells) - subtracted) / (self.reports - 1)

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
        half_width = normal_quantile(1 - confidence) * np.sqrt(self.variance(target))
        return self.support - half_width, self.support + half_width
