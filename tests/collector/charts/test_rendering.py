"""Pictures of charts: readable, accessible and honest, whatever the numbers are."""

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from importlib.resources import files
from itertools import combinations, product
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pytest
from halftruth_collector.charts.rendering import check_file, render, to_svg
from halftruth_shared import ParameterError
from halftruth_shared.analyses.charts import (
    INNER_LABEL,
    MOST_CURVES,
    MOST_NAMES,
    MOST_ROWS,
    Axis,
    Curve,
    CurveChart,
    EstimateChart,
    HeatMap,
    Mark,
    Panel,
    Reference,
    style,
    written,
)
from halftruth_shared.analyses.charts.drawing import draw
from halftruth_shared.analyses.charts.style import BAR, INK, NARROW, PAGE, QUIET, SIZE, WIDE
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb, to_rgba
from matplotlib.text import Text
from PIL import Image

# The reader's fonts have what Matplotlib's lacks.
pytestmark = pytest.mark.filterwarnings("ignore:Glyph .* missing from font")

SVG = "{http://www.w3.org/2000/svg}"
SUPPORT = Axis("support", shares=True)
LONG = "Have you, in the last twelve months, taken home something that belongs to the company?"
UNBROKEN = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft" * 2


STYLE = (files("halftruth_collector.web.pages") / "assets" / "style.css").read_text()
#: What each colour of a drawing is on a dark page.
DARK = dict(re.findall(r'svg \[fill="(#\w+)"\] \{ fill: light-dark\(\1, (#\w+)\)', STYLE))


def near(label, value, half, category=None, inner=None):
    return Mark(label, value, value - half, value + half, category, inner=inner)


def bars(heading, *rows):
    return Panel(SUPPORT, rows, heading)


def chart_of(*rows, axis=SUPPORT, **how):
    """A chart of one panel."""
    return EstimateChart("t", (), (Panel(axis, rows),), "", **how)


def noisy_itemsets(count=24, seed=1):
    """What CENSUS gives with a gamma-diagonal matrix: errors that grow fourfold by length."""
    rng = np.random.default_rng(seed)
    items = ["age=(15-35]", "fnlwgt=(1e5-2e5]", "hours-per-week=(20-40]", "race=White"]
    items += ["sex=Male", "native-country=United-States"]
    rows = []
    for i in range(count):
        length = 1 + i % 5
        label = ", ".join(rng.permutation(items)[:length])
        value, half = rng.normal(0.5 / length, 0.1 * length), 0.02 * 4 ** (length - 1)
        category = ("frequent", "undecided", "infrequent")[i % 3]
        rows.append(near(label, float(value), half, category))
    return tuple(sorted(rows, key=lambda row: -row.value))


def grid(size):
    rng = np.random.default_rng(2)
    names = [f"{('age', 'native-country', LONG)[i % 3]} {i}" for i in range(size)]
    rows = []
    for i in range(size):
        row = []
        for j in range(size):
            value, cell = float(rng.normal(0.05, 0.1)), None
            if (i + j) % 7 == 3:
                cell = Mark(f"{names[i]} → {names[j]}", reason="the column does not vary")
            elif i != j:
                cell = near(f"{names[i]} → {names[j]}", value, 0.05)
            row.append(cell)
        rows.append(tuple(row))
    return HeatMap(
        "What each tells of others", ("Notes.",), tuple(names), tuple(names), tuple(rows)
    )


CHARTS = {
    "itemsets": EstimateChart(
        "Supports of itemsets in census",
        ("48 842 reports; 95 % intervals, each by itself, for the population.", LONG),
        (Panel(SUPPORT, noisy_itemsets(), reference=Reference(0.02, "min. support 2 %")),),
        "support (95 % interval)",
        ("frequent", "undecided", "infrequent"),
    ),
    "overview": EstimateChart(
        f"Every question of a survey: {LONG}",
        (),
        (
            bars(LONG, near("no", 1.04, 0.1, inner=(1.0, 1.1)), near("yes", -0.04, 0.1)),
            bars("city", near("東京", 0.4, 0.1), near(LONG, 0.3, 0.1), near(UNBROKEN, 0.3, 0.1)),
            bars("other", Mark("empty", reason="the group has no respondents at all")),
        ),
        "share (95 % interval)",
        bars=True,
        labels="answer",
    ),
    "measures": EstimateChart(
        "Association of smoker and drinks",
        ("Intervals are normal ones by the delta method.",),
        (
            Panel(Axis(""), (near("φ", 0.2, 0.05),), LONG, Reference(0, "independent")),
            Panel(
                Axis("ratio", scale="log"),
                (Mark("odds ratio", 8, -4, 20), Mark("interest", 1.5, 1.2, 1e12)),
                "Ratios: 1 when independent",
                Reference(1, "independent"),
            ),
            Panel(
                Axis(""),
                (near("χ²", 300.0, 80.0), Mark("G²", reason="a cell has a negative estimate")),
                "Grow with the number of reports",
            ),
        ),
        "value (95 % interval)",
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
        "SHARE",
        bars=True,
    ),
    "small grid": grid(3),
    "grid": grid(9),
}


