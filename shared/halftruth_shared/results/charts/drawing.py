"""Charts as Matplotlib figures: forest plots, bars, heat maps and curves.

One layout serves files and notebooks. By default a figure is `WIDTH` inches wide and as high as its
rows need. Matplotlib's constrained layout makes room for labels and legends.
"""

import io
import textwrap
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, cycle
from typing import Any

import matplotlib as mpl
import numpy as np
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap, to_hex, to_rgb, to_rgba
from matplotlib.figure import Figure, SubFigure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FixedLocator

from ...deadlines import check_deadline
from ...errors import ParameterError
from ..long_table import FREQUENT, Row
from ..wording import number_in_words
from . import (
    DOUBTFUL_LABEL,
    INNER_LABEL,
    OUTER_LABEL,
    Axis,
    Chart,
    CurveChart,
    EstimateChart,
    HeatMap,
    Panel,
    shorten,
)
from .scales import fits, limits, limits_of_rows, ticks

#: Sizes in inches: width of a figure, height of a row, of an axis with its label, of a text line.
WIDTH, _ROW, _AXIS, _LINE = 4.6, 0.24, 0.55, 0.16
#: Margin at the left and right.
_PAD = 0.06
#: Characters of a line over the default width and of a label, at the default font size; and the
#: largest number of lines of a label.
_LETTERS, _LABEL, _LABEL_LINES, _FONT_SIZE = 62, 24, 3, 9.0
#: Limits of the width of a figure and of its height.
_WIDTHS, _HIGHEST = (2.5, 40.0), 100.0
#: Parts of their height that rows need, so that labels do not overlap, and that curves need.
_LEAST_ROWS, _LEAST_CURVES = 0.88, 0.5
#: Limits of the font size.
_FONT_SIZES = (4.0, 40.0)

#: The only colours of drawings without a theme. Their contrast with white is 17, 7, 3.5 and 1.3
#: to 1; texts and data use the first three.
INK, QUIET, BAR, GRID, PAGE = "#1a1a1a", "#595959", "#4a8fc2", "#e2e2e2", "#ffffff"
#: Colours of bars that are not usable, of intervals without perturbation, and of grid cells.
PALE, INNER, CELLS = "#d5dfe8", "#c05a00", "#0b5c8a"
#: Combinations of colours and dashes distinguish more than twenty curves; categories use the first.
CURVES = ("#0072b2", "#c04f00", "#007d5a", "#a8528a", "#7a6000")
_DASHES, _SHAPES = ("-", "--", "-.", ":"), ("o", "D", "v", "s", "^", "P", "X")
_DASHED: Any = (0, (3, 2))

#: Shades of a grid. Texts are white on shades darker than `_DARK`; lighter shades are scaled by
#: `_PALER`, so that dark text is legible. Insignificant cells are at most `_FAINT`. The darkest
#: shade means a share of at least `_LEAST_DARKEST`, so that noise does not look like an effect.
_DARK, _PALER, _FAINT, _LEAST_DARKEST = 0.8, 0.78, 0.15, 0.05

SETTINGS: Any = {
    "font.family": "sans-serif",
    # The first font comes with Matplotlib, and is wide enough for the fonts of readers.
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial", "Helvetica"],
    "font.size": _FONT_SIZE,
    "text.color": INK,
    "text.hinting": "none",  # widths of texts do not depend on the resolution
    "text.parse_math": False,  # categories can contain dollar signs
    **{f"axes.spines.{side}": False for side in ("left", "right", "top", "bottom")},
    **{f"{axis}tick.major.size": 0 for axis in "xy"},
    "xtick.labelcolor": QUIET,
    "ytick.labelcolor": INK,
    "axes.axisbelow": True,
    "axes.facecolor": "none",
    "axes.labelcolor": QUIET,
    "axes.prop_cycle": cycler(color=CURVES),
    "axes.titlelocation": "left",
    "axes.titlesize": "medium",
    "axes.titley": 1.0,
    "axes.titleweight": "bold",
    "figure.facecolor": PAGE,
    "figure.labelsize": "medium",
    "figure.titlesize": "medium",
    "figure.titleweight": "bold",
    "grid.color": GRID,
    "legend.borderaxespad": 0.0,
    "legend.borderpad": 0.2,
    "legend.frameon": False,
    "legend.labelspacing": 0.25,
    "lines.markeredgewidth": 1.2,
    "lines.markersize": 5.0,
    "pdf.fonttype": 42,  # fonts that publishers accept
    "savefig.dpi": 300,
    "svg.fonttype": "none",
}


