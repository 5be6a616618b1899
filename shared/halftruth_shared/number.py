"""Numeric questions, and the bins into which answers are grouped before perturbation."""

import math
import re
from contextlib import suppress
from dataclasses import dataclass
from decimal import Context, Decimal, Inexact, localcontext
from fractions import Fraction
from functools import cached_property
from numbers import Integral

from .errors import ParameterError, SchemaError
from .rational import Rational, parse_rational

_ANSWER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
_MAX_ANSWER = 100
_MAX_DIGITS = 15
_MAX_BINS = 65_536


@dataclass(frozen=True)
class NumberRange:
    """Range of a numeric question, in bins of equal width that start at the minimum.

    The last bin is narrower if the width does not divide the range. Arithmetic is exact.

    Parameters
    ----------
    minimum, maximum, step : Fraction, int or str
        Smallest and largest answer, and width of a bin, in terms of at most 15 digits.
    whole : bool, optional
        Whether only whole numbers are answers; by default if the other three are whole.

    Raises
    ------
    SchemaError
        If a parameter is invalid.

    Examples
    --------
    >>> NumberRange(20, 45, 10).categories
    ('20 to 29', '30 to 39', '40 to 45')
    >>> NumberRange(0, 10, "2.5").categories
    ('[0, 2.5)', '[2.5, 5)', '[5, 7.5)', '[7.5, 10]')
    """

    minimum: Fraction
    maximum: Fraction
    step: Fraction
    whole: bool

    def __init__(
        self, minimum: Rational, maximum: Rational, step: Rational, whole: bool | None = None
    ) -> None:
        values = {"minimum": minimum, "maximum": maximum, "step": step}
        for what, value in values.items():
            object.__setattr__(self, what, _exact(value, what))
        if self.maximum <= self.minimum:
            raise SchemaError("maximum: expected more than the minimum", field="maximum")
        if whole not in (None, False, True):
            raise SchemaError("whole: expected true or false", field="whole")
        object.__setattr__(self, "whole", self.could_be_whole if whole is None else whole)
        if self.whole and not self.could_be_whole:
            raise SchemaError(
                "whole: expected whole numbers as minimum, maximum and step, or whole = false",
                field="whole",
            )
        if self.step <= 0 or not 2 <= self._count <= _MAX_BINS:
            raise SchemaError(
                f"step: expected the width of 2 to {_MAX_BINS} bins from minimum to maximum",
                field="step",
            )

    @classmethod
    def of_bins(
        cls, minimum: Rational, maximum: Rational, bins: int, whole: bool | None = None
    ) -> "NumberRange":
        """Return the range with a given number of bins of the same width.

        Raises SchemaError if a parameter is invalid, such as a number of bins that does not divide
        the number of whole answers.
        """
        low, high = _exact(minimum, "minimum"), _exact(maximum, "maximum")
        if type(bins) is not int or not 2 <= bins <= _MAX_BINS:
            raise SchemaError(f"bins: expected 2 to {_MAX_BINS}", field="bins")
        if whole is None:
            whole = low.denominator == high.denominator == 1
        answers = high - low + 1
        if whole and answers > 0 and answers % bins:
            raise SchemaError(
                f"bins: expected a divisor of the {answers} whole numbers from"
                f" {format_decimal(low)} to {format_decimal(high)}; or a step instead, or"
                " whole = false",
                field="bins",
            )
        return cls(low, high, (answers if whole else high - low) / bins, whole)

    @property
    def could_be_whole(self) -> bool:
        """True if minimum, maximum and step are whole; then answers are whole by default."""
        return self.minimum.denominator == self.maximum.denominator == self.step.denominator == 1

    @property
    def _count(self) -> int:
        return math.ceil((self.maximum - self.minimum + (1 if self.whole else 0)) / self.step)

    @cached_property
    def edges(self) -> tuple[Fraction, ...]:
        """Boundaries of the bins, one more than there are bins.

        For whole numbers they lie halfway between neighbouring answers: the bin 20 to 29 has the
        boundaries 19.5 and 29.5.
        """
        shift = Fraction(1, 2) if self.whole else Fraction(0)
        inner = [self.minimum + i * self.step - shift for i in range(self._count)]
        return (*inner, self.maximum + shift)

    @cached_property
    def midpoints(self) -> tuple[Fraction, ...]:
        """Midpoint of each bin, which represents its answers: 24.5 for 20 to 29."""
        return tuple([(a + b) / 2 for a, b in zip(self.edges, self.edges[1:], strict=False)])

    @cached_property
    def categories(self) -> tuple[str, ...]:
        """Names of the bins, in order."""
        return tuple([self._category(i) for i in range(self._count)])

    def _category(self, i: int) -> str:
        low = self.minimum + i * self.step
        last = i == self._count - 1
        high = self.maximum if last else low + self.step
        if not self.whole:
            return f"[{format_decimal(low)}, {format_decimal(high)}{']' if last else ')'}"
        high = high if last else high - 1
        return (
            format_decimal(low)
            if low == high
            else f"{format_decimal(low)} to {format_decimal(high)}"
        )

    def bin(self, answer: object) -> int | None:
        """Return the index of the bin of an answer; None for an invalid answer.

        Text is a decimal number, perhaps with an exponent. A float is read as the decimal number
        that ``repr`` writes.
        """
        value = parse_number(answer)
        if value is None or not self.minimum <= value <= self.maximum:
            return None
        if self.whole and value.denominator != 1:
            return None
        return min(math.floor((value - self.minimum) / self.step), self._count - 1)

    def __str__(self) -> str:
        """Describe the accepted numbers, for messages."""
        kind = "a whole number" if self.whole else "a number"
        return f"{kind} from {format_decimal(self.minimum)} to {format_decimal(self.maximum)}"


def parse_number(value: object) -> Fraction | None:
    """Parse an answer as an exact number; None if it is not a number.

    >>> parse_number("7.5"), parse_number(0.1), parse_number("yes")
    (Fraction(15, 2), Fraction(1, 10), None)
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, Integral | Fraction):
        return Fraction(value)
    written = repr(float(value)) if isinstance(value, float) else value
    if not isinstance(written, str) or len(written) > _MAX_ANSWER:
        return None
    return Fraction(written) if _ANSWER.fullmatch(written) else None


def format_decimal(value: Fraction) -> str:
    """Format a number as a finite decimal if possible, else as a quotient in lowest terms.

    >>> [format_decimal(Fraction(value)) for value in ("5/2", "-1/3", "20")]
    ['2.5', '-1/3', '20']
    """
    # Minimum, maximum and step have 15 digits at most, so that finite sums have fewer than 100.
    with localcontext(Context(prec=100, traps=[Inexact])), suppress(Inexact):
        return f"{Decimal(value.numerator) / value.denominator:f}"
    return str(value)


def _exact(value: Rational, what: str) -> Fraction:
    try:
        read = parse_rational(value, what)
    except ParameterError as error:
        raise SchemaError(str(error), field=what) from None
    if max(abs(read.numerator), read.denominator) >= 10**_MAX_DIGITS:
        raise SchemaError(f"{what}: expected a number of at most {_MAX_DIGITS} digits", field=what)
    return read
