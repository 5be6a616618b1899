"""Calls for planning a survey before field work.

They need the token of an analyst, because they can take long, but no data of the store.
"""

from halftruth_shared import DomainTooLarge, SchemaError, Survey, SurveyError
from halftruth_shared.analyses.plan import PlanQuery, PlanRequest, PlanResult

from ...dry_run import SurveyCheck
from ...dry_run import check_survey as check
from ...estimation.planning.planner import plan
from ..calls import PLANNING
from ..context import collector

_ERRORS = (SurveyError, SchemaError, DomainTooLarge)


@PLANNING.call("POST", "/v1/plan", body=PlanRequest, answer=PlanResult, errors=_ERRORS)
def plan_survey(request: PlanRequest) -> PlanResult:
    """Predict margins of error.

    The survey need not be published.
    """
    fields = {name: getattr(request, name) for name in PlanQuery.__struct_fields__}
    return plan(Survey.from_json(request.survey), PlanQuery(**fields))


@PLANNING.call("POST", "/v1/check", body=Survey, answer=SurveyCheck, errors=_ERRORS)
def check_survey(survey: Survey) -> SurveyCheck:
    """Check a survey.

    A dry run of publishing: the guarantees of the survey, and whether the hosted form of this
    collector would accept it.
    """
    return check(survey, collector().config.form_limits)
