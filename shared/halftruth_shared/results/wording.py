"""Format numbers and itemsets as text, for pages, charts, commands and sentences.

Percentages have a narrow space and a true minus sign: 12.3 %. The digits of an estimate follow its
margin of error: estimate and interval have as many decimals as give the margin two digits, and a
share has at most two. An unbiased estimate outside the possible range is shown as the end of the
range, which has no decimals.
"""

import math
from collections.abc import Mapping, Sequence

from ..texts import NARROW_SPACE
from .estimate import Estimate, Interval, Reliability
from .quantities import Quantity
from .quantities import share as share_quantity

#: Between groups of digits and before a percent sign.
GAP = NARROW_SPACE

#: Text in place of an undefined number, and of an unbounded set.
UNDEFINED, ANY_VALUE = "undefined", "any value"

_MINUS = "\N{MINUS SIGN}"
_MOST_PLACES = 2
_SHARE = share_quantity("share")

#: Smallest number of further decimals for an end near the value of no effect that is not tried.
_MOST_FURTHER = 2

#: What follows numbers in the unit of display.
_UNITS = {"share": f"{GAP}%", "points": " points"}

#: An interval whose ends differ by less is a single number.
_SAME = 1e-9

#: Of the normal distribution, for a margin of 95 %.
_QUANTILE = 1.96


def items(answers: Mapping[str, str | Sequence[str]]) -> str:
    """Describe answers by names or by labels.

    >>> items({"sex": "Male", "race": "White"}), items({"Do you smoke?": "yes"})
    ('sex=Male, race=White', 'Do you smoke? yes')
    >>> items({"sex": "Male", "age": ["18-29", "30-49"]})
    'sex=Male, age=18-29 or 30-49'
    """
    return ", ".join(
        f"{name}{_separator(name)}{each if isinstance(each, str) else ' or '.join(each)}"
        for name, each in answers.items()
    )


def quoted(name: str) -> str:
    """Put the label of a question in quotation marks; names without spaces stay unchanged.

    >>> quoted("smoker"), quoted("Do you smoke?")
    ('smoker', '“Do you smoke?”')
    """
    return f"“{name}”" if " " in name else name


def quoted_items(answers: Mapping[str, str | Sequence[str]]) -> str:
    """Describe answers within a sentence, each with a label in quotation marks.

    >>> quoted_items({"age": "36 to 55", "Do you smoke?": "yes"})
    'age=36 to 55, “Do you smoke? yes”'
    """
    return ", ".join(
        quoted(name).replace(name, items({name: each})) for name, each in answers.items()
    )


def _separator(name: str) -> str:
    """Return the separator between a question and its answer."""
    return " " if name.endswith("?") else ": " if " " in name else "="


def percent(share: float | None, places: int | None = None) -> str:
    r"""Format a share as a percentage, by default with as many decimals as needed.

    >>> percent(0.025), percent(-0.12345, 1), percent(None)
    ('2.5\u202f%', '−12.3\u202f%', 'undefined')
    """
    return UNDEFINED if share is None else f"{number(100 * share, places)}{GAP}%"


def share(estimate: float | None, interval: Interval | None) -> str:
    r"""Format an estimated share, with decimals according to its interval.

    >>> share(0.123456, (0.10, 0.15)), share(-0.004, (0, 0.03)), share(0.12, None)
    ('12.3\u202f%', '0\u202f%', '12.0\u202f%')
    """
    # A given share, such as a true one, may lie outside the interval.
    if estimate is None:
        return UNDEFINED
    shown = min(max(estimate, _SHARE.lower), _SHARE.upper)
    return f"{_number(shown, Estimate(interval=interval), _SHARE)}{GAP}%"


def share_interval(interval: Interval | None) -> str:
    r"""Format an interval of shares.

    >>> share_interval((0.1012, 0.1456)), share_interval((0.0, 0.0312))
    ('10.1 to 14.6\u202f%', '0 to 3.1\u202f%')
    >>> interval_in_words(Estimate(standard_error=0.02, interval=(0.0, 0.0004)), _SHARE)
    '0 to 0.04\u202f%'
    """
    return interval_in_words(Estimate(interval=interval), _SHARE)


def judged(text: str, reliability: Reliability) -> str:
    """Prefix a formatted estimate with its reliability if it is not usable.

    >>> judged("976 %", "not usable"), judged("12 %", "usable")
    ('not usable (976 %)', '12 %')
    """
    return f"{reliability} ({text})" if reliability == "not usable" else text


def margin(estimate: Estimate) -> float | None:
    """Return the margin of error that decides the digits of an estimate; None if it is unknown.

    It is half the length of the interval, and at least that of a 95 % interval by the standard
    error, since intervals end where the quantity ends.

    >>> margin(Estimate(value=-0.06, standard_error=0.04, interval=(0.0, 0.02)))
    0.0784
    """
    half = max(_half(estimate.ends), _QUANTILE * (estimate.standard_error or 0.0))
    return half if 0 < half < math.inf else None


