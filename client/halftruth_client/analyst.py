"""The analyst's side: pull aggregates with their error bounds."""

from collections.abc import Callable, Sequence
from inspect import Parameter, Signature, formatannotation
from typing import TYPE_CHECKING, Any, get_type_hints

import msgspec
import requests
from halftruth_shared import Survey
from halftruth_shared.analyses import QUERIES, Query, name_of, result_of
from halftruth_shared.analyses.base import R, Target
from halftruth_shared.analyses.plan import PlanQuery, PlanRequest, PlanResult
from halftruth_shared.analyses.reading import Field, fields, make

from .transport import Transport, survey_path


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
    ) -> PlanResult:
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
        ParameterError, RequestRefused, CollectorUnavailable
        """
        query = make(
            PlanQuery,
            {
                "respondents": respondents,
                "support": support,
                "lengths": lengths,
                "half_width": half_width,
                "confidence": confidence,
                "target": target,
            },
        )
        request = PlanRequest(
            survey=msgspec.Raw(survey.canonical_json), **msgspec.structs.asdict(query)
        )
        return self._transport.post("/v1/plan", PlanResult, request)


def _method(query: type[Query[R]]) -> Callable[..., R]:
    """A method that asks this question with its fields as parameters."""
    known = fields(query).values()
    types = get_type_hints(query)
    signature = Signature(
        [
            Parameter("self", Parameter.POSITIONAL_OR_KEYWORD),
            Parameter("survey", Parameter.POSITIONAL_OR_KEYWORD, annotation=str),
            *(_parameter(field, types[field.name]) for field in known),
        ],
        return_annotation=result_of(query),
    )

    def method(*given: Any, **named: Any) -> R:
        asked = signature.bind(*given, **named).arguments
        analyst, survey = asked.pop("self"), asked.pop("survey")
        result: R = analyst.ask(survey, make(query, asked))
        return result

    method.__name__ = name_of(query).replace("-", "_")
    method.__qualname__ = f"Analyst.{method.__name__}"
    method.__signature__ = signature  # type: ignore[attr-defined]
    method.__doc__ = "\n".join(
        [
            f"{query.__doc__}\n\nParameters\n----------\nsurvey : str\n    Id of the survey.",
            *(_described(field, types[field.name]) for field in known),
            "\nRaises\n------\nParameterError, RequestRefused, CollectorUnavailable",
        ]
    )
    return method


def _parameter(field: Field, kind: Any) -> Parameter:
    if field.required:
        return Parameter(field.name, Parameter.POSITIONAL_OR_KEYWORD, annotation=kind)
    return Parameter(field.name, Parameter.KEYWORD_ONLY, default=field.default, annotation=kind)


def _described(field: Field, kind: Any) -> str:
    limits = "" if field.several or field.kind == "text" else f" Expected {field.accepted}."
    return f"{field.name} : {formatannotation(kind)}\n    {field.description}{limits}"


for _query in QUERIES.values():
    _made = _method(_query)
    setattr(Analyst, _made.__name__, _made)
