"""Translate conditions of questionnaires to answers to earlier questions."""

import ast
import math
import operator
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from itertools import product
from typing import NamedTuple

from halftruth_shared import Attribute
from halftruth_shared.attribute import NO_ANSWER, NOT_ASKED
from halftruth_shared.number import NumberRange, parse_number

#: Largest length of an expression.
_MAX_EXPRESSION = 5_000

#: Logical operators in expressions and in Python.
_JOINED = {"&&": "and", "||": "or", "!": "not"}

_ORDERS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}

#: Names in expressions, with the attribute and its categories by value.
ExpressionNames = Mapping[str, tuple[str, Mapping[str, str]]]

#: Answers by attribute for which a condition holds.
Answers = dict[str, frozenset[str]]


class Comparison(NamedTuple):
    """Comparison of the question `name` in an expression; the value ``""`` is no answer.

    The sign is ``=`` or ``contains`` (one of the values), ``!=`` (none of them), or an inequality.
    """

    name: str
    sign: str
    values: tuple[str, ...]


def normalize(text: str) -> str:
    """Return the form of a name or value that is compared: the same characters are equal."""
    return unicodedata.normalize("NFC", text)


class Dialect(NamedTuple):
    """Language of expressions: its comparisons, which *and*, *or* and *not* combine."""

    pattern: re.Pattern[str]
    read: Callable[[re.Match[str]], Comparison]

    @classmethod
    def without_comparisons(cls) -> "Dialect":
        """Return the language of questionnaires that have no expressions."""

        def read(match: re.Match[str]) -> Comparison:
            raise AssertionError(match)

        return cls(re.compile(r"(?!)"), read)


class Condition(NamedTuple):
    """Condition of a survey, translated from expressions of a questionnaire.

    Apart from the parts in `lost`, it never holds for more people than the expressions.
    """

    #: Answers by attribute for which it holds; None if it never holds.
    answers: dict[str, list[str]] | None
    #: Parts that cannot be translated: *or* combines several questions, or an answer is unknown.
    lost: list[str]
    #: Comparisons with a number inside a bin; the condition excludes this bin.
    narrowed: list[str]


def translate_condition(
    expressions: Iterable[str],
    dialect: Dialect,
    known: ExpressionNames,
    attributes: Mapping[str, Attribute],
) -> Condition:
    """Return the condition of a survey for the conjunction of some expressions."""
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
                lost.append(_restore_text(part, comparisons) if len(parts) > 1 else expression)
            else:
                merged = _intersect(merged, answers)
    if not all(merged.values()):
        return Condition(None, lost, [*reading.narrowed])
    kept = {
        name: [category for category in attributes[name].categories if category in answers]
        for name, answers in merged.items()
        if len(answers) < len(attributes[name].categories)
    }
    return Condition(kept, lost, [*reading.narrowed])


#: Comparisons, with their original text, by the names that replace them in a Python expression.
_Named = dict[str, tuple[Comparison, str]]


def _parse(expression: str, dialect: Dialect) -> tuple[list[ast.expr], _Named]:
    """Return the conjuncts of an expression, and its comparisons."""
    if len(expression) > _MAX_EXPRESSION:
        raise ValueError("too long")
    comparisons: _Named = {}

    def named(match: re.Match[str]) -> str:
        name = f"comparison{len(comparisons)}_"
        comparisons[name] = _read(dialect, match), match[0]
        return f" {name} "

    # Replacing comparisons by names gives a Python expression.
    logic = dialect.pattern.sub(named, expression)
    logic = re.sub(
        r"(?i)&&|\|\||!|\band\b|\bor\b|\bnot\b",
        lambda match: f" {_JOINED.get(match[0], match[0].lower())} ",
        logic,
    )
    return [*_conjuncts(ast.parse(f"({logic.strip()})", mode="eval").body)], comparisons


def _read(dialect: Dialect, match: re.Match[str]) -> Comparison:
    """Read a comparison, with its name and values in the form that is compared."""
    name, sign, values = dialect.read(match)
    return Comparison(normalize(name), sign, tuple([normalize(value) for value in values]))