def drawn(chart, whole=True, width=WIDE):
    """The figure of a chart as Matplotlib lays it out; with its texts alone it is quicker."""
    figure = draw(chart, width)
    if whole:
        figure.draw_without_rendering()
    return figure


@cache
def figure(name, width=WIDE):
    return drawn(CHARTS[name], width=width)


@cache
def svg(name):
    return to_svg(CHARTS[name])


@cache
def root(name):
    return ElementTree.fromstring(svg(name))


def shown(figure):
    """Every text that is drawn."""
    return [t for t in figure.findobj(Text) if t.get_visible() and t.get_text().strip()]


def extent(figure, artist):
    """Left, top, right and bottom of what is drawn, in points."""
    box = artist.get_window_extent()
    high, scale = figure.get_figheight() * 72, 72 / figure.dpi
    return box.x0 * scale, high - box.y1 * scale, box.x1 * scale, high - box.y0 * scale


def middle(figure, words):
    """Middle of a text from left to right, in points."""
    [text] = [text for text in shown(figure) if plain(text.get_text()) == words]
    return sum(extent(figure, text)[::2]) / 2


def bars_of(picture, colour):
    """Bars in axes, without those of the legend."""
    bars = [bar for axes in picture.axes for bar in axes.patches]
    return [bar for bar in bars if bar.get_facecolor() == to_rgba(colour)]


def marked(picture, *markers):
    """Dots of one look together; or arrows at the ends of axes."""
    lines = [line for axes in picture.axes for line in axes.lines]
    return [line for line in lines if line.get_marker() in markers]


def dots(picture):
    """Every dot, from left to right, in points."""
    looks = marked(picture, *style.SHAPES)
    places = [look.get_transform().transform(look.get_xydata())[:, 0] for look in looks]
    return sorted(np.concatenate(places) * 72 / picture.dpi) if places else []


def arrows(picture):
    """Arrows at the ends of axes."""
    return [line.get_marker() for line in marked(picture, "<", ">") for _ in line.get_xdata()]


def intervals_of(picture, colour):
    """Lines of a colour along the axis, those of one look together."""
    found = [each for axes in picture.axes for each in axes.findobj(LineCollection)]
    found = [each for each in found if (each.get_colors() == to_rgba(colour)).all()]
    return [each for each in found if np.ptp(each.get_segments()[0][:, 1]) == 0]


def dashed(collections):
    return [each for each in collections if each.get_linestyles()[0][1] is not None]


def words(figure):
    """Every line that is drawn."""
    return {line for text in shown(figure) for line in text.get_text().split("\n")}


def texts(svg):
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def plain(text):
    return text.replace("\N{NARROW NO-BREAK SPACE}", " ")


def contrast(one, other):
    """Contrast of two colours after WCAG 2.2."""

    def luminance(colour):
        parts = np.array(to_rgb(colour))
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def rows(chart):
    if isinstance(chart, HeatMap):
        return [cell for row in chart.cells for cell in row if cell]
    return [] if isinstance(chart, CurveChart) else chart.rows


@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("name", CHARTS)
def test_no_text_leaves_the_picture_or_runs_into_another(name, width):
    picture = figure(name, width)
    high = 72 * picture.get_figheight()
    boxes = [(text.get_text(), extent(picture, text)) for text in shown(picture)]
    assert len(boxes) > 5
    for words, (left, top, right, bottom) in boxes:
        assert -1 <= left < right <= width + 1, words
        assert -1 <= top < bottom <= high + 1, words
    for (words, one), (others, other) in combinations(boxes, 2):
        wide = min(one[2], other[2]) - max(one[0], other[0])
        tall = min(one[3], other[3]) - max(one[1], other[1])
        # Boxes of lines have room for accents above and tails below.
        assert wide < 1 or tall < 4, (words, others)


