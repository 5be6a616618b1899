"""The analyst's side: pull aggregates with their error bounds."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import requests
from halftruth_shared.messages import (
    CountsResult,
    Items,
    ItemsetsQuery,
    ItemsetsResult,
    MeasuresQuery,
    MeasuresResult,
    RulesQuery,
    RulesResult,
    Selection,
    TableQuery,
    TableResult,
    Target,
)

from .transport import Transport, survey_path

if TYPE_CHECKING:
    import pandas as pd


class Itemsets(ItemsetsResult, frozen=True, kw_only=True):
    """Itemsets that can become a data frame."""

    def to_pandas(self) -> "pd.DataFrame":
        """One row for each itemset, whose items are a frozenset of ``"attribute=category"``."""
        return _frame(self)


class Rules(RulesResult, frozen=True, kw_only=True):
    """Rules that can become a data frame."""

    def to_pandas(self) -> "pd.DataFrame":
        """One row for each rule, whose sides are frozensets of ``"attribute=category"``."""
        return _frame(self)


class Table(TableResult, frozen=True, kw_only=True):
    """A reconstructed table that can become a data frame."""

    def to_pandas(self) -> "pd.DataFrame":
        """One row for each cell, indexed by the categories of the attributes."""
        return _frame(self).set_index(self.query.attributes)


class Measures(MeasuresResult, frozen=True, kw_only=True):
    """Association measures that can become a data frame."""

    def to_pandas(self) -> "pd.DataFrame":
        """One row for each measure, indexed by its name."""
        return _frame(self).set_index("measure")


class Counts(CountsResult, frozen=True, kw_only=True):
    """Counts of perturbed reports that can become a data frame."""

    def to_pandas(self) -> "pd.DataFrame":
        """One row for each different report, one column for each of its values, and the count."""
        import pandas as pd

        return pd.DataFrame(
            [[*cell.values, cell.count] for cell in self.cells], columns=[*self.columns, "count"]
        )


class Analyst:
    """Reads the results of one collector.

    Parameters
    ----------
    url : str
        Address of the collector.
    token : str
        An analyst's token.
    retries, backoff, timeout, session
        See :class:`~halftruth_client.transport.Transport`.

    Raises
    ------
    ParameterError
        If the address is not one.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        retries: int = 5,
        backoff: float = 0.5,
        timeout: float = 60.0,
        session: requests.Session | None = None,
    ) -> None:
        self._transport = Transport(
            url, token=token, retries=retries, backoff=backoff, timeout=timeout, session=session
        )

    def itemsets(
        self,
        survey: str,
        *,
        min_support: float,
        max_length: int | None = None,
        confidence: float = 0.95,
        select: Selection = "estimate",
        target: Target = "population",
    ) -> Itemsets:
        """Itemsets whose support reaches a threshold, each with its bounds and a decision.

        Parameters
        ----------
        survey : str
            Id of the survey.
        min_support : float
            Threshold, above 0 and at most 1.
        max_length : int, optional
            Longest itemsets; any length by default.
        confidence : float
            Of each single interval.
        select : {"estimate", "lower", "upper"}
            What must reach the threshold.
        target : {"population", "respondents"}
            Whether the respondents are a sample of those spoken of, or all of them.

        Raises
        ------
        RequestRefused, CollectorUnavailable
        """
        query = ItemsetsQuery(
            min_support=min_support,
            max_length=max_length,
            confidence=confidence,
            select=select,
            target=target,
        )
        return self._transport.get(survey_path(survey, "itemsets"), Itemsets, query)

    def rules(
        self,
        survey: str,
        *,
        min_support: float,
        min_confidence: float,
        max_length: int | None = None,
        confidence: float = 0.95,
        select: Selection = "estimate",
        target: Target = "population",
    ) -> Rules:
        """Rules between those itemsets; for the parameters see :meth:`itemsets`.

        Parameters
        ----------
        min_confidence : float
            Least estimated confidence, from 0 to 1.

        Raises
        ------
        RequestRefused, CollectorUnavailable
        """
        query = RulesQuery(
            min_support=min_support,
            min_confidence=min_confidence,
            max_length=max_length,
            confidence=confidence,
            select=select,
            target=target,
        )
        return self._transport.get(survey_path(survey, "rules"), Rules, query)

    def table(
        self,
        survey: str,
        attributes: Sequence[str],
        *,
        confidence: float = 0.95,
        target: Target = "population",
        covariance: bool = False,
    ) -> Table:
        """Reconstructed table of some attributes.

        Parameters
        ----------
        attributes : sequence of str
        covariance : bool
            Whether to fetch the full covariance of the cells too.

        Raises
        ------
        RequestRefused, CollectorUnavailable
        """
        query = TableQuery(
            attributes=list(attributes),
            confidence=confidence,
            target=target,
            covariance=covariance,
        )
        return self._transport.get(survey_path(survey, "table"), Table, query)

    def measures(
        self,
        survey: str,
        attributes: Sequence[str],
        *,
        present: Mapping[str, str] | None = None,
        confidence: float = 0.95,
        target: Target = "population",
    ) -> Measures:
        """Association measures of two or more attributes.

        Parameters
        ----------
        attributes : sequence of str
        present : mapping of str to str, optional
            The category that counts as presence, by attribute.

        Raises
        ------
        RequestRefused, CollectorUnavailable
        """
        query = MeasuresQuery(
            attributes=list(attributes),
            present=dict(present or {}),
            confidence=confidence,
            target=target,
        )
        return self._transport.get(survey_path(survey, "measures"), Measures, query)

    def counts(self, survey: str) -> Counts:
        """Counts of perturbed reports, from which every estimate can be computed offline.

        Raises
        ------
        RequestRefused, CollectorUnavailable
        """
        return self._transport.get(survey_path(survey, "counts"), Counts)


def _frame(
    result: ItemsetsResult | RulesResult | TableResult | MeasuresResult,
) -> "pd.DataFrame":
    """A data frame of a result's rows, with itemsets as values that can be compared."""
    import pandas as pd

    rows = [
        [_item_set(value) if isinstance(value, dict) else value for value in row]
        for row in result.rows()
    ]
    return pd.DataFrame(rows, columns=list(result.columns))


def _item_set(items: Items) -> frozenset[str]:
    return frozenset(f"{name}={category}" for name, category in items.items())
