"""What analysts may ask: estimates with their bounds."""

from datetime import datetime

from flask import Blueprint, Response
from halftruth_shared import Survey
from halftruth_shared.messages import ItemsetsQuery, MeasuresQuery, RulesQuery, TableQuery

from .. import results
from ..estimate import Counts
from . import parameters
from .context import answer, collector, require

blueprint = Blueprint("analysts", __name__, url_prefix="/v1/surveys/<survey_id>")


@blueprint.before_request
def only_analysts() -> None:
    """Every call needs an analyst's token."""
    require("analyst")


@blueprint.get("/itemsets")
def get_itemsets(survey_id: str) -> Response:
    """Itemsets whose support reaches a threshold."""
    return answer(results.itemsets_result(*_counts(survey_id), parameters.query(ItemsetsQuery)))


@blueprint.get("/rules")
def get_rules(survey_id: str) -> Response:
    """Rules between those itemsets."""
    return answer(results.rules_result(*_counts(survey_id), parameters.query(RulesQuery)))


@blueprint.get("/table")
def get_table(survey_id: str) -> Response:
    """Reconstructed table of some attributes."""
    return answer(results.table_result(*_counts(survey_id), parameters.query(TableQuery)))


@blueprint.get("/measures")
def get_measures(survey_id: str) -> Response:
    """Association measures of some attributes."""
    return answer(results.measures_result(*_counts(survey_id), parameters.query(MeasuresQuery)))


@blueprint.get("/counts")
def get_counts(survey_id: str) -> Response:
    """Counts of perturbed reports, from which all else is computed."""
    parameters.none()
    return answer(results.counts_result(*_counts(survey_id)))


def _counts(survey_id: str) -> tuple[Survey, Counts, datetime]:
    stored, counts, as_of = collector().store.reports.counts(survey_id)
    return stored.survey(), counts, as_of
