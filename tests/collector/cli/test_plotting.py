"""Charts of plans."""

import math

import numpy as np
import pytest
from halftruth_collector.charts.planning import plan_chart
from halftruth_collector.estimation.planning.planner import plan
from halftruth_collector.estimation.planning.wording import NAMES
from halftruth_shared import Attribute, GammaDiagonal, Schema, Survey
from halftruth_shared.analyses.plan import PlanQuery

SCHEMA = Schema([Attribute(name, ["no", "yes"]) for name in ("smoker", "coughs")])
PLANNED = Survey("health", "Health", SCHEMA, GammaDiagonal(19))


def test_curves_pass_through_the_half_width_at_the_planned_respondents():
    query = PlanQuery(respondents=5000)
    result = plan(PLANNED, query)
    chart = plan_chart(result)
    assert chart.x_marker.value == 5000
    by_name = {curve.name: curve for curve in chart.curves}
    for mechanism in result.mechanisms:
        for margin in mechanism.margins:
            curve = by_name.get(f"{mechanism.name}, {NAMES[margin.quantity]}")
            if not mechanism.collected:
                assert curve is None
                continue
            if mechanism.kind in ("randomized-gamma-diagonal", "split-questionnaire"):
                # Both equal gamma-diagonal, since four cells are one view.
                assert curve is None
                continue
            logs = np.log(np.transpose(curve.defined_points))
            at_planned = np.interp(math.log(5000), *logs)
            assert math.exp(at_planned) == pytest.approx(margin.median, rel=1e-9)


def test_curves_fall_with_the_square_root_of_the_respondents():
    chart = plan_chart(plan(PLANNED, PlanQuery(respondents=400)))
    for curve in chart.curves:
        x, y = np.transpose(curve.defined_points)
        np.testing.assert_allclose(y * np.sqrt(x), y[0] * np.sqrt(x[0]))
        assert x[0] < 400 < x[-1]


def test_margins_above_one_hundred_points_are_left_out():
    weak = Survey("health", "Health", SCHEMA, GammaDiagonal("1.2"))
    chart = plan_chart(plan(weak, PlanQuery(respondents=400)))
    assert max(y for curve in chart.curves for _, y in curve.defined_points) <= 1
    for curve in chart.curves:
        left = [x for x, y in zip(curve.x, curve.y, strict=True) if y is None]
        assert left
        assert max(left) < curve.defined_points[0][0]


def test_a_mechanism_of_equal_precision_is_named_in_a_note():
    chart = plan_chart(plan(PLANNED, PlanQuery(respondents=400)))
    assert (
        "The precision of randomized-gamma-diagonal equals that of gamma-diagonal." in chart.notes
    )


def test_the_target_half_width_is_a_line_only_if_requested():
    asked = plan_chart(plan(PLANNED, PlanQuery(respondents=400, half_width=0.02)))
    assert (asked.y_marker.value, asked.y_marker.label) == (0.02, "target ±2.0 points")
    assert plan_chart(plan(PLANNED, PlanQuery(respondents=400))).y_marker is None
