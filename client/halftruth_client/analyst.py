"""The analyst's side: pull aggregates with their error bounds."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec
import requests
from halftruth_shared import Survey
from halftruth_shared.analyses import QUERIES, Query, name_of, result_of
from halftruth_shared.analyses.base import Columns, R, data_frame, texts
from halftruth_shared.analyses.plan import PlanQuery, PlanRequest, PlanResult
from halftruth_shared.analyses.reading import make
from halftruth_shared.analyses.showing import Shown
from halftruth_shared.protocol.surveys import SurveyList, SurveySummary

from .catalog import Catalog
from .methods import AnalysisMethod
from .questions import Questions
from .transport import Transport, survey_path

if TYPE_CHECKING:
    import pandas as pd


class Analyst:
    """Reads the results of one collector.

    There is a method for each analysis, called like it: ``analyst.itemsets("health",
    min_support=0.05)``. Its parameters are the survey's id and the fields of the query.

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

    if TYPE_CHECKING:
        # One for each analysis, made below; `ask` is the way that type checkers understand.
        def __getattr__(self, name: str) -> Callable[..., Any]: ...

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

    def ask(self, survey: str, query: Query[R]) -> R:
        """Ask a collector a question about a survey.

        Parameters
        ----------
        survey : str
            Id of the survey.
        query : Query
            Such as an ``ItemsetsQuery``, which is answered by an ``ItemsetsResult``.

        Raises
        ------
        RequestRefused, CollectorUnavailable
        """
        kind = type(query)
        return self._transport.get(survey_path(survey, name_of(kind)), result_of(kind), query)

    def surveys(self) -> "Surveys":
        """Return the surveys of this collector: id, title, digest, and whether they are open.

        Raises
        ------
        RequestRefused, CollectorUnavailable
        """
        return Surveys(self._transport.get("/v1/surveys", SurveyList).surveys)

    def survey(self, id: str) -> "SurveyAnalyst":
        """Return an analyst of one survey, with a method for each analysis.

        Raises
        ------
        SurveyRefused
            If the digest is not that of the survey.
        RequestRefused, CollectorUnavailable
        """
        return SurveyAnalyst(self, Catalog(self._transport, ()).fetch(id).survey)

    def plan(self, survey: Survey, respondents: int, **parameters: Any) -> PlanResult:
        """Forecast the precision of a survey, which need not have been published.

        Parameters
        ----------
        survey : Survey
        respondents : int
        **parameters
            Further fields of a :class:`~halftruth_shared.analyses.plan.PlanQuery`, such as
            `support`, `lengths` and `half_width`.

        Raises
        ------
        ParameterError, RequestRefused, CollectorUnavailable
        """
        query = make(PlanQuery, {"respondents": respondents, **parameters})
        request = PlanRequest(
            survey=msgspec.Raw(survey.canonical_json), **msgspec.structs.asdict(query)
        )
        return self._transport.post("/v1/plan", PlanResult, request)


class Surveys(list[SurveySummary]):
    """The surveys of a collector, which are also a table."""

    @property
    def columns(self) -> Columns:
        """Name and type of each column of its table."""
        return texts(*SurveySummary.__struct_fields__)

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Iterate over the rows, one for each survey."""
        yield from map(msgspec.structs.astuple, self)

    def to_pandas(self) -> "pd.DataFrame":
        """Return its table as a data frame, indexed by the surveys' ids."""
        return data_frame(self, 1)

    def __repr__(self) -> str:
        return self._shown().text()

    def _repr_html_(self) -> str:
        return self._shown().html()

    def _shown(self) -> Shown:
        # A digest is for programs.
        kept = [i for i, (name, _) in enumerate(self.columns) if name != "digest"]
        header = [self.columns[i][0] for i in kept]
        return Shown("surveys", [], header, [[str(row[i]) for i in kept] for row in self.rows()])


class SurveyAnalyst:
    """Reads the results of one survey; :meth:`Analyst.survey` makes it.

    There is a method for each analysis: ``health.crosstab(["smoker", "drinks"])``. Where one takes
    a name, it takes a question or an answer of :attr:`questions`, which complete:
    ``health.comparison(answer=q.smoker.yes, groups=q.drinks, where=[q.sex.female])``.

    Attributes
    ----------
    definition : Survey
        The survey as it was published.
    questions : Questions
    """

    if TYPE_CHECKING:
        # One for each analysis, made below; `ask` is the way that type checkers understand.
        def __getattr__(self, name: str) -> Callable[..., Any]: ...

    def __init__(self, analyst: Analyst, definition: Survey) -> None:
        self._analyst = analyst
        self.definition = definition
        self.questions = Questions(definition.schema)

    def ask(self, query: Query[R]) -> R:
        """Ask a question about this survey; see :meth:`Analyst.ask`."""
        return self._analyst.ask(self.definition.id, query)

    def __repr__(self) -> str:
        return f"{self.definition.id}: {self.definition.title_in()}\n{self.questions!r}"


for _query in QUERIES.values():
    for _class, _method in (
        (Analyst, AnalysisMethod(_query, "survey")),
        (SurveyAnalyst, AnalysisMethod(_query)),
    ):
        setattr(_class, _method.name, _method)