#: Settings of Matplotlib that change the default ones, by theme.
THEMES: Mapping[str, Mapping[str, Any]] = {
    "light": {},
    # The colours of pages in dark mode.
    "dark": {
        "text.color": "#e8ecf0",
        "xtick.labelcolor": "#a5b1bc",
        "ytick.labelcolor": "#e8ecf0",
        "axes.labelcolor": "#a5b1bc",
        "axes.prop_cycle": cycler(color=("#58b4ee", "#ff9d4d", "#3fc79a", "#e08cc4", "#d4b13c")),
        "figure.facecolor": "#191919",
        "grid.color": "#333c45",
    },
    "grey": {"axes.prop_cycle": cycler(color=("0.25", "0", "0.45", "0.55", "0.35"))},
}

#: What a theme cannot change: texts of surveys are no formulas.
_FIXED: Mapping[str, Any] = {"text.parse_math": False, "text.usetex": False}


@dataclass(frozen=True)
class _Look:
    """Width and colours of a figure, and the length of its lines of text."""

    width: float
    letters: int
    label: int
    #: Height of a text relative to the default font size.
    scale: float
    ink: str
    quiet: str
    page: str
    grid: str
    bar: str
    pale: str
    inner: str
    cells: str
    curves: tuple[str, ...]

    @property
    def reference(self) -> dict[str, Any]:
        """Look of a line at a value that others are compared with."""
        return {"color": self.ink, "linewidth": 1, "linestyle": _DASHED, "zorder": 1}

    def wrap_label(self, words: str) -> str:
        """Wrap the label of a row into a few short lines."""
        hyphens = any(len(word) > self.label for word in words.split())
        how: Any = {"max_lines": _LABEL_LINES, "placeholder": "…", "break_on_hyphens": hyphens}
        return "\n".join(textwrap.wrap(words, self.label, **how))


def _look(width: float) -> _Look:
    """Return the look of a figure by the present settings of Matplotlib."""
    settings = mpl.rcParams
    scale = settings["font.size"] / _FONT_SIZE
    letters = max(12, int(_LETTERS * width / WIDTH / scale))
    curves = tuple(map(to_hex, settings["axes.prop_cycle"].by_key().get("color", CURVES)))
    page = settings["savefig.facecolor"]
    page = to_hex(settings["figure.facecolor"] if page == "auto" else page)
    bar, pale, inner, cells = BAR, PALE, INNER, CELLS
    if (curves, page) != (CURVES, PAGE):
        cells, inner = curves[0], curves[1 % len(curves)]
        # Intervals are dark on bars, and bars dark on the page.
        bar, pale = _mix(cells, page, 0.65), _mix(cells, page, 0.2)
    return _Look(
        width=width,
        letters=letters,
        label=max(8, min(int(letters * _LABEL / _LETTERS), 2 * _LABEL)),
        scale=scale,
        ink=to_hex(settings["text.color"]),
        quiet=to_hex(settings["axes.labelcolor"]),
        page=page,
        grid=to_hex(settings["grid.color"]),
        bar=bar,
        pale=pale,
        inner=inner,
        cells=cells,
        curves=curves,
    )


def _mix(colour: str, page: str, part: float) -> str:
    """Return a paler variant of a colour, which is a part of it on a page."""
    red, green, blue = part * np.array(to_rgb(colour)) + (1 - part) * np.array(to_rgb(page))
    return to_hex((red, green, blue))


class ChartFigure(Figure):
    """Figure with a representation for notebooks, not registered with pyplot.

    `caption` is the text below the figure in a publication: what it shows, of how many reports,
    with which intervals, and the warnings about it.
    """

    def __init__(
        self, *args: Any, caption: str = "", settings: Mapping[str, Any] = SETTINGS, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.caption = caption
        self._settings: Any = dict(settings)

    def savefig(self, *args: Any, **kwargs: Any) -> None:
        """Write the figure to a file, as ``Figure.savefig`` does, with the settings it has."""
        with mpl.rc_context(self._settings):
            super().savefig(*args, **kwargs)

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=150)
        return buffer.getvalue()

    def _ipython_display_(self) -> None:
        """Show the picture in a notebook, with the caption below as text."""
        from html import escape

        from IPython.display import HTML, Image, display

        display(Image(data=self._repr_png_(), alt=self.caption))
        display(HTML(f"<p>{escape(self.caption)}</p>"))


