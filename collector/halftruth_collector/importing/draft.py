"""Drafts of imported surveys, with notes on what is not imported."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from html import unescape
from itertools import chain, count
from textwrap import shorten
from typing import Any

import msgspec
from halftruth_shared import Attribute, HalftruthError, ParameterError, Survey
from halftruth_shared.documents import AttributeDocument
from halftruth_shared.framing import Framing
from halftruth_shared.number import parse_number
from halftruth_shared.rational import format_rational

from ..survey_file import write
from .conditions import Condition, Dialect, ask_if, fitted_bins, thresholds

#: Most characters of a label and of what explains it.
_LABEL, _HELP = 256, 2_000

#: The last sentence of a text, which may be a label, and what comes before it.
_LAST = re.compile(rf"(.+[.!?:]) (\S.{{,{_LABEL - 1}}})")

#: What the range of numbers is taken to be where there is none.
_RANGE = Fraction(100)

#: Conditions that always hold, and that never do.
_ALWAYS, _NEVER = ("", "1", "true", "true()"), ("0", "false", "false()")

#: Answers that are none: usual texts in the languages of the hosted form, and usual codes.
_NO_ANSWER = re.compile(
    r"(?:i )?(?:don['’]?t|do not) (?:know|remember)|not sure|refused?(?: to (?:answer|say))?"
    r"|(?:i )?(?:prefer|would rather) not (?:to )?(?:say|answer)|no (?:answer|response)"
    r"|(?:ich )?wei(?:ß|ss) (?:ich )?nicht|(?:keine angabe|verweigert)"
    r"|(?:je )?ne sa(?:is|it) pas|refus(?:e de répondre)?|sans réponse"
    r"|no (?:sabe|sé|contesta|responde)|(?:prefiero|prefiere) no (?:responder|contestar|decirlo)",
    re.IGNORECASE,
)
_CODES_OF_NO_ANSWER = ("-66", "-77", "-88", "-97", "-98", "-99", "-888", "-999")

#: Most questions that a line names.
_NAMED = 3

#: Markup that is not shown, that is within words, and any other.
_UNSEEN = re.compile(
    r"<!--.*?(?:-->|\Z)|<(script|style|template|noscript|head)\b.*?(?:</\1\s*>|\Z)", re.I | re.S
)
_REST = r"""(?:(?:[^<>"']|"[^"]*"|'[^']*')*|[^<>]*)>"""
_WITHIN = re.compile(
    rf"</?(?:a|abbr|b|code|em|font|i|mark|s|small|span|strong|su[bp]|u)\b{_REST}", re.I
)
_TAG = re.compile(rf"</?[a-z]{_REST}|<![^<>]*>", re.I)
_LINKED = re.compile(r"<(?:img|video|audio|iframe|object|embed|a\s[^<>]*href)\b", re.I)

#: Beyond all minima and maxima that a survey can have.
_MOST = 10**15

#: Most questions of a survey.
MOST_QUESTIONS = 1_024

#: Most comments of a file, and most characters of one.
_MOST_COMMENTS, _COMMENT = 1_024, 400

#: Categories by value in expressions.
Values = Mapping[str, str]

#: Names in expressions of a question or option: the attribute's suffix and its values.
Known = dict[str, tuple[str, Values]]

#: Question made from an element: its wanted name, its members, and its names in expressions.
Made = tuple[str, dict[str, Any], Known]


@dataclass(frozen=True)
class Imported:
    """Survey made from a questionnaire.

    Parameters
    ----------
    text : str
        The survey as a TOML file, with a comment on each question that was changed or left out.
    survey : Survey
        The same, read again.
    left_out : tuple of str
        What of the questionnaire is not in it, or is there in another way; a sentence each.
    summary : tuple of str
        The same by kind, with the names of the first questions.
    counts : str
        Numbers of questions that are unchanged, changed and left out, as a sentence.
    names : mapping of str to dict
        For each name in expressions of the questionnaire, the ``name`` of the question or option,
        and its ``answers`` by value.
    """

    text: str
    survey: Survey
    left_out: tuple[str, ...]
    summary: tuple[str, ...]
    counts: str
    names: Mapping[str, Mapping[str, Any]]


@dataclass
class Draft:
    """Draft of a survey: titles, questions, and notes on what is left out."""

    dialect: Dialect = field(init=False)
    texts: dict[str, Any] = field(default_factory=dict)
    form: dict[str, Any] = field(default_factory=dict)
    languages: list[str] = field(default_factory=list)
    questions: list[dict[str, Any]] = field(default_factory=list)
    #: Where bins of a number should begin, and where conditions would need them to.
    edges: Mapping[str, Collection[Fraction]] = field(default_factory=dict)
    missed: dict[str, set[Fraction]] = field(default_factory=dict)
    _notes: dict[tuple[str, str, str], None] = field(default_factory=dict)
    _made: dict[str, list[str]] = field(default_factory=dict)
    _of: dict[str, str] = field(default_factory=dict)
    _marked: dict[str, list[str]] = field(default_factory=dict)
    _untranslated: dict[str, list[str]] = field(default_factory=dict)
    _introductions: list[str | dict[str, str]] = field(default_factory=list)
    _known: dict[str, tuple[str, Values]] = field(default_factory=dict)
    _attributes: dict[str, Attribute] = field(default_factory=dict)

    def say(self, what: str, name: str = "", which: str = "") -> None:
        """Note what is left out, once: of a question with a name, and what exactly there."""
        self._notes[what, name, which] = None
        if name:
            self._made.setdefault(self._of.get(name, name), [])

    def mark(self, what: str, name: str, which: str = "") -> None:
        """Note what somebody has to confirm before the question is published."""
        self.say(what, name, which)
        self._marked.setdefault(self._of.get(name, name), []).append(_sentence(what, "", which))

    def say_fixed(self, called: str, answers: Sequence[str]) -> None:
        """Note answers that the questionnaire's program has in every language by itself."""
        if len(self.languages) > 1:
            listed = ", ".join(f"'{answer}'" for answer in answers)
            self.say(f"{listed} are to be written in each language", called)

    def options(
        self, called: str, values: Mapping[str, str], texts: Mapping[str, Any]
    ) -> dict[str, dict[str, Any]]:
        """Return an option for each value of a question with several answers.

        Parameters
        ----------
        called : str
        values : mapping of str to str
            Categories by value.
        texts : mapping
            Labels by category.
        """
        options: dict[str, dict[str, Any]] = {}
        taken: set[str] = set()
        for value, category in values.items():
            name = usable(category, taken)
            if name != category:
                self.say("an option has another name", called, name)
            taken.add(name)
            options[value] = {"name": name, "label": texts.get(category, category)}
        return options

    def text(self, texts: Mapping[str, str]) -> str | dict[str, str]:
        """Return a text without markup in the languages of the questionnaire."""
        said = {language: without_markup(text) for language, text in texts.items()}
        start = shorten(next(filter(None, said.values()), ""), 60, placeholder=" …")
        if any(_LINKED.search(text) for text in texts.values()):
            self.say("the links and pictures of texts are left out", "", start)
        if any("{" in text for text in said.values()):
            self.say("texts stand as they are, with what is in braces", "", start)
        if any(said.values()):
            for language in self.languages:
                if not said.get(language):
                    self._untranslated.setdefault(language, []).append(start)
        declared = set(self.languages or said)
        for language in said.keys() - declared:
            if said[language]:
                self.say(f"texts in '{language}' are left out, which is not among its languages")
        return plain({key: text for key, text in said.items() if key in declared})

    def introduce(self, *texts: str | dict[str, str]) -> int:
        """Put texts above the next question of a part; how many were there before it."""
        self._introductions += [text for text in texts if text]
        return len(self._introductions) - sum(map(bool, texts))

    def end_part(self, before: int) -> None:
        """Drop the texts of a part in which no question followed."""
        if len(self._introductions) > before:
            self.say("the description of a part without questions after it is left out")
            del self._introductions[before:]

    def end_at(self, address: object) -> None:
        """Take over the address that a questionnaire ends at."""
        if not address:
            return
        try:
            Framing(redirect=str(address))
        except HalftruthError:
            self.say("the address to go on to is left out, for it is not one with https://")
        else:
            self.form["redirect"] = str(address)

    def refuse(self, name: str, why: str) -> None:
        """Note that a question is left out."""
        self.say(f"left out: {why}", name)

    def refuse_words(self, name: str) -> None:
        """Note that a question with free text is left out."""
        self.refuse(name, "it asks for free text, which cannot be perturbed")

    def name(self, wanted: str) -> str:
        """Return an unused name of a question, close to a wanted one."""
        unique = usable(wanted, {question["name"] for question in self.questions})
        if unique != wanted:
            self.say("has another name", wanted, unique)
        return unique

    def number(
        self, name: str, minimum: object, maximum: object, whole: bool
    ) -> dict[str, Any] | None:
        """Return the members of a number question; None where it cannot be, which is noted."""
        # Of texts with few digits alone: written out, 1e99999999 takes minutes.
        low, high = parse_number(minimum), parse_number(maximum)
        for end, given in ((low, minimum), (high, maximum)):
            if given not in (None, "") and (end is None or abs(end) >= _MOST):
                self.refuse(name, "expected a minimum and a maximum of at most 15 digits")
                return None
        if low is None or high is None:
            if low is None:
                low = high - _RANGE if high is not None and high <= 0 else Fraction(0)
            high = low + _RANGE if high is None else high
            self.mark(
                "has no range there; write which numbers can be answered, for this is"
                " a placeholder",
                name,
                f"{float(low):g} to {float(high):g}",
            )
        if high <= low:
            self.refuse(name, "expected a maximum above the minimum")
            return None
        self.say("a number: see to the width of its bins", name)
        step = fitted_bins(low, high, whole, self.edges.get(name, ()))
        made = {"minimum": low, "maximum": high, "step": step}
        written = {
            what: value.numerator if value.denominator == 1 else format_rational(value, what)
            for what, value in made.items()
        }
        return {"kind": "number", **written, **({} if whole else {"whole": False})}

    def add(
        self,
        called: str,
        made: Iterable[Made],
        common: Mapping[str, Any],
        expressions: Sequence[str],
    ) -> None:
        """Add the questions that an element becomes, if they can be asked.

        Parameters
        ----------
        called : str
            Name of the element.
        made : iterable of (str, dict, dict)
        common : mapping
            Members of all of them, as a survey's file has them.
        expressions : sequence of str
            What has to be so for them to be asked, as the questionnaire has it.
        """
        plain = [expression.strip().lower() for expression in expressions]
        expressions = [
            each for each, word in zip(expressions, plain, strict=True) if word not in _ALWAYS
        ]
        condition = ask_if(expressions, self.dialect, self._known, self._attributes)
        for wanted, members, known in made:
            if len(self.questions) == MOST_QUESTIONS:
                self.say(f"what comes after {MOST_QUESTIONS} questions is left out")
                return
            self._of[wanted] = called
            if any(word in _NEVER for word in plain):
                self.refuse(wanted, "it is asked of nobody")
                continue
            name = self.name(wanted)
            self._of[name] = called
            self._note_condition(name, condition, expressions)
            if condition.answers is None:
                self.refuse(name, "its condition never holds")
                continue
            question = {**common, **members, **self._missing_answers(name, members)}
            question["help"] = together([*self._introductions, question.get("help", "")])
            question = self._with_short_label(
                {"name": name, **question, "ask_if": condition.answers}
            )
            question = {
                key: value for key, value in question.items() if value or type(value) is int
            }
            try:
                attributes = msgspec.convert(question, AttributeDocument).attributes(self.languages)
            except (HalftruthError, msgspec.ValidationError) as error:
                self.refuse(name, str(error).removeprefix(f"attribute '{name}': "))
                continue
            self._introductions = []
            self.questions.append(question)
            self._made.setdefault(called, []).append(name)
            self._attributes |= {attribute.name: attribute for attribute in attributes}
            self._known |= {
                inside: (f"{name}{ending}", values) for inside, (ending, values) in known.items()
            }

    def _missing_answers(self, name: str, members: Mapping[str, Any]) -> dict[str, list[str]]:
        """Find the answers that are none, such as "don't know", by their texts and codes."""
        categories = members.get("categories", ())
        texts = members.get("answers", {})
        none = [
            category
            for category in categories
            if category in _CODES_OF_NO_ANSWER
            or any(
                _NO_ANSWER.fullmatch(text)
                for text in by_language(texts.get(category, category)).values()
            )
        ]
        if not none or members.get("missing") or len(categories) - len(none) < 2:
            return {}
        self.say("counts as a missing answer", name, ", ".join(none))
        return {"missing": none}

    def _note_condition(self, name: str, condition: Condition, expressions: Sequence[str]) -> None:
        """Note how the condition of a question differs from that of the questionnaire."""
        if condition.lost or condition.narrowed:
            for number, edge in thresholds(
                expressions, self.dialect, self._known, self._attributes
            ):
                self.missed.setdefault(self._of[number], set()).add(edge)
        if condition.narrowed:
            self.say(
                "asked of fewer people: its condition compares a number within one of its bins,"
                " whose people are not asked",
                name,
                " ".join("; ".join(condition.narrowed).split()),
            )
        if condition.lost and condition.answers is not None:
            whom = "asked of more people" if condition.answers else "asked of everybody"
            part = "a part of its condition" if condition.answers else "its condition"
            self.mark(
                f"{whom}: {part} cannot be written as answers to earlier questions",
                name,
                " ".join("; ".join(condition.lost).split()),
            )

    def _with_short_label(self, question: dict[str, Any]) -> dict[str, Any]:
        """Shorten a label that is too long; all of it then is in the help."""
        label, help = question.get("label", ""), question.get("help", "")
        if any(len(text) > _LABEL for text in by_language(label).values()):
            self.say("has a long text, which begins in its help", question["name"])
            ends = {key: _LAST.fullmatch(text) for key, text in by_language(label).items()}
            before = label
            if all(ends.values()):
                before, label = (
                    plain({key: end[part] for key, end in ends.items() if end}) for part in (1, 2)
                )
            help = together([before, help])
            label = cut(label, _LABEL)
        if any(len(text) > _HELP for text in by_language(help).values()):
            self.say(f"its help is cut at {_HELP} characters", question["name"])
        return question | {"label": label, "help": cut(help, _HELP)}

    def survey(self, id: str, gamma: str) -> Imported:
        """Return the survey, read back from its file.

        Raises
        ------
        HalftruthError
            If it cannot be one.
        """
        if not self.questions:
            why = "; ".join(self._summary(self._notes)) or "it has none"
            raise ParameterError(f"file: no question can be asked: {why}", field="file")
        self.end_part(0)
        for language, missing in self._untranslated.items():
            self.say(
                f"{len(missing)} texts are missing in '{language}', and shown in another language",
                "",
                missing[0],
            )
        mechanism = {"kind": "split-questionnaire", "gamma": gamma}
        data = {
            "id": re.sub(r"[^a-z0-9]+", "-", id.lower()).strip("-")[:64],
            **self.texts,
            **({"languages": self.languages} if self.languages else {}),
            "mechanism": mechanism | {"max_length": self._longest},
            **({"form": self.form} if self.form else {}),
            "attributes": [self._with_mark(question) for question in self.questions],
        }
        text = write(data, *self._comments())
        names = {
            called: {"name": name, "answers": values}
            for called, (name, values) in self._known.items()
        }
        lines = tuple([_sentence(*note) for note in self._notes])
        survey = Survey.from_toml(text)
        return Imported(text, survey, lines, self._summary(self._notes), self._counts(), names)

    def _with_mark(self, question: dict[str, Any]) -> dict[str, Any]:
        """Add what has to be confirmed of a question, for its file."""
        marks = self._marked.get(self._of.get(question["name"], question["name"]))
        return {**question, "unconfirmed": "; ".join(marks)} if marks else question

    def _notes_by_element(self) -> dict[str, list[str]]:
        """Return the notes on each element by its name; those on all of them have the name ""."""
        notes: dict[str, list[str]] = {}
        for what, name, which in self._notes:
            notes.setdefault(self._of.get(name, name), []).append(_sentence(what, "", which))
        return notes

    def _counts(self) -> str:
        """Return the numbers of questions that are unchanged, changed and left out."""
        notes = self._notes_by_element()
        imported = [called for called, questions in self._made.items() if questions]
        changed = sum(called in notes for called in imported)
        # Other elements without questions, such as panels, ask nothing.
        left_out = sum(
            any(note.startswith("left out:") for note in notes.get(called, ()))
            for called, questions in self._made.items()
            if not questions
        )
        same = len(imported) - changed
        return (
            f"Imported unchanged: {same} question{'' if same == 1 else 's'}."
            f" Changed: {changed}. Left out: {left_out}."
        )

    def _comments(self) -> tuple[dict[int, list[str]], list[str]]:
        """Return comments by the place of a question, and those at the beginning."""
        notes = self._notes_by_element()
        places = {question["name"]: place for place, question in enumerate(self.questions)}
        comments: list[tuple[int, str]] = []
        waiting: list[str] = []
        for called, questions in self._made.items():
            said = "; ".join(notes.get(called, ()))
            if not questions:
                waiting.append(f"'{called}': {said}")
                continue
            place = places[questions[0]]
            comments += [(place, comment) for comment in waiting]
            comments += [(place, f"changed: {said}")] if said else []
            waiting = []
        comments += [(len(self.questions), comment) for comment in waiting]
        written: dict[int, list[str]] = {}
        for place, comment in comments[:_MOST_COMMENTS]:
            written.setdefault(place, []).append(shorten(comment, _COMMENT, placeholder=" …"))
        if len(comments) > _MOST_COMMENTS:
            more = f"and {len(comments) - _MOST_COMMENTS} more that are changed or left out"
            written.setdefault(len(self.questions), []).append(more)
        general = [note for note in self._notes if not note[1]]
        return written, [self._counts(), *self._summary(general)]

    def _summary(self, notes: Iterable[tuple[str, str, str]]) -> tuple[str, ...]:
        """Return notes by kind."""
        kinds: dict[str, list[tuple[str, str]]] = {}
        for what, name, which in notes:
            kinds.setdefault(what, []).append((name, which))
        return tuple(
            [
                _sentence(what, *notes[0])
                if len(notes) == 1
                else f"{what} ({len(notes)}: {_some([name or which for name, which in notes])})"
                for what, notes in kinds.items()
            ]
        )

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


def _sentence(what: str, name: str, which: str) -> str:
    return f"question '{name}': "[: None if name else 0] + what + (f": {which}" if which else "")


def _some(names: Sequence[str]) -> str:
    shown = list(dict.fromkeys(names))
    more = f" and {len(shown) - _NAMED} more" if len(shown) > _NAMED else ""
    return ", ".join(f"'{shorten(name, 40, placeholder=' …')}'" for name in shown[:_NAMED]) + more


def by_language(text: str | Mapping[str, str]) -> Mapping[str, str]:
    """Return a text by language; the language of plain text is ""."""
    return {"": text} if isinstance(text, str) else text


def plain(texts: Mapping[str, str]) -> str | dict[str, str]:
    """Return a text by language, or plain text if it has no language."""
    written = {language: text for language, text in texts.items() if text}
    if set(written) <= {""}:
        return written.get("", "")
    return written


def together(texts: Iterable[str | Mapping[str, str]]) -> str | dict[str, str]:
    """Join texts in each language, with plain ones in all.

    >>> together(["Habits.", "", "Yours."]), together([{"en": "Habits."}, {"en": "Yours."}])
    ('Habits. Yours.', {'en': 'Habits. Yours.'})
    """
    every = [{k: v for k, v in by_language(text).items() if v} for text in texts]
    written = [each for each in every if each]
    # What is not written in a language is read in the first one.
    joined = {
        language: " ".join([each.get(language) or next(iter(each.values())) for each in written])
        for language in [each for each in dict.fromkeys(chain(*written)) if each] or [""]
    }
    return plain(joined)


def cut(text: str | Mapping[str, str], most: int) -> str | dict[str, str]:
    """Shorten a text in each language."""
    return plain(
        {key: shorten(words, most, placeholder=" …") for key, words in by_language(text).items()}
    )


def without_markup(text: str) -> str:
    """Strip the tags of a text, scripts and styles with what is in them.

    >>> without_markup("<style>p {}</style><p>Do you <b>smo</b>ke?</p>If &lt; 5<br>or >= 6: yes")
    'Do you smoke? If < 5 or >= 6: yes'
    """
    text = _UNSEEN.sub(" ", text)
    return " ".join(unescape(_TAG.sub(" ", _WITHIN.sub("", text))).split())
