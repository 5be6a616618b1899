"""Chart of a plan: precision against the number of respondents."""

import numpy as np
from halftruth_shared.analyses.plan import MechanismPlan, PlanResult
from halftruth_shared.results.charts import Axis, Curve, CurveChart, Reference
from halftruth_shared.results.wording import half_width, number, percent

from ..estimation.planning.wording import NAMES

#: The axis goes from this part of the respondents planned for to this many times as many.
_RANGE = 100.0
_POINTS = 41

_SAME = 1e-3


def plan_chart(result: PlanResult) -> CurveChart:
    """Typical margin against respondents, of shares and shares within groups, by mechanism.

    A mechanism that gives what an earlier one gives has no curves of its own; a note says so.
    """
    query = result.query
    shown, equals = _different(result.mechanisms)
    respondents = np.geomspace(
        max(2, query.respondents / _RANGE), query.respondents * _RANGE, _POINTS
    )
    curves = [
        Curve(
            f"{mechanism.kind}, {NAMES[each.quantity]}",
            tuple(respondents.tolist()),
            tuple((each.median * np.sqrt(query.respondents / respondents)).tolist()),
        )
        for mechanism in shown
        for each in mechanism.margins
        if each.median is not None
    ]
    gamma = "" if result.gamma is None else f", γ = {number(result.gamma)}"
    wanted = None
    if query.half_width is not None:
        wanted = Reference(query.half_width, f"wanted {half_width(query.half_width)}")
    return CurveChart(
        title="Precision against respondents",
        notes=(
            f"Median over questions or pairs of them{gamma}.",
            f"Most precise is {result.reason}.",
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
    medians = [[each.median or 0.0 for each in plan.margins] for plan in (one, other)]
    return len(medians[0]) == len(medians[1]) and all(
        abs(a - b) <= _SAME * b for a, b in zip(*medians, strict=True)
    )
