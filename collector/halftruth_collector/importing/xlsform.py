"""Import of XLSForm questionnaires (.xlsx and .csv), those of ODK and KoboToolbox."""

import locale
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor

from halftruth_shared.number import parse_number
from halftruth_shared.texts import is_language

from .conditions import Comparison, Dialect
from .draft import Draft, Known, Made, choice
from .sheets import Row, read_tables, read_workbook

Text = str | dict[str, str]

#: Types by their earlier names.
_TYPES = {
    "select one": "select_one",
    "select1": "select_one",
    "select one from": "select_one",
    "select multiple": "select_multiple",
    "select all that apply": "select_multiple",
    "select all that apply from": "select_multiple",
    "add select one prompt using": "select_one",
    "add select multiple prompt using": "select_multiple",
    "int": "integer",
    "string": "text",
    "trigger": "acknowledge",
    "photo": "image",
}

#: Types without a question: nothing is asked, or a device answers by itself.
_READ = {"note", "calculate", "hidden", "start", "end", "today", "deviceid", "phonenumber"}
_READ |= {
    "username",
    "email",
    "audit",
    "simserial",
    "subscriberid",
    "start-geopoint",
    "background-audio",
}
_READ |= {"xml-external", "csv-external", "background-geopoint", "acknowledge"}

#: Columns that are read, or without a bearing on the questions.
_SILENT = {
    *("type", "name", "label", "hint", "relevant", "required", "constraint", "appearance"),
    *("parameters", "readonly", "constraint_message", "required_message", "save_to", "disabled"),
}
_SILENT_SETTINGS = {"form_title", "form_id", "default_language", "version", "id_string", "style"}

#: Most answers of a range that is asked as a scale.
_MOST_ANSWERS = 11

_YES = ("yes", "true", "true()", "1")
_NAME, _VALUE = (
    r"(?:\$\{\s*|(?:\.\./)+)([\w.-]+)(?:\s*\})?",
    r"('[^']*'|\"[^\"]*\"|-?\d+(?:\.\d+)?)",
)
_COMPARISON = re.compile(
    rf"selected\(\s*{_NAME}\s*,\s*{_VALUE}\s*\)|{_NAME}\s*(=|!=|[<>]=?)\s*{_VALUE}"
    r"(?!\w|\s*(?:[*+.-]|div\b|mod\b))"
)
_BOUND = re.compile(r"\.\s*(>=|<=|>|<)\s*(-?\d{1,15}(?:\.\d{1,15})?)(?![\d.])")
_LANGUAGE = re.compile(r".*\(\s*([A-Za-z-]+)\s*\)\s*")


def read_xlsform(content: bytes, draft: Draft, beside: Mapping[str, bytes]) -> None:
    """Read a form into a draft.

    Parameters
    ----------
    content : bytes
        A workbook, a table with the names of sheets in its first column, or the sheet ``survey``.
    draft : Draft
    beside : mapping of str to bytes
        Further sheets of tables, by name.

    Raises
    ------
    ValueError
        If it is none.
    """
    sheets = read_workbook(content) if content.startswith(b"PK") else read_tables(content, beside)
    if not {"type", "name"} <= {column for row in sheets["survey"] for column in row}:
        raise ValueError("expected a sheet 'survey' with the columns type and name")
    draft.dialect = Dialect(_COMPARISON, _comparison)
    _Reader(draft, sheets).read()


@dataclass
class _Group:
    """A group that is open: what its questions have of it."""

    page: Text = ""
    conditions: tuple[str, ...] = ()
    repeated: bool = False
    before: int = 0