@pytest.mark.parametrize("name", ["itemsets", "overview", "measures"])
def test_labels_and_numbers_of_a_wide_chart_stand_beside_its_axis(name):
    chart, picture = CHARTS[name], figure(name)
    boxes = [extent(picture, axes) for axes in picture.axes]
    [start], [end] = {round(box[0]) for box in boxes}, {round(box[2]) for box in boxes}
    labels = {row.label.replace(" ", "") for row in chart.rows}
    numbers = {n for panel in chart.panels for n in written(panel.rows, panel.axis)}
    numbers = {number for number in numbers if not number.startswith("undefined")}
    beside = 0
    for text in shown(picture):
        left, _, right, _ = extent(picture, text)
        letters = text.get_text().replace("\n", "").replace(" ", "").rstrip("…")
        if text.get_weight() == "normal" and any(label.startswith(letters) for label in labels):
            assert right < start
            beside += 1
        if text.get_text() in numbers:
            assert left > end
            beside += 1
    undefined = sum(row.value is None for row in chart.rows)
    assert beside == 2 * len(chart.rows) - undefined


def test_all_questions_have_the_same_axis_from_0_to_100_percent():
    def places(*rows):
        picture = drawn(chart_of(*rows, bars=True), width=NARROW)
        return [middle(picture, label) for label in ("0 %", "50 %", "100 %")]

    rare, common = near("aaa", 0.01, 0.02), near("bbb", 0.97, 0.02)
    assert places(rare) == pytest.approx(places(common))
    assert places(rare) == pytest.approx(places(rare, common))
    picture = drawn(chart_of(common, bars=True), width=NARROW)
    [bar] = bars_of(picture, BAR)
    left, _, right, _ = extent(picture, bar)
    zero, half, _ = places(common)
    assert left == pytest.approx(zero, abs=0.5)
    assert right - left == pytest.approx(0.97 * 2 * (half - zero), abs=0.5)


def test_letters_have_9_points_where_a_chart_is_as_wide_as_a_column_of_a4():
    millimetres = WIDE / 72 * 25.4
    assert 165 <= millimetres <= 210 - 2 * 18
    # Two narrow ones stand beside each other.
    assert 2 * NARROW <= WIDE
    for name, width in product(CHARTS, (WIDE, NARROW)):
        assert all(text.get_size() == SIZE == 9 for text in shown(figure(name, width)))


@pytest.mark.parametrize("bars", [True, False])
def test_what_is_not_usable_is_pale_and_dashed_and_the_legend_says_so(bars):
    doubtful = replace(near("unknown", 0.4, 0.3), doubtful=True)
    picture = drawn(chart_of(doubtful, near("known", 0.6, 0.1), bars=bars))
    assert len(dashed(intervals_of(picture, QUIET))) == 1
    if bars:
        assert len(bars_of(picture, BAR)) == len(bars_of(picture, style.PALE)) == 1
    else:
        faces = [line.get_markerfacecolor() for line in marked(picture, *style.SHAPES)]
        assert faces == [style.CURVES[0], PAGE]
    assert "not usable" in words(picture)
    assert "unknown 40 % (10 to 70), not usable" in plain(chart_of(doubtful).description)
    usable = drawn(chart_of(near("known", 0.6, 0.1), bars=bars))
    assert not dashed(intervals_of(usable, QUIET) + intervals_of(usable, INK))
    assert "not usable" not in words(usable)


@pytest.mark.parametrize("name", CHARTS)
def test_who_points_at_a_value_or_reaches_it_by_keyboard_reads_it(name):
    chart = CHARTS[name]
    places = [e for e in root(name).iter() if e.get("class") == "hint"]
    said = [place.get("aria-label") for place in places]
    for place in places:
        assert [place.get("tabindex"), place.get("role")] == ["0", "img"]
        assert place.find(f"{SVG}title").text == place.get("aria-label")
    # What is written elsewhere must not be cut with what is clipped.
    clipped = [e for e in root(name).iter(f"{SVG}g") if e.get("clip-path")]
    assert not [e for group in clipped for e in group.iter() if e in places]
    if name == "curves":
        assert "randomized-response, length 2: 60 % at 1 000" in map(plain, said)
    else:
        known = [row for row in rows(chart) if row.value is not None or name.endswith("grid")]
        assert [words[: len(row.label)] for words, row in zip(said, known, strict=True)] == [
            row.label for row in known
        ]
        assert all(words in chart.description for words in said)


