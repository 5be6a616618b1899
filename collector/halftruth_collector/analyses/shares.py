"""Shares of a table's cells with their errors, as several analyses have them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import msgspec
import numpy as np
from halftruth_shared.analyses.base import TypicalError, Usability
from halftruth_shared.analyses.overview import OverviewQuery
from halftruth_shared.analyses.table import TableQuery

from ..estimation import Estimator
from ..estimation.bounds import Array, optional
from ..estimation.reliability import judge_guess, judge_table, margin


@dataclass(frozen=True, eq=False)
class Shares:
    """Shares of the cells in row-major order, each with its errors as messages have them."""

    shares: list[float]
    errors: list[dict[str, Any]]
    usability: Usability
    verdict: str
    typical: TypicalError | None = None


def estimate_shares(
    estimator: Estimator, names: Sequence[str], query: TableQuery | OverviewQuery
) -> Shares:
    """Estimate a table; a best guess has a typical error, and never the errors of another."""
    table, support = estimator.table(names), estimator.support(names, query.estimate)
    shares = support.ravel().tolist()
    if query.estimate == "likelihood":
        typical = estimator.typical_error(names)
        if typical.error is not None and _dependence(support) <= typical.error:
            typical = msgspec.structs.replace(typical, learned=False)
        usability, verdict = judge_guess(typical)
        none = dict.fromkeys(
            ("standard_error", "perturbation_error", "sampling_error", "interval"), None
        )
        errors = [{**none, "usability": usability}] * len(shares)
        return Shares(shares, errors, usability, verdict, typical)
    lower, upper = table.interval(query.confidence, query.target)
    each, usability, verdict = judge_table(margin(lower, upper), table.effective_reports)
    columns = np.sqrt(table.variance(query.target)), *table.error_parts(query.target), lower, upper
    errors = [
        {
            "standard_error": optional(error),
            "perturbation_error": optional(perturbation),
            "sampling_error": optional(sampling),
            "interval": None if error != error else (low, high),
            "usability": reliability,
        }
        for error, perturbation, sampling, low, high, reliability in zip(
            *(column.ravel().tolist() for column in columns), each, strict=True
        )
    ]
    return Shares(shares, errors, usability, verdict)


def _dependence(support: Array) -> float:
    """Root mean square difference of a table from the product of its margins."""
    axes = range(support.ndim)
    margins = [support.sum(axis=tuple(other for other in axes if other != axis)) for axis in axes]
    return float(np.sqrt(np.mean((support - reduce(np.multiply.outer, margins)) ** 2)))