def draw(
    chart: Chart,
    *,
    caption: bool | str = True,
    title: bool | str = True,
    size: float | tuple[float, float] | None = None,
    theme: str | Mapping[str, Any] = "light",
) -> ChartFigure:
    """Draw a chart, shortened if it is too long.

    `Result.plot` describes the parameters. Without a caption, pages and notebooks show it as text.
    """
    width, height = _parse_size(size)
    with mpl.rc_context():
        mpl.rcdefaults()
        settings = _apply_theme(theme)
        look, chart = _look(width), shorten(chart)
        title = chart.title if title is True else title or ""
        notes = list(chart.notes) if caption is True else [caption] if caption else []
        text = chart.description if isinstance(caption, bool) else caption
        figure = ChartFigure(caption=text, settings=settings, facecolor=look.page)
        _lay_out(figure, chart, title, notes, look, height)
        return figure


def _parse_size(size: float | tuple[float, float] | None) -> tuple[float, float | None]:
    """Return the width and the height, None if the rows determine it."""
    given = size if isinstance(size, tuple | list) else (WIDTH if size is None else size, None)
    try:
        width, height = (side if side is None else float(side) for side in given)
        if (
            width is not None
            and _WIDTHS[0] <= width <= _WIDTHS[1]
            and (height is None or 0 < height <= _HIGHEST)
        ):
            return width, height
    except (TypeError, ValueError):
        pass
    raise ParameterError(
        f"size: expected a width in inches from {_WIDTHS[0]:g} to {_WIDTHS[1]:g}, or (width,"
        f" height) with a height up to {_HIGHEST:g}; got {size!r}",
        field="size",
    )


def _apply_theme(theme: str | Mapping[str, Any]) -> Mapping[str, Any]:
    """Change the settings of Matplotlib to those of a theme, and return them."""
    names = ", ".join(THEMES)
    chosen = THEMES.get(theme) if isinstance(theme, str) else theme
    if not isinstance(chosen, Mapping):
        raise ParameterError(
            f"theme: expected one of: {names}; or settings of Matplotlib by name; got {theme!r}",
            field="theme",
        )
    settings = {**SETTINGS, **chosen, **_FIXED}
    try:
        mpl.rcParams.update(settings)
        if not _FONT_SIZES[0] <= mpl.rcParams["font.size"] <= _FONT_SIZES[1]:
            raise ValueError("font.size from {:g} to {:g}".format(*_FONT_SIZES))
    except (KeyError, ValueError, TypeError) as error:
        reason = " ".join(str(error.args[0] if error.args else error).split())
        raise ParameterError(
            f"theme: expected one of: {names}; or settings of Matplotlib by name: {reason}",
            field="theme",
        ) from None
    return settings


def _lay_out(
    figure: Figure,
    chart: Chart,
    title: str,
    notes: Sequence[str],
    look: _Look,
    fixed_height: float | None,
) -> None:
    """Draw a chart with its title and notes into an empty figure, and set its size."""
    height = 0.1
    part: Figure | SubFigure = figure
    if title or notes:
        above = textwrap.wrap(title, look.letters - 6)
        below = [line for note in notes for line in textwrap.wrap(note, look.letters)]
        margin = _PAD / look.width
        figure.suptitle("\n".join(above), x=margin, ha="left")
        figure.supxlabel("\n".join(below), x=margin, ha="left", color=look.quiet)
        height += (len(above) + len(below) + 1) * _LINE
        # Use a subfigure, because title and legend are both placed at the top of their figure.
        [[part]] = figure.subfigures(squeeze=False)
    if isinstance(chart, CurveChart):
        height += _draw_curves(part, chart, look)
    elif isinstance(chart, HeatMap):
        height += _draw_grid(part, chart, look)
    else:
        height += _draw_rows(part, chart, look)
    needed = (height + _draw_legend(part, look)) * look.scale
    least = needed * (_LEAST_CURVES if isinstance(chart, CurveChart) else _LEAST_ROWS)
    if fixed_height is not None and fixed_height < least:
        raise ParameterError(
            f"size: expected a height of at least {np.ceil(10 * least) / 10:.1f} inches for this"
            f" chart; got {fixed_height:g}",
            field="size",
        )
    figure.set_size_inches(look.width, fixed_height or needed)
    check_deadline()
    # It runs twice by itself; running it again moves nothing by more than a pixel.
    ConstrainedLayoutEngine(w_pad=_PAD, h_pad=0.03, hspace=0.0).execute(figure)
    for axes in figure.axes:
        # Round the positions, whose last digits vary between runs.
        axes.set_position(np.round(axes.get_position().bounds, 6))


