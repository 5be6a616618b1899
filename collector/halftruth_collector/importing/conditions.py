"""Conditions of questionnaires as answers to earlier questions."""

import ast
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from halftruth_shared import Attribute
from halftruth_shared.attribute import NO_ANSWER, NOT_ASKED
from halftruth_shared.number import NumberRange, read_number

#: Most characters of an expression.
_LONGEST = 5_000

#: Usual number of bins of numbers, and the most where they begin at thresholds.
_BINS, _MOST_BINS = 5, 20

#: How much lower than the least number the first of these may begin.
_MOST_LOWER = 10

#: How expressions join, and how Python does.
_JOINED = {"&&": "and", "||": "or", "!": "not"}

_ORDERS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}

#: Names in expressions: the attribute, and its categories by value.
Known = Mapping[str, tuple[str, Mapping[str, str]]]

#: Answers of each attribute with which a condition holds.
Answers = dict[str, frozenset[str]]


@dataclass(frozen=True)
class Comparison:
    """Comparison in an expression.

    Parameters
    ----------
    name : str
        Of a question.
    sign : str
        ``=`` and ``contains`` (one of the values), ``!=`` (none of them), or one of an order.
    values : tuple of str
        No answer is ``""``.
    """

    name: str
    sign: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Dialect:
    """Language of expressions: the comparisons in them; *and*, *or*, *not* join these."""

    pattern: re.Pattern[str]
    read: Callable[[re.Match[str]], Comparison]


def ask_if(
    expressions: Iterable[str],
    dialect: Dialect,
    known: Known,
    attributes: Mapping[str, Attribute],
) -> dict[str, list[str]] | None:
    """Return the answers by attribute with which all expressions hold.

    None if that is no condition of a survey: *or* joins several questions, an answer is unknown,
    a number is compared with one inside a bin (see :func:`thresholds`), or it never holds.
    """
    try:
        parts = [_parse(expression, dialect, known, attributes) for expression in expressions]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    answers_by_name = _both(parts)
    if answers_by_name is None or not all(answers_by_name.values()):
        return None
    return {
        name: [category for category in attributes[name].categories if category in answers]
        for name, answers in answers_by_name.items()
        if len(answers) < len(attributes[name].categories)
    }


def _parse(
    expression: str, dialect: Dialect, known: Known, attributes: Mapping[str, Attribute]
) -> Answers | None:
    if len(expression) > _LONGEST:
        return None
    comparisons: dict[str, Answers | None] = {}

    def named(match: re.Match[str]) -> str:
        name = f"comparison{len(comparisons)}_"
        comparisons[name] = _answers(dialect.read(match), known, attributes)
        return f" {name} "

    # With comparisons replaced by names it is a Python expression.
    logic = dialect.pattern.sub(named, expression)
    logic = re.sub(
        r"(?i)&&|\|\||!|\band\b|\bor\b|\bnot\b",
        lambda match: f" {_JOINED.get(match[0], match[0].lower())} ",
        logic,
    )
    return _evaluate(ast.parse(f"({logic.strip()})", mode="eval").body, comparisons, attributes)


def _evaluate(
    node: ast.expr, comparisons: Mapping[str, Answers | None], attributes: Mapping[str, Attribute]
) -> Answers | None:
    if isinstance(node, ast.Name):
        return comparisons.get(node.id)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        part = _evaluate(node.operand, comparisons, attributes)
        if part is None or len(part) != 1:
            return None
        [(name, answers)] = part.items()
        return {name: frozenset(attributes[name].categories) - answers}
    if not isinstance(node, ast.BoolOp):
        return None
    parts = [_evaluate(value, comparisons, attributes) for value in node.values]
    if isinstance(node.op, ast.And):
        return _both(parts)
    # A condition of a survey is a set of answers to each of some questions.
    sets = [part for part in parts if part is not None and len(part) == 1]
    names = {name for part in sets for name in part}
    if len(sets) < len(parts) or len(names) != 1:
        return None
    [name] = names
    return {name: frozenset().union(*[part[name] for part in sets])}


def _both(parts: Iterable[Answers | None]) -> Answers | None:
    """Return the answers with which all parts hold."""
    merged: Answers = {}
    for part in parts:
        if part is None:
            return None
        for name, answers in part.items():
            merged[name] = merged.get(name, answers) & answers
    return merged


def _answers(
    comparison: Comparison, known: Known, attributes: Mapping[str, Attribute]
) -> Answers | None:
    """Return the answers with which a comparison holds, None if that cannot be known."""
    called, sign = comparison.name, comparison.sign
    if sign == "contains" and f"{called}[{comparison.values[0]}]" in known:
        called = f"{called}[{comparison.values[0]}]"
    if called not in known:
        return None
    name, values = known[called]
    attribute = attributes[name]
    if sign in _ORDERS:
        answers = _ordered(attribute, values, sign, comparison.values[0])
    else:
        sets = [_equal(attribute, values, value) for value in comparison.values]
        answers = None if None in sets else frozenset().union(*[each for each in sets if each])
        if answers is not None and sign == "!=":
            answers = frozenset(attribute.categories) - answers
    return None if answers is None else {name: answers}


