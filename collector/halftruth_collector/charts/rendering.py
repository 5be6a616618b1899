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
from xml.etree import ElementTree

from halftruth_shared import ParameterError
from halftruth_shared.results.charts import Chart

from ..errors import NotAcceptable

try:
    import matplotlib as mpl
    from halftruth_shared.results.charts.drawing import SETTINGS, draw
except ImportError:
    raise NotAcceptable(
        "charts: expected Matplotlib, which is not installed here"
        " (pip install 'halftruth-collector[plot]')"
    ) from None

#: File name endings of the formats, each without metadata of when and by what it was drawn.
_FORMATS: dict[str, dict[str, str | None]] = {
    ".svg": {"Creator": None, "Date": None, "Format": None, "Type": None},
    ".png": {"Software": None},
    ".pdf": {"Creator": None, "Producer": None, "CreationDate": None},
}

_SVG = "{http://www.w3.org/2000/svg}"
ElementTree.register_namespace("", _SVG[1:-1])
ElementTree.register_namespace("xlink", "http://www.w3.org/1999/xlink")

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
    """Return a chart as the content of a file whose name ends in ".svg", ".png" or ".pdf"."""
    return to_svg(chart).encode() if ending == ".svg" else _drawn(chart, ending, caption=True)


def to_svg(chart: Chart, *, caption: bool = True) -> str:
    """Return a chart, with or without title and notes, as an ``svg`` element for pages.

    Its text is text, and it holds no styles and no scripts. It is one image with a name and a
    description; the table beside it is its text alternative.
    """
    # It was drawn here, so it holds no entities that explode.
    svg = ElementTree.fromstring(_drawn(chart, ".svg", caption=caption))  # noqa: S314
    for parent in [svg, *svg.iter(f"{_SVG}defs")]:
        parent[:] = [each for each in parent if not each.tag.endswith(("}metadata", "}style"))]
    # Shapes that are used again need their names, and look as where they are used.
    unseen = [each for each in svg.iter() if each.tag.endswith(("}defs", "}clipPath"))]
    defined = {child for parent in unseen for child in parent}
    for element in svg.iter():
        style = element.attrib.pop("style", "")
        if element not in defined:
            element.attrib.pop("id", None)
            element.attrib.update(re.findall(r"([\w-]+)\s*:\s*([^;]+)", style))
    svg.attrib |= {"role": "img", "aria-label": chart.title, "stroke-linejoin": "round"}
    svg[:0] = [_worded("title", chart.title), _worded("desc", chart.description)]
    return ElementTree.tostring(svg, encoding="unicode")


def _worded(tag: str, words: str) -> ElementTree.Element:
    element = ElementTree.Element(_SVG + tag)
    element.text = words
    return element


def _drawn(chart: Chart, ending: str, *, caption: bool) -> bytes:
    metadata, drawn = dict(_FORMATS[ending]), io.BytesIO()
    if ending != ".svg":
        about = "Description" if ending == ".png" else "Subject"
        metadata |= {"Title": chart.title, about: chart.description}
    with _drawing, mpl.rc_context(), warnings.catch_warnings():
        # The reader's fonts may well have what the font here lacks.
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        figure = draw(chart, caption=caption)
        mpl.rcdefaults()
        # A page with several charts must not have two shapes of one name.
        mpl.rcParams.update({**SETTINGS, "svg.hashsalt": chart.title})
        figure.savefig(drawn, format=ending[1:], dpi=200, metadata=metadata)
    return drawn.getvalue()
