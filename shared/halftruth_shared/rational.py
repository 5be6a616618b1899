"""Exact rational parameters.

Privacy parameters are fractions, never binary floating point: ``0.9`` is nine tenths. Files
and messages write them as text.
"""

import math
import re
from contextlib import suppress
from fractions import Fraction

from .errors import ParameterError

#: What a parameter may be given as.
Rational = Fraction | int | str

_TEXT = re.compile(r"[+-]?\d+(\.\d+|/\d+)?", re.ASCII)

#: Longest text that is read or written.
_MAX_TEXT = 1_000

#: Roots are rounded down to this many parts of 1.
_ROOT_PARTS = 10**9


def parse_rational(value: object, field: str) -> Fraction:
    """Read an exact rational.

    Parameters
    ----------
    value : Fraction, int or str
        Text is an integer (``"19"``), a decimal (``"0.9"``) or a quotient (``"19/2"``).
    field : str
        Name of the parameter, for the message.

    Raises
    ------
    ParameterError
        For anything else; floating point is refused since it is not exact, and so is a text of
        more than a thousand characters.

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
    """Return the nearest floating-point number, infinite beyond their range.

    >>> as_float(Fraction(10**900))
    inf
    """
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def approximately(value: Fraction | float) -> str:
    """A number for people, of some six digits and however large.

    >>> approximately(Fraction(57, 7)), approximately(10**900)
    ('8.14286', 'about 10^900')
    """
    if value == math.inf:
        return "infinite"
    if -(10**15) < value < 10**15:
        return f"{float(value):.15g}" if value == int(value) else f"{float(value):.6g}"
    return f"about 10^{math.log10(int(value)):.0f}"


def format_rational(value: Fraction, field: str) -> str:
    """Write a rational in its one canonical form: lowest terms, ``"19"`` or ``"9/10"``.

    Raises
    ------
    ParameterError
        If it takes so many characters that it could not be read again.
    """
    # Bits first: writing out a number of millions of digits would take for ever.
    bits = value.numerator.bit_length() + value.denominator.bit_length()
    text = str(value) if bits <= 4 * _MAX_TEXT else None
    if text is None or len(text) > _MAX_TEXT:
        raise ParameterError(
            f"{field}: expected a number of at most {_MAX_TEXT} characters", field=field
        )
    return text


def round_up_rational(value: Fraction) -> str:
    """Write a rational in its canonical form, or the next integer where that is too long.

    >>> round_up_rational(Fraction(19, 2)), round_up_rational(Fraction(10**600 + 1, 10**600))
    ('19/2', '2')
    """
    with suppress(ParameterError):
        return format_rational(value, "value")
    return format_rational(Fraction(math.ceil(value)), "value")


def root_below(value: Fraction, degree: int) -> Fraction:
    """Largest multiple of one billionth whose power of this degree is at most `value`.

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
