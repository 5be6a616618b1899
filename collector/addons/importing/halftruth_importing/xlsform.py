"""Import of XLSForms (.xlsx and .csv), the questionnaires of ODK and KoboToolbox, by pyxform."""

import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Any
from zipfile import BadZipFile, ZipFile

import langcodes
import msgspec
from halftruth_shared import ParameterError
from halftruth_shared.number import parse_number
from halftruth_shared.texts import is_language
from pyxform import QUESTION_TYPE_DICT
from pyxform.errors import PyXFormError
from pyxform.xls2json import workbook_to_json
from pyxform.xls2json_backends import get_xlsform

from .conditions import Comparison, Dialect
from .draft import (
    FREE_TEXT,
    MAX_MAGNITUDE,
    ConvertedQuestion,
    ExpressionNames,
    LeftOut,
    SurveyDraft,
)
from .languages import UNDETERMINED, tag_of_code

Text = str | dict[str, str]

#: Row of a sheet, or element of a form.
Row = dict[str, Any]

#: Limits of a workbook: uncompressed bytes, tags of sheets and of other parts, and filled cells.
_MAX_BYTES, _MAX_SHEET_TAGS, _MAX_TAGS, _MAX_CELLS = 100_000_000, 4_000_000, 1_000_000, 250_000

#: Largest number of cells that are read again without the rows that pyxform refuses.
_MAX_CELLS_AGAIN = 50_000

#: Columns that are read, or have no effect on who is asked and on the answers. Any column that is
#: in none of these lists makes its question unconfirmed.
_SILENT = {
    *("type", "name", "label", "hint", "children", "choices", "itemset", "list_name", "parameters"),
    *(
        "bind::relevant",
        "bind::required",
        "bind::constraint",
        "bind::readonly",
        "control::appearance",
    ),
    *(
        "bind::jr:constraintMsg",
        "bind::jr:requiredMsg",
        "columns",
        "actions",
    ),
    *("_dynamic_default", "control::bodyless", "bind::jr:noAppErrorString", "control::autoplay"),
    # Columns of authors and of KoboToolbox.
    *("$kuid", "kuid", "$autoname", "$xpath", "$qpath", "$given_name", "kobo--locking-profile"),
    *("notes", "note", "comment", "comments", "remark", "remarks", "section", "module", "number"),
    *("no", "nr", "id", "index", "qnum", "question_number", "source", "hxl", "description"),
}

#: The same, for columns that are left out with a note.
_NOTED = {
    *("default", "media", "guidance_hint", "instance", "control::rows", "publishable"),
    *("minimum_seconds", "response_note", "sms_field", "sms_option"),
}

#: The same for settings.
_SILENT_SETTINGS = {
    *("type", "name", "title", "id_string", "sms_keyword", "default_language", "children"),
    *("choices", "version", "style", "allow_choice_duplicates", "clean_text_values", "prefix"),
    *("instance_xmlns", "namespaces", "omit_instanceID", "instance_id", "compact_prefix", "xform"),
    *(
        "compact_delimiter",
        "delimiter",
        "flat",
        "client_editable",
        "sms_separator",
        "sms_date_format",
    ),
    *("sms_allow_media", "sms_datetime_format", "sms_response", "attribute", "compact_tag"),
}
_NOTED_SETTINGS = {"public_key", "submission_url", "auto_send", "auto_delete", "instance_name"}

#: Appearances without effect on who is asked and on the answers.
_APPEARANCE = re.compile(
    r"(?:w\d+|columns(?:-\d+|-pack|-flex)?|minimal|quick(?:compact)?(?:-\d+)?|compact(?:-\d+)?"
    r"|horizontal(?:-compact)?|vertical|likert|list-nolabel|label|table-list|field-list|pages"
    r"|autocomplete|autoadvance|no-ticks|no-buttons|picker|rating|spinner|numbers|thousands-sep"
    r"|bearing|counter|distress|multiline|image-map|map|randomized|full|summary|theme-\w+|logo"
    r"|page-break|dn|intro|masked|hide-input|combobox|select|compact-\d+|native)",
    re.IGNORECASE,
)

