"""Types of the methods of `Analyst` and `SurveyAnalyst`, written by client/stub.py."""

from collections.abc import Mapping
from typing import Any, Literal, TypedDict

from halftruth_shared.analyses.comparison import ComparisonQuery
from halftruth_shared.analyses.counts import CountsQuery
from halftruth_shared.analyses.crosstab import CrosstabQuery
from halftruth_shared.analyses.distribution import DistributionQuery
from halftruth_shared.analyses.itemsets import ItemsetsQuery
from halftruth_shared.analyses.measures import MeasuresQuery
from halftruth_shared.analyses.microdata import MicrodataResult
from halftruth_shared.analyses.overview import OverviewQuery
from halftruth_shared.analyses.regression import RegressionQuery
from halftruth_shared.analyses.risk import RiskQuery
from halftruth_shared.analyses.rules import RulesQuery
from halftruth_shared.analyses.table import TableQuery
from halftruth_shared.analyses.waves import WavesQuery
from halftruth_shared.analyses.weighted import WeightedQuery
from halftruth_shared.results.result import Result

from .questions import Answer, MultipleResponseQuestion, Question

#: A question, or its name; an answer, or its category.
_Asked = str | Question | MultipleResponseQuestion
_Category = str | Answer

# A text is no list, although it is a sequence of texts.
_Names = list[str] | list[Question] | list[_Asked] | tuple[_Asked, ...]
_Categories = list[str] | list[Answer] | list[_Category] | tuple[_Category, ...]
_Terms = list[_Names] | list[list[str]] | tuple[_Names, ...]

# Keys are questions or their names; a mapping has one type of keys.
_Item = Mapping[Any, _Category] | Answer
_Items = Mapping[Any, _Category | _Categories] | Answer | list[Answer] | tuple[Answer, ...]
_Margins = Mapping[Any, float | Mapping[Any, float]]
_Groups = Mapping[Any, _Categories | list[list[str]] | list[_Categories]]

class PlanParameters(TypedDict, total=False):
    """Parameters of `Analyst.plan`, besides the number of respondents."""

    half_width: float | None
    groups: list[str] | tuple[str, ...] | None
    questions: list[str] | tuple[str, ...] | None
    detect: list[str] | tuple[str, ...] | None
    outcome: str | None
    predictors: list[str] | tuple[str, ...] | None
    relay: int | None
    confidence: float
    target: Literal["population", "respondents"]
    alone: bool

