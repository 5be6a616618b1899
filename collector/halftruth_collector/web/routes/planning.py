"""What methodologists may ask before any field work."""

from flask import Blueprint, Response
from halftruth_shared import Survey
from halftruth_shared.analyses.plan import PlanQuery, PlanRequest

from ...estimation.planner import plan
from .. import parameters
from ..context import answer, require

blueprint = Blueprint("planning", __name__, url_prefix="/v1/plan")


@blueprint.before_request
def only_analysts() -> None:
    """Planning takes time, so it needs an analyst's token; it reads nothing of the store."""
    require("analyst")


@blueprint.post("")
def post_plan() -> Response:
    """Foretell what the survey of the body will tell."""
    parameters.none()
    request = parameters.body(PlanRequest)
    fields = {name: getattr(request, name) for name in PlanQuery.__struct_fields__}
    return answer(plan(Survey.from_json(request.survey), PlanQuery(**fields)))
