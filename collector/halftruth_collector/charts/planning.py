"""Chart of a plan: precision against the number of respondents."""

import numpy as np
from halftruth_shared.analyses.plan import MechanismPlan, PlanResult
from halftruth_shared.results.charts import Axis, Curve, CurveChart, Reference
from halftruth_shared.results.wording import half_width, number, percent

#: The axis goes from this part of the respondents planned for to this many times as many.
_RANGE = 100.0
_POINTS = 41

_SAME = 1e-9


def plan_chart(result: PlanResult) -> CurveChart:
    """Half-width of an interval against respondents, by mechanism and length of itemsets.

    A mechanism that gives what an earlier one gives has no curves of its own; a note says so.
    """
    query = result.query
    shown, equals = _different(result.mechanisms)
    respondents = np.geomspace(
        max(2, query.respondents / _RANGE), query.respondents * _RANGE, _POINTS
    )
    curves = [
        Curve(
            f"{mechanism.kind}, length {length.length}",
            tuple(respondents.tolist()),
            tuple((length.half_width * np.sqrt(query.respondents / respondents)).tolist()),
        )
        for mechanism in shown
        for length in mechanism.lengths
    ]
    gamma = "" if result.gamma is None else f", amplification {number(result.gamma)}"
    wanted = None
    if query.half_width is not None:
        wanted = Reference(query.half_width, f"wanted {half_width(query.half_width)}")
    return CurveChart(
        title="Precision against respondents",
        notes=(
            f"Margin for evenly spread answers, root mean square over all cells{gamma}.",
            f"{result.reason[0].upper()}{result.reason[1:]}.",
            *equals,
        ),
        x_axis=Axis("respondents", scale="log"),
        y_axis=Axis(
            f"half-width of the {percent(query.confidence)} interval", shares=True, scale="log"
        ),
        curves=tuple(curves),
        x_marker=Reference(query.respondents, f"{number(query.respondents)} respondents"),
        y_marker=wanted,
    )


def _different(mechanisms: list[MechanismPlan]) -> tuple[list[MechanismPlan], list[str]]:
    """Mechanisms that differ in what they give, and a note for each other one."""
    shown: list[MechanismPlan] = []
    notes = []
    for mechanism in mechanisms:
        same = next((other for other in shown if _alike(mechanism, other)), None)
        if same is None:
            shown.append(mechanism)
        else:
            notes.append(f"What {same.kind} gives, {mechanism.kind} gives too.")
    return shown, notes


def _alike(one: MechanismPlan, other: MechanismPlan) -> bool:
    return len(one.lengths) == len(other.lengths) and all(
        a.length == b.length and abs(a.half_width - b.half_width) <= _SAME * b.half_width
        for a, b in zip(one.lengths, other.lengths, strict=True)
    )