def estimate_in_words(estimate: Estimate, of: Quantity) -> str:
    r"""Format an estimate, with digits according to its margin of error, and its reliability.

    >>> of_share = Quantity("share", style="share", lower=0.0, upper=1.0)
    >>> estimate_in_words(
    ...     Estimate(value=0.7123, interval=(0.65, 0.78), reliability="usable"), of_share
    ... )
    '71.2\u202f%'
    >>> estimate_in_words(Estimate(value=2.1897, interval=(None, None), set="everything"), of_share)
    'not usable (100\u202f%)'
    """
    text = number_in_words(estimate, of)
    if estimate.value is None or of.style == "count":
        return text
    return judged(text, estimate.reliability)


def interval_in_words(estimate: Estimate, of: Quantity) -> str:
    r"""Format the confidence set of an estimate.

    >>> outside = Estimate(value=2.5, interval=(0.0, 1.0), set="outside", gap=(0.2, 0.7))
    >>> of_share = Quantity("share", style="share", lower=0.0, upper=1.0)
    >>> interval_in_words(outside, Quantity("ratio")), interval_in_words(outside, of_share)
    ('up to 0.20, or from 0.70 on', 'up to 20\u202f%, or from 70\u202f% on')
    >>> interval_in_words(Estimate(value=-0.1, set="empty"), of_share)
    'none: outside the possible range'
    """
    if of.style == "count":
        return " to ".join(dict.fromkeys(number(end, 0) for end in estimate.ends or ()))
    if estimate.set == "empty":
        return "none: outside the possible range"
    if estimate.interval is None:
        return UNDEFINED
    lower, upper = estimate.interval
    if estimate.set == "everything" or lower is None:
        return ANY_VALUE
    unit = f"{GAP}%" if of.style == "share" else ""
    if estimate.gap is not None:
        within = Estimate(interval=estimate.gap)
        ends = [f"{_number(end, within, of)}{unit}" for end in estimate.gap]
        return f"up to {ends[0]}, or from {ends[1]} on"
    if upper is None or upper == math.inf:
        return f"from {_number(lower, estimate, of)}{unit} on"
    if math.isclose(lower, upper, abs_tol=_SAME):
        return f"{_number(lower, estimate, of)}{unit}"
    return f"{' to '.join(_ends(lower, upper, estimate, of))}{unit}"


def _ends(lower: float, upper: float, estimate: Estimate, of: Quantity) -> list[str]:
    """Format the ends of an interval, with further decimals if they would look the same."""
    texts = [_number(end, estimate, of) for end in (lower, upper)]
    looks = {text.rstrip("0").rstrip(".") if "." in text else text for text in texts}
    if len(looks) > 1:
        return texts
    scale = 100 if of.style in ("share", "points") else 1
    decimals = places(scale * (upper - lower), 1)
    return [number(scale * end, decimals if end else 0) for end in (lower, upper)]


def with_interval(estimate: Estimate, of: Quantity) -> str:
    """Format an estimate with its interval and unit, and its reliability if it is not usable.

    >>> with_interval(Estimate(value=3.0, interval=(2.0, 4.0), reliability="usable"), Quantity(""))
    '3.0 (2.0 to 4.0)'
    >>> with_interval(Estimate(value=3.0, interval=(2.0, 4.0)), Quantity(""))
    'not usable (3.0, 2.0 to 4.0)'
    >>> with_interval(Estimate(value=1.0, interval=(1.0, 1.0), reliability="usable"), _SHARE)
    '100\u202f%'
    """
    if estimate.value is None:
        return estimate.undefined or UNDEFINED
    unit = " points" if of.style == "points" else ""
    if estimate.interval is None and estimate.set == "interval":
        return f"{estimate_in_words(estimate, of)}{unit}"
    text, interval = number_in_words(estimate, of), interval_in_words(estimate, of)
    if interval == text:
        # An interval of a single number says nothing more.
        interval = ""
    if of.style == "count":
        return f"{text} ({interval})" if interval else text
    if not interval:
        return f"{judged(text, estimate.reliability)}{unit}"
    if estimate.reliability == "not usable":
        return judged(f"{text}, {interval}{unit}", estimate.reliability)
    return f"{text} ({interval}){unit}"


def number_in_words(estimate: Estimate, of: Quantity) -> str:
    r"""Format an estimate as a possible value, with digits according to its margin of error.

    Differences of shares are in percentage points, without the unit.

    >>> of_share = Quantity("share", style="share", lower=0.0, upper=1.0)
    >>> number_in_words(Estimate(value=-0.0621, interval=(0.0, 0.0129)), of_share)
    '0\u202f%'
    """
    shown = of.possible(estimate)
    if shown is None:
        return UNDEFINED
    return f"{_number(shown, estimate, of)}{GAP + '%' if of.style == 'share' else ''}"


