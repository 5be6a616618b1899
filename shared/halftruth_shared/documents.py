"""Questions of a survey in the format of files and messages."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from .attribute import KINDS, OPTION, Attribute, MultipleResponse
from .errors import SchemaError
from .number import NumberRange
from .rational import format_rational
from .schema import Question
from .texts import Text

#: Text, or text by language.
TextDocument = str | dict[str, str]

_Kind = Annotated[str, Meta(extra_json_schema={"enum": [*KINDS, "several"]})]
_Number = Annotated[int | str, Meta(description='An exact number, such as 20 or "0.5".')]


class OptionDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Option of a multiple-response question."""

    name: str
    label: TextDocument = ""
    short: TextDocument = ""


class AttributeDocument(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True
):
    """Question in files and messages."""

    name: str
    categories: list[str] | None = None
    items: list[str] | None = None
    sensitive: bool = True
    label: TextDocument = ""
    help: TextDocument = ""
    page: TextDocument = ""
    kind: _Kind = "choice"
    ordered: bool = False
    missing: list[str] = []
    minimum: _Number | None = None
    maximum: _Number | None = None
    step: _Number | None = None
    bins: int | None = None
    whole: bool | None = None
    options: list[OptionDocument] | None = None
    at_most: int | None = None
    optional: bool = False
    ask_if: dict[str, list[str]] = {}
    shuffle: bool = False
    answers: dict[str, TextDocument] = {}
    short: TextDocument = ""
    short_answers: dict[str, TextDocument] = {}
    collapsed: dict[str, list[str]] | None = None

    def attributes(self, languages: Sequence[str] = ()) -> tuple[Attribute, ...]:
        """Return the attributes of the question: one, or one for each option.

        Plain texts and categories are in the first of the survey's languages. The SchemaError of an
        invalid question names the question and the field.
        """
        self._check_members()
        common: dict[str, Any] = {
            "sensitive": self.sensitive,
            "page": sort_languages(self.page, languages),
            "missing": tuple(self.missing),
            "optional": self.optional,
            "ask_if": self.ask_if,
            "shuffle": self.shuffle,
            "answers": {
                category: sort_languages(text, languages, category)
                for category, text in self.answers.items()
            },
            "short_answers": {
                category: sort_languages(text, languages)
                for category, text in self.short_answers.items()
            },
        }
        short = sort_languages(self.short, languages)
        label, help = sort_languages(self.label, languages), sort_languages(self.help, languages)
        if self.options is None:
            return (
                Attribute(
                    self.name,
                    () if self.categories is None else tuple(self.categories),
                    items=None if self.items is None else tuple(self.items),
                    label=label,
                    help=help,
                    short=short,
                    kind=self.kind,
                    ordered=self.ordered,
                    number=self._range(),
                    collapsed=self.collapsed,
                    **common,
                ),
            )
        several = MultipleResponse(self.name, label, help, short, self.at_most)
        return tuple(
            [
                Attribute(
                    f"{self.name}.{option.name}",
                    OPTION,
                    items=OPTION[1:],
                    label=sort_languages(option.label, languages),
                    short=sort_languages(option.short, languages),
                    question=several,
                    **common,
                )
                for option in self.options
            ]
        )

    def _check_members(self) -> None:
        """Check that the question has only the members of its kind."""
        if self.kind not in (*KINDS, "several"):
            raise self._error("kind", f"expected one of: {', '.join((*KINDS, 'several'))}")
        kinds = {
            "categories": ("choice", "scale"),
            "items": ("choice", "scale", "number"),
            "ordered": ("choice", "scale", "number"),
            "collapsed": ("choice", "scale", "number"),
            "options": ("several",),
            "at_most": ("several",),
            **dict.fromkeys(("minimum", "maximum", "step", "bins", "whole"), ("number",)),
        }
        for member, owners in kinds.items():
            value = getattr(self, member)
            if value is not None and value is not False and self.kind not in owners:
                raise self._error(member, f"expected in questions of kind {' or '.join(owners)}")
        if self.kind == "several" and not self.options:
            raise self._error("options", 'expected one or more, as in [{ name = "cough" }]')
        if self.kind in ("choice", "scale") and self.categories is None:
            raise self._error("categories", 'expected two or more, as in ["no", "yes"]')

    def _range(self) -> NumberRange | None:
        if self.kind != "number":
            return None
        if self.minimum is None or self.maximum is None:
            raise self._error("minimum", "expected with a maximum")
        try:
            if self.bins is not None and self.step is None:
                return NumberRange.of_bins(self.minimum, self.maximum, self.bins, self.whole)
            if self.step is not None and self.bins is None:
                return NumberRange(self.minimum, self.maximum, self.step, self.whole)
        except SchemaError as error:
            raise SchemaError(f"attribute '{self.name}': {error}", field=error.field) from None
        raise self._error("step", "expected either step or bins")

    def _error(self, member: str, message: str) -> SchemaError:
        return SchemaError(f"attribute '{self.name}': {member}: {message}", field=member)

    def texts(self) -> Iterator[TextDocument]:
        """Yield the texts of the question and its options, without answers, in order."""
        yield from (self.label, self.help, self.page, self.short)
        for option in self.options or ():
            yield from (option.label, option.short)


def make_document(question: Question) -> AttributeDocument:
    """Return the published document of a question, with all defaults filled in.

    The bins of a number follow from its range and are omitted.
    """
    first = question.attributes[0]
    common: dict[str, Any] = {
        "sensitive": first.sensitive,
        "label": document_text(question.label),
        "help": document_text(question.help),
        "page": document_text(first.page),
        "missing": list(first.missing),
        "optional": first.optional,
        "ask_if": {name: list(answers) for name, answers in first.ask_if.items()},
        "shuffle": first.shuffle,
        "answers": {category: document_text(text) for category, text in first.answers.items()},
        "short": document_text(question.short),
        "short_answers": {c: document_text(text) for c, text in first.short_answers.items()},
    }
    if question.kind == "several":
        options = [
            OptionDocument(
                option.option or "", document_text(option.label), document_text(option.short)
            )
            for option in question.attributes
        ]
        return AttributeDocument(
            question.name,
            kind="several",
            options=options,
            at_most=question.at_most,
            **common,
        )
    number = first.number
    if number is not None:
        common |= {
            what: format_rational(getattr(number, what), what)
            for what in ("minimum", "maximum", "step")
        }
        if number.could_be_whole and not number.whole:
            common["whole"] = False
    return AttributeDocument(
        first.name,
        categories=None if number is not None else list(first.categories),
        items=None if first.items is None else list(first.items),
        kind=first.kind,
        ordered=first.ordered and first.kind == "choice",
        collapsed=None
        if first.collapsed is None
        else {name: list(answers) for name, answers in first.collapsed.items()},
        **common,
    )


def document_text(text: Text) -> TextDocument:
    """Return a text in the form of files and messages."""
    return text if isinstance(text, str) else dict(text)


def sort_languages(
    text: TextDocument, languages: Sequence[str], plain: str | None = None
) -> TextDocument:
    """Sort a text by the languages of a survey.

    `plain` is the text in the first language, if the text itself does not have it.
    """
    if isinstance(text, str) or not languages:
        return text
    texts = {languages[0]: plain, **text} if plain is not None else text
    return {language: texts[language] for language in languages if language in texts} | texts
