"""Rendered charts: readable, accessible and faithful to the data."""

import re
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.resources import files
from itertools import pairwise
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pytest
from halftruth_collector.charts.rendering import check_file, render, to_svg
from halftruth_shared import ParameterError
from halftruth_shared.results import Row
from halftruth_shared.results.charts import (
    INNER_LABEL,
    MOST_CURVES,
    MOST_NAMES,
    MOST_ROWS,
    Axis,
    Curve,
    CurveChart,
    EstimateChart,
    HeatMap,
    Panel,
    Reference,
)
from halftruth_shared.results.charts.drawing import (
    BAR,
    CELLS,
    CURVES,
    INK,
    PAGE,
    PALE,
    QUIET,
    THEMES,
    WIDTH,
    draw,
)
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb, to_rgba
from matplotlib.text import Text
from msgspec.structs import replace
from PIL import Image

# Readers' fonts have the glyphs that Matplotlib's font lacks.
pytestmark = pytest.mark.filterwarnings("ignore:Glyph .* missing from font")

SVG = "{http://www.w3.org/2000/svg}"
SUPPORT = Axis("support", shares=True)
LONG = "Have you, in the last twelve months, taken home something that belongs to the company?"
UNBROKEN = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft" * 2


def row(value=None, lower=None, upper=None, *, reason=None, p=None, alone=None, quantity="support"):
    """A row of a result with an interval, and half of its length without perturbation."""
    return Row(
        keys={},
        quantity=quantity,
        value=value,
        interval=None if lower is None else (lower, upper),
        sampling_error=alone and alone / 1.96,
        adjusted_p_value=p,
        decision=None if p is None else "frequent" if p <= 0.05 else "undecided",
        reliability="usable",
        undefined=reason,
    )


def near(label, value, half, **more):
    return (label, row(value, value - half, value + half, **more))


def bars(heading, *rows):
    return Panel(SUPPORT, rows, heading)


def chart_of(*rows, axis=SUPPORT, **how):
    """A chart of one panel."""
    return EstimateChart("t", (), (Panel(axis, rows),), **how)


def noisy_itemsets(count=24, seed=1):
    """Itemsets as in CENSUS with a gamma-diagonal matrix: errors grow fourfold by length."""
    rng = np.random.default_rng(seed)
    items = ["age=(15-35]", "fnlwgt=(1e5-2e5]", "hours-per-week=[20-40)", "race=White"]
    items += ["sex=Male", "native-country=United-States"]
    rows = []
    for i in range(count):
        length = 1 + i % 5
        label = ", ".join(rng.permutation(items)[:length])
        value, half = rng.normal(0.5 / length, 0.1 * length), 0.02 * 4 ** (length - 1)
        rows.append(near(label, float(value), half, p=(0.01, 0.4)[i % 2]))
    return tuple(sorted(rows, key=lambda labelled: -labelled[1].value))


def grid(size):
    rng = np.random.default_rng(2)
    names = [f"{('age', 'native-country', LONG)[i % 3]} {i}" for i in range(size)]
    rows = []
    for i in range(size):
        line = []
        for j in range(size):
            value, cell = float(rng.normal(0.05, 0.1)), None
            if (i + j) % 7 == 3:
                cell = row(reason="the column does not vary")
            elif i != j:
                cell = row(value, value - 0.05, value + 0.05)
            line.append(cell)
        rows.append(tuple(line))
    return HeatMap(
        "What each tells of others", ("Notes.",), tuple(names), tuple(names), tuple(rows)
    )


