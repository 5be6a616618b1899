"""Counts of perturbed reports."""

from typing import Any

from ..results import Result
from .base import Query


class CountsQuery(Query[Result[Any]], frozen=True, kw_only=True):
    """Counts of perturbed records, as reported.

    Each different report is a row, with its values by code, and the number of such *reports*, from
    which everything else is computed.
    """
