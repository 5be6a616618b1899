"""Surveys: what is asked, and how each answer is perturbed before it is sent.

An author writes TOML; collectors publish canonical JSON, and its SHA-256 digest names exactly
this questionnaire with exactly this mechanism. Every report quotes the digest.
"""

import hashlib
import re
import tomllib
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import msgspec

from .errors import HalftruthError, SurveyError, listing
from .mechanisms import Mechanism, Parameters, ReportSpace, any_parameters, kinds
from .protocol.base import prepare
from .schema import Attribute, Schema, is_text

_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,63}", re.ASCII)
_MAX_TITLE = 256
_MAX_DESCRIPTION = 10_000


class AttributeDocument(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True
):
    """An attribute as files and messages write it."""

    name: str
    categories: list[str]
    items: list[str] | None = None
    sensitive: bool = True
    label: str = ""
    help: str = ""
    page: str = ""


class SurveyDocument(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """A survey as files and messages write it; see :func:`document_type` for reading one."""

    id: str
    title: str
    attributes: list[AttributeDocument]
    mechanism: Parameters
    description: str = ""


def document_type() -> type[SurveyDocument]:
    """The type that documents of surveys with every registered kind of mechanism are read as."""
    return _document_type(tuple(kinds()))


@cache
def _document_type(mechanisms: tuple[type[Mechanism], ...]) -> type[SurveyDocument]:
    kind: Any = msgspec.defstruct(
        "SurveyDocument",
        [("mechanism", any_parameters())],
        bases=(SurveyDocument,),
        module=__name__,
        namespace={"__doc__": "A survey as files and messages write it."},
        frozen=True,
        kw_only=True,
        forbid_unknown_fields=True,
        omit_defaults=True,
    )
    prepare(kind)
    found: type[SurveyDocument] = kind
    return found


document_type()


@dataclass(frozen=True)
class Survey:
    """A questionnaire with its mechanism.

    Parameters
    ----------
    id : str
        Lower-case letters, digits and hyphens, at most 64.
    title : str
    schema : Schema
    mechanism : Mechanism
    description : str

    Raises
    ------
    SurveyError
        If id, title or description cannot be used.
    ParameterError
        If the mechanism cannot serve the schema.
    """

    id: str
    title: str
    schema: Schema
    mechanism: Mechanism
    description: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or not _ID.fullmatch(self.id):
            raise SurveyError(
                "id: expected lower-case letters, digits and hyphens, at most 64, not starting"
                " with a hyphen",
                field="id",
            )
        if not is_text(self.title, _MAX_TITLE) or not self.title.strip():
            raise SurveyError(f"title: expected 1 to {_MAX_TITLE} characters", field="title")
        if not is_text(self.description, _MAX_DESCRIPTION):
            raise SurveyError(
                f"description: expected text of at most {_MAX_DESCRIPTION} characters",
                field="description",
            )
        self.mechanism.check(self.schema)
        # A parameter that cannot be written is refused here, not when the survey is published.
        self.mechanism.parameters()

    @classmethod
    def from_toml(cls, text: str) -> "Survey":
        """Read a survey as its author writes it.

        Raises
        ------
        HalftruthError
            A `SurveyError`, `SchemaError` or `ParameterError` that names the field.
        """
        try:
            written = tomllib.loads(text)
        except (ValueError, RecursionError) as error:
            raise SurveyError(f"survey: not valid TOML: {error}") from None
        try:
            document = msgspec.convert(written, document_type())
        except msgspec.ValidationError as error:
            raise _shape_error(error) from None
        return cls.from_document(document)

    @classmethod
    def from_json(cls, text: bytes | str | msgspec.Raw) -> "Survey":
        """Read a published survey.

        Raises
        ------
        HalftruthError
            A `SurveyError`, `SchemaError` or `ParameterError` that names the field.
        """
        try:
            document = msgspec.json.decode(text, type=document_type())
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise _shape_error(error) from None
        return cls.from_document(document)

    @classmethod
    def from_document(cls, document: SurveyDocument) -> "Survey":
        """The survey that a document stands for; its sums and shares are resolved."""
        schema = Schema(
            tuple(
                Attribute(
                    name=attribute.name,
                    categories=tuple(attribute.categories),
                    items=None if attribute.items is None else tuple(attribute.items),
                    sensitive=attribute.sensitive,
                    label=attribute.label,
                    help=attribute.help,
                    page=attribute.page,
                )
                for attribute in document.attributes
            )
        )
        mechanism = document.mechanism.mechanism(schema)
        return cls(document.id, document.title, schema, mechanism, document.description)

    def document(self) -> SurveyDocument:
        """This survey as a message, every parameter of the mechanism resolved."""
        return SurveyDocument(
            id=self.id,
            title=self.title,
            description=self.description,
            mechanism=self.mechanism.parameters(),
            attributes=[
                AttributeDocument(
                    name=attribute.name,
                    categories=list(attribute.categories),
                    items=None if attribute.items is None else list(attribute.items),
                    sensitive=attribute.sensitive,
                    label=attribute.label,
                    help=attribute.help,
                    page=attribute.page,
                )
                for attribute in self.schema.attributes
            ],
        )

    @cached_property
    def report_space(self) -> ReportSpace:
        """What a report of this survey looks like."""
        return self.mechanism.report_space(self.schema)

    @cached_property
    def canonical_json(self) -> bytes:
        """UTF-8 JSON with sorted keys, no blanks and no defaults, the form that is digested."""
        return msgspec.json.encode(self.document(), order="sorted")

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON, in hexadecimal."""
        return hashlib.sha256(self.canonical_json).hexdigest()


def _shape_error(error: Exception) -> SurveyError:
    """What is wrong with the shape of a document, with what would be accepted."""
    said = str(error)
    if "`$.mechanism.kind`" in said:
        said = f"{said}; expected one of: {listing([mechanism.kind for mechanism in kinds()])}"
    return SurveyError(f"survey: {said}")


def read_survey(path: str) -> Survey:
    """Read a survey file.

    Raises
    ------
    HalftruthError
        If the file cannot be read or what stands in it is no survey.
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