CHARTS = {
    "itemsets": EstimateChart(
        "Supports of itemsets in census",
        ("48 842 reports; 95 % intervals for the population.", LONG),
        (Panel(SUPPORT, noisy_itemsets(), reference=Reference(0.02, "min. support 2 %")),),
        decided=True,
    ),
    "overview": EstimateChart(
        f"Every question of a survey: {LONG}",
        (),
        (
            bars(LONG, near("no", 1.04, 0.1, alone=0.05), near("yes", -0.04, 0.1)),
            bars("city", near("東京", 0.4, 0.1), near(LONG, 0.3, 0.1), near(UNBROKEN, 0.3, 0.1)),
            bars("other", ("empty", row(reason="the group has no respondents at all"))),
        ),
        bars=True,
    ),
    "measures": EstimateChart(
        "Association of smoker and drinks",
        ("Intervals are normal approximations by the delta method.",),
        (
            Panel(Axis(""), (near("φ", 0.2, 0.05),), LONG, Reference(0, "independent")),
            Panel(
                Axis("ratio", scale="log"),
                (("odds ratio", row(8, -4, 20)), ("interest", row(1.5, 1.2, 1e12))),
                "Ratios: 1 when independent",
                Reference(1, "independent"),
            ),
            Panel(
                Axis(""),
                (near("χ²", 300.0, 80.0), ("G²", row(reason="a cell has a negative estimate"))),
                "Grow with the number of reports",
            ),
        ),
    ),
    "curves": CurveChart(
        "Precision",
        ("Typical half-widths.",),
        Axis("respondents", scale="log"),
        Axis("half-width", shares=True, scale="log"),
        tuple(
            Curve(f"randomized-response, length {i}", (100, 1000, 1e6), (None, 0.3 * i, 0.001 * i))
            for i in range(1, 7)
        ),
        Reference(5000, "5 000 respondents"),
        Reference(0.02, "wanted ±2 %"),
    ),
    "capitals": EstimateChart(
        LONG.upper(),
        (LONG.upper(), "匿名" * 60),
        (bars(LONG.upper(), near(LONG.upper(), 0.5, 0.1), near("QUITE OFTEN", 0.2, 0.1)),),
        bars=True,
    ),
    "small grid": grid(3),
    "grid": grid(9),
}


@cache
def figure(name):
    """The figure of a chart with Matplotlib's layout."""
    picture = draw(CHARTS[name])
    picture.draw_without_rendering()
    return picture


@cache
def svg(name):
    return to_svg(CHARTS[name])


@cache
def root(name):
    return ElementTree.fromstring(svg(name))


def shown(figure):
    """Return every visible text."""
    return [t for t in figure.findobj(Text) if t.get_visible() and t.get_text().strip()]


def bars_of(picture, colour):
    """Return the bars in axes, without those of the legend."""
    bars = [bar for axes in picture.axes for bar in axes.patches]
    return [bar for bar in bars if bar.get_facecolor() == to_rgba(colour)]


def marked(picture):
    """Return the dots of charts, one object for each appearance."""
    lines = [line for axes in picture.axes for line in axes.lines]
    return [line for line in lines if line.get_marker() not in ("None", "", None)]


def lines_of(picture, colour):
    """Return the intervals of a colour, one object for each appearance."""
    found = [each for axes in picture.axes for each in axes.findobj(LineCollection)]
    found = [each for each in found if (each.get_colors() == to_rgba(colour)).all()]
    return [each for each in found if np.ptp(each.get_segments()[0][:, 1]) == 0]


def words(figure):
    """Return every visible line of text."""
    return {line for text in shown(figure) for line in text.get_text().split("\n")}


def texts(svg):
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def plain(text):
    return text.replace("\N{NARROW NO-BREAK SPACE}", " ")


def contrast(one, other):
    """Contrast ratio of two colours by WCAG 2.2."""

    def luminance(colour):
        parts = np.array(to_rgb(colour))
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("bars", [True, False])
def test_unusable_estimates_are_pale_and_dashed_and_explained_by_the_legend(bars):
    doubtful = ("unknown", replace(row(0.4, 0.1, 0.7), reliability="not usable"))

    def dashed(picture):
        found = [*lines_of(picture, QUIET), *lines_of(picture, INK)]
        return [each for each in found if each.get_linestyles()[0][1] is not None]

    picture = draw(chart_of(doubtful, near("known", 0.6, 0.1), bars=bars))
    assert len(dashed(picture)) == 1
    if bars:
        assert len(bars_of(picture, BAR)) == len(bars_of(picture, PALE)) == 1
    else:
        assert [line.get_markerfacecolor() for line in marked(picture)] == [CURVES[0], PAGE]
    assert "not usable" in words(picture)
    usable = draw(chart_of(near("known", 0.6, 0.1), bars=bars))
    assert not dashed(usable)
    assert "not usable" not in words(usable)


@pytest.mark.parametrize("name", CHARTS)
def test_svg_is_an_image_with_an_accessible_name_and_text_labels(name):
    chart, drawing = CHARTS[name], root(name)
    assert drawing.tag == f"{SVG}svg"
    assert (drawing.get("role"), drawing.get("aria-label")) == ("img", chart.title)
    assert [drawing[0].tag, drawing[0].text] == [f"{SVG}title", chart.title]
    assert [drawing[1].tag, drawing[1].text] == [f"{SVG}desc", chart.description]
    together = "".join(texts(svg(name))).replace(" ", "")
    labels = []
    if isinstance(chart, EstimateChart):
        labels = [label for label, _ in chart.rows]
    elif isinstance(chart, CurveChart):
        labels = [curve.name for curve in chart.curves]
    # A label of more than three lines is truncated; the table beside the chart has all of it.
    for line in (chart.title, *chart.notes, *(label[:15] for label in labels)):
        assert line.replace(" ", "") in together


