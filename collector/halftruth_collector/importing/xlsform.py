"""Import of XLSForms (.xlsx and .csv), the questionnaires of ODK and KoboToolbox."""

import locale
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor

import msgspec
from halftruth_shared.number import parse_number
from halftruth_shared.texts import is_language

from .conditions import Comparison, Dialect
from .draft import MAX_MAGNITUDE, ConvertedQuestion, ExpressionNames, SurveyDraft, make_category
from .sheets import Row, read_tables, read_workbook

Text = str | dict[str, str]

#: Current names of types by their aliases.
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

#: Types without a question: nothing is asked, or the device answers automatically.
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

#: Columns that are read, or have no effect on the questions.
_SILENT = {
    *("type", "name", "label", "hint", "relevant", "required", "constraint", "appearance"),
    *("parameters", "readonly", "constraint_message", "required_message", "save_to", "disabled"),
}
_SILENT_SETTINGS = {"form_title", "form_id", "default_language", "version", "id_string", "style"}

#: Largest number of answers of a range that is asked as a scale.
_MAX_ANSWERS = 11

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


def read_xlsform(content: bytes, draft: SurveyDraft) -> None:
    """Read a form into a draft; raise ValidationError if the format is invalid."""
    sheets = read_workbook(content) if content.startswith(b"PK") else read_tables(content)
    if not {"type", "name"} <= {column for row in sheets["survey"] for column in row}:
        raise msgspec.ValidationError("expected a sheet 'survey' with the columns type and name")
    draft.dialect = Dialect(_COMPARISON, _read_comparison)
    _Reader(draft, sheets).read()


@dataclass
class _Group:
    """Open group of questions, with the properties that its questions inherit."""

    page: Text = ""
    conditions: tuple[str, ...] = ()
    repeated: bool = False
    before: int = 0


