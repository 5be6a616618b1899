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

    Margins above 100 points say nothing, and are left out. A mechanism with the same precision as
    an earlier one is not plotted, but named in a note.
    """
    query = result.query
    shown, equals = _drop_equal([each for each in result.mechanisms if each.collected])
    respondents = np.geomspace(
        max(2, query.respondents / _RANGE), query.respondents * _RANGE, _POINTS
    )
    curves = [
        Curve(
            f"{mechanism.name}, {NAMES[each.quantity]}",
            tuple(respondents.tolist()),
            tuple(
                margin if margin <= 1 else None
                for margin in (each.median * np.sqrt(query.respondents / respondents)).tolist()
            ),
        )
        for mechanism in shown
        for each in mechanism.margins
        if each.median is not None
    ]
    gamma = "" if result.gamma is None else f", γ = {number(result.gamma)}"
    target = None
    if query.half_width is not None:
        target = Reference(query.half_width, f"target {half_width(query.half_width)}")
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
        y_marker=target,
    )


def _drop_equal(mechanisms: list[MechanismPlan]) -> tuple[list[MechanismPlan], list[str]]:
    """Return the mechanisms that differ in precision, and a note for each other one."""
    shown: list[MechanismPlan] = []
    notes = []
    for mechanism in mechanisms:
        same = next((other for other in shown if _has_equal_precision(mechanism, other)), None)
        if same is None:
            shown.append(mechanism)
        else:
            notes.append(f"The precision of {mechanism.name} equals that of {same.name}.")
    return shown, notes


def _has_equal_precision(one: MechanismPlan, other: MechanismPlan) -> bool:
    medians = [[each.median or 0.0 for each in plan.margins] for plan in (one, other)]
    return len(medians[0]) == len(medians[1]) and all(
        abs(a - b) <= _SAME * b for a, b in zip(*medians, strict=True)
    )