#: Largest number of answers of a range that is asked as a scale.
_MAX_ANSWERS = 11

#: Type of a row that pyxform refused, in its place.
_REFUSED = "refused"

#: A name that is not in the form, and a row that is refused, in messages of pyxform.
_ABSENT = re.compile(r"Could not find the name '([^']+)'")
_SPACED = re.compile(r"Choice names with spaces .* in \[([^\[\]]+)\]$")
_ROW = re.compile(r"\[row : (\d+)\]\s*(.*)")

#: Names of the columns type and name.
_TYPE, _NAME_COLUMNS = ("type", "command"), ("name", "value", "tag")

_BEGIN = re.compile(r"(begin|end)[ _]+(\w+)(.*)", re.IGNORECASE)
_CONTROLS = ("group", "repeat", "loop")

#: The limit of the number of chosen options.
_MOST_SELECTED = re.compile(r"count-selected\(\s*\.\s*\)\s*<=\s*(\d+)")

#: A text that the spreadsheet turned into a date, such as "5-May".
_DATE = re.compile(r"\d{4}-\d\d-\d\d 00:00:00")

#: Typographic quotation marks in labels, which pyxform would replace, and their substitutes.
_KEPT = str.maketrans({"‘": "\ue001", "’": "\ue002", "“": "\ue003", "”": "\ue004"})
_RESTORED = str.maketrans({"\ue001": "‘", "\ue002": "’", "\ue003": "“", "\ue004": "”"})

_YES, _NO = ("yes", "true", "true()", "1"), ("", "no", "false", "false()", "0")
_NAME, _VALUE = (
    r"(?:\$\{\s*|(?:\.\./)+)([\w.-]+)(?:\s*\})?",
    r"('[^']*'|\"[^\"]*\"|-?\d+(?:\.\d+)?)",
)
_COMPARISON = re.compile(
    rf"selected\(\s*{_NAME}\s*,\s*{_VALUE}\s*\)|{_NAME}\s*(=|!=|[<>]=?)\s*{_VALUE}"
    r"(?!\w|\s*(?:[*+.-]|div\b|mod\b))"
)
_BOUND = re.compile(
    r"\.\s*(>=|<=|>|<)\s*(-?\d{1,15}(?:\.\d{1,15})?)(?![\d.])"
    r"|(-?\d{1,15}(?:\.\d{1,15})?)\s*(>=|<=|>|<)\s*\."
)
_TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
_TAGGED = re.compile(r"(.*)\(\s*([A-Za-z0-9_-]+)\s*\)\s*")


def read_xlsform(content: bytes, draft: SurveyDraft) -> None:
    """Read a form into a draft; raise ValidationError if the format is invalid."""
    draft.dialect = Dialect(_COMPARISON, _read_comparison)
    sheets = _read_sheets(content)
    default = _prepare(sheets, draft)
    form, refused = _build(sheets, draft)
    _Reader(draft, form, refused, default).read()


@contextmanager
def _parsing() -> Iterator[None]:
    """Turn every error of another project's parser into one that says that the file is invalid."""
    try:
        yield
    except (ParameterError, msgspec.ValidationError):
        raise
    except Exception as error:
        raise msgspec.ValidationError("expected an XLSForm") from error


def _read_sheets(content: bytes) -> Any:
    """Read the sheets of a workbook or table: pyxform's DefinitionData."""
    is_workbook = content.startswith(b"PK")
    with _parsing():
        if is_workbook:
            _check_size(content)
        else:
            content = content.decode("utf-8-sig").encode()
        try:
            return get_xlsform(content, file_type=".xlsx" if is_workbook else ".csv")
        except PyXFormError as error:
            raise _as_error(error) from None


