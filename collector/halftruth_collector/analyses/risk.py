"""Risk of disclosure by linking."""

from collections.abc import Callable, Sequence
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
    Result,
    Show,
    warning,
)
from halftruth_shared.results.claims import Claim, Test
from halftruth_shared.results.wording import percent

from ..disclosure.linking import linking_risk_of, shape_of
from ..estimation.bounds import Array
from ..estimation.columns import columns
from ..estimation.intervals import table_intervals
from ..estimation.likelihood import project_to_simplex
from ..estimation.reconstruction import reconstruction
from ..estimation.reliability import USABLE
from .base import Analysis, AnalysisContext, answer_keys
from .deciding import AtLevel

#: Largest number of cells in a chart.
_DRAWN = 20

#: Least estimated number of people in a non-empty cell.
_NOBODY = 0.5

#: Level of the intervals for non-empty cells.
_CONFIDENCE = 0.95

#: Prefixes of the names of risks, by the way of linking.
_WAYS = {"": "column by column", "whole_": "as a whole"}

#: Quantiles of the risk over people.
_QUANTILES = {"median_risk": 0.5, "risk_p90": 0.9, "risk_p99": 0.99}

#: Quantities about all people.
_SUMMARY = ("above_limit", *_QUANTILES, "largest_risk")


def compute(counted: AnalysisContext, query: RiskQuery) -> Result[RiskQuery]:
    """Compute the risk for the nearest table without negative shares."""
    survey, names = counted.survey, [*query.quasi, query.sensitive]
    shape_of(survey, query.quasi, query.sensitive)
    estimate = counted.estimator.table(names)
    lower, _ = table_intervals(estimate, _CONFIDENCE)
    table = project_to_simplex(estimate.value)
    table = np.where(table * counted.counts.reports < _NOBODY, 0.0, table)
    if not table.any():
        raise EstimateError(
            "quasi: the estimate has nowhere half a person; expected more reports, or fewer"
            " quasi-identifiers",
            field="quasi",
        )
    there = table > 0
    uncertain = int(np.count_nonzero(there & ~(lower > 0)))
    nearest = warning("nearest table", uncertain=uncertain, cells=int(there.sum()))
    return _result(survey, query, table, nearest, counted.origin())


def from_pilot(
    survey: Survey, query: RiskQuery, people: Callable[[Sequence[str]], Array]
) -> Result[RiskQuery]:
    """Compute the risk of a pilot; `people` returns its counts by some attributes."""
    shape_of(survey, query.quasi, query.sensitive)
    table = people([*query.quasi, query.sensitive])
    origin = {
        "survey": survey.id,
        "digest": survey.digest,
        "reports": 0,
        "as_of": datetime.now(UTC),
    }
    return _result(
        survey, query, table, Caveat(code="pilot", values={"people": int(table.sum())}), origin
    )


def _result(
    survey: Survey, query: RiskQuery, table: Array, about: Caveat, origin: dict[str, Any]
) -> Result[RiskQuery]:
    """Return risks and their factors in each non-empty cell, the largest risk first."""
    risks = linking_risk_of(survey, query.quasi, query.sensitive, table)
    whole, there = risks.of_whole_reports, risks.table > 0
    order = np.argsort(-risks.of_the_larger.risk[there], kind="stable")
    cells = np.argwhere(there)[order]
    ways = {"whole_": whole} if risks.record is risks.whole else {"": risks, "whole_": whole}
    of_cells = {f"{way}risk": each.risk for way, each in ways.items()}
    of_cells |= {"share": risks.table, "prior": risks.share, "posterior": risks.sensitive}
    of_cells["quasi_linked"] = np.broadcast_to(risks.quasi[..., None], there.shape)
    parts = [_exact(name, values[there][order]) for name, values in of_cells.items()]
    for way, each in ways.items():
        check_deadline()
        quantiles = each.quantiles([*_QUANTILES.values()])
        numbers = (each.above(query.limit), *quantiles, each.maximum)
        parts += [_exact(f"{way}{name}", n) for name, n in zip(_SUMMARY, numbers, strict=True)]
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
        caveats=[about, warning("no posterior", **revealed)],
    )


def _exact(name: str, values: Any) -> EstimateColumns:
    return columns(QUANTITIES[name], values, grade=USABLE)


def layout(result: Result[RiskQuery]) -> list[Block]:
    """Arrange a line for each cell, followed by the risk of all people."""
    limit, alone = f"limit {percent(result.query.limit)}", ["value"]
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


def state(result: Result[RiskQuery], claim: Claim) -> str:
    """State the share of people above the limit, and the largest risk."""
    above, largest = (result.rows[place].value for place in claim.rows)
    return (
        f"{percent(above, 1)} of the people have a linking risk above"
        f" {percent(result.query.limit)}; the largest is {percent(largest, 1)}."
    )


def _start(survey: Survey) -> RiskQuery:
    """Return the initial query: the last question that is asked with others, by one or two."""
    source, names = reconstruction(survey), survey.schema.names
    for sensitive in reversed(names):
        others = [name for name in names if name != sensitive]
        for count in (2, 1):
            for quasi in combinations(others, count):
                if source.identified([*quasi, sensitive]):
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
