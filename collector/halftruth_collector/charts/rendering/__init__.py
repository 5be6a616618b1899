"""Charts drawn with Matplotlib, as SVG, PNG or PDF."""

import io
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import matplotlib as mpl
from halftruth_shared import ParameterError

from ..specification import BarChart, Chart, CurveChart, HeatMap
from .accessible_svg import accessible
from .curves import curve_blocks
from .grid import grid_blocks
from .page import Block, page, paragraph, set_style, space
from .rows import bar_blocks, whisker_blocks

__all__ = ["check_file", "render", "to_svg"]

#: File name endings of the formats, each without metadata of when and by what it was drawn.
_FORMATS: dict[str, dict[str, str | None]] = {
    ".svg": {"Creator": None, "Date": None, "Format": None, "Type": None},
    ".png": {"Software": None},
    ".pdf": {"Creator": None, "Producer": None, "CreationDate": None},
}

_DOTS_PER_INCH = 200
_MOST_DOTS = 20_000

# Matplotlib is made for one thread, and has one set of settings for all.
_drawing = threading.Lock()


def check_file(file: str | Path) -> str:
    """The ending of a picture's file name, such as ".svg".

    Raises
    ------
    ParameterError
        If pictures of that ending cannot be drawn.
    """
    ending = Path(file).suffix.lower()
    if ending not in _FORMATS:
        raise ParameterError(
            f"plot: expected a file name that ends in one of: {', '.join(_FORMATS)}; got '{file}'",
            field="plot",
        )
    return ending


def render(chart: Chart, file: str | Path) -> None:
    """Draw a chart into a file, in the format of its ending: .svg, .png or .pdf.

    The same chart gives the same bytes.

    Raises
    ------
    ParameterError
        If the ending is another one, or the file cannot be written.
    """
    ending = check_file(file)
    picture = to_svg(chart).encode() if ending == ".svg" else _drawn(chart, ending)
    try:
        Path(file).write_bytes(picture)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ParameterError(
            f"plot: expected a file that can be written, in a folder that exists; got '{file}':"
            f" {reason}",
            field="plot",
        ) from None


def to_svg(chart: Chart) -> str:
    """A chart as an ``svg`` element for pages.

    It has a title and a description, its text is text, and it holds no styles and no scripts.
    """
    return accessible(_drawn(chart, ".svg").decode(), chart.title, chart.description)


def _drawn(chart: Chart, ending: str) -> bytes:
    metadata = dict(_FORMATS[ending])
    if ending == ".png":
        metadata |= {"Title": chart.title, "Description": chart.description}
    if ending == ".pdf":
        metadata |= {"Title": chart.title, "Subject": chart.description}
    picture = io.BytesIO()
    with _settings():
        figure = page(_blocks(chart))
        # Memory is not without end, which very many long labels would ask for.
        dots = min(_DOTS_PER_INCH, _MOST_DOTS / figure.get_figheight())
        figure.savefig(picture, format=ending.removeprefix("."), dpi=dots, metadata=metadata)
    return picture.getvalue()


@contextmanager
def _settings() -> Iterator[None]:
    """Matplotlib with our settings only, whatever the user's are."""
    with _drawing, mpl.rc_context(), warnings.catch_warnings():
        # The reader's fonts may well have what the font here lacks.
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        set_style()
        yield


def _blocks(chart: Chart) -> list[Block]:
    """The parts of the page, from above."""
    above = [
        paragraph(chart.title, title=True),
        *(paragraph(note) for note in chart.notes),
        space(0.15),
    ]
    if isinstance(chart, CurveChart):
        return [*above, *curve_blocks(chart)]
    if isinstance(chart, HeatMap):
        return [*above, *grid_blocks(chart)]
    if isinstance(chart, BarChart):
        return [*above, *bar_blocks(chart)]
    return [*above, *whisker_blocks(chart)]