def test_a_curve_with_intervals_shows_them_and_says_them():
    curve = Curve("yes", (1.0, 2.0), (0.4, 0.6), ((0.3, 0.5), (0.5, 0.7)))
    chart = CurveChart("t", (), Axis("wave"), Axis("share", shares=True), (curve,))
    [whiskers] = [
        each for each in drawn(chart).axes[0].collections if hasattr(each, "get_segments")
    ]
    ends = [tuple(sorted(segment[:, 1])) for segment in whiskers.get_segments()]
    assert ends == [pytest.approx((0.3, 0.5)), pytest.approx((0.5, 0.7))]
    assert "yes: wave 1 40 % (30 to 50)" in plain(chart.description)


@pytest.mark.parametrize("name", CHARTS)
def test_svg_has_every_label_as_text_and_a_text_alternative(name):
    chart, drawing = CHARTS[name], root(name)
    assert drawing.tag == f"{SVG}svg"
    assert drawing.get("role") == "group"
    assert drawing.get("aria-label") == chart.title
    assert [drawing[0].tag, drawing[0].text] == [f"{SVG}title", chart.title]
    assert [drawing[1].tag, drawing[1].text] == [f"{SVG}desc", chart.description]
    together = "".join(texts(svg(name))).replace(" ", "")
    # What takes more than three lines is cut, and whole in what its place says.
    together += "".join(e.get("aria-label", "") for e in drawing.iter()).replace(" ", "")
    labels = [row.label for row in rows(chart)]
    if name.endswith("curves"):
        labels = [curve.name for curve in chart.curves]
    if name.endswith("grid"):
        labels = [*chart.rows, *chart.columns]
    for line in (chart.title, *chart.notes, *labels):
        assert line.replace(" ", "") in together


@pytest.mark.parametrize("name", CHARTS)
def test_svg_holds_nothing_that_a_content_security_policy_blocks(name):
    for element in root(name).iter():
        assert element.tag not in (f"{SVG}style", f"{SVG}script", f"{SVG}image")
        assert not {name for name in element.attrib if name == "style" or name.startswith("on")}
        assert "data:" not in "".join(element.attrib.values())
    names = [element.get("id") for element in root(name).iter() if element.get("id")]
    assert len(names) == len(set(names))


def test_a_page_may_hold_several_charts():
    found = [
        to_svg(CHARTS[name], width) for name in ("curves", "itemsets") for width in (WIDE, NARROW)
    ]
    names = [
        e.get("id") for each in found for e in ElementTree.fromstring(each).iter() if e.get("id")
    ]
    assert len(names) == len(set(names)) > 8
    for each in found:
        used = set(re.findall(r'href="#(\w+)"|url\(#(\w+)\)', each))
        assert {a or b for a, b in used} == set(re.findall(r' id="(\w+)"', each))


@pytest.mark.parametrize("name", CHARTS)
def test_every_number_is_in_the_text_alternative(name):
    chart = CHARTS[name]
    description = plain(chart.description)
    for row in rows(chart):
        assert row.label in description
        if row.value is None:
            assert f"{row.label} undefined: {row.reason}" in description
    if name == "curves":
        assert (
            "randomized-response, length 2: from 60 % at 1 000 to 0.2 % at 1 000 000" in description
        )
        assert "A line at 5 000: 5 000 respondents. A line at 2 %: wanted ±2 %" in description
    if name == "overview":
        assert f"no 104 % (94 to 114), {INNER_LABEL}: 100 % to 110 %" in description
    if name == "measures":
        assert "odds ratio 8 (−4 to 20)" in description
        assert "interest 1.50 (1.20 to 1e+12)" in description
    if name == "itemsets":
        assert description.count(", undecided;") == 8


