"""The analyst's side: pull aggregates with their error bounds."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
import requests
from halftruth_shared import Survey
from halftruth_shared.classifiers import ClassifierResult
from halftruth_shared.messages import (
    AssociationsQuery,
    AssociationsResult,
    ClassifierKind,
    ClassifierQuery,
    CountsResult,
    Items,
    ItemsetsQuery,
    ItemsetsResult,
    LoglinearQuery,
    LoglinearResult,
    MeasuresQuery,
    MeasuresResult,
    Method,
    PartialQuery,
    PartialResult,
    PlanRequest,
    PlanResult,
    RandomizedQuery,
    RandomizedResult,
    RuleQuery,
    RuleResult,
    RulesQuery,
    RulesResult,
    Selection,
    TableQuery,
    TableResult,
    Tabular,
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


class Rule(RuleResult, frozen=True, kw_only=True):
    """One rule that can become a data frame."""

    def to_pandas(self) -> "pd.DataFrame":
        """One row, as of :class:`Rules`."""
        return _frame(self)


class Associations(AssociationsResult, frozen=True, kw_only=True):
    """Associations that can become a data frame."""

    def to_pandas(self) -> "pd.DataFrame":
        """One row for each ordered pair, indexed by it."""
        return _frame(self, 2)


class Randomized(RandomizedResult, frozen=True, kw_only=True):
    """Measures of the reports themselves that can become a data frame."""

    def to_pandas(self) -> "pd.DataFrame":
        """One row for each measure, indexed by its name."""
        return _frame(self, 1)


class PartialCorrelation(PartialResult, frozen=True, kw_only=True):
    """A partial correlation that can become a data frame."""

    def to_pandas(self) -> "pd.DataFrame":
        """One row for the answers and one for the reports."""
        return _frame(self, 1)


class Loglinear(LoglinearResult, frozen=True, kw_only=True):
    """A loglinear model of the reports that can become a data frame."""

    def to_pandas(self) -> "pd.DataFrame":
        """One row for each cell, indexed by the categories of the attributes."""
        return _frame(self, len(self.attributes))


class Classifier(ClassifierResult, frozen=True, kw_only=True):
    """A classifier that can become a data frame; its `model` predicts."""

    def to_pandas(self) -> "pd.DataFrame":
        """One row for each class of each part of the model."""
        return _frame(self)


class Plan(PlanResult, frozen=True, kw_only=True):
    """A plan that can become a data frame."""

    def to_pandas(self) -> "pd.DataFrame":
        """One row for each mechanism and length."""
        return _frame(self).set_index(["mechanism", "length"])


class Table(TableResult, frozen=True, kw_only=True):
    """A reconstructed table that can become a data frame."""

    def to_pandas(self) -> "pd.DataFrame":
        """One row for each cell, indexed by the categories of the attributes."""
        return _frame(self, len(self.query.attributes))


class Measures(MeasuresResult, frozen=True, kw_only=True):
    """Association measures that can become a data frame."""

    def to_pandas(self) -> "pd.DataFrame":
        """One row for each measure, indexed by its name."""
        return _frame(self, 1)


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
        estimate: Method = "moment",
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
            Of each single interval; of all together with the last two selections.
        select : {"estimate", "lower", "upper", "bonferroni", "holm"}
            What must reach the threshold. The last two call at most with a chance of
            1 − confidence any itemset frequent that is not.
        target : {"population", "respondents"}
            Whether the respondents are a sample of those spoken of, or all of them.
        estimate : {"moment", "projected", "likelihood"}
            What the supports are; intervals are always those of the moment estimate.

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
            estimate=estimate,
        )
        return self._transport.get(survey_path(survey, "itemsets"), Itemsets, query)

    def rules(
        self,
        survey: str,
        *,
        min_support: float,
        min_confidence: float,
        min_lift: float | None = None,
        max_length: int | None = None,
        confidence: float = 0.95,
        select: Selection = "estimate",
        target: Target = "population",
        measures: Sequence[str] = (),
        sort: str = "confidence",
        limit: int | None = None,
    ) -> Rules:
        """Rules between those itemsets; for the parameters see :meth:`itemsets`.

        Parameters
        ----------
        min_confidence : float
            Least estimated confidence, from 0 to 1.
        min_lift : float, optional
            Least estimated lift.
        measures : sequence of str
            Measures of each rule, such as lift, conviction and leverage.
        sort : str
            "confidence", "support" or a measure, the largest first.
        limit : int, optional
            Most rules to give.

        Raises
        ------
        RequestRefused, CollectorUnavailable
        """
        query = RulesQuery(
            min_support=min_support,
            min_confidence=min_confidence,
            min_lift=min_lift,
            max_length=max_length,
            confidence=confidence,
            select=select,
            target=target,
            measures=list(measures),
            sort=sort,
            limit=limit,
        )
        return self._transport.get(survey_path(survey, "rules"), Rules, query)

    def rule(
        self,
        survey: str,
        antecedent: Mapping[str, str],
        consequent: Mapping[str, str],
        *,
        measures: Sequence[str] | None = None,
        confidence: float = 0.95,
        target: Target = "population",
    ) -> Rule:
        """One rule, whatever its support.

        Parameters
        ----------
        antecedent, consequent : mapping of str to str
            Items by attribute.
        measures : sequence of str, optional
            All of them by default.

        Raises
        ------
        RequestRefused, CollectorUnavailable
        """
        query = RuleQuery(
            antecedent=dict(antecedent),
            consequent=dict(consequent),
            measures=None if measures is None else list(measures),
            confidence=confidence,
            target=target,
        )
        return self._transport.get(survey_path(survey, "rule"), Rule, query)

    def table(
        self,
        survey: str,
        attributes: Sequence[str],
        *,
        confidence: float = 0.95,
        target: Target = "population",
        estimate: Method = "moment",
        covariance: bool = False,
    ) -> Table:
        """Reconstructed table of some attributes.

        Parameters
        ----------
        attributes : sequence of str
        estimate : {"moment", "projected", "likelihood"}
            What the supports are; intervals are always those of the moment estimate.
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
            estimate=estimate,
            covariance=covariance,
        )
        return self._transport.get(survey_path(survey, "table"), Table, query)

    def measures(
        self,
        survey: str,
        attributes: Sequence[str],
        *,
        present: Mapping[str, str] | None = None,
        measures: Sequence[str] | None = None,
        confidence: float = 0.95,
        target: Target = "population",
    ) -> Measures:
        """Association measures of two or more attributes.

        Parameters
        ----------
        attributes : sequence of str
        present : mapping of str to str, optional
            The category that counts as presence, by attribute.
        measures : sequence of str, optional
            Their names; all that such attributes have by default.

        Raises
        ------
        RequestRefused, CollectorUnavailable
        """
        query = MeasuresQuery(
            attributes=list(attributes),
            present=dict(present or {}),
            measures=None if measures is None else list(measures),
            confidence=confidence,
            target=target,
        )
        return self._transport.get(survey_path(survey, "measures"), Measures, query)

    def associations(
        self,
        survey: str,
        attributes: Sequence[str] | None = None,
        *,
        confidence: float = 0.95,
        target: Target = "population",
    ) -> Associations:
        """Concentration τ of every ordered pair of attributes: how much one tells of the other.

        Parameters
        ----------
        attributes : sequence of str, optional
            All of them by default.

        Raises
        ------
        RequestRefused, CollectorUnavailable
        """
        query = AssociationsQuery(
            attributes=None if attributes is None else list(attributes),
            confidence=confidence,
            target=target,
        )
        return self._transport.get(survey_path(survey, "associations"), Associations, query)

    def randomized(
        self,
        survey: str,
        attributes: Sequence[str],
        *,
        present: Mapping[str, str] | None = None,
        measures: Sequence[str] | None = None,
        confidence: float = 0.95,
    ) -> Randomized:
        """Measures of the reports themselves, and what they say of the answers.

        Parameters are those of :meth:`measures`.

        Raises
        ------
        RequestRefused, CollectorUnavailable
        """
        query = RandomizedQuery(
            attributes=list(attributes),
            present=dict(present or {}),
            measures=None if measures is None else list(measures),
            confidence=confidence,
        )
        return self._transport.get(survey_path(survey, "randomized"), Randomized, query)

    def partial_correlation(
        self,
        survey: str,
        attributes: Sequence[str],
        given: Sequence[str],
        *,
        present: Mapping[str, str] | None = None,
        confidence: float = 0.95,
        target: Target = "population",
    ) -> PartialCorrelation:
        """Correlation of two attributes given others, of the answers and of the reports.

        Parameters
        ----------
        attributes, given : sequence of str
        present : mapping of str to str, optional
            The category that counts as presence, by attribute.

        Raises
        ------
        RequestRefused, CollectorUnavailable
        """
        query = PartialQuery(
            attributes=list(attributes),
            given=list(given),
            present=dict(present or {}),
            confidence=confidence,
            target=target,
        )
        path = survey_path(survey, "partial-correlation")
        return self._transport.get(path, PartialCorrelation, query)

    def loglinear(self, survey: str, terms: Sequence[Sequence[str]]) -> Loglinear:
        """A hierarchical loglinear model of the reports, tested.

        Parameters
        ----------
        terms : sequence of sequences of str
            Attributes of each highest-order term; single ones test independence.

        Raises
        ------
        RequestRefused, CollectorUnavailable
        """
        query = LoglinearQuery(terms=[list(term) for term in terms])
        return self._transport.get(survey_path(survey, "loglinear"), Loglinear, query)

    def classifier(
        self,
        survey: str,
        predict: str,
        *,
        kind: ClassifierKind = "naive-bayes",
        features: Sequence[str] | None = None,
        max_depth: int = 3,
        min_support: float = 0.05,
        confidence: float = 0.95,
        estimate: Method = "likelihood",
    ) -> Classifier:
        """A classifier learned from reconstructed tables; its `model` predicts on records here.

        Parameters
        ----------
        predict : str
            The attribute whose categories are the classes.
        kind : {"naive-bayes", "decision-tree"}
        features : sequence of str, optional
            The attributes to predict from; all others by default.
        max_depth, min_support
            Of a tree: most questions in a row, and least share of the people at a split.
        confidence : float
            Of the intervals that the warnings go by.
        estimate : {"moment", "projected", "likelihood"}
            What the tables are.

        Raises
        ------
        RequestRefused, CollectorUnavailable
        """
        query = ClassifierQuery(
            predict=predict,
            kind=kind,
            features=None if features is None else list(features),
            max_depth=max_depth,
            min_support=min_support,
            confidence=confidence,
            estimate=estimate,
        )
        return self._transport.get(survey_path(survey, "classifier"), Classifier, query)

    def plan(
        self,
        survey: Survey,
        respondents: int,
        *,
        support: float = 0.05,
        lengths: Sequence[int] | None = None,
        half_width: float | None = None,
        confidence: float = 0.95,
        target: Target = "population",
    ) -> Plan:
        """What a survey will tell, which need not have been published.

        Parameters
        ----------
        survey : Survey
        respondents : int
        support : float
            Support at which itemsets are looked at.
        lengths : sequence of int, optional
            Lengths of itemsets that matter; up to three by default.
        half_width : float, optional
            Wanted half-width of an interval, for the number of respondents it needs.

        Raises
        ------
        RequestRefused, CollectorUnavailable
        """
        request = PlanRequest(
            survey=msgspec.Raw(survey.canonical_json),
            respondents=respondents,
            support=support,
            lengths=None if lengths is None else list(lengths),
            half_width=half_width,
            confidence=confidence,
            target=target,
        )
        return self._transport.post("/v1/plan", Plan, request)

    def counts(self, survey: str) -> Counts:
        """Counts of perturbed reports, from which every estimate can be computed offline.

        Raises
        ------
        RequestRefused, CollectorUnavailable
        """
        return self._transport.get(survey_path(survey, "counts"), Counts)


def _frame(result: Tabular, index: int = 0) -> "pd.DataFrame":
    """A data frame of a result's rows, with itemsets as values that can be compared.

    Its first columns become the index; they may well be called like others.
    """
    import pandas as pd

    rows = [
        [_item_set(value) if isinstance(value, dict) else value for value in row]
        for row in result.rows()
    ]
    frame = pd.DataFrame([row[index:] for row in rows], columns=list(result.columns[index:]))
    if index == 1:
        frame.index = pd.Index([row[0] for row in rows], name=result.columns[0])
    elif index:
        frame.index = pd.MultiIndex.from_tuples(
            [tuple(row[:index]) for row in rows], names=result.columns[:index]
        )
    return frame


def _item_set(items: Items) -> frozenset[str]:
    return frozenset(f"{name}={category}" for name, category in items.items())
