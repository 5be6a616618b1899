"""Import of SurveyJS questionnaires (JSON)."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, TypeVar

import msgspec
from halftruth_shared.number import parse_number
from halftruth_shared.texts import is_language

from .conditions import Comparison, Dialect
from .draft import (
    MOST_QUESTIONS,
    ConvertedQuestion,
    ExpressionNames,
    SurveyDraft,
    join_texts,
    make_category,
    simplify_texts,
    text_by_language,
)

#: Members of questions that are ignored without a note: read elsewhere, or without effect.
_SILENT = {
    *("type", "name", "title", "description", "isRequired", "visibleIf", "elements", "choices"),
    *("requiredErrorText", "width", "minWidth", "maxWidth", "startWithNewLine", "colCount"),
    *("titleLocation", "descriptionLocation", "hideNumber", "state", "page", "indent", "locale"),
    *("placeholder", "renderAs", "displayMode", "rateType", "valueTrue", "valueFalse", "inputType"),
    *("labelTrue", "labelFalse", "showClearButton", "allowClear", "rateDisplayMode", "rateMin"),
    *("rateMax", "rateStep", "rateCount", "rateValues", "minRateDescription", "min", "max", "step"),
    *("maxRateDescription", "columns", "rows", "choicesOrder", "hasOther", "showOtherItem"),
    *("otherText", "hasNone", "showNoneItem", "noneText", "showRefuseItem", "refuseText"),
    *("showDontKnowItem", "dontKnowText", "isAllRowRequired", "eachRowRequired", "cellType"),
    *("showSelectAllItem", "hasSelectAll", "autoGenerate", "displayRateDescriptionsAsExtremeItems"),
    *("multiSelect", "showLabel", "visible", "enableIf", "readOnly"),
    *("mininumRateDescription", "maximumRateDescription"),
}

#: The same for members of pages and panels.
_SILENT_OF_PANELS = _SILENT | {
    *("questions", "navigationTitle", "innerIndent", "questionTitleLocation")
}

#: The same for members of the questionnaire.
_SILENT_OF_ALL = {
    *("title", "description", "pages", "elements", "questions", "locale", "completedHtml", "logo"),
    *(
        "showProgressBar",
        "progressBarType",
        "showQuestionNumbers",
        "questionErrorLocation",
        "width",
    ),
    *("logoPosition", "logoWidth", "logoHeight", "widthMode", "completeText", "pageNextText"),
    *("pagePrevText", "startSurveyText", "requiredText", "showPrevButton", "headerView", "name"),
    *("showTitle", "showPageTitles", "checkErrorsMode", "textUpdateMode", "clearInvisibleValues"),
    "navigateToUrl",
}

#: Types of inputs that are neither numbers nor text.
_INPUTS = ("color", "date", "datetime", "datetime-local", "month", "time", "week")

#: Types of elements without an answer.
_READ = ("html", "image", "expression")

#: Additional answers: members that enable the answer, its value, category and text.
_EXTRA = (
    (("has_other", "show_other_item"), "other", "other", "other_text"),
    (("has_none", "show_none_item"), "none", "none", "none_text"),
    (("show_refuse_item",), "refused", "refused", "refuse_text"),
    (("show_dont_know_item",), "dontknow", "don't know", "dont_know_text"),
)

#: Additional answers that are missing values.
_MISSING = ("refused", "don't know")

_SIGNS = {
    "==": "=",
    "equal": "=",
    "<>": "!=",
    "notequal": "!=",
    "contain": "contains",
    "greater": ">",
    "less": "<",
    "greaterorequal": ">=",
    "lessorequal": "<=",
    "anyof": "=",
    "noneof": "!=",
}
_VALUE = r"'[^']*'|\"[^\"]*\"|[\w.+-]+"
_COMPARISON = re.compile(
    rf"\{{(?P<name>[^{{}}]+)\}}\s*(?:(?P<empty>(?:not)?empty\b)|(?P<sign>==?|!=|<>|[<>]=?"
    r"|(?:not)?equal\b|(?:greater|less)(?:orequal)?\b|contains?\b|anyof\b|noneof\b)"
    rf"\s*(?P<value>{_VALUE}|\[[^\[\]]*\]))",
    re.I,
)

#: Largest number of answers of a scale.
_MAX_ANSWERS = 1_000

Element = dict[str, Any]

#: The value of an answer or of a setting.
Scalar = str | int | float | bool

#: A text, also by language.
Text = Scalar | dict[str, Scalar | None] | None

Default = TypeVar("Default", int, None)


class _Document(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Members of a questionnaire that are read."""

    title: Text = None
    description: Text = None
    completed_html: Text = None
    navigate_to_url: str | None = None
    locale: str | None = None
    pages: list[Element] | None = None
    elements: list[Element] | None = None
    questions: list[Element] | None = None


