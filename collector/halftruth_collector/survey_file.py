"""Survey files: data and published surveys written as TOML."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from halftruth_shared import HalftruthError, SplitQuestionnaire, Survey
from halftruth_shared.mechanisms import View
from halftruth_shared.set_responses import SetResponse
from msgspec import to_builtins

#: Lines of comments by the place of the question that they stand before, counted from 0. Those of
#: the number of questions stand at the end.
Comments = Mapping[int, Sequence[str]]

#: The list of questions.
_QUESTIONS = "attributes"

#: Tables of the mechanism with a member for each attribute, which have a line each.
_BY_ATTRIBUTE = ("designs", "matrices")

#: Lists of tables within a table, which have a block each.
_BLOCKS = ("tables",)

#: Members of a split questionnaire that follow from its `tables`, or from its `max_length`.
_CHOSEN = ("views", "prime", "direct")

#: Lengths that are tried as the `max_length` of chosen views.
_MOST_TRIED = 4

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)


def write(
    data: Mapping[str, Any], comments: Comments | None = None, heading: Sequence[str] = ()
) -> str:
    r"""Return a survey file with these data.

    Tables have a header each, questions follow each other at the end, and everything within them
    stands on one line if possible. `comments` are those on questions, `heading` those at the
    beginning.

    Examples
    --------
    >>> question = {"name": "smoker", "label": {"en": "Do you smoke?"}, "categories": ["no", "yes"]}
    >>> data = {"id": "a", "mechanism": {"gamma": "19"}, "attributes": [question]}
    >>> print(write(data, {0: ["changed:\nits name"]}))
    id = "a"
    <BLANKLINE>
    [mechanism]
    gamma = "19"
    <BLANKLINE>
    # changed: its name
    [[attributes]]
    name = "smoker"
    label = {en = "Do you smoke?"}
    categories = ["no", "yes"]
    <BLANKLINE>
    """
    questions = data.get(_QUESTIONS, [])
    tables = {key: value for key, value in data.items() if isinstance(value, Mapping)}
    plain = {key: value for key, value in data.items() if key not in tables and key != _QUESTIONS}
    blocks = ["".join(map(_comment, heading)), _members(plain)]
    for name, table in tables.items():
        long = [key for key in _BY_ATTRIBUTE if isinstance(table.get(key), Mapping)]
        blocked = [key for key in _BLOCKS if isinstance(table.get(key), list | tuple)]
        short = {key: value for key, value in table.items() if key not in (*long, *blocked)}
        if short or not long:
            blocks.append(f"[{_key(name)}]\n{_members(short)}")
        blocks += [f"[{_key(name)}.{key}]\n{_members(table[key])}" for key in long]
        for key in blocked:
            blocks += [f"[[{_key(name)}.{key}]]\n{_members(each)}" for each in table[key]]
    said = comments or {}
    for place, question in enumerate(questions):
        before = "".join(map(_comment, said.get(place, ())))
        blocks.append(f"{before}[[{_QUESTIONS}]]\n{_members(question)}")
    blocks.append("".join(map(_comment, said.get(len(questions), ()))))
    return "\n".join(filter(None, blocks))


def of_survey(survey: Survey) -> str:
    """Return the file of a published survey, as its author would write it.

    Views that follow from `tables` or a `max_length` are written as that, so that questions can be
    changed.
    """
    data = to_builtins(survey.document())
    mechanism = {key: value for key, value in data["mechanism"].items() if value is not None}
    data["mechanism"] = mechanism
    is_split = mechanism["kind"] == SplitQuestionnaire.kind
    if is_split and (survey.has_tickets or survey.relay is None):
        # A file without this line requires tickets, unless its relay issues none.
        data["reports"] = {"tickets": survey.reporting.tickets}
    if "views" in mechanism:
        kept = {key: value for key, value in mechanism.items() if key not in _CHOSEN}
        longest = max(map(_length, survey.perturbation.views))
        lengths = range(min(longest, _MOST_TRIED), 0, -1)
        for asked in [{}] if "tables" in kept else [{"max_length": most} for most in lengths]:
            short = write(data | {"mechanism": kept | asked})
            if _has_digest(short, survey.digest):
                return short
    return write(data)


def _length(view: View) -> int:
    """Return the number of attributes of the tables that reports about a view tell of."""
    of_set = isinstance(view.response, SetResponse) and (2 if view.response.pairs else 1)
    return len(view.others) + of_set


def _has_digest(text: str, digest: str) -> bool:
    try:
        return Survey.from_toml(text).digest == digest
    except HalftruthError:
        return False


def _members(table: Mapping[str, Any]) -> str:
    return "".join([f"{_key(key)} = {_value(value)}\n" for key, value in table.items()])


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        members = [f"{_key(key)} = {_value(inner)}" for key, inner in value.items()]
        return f"{{{', '.join(members)}}}"
    if isinstance(value, list | tuple):
        inner = list(map(_value, value))
        if value and all(isinstance(one, Mapping) for one in value):
            return "[\n" + "".join([f"  {one},\n" for one in inner]) + "]"
        return f"[{', '.join(inner)}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return _text(value) if isinstance(value, str) else repr(value)


def _key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else _text(key)


def _text(text: str) -> str:
    # TOML escapes texts as JSON does, and the character DEL, too.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")


def _comment(words: str) -> str:
    """Return a comment of one line, which no character of the text can end."""
    visible = "".join([letter if letter.isprintable() else " " for letter in words])
    return f"# {' '.join(visible.split())}\n"
