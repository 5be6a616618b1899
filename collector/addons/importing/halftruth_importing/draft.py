"""Drafts of imported surveys, with notes on everything that is not imported unchanged."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from html import unescape
from itertools import chain
from textwrap import shorten
from typing import Any, NamedTuple

import msgspec
from halftruth_collector.drafting.choices import LONGEST_NAME, fit_bin_width, make_name
from halftruth_collector.importers import Imported
from halftruth_collector.survey_file import write
from halftruth_shared import Attribute, HalftruthError, ParameterError
from halftruth_shared.documents import AttributeDocument
from halftruth_shared.framing import Framing
from halftruth_shared.number import parse_number
from halftruth_shared.rational import format_rational

from .conditions import (
    Condition,
    Dialect,
    find_thresholds,
    normalize,
    translate_condition,
)
from .languages import assign_tags

#: Largest length of a label and of a help text.
_LABEL, _HELP = 256, 2_000

#: A text with a last sentence that is short enough for a label.
_LAST = re.compile(rf"(.+[.!?:]) (\S.{{,{_LABEL - 1}}})")

#: Placeholder for the range of a number without limits.
_RANGE = Fraction(100)

#: Conditions that always hold, and conditions that never hold.
_ALWAYS, _NEVER = ("", "1", "true", "true()"), ("0", "false", "false()")

#: Missing answers: common texts in the languages of the hosted form, and common codes.
_NO_ANSWER = re.compile(
    r"(?:i )?(?:don['’]?t|do not) (?:know|remember)|not sure|refused?(?: to (?:answer|say))?"
    r"|(?:i )?(?:prefer|would rather) not (?:to )?(?:say|answer)|no (?:answer|response)"
    r"|(?:ich )?wei(?:ß|ss) (?:ich )?nicht|(?:keine angabe|verweigert)"
    r"|(?:je )?ne sa(?:is|it) pas|refus(?:e de répondre)?|sans réponse"
    r"|no (?:sabe|sé|contesta|responde)|(?:prefiero|prefiere) no (?:responder|contestar|decirlo)",
    re.IGNORECASE,
)
_CODES_OF_NO_ANSWER = ("-66", "-77", "-88", "-97", "-98", "-99", "-888", "-999")

#: Largest number of questions that a line names.
_MAX_NAMES = 3

#: Markup that is not displayed, inline tags, and all other tags.
_HIDDEN_MARKUP = re.compile(
    r"<!--.*?(?:-->|\Z)|<(script|style|template|noscript|head)\b.*?(?:</\1\s*>|\Z)", re.I | re.S
)
_REST = r"""(?:(?:[^<>"']|"[^"]*"|'[^']*')*|[^<>]*)>"""
_INLINE_TAG = re.compile(
    rf"</?(?:a|abbr|b|code|em|font|i|mark|s|small|span|strong|su[bp]|u)\b{_REST}", re.I
)
_TAG = re.compile(rf"</?[a-z]{_REST}|<![^<>]*>", re.I)
_LINKED = re.compile(r"<(?:img|video|audio|iframe|object|embed|a\s[^<>]*href)\b", re.I)

#: Bound on the absolute value of smallest and largest answers.
MAX_MAGNITUDE = 10**15

#: Largest length of the name of an option, which follows that of its question.
_OPTION = 31

#: A text that is a number, perhaps a very long one.
_NUMBER = re.compile(r"\s*[-+]?[\d.][\d.eE+-]*\s*", re.ASCII)

#: Largest number of questions of a survey.
MOST_QUESTIONS = 1_024

#: Largest number of comments of a file, and largest length of a comment.
_MAX_COMMENTS, _MAX_COMMENT = 1_024, 400

#: Categories by value in expressions.
Values = Mapping[str, str]

#: Names of a question or option in expressions, with the suffix of the attribute and its values.
ExpressionNames = dict[str, tuple[str, Values]]


#: Why a question with free text is left out.
FREE_TEXT = "it asks for free text, which cannot be perturbed"


class LeftOut(Exception):
    """A question cannot be asked; the message says why."""


class ConvertedQuestion(NamedTuple):
    """Question converted from an element."""

    #: Preferred name.
    name: str
    #: Members in the survey file.
    members: dict[str, Any]
    #: Names in expressions.
    known: ExpressionNames
    #: Conditions of this question alone, such as that of a row.
    conditions: Sequence[str] = ()


@dataclass
class SurveyDraft:
    """Draft of an imported survey: titles, questions, and notes on changes."""

    #: Language of the conditions of `add_questions`.
    dialect: Dialect = field(default_factory=Dialect.without_comparisons, init=False)
    texts: dict[str, Any] = field(default_factory=dict)
    form: dict[str, Any] = field(default_factory=dict)
    languages: list[str] = field(default_factory=list)
    questions: list[dict[str, Any]] = field(default_factory=list)
    #: Requested edges of the bins of numbers, and edges that conditions need but bins do not have.
    edges: Mapping[str, Collection[Fraction]] = field(default_factory=dict)
    missed_edges: dict[str, set[Fraction]] = field(default_factory=dict)
    _notes: dict[tuple[str, str, str], None] = field(default_factory=dict)
    _questions_of: dict[str, list[str]] = field(default_factory=dict)
    _element_of: dict[str, str] = field(default_factory=dict)
    _unconfirmed: dict[str, list[str]] = field(default_factory=dict)
    #: Tags of languages by their names in the questionnaire.
    _tags: dict[str, str] = field(default_factory=dict)
    _untranslated: dict[str, list[str]] = field(default_factory=dict)
    _introductions: list[str | dict[str, str]] = field(default_factory=list)
    _known: dict[str, tuple[str, Values]] = field(default_factory=dict)
    #: The same names and values as expressions are compared with them.
    _comparable: dict[str, tuple[str, Values]] = field(default_factory=dict)
    _attributes: dict[str, Attribute] = field(default_factory=dict)

    def limit_choices(self, made: ConvertedQuestion, given: object) -> bool:
        """Limit how many options of a question with several answers can be chosen.

        `given` is the limit in the questionnaire. Returns whether it is one that a survey can have.
        """
        written = str(given)
        if not written.isdecimal() or not 1 <= int(written) <= len(made.members["options"]):
            return False
        made.members["at_most"] = int(written)
        return True

    def add_note(self, what: str, name: str = "", which: str = "") -> None:
        """Add a note once, perhaps about a question, with the detail `which`."""
        self._notes[what, name, which] = None
        if name:
            self._questions_of.setdefault(self._element_of.get(name, name), [])

    def add_unconfirmed(self, what: str, name: str = "", which: str = "") -> None:
        """Add a note that an author has to confirm before publishing the question.

        Without a name, it concerns all questions.
        """
        self.add_note(what, name, which)
        self._unconfirmed.setdefault(name, []).append(_format_note(what, "", which))

    def note_fixed_answers(self, called: str, answers: Sequence[str]) -> None:
        """Note fixed answers, which the other program translates automatically."""
        if len(self.languages) > 1:
            listed = ", ".join(f"'{answer}'" for answer in answers)
            self.add_note(f"{listed} have to be translated", called)

    def read_answers(
        self, listed: Iterable[tuple[object, str | dict[str, str]]]
    ) -> tuple[dict[str, str], dict[str, Any]]:
        """Return categories by value, and labels by category, of answers with these texts.

        Raise LeftOut if the categories would not be exactly these answers.
        """
        values: dict[str, str] = {}
        texts: dict[str, Any] = {}
        for given, text in listed:
            value, category = format_value(given), make_category(given)
            if value in values:
                raise LeftOut(f"its answers have the value '{value}' twice")
            if category in values.values():
                raise LeftOut(f"its answers have the values '{value}' and another alike")
            if len(category) > _LABEL:
                raise LeftOut(f"a value of its answers has more than {_LABEL} characters")
            values[value] = category
            if text and text != category:
                texts[category] = text
        return values, texts

    def make_options(
        self, called: str, values: Mapping[str, str], texts: Mapping[str, Any]
    ) -> dict[str, dict[str, Any]]:
        """Return an option for each value of a multiple-response question.

        `values` has the categories by value, and `texts` their labels.
        """
        options: dict[str, dict[str, Any]] = {}
        taken: set[str] = set()
        for value, category in values.items():
            name = make_name(category, taken, _OPTION)
            if name != category:
                self.add_note("an option has another name", called, name)
            taken.add(name)
            options[value] = {"name": name, "label": texts.get(category, category)}
        return options

    def declare_languages(
        self,
        wanted: Mapping[str, Sequence[str]],
        texts: Iterable[Mapping[str, str]],
        main: str | None = None,
    ) -> None:
        """Set the languages of the survey; the main one is first.

        Parameters
        ----------
        wanted : mapping of str to sequence of str
            Suitable tags of each language, by its name in the questionnaire.
        texts : iterable of mapping of str to str
            All texts by the names of their languages.
        main : str, optional
            Name of the main language.
        """
        self._tags = assign_tags(wanted, texts)
        tags = dict.fromkeys(self._tags.values())
        first = [self._tags[main]] if main in self._tags else []
        self.languages = [*dict.fromkeys([*first, *tags])]
        for name, tag in self._tags.items():
            if tag not in wanted[name]:
                self.add_note("a language whose tag is unknown has a private one", name, tag)

    def tag_of(self, name: str) -> str | None:
        """Return the tag of a language by its name in the questionnaire."""
        return self._tags.get(name)

    def convert_text(self, texts: Mapping[str, str]) -> str | dict[str, str]:
        """Return a text without markup, by tag; `texts` are by the names of their languages."""
        written = {name: strip_markup(text) for name, text in texts.items()}
        start = shorten(next(filter(None, written.values()), ""), 60, placeholder=" …")
        if any(_LINKED.search(text) for text in texts.values()):
            self.add_note("the links and pictures of texts are left out", "", start)
        if any("{" in text for text in written.values()):
            self.add_note("placeholders in braces are unchanged", "", start)
        said: dict[str, str] = {}
        for name, words in written.items():
            tag = self._tags.get(name) if self.languages else ""
            if tag is None and words:
                self.add_note(f"texts in '{name}' are left out, which is not among its languages")
            elif tag is not None and words:
                said.setdefault(tag, words)
        if any(written.values()):
            for language in self.languages:
                if language not in said:
                    self._untranslated.setdefault(language, []).append(start)
        return simplify_texts(said)

    def add_introduction(self, *texts: str | dict[str, str]) -> int:
        """Add texts above the next question; return the number of earlier such texts."""
        self._introductions += [text for text in texts if text]
        return len(self._introductions) - sum(map(bool, texts))

    def end_part(self, before: int) -> None:
        """Drop the introduction of a part without questions."""
        if len(self._introductions) > before:
            self.add_note("the description of a part without questions after it is left out")
            del self._introductions[before:]

    def set_redirect(self, address: object) -> None:
        """Set the address of the redirect at the end of the form."""
        if not address:
            return
        try:
            Framing(redirect=str(address))
        except HalftruthError:
            self.add_note("the address of the redirect is left out, because it is not https://")
        else:
            self.form["redirect"] = str(address)

    def leave_out(self, name: str, why: str) -> None:
        """Note that a question is left out."""
        self.add_note(f"left out: {why}", name)

    def choose_name(self, wanted: str, members: Mapping[str, Any]) -> str:
        """Return an unused name for a question, similar to the preferred one."""
        taken = {question["name"] for question in self.questions}
        options = [len(option["name"]) for option in members.get("options", ())]
        # The names of options follow that of the question and a point.
        unique = make_name(wanted, taken, LONGEST_NAME - (1 + max(options) if options else 0))
        if unique != wanted:
            self.add_note("has another name", wanted, unique)
        return unique

    def make_number(
        self, name: str, minimum: object, maximum: object, whole: bool
    ) -> dict[str, Any]:
        """Return the members of a numeric question; raise LeftOut if it is impossible."""
        ends: list[Fraction | None] = []
        for what, given in (("smallest", minimum), ("largest", maximum)):
            # Parse only short texts, since expanding 1e99999999 takes minutes.
            end = parse_number(given)
            if end is None and isinstance(given, str) and not _NUMBER.fullmatch(given):
                if given.strip():
                    self.add_unconfirmed(f"its {what} answer is computed", name, given)
            elif given is not None and (end is None or abs(end) >= MAX_MAGNITUDE):
                raise LeftOut("expected a minimum and a maximum of at most 15 digits")
            ends.append(end)
        low, high = ends
        if low is None or high is None:
            if low is None:
                low = high - _RANGE if high is not None and high <= 0 else Fraction(0)
            high = low + _RANGE if high is None else high
            self.add_unconfirmed(
                "has no range in the questionnaire; set the smallest and largest answer, since this"
                " is a placeholder",
                name,
                f"{float(low):g} to {float(high):g}",
            )
        if high <= low:
            raise LeftOut("expected a maximum above the minimum")
        self.add_note("a number: check the width of its bins", name)
        step = fit_bin_width(low, high, whole, self.edges.get(name, ()))
        made = {"minimum": low, "maximum": high, "step": step}
        written = {
            what: value.numerator if value.denominator == 1 else format_rational(value, what)
            for what, value in made.items()
        }
        return {"kind": "number", **written, **({} if whole else {"whole": False})}

    def add_questions(
        self,
        called: str,
        made: Iterable[ConvertedQuestion],
        common: Mapping[str, Any],
        expressions: Sequence[str],
    ) -> None:
        """Add the questions converted from an element, if they can be asked.

        All of them have the members `common`, and these conditions of the questionnaire.
        """
        for wanted, members, known, own in made:
            if len(self.questions) == MOST_QUESTIONS:
                self.add_note(f"what comes after {MOST_QUESTIONS} questions is left out")
                return
            self._element_of[wanted] = called
            each = [expression.strip() for expression in (*expressions, *own)]
            if any(expression.lower() in _NEVER for expression in each):
                self.leave_out(wanted, "it is asked of nobody")
                continue
            name = self.choose_name(wanted, members)
            self._element_of[name] = called
            condition = self._translate(name, tuple([e for e in each if e.lower() not in _ALWAYS]))
            if condition.answers is None:
                self.leave_out(name, "its condition never holds")
                continue
            question = {**common, **members, **self._missing_answers(name, members)}
            question["help"] = join_texts([*self._introductions, question.get("help", "")])
            question = self._with_short_label(
                {"name": name, **question, "ask_if": condition.answers}
            )
            question = {
                key: value for key, value in question.items() if value or type(value) is int
            }
            try:
                attributes = msgspec.convert(question, AttributeDocument).attributes(self.languages)
            except (HalftruthError, msgspec.ValidationError) as error:
                self.leave_out(name, str(error).removeprefix(f"attribute '{name}': "))
                continue
            self._introductions = []
            self.questions.append(question)
            self._questions_of.setdefault(called, []).append(name)
            self._attributes |= {attribute.name: attribute for attribute in attributes}
            for inside, (ending, values) in known.items():
                self._known[inside] = f"{name}{ending}", values
                self._comparable[normalize(inside)] = (
                    f"{name}{ending}",
                    {normalize(value): category for value, category in values.items()},
                )

    def _missing_answers(self, name: str, members: Mapping[str, Any]) -> dict[str, list[str]]:
        """Find missing answers, such as "don't know", by their texts and codes."""
        categories = members.get("categories", ())
        texts = members.get("answers", {})
        none = [
            category
            for category in categories
            if category in _CODES_OF_NO_ANSWER
            or any(
                _NO_ANSWER.fullmatch(text)
                for text in text_by_language(texts.get(category, category)).values()
            )
        ]
        if not none or members.get("missing") or len(categories) - len(none) < 2:
            return {}
        self.add_note("counts as a missing answer", name, ", ".join(none))
        return {"missing": none}

    def _translate(self, name: str, expressions: Sequence[str]) -> Condition:
        """Translate the conditions of a question, with notes on how the result differs."""
        condition = translate_condition(
            expressions, self.dialect, self._comparable, self._attributes
        )
        if condition.lost or condition.narrowed:
            for number, edge in find_thresholds(
                expressions, self.dialect, self._comparable, self._attributes
            ):
                self.missed_edges.setdefault(self._element_of[number], set()).add(edge)
        if condition.narrowed:
            self.add_note(
                "asked of fewer people: its condition compares a number within one of its bins,"
                " whose people are not asked",
                name,
                " ".join("; ".join(condition.narrowed).split()),
            )
        if condition.lost and condition.answers is not None:
            whom = "asked of more people" if condition.answers else "asked of everybody"
            part = "a part of its condition" if condition.answers else "its condition"
            self.add_unconfirmed(
                f"{whom}: {part} cannot be written as answers to earlier questions",
                name,
                " ".join("; ".join(condition.lost).split()),
            )
        return condition

    def _with_short_label(self, question: dict[str, Any]) -> dict[str, Any]:
        """Shorten a label that is too long, and put the full text into the help."""
        label, help = question.get("label", ""), question.get("help", "")
        if any(len(text) > _LABEL for text in text_by_language(label).values()):
            self.add_note("has a long text, which begins in its help", question["name"])
            ends = {key: _LAST.fullmatch(text) for key, text in text_by_language(label).items()}
            before = label
            if all(ends.values()):
                before, label = (
                    simplify_texts({key: end[part] for key, end in ends.items() if end})
                    for part in (1, 2)
                )
            help = join_texts([before, help])
            label = shorten_texts(label, _LABEL)
        if any(len(text) > _HELP for text in text_by_language(help).values()):
            self.add_note(f"its help is cut at {_HELP} characters", question["name"])
        return question | {"label": label, "help": shorten_texts(help, _HELP)}

    def build(self, id: str, gamma: str) -> Imported:
        """Return the imported survey; raise HalftruthError if it has no question."""
        if not self.questions:
            why = "; ".join(self._summary(self._notes)) or "it has none"
            raise ParameterError(f"file: no question can be asked: {why}", field="file")
        self.end_part(0)
        for language, missing in self._untranslated.items():
            self.add_note(
                f"{len(missing)} texts are missing in '{language}', and shown in another language",
                "",
                missing[0],
            )
        attributes = sum(len(question.get("options", "1")) for question in self.questions)
        mechanism = {"kind": "split-questionnaire", "gamma": gamma}
        plain = re.sub(r"[^a-z0-9]+", "-", id.lower()).strip("-")[:64].strip("-") or "survey"
        data = {
            "id": plain,
            **self.texts,
            **({"languages": self.languages} if self.languages else {}),
            "mechanism": mechanism | {"max_length": min(2, attributes)},
            "reports": {"tickets": "required"},
            **({"form": self.form} if self.form else {}),
            "attributes": [self._with_unconfirmed(question) for question in self.questions],
        }
        text = write(data, *self._comments())
        names = {
            called: {"name": name, "answers": values}
            for called, (name, values) in self._known.items()
        }
        lines = tuple([_format_note(*note) for note in self._notes])
        summary = self._summary(self._notes)
        return Imported(plain, len(self.questions), text, lines, summary, self._counts(), names)

    def _with_unconfirmed(self, question: dict[str, Any]) -> dict[str, Any]:
        """Add the notes to confirm to a question in the file."""
        # A row of a matrix has its own, and those of the matrix.
        of = dict.fromkeys(["", self._element_of[question["name"]], question["name"]])
        marks = dict.fromkeys(mark for name in of for mark in self._unconfirmed.get(name, ()))
        return {**question, "unconfirmed": "; ".join(marks)} if marks else question

    def _notes_by_element(self) -> dict[str, list[str]]:
        """Return the notes on each element by its name; general notes have the name ""."""
        notes: dict[str, list[str]] = {}
        for what, name, which in self._notes:
            notes.setdefault(self._element_of.get(name, name), []).append(
                _format_note(what, "", which)
            )
        return notes

    def _counts(self) -> str:
        """Return the numbers of unchanged, changed and left out questions, as a sentence."""
        notes = self._notes_by_element()
        imported = [called for called, questions in self._questions_of.items() if questions]
        changed = sum(called in notes for called in imported)
        # Other elements without questions, such as panels, do not count.
        left_out = sum(
            any(note.startswith("left out:") for note in notes.get(called, ()))
            for called, questions in self._questions_of.items()
            if not questions
        )
        same = len(imported) - changed
        return (
            f"Imported unchanged: {same} question{'' if same == 1 else 's'}."
            f" Changed: {changed}. Left out: {left_out}."
        )

    def _comments(self) -> tuple[dict[int, list[str]], list[str]]:
        """Return comments by the index of a question, and comments at the beginning."""
        notes = self._notes_by_element()
        places = {question["name"]: place for place, question in enumerate(self.questions)}
        comments: list[tuple[int, str]] = []
        waiting: list[str] = []
        for called, questions in self._questions_of.items():
            note = "; ".join(notes.get(called, ()))
            if not questions:
                waiting.append(f"'{called}': {note}")
                continue
            place = places[questions[0]]
            comments += [(place, comment) for comment in waiting]
            comments += [(place, f"changed: {note}")] if note else []
            waiting = []
        comments += [(len(self.questions), comment) for comment in waiting]
        written: dict[int, list[str]] = {}
        for place, comment in comments[:_MAX_COMMENTS]:
            written.setdefault(place, []).append(shorten(comment, _MAX_COMMENT, placeholder=" …"))
        if len(comments) > _MAX_COMMENTS:
            more = f"and {len(comments) - _MAX_COMMENTS} more that are changed or left out"
            written.setdefault(len(self.questions), []).append(more)
        general = [note for note in self._notes if not note[1]]
        return written, [self._counts(), *self._summary(general)]

    def _summary(self, notes: Iterable[tuple[str, str, str]]) -> tuple[str, ...]:
        """Return the notes grouped by kind."""
        kinds: dict[str, list[tuple[str, str]]] = {}
        for what, name, which in notes:
            kinds.setdefault(what, []).append((name, which))
        return tuple(
            [
                _format_note(what, *notes[0])
                if len(notes) == 1
                else f"{what} ({len(notes)}: {_list_some(name or which for name, which in notes)})"
                for what, notes in kinds.items()
            ]
        )


def make_category(value: object) -> str:
    """Convert a value to a category."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return " ".join(str(value).split())


def format_value(value: object) -> str:
    """Format a value like a value in expressions."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _format_note(what: str, name: str, which: str) -> str:
    return f"question '{name}': "[: None if name else 0] + what + (f": {which}" if which else "")


def _list_some(names: Iterable[str]) -> str:
    shown = list(dict.fromkeys(names))
    more = f" and {len(shown) - _MAX_NAMES} more" if len(shown) > _MAX_NAMES else ""
    return (
        ", ".join(f"'{shorten(name, 40, placeholder=' …')}'" for name in shown[:_MAX_NAMES]) + more
    )


def text_by_language(text: str | Mapping[str, str]) -> Mapping[str, str]:
    """Return a text as a mapping by language; the language of plain text is ""."""
    return {"": text} if isinstance(text, str) else text


def simplify_texts(texts: Mapping[str, str]) -> str | dict[str, str]:
    """Return a text by language, or plain text if it has no language."""
    written = {language: text for language, text in texts.items() if text}
    if set(written) <= {""}:
        return written.get("", "")
    return written


def join_texts(texts: Iterable[str | Mapping[str, str]]) -> str | dict[str, str]:
    """Join texts in each language; plain texts are used in all languages.

    >>> join_texts(["Habits.", "", "Yours."]), join_texts([{"en": "Habits."}, {"en": "Yours."}])
    ('Habits. Yours.', {'en': 'Habits. Yours.'})
    """
    every = [{k: v for k, v in text_by_language(text).items() if v} for text in texts]
    written = [each for each in every if each]
    # A text that is missing in a language is used in its first language.
    joined = {
        language: " ".join([each.get(language) or next(iter(each.values())) for each in written])
        for language in [each for each in dict.fromkeys(chain(*written)) if each] or [""]
    }
    return simplify_texts(joined)


def shorten_texts(text: str | Mapping[str, str], most: int) -> str | dict[str, str]:
    """Shorten a text in each language."""
    return simplify_texts(
        {
            key: shorten(words, most, placeholder=" …")
            for key, words in text_by_language(text).items()
        }
    )


def strip_markup(text: str) -> str:
    """Strip the tags of a text, and the content of scripts and styles.

    >>> strip_markup("<style>p {}</style><p>Do you <b>smo</b>ke?</p>If &lt; 5<br>or >= 6: yes")
    'Do you smoke? If < 5 or >= 6: yes'
    """
    text = _HIDDEN_MARKUP.sub(" ", text)
    return " ".join(unescape(_TAG.sub(" ", _INLINE_TAG.sub("", text))).split())
