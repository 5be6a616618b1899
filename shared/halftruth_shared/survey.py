"""Surveys: questionnaires with the mechanism that perturbs their answers.

An author writes TOML; collectors publish canonical JSON, whose SHA-256 digest identifies the
questionnaire with its mechanism. Every report contains the digest.
"""

import hashlib
import math
import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any, Literal, get_args

import msgspec

from .attribute import Attribute, find_repeated
from .documents import AttributeDocument, TextDocument, document_text, make_document, sort_languages
from .errors import HalftruthError, ParameterError, SchemaError, SurveyError, listing
from .framing import Framing
from .mechanisms import (
    MECHANISMS,
    AnyParameters,
    DistortionMatrices,
    Mechanism,
    Perturbation,
    ReportSpace,
    SplitQuestionnaire,
)
from .protocol.base import prepare
from .protocol.relay import Relay
from .schema import Schema
from .series import Series
from .texts import (
    Text,
    choose_language,
    describe_accepted_text,
    freeze_text,
    is_language,
    list_languages,
)

#: What a survey promises: a γ of the whole record; or, as a promise by answer, one of each answer
#: to someone who knows all other answers, where that of the record is larger.
Promise = Literal["record", "answer"]

_PROMISES = " or ".join(f'"{promise}"' for promise in get_args(Promise))

_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,63}", re.ASCII)
_MAX_TITLE = 256
_MAX_DESCRIPTION = 10_000

#: A key of 17 parts. The time of the TOML parser grows with the square of their number.
_LONG_KEY = re.compile(
    r"""(?<![\w-])(?:[\w-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')"""
    r"""(?:[ \t]*+\.[ \t]*+(?:[\w-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')){16}"""
)

#: Whether each report needs a ticket, from which its view follows.
Tickets = Literal["required", "none"]

_TICKETS = " or ".join(f'"{each}"' for each in get_args(Tickets))