@pytest.mark.parametrize("name", CHARTS)
def test_svg_has_nothing_that_a_content_security_policy_blocks(name):
    for element in root(name).iter():
        assert element.tag not in (f"{SVG}style", f"{SVG}script", f"{SVG}image")
        assert not {name for name in element.attrib if name == "style" or name.startswith("on")}
        assert "data:" not in "".join(element.attrib.values())
    names = [element.get("id") for element in root(name).iter() if element.get("id")]
    assert len(names) == len(set(names))


def test_ids_are_unique_across_the_charts_of_a_page():
    found = [to_svg(CHARTS[name]) for name in ("curves", "itemsets", "measures")]
    names = [
        e.get("id") for each in found for e in ElementTree.fromstring(each).iter() if e.get("id")
    ]
    assert len(names) == len(set(names)) > 8
    for each in found:
        used = set(re.findall(r'href="#(\w+)"|url\(#(\w+)\)', each))
        assert {a or b for a, b in used} == set(re.findall(r' id="(\w+)"', each))


@pytest.mark.parametrize("name", ["itemsets", "overview", "measures", "curves"])
def test_letters_and_data_have_enough_contrast(name):
    letters = {e.get("fill", "#000000") for e in root(name).iter(f"{SVG}text")}
    assert all(contrast(colour, "white") >= 4.5 for colour in letters)
    data = {e.get(kind) for e in root(name).iter() for kind in ("fill", "stroke")} - {None, "none"}
    low = {colour for colour in data if contrast(colour, "white") < 3}
    # The page and the grid lines.
    assert low <= {"#ffffff", "#e2e2e2"}


def shades(chart):
    """Return the opacities of the cells of a heat map, and its numbers."""
    picture = draw(chart)
    picture.draw_without_rendering()
    [mesh] = picture.axes[0].collections
    return mesh.get_facecolors()[:, 3], picture.axes[0].texts


def test_letters_contrast_with_their_cell():
    values = np.linspace(-0.1, 1, 14)
    cells = tuple(row(v, v - 0.01, v + 0.01) for v in values.tolist())
    opacities, numbers = shades(HeatMap("t", (), ("row",), ("a",) * 14, (cells,)))
    assert len(opacities) == len(numbers) == 14
    cell, background = np.array(to_rgb(CELLS)), np.array(to_rgb(PAGE))
    for opacity, text in zip(opacities, numbers, strict=True):
        blend = opacity * cell + (1 - opacity) * background
        assert contrast(blend, text.get_color()) >= 4.5, (opacity, text)


def test_cells_that_may_be_zero_are_pale_and_do_not_affect_the_scale():
    noise, clear = row(30.0, -10.0, 70.0), row(0.2, 0.15, 0.25)
    opacities, _ = shades(HeatMap("t", (), ("row",), ("a", "b"), ((noise, clear),)))
    assert list(opacities) == pytest.approx([0.15 * 0.78, 1], abs=0.01)


def test_heat_maps_show_numbers_in_all_cells_or_in_none():
    def cells(size):
        values = [row(0.05 * i, 0.05 * i - 0.02, 0.05 * i + 0.02) for i in range(size)]
        names = tuple(f"n{i}" for i in range(size))
        picture = draw(HeatMap("t", (), ("row",), names, (tuple(values),)))
        numbers = [plain(text.get_text()) for text in picture.axes[0].texts]
        under = " ".join(t.get_text() for t in shown(picture)).replace("\n", " ")
        return ["in percent"] * ("in percent" in under) + numbers

    assert cells(3) == ["0 %", "5.0 %", "10.0 %"]
    assert cells(10)[:3] == ["in percent", "0", "5"]
    assert cells(20) == []


def test_undefined_estimates_have_a_text_with_the_reason_and_no_mark():
    chart = chart_of(("a", row(reason="no respondents")), ("b", row()))
    assert {"undefined: no respondents", "undefined"} <= set(texts(to_svg(chart)))
    assert not marked(draw(chart))
    assert "in percent; undefined: the column does not vary" in " ".join(texts(svg("grid")))


