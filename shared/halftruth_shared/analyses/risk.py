"""Risk of disclosure by linking."""

from typing import Annotated, Any

from msgspec import Meta

from ..results import Result
from .base import AttributeName, Query


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
            description="Attributes that others may know of a person.",
            extra_json_schema={"uniqueItems": True},
        ),
    ]
    sensitive: Annotated[AttributeName, Meta(description="The attribute that they do not.")]
    limit: Annotated[
        float, Meta(gt=0, le=1, examples=[0.5], description="Largest risk that is accepted.")
    ] = 0.5
