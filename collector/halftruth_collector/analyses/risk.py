"""Risk of disclosure by linking."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import combinations
from typing import Any

import numpy as np
from halftruth_shared import EstimateError, Survey
from halftruth_shared.analyses.risk import RiskQuery
from halftruth_shared.deadlines import check_deadline
from halftruth_shared.results import (
    QUANTITIES,
    Block,
    Caveat,
    EstimateColumns,
    Labels,
    Result,
    Show,
    note,
    warning,
)
from halftruth_shared.results.claims import Claim, Test
from halftruth_shared.results.wording import percent

from ..disclosure.linking import Linking, LinkingRisk
from ..disclosure.risk_errors import LEVEL, MOST_PROBABILITIES, REPLICATES, Bands, bands_of
from ..estimation.bounds import Array, project_to_simplex
from ..estimation.estimates import Estimates, fixed_sets
from ..estimation.intervals import table_intervals
from ..estimation.reconstruction import of_table, reconstruction
from ..estimation.reliability import NOT, USABLE
from ..estimation.table import COVARIANCE_CELLS
from .base import Analysis, AnalysisContext, answer_keys, first_wanted
from .deciding import AtLevel

#: Largest number of cells in a chart.
_DRAWN = 20

#: Least estimated number of people in a non-empty cell.
_NOBODY = 0.5

#: Prefixes of the names of risks, by the way of linking.
_WAYS = {"": "column by column", "whole_": "as a whole"}

#: Quantiles of the risk over people.
_QUANTILES = {"median_risk": 0.5, "risk_p90": 0.9, "risk_p99": 0.99}

#: Quantities about all people.
_SUMMARY = ("above_limit", *_QUANTILES, "largest_risk")


def compute(counted: AnalysisContext, query: RiskQuery) -> Result[RiskQuery]:
    """Compute the risk for the nearest table without negative shares."""
    survey, names = counted.survey, [*query.quasi, query.sensitive]
    linking = Linking(survey, query.quasi, query.sensitive)
    estimate = counted.estimator.table(names)
    lower, _ = table_intervals(estimate, LEVEL)

    def possible(shares: Array) -> Array:
        table = project_to_simplex(shares)
        return np.where(table * counted.counts.reports < _NOBODY, 0.0, table)

    table = possible(estimate.value)
    if not table.any():
        raise EstimateError(
            "quasi: the estimate has nowhere half a person; expected more reports, or fewer"
            " quasi-identifiers",
            field="quasi",
        )
    there = table > 0
    uncertain = int(np.count_nonzero(there & ~(lower > 0)))
    caveats = [warning("nearest table", uncertain=uncertain, cells=int(there.sum()))]
    fitted = table / table.sum()
    bands = _bands(survey, names, linking, fitted, counted.counts.reports, possible)
    caveats.append(
        warning("no errors of risk")
        if bands is None
        else note("errors of risk", rate=1 - LEVEL, replicates=REPLICATES)
    )
    risks = linking.risk(table)
    return _result(survey, query, risks, caveats, counted.origin(), bands or {}, NOT)


def _bands(
    survey: Survey,
    names: Sequence[str],
    linking: Linking,
    table: Array,
    number: int,
    possible: Callable[[Array], Array],
) -> dict[str, Bands] | None:
    """Return the bands of the risks and their factors; None if they would take too long.

    Parameters
    ----------
    table : ndarray
        Shares of the people to whom the risks belong.
    number : int
        Number of reports.
    possible : callable
        Makes an estimated table possible.
    """
    probabilities = REPLICATES * np.count_nonzero(table) * linking.reports
    if table.size > COVARIANCE_CELLS or probabilities > MOST_PROBABILITIES:
        return None

    def of_cells(people: Array) -> dict[str, Array]:
        return _of_cells(linking.risk(people))

    every = of_cells(table)
    ways = [name for name in every if name.endswith("risk")]
    together = [ways, *([name] for name in every if name not in ways)]
    covariance = reconstruction(survey).expected_table(names, table, number).covariance()
    return bands_of(of_cells, table, covariance, possible, together)


def _of_cells(risks: LinkingRisk) -> dict[str, Array]:
    """Return the risks and their factors of every cell, by the names of their quantities."""
    ways = {f"{way}risk": each.risk for way, each in _ways(risks).items()}
    quasi = np.broadcast_to(risks.quasi[..., None], risks.table.shape)
    return ways | {
        "share": risks.table,
        "prior": risks.share,
        "posterior": risks.sensitive,
        "quasi_linked": quasi,
    }


def _ways(risks: LinkingRisk) -> dict[str, LinkingRisk]:
    """Return the risks by the way of linking; one way if reports are linked as a whole only."""
    whole = {"whole_": risks.of_whole_reports}
    return whole if risks.record is risks.whole else {"": risks, **whole}


def from_pilot(
    survey: Survey, query: RiskQuery, people: Callable[[Sequence[str]], Array]
) -> Result[RiskQuery]:
    """Compute the risk of a pilot; `people` returns its counts by some attributes."""
    linking = Linking(survey, query.quasi, query.sensitive)
    table = people([*query.quasi, query.sensitive])
    origin = {
        "survey": survey.id,
        "digest": survey.digest,
        "reports": 0,
        "as_of": datetime.now(UTC),
    }
    about = [Caveat(code="pilot", values={"people": int(table.sum())})]
    # The risks of these people are exact.
    return _result(survey, query, linking.risk(table), about, origin, {}, USABLE)


def _result(
    survey: Survey,
    query: RiskQuery,
    risks: LinkingRisk,
    about: Sequence[Caveat],
    origin: dict[str, Any],
    bands: Mapping[str, Bands],
    grade: int,
) -> Result[RiskQuery]:
    """Return risks and their factors in each non-empty cell, the largest risk first.

    The grade is that of numbers without bands.
    """
    there = risks.table > 0
    order = np.argsort(-risks.of_the_larger.risk[there], kind="stable")
    cells = np.argwhere(there)[order]

    def rows(name: str, values: Any, ends: tuple[Any, Any] | None) -> EstimateColumns:
        found = Estimates.numbers(QUANTITIES[name], values)
        if ends is None:
            return found.columns(grade=grade)
        return dataclasses.replace(found, sets=fixed_sets(*ends)).columns()

    of_cells, parts = _of_cells(risks), []
    for name, values in of_cells.items():
        band = bands.get(name)
        ends = None if band is None else (band.lower[order], band.upper[order])
        parts.append(rows(name, values[there][order], ends))
    ways = _ways(risks)
    for way, each in ways.items():
        check_deadline()
        band = bands.get(f"{way}risk")
        quantiles = each.quantiles([*_QUANTILES.values()])
        numbers = (each.above(query.limit), *quantiles, each.maximum)
        of_all: list[tuple[float, float] | None] = [None] * len(_SUMMARY)
        if band is not None:
            of_all = [band.above(query.limit), *map(band.quantile, _QUANTILES.values())]
            of_all.append(band.largest)
        for name, n, interval in zip(_SUMMARY, numbers, of_all, strict=True):
            parts.append(rows(f"{way}{name}", n, interval))
    none = np.full((len(ways) * len(_SUMMARY), cells.shape[1]), -1)
    codes = np.vstack([*[cells] * len(of_cells), none])
    names = [*query.quasi, query.sensitive]
    most = risks.most_revealed
    revealed = {"prior": float(risks.share[most]), "posterior": float(risks.sensitive[most])}
    return Result(
        **origin,
        query=query,
        keys=answer_keys(survey.schema, names, codes),
        estimates=EstimateColumns.concatenate(parts),
        caveats=[*about, warning("no posterior", **revealed)],
    )


def layout(result: Result[RiskQuery], _: Labels) -> list[Block]:
    """Arrange a line for each cell, followed by the risk of all people."""
    limit, alone = f"limit {percent(result.query.limit)}", ["value", "interval"]
    ways = [way for way in _WAYS if len(result.places(f"{way}risk"))]
    factors = ("share", "prior", "quasi_linked", "posterior")
    cells = Block(
        title="Largest risks",
        lines=[key.name for key in result.keys],
        shows=[
            *(Show(quantity=f"{way}risk", parts=alone) for way in ways),
            *(Show(quantity=name, parts=alone, drawn=False) for name in factors),
        ],
        picture="dots",
        most=_DRAWN,
        reference=result.query.limit,
        reference_label=limit,
    )
    return [
        cells,
        *(
            Block(
                title=f"Reports linked {_WAYS[way]}",
                shows=[Show(quantity=f"{way}{name}", parts=alone) for name in _SUMMARY],
            )
            for way in ways
        ),
    ]


def decide(result: Result[RiskQuery], _: AtLevel) -> tuple[list[Test], list[Claim]]:
    """Claim the share of people above the limit, for the way of linking with the larger share."""
    rows = [
        [int(result.places(f"{way}{name}")[0]) for name in ("above_limit", "largest_risk")]
        for way in _WAYS
        if len(result.places(f"{way}risk"))
    ]
    worst = max(rows, key=lambda places: float(result.estimates.value[places[0]]))
    return [], [Claim(kind="estimate", rows=worst)]


def state(result: Result[RiskQuery], claim: Claim, _: Labels) -> str:
    """State the share of people above the limit, and the largest risk."""
    rows = [result.rows[place] for place in claim.rows]
    (above, largest), limit = (percent(row.value, 1) for row in rows), percent(result.query.limit)
    said = f"of the people have a linking risk above {limit}"
    if any(row.interval is None for row in rows):
        return f"{above} {said}; the largest is {largest}."
    ends = [[percent(end, 1) for end in row.interval or () if end is not None] for row in rows]
    lower, upper = ends[0]
    several = f"{upper} {said}" if lower == upper else f"Between {lower} and {upper} {said}"
    estimate = "" if lower == upper else f" (estimate {above})"
    return (
        f"{several}{estimate}; the largest is between {' and '.join(ends[1])} (estimate {largest})."
    )


def _start(survey: Survey) -> RiskQuery:
    """Return the initial query: the first outcome that is wanted, by its group.

    Without wanted tables it is the last question that is asked with others, by one or two.
    """
    if wanted := first_wanted(survey):
        return RiskQuery(quasi=[wanted[1].name], sensitive=wanted[0].name)
    names = survey.schema.names
    for sensitive in reversed(names):
        others = [name for name in names if name != sensitive]
        for count in (2, 1):
            for quasi in combinations(others, count):
                table = [*quasi, sensitive]
                if of_table(survey, table).identified(table):
                    return RiskQuery(quasi=list(quasi), sensitive=sensitive)
    return RiskQuery(quasi=[names[0]], sensitive=names[-1])


ANALYSIS = Analysis(
    query=RiskQuery,
    title="Linking risk",
    compute=compute,
    from_pilot=from_pilot,
    start=_start,
    layout=layout,
    decide=decide,
    state=state,
    min_order=2,
    place="Quality",
    order=90,
)