def _equal(attribute: Attribute, values: Mapping[str, str], value: str) -> frozenset[str] | None:
    if not value:
        # Of an answer of several, empty is not ticked, too.
        ticked = {values[""]} if "" in values else set()
        return frozenset({NO_ANSWER, NOT_ASKED}) & frozenset(attribute.missing) | ticked
    if attribute.number is None:
        return frozenset({values[value]}) if value in values else None
    least, more = (_ordered(attribute, values, sign, value) for sign in (">=", ">"))
    return None if least is None or more is None else least - more


def _ordered(
    attribute: Attribute, values: Mapping[str, str], sign: str, value: str
) -> frozenset[str] | None:
    """Return the answers on one side of a number."""
    bound = read_number(value)
    if bound is None:
        return None
    if attribute.number is not None:
        return _bins(attribute.number, sign, bound)
    numbers = {category: read_number(each) for each, category in values.items()}
    if not any(number is not None for number in numbers.values()):
        return None
    return frozenset(
        category
        for category, number in numbers.items()
        if number is not None and _ORDERS[sign](number, bound)
    )


def thresholds(
    expressions: Iterable[str], dialect: Dialect, known: Known, attributes: Mapping[str, Attribute]
) -> set[tuple[str, Fraction]]:
    """Return each number with the ends of bins that it would need for these expressions."""
    ends = set()
    for expression in expressions:
        for match in dialect.pattern.finditer(expression[:_LONGEST]):
            comparison = dialect.read(match)
            name, _ = known.get(comparison.name, ("", {}))
            number = attributes[name].number if name in attributes else None
            signs = [comparison.sign] if comparison.sign in _ORDERS else [">=", ">"]
            for value, sign in product(comparison.values, signs):
                bound = read_number(value)
                if number is not None and bound is not None:
                    ends.add((name, _first(number, sign, bound)))
    return ends


def fitted_bins(
    low: Fraction, high: Fraction, whole: bool, edges: Iterable[Fraction]
) -> tuple[Fraction, Fraction]:
    """Return the least number and the width of about five bins that begin at these edges.

    Where bins of one width cannot, whole numbers begin a few lower, or only the first edges count.

    >>> for edges in ([], [18], [20, 65], [18, 65]):
    ...     print(*fitted_bins(Fraction(16), Fraction(99), True, map(Fraction, edges)))
    16 17
    13 5
    15 5
    13 5
    """
    inside = sorted([edge for edge in edges if low < edge <= high])
    lower = range(int(low) - 1, max(int(low) - _MOST_LOWER, 0) - 1, -1) if whole else ()
    for count, least in product(range(len(inside), 0, -1), (low, *map(Fraction, lower))):
        size = high - least + (1 if whole else 0)
        steps = [edge - least for edge in inside[:count]]
        unit = math.lcm(*[step.denominator for step in steps])
        common = Fraction(math.gcd(*[int(step * unit) for step in steps]), unit)
        widths = [common / k for k in range(1, _MOST_BINS) if not whole or common % k == 0]
        counts = {math.ceil(size / width): width for width in widths}
        fitting = [bins for bins in counts if 2 <= bins <= _MOST_BINS]
        if fitting:
            return least, counts[min(fitting, key=lambda bins: abs(bins - _BINS))]
    usual = (high - low + (1 if whole else 0)) / _BINS
    return low, Fraction(max(1, math.ceil(usual))) if whole else usual


def _first(number: NumberRange, sign: str, bound: Fraction) -> Fraction:
    """Return the least answer on the upper side of a bound, as far as there is one."""
    if not number.whole:
        return bound
    return Fraction(math.floor(bound) + 1 if sign in (">", "<=") else math.ceil(bound))


def _bins(number: NumberRange, sign: str, bound: Fraction) -> frozenset[str] | None:
    """Return the bins on one side of a bound; None if it is inside one."""
    bins = number.categories
    after = sign in (">", "<=")
    if after and not number.whole and number.minimum <= bound < number.maximum:
        return None
    bound = _first(number, sign, bound)
    lows = [number.minimum + i * number.step for i in range(len(bins))]
    beyond = bound > number.maximum or (after and not number.whole and bound == number.maximum)
    if not beyond and bound > number.minimum and bound not in lows:
        return None
    upper = frozenset(
        each for each, low in zip(bins, lows, strict=True) if not beyond and low >= bound
    )
    return upper if sign.startswith(">") else frozenset(bins) - upper
