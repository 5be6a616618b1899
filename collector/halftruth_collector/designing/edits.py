"""Edits of a survey file's data, one function each; what is passed in stays as it is."""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from itertools import count

from halftruth_shared import ParameterError

from . import mechanism
from .questions import (
    AROUND,
    KINDS,
    Fields,
    by_language,
    languages,
    names,
    put,
    questions,
    start,
    successors,
    text_of,
    with_fields,
)
from .questions import fields_of as fields_of_question
from .text import FORM, MECHANISM, QUESTIONS, SERIES, Data, whole_number

#: Addresses around the questions, and how long people wait for the last of them.
_ADDRESSES = ("contact", "privacy_notice", "redirect", "redirect_after")

#: What a survey says of the series that it is a wave of, by its field.
_SERIES = {"series": "id", "wave": "wave", "total_gamma": "total_gamma"}


def add(data: Data, kind: str, name: str = "") -> Data:
    """Another question of a kind, at the end.

    Raises
    ------
    ParameterError
        If there is no such kind.
    """
    if kind not in KINDS:
        raise ParameterError(f"kind: expected one of: {', '.join(KINDS)}", field="kind")
    data, taken = deepcopy(data), names(data)
    free = (f"question{n}" for n in count(len(taken) + 1))
    name = name.strip() or next(each for each in free if each not in taken)
    data[QUESTIONS] = [*questions(data), start(kind, name)]
    mechanism.complete(data)
    return data


def duplicate(data: Data, place: int) -> Data:
    """With another question like that at a place, after it and protected as it is."""
    data, taken = deepcopy(data), names(data)
    written = questions(data)
    like, name = deepcopy(written[place]), taken[place]
    like["name"] = next(each for n in count(2) if (each := f"{name}-{n}") not in taken)
    data[QUESTIONS] = [*written[: place + 1], like, *written[place + 1 :]]
    pairs = zip(_attributes(written[place]), _attributes(like), strict=True)
    mechanism.protect_alike(data, dict(pairs))
    mechanism.complete(data)
    return data


def remove(data: Data, place: int) -> Data:
    """Without the question at a place, and without what others and the mechanism say of it."""
    data = deepcopy(data)
    left = questions(data)
    gone = _attributes(left.pop(place))
    put(data, QUESTIONS, left)
    _rename_attributes(data, lambda name: None if name in gone else name)
    return data


def move(data: Data, place: int, to: int) -> Data:
    """With a question at another place; one beyond the ends is that at the end."""
    data = deepcopy(data)
    data[QUESTIONS] = written = questions(data)
    moved = written.pop(place)
    written.insert(min(max(to, 0), len(written)), moved)
    return data


def fields_of(data: Data, place: int) -> Fields:
    """Fields of a form for a question and its design."""
    fields = fields_of_question(questions(data)[place], languages(data))
    return {**fields, **mechanism.design_of(data, place)}


def edit(data: Data, place: int, given: Mapping[str, Sequence[str]]) -> Data:
    """With other fields of a question; who names it calls it as it is called then."""
    data = deepcopy(data)
    mechanism.set_design(data, place, given)
    written = questions(data)
    before = written[place]
    after = with_fields(before, given, languages(data))
    if after == before:
        return data
    data[QUESTIONS] = [*written[:place], after, *written[place + 1 :]]
    old, new = _attributes(before), _attributes(after)
    if len(old) == len(new):
        renamed = dict(zip(old, new, strict=True))
        _rename_attributes(data, lambda name: renamed.get(name, name))
    _rename_categories(data, new, successors(before, after))
    mechanism.complete(data)
    return data


def settings_of(data: Data) -> dict[str, list[str]]:
    """Fields of a form for the survey itself."""
    spoken, around, series = languages(data), _table(data, FORM), _table(data, SERIES)
    return {
        "id": [str(data.get("id", ""))],
        "languages": [" ".join(language for language in spoken if language)],
        "title": by_language(data.get("title", ""), spoken),
        "description": by_language(data.get("description", ""), spoken),
        **{what: by_language(around.get(what, ""), spoken) for what in AROUND},
        **{what: [str(around.get(what, ""))] for what in _ADDRESSES},
        **{what: [str(series.get(key, ""))] for what, key in _SERIES.items()},
        **mechanism.fields_of(data),
    }


def update_settings(data: Data, given: Mapping[str, Sequence[str]]) -> Data:
    """With other fields of the survey itself; those that are as they were stay as written."""
    before, spoken, data = settings_of(data), languages(data), deepcopy(data)
    other = {
        name: [text.replace("\r\n", "\n").strip() for text in texts]
        for name, texts in given.items()
        if name in before and [t.strip() for t in texts] != [t.strip() for t in before[name]]
    }
    if "id" in other:
        data["id"] = other["id"][0]
    if "title" in other:
        data["title"] = text_of(other["title"], spoken)
    if "description" in other:
        put(data, "description", text_of(other["description"], spoken))
    if "languages" in other:
        put(data, "languages", other["languages"][0].replace(",", " ").split())
    series = _table(data, SERIES)
    for what in [what for what in _SERIES if what in other]:
        text = other[what][0]
        put(series, _SERIES[what], whole_number(text) if what == "wave" else text)
        put(data, SERIES, series)
    around = _table(data, FORM)
    for what in [what for what in (*AROUND, *_ADDRESSES) if what in other]:
        if what in AROUND:
            put(around, what, text_of(other[what], spoken))
        else:
            text = other[what][0]
            put(around, what, whole_number(text) if what == "redirect_after" else text)
        put(data, FORM, around)
    mechanism.set_fields(data, other)
    if "kind" in other:
        mechanism.complete(data)
    return data


def _table(data: Data, key: str) -> Data:
    table = data.get(key)
    return table if isinstance(table, dict) else {}


def _attributes(question: Data) -> list[str]:
    """Names of a question's attributes, as mechanisms and conditions use them."""
    name = str(question.get("name", ""))
    options = question.get("options")
    if not isinstance(options, list):
        return [name]
    return [f"{name}.{one['name']}" for one in options if isinstance(one, dict) and "name" in one]


def _rename_attributes(data: Data, renamed: Callable[[str], str | None]) -> None:
    """Rename attributes wherever they are named; None is not named any more."""
    for question in questions(data):
        _rename_keys(question, "ask_if", renamed)
    owner = data.get(MECHANISM)
    if not isinstance(owner, dict):
        return
    for key in mechanism.BY_ATTRIBUTE:
        _rename_keys(owner, key, renamed)
    public = owner.get("public")
    if isinstance(public, list):
        put(owner, "public", [name for one in public if (name := renamed(str(one))) is not None])


def _rename_categories(data: Data, names: Sequence[str], renamed: Mapping[str, str | None]) -> None:
    """Rename categories of some attributes wherever they are named; None is not any more."""
    for question in questions(data):
        conditions = question.get("ask_if")
        if isinstance(conditions, dict):
            for name in names:
                if isinstance(conditions.get(name), list):
                    kept = [renamed.get(answer, answer) for answer in conditions[name]]
                    put(conditions, name, [answer for answer in kept if answer is not None])
            put(question, "ask_if", conditions)
    mechanism.rename_categories(data, names, renamed)


def _rename_keys(owner: Data, key: str, renamed: Callable[[str], str | None]) -> None:
    members = owner.get(key)
    if isinstance(members, dict):
        pairs = [(renamed(name), value) for name, value in members.items()]
        put(owner, key, {name: value for name, value in pairs if name is not None})