class Analyses:
    """A method for each analysis, with the id of a survey."""

    def comparison(
        self,
        survey: str,
        answer: _Item,
        groups: _Asked,
        *,
        where: _Items = ...,
        confidence: float = ...,
        target: Literal["population", "respondents"] = ...,
        missing: Literal["keep", "exclude"] = ...,
        population: int | None = ...,
        among: _Categories | None = ...,
        reference: _Category | None = ...,
        effect: Literal["difference", "risk_ratio", "odds_ratio"] = ...,
        trend: bool = ...,
        merge: _Groups = ...,
        estimate: Literal["auto", "moment", "model"] = ...,
        interactions: _Terms = ...,
        modelled: _Names | None = ...,
        covariance: bool = ...,
    ) -> Result[ComparisonQuery]:
        """Comparison of the share of one answer between groups, with intervals and tests."""
    def counts(self, survey: str) -> Result[CountsQuery]:
        """Counts of perturbed records, as reported."""
    def crosstab(
        self,
        survey: str,
        attributes: _Names,
        *,
        where: _Items = ...,
        confidence: float = ...,
        target: Literal["population", "respondents"] = ...,
        missing: Literal["keep", "exclude"] = ...,
        population: int | None = ...,
        percentages: Literal["joint", "row", "column"] = ...,
        merge: _Groups = ...,
        covariance: bool = ...,
    ) -> Result[CrosstabQuery]:
        """Cross-tabulation of two to four questions, each percentage with its interval."""
    def distribution(
        self,
        survey: str,
        attribute: _Asked,
        *,
        where: _Items = ...,
        confidence: float = ...,
        target: Literal["population", "respondents"] = ...,
        groups: _Asked | None = ...,
        reference: _Category | None = ...,
        percentiles: list[int] | tuple[int, ...] = ...,
        scores: _Item = ...,
        merge: _Groups = ...,
    ) -> Result[DistributionQuery]:
        """Mean and percentiles of a number or of answers in an order, with cumulative shares."""
    def itemsets(
        self,
        survey: str,
        min_support: float,
        *,
        where: _Items = ...,
        confidence: float = ...,
        target: Literal["population", "respondents"] = ...,
        max_length: int | None = ...,
        all_answers: bool = ...,
        estimate: Literal["moment", "likelihood", "model"] = ...,
        interactions: _Terms = ...,
        modelled: _Names | None = ...,
        length: int | None = ...,
        attribute: _Asked | None = ...,
        decision: Literal["frequent", "undecided"] | None = ...,
        sort: Literal["support", "departure"] = ...,
    ) -> Result[ItemsetsQuery]:
        """Itemsets whose support reaches a threshold, each with its bounds and a decision."""
    def measures(
        self,
        survey: str,
        *,
        where: _Items = ...,
        confidence: float = ...,
        target: Literal["population", "respondents"] = ...,
        missing: Literal["keep", "exclude"] = ...,
        attributes: _Names | None = ...,
        present: _Item = ...,
        measures: _Names | None = ...,
        merge: _Groups = ...,
    ) -> Result[MeasuresQuery]:
        """Association measures of two questions, or the map of associations of every pair."""
    def microdata(
        self,
        survey: str,
        *,
        attributes: _Names | None = ...,
        margins: _Margins | None = ...,
        interactions: _Terms = ...,
        modelled: _Names | None = ...,
        max_rows: int = ...,
    ) -> MicrodataResult:
        """Weighted records with replicate weights, for R or Python; no record is a person."""
    def overview(
        self,
        survey: str,
        *,
        where: _Items = ...,
        confidence: float = ...,
        target: Literal["population", "respondents"] = ...,
        missing: Literal["keep", "exclude"] = ...,
        population: int | None = ...,
        attributes: _Names | None = ...,
        merge: _Groups = ...,
        estimate: Literal["moment", "likelihood", "model"] = ...,
        interactions: _Terms = ...,
        modelled: _Names | None = ...,
    ) -> Result[OverviewQuery]:
        """Distribution of the answers to every question, each share with its bounds."""
    def regression(
        self,
        survey: str,
        outcome: _Asked,
        predictors: _Names,
        *,
        where: _Items = ...,
        confidence: float = ...,
        target: Literal["population", "respondents"] = ...,
        model: Literal["logistic", "linear"] = ...,
        interactions: _Terms = ...,
        present: _Item = ...,
        reference: _Item = ...,
        scores: _Item = ...,
        estimate: Literal["auto", "moment", "model"] = ...,
        merge: _Groups = ...,
        population: int | None = ...,
        covariance: bool = ...,
    ) -> Result[RegressionQuery]:
        """Regression of one answer on any number of other answers, with chosen interactions."""
    def risk(
        self, survey: str, quasi: _Names, sensitive: _Asked, *, limit: float = ...
    ) -> Result[RiskQuery]:
        """Risk that someone who knows quasi-identifiers links a person with a sensitive answer."""
    def rules(
        self,
        survey: str,
        *,
        where: _Items = ...,
        confidence: float = ...,
        target: Literal["population", "respondents"] = ...,
        min_support: float = ...,
        max_length: int | None = ...,
        all_answers: bool = ...,
        antecedent: _Item = ...,
        consequent: _Item = ...,
        min_confidence: float = ...,
        min_lift: float | None = ...,
        measures: _Names | None = ...,
        sort: str = ...,
        limit: int | None = ...,
        include_uncertain: bool = ...,
        estimate: Literal["moment", "model"] = ...,
        interactions: _Terms = ...,
        modelled: _Names | None = ...,
    ) -> Result[RulesQuery]:
        """Association rules between the itemsets that the same parameters select, or one rule by name."""
    def table(
        self,
        survey: str,
        attributes: _Names,
        *,
        where: _Items = ...,
        confidence: float = ...,
        target: Literal["population", "respondents"] = ...,
        missing: Literal["keep", "exclude"] = ...,
        population: int | None = ...,
        merge: _Groups = ...,
        estimate: Literal["auto", "moment", "likelihood", "model"] = ...,
        interactions: _Terms = ...,
        modelled: _Names | None = ...,
        covariance: bool = ...,
    ) -> Result[TableQuery]:
        """Reconstructed table of some attributes, each cell with its bounds."""
    def waves(
        self,
        survey: str,
        *,
        where: _Items = ...,
        confidence: float = ...,
        target: Literal["population", "respondents"] = ...,
        missing: Literal["keep", "exclude"] = ...,
        attributes: _Names | None = ...,
        base: int | None = ...,
        groups: _Asked | None = ...,
        reference: _Category | None = ...,
        scores: _Item = ...,
    ) -> Result[WavesQuery]:
        """Change between the waves of a series, with levels and trends, of shares and of means."""
    def weighted(
        self,
        survey: str,
        margins: _Margins,
        *,
        where: _Items = ...,
        confidence: float = ...,
        target: Literal["population", "respondents"] = ...,
        missing: Literal["keep", "exclude"] = ...,
        population: int | None = ...,
        attributes: _Names | None = ...,
        method: Literal["raking", "calibration"] = ...,
        covariance: bool = ...,
    ) -> Result[WeightedQuery]:
        """Distribution of answers in a population of known margins."""

