"""Import of SurveyJS questionnaires (JSON)."""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import msgspec
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
    (("hasOther", "showOtherItem"), "other", "other", "otherText"),
    (("hasNone", "showNoneItem"), "none", "none", "noneText"),
    (("showRefuseItem",), "refused", "refused", "refuseText"),
    (("showDontKnowItem",), "dontknow", "don't know", "dontKnowText"),
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
        self.draft, self.document = draft, document
        self.locale = document.get("locale") or "en"
        found = [*_languages(document)]
        #: Whether any text is written by language.
        self.localized = bool(found)
        if found:
            draft.languages = [
                each for each in dict.fromkeys([self.locale, *found]) if is_language(each)
            ]

    def read(self) -> None:
        document = self.document
        self.draft.texts = {"title": self.text(document.get("title")) or "Survey"}
        if description := self.text(document.get("description")):
            self.draft.texts["description"] = description
        if thanks := self.text(document.get("completedHtml")):
            self.draft.form = {"thanks": thanks}
        self.draft.set_redirect(document.get("navigateToUrl"))
        for member in sorted(document.keys() - _SILENT_OF_ALL):
            self.draft.add_note(f"the questionnaire's '{member}' is left out")
        pages = document.get("pages") or [
            {"elements": document.get("elements") or document.get("questions")}
        ]
        for page in pages:
            self.read_panel(page, self.text(page.get("title")), "", [])

    def text(self, value: Any) -> str | dict[str, str]:
        """Return a text, by language if the questionnaire has several."""
        texts = value if isinstance(value, Mapping) else {"default": value or ""}
        said = {
            self.locale if language == "default" else language: str(text)
            for language, text in texts.items()
        }
        return self.draft.convert_text(said if self.localized else {"": said.get(self.locale, "")})

    def find_conditions(self, element: Element, above: list[str]) -> list[str] | None:
        """Return the conditions under which an element is asked; None if it never is."""
        # A program fills in hidden elements.
        if (element.get("visible") is False and not element.get("visibleIf")) or element.get(
            "readOnly"
        ):
            return None
        if element.get("enableIf"):
            self.draft.add_note(
                "is asked only where it was enabled; elsewhere it was shown without being enabled",
                str(element.get("name", "")),
            )
        return [*above, *filter(None, [element.get("visibleIf"), element.get("enableIf")])]

    def read_panel(
        self,
        panel: Element,
        page: str | dict[str, str],
        title: str | dict[str, str],
        above: list[str],
    ) -> None:
        """Read the elements of a page or panel under its conditions."""
        called = str(panel.get("name", ""))
        elements = panel.get("elements") or panel.get("questions") or []
        conditions = self.find_conditions(panel, above)
        if conditions is None:
            self.draft.add_note("left out with its questions: it is hidden or read only", called)
            return
        for member in sorted(panel.keys() - _SILENT_OF_PANELS):
            self.draft.add_note(f"'{member}' is left out", called)
        # In many forms, the title of a panel is the text of its questions.
        untitled = [
            e for e in elements if e.get("type") not in ("panel", *_READ) and not e.get("title")
        ]
        before = self.draft.add_introduction(
            self.text(panel.get("description")), title if not untitled else ""
        )
        for element in elements:
            called = str(element.get("name") or element.get("title") or "")
            if element.get("type") == "panel":
                self.read_panel(element, page, self.text(element.get("title")) or title, conditions)
                continue
            own = self.text(element.get("title"))
            if not own and element.get("titleLocation") == "hidden":
                self.draft.add_note("its title is hidden; check its text", called)
            label = own or (
                join_texts([title, f"({called})"]) if len(untitled) > 1 and title else title
            )
            try:
                self.read_question(element, page, label, conditions)
            except (AttributeError, LookupError, TypeError, ValueError):
                self.draft.leave_out(called, "one of its members is of another type than expected")
        self.draft.end_part(before)

    def read_question(
        self,
        element: Element,
        page: str | dict[str, str],
        label: str | dict[str, str],
        above: list[str],
    ) -> None:
        kind = str(element.get("type"))
        called = str(element.get("name") or element.get("title") or "")
        if kind in _READ:
            self.draft.add_note(f"left out ({kind}): nothing is answered there", called)
            return
        conditions = self.find_conditions(element, above)
        if conditions is None:
            self.draft.leave_out(called, "it is hidden or read only")
            return
        help = self.text(element.get("description"))
        common = {
            "label": label or help or called,
            "help": help if label else "",
            "page": page,
            "optional": not element.get("isRequired", False),
        }
        if (element.get("choicesByUrl") or {}).get("url"):
            self.draft.leave_out(called, "its choices are at another address")
            return
        made = self.convert(kind, element, called, label or called)
        if made is None:
            return
        checks = element.get("validators") or []
        # Validators of numbers are read.
        read = {"validators"} if all(each.get("type") == "numeric" for each in checks) else set()
        for member in sorted(element.keys() - _SILENT - read):
            self.draft.add_note(f"'{member}' is left out", called)
        self.draft.add_questions(called, made, common, conditions)

    def convert(
        self, kind: str, element: Element, called: str, label: str | dict[str, str]
    ) -> list[ConvertedQuestion] | None:
        """Convert an element to questions; return None, with a note, if it is left out."""
        if kind in ("checkbox", "tagbox") or (kind == "imagepicker" and element.get("multiSelect")):
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
        bounds: Element = next(
            (each for each in element.get("validators") or [] if each.get("type") == "numeric"), {}
        )
        input = element.get("inputType", "text")
        if kind == "text" and (input in ("number", "range") or (bounds and input == "text")):
            whole = float(element.get("step") or 1).is_integer()
            low, high = (
                element.get(member) if element.get(member) is not None else bounds.get(bound)
                for member, bound in (("min", "minValue"), ("max", "maxValue"))
            )
            number = self.draft.make_number(called, low, high, whole)
            return None if number is None else [(called, number, {called: ("", {})})]
        if kind == "text" and input in _INPUTS:
            self.draft.leave_out(called, f"a survey has no questions of kind '{input}'")
        elif kind in ("text", "comment", "multipletext"):
            self.draft.leave_out_free_text(called)
        else:
            self.draft.leave_out(called, f"a survey has no questions of kind '{kind}'")
        return None

    def convert_choices(
        self, element: Element, called: str
    ) -> tuple[Element, dict[str, str], dict[str, str]]:
        """Convert a single-choice element; return it with its listed and additional categories."""
        categories, values, answers = self.read_items(element.get("choices") or [], called)
        extra: dict[str, str] = {}
        for members, value, category, said in _EXTRA:
            if any(element.get(member) for member in members):
                categories.append(category)
                extra[value] = category
                if said in element:
                    answers[category] = self.text(element[said])
        if "other" in extra:
            self.draft.add_note("the text for 'other' is not asked", called)
        question = {
            "categories": categories,
            "answers": answers,
            "missing": [category for category in _MISSING if category in extra.values()],
            "shuffle": element.get("choicesOrder") == "random",
        }
        if element.get("choicesOrder") in ("asc", "desc"):
            self.draft.add_note("answers are in the order of the file", called)
        return question, values, extra

    def read_items(
        self, listed: Iterable[Any], called: str, what: str = "answers"
    ) -> tuple[list[str], dict[str, str], dict[str, Any]]:
        """Return categories, categories by value, and their labels."""
        values: dict[str, str] = {}
        answers: dict[str, Any] = {}
        for item in listed:
            if isinstance(item, str) and "|" in item:
                # Earlier versions write value and text as one string.
                item = dict(zip(("value", "text"), item.split("|", 1), strict=True))
            value = item.get("value") if isinstance(item, Mapping) else item
            values[_format_value(value)] = category = make_category(value)
            if isinstance(item, Mapping):
                text = self.text(item.get("text"))
                if text and text != category:
                    answers[category] = text
                for member in sorted(item.keys() - {"value", "text"}):
                    self.draft.add_note(f"'{member}' of its {what} is left out", called)
        return list(values.values()), values, answers

    def convert_multiple_response(self, element: Element, called: str) -> ConvertedQuestion:
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

    def convert_boolean(self, element: Element, called: str) -> ConvertedQuestion:
        """Convert a question with the answers no and yes."""
        values = {
            _format_value(element.get("valueFalse", False)): "no",
            _format_value(element.get("valueTrue", True)): "yes",
        }
        answers = {
            category: text
            for category, member in (("no", "labelFalse"), ("yes", "labelTrue"))
            if (text := self.text(element.get(member))) and text != category
        }
        if not answers:
            self.draft.note_fixed_answers(called, ["no", "yes"])
        return called, {"categories": ["no", "yes"], "answers": answers}, {called: ("", values)}

    def convert_rating(self, element: Element, called: str) -> list[ConvertedQuestion] | None:
        """Convert a scale; return None, with a note, if it has too many answers."""
        # The designer of SurveyJS writes "" for a cleared field.
        given = {
            member: int(element[member])
            for member in ("rateMin", "rateMax", "rateStep", "rateCount")
            if element.get(member) not in (None, "")
        }
        low, step = given.get("rateMin", 1), given.get("rateStep", 1)
        last = low + (given["rateCount"] - 1) * step if "rateCount" in given else 5
        high = given.get("rateMax", last)
        generated = element.get("autoGenerate") is True
        listed = (not generated and element.get("rateValues")) or range(low, high + 1, step)
        # len() of a range of billions overflows.
        if any(True for _ in islice(listed, _MAX_ANSWERS, None)):
            self.draft.leave_out(called, f"a scale has at most {_MAX_ANSWERS} answers here")
            return None
        categories, values, answers = self.read_items(listed, called)
        ends = (
            (0, "minRateDescription", "mininumRateDescription"),
            (-1, "maxRateDescription", "maximumRateDescription"),
        )
        for position, member, earlier in ends:
            if text := self.text(element.get(member) or element.get(earlier)):
                answers[categories[position]] = simplify_texts(
                    {
                        language: f"{categories[position]} – {words}"
                        for language, words in text_by_language(text).items()
                    }
                )
        question = {"kind": "scale", "categories": categories, "answers": answers}
        return [(called, question, {called: ("", values)})]

    def convert_matrix(
        self, element: Element, called: str, label: str | dict[str, str]
    ) -> list[ConvertedQuestion] | None:
        """Convert each row of a matrix to a question."""
        if element.get("cellType") == "checkbox":
            self.draft.leave_out(called, "each cell has an answer of its own")
            return None
        if len(element.get("rows") or []) > MOST_QUESTIONS:
            self.draft.leave_out(called, f"it has more than {MOST_QUESTIONS} rows")
            return None
        categories, values, answers = self.read_items(element.get("columns") or [], called)
        rows, _, texts = self.read_items(element.get("rows") or [], called, "rows")
        required = any(element.get(m) for m in ("isAllRowRequired", "eachRowRequired"))
        self.draft.add_note("is one question for each row", called)
        return [
            (
                f"{called}-{row}",
                {
                    "label": join_texts([label, "–", texts.get(row, row)]),
                    "help": self.text(element.get("description")),
                    "categories": categories,
                    "answers": answers,
                    "optional": not required,
                },
                {f"{called}.{row}": ("", values)},
            )
            for row in rows
        ]


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
