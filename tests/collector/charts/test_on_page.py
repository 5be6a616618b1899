"""Charts on pages: marks are where their numbers are, and every number is also a text."""

import re
from importlib.resources import files
from xml.etree import ElementTree

import numpy as np
import pytest
from halftruth_collector.charts.on_page import COLOURS, SHADES, TINTS, on_page
from halftruth_shared.results import Row
from halftruth_shared.results.charts import (
    Axis,
    Curve,
    CurveChart,
    EstimateChart,
    HeatMap,
    Panel,
    Reference,
)
from halftruth_shared.results.charts.scales import ticks
from halftruth_shared.results.long_table import FREQUENT
from jinja2 import Environment, PackageLoader, StrictUndefined

STYLE = (files("halftruth_collector.web.pages") / "assets" / "style.css").read_text()
SHARE = Axis("share", shares=True)


def row(value=None, lower=None, upper=None, *, p=None, grade="usable", quantity="share", **more):
    interval = None if lower is None else (lower, upper)
    decision = None if p is None else FREQUENT[int(p > 0.05)]
    of = {"quantity": quantity, "adjusted_p_value": p, "reliability": grade, "decision": decision}
    return Row(keys={}, value=value, interval=interval, **of, **more)


def chart(*rows, axis=SHARE, **how):
    return EstimateChart("Chart", (), (Panel(axis, rows, "drinks"),), **how)


def marks(of):
    return [mark for group, _, _ in on_page(of).places.groups for mark in group.marks]


def in_percent(value, low=-0.04, high=1.04):
    """The place of a share, by the limits that all axes of shares have."""
    return pytest.approx(100 * (value - low) / (high - low), abs=0.01)


def plain(text):
    return text.replace("\N{NARROW NO-BREAK SPACE}", " ")


def test_a_mark_is_at_its_estimate_and_has_its_numbers_as_text():
    [mark] = marks(chart(("no", row(0.25, 0.2, 0.32)), bars=True, reports="3 000 reports"))
    assert mark.at == in_percent(0.25)
    assert mark.ends == (in_percent(0.2), in_percent(0.32))
    assert sorted(mark.caps) == [in_percent(0.2), in_percent(0.32)]
    assert "25" in mark.words
    for said in ("drinks, no: ", mark.words, "3 000 reports"):
        assert said in mark.detail


def test_an_interval_that_leaves_the_axis_has_no_cap_there():
    ratio = Axis("odds ratio", scale="log")
    panel = Panel(ratio, (("a", row(2.0, 1.0, None, quantity="odds_ratio")),))
    [mark] = marks(EstimateChart("Chart", (), (panel,)))
    assert mark.ends[1] == 100
    assert len(mark.caps) == 1


def test_an_undefined_estimate_has_its_reason_and_no_mark():
    [mark] = marks(chart(("a", row(undefined="no respondents"))))
    assert (mark.at, mark.words) == (None, "undefined")
    assert "no respondents" in mark.detail


def test_decisions_and_estimates_that_are_not_usable_look_different_and_are_explained():
    known = [row(0.3, 0.2, 0.4, p=0.01), row(0.1, 0.0, 0.2, p=0.4)]
    doubtful = row(0.5, 0.1, 0.9, grade="not usable", p=0.5)
    labelled = tuple(zip("abc", [*known, doubtful], strict=True))
    places = on_page(chart(*labelled, decided=True)).places
    [(group, _, _)] = places.groups
    assert [(m.look, m.doubtful) for m in group.marks] == [(1, False), (2, False), (2, True)]
    assert dict(places.legend).keys() == {"look-1", "look-2", "doubtful"}


def test_a_folded_question_is_a_bar_of_all_its_answers_with_the_median_margin():
    rows = [("no", row(0.7, 0.6, 0.8)), ("yes", row(0.2, 0.12, 0.28)), ("hush", row(0.1, 0.0, 0.2))]
    [(group, scale, _)] = on_page(chart(*rows, bars=True, folded=True)).places.groups
    assert scale is not None
    assert [part.width for part in group.line] == pytest.approx([70, 20, 10])
    assert [part.at for part in group.line] == pytest.approx([0, 70, 90])
    assert len({part.tint for part in group.line}) == 3
    assert group.margin.startswith("±10")
    assert [part.words.split()[0] for part in group.line] == ["no", "yes", "hush"]


def test_a_line_ends_where_people_gave_no_answer_and_never_beyond_all_people():
    def line(*shares):
        rows = [(str(i), row(each, max(each - 0.1, 0), 1)) for i, each in enumerate(shares)]
        [(group, _, _)] = on_page(chart(*rows, bars=True, folded=True)).places.groups
        return group.line

    # 4 % gave no answer; or a negative estimate, shown as none, leaves more than all people.
    assert [part.at + part.width for part in line(0.83, 0.13)] == pytest.approx([83, 96])
    assert [part.at + part.width for part in line(0.7, -0.2, 0.5)] == pytest.approx(
        [100 * 0.7 / 1.2, 100 * 0.7 / 1.2, 100], abs=0.02
    )


def test_options_that_do_not_exclude_each_other_have_bars_of_their_own():
    rows = [("cough", row(0.8, 0.7, 0.9)), ("flu", row(0.5, 0.4, 0.6))]
    [(group, _, _)] = on_page(chart(*rows, bars=True, folded=True), ["drinks"]).places.groups
    first, second = group.line
    assert first.at + first.width < second.at == 50
    assert first.width / second.width == pytest.approx(0.8 / 0.5)


def heat_map(*cells, **how):
    names = tuple("abcdefghijk"[: len(cells)])
    return HeatMap("Map", (), ("row",), names, (cells,), **how)