def test_categories_and_curves_differ_by_more_than_colour():
    looks = marked(figure("itemsets"))
    assert len({(line.get_marker(), line.get_markerfacecolor() == PAGE) for line in looks}) == 2
    curves = marked(figure("curves"))
    assert len({(curve.get_marker(), curve.get_linestyle()) for curve in curves}) == 6


def test_labels_are_aligned_independently_of_the_font():
    ends = [e.text for e in root("itemsets").iter(f"{SVG}text") if e.get("text-anchor") == "end"]
    assert {"age=(15-35]", "sex=Male", "fnlwgt=(1e5-2e5]"} <= set(ends)


def test_an_interval_that_leaves_the_axis_has_no_cap_there():
    low, high = ("low", row(0.01, -0.3, 0.3)), ("high", row(0.9, 0.2))
    odds = ("odds ratio", row(8, -4, 20)), ("other", row(5, 0.1, 30))
    for marks, axis, caps in (
        ((low,), SUPPORT, [0.3]),
        ((high,), SUPPORT, [0.2]),
        ((near("inside", 0.5, 0.4),), SUPPORT, [0.1, 0.9]),
        (odds, Axis("ratio", scale="log"), [0.1, 20, 30]),
    ):
        [axes] = draw(chart_of(*marks, axis=axis)).axes
        lines = [s for each in axes.findobj(LineCollection) for s in each.get_segments()]
        upright = [segment[0, 0] for segment in lines if np.ptp(segment[:, 0]) == 0]
        assert sorted(upright) == pytest.approx(caps)
        reached = [x for segment in lines for x in segment[:, 0]]
        assert axes.get_xlim()[0] <= min(reached) < max(reached) <= axes.get_xlim()[1]


def test_the_inner_interval_is_explained():
    assert INNER_LABEL in texts(svg("overview"))
    assert INNER_LABEL not in to_svg(EstimateChart("t", (), (), bars=True))


def test_too_many_rows_names_or_curves_are_truncated_with_a_note():
    rows = tuple(near(f"cell {i}", i / 5000, 0.1) for i in range(5000))
    curves = tuple(Curve(f"curve {i}", (1, 2), (i, i)) for i in range(MOST_CURVES + 1))
    for chart, said, name, most in (
        (chart_of(*rows, bars=True), "Not drawn: 4 900 more rows.", "cell", MOST_ROWS),
        (grid(MOST_NAMES + 5), "Not drawn: 5 more rows or columns.", None, 0),
        (
            CurveChart("t", (), Axis("x"), Axis("y"), curves),
            *("Not drawn: 1 more curves.", "curve", MOST_CURVES),
        ),
    ):
        drawn = {plain(line) for line in words(draw(chart))}
        assert said in drawn
        assert name is None or f"{name} {most - 1}" in drawn
        assert f"{name} {most}" not in drawn


def test_a_counted_axis_has_ticks_at_whole_numbers_only():
    for waves in [(1,), (1, 2), (1, 2, 3)]:
        curve = Curve("yes", waves, (0.2,) * len(waves))
        [axes] = draw(CurveChart("t", (), Axis("wave", counted=True), Axis("y"), (curve,))).axes
        assert axes.get_xticks() == pytest.approx(waves)


@pytest.mark.parametrize(
    "chart",
    [
        EstimateChart("Nothing", ("No itemset was found.",), ()),
        EstimateChart("Nothing", (), (bars("empty"),), bars=True),
        CurveChart("Nothing", (), Axis("x"), Axis("y", scale="log"), (Curve("c", (1,), (None,)),)),
        CurveChart("Nothing", (), Axis("x"), Axis("y"), ()),
        CurveChart("Nothing", (), Axis("x", scale="log"), Axis("y"), (Curve("c", (), ()),)),
        HeatMap("Nothing", (), (), (), ()),
    ],
)
def test_an_empty_chart_has_a_title(chart):
    assert "Nothing" in texts(to_svg(chart))
    assert chart.description.startswith("Nothing.")


def test_labels_with_special_characters_are_drawn_as_text():
    odd = ("price=5 $ to $10 & <b>", "city=東京", r"x=a\b", "مدينة=القاهرة", "a=]]>")
    drawing = to_svg(chart_of(*(near(label, 0.1, 0.01) for label in odd)))
    assert {*odd} <= set(texts(drawing))
    assert "$x$ <i>" in texts(to_svg(EstimateChart("$x$ <i>", (), ())))


def test_png_has_a_description(tmp_path):
    file = tmp_path / "chart.PNG"
    render(CHARTS["measures"], file)
    with Image.open(file) as picture:
        assert picture.format == "PNG"
        assert picture.width == round(200 * WIDTH)
        assert picture.text["Description"] == CHARTS["measures"].description