def unbiased_in_words(estimate: Estimate, of: Quantity) -> str:
    r"""Say what an estimate is that lies outside the possible range; empty for others.

    >>> of_share = Quantity("share", style="share", lower=0.0, upper=1.0)
    >>> unbiased_in_words(Estimate(value=-0.0621, interval=(0.0, 0.0129)), of_share)
    'unbiased estimate: −6.21\u202f%'
    """
    if estimate.value is None or not of.is_outside(estimate):
        return ""
    return f"unbiased estimate: {_number(estimate.value, estimate, of)}{_UNITS.get(of.style, '')}"


def half_width(width: float) -> str:
    """Format a margin of error of a share in percentage points, with two digits.

    >>> half_width(0.0123), half_width(0.00004), half_width(0.0996)
    ('±1.2 points', '±0.0040 points', '±10 points')
    """
    return f"±{number(100 * width, places(100 * width, 2))} points"


def value(estimate: float | None) -> str:
    """Format a number without a margin of error, with four digits at most.

    >>> value(0.512345), value(None)
    ('0.5123', 'undefined')
    """
    return UNDEFINED if estimate is None else number(float(f"{estimate:.4g}"))


def p_value(p: float | None) -> str:
    """Format a p-value; small ones are bounded, since normal approximations are inaccurate there.

    >>> p_value(0.03214), p_value(3e-55)
    ('0.0321', 'below 0.0001')
    """
    if p is None:
        return UNDEFINED
    return "below 0.0001" if p < 1e-4 else number(float(f"{p:.3g}"))


def number(quantity: float, places: int | None = None) -> str:
    r"""Format a number with a minus sign and grouped thousands, by default with six digits.

    >>> number(-1234567.0, 0), number(0.25), number(-math.inf)
    ('−1\u202f234\u202f567', '0.25', '−∞')
    """
    # Larger numbers are easier to read as a power of ten.
    plain = places is not None and places <= 6 and abs(quantity) < 1e9
    whole = abs(quantity) < 1e9 and quantity == round(quantity)
    text = f"{quantity:z,.{places if plain else 0}f}" if plain or whole else f"{quantity:,.6g}"
    return text.replace(",", GAP).replace("-", _MINUS).replace("inf", "∞")


def places(margin: float, digits: int) -> int:
    """Return the decimals that give a margin of error `digits` digits, at least 0.

    >>> places(0.033, 2), places(3.9, 2), places(14.0, 2), places(9.96, 2)
    (3, 1, 0, 0)
    """
    if not 0 < margin < math.inf:
        return 0
    # Rounding can add a digit: 9.96 is 10.
    rounded = float(f"{margin:.{digits - 1}e}")
    return max(0, digits - 1 - math.floor(math.log10(rounded)))


def _half(interval: Interval | None) -> float:
    """Return half the length of an interval; 0 without one."""
    return 0.0 if interval is None else (interval[1] - interval[0]) / 2


def _decimals(margin: float | None) -> int:
    """Return the decimals of a percentage by the margin of the share."""
    return _MOST_PLACES if margin is None else min(_MOST_PLACES, places(100 * margin, 2))


def _number(shown: float, estimate: Estimate, of: Quantity) -> str:
    """Format a value or an end of the interval of an estimate, without unit."""
    if of.style == "count":
        return number(shown, 0)
    is_share = of.style in ("share", "points")
    if shown in (of.lower, of.upper):
        # An end of the range is exact.
        return number(100 * shown if is_share else shown, 0)
    known = margin(estimate)
    if is_share:
        unbounded = known is None and estimate.interval is not None and estimate.ends is None
        decimals = 0 if unbounded else _decimals(known)
        if known is None and estimate.interval is None:
            # Of a best guess only a typical error is known, elsewhere.
            decimals = 1
        return number(
            100 * shown, min(_MOST_PLACES, decimals + _further(decimals + 2, estimate, of))
        )
    lower, upper = estimate.interval or (None, None)
    if of.ratio and 0 <= 3 * (-1.0 if lower is None else lower) < (upper or math.inf):
        return number(float(f"{shown:.3g}"))
    if known is None:
        # Exact numbers and best guesses have an interval without length, or none.
        exact = estimate.set == "interval" and (estimate.ends is not None or lower is None)
        return number(float(f"{shown:.{4 if exact else 2}g}"))
    decimals = places(known, 2)
    return number(shown, decimals + _further(decimals, estimate, of))


def _further(decimals: int, estimate: Estimate, of: Quantity) -> int:
    """Return further decimals, so that an interval without the value of no effect looks so."""
    effects = [] if of.no_effect is None else [e - of.no_effect for e in estimate.ends or ()]
    if not effects or min(effects) * max(effects) <= 0:
        return 0
    nearest = min(map(abs, effects))
    return next((n for n in range(_MOST_FURTHER) if round(nearest, decimals + n)), 0)
