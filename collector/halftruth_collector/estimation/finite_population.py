"""Tables of a finite population that the respondents are a simple random sample of.

Drawn without replacement, n of N people leave of the sampling variance Σ1 the part 1 − n/N (Cochran
1977, ch. 2), and of the variance by the perturbation Σ2 all: it is of their reports, however many
others there are. With V = Σ1 + Σ2 for a large population and Σ2 for exactly these respondents that
is (1 − n/N) V + n/N Σ2, for covariances, too, and for whatever is linear in tables.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from halftruth_shared import ParameterError
from halftruth_shared.analyses.base import Target
from halftruth_shared.channels.axes import Places

from .bounds import Array
from .counts import Counts
from .table import Margins, Sample, TableEstimate, TableSource
from .variances import UnitVariance


class FinitePopulation(TableSource):
    """Tables with the errors of a finite population.

    Parameters
    ----------
    source : TableSource
        With the errors of a large one.
    reports, people : int
        n and N.

    Raises
    ------
    ParameterError
        If there are more reports than people.
    """

    def __init__(self, source: TableSource, reports: int, people: int) -> None:
        if reports > people:
            raise ParameterError(
                f"population: {reports} reports have been counted; expected at least as many"
                " people",
                field="population",
            )
        super().__init__(source.schema)
        self._source, self._sampled = source, reports / people

    @property
    def max_order(self) -> int:
        return self._source.max_order

    @property
    def known(self) -> frozenset[str]:
        return self._source.known

    def check(self, attributes: Sequence[str]) -> None:
        self._source.check(attributes)

    def complete(self, counts: Counts) -> bool:
        return self._source.complete(counts)

    def table(self, counts: Counts, attributes: Sequence[str]) -> TableEstimate:
        table = self._source.table(counts, attributes)
        return _FiniteTable(table.attributes, table.reports, table, self._sampled)

    def margins(self, counts: Counts, attributes: Sequence[str]) -> Margins:
        return _FiniteMargins(self._source.margins(counts, attributes), self._sampled)

    def unit_variance(self, attributes: Sequence[str], target: Target) -> UnitVariance:
        alone = self._source.unit_variance(attributes, "respondents")
        if target == "respondents":
            return alone
        return self._source.unit_variance(attributes, target).mixed(alone, self._sampled)


def _mixed(large: Array, alone: Array, sampled: float, target: Target) -> Array:
    """Variance between that for a large population and that for these respondents alone.

    Where few reports make the latter negative, the former stands for it, which is too large.
    """
    if target == "respondents":
        return alone
    return (1 - sampled) * large + sampled * np.where(np.isnan(alone), large, alone)


@dataclass(frozen=True, eq=False)
class _FiniteTable(TableEstimate):
    attributes: tuple[str, ...]
    reports: int
    table: TableEstimate
    sampled: float

    @property
    def condition_number(self) -> float | None:
        return self.table.condition_number

    @property
    def support(self) -> Array:
        return self.table.support

    @property
    def effective_reports(self) -> Array:
        return self.table.effective_reports

    def samples(self, shares: Array) -> Iterable[Sample]:
        return self.table.samples(shares)

    def unit_variance(self, target: Target = "population") -> UnitVariance | None:
        large, alone = (self.table.unit_variance(aim) for aim in ("population", "respondents"))
        if large is None or alone is None or target == "respondents":
            return alone
        return large.mixed(alone, self.sampled)

    def _variance(self, target: Target) -> Array:
        large, alone = (self.table.variance(aim) for aim in ("population", "respondents"))
        return _mixed(large, alone, self.sampled, target)

    def _covariance(self, target: Target) -> Array:
        large, alone = (self.table.covariance(aim) for aim in ("population", "respondents"))
        return _mixed(large, alone, self.sampled, target)


class _FiniteMargins(Margins):
    def __init__(self, margins: Margins, sampled: float) -> None:
        self._margins, self._sampled = margins, sampled
        self.support = margins.support

    def variance(self, target: Target = "population") -> Array:
        large, alone = (self._margins.variance(aim) for aim in ("population", "respondents"))
        return _mixed(large, alone, self._sampled, target)

    def covariance(self, first: Places, second: Places, target: Target = "population") -> Array:
        large, alone = (
            self._margins.covariance(first, second, aim) for aim in ("population", "respondents")
        )
        return _mixed(large, alone, self._sampled, target)
