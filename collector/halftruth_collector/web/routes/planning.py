"""What methodologists may ask before any field work."""

import msgspec
from flask import Blueprint, Response
from halftruth_shared import Survey
from halftruth_shared.analyses.plan import PlanQuery, PlanRequest

from ...dry_run import check_survey
from ...estimation.planning.planner import plan
from .. import parameters
from ..context import answer, collector, require

blueprint = Blueprint("planning", __name__, url_prefix="/v1")


@blueprint.before_request
def only_analysts() -> None:
    """Planning takes time, so it needs an analyst's token; it reads nothing of the store."""
    require("analyst")


@blueprint.post("/plan")
def post_plan() -> Response:
    """Foretell what the survey of the body will tell."""
    parameters.none()
    request = parameters.body(PlanRequest)
    fields = {name: getattr(request, name) for name in PlanQuery.__struct_fields__}
    return answer(plan(Survey.from_json(request.survey), PlanQuery(**fields)))


@blueprint.post("/check")
def post_check() -> Response:
    """Say what publishing the survey of the body would come to."""
    parameters.none()
    survey = Survey.from_json(parameters.body(msgspec.Raw))
    return answer(check_survey(survey, collector().config.max_gamma))
