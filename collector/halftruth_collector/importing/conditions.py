"""Conditions of questionnaires as answers to earlier questions."""

import ast
import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from itertools import product

from halftruth_shared import Attribute
from halftruth_shared.attribute import NO_ANSWER, NOT_ASKED
from halftruth_shared.number import NumberRange, parse_number

#: Most characters of an expression.
_LONGEST = 5_000

#: Usual number of bins of numbers, and the most where they begin at thresholds.
_BINS, _MOST_BINS = 5, 21

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


@dataclass(frozen=True)
class Condition:
    """Condition of a survey that stands for expressions of a questionnaire.

    It never holds for more people than its expressions say, but for the parts in `lost`.

    Parameters
    ----------
    answers : dict or None
        Answers by attribute with which it holds; None where nobody can give them.
    lost : tuple of str
        Parts that are no condition of a survey: *or* joins several questions, or an answer is
        unknown.
    narrowed : tuple of str
        Comparisons with a number inside a bin, with which only the bins beyond it hold.
    """

    answers: dict[str, list[str]] | None
    lost: tuple[str, ...] = ()
    narrowed: tuple[str, ...] = ()


def ask_if(
    expressions: Iterable[str],
    dialect: Dialect,
    known: Known,
    attributes: Mapping[str, Attribute],
) -> Condition:
    """Return the condition for what all of these expressions say."""
    reading = _Reading(known, attributes)
    merged: Answers = {}
    lost: list[str] = []
    for expression in expressions:
        try:
            parts, comparisons = _parse(expression, dialect)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            lost.append(expression)
            continue
        for part in parts:
            answers = reading.evaluate(part, comparisons)
            if answers is None:
                lost.append(_written(part, comparisons) if len(parts) > 1 else expression)
            else:
                merged = _both(merged, answers)
    if not all(merged.values()):
        return Condition(None, tuple(lost), tuple(reading.narrowed))
    kept = {
        name: [category for category in attributes[name].categories if category in answers]
        for name, answers in merged.items()
        if len(answers) < len(attributes[name].categories)
    }
    return Condition(kept, tuple(lost), tuple(reading.narrowed))


#: Comparisons by the names that stand for them in a Python expression, with how they are written.
_Named = dict[str, tuple[Comparison, str]]


def _parse(expression: str, dialect: Dialect) -> tuple[list[ast.expr], _Named]:
    """Return the parts of an expression that *and* joins, and its comparisons."""
    if len(expression) > _LONGEST:
        raise ValueError("too long")
    comparisons: _Named = {}

    def named(match: re.Match[str]) -> str:
        name = f"comparison{len(comparisons)}_"
        comparisons[name] = dialect.read(match), match[0]
        return f" {name} "

    # With comparisons replaced by names it is a Python expression.
    logic = dialect.pattern.sub(named, expression)
    logic = re.sub(
        r"(?i)&&|\|\||!|\band\b|\bor\b|\bnot\b",
        lambda match: f" {_JOINED.get(match[0], match[0].lower())} ",
        logic,
    )
    return [*_conjuncts(ast.parse(f"({logic.strip()})", mode="eval").body)], comparisons


