"""Charts as files and as parts of pages: SVG, PNG or PDF.

SVG for pages has a text alternative, and nothing that a content security policy blocks: a policy
without ``unsafe-inline`` ignores style elements and style attributes, but not the presentation
attributes that say the same.
"""

import io
import re
import threading
import warnings
from pathlib import Path
from xml.dom import minidom

from halftruth_shared import ParameterError
from halftruth_shared.analyses.charts import Chart, shortened

from ..errors import NotAcceptable

try:
    import matplotlib as mpl
    from halftruth_shared.analyses.charts.drawing import figure_of
    from halftruth_shared.analyses.charts.sheet import INK, NARROW, SETTINGS, SIZE, WIDE, Drawn
except ImportError:
    raise NotAcceptable(
        "charts: expected Matplotlib, which is not installed here"
        " (pip install 'halftruth-collector[plot]')"
    ) from None

__all__ = ["NARROW", "WIDE", "check_file", "picture", "render", "to_svg"]

#: File name endings of the formats, each without metadata of when and by what it was drawn.
_FORMATS: dict[str, dict[str, str | None]] = {
    ".svg": {"Creator": None, "Date": None, "Format": None, "Type": None},
    ".png": {"Software": None},
    ".pdf": {"Creator": None, "Producer": None, "CreationDate": None},
}

_DOTS_PER_INCH = 200

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
    content = picture(chart, ending)
    try:
        Path(file).write_bytes(content)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ParameterError(
            f"plot: expected a file that can be written, in a folder that exists; got '{file}':"
            f" {reason}",
            field="plot",
        ) from None


def picture(chart: Chart, ending: str) -> bytes:
    """A chart as the content of a file whose name ends in ".svg", ".png" or ".pdf"."""
    return to_svg(chart).encode() if ending == ".svg" else _drawn(shortened(chart), ending)[0]


def to_svg(chart: Chart, width: float = WIDE, *, caption: bool = True) -> str:
    """A chart, with or without title and notes, as an ``svg`` element for pages.

    It has a title and a description, its text is text, and it holds no styles and no scripts. Every
    place that says something has it as its name, and can be reached by keyboard.
    """
    chart = shortened(chart)
    drawn, figure = _drawn(chart, ".svg", width, caption=caption)
    # It was drawn here, so it holds no entities that explode.
    with minidom.parseString(drawn) as document:  # noqa: S318
        svg = document.getElementsByTagName("svg")[0]

        def add(parent: minidom.Element, name: str, text: str, **attributes: object) -> None:
            element = document.createElement(name)
            for attribute, value in attributes.items():
                element.setAttribute(attribute.replace("_", "-"), str(value))
            element.appendChild(document.createTextNode(text))
            parent.insertBefore(element, parent.firstChild)

        for name in ("metadata", "style", "defs"):
            for element in svg.getElementsByTagName(name):
                if element.parentNode is not None:
                    element.parentNode.removeChild(element)
        for element in [svg, *svg.getElementsByTagName("*")]:
            _spread_style(element)
            hint = figure.hints.get(element.getAttribute("id"))
            # Pages with several charts would have names twice.
            if element.hasAttribute("id"):
                element.removeAttribute("id")
            if hint:
                element.setAttribute("class", "hint")
                element.setAttribute("tabindex", "0")
                element.setAttribute("role", "img")
                element.setAttribute("aria-label", hint)
                if figure.hint_at:
                    x, y = figure.hint_at
                    how = {"font_size": SIZE, "font_family": "sans-serif", "fill": INK}
                    add(element, "text", hint, x=x, y=y, visibility="hidden", **how)
                add(element, "title", hint)
        svg.setAttribute("role", "group" if figure.hints else "img")
        svg.setAttribute("aria-label", chart.title)
        svg.setAttribute("stroke-linejoin", "round")
        svg.setAttribute("class", "chart-wide" if width > NARROW else "chart-narrow")
        add(svg, "desc", chart.description)
        add(svg, "title", chart.title)
        return svg.toxml()


def _spread_style(element: minidom.Element) -> None:
    """Turn the style attribute into presentation attributes."""
    for name, value in re.findall(r"([\w-]+)\s*:\s*([^;]+)", element.getAttribute("style")):
        element.setAttribute(name, value.strip())
    if element.hasAttribute("style"):
        element.removeAttribute("style")


def _drawn(
    chart: Chart, ending: str, width: float = WIDE, *, caption: bool = True
) -> tuple[bytes, Drawn]:
    metadata = dict(_FORMATS[ending])
    if ending == ".png":
        metadata |= {"Title": chart.title, "Description": chart.description}
    if ending == ".pdf":
        metadata |= {"Title": chart.title, "Subject": chart.description}
    drawn = io.BytesIO()
    with _drawing, mpl.rc_context(), warnings.catch_warnings():
        # The reader's fonts may well have what the font here lacks.
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        mpl.rcdefaults()
        mpl.rcParams.update(SETTINGS)
        figure = figure_of(chart, width, caption=caption)
        figure.savefig(
            drawn, format=ending.removeprefix("."), dpi=_DOTS_PER_INCH, metadata=metadata
        )
    return drawn.getvalue(), figure
