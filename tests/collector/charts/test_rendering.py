"""Pictures of charts: readable, accessible and honest, whatever the numbers are."""

from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import combinations
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
    shortened,
)
from halftruth_shared.analyses.charts.drawing import SETTINGS, figure_of
from matplotlib.colors import to_rgb
from PIL import Image

# The reader's fonts have what Matplotlib's lacks.
pytestmark = pytest.mark.filterwarnings("ignore:Glyph .* missing from font")

SVG = "{http://www.w3.org/2000/svg}"
SUPPORT = Axis("support", shares=True)
LONG = "Have you, in the last twelve months, taken home something that belongs to the company?"
UNBROKEN = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft" * 2


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
    "small grid": grid(3),
    "grid": grid(9),
}


def drawn(chart, whole=True):
    """The figure of a chart as Matplotlib lays it out; with its texts alone it is quicker."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(SETTINGS)
        figure = figure_of(shortened(chart))
        if whole:
            figure.draw_without_rendering()
    return figure


@cache
def figure(name):
    return drawn(CHARTS[name])


@cache
def svg(name):
    return to_svg(CHARTS[name])


@cache
def root(name):
    return ElementTree.fromstring(svg(name))


def shown(figure):
    """Every text that is drawn."""
    texts = [*figure.texts]
    legends = [*figure.legends]
    for axes in figure.axes:
        texts += axes.texts
        legends += [axes.get_legend()] if axes.get_legend() else []
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            ticks = [tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
            parts = [axis.label, *(label for tick in ticks for label in (tick.label1, tick.label2))]
            texts += parts if axes.axison else []
    texts += [text for legend in legends for text in legend.get_texts()]
    return [text for text in texts if text.get_visible() and text.get_text().strip()]


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


@pytest.mark.parametrize("name", CHARTS)
def test_no_text_leaves_the_picture_or_runs_into_another(name):
    page = figure(name).bbox
    boxes = [(text.get_text(), text.get_window_extent()) for text in shown(figure(name))]
    assert len(boxes) > 5
    for words, box in boxes:
        assert -1 <= box.x0 < box.x1 <= page.x1 + 1, words
        assert -1 <= box.y0 < box.y1 <= page.y1 + 1, words
    for (words, box), (others, other) in combinations(boxes, 2):
        wide = min(box.x1, other.x1) - max(box.x0, other.x0)
        high = min(box.y1, other.y1) - max(box.y0, other.y0)
        # Boxes of lines have room for accents above and tails below.
        assert wide < 1 or high < 5, (words, others)


@pytest.mark.parametrize("name", CHARTS)
def test_svg_has_every_label_as_text_and_a_text_alternative(name):
    chart, drawing = CHARTS[name], root(name)
    assert drawing.tag == f"{SVG}svg"
    assert drawing.get("role") == "img"
    assert [drawing[0].tag, drawing[0].text] == [f"{SVG}title", chart.title]
    assert [drawing[1].tag, drawing[1].text] == [f"{SVG}desc", chart.description]
    together = "".join(texts(svg(name))).replace(" ", "")
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


def test_letters_stand_out_from_their_cell():
    values = np.linspace(-0.1, 1, 20)
    cells = tuple(near(f"cell {i}", float(v), 0.01) for i, v in enumerate(values))
    [axes] = drawn(HeatMap("t", (), ("row",), tuple(map(str, range(20))), (cells,))).axes
    for patch, text in zip(axes.patches, axes.texts, strict=True):
        assert contrast(patch.get_facecolor()[:3], text.get_color()) >= 4.5


def test_what_may_be_nothing_is_pale_and_framed_and_leaves_the_others_dark():
    noise, clear = near("noise", 30.0, 40.0), near("clear", 0.2, 0.05)
    [axes] = drawn(HeatMap("t", (), ("row",), ("a", "b"), ((noise, clear),))).axes
    pale, dark = axes.patches
    assert contrast(pale.get_facecolor()[:3], "white") < 2
    assert contrast(dark.get_facecolor()[:3], "white") > 6
    assert [patch.get_linestyle() in ("-", "solid") for patch in (pale, dark)] == [False, True]


def test_categories_and_curves_differ_by_more_than_colour():
    [axes] = figure("itemsets").axes
    handles = axes.get_legend().legend_handles
    assert len({(h.get_marker(), h.get_markerfacecolor() == "white") for h in handles}) == 3
    [axes] = figure("curves").axes
    lines = [line for line in axes.lines if line.get_marker() not in (None, "None", "")]
    assert len({(line.get_marker(), line.get_linestyle()) for line in lines}) == 6


@pytest.mark.parametrize("name", ["overview", "itemsets", "measures"])
def test_every_value_is_within_its_axis(name):
    chart = CHARTS[name]
    panels = [rows(chart)] if name == "overview" else [panel.rows for panel in chart.panels]
    for axes, panel in zip(figure(name).axes, panels, strict=True):
        low, high = axes.get_xlim()
        assert all(low < row.value < high for row in panel if row.value is not None)


def test_bars_begin_at_zero():
    logarithmic = chart_of(near("a", 5, 0.1), axis=Axis("", scale="log"), bars=True)
    for picture in (figure("overview"), drawn(logarithmic)):
        [axes] = picture.axes
        low, high = axes.get_xlim()
        assert low < 0 < high
        assert axes.get_xscale() == "linear"
        assert all(0 in bar.get_bbox().intervalx for bar in axes.patches)


def test_an_interval_that_leaves_the_axis_ends_in_an_arrow():
    def arrows(axes):
        return {(line.get_marker(), *line.get_xdata()) for line in axes.lines}

    axes = figure("measures").axes[1]
    low = axes.get_xlim()[0]
    assert low > 0
    assert ("<", low) in arrows(axes)
    shares = [near(str(i), 0.5, 0.02) for i in range(5)]
    [axes] = drawn(chart_of(*shares, Mark("far", 0.5, 0.2, float("inf")))).axes
    assert (">", axes.get_xlim()[1]) in arrows(axes)


def test_one_very_long_interval_does_not_hide_the_others():
    around = [near(str(i), 0.1 * i, 0.05) for i in range(5)]
    [axes] = drawn(chart_of(*around, near("x", 0.2, 1e6))).axes
    low, high = axes.get_xlim()
    assert high - low < 5


def test_what_is_undefined_is_a_word_with_its_reason_and_no_mark():
    chart = chart_of(Mark("a", reason="no respondents"), Mark("b"))
    assert {"undefined: no respondents", "undefined"} <= set(texts(to_svg(chart)))
    assert "a undefined: no respondents; b undefined" in chart.description
    [axes] = drawn(chart).axes
    assert not [line for line in axes.lines if line.get_marker() in ("o", "<", ">")]
    assert "Undefined: the column does not vary." in texts(svg("grid"))


def test_an_interval_within_is_thicker_and_named():
    widths = [float(c.get_linewidth()[0]) for c in figure("overview").axes[0].collections]
    assert max(widths) > 2 * min(widths)
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


def test_a_narrow_screen_shows_all_of_it():
    for name in ("itemsets", "overview", "measures", "curves"):
        left, top, width, _ = map(float, root(name).get("viewBox").split())
        assert (left, top) == (0, 0)
        # At 300 px, which a phone of 360 has beside its margins, letters are 7.6 px high or more.
        assert 9.5 * 300 / width >= 7.6


def test_texts_keep_their_side_in_another_font():
    drawn = [e for e in root("overview").iter(f"{SVG}text") if (e.text or "").endswith(")")]
    ends = [e for e in drawn if e.get("text-anchor") == "end"]
    assert len(ends) >= sum(row.interval is not None for row in rows(CHARTS["overview"]))


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
