"""Import of SurveyJS questionnaires (JSON)."""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import msgspec
from halftruth_shared.texts import is_language

from .conditions import Comparison, Dialect
from .draft import MOST_QUESTIONS, Draft, Known, Made, by_language, choice, plain, together

#: Members without a bearing on the questions, or with an equivalent in forms.
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

#: Such members of pages and panels.
_SILENT_OF_PANELS = _SILENT | {
    *("questions", "navigationTitle", "innerIndent", "questionTitleLocation")
}

#: Such members of the whole questionnaire.
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

#: Inputs that are neither numbers nor words.
_INPUTS = ("color", "date", "datetime", "datetime-local", "month", "time", "week")

#: Kinds that are read, and have no answer.
_READ = ("html", "image", "expression")

#: Answers besides those that are listed: members that show it, its value, category and text.
_EXTRA = (
    (("hasOther", "showOtherItem"), "other", "other", "otherText"),
    (("hasNone", "showNoneItem"), "none", "none", "noneText"),
    (("showRefuseItem",), "refused", "refused", "refuseText"),
    (("showDontKnowItem",), "dontknow", "don't know", "dontKnowText"),
)

#: Those of these that are missing values.
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

#: Most answers of a scale; people choose among ten.
_MOST_ANSWERS = 1_000

Element = dict[str, Any]


def read_surveyjs(content: bytes, draft: Draft) -> None:
    """Read a questionnaire into a draft.

    Raises
    ------
    msgspec.MsgspecError
        If it is none.
    """
    document = msgspec.json.decode(content, type=Element)
    if not {"pages", "elements", "questions"} & document.keys():
        raise msgspec.ValidationError("expected pages or elements")
    draft.dialect = Dialect(_COMPARISON, _comparison)
    _Reader(draft, document.get("locale") or "en").read(document)


