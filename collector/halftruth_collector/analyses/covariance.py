"""Covariance matrix of estimates as a table."""

from collections.abc import Iterator
from typing import Any

from halftruth_shared import EstimateError
from halftruth_shared.analyses.base import Columns, numbers, texts
from halftruth_shared.results import Result


class Covariance:
    """Covariance matrix of the estimates of a result, in their order.

    Raises
    ------
    EstimateError
        If the result has no covariance.
    """

    def __init__(self, result: Result[Any]) -> None:
        if result.covariance is None:
            raise EstimateError(
                "covariance: these estimates have none; expected those of another kind than"
                " best guesses, of two reports or more",
                field="covariance",
            )
        self._keys = [name for name, _ in result.columns[: result.index]]
        self._names = [*zip(*result.column_lists()[: result.index], strict=True)]
        self._matrix = result.covariance

    @property
    def columns(self) -> Columns:
        """Columns that identify an estimate, then one column for each estimate."""
        names = (", ".join(filter(None, row)) for row in self._names)
        return [*texts(*self._keys), *numbers(*names)]

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Iterate over the rows of the matrix, with None for unknown covariances."""
        for names, line in zip(self._names, self._matrix, strict=True):
            yield (*names, *line)
