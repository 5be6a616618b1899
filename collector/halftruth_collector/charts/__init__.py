"""Charts as files and parts of pages, and that of a plan.

``rendering`` is imported where something is drawn, for Matplotlib is too slow to load for those who
draw nothing, and not everybody has installed it.
"""

from halftruth_shared.analyses.charts import Chart
from markupsafe import Markup

from ..errors import NotAcceptable


def undrawn() -> str | None:
    """The reason why no chart can be drawn here, if none can."""
    try:
        from . import rendering  # noqa: F401
    except NotAcceptable as missing:
        return str(missing)
    return None


def part_of_page(chart: Chart | None, *, narrow: bool = False) -> Markup | None:
    """A chart with its title and notes, for a ``figure``; in words where it cannot be drawn.

    It is drawn for wide and for narrow frames, of which the style sheet shows the one that fits;
    or for narrow ones alone, as on paper, where notes are never folded.
    """
    if chart is None:
        return None
    if undrawn():
        return Markup("<p>{}</p>").format(chart.description)
    from .rendering import NARROW, WIDE, to_svg

    title = Markup("<figcaption>{}</figcaption>").format(chart.title)
    notes = Markup("").join(Markup("<p>{}</p>").format(note) for note in chart.notes)
    if notes and not narrow:
        about = "<details><summary>About this chart</summary>{}</details>"
        notes = Markup(about).format(notes)  # noqa: S704 (a constant)
    # What it holds is escaped, and holds no script and no style.
    widths = [NARROW] if narrow else [WIDE, NARROW]
    drawn = (Markup(to_svg(chart, width, caption=False)) for width in widths)  # noqa: S704
    return title + Markup("").join(drawn) + notes
