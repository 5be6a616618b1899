"""Introduction and ending of a form: sponsor, purpose, consent, thanks and redirect.

They are part of the survey and of its digest, because people use them to decide whether to answer.
A later change would change the digest.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Annotated
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from .documents import TextDocument, sort_languages
from .errors import SurveyError
from .texts import describe_accepted_text, freeze_text

#: Largest number of characters of each text.
_TEXTS = {"asked_by": 256, "purpose": 10_000, "consent": 10_000, "thanks": 10_000}

#: An https URL, or a path on the site of the form, without characters that browsers rewrite.
_ADDRESS = re.compile(r"(https://[^/]|/(?![/\\]))[!-\[\]-~]*", re.ASCII)
#: An email address, without characters that could add a subject or another recipient.
_MAIL = re.compile(r"[\w.+-]+@[\w-]+(\.[\w-]+)+", re.ASCII)
_MOST_CHARACTERS = 2_000
_LEAST_SECONDS, _MOST_SECONDS = 5, 120


class Framing(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """Introduction and ending of a form, in files and messages; texts may be by language.

    The form does not send whether consent was given, and adds nothing to the URL of the redirect.
    Raises SurveyError if a field is invalid.
    """

    asked_by: Annotated[TextDocument, Meta(description="Who runs the survey.")] = ""
    purpose: Annotated[TextDocument, Meta(description="Purpose of the survey.")] = ""
    contact: (
        Annotated[
            str, Meta(description="Contact: an email address, or a web address with https://.")
        ]
        | None
    ) = None
    privacy_notice: (
        Annotated[str, Meta(description="Privacy notice: a web address with https://, or a path.")]
        | None
    ) = None
    consent: Annotated[
        TextDocument,
        Meta(description="Statement that respondents agree to before the first question."),
    ] = ""
    thanks: Annotated[
        TextDocument, Meta(description="Thanks, shown after a report was counted.")
    ] = ""
    redirect: (
        Annotated[
            str,
            Meta(
                description="Page to continue to afterwards: a web address with https://, or a"
                " path."
            ),
        ]
        | None
    ) = None
    redirect_after: (
        Annotated[
            int, Meta(description="Seconds after which the form continues there automatically.")
        ]
        | None
    ) = None

    def __post_init__(self) -> None:
        for name, most in _TEXTS.items():
            if freeze_text(getattr(self, name), most) is None:
                raise _fault(name, describe_accepted_text(most))
        if self.contact is not None and not _is_contact(self.contact):
            raise _fault("contact", "a mail address, or an address with https://")
        for name in ("privacy_notice", "redirect"):
            address = getattr(self, name)
            if address is not None and not _is_address(address):
                raise _fault(name, "an address with https://, or a path of the form's own site")
        if self.redirect_after is None:
            return
        if not _LEAST_SECONDS <= self.redirect_after <= _MOST_SECONDS or self.redirect is None:
            raise _fault(
                "redirect_after", f"{_LEAST_SECONDS} to {_MOST_SECONDS} seconds, with a redirect"
            )

    def texts(self) -> Iterator[TextDocument]:
        """Yield its texts, in order."""
        for name in _TEXTS:
            yield getattr(self, name)

    def sort_languages(self, languages: Sequence[str]) -> "Framing":
        """Return the framing with texts in the order of the languages of a survey."""
        texts = {name: sort_languages(getattr(self, name), languages) for name in _TEXTS}
        return msgspec.structs.replace(self, **texts)


def _is_address(text: str) -> bool:
    """Return true for an https URL, or a path on the site of the form.

    >>> [_is_address(text) for text in ("https://example.org/a?b=c", "/thanks")]
    [True, True]
    >>> [_is_address(text) for text in ("http://example.org", "//example.org", "javascript:0")]
    [False, False, False]
    """
    if len(text) > _MOST_CHARACTERS or not _ADDRESS.fullmatch(text):
        return False
    try:
        parts = urlsplit(text)
        # Python parses the port only when it is accessed.
        return parts.port != 0 and "@" not in parts.netloc
    except ValueError:
        return False


def _is_contact(text: str) -> bool:
    """Return true for an https URL or an email address.

    >>> [_is_contact(text) for text in ("survey@example.org", "https://example.org/contact")]
    [True, True]
    >>> [_is_contact(text) for text in ("survey", "a@b.org?subject=c", "/contact")]
    [False, False, False]
    """
    if _MAIL.fullmatch(text):
        return len(text) <= _MOST_CHARACTERS
    return text.startswith("https://") and _is_address(text)


def _fault(name: str, expected: str) -> SurveyError:
    return SurveyError(f"form.{name}: expected {expected}", field=f"form.{name}")
