"""Charts: they show what the messages say, in words as well, and in files that can be read."""

import re
import subprocess
import sys
from datetime import UTC, datetime
from xml.etree import ElementTree

import pytest
from halftruth_collector.charts import (
    Axis,
    BarChart,
    Curve,
    CurveChart,
    Estimate,
    Panel,
    Reference,
    WhiskerChart,
    itemsets_chart,
    measures_chart,
    table_chart,
)
from halftruth_collector.charts.rendering import check_file, render, to_svg
from halftruth_collector.charts.results import MAX_CELLS, MAX_ITEMSETS
from halftruth_collector.estimate.measures import MEASURES
from halftruth_shared import ParameterError
from halftruth_shared.messages import (
    ItemsetEstimate,
    ItemsetsQuery,
    ItemsetsResult,
    MeasureEstimate,
    MeasuresQuery,
    MeasuresResult,
    Precision,
    TableCell,
    TableQuery,
    TableResult,
)
from PIL import Image

SVG = "{http://www.w3.org/2000/svg}"
ORIGIN = {
    "survey": "health",
    "digest": "0" * 64,
    "reports": 5000,
    "as_of": datetime(2026, 5, 9, 7, 35, tzinfo=UTC),
}


def itemset(items, support, error, decision="frequent"):
    interval = None if error is None else (support - 2 * error, support + 2 * error)
    return ItemsetEstimate(
        items=items, support=support, standard_error=error, interval=interval, decision=decision
    )


def itemsets(*found, precision=(), **query):
    return ItemsetsResult(
        **ORIGIN,
        query=ItemsetsQuery(**{"min_support": 0.02, **query}),
        candidates=1000,
        precision=list(precision),
        itemsets=list(found),
    )


def table(cells, *attributes, **query):
    return TableResult(
        **ORIGIN,
        query=TableQuery(attributes=list(attributes), **query),
        condition_number=3.0,
        cells=[
            TableCell(
                values=dict(zip(attributes, categories, strict=True)),
                support=support,
                standard_error=0.01,
                interval=(support - 0.02, support + 0.02),
            )
            for *categories, support in cells
        ],
    )


def measures(*estimates, **query):
    return MeasuresResult(
        **ORIGIN,
        query=MeasuresQuery(attributes=["smoker", "drinks"], **query),
        measures=list(estimates),
    )


def measure(name, value, error):
    return MeasureEstimate(
        name=name,
        value=value,
        standard_error=error,
        interval=(value - 2 * error, value + 2 * error),
        chebyshev_interval=(value - 4 * error, value + 4 * error),
    )


SMOKERS = itemsets(
    itemset({"smoker": "yes"}, 0.31, 0.01),
    itemset({"drinks": "daily"}, 0.03, 0.02, "undecided"),
    itemset({"smoker": "yes", "drinks": "daily"}, 0.45, 0.02),
)
TABLE = table(
    [("no", "never", 0.5), ("no", "daily", 0.2), ("yes", "never", 0.34), ("yes", "daily", -0.04)],
    "smoker",
    "drinks",
)
MEASURED = measures(
    measure("phi", 0.2, 0.05),
    measure("odds_ratio", 8.0, 6.0),
    measure("interest", 1.5, 0.1),
    measure("chi_squared", 300.0, 40.0),
    MeasureEstimate(name="g_squared", undefined="a cell has a negative estimate"),
)
CURVES = CurveChart(
    title="Precision",
    notes=("Typical half-widths.",),
    x_axis=Axis("respondents", scale="log"),
    y_axis=Axis("half-width", shares=True, scale="log"),
    curves=(
        Curve("length 1", (100, 1000, 10000), (0.1, 0.03, 0.01)),
        Curve("length 2", (100, 1000, 10000), (None, 0.3, 0.1)),
    ),
    x_marker=Reference(5000, "this survey"),
    y_marker=Reference(0.02, "threshold"),
)
CHARTS = {
    "itemsets": itemsets_chart(SMOKERS),
    "table": table_chart(TABLE),
    "measures": measures_chart(MEASURED),
    "curves": CURVES,
}


def rows(chart):
    if isinstance(chart, BarChart):
        return [bar for group in chart.groups for bar in group.bars]
    return [row for panel in chart.panels for row in panel.rows]


