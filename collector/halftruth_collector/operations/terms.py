"""Terms of a survey and their signature."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
from halftruth_shared import ParameterError, Survey
from halftruth_shared.protocol.surveys import PublishedSurvey
from halftruth_shared.protocol.terms import Signature, SignedTerms, Terms, TermsChange, TermsPatch
from msgspec import UNSET, UnsetType
from sqlalchemy import Connection, exists, select

from ..collector_store import Store
from ..errors import SignatureRefused
from ..store.database import advisory_lock
from ..store.surveys import StoredSurvey, find, has_reports, update_survey, write_terms
from ..store.tables import revoked_keys
from ..store.trials import follow_opening
from .base import SURVEY, Call, Command, action

#: All terms, or the changed terms by name.
Changes = Terms | TermsPatch | Mapping[str, Any]


@action(
    "survey terms",
    about=SURVEY,
    arguments=TermsChange,
    call=Call(
        "PATCH",
        "/v1/surveys/<survey_id>/terms",
        PublishedSurvey,
        answered=lambda store, id, _: store.surveys.published(id),
        errors=(SignatureRefused,),
    ),
    command=Command("survey terms"),
    undone="the terms can be set again",
)
def set_terms(
    store: Store,
    id: str,
    terms: Changes,
    signature: Signature | UnsetType | None = UNSET,
) -> list[str]:
    """Change the terms of a survey.

    Absent terms stay unchanged. The sealing key must be a key of this collector. The signature is
    by an operator, and covers the digest of the survey and all terms.

    Returns
    -------
    list of str
        Changed terms with their old and new values.

    Raises
    ------
    ParameterError
        If the private key of a sealing key is missing, or signed terms would change without a new
        signature or its removal.
    SignatureRefused
        If the signature is invalid, or its key was revoked.
    """
    _check_sealing_key(store.sealing_keys, named(terms).get("sealing_key"))
    with store.database.writing() as connection:
        if signature:
            # Exclude revocations of its key until the commit.
            advisory_lock(connection)
        stored = find(connection, id, lock=True)
        signed, messages = change_terms(
            connection, stored.survey(), stored.signed, terms, signature
        )
        if signed != stored.signed:
            check_opening(stored, signed.terms, has_reports=has_reports(connection, stored.number))
            update_survey(connection, stored, terms=write_terms(signed))
            follow_opening(connection, id, signed.terms)
            set_terms.log(store, connection, id, "; ".join(messages))
    return messages


def named(changes: Changes) -> Mapping[str, Any]:
    """Return the terms that change, by name."""
    if isinstance(changes, Mapping):
        return changes
    given = msgspec.structs.asdict(changes)
    return {name: value for name, value in given.items() if value is not UNSET}


#: The public keys whose private ones this collector has; None if it cannot tell.
Available = Callable[[], Collection[str]] | None


def _check_sealing_key(available: Available, key: str | None, field: str = "sealing_key") -> None:
    """Raise an error if this collector lacks the private key of a sealing key."""
    if key is not None and available is not None and key not in available():
        raise ParameterError(
            f"{field}: its private key is not here; expected one of the file that"
            " HALFTRUTH_SEALING_KEYS names",
            field=field,
        )


def check_keys(available: Available, survey: Survey, sealing_key: str | None) -> None:
    """Raise an error if this collector lacks the private key of a key that a survey uses."""
    _check_sealing_key(available, sealing_key)
    if survey.relay is not None:
        _check_sealing_key(available, survey.relay.sealing_key, "relay.sealing_key")


def change_terms(
    connection: Connection,
    survey: Survey,
    before: SignedTerms,
    changes: Changes,
    signature: Signature | UnsetType | None,
) -> tuple[SignedTerms, list[str]]:
    """Merge changes into the terms of a survey.

    Returns
    -------
    SignedTerms
        The new terms with their signature.
    list of str
        Changed terms with their old and new values.

    Raises
    ------
    ParameterError, SignatureRefused
        See :func:`set_terms`.
    """
    terms = msgspec.structs.replace(before.terms, **named(changes))
    _check_times(terms)
    if survey.relay is not None:
        survey.relay.check_terms(terms)
    if survey.series is not None:
        survey.series.check_terms(terms)
    if signature is UNSET:
        signature = before.signature
        if signature is not None and terms != before.terms:
            raise ParameterError(
                f"signature: the terms are signed by {signature.key}; expected a signature of the"
                " new ones, or none (--no-signature, or null)",
                field="signature",
            )
    elif signature is not None:
        _check_signature(connection, survey.digest, terms, signature)
    after = SignedTerms(terms=terms, signature=signature)
    return after, _describe_changes(before, after)


def _check_times(terms: Terms) -> None:
    """Raise ParameterError if a survey would close before it opens."""
    opens_at, closes_at = terms.opens_at, terms.closes_at
    if opens_at is not None and closes_at is not None and closes_at <= opens_at:
        raise ParameterError(
            f"closes_at: expected a moment after opens_at, {_describe_term(opens_at)}",
            field="closes_at",
        )


def check_opening(stored: StoredSurvey, terms: Terms, *, has_reports: bool) -> None:
    """Raise ParameterError if a survey with reports would open later, since nothing counts before.

    With a lock on the survey no report is counted meanwhile.
    """
    if has_reports and terms.is_early(datetime.now(UTC)):
        raise ParameterError(
            f"opens_at: survey '{stored.id}' has reports already; expected a moment that has"
            " passed, or none",
            field="opens_at",
        )


def _describe_changes(before: SignedTerms, after: SignedTerms) -> list[str]:
    old, new = (
        msgspec.structs.asdict(each.terms)
        | {"signature": None if each.signature is None else each.signature.key}
        for each in (before, after)
    )
    return [
        f"{name}: {_describe_term(old[name])} → {_describe_term(value)}"
        for name, value in new.items()
        if value != old[name]
    ]


def _describe_term(value: object) -> str:
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
    is_revoked = select(exists().where(revoked_keys.c.key == signature.key))
    if connection.execute(is_revoked).scalar():
        raise SignatureRefused(
            "signature: its key was revoked; expected one by another key", field="signature"
        )
    try:
        verify(signature, digest, terms, {signature.key})
    except SignatureError as error:
        raise SignatureRefused(str(error), field="signature") from None
