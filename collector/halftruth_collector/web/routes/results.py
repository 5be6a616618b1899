"""Calls for analysts: every analysis of a survey."""

from typing import Any

from flask import Response
from halftruth_shared import DomainTooLarge, EstimateError, SchemaError
from halftruth_shared.analyses import result_of
from halftruth_shared.protocol.base import Request

from ...analyses import ANALYSES, Analysis, answer
from ...errors import NotAcceptable, TooFewReports
from .. import formats
from ..calls import ANALYSTS
from ..context import collector, get_counts


def _declare(analysis: Analysis[Any, Any]) -> None:
    """Declare the call of an analysis."""

    def get(query: Request, survey_id: str) -> Response:
        # Check the query before reading the counts.
        format = formats.negotiate()
        analysis.check_work(collector().store.surveys.get(survey_id).survey(), query)
        content = formats.encode(analysis, answer(analysis, get_counts(survey_id), query), format)
        return formats.respond(content, format, f"{survey_id}-{analysis.name}")

    get.__name__ = f"get_{analysis.name.replace('-', '_')}"
    get.__doc__ = f"{analysis.title}\n\n{analysis.query.__doc__ or ''}"
    ANALYSTS.call(
        "GET",
        f"/v1/surveys/<survey_id>/{analysis.name}",
        query=analysis.query,
        answer=result_of(analysis.query),
        errors=(NotAcceptable, TooFewReports, EstimateError, SchemaError, DomainTooLarge),
        analysis=analysis,
    )(get)


for _analysis in ANALYSES.values():
    _declare(_analysis)
