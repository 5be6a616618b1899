"""What analysts may ask: estimates with their bounds."""

from flask import Blueprint, Response

from .. import results
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
    parameters.known("min_support", "max_length", "confidence", "select", "target")
    stored, counts, as_of = collector().store.reports.counts(survey_id)
    return answer(
        results.itemsets_result(
            stored.survey(),
            counts,
            as_of,
            min_support=parameters.number("min_support"),
            max_length=parameters.optional_integer("max_length"),
            confidence=parameters.number("confidence", 0.95),
            select=parameters.selection(),
            target=parameters.target(),
        )
    )


@blueprint.get("/rules")
def get_rules(survey_id: str) -> Response:
    """Rules between those itemsets."""
    parameters.known(
        "min_support", "min_confidence", "max_length", "confidence", "select", "target"
    )
    stored, counts, as_of = collector().store.reports.counts(survey_id)
    return answer(
        results.rules_result(
            stored.survey(),
            counts,
            as_of,
            min_support=parameters.number("min_support"),
            min_confidence=parameters.number("min_confidence"),
            max_length=parameters.optional_integer("max_length"),
            confidence=parameters.number("confidence", 0.95),
            select=parameters.selection(),
            target=parameters.target(),
        )
    )


@blueprint.get("/table")
def get_table(survey_id: str) -> Response:
    """Reconstructed table of some attributes."""
    parameters.known("attributes", "confidence", "target", "covariance")
    stored, counts, as_of = collector().store.reports.counts(survey_id)
    return answer(
        results.table_result(
            stored.survey(),
            counts,
            as_of,
            attributes=parameters.attributes(),
            confidence=parameters.number("confidence", 0.95),
            target=parameters.target(),
            covariance=parameters.flag("covariance"),
        )
    )


@blueprint.get("/counts")
def get_counts(survey_id: str) -> Response:
    """Counts of perturbed reports, from which all else is computed."""
    parameters.known()
    stored, counts, as_of = collector().store.reports.counts(survey_id)
    return answer(results.counts_result(stored.survey(), counts, as_of))
