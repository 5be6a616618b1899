"""Shares by a model, with intervals on the logit scale."""

from collections.abc import Iterable

import numpy as np
from halftruth_shared.mechanisms import TableEstimate, Target
from halftruth_shared.mechanisms.reconstruction import Sample

from ..bounds import Array


class Shares(TableEstimate):
    """Shares of the cells of a table by a model, among everybody or a domain.

    Parameters
    ----------
    attributes : tuple of str
        One for each axis.
    support : ndarray
    gradient : ndarray, shape (cells, p)
        Derivatives of the logarithm of each share by θ, cells in row-major order; 0 where the share
        is 0 because nobody can give these answers.
    parameters : ndarray, shape (p, p)
        Covariance of θ̂.
    reports : int
    """

    def __init__(
        self,
        attributes: tuple[str, ...],
        support: Array,
        gradient: Array,
        parameters: Array,
        reports: int,
    ) -> None:
        self.attributes, self.reports = attributes, reports
        self.gradient, self.parameters = gradient, parameters
        self._support = support

    @property
    def support(self) -> Array:
        return self._support

    @property
    def logit(self) -> bool:
        return True

    @property
    def slopes(self) -> Array:
        """Derivatives of each share by θ, shape (cells, p)."""
        return np.asarray(self.gradient * self.support.reshape(-1, 1))

    @property
    def effective_reports(self) -> Array:
        # By a model every report tells of every cell.
        return np.full(self.support.shape, float(self.reports))

    def known(self, variance: Array, target: Target) -> Array:
        """Variances for a population; a model says nothing of exactly these respondents."""
        return variance if target == "population" else np.full_like(variance, np.nan)

    def samples(self, shares: Array) -> Iterable[Sample]:
        raise NotImplementedError("the reports behind a model have no weights")

    def _variance(self, target: Target) -> Array:
        squares = np.einsum("cp,cp->c", self.slopes @ self.parameters, self.slopes)
        return self.known(np.maximum(squares, 0.0).reshape(self.support.shape), target)

    def _covariance(self, target: Target) -> Array:
        return self.known(self.slopes @ self.parameters @ self.slopes.T, target)