@pytest.mark.parametrize("name", ["itemsets", "overview", "measures", "curves"])
def test_letters_and_data_stand_out_from_the_page(name):
    letters = {e.get("fill", "#000000") for e in root(name).iter(f"{SVG}text")}
    assert all(contrast(colour, "white") >= 4.5 for colour in letters)
    data = {e.get(kind) for e in root(name).iter() for kind in ("fill", "stroke")} - {None, "none"}
    low = {colour for colour in data if contrast(colour, "white") < 3}
    # The page itself and the lines of the grid.
    assert low <= {"#ffffff", "#e2e2e2"}


@pytest.mark.parametrize("name", CHARTS)
def test_every_colour_has_a_counterpart_on_dark_pages_that_stands_out_as_much(name):
    found = {(e.get(k), e.tag) for e in root(name).iter() for k in ("fill", "stroke")}
    for colour, tag in found - {(None, tag) for _, tag in found}:
        if colour == "none" or colour == BAR:
            continue
        assert f'svg [stroke="{colour}"]' in STYLE
        if tag == f"{SVG}text" and colour != "#ffffff":
            assert contrast(DARK[colour], DARK["#ffffff"]) >= 4.5
    # Rules for what is below an svg do not reach shapes that are used again.
    defined = [e for defs in root(name).iter(f"{SVG}defs") for e in defs]
    assert not [e for e in defined if e.get("fill") or e.get("stroke")]


def test_letters_stand_out_from_their_cell_on_light_and_on_dark_pages():
    values = np.linspace(-0.1, 1, 20)
    cells = tuple(near(f"cell {i}", float(v), 0.01) for i, v in enumerate(values))
    picture = drawn(HeatMap("t", (), ("row",), ("a",) * 20, (cells,)))
    [cells] = picture.axes[0].collections
    shades = cells.get_facecolors()[:, 3]
    numbers = [text for text in picture.axes[0].texts if text.get_text()]
    colours = [text.get_color() for text in numbers]
    assert len(shades) == len(colours) == 20
    for page, counterpart in (("#ffffff", lambda colour: colour), (DARK["#ffffff"], DARK.get)):
        cell, background = np.array(to_rgb(counterpart(style.CELLS))), np.array(to_rgb(page))
        for shade, colour in zip(shades, colours, strict=True):
            blend = shade * cell + (1 - shade) * background
            assert contrast(blend, counterpart(colour)) >= 4.5, (shade, colour)


def test_what_may_be_nothing_is_pale_and_framed_and_leaves_the_others_dark():
    noise, clear = near("noise", 30.0, 40.0), near("clear", 0.2, 0.05)
    picture = drawn(HeatMap("t", (), ("row",), ("a", "b"), ((noise, clear),)))
    [cells] = picture.axes[0].collections
    assert list(cells.get_facecolors()[:, 3]) == pytest.approx([0.15 * 0.78, 1])
    framed, plain = cells.get_edgecolors()
    assert tuple(framed) == to_rgba(QUIET)
    assert plain[3] == 0
    assert dashed([cells])


def test_numbers_of_all_cells_are_written_alike_or_not_at_all():
    def cells(size, width):
        values = [near(f"{i}", 0.05 * i, 0.02) for i in range(size)]
        names = tuple(f"n{i}" for i in range(size))
        picture = drawn(HeatMap("t", (), ("row",), names, (tuple(values),)), width=width)
        numbers = [plain(text.get_text()) for text in picture.axes[0].texts]
        return ["in %"] * ("in %" in words(picture)) + numbers

    assert cells(3, WIDE) == ["0.0 %", "5.0 %", "10.0 %"]
    assert cells(16, WIDE)[:3] == ["in %", "0", "5"]
    assert cells(20, NARROW) == []


def test_categories_and_curves_differ_by_more_than_colour():
    looks = marked(figure("itemsets"), *style.SHAPES)
    assert len({(line.get_marker(), line.get_markerfacecolor() == PAGE) for line in looks}) == 3
    curves = marked(figure("curves"), *style.SHAPES)
    assert len({(curve.get_marker(), curve.get_linestyle()) for curve in curves}) == 6


def test_every_value_is_within_its_axis():
    chart = CHARTS["itemsets"]
    places = dots(figure("itemsets"))
    assert len(places) == len(chart.rows)
    # One that is outside would stand at the end of the axis, as others.
    assert places == sorted(set(places))
    left, _, right, _ = extent(figure("itemsets"), figure("itemsets").axes[0])
    assert left <= places[0] < places[-1] <= right