class _Part(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Members of pages, panels and questions that are read."""

    type: str = ""
    name: Scalar | None = None
    title: Text = None
    description: Text = None
    visible: Scalar | None = None
    visible_if: str | None = None
    enable_if: str | None = None
    read_only: Scalar | None = None
    elements: list[Element] | None = None
    questions: list[Element] | None = None


class _Question(_Part, frozen=True, kw_only=True, rename="camel"):
    """Members of questions that are read. Rows and columns have other types in other questions."""

    is_required: Scalar | None = None
    validators: list[Element] | None = None
    choices: list[Any] | None = None
    choices_by_url: Element | None = None
    choices_from_question: Scalar | None = None
    choices_order: Scalar | None = None
    multi_select: Scalar | None = None
    has_other: Scalar | None = None
    show_other_item: Scalar | None = None
    other_text: Text = None
    has_none: Scalar | None = None
    show_none_item: Scalar | None = None
    none_text: Text = None
    show_refuse_item: Scalar | None = None
    refuse_text: Text = None
    show_dont_know_item: Scalar | None = None
    dont_know_text: Text = None
    value_true: Scalar | None = None
    value_false: Scalar | None = None
    label_true: Text = None
    label_false: Text = None
    rate_min: Scalar | None = None
    rate_max: Scalar | None = None
    rate_step: Scalar | None = None
    rate_count: Scalar | None = None
    rate_values: list[Any] | None = None
    auto_generate: Scalar | None = None
    min_rate_description: Text = None
    mininum_rate_description: Text = None
    max_rate_description: Text = None
    maximum_rate_description: Text = None
    input_type: str | None = None
    min: Scalar | None = None
    max: Scalar | None = None
    step: Scalar | None = None
    cell_type: Scalar | None = None
    rows: Any = None
    columns: Any = None
    is_all_row_required: Scalar | None = None
    each_row_required: Scalar | None = None


class _Item(msgspec.Struct, frozen=True):
    """An answer, or a row of a matrix, with its text."""

    value: Scalar
    text: Text = None


class _Validator(msgspec.Struct, frozen=True, rename="camel"):
    """A check of an answer; that of a number has bounds."""

    type: Scalar | None = None
    min_value: Scalar | None = None
    max_value: Scalar | None = None


def read_surveyjs(content: bytes, draft: SurveyDraft) -> None:
    """Read a questionnaire into a draft; raise MsgspecError if the format is invalid."""
    document = msgspec.json.decode(content, type=Element)
    if not {"pages", "elements", "questions"} & document.keys():
        raise msgspec.ValidationError("expected pages or elements")
    draft.dialect = Dialect(_COMPARISON, _read_comparison)
    _Reader(draft, document).read()


class _Reader:
    """Reader of the elements of one questionnaire, in order."""

    def __init__(self, draft: SurveyDraft, document: Element) -> None:
        self.draft, self.members = draft, document.keys()
        self.document = msgspec.convert(document, _Document)
        self.locale = self.document.locale or "en"
        found = [*_languages(document)]
        #: Whether any text is written by language.
        self.localized = bool(found)
        if found:
            draft.languages = [
                each for each in dict.fromkeys([self.locale, *found]) if is_language(each)
            ]

    def read(self) -> None:
        document = self.document
        self.draft.texts = {"title": self.text(document.title) or "Survey"}
        if description := self.text(document.description):
            self.draft.texts["description"] = description
        if thanks := self.text(document.completed_html):
            self.draft.form = {"thanks": thanks}
        self.draft.set_redirect(document.navigate_to_url)
        for member in sorted(self.members - _SILENT_OF_ALL):
            self.draft.add_note(f"the questionnaire's '{member}' is left out")
        pages = document.pages or [{"elements": document.elements or document.questions}]
        for page in pages:
            part = msgspec.convert(page, _Part)
            self.read_panel(part, page.keys(), self.text(part.title), "", [])

    def text(self, value: Text) -> str | dict[str, str]:
        """Return a text, by language if the questionnaire has several."""
        texts = value if isinstance(value, dict) else {"default": value}
        said = {
            self.locale if language == "default" else language: "" if text is None else str(text)
            for language, text in texts.items()
        }
        return self.draft.convert_text(said if self.localized else {"": said.get(self.locale, "")})

    def find_conditions(self, element: _Part, above: list[str]) -> list[str] | None:
        """Return the conditions under which an element is asked; None if it never is."""
        # A program fills in hidden elements.
        if (element.visible is False and not element.visible_if) or element.read_only:
            return None
        if element.enable_if:
            self.draft.add_note(
                "is asked only where it was enabled; elsewhere it was shown without being enabled",
                str(element.name or ""),
            )
        return [*above, *filter(None, [element.visible_if, element.enable_if])]

    def read_panel(
        self,
        panel: _Part,
        members: Collection[str],
        page: str | dict[str, str],
        title: str | dict[str, str],
        above: list[str],
    ) -> None:
        """Read the elements of a page or panel under its conditions."""
        called = str(panel.name or "")
        elements = panel.elements or panel.questions or []
        conditions = self.find_conditions(panel, above)
        if conditions is None:
            self.draft.add_note("left out with its questions: it is hidden or read only", called)
            return
        for member in sorted({*members} - _SILENT_OF_PANELS):
            self.draft.add_note(f"'{member}' is left out", called)
        # In many forms, the title of a panel is the text of its questions.
        untitled = [
            e for e in elements if e.get("type") not in ("panel", *_READ) and not e.get("title")
        ]
        before = self.draft.add_introduction(
            self.text(panel.description), title if not untitled else ""
        )
        for element in elements:
            called = str(element.get("name") or element.get("title") or "")
            try:
                if element.get("type") == "panel":
                    part = msgspec.convert(element, _Part)
                    own = self.text(part.title) or title
                    self.read_panel(part, element.keys(), page, own, conditions)
                    continue
                question = msgspec.convert(element, _Question)
                own = self.text(question.title)
                if not own and element.get("titleLocation") == "hidden":
                    self.draft.add_note("its title is hidden; check its text", called)
                label = own or (
                    join_texts([title, f"({called})"]) if len(untitled) > 1 and title else title
                )
                self.read_question(question, element.keys(), called, page, label, conditions)
            except msgspec.ValidationError:
                # Questions are read one by one, so that of a panel none was read yet.
                self.draft.leave_out(called, "one of its members is of another type than expected")
        self.draft.end_part(before)

    def read_question(
        self,
        element: _Question,
        members: Collection[str],
        called: str,
        page: str | dict[str, str],
        label: str | dict[str, str],
        above: list[str],
    ) -> None:
        """Convert an element; raise ValidationError if a member is of an unexpected type."""
        if element.type in _READ:
            self.draft.add_note(f"left out ({element.type}): nothing is answered there", called)
            return
        conditions = self.find_conditions(element, above)
        if conditions is None:
            self.draft.leave_out(called, "it is hidden or read only")
            return
        help = self.text(element.description)
        common = {
            "label": label or help or called,
            "help": help if label else "",
            "page": page,
            "optional": not element.is_required,
        }
        if (element.choices_by_url or {}).get("url"):
            self.draft.leave_out(called, "its choices are at another address")
            return
        if element.choices_from_question:
            self.draft.leave_out(called, "its choices are those of another question")
            return
        checks = msgspec.convert(element.validators or [], list[_Validator])
        numeric = [each for each in checks if each.type == "numeric"]
        made = self.convert(element, called, label or called, numeric)
        if made is None:
            return
        # Validators of numbers are read.
        read = {"validators"} if len(numeric) == len(checks) else set()
        for member in sorted({*members} - _SILENT - read):
            self.draft.add_note(f"'{member}' is left out", called)
        self.draft.add_questions(called, made, common, conditions)

    def convert(
        self,
        element: _Question,
        called: str,
        label: str | dict[str, str],
        numeric: list[_Validator],
    ) -> list[ConvertedQuestion] | None:
        """Convert an element to questions; return None, with a note, if it is left out."""
        kind = element.type
        if kind in ("checkbox", "tagbox") or (kind == "imagepicker" and element.multi_select):
            return [self.convert_multiple_response(element, called)]
        if kind in ("radiogroup", "dropdown", "buttongroup", "imagepicker"):
            question, values, extra = self.convert_choices(element, called)
            return [(called, question, {called: ("", values | extra)})]
        if kind == "boolean":
            return [self.convert_boolean(element, called)]
        if kind == "rating":
            return self.convert_rating(element, called)
        if kind == "matrix":
            return self.convert_matrix(element, called, label)
        input = element.input_type or "text"
        if kind == "text" and (input in ("number", "range") or (numeric and input == "text")):
            return self.convert_number(element, called, numeric)
        if kind == "text" and input in _INPUTS:
            self.draft.leave_out(called, f"a survey has no questions of kind '{input}'")
        elif kind in ("text", "comment", "multipletext"):
            self.draft.leave_out_free_text(called)
        else:
            self.draft.leave_out(called, f"a survey has no questions of kind '{kind}'")
        return None

    def convert_number(
        self, element: _Question, called: str, numeric: list[_Validator]
    ) -> list[ConvertedQuestion] | None:
        """Convert a number; return None, with a note, if its range is unsuitable."""
        step = parse_number(element.step or 1)
        if step is None:
            raise msgspec.ValidationError("step: expected a number")
        bounds = numeric[0] if numeric else _Validator()
        low, high = (
            bound if own is None else own
            for own, bound in ((element.min, bounds.min_value), (element.max, bounds.max_value))
        )
        number = self.draft.make_number(called, low, high, step.denominator == 1)
        return None if number is None else [(called, number, {called: ("", {})})]

    def convert_choices(
        self, element: _Question, called: str
    ) -> tuple[Element, dict[str, str], dict[str, str]]:
        """Convert a single-choice element; return it with its listed and additional categories."""
        categories, values, answers = self.read_items(element.choices or [], called)
        extra: dict[str, str] = {}
        for members, value, category, said in _EXTRA:
            if any(getattr(element, member) for member in members):
                categories.append(category)
                extra[value] = category
                if text := self.text(getattr(element, said)):
                    answers[category] = text
        if "other" in extra:
            self.draft.add_note("the text for 'other' is not asked", called)
        question = {
            "categories": categories,
            "answers": answers,
            "missing": [category for category in _MISSING if category in extra.values()],
            "shuffle": element.choices_order == "random",
        }
        if element.choices_order in ("asc", "desc"):
            self.draft.add_note("answers are in the order of the file", called)
        return question, values, extra

    def read_items(
        self, listed: Iterable[Any], called: str, what: str = "answers"
    ) -> tuple[list[str], dict[str, str], dict[str, Any]]:
        """Return categories, categories by value, and their labels."""
        values: dict[str, str] = {}
        answers: dict[str, Any] = {}
        for each in listed:
            item = _read_item(each)
            values[_format_value(item.value)] = category = make_category(item.value)
            text = self.text(item.text)
            if text and text != category:
                answers[category] = text
            if isinstance(each, dict):
                for member in sorted(each.keys() - {"value", "text"}):
                    self.draft.add_note(f"'{member}' of its {what} is left out", called)
        return list(values.values()), values, answers

    def convert_multiple_response(self, element: _Question, called: str) -> ConvertedQuestion:
        """Convert a multiple-response question."""
        question, values, extra = self.convert_choices(element, called)
        texts, missing = question["answers"], question["missing"]
        if "other" in extra:
            values["other"] = extra.pop("other")
        # Missing answers apply to each option.
        extra |= {value: "no" for value in extra if value == "none"}
        options = self.draft.make_options(called, values, texts)
        known: ExpressionNames = {
            f"{called}[{value}]": (f".{option['name']}", {value: "yes"} | extra)
            for value, option in options.items()
        }
        made = {
            "kind": "several",
            "options": [*options.values()],
            "missing": missing,
            "answers": {category: texts[category] for category in missing if category in texts},
            "shuffle": question["shuffle"],
        }
        return called, made, known

    def convert_boolean(self, element: _Question, called: str) -> ConvertedQuestion:
        """Convert a question with the answers no and yes."""
        no = False if element.value_false is None else element.value_false
        yes = True if element.value_true is None else element.value_true
        values = {_format_value(no): "no", _format_value(yes): "yes"}
        answers = {
            category: text
            for category, label in (("no", element.label_false), ("yes", element.label_true))
            if (text := self.text(label)) and text != category
        }
        if not answers:
            self.draft.note_fixed_answers(called, ["no", "yes"])
        return called, {"categories": ["no", "yes"], "answers": answers}, {called: ("", values)}

    def convert_rating(self, element: _Question, called: str) -> list[ConvertedQuestion] | None:
        """Convert a scale; return None, with a note, if it has too many answers."""
        low, step = _whole(element.rate_min, 1), _whole(element.rate_step, 1)
        count, high = _whole(element.rate_count, None), _whole(element.rate_max, None)
        if step <= 0:
            raise msgspec.ValidationError("rateStep: expected a number above 0")
        if high is None:
            high = 5 if count is None else low + (count - 1) * step
        generated = element.auto_generate is True
        listed = (not generated and element.rate_values) or range(low, high + 1, step)
        # len() of a range of billions overflows.
        if any(True for _ in islice(listed, _MAX_ANSWERS, None)):
            self.draft.leave_out(called, f"a scale has at most {_MAX_ANSWERS} answers here")
            return None
        categories, values, answers = self.read_items(listed, called)
        ends = (
            (categories[:1], element.min_rate_description or element.mininum_rate_description),
            (categories[-1:], element.max_rate_description or element.maximum_rate_description),
        )
        for end, said in ends:
            for category in end:
                if text := self.text(said):
                    answers[category] = simplify_texts(
                        {
                            language: f"{category} – {words}"
                            for language, words in text_by_language(text).items()
                        }
                    )
        question = {"kind": "scale", "categories": categories, "answers": answers}
        return [(called, question, {called: ("", values)})]

    def convert_matrix(
        self, element: _Question, called: str, label: str | dict[str, str]
    ) -> list[ConvertedQuestion] | None:
        """Convert each row of a matrix to a question."""
        if element.cell_type == "checkbox":
            self.draft.leave_out(called, "each cell has an answer of its own")
            return None
        listed = msgspec.convert(element.rows or [], list[Any])
        if len(listed) > MOST_QUESTIONS:
            self.draft.leave_out(called, f"it has more than {MOST_QUESTIONS} rows")
            return None
        columns = msgspec.convert(element.columns or [], list[Any])
        categories, values, answers = self.read_items(columns, called)
        rows, _, texts = self.read_items(listed, called, "rows")
        required = element.is_all_row_required or element.each_row_required
        self.draft.add_note("is one question for each row", called)
        return [
            (
                f"{called}-{row}",
                {
                    "label": join_texts([label, "–", texts.get(row, row)]),
                    "help": self.text(element.description),
                    "categories": categories,
                    "answers": answers,
                    "optional": not required,
                },
                {f"{called}.{row}": ("", values)},
            )
            for row in rows
        ]


def _read_item(written: object) -> _Item:
    """Read an answer; raise ValidationError if it has no value."""
    if isinstance(written, dict):
        return msgspec.convert(written, _Item)
    value = msgspec.convert(written, Scalar)
    if isinstance(value, str) and "|" in value:
        # Earlier versions write value and text as one string.
        value, text = value.split("|", 1)
        return _Item(value, text)
    return _Item(value)


def _whole(written: Scalar | None, default: Default) -> int | Default:
    """Read a whole number, written as a number or as text; raise ValidationError if it is none."""
    # The designer of SurveyJS writes "" for a cleared field.
    if written is None or written == "":
        return default
    number = parse_number(written)
    if number is None or number.denominator != 1:
        raise msgspec.ValidationError("expected a whole number")
    return number.numerator


def _read_comparison(match: re.Match[str]) -> Comparison:
    name = match["name"].strip()
    if match["empty"]:
        return Comparison(name, "=" if match["empty"].lower() == "empty" else "!=", ("",))
    sign = match["sign"].lower()
    values = re.findall(_VALUE, match["value"])
    return Comparison(
        name,
        _SIGNS.get(sign.removesuffix("s"), sign),
        tuple([value.strip("'\"") for value in values]),
    )


def _format_value(value: object) -> str:
    """Format a value like a value in expressions."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _languages(value: Any) -> Iterator[str]:
    """Iterate over the languages of texts, without the default."""
    if isinstance(value, Mapping):
        if "default" in value and all(isinstance(text, str) for text in value.values()):
            yield from (language for language in value if language != "default")
            return
        for member in value.values():
            yield from _languages(member)
    elif isinstance(value, list):
        for member in value:
            yield from _languages(member)