def _check_size(content: bytes) -> None:
    """Refuse a workbook that would take too long, or too much memory, to read."""
    packed = ZipFile(io.BytesIO(content))
    if "[Content_Types].xml" not in packed.namelist():
        raise BadZipFile("expected a workbook")
    parts = [part for part in packed.infolist() if part.filename.endswith((".xml", ".rels"))]
    # zipfile never unpacks more than the declared size.
    if sum(part.file_size for part in parts) > _MAX_BYTES:
        raise ParameterError(
            f"file: expected a workbook of at most {_MAX_BYTES} bytes when unpacked", field="file"
        )
    # Sheets may have many empty cells, which only have a colour. Values begin with <v or <is.
    counted = {b"<": 0, b"<v": 0, b"<is": 0}
    tags = 0
    for part in parts:
        is_sheet = part.filename.startswith("xl/worksheets/")
        with packed.open(part) as file:
            while chunk := file.read(1 << 20):
                if is_sheet:
                    for what in counted:
                        counted[what] += chunk.count(what)
                else:
                    tags += chunk.count(b"<")
    if counted[b"<v"] + counted[b"<is"] > _MAX_CELLS:
        raise ParameterError(
            f"file: expected a workbook of at most {_MAX_CELLS} filled cells", field="file"
        )
    if counted[b"<"] > _MAX_SHEET_TAGS or tags > _MAX_TAGS:
        raise ParameterError(
            f"file: expected a workbook of at most {_MAX_SHEET_TAGS} tags in sheets, and"
            f" {_MAX_TAGS} in other parts",
            field="file",
        )


def _prepare(sheets: Any, draft: SurveyDraft) -> str | None:
    """Change sheets so that pyxform keeps their texts; return the name of the default language."""
    if not sheets.survey:
        raise msgspec.ValidationError("expected a sheet 'survey'")
    settings = (sheets.settings or [{}])[0]
    # Texts without a language would replace those of the default language.
    default = settings.pop(_column(settings, "default_language") or "", None)
    # Duplicates concern their questions alone.
    settings.pop(_column(settings, "allow_choice_duplicates") or "", None)
    sheets.settings = [settings | {"allow_choice_duplicates": "yes"}]
    sheets.settings_header = [dict.fromkeys(sheets.settings[0])]
    for row in (*sheets.survey, *(sheets.choices or ())):
        for column, cell in row.items():
            if isinstance(cell, str) and re.match(r"\s*(label|hint|caption)\b", column, re.I):
                row[column] = cell.translate(_KEPT)
    # Entities only store answers elsewhere.
    sheets.entities = None
    for row in sheets.survey:
        row.pop(_column(row, "save_to") or "", None)
        kind = _column(row, *_TYPE)
        found = _BEGIN.fullmatch(row[kind].strip()) if kind else None
        if kind and found:
            begin, what, rest = found[1].lower(), found[2].lower(), found[3]
            # Tables and rankings of KoboToolbox ask their questions several times, too.
            row[kind] = f"{begin} {what if what in _CONTROLS else 'repeat'}{rest}"
        if row.get("disabled", "").lower() in _YES[:-1]:
            draft.leave_out(row.get("name", ""), "it is disabled")
    return None if default == "default" else default


