"""Pictures on request: of results on the command line, and of plans."""

import math
from uuid import UUID
from xml.etree import ElementTree

import numpy as np
import pytest
from halftruth_collector.charts import plan_chart
from halftruth_collector.charts.rendering import to_svg
from halftruth_collector.cli import main
from halftruth_collector.planner import plan
from halftruth_shared import Attribute, GammaDiagonal, RandomizedResponse, Schema, Survey
from halftruth_shared.messages import PlanQuery, Report

SCHEMA = Schema([Attribute(name, ["no", "yes"]) for name in ("smoker", "coughs")])
PLANNED = Survey("health", "Health", SCHEMA, GammaDiagonal(19))


def test_a_curve_of_a_plan_goes_through_the_half_width_at_the_respondents_planned_for():
    query = PlanQuery(respondents=5000, lengths=[1, 2])
    result = plan(PLANNED, query)
    chart = plan_chart(result)
    assert chart.x_marker.value == 5000
    by_name = {curve.name: curve for curve in chart.curves}
    for mechanism in result.mechanisms:
        for length in mechanism.lengths:
            curve = by_name.get(f"{mechanism.kind}, length {length.length}")
            if mechanism.kind == "randomized-gamma-diagonal":
                assert curve is None
                continue
            logs = np.log([curve.x, curve.y])
            at_planned = np.interp(math.log(5000), *logs)
            assert math.exp(at_planned) == pytest.approx(length.half_width, rel=1e-9)


def test_a_curve_falls_with_the_root_of_the_respondents():
    chart = plan_chart(plan(PLANNED, PlanQuery(respondents=400)))
    for curve in chart.curves:
        x, y = np.array(curve.x), np.array(curve.y)
        np.testing.assert_allclose(y * np.sqrt(x), y[0] * np.sqrt(x[0]))
        assert x[0] < 400 < x[-1]


def test_a_mechanism_that_gives_the_same_is_named_in_a_note():
    chart = plan_chart(plan(PLANNED, PlanQuery(respondents=400)))
    assert "What gamma-diagonal gives, randomized-gamma-diagonal gives too." in chart.notes


def test_the_wanted_half_width_is_a_line_only_if_it_was_asked_for():
    asked = plan_chart(plan(PLANNED, PlanQuery(respondents=400, half_width=0.02)))
    assert (asked.y_marker.value, asked.y_marker.label) == (0.02, "wanted ±2\u202f%")
    assert plan_chart(plan(PLANNED, PlanQuery(respondents=400))).y_marker is None


def test_the_picture_of_a_plan_names_every_curve_and_has_a_text_alternative():
    chart = plan_chart(plan(PLANNED, PlanQuery(respondents=400, half_width=0.02)))
    root = ElementTree.fromstring(to_svg(chart))
    texts = {"".join(element.itertext()).strip() for element in root.iter() if element.text}
    for curve in chart.curves:
        assert curve.name in texts
    assert chart.description in texts


@pytest.fixture
def filled(store, database):
    """A database with a survey of 300 reports, and the options that name it."""
    survey = Survey("few", "Few", SCHEMA, RandomizedResponse({"smoker": "0.9", "coughs": "0.8"}))
    store.surveys.publish(survey)
    reports = np.random.default_rng(2).integers(0, 2, (300, 2))
    ids = np.random.default_rng(3).bytes(16 * len(reports))
    batch = [
        Report(id=UUID(bytes=ids[16 * i : 16 * i + 16]), values=values)
        for i, values in enumerate(reports.tolist())
    ]
    store.reports.add("few", survey.digest, batch)
    return ["few", "--database", database]


@pytest.mark.parametrize(
    ("command", "options", "title"),
    [
        ("itemsets", ["--min-support", "0.1"], "Supports of itemsets in few"),
        ("table", ["--attributes", "smoker,coughs"], "Supports of smoker and coughs in few"),
        ("measures", ["--attributes", "smoker,coughs"], "Association of smoker and coughs in few"),
    ],
)
def test_a_result_is_drawn_beside_what_is_printed(
    filled, tmp_path, capsys, command, options, title
):
    for ending, magic in ((".svg", b"<svg"), (".png", b"\x89PNG"), (".pdf", b"%PDF")):
        file = tmp_path / f"picture{ending}"
        main([command, *filled, *options, "--plot", str(file)])
        said = capsys.readouterr()
        assert "300 reports" in said.out
        assert said.err == f"drawn: {file}\n"
        assert file.read_bytes().startswith(magic)
    assert title in (tmp_path / "picture.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize("file", ["picture.gif", "picture", "missing/picture.svg"])
def test_a_picture_that_cannot_be_drawn_is_one_clear_line(filled, tmp_path, capsys, file):
    with pytest.raises(SystemExit) as end:
        main(["itemsets", *filled, "--min-support", "0.1", "--plot", str(tmp_path / file)])
    assert end.value.code == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("halftruth: plot: expected a file")
