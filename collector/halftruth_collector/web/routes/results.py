"""What analysts may ask: every analysis of a survey, with its bounds."""

from collections.abc import Callable
from typing import Any

from flask import Blueprint, Response

from ...analyses import ANALYSES, Analysis, Counted
from .. import formats, parameters
from ..context import collector, require

blueprint = Blueprint("analysts", __name__, url_prefix="/v1/surveys/<survey_id>")


@blueprint.before_request
def only_analysts() -> None:
    """Every call needs an analyst's token."""
    require("analyst")


def _call(analysis: Analysis[Any, Any]) -> Callable[[str], Response]:
    """Answer with what is computed from the counts."""

    def get(survey_id: str) -> Response:
        # The question first: a wrong one costs no look at the counts.
        format = formats.wanted()
        query = parameters.query(analysis.query, beside=(formats.PARAMETER,))
        stored, counts, as_of, days = collector().store.reports.snapshot(survey_id)
        least = collector().config.min_reports
        counted = Counted(stored.survey(), counts, as_of, min_reports=least, days=days)
        content = formats.encode(analysis.compute(counted, query), format)
        return formats.respond(content, format, f"{survey_id}-{analysis.name}")

    return get


for _analysis in ANALYSES.values():
    blueprint.add_url_rule(f"/{_analysis.name}", _analysis.name, _call(_analysis))
