"""Numbers as charts write them, the same in a picture and in its text alternative."""

import math
from collections.abc import Iterable

from halftruth_shared.messages import Items

#: A narrow space that does not end a line, between digits and before a percent sign.
GAP = "\N{NARROW NO-BREAK SPACE}"

_MINUS = "\N{MINUS SIGN}"


def words(items: Items) -> str:
    """An itemset in words.

    >>> words({"sex": "Male", "race": "White"})
    'sex=Male, race=White'
    """
    return ", ".join(f"{name}={category}" for name, category in items.items())


def percent(share: float, places: int | None = None) -> str:
    r"""A share as a percentage, with as many places as it needs unless told.

    >>> percent(0.025), percent(-0.12345, 1)
    ('2.5\u202f%', '−12.3\u202f%')
    """
    return f"{number(100 * share, places)}{GAP}%"


def number(value: float, places: int | None = None) -> str:
    r"""A number with a minus sign and grouped thousands; six digits unless told.

    >>> number(-1234567.0, 0), number(0.25)
    ('−1\u202f234\u202f567', '0.25')
    """
    # Beyond these, digits in groups are harder to read than a power of ten.
    plain = places is not None and places <= 6 and abs(value) < 1e9
    whole = value == round(value) and abs(value) < 1e9
    text = f"{value:z,.{places if plain else 0}f}" if plain or whole else f"{value:,.6g}"
    return text.replace(",", GAP).replace("-", _MINUS)


def places(widths: Iterable[float], digits: int) -> int:
    """Decimal places that show the narrowest of some intervals with so many digits, at least 0.

    >>> places([0.066], 2), places([80.0], 2)
    (3, 0)
    """
    halves = [width / 2 for width in widths if width > 0]
    if not halves:
        return 0
    return max(0, digits - 1 - math.floor(math.log10(min(halves))))
