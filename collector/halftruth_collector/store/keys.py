"""Keys: operators' public keys, and the file of private keys that open sealed reports."""

from __future__ import annotations

import logging
import os
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from halftruth_shared import HalftruthError, KeyFileError
from halftruth_shared.protocol.base import Message, PublicKey
from msgspec import Meta
from sqlalchemy import Connection, select

from .database import Database
from .surveys import read_terms
from .tables import revoked_keys, surveys

if TYPE_CHECKING:
    # Only a collector with sealed surveys needs the cryptography.
    from halftruth_shared.protocol.sealing import SealingKeys

_log = logging.getLogger(__name__)


class KnownKey(Message, frozen=True, kw_only=True):
    """Public key with the surveys that it signed, and the time of its revocation."""

    key: PublicKey
    surveys: Annotated[
        list[str], Meta(description="Ids of the surveys that are signed with it now.")
    ]
    revoked_at: datetime | None


class KeyStore:
    """Lists operators' public keys."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> list[KnownKey]:
        """Return keys that signed a survey, and revoked keys."""
        with self._database.reading() as connection:
            signed = find_signed(connection)
            revoked = {row.key: row.revoked_at for row in connection.execute(select(revoked_keys))}
        return [
            KnownKey(
                key=key,
                surveys=[id for id, by in signed.items() if by == key],
                revoked_at=revoked.get(key),
            )
            for key in sorted({*signed.values(), *revoked})
        ]


def find_signed(connection: Connection) -> dict[str, str]:
    """Return the public key that signed each signed survey, by the id of the survey."""
    rows = connection.execute(select(surveys.c.id, surveys.c.terms).order_by(surveys.c.id))
    signed = ((row.id, read_terms(row.terms).signature) for row in rows)
    return {id: signature.key for id, signature in signed if signature is not None}


class SealingKeyFile:
    """A file of private keys that a variable names, reloaded when it changes.

    If it becomes unreadable, the last keys are kept and a warning is logged. At first, a file that
    cannot be read, or that others may read, raises KeyFileError.
    """

    def __init__(self, path: Path, variable: str = "HALFTRUTH_SEALING_KEYS") -> None:
        from halftruth_shared.protocol.sealing import SealingKeys

        self.path = path
        self._read = SealingKeys.read
        self._loaded = self._state()
        try:
            self._keys = self._read(path)
        except KeyFileError as error:
            raise KeyFileError(f"{variable}: {error}") from None

    @property
    def keys(self) -> SealingKeys:
        """Keys of the file."""
        now = self._state()
        if now != self._loaded:
            self._loaded = now
            try:
                self._keys = self._read(self.path)
            except HalftruthError:
                _log.warning("the file of sealing keys cannot be read any more: keeping its keys")
        return self._keys

    def _state(self) -> tuple[int, ...]:
        """Return a value that differs between two states of the file."""
        try:
            status = os.stat(self.path)
        except OSError:
            return ()
        return status.st_mtime_ns, status.st_ino, status.st_size, status.st_mode
