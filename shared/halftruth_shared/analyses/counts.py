"""Counts of perturbed reports."""

from typing import Any

from ..results import Result
from ..results.caveats import Sentences
from .base import Query


class CountsQuery(Query[Result[Any]], frozen=True, kw_only=True):
    """Counts of perturbed records, as reported.

    Each distinct report is a row, with the codes of its values and the number of identical
    *reports*. All other results are computed from these counts.
    """


#: Sentences of the caveats of this analysis.
CAVEATS: Sentences = {
    "perturbed": lambda _: (
        "These are randomly perturbed reports, not answers; all estimates are computed from them."
    ),
}
