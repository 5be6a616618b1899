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


def part_of_page(chart: Chart | None) -> Markup | None:
    """A chart as an ``svg`` element, or in words where it cannot be drawn."""
    if chart is None:
        return None
    if undrawn():
        return Markup("<p>{}</p>").format(chart.description)
    from .rendering import to_svg

    # It escapes what a survey says, and holds no script and no style.
    return Markup(to_svg(chart))  # noqa: S704 (texts are escaped where it is drawn)
