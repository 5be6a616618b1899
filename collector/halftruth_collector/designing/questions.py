"""A question as the fields of a form, texts as they are typed, and back.

A field that is as it was is left as its author wrote it, so that what a form cannot say stays.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from itertools import chain, repeat, zip_longest
from typing import Any

import msgspec
from halftruth_shared import HalftruthError
from halftruth_shared.attribute import NO_ANSWER
from halftruth_shared.documents import AttributeDocument

from .text import FORM, QUESTIONS, Data, whole_number

#: Texts by field: one of each language for what people read, else one.
Fields = dict[str, list[str]]

KINDS = ("choice", "scale", "number", "several")

#: What people read of a question, by language.
TEXTS = ("label", "short", "help", "page")

#: Texts of options or answers by field, line by line: the key of an option, the table of answers.
BY_ANSWER = {"shown": ("label", "answers"), "called": ("short", "short_answers")}

#: What people read around the questions, by language.
AROUND = ("asked_by", "purpose", "consent", "thanks")

#: What is either so or not, and what it is where nothing is said.
FLAGS = {"optional": False, "ordered": False, "shuffle": False, "sensitive": True}

NUMBERS = ("minimum", "maximum", "step", "bins")

#: What is ticked among several; nothing of it is sent where nothing is.
TICKED = ("ask_if",)

_YES = "yes"

_STARTS: dict[str, Data] = {
    "choice": {"categories": ["no", "yes"]},
    "scale": {"categories": ["1", "2", "3", "4", "5"]},
    "number": {"minimum": 0, "maximum": 100, "step": 10},
    "several": {"options": [{"name": "first"}, {"name": "second"}]},
}


def questions(data: Data) -> list[Data]:
    """The questions of a file, as far as they are any."""
    tables = data.get(QUESTIONS)
    return [one for one in tables if isinstance(one, dict)] if isinstance(tables, list) else []


def names(data: Data) -> list[str]:
    """Names of the questions, in their order."""
    return [str(one.get("name", "")) for one in questions(data)]


def languages(data: Data) -> list[str]:
    """The languages that a form has a field for; one without a name where none is named."""
    declared = data.get("languages")
    named = [str(one) for one in declared] if isinstance(declared, list) else []
    around = data.get(FORM)
    every = [data, *([around] if isinstance(around, dict) else []), *questions(data)]
    every += [option for one in questions(data) for option in _options(one)]
    for owner in every:
        for what in ("title", "description", *AROUND, *TEXTS):
            text = owner.get(what)
            named += list(text) if isinstance(text, dict) else []
    return list(dict.fromkeys(named)) or [""]


def attributes(question: Data) -> dict[str, tuple[str, ...]]:
    """Attributes of a question with their categories; none while it is no question."""
    try:
        document = msgspec.convert(question, AttributeDocument)
        return {one.name: one.categories for one in document.attributes()}
    except (msgspec.ValidationError, HalftruthError):
        return {}


def count(question: Data) -> str:
    """Return how many answers a question has, in words; blank while it is no question."""
    categories = attributes(question)
    several = kind_of(question) == "several"
    answers = len(categories) if several else len(next(iter(categories.values()), ()))
    return f"{answers} {'options' if several else 'answers'}" if answers else ""


def conditions(data: Data, place: int) -> dict[str, list[str]]:
    """Answers by earlier attribute that a question can be asked after, or is."""
    by_attribute: dict[str, list[str]] = {}
    for question in questions(data)[:place]:
        by_attribute |= {name: list(answers) for name, answers in attributes(question).items()}
    for name, answer in map(_condition, _ticked(questions(data)[place])):
        answers = by_attribute.setdefault(name, [])
        answers.extend([answer] if answer not in answers else [])
    return by_attribute


def start(kind: str, name: str) -> Data:
    """A question to begin with."""
    given = {} if kind == "choice" else {"kind": kind}
    return {"name": name, **given, **deepcopy(_STARTS[kind])}


def kind_of(question: Data) -> str:
    """Its kind, a choice where it is none that there is."""
    kind = question.get("kind", "choice")
    return kind if kind in KINDS else "choice"


def fields_of(question: Data, spoken: Sequence[str]) -> Fields:
    r"""A question as a form shows it.

    Parameters
    ----------
    question : dict
    spoken : sequence of str
        The languages of the survey.

    Examples
    --------
    >>> question = {"name": "smoker", "label": {"de": "Rauchen Sie?"}, "categories": ["no", "yes"]}
    >>> fields = fields_of(question, ["en", "de"])
    >>> fields["label"], fields["categories"]
    (['', 'Rauchen Sie?'], ['no\nyes'])
    """
    kind = kind_of(question)
    fields: Fields = {"name": [str(question.get("name", ""))]}
    fields |= {what: by_language(question.get(what, ""), spoken) for what in TEXTS}
    fields["ask_if"] = _ticked(question)
    fields |= {
        what: [_YES] if question.get(what, usual) is True else []
        for what, usual in FLAGS.items()
        if _applies(what, kind)
    }
    if kind in ("choice", "scale"):
        fields["categories"] = [_lines(question.get("categories"))]
    if kind == "number":
        fields |= {what: [str(question.get(what, ""))] for what in NUMBERS}
    if kind != "several":
        fields["items"] = [_lines(question.get("items"))]
    if kind == "several":
        options = _options(question)
        fields["options"] = [_lines([option.get("name", "") for option in options])]
        said = {
            field: [one.get(key, "") for one in options] for field, (key, _) in BY_ANSWER.items()
        }
    else:
        fields["missing"] = [_lines(question.get("missing"))]
        tables = {field: _table(question, table) for field, (_, table) in BY_ANSWER.items()}
        said = {
            field: [table.get(answer, "") for answer in _shown(question)]
            for field, table in tables.items()
        }
    for field, texts in said.items():
        fields[field] = _columns([by_language(text, spoken) for text in texts], spoken)
    return fields


def with_fields(question: Data, given: Mapping[str, Sequence[str]], spoken: Sequence[str]) -> Data:
    """A question as a form was filled; fields that it does not have stay.

    Parameters
    ----------
    question : dict
    given : mapping of str to sequence of str
    spoken : sequence of str
        The languages of the survey.
    """
    before = fields_of(question, spoken)
    other = {
        name: list(texts)
        for name, texts in given.items()
        if name in before and not _same(name, texts, before[name])
    }
    changed = deepcopy(question)
    for name, texts in other.items():
        if name in TEXTS:
            put(changed, name, text_of(texts, spoken))
        elif name in FLAGS:
            put(changed, name, bool(texts), FLAGS[name])
        elif name in NUMBERS:
            put(changed, name, whole_number(_first(texts)))
        elif name in ("categories", "missing", "items"):
            put(changed, name, _split(texts))
        elif name == "ask_if":
            put(changed, name, _conditions(texts))
        elif name == "name":
            changed["name"] = _first(texts).strip()
    if "categories" in other:
        _carry(changed, question)
    _show(changed, other, spoken)
    return changed


def by_language(text: object, spoken: Sequence[str]) -> list[str]:
    """A text as a form shows it, one for each language."""
    if isinstance(text, dict):
        return [str(text.get(language, "")) for language in spoken]
    return [str(text), *[""] * (len(spoken) - 1)]


def text_of(texts: Sequence[str], spoken: Sequence[str]) -> str | dict[str, str]:
    """A text of a form as a file has it."""
    pairs = zip(spoken, texts, strict=False)
    translations = {language: text.strip() for language, text in pairs if text.strip()}
    if not translations or list(translations) == [spoken[0]]:
        return translations.get(spoken[0], "")
    return translations


def _applies(flag: str, kind: str) -> bool:
    return kind in {"ordered": ("choice",), "shuffle": ("choice", "several")}.get(flag, KINDS)


def _options(question: Data) -> list[Data]:
    options = question.get("options")
    return [one for one in options if isinstance(one, dict)] if isinstance(options, list) else []


def _shown(question: Data) -> list[str]:
    """The answers that a form may show otherwise, but for bins of numbers."""
    categories, missing = _texts(question, "categories"), _texts(question, "missing")
    implied = [NO_ANSWER] if question.get("optional") is True else []
    return list(dict.fromkeys([*categories, *missing, *implied]))


def _texts(question: Data, key: str) -> list[str]:
    texts = question.get(key)
    return list(map(str, texts)) if isinstance(texts, list) else []


def successors(before: Data, after: Data) -> dict[str, str | None]:
    """The categories that changed, each with the one that took its place, or None."""
    old, new = _texts(before, "categories"), _texts(after, "categories")
    others = zip(old, new, strict=True) if len(old) == len(new) else ()
    renamed = {a: b for a, b in others if a not in new and b not in old}
    return {one: renamed.get(one) for one in old if one not in new}


def _carry(changed: Data, before: Data) -> None:
    """Let texts of a category go to the one that took its place."""
    gone = successors(before, changed)
    for _, table in BY_ANSWER.values():
        moved = [(gone.get(one, one), text) for one, text in _table(changed, table).items()]
        put(changed, table, {one: text for one, text in moved if one is not None})
    items = changed.get("items")
    if isinstance(items, list):
        put(changed, "items", [kept for one in items if (kept := gone.get(one, one)) is not None])


def _show(changed: Data, other: Mapping[str, Sequence[str]], spoken: Sequence[str]) -> None:
    """Texts of options or answers, line by line."""
    several = kind_of(changed) == "several"
    if "options" in other:
        known = {one.get("name"): one for one in _options(changed)}
        changed["options"] = [known.get(name, {"name": name}) for name in _split(other["options"])]
    for field in other.keys() & BY_ANSWER.keys():
        lines = [text.replace("\r\n", "\n").split("\n") for text in other[field]]
        texts = [text_of(line, spoken) for line in zip_longest(*lines, fillvalue="")]
        key, table = BY_ANSWER[field]
        if several:
            for option, text in zip(_options(changed), chain(texts, repeat("")), strict=False):
                # Without one of its own, the first language would be shown another one's text.
                name = {spoken[0]: str(option.get("name", ""))}
                put(option, key, {**name, **text} if isinstance(text, dict) else text)
        else:
            shown = _table(changed, table)
            for answer, text in zip(_shown(changed), chain(texts, repeat("")), strict=False):
                put(shown, answer, text)
            put(changed, table, shown)


def _table(question: Data, key: str) -> Data:
    table = question.get(key)
    return table if isinstance(table, dict) else {}


def put(owner: Data, key: str, value: Any, usual: object = None) -> None:
    """Write a member, or take it away where it says nothing."""
    if value == usual or value in ("", [], {}):
        owner.pop(key, None)
    else:
        owner[key] = value


def _first(texts: Sequence[str]) -> str:
    return texts[0] if texts else ""


def _lines(values: object) -> str:
    return "\n".join(map(str, values)) if isinstance(values, list) else ""


def _split(texts: Sequence[str]) -> list[str]:
    lines = [line.strip() for text in texts for line in text.split("\n")]
    return [line for line in lines if line]


def _columns(rows: Sequence[Sequence[str]], spoken: Sequence[str]) -> list[str]:
    """A text for each language, with a line for each row."""
    columns = ["\n".join(row[k] for row in rows) for k in range(len(spoken))]
    return [column if column.strip() else "" for column in columns]


def _ticked(question: Data) -> list[str]:
    """Conditions of a question, as attribute=category."""
    condition = question.get("ask_if")
    pairs = condition.items() if isinstance(condition, dict) else ()
    return [f"{name}={answer}" for name, said in pairs if isinstance(said, list) for answer in said]


def _condition(text: str) -> tuple[str, str]:
    name, _, answer = text.partition("=")
    return name.strip(), answer.strip()


def _conditions(texts: Sequence[str]) -> dict[str, list[str]]:
    answers: dict[str, list[str]] = {}
    for name, answer in map(_condition, texts):
        answers.setdefault(name, []).append(answer)
    return answers


def _same(name: str, texts: Sequence[str], before: Sequence[str]) -> bool:
    if name in TICKED:
        return sorted(texts) == sorted(before)
    return _plain(texts) == _plain(before)


def _plain(texts: Sequence[str]) -> list[str]:
    """Texts without what browsers and keyboards add."""
    plain = [text.replace("\r\n", "\n").rstrip() for text in texts]
    while plain and not plain[-1]:
        plain.pop()
    return plain
