"""Base of every message, and the message about an error."""

import re
from collections.abc import Collection, Iterable
from typing import Annotated

import msgspec
from msgspec import Meta

from ..errors import ParameterError

#: 32 bytes in lower-case hexadecimal.
_HEX_32 = re.compile(r"[0-9a-f]{64}", re.ASCII)


def _hexadecimal(digits: int) -> Meta:
    return Meta(extra_json_schema={"pattern": f"^[0-9a-f]{{{digits}}}$"})


#: Texts with a pattern, which is checked where the text is used.
Digest = Annotated[
    str, _hexadecimal(64), Meta(description="SHA-256 of a survey's canonical JSON, hexadecimal.")
]
PublicKey = Annotated[str, _hexadecimal(64)]
SignatureValue = Annotated[str, _hexadecimal(128)]
Invitation = Annotated[str, _hexadecimal(32)]
InvitationHash = Annotated[
    str, _hexadecimal(64), Meta(description="SHA-256 of an invitation's 16 bytes, hexadecimal.")
]
Commitment = Annotated[
    str,
    _hexadecimal(64),
    Meta(description="SHA-256 that commits a client to the secret of its ticket, hexadecimal."),
]
IssuedTicket = Annotated[str, Meta(extra_json_schema={"pattern": "^([0-9a-f]{2}){48,}$"})]
TicketDigits = Annotated[str, Meta(extra_json_schema={"pattern": "^([0-9a-f]{2}){80,}$"})]


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """Base of messages from a collector; a client ignores unknown fields."""


class Request(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of messages from a client; an unknown field is an error."""


class Problem(Message, frozen=True, kw_only=True):
    """Problem details of an error (RFC 9457)."""

    type: Annotated[str, Meta(description="URN of the kind of problem.")]
    title: Annotated[str, Meta(description="HTTP status in words.")]
    status: Annotated[int, Meta(description="HTTP status of the response.")]
    detail: Annotated[str, Meta(description="What is wrong, in one line for people.")]
    field: Annotated[str, Meta(description="Member or parameter that is wrong.")] | None = None
    report: Annotated[int, Meta(description="Index of the report in its batch, from 0.")] | None = (
        None
    )


def prepare(kind: type[msgspec.Struct]) -> None:
    """Prepare msgspec for decoding a type and all types derived from it.

    msgspec inspects a type when it first decodes it, and two threads that do so at the same time
    crash the process. So each type is inspected where it is defined, before threads are started.
    """
    msgspec.json.Decoder(kind)
    for derived in kind.__subclasses__():
        prepare(derived)


def check_hexadecimal(field: str, text: str) -> None:
    """Raise ParameterError unless a text is 32 bytes in lower-case hexadecimal."""
    if not _HEX_32.fullmatch(text):
        raise ParameterError(f"{field}: expected 64 lower-case hexadecimal digits", field=field)


def check_operator_keys(operator_keys: Collection[str]) -> frozenset[str]:
    """Check the operator keys that a caller pins, and return them; ParameterError if invalid."""
    is_list = isinstance(operator_keys, Iterable) and not isinstance(operator_keys, str)
    pins = frozenset(operator_keys) if is_list else frozenset()
    if not is_list or not all(isinstance(key, str) and _HEX_32.fullmatch(key) for key in pins):
        raise ParameterError(
            "operator_keys: expected a list of public keys, each of 64 lower-case hexadecimal"
            " digits",
            field="operator_keys",
        )
    return pins
