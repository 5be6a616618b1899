"""The analyst's side: pull aggregates with their error bounds."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import requests
from halftruth_shared.messages import (
    CountsResult,
    Interval,
    Items,
    ItemsetsResult,
    RulesResult,
    Selection,
    TableResult,
    Target,
)

from .transport import Transport

if TYPE_CHECKING:
    import pandas as pd


_ITEMSET_COLUMNS = [
    "itemset",
    "length",
    "support",
    "standard_error",
    "lower",
    "upper",
    "decision",
]

_RULE_COLUMNS = [
    "antecedent",
    "consequent",
    "support",
    "support_standard_error",
    "support_lower",
    "support_upper",
    "confidence",
    "confidence_mean",
    "confidence_standard_error",
    "confidence_lower",
    "confidence_upper",
]


class Itemsets(ItemsetsResult, frozen=True, kw_only=True):
    """Itemsets that can become a data frame."""

    def to_pandas(self) -> "pd.DataFrame":
        """One row for each itemset, whose items are a frozenset of ``"attribute=category"``."""
        import pandas as pd

        rows = [
            (
                _item_set(itemset.items),
                len(itemset.items),
                itemset.support,
                itemset.standard_error,
                *_ends(itemset.interval),
                itemset.decision,
            )
            for itemset in self.itemsets
        ]
        return pd.DataFrame(rows, columns=_ITEMSET_COLUMNS)


class Rules(RulesResult, frozen=True, kw_only=True):
    """Rules that can become a data frame."""

    def to_pandas(self) -> "pd.DataFrame":
        """One row for each rule, whose sides are frozensets of ``"attribute=category"``."""
        import pandas as pd

        rows = [
            (
                _item_set(rule.antecedent),
                _item_set(rule.consequent),
                rule.support,
                rule.support_standard_error,
                *_ends(rule.support_interval),
                rule.confidence,
                rule.confidence_mean,
                rule.confidence_standard_error,
                *_ends(rule.confidence_interval),
            )
            for rule in self.rules
        ]
        return pd.DataFrame(rows, columns=_RULE_COLUMNS)


class Table(TableResult, frozen=True, kw_only=True):
    """A reconstructed table that can become a data frame."""

    def to_pandas(self) -> "pd.DataFrame":
        """One row for each cell, indexed by the categories of the attributes."""
        import pandas as pd

        rows = [
            (*cell.values.values(), cell.support, cell.standard_error, *_ends(cell.interval))
            for cell in self.cells
        ]
        columns = [*self.attributes, "support", "standard_error", "lower", "upper"]
        return pd.DataFrame(rows, columns=columns).set_index(self.attributes)


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
        parameters = {
            "min_support": min_support,
            "max_length": max_length,
            "confidence": confidence,
            "select": select,
            "target": target,
        }
        return self._transport.get(f"/v1/surveys/{survey}/itemsets", Itemsets, parameters)

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
        parameters = {
            "min_support": min_support,
            "min_confidence": min_confidence,
            "max_length": max_length,
            "confidence": confidence,
            "select": select,
            "target": target,
        }
        return self._transport.get(f"/v1/surveys/{survey}/rules", Rules, parameters)

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
        parameters = {
            "attributes": ",".join(attributes),
            "confidence": confidence,
            "target": target,
            "covariance": "true" if covariance else None,
        }
        return self._transport.get(f"/v1/surveys/{survey}/table", Table, parameters)

    def counts(self, survey: str) -> Counts:
        """Counts of perturbed reports, from which every estimate can be computed offline.

        Raises
        ------
        RequestRefused, CollectorUnavailable
        """
        return self._transport.get(f"/v1/surveys/{survey}/counts", Counts)


def _item_set(items: Items) -> frozenset[str]:
    return frozenset(f"{name}={category}" for name, category in items.items())


def _ends(interval: Interval | None) -> tuple[float | None, float | None]:
    return (None, None) if interval is None else interval