def texts(svg):
    """All text that a picture shows."""
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def plain(text):
    return text.replace("\N{NARROW NO-BREAK SPACE}", " ")


def test_itemsets_keep_their_numbers_largest_first():
    assert [(r.label, r.value, r.lower, r.upper, r.category) for r in rows(CHARTS["itemsets"])] == [
        (
            ", ".join(f"{name}={value}" for name, value in entry.items.items()),
            entry.support,
            *entry.interval,
            entry.decision,
        )
        for entry in sorted(SMOKERS.itemsets, key=lambda entry: -entry.support)
    ]


def test_itemsets_stand_against_the_threshold():
    [panel] = CHARTS["itemsets"].panels
    assert panel.reference.value == 0.02
    assert plain(panel.reference.label) == "min. support 2 %"
    assert "min. support 2 %" in map(plain, texts(to_svg(CHARTS["itemsets"])))


def test_of_many_itemsets_the_clearest_are_shown_and_the_chart_says_so():
    noise = [itemset({"smoker": "yes", "x": str(i)}, 3.0 + i, 1.5) for i in range(20)]
    clear = [itemset({"x": str(i)}, 0.1 + i / 1000, 0.001) for i in range(MAX_ITEMSETS)]
    chart = itemsets_chart(itemsets(*noise, *clear))
    assert {row.label for row in rows(chart)} == {f"x={i}" for i in range(MAX_ITEMSETS)}
    assert "Shown are the 40 of 60 itemsets that are the most standard errors" in chart.description


def test_a_length_that_is_not_usable_is_named():
    verdicts = [
        Precision(length=1, examined=9, half_width=0.001, usable=True, verdict="usable: fine"),
        Precision(length=2, examined=9, half_width=0.5, usable=False, verdict="not usable: ±50%"),
        Precision(length=3, examined=9, half_width=0.9, usable=False, verdict="not usable: ±90%"),
    ]
    notes = itemsets_chart(itemsets(*SMOKERS.itemsets, precision=verdicts)).notes
    assert [note for note in notes if note.startswith("Itemsets of length")] == [
        "Itemsets of length 2: not usable: ±50%."
    ]


def test_an_itemset_without_interval_is_a_dot_and_the_chart_says_so():
    chart = itemsets_chart(itemsets(itemset({"smoker": "yes"}, 0.3, None, "undecided")))
    [row] = rows(chart)
    assert (row.value, row.lower, row.upper) == (0.3, None, None)
    assert "Without interval, as the error is undefined: 1 of 1." in chart.description
    assert "30.0 %, no interval" in map(plain, texts(to_svg(chart)))


def test_no_itemset_is_a_chart_that_says_so():
    assert "No itemset was found" in to_svg(itemsets_chart(itemsets()))


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"target": "respondents"}, "for exactly these respondents"),
        ({"confidence": 0.999}, "99.9 % intervals, each by itself"),
        ({"select": "bonferroni"}, "95 % intervals, which hold all together"),
        ({"select": "holm"}, "The decisions hold all together (Holm)"),
        ({"estimate": "projected"}, "Supports are projected estimates"),
    ],
)
def test_the_notes_say_what_the_intervals_hold_for(query, said):
    assert said in plain(itemsets_chart(itemsets(*SMOKERS.itemsets, **query)).description)


def test_a_table_is_grouped_by_its_first_attribute():
    chart = CHARTS["table"]
    assert [(group.heading, [bar.label for bar in group.bars]) for group in chart.groups] == [
        ("smoker=no", ["never", "daily"]),
        ("smoker=yes", ["never", "daily"]),
    ]
    assert [(b.value, b.lower, b.upper) for b in rows(chart)] == [
        (cell.support, *cell.interval) for cell in TABLE.cells
    ]
    three = table_chart(table([("a", "b", "c", 0.3), ("d", "b", "c", 0.7)], "x", "y", "z"))
    assert [bar.label for bar in rows(three)] == ["b, c", "b, c"]
    [single] = table_chart(table([("no", 0.4), ("yes", 0.6)], "smoker")).groups
    assert (single.heading, [bar.label for bar in single.bars]) == ("", ["no", "yes"])


def test_a_negative_estimate_stays_negative():
    chart = CHARTS["table"]
    assert rows(chart)[-1].value == -0.04
    assert "A negative support" in chart.description
    drawn = list(map(plain, texts(to_svg(chart))))
    assert "−4.0 % (−6.0 to −2.0)" in drawn