def _build(sheets: Any, draft: SurveyDraft) -> tuple[Row, list[str]]:
    """Return the form as pyxform reads it, and the reasons why it refused rows.

    A question that pyxform refuses is left as one of the type ``refused N``, where N is the place
    of its reason, so that others can name it.
    """
    cells = sum(map(len, (*sheets.survey, *(sheets.choices or ()))))
    reasons: list[str] = []
    for _ in range(1 + _MAX_CELLS_AGAIN // (cells + 1_000)):
        with _parsing():
            try:
                form = workbook_to_json(
                    sheets, form_name="form", fallback_form_name="Survey", warnings=[]
                )
                return form, reasons
            except PyXFormError as error:
                reasons.append(_leave_out_row(sheets, error, len(reasons), draft))
    raise ParameterError(
        f"file: no XLSForm: {len(reasons)} faults, such as: {reasons[0]}", field="file"
    )


def _leave_out_row(sheets: Any, error: Exception, place: int, draft: SurveyDraft) -> str:
    """Remove the question, or the list of answers, that pyxform refuses; return the reason."""
    message = " ".join(str(error).partition("\n")[0].split())
    if absent := _ABSENT.search(message):
        # A condition on it cannot be translated, which makes its questions unconfirmed.
        [header] = sheets.survey_header
        columns = [_column(header, *names) for names in (_TYPE, _NAME_COLUMNS)]
        sheets.survey.append(dict(zip(columns, (f"{_REFUSED} {place}", absent[1]), strict=True)))
        return "it is not in the form"
    found, spaced = _ROW.match(message), _SPACED.search(message)
    reason = f"ODK refuses it: {found[2] if found else message}"
    if spaced:
        number = _find_select_multiple(sheets.survey, spaced[1])
    elif found and "On the 'choices' sheet" in message:
        refused = _list_of(sheets.choices[int(found[1]) - 2])
        sheets.choices = [row for row in sheets.choices if _list_of(row) != refused]
        draft.add_note(f"the list of answers '{refused}' is left out: {found[2]}")
        return reason
    elif found and ("On the '" not in message or "On the 'survey' sheet" in message):
        number = int(found[1]) - 2
    else:
        raise _as_error(error) from None
    row = sheets.survey[number]
    kind, name = _column(row, *_TYPE), _column(row, *_NAME_COLUMNS)
    if kind and _BEGIN.match(row[kind]):
        # Without the beginning or end of a group, its condition would be lost.
        raise _as_error(error) from None
    name_is_valid = "the 'name' value" not in message
    if kind and name and name_is_valid and not row[kind].startswith(_REFUSED):
        # Conditions of other questions may name it.
        sheets.survey[number] = {kind: f"{_REFUSED} {place}", name: row[name]}
    else:
        sheets.survey[number] = {}
        called = row[name] if name else next(iter(row.values()), "")
        draft.leave_out(called, reason)
    return reason


def _list_of(choice: Row) -> str:
    """Return the name of the list of a row of the sheet ``choices``."""
    return str(choice.get(_column(choice, "list_name") or "", ""))


def _find_select_multiple(rows: Sequence[Row], name: str) -> int:
    """Return the place of the first question with several answers of a list."""
    kinds = [str(row.get(_column(row, *_TYPE) or "", "")) for row in rows]
    return next(
        place
        for place, kind in enumerate(kinds)
        if name in kind.split() and re.search(r"multiple|all that apply", kind)
    )


def _as_error(error: Exception) -> ParameterError:
    return ParameterError(f"file: no XLSForm: {' '.join(str(error).split())}", field="file")


def _column(row: Mapping[str, object], *names: str) -> str | None:
    """Return the column of a row that has one of these names."""
    written = {"_".join(column.split()).lower(): column for column in row}
    return next((written[name] for name in names if name in written), None)


@dataclass(frozen=True)
class _Group:
    """Group of questions, with what its questions inherit."""

    page: Text = ""
    conditions: tuple[str, ...] = ()
    #: Columns of groups that make questions unconfirmed.
    unread: tuple[str, ...] = ()


class _Reader:
    """Reader of the elements of one form, in order."""

    def __init__(
        self, draft: SurveyDraft, form: Row, refused: Sequence[str], default: str | None
    ) -> None:
        self.draft, self.form, self.refused = draft, form, refused
        self.types: Mapping[str, Row] = QUESTION_TYPE_DICT
        self.choices: Mapping[str, list[Row]] = form.get("choices", {})
        lists = [choice for each in self.choices.values() for choice in each]
        texts = [*_find_texts([*form["children"], *lists])]
        names = dict.fromkeys(name for text in texts for name in text)
        self.main = "default"
        if names.keys() <= {"default"}:
            return
        wanted = {name: [tag_of_name(name)] for name in names if name != "default"}
        tag = tag_of_name(default) if default else "en"
        same = [name for name, tags in wanted.items() if tags == [tag]] if default else []
        if "default" in names:
            wanted["default"] = [tag, "en", UNDETERMINED]
        elif same:
            self.main = default if default in same else same[0]
        else:
            self.main = next(iter(wanted))
        draft.declare_languages(wanted, texts, self.main)
        if "default" not in names or (default and draft.tag_of("default") == tag):
            return
        if draft.tag_of("default") == UNDETERMINED:
            draft.add_unconfirmed("the language of texts without one is unknown")
        else:
            draft.add_note("texts without a language are taken as English")

    def text(self, texts: str | Mapping[str, str] | None) -> Text:
        """Return a text, by language if the form has several."""
        named = {self.main: texts} if isinstance(texts, str) else texts or {}
        return self.draft.convert_text(
            {name: text.translate(_RESTORED) for name, text in named.items()}
        )

    def read(self) -> None:
        self.draft.texts = {"title": self.text(self.form["title"])}
        for setting in sorted(self.form.keys() - _SILENT_SETTINGS):
            known = setting in _NOTED_SETTINGS
            add = self.draft.add_note if known else self.draft.add_unconfirmed
            add("settings of the form are left out", which=setting)
        self.read_elements(self.form["children"], _Group())

    def read_elements(self, elements: Iterable[Row], group: _Group) -> None:
        for element in elements:
            if "children" in element:
                self.read_group(element, group)
                continue
            try:
                self.read_question(element, group)
            except LeftOut as reason:
                self.draft.leave_out(element["name"], str(reason))

    def read_group(self, element: Row, above: _Group) -> None:
        called, children = element["name"], element["children"]
        if "bodyless" in element.get("control", {}):
            # Metadata that pyxform adds.
            return
        if element["type"] != "group":
            self.draft.add_note("left out with its questions: they are asked several times", called)
            return
        label = self.text(element.get("label"))
        if children and children[0]["name"].startswith("generated_table_list_label_"):
            label, children = self.text(children[0].get("label")), children[1:]
        unread = tuple(self.note_unread_columns(element))
        before = self.draft.add_introduction(label if above.page else "")
        conditions = filter(None, [element.get("bind", {}).get("relevant")])
        inside = _Group(
            above.page or label, (*above.conditions, *conditions), (*above.unread, *unread)
        )
        self.read_elements(children, inside)
        self.draft.end_part(before)

    def note_unread_columns(self, element: Row) -> Iterator[str]:
        """Note the columns that are left out; return what makes questions unconfirmed."""
        for column in _list_columns(element):
            if not _NOTED.isdisjoint((column, column.partition("::")[0])):
                self.draft.add_note(f"'{column}' is left out", element["name"])
            elif column not in _SILENT:
                yield f"'{column}' is left out"
        for word in element.get("control", {}).get("appearance", "").split():
            if not _APPEARANCE.fullmatch(word):
                yield f"its appearance '{word}' is left out"

    def read_question(self, element: Row, group: _Group) -> None:
        """Convert an element; raise LeftOut if it cannot be asked."""
        called, kind = element["name"], element["type"]
        if kind.startswith(_REFUSED):
            raise LeftOut(self.refused[int(kind.split()[1])])
        if _is_text_of_other(element):
            self.draft.add_note("the text for 'other' is not asked", called.removesuffix("_other"))
            return
        kind = kind if kind in self.types else kind.lower()
        known = self.types.get(kind, {})
        control = known.get("control", {}).get("tag")
        bind, own = known.get("bind", {}), element.get("bind", {})
        if kind in self.types and (control in (None, "action", "trigger") or "readonly" in bind):
            self.draft.add_note(f"left out ({kind}): nothing is answered there", called)
            return
        readonly, required = own.get("readonly", "").lower(), own.get("required", "").lower()
        appearance = element.get("control", {}).get("appearance", "")
        if readonly in _YES:
            raise LeftOut("it is read only")
        if "label" in appearance.split():
            if not called.startswith("reserved_name_for_field_list_labels_"):
                why = "left out (labels of a table): nothing is answered there"
                self.draft.add_note(why, called)
            return
        if "hidden" in appearance.split():
            raise LeftOut("it is hidden")
        if "search(" in appearance:
            raise LeftOut("its choices are in another file")
        made = self.convert(element, control or kind, bind)
        for unread in (*group.unread, *self.note_unread_columns(element)):
            self.draft.add_unconfirmed(unread, called)
        if readonly not in _NO:
            self.draft.add_unconfirmed("it is read only on a condition", called, readonly)
        if required not in (*_YES, *_NO):
            self.draft.add_unconfirmed(
                "may be passed over: it was required on a condition", called, required
            )
        for text in _find_texts([element, *self.choices.get(element.get("itemset", ""), ())]):
            for words in filter(_DATE.fullmatch, text.values()):
                self.draft.add_unconfirmed(
                    "a text is a date, perhaps turned into one by the spreadsheet", called, words
                )
        label, help = self.text(element.get("label")), self.text(element.get("hint"))
        if not label and not help:
            self.draft.add_note("has no text of its own", called)
        common = {
            "label": label or help or group.page or called,
            "help": help if label else "",
            "page": group.page,
            "optional": required not in _YES,
        }
        conditions = [*group.conditions, *filter(None, [own.get("relevant")])]
        self.draft.add_questions(called, [made], common, conditions)

    def convert(self, element: Row, control: str, bind: Mapping[str, str]) -> ConvertedQuestion:
        """Convert an element with this control and these properties of its type."""
        called, kind = element["name"], bind.get("type", "")
        constraint = element.get("bind", {}).get("constraint") or bind.get("constraint", "")
        if control == "input" and kind in ("int", "decimal"):
            low, high = self.read_bounds(constraint, kind == "int", called)
            number = self.draft.make_number(called, low, high, kind == "int")
            return ConvertedQuestion(called, number, {called: ("", {})})
        if control == "input" and kind == "string":
            raise LeftOut(FREE_TEXT)
        if control not in ("range", "select", "select1"):
            raise LeftOut(f"a survey has no questions of type '{element['type']}'")
        if control == "range":
            made = self.convert_range(element, called)
        else:
            made = self.convert_select(element, called, several=control == "select")
        limit = _MOST_SELECTED.fullmatch(constraint.strip()) if control == "select" else None
        if limit is not None and self.draft.limit_choices(made, limit[1]):
            return made
        if constraint:
            self.draft.add_unconfirmed("its constraint is left out", called, constraint)
        return made

    def read_bounds(
        self, constraint: str, whole: bool, called: str
    ) -> tuple[Fraction | None, Fraction | None]:
        """Return the smallest and largest number that satisfies a constraint."""
        bounds = []
        for part in re.split(r"\band\b", constraint.replace("(", " ").replace(")", " ")):
            found = _BOUND.fullmatch(part.strip())
            if found is not None:
                sign, written, before, turned = found.groups()
                bounds.append((sign or _TURNED[turned], written or before))
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
                self.draft.add_unconfirmed(
                    "a bound of its constraint may be answered, too", called, written
                )
            ends[sign[0]].append(bound)
        return max(ends[">"], default=None), min(ends["<"], default=None)

    def convert_range(self, element: Row, called: str) -> ConvertedQuestion:
        """Convert a range to a scale, or to a number if it has many answers."""
        given = element["parameters"]
        low, high, step = (parse_number(given[what]) for what in ("start", "end", "step"))
        if low is None or high is None or not step or max(abs(low), abs(high)) >= MAX_MAGNITUDE:
            raise LeftOut("expected numbers of at most 15 digits as start, end and step")
        step = abs(step)
        low, high = min(low, high), max(low, high)
        if (high - low) / step >= _MAX_ANSWERS:
            whole = low.denominator == high.denominator == step.denominator == 1
            number = self.draft.make_number(called, low, high, whole)
            return ConvertedQuestion(called, number, {called: ("", {})})
        categories = [f"{float(low + i * step):.10g}" for i in range(int((high - low) / step) + 1)]
        texts = {
            each["name"]: self.text(each.get("label"))
            for each in self.choices.get(element.get("itemset", ""), ())
        }
        question = {
            "kind": "scale",
            "categories": categories,
            "answers": {name: texts[name] for name in categories if texts.get(name)},
        }
        values = {category: category for category in categories}
        return ConvertedQuestion(called, question, {called: ("", values)})

    def convert_select(self, element: Row, called: str, *, several: bool) -> ConvertedQuestion:
        """Convert a single-choice or multiple-response question with a list of choices."""
        name = element["itemset"]
        if "query" in element or name.endswith((".csv", ".xml", ".geojson")):
            raise LeftOut("its choices are in another file")
        if "${" in name:
            raise LeftOut("its choices are answers to another question")
        listed = self.choices.get(name, [])
        values, texts = self.draft.read_answers(
            [(each["name"], self.text(each.get("label"))) for each in listed]
        )
        for each in listed:
            for column in sorted(each.keys() - {"name", "label"}):
                self.draft.add_note("columns of choices are left out", called, column)
            label = each.get("label")
            if (
                each["name"] == "other"
                and isinstance(label, dict)
                and {*label.values()} == {"Other"}
            ):
                # pyxform adds this answer in English.
                self.draft.note_fixed_answers(called, ["Other"])
        shuffle = element["parameters"].get("randomize") == "true"
        if not several:
            question = {"categories": [*values.values()], "answers": texts, "shuffle": shuffle}
            appearance = element.get("control", {}).get("appearance", "")
            if "likert" in appearance.split() and not shuffle and "other" not in values:
                question["kind"] = "scale"
            return ConvertedQuestion(called, question, {called: ("", values)})
        options = self.draft.make_options(called, values, texts)
        known: ExpressionNames = {
            f"{called}[{value}]": (f".{option['name']}", {value: "yes"})
            for value, option in options.items()
        }
        made = {"kind": "several", "options": [*options.values()], "shuffle": shuffle}
        return ConvertedQuestion(called, made, known)


def _is_text_of_other(element: Row) -> bool:
    """Return true for the question that pyxform adds to ``or_other``."""
    asked = element["name"].removesuffix("_other")
    return element.get("label") == "Specify other." and element.get("bind") == {
        "relevant": f"selected(../{asked}, 'other')"
    }


def _list_columns(element: Row) -> Iterator[str]:
    """Iterate over the columns of an element, as in ``bind::relevant``."""
    for column, value in element.items():
        inside = column in ("bind", "control", "media", "instance") and isinstance(value, dict)
        # pyxform copies the parameters of a range.
        if inside and not (column == "control" and element["type"] == "range"):
            yield from (f"{column}::{name}" for name in value)
        elif not inside:
            yield column


def _find_texts(elements: Iterable[Row]) -> Iterator[dict[str, str]]:
    """Iterate over all labels and hints by language."""
    for element in elements:
        for column in ("label", "hint"):
            text = element.get(column)
            if text:
                yield {"default": text} if isinstance(text, str) else text
        yield from _find_texts(element.get("children", ()))


def tag_of_name(name: str) -> str:
    """Return the tag of a language by its tag or name; a private one if it is unknown.

    >>> [tag_of_name(name) for name in ("French (fr)", "pt_BR", "Deutsch", "العربية", "Esperanxo")]
    ['fr', 'pt-BR', 'de', 'ar', 'qaa-esperanx']
    """
    found = _TAGGED.fullmatch(name)
    code = (found[2] if found else name).strip().replace("_", "-")
    if langcodes.tag_is_valid(code):
        return code if is_language(code) else langcodes.standardize_tag(code)
    for words in (name, found[1] if found else ""):
        try:
            return langcodes.find(words.strip()).to_tag()
        except LookupError:
            continue
    return tag_of_code(code if is_language(code) else name)


def _read_comparison(match: re.Match[str]) -> Comparison:
    chosen, choice, name, sign, value = match.groups()
    if chosen:
        return Comparison(chosen, "contains", (choice.strip("'\""),))
    return Comparison(name, sign, (value.strip("'\""),))
