"""Charts as files and parts of pages, and that of a plan.

``rendering`` is imported where something is drawn, for Matplotlib is too slow to load for those who
draw nothing, and not everybody has installed it.
"""

from halftruth_shared.results.charts import Chart
from markupsafe import Markup

from ..errors import NotAcceptable


def undrawn() -> str | None:
    """The reason why no chart can be drawn here, if none can."""
    try:
        from . import rendering  # noqa: F401
    except NotAcceptable as missing:
        return str(missing)
    return None


def part_of_page(chart: Chart | None, *, folded: bool = True) -> Markup | None:
    """Return a chart with its title and notes, for a ``figure``; None where it cannot be drawn.

    Notes are folded, or not: on paper they cannot be opened.
    """
    if chart is None or undrawn():
        return None
    from .rendering import to_svg

    title = Markup("<figcaption>{}</figcaption>").format(chart.title)
    notes = Markup("").join(Markup("<p>{}</p>").format(note) for note in chart.notes)
    if notes and folded:
        about = "<details><summary>About this chart</summary>{}</details>"
        notes = Markup(about).format(notes)  # noqa: S704 (a constant)
    # What it holds is escaped, and holds no script and no style.
    return title + Markup(to_svg(chart, caption=False)) + notes  # noqa: S704
