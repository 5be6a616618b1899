"""Format numbers and itemsets as text, for pages, charts, commands and sentences.

Percentages have a narrow space and a true minus sign: 12.3 %. The number of decimals of an estimate
depends on its interval: as many as give half the width of the interval two digits, and at most two
for a share. Shares are not clipped to 0 to 100 %, since a value outside shows the uncertainty.
"""

import math
from collections.abc import Iterable, Mapping, Sequence

from ..texts import NARROW_SPACE
from .estimate import Estimate, Interval, Reliability

#: A lower and an upper end; the upper one can be None for an unbounded interval.
OpenInterval = tuple[float, float | None]

#: Between groups of digits and before a percent sign.
GAP = NARROW_SPACE

#: Text in place of an undefined number.
UNDEFINED = "undefined"

_MINUS = "\N{MINUS SIGN}"
_MOST_PLACES = 2


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

    >>> share(0.123456, (0.10, 0.15)), share(1.8812, (-0.4, 4.2)), share(0.12, None)
    ('12.3\u202f%', '188\u202f%', '12.00\u202f%')
    """
    return percent(estimate, _share_places(interval))


def share_interval(interval: Interval | None) -> str:
    r"""Format an interval of shares.

    >>> share_interval((0.1012, 0.1456))
    '10.1 to 14.6\u202f%'
    """
    if interval is None:
        return UNDEFINED
    places = _share_places(interval)
    return f"{number(100 * interval[0], places)} to {percent(interval[1], places)}"


def judged(text: str, reliability: Reliability) -> str:
    """Prefix a formatted estimate with its reliability if it is not usable.

    >>> judged("976 %", "not usable"), judged("12 %", "usable")
    ('not usable (976 %)', '12 %')
    """
    return f"{reliability} ({text})" if reliability == "not usable" else text


def estimate_in_words(estimate: Estimate, *, as_share: bool = False) -> str:
    r"""Format an estimate, with decimals according to its interval, and its reliability.

    >>> from halftruth_shared.results.estimate import Estimate
    >>> estimate_in_words(
    ...     Estimate(value=0.7123, interval=(0.65, 0.78), reliability="usable"), as_share=True
    ... )
    '71.2\u202f%'
    >>> estimate_in_words(Estimate(value=2.1897, interval=(None, None), set="everything"))
    'not usable (2.19)'
    """
    if estimate.value is None:
        return UNDEFINED
    return judged(number_in_words(estimate, as_share=as_share), estimate.reliability)


def interval_in_words(estimate: Estimate, *, as_share: bool = False) -> str:
    r"""Format the confidence set of an estimate.

    >>> from halftruth_shared.results.estimate import Estimate
    >>> outside = Estimate(value=2.5, interval=(0.0, 1.0), set="outside", gap=(0.2, 0.7))
    >>> interval_in_words(outside), interval_in_words(outside, as_share=True)
    ('up to 0.2, or from 0.7 on', 'up to 20\u202f%, or from 70\u202f% on')
    >>> interval_in_words(Estimate(value=-0.1, set="empty"), as_share=True)
    'none: outside the possible range'
    """
    if estimate.set == "empty":
        return "none: outside the possible range"
    if estimate.interval is None:
        return UNDEFINED
    lower, upper = estimate.interval
    if estimate.set == "everything" or lower is None:
        return "any value: the size of the group is not significantly above zero"
    if estimate.gap is not None:
        places = _share_places(estimate.gap)
        ends = [percent(e, places) if as_share else value(e, None) for e in estimate.gap]
        return f"up to {ends[0]}, or from {ends[1]} on"
    if as_share and upper is not None:
        return share_interval((lower, upper))
    return value_interval((lower, upper))


def with_interval(estimate: Estimate, *, as_share: bool = False) -> str:
    """Format an estimate with its interval, after its reliability if it is not usable.

    >>> from halftruth_shared.results.estimate import Estimate
    >>> with_interval(Estimate(value=3.0, interval=(2.0, 4.0), reliability="usable"))
    '3.0 (2.0 to 4.0)'
    >>> with_interval(Estimate(value=3.0, interval=(2.0, 4.0)))
    'not usable (3.0, 2.0 to 4.0)'
    """
    if estimate.value is None:
        return UNDEFINED
    text = number_in_words(estimate, as_share=as_share)
    interval = interval_in_words(estimate, as_share=as_share)
    if estimate.reliability == "not usable":
        return judged(f"{text}, {interval}", estimate.reliability)
    return f"{text} ({interval})"


def number_in_words(estimate: Estimate, *, as_share: bool = False) -> str:
    """Format an estimate, with decimals according to its interval."""
    if not as_share:
        lower, upper = estimate.interval or (None, None)
        if lower is None or estimate.set != "interval":
            return value(estimate.value, None)
        return value(estimate.value, (lower, upper))
    if estimate.set == "empty":
        return percent(estimate.value, 1)
    if estimate.interval is not None and estimate.ends is None:
        return percent(estimate.value, 0)
    return share(estimate.value, estimate.ends)


def half_width(width: float) -> str:
    """Format a margin of error of a share in percentage points, with two digits.

    >>> half_width(0.0123), half_width(0.00004)
    ('±1.2 points', '±0.0040 points')
    """
    return f"±{number(100 * width, places([200 * width], 2))} points"


def value(estimate: float | None, interval: OpenInterval | None) -> str:
    """Format an estimate other than a share, with decimals according to its interval.

    If the ends are not negative and one is more than three times the other, as for most ratios, the
    estimate and both ends have three digits.

    >>> value(0.51234, (0.4, 0.6)), value(0.51234, None), value(None, None), value(5.456, (1, 28))
    ('0.51', '0.5123', 'undefined', '5.46')
    """
    if estimate is None:
        return UNDEFINED
    if interval is None or interval[1] == interval[0]:
        return number(float(f"{estimate:.4g}"))
    lower, upper = interval[0], math.inf if interval[1] is None else interval[1]
    if 0 <= 3 * lower < upper:
        return number(float(f"{estimate:.3g}"))
    return number(estimate, places([upper - lower], 2))


def value_interval(interval: OpenInterval | None) -> str:
    """Format an interval of numbers other than shares.

    >>> [value_interval(ends) for ends in ((0.4123, 0.6123), (0.5191, 110.2), (1.2, None))]
    ['0.41 to 0.61', '0.519 to 110', 'from 1.2 on']
    """
    if interval is None:
        return UNDEFINED
    if interval[1] is None or interval[1] == math.inf:
        return f"from {value(interval[0], interval)} on"
    return f"{value(interval[0], interval)} to {value(interval[1], interval)}"


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


def places(widths: Iterable[float], digits: int) -> int:
    """Return the decimals that give half of the narrowest interval `digits` digits, at least 0.

    >>> places([0.066], 2), places([80.0], 2)
    (3, 0)
    """
    halves = [width / 2 for width in widths if 0 < width < math.inf]
    if not halves:
        return 0
    return max(0, digits - 1 - math.floor(math.log10(min(halves))))


def _share_places(interval: Interval | None) -> int:
    if interval is None or not interval[1] > interval[0]:
        return _MOST_PLACES
    return min(_MOST_PLACES, places([100 * (interval[1] - interval[0])], 2))
