"""The text of a survey file and what stands in it.

The text is what counts: comments and arrangement stay wherever nothing else is to be written.
"""

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tomlkit
from halftruth_shared import HalftruthError, Survey, SurveyError
from msgspec import to_builtins
from tomlkit import TOMLDocument
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT, Item, Table, Whitespace

#: What stands in a file, by its keys.
Data = dict[str, Any]

#: The array of questions in a file.
QUESTIONS = "attributes"

#: The table of the mechanism.
MECHANISM = "mechanism"

#: The table of what is said around the questions.
FORM = "form"

#: The table of the series that a survey is a wave of.
SERIES = "series"

#: Tables of the mechanism with a member for each attribute.
_BY_ATTRIBUTE = ("designs", "matrices")

#: What a split questionnaire has of views that were chosen for it.
CHOSEN = ("views", "prime", "direct")

#: Lengths that views are tried to follow from.
_MOST_TRIED = 4

#: What is left of tables that were taken away.
_MANY_LINES = re.compile(r"\n{3,}")

#: What a designer begins with.
STARTER = """\
id = "my-survey"
title = "My survey"

[mechanism]
kind = "split-questionnaire"
gamma = "19"
max_length = 2

[[attributes]]
name = "first"
label = "The first question?"
categories = ["no", "yes"]

[[attributes]]
name = "second"
label = "The second question?"
categories = ["never", "sometimes", "often"]
"""


def whole_number(written: str) -> int | str:
    """A whole number of at most 15 digits as one, any other text as it is, which is exact.

    >>> whole_number(" -12"), whole_number("²"), whole_number("9" * 5_000)[:3]
    (-12, '²', '999')
    """
    written = written.strip()
    digits = written.removeprefix("-")
    return int(written) if digits.isascii() and digits.isdigit() and len(digits) < 16 else written


def read(text: str) -> Data:
    """Data of a file, whether or not it is a survey.

    Raises
    ------
    SurveyError
        If it is not TOML.
    """
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise SurveyError(f"survey: not valid TOML: {error}") from None


def write(data: Mapping[str, Any]) -> str:
    """A file in which this stands."""
    document = tomlkit.document()
    ordered = sorted(data.items(), key=lambda pair: (_is_apart(*pair), pair[0] == QUESTIONS))
    for key, value in ordered:
        document.add(key, _top(key, value))
    return tomlkit.dumps(document)


def change(text: str, data: Data) -> str:
    r"""A file with other things in it, which otherwise stays as it is.

    Parameters
    ----------
    text : str
    data : dict

    Returns
    -------
    str
        Read again, it is exactly `data`. Where the file's arrangement does not allow that, it is
        arranged anew.

    Examples
    --------
    >>> print(change('id = "a"  # short\n', {"id": "a", "title": "A"}))
    id = "a"  # short
    title = "A"
    <BLANKLINE>
    """
    if read(text) == data:
        return text
    try:
        document = tomlkit.parse(text)
        _edit(document, data, _top)
        written = tomlkit.dumps(document)
        for arranged in (_MANY_LINES.sub("\n\n", written), written):
            if read(arranged) == data:
                return arranged
    except (TOMLKitError, HalftruthError, ValueError, TypeError, LookupError):
        # What cannot be kept as it was arranged is arranged anew.
        pass
    return write(data)


def of_survey(survey: Survey) -> str:
    """A file of a survey, as its author would write it.

    Views that follow from the lengths that they are good for are not written, so that questions
    can be changed.
    """
    data = to_builtins(survey.document())
    data["mechanism"] = {
        key: value for key, value in data["mechanism"].items() if value is not None
    }
    if "views" in data["mechanism"]:
        chosen = {key: value for key, value in data["mechanism"].items() if key not in CHOSEN}
        longest = survey.mechanism.reconstruction(survey.schema).max_order
        for most in range(min(longest, _MOST_TRIED), 0, -1):
            short = write(data | {"mechanism": chosen | {"max_length": most}})
            if _digest(short) == survey.digest:
                return short
    return write(data)


def _digest(written: str) -> str | None:
    """The digest of what may be a survey."""
    try:
        return Survey.from_toml(written).digest
    except HalftruthError:
        return None


def _edit(container: Any, data: Data, new: Callable[[str, Any], Item]) -> None:
    """Let a container hold this; members that hold it already stay as they were written."""
    before = container.unwrap()
    for key in before.keys() - data.keys():
        container.remove(key)
    for key, value in data.items():
        old = container.get(key)
        if key not in before:
            _insert(container, key, new(key, value))
        elif before[key] == value:
            continue
        elif isinstance(old, Table) and not old.is_super_table() and isinstance(value, dict):
            _edit(old, value, _member)
        elif isinstance(old, AoT) and _is_tables(value):
            container[key] = _rearranged(old, value)
        else:
            container[key] = new(key, value)


def _insert(container: Any, key: str, item: Item) -> None:
    """Add a member, before the blank lines at the end of a table."""
    body, blank = (container if isinstance(container, TOMLDocument) else container.value).body, []
    while isinstance(container, Table) and body and isinstance(body[-1][1], Whitespace):
        blank.append(body.pop())
    container.add(key, item)
    body.extend(reversed(blank))


def _rearranged(tables: AoT, data: Sequence[Data]) -> AoT:
    """Tables in another order or with other members; each keeps what was written of it."""
    left = [(table, table.unwrap()) for table in tables.body]
    kept: dict[int, Table] = {}
    # One that only moved is known by all of it, one that was changed by its name.
    known_by: tuple[Callable[[Data], object], ...] = (lambda one: one, lambda one: one.get("name"))
    for part in known_by:
        for place, one in enumerate(data):
            places = [k for k, (_, before) in enumerate(left) if part(before) == part(one)]
            if place not in kept and places:
                kept[place] = left.pop(places[0])[0]
    arranged = tomlkit.aot()
    for place, one in enumerate(data):
        arranged.append(_edited(kept[place], one) if place in kept else _table(one))
    return arranged


def _edited(table: Table, data: Data) -> Table:
    """The table of a question with other members; arranged anew where it is written in parts."""
    try:
        _edit(table, data, _member)
    except TOMLKitError:
        return _table(data)
    return table


def _is_tables(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) for one in value)


def _is_apart(key: str, value: object) -> bool:
    """True if a member has a header of its own, and comes after those that have none."""
    return _is_tables(value) or (key in (MECHANISM, FORM, SERIES) and isinstance(value, dict))


def _top(key: str, value: Any) -> Item:
    if not _is_apart(key, value):
        return _item(value)
    if isinstance(value, dict):
        return _table(value)
    tables = tomlkit.aot()
    for one in value:
        tables.append(_table(one))
    return tables


def _table(data: Mapping[str, Any]) -> Table:
    table = tomlkit.table()
    for key, value in sorted(data.items(), key=lambda pair: pair[0] in _BY_ATTRIBUTE):
        table.add(key, _member(key, value))
    return table


def _member(key: str, value: Any) -> Item:
    """A member of a table, with a header of its own where it has a line for each attribute."""
    is_long = key in _BY_ATTRIBUTE and isinstance(value, dict)
    return _table(value) if is_long else _item(value)


def _item(value: Any) -> Item:
    """A value on as few lines as can be read."""
    if isinstance(value, dict):
        inline = tomlkit.inline_table()
        for key, inner in value.items():
            inline.add(key, _item(inner))
        return inline
    if isinstance(value, list):
        array = tomlkit.array()
        for inner in value:
            array.append(_item(inner))
        array.multiline(_is_tables(value))
        return array
    item: Item = tomlkit.item(value)
    return item
