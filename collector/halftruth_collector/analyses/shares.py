"""Shares of a table's cells with their errors, as several analyses have them."""

import math
from collections.abc import Sequence
from functools import reduce
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec
import numpy as np
from halftruth_shared.analyses.base import Method, TypicalError
from halftruth_shared.analyses.overview import OverviewQuery
from halftruth_shared.analyses.table import TableQuery
from halftruth_shared.results import QUANTITIES, Caveat, Estimates, Texts, note
from halftruth_shared.results.caveats import Weight
from halftruth_shared.results.estimate import Estimate, Reliability

from ..estimation import Estimator
from ..estimation.bounds import Array, normal_quantile
from ..estimation.estimates import columns, estimates
from ..estimation.intervals import SHARE, share_interval, table_intervals
from ..estimation.reliability import guess_reliability, margin, reliability, typical
from . import verdicts
from .verdicts import WELL_FILLED

E = TypeVar("E", bound=Estimate)


class Shares(NamedTuple, Generic[E]):
    """Estimated cells in row-major order, and how reliable they are together."""

    cells: list[E]
    reliability: Reliability
    verdict: str
    typical: TypicalError | None = None
    effective_reports: float | None = None


def estimate_shares(
    estimator: Estimator,
    names: Sequence[str],
    query: TableQuery | OverviewQuery,
    kind: type[E],
    **fields: Any,
) -> Shares[E]:
    """Estimate a table; a best guess has a typical error, and never the errors of another."""
    table, support = estimator.table(names), estimator.support(names, query.estimate)
    if query.estimate == "likelihood":
        typical = estimator.typical_error(names)
        if typical.error is not None and _dependence(support) <= typical.error:
            typical = msgspec.structs.replace(typical, learned=False)
        reliability, verdict = verdicts.on_guess(typical)
        columns = {"value": support.ravel().tolist(), **fields}
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        cells = [kind(**row, reliability=reliability) for row in rows]
        return Shares(cells, reliability, verdict, typical)
    ends = table_intervals(table, query.confidence, query.target)
    reliability, verdict = verdicts.on_table(margin(*ends), table.effective_reports)
    error, errors = np.sqrt(table.variance(query.target)), table.error_parts(query.target)
    cells = [*estimates(kind, SHARE, support, error, ends, errors=errors, **fields)]
    return Shares(cells, reliability, verdict, effective_reports=_effective(support, error**2))


def share_columns(
    estimator: Estimator,
    names: Sequence[str],
    query: TableQuery | OverviewQuery,
    *,
    quantity: str = "share",
    question: str = "",
) -> tuple[Estimates, list[Caveat]]:
    """Estimate the shares of a table's cells, and say how precise they are.

    Parameters
    ----------
    estimator : Estimator
    names : sequence of str
        Attributes of the table, in row-major order.
    query : TableQuery or OverviewQuery
    quantity : str
        What the shares are called.
    question : str
        The question that its caveats name; none by default.

    Returns
    -------
    estimates : Estimates
        A best guess has a typical error, and never the errors of another estimate.
    caveats : list of Caveat
    """
    table, support = estimator.table(names), estimator.support(names, query.estimate)
    of, about = QUANTITIES[quantity], {"question": question} if question else {}
    if query.estimate == "likelihood":
        typical = estimator.typical_error(names)
        if typical.error is not None and _dependence(support) <= typical.error:
            typical = msgspec.structs.replace(typical, learned=False)
        word = guess_reliability(typical)
        guesses = msgspec.structs.replace(
            columns(of, support), reliability=Texts.constant(word, support.size)
        )
        values = {"reliability": word, **msgspec.structs.asdict(typical), **about}
        weight: Weight = "note" if word == "usable" else "warning"
        caveats = [Caveat(code="typical error", values=values, weight=weight)]
        return guesses, [*caveats, note("best guesses")]
    ends = table_intervals(table, query.confidence, query.target)
    error, errors = np.sqrt(table.variance(query.target)), table.error_parts(query.target)
    estimates = columns(of, support, error, ends, errors=errors)
    caveats = [precision(margin(*ends), table.effective_reports, **about)]
    effective = _effective(support, error**2)
    if effective is not None and not question:
        caveats.append(note("effective reports", reports=effective))
    return estimates, caveats


def precision(margins: Array, effective: Array | float = math.inf, **about: str) -> Caveat:
    """Return how precise the median estimate of a table is.

    Parameters
    ----------
    margins : ndarray
        Of every cell, NaN where undefined, infinite where there is no bound.
    effective : float or ndarray
        Effective reports behind each cell.
    **about
        Further values of the caveat.
    """
    width, few = typical(margins.ravel()), float(np.median(effective))
    word = reliability(width)
    values: dict[str, Any] = {"reliability": word, **about}
    if width == math.inf:
        values["unbounded"] = True
    elif width is not None:
        values["margin"] = width
    if few < WELL_FILLED:
        values["few_reports"] = few
    return Caveat(code="precision", values=values, weight="note" if word == "usable" else "warning")


def _effective(support: Array, variance: Array) -> float | None:
    """Number of unperturbed answers whose shares have the same total variance."""
    inside, known = np.clip(support, 0.0, 1.0), np.isfinite(variance)
    total = float(variance[known].sum())
    return float((inside * (1 - inside))[known].sum()) / total if total > 0 else None


def _dependence(support: Array) -> float:
    """Root mean square difference of a table from the product of its margins."""
    axes = range(support.ndim)
    margins = [support.sum(axis=tuple(other for other in axes if other != axis)) for axis in axes]
    return float(np.sqrt(np.mean((support - reduce(np.multiply.outer, margins)) ** 2)))


def ends_at(alpha: float, estimates: Estimates, method: Method) -> tuple[Array, Array]:
    """Return the intervals of shares at a level α, unbounded where an error is not known."""
    error = estimates.numbers("standard_error")
    lower, upper = share_interval(
        estimates.value, error, normal_quantile(alpha), logit=method == "model"
    )
    known = np.isfinite(estimates.value) & np.isfinite(error)
    return np.where(known, lower, -math.inf), np.where(known, upper, math.inf)