class SurveyAnalyses:
    """A method for each analysis, of one survey."""

    def comparison(
        self,
        answer: _Item,
        groups: _Asked,
        *,
        where: _Items = ...,
        confidence: float = ...,
        target: Literal["population", "respondents"] = ...,
        missing: Literal["keep", "exclude"] = ...,
        population: int | None = ...,
        among: _Categories | None = ...,
        reference: _Category | None = ...,
        effect: Literal["difference", "risk_ratio", "odds_ratio"] = ...,
        trend: bool = ...,
        merge: _Groups = ...,
        estimate: Literal["auto", "moment", "model"] = ...,
        interactions: _Terms = ...,
        modelled: _Names | None = ...,
        covariance: bool = ...,
    ) -> Result[ComparisonQuery]:
        """Comparison of the share of one answer between groups, with intervals and tests."""
    def counts(self) -> Result[CountsQuery]:
        """Counts of perturbed records, as reported."""
    def crosstab(
        self,
        attributes: _Names,
        *,
        where: _Items = ...,
        confidence: float = ...,
        target: Literal["population", "respondents"] = ...,
        missing: Literal["keep", "exclude"] = ...,
        population: int | None = ...,
        percentages: Literal["joint", "row", "column"] = ...,
        merge: _Groups = ...,
        covariance: bool = ...,
    ) -> Result[CrosstabQuery]:
        """Cross-tabulation of two to four questions, each percentage with its interval."""
    def distribution(
        self,
        attribute: _Asked,
        *,
        where: _Items = ...,
        confidence: float = ...,
        target: Literal["population", "respondents"] = ...,
        groups: _Asked | None = ...,
        reference: _Category | None = ...,
        percentiles: list[int] | tuple[int, ...] = ...,
        scores: _Item = ...,
        merge: _Groups = ...,
    ) -> Result[DistributionQuery]:
        """Mean and percentiles of a number or of answers in an order, with cumulative shares."""
    def itemsets(
        self,
        min_support: float,
        *,
        where: _Items = ...,
        confidence: float = ...,
        target: Literal["population", "respondents"] = ...,
        max_length: int | None = ...,
        all_answers: bool = ...,
        estimate: Literal["moment", "likelihood", "model"] = ...,
        interactions: _Terms = ...,
        modelled: _Names | None = ...,
        length: int | None = ...,
        attribute: _Asked | None = ...,
        decision: Literal["frequent", "undecided"] | None = ...,
        sort: Literal["support", "departure"] = ...,
    ) -> Result[ItemsetsQuery]:
        """Itemsets whose support reaches a threshold, each with its bounds and a decision."""
    def measures(
        self,
        *,
        where: _Items = ...,
        confidence: float = ...,
        target: Literal["population", "respondents"] = ...,
        missing: Literal["keep", "exclude"] = ...,
        attributes: _Names | None = ...,
        present: _Item = ...,
        measures: _Names | None = ...,
        merge: _Groups = ...,
    ) -> Result[MeasuresQuery]:
        """Association measures of two questions, or the map of associations of every pair."""
    def microdata(
        self,
        *,
        attributes: _Names | None = ...,
        margins: _Margins | None = ...,
        interactions: _Terms = ...,
        modelled: _Names | None = ...,
        max_rows: int = ...,
    ) -> MicrodataResult:
        """Weighted records with replicate weights, for R or Python; no record is a person."""
    def overview(
        self,
        *,
        where: _Items = ...,
        confidence: float = ...,
        target: Literal["population", "respondents"] = ...,
        missing: Literal["keep", "exclude"] = ...,
        population: int | None = ...,
        attributes: _Names | None = ...,
        merge: _Groups = ...,
        estimate: Literal["moment", "likelihood", "model"] = ...,
        interactions: _Terms = ...,
        modelled: _Names | None = ...,
    ) -> Result[OverviewQuery]:
        """Distribution of the answers to every question, each share with its bounds."""
    def regression(
        self,
        outcome: _Asked,
        predictors: _Names,
        *,
        where: _Items = ...,
        confidence: float = ...,
        target: Literal["population", "respondents"] = ...,
        model: Literal["logistic", "linear"] = ...,
        interactions: _Terms = ...,
        present: _Item = ...,
        reference: _Item = ...,
        scores: _Item = ...,
        estimate: Literal["auto", "moment", "model"] = ...,
        merge: _Groups = ...,
        population: int | None = ...,
        covariance: bool = ...,
    ) -> Result[RegressionQuery]:
        """Regression of one answer on any number of other answers, with chosen interactions."""
    def risk(self, quasi: _Names, sensitive: _Asked, *, limit: float = ...) -> Result[RiskQuery]:
        """Risk that someone who knows quasi-identifiers links a person with a sensitive answer."""
    def rules(
        self,
        *,
        where: _Items = ...,
        confidence: float = ...,
        target: Literal["population", "respondents"] = ...,
        min_support: float = ...,
        max_length: int | None = ...,
        all_answers: bool = ...,
        antecedent: _Item = ...,
        consequent: _Item = ...,
        min_confidence: float = ...,
        min_lift: float | None = ...,
        measures: _Names | None = ...,
        sort: str = ...,
        limit: int | None = ...,
        include_uncertain: bool = ...,
        estimate: Literal["moment", "model"] = ...,
        interactions: _Terms = ...,
        modelled: _Names | None = ...,
    ) -> Result[RulesQuery]:
        """Association rules between the itemsets that the same parameters select, or one rule by name."""
    def table(
        self,
        attributes: _Names,
        *,
        where: _Items = ...,
        confidence: float = ...,
        target: Literal["population", "respondents"] = ...,
        missing: Literal["keep", "exclude"] = ...,
        population: int | None = ...,
        merge: _Groups = ...,
        estimate: Literal["auto", "moment", "likelihood", "model"] = ...,
        interactions: _Terms = ...,
        modelled: _Names | None = ...,
        covariance: bool = ...,
    ) -> Result[TableQuery]:
        """Reconstructed table of some attributes, each cell with its bounds."""
    def waves(
        self,
        *,
        where: _Items = ...,
        confidence: float = ...,
        target: Literal["population", "respondents"] = ...,
        missing: Literal["keep", "exclude"] = ...,
        attributes: _Names | None = ...,
        base: int | None = ...,
        groups: _Asked | None = ...,
        reference: _Category | None = ...,
        scores: _Item = ...,
    ) -> Result[WavesQuery]:
        """Change between the waves of a series, with levels and trends, of shares and of means."""
    def weighted(
        self,
        margins: _Margins,
        *,
        where: _Items = ...,
        confidence: float = ...,
        target: Literal["population", "respondents"] = ...,
        missing: Literal["keep", "exclude"] = ...,
        population: int | None = ...,
        attributes: _Names | None = ...,
        method: Literal["raking", "calibration"] = ...,
        covariance: bool = ...,
    ) -> Result[WeightedQuery]:
        """Distribution of answers in a population of known margins."""