def _draw_legend(part: Figure | SubFigure, look: _Look) -> float:
    """Draw a legend above all axes; return its height."""
    handles: dict[str, Any] = {}
    for axes in part.axes:
        for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault("\n".join(textwrap.wrap(name, look.letters - 8)), handle)
    if not handles:
        return 0.0
    columns = 2 if len(handles) > 3 and max(map(len, handles)) < look.letters / 2 - 6 else 1
    part.legend(list(handles.values()), list(handles), loc="outside upper left", ncols=columns)
    lines = sum(1 + name.count("\n") for name in handles)
    return (-(-lines // columns) + 0.5) * 1.15 * _LINE


# Rows of estimates


def _draw_rows(part: Figure | SubFigure, chart: EstimateChart, look: _Look) -> float:
    """Draw panels below each other, one row for each estimate; return the height."""
    groups = [[panel] for panel in chart.panels if panel.rows]
    if not groups:
        return 0.0
    if chart.bars:
        # All bars share one linear axis, since bars begin at zero.
        axis = replace(groups[0][0].axis, scale="linear")
        groups = [[replace(panel, axis=axis) for [panel] in groups]]
    all_axes = part.subplots(len(groups), squeeze=False)[:, 0]
    heights = [
        _draw_group(axes, chart, group, look) for axes, group in zip(all_axes, groups, strict=True)
    ]
    all_axes[0].get_gridspec().set_height_ratios(heights)
    return sum(heights)


def _draw_group(axes: Axes, chart: EstimateChart, group: Sequence[Panel], look: _Look) -> float:
    """Draw panels that share an axis; return the height."""
    axis, reference = group[0].axis, group[0].reference
    lines: list[tuple[str, Row | None]] = []
    for panel in group:
        check_deadline()
        if panel.heading and len(group) > 1:
            lines.append((panel.heading, None))
        lines += panel.rows
    if len(group) == 1 and group[0].heading:
        axes.set_title("\n".join(textwrap.wrap(group[0].heading, look.letters - look.label)), x=0)
    rows = [(row, place) for place, (_, row) in enumerate(lines) if row is not None]
    limits = limits_of_rows(chart, [row for row, _ in rows], group[0])
    axes.set(ylim=(len(lines) - 0.5, -0.5))
    axes.set_yticks(range(len(lines)), [look.wrap_label(label) for label, _ in lines])
    for tick, (_, row) in zip(axes.get_yticklabels(), lines, strict=True):
        if row is None:
            tick.set_fontweight("bold")
    _set_axis(axes, "x", axis, limits)
    titled = axes.get_title(loc="left").replace("\n", " ").casefold()
    if axis.label.casefold() != titled:
        axes.set_xlabel("\n".join(textwrap.wrap(axis.label, look.letters - look.label)))
    axes.grid(axis="x")
    if chart.bars or axis.shares:
        axes.axvline(0, color=look.ink if chart.bars else look.quiet, linewidth=0.8, zorder=3)
    if reference:
        axes.axvline(reference.value, label=reference.label, **look.reference)
    _draw_marks(axes, chart, look, [(row, place) for row, place in rows if row.value is not None])
    for row, place in rows:
        if row.value is None:
            words = "undefined" if row.undefined is None else f"undefined: {row.undefined}"
            short: Any = {"max_lines": 2, "placeholder": "…"}
            text = "\n".join(textwrap.wrap(words, look.letters - look.label, **short))
            how: Any = {"va": "center", "color": look.quiet, "in_layout": False}
            axes.text(0.01, place, text, transform=axes.get_yaxis_transform(), **how)
    # The longest label determines the height of all rows.
    folded = max(look.wrap_label(label).count("\n") for label, _ in lines)
    title = axes.get_title("left")
    return (_ROW + 0.9 * _LINE * folded) * len(lines) + _LINE * 1.5 * bool(title) + _AXIS


def _draw_marks(
    axes: Axes, chart: EstimateChart, look: _Look, rows: Sequence[tuple[Row, int]]
) -> None:
    """Draw values as dots or bars, with their intervals in one tone or two.

    An interval that leaves the axis has no cap at that end.
    """
    inner = [(*alone, y) for row, y in rows if (alone := chart.inner(row))]
    outer = OUTER_LABEL if inner else "_"
    # The legend lists usable estimates first, and decisions in their order.
    order, by_look = ["", *FREQUENT], defaultdict(list)
    for row, y in rows:
        by_look[row.doubtful, order.index(chart.category(row))].append((row, y))
    for (doubtful, place), some in sorted(by_look.items(), key=lambda look: look[0]):
        name = DOUBTFUL_LABEL if doubtful else order[place] or "_"
        decided = look.curves[max(place - 1, 0) % len(look.curves)]
        colour = look.quiet if doubtful else look.ink if chart.bars else decided
        dashes: Any = _DASHED if doubtful else "-"
        numbers = [(row.possible, *(row.drawn or (np.nan, np.nan)), y) for row, y in some]
        value, low, high, at = np.array(numbers, float).T
        if chart.bars:
            fill = look.pale if doubtful else look.bar
            edge: Any = {"edgecolor": look.quiet, "linestyle": dashes, "linewidth": 0.6 * doubtful}
            axes.barh(at, value, 0.6, color=fill, label=name, zorder=2, **edge)
        else:
            face = look.page if doubtful or (place % 2 == 0 and place) else colour
            shape = _SHAPES[max(place - 1, 0) % len(_SHAPES)]
            mark: Any = {"color": colour, "markerfacecolor": face, "zorder": 6}
            axes.plot(value, at, shape, label=name, **mark)
        if np.isfinite(low).any():
            line: Any = {"colors": colour, "linewidth": 1.2, "zorder": 4}
            limits = axes.get_xlim()
            within = np.clip([low, high], *limits)
            axes.hlines(at, within[0], within[1], linestyles=dashes, label=outer, **line)
            ends, beside = np.array([*low, *high]), np.array([*at, *at])
            seen = (ends >= limits[0]) & (ends <= limits[1])
            axes.vlines(ends[seen], beside[seen] - 0.18, beside[seen] + 0.18, **line)
    if inner:
        low, high, at = np.array(inner).T
        axes.hlines(at, low, high, colors=look.inner, linewidth=2.8, zorder=4, label=INNER_LABEL)


# Curves and grids


def _draw_curves(part: Figure | SubFigure, chart: CurveChart, look: _Look) -> float:
    """Draw all curves on one pair of axes; return the height."""
    axes, x_axis, y_axis = part.subplots(), chart.x_axis, chart.y_axis
    drawn = [
        [(x, y) for x, y in curve.defined_points if fits(x, x_axis) and fits(y, y_axis)]
        for curve in chart.curves
    ]
    along = [x for x, _ in chain(*drawn)] + [0.0] * x_axis.shares
    up = [y for _, y in chain(*drawn)] + [0.0] * (y_axis.shares or y_axis.counted)
    if chart.x_marker:
        along.append(chart.x_marker.value)
        axes.axvline(along[-1], label=chart.x_marker.label, **look.reference | {"linestyle": ":"})
    if chart.y_marker:
        up.append(chart.y_marker.value)
        axes.axhline(up[-1], label=chart.y_marker.label, **look.reference)
    _set_axis(axes, "x", x_axis, limits(x_axis, along, ()))
    _set_axis(axes, "y", y_axis, limits(y_axis, up, chain(*(c.ends for c in chart.curves))))
    axes.grid(axis="both")
    # A single curve with the name of its axis needs no legend.
    alone = [curve.name for curve in chart.curves] == [y_axis.label]
    styles = zip(cycle(look.curves), cycle(_DASHES), cycle(_SHAPES), strict=False)
    for (colour, dashes, shape), curve, known in zip(styles, chart.curves, drawn, strict=False):
        step = 1 if curve.ends else max(1, len(known) // 8)
        style: Any = {"color": colour, "linestyle": dashes, "marker": shape, "markevery": step}
        name = "_" if alone else curve.name
        axes.plot(*np.reshape(known, (-1, 2)).T, label=name, linewidth=1.6, mew=0, **style)
        whiskers = [(x, *ends) for x, ends in zip(curve.x, curve.ends, strict=False) if ends]
        if whiskers:
            at, low, high = np.transpose(whiskers)
            line: Any = {"color": colour, "elinewidth": 1.2, "capsize": 2.5, "fmt": "none"}
            axes.errorbar(at, (low + high) / 2, (high - low) / 2, **line)
    axes.set_title("\n".join(textwrap.wrap(y_axis.label, look.letters)), fontweight="normal", x=0)
    axes.set_xlabel("\n".join(textwrap.wrap(x_axis.label, look.letters)))
    return 2.9


def _draw_grid(part: Figure | SubFigure, chart: HeatMap, look: _Look) -> float:
    """Draw shares in a grid, the darker the larger; return the height."""
    if not chart.rows or not chart.columns:
        return 0.0
    axes, many = part.subplots(), len(chart.columns)
    known = [cell for row in chart.cells for cell in row if cell and cell.value is not None]
    is_share = all(cell.of.style == "share" for cell in known)
    clear = [cell.possible or 0.0 for cell in known if not chart.is_pale(cell)]
    darkest = max([_LEAST_DARKEST, *clear])
    shades = np.array([[_shade(chart, cell, darkest) for cell in row] for row in chart.cells])
    opacity = np.linspace(0, 1, 101)
    opacity = np.where(opacity > _DARK, opacity, opacity * _PALER)
    colours = ListedColormap([to_rgba(look.cells, each) for each in opacity], bad=look.grid)
    across, down = np.arange(many + 1), np.arange(len(chart.rows) + 1)
    mesh: Any = {"vmin": 0, "vmax": 1, "edgecolors": look.page, "linewidth": 1}
    axes.pcolormesh(across, down, np.ma.masked_invalid(shades), cmap=colours, **mesh)
    # By the number of columns, all numbers have decimals, are whole, or are omitted.
    if many <= 14:
        for row, place in _placed(chart.cells):
            blank = chart.tested and chart.is_pale(row)
            if row.value is not None and not blank:
                text = chart.brief(row) if many > 5 else number_in_words(row, row.of)
                ink = look.page if shades[place] > _DARK else look.ink
                x, y = place[1] + 0.5, place[0] + 0.5
                axes.text(x, y, text, ha="center", va="center", color=ink, in_layout=False)
    axes.set(ylim=(len(chart.rows), 0))
    axes.set_yticks(down[:-1] + 0.5, [look.wrap_label(name) for name in chart.rows])
    upright = many * max(map(len, chart.columns)) > look.letters - look.label
    names = [look.wrap_label(name) if upright else name for name in chart.columns]
    axes.set_xticks(across[:-1] + 0.5, names, rotation=90 * upright)
    axes.tick_params(labeltop=True, labelbottom=False, labelcolor=look.ink)
    reasons = sorted({c.undefined for row in chart.cells for c in row if c and c.undefined})
    under = ["in percent"] * (is_share and 5 < many <= 14) + [
        f"undefined: {'; '.join(reasons)}"
    ] * bool(reasons)
    about = " ".join([chart.legend, "; ".join(under)])
    lines = textwrap.wrap(about, look.letters - look.label)
    axes.set_xlabel("\n".join(lines))
    head = max(len(line) for name in names for line in name.split("\n")) * 0.08 if upright else 0.2
    return 0.35 * len(chart.rows) + head + _LINE * (len(lines) + 1)


def _placed(
    cells: Sequence[Sequence[Row | None]],
) -> Iterator[tuple[Row, tuple[int, int]]]:
    return ((cell, (i, j)) for i, row in enumerate(cells) for j, cell in enumerate(row) if cell)


def _shade(chart: HeatMap, cell: Row | None, darkest: float) -> float:
    """Return the shade of a cell from 0 to 1; NaN without a cell."""
    if cell is None:
        return np.nan
    if chart.tested and chart.is_pale(cell):
        return 0.0
    return float(np.clip((cell.possible or 0.0) / darkest, 0, _FAINT if chart.is_pale(cell) else 1))


# Axes


def _set_axis(axes: Axes, name: str, axis: Axis, limits: tuple[float, float]) -> None:
    """Set scale, limits and ticks of the axis `name` ("x" or "y")."""
    axes.set(**{f"{name}scale": axis.scale, f"{name}lim": limits})
    axes.minorticks_off()
    drawn = axes.xaxis if name == "x" else axes.yaxis
    drawn.set_major_locator(FixedLocator(ticks(axis, limits)))
    drawn.set_major_formatter(lambda value, _: axis.written(value))
