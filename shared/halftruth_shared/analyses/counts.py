"""Counts of perturbed reports."""

from typing import Any

from ..results import Result
from .base import Query


class CountsQuery(Query[Result[Any]], frozen=True, kw_only=True):
    """Counts of perturbed records, as reported.

    Each distinct report is a row, with the codes of its values and the number of identical
    *reports*. All other results are computed from these counts.
    """