class _Reader:
    """Reader of the rows of one form, in order."""

    def __init__(self, draft: SurveyDraft, sheets: Mapping[str, Sequence[Row]]) -> None:
        self.draft, self.sheets = draft, sheets
        self.settings = next(iter(sheets["settings"]), {})
        columns = (
            column for name in ("survey", "choices") for row in sheets[name] for column in row
        )
        texts = [column.partition("::") for column in columns]
        named = dict.fromkeys(name for column, _, name in texts if column in ("label", "hint"))
        #: Language tags by their names in columns; without a default, the first is the main one.
        self.languages = {name: _language_tag(name) for name in named}
        default = self.languages.pop("", None) is not None or not self.languages
        main = _language_tag(self.settings.get("default_language", "")) or (
            "en" if default else None
        )
        tags = dict.fromkeys([main, *self.languages.values()])
        if default and not self.languages:
            tags.clear()
        elif not default and main not in self.languages.values():
            tags.pop(main)
        draft.languages = [tag for tag in tags if tag is not None]
        self.main = draft.languages[0] if draft.languages else ""
        for name, tag in self.languages.items():
            if tag is None:
                draft.add_note(
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
        return self.draft.convert_text(said)

    def read(self) -> None:
        title = self.settings.get("form_title") or self.settings.get("form_id") or "Survey"
        self.draft.texts = {"title": self.draft.convert_text({self.main: title})}
        for setting in sorted(self.settings.keys() - _SILENT_SETTINGS):
            self.draft.add_note("settings of the form are left out", which=setting)
        open_groups = [_Group()]
        for row in self.sheets["survey"]:
            words = row.get("type", "").lower().replace("_", " ").split()
            begin, what = [*words, "", ""][:2]
            if row.get("disabled", "").lower() in _YES:
                self.draft.leave_out(row.get("name", ""), "it is disabled")
            elif begin == "begin":
                open_groups.append(self.read_group(row, what != "group", open_groups[-1]))
            elif begin == "end" and what:
                self.draft.end_part(open_groups.pop().before)
                open_groups = open_groups or [_Group()]
            elif not begin and "name" in row:
                self.draft.leave_out(row["name"], "it has no type")
            elif begin:
                self.read_question(row, open_groups[-1])

    def read_group(self, row: Row, repeated: bool, above: _Group) -> _Group:
        called, label = row.get("name", ""), self.text(row, "label")
        if repeated and not above.repeated:
            self.draft.add_note("left out with its questions: they are asked several times", called)
        self.note_unread_columns(row)
        repeated = repeated or above.repeated
        before = self.draft.add_introduction(label if above.page and not repeated else "")
        return _Group(
            above.page or label,
            (*above.conditions, *filter(None, [row.get("relevant")])),
            repeated,
            before,
        )

    def note_unread_columns(self, row: Row) -> None:
        """Note the columns that are not read."""
        for column in row:
            plain, _, language = column.partition("::")
            if plain not in _SILENT or (language and plain not in ("label", "hint")):
                self.draft.add_note(f"'{column}' is left out", row.get("name", ""))

    def read_question(self, row: Row, group: _Group) -> None:
        called, (kind, answers) = row.get("name", ""), _normalize_type(row["type"])
        if group.repeated:
            return
        if kind in _READ:
            self.draft.add_note(f"left out ({kind}): nothing is answered there", called)
            return
        if row.get("readonly", "").lower() in _YES:
            self.draft.leave_out(called, "it is read only")
            return
        appearance = row.get("appearance", "")
        if "label" in appearance.split():
            self.draft.add_note("left out (labels of a table): nothing is answered there", called)
            return
        if "search(" in appearance:
            self.draft.leave_out(called, "its choices are in another file")
            return
        made = self.convert(kind, answers, row, called)
        if made is None:
            return
        self.note_unread_columns(row)
        required = row.get("required", "").lower()
        if required not in (*_YES, "", "no", "false", "false()", "0"):
            self.draft.add_note(
                "may be passed over: it was required on a condition", called, required
            )
        label, help = self.text(row, "label"), self.text(row, "hint")
        common = {
            "label": label or help or group.page or called,
            "help": help if label else "",
            "page": group.page,
            "optional": required not in _YES,
        }
        conditions = [*group.conditions, *filter(None, [row.get("relevant")])]
        self.draft.add_questions(called, [made], common, conditions)

    def convert(self, kind: str, answers: str, row: Row, called: str) -> ConvertedQuestion | None:
        """Convert a row to a question; return None, with a note, if it is left out."""
        if kind in ("integer", "decimal"):
            low, high = self.read_bounds(row, kind == "integer", called)
            number = self.draft.make_number(called, low, high, kind == "integer")
            return None if number is None else (called, number, {called: ("", {})})
        if row.get("constraint"):
            self.draft.add_note("its constraint is left out", called, row["constraint"])
        if kind == "range":
            return self.convert_range(row, called)
        if kind in ("select_one", "select_multiple"):
            return self.convert_select(kind, answers, row, called)
        if kind == "text":
            self.draft.leave_out_free_text(called)
        else:
            self.draft.leave_out(called, f"a survey has no questions of type '{kind}'")
        return None

    def read_bounds(
        self, row: Row, whole: bool, called: str
    ) -> tuple[Fraction | None, Fraction | None]:
        """Return the smallest and largest number that satisfies a constraint."""
        constraint = row.get("constraint", "")
        bounds = []
        for part in re.split(r"\band\b", constraint.replace("(", " ").replace(")", " ")):
            found = _BOUND.fullmatch(part.strip())
            if found is not None:
                bounds.append(found.groups())
            elif part.strip():
                self.draft.add_unconfirmed(
                    "a part of its constraint is left out", called, part.strip()
                )
        if re.search(r"\b(or|not)\b", constraint):
            # Parts that "or" and "not" combine do not have to hold.
            return None, None
        ends: dict[str, list[Fraction]] = {"<": [], ">": []}
        for sign, written in bounds:
            bound = parse_number(written) or Fraction(0)
            if len(sign) == 1 and whole:
                bound = Fraction(ceil(bound) - 1 if sign == "<" else floor(bound) + 1)
            elif len(sign) == 1:
                self.draft.add_note(
                    "a bound of its constraint may be answered, too", called, written
                )
            ends[sign[0]].append(bound)
        return max(ends[">"], default=None), min(ends["<"], default=None)

    def convert_range(self, row: Row, called: str) -> ConvertedQuestion | None:
        """Convert a range to a scale, or to a number if it has many answers."""
        given = _parameters(row)
        low, high, step = (
            parse_number(given.get(what, default))
            for what, default in (("start", "0"), ("end", "10"), ("step", "1"))
        )
        if low is None or high is None or not step or max(abs(low), abs(high)) >= MAX_MAGNITUDE:
            self.draft.leave_out(
                called, "expected numbers of at most 15 digits as start, end and step"
            )
            return None
        step = abs(step)
        low, high = min(low, high), max(low, high)
        if (high - low) / step >= _MAX_ANSWERS:
            whole = low.denominator == high.denominator == step.denominator == 1
            number = self.draft.make_number(called, low, high, whole)
            return None if number is None else (called, number, {called: ("", {})})
        categories = [f"{float(low + i * step):.10g}" for i in range(int((high - low) / step) + 1)]
        values = {category: category for category in categories}
        return called, {"kind": "scale", "categories": categories}, {called: ("", values)}

    def convert_select(
        self, kind: str, answers: str, row: Row, called: str
    ) -> ConvertedQuestion | None:
        """Convert a single-choice or multiple-response question with a list of choices."""
        name, _, more = answers.partition(" ")
        listed = self.choices.get(name, [])
        if not listed:
            self.draft.leave_out(called, f"its list of choices '{name}' is not in the form")
            return None
        values, texts = {}, {}
        for each in listed:
            value = each["name"]
            if value in values:
                self.draft.add_note(
                    "answers that are twice in its list are asked once", called, value
                )
                continue
            values[value] = category = make_category(value)
            if (label := self.text(each, "label")) and label != category:
                texts[category] = label
            for column in sorted(each.keys() - {"list_name", "name"}):
                if column.partition("::")[0] != "label":
                    self.draft.add_note("columns of choices are left out", called, column)
        if more in ("or_other", "or other", "or specify other"):
            values["other"] = "other"
            self.draft.add_note("the text for 'other' is not asked", called)
        shuffle = _parameters(row).get("randomize", "").lower() == "true"
        if kind == "select_one":
            question = {"categories": [*values.values()], "answers": texts, "shuffle": shuffle}
            if "likert" in row.get("appearance", "") and not shuffle and not more:
                question["kind"] = "scale"
            return called, question, {called: ("", values)}
        options = self.draft.make_options(called, values, texts)
        known: ExpressionNames = {
            f"{called}[{value}]": (f".{option['name']}", {value: "yes"})
            for value, option in options.items()
        }
        made = {"kind": "several", "options": [*options.values()], "shuffle": shuffle}
        return called, made, known


def _normalize_type(written: str) -> tuple[str, str]:
    """Return the current name of a type, and the rest of the text.

    >>> _normalize_type("select all that apply from pets"), _normalize_type("int")
    (('select_multiple', 'pets'), ('integer', ''))
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


def _language_tag(name: str) -> str | None:
    """Return the tag of a language by its name; None if it is unknown.

    >>> [_language_tag(name) for name in ("French (fr)", "pt-BR", "Deutsch", "Klingon")]
    ['fr', 'pt-BR', 'de', None]
    """
    written = _LANGUAGE.fullmatch(name)
    if written is not None:
        name = written[1]
    if is_language(name):
        return name
    return locale.locale_alias.get(name.lower(), "").partition("_")[0] or None


def _read_comparison(match: re.Match[str]) -> Comparison:
    chosen, choice, name, sign, value = match.groups()
    if chosen:
        return Comparison(chosen, "contains", (choice.strip("'\""),))
    return Comparison(name, sign, (value.strip("'\""),))