@pytest.mark.parametrize(
    ("ending", "magic"), [(".svg", b"<svg"), (".png", b"\x89PNG"), (".pdf", b"%PDF")]
)
def test_the_same_chart_gives_the_same_bytes(ending, magic, tmp_path):
    for file in ("one", "other"):
        render(CHARTS["small grid"], tmp_path / f"{file}{ending}")
    one, other = ((tmp_path / f"{file}{ending}").read_bytes() for file in ("one", "other"))
    assert one == other
    assert one.startswith(magic)


def test_drawing_in_several_threads_gives_the_same_result():
    names = ["overview", "small grid"] * 2
    with ThreadPoolExecutor(4) as pool:
        again = pool.map(to_svg, [CHARTS[name] for name in names])
        assert list(again) == [svg(name) for name in names]


def test_drawing_neither_changes_nor_uses_the_settings_of_matplotlib():
    with mpl.rc_context({"font.size": 30, "text.parse_math": True}):
        before = dict(mpl.rcParams)
        drawing = to_svg(CHARTS["measures"])
        assert dict(mpl.rcParams) == before
    assert drawing == svg("measures")
    png = draw(CHARTS["measures"])._repr_png_()
    with mpl.rc_context({"font.size": 30, "figure.facecolor": "black", "axes.grid": True}):
        assert draw(CHARTS["measures"])._repr_png_() == png


@pytest.mark.parametrize("name", ["chart", "chart.jpg", "", ".svg", "chart.svg.gz"])
def test_an_unknown_file_extension_is_refused_in_one_line(name, tmp_path):
    with pytest.raises(ParameterError, match=r"plot: expected .*\.svg, \.png, \.pdf") as caught:
        check_file(tmp_path / "folder" / name)
    assert caught.value.field == "plot"
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("file", ["nowhere/chart.svg", "a\0b.svg", "folder.svg"])
def test_a_file_that_cannot_be_written_is_refused_in_one_line(file, tmp_path):
    (tmp_path / "folder.svg").mkdir()
    with pytest.raises(ParameterError, match="plot: expected a file that can be written") as caught:
        render(CHARTS["overview"], tmp_path / file)
    assert caught.value.field == "plot"
    assert "\n" not in str(caught.value)


def overlapping(picture):
    """Pairs of labels of rows that overlap."""
    picture.draw_without_rendering()
    labels = [tick.get_window_extent() for axes in picture.axes for tick in axes.get_yticklabels()]
    labels.sort(key=lambda box: box.y0)
    return [pair for pair in pairwise(labels) if pair[0].y1 > pair[1].y0 + 1]


@pytest.mark.parametrize("name", ["overview", "measures", "curves", "small grid"])
@pytest.mark.parametrize("width", [3.3, 7.2])
@pytest.mark.parametrize("theme", [{"font.size": 7, "font.family": "serif"}, {"font.size": 12}])
def test_a_figure_has_the_width_and_the_fonts_of_a_journal(name, width, theme):
    picture = draw(CHARTS[name], size=width, caption=False, theme=theme)
    assert picture.get_figwidth() == width
    assert overlapping(picture) == []
    across = picture.bbox.width
    for text in shown(picture):
        box = text.get_window_extent()
        assert -1 <= box.x0 < box.x1 <= across + 1 or not text.get_in_layout(), text.get_text()
        assert text.get_fontsize() == theme["font.size"]
        assert text.get_fontfamily() == [theme.get("font.family", "sans-serif")]


def test_a_height_that_leaves_no_room_for_the_rows_is_refused():
    natural = draw(CHARTS["overview"], caption=False).get_figheight()
    higher = draw(CHARTS["overview"], caption=False, size=(WIDTH, 1.5 * natural))
    assert tuple(higher.get_size_inches()) == (WIDTH, 1.5 * natural)
    refused = r"^size: expected a height of at least (\d\.\d) inches for this chart; got 2$"
    with pytest.raises(ParameterError, match=refused) as error:
        draw(CHARTS["overview"], caption=False, size=(WIDTH, 2))
    least = float(re.match(refused, str(error.value))[1])
    assert overlapping(draw(CHARTS["overview"], caption=False, size=(WIDTH, least))) == []


