"""Covariance matrix of estimates as a table."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from halftruth_shared import EstimateError
from halftruth_shared.analyses.base import Columns, numbers, texts
from halftruth_shared.results import Result


@dataclass(frozen=True)
class Covariance:
    """Covariance matrix of the estimates of a result, in their order.

    Raises
    ------
    EstimateError
        If the result has no covariance.
    """

    result: Result[Any]

    def __post_init__(self) -> None:
        if self.result.covariance is None:
            raise EstimateError(
                "covariance: these estimates have none; expected those of another kind than"
                " best guesses, of two reports or more",
                field="covariance",
            )

    @property
    def columns(self) -> Columns:
        """Columns that identify an estimate, then one column for each estimate."""
        names = (", ".join(filter(None, row)) for row in self._names())
        keys = [name for name, _ in self.result.columns[: self.result.index]]
        return [*texts(*keys), *numbers(*names)]

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Iterate over the rows of the matrix, with None for unknown covariances."""
        for names, line in zip(self._names(), self.result.covariance or [], strict=True):
            yield (*names, *line)

    def _names(self) -> Iterator[tuple[Any, ...]]:
        return zip(*self.result.column_lists()[: self.result.index], strict=True)