def test_the_bar_of_a_negative_estimate_ends_where_the_others_begin():
    svg = ElementTree.fromstring(to_svg(table_chart(table([("no", 1.4), ("yes", -0.4)], "smoker"))))
    drawn = [path.get("d") for path in svg.iter(f"{SVG}path") if path.get("fill") == "#9ecae1"]
    positive, negative = (sorted(map(float, re.findall(r"[ML] (\S+)", path))) for path in drawn)
    assert negative[-1] == pytest.approx(positive[0])
    assert (positive[-1] - positive[0]) / (negative[-1] - negative[0]) == pytest.approx(1.4 / 0.4)


def test_of_many_cells_those_furthest_from_zero_are_shown():
    cells = [("no", str(i), 0.001) for i in range(MAX_CELLS)]
    chart = table_chart(table([*cells, ("yes", "x", -0.5)], "smoker", "drinks"))
    assert len(rows(chart)) == MAX_CELLS
    assert rows(chart)[-1].value == -0.5
    assert "Shown are the 100 of 101 cells furthest from zero" in chart.description


def test_every_measure_has_a_scale_and_keeps_its_numbers():
    result = measures(*(measure(m.name, 0.5 + i, 0.1) for i, m in enumerate(MEASURES)))
    chart = measures_chart(result)
    assert "Other" not in [panel.heading for panel in chart.panels]
    assert sorted((r.value, r.lower, r.upper) for r in rows(chart)) == [
        (m.value, *m.interval) for m in result.measures
    ]


def test_a_measure_of_a_newer_collector_has_its_own_panel():
    chart = measures_chart(measures(measure("new_one", 5.0, 1.0), measure("phi", 0.2, 0.1)))
    assert [[row.label for row in panel.rows] for panel in chart.panels] == [["φ"], ["new one"]]


def test_measures_share_an_axis_only_where_they_can_be_compared():
    panels = CHARTS["measures"].panels
    assert [[row.label for row in panel.rows] for panel in panels] == [
        ["φ"],
        ["odds ratio", "interest"],
        ["χ²", "G²"],
    ]
    assert [panel.reference and panel.reference.value for panel in panels] == [0, 1, None]
    assert [panel.axis.scale for panel in panels] == ["linear", "log", "linear"]


def test_what_is_undefined_is_a_word_with_its_reason():
    chart = CHARTS["measures"]
    [row] = [row for row in rows(chart) if row.label == "G²"]
    assert row.value is None
    assert "undefined: a cell has a negative estimate" in texts(to_svg(chart))
    assert "G² undefined: a cell has a negative estimate" in chart.description


def test_undefined_without_a_reason_is_undefined_all_the_same():
    chart = WhiskerChart("Nothing", (), (Panel(Axis("x"), (Estimate("a"), Estimate("b"))),), "x")
    assert texts(to_svg(chart)).count("undefined") == 2
    assert "a undefined; b undefined" in chart.description


def test_an_interval_beyond_a_logarithmic_axis_is_drawn_all_the_same():
    assert rows(CHARTS["measures"])[1].lower < 0
    assert "8 (−4 to 20)" in texts(to_svg(CHARTS["measures"]))


def test_curves_are_named_and_undefined_points_left_out():
    shown = list(map(plain, texts(to_svg(CURVES))))
    assert {"length 1", "length 2", "this survey", "threshold", "10 %"} <= set(shown)
    assert plain(CURVES.description) == (
        "Precision. Typical half-widths. half-width against respondents."
        " length 1: from 10 % at 100 to 1 % at 10 000."
        " length 2: from 30 % at 1 000 to 10 % at 10 000."
        " A line at 5 000: this survey. A line at 2 %: threshold."
    )


def test_curves_without_points_are_drawn_as_nothing():
    chart = CurveChart("Empty", (), CURVES.x_axis, CURVES.y_axis, (Curve("none", (1,), (None,)),))
    assert "none: undefined" in chart.description
    assert texts(to_svg(chart))