def _conjuncts(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        for value in node.values:
            yield from _conjuncts(value)
    else:
        yield node


def _restore_text(node: ast.expr, comparisons: _Named) -> str:
    """Return a part of an expression in the words of the questionnaire."""
    return re.sub(
        r"comparison\d+_",
        lambda name: comparisons[name[0]][1] if name[0] in comparisons else name[0],
        ast.unparse(node),
    )


@dataclass
class _Reading:
    """Evaluation of expressions to the answers for which they hold.

    If a number is compared with a threshold inside a bin, the comparison holds for a part of the
    bin. `whole` selects the bins for which it holds entirely; otherwise bins for which it holds in
    part are included.
    """

    known: ExpressionNames
    attributes: Mapping[str, Attribute]
    narrowed: dict[str, None] = field(default_factory=dict)

    def evaluate(
        self, node: ast.expr, comparisons: _Named, *, whole: bool = True
    ) -> Answers | None:
        """Return the answers by attribute; None if the expression cannot be translated."""
        if isinstance(node, ast.Name):
            named = comparisons.get(node.id)
            return None if named is None else self.compare(*named, whole)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            # The negation holds for a whole bin if the operand holds for no part of it.
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
            return reduce(_intersect, some)
        # A condition of a survey is a conjunction over questions, so "or" needs a single question.
        names = {name for part in some for name in part}
        if len(names) != 1 or not all(some):
            return None
        [name] = names
        return {name: frozenset().union(*[part[name] for part in some])}

    def compare(self, comparison: Comparison, written: str, whole: bool) -> Answers | None:
        """Return the answers for which a comparison holds; None if they are unknown."""
        called, sign = comparison.name, comparison.sign
        if sign == "contains" and f"{called}[{comparison.values[0]}]" in self.known:
            called = f"{called}[{comparison.values[0]}]"
        if called not in self.known:
            return None
        name, values = self.known[called]
        attribute = self.attributes[name]
        unequal = sign == "!="
        sets = [
            _select_categories(attribute, values, "=" if unequal else sign, value, whole != unequal)
            for value in comparison.values
        ]
        if None in sets:
            return None
        answers = frozenset().union(*[each for each in sets if each])
        if attribute.number is not None:
            sign = "=" if unequal else sign
            for value in comparison.values:
                whole_bins, all_bins = (
                    _select_categories(attribute, values, sign, value, only)
                    for only in (True, False)
                )
                if whole_bins != all_bins:
                    self.narrowed[written] = None
        return {name: frozenset(attribute.categories) - answers if unequal else answers}


def _intersect(one: Answers, other: Answers) -> Answers:
    """Return the answers for which both parts hold."""
    return one | {name: one.get(name, answers) & answers for name, answers in other.items()}


def _select_categories(
    attribute: Attribute, values: Mapping[str, str], sign: str, value: str, whole: bool
) -> frozenset[str] | None:
    """Return the answers for which a comparison with one value holds; None if unknown."""
    if not value:
        # For an option of a multiple-response question, empty also means not chosen.
        ticked = {values[""]} if "" in values else set()
        return frozenset({NO_ANSWER, NOT_ASKED}) & frozenset(attribute.missing) | ticked
    bound = parse_number(value)
    if attribute.number is not None:
        return None if bound is None else _select_bins(attribute.number, sign, bound, whole)
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


def find_thresholds(
    expressions: Iterable[str],
    dialect: Dialect,
    known: ExpressionNames,
    attributes: Mapping[str, Attribute],
) -> set[tuple[str, Fraction]]:
    """Return the edges of bins that an exact translation needs, with the name of each number."""
    ends = set()
    for expression in expressions:
        for match in dialect.pattern.finditer(expression[:_MAX_EXPRESSION]):
            comparison = _read(dialect, match)
            name, _ = known.get(comparison.name, ("", {}))
            number = attributes[name].number if name in attributes else None
            signs = [comparison.sign] if comparison.sign in _ORDERS else [">=", ">"]
            for value, sign in product(comparison.values, signs):
                bound = parse_number(value)
                if number is not None and bound is not None:
                    ends.add((name, _first_above(number, sign, bound)))
    return ends


def _first_above(number: NumberRange, sign: str, bound: Fraction) -> Fraction:
    """Return the smallest answer above a bound; for numbers that are not whole, the bound."""
    if not number.whole:
        return bound
    return Fraction(math.floor(bound) + 1 if sign in (">", "<=") else math.ceil(bound))


def _select_bins(number: NumberRange, sign: str, bound: Fraction, whole: bool) -> frozenset[str]:
    """Return the bins that are entirely, or else partly, on one side of a bound."""
    if sign not in _ORDERS:
        return _select_bins(number, ">=", bound, whole) & _select_bins(number, "<=", bound, whole)
    order = _ORDERS[sign]
    holding = set()
    for place, category in enumerate(number.categories):
        low = number.minimum + place * number.step
        last = place == len(number.categories) - 1
        high = number.maximum if last else low + number.step - (1 if number.whole else 0)
        # If numbers need not be whole, the upper edge of a bin belongs to the next bin.
        open_end = not number.whole and not last
        at_low, at_high = order(low, bound), order(high, bound)
        if open_end and high == bound:
            at_high = sign in ("<", "<=")
        if (at_low and at_high) if whole else (at_low or at_high):
            holding.add(category)
    return frozenset(holding)