def _conjuncts(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        for value in node.values:
            yield from _conjuncts(value)
    else:
        yield node


def _written(node: ast.expr, comparisons: _Named) -> str:
    """Return a part of an expression as the questionnaire has it."""
    return re.sub(
        r"comparison\d+_",
        lambda name: comparisons[name[0]][1] if name[0] in comparisons else name[0],
        ast.unparse(node),
    )


@dataclass
class _Reading:
    """Answers with which parts of expressions hold.

    Where a number is compared with one inside a bin, not all of the bin's answers are alike.
    `whole` is true for the bins of which all answers hold, and false for those of which any does.
    """

    known: Known
    attributes: Mapping[str, Attribute]
    narrowed: dict[str, None] = field(default_factory=dict)

    def evaluate(
        self, node: ast.expr, comparisons: _Named, *, whole: bool = True
    ) -> Answers | None:
        """Return the answers by attribute; None for what is no condition of a survey."""
        if isinstance(node, ast.Name):
            named = comparisons.get(node.id)
            return None if named is None else self.compare(*named, whole)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            # What holds for all answers of a bin is denied where it holds for any of them.
            part = self.evaluate(node.operand, comparisons, whole=not whole)
            if part is None or len(part) != 1:
                return None
            [(name, answers)] = part.items()
            return {name: frozenset(self.attributes[name].categories) - answers}
        if not isinstance(node, ast.BoolOp):
            return None
        parts = [self.evaluate(value, comparisons, whole=whole) for value in node.values]
        some = [part for part in parts if part is not None]
        if len(some) < len(parts):
            return None
        if isinstance(node.op, ast.And):
            return reduce(_both, some)
        # A condition of a survey is a set of answers to each of some questions.
        names = {name for part in some for name in part}
        if len(names) != 1 or not all(some):
            return None
        [name] = names
        return {name: frozenset().union(*[part[name] for part in some])}

    def compare(self, comparison: Comparison, written: str, whole: bool) -> Answers | None:
        """Return the answers with which a comparison holds; None if they are unknown."""
        called, sign = comparison.name, comparison.sign
        if sign == "contains" and f"{called}[{comparison.values[0]}]" in self.known:
            called = f"{called}[{comparison.values[0]}]"
        if called not in self.known:
            return None
        name, values = self.known[called]
        attribute = self.attributes[name]
        unequal = sign == "!="
        sets = [
            _holding(attribute, values, "=" if unequal else sign, value, whole != unequal)
            for value in comparison.values
        ]
        if None in sets:
            return None
        answers = frozenset().union(*[each for each in sets if each])
        if attribute.number is not None and any(
            _holding(attribute, values, sign_of, value, True)
            != _holding(attribute, values, sign_of, value, False)
            for value in comparison.values
            for sign_of in ["=" if unequal else sign]
        ):
            self.narrowed[written] = None
        return {name: frozenset(attribute.categories) - answers if unequal else answers}


def _both(one: Answers, other: Answers) -> Answers:
    """Return the answers with which both parts hold."""
    return one | {name: one.get(name, answers) & answers for name, answers in other.items()}


def _holding(
    attribute: Attribute, values: Mapping[str, str], sign: str, value: str, whole: bool
) -> frozenset[str] | None:
    """Return the answers with which a comparison with one value holds; None if unknown."""
    if not value:
        # Of an answer of several, empty is not ticked, too.
        ticked = {values[""]} if "" in values else set()
        return frozenset({NO_ANSWER, NOT_ASKED}) & frozenset(attribute.missing) | ticked
    bound = parse_number(value)
    if attribute.number is not None:
        return None if bound is None else _bins(attribute.number, sign, bound, whole)
    if sign not in _ORDERS:
        return frozenset({values[value]}) if value in values else None
    numbers = {category: parse_number(each) for each, category in values.items()}
    if bound is None or not any(number is not None for number in numbers.values()):
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
                bound = parse_number(value)
                if number is not None and bound is not None:
                    ends.add((name, _first(number, sign, bound)))
    return ends


def fitted_bins(low: Fraction, high: Fraction, whole: bool, edges: Iterable[Fraction]) -> Fraction:
    """Return the width of about five bins from the least number on that begin at these edges.

    Where bins of one width cannot, only the first edges count.

    >>> for edges in ([], [18], [21, 66], [18, 65]):
    ...     print(fitted_bins(Fraction(16), Fraction(99), True, map(Fraction, edges)))
    17
    17
    5
    17
    """
    inside = sorted([edge for edge in edges if low < edge <= high])
    size = high - low + (1 if whole else 0)
    for count in range(len(inside), 0, -1):
        steps = [edge - low for edge in inside[:count]]
        unit = math.lcm(*[step.denominator for step in steps])
        common = Fraction(math.gcd(*[int(step * unit) for step in steps]), unit)
        widths = [common / k for k in range(1, _MOST_BINS) if not whole or common % k == 0]
        counts = {math.ceil(size / width): width for width in widths}
        fitting = [bins for bins in counts if 2 <= bins <= _MOST_BINS]
        if fitting:
            return counts[min(fitting, key=lambda bins: abs(bins - _BINS))]
    usual = size / _BINS
    return Fraction(max(1, math.ceil(usual))) if whole else usual


def _first(number: NumberRange, sign: str, bound: Fraction) -> Fraction:
    """Return the least answer on the upper side of a bound, as far as there is one."""
    if not number.whole:
        return bound
    return Fraction(math.floor(bound) + 1 if sign in (">", "<=") else math.ceil(bound))


def _bins(number: NumberRange, sign: str, bound: Fraction, whole: bool) -> frozenset[str]:
    """Return the bins of which all answers are on one side of a bound, or any of them."""
    if sign not in _ORDERS:
        return _bins(number, ">=", bound, whole) & _bins(number, "<=", bound, whole)
    order = _ORDERS[sign]
    holding = set()
    for place, category in enumerate(number.categories):
        low = number.minimum + place * number.step
        last = place == len(number.categories) - 1
        high = number.maximum if last else low + number.step - (1 if number.whole else 0)
        # Of a number that need not be whole the end of a bin belongs to the next one.
        open_end = not number.whole and not last
        at_low, at_high = order(low, bound), order(high, bound)
        if open_end and high == bound:
            at_high = sign in ("<", "<=")
        if (at_low and at_high) if whole else (at_low or at_high):
            holding.add(category)
    return frozenset(holding)
