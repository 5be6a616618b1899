"""Import of LimeSurvey questionnaires (.lss, XML)."""

import re
from collections import defaultdict
from xml.etree.ElementTree import Element, ParseError

import msgspec
from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import fromstring
from halftruth_collector.drafting.choices import make_name
from halftruth_shared.number import parse_number

from .conditions import Comparison, Dialect
from .draft import (
    FREE_TEXT,
    ConvertedQuestion,
    ExpressionNames,
    LeftOut,
    SurveyDraft,
    join_texts,
)
from .languages import tag_of_code

Row = dict[str, str]

#: Types of questions with free text.
_FREE_TEXT = "STUQ;"

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

#: Settings of questions that are read, or have no effect on who is asked and on the answers. Any
#: setting that is in none of these lists makes its question unconfirmed.
_SILENT = {
    *("hidden", "min_num_value_n", "max_num_value_n", "num_value_int_only", "random_order"),
    *("answer_order", "subquestion_order", "other_replace_text", "array_filter_style", "cssclass"),
    *("answer_width", "answer_width_bycolumn", "repeat_headings", "category_separator", "hide_tip"),
    *("display_columns", "display_rows", "display_type", "dropdown_size", "use_dropdown", "image"),
    *("input_boxes", "input_size", "label_input_columns", "text_input_columns", "page_break"),
    *("text_input_width", "choice_input_columns", "printable_help", "public_statistics", "reverse"),
    *("statistics_showgraph", "statistics_graphtype", "statistics_showmap", "scale_export"),
    *("save_as_default", "clear_default", "showpopups", "samechoiceheight", "samelistheight"),
    *(
        "fix_height",
        "fix_width",
        "keep_aspect",
        "horizontal_scroll",
        "crop_or_resize",
        "placeholder",
    ),
    *("slider_rating", "slider_layout", "slider_orientation", "slider_handle", "slider_separator"),
    *("slider_showminmax", "slider_custom_handle", "button_size", "max_buttons_row", "theme_name"),
    *("parent_order", "commented_checkbox", "commented_checkbox_auto", "other_position"),
    *(
        "other_position_code",
        "show_title",
        "show_comment",
        "show_tick",
        "ternary",
        "add_platform_info",
    ),
    *("question_template", "numbers_only", "other_comment_mandatory", "other_numbers_only"),
    *(
        "value_range_allows_missing",
        "dualscale_headerA",
        "dualscale_headerB",
        "em_validation_q_tip",
    ),
    *("em_validation_sq_tip", "exclude_all_others_auto", "keep_codes_order", "repeatheadings"),
}

#: The same, for settings that are left out with a note.
_NOTED = {
    *("prefix", "suffix", "assessment_value", "alphasort", "random_group", "time_limit"),
    *("time_limit_action", "time_limit_disable_next", "time_limit_disable_prev"),
    *("time_limit_countdown_message", "time_limit_timer_style", "time_limit_message_delay"),
    *("time_limit_message", "time_limit_message_style", "time_limit_warning"),
    *("time_limit_warning_display_time", "time_limit_warning_message", "time_limit_warning_style"),
    *("time_limit_warning_2", "time_limit_warning_2_display_time"),
    *("time_limit_warning_2_message", "time_limit_warning_2_style"),
}

#: Settings that ask only the rows that were chosen, or were not chosen, in another question.
_FILTERS = {"array_filter": "==", "array_filter_exclude": "!="}

