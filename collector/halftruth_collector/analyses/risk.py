"""Risk of disclosure by linking."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
from halftruth_shared import EstimateError, Survey
from halftruth_shared.analyses.risk import RiskCell, RiskQuery, RiskResult, RiskSummary
from halftruth_shared.results.charts import Axis, Curve, CurveChart, Reference
from halftruth_shared.results.claims import Claim, Test
from halftruth_shared.results.wording import percent

from ..disclosure.linking import LinkingRisk, linking_risk_of, shape_of
from ..estimation.bounds import Array
from ..estimation.intervals import table_intervals
from ..estimation.likelihood import project_to_simplex
from ..estimation.reconstruction import reconstruction
from . import sentences
from .base import Analysis, Counted, Grid

#: Cells that are shown to people.
MAX_CELLS = 20

#: Points of a curve.
_POINTS = 201

#: Least estimated number of people in a non-empty cell.
_NOBODY = 0.5

#: Level of the intervals for non-empty cells.
_CONFIDENCE = 0.95


def compute(counted: Counted, query: RiskQuery) -> RiskResult:
    """Risk of the people of an estimate from the reports that has no negative share.

    Raises
    ------
    EstimateError
        If that has no cell of half a person.
    """
    survey, names = counted.survey, [*query.quasi, query.sensitive]
    shape_of(survey, query.quasi, query.sensitive)
    estimate = counted.estimator.table(names)
    lower, _ = table_intervals(estimate, _CONFIDENCE, "population")
    table = project_to_simplex(estimate.support)
    table = np.where(table * counted.counts.reports < _NOBODY, 0.0, table)
    if not table.any():
        raise EstimateError(
            "quasi: the estimate has nowhere half a person; expected more reports, or fewer"
            " quasi-identifiers",
            field="quasi",
        )
    uncertain = int(np.count_nonzero((table > 0) & ~(lower > 0)))
    return _result(survey, query, table, {**counted.origin(), "uncertain": uncertain})


def of_people(
    survey: Survey, query: RiskQuery, people: Callable[[Sequence[str]], Array]
) -> RiskResult:
    """Compute the risk of a pilot, of which `people` returns counts by some attributes."""
    shape_of(survey, query.quasi, query.sensitive)
    table = people([*query.quasi, query.sensitive])
    origin = {
        "survey": survey.id,
        "digest": survey.digest,
        "reports": 0,
        "as_of": datetime.now(UTC),
    }
    return _result(survey, query, table, {**origin, "pilot": int(table.sum())})


def _result(survey: Survey, query: RiskQuery, table: Array, origin: dict[str, Any]) -> RiskResult:
    risks = linking_risk_of(survey, query.quasi, query.sensitive, table)
    whole = risks.of_whole_reports
    apart = risks.record is not risks.whole
    return RiskResult(
        **origin,
        query=query,
        column_by_column=_summary(risks, query.limit) if apart else None,
        whole_reports=_summary(whole, query.limit),
        prior=float(risks.share[risks.most_revealed]),
        posterior=float(risks.sensitive[risks.most_revealed]),
        cells=[
            RiskCell(
                values=_values(survey, query, cell),
                share=float(risks.table[cell]),
                given=float(risks.share[cell]),
                quasi=float(risks.quasi[cell[:-1]]),
                sensitive=float(risks.sensitive[cell]),
                risk=float(risks.risk[cell]) if apart else None,
                whole_risk=float(whole.risk[cell]),
            )
            for cell in _worst_first(risks)
        ],
    )


def _summary(risks: LinkingRisk, limit: float) -> RiskSummary:
    median, ninth, last = risks.quantiles([0.5, 0.9, 0.99]).tolist()
    return RiskSummary(
        maximum=risks.maximum,
        above=risks.above(limit),
        median=median,
        p90=ninth,
        p99=last,
    )


def _worst_first(risks: LinkingRisk) -> list[tuple[int, ...]]:
    """Sort the non-empty cells by the larger of their two risks."""
    there, larger = risks.table > 0, risks.of_the_larger.risk
    cells, order = np.argwhere(there), np.argsort(-larger[there], kind="stable")
    return list(map(tuple, cells[order].tolist()))


def _values(survey: Survey, query: RiskQuery, cell: Sequence[int]) -> dict[str, str]:
    names = [*query.quasi, query.sensitive]
    positions = survey.schema.positions(names)
    categories = [survey.schema.attributes[j].categories for j in positions]
    return {n: known[code] for n, known, code in zip(names, categories, cell, strict=True)}


def grid(result: RiskResult) -> Grid:
    """Table of the largest risks with their factors.

    The risk column by column is left out unless attributes are perturbed independently.
    """
    apart = result.column_by_column is not None
    return Grid(
        [
            *result.query.quasi,
            result.query.sensitive,
            "share of the people",
            "of their quasi-identifiers",
            "quasi-identifiers linked",
            "answer linked",
            *(["risk column by column"] if apart else []),
            "risk of whole reports",
        ],
        [
            [
                *cell.values.values(),
                percent(cell.share, 2),
                *(
                    percent(value, 1)
                    for value in (
                        cell.given,
                        cell.quasi,
                        cell.sensitive,
                        *([cell.risk] if apart else []),
                        cell.whole_risk,
                    )
                ),
            ]
            for cell in result.cells[:MAX_CELLS]
        ],
    )


def chart(result: RiskResult) -> CurveChart:
    """Chart of the shares of people by risk and by posterior, with the limit as a line."""
    shares = np.array([cell.share for cell in result.cells])
    risks: dict[str, list[float | None]] = {
        "risk, column by column": [cell.risk for cell in result.cells],
        "risk of whole reports": [cell.whole_risk for cell in result.cells],
        "belief by table and known report": [cell.sensitive for cell in result.cells],
        "belief by the table alone": [cell.given for cell in result.cells],
    }
    points = np.linspace(0, 1, _POINTS)
    return CurveChart(
        title=sentences.title(result, "Linking risk", result.query.sensitive),
        notes=(f"{sentences.of_reports(result)}.", *warnings(result), *_summaries(result)),
        x_axis=Axis("risk or belief", shares=True),
        y_axis=Axis("share of the people above it", shares=True),
        curves=tuple(
            Curve(name, tuple(points.tolist()), tuple(_above(np.array(values), shares, points)))
            for name, values in risks.items()
            if None not in values
        ),
        x_marker=Reference(result.query.limit, f"limit {percent(result.query.limit)}"),
    )


def _above(values: Array, shares: Array, points: Array) -> list[float]:
    """Share of the people whose value is above each point, but for rounding."""
    return [float(shares[values > point * (1 + 1e-9)].sum()) for point in points.tolist()]


def decide(result: RiskResult) -> tuple[list[Test], list[Claim]]:
    """The share of people above the limit, by the way of linking with the larger one."""
    ways = [risks for risks in (result.column_by_column, result.whole_reports) if risks]
    if not ways:
        return [], [Claim(kind="untested")]
    return [], [Claim(kind="estimate", bound=max(risks.above for risks in ways))]


def state(result: RiskResult, claim: Claim) -> str:
    """State the share of people above the limit, and the largest risk."""
    if claim.kind == "untested":
        return "No risk is known."
    ways = [risks for risks in (result.column_by_column, result.whole_reports) if risks]
    worst = next(risks for risks in ways if risks.above == claim.bound)
    return (
        f"{percent(claim.bound, 2)} of the people have a risk above"
        f" {percent(result.query.limit)}; the largest is {percent(worst.maximum, 1)}."
    )


def warnings(result: RiskResult) -> list[str]:
    """Warn that the table of a best guess is uncertain, and that risk is no posterior."""
    lines = []
    if result.uncertain is not None:
        lines.append(
            "These are risks in the table without negative shares that is nearest to the unbiased"
            f" estimate, of the cells with at least half a person. {result.uncertain} of these"
            f" {len(result.cells)} cells are not significantly above zero; risks among the real"
            " people may be larger."
        )
    lines.append(
        "The risk is not what somebody believes: of the answer of which a"
        f" report tells most beyond the table, the table alone tells {percent(result.prior, 1)},"
        f" and a report {percent(result.posterior, 1)} on average to those who know whose"
        " it is. What bounds that is the survey's γ."
    )
    return lines


def interpretation(result: RiskResult) -> list[str]:
    """The largest risks, how many people are above the limit, and which cells are shown."""
    shown = min(len(result.cells), MAX_CELLS)
    return [
        *_summaries(result),
        *sentences.left_out(shown, len(result.cells), "cells of the largest risks"),
    ]


def _summaries(result: RiskResult) -> list[str]:
    ways = [
        ("Reports linked column by column", result.column_by_column),
        ("Whole reports linked", result.whole_reports),
    ]
    return [
        f"{way}: the risk is at most {percent(risks.maximum, 1)}, and above"
        f" {percent(result.query.limit)} for {percent(risks.above, 2)} of the people; half of them"
        f" have at most {percent(risks.median, 1)}, and 99 in 100 at most"
        f" {percent(risks.p99, 1)}."
        for way, risks in ways
        if risks is not None
    ]


def _start(survey: Survey) -> RiskQuery:
    """Initial query: the last question, by the first two or as many as reports identify."""
    *others, sensitive = survey.schema.names
    most = min(2, reconstruction(survey).max_order - 1)
    return RiskQuery(quasi=others[:most] or [sensitive], sensitive=sensitive)


ANALYSIS = Analysis(
    query=RiskQuery,
    title="Linking risk",
    compute=compute,
    of_people=of_people,
    start=_start,
    grid=grid,
    decide=decide,
    state=state,
    chart=chart,
    warnings=warnings,
    interpretation=interpretation,
    together=2,
    place="Quality",
    order=90,
)
