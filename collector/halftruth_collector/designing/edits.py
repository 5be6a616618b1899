"""Edits of a survey file's data, one function each; what is given stays as it is."""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy

from halftruth_shared import ParameterError

from . import mechanism
from .questions import (
    AROUND,
    KINDS,
    Fields,
    by_language,
    languages,
    names,
    questions,
    start,
    successors,
    text_of,
    with_fields,
)
from .questions import fields_of as fields_of_question
from .text import FORM, MECHANISM, QUESTIONS, Data, whole_number

#: What comes after a report was counted.
_AFTER = ("redirect", "redirect_after")


def add(data: Data, kind: str, name: str = "") -> Data:
    """Another question of a kind, at the end.

    Raises
    ------
    ParameterError
        If there is no such kind.
    """
    if kind not in KINDS:
        raise ParameterError(f"kind: expected one of: {', '.join(KINDS)}", field="kind")
    taken = names(data)
    free = next(f"question{n}" for n in range(len(taken) + 1, 2 * len(taken) + 2))
    free = free if free not in taken else f"{free}-new"
    return mechanism.completed(_with(data, [*questions(data), start(kind, name.strip() or free)]))


def remove(data: Data, place: int) -> Data:
    """Without the question at a place, and without what others and the mechanism say of it."""
    left = [deepcopy(one) for k, one in enumerate(questions(data)) if k != place]
    gone = _attributes(questions(data)[place])
    return _referring(_with(data, left), lambda said: None if said in gone else said)


def move(data: Data, place: int, to: int) -> Data:
    """With a question at another place; one beyond the ends is that at the end."""
    found = list(questions(data))
    moved = found.pop(place)
    found.insert(min(max(to, 0), len(found)), moved)
    return _with(data, found)


def fields_of(data: Data, place: int) -> Fields:
    """Fields of a form for a question and its design."""
    fields = fields_of_question(questions(data)[place], languages(data))
    return {**fields, **mechanism.design_of(data, place)}


def edit(data: Data, place: int, given: Mapping[str, Sequence[str]]) -> Data:
    """With other fields of a question; who names it calls it as it is called then."""
    data = mechanism.with_design(data, place, given)
    found = list(questions(data))
    before = found[place]
    found[place] = after = with_fields(before, given, languages(data))
    changed = _with(data, found)
    old, new = _attributes(before), _attributes(after)
    if old != new and len(old) == len(new):
        renamed = dict(zip(old, new, strict=True))
        changed = _referring(changed, lambda said: renamed.get(said, said))
    gone = successors(before, after)
    if gone:
        changed = _answering(changed, new, gone)
    return changed if before == after else mechanism.completed(changed)


def settings_of(data: Data) -> dict[str, list[str]]:
    """Fields of a form for the survey itself."""
    spoken, around = languages(data), _around(data)
    return {
        "id": [str(data.get("id", ""))],
        "languages": [" ".join(one for one in spoken if one)],
        "title": by_language(data.get("title", ""), spoken),
        "description": by_language(data.get("description", ""), spoken),
        **{what: by_language(around.get(what, ""), spoken) for what in AROUND},
        **{what: [str(around.get(what, ""))] for what in _AFTER},
        **mechanism.fields_of(data),
    }


def settle(data: Data, given: Mapping[str, Sequence[str]]) -> Data:
    """With other fields of the survey itself; those that are as they were stay as written."""
    before, spoken, changed = settings_of(data), languages(data), deepcopy(data)
    other = {
        name: [text.replace("\r\n", "\n").strip() for text in texts]
        for name, texts in given.items()
        if name in before and [t.strip() for t in texts] != [t.strip() for t in before[name]]
    }
    if "id" in other:
        changed["id"] = other["id"][0]
    for what in ("title", "description"):
        if what in other:
            changed[what] = text_of(other[what], spoken)
            if what == "description" and not changed[what]:
                del changed[what]
    if "languages" in other:
        named = other["languages"][0].replace(",", " ").split()
        changed["languages"] = named
        if not named:
            del changed["languages"]
    around = dict(_around(changed))
    for what in (*AROUND, *_AFTER):
        if what in other:
            around[what] = text_of(other[what], spoken) if what in AROUND else other[what][0]
            if what == "redirect_after":
                around[what] = whole_number(around[what])
            if around[what] in ("", {}):
                del around[what]
    if around != _around(changed):
        changed[FORM] = around
        if not around:
            del changed[FORM]
    changed = mechanism.with_fields(changed, other)
    return mechanism.completed(changed) if "kind" in other else changed


def _around(data: Data) -> Data:
    """Texts around the questions."""
    found = data.get(FORM)
    return found if isinstance(found, dict) else {}


def _attributes(question: Data) -> list[str]:
    """Names of a question's attributes, as mechanisms and conditions use them."""
    name = str(question.get("name", ""))
    options = question.get("options")
    if not isinstance(options, list):
        return [name]
    return [f"{name}.{one['name']}" for one in options if isinstance(one, dict) and "name" in one]


def _referring(data: Data, named: Callable[[str], str | None]) -> Data:
    """With other names of attributes wherever they are named; None is not named any more."""
    changed = deepcopy(data)
    for question in questions(changed):
        _rekeyed(question, "ask_if", named)
    owner = changed.get(MECHANISM)
    if not isinstance(owner, dict):
        return changed
    for key in ("keep", "matrices", "designs"):
        _rekeyed(owner, key, named)
    public = owner.get("public")
    if isinstance(public, list):
        said = [named(str(one)) for one in public]
        owner["public"] = [one for one in said if one is not None]
        if not owner["public"]:
            del owner["public"]
    return changed


def _answering(data: Data, names: Sequence[str], gone: Mapping[str, str | None]) -> Data:
    """With other answers of some attributes wherever these are named; None is not any more."""
    changed = deepcopy(data)
    for question in questions(changed):
        said = question.get("ask_if")
        for name in names:
            if isinstance(said, dict) and isinstance(said.get(name), list):
                kept = [gone.get(answer, answer) for answer in said[name]]
                said[name] = [answer for answer in kept if answer is not None]
        if isinstance(said, dict):
            question["ask_if"] = {name: answers for name, answers in said.items() if answers}
            _rekeyed(question, "ask_if", lambda name: name)
    return mechanism.answering(changed, names, gone)


def _rekeyed(owner: Data, key: str, named: Callable[[str], str | None]) -> None:
    found = owner.get(key)
    if not isinstance(found, dict):
        return
    pairs = [(named(name), value) for name, value in found.items()]
    owner[key] = {name: value for name, value in pairs if name is not None}
    if not owner[key]:
        del owner[key]


def _with(data: Data, found: list[Data]) -> Data:
    changed = deepcopy(data)
    changed[QUESTIONS] = deepcopy(found)
    if not found:
        del changed[QUESTIONS]
    return changed
