"""What operators do that takes more than the store, over HTTP as on pages."""

from collections.abc import Mapping
from typing import Any

from halftruth_shared import ParameterError
from halftruth_shared.protocol.terms import Signature
from msgspec import UnsetType

from ..access.sealing_keys import SealingKeyFile
from .context import collector


def set_terms(
    survey_id: str, changes: Mapping[str, Any], signature: Signature | UnsetType | None, actor: str
) -> None:
    """Change some of how the reports of a survey are taken from now on.

    Raises
    ------
    ParameterError
        If reports would be sealed to a key that this collector does not have.
    UnknownSurvey, SignatureRefused, StoreUnavailable
    """
    key = changes.get("sealing_key")
    if key is not None and key not in sealing_keys():
        raise ParameterError(
            "sealing_key: expected a public key of this collector's sealing keys, or null",
            field="sealing_key",
        )
    collector().store.surveys.set_terms(survey_id, changes, signature, actor=actor)


def sealing_keys() -> tuple[str, ...]:
    """The public keys that reports can be sealed to, newest first."""
    file = collector().key_file
    return () if file is None else file.keys.public


def create_sealing_key(actor: str) -> str:
    """Put a new sealing key into the collector's file, and return its public key.

    Raises
    ------
    ParameterError
        If this collector has no such file.
    KeyFileError
        If it cannot be written.
    StoreUnavailable
    """
    from halftruth_shared.protocol.sealing import create_sealing_key

    path = _file().path
    public = create_sealing_key(path)
    collector().store.audit.note("sealing-key create", public, actor=actor)
    return public


def retire_sealing_key(public: str, actor: str) -> None:
    """Take a sealing key out of the collector's file; what is sealed to it can never be opened.

    Raises
    ------
    ParameterError
        If the file does not have it or has no other, or an open survey's reports are sealed to it.
    KeyFileError
        If it cannot be written.
    StoreUnavailable
    """
    from halftruth_shared.protocol.sealing import retire_sealing_key

    path, store = _file().path, collector().store
    for stored in store.surveys.all():
        if stored.status == "open" and stored.terms.sealing_key == public:
            raise ParameterError(
                f"key: the reports of '{stored.id}' are sealed to it; expected one that no open"
                " survey uses",
                field="key",
            )
    retire_sealing_key(path, public)
    store.audit.note("sealing-key retire", public, actor=actor)


def _file() -> SealingKeyFile:
    file = collector().key_file
    if file is None:
        raise ParameterError(
            "sealing_keys: this collector has no file for them; an operator creates one with"
            " 'halftruth sealing-key create' and names it in HALFTRUTH_SEALING_KEYS",
            field="sealing_keys",
        )
    return file