def test_cells_of_a_tested_map_that_are_not_significant_are_blank():
    cells = (row(0.4, 0.3, 0.5, p=0.01), row(0.3, 0.0, 0.5, p=0.3), None)
    [(_, [clear, blank, none])] = on_page(heat_map(*cells, tested=True)).places.rows
    assert (clear.shade, blank.words, blank.shade, none) == (SHADES, "", 0, None)
    assert plain(blank.detail).startswith("row, b: 30")
    assert "not significant" in on_page(heat_map(*cells, tested=True)).places.legend


def test_cells_that_may_be_zero_do_not_affect_the_scale():
    noise, clear = row(30.0, -10.0, 70.0), row(0.2, 0.15, 0.25)
    [(_, [pale, dark])] = on_page(heat_map(noise, clear)).places.rows
    assert (pale.shade, dark.shade) == (0, SHADES)


def test_points_of_curves_are_at_their_values():
    curve = Curve("yes", (1, 2, 3), (0.0, None, 1.0), ((0.0, 0.1), None, (0.9, 1.0)))
    drawn = CurveChart(
        "Waves", (), Axis("wave", counted=True), SHARE, (curve,), y_marker=Reference(0.5, "half")
    )
    places = on_page(drawn).places
    [found] = places.curves
    (left, low, _, words), (right, high, ends, _) = found.marks
    # From the top: the larger share is above.
    assert left < right
    assert high < low
    assert high in ends
    assert plain(words) == "yes, wave 1: 0 % (0 % to 10 %)"
    assert ("reference", "half") in places.legend
    assert found.points == f"{left:g},{low:g} {right:g},{high:g}"


def page(*charts):
    template = "{% from 'charts.html' import figure %}"
    for number in range(len(charts)):
        template += f"{{{{ figure(charts[{number}]) }}}}"
    drawn = [on_page(each) for each in charts]
    environment = Environment(
        loader=PackageLoader("halftruth_collector.web.pages"),
        autoescape=True,
        undefined=StrictUndefined,
    )
    environment.filters["checked"] = iter
    return environment.from_string(template).render(charts=drawn)


ODD = 'price=5 $ to $10 & <b> "x"'


def test_pages_have_neither_styles_nor_unescaped_texts():
    curve = CurveChart(ODD, (ODD,), Axis(ODD), SHARE, (Curve(ODD, (1, 2), (0.1, 0.2)),))
    whole = page(
        chart((ODD, row(0.3, 0.2, 0.4)), bars=True, folded=True),
        chart((ODD, row(0.3, 0.2, 0.4))),
        heat_map(row(0.3, 0.2, 0.4)),
        curve,
    )
    assert " style=" not in whole
    assert "<script" not in whole
    assert "<b>" not in whole
    root = ElementTree.fromstring(f"<div>{whole.replace('&nbsp;', ' ')}</div>")
    assert len(root.findall("figure")) == 4
    assert ODD in {(each.text or "").strip() for each in root.iter()}


def contrast(one, other):
    """Contrast ratio of two colours by WCAG 2.2."""

    def luminance(colour):
        parts = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def colours(pattern):
    """Colours on light and on dark pages of a declaration."""
    found = re.search(pattern + r"[^}]*?light-dark\((#\w+), (#\w+)\)", STYLE)
    assert found is not None, pattern
    return found.groups()


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_marks_and_letters_in_cells_have_enough_contrast(scheme):
    text, chart_colour = (colours(f"--{name}:")[scheme] for name in ("text", "chart"))
    others = [rf"\.colour-{i} {{" for i in range(1, COLOURS)] + [r"\.chart { --mark", r"\.look-2 {"]
    for pattern in (*others, r"\.chart \.inner", r"\.chart \.bar {"):
        assert contrast(colours(pattern)[scheme], chart_colour) >= 3, pattern
    for i in range(1, SHADES + 1):
        rule = re.search(rf"\.shade-{i} {{([^}}]*)}}", STYLE)[1]
        pairs = re.findall(r"light-dark\((#\w+), (#\w+)\)", rule)
        ink = pairs[1][scheme] if len(pairs) > 1 else text
        assert contrast(pairs[0][scheme], ink) >= 4.5, rule
    assert all(f".tint-{i} " in STYLE for i in range(TINTS))


@pytest.mark.parametrize(
    ("axis", "ends"),
    [
        (SHARE, (-0.04, 1.04)),
        (Axis(""), (-13.0, 21.0)),
        (Axis("", counted=True), (0.96, 1.04)),
        (Axis("", counted=True), (0.8, 9.2)),
        (Axis("", scale="log"), (0.3, 1e9)),
        (Axis("", scale="log"), (0.9, 1.4)),
    ],
)
def test_ticks_are_few_round_and_within_the_axis(axis, ends):
    found = ticks(axis, ends)
    assert 1 <= len(found) <= 7
    assert all(ends[0] <= tick <= ends[1] for tick in found)
    assert not axis.counted or all(tick == int(tick) for tick in found)


@pytest.mark.parametrize(
    "empty",
    [
        EstimateChart("Nothing", (), ()),
        EstimateChart("Nothing", (), (Panel(SHARE, (), "empty"),), bars=True),
        CurveChart("Nothing", (), Axis("x"), Axis("y", scale="log"), (Curve("c", (1,), (None,)),)),
        CurveChart("Nothing", (), Axis("x", scale="log"), Axis("y"), (Curve("c", (), ()),)),
        HeatMap("Nothing", (), (), (), ()),
    ],
)
def test_an_empty_chart_has_a_title(empty):
    assert "Nothing" in page(empty)