class _Reader:
    """Reader of the rows of one form, in order."""

    def __init__(self, draft: Draft, sheets: Mapping[str, Sequence[Row]]) -> None:
        self.draft, self.sheets = draft, sheets
        self.settings = next(iter(sheets["settings"]), {})
        columns = (
            column for name in ("survey", "choices") for row in sheets[name] for column in row
        )
        texts = [column.partition("::") for column in columns]
        named = dict.fromkeys(name for column, _, name in texts if column in ("label", "hint"))
        #: Languages by the names that columns have of them; without a default, the first one is.
        self.languages = {name: _tag(name) for name in named}
        default = self.languages.pop("", None) is not None or not self.languages
        main = _tag(self.settings.get("default_language", "")) or ("en" if default else None)
        tags = dict.fromkeys([main, *self.languages.values()])
        if default and not self.languages:
            tags.clear()
        elif not default and main not in self.languages.values():
            tags.pop(main)
        draft.languages = [tag for tag in tags if tag is not None]
        self.main = draft.languages[0] if draft.languages else ""
        for name, tag in self.languages.items():
            if tag is None:
                draft.say(
                    "texts are left out where the tag of their language is missing, as in"
                    " label::English (en)",
                    which=name,
                )
        self.choices: dict[str, list[Row]] = {}
        for row in sheets["choices"]:
            if row.get("name"):
                self.choices.setdefault(row.get("list_name", ""), []).append(row)

    def text(self, row: Row, column: str) -> Text:
        """Return a text, by language if the form has several."""
        said = {self.main: row[column]} if column in row else {}
        for name, tag in self.languages.items():
            if tag is not None and (text := row.get(f"{column}::{name}")):
                said[tag] = text
        return self.draft.text(said)

    def read(self) -> None:
        title = self.settings.get("form_title") or self.settings.get("form_id") or "Survey"
        self.draft.texts = {"title": self.draft.text({self.main: title})}
        for setting in sorted(self.settings.keys() - _SILENT_SETTINGS):
            self.draft.say("settings of the form are left out", which=setting)
        open_groups = [_Group()]
        for row in self.sheets["survey"]:
            words = row.get("type", "").lower().replace("_", " ").split()
            begin, what = [*words, "", ""][:2]
            if row.get("disabled", "").lower() in _YES:
                self.draft.refuse(row.get("name", ""), "it is disabled")
            elif begin == "begin":
                open_groups.append(self.group(row, what != "group", open_groups[-1]))
            elif begin == "end" and what:
                self.draft.end_part(open_groups.pop().before)
                open_groups = open_groups or [_Group()]
            elif not begin and "name" in row:
                self.draft.refuse(row["name"], "it has no type")
            elif begin:
                self.question(row, open_groups[-1])

    def group(self, row: Row, repeated: bool, above: _Group) -> _Group:
        called, label = row.get("name", ""), self.text(row, "label")
        if repeated and not above.repeated:
            self.draft.say("left out with its questions: they are asked several times", called)
        self.say_columns(row)
        repeated = repeated or above.repeated
        before = self.draft.introduce(label if above.page and not repeated else "")
        return _Group(
            above.page or label,
            (*above.conditions, *filter(None, [row.get("relevant")])),
            repeated,
            before,
        )

    def say_columns(self, row: Row) -> None:
        """Note what is in columns that are not read."""
        for column in row:
            plain, _, language = column.partition("::")
            if plain not in _SILENT or (language and plain not in ("label", "hint")):
                self.draft.say(f"'{column}' is left out", row.get("name", ""))

    def question(self, row: Row, group: _Group) -> None:
        called, (kind, answers) = row.get("name", ""), _type(row["type"])
        if group.repeated:
            return
        if kind in _READ:
            self.draft.say(f"left out ({kind}): nothing is answered there", called)
            return
        if row.get("readonly", "").lower() in _YES:
            self.draft.refuse(called, "it is read only")
            return
        appearance = row.get("appearance", "")
        if "label" in appearance.split():
            self.draft.say("left out (labels of a table): nothing is answered there", called)
            return
        if "search(" in appearance:
            self.draft.refuse(called, "its choices are in another file")
            return
        made = self.made(kind, answers, row, called)
        if made is None:
            return
        self.say_columns(row)
        required = row.get("required", "").lower()
        if required not in (*_YES, "", "no", "false", "false()", "0"):
            self.draft.say("may be passed over: it was required on a condition", called, required)
        label, help = self.text(row, "label"), self.text(row, "hint")
        common = {
            "label": label or help or group.page or called,
            "help": help if label else "",
            "page": group.page,
            "optional": required not in _YES,
        }
        conditions = [*group.conditions, *filter(None, [row.get("relevant")])]
        self.draft.add(called, [made], common, conditions)

    def made(self, kind: str, answers: str, row: Row, called: str) -> Made | None:
        """Return the question of a row; None if it is left out, which is noted."""
        if kind in ("integer", "decimal"):
            low, high = self.bounds(row, kind == "integer", called)
            number = self.draft.number(called, low, high, kind == "integer")
            return None if number is None else (called, number, {called: ("", {})})
        if row.get("constraint"):
            self.draft.say("its constraint is left out", called, row["constraint"])
        if kind == "range":
            return self.range(row, called)
        if kind in ("select_one", "select_multiple"):
            return self.select(kind, answers, row, called)
        if kind == "text":
            self.draft.refuse_words(called)
        else:
            self.draft.refuse(called, f"a survey has no questions of type '{kind}'")
        return None

    def bounds(self, row: Row, whole: bool, called: str) -> tuple[Fraction | None, Fraction | None]:
        """Return the least and the largest number that a constraint leaves."""
        constraint = row.get("constraint", "")
        bounds = []
        for part in re.split(r"\band\b", constraint.replace("(", " ").replace(")", " ")):
            found = _BOUND.fullmatch(part.strip())
            if found is not None:
                bounds.append(found.groups())
            elif part.strip():
                self.draft.mark("a part of its constraint is left out", called, part.strip())
        if re.search(r"\b(or|not)\b", constraint):
            # What is joined by these is no part that has to hold.
            return None, None
        ends: dict[str, list[Fraction]] = {"<": [], ">": []}
        for sign, written in bounds:
            bound = parse_number(written) or Fraction(0)
            if len(sign) == 1 and whole:
                bound = Fraction(ceil(bound) - 1 if sign == "<" else floor(bound) + 1)
            elif len(sign) == 1:
                self.draft.say("a bound of its constraint may be answered, too", called, written)
            ends[sign[0]].append(bound)
        return max(ends[">"], default=None), min(ends["<"], default=None)

    def range(self, row: Row, called: str) -> Made | None:
        """Return a scale, or a number if it would have many answers."""
        given = _parameters(row)
        low, high, step = (
            parse_number(given.get(what, default))
            for what, default in (("start", "0"), ("end", "10"), ("step", "1"))
        )
        if low is None or high is None or not step:
            self.draft.refuse(called, "expected numbers as start, end and step")
            return None
        step = abs(step)
        low, high = min(low, high), max(low, high)
        if (high - low) / step >= _MOST_ANSWERS:
            whole = low.denominator == high.denominator == step.denominator == 1
            number = self.draft.number(called, low, high, whole)
            return None if number is None else (called, number, {called: ("", {})})
        categories = [f"{float(low + i * step):.10g}" for i in range(int((high - low) / step) + 1)]
        values = {category: category for category in categories}
        return called, {"kind": "scale", "categories": categories}, {called: ("", values)}

    def select(self, kind: str, answers: str, row: Row, called: str) -> Made | None:
        """Return a question with one or several answers of a list."""
        name, _, more = answers.partition(" ")
        listed = self.choices.get(name, [])
        if not listed:
            self.draft.refuse(called, f"its list of choices '{name}' is not in the form")
            return None
        values, texts = {}, {}
        for each in listed:
            value = each["name"]
            if value in values:
                self.draft.say("answers that are twice in its list are asked once", called, value)
                continue
            values[value] = category = choice(value)
            if (label := self.text(each, "label")) and label != category:
                texts[category] = label
            for column in sorted(each.keys() - {"list_name", "name"}):
                if column.partition("::")[0] != "label":
                    self.draft.say("columns of choices are left out", called, column)
        if more in ("or_other", "or other", "or specify other"):
            values["other"] = "other"
            self.draft.say("what people write beside 'other' is not asked", called)
        shuffle = _parameters(row).get("randomize", "").lower() == "true"
        if kind == "select_one":
            question = {"categories": [*values.values()], "answers": texts, "shuffle": shuffle}
            if "likert" in row.get("appearance", "") and not shuffle and not more:
                question["kind"] = "scale"
            return called, question, {called: ("", values)}
        options = self.draft.options(called, values, texts)
        known: Known = {
            f"{called}[{value}]": (f".{option['name']}", {value: "yes"})
            for value, option in options.items()
        }
        made = {"kind": "several", "options": [*options.values()], "shuffle": shuffle}
        return called, made, known


