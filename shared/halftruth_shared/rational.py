"""Exact rational parameters.

Privacy parameters are fractions, never binary floating point: ``0.9`` is nine tenths. In files and
messages they are text.
"""

import math
import re
from contextlib import suppress
from fractions import Fraction

from .errors import ParameterError

#: Types that a parameter can have.
Rational = Fraction | int | str

_TEXT = re.compile(r"[+-]?\d+(\.\d+|/\d+)?", re.ASCII)

#: Largest length of a number as text.
_MAX_TEXT = 1_000

#: Roots are rounded down to a multiple of 1 divided by this number.
_ROOT_PARTS = 10**9


def parse_rational(value: object, field: str) -> Fraction:
    """Parse an exact rational number.

    Parameters
    ----------
    value : Fraction, int or str
        Text is an integer (``"19"``), a decimal (``"0.9"``) or a quotient (``"19/2"``).
    field : str
        Name of the parameter, for the message.

    Raises
    ------
    ParameterError
        For any other value, such as a float, which is not exact, or a text of more than a thousand
        characters.

    Examples
    --------
    >>> parse_rational("0.9", "keep")
    Fraction(9, 10)
    """
    if isinstance(value, Fraction | int) and not isinstance(value, bool):
        return Fraction(value)
    if isinstance(value, str) and len(value) <= _MAX_TEXT and _TEXT.fullmatch(value):
        with suppress(ZeroDivisionError):
            return Fraction(value)
    raise ParameterError(
        f'{field}: expected an exact number written as text such as "19", "0.9" or "19/2",'
        f" of {_MAX_TEXT} characters at most",
        field=field,
    )


def as_float(value: Fraction | float) -> float:
    """Return the nearest floating-point number; infinity if the value is too large.

    >>> as_float(Fraction(10**900))
    inf
    """
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def format_approximately(value: Fraction | float) -> str:
    """Format a number of any size for people, with about six digits.

    >>> format_approximately(Fraction(57, 7)), format_approximately(10**900)
    ('8.14286', 'about 10^900')
    """
    if value == math.inf:
        return "infinite"
    if -(10**15) < value < 10**15:
        return f"{float(value):.15g}" if value == int(value) else f"{float(value):.6g}"
    return f"about 10^{math.log10(int(value)):.0f}"


def format_rational(value: Fraction, field: str) -> str:
    """Format a rational in canonical form: in lowest terms, ``"19"`` or ``"9/10"``.

    Raises ParameterError if the text would be too long for `parse_rational`.
    """
    # Check the number of bits first, since formatting millions of digits takes very long.
    bits = value.numerator.bit_length() + value.denominator.bit_length()
    text = str(value) if bits <= 4 * _MAX_TEXT else None
    if text is None or len(text) > _MAX_TEXT:
        raise ParameterError(
            f"{field}: expected a number of at most {_MAX_TEXT} characters", field=field
        )
    return text


def round_up_rational(value: Fraction) -> str:
    """Format a rational in canonical form, rounded up to an integer if that would be too long.

    >>> round_up_rational(Fraction(19, 2)), round_up_rational(Fraction(10**600 + 1, 10**600))
    ('19/2', '2')
    """
    with suppress(ParameterError):
        return format_rational(value, "value")
    return format_rational(Fraction(math.ceil(value)), "value")


def root_below(value: Fraction, degree: int) -> Fraction:
    """Return the root of a number, rounded down to a multiple of one billionth.

    >>> root_below(Fraction(19), 2)
    Fraction(4358898943, 1000000000)
    """
    scaled = value.numerator * _ROOT_PARTS**degree // value.denominator
    low, high = 0, 1 << (scaled.bit_length() // degree + 1)
    while low < high:
        middle = (low + high + 1) // 2
        if middle**degree <= scaled:
            low = middle
        else:
            high = middle - 1
    return Fraction(low, _ROOT_PARTS)
