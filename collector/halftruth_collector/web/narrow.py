"""Tables on narrow screens, where the cells of a row are below each other, after their headings."""

import re
from collections.abc import Sequence

from markupsafe import Markup, escape

_ROW_OR_CELL = re.compile(r"<(tr|td|th)\b")


def headed(rows: Markup, headings: Sequence[str]) -> Markup:
    """Return rows of a table whose cells have the headings of their columns.

    The heading of a row is shown above them, without that of its column.

    >>> headed(Markup("<tr><th>smoker</th><td>12 %</td></tr>"), ["question", "share"])
    Markup('<tr><th>smoker</th><td data-heading="share">12 %</td></tr>')
    """
    place = 0

    def named(match: re.Match[str]) -> str:
        nonlocal place
        if match[1] == "tr":
            place = 0
            return match[0]
        place += 1
        if match[1] == "th":
            return match[0]
        return f'{match[0]} data-heading="{escape(headings[place - 1])}"'

    # The rows are rendered, so all texts in them are escaped already.
    return Markup(_ROW_OR_CELL.sub(named, rows))  # noqa: S704
