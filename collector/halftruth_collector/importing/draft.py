"""Drafts of imported surveys, with notes on what is not imported."""

import ast
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count
from textwrap import shorten
from typing import Any

import msgspec
from halftruth_shared import HalftruthError, ParameterError, Survey
from halftruth_shared.documents import AttributeDocument
from halftruth_shared.number import read_number
from halftruth_shared.rational import format_rational
from halftruth_shared.texts import is_language
from markupsafe import Markup

from ..designing.text import write

#: Most characters of a label and of what explains it.
_LABEL, _HELP = 256, 2_000

#: Default number of bins of numbers.
_BINS = 5

#: Beyond all minima and maxima that a survey can have.
_MOST = 10**15

#: Most questions of a survey.
MOST_QUESTIONS = 1_024

#: How expressions join, and how Python does.
_JOINED = {"&&": "and", "||": "or"}

#: Categories by value in expressions.
Values = Mapping[str, str]

#: Names in expressions of a question or option: the attribute's suffix and its values.
Known = dict[str, tuple[str, Values]]

#: Question made from an element: its wanted name, its members, and its names in expressions.
Made = tuple[str, dict[str, Any], Known]

#: Condition of a questionnaire: name of a question in expressions, and one of its values.
Equality = tuple[str, str]

#: Conjunction of lists of alternative equalities.
Alternatives = list[list[Equality]]


@dataclass(frozen=True)
class Imported:
    """Survey made from a questionnaire.

    Parameters
    ----------
    text : str
        The survey as a TOML file.
    survey : Survey
        The same, read again.
    left_out : tuple of str
        What of the questionnaire is not in it, or is there in another way; a sentence each.
    names : mapping of str to dict
        For each name in expressions of the questionnaire, the ``name`` of the question or option,
        and its ``answers`` by value.
    """

    text: str
    survey: Survey
    left_out: tuple[str, ...]
    names: Mapping[str, Mapping[str, Any]]


@dataclass
class Draft:
    """Draft of a survey: titles, questions, and notes on what is left out."""

    texts: dict[str, Any] = field(default_factory=dict)
    form: dict[str, Any] = field(default_factory=dict)
    languages: list[str] = field(default_factory=list)
    questions: list[dict[str, Any]] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    _known: dict[str, tuple[str, Values]] = field(default_factory=dict)

    def say(self, sentence: str) -> None:
        """Note what is left out, once."""
        if sentence not in self.left_out:
            self.left_out.append(sentence)

    def say_fixed(self, called: str, answers: Sequence[str]) -> None:
        """Note answers that the questionnaire's program has in every language by itself."""
        if len(self.languages) > 1:
            listed = ", ".join(f"'{answer}'" for answer in answers)
            self.say(f"question '{called}': {listed} are to be written in each language")

    def refuse(self, name: str, why: str) -> None:
        """Note that a question is left out."""
        self.say(f"question '{name}' is left out: {why}")

    def refuse_words(self, name: str) -> None:
        """Note that a question with free text is left out."""
        self.refuse(name, "it asks for free text, which cannot be perturbed")

    def name(self, wanted: str) -> str:
        """Return an unused name of a question, close to a wanted one."""
        unique = usable(wanted, {question["name"] for question in self.questions})
        if unique != wanted:
            self.say(f"question '{wanted}' is named '{unique}'")
        return unique

    def number(
        self, name: str, minimum: object, maximum: object, whole: bool
    ) -> dict[str, Any] | None:
        """Return the members of a number question; None without a range, which is noted."""
        # Of texts with few digits alone: written out, 1e99999999 takes minutes.
        low, high = read_number(minimum), read_number(maximum)
        if low is None or high is None or max(abs(low), abs(high)) >= _MOST:
            self.refuse(
                name,
                "a number needs a minimum and a maximum of at most 15 digits to be asked in bins",
            )
            return None
        self.say(f"question '{name}' is a number: see to the width of its bins")
        step = (high - low) / _BINS if not whole else max(1, math.ceil((high - low + 1) / _BINS))
        made = {"minimum": low, "maximum": high, "step": Fraction(step)}
        written = {
            what: value.numerator if value.denominator == 1 else format_rational(value, what)
            for what, value in made.items()
        }
        return {"kind": "number", **written, **({} if whole else {"whole": False})}

    def add(
        self,
        made: Iterable[Made],
        common: Mapping[str, Any],
        conditions: Sequence[Alternatives | None],
        expressions: Iterable[str],
    ) -> None:
        """Add the questions that an element becomes, if they can be asked.

        Parameters
        ----------
        made : iterable of (str, dict, dict)
        common : mapping
            Members of all of them, as a survey's file has them.
        conditions : sequence of list of list of (str, str)
            What has to be so for them to be asked, one of each inner list; None of an expression of
            another kind.
        expressions : iterable of str
            The same as the questionnaire has them.
        """
        found = self._ask_if(conditions)
        for wanted, members, known in made:
            if len(self.questions) == MOST_QUESTIONS:
                self.say(f"what comes after {MOST_QUESTIONS} questions is left out")
                return
            name = self.name(wanted)
            if found is None:
                self.say(
                    f"question '{name}' is asked of everybody: its condition cannot be written as"
                    f" answers to earlier questions: {' '.join('; '.join(expressions).split())}"
                )
            question = self._with_short_label(
                {"name": name, **common, **members, **({"ask_if": found} if found else {})}
            )
            question = {
                key: value for key, value in question.items() if value or type(value) is int
            }
            try:
                msgspec.convert(question, AttributeDocument).attributes(self.languages)
            except (HalftruthError, msgspec.ValidationError) as error:
                self.refuse(name, str(error).removeprefix(f"attribute '{name}': "))
                continue
            self.questions.append(question)
            self._known |= {
                called: (f"{name}{ending}", values) for called, (ending, values) in known.items()
            }

    def _ask_if(self, conditions: Sequence[Alternatives | None]) -> dict[str, list[str]] | None:
        """Return conditions as answers by attribute; None if that is impossible."""
        found: dict[str, list[str]] = {}
        for condition in conditions:
            if condition is None:
                return None
            for alternatives in condition:
                names, answers = set(), []
                for called, value in alternatives:
                    name, categories = self._known.get(called, ("", {}))
                    names.add(name)
                    answers.append(categories.get(value, ""))
                said = list(dict.fromkeys(answers))
                if len(names) > 1 or "" in said or found.setdefault(name, said) != said:
                    return None
        return found

    def _with_short_label(self, question: dict[str, Any]) -> dict[str, Any]:
        """Shorten a label that is too long; all of it then is in the help."""
        label, help = question.get("label", ""), question.get("help", "")
        if all(len(text) <= _LABEL for text in by_language(label).values()):
            return question
        whole, more = by_language(label), by_language(help)
        self.say(f"question '{question['name']}' has a long text, which is in its help")
        joined = {
            language: f"{text} {more.get(language, '')}".strip()[:_HELP]
            for language, text in whole.items()
        }
        short = {key: shorten(text, _LABEL, placeholder=" …") for key, text in whole.items()}
        return question | {"label": plain(short), "help": plain(joined)}

    def survey(self, id: str, gamma: str) -> Imported:
        """Return the survey, read back from its file.

        Raises
        ------
        HalftruthError
            If it cannot be one.
        """
        if not self.questions:
            why = "; ".join(self.left_out) or "it has none"
            raise ParameterError(f"file: no question can be asked: {why}", field="file")
        languages = [language for language in self.languages if is_language(language)]
        mechanism = {"kind": "split-questionnaire", "gamma": gamma}
        data = {
            "id": re.sub(r"[^a-z0-9]+", "-", id.lower()).strip("-")[:64],
            **self.texts,
            **({"languages": languages} if languages else {}),
            "mechanism": mechanism | {"max_length": self._longest},
            **({"form": self.form} if self.form else {}),
            "attributes": self.questions,
        }
        text = write(data)
        names = {
            called: {"name": name, "answers": values}
            for called, (name, values) in self._known.items()
        }
        return Imported(text, Survey.from_toml(text), tuple(self.left_out), names)

    @property
    def _longest(self) -> int:
        attributes = sum(len(question.get("options", "1")) for question in self.questions)
        return min(2, attributes)


