"""Client for analysts: request estimates with their intervals."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec
import requests
from halftruth_shared import Survey
from halftruth_shared.analyses import Query, name_of, result_of
from halftruth_shared.analyses.base import Columns, R, data_frame, texts
from halftruth_shared.analyses.plan import PlanQuery, PlanRequest, PlanResult
from halftruth_shared.analyses.reading import make, write
from halftruth_shared.columns import decode
from halftruth_shared.protocol.surveys import SurveyList, SurveySummary, survey_path
from halftruth_shared.results.showing import html_table, text_table

from .analyses import Analyses, SurveyAnalyses
from .catalog import Catalog
from .errors import check_id, check_kind, check_survey
from .questions import Questions
from .transport import Transport

if TYPE_CHECKING:
    from typing import Unpack

    import pandas as pd

    from .analyses import PlanParameters


class Analyst(Analyses):
    """Client for the results of one collector.

    Each analysis is a method: ``analyst.itemsets("health", min_support=0.05)``. Its parameters are
    the id of the survey and the fields of the query.

    Parameters
    ----------
    url : str
        Address of the collector.
    token : str
        Token of an analyst.
    retries, backoff, timeout, session
        See :class:`~halftruth_client.transport.Transport`.

    Raises
    ------
    ParameterError
        If the address is invalid.
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
        check_kind(token, str, "token", "the token of an analyst as text")
        self._transport = Transport(
            url,
            token=token,
            retries=retries,
            backoff=backoff,
            timeout=timeout,
            session=session,
            decode=decode,
        )

    def ask(self, survey: str, query: Query[R]) -> R:
        """Send a query about a survey to the collector, and return the result.

        Parameters
        ----------
        survey : str
            Id of the survey.
        query : Query
            Query such as an ``ItemsetsQuery``; its result is a ``Result``.

        Raises
        ------
        RequestRefused, CollectorUnavailable
        """
        check_id(survey)
        check_kind(query, Query, "query", "a Query, such as a TableQuery")
        kind = type(query)
        return self._transport.get(
            survey_path(survey, name_of(kind)), result_of(kind), write(query)
        )

    def surveys(self) -> "Surveys":
        """Return the surveys of this collector, with id, title, digest and status.

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
            If the digest does not match the survey.
        RequestRefused, CollectorUnavailable
        """
        check_id(id)
        return SurveyAnalyst(self, Catalog(self._transport, ()).fetch(id).survey)

    def plan(
        self, survey: Survey, respondents: int, **parameters: "Unpack[PlanParameters]"
    ) -> PlanResult:
        """Predict the precision of a survey, which need not be published.

        Parameters
        ----------
        survey : Survey
        respondents : int
        **parameters
            Other fields of a :class:`~halftruth_shared.analyses.plan.PlanQuery`, such as
            `half_width` and `groups`.

        Raises
        ------
        ParameterError, RequestRefused, CollectorUnavailable
        """
        check_survey(survey)
        query = make(PlanQuery, {"respondents": respondents, **parameters})
        request = PlanRequest(
            survey=msgspec.Raw(survey.canonical_json), **msgspec.structs.asdict(query)
        )
        return self._transport.post("/v1/plan", PlanResult, request)


class Surveys(list[SurveySummary]):
    """List of the surveys of a collector, which can be shown as a table."""

    @property
    def columns(self) -> Columns:
        """Name and type of each column of the table."""
        return texts(*SurveySummary.__struct_fields__)

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Iterate over the rows, one per survey."""
        yield from map(msgspec.structs.astuple, self)

    def to_pandas(self) -> "pd.DataFrame":
        """Return the table as a data frame, indexed by the ids of surveys."""
        return data_frame(self, 1)

    def __repr__(self) -> str:
        return text_table(*self._shown())

    def _repr_html_(self) -> str:
        return html_table(*self._shown())

    def _shown(self) -> tuple[list[str], list[list[str]]]:
        # Digests are long, and for programs only.
        header = [name for name, _ in self.columns if name != "digest"]
        return header, [[str(getattr(survey, name)) for name in header] for survey in self]


class SurveyAnalyst(SurveyAnalyses):
    """Client for the results of one survey, created by :meth:`Analyst.survey`.

    Each analysis is a method: ``health.crosstab(["smoker", "drinks"])``. Instead of names, methods
    accept the questions and answers of :attr:`questions`, which support completion:
    ``health.comparison(answer=q.smoker.yes, groups=q.drinks, where=[q.sex.female])``.

    Attributes
    ----------
    definition : Survey
        The published survey.
    questions : Questions
    """

    def __init__(self, analyst: Analyst, definition: Survey) -> None:
        self._analyst = analyst
        self.definition = definition
        self.questions = Questions(definition.schema)

    def ask(self, query: Query[R]) -> R:
        """Send a query about this survey; see :meth:`Analyst.ask`."""
        return self._analyst.ask(self.definition.id, query)

    def __repr__(self) -> str:
        return f"{self.definition.id}: {self.definition.title_in()}\n{self.questions!r}"
