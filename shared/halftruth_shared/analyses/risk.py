"""Risk of disclosure by linking."""

from typing import Annotated, Any

from msgspec import Meta

from ..results import Result
from .base import AttributeName, Query


class RiskQuery(Query[Result[Any]], frozen=True, kw_only=True):
    """Risk that someone who knows quasi-identifiers links a person with a sensitive answer.

    It is the share of an answer among people of equal quasi-identifiers, times the probability that
    their reports are re-identified as what they answered (Guo ch. 5). Cells are of people with
    equal quasi-identifiers and sensitive answer: *prior* is the share of this answer among those of
    equal quasi-identifiers, *quasi_linked* the probability that their quasi-identifiers are
    re-identified, and *posterior* that their answer is, if these are known. *risk* is that of a
    report re-identified column by column, where attributes are perturbed independently, and
    *whole_risk* that of one re-identified as a whole; the same of all people is without cells.
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