class Reporting(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """How the reports of a survey come about, in the format of files and messages.

    With ``tickets = "required"`` the view of a report follows from a ticket, which neither its
    sender nor its issuer can choose; see :mod:`halftruth_shared.protocol.tickets`. The issuer is
    the collector, or the relay if there is one. A survey *file* with a split questionnaire and
    without this member requires them; with a relay, if it names the key of its tickets.
    """

    tickets: Tickets = "none"

    def check(self, perturbation: Perturbation, relay: Relay | None) -> None:
        """Raise ParameterError for tickets of a mechanism that cannot have them.

        Raise SurveyError for tickets that do not fit the relay, or its questions, or the reverse.
        """
        if self.tickets not in get_args(Tickets):
            raise ParameterError(f"reports.tickets: expected {_TICKETS}", field="reports.tickets")
        tickets_key = None if relay is None else relay.tickets_key
        if self.tickets == "none":
            if tickets_key is not None:
                raise SurveyError(
                    "relay.tickets_key: reports have no tickets; expected no such key, or [reports]"
                    ' with tickets = "required"',
                    field="relay.tickets_key",
                )
            return
        if not isinstance(perturbation.mechanism, SplitQuestionnaire):
            raise ParameterError(
                f"reports.tickets: a report of {perturbation.mechanism.kind} has no view that a"
                ' ticket could draw; expected "none", or kind ='
                f' "{SplitQuestionnaire.kind}"',
                field="reports.tickets",
            )
        if relay is None:
            return
        if tickets_key is None:
            raise SurveyError(
                "relay.tickets_key: the relay issues the tickets, since a collector that did would"
                " know the senders of the reports that a relay passes on; expected the public key"
                ' that it signs them with, or tickets = "none"',
                field="relay.tickets_key",
            )
        if any(attribute.ask_if for attribute in perturbation.schema.attributes):
            raise SurveyError(
                "reports.tickets: questions depend on answers, and the time from ticket to report"
                ' would tell the relay which were asked; expected "none", or no ask_if',
                field="reports.tickets",
            )


class SurveyDocument(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """A survey in the format of files and messages."""

    id: str
    title: TextDocument
    attributes: list[AttributeDocument]
    mechanism: AnyParameters
    description: TextDocument = ""
    languages: list[str] = []
    form: Framing | None = None
    series: Series | None = None
    relay: Relay | None = None
    promise: Promise = "record"
    test_of: str | None = None
    reports: Reporting | None = None


prepare(SurveyDocument)


@dataclass(frozen=True)
class Survey:
    """A questionnaire with its mechanism.

    Parameters
    ----------
    id : str
        Lower-case letters, digits and hyphens, at most 64.
    title : str or mapping of str to str
        Text, or text by language.
    languages : sequence of str
        Languages of its texts. The first is the language of plain texts and of categories, and the
        fallback for the others. By default in the order of their first use in texts.
    framing : Framing
        Institution, purpose, consent, thanks and redirect.
    series : Series, optional
        Series of a repeated survey, with the number of this wave and the total amplification.
    relay : Relay, optional
        Relay that receives the reports from devices and passes them on in a shuffled batch.
    promise : {"record", "answer"}
        Whether privacy is promised for the whole record, or for each answer to someone who knows
        all other answers; see :class:`.Protection`.
    test_of : str, optional
        Id of the survey that this one is a test of, see :meth:`for_test`.
    reporting : Reporting
        Whether each report needs a ticket, from which its view follows.
    unconfirmed : tuple of str
        Texts of `unconfirmed` in the survey file, written by an import, which somebody has to check
        before publication. They are not published.

    Raises
    ------
    SurveyError
        If id, title, description or languages are invalid.
    SchemaError
        If a condition names anything but earlier answers, or if an unprotected question depends on
        a protected answer, which it would reveal.
    ParameterError
        If the mechanism cannot be used with the schema, or cannot promise by answer.
    """

    id: str
    title: Text
    schema: Schema
    mechanism: Mechanism
    description: Text = ""
    languages: tuple[str, ...] = ()
    framing: Framing = field(default=Framing(), hash=False)
    series: Series | None = None
    relay: Relay | None = None
    promise: Promise = "record"
    reporting: Reporting = field(default=Reporting())
    unconfirmed: tuple[str, ...] = field(default=(), compare=False)
    test_of: str | None = None

    def __repr__(self) -> str:
        return f"<Survey {self.id!r}, {self.mechanism.kind}: {self.schema!r}>"

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or not _ID.fullmatch(self.id):
            raise SurveyError(
                "id: expected lower-case letters, digits and hyphens, at most 64, not starting"
                " with a hyphen",
                field="id",
            )
        for what, most in (("title", _MAX_TITLE), ("description", _MAX_DESCRIPTION)):
            text = freeze_text(getattr(self, what), most)
            if text is None:
                raise SurveyError(f"{what}: expected {describe_accepted_text(most)}", field=what)
            object.__setattr__(self, what, text)
        if not all(map(str.strip, _each(self.title))):
            raise SurveyError(f"title: expected 1 to {_MAX_TITLE} characters", field="title")
        documents = list(map(make_document, self.schema.questions))
        texts = _texts(self.title, self.description, documents, self.framing)
        languages = _languages(self.languages, texts, documents)
        object.__setattr__(self, "languages", languages)
        self.schema.check_conditions()
        self.perturbation.check_conditions()
        # Refuse parameters that cannot be serialized now, not when the survey is published.
        self.mechanism.parameters()
        _check_promise(self.promise, self.perturbation)
        if self.series is not None:
            self.series.check(self.perturbation)
        if self.relay is not None:
            self.relay.check(self.perturbation)
        if self.test_of is not None:
            _check_test(self)
        self.reporting.check(self.perturbation, self.relay)

    def for_test(self) -> "Survey":
        """Return the test of this survey: the same without series and relay, under another id."""
        return replace(self, id=id_of_test(self.id), series=None, relay=None, test_of=self.id)

    @classmethod
    def from_toml(cls, text: str) -> "Survey":
        """Read a survey from TOML.

        Raises
        ------
        HalftruthError
            A `SurveyError`, `SchemaError` or `ParameterError` that names the field.
        """
        if _LONG_KEY.search(text):
            raise SurveyError("survey: not valid TOML: expected keys of at most 16 parts")
        try:
            content = tomllib.loads(text)
        except (ValueError, RecursionError) as error:
            raise SurveyError(f"survey: not valid TOML: {error}") from None
        unconfirmed = _take_unconfirmed(content)
        perturbed = _take_perturbed(content)
        try:
            document = msgspec.convert(content, SurveyDocument)
        except msgspec.ValidationError as error:
            raise _shape_error(error, content) from None
        if perturbed is not None:
            document = _with_identities(document, perturbed)
        survey = cls.from_document(_with_tickets(document))
        return replace(survey, unconfirmed=unconfirmed) if unconfirmed else survey

    @classmethod
    def from_json(cls, text: bytes | str | msgspec.Raw) -> "Survey":
        """Read a published survey.

        Raises
        ------
        HalftruthError
            A `SurveyError`, `SchemaError` or `ParameterError` that names the field.
        """
        try:
            document = msgspec.json.decode(text, type=SurveyDocument)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise _shape_error(error) from None
        return cls.from_document(document)

    @classmethod
    def from_document(cls, document: SurveyDocument) -> "Survey":
        """Make a survey from a document."""
        texts = _texts(document.title, document.description, document.attributes, document.form)
        languages = _languages(document.languages, texts, document.attributes)
        schema = Schema(_attributes(document.attributes, languages))
        by_answer = document.promise == "answer"
        made = document.mechanism.mechanism_by_answer if by_answer else document.mechanism.mechanism
        mechanism = made(schema)
        return cls(
            document.id,
            sort_languages(document.title, languages),
            schema,
            mechanism,
            sort_languages(document.description, languages),
            languages,
            (document.form or Framing()).sort_languages(languages),
            document.series,
            document.relay,
            document.promise,
            document.reports or Reporting(),
            test_of=document.test_of,
        )

    def document(self) -> SurveyDocument:
        """Return this survey as a message, with all parameters of the mechanism resolved."""
        return SurveyDocument(
            id=self.id,
            title=document_text(self.title),
            description=document_text(self.description),
            languages=list(self.languages),
            mechanism=self.mechanism.parameters(),
            attributes=[make_document(question) for question in self.schema.questions],
            form=None if self.framing == Framing() else self.framing,
            series=self.series,
            relay=self.relay,
            promise=self.promise,
            test_of=self.test_of,
            reports=None if self.reporting == Reporting() else self.reporting,
        )

    @property
    def has_tickets(self) -> bool:
        """Whether each report needs a ticket, from which its view follows."""
        required: Tickets = "required"
        return self.reporting.tickets == required

    def title_in(self, *languages: str) -> str:
        """Return the title in the first available of some languages."""
        return choose_language(self.title, *languages)

    def description_in(self, *languages: str) -> str:
        """Return the description in the first available of some languages."""
        return choose_language(self.description, *languages)

    @cached_property
    def perturbation(self) -> Perturbation:
        """The mechanism bound to the schema."""
        bound = self.mechanism.bind(self.schema)
        return bound.with_tickets() if self.has_tickets else bound

    @property
    def report_space(self) -> ReportSpace:
        """Names and sizes of the columns of a report."""
        return self.perturbation.space

    @cached_property
    def canonical_json(self) -> bytes:
        """UTF-8 JSON with sorted keys, without blanks and defaults; the input of the digest."""
        return msgspec.json.encode(self.document(), order="sorted")

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON, in hexadecimal."""
        return hashlib.sha256(self.canonical_json).hexdigest()


def id_of_test(id: str) -> str:
    """Return the id of the test of a survey."""
    return f"{id}-test"


def _check_test(survey: Survey) -> None:
    """Raise SurveyError if a test does not have the id of one, or has a series or a relay."""
    if not isinstance(survey.test_of, str) or survey.id != id_of_test(survey.test_of):
        raise SurveyError(
            "test_of: expected the id of the survey without '-test', which only a test has",
            field="test_of",
        )
    if survey.series is not None or survey.relay is not None:
        raise SurveyError("test_of: expected neither series nor relay", field="test_of")


def _check_promise(promise: str, perturbation: Perturbation) -> None:
    """Raise ParameterError for an unknown promise, or if no γ of a single answer exists."""
    if promise not in get_args(Promise):
        raise ParameterError(f"promise: expected {_PROMISES}", field="promise")
    if promise == "record":
        return
    mechanism, names = perturbation.mechanism, perturbation.schema.names
    if not mechanism.is_by_attribute:
        kinds = " or ".join(f'"{each.kind}"' for each in MECHANISMS if each.is_by_attribute)
        raise ParameterError(
            f"promise: {mechanism.kind} perturbs answers together; expected"
            f' "record", or answers perturbed one by one, with kind = {kinds}',
            field="promise",
        )
    if perturbation.spent_amplification == math.inf:
        known = perturbation.unperturbed.union(perturbation.provable)
        said = next(n for n in names if n not in known and perturbation.reveals(n))
        raise ParameterError(
            f"promise: a report can rule out an answer to '{said}', so it has no γ; expected"
            ' "record", or every sensitive answer possible given any report',
            field="promise",
        )
    if perturbation.spent_amplification == 1:
        raise ParameterError('promise: no answer is perturbed; expected "record"', field="promise")


def _take_unconfirmed(content: dict[str, Any]) -> tuple[str, ...]:
    """Remove the texts to be checked from the questions of a file, and return them."""
    attributes = content.get("attributes")
    unconfirmed = []
    for attribute in attributes if isinstance(attributes, list) else ():
        if isinstance(attribute, dict) and "unconfirmed" in attribute:
            said, name = attribute.pop("unconfirmed"), attribute.get("name")
            if not isinstance(said, str) or not said.strip():
                raise SurveyError(
                    f"attribute '{name}': unconfirmed: expected text, or no such line",
                    field="attributes",
                )
            unconfirmed.append(f"attribute '{name}': {said}")
    return tuple(unconfirmed)


def _take_perturbed(content: dict[str, Any]) -> list[str] | None:
    """Remove the list of perturbed attributes from a file, and mark all others as not sensitive."""
    mechanism, attributes = content.get("mechanism"), content.get("attributes")
    if not isinstance(mechanism, dict) or "perturbed" not in mechanism:
        return None
    perturbed, field = mechanism.pop("perturbed"), "mechanism.perturbed"
    if mechanism.get("kind") != DistortionMatrices.kind:
        raise SurveyError(f'{field}: expected with kind = "{DistortionMatrices.kind}"', field=field)
    named = isinstance(perturbed, list) and all(isinstance(name, str) for name in perturbed)
    if not named or not perturbed or find_repeated(perturbed):
        raise SurveyError(f'{field}: expected different attributes, as in ["armed"]', field=field)
    # All options of a multiple-response question are perturbed, or none is.
    stems = {name.partition(".")[0] for name in perturbed} | set(perturbed)
    for attribute in attributes if isinstance(attributes, list) else ():
        if not isinstance(attribute, dict) or str(attribute.get("name")) in stems:
            continue
        if attribute.setdefault("sensitive", False) is not False:
            raise SurveyError(
                f"attribute '{attribute.get('name')}': sensitive: expected false, since it is not"
                f" in {field}",
                field="sensitive",
            )
    return list(perturbed)


def _with_identities(document: SurveyDocument, perturbed: Sequence[str]) -> SurveyDocument:
    """Add the identity matrix for each unperturbed attribute, as in published surveys."""
    written: Any = document.mechanism
    matrices = dict(written.matrices)
    questions = [question.attributes(document.languages) for question in document.attributes]
    sizes = {each.name: len(each.categories) for each in chain.from_iterable(questions)}
    for name in perturbed:
        if name not in sizes:
            raise SurveyError(
                f"mechanism.perturbed: unknown attribute '{name}'; the survey has:"
                f" {listing(list(sizes))}",
                field="mechanism.perturbed",
            )
    for name in sizes.keys() - perturbed:
        if name in matrices or name in written.designs:
            raise SurveyError(
                f"mechanism.perturbed: '{name}' is not in it and has a design or matrix; expected"
                " both or neither",
                field="mechanism.perturbed",
            )
        places = range(sizes[name])
        matrices[name] = [[int(u == v) for u in places] for v in places]
    return msgspec.structs.replace(
        document, mechanism=msgspec.structs.replace(written, matrices=matrices)
    )


def _with_tickets(document: SurveyDocument) -> SurveyDocument:
    """Require tickets for a split questionnaire whose file does not mention them.

    A published survey without them has none, so that its digest stays that of earlier versions; so
    does that of a file with a relay, unless it names the key by which the relay signs tickets.
    """
    is_split = isinstance(document.mechanism, SplitQuestionnaire.parameters_type)
    has_issuer = document.relay is None or document.relay.tickets_key is not None
    if document.reports is not None or not has_issuer or not is_split:
        return document
    return msgspec.structs.replace(document, reports=Reporting(tickets="required"))


def _each(text: Text) -> list[str]:
    return [text] if isinstance(text, str) else list(text.values())


def _texts(
    title: Text,
    description: Text,
    questions: Iterable[AttributeDocument],
    form: Framing | None,
) -> Iterator[Text]:
    yield from (title, description)
    for question in questions:
        yield from question.texts()
    if form is not None:
        yield from form.texts()


def _languages(
    listed: Sequence[str], texts: Iterable[Text], questions: Iterable[AttributeDocument]
) -> tuple[str, ...]:
    """Return the listed languages of a survey, or else all, in the order of first use in texts."""
    if isinstance(listed, str) or not all(map(is_language, listed)) or find_repeated(listed):
        raise SurveyError(
            'languages: expected different tags, such as ["en", "de"]', field="languages"
        )
    named = dict.fromkeys(chain.from_iterable(map(list_languages, texts)))
    languages = tuple(listed) or tuple(named)
    answers = chain.from_iterable(
        (*question.answers.values(), *question.short_answers.values()) for question in questions
    )
    named |= dict.fromkeys(chain.from_iterable(map(list_languages, answers)))
    for language in named:
        if language not in languages:
            raise SurveyError(
                f"languages: '{language}' is not one of them; expected all that texts are written"
                " in, that of plain texts and categories first",
                field="languages",
            )
    return languages


#: Largest number of invalid questions or members that one error names.
_MOST_NAMED = 8


def _attributes(
    questions: Iterable[AttributeDocument], languages: Sequence[str]
) -> tuple[Attribute, ...]:
    """Return the attributes of all questions, or raise one SchemaError for all invalid ones."""
    made: list[Attribute] = []
    errors: list[SchemaError] = []
    for question in questions:
        try:
            made.extend(question.attributes(languages))
        except SchemaError as error:
            errors.append(error)
    if len(errors) > 1:
        said = "; ".join(map(str, errors[:_MOST_NAMED]))
        more = "" if len(errors) <= _MOST_NAMED else f"; … ({len(errors)} in all)"
        raise SchemaError(f"{said}{more}", field=errors[0].field)
    if errors:
        raise errors[0]
    return tuple(made)


#: A message of the validator: the expected and the actual type of a member, and its path.
_SHAPE = re.compile(r"Expected `(.+?)`, got `(.+?)` - at `\$\.(.+)`")
_AT = re.compile(r"attributes\[(\d+)\]\.?")
_WORDS = {
    "object": "a table",
    "array": "a list",
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
}


def _members(message: str, content: dict[str, Any]) -> list[str]:
    """Names of the allowed members of the table with the unknown member, for some tables."""
    kinds: dict[str, Any] = {
        "attributes": AttributeDocument,
        "form": Framing,
        "series": Series,
        "relay": Relay,
        "reports": Reporting,
    }
    at = re.search(r" - at `\$\.(\w+)(?:\[\d+\])?`$", message)
    if at is not None and at[1] == "mechanism":
        kind = content["mechanism"]["kind"]
        kinds["mechanism"] = next(m.parameters_type for m in MECHANISMS if m.kind == kind)
    table = SurveyDocument if " - at `" not in message else kinds.get(at[1]) if at else None
    return [] if table is None else list(table.__struct_encode_fields__)


def _unknown_members(content: dict[str, Any]) -> Iterator[str]:
    """Yield the unknown members of a survey and of its questions, as the validator writes them."""
    tables: list[tuple[str, Any, Any]] = [("", content, SurveyDocument)]
    questions = content.get("attributes")
    for number, question in enumerate(questions if isinstance(questions, list) else ()):
        tables.append((f" - at `$.attributes[{number}]`", question, AttributeDocument))
    for place, table, kind in tables:
        for name in table if isinstance(table, dict) else ():
            if name not in kind.__struct_encode_fields__:
                yield f"`{name}`{place}"


def _shape_error(error: Exception, content: dict[str, Any] | None = None) -> SurveyError:
    """Return the error for a document of the wrong shape, with the accepted shape."""
    message = str(error)
    if message.endswith(" - at `$.promise`"):
        return SurveyError(f"promise: expected {_PROMISES}", field="promise")
    if message.endswith(" - at `$.reports.tickets`"):
        return SurveyError(f"reports.tickets: expected {_TICKETS}", field="reports.tickets")
    known = [m.kind for m in MECHANISMS] if "`$.mechanism.kind`" in message else []
    others: list[str] = []
    if content is not None and message.startswith("Object contains unknown field"):
        known = _members(message, content)
        first = message.removeprefix("Object contains unknown field ")
        others = [each for each in _unknown_members(content) if each != first]
    if known:
        message += f"; expected one of: {listing(known, len(known))}"
    if others:
        message += f"; also unknown: {listing(others, _MOST_NAMED)}"
    if (shape := _SHAPE.fullmatch(message)) is None:
        return SurveyError(f"survey: {message}")
    wanted, got, place = shape.groups()
    expected = " or ".join(
        [_WORDS.get(kind, kind) for kind in wanted.split(" | ") if kind != "null"]
    )
    place = place.replace("[...]", "")
    if content is not None and (at := _AT.match(place)):
        # Name the attribute instead of its index.
        question = content["attributes"][int(at[1])]
        name = question.get("name") if isinstance(question, dict) else None
        if isinstance(name, str):
            place = f"attribute '{name}': {place[at.end() :]}"
    # Exact numbers are not floating-point numbers.
    given = "a decimal number, which is written as text" if got == "float" else _WORDS.get(got, got)
    return SurveyError(f"{place}: expected {expected}, got {given}", field=place)


def read_survey(path: str) -> Survey:
    """Read a survey file.

    Raises
    ------
    HalftruthError
        If the file cannot be read or does not contain a survey.
    """
    try:
        # Some editors begin a file with a byte order mark.
        with open(path, encoding="utf-8-sig") as file:
            return Survey.from_toml(file.read())
    except OSError as error:
        raise SurveyError(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError:
        raise SurveyError(f"{path}: expected the name of a file with UTF-8 text") from None
    except HalftruthError as error:
        raise SurveyError(f"{path}: {error}", field=error.field) from None
