"""Exact rational parameters.

Privacy parameters are fractions, never binary floating point: ``0.9`` is nine tenths. Files
and messages write them as text.
"""

import re
from fractions import Fraction

from .errors import ParameterError

#: What a parameter may be given as.
Rational = Fraction | int | str

_TEXT = re.compile(r"[+-]?\d{1,60}(\.\d{1,60})?|[+-]?\d{1,60}/\d{1,60}", re.ASCII)


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
        For anything else; floating point is refused since it is not exact.

    Examples
    --------
    >>> parse_rational("0.9", "keep")
    Fraction(9, 10)
    """
    if isinstance(value, Fraction):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return Fraction(value)
    if isinstance(value, str) and _TEXT.fullmatch(value):
        try:
            return Fraction(value)
        except ZeroDivisionError:
            pass
    raise ParameterError(
        f'{field}: expected an exact number written as text such as "19", "0.9" or "19/2"',
        field=field,
    )


def format_rational(value: Fraction) -> str:
    """Write a rational in its one canonical form: lowest terms, ``"19"`` or ``"9/10"``."""
    return str(value)
