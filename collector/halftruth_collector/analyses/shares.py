"""Shares of cells with their errors and precision, for several analyses."""

import math
from collections.abc import Sequence
from functools import reduce
from typing import Any

import msgspec
import numpy as np
from halftruth_shared.analyses.overview import OverviewQuery
from halftruth_shared.analyses.table import TableQuery
from halftruth_shared.results import QUANTITIES, Caveat, EstimateColumns, Texts, note
from halftruth_shared.results.caveats import Weight

from ..estimation import Estimator
from ..estimation.bounds import Array
from ..estimation.estimates import Estimates, shares_of_table
from ..estimation.reliability import WELL_FILLED, guess_reliability, reliability, typical


def share_columns(
    estimator: Estimator,
    names: Sequence[str],
    query: TableQuery | OverviewQuery,
    *,
    quantity: str = "share",
    question: str = "",
) -> tuple[EstimateColumns, list[Caveat]]:
    """Estimate the shares of the cells of a table, with notes on their precision.

    The caveats name `question`, if given. Best guesses have no errors; a caveat has their typical
    error.
    """
    table = estimator.table(names)
    of, about = QUANTITIES[quantity], {"question": question} if question else {}
    if query.estimate == "likelihood":
        support = estimator.best_guess.table(names)
        typical = estimator.best_guess.typical_error(names)
        if typical.error is not None and _dependence(support) <= typical.error:
            typical = msgspec.structs.replace(typical, learned=False)
        word = guess_reliability(typical)
        guesses = msgspec.structs.replace(
            Estimates.numbers(of, support).columns(), reliability=Texts.constant(word, support.size)
        )
        values = {"reliability": word, **msgspec.structs.asdict(typical), **about}
        weight: Weight = "note" if word == "usable" else "warning"
        caveats = [Caveat(code="typical error", values=values, weight=weight)]
        return guesses, [*caveats, note("best guesses")]
    shares = shares_of_table(table, of)
    estimates = shares.columns(query.confidence)
    margins = shares.interval(query.confidence).half_width
    caveats = [precision(margins, table.effective_reports, **about)]
    effective = effective_reports(estimates)
    if effective is not None and not question:
        caveats.append(note("effective reports", reports=effective))
    if table.logit and not question:
        caveats.append(note("rare by model"))
    return estimates, caveats


def precision(margins: Array, effective: Array | float = math.inf, **about: str) -> Caveat:
    """Return the note on the precision of the median share of a table.

    Margins of cells are NaN if undefined, and infinite if unbounded; `effective` are the effective
    reports of each cell, and `about` further values of the caveat.
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


def effective_reports(shares: EstimateColumns) -> float | None:
    """Return the number of unperturbed answers whose shares have the same total variance."""
    variance = shares.numbers("standard_error") ** 2
    inside, known = np.clip(shares.value, 0.0, 1.0), np.isfinite(variance)
    total = float(variance[known].sum())
    return float((inside * (1 - inside))[known].sum()) / total if total > 0 else None


def _dependence(support: Array) -> float:
    """Root mean square difference of a table from the product of its margins."""
    axes = range(support.ndim)
    margins = [support.sum(axis=tuple(other for other in axes if other != axis)) for axis in axes]
    return float(np.sqrt(np.mean((support - reduce(np.multiply.outer, margins)) ** 2)))
