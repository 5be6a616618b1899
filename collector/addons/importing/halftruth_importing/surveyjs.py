"""Import of SurveyJS questionnaires (JSON)."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple, TypeVar

import msgspec
from halftruth_shared.number import parse_number

from .conditions import Comparison, Dialect
from .draft import (
    FREE_TEXT,
    MOST_QUESTIONS,
    ConvertedQuestion,
    ExpressionNames,
    LeftOut,
    SurveyDraft,
    format_value,
    join_texts,
    make_category,
    simplify_texts,
    text_by_language,
)
from .languages import UNDETERMINED, tag_of_code

#: Members of questions that are read, or have no effect on who is asked and on the answers. Any
#: member that is in none of these lists makes its questions unconfirmed.
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
    *("multiSelect", "showLabel", "visible", "enableIf", "readOnly", "showTitle", "showNumber"),
    *("mininumRateDescription", "maximumRateDescription", "label", "useTitleAsLabel", "colSpan"),
    *("effectiveColSpan", "useDisplayValuesInDynamicTexts", "errorLocation", "otherPlaceholder"),
    *("otherErrorText", "otherPlaceHolder", "commentPlaceholder", "itemComponent", "placeHolder"),
    *("textWrapEnabled", "searchEnabled", "searchMode", "autocomplete", "autoComplete"),
    *("inputSize", "size", "inputTextAlignment", "minErrorText", "maxErrorText", "stepErrorText"),
    *("textUpdateMode", "scaleColorMode", "rateColorMode", "rateDescriptionLocation", "showHeader"),
    *("columnMinWidth", "verticalAlign", "alternateRows", "rowTitleWidth", "cellComponent"),
    *("contentMode", "imageFit", "imageHeight", "imageWidth", "minImageWidth", "minImageHeight"),
    *("maxImageWidth", "maxImageHeight", "choicesLazyLoadEnabled", "choicesLazyLoadPageSize"),
    *("closeOnSelect", "hideSelectedItems", "separateSpecialChoices", "inputFieldComponent"),
    *("hideIfChoicesEmpty", "hideIfRowsEmpty", "optionsCaption", "showOptionsCaption"),
    *("selectAllText", "choicesEnableIfTooltip", "cssClasses", "css", "validators"),
}

#: The same, for members that are left out with a note.
_NOTED = {
    *("defaultValue", "defaultValueExpression", "correctAnswer", "score", "hasComment"),
    *("showCommentArea", "commentText", "storeOthersAsComment", "clearIfInvisible", "rowOrder"),
    *("rowsOrder", "swapOrder", "cells", "popupdescription", "tag", "comment", "maskType"),
    *("maskSettings", "dataList", "bindings", "defaultDisplayValue"),
}

#: The same for members of pages and panels.
_SILENT_OF_PANELS = {
    *("type", "name", "title", "description", "visibleIf", "enableIf", "visible", "readOnly"),
    *("elements", "questions", "navigationTitle", "navigationDescription", "innerIndent"),
    *("questionTitleLocation", "questionTitleWidth", "questionDescriptionLocation", "width"),
    *("gridLayoutColumns", "questionErrorLocation", "showQuestionNumbers", "questionStartIndex"),
    *("showNumber", "allowAdaptiveActions", "showNavigationButtons", "state", "minWidth"),
    *("navigationButtonsVisibility", "maxWidth", "colSpan", "effectiveColSpan", "indent"),
    *("startWithNewLine", "requiredErrorText", "titleLocation", "page", "num", "showTitle"),
}
_NOTED_OF_PANELS = {"questionOrder", "questionsOrder", "timeLimit", "maxTimeToFinish"}

#: The same for members of the questionnaire.
_SILENT_OF_ALL = {
    *("title", "description", "pages", "elements", "questions", "locale", "completedHtml", "logo"),
    *("showProgressBar", "progressBarType", "showQuestionNumbers", "questionErrorLocation"),
    *("logoPosition", "logoWidth", "logoHeight", "widthMode", "completeText", "pageNextText"),
    *("pagePrevText", "startSurveyText", "requiredText", "showPrevButton", "headerView", "name"),
    *("showTitle", "showPageTitles", "checkErrorsMode", "textUpdateMode", "clearInvisibleValues"),
    *("navigateToUrl", "width", "logoFit", "regionalFormat", "autoFocusFirstQuestion"),
    *("autoFocusFirstError", "focusFirstQuestionAutomatic", "focusOnFirstError", "loadingHtml"),
    *("sjsVersion", "$schema", "surveyId", "surveyPostId", "surveyShowDataSaving", "requiredMark"),
    *("showNavigationButtons", "navigationButtonsLocation", "showCompletePage", "showTOC"),
    *("showCompletedPage", "matrixDragHandleArea", "showPageNumbers", "questionTitleLocation"),
    *("questionDescriptionLocation", "progressBarLocation", "progressBarShowNavigationText"),
    *("progressBarShowPageNumbers", "progressBarShowPageTitles", "progressBarInheritWidthFrom"),
    *("progressBarNavigationTextLocation", "tocLocation", "tocItemComponent", "autoGrowComment"),
    *("allowResizeComment", "commentAreaRows", "previewText", "editText", "questionStartIndex"),
    *("questionTitlePattern", "questionTitleTemplate", "gridLayoutEnabled", "fitToContainer"),
    *("backgroundImage", "backgroundImageFit", "backgroundImageAttachment", "backgroundOpacity"),
    *("showBrandInfo", "processedTitle", "storeOthersAsComment", "partialSendEnabled"),
    *("sendResultOnPageNext", "validateVisitedEmptyFields", "themeVariables", "cssType", "theme"),
    *("goNextPageAutomatic", "allowCompleteSurveyAutomatic", "autoAdvanceEnabled"),
    *("autoAdvanceAllowComplete", "isSinglePage", "questionsOnPageMode", "maxOthersLength"),
    *("maxTextLength", "maxCommentLength", "firstPageIsStarted", "firstPageIsStartPage"),
    *("showPreviewBeforeComplete", "previewMode", "minRateDescriptionLocation", "emptySurveyText"),
}
_NOTED_OF_ALL = {
    *("completedBeforeHtml", "completedHtmlOnCondition", "navigateToUrlOnCondition", "cookieName"),
    *("calculatedValues", "questionOrder", "questionsOrder", "showTimer", "timeLimit"),
    *("timeLimitPerPage", "timerLocation", "timerInfoMode", "showTimerPanel", "maxTimeToFinish"),
    *("maxTimeToFinishPage", "showTimerPanelMode", "variables"),
}

#: The same for members of answers and rows.
_SILENT_OF_ITEMS = {"value", "text", "icon"}
_NOTED_OF_ITEMS = {
    *("score", "imageLink", "showCommentArea", "isCommentRequired", "commentPlaceholder"),
    *("hasComment", "randomize", "randomizeCategory"),
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
    max_selected_choices: Scalar | None = None
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
    label: Text = None
    choices_min: Scalar | None = None
    choices_max: Scalar | None = None
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


class _Item(msgspec.Struct, frozen=True, rename="camel"):
    """An answer, or a row of a matrix, with its text."""

    value: Scalar
    text: Text = None
    visible_if: str | None = None
    enable_if: str | None = None


class _Validator(msgspec.Struct, frozen=True, rename="camel"):
    """A check of an answer; that of a number has bounds."""

    type: Scalar | None = None
    min_value: Scalar | None = None
    max_value: Scalar | None = None


#: Members that are texts.
_TEXTS = {
    field.encode_name
    for struct in (_Document, _Question, _Item)
    for field in msgspec.structs.fields(struct)
    if field.type == Text
}


def read_surveyjs(content: bytes, draft: SurveyDraft) -> None:
    """Read a questionnaire into a draft; raise MsgspecError if the format is invalid."""
    document = msgspec.json.decode(content, type=Element)
    if not {"pages", "elements", "questions"} & document.keys():
        raise msgspec.ValidationError("expected pages or elements")
    draft.dialect = Dialect(_COMPARISON, _read_comparison)
    _Reader(draft, document).read()


class _Above(NamedTuple):
    """What the questions of a page or panel have in common."""

    conditions: tuple[str, ...] = ()
    #: Members of pages and panels that make questions unconfirmed.
    unread: tuple[str, ...] = ()


class _Reader:
    """Reader of the elements of one questionnaire, in order."""

    def __init__(self, draft: SurveyDraft, document: Element) -> None:
        self.draft, self.members = draft, document
        self.document = msgspec.convert(document, _Document)
        texts = [*_find_texts(document)]
        names = dict.fromkeys(name for text in texts for name in text)
        if names.keys() <= {"default"}:
            return
        # The default language is that of the questionnaire, unless some text has another one there.
        locale = self.document.locale or "en"
        wanted = {name: [tag_of_code(name)] for name in names if name != "default"}
        if "default" in names:
            wanted["default"] = [tag_of_code(locale), "en", UNDETERMINED]
        draft.declare_languages(wanted, texts, locale if locale in wanted else "default")
        tag = draft.tag_of("default")
        if tag not in (None, wanted["default"][0] if "default" in wanted else None):
            draft.add_unconfirmed("the language of its default texts is unknown; taken as", "", tag)

    def read(self) -> None:
        document = self.document
        self.draft.texts = {"title": self.text(document.title) or "Survey"}
        if description := self.text(document.description):
            self.draft.texts["description"] = description
        if thanks := self.text(document.completed_html):
            self.draft.form = {"thanks": thanks}
        self.draft.set_redirect(document.navigate_to_url)
        for member in _unread(self.members, _SILENT_OF_ALL):
            add = self.draft.add_note if member in _NOTED_OF_ALL else self.draft.add_unconfirmed
            add(f"the questionnaire's '{member}' is left out")
        pages = document.pages or [{"elements": document.elements or document.questions}]
        for page in pages:
            part = msgspec.convert(page, _Part)
            self.read_panel(part, page, self.text(part.title), "", _Above())

    def text(self, value: Text) -> str | dict[str, str]:
        """Return a text, by language if the questionnaire has several."""
        texts = value if isinstance(value, dict) else {"default": value}
        return self.draft.convert_text(
            {name: "" if text is None else str(text) for name, text in texts.items()}
        )

    def find_conditions(self, element: _Part, above: tuple[str, ...]) -> tuple[str, ...] | None:
        """Return the conditions under which an element is asked; None if it never is."""
        # A program fills in hidden elements.
        if (element.visible is False and not element.visible_if) or element.read_only:
            return None
        return (*above, *self.own_conditions(element, str(element.name or "")))

    def own_conditions(self, element: _Part | _Item, called: str) -> tuple[str, ...]:
        """Return the conditions of an element, or of a row."""
        if element.enable_if:
            self.draft.add_note(
                "is asked only where it was enabled; elsewhere it was shown without being enabled",
                called,
            )
        return tuple(filter(None, [element.visible_if, element.enable_if]))

    def read_panel(
        self,
        panel: _Part,
        members: Element,
        page: str | dict[str, str],
        title: str | dict[str, str],
        above: _Above,
    ) -> None:
        """Read the elements of a page or panel under its conditions."""
        called = str(panel.name or "")
        elements = panel.elements or panel.questions or []
        conditions = self.find_conditions(panel, above.conditions)
        if conditions is None:
            self.draft.add_note("left out with its questions: it is hidden or read only", called)
            return
        unread = []
        for member in _unread(members, _SILENT_OF_PANELS):
            self.draft.add_note(f"'{member}' is left out", called)
            if member not in _NOTED_OF_PANELS:
                unread.append(f"'{member}' of '{called}' is left out")
        inside = _Above(conditions, (*above.unread, *unread))
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
                    self.read_panel(part, element, page, own, inside)
                    continue
                question = msgspec.convert(element, _Question)
                own = self.text(question.title) or self.text(question.label)
                if not own and element.get("titleLocation") == "hidden":
                    self.draft.add_note("its title is hidden; check its text", called)
                label = own or (
                    join_texts([title, f"({called})"]) if len(untitled) > 1 and title else title
                )
                self.read_question(question, element, called, page, label, inside)
            except LeftOut as reason:
                self.draft.leave_out(called, str(reason))
            except msgspec.ValidationError:
                # Questions are read one by one, so that of a panel none was read yet.
                self.draft.leave_out(called, "one of its members is of another type than expected")
        self.draft.end_part(before)

    def read_question(
        self,
        element: _Question,
        members: Element,
        called: str,
        page: str | dict[str, str],
        label: str | dict[str, str],
        above: _Above,
    ) -> None:
        """Convert an element; raise LeftOut, or ValidationError if a member is of another type."""
        if element.type in _READ:
            self.draft.add_note(f"left out ({element.type}): nothing is answered there", called)
            return
        conditions = self.find_conditions(element, above.conditions)
        if conditions is None:
            raise LeftOut("it is hidden or read only")
        help = self.text(element.description)
        common = {
            "label": label or help or called,
            "help": help if label else "",
            "page": page,
            "optional": not element.is_required,
        }
        if (element.choices_by_url or {}).get("url"):
            raise LeftOut("its choices are at another address")
        if element.choices_from_question:
            raise LeftOut("its choices are those of another question")
        if element.choices_min is not None or element.choices_max is not None:
            raise LeftOut("its choices are generated numbers")
        checks = msgspec.convert(element.validators or [], list[_Validator])
        numeric = [each for each in checks if each.type == "numeric"]
        made = self.convert(element, called, label or called, numeric)
        number = element.type == "text"
        for member in _unread(members, _SILENT - {"validators"}):
            # Numeric validators of numbers are read.
            if member == "validators" and number and len(numeric) == len(checks):
                continue
            if member == "maxSelectedChoices" and any("at_most" in each.members for each in made):
                continue
            add = self.draft.add_note if member in _NOTED else self.draft.add_unconfirmed
            add(f"'{member}' is left out", called)
        for unread in above.unread:
            self.draft.add_unconfirmed(unread, called)
        self.draft.add_questions(called, made, common, conditions)

    def convert(
        self,
        element: _Question,
        called: str,
        label: str | dict[str, str],
        numeric: list[_Validator],
    ) -> list[ConvertedQuestion]:
        """Convert an element to questions."""
        kind = element.type
        if kind in ("checkbox", "tagbox") or (kind == "imagepicker" and element.multi_select):
            return [self.convert_multiple_response(element, called)]
        if kind in ("radiogroup", "dropdown", "buttongroup", "imagepicker"):
            question, values, extra = self.convert_choices(element, called)
            return [ConvertedQuestion(called, question, {called: ("", values | extra)})]
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
            raise LeftOut(f"a survey has no questions of kind '{input}'")
        if kind in ("text", "comment", "multipletext"):
            raise LeftOut(FREE_TEXT)
        raise LeftOut(f"a survey has no questions of kind '{kind}'")

    def convert_number(
        self, element: _Question, called: str, numeric: list[_Validator]
    ) -> list[ConvertedQuestion]:
        """Convert a number."""
        step = parse_number(element.step or 1)
        if step is None:
            raise msgspec.ValidationError("step: expected a number")
        bounds = numeric[0] if numeric else _Validator()
        low, high = (
            bound if own is None else own
            for own, bound in ((element.min, bounds.min_value), (element.max, bounds.max_value))
        )
        number = self.draft.make_number(called, low, high, step.denominator == 1)
        return [ConvertedQuestion(called, number, {called: ("", {})})]

    def convert_choices(
        self, element: _Question, called: str
    ) -> tuple[Element, dict[str, str], dict[str, str]]:
        """Convert a single-choice element; return it with its listed and additional categories."""
        values, answers = self.read_answers(element.choices or [], called)
        categories = [*values.values()]
        extra: dict[str, str] = {}
        for members, value, category, said in _EXTRA:
            if any(getattr(element, member) for member in members):
                if value in values or category in categories:
                    raise LeftOut(f"its answers have '{category}' twice")
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

    def read_answers(
        self, listed: Iterable[Any], called: str
    ) -> tuple[dict[str, str], dict[str, Any]]:
        """Return categories by value, and their labels."""
        items = self.read_items(listed, called, "answers", _SILENT_OF_ITEMS)
        return self.draft.read_answers([(item.value, self.text(item.text)) for item in items])

    def read_items(
        self, listed: Iterable[Any], called: str, what: str, silent: Collection[str]
    ) -> list[_Item]:
        """Return answers, or rows of a matrix."""
        items = []
        for each in listed:
            items.append(_read_item(each))
            for member in _unread(each, silent) if isinstance(each, dict) else ():
                known = member in _NOTED_OF_ITEMS
                add = self.draft.add_note if known else self.draft.add_unconfirmed
                add(f"'{member}' of its {what} is left out", called)
        return items

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
        converted = ConvertedQuestion(called, made, known)
        self.draft.limit_choices(converted, element.max_selected_choices)
        return converted

    def convert_boolean(self, element: _Question, called: str) -> ConvertedQuestion:
        """Convert a question with the answers no and yes."""
        no = False if element.value_false is None else element.value_false
        yes = True if element.value_true is None else element.value_true
        if format_value(no) == format_value(yes):
            raise LeftOut(f"its answers have the value '{format_value(no)}' twice")
        values = {format_value(no): "no", format_value(yes): "yes"}
        answers = {
            category: text
            for category, label in (("no", element.label_false), ("yes", element.label_true))
            if (text := self.text(label)) and text != category
        }
        if not answers:
            self.draft.note_fixed_answers(called, ["no", "yes"])
        question = {"categories": ["no", "yes"], "answers": answers}
        return ConvertedQuestion(called, question, {called: ("", values)})

    def convert_rating(self, element: _Question, called: str) -> list[ConvertedQuestion]:
        """Convert a scale."""
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
            raise LeftOut(f"a scale has at most {_MAX_ANSWERS} answers here")
        values, answers = self.read_answers(listed, called)
        categories = [*values.values()]
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
        return [ConvertedQuestion(called, question, {called: ("", values)})]

    def convert_matrix(
        self, element: _Question, called: str, label: str | dict[str, str]
    ) -> list[ConvertedQuestion]:
        """Convert each row of a matrix to a question, under the condition of the row."""
        if element.cell_type == "checkbox":
            raise LeftOut("each cell has an answer of its own")
        listed = msgspec.convert(element.rows or [], list[Any])
        if len(listed) > MOST_QUESTIONS:
            raise LeftOut(f"it has more than {MOST_QUESTIONS} rows")
        columns = msgspec.convert(element.columns or [], list[Any])
        values, answers = self.read_answers(columns, called)
        rows = self.read_items(listed, called, "rows", {*_SILENT_OF_ITEMS, "visibleIf", "enableIf"})
        required = element.is_all_row_required or element.each_row_required
        self.draft.add_note("is one question for each row", called)
        made = []
        for item in rows:
            row = make_category(item.value)
            question = {
                "label": join_texts([label, "–", self.text(item.text) or row]),
                "help": self.text(element.description),
                "categories": [*values.values()],
                "answers": answers,
                "optional": not required,
            }
            known: ExpressionNames = {f"{called}.{row}": ("", values)}
            name = f"{called}-{row}"
            conditions = self.own_conditions(item, called)
            made.append(ConvertedQuestion(name, question, known, conditions))
        return made


def _unread(members: Element, read: Collection[str]) -> list[str]:
    """Return the members that are set, and not among these."""
    return sorted(
        member
        for member, value in members.items()
        if member not in read and value not in (None, "", [], {})
    )


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


def _find_texts(value: Any, member: str = "") -> Iterator[dict[str, str]]:
    """Iterate over all texts by language; the language of plain texts is "default"."""
    if isinstance(value, list):
        for each in value:
            yield from _find_texts(each)
    elif isinstance(value, Mapping):
        if member in _TEXTS:
            yield {name: str(text) for name, text in value.items() if isinstance(text, Scalar)}
            return
        for name, each in value.items():
            yield from _find_texts(each, name)
    elif member in _TEXTS and value:
        yield {"default": str(value)}
