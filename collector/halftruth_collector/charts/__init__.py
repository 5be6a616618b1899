"""Charts as files and parts of pages, and the chart of a plan.

``rendering`` is imported only when a chart is drawn, because Matplotlib is optional and slow to
import.
"""

from halftruth_shared.results.charts import Chart
from markupsafe import Markup

from ..errors import NotAcceptable


def charts_unavailable() -> str | None:
    """Return the reason why charts cannot be drawn here; None if they can."""
    try:
        from . import rendering  # noqa: F401
    except NotAcceptable as missing:
        return str(missing)
    return None


def render_figure(chart: Chart | None, *, folded: bool = True) -> Markup | None:
    """Return the content of a ``figure`` element with a chart; None if it cannot be drawn.

    Notes are in a ``details`` element, unless the page is for print.
    """
    if chart is None or charts_unavailable():
        return None
    from .rendering import to_svg

    title = Markup("<figcaption>{}</figcaption>").format(chart.title)
    notes = Markup("").join(Markup("<p>{}</p>").format(note) for note in chart.notes)
    if notes and folded:
        about = "<details><summary>About this chart</summary>{}</details>"
        notes = Markup(about).format(notes)  # noqa: S704 (a constant)
    # Texts are escaped, and the SVG has neither scripts nor styles.
    return title + Markup(to_svg(chart, caption=False)) + notes  # noqa: S704