def test_title_and_caption_can_be_left_out_or_replaced():
    chart = CHARTS["measures"]
    [note] = chart.notes

    def said(**how):
        return " ".join(" ".join(line.split()) for line in sorted(words(draw(chart, **how))))

    assert chart.title in said()
    assert note.split()[0] in said()
    assert chart.title not in said(title=False)
    assert note.split()[0] not in said(caption=False)
    assert "Figure 1" in said(title="Figure 1")
    assert "Own words." in said(caption="Own words.")
    for caption in (True, False):
        assert draw(chart, caption=caption).caption == chart.description
    assert draw(chart, caption="Own words.").caption == "Own words."


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("name", ["overview", "curves", "grid"])
def test_themes_are_legible_and_have_no_colours_of_another_theme(theme, name):
    picture = draw(CHARTS[name], theme=theme)
    page = picture.get_facecolor()
    for text in shown(picture):
        # Numbers in cells are on their own colours.
        if not (name == "grid" and text.get_text().replace("−", "").isdigit()):
            assert contrast(text.get_color(), page) >= 4.5, text.get_text()
    if name == "curves":
        for line in picture.axes[0].lines:
            assert contrast(line.get_color(), page) >= 3
    if name == "overview":
        [bar, *_] = [bar for bar in picture.axes[0].patches if bar.get_width() > 0]
        assert contrast(bar.get_facecolor(), page) >= 3


def test_the_dark_theme_has_the_colours_of_dark_pages():
    style = (files("halftruth_collector.web.pages") / "assets" / "style.css").read_text()
    of_pages = {
        colour for pair in re.findall(r"light-dark\((.*?), (.*?)\)", style) for colour in pair
    }
    dark = THEMES["dark"]
    curves = [each["color"] for each in dark["axes.prop_cycle"]]
    assert {
        *curves,
        dark["figure.facecolor"],
        dark["text.color"],
        dark["axes.labelcolor"],
    } <= of_pages


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"size": 1}, r"size: expected a width in inches from 2\.5 to 40, .*; got 1$"),
        ({"size": (4, 0)}, r"size: expected .* \(width, height\) with a height up to 100; got"),
        ({"size": (4, 3, 2)}, r"size: expected .*; got \(4, 3, 2\)$"),
        ({"size": (None, 3)}, r"size: expected .*; got \(None, 3\)$"),
        ({"size": "wide"}, r"size: expected .*; got 'wide'$"),
        ({"size": float("nan")}, r"size: expected .*; got nan$"),
        ({"theme": "neon"}, r"theme: expected one of: light, dark, grey; or .*; got 'neon'$"),
        ({"theme": None}, r"theme: expected one of: light, dark, grey; or .*; got None$"),
        ({"theme": {"ink": "red"}}, r"theme: expected one of: .*: 'ink' is not a valid"),
        ({"theme": {"text.color": "reddish"}}, r"theme: .* text\.color: .*reddish"),
        ({"theme": {"font.size": 0}}, r"theme: .*: font\.size from 4 to 40$"),
    ],
)
def test_invalid_sizes_and_themes_are_refused_by_name(how, said):
    before = dict(mpl.rcParams)
    with pytest.raises(ParameterError, match=said) as error:
        draw(CHARTS["measures"], **how)
    assert error.value.field == next(iter(how))
    assert dict(mpl.rcParams) == before


def test_a_theme_cannot_turn_names_into_formulas():
    hostile = chart_of(near("$x^2$", 0.4, 0.1))
    picture = draw(hostile, theme={"text.parse_math": True, "text.usetex": True})
    assert "$x^2$" in words(picture)
    assert picture._repr_png_().startswith(b"\x89PNG")


def test_files_have_embedded_fonts_and_a_resolution_for_print(tmp_path):
    picture = draw(CHARTS["measures"], caption=False)
    picture.savefig(tmp_path / "figure.pdf")
    content = (tmp_path / "figure.pdf").read_bytes()
    assert b"/Type0" in content
    assert b"/Type3" not in content
    picture.savefig(tmp_path / "figure.png")
    with Image.open(tmp_path / "figure.png") as png:
        assert png.width == pytest.approx(300 * WIDTH, abs=1)


def test_a_notebook_shows_the_picture_and_its_caption_as_text(monkeypatch):
    from IPython.core.displaypub import CapturingDisplayPublisher
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    monkeypatch.setattr(shell, "display_pub", published := CapturingDisplayPublisher())
    shell.display_formatter.format(draw(CHARTS["small grid"], caption=False))
    picture, caption = (each["data"] for each in published.outputs)
    assert "image/png" in picture
    assert caption["text/html"] == "<p>What each tells of others. Notes.</p>"
