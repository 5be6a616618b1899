"""Risk of disclosure by linking."""

from typing import Annotated, Any

from msgspec import Meta

from ..results import Result
from ..results.caveats import Sentences
from ..results.labels import Labels
from ..results.quantities import by_name, share
from ..results.wording import number, percent
from .base import GROUPS, QUESTION, AttributeName, Query


class RiskQuery(Query[Result[Any]], frozen=True, kw_only=True):
    """Risk that someone who knows quasi-identifiers links a person with a sensitive answer.

    The risk is the share of an answer among people with equal quasi-identifiers, times the
    probability that their reports are re-identified as their true answers (Guo ch. 5). A cell
    consists of people with equal quasi-identifiers and the same sensitive answer: *prior* is the
    share of this answer among people with these quasi-identifiers, *quasi_linked* the probability
    that the quasi-identifiers are re-identified, and *posterior* the probability that the answer
    is, given the quasi-identifiers. *risk* is the risk of re-identification column by column, if
    attributes are perturbed independently, and *whole_risk* that of the whole report. Rows without
    a cell are about all people.
    """

    quasi: Annotated[
        list[AttributeName],
        Meta(
            min_length=1,
            description="Attributes that others may know about a person (quasi-identifiers).",
            extra=GROUPS,
            extra_json_schema={"uniqueItems": True},
        ),
    ]
    sensitive: Annotated[
        AttributeName,
        Meta(extra=QUESTION, description="Sensitive attribute, which others do not know."),
    ]
    limit: Annotated[
        float, Meta(gt=0, le=1, examples=[0.5], description="Largest acceptable risk.")
    ] = 0.5


def _nearest(_: Labels, uncertain: int, cells: int) -> str:
    said = (
        "Risks are computed from the nonnegative table nearest to the unbiased estimate, for cells"
        " of at least half a person."
    )
    if not uncertain:
        return (
            f"{said} The share of each of these {number(cells, 0)} cells is significantly above 0."
        )
    return (
        f"{said} {number(uncertain, 0)} of these {number(cells, 0)} cells are not significantly"
        " above zero; the risks of the respondents may be larger."
    )


def _errors_of_risk(_: Labels, rate: float, replicates: int) -> str:
    return (
        f"All intervals of a quantity hold together with a probability of at least"
        f" {percent(1 - rate)}. They are from {number(replicates)} tables that other reports of the"
        " same people could have given, drawn with a fixed seed."
    )


def _no_errors_of_risk(_: Labels) -> str:
    return (
        "The table is too large to compute the errors of these numbers, so none of them is usable."
    )


def _no_posterior(_: Labels, prior: float, posterior: float) -> str:
    return (
        "The risk is not a posterior probability. For the answer about which a report reveals most,"
        f" the table alone gives {percent(prior, 1)}; with the report of a known person it is"
        f" {percent(posterior, 1)} on average. The γ of the survey bounds this probability."
    )


#: Quantities of this analysis.
QUANTITIES = by_name(
    share("prior", "share among equal quasi-identifiers"),
    share("quasi_linked", "quasi-identifiers linked"),
    share("posterior", "answer linked"),
    share("risk", "risk column by column"),
    share("whole_risk", "risk of whole reports"),
    *(
        share(f"{way}{name}", label)
        for way in ("", "whole_")
        for name, label in (
            ("above_limit", "people above the limit"),
            ("median_risk", "median risk"),
            ("risk_p90", "90th percentile of risk"),
            ("risk_p99", "99th percentile of risk"),
            ("largest_risk", "largest risk"),
        )
    ),
)

#: Sentences of the caveats of this analysis.
CAVEATS: Sentences = {
    "pilot": lambda _, people: f"These are {number(people, 0)} people of a pilot, not reports.",
    "nearest table": _nearest,
    "no posterior": _no_posterior,
    "errors of risk": _errors_of_risk,
    "no errors of risk": _no_errors_of_risk,
}
