"""Counts of perturbed reports."""

from typing import Any

from ..results import Result
from ..results.caveats import Sentences
from ..results.labels import Labels
from ..results.wording import number
from ..results.wording import p_value as written
from .base import Query


class CountsQuery(Query[Result[Any]], frozen=True, kw_only=True):
    """Counts of perturbed records, as reported.

    Each distinct report is a row, with the codes of its values and the number of identical
    *reports*. All other results are computed from these counts.
    """


def _views(_: Labels, views: int, p_value: float, is_odd: bool) -> str:
    """State whether each group of questions was reported as often as the design says."""
    tested = f"χ² test of {number(views, 0)} groups of questions, p-value {written(p_value)}"
    if is_odd:
        return (
            f"Some groups of questions were reported more often than the design says ({tested}):"
            " someone may have chosen the questions of their reports, and such reports weigh much."
        )
    return (
        f"Groups of questions were reported about as often as the design says ({tested}). Reports"
        " of someone who chooses their questions weigh much. The test detects them only if many are"
        " about the same questions."
    )


#: Sentences of the caveats of this analysis.
CAVEATS: Sentences = {
    "tickets": lambda _, issued, spent: (
        f"{number(issued, 0)} tickets were issued, and {number(spent, 0)} came with reports."
        " Nobody can choose the questions of a ticket. The others are of people who opened the form"
        " and left, or of someone who throws tickets away until one suits them."
    ),
    "relay_tickets": lambda _, spent: (
        f"{number(spent, 0)} reports came with a ticket of the relay. Nobody can choose the"
        " questions of a ticket. The relay knows how many it has issued: `halftruth relay status`"
        " prints it there."
    ),
    "views": _views,
    "perturbed": lambda _: (
        "These are randomly perturbed reports, not answers; all estimates are computed from them."
    ),
}
