"""What analysts may ask: estimates with their bounds."""

from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

from flask import Blueprint, Response
from halftruth_shared import Survey
from halftruth_shared.messages import (
    AssociationsQuery,
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

blueprint = Blueprint("analysts", __name__, url_prefix="/v1/surveys/<survey_id>")

Q = TypeVar("Q", bound=Request)
Compute = Callable[[Survey, Counts, datetime, Q], Message]


@blueprint.before_request
def only_analysts() -> None:
    """Every call needs an analyst's token."""
    require("analyst")


@blueprint.get("/counts")
def get_counts(survey_id: str) -> Response:
    """Counts of perturbed reports, from which all else is computed."""
    parameters.none()
    return answer(results.counts_result(*_counts(survey_id)))


def _offer(path: str, kind: type[Q], compute: Compute[Q]) -> None:
    """Answer a path with what is computed from the counts for a query of this kind."""

    def get(survey_id: str) -> Response:
        # The question first: a wrong one costs no look at the counts.
        query = parameters.query(kind)
        return answer(compute(*_counts(survey_id), query))

    blueprint.add_url_rule(f"/{path}", path, get)


_offer("itemsets", ItemsetsQuery, results.itemsets_result)
_offer("rules", RulesQuery, results.rules_result)
_offer("rule", RuleQuery, results.rule_result)
_offer("table", TableQuery, results.table_result)
_offer("measures", MeasuresQuery, results.measures_result)
_offer("associations", AssociationsQuery, results.associations_result)
_offer("partial-correlation", PartialQuery, results.partial_result)
_offer("randomized", RandomizedQuery, results.randomized_result)
_offer("loglinear", LoglinearQuery, results.loglinear_result)
_offer("classifier", ClassifierQuery, results.classifier_result)


def _counts(survey_id: str) -> tuple[Survey, Counts, datetime]:
    stored, counts, as_of = collector().store.reports.counts(survey_id)
    return stored.survey(), counts, as_of
