"""Charts: on pages, as files, and the chart of a plan.

``rendering`` is imported only when a file is drawn, because Matplotlib is optional and slow to
import. Pages need no library; see ``on_page``.
"""

from importlib.util import find_spec


def can_draw_files() -> bool:
    """Return whether Matplotlib is installed, which draws charts as files."""
    return find_spec("matplotlib") is not None
