"""Import of LimeSurvey questionnaires (.lss, XML)."""

import re
from collections import defaultdict
from xml.etree.ElementTree import Element, ParseError

import msgspec
from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import fromstring
from halftruth_shared.number import parse_number
from halftruth_shared.texts import is_language

from .conditions import Comparison, Dialect
from .draft import (
    ConvertedQuestion,
    ExpressionNames,
    SurveyDraft,
    join_texts,
    make_category,
    make_name,
)

Row = dict[str, str]

#: Types of questions with free text, by letter.
_FREE_TEXT = {
    "S": "short free text",
    "T": "long free text",
    "U": "huge free text",
    "Q": "several short texts",
    ";": "a table of texts",
}

#: Types of questions that surveys do not support.
_OTHERS = {
    "D": "a date",
    "K": "several numbers",
    "R": "a ranking",
    "|": "files",
    "1": "two scales",
    ":": "a table of numbers",
}

#: Types of questions without an answer.
_READ = {"X": "a text", "*": "an equation", "I": "the choice of a language"}

#: Types of questions with fixed answers: code and category.
_FIXED = {
    "Y": [("N", "no"), ("Y", "yes")],
    "G": [("F", "female"), ("M", "male")],
    "5": [(str(n), str(n)) for n in range(1, 6)],
    "A": [(str(n), str(n)) for n in range(1, 6)],
    "B": [(str(n), str(n)) for n in range(1, 11)],
    "C": [("Y", "yes"), ("U", "uncertain"), ("N", "no")],
    "E": [("I", "increase"), ("S", "same"), ("D", "decrease")],
}

#: Types with one question for each row, scales, and multiple-response questions.
_ARRAYS, _SCALES, _MULTIPLE = "ABCEFH", "5AB", "MP"

#: Settings of questions that change who is asked, or which answers are valid.
_SETTINGS = {
    *("array_filter", "array_filter_exclude", "em_validation_q", "em_validation_sq"),
    *("exclude_all_others", "max_answers", "min_answers", "random_group"),
}

#: Those of them that decide which rows are asked.
_FILTERS = {"array_filter", "array_filter_exclude"}

#: Tables that are read, or only concern the design of pages.
_TABLES = {
    *("surveys", "surveys_languagesettings", "groups", "group_l10ns", "questions", "subquestions"),
    *("conditions", "question_l10ns", "answers", "answer_l10ns", "question_attributes", "themes"),
    *("themes_inherited", "questiontemplates"),
}

#: Cells that every row of a table has.
_REQUIRED = {
    "groups": {"gid"},
    "questions": {"qid"},
    "subquestions": {"qid", "title"},
    "answers": {"qid", "code"},
}