def test_bars_begin_at_zero():
    logarithmic = chart_of(near("a", 5, 0.1), axis=Axis("", scale="log"), bars=True)
    for picture, zero in ((figure("overview"), "0 %"), (drawn(logarithmic), "0")):
        edges = [extent(picture, bar)[::2] for bar in bars_of(picture, BAR)]
        assert edges
        for left, right in edges:
            start = middle(picture, zero)
            assert min(abs(left - start), abs(right - start)) < 0.5


def test_an_interval_that_leaves_the_axis_ends_in_an_arrow():
    odds = Mark("odds ratio", 8, -4, 20), Mark("other", 5, 0.1, 30)
    assert arrows(drawn(chart_of(*odds, axis=Axis("ratio", scale="log")))) == ["<"]
    low, high = Mark("low", 0.01, -0.3, 0.3), Mark("high", 0.9, 0.2, float("inf"))
    assert [arrows(drawn(chart_of(mark))) for mark in (low, high)] == [["<"], [">"]]
    assert arrows(drawn(chart_of(near("inside", 0.5, 0.4)))) == []


def test_one_very_long_interval_does_not_hide_the_others():
    around = [near(str(i), 0.1 * i, 0.05) for i in range(5)]
    picture = drawn(chart_of(*around, near("x", 0.2, 1e6), axis=Axis("points")))
    assert dots(picture)[-1] - dots(picture)[0] > 50


def test_what_is_undefined_is_a_word_with_its_reason_and_no_mark():
    chart = chart_of(Mark("a", reason="no respondents"), Mark("b"))
    assert {"undefined: no respondents", "undefined"} <= set(texts(to_svg(chart)))
    assert "a undefined: no respondents; b undefined" in chart.description
    assert dots(drawn(chart)) == []
    assert "in %; undefined: the column does not vary" in texts(svg("grid"))


def test_an_interval_within_is_thicker_and_named():
    inner, outer = (intervals_of(figure("overview"), colour) for colour in (style.INNER, INK))
    assert inner[0].get_linewidths()[0] > 2 * max(each.get_linewidths()[0] for each in outer)
    assert len(inner[0].get_segments()) == 1
    assert INNER_LABEL in texts(svg("overview"))
    assert INNER_LABEL not in to_svg(EstimateChart("t", (), (), "", bars=True))


def test_more_rows_make_a_higher_picture_until_it_is_cut_and_says_so():
    def chart(count):
        some = [near(f"cell {i}", i / count, 0.1) for i in range(count)]
        groups = (bars("one", *some[:50]), bars("other", *some[50:]))
        return EstimateChart("t", (), groups, "", bars=True)

    figures = [drawn(chart(count), whole=False) for count in (1, 40, MOST_ROWS, 5000)]
    heights = [each.get_figheight() for each in figures]
    assert heights[:3] == sorted(set(heights[:3]))
    # At 96 to the inch, less than the longest page that may be asked for.
    assert heights[3] < heights[2] + 1 < 50
    cut = words(figures[3])
    assert "Not drawn: 4 900 more rows." in map(plain, cut)
    assert f"cell {MOST_ROWS - 1}" in cut
    assert f"cell {MOST_ROWS}" not in cut


def test_large_grids_and_many_curves_are_cut_and_say_so():
    assert "Not drawn: 5 more rows or columns." in words(drawn(grid(MOST_NAMES + 5), whole=False))
    curves = tuple(Curve(f"curve {i}", (1, 2), (i, i)) for i in range(MOST_CURVES + 1))
    cut = words(drawn(CurveChart("t", (), Axis("x"), Axis("y"), curves), whole=False))
    assert "Not drawn: 1 more curves." in cut
    assert f"curve {MOST_CURVES - 1}" in cut
    assert f"curve {MOST_CURVES}" not in cut


@pytest.mark.parametrize(
    "chart",
    [
        EstimateChart("Nothing", ("No itemset was found.",), (), ""),
        EstimateChart("Nothing", (), (bars("empty"),), "", bars=True),
        CurveChart("Nothing", (), Axis("x"), Axis("y", scale="log"), (Curve("c", (1,), (None,)),)),
        CurveChart("Nothing", (), Axis("x"), Axis("y"), ()),
        CurveChart("Nothing", (), Axis("x", scale="log"), Axis("y"), (Curve("c", (), ()),)),
        HeatMap("Nothing", (), (), (), ()),
    ],
)
def test_nothing_is_a_picture_with_a_title(chart):
    assert "Nothing" in texts(to_svg(chart))
    assert chart.description.startswith("Nothing.")