def _type(written: str) -> tuple[str, str]:
    """Return a type by its present name, and what follows it.

    >>> _type("select_one yn or_other"), _type("select all that apply from pets"), _type("int")
    (('select_one', 'yn or_other'), ('select_multiple', 'pets'), ('integer', ''))
    """
    plain = " ".join(written.split())
    for name in sorted(_TYPES, key=len, reverse=True):
        if plain.lower() == name or plain.lower().startswith(f"{name} "):
            return _TYPES[name], plain[len(name) :].strip()
    kind, _, rest = plain.partition(" ")
    return kind if kind.lower().startswith("datetime") else kind.lower(), rest


def _parameters(row: Row) -> dict[str, str]:
    pairs = re.findall(r"(\w+)\s*=\s*([^\s;,]+)", row.get("parameters", ""))
    return dict(pairs)


def _tag(name: str) -> str | None:
    """Return the tag of a language, None where it has none.

    >>> [_tag(name) for name in ("French (fr)", "pt-BR", "Deutsch", "Klingon")]
    ['fr', 'pt-BR', 'de', None]
    """
    written = _LANGUAGE.fullmatch(name)
    if written is not None:
        name = written[1]
    if is_language(name):
        return name
    return locale.locale_alias.get(name.lower(), "").partition("_")[0] or None


def _comparison(match: re.Match[str]) -> Comparison:
    chosen, choice, name, sign, value = match.groups()
    if chosen:
        return Comparison(chosen, "contains", (choice.strip("'\""),))
    return Comparison(name, sign, (value.strip("'\""),))