#: Trivial conditions, and empty settings.
_TRIVIAL, _EMPTY = ("", "1"), ("", "0", "N")
_SIGNS = {"==": "=", "eq": "=", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_COMPARISON = re.compile(
    r"(?P<empty>is_empty)\(\s*(?P<asked>\w+)(?:\.NAOK)?\s*\)|(?P<name>\w+)(?:\.NAOK)?\s*"
    r"(?P<sign>==|!=|[<>]=?|(?:eq|ne|lt|le|gt|ge)\b)\s*"
    r"(?P<value>'[^']*'|\"[^\"]*\"|-?\d+(?:\.\d+)?)(?!\w|\s*[*/+.-])"
)


def read_limesurvey(content: bytes, draft: SurveyDraft) -> None:
    """Read a questionnaire into a draft; raise ValidationError if the format is invalid."""
    try:
        root = fromstring(content, forbid_dtd=True)
    except (ParseError, DefusedXmlException, ValueError, LookupError) as error:
        # An unknown encoding is a LookupError.
        raise msgspec.ValidationError("expected XML without a document type") from error
    if root.findtext("LimeSurveyDocType") != "Survey":
        raise msgspec.ValidationError("expected a survey")
    draft.dialect = Dialect(_COMPARISON, _read_comparison)
    _Reader(draft, root).read()


class _Reader:
    """Reader of the tables of one questionnaire."""

    def __init__(self, draft: SurveyDraft, root: Element) -> None:
        self.draft = draft
        self.tables = {table.tag: _rows(table) for table in root if table.find("rows") is not None}
        for name, cells in _REQUIRED.items():
            if any(not cells <= row.keys() for row in self.table(name)):
                raise msgspec.ValidationError(f"{name}: expected {' and '.join(sorted(cells))}")
        settings = self.table("surveys")
        self.main = (settings[0].get("language") if settings else None) or "en"
        named = [language.text or "" for language in root.iterfind("languages/language")]
        draft.languages = [each for each in dict.fromkeys([self.main, *named]) if is_language(each)]
        self.settings_of_all = settings[0] if settings else {}
        self.titles = {row.get("title") for row in self.table("questions")}
        self.settings: dict[str, dict[str, str]] = defaultdict(dict)
        for row in self.table("question_attributes"):
            self.settings[row.get("qid", "")][row.get("attribute", "")] = row.get("value", "")
        self.below: dict[str, list[Row]] = defaultdict(list)
        for row in _in_order(self.table("subquestions"), "question_order", "qid"):
            self.below[row.get("parent_qid", "")].append(row)
        self.answers: dict[str, list[Row]] = defaultdict(list)
        for row in _in_order(self.table("answers"), "sortorder", "aid"):
            self.answers[row.get("qid", "")].append(row)

    def table(self, name: str) -> list[Row]:
        return self.tables.get(name, [])

    def read(self) -> None:
        draft = self.draft
        for name, rows in self.tables.items():
            if rows and name not in _TABLES:
                draft.add_note(f"the questionnaire's table '{name}' is left out ({len(rows)} rows)")
        settings = self.table("surveys_languagesettings")
        texts = {
            member: self.text_by_language(settings, f"surveyls_{member}", "surveyls_language")
            for member in ("title", "description", "welcometext", "endtext", "policy_notice")
        }
        draft.texts = {"title": texts["title"] or "Survey"}
        if texts["description"]:
            draft.texts["description"] = texts["description"]
        draft.form = {"purpose": texts["welcometext"], "thanks": texts["endtext"]}
        if self.settings_of_all.get("showsurveypolicynotice", "0") in ("1", "2"):
            draft.form["consent"] = texts["policy_notice"]
        elif texts["policy_notice"]:
            draft.add_note("the privacy notice is left out, which the questionnaire does not show")
        # A survey has one redirect for all languages: use that of the first language.
        addresses = {row.get("surveyls_language"): row.get("surveyls_url", "") for row in settings}
        draft.set_redirect(addresses.get(self.main))
        draft.form = {member: value for member, value in draft.form.items() if value}
        for group in _in_order(self.table("groups"), "group_order", "gid"):
            named = self.rows_of("group_l10ns", "groups", "gid", group["gid"])
            page = self.text_by_language(named, "group_name")
            before = draft.add_introduction(self.text_by_language(named, "description"))
            if group.get("randomization_group"):
                draft.add_note("the random order of groups is left out")
            inside = [row for row in self.table("questions") if row.get("gid") == group["gid"]]
            for question in _in_order(inside, "question_order", "qid"):
                if question.get("parent_qid", "0") == "0":
                    self.read_question(question, page, group.get("grelevance", ""))
            draft.end_part(before)

    def rows_of(self, texts: str, rows: str, key: str, value: str) -> list[Row]:
        """Return the rows with texts, from a separate table or one row for each language."""
        return [
            row
            for name in (texts, rows)
            for row in self.table(name)
            if row.get(key) == value and (name == texts or texts not in self.tables)
        ]

    def text_by_language(
        self, rows: list[Row], member: str, language: str = "language"
    ) -> str | dict[str, str]:
        """Return a text by language."""
        return self.draft.convert_text(
            {row.get(language) or self.main: row.get(member, "") for row in rows}
        )

    def text(self, question: Row, member: str) -> str | dict[str, str]:
        table = "questions" if question in self.table("questions") else "subquestions"
        return self.text_by_language(
            self.rows_of("question_l10ns", table, "qid", question["qid"]), member
        )

    def read_question(self, row: Row, page: str | dict[str, str], above: str) -> None:
        called, kind = row.get("title", ""), row.get("type", "")
        if kind in _FREE_TEXT:
            self.draft.leave_out_free_text(called)
            return
        if kind in _READ:
            self.draft.add_note(f"left out ({_READ[kind]}): nothing is answered there", called)
            return
        settings = self.settings[row["qid"]]
        if settings.get("hidden", "0") not in _EMPTY:
            self.draft.leave_out(called, "it is hidden")
            return
        label, help = self.text(row, "question"), self.text(row, "help")
        common = {
            "label": label or help or page or called,
            "help": help if label else "",
            "page": page,
            "optional": row.get("mandatory") != "Y",
        }
        expressions = [e for e in (above, row.get("relevance", "")) if e.strip() not in _TRIVIAL]
        for setting in sorted(
            _SETTINGS & {name for name, value in settings.items() if value not in _EMPTY}
        ):
            add = self.draft.add_unconfirmed if setting in _FILTERS else self.draft.add_note
            add(f"'{setting}' is left out", called)
        if not expressions and any(r.get("qid") == row["qid"] for r in self.table("conditions")):
            self.draft.add_unconfirmed("its conditions are left out", called)
        made = [
            (wanted, members, self.add_numeric_names(row, known))
            for wanted, members, known in self.convert(kind, row, called, settings)
        ]
        self.draft.add_questions(called, made, common, expressions)

    def add_numeric_names(self, row: Row, known: ExpressionNames) -> ExpressionNames:
        """Add the numeric names of a question in expressions to those by its title."""
        called, number = row.get("title", ""), row["qid"]
        field = f"{row.get('sid', '')}X{row.get('gid', '')}X{number}"
        more: ExpressionNames = {}
        for name, answers in known.items():
            below = name.removeprefix(called)
            more[f"{field}{below.removeprefix('_')}"] = answers
            # A title can look like the number of another question.
            if f"Q{number}" not in self.titles:
                more[f"Q{number}{below}"] = answers
        return more | known

    def convert(self, kind: str, row: Row, called: str, settings: Row) -> list[ConvertedQuestion]:
        """Convert a row to questions; return none, with a note, if it is left out."""
        below = self.below[row["qid"]]
        for part in below:
            if part.get("relevance", "1").strip() not in _TRIVIAL:
                self.draft.add_unconfirmed(
                    "the condition of a row is left out", called, part["title"]
                )
        if kind in _MULTIPLE:
            return [self.convert_multiple_response(kind, row, called, below)]
        if kind == "N":
            low, high = settings.get("min_num_value_n"), settings.get("max_num_value_n")
            number = self.draft.make_number(
                called, low, high, settings.get("num_value_int_only") == "1"
            )
            return [] if number is None else [(called, number, {called: ("", {})})]
        if kind not in _FIXED and kind not in (*"L!OFH",):
            self.draft.leave_out(
                called, f"a survey has no questions with {_OTHERS.get(kind, kind)}"
            )
            return []
        if kind == "O":
            self.draft.add_note("its comment is not asked", called)
        question, values = self.convert_choices(kind, row, called)
        if settings.get("random_order") == "1" or settings.get("answer_order") == "random":
            question["shuffle"] = True
        if kind not in _ARRAYS:
            return [(called, question, {called: ("", values)})]
        self.draft.add_note("is one question for each row", called)
        whole = self.text(row, "question") or called
        return [
            (
                f"{called}-{part['title']}",
                question
                | {
                    "label": join_texts([whole, "–", self.text(part, "question") or part["title"]]),
                    "help": self.text(row, "help"),
                },
                {f"{called}_{part['title']}": ("", values)},
            )
            for part in below
        ]

    def convert_choices(
        self, kind: str, row: Row, called: str
    ) -> tuple[dict[str, object], dict[str, str]]:
        """Convert a single-choice question; return it with its categories by code."""
        answers = {}
        if kind in _FIXED:
            values = dict(_FIXED[kind])
            if kind not in _SCALES:
                self.draft.note_fixed_answers(called, list(values.values()))
        else:
            values = {
                answer["code"]: make_category(answer["code"]) for answer in self.answers[row["qid"]]
            }
            for answer in self.answers[row["qid"]]:
                own = self.rows_of("answer_l10ns", "answers", "aid", answer.get("aid", ""))
                if "answer_l10ns" not in self.tables:
                    own = [
                        other
                        for other in self.table("answers")
                        if (other["qid"], other["code"]) == (row["qid"], answer["code"])
                    ]
                if text := self.text_by_language(own, "answer"):
                    answers[values[answer["code"]]] = text
        categories = list(values.values())
        if row.get("other") == "Y":
            categories.append("other")
            values["-oth-"] = "other"
            self.draft.add_note("the text for 'other' is not asked", called)
        question: dict[str, object] = {"categories": categories, "answers": answers}
        return question | ({"kind": "scale"} if kind in _SCALES else {}), values

    def convert_multiple_response(
        self, kind: str, row: Row, called: str, below: list[Row]
    ) -> ConvertedQuestion:
        """Convert a multiple-response question."""
        options: list[dict[str, object]] = [
            {"name": part["title"], "label": self.text(part, "question") or part["title"]}
            for part in below
        ]
        if kind == "P":
            self.draft.add_note("its comment is not asked", called)
        if row.get("other") == "Y":
            # Another row can have this code.
            options.append({"name": make_name("other", {part["title"] for part in below})})
            self.draft.add_note("the text for 'other' is not asked", called)
        known: ExpressionNames = {
            f"{called}_{option['name']}": (f".{option['name']}", {"Y": "yes", "": "no"})
            for option in options
        }
        return called, {"kind": "several", "options": options}, known


def _rows(table: Element) -> list[Row]:
    return [{cell.tag: cell.text or "" for cell in row} for row in table.iterfind("rows/row")]


def _in_order(rows: list[Row], member: str, key: str) -> list[Row]:
    """Sort rows and drop duplicates, since earlier versions have a row for each language."""
    once: dict[object, Row] = {}
    for row in rows:
        once.setdefault(row.get(key) or (row.get("qid"), row.get("code")), row)
    return sorted(once.values(), key=lambda row: _position(row.get(member)))


def _position(written: str | None) -> int:
    """Return the position of a row among others, the first by default."""
    number = parse_number(written or "0")
    if number is None or number.denominator != 1:
        raise msgspec.ValidationError("expected whole numbers as positions of rows")
    return number.numerator


def _read_comparison(match: re.Match[str]) -> Comparison:
    if match["empty"]:
        return Comparison(match["asked"], "=", ("",))
    sign = match["sign"]
    return Comparison(match["name"], _SIGNS.get(sign, sign), (match["value"].strip("'\""),))
