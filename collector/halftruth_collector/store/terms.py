"""Terms of surveys: changed one by one, and signed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec
from halftruth_shared import ParameterError
from halftruth_shared.protocol.terms import Signature, Terms
from msgspec import UNSET, UnsetType
from sqlalchemy import Connection, select

from ..errors import SignatureRefused
from .tables import revoked_keys

#: All terms, or those that change by name.
Changes = Terms | Mapping[str, Any]


def changed(
    connection: Connection,
    digest: str,
    terms: Terms,
    signed: Signature | None,
    changes: Changes,
    signature: Signature | UnsetType | None,
) -> tuple[dict[str, object], list[str]]:
    """The columns of a survey that change, and the same in words: old and new value of each term.

    Terms that are not named stay, and so does the signature where it is UNSET.

    Raises
    ------
    ParameterError
        If terms that are signed would change without a word about the signature.
    SignatureRefused
        If the signature does not hold, or is by a key that was revoked.
    """
    named = msgspec.structs.asdict(changes) if isinstance(changes, Terms) else changes
    new = msgspec.structs.replace(terms, **named)
    if signature is UNSET:
        signature = signed
        if signed is not None and new != terms:
            raise ParameterError(
                f"signature: the terms are signed by {signed.key}; expected a signature of the"
                " new ones, or none (--no-signature, or null)",
                field="signature",
            )
    elif signature is not None:
        _check_signature(connection, digest, new, signature)
    old, row = columns(terms, signed), columns(new, signature)
    said = [
        f"{name.replace('signature_key', 'signature')}: {_value(old[name])} → {_value(value)}"
        for name, value in row.items()
        if value != old[name] and name != "signature"
    ]
    return {name: value for name, value in row.items() if value != old[name]}, said


def columns(terms: Terms, signature: Signature | None) -> dict[str, object]:
    """The columns of a survey that say how its reports are taken."""
    return {
        **msgspec.structs.asdict(terms),
        "signature_key": None if signature is None else signature.key,
        "signature": None if signature is None else signature.value,
    }


def _value(value: object) -> str:
    match value:
        case None:
            return "none"
        case bool():
            return "yes" if value else "no"
        case datetime():
            return f"{value:%Y-%m-%dT%H:%M:%SZ}"
    return str(value)


def _check_signature(
    connection: Connection, digest: str, terms: Terms, signature: Signature
) -> None:
    # Imported here: most collectors have no signed survey.
    from halftruth_shared import SignatureError
    from halftruth_shared.protocol.base import check_hexadecimal
    from halftruth_shared.protocol.signing import verify

    check_hexadecimal("signature.key", signature.key)

    statement = select(revoked_keys.c.key).where(revoked_keys.c.key == signature.key)
    if connection.execute(statement).first() is not None:
        raise SignatureRefused(
            "signature: its key was revoked; expected one by another key", field="signature"
        )
    try:
        verify(signature, digest, terms, {signature.key})
    except SignatureError as error:
        raise SignatureRefused(str(error), field="signature") from None
