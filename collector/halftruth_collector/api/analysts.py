"""What analysts may ask: estimates with their bounds."""

from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

from flask import Blueprint, Response
from halftruth_shared import Survey
from halftruth_shared.messages import (
    ClassifierQuery,
    ItemsetsQuery,
    LoglinearQuery,
    MeasuresQuery,
    Message,
    PartialQuery,
    RandomizedQuery,
    Request,
    RuleQuery,
    RulesQuery,
    TableQuery,
)

from .. import results
from ..estimate import Counts
from . import parameters
from .context import answer, collector, require

Q = TypeVar("Q", bound=Request)

blueprint = Blueprint("analysts", __name__, url_prefix="/v1/surveys/<survey_id>")


@blueprint.before_request
def only_analysts() -> None:
    """Every call needs an analyst's token."""
    require("analyst")


@blueprint.get("/itemsets")
def get_itemsets(survey_id: str) -> Response:
    """Itemsets whose support reaches a threshold."""
    return _answer(survey_id, ItemsetsQuery, results.itemsets_result)


@blueprint.get("/rules")
def get_rules(survey_id: str) -> Response:
    """Rules between those itemsets."""
    return _answer(survey_id, RulesQuery, results.rules_result)


@blueprint.get("/rule")
def get_rule(survey_id: str) -> Response:
    """One rule."""
    return _answer(survey_id, RuleQuery, results.rule_result)


@blueprint.get("/table")
def get_table(survey_id: str) -> Response:
    """Reconstructed table of some attributes."""
    return _answer(survey_id, TableQuery, results.table_result)


@blueprint.get("/measures")
def get_measures(survey_id: str) -> Response:
    """Association measures of some attributes."""
    return _answer(survey_id, MeasuresQuery, results.measures_result)


@blueprint.get("/randomized")
def get_randomized(survey_id: str) -> Response:
    """Measures of the reports themselves, and what they say of the answers."""
    return _answer(survey_id, RandomizedQuery, results.randomized_result)


@blueprint.get("/partial-correlation")
def get_partial_correlation(survey_id: str) -> Response:
    """Correlation of two attributes given others."""
    return _answer(survey_id, PartialQuery, results.partial_result)


@blueprint.get("/loglinear")
def get_loglinear(survey_id: str) -> Response:
    """A loglinear model of the reports, tested."""
    return _answer(survey_id, LoglinearQuery, results.loglinear_result)


@blueprint.get("/classifier")
def get_classifier(survey_id: str) -> Response:
    """A classifier learned from reconstructed tables."""
    return _answer(survey_id, ClassifierQuery, results.classifier_result)


@blueprint.get("/counts")
def get_counts(survey_id: str) -> Response:
    """Counts of perturbed reports, from which all else is computed."""
    parameters.none()
    return answer(results.counts_result(*_counts(survey_id)))


def _answer(
    survey_id: str, kind: type[Q], result: Callable[[Survey, Counts, datetime, Q], Message]
) -> Response:
    # The question first: a wrong one costs no look at the counts.
    query = parameters.query(kind)
    return answer(result(*_counts(survey_id), query))


def _counts(survey_id: str) -> tuple[Survey, Counts, datetime]:
    stored, counts, as_of = collector().store.reports.counts(survey_id)
    return stored.survey(), counts, as_of