def test_labels_are_text_whatever_is_in_them():
    odd = ("price=5 $ to $10 & <b>", "city=東京", r"x=a\b", "مدينة=القاهرة", "a=]]>")
    drawing = to_svg(chart_of(*(near(label, 0.1, 0.01) for label in odd)))
    assert {*odd} <= set(texts(drawing))
    assert "$x$ <i>" in texts(to_svg(EstimateChart("$x$ <i>", (), (), "")))


@pytest.mark.parametrize(("width", "pixels"), [(WIDE, 640), (NARROW, 300)])
def test_a_frame_shows_all_of_a_chart_in_letters_that_can_be_read(width, pixels):
    for name in CHARTS:
        drawing = ElementTree.fromstring(to_svg(CHARTS[name], width))
        left, top, wide, _ = map(float, drawing.get("viewBox").split())
        assert (left, top) == (0, 0)
        assert SIZE * pixels / wide >= 11
        assert drawing.get("class") == ("chart-wide" if width == WIDE else "chart-narrow")


def test_labels_keep_their_side_in_another_font():
    ends = [e.text for e in root("itemsets").iter(f"{SVG}text") if e.get("text-anchor") == "end"]
    assert {"age=(15-35]", "sex=Male", "fnlwgt=(1e5-2e5]"} <= set(ends)


def test_png_is_a_picture_of_sensible_size(tmp_path):
    file = tmp_path / "chart.PNG"
    render(CHARTS["measures"], file)
    with Image.open(file) as picture:
        dots = picture.width / figure("measures").get_figwidth()
        assert picture.format == "PNG"
        assert picture.text["Description"] == CHARTS["measures"].description
    for name in CHARTS:
        width, height = dots * figure(name).get_size_inches()
        assert 1000 < width < 3000
        assert 400 < height < 6000


@pytest.mark.parametrize(
    ("ending", "magic"), [(".svg", b"<svg"), (".png", b"\x89PNG"), (".pdf", b"%PDF")]
)
def test_the_same_chart_gives_the_same_bytes(ending, magic, tmp_path):
    for file in ("one", "other"):
        render(CHARTS["small grid"], tmp_path / f"{file}{ending}")
    one, other = ((tmp_path / f"{file}{ending}").read_bytes() for file in ("one", "other"))
    assert one == other
    assert one.startswith(magic)


def test_drawing_in_several_threads_gives_the_same():
    names = ["overview", "small grid"] * 2
    with ThreadPoolExecutor(4) as pool:
        again = pool.map(to_svg, [CHARTS[name] for name in names])
        assert list(again) == [svg(name) for name in names]


def test_drawing_leaves_the_settings_of_matplotlib_alone():
    with mpl.rc_context({"font.size": 30, "text.parse_math": True}):
        before = dict(mpl.rcParams)
        drawing = to_svg(CHARTS["measures"])
        assert dict(mpl.rcParams) == before
    assert drawing == svg("measures")
    png = draw(CHARTS["measures"])._repr_png_()
    with mpl.rc_context({"font.size": 30, "figure.facecolor": "black", "axes.grid": True}):
        assert draw(CHARTS["measures"])._repr_png_() == png


@pytest.mark.parametrize("name", ["chart", "chart.jpg", "", ".svg", "chart.svg.gz"])
def test_another_ending_gets_one_line_that_names_those_accepted(name, tmp_path):
    with pytest.raises(ParameterError, match=r"plot: expected .*\.svg, \.png, \.pdf") as caught:
        check_file(tmp_path / "folder" / name)
    assert caught.value.field == "plot"
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("file", ["nowhere/chart.svg", "a\0b.svg", "folder.svg"])
def test_a_file_that_cannot_be_written_gets_one_line(file, tmp_path):
    (tmp_path / "folder.svg").mkdir()
    with pytest.raises(ParameterError, match="plot: expected a file that can be written") as caught:
        render(CHARTS["overview"], tmp_path / file)
    assert caught.value.field == "plot"
    assert "\n" not in str(caught.value)
