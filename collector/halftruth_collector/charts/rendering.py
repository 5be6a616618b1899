"""Render charts as files: SVG, PNG or PDF.

SVG has a text alternative, and works with a content security policy without ``unsafe-inline``: it
has presentation attributes instead of style elements and style attributes.
"""

import io
import re
import threading
import warnings
from pathlib import Path
from xml.etree import ElementTree

from halftruth_shared import ParameterError
from halftruth_shared.deadlines import check_deadline
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

#: Metadata to leave out of each format, by file suffix, so that files are reproducible.
_FORMATS: dict[str, dict[str, str | None]] = {
    ".svg": {"Creator": None, "Date": None, "Format": None, "Type": None},
    ".png": {"Software": None},
    ".pdf": {"Creator": None, "Producer": None, "CreationDate": None},
}

_SVG = "{http://www.w3.org/2000/svg}"

#: Prefixes of namespaces.
_PREFIXES = {"": _SVG[1:-1], "xlink": "http://www.w3.org/1999/xlink"}

# Matplotlib is not thread-safe, and its settings are global.
_drawing = threading.Lock()


def check_file(file: str | Path) -> str:
    """Return the suffix of the name of a picture, such as ".svg"; others are refused."""
    ending = Path(file).suffix.lower()
    if ending not in _FORMATS:
        raise ParameterError(
            f"plot: expected a file name that ends in one of: {', '.join(_FORMATS)}; got '{file}'",
            field="plot",
        )
    return ending


def render(chart: Chart, file: str | Path) -> None:
    """Draw a chart into a file, in the format of its suffix: .svg, .png or .pdf.

    The same chart gives the same bytes. A file that cannot be written raises a `ParameterError`.
    """
    ending = check_file(file)
    content = render_bytes(chart, ending)
    try:
        Path(file).write_bytes(content)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ParameterError(
            f"plot: expected a file that can be written, in a folder that exists; got '{file}':"
            f" {reason}",
            field="plot",
        ) from None


def render_bytes(chart: Chart, ending: str) -> bytes:
    """Return a chart as the content of a file whose name ends in ".svg", ".png" or ".pdf"."""
    return to_svg(chart).encode() if ending == ".svg" else _draw_to_bytes(chart, ending)


def to_svg(chart: Chart) -> str:
    """Return a chart as an ``svg`` element.

    Texts stay text elements, and there are no styles or scripts. The element is an image with a
    name and a description; the table beside it is the text alternative.
    """
    # The SVG was drawn here, so it has no entities that could expand.
    svg = ElementTree.fromstring(_draw_to_bytes(chart, ".svg"))  # noqa: S314
    for parent in [svg, *svg.iter(f"{_SVG}defs")]:
        parent[:] = [each for each in parent if not each.tag.endswith(("}metadata", "}style"))]
    # Shapes that are reused need their ids, and are styled where they are used.
    unseen = [each for each in svg.iter() if each.tag.endswith(("}defs", "}clipPath"))]
    defined = {child for parent in unseen for child in parent}
    for element in svg.iter():
        check_deadline()
        style = element.attrib.pop("style", "")
        if element not in defined:
            element.attrib.pop("id", None)
            element.attrib.update(re.findall(r"([\w-]+)\s*:\s*([^;]+)", style))
    svg.attrib |= {"role": "img", "aria-label": chart.title, "stroke-linejoin": "round"}
    svg[:0] = [_text_element("title", chart.title), _text_element("desc", chart.description)]
    # Other libraries take the empty prefix for their own namespace.
    for prefix, namespace in _PREFIXES.items():
        ElementTree.register_namespace(prefix, namespace)
    return ElementTree.tostring(svg, encoding="unicode")


def _text_element(tag: str, words: str) -> ElementTree.Element:
    element = ElementTree.Element(_SVG + tag)
    element.text = words
    return element


def _draw_to_bytes(chart: Chart, ending: str) -> bytes:
    metadata, drawn = dict(_FORMATS[ending]), io.BytesIO()
    if ending != ".svg":
        about = "Description" if ending == ".png" else "Subject"
        metadata |= {"Title": chart.title, about: chart.description}
    with _drawing, mpl.rc_context(), warnings.catch_warnings():
        # The fonts of the reader may have the missing glyphs.
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        figure = draw(chart)
        mpl.rcdefaults()
        # Ids of shapes must be unique on a page with several charts.
        mpl.rcParams.update({**SETTINGS, "svg.hashsalt": chart.title})
        check_deadline()
        figure.savefig(drawn, format=ending[1:], dpi=200, metadata=metadata)
    return drawn.getvalue()