class _Reader:
    """Reader of the elements of one questionnaire, in order."""

    def __init__(self, draft: Draft, locale: str) -> None:
        self.draft = draft
        self.locale = locale
        self.localized = False

    def read(self, document: Element) -> None:
        self.localized = _is_localized(document)
        if self.localized:
            written = dict.fromkeys([self.locale, *_languages(document)])
            self.draft.languages = [each for each in written if is_language(each)]
        self.draft.texts = {"title": self.text(document.get("title")) or "Survey"}
        if description := self.text(document.get("description")):
            self.draft.texts["description"] = description
        if thanks := self.text(document.get("completedHtml")):
            self.draft.form = {"thanks": thanks}
        self.draft.end_at(document.get("navigateToUrl"))
        for member in sorted(document.keys() - _SILENT_OF_ALL):
            self.draft.say(f"the questionnaire's '{member}' is left out")
        pages = document.get("pages") or [
            {"elements": document.get("elements") or document.get("questions")}
        ]
        for page in pages:
            self.panel(page, self.text(page.get("title")), "", [])

    def text(self, value: Any) -> str | dict[str, str]:
        """Return a text, by language if the questionnaire has several."""
        texts = value if isinstance(value, Mapping) else {"default": value or ""}
        said = {
            self.locale if language == "default" else language: str(text)
            for language, text in texts.items()
        }
        return self.draft.text(said if self.localized else {"": said.get(self.locale, "")})

    def shown_if(self, element: Element, above: list[str]) -> list[str] | None:
        """Return what has to be so for an element to be answered; None if it never is."""
        # What is hidden is filled in by a program.
        if (element.get("visible") is False and not element.get("visibleIf")) or element.get(
            "readOnly"
        ):
            return None
        if element.get("enableIf"):
            self.draft.say(
                "is asked where it could be answered; elsewhere it was shown all the same",
                str(element.get("name", "")),
            )
        return [*above, *filter(None, [element.get("visibleIf"), element.get("enableIf")])]

    def panel(
        self,
        panel: Element,
        page: str | dict[str, str],
        title: str | dict[str, str],
        above: list[str],
    ) -> None:
        """Read the elements of a page or panel under its conditions."""
        called = str(panel.get("name", ""))
        elements = panel.get("elements") or panel.get("questions") or []
        conditions = self.shown_if(panel, above)
        if conditions is None:
            self.draft.say("left out with its questions: it is hidden or read only", called)
            return
        for member in sorted(panel.keys() - _SILENT_OF_PANELS):
            self.draft.say(f"'{member}' is left out", called)
        # In many forms a panel has the text of the questions in it.
        untitled = [
            e for e in elements if e.get("type") not in ("panel", *_READ) and not e.get("title")
        ]
        before = self.draft.introduce(
            self.text(panel.get("description")), title if not untitled else ""
        )
        for element in elements:
            called = str(element.get("name") or element.get("title") or "")
            if element.get("type") == "panel":
                self.panel(element, page, self.text(element.get("title")) or title, conditions)
                continue
            own = self.text(element.get("title"))
            if not own and element.get("titleLocation") == "hidden":
                self.draft.say("its title is hidden; see to its text", called)
            label = own or (
                together([title, f"({called})"]) if len(untitled) > 1 and title else title
            )
            try:
                self.question(element, page, label, conditions)
            except (AttributeError, LookupError, TypeError, ValueError):
                self.draft.refuse(called, "one of its members is of another type than expected")
        self.draft.end_part(before)

    def question(
        self,
        element: Element,
        page: str | dict[str, str],
        label: str | dict[str, str],
        above: list[str],
    ) -> None:
        kind = str(element.get("type"))
        called = str(element.get("name") or element.get("title") or "")
        if kind in _READ:
            self.draft.say(f"left out ({kind}): nothing is answered there", called)
            return
        conditions = self.shown_if(element, above)
        if conditions is None:
            self.draft.refuse(called, "it is hidden or read only")
            return
        help = self.text(element.get("description"))
        common = {
            "label": label or help or called,
            "help": help if label else "",
            "page": page,
            "optional": not element.get("isRequired", False),
        }
        if (element.get("choicesByUrl") or {}).get("url"):
            self.draft.refuse(called, "its choices are at another address")
            return
        made = self.made(kind, element, called, label or called)
        if made is None:
            return
        checks = element.get("validators") or []
        # Those of numbers are read.
        read = {"validators"} if all(each.get("type") == "numeric" for each in checks) else set()
        for member in sorted(element.keys() - _SILENT - read):
            self.draft.say(f"'{member}' is left out", called)
        self.draft.add(called, made, common, conditions)

    def made(
        self, kind: str, element: Element, called: str, label: str | dict[str, str]
    ) -> list[Made] | None:
        """Return the questions made from an element; None if it is left out, which is noted."""
        if kind in ("checkbox", "tagbox") or (kind == "imagepicker" and element.get("multiSelect")):
            return [self.several(element, called)]
        if kind in ("radiogroup", "dropdown", "buttongroup", "imagepicker"):
            question, values, extra = self.choices(element, called)
            return [(called, question, {called: ("", values | extra)})]
        if kind == "boolean":
            return [self.boolean(element, called)]
        if kind == "rating":
            return self.rating(element, called)
        if kind == "matrix":
            return self.matrix(element, called, label)
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
            number = self.draft.number(called, low, high, whole)
            return None if number is None else [(called, number, {called: ("", {})})]
        if kind == "text" and input in _INPUTS:
            self.draft.refuse(called, f"a survey has no questions of kind '{input}'")
        elif kind in ("text", "comment", "multipletext"):
            self.draft.refuse_words(called)
        else:
            self.draft.refuse(called, f"a survey has no questions of kind '{kind}'")
        return None

    def choices(
        self, element: Element, called: str
    ) -> tuple[Element, dict[str, str], dict[str, str]]:
        """Return a question with one answer, and its categories by value: listed, and extra."""
        categories, values, answers = self.items(element.get("choices") or [], called)
        extra: dict[str, str] = {}
        for members, value, category, said in _EXTRA:
            if any(element.get(member) for member in members):
                categories.append(category)
                extra[value] = category
                if said in element:
                    answers[category] = self.text(element[said])
        if "other" in extra:
            self.draft.say("what people write beside 'other' is not asked", called)
        question = {
            "categories": categories,
            "answers": answers,
            "missing": [category for category in _MISSING if category in extra.values()],
            "shuffle": element.get("choicesOrder") == "random",
        }
        if element.get("choicesOrder") in ("asc", "desc"):
            self.draft.say("answers are in the order of the file", called)
        return question, values, extra

    def items(
        self, listed: Iterable[Any], called: str, what: str = "answers"
    ) -> tuple[list[str], dict[str, str], dict[str, Any]]:
        """Return categories, categories by value, and their labels."""
        values: dict[str, str] = {}
        answers: dict[str, Any] = {}
        for item in listed:
            if isinstance(item, str) and "|" in item:
                # Earlier versions have value and text in one.
                item = dict(zip(("value", "text"), item.split("|", 1), strict=True))
            value = item.get("value") if isinstance(item, Mapping) else item
            values[_value(value)] = category = choice(value)
            if isinstance(item, Mapping):
                text = self.text(item.get("text"))
                if text and text != category:
                    answers[category] = text
                for member in sorted(item.keys() - {"value", "text"}):
                    self.draft.say(f"'{member}' of its {what} is left out", called)
        return list(values.values()), values, answers

    def several(self, element: Element, called: str) -> Made:
        """Return a question with several answers."""
        question, values, extra = self.choices(element, called)
        texts, missing = question["answers"], question["missing"]
        if "other" in extra:
            values["other"] = extra.pop("other")
        # These are said of each option.
        extra |= {value: "no" for value in extra if value == "none"}
        options = self.draft.options(called, values, texts)
        known: Known = {
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

    def boolean(self, element: Element, called: str) -> Made:
        """Return a question with the answers no and yes."""
        values = {
            _value(element.get("valueFalse", False)): "no",
            _value(element.get("valueTrue", True)): "yes",
        }
        answers = {
            category: text
            for category, member in (("no", "labelFalse"), ("yes", "labelTrue"))
            if (text := self.text(element.get(member))) and text != category
        }
        if not answers:
            self.draft.say_fixed(called, ["no", "yes"])
        return called, {"categories": ["no", "yes"], "answers": answers}, {called: ("", values)}

    def rating(self, element: Element, called: str) -> list[Made] | None:
        """Return a scale; None if it has too many answers, which is noted."""
        # Its designer writes "" where a field was cleared.
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
        # Of a range of billions even the length is an overflow.
        if any(True for _ in islice(listed, _MOST_ANSWERS, None)):
            self.draft.refuse(called, f"a scale has at most {_MOST_ANSWERS} answers here")
            return None
        categories, values, answers = self.items(listed, called)
        ends = (
            (0, "minRateDescription", "mininumRateDescription"),
            (-1, "maxRateDescription", "maximumRateDescription"),
        )
        for position, member, earlier in ends:
            if text := self.text(element.get(member) or element.get(earlier)):
                answers[categories[position]] = plain(
                    {
                        language: f"{categories[position]} – {words}"
                        for language, words in by_language(text).items()
                    }
                )
        question = {"kind": "scale", "categories": categories, "answers": answers}
        return [(called, question, {called: ("", values)})]

    def matrix(
        self, element: Element, called: str, label: str | dict[str, str]
    ) -> list[Made] | None:
        """Return a question for each row of a matrix."""
        if element.get("cellType") == "checkbox":
            self.draft.refuse(called, "each cell has an answer of its own")
            return None
        if len(element.get("rows") or []) > MOST_QUESTIONS:
            self.draft.refuse(called, f"it has more than {MOST_QUESTIONS} rows")
            return None
        categories, values, answers = self.items(element.get("columns") or [], called)
        rows, _, texts = self.items(element.get("rows") or [], called, "rows")
        required = any(element.get(m) for m in ("isAllRowRequired", "eachRowRequired"))
        self.draft.say("is one question for each row", called)
        return [
            (
                f"{called}-{row}",
                {
                    "label": together([label, "–", texts.get(row, row)]),
                    "help": self.text(element.get("description")),
                    "categories": categories,
                    "answers": answers,
                    "optional": not required,
                },
                {f"{called}.{row}": ("", values)},
            )
            for row in rows
        ]


def _comparison(match: re.Match[str]) -> Comparison:
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


def _value(value: object) -> str:
    """Format a value as in expressions."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _is_localized(value: Any) -> bool:
    """True if any text is written by language."""
    return any(True for _ in _languages(value))


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