@pytest.mark.parametrize("name", CHARTS)
def test_svg_has_text_and_a_text_alternative(name):
    chart = CHARTS[name]
    svg = to_svg(chart)
    root = ElementTree.fromstring(svg)
    assert root.tag == f"{SVG}svg"
    assert root.get("role") == "img"
    assert [root[0].tag, root[0].text] == [f"{SVG}title", chart.title]
    assert [root[1].tag, root[1].text] == [f"{SVG}desc", chart.description]
    assert chart.title in texts(svg)
    for row in [] if name == "curves" else rows(chart):
        assert row.label in texts(svg)


@pytest.mark.parametrize("name", CHARTS)
def test_svg_holds_nothing_that_a_content_security_policy_blocks(name):
    root = ElementTree.fromstring(to_svg(CHARTS[name]))
    for element in root.iter():
        assert element.tag not in (f"{SVG}style", f"{SVG}script")
        assert not {name for name in element.attrib if name == "style" or name.startswith("on")}
    names = [element.get("id") for element in root.iter() if element.get("id")]
    assert len(names) == len(set(names))


def test_labels_are_text_whatever_is_in_them():
    odd = {"price": "5 $ to $10 & <b>", "city": "東京", "x": "a\\b"}
    chart = itemsets_chart(itemsets(*(itemset({k: v}, 0.1, 0.01) for k, v in odd.items())))
    assert {f"{k}={v}" for k, v in odd.items()} <= set(texts(to_svg(chart)))


def test_long_labels_are_wrapped_not_cut():
    label = "a" * 64 + "=" + "long answer " * 21
    chart = itemsets_chart(itemsets(itemset({"a" * 64: label[65:]}, 0.1, 0.01)))
    drawn = "".join(texts(to_svg(chart))).replace(" ", "")
    assert label.replace(" ", "") in drawn


@pytest.mark.parametrize("name", CHARTS)
def test_png_is_a_picture_of_sensible_size(name, tmp_path):
    file = tmp_path / "chart.PNG"
    render(CHARTS[name], file)
    assert file.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    with Image.open(file) as picture:
        assert picture.width == 1600
        assert 500 < picture.height < 3000
        assert picture.text["Description"] == CHARTS[name].description


def test_more_rows_make_a_higher_picture(tmp_path):
    heights = []
    for count in (1, 10, MAX_ITEMSETS):
        found = [itemset({"x": str(i)}, 0.1 + i / 100, 0.01) for i in range(count)]
        render(itemsets_chart(itemsets(*found)), tmp_path / "chart.png")
        with Image.open(tmp_path / "chart.png") as picture:
            heights.append(picture.height)
    assert heights == sorted(set(heights))


@pytest.mark.parametrize("ending", [".svg", ".png", ".pdf"])
def test_the_same_chart_gives_the_same_bytes(ending, tmp_path):
    for file in ("one", "other"):
        render(CHARTS["measures"], tmp_path / f"{file}{ending}")
    one, other = ((tmp_path / f"{file}{ending}").read_bytes() for file in ("one", "other"))
    assert one == other
    assert len(one) > 5000


@pytest.mark.parametrize("name", ["chart", "chart.jpg", "", ".svg", "chart.svg.gz"])
def test_another_ending_gets_one_line_that_names_those_accepted(name, tmp_path):
    with pytest.raises(ParameterError, match=r"plot: expected .*\.svg, \.png, \.pdf") as caught:
        check_file(tmp_path / "folder" / name)
    assert caught.value.field == "plot"
    assert "\n" not in str(caught.value)


def test_a_folder_that_does_not_exist_gets_one_line(tmp_path):
    for file in (tmp_path / "nowhere" / "chart.svg", tmp_path / "a\0b.svg"):
        with pytest.raises(ParameterError, match="plot: expected a file that can be written") as c:
            render(CHARTS["table"], file)
        assert c.value.field == "plot"
        assert "\n" not in str(c.value)
    (tmp_path / "folder.svg").mkdir()
    with pytest.raises(ParameterError, match="Is a directory"):
        render(CHARTS["table"], tmp_path / "folder.svg")


def test_drawing_leaves_the_settings_of_matplotlib_alone():
    import matplotlib as mpl

    with mpl.rc_context({"font.size": 30, "text.parse_math": True}):
        before = dict(mpl.rcParams)
        svg = to_svg(CHARTS["table"])
        assert dict(mpl.rcParams) == before
    assert svg == to_svg(CHARTS["table"])


def test_charts_are_built_without_loading_matplotlib():
    code = "import sys, halftruth_collector.charts; print('matplotlib' in sys.modules)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "False"