#: Tables that are read, or only concern the design of pages; and those that are left out with a
#: note. Any other table makes all questions unconfirmed.
_TABLES = {
    *("surveys", "surveys_languagesettings", "groups", "group_l10ns", "questions", "subquestions"),
    *("conditions", "question_l10ns", "answers", "answer_l10ns", "question_attributes", "themes"),
    *("themes_inherited", "questiontemplates"),
}
_NOTED_TABLES = {
    *("assessments", "defaultvalues", "defaultvalue_l10ns", "plugin_settings", "label_sets"),
    *("survey_url_parameters", "quota_languagesettings"),
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
        named = [language.text for language in root.iterfind("languages/language")]
        codes = dict.fromkeys([self.main, *filter(None, named)])
        draft.declare_languages({code: [tag_of_code(code)] for code in codes}, (), self.main)
        self.settings_of_all = settings[0] if settings else {}
        self.titles = {row.get("title") for row in self.table("questions")}
        self.types = {row.get("title"): row.get("type", "") for row in self.table("questions")}
        self.numbers = {row.get("title"): row["qid"] for row in self.table("questions")}
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
                add = draft.add_note if name in _NOTED_TABLES else draft.add_unconfirmed
                add(f"the questionnaire's table '{name}' is left out ({len(rows)} rows)")
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
                    try:
                        self.read_question(question, page, group.get("grelevance", ""))
                    except LeftOut as reason:
                        draft.leave_out(question.get("title", ""), str(reason))
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
        if kind and kind in _FREE_TEXT:
            raise LeftOut(FREE_TEXT)
        if kind in _READ:
            self.draft.add_note(f"left out ({_READ[kind]}): nothing is answered there", called)
            return
        settings = self.settings[row["qid"]]
        if settings.get("hidden", "0") not in _EMPTY:
            raise LeftOut("it is hidden")
        label, help = self.text(row, "question"), self.text(row, "help")
        common = {
            "label": label or help or page or called,
            "help": help if label else "",
            "page": page,
            "optional": row.get("mandatory") != "Y",
        }
        expressions = [e for e in (above, row.get("relevance", "")) if e.strip() not in _TRIVIAL]
        used = {name for name, value in settings.items() if value.strip() not in _EMPTY}
        # Those of arrays become conditions of their rows.
        used -= _FILTERS.keys() if kind in _ARRAYS else set()
        used -= {"max_answers"} if kind in _MULTIPLE else set()
        for setting in sorted(used - _SILENT):
            add = self.draft.add_note if setting in _NOTED else self.draft.add_unconfirmed
            add(f"'{setting}' is left out", called)
        if not expressions and any(r.get("qid") == row["qid"] for r in self.table("conditions")):
            self.draft.add_unconfirmed("its conditions are left out", called)
        made = [
            each._replace(known=self.add_numeric_names(row, each.known))
            for each in self.convert(kind, row, called, settings)
        ]
        if not label and not help:
            self.draft.add_note("has no text of its own", called)
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
        """Convert a row of the table of questions."""
        below = self.below[row["qid"]]
        if kind in _MULTIPLE:
            for part in below:
                if part.get("relevance", "1").strip() not in _TRIVIAL:
                    self.draft.add_unconfirmed(
                        "the condition of an option is left out", called, part["title"]
                    )
            converted = self.convert_multiple_response(kind, row, called, below)
            most = settings.get("max_answers", "")
            if most not in _EMPTY and not self.draft.limit_choices(converted, most):
                self.draft.add_unconfirmed("'max_answers' is left out", called)
            return [converted]
        if kind == "N":
            low, high = settings.get("min_num_value_n"), settings.get("max_num_value_n")
            number = self.draft.make_number(
                called, low, high, settings.get("num_value_int_only") == "1"
            )
            return [ConvertedQuestion(called, number, {called: ("", {})})]
        if kind not in _FIXED and kind not in (*"L!OFH",):
            raise LeftOut(f"a survey has no questions with {_OTHERS.get(kind, kind)}")
        if kind == "O":
            self.draft.add_note("its comment is not asked", called)
        question, values = self.convert_choices(kind, row, called)
        if settings.get("random_order") == "1" or settings.get("answer_order") == "random":
            question["shuffle"] = True
        if kind not in _ARRAYS:
            return [ConvertedQuestion(called, question, {called: ("", values)})]
        self.draft.add_note("is one question for each row", called)
        whole = self.text(row, "question") or called
        return [
            ConvertedQuestion(
                f"{called}-{part['title']}",
                question
                | {
                    "label": join_texts([whole, "–", self.text(part, "question") or part["title"]]),
                    "help": self.text(row, "help"),
                },
                {f"{called}_{part['title']}": ("", values)},
                [part.get("relevance", ""), *self.find_filters(called, part["title"], settings)],
            )
            for part in below
        ]

    def find_filters(self, called: str, code: str, settings: Row) -> list[str]:
        """Return the conditions of a row that depend on the same rows of other questions."""
        conditions = []
        for filter, sign in _FILTERS.items():
            for name in re.split(r"[;,\s]+", settings.get(filter, "")):
                rows = [part["title"] for part in self.below[self.numbers.get(name, "")]]
                if name and self.types.get(name, "-") in _MULTIPLE and code in rows:
                    conditions.append(f'{name}_{code}.NAOK {sign} "Y"')
                elif name:
                    self.draft.add_unconfirmed(f"'{filter}' is left out", called, code)
        return conditions

    def convert_choices(
        self, kind: str, row: Row, called: str
    ) -> tuple[dict[str, object], dict[str, str]]:
        """Convert a single-choice question; return it with its categories by code."""
        answers: dict[str, object] = {}
        if kind in _FIXED:
            values = dict(_FIXED[kind])
            if kind not in _SCALES:
                self.draft.note_fixed_answers(called, list(values.values()))
        else:
            listed = []
            for answer in self.answers[row["qid"]]:
                own = self.rows_of("answer_l10ns", "answers", "aid", answer.get("aid", ""))
                if "answer_l10ns" not in self.tables:
                    own = [
                        other
                        for other in self.table("answers")
                        if (other["qid"], other["code"]) == (row["qid"], answer["code"])
                    ]
                listed.append((answer["code"], self.text_by_language(own, "answer")))
            values, answers = self.draft.read_answers(listed)
        categories = list(values.values())
        if row.get("other") == "Y":
            if "other" in categories:
                raise LeftOut("its answers have 'other' twice")
            categories.append("other")
            values["-oth-"] = "other"
            if text := self.other_text(row):
                answers["other"] = text
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
            name = make_name("other", {part["title"] for part in below})
            options.append({"name": name, "label": self.other_text(row) or name})
            self.draft.add_note("the text for 'other' is not asked", called)
        known: ExpressionNames = {
            f"{called}_{option['name']}": (f".{option['name']}", {"Y": "yes", "": "no"})
            for option in options
        }
        return ConvertedQuestion(called, {"kind": "several", "options": options}, known)

    def other_text(self, row: Row) -> str | dict[str, str]:
        """Return the text of the answer for what is not among the others."""
        return self.text_by_language(
            [
                each
                for each in self.table("question_attributes")
                if each.get("qid") == row["qid"] and each.get("attribute") == "other_replace_text"
            ],
            "value",
        )


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