def choice(value: object) -> str:
    """Convert a value to a category."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return " ".join(str(value).split())[:_LABEL].strip()


def usable(wanted: str, taken: Collection[str]) -> str:
    """Return an unused name, close to a wanted one.

    >>> usable("sore throat", {"sore-throat"})
    'sore-throat-2'
    """
    name = wanted
    if re.fullmatch(r"[A-Za-z][A-Za-z0-9_.-]{0,63}", wanted, re.ASCII) is None:
        plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", wanted).strip("-.")
        name = (plain if plain[:1].isalpha() else f"q-{plain}".rstrip("-"))[:60]
    numbered = (f"{name}-{number}" for number in count(2))
    return name if name not in taken else next(n for n in numbered if n not in taken)


def alternatives(
    expression: str, equality: re.Pattern[str], read: Callable[[re.Match[str]], Equality]
) -> Alternatives | None:
    """Parse the equalities of an expression that joins lists of alternatives by *and*.

    Returns
    -------
    list of list of (str, str) or None
        Of each list one has to hold; None of any other expression.

    Examples
    --------
    >>> equality = re.compile("([a-z])=([0-9])")
    >>> alternatives("(a=1 or a=2) and b=3", equality, lambda match: match.group(1, 2))
    [[('a', '1'), ('a', '2')], [('b', '3')]]
    >>> alternatives("a=1 or a=2 and b=3", equality, lambda match: match.group(1, 2)) is None
    True
    """
    found: dict[str, Equality] = {}

    def named(match: re.Match[str]) -> str:
        found[name := f"equality{len(found)}_"] = read(match)
        return f" {name} "

    # With equalities replaced by names it is a Python expression.
    logic = equality.sub(named, expression)
    logic = re.sub(r"(?i)&&|\|\||\band\b|\bor\b", lambda m: _JOINED.get(m[0], m[0].lower()), logic)
    try:
        tree = ast.parse(f"({logic})", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    lists = []
    for part in _operands(ast.And, tree):
        names = [getattr(one, "id", "") for one in _operands(ast.Or, part)]
        if not all(name in found for name in names):
            return None
        lists.append([found[name] for name in names])
    return lists


def _operands(operator: type[ast.boolop], node: ast.expr) -> list[ast.expr]:
    """Operands of an operator, without brackets; the expression itself where it has another."""
    if not isinstance(node, ast.BoolOp) or not isinstance(node.op, operator):
        return [node]
    return [part for value in node.values for part in _operands(operator, value)]


def by_language(text: str | Mapping[str, str]) -> Mapping[str, str]:
    """Return a text by language; the language of plain text is ""."""
    return {"": text} if isinstance(text, str) else text


def plain(texts: Mapping[str, str]) -> str | dict[str, str]:
    """Return a text by language, or plain text if it has no language."""
    written = {language: text for language, text in texts.items() if text}
    if set(written) <= {""}:
        return written.get("", "")
    return written


def without_markup(text: str) -> str:
    """Strip the tags of a text."""
    return str(Markup(text).striptags())  # noqa: S704 (what stays is no markup any more)
