"""Sealed reports, which only the collector can read.

A report is encrypted to the collector's key with HPKE (RFC 9180), bound to the survey's digest
and the report's id. All reports of a survey have the same length, so the length reveals nothing.

A report of a survey with a relay is sealed twice: first, with its id, to the collector's key, and
the result to the relay's key, bound to another id. So the relay cannot read a report or its id,
and the collector sees nothing that the relay or the network before it has seen.
"""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from ..errors import KeyFileError, ParameterError, ReportError
from .key_files import (
    change_key_file,
    create_key_file,
    format_private_key,
    parse_private_key,
    read_key_file,
)
from .relay import Relay

#: Prefixes of the HPKE info of a report and of its envelope, for domain separation.
_PURPOSE = b"halftruth sealed report 1\n"
_RELAYED = b"halftruth relayed report 1\n"
_ENVELOPE = b"halftruth relay envelope 1\n"

#: Number of bytes that sealing adds: the ephemeral public key and the tag.
_ENC, _TAG = 32, 16

#: Number of bytes of an invitation, and of an id.
_INVITATION, _ID = 16, 16

_SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_128_GCM)
_PEM_BLOCK = re.compile(rb"-----BEGIN [^-]*-----[^-]*-----END [^-]*-----\n?")


class SealingKeys:
    """The private keys of a collector, newest first.

    Reports are sealed to the newest key; the older keys decrypt reports that are still in transit.
    """

    def __init__(self, private: tuple[X25519PrivateKey, ...]) -> None:
        self._private = private

    def __repr__(self) -> str:
        return f"<SealingKeys {', '.join(self.public)}>"

    @classmethod
    def create(cls) -> "SealingKeys":
        """Create a key from the operating system's randomness."""
        return cls((X25519PrivateKey.generate(),))

    @classmethod
    def read(cls, path: str | Path) -> "SealingKeys":
        """Read the keys of a file of PEM blocks (PKCS #8, not encrypted).

        Raises KeyFileError if the file cannot be read, is readable by others, or is invalid.
        """
        return cls._parse(path, read_key_file(path))

    @classmethod
    def _parse(cls, path: str | Path, pem: bytes) -> "SealingKeys":
        private = [parse_private_key(block) for block in _PEM_BLOCK.findall(pem)]
        keys = tuple(key for key in private if isinstance(key, X25519PrivateKey))
        if not keys or len(keys) < len(private) or _PEM_BLOCK.sub(b"", pem).strip():
            raise KeyFileError(f"{path}: expected X25519 private keys in PEM, not encrypted")
        return cls(keys)

    def to_pem(self) -> bytes:
        """Return the keys as PEM blocks (PKCS #8), newest first."""
        return b"".join(map(format_private_key, self._private))

    @property
    def public(self) -> tuple[str, ...]:
        """The public keys, newest first, each as 64 hexadecimal digits."""
        return tuple(key.public_key().public_bytes_raw().hex() for key in self._private)

    def derive(self, purpose: bytes) -> tuple[bytes, ...]:
        """Return 32 secret bytes of each key for another purpose, by HKDF-SHA256 (RFC 5869)."""
        return tuple(
            HKDF(SHA256(), 32, salt=None, info=purpose).derive(key.private_bytes_raw())
            for key in self._private
        )

    def _with_new(self) -> "SealingKeys":
        return SealingKeys(SealingKeys.create()._private + self._private)

    def _without(self, public: str) -> "SealingKeys":
        left = tuple(
            key for key, known in zip(self._private, self.public, strict=True) if known != public
        )
        if len(left) == len(self._private):
            raise ParameterError(
                "public: expected one of the public keys of this file", field="public"
            )
        if not left:
            raise ParameterError(
                "public: the only key of this file; expected another one beside it, or the file"
                " to be deleted",
                field="public",
            )
        return SealingKeys(left)

    def decrypt(self, sealed: bytes, info: bytes) -> bytes | None:
        """Decrypt bytes that were sealed to one of these keys; None if no key fits."""
        for key in self._private:
            try:
                return _SUITE.decrypt(sealed, key, info=info)
            except InvalidTag:
                continue
        return None


def create_sealing_key(path: str | Path) -> str:
    """Add a new key as the newest to a file, which is created if it does not exist.

    Returns its public key. A file that root creates belongs to the owner of its folder. Raises
    KeyFileError if the file cannot be read or written, or its content is invalid.
    """
    if Path(path).exists():
        return _change(path, SealingKeys._with_new).public[0]
    keys = SealingKeys.create()
    # The server has to read it, whoever creates it.
    create_key_file(path, keys.to_pem(), for_folder=True)
    return keys.public[0]


def retire_sealing_key(path: str | Path, public: str) -> None:
    """Remove a key from a file; reports sealed to it can never be decrypted again.

    Raises ParameterError if the file does not contain the key, or no other key; KeyFileError if the
    file cannot be read or written.
    """
    _change(path, lambda keys: keys._without(public))


def _change(path: str | Path, change: Callable[[SealingKeys], SealingKeys]) -> SealingKeys:
    """Replace the keys in a file, and return the new ones."""
    parse = partial(SealingKeys._parse, path)
    return parse(change_key_file(path, lambda pem: change(parse(pem)).to_pem()))


def seal(
    public_key: str, digest: str, report_id: UUID, packed: bytes, invitation: str | None = None
) -> bytes:
    """Encrypt a packed report to the sealing key of a survey with a digest.

    Raises ParameterError if the key cannot be used for encryption. An invitation has 32
    hexadecimal digits.
    """
    plaintext = packed + bytes.fromhex(invitation or "")
    return _encrypt("sealing_key", public_key, _info(_PURPOSE, digest, report_id), plaintext)


def open_sealed(
    keys: SealingKeys,
    digest: str,
    report_id: UUID,
    sealed: bytes,
    packed_size: int,
    with_invitation: bool,
) -> tuple[bytes, str | None]:
    """Decrypt a report, and return it packed, with its invitation if the survey requires one.

    Raises ReportError if it was sealed to another key, or for another survey or id, or was altered.
    """
    plaintext = _decrypt(
        keys,
        _info(_PURPOSE, digest, report_id),
        sealed,
        packed_size + _INVITATION * with_invitation,
        "sealed to this survey's key with its digest and the report's id",
    )
    packed, invitation = plaintext[:packed_size], plaintext[packed_size:]
    return packed, invitation.hex() if with_invitation else None


def seal_for_relay(
    relay: Relay, digest: str, report_id: UUID, relay_id: UUID, packed: bytes
) -> bytes:
    """Encrypt a packed report with its id to the collector, and the result to the relay.

    The collector detects duplicates by `report_id`, which the relay never sees; the relay detects
    them by `relay_id`, which the collector never sees. Raises ParameterError if one of the keys
    cannot be used for encryption.
    """
    info, report = _info(_RELAYED, digest), report_id.bytes + packed
    inner = _encrypt("relay.sealing_key", relay.sealing_key, info, report)
    return _encrypt("relay.key", relay.key, _info(_ENVELOPE, digest, relay_id), inner)


def relayed_size(packed_size: int) -> int:
    """Return the number of bytes of a sealed report that a relay passes on."""
    return _ENC + _ID + packed_size + _TAG


def open_envelope(
    keys: SealingKeys, digest: str, relay_id: UUID, sealed: bytes, packed_size: int
) -> bytes:
    """Decrypt an envelope with the keys of a relay, and return the sealed report inside.

    Raises ReportError if the envelope was sealed to another key, for another survey or id, or
    altered, or if the inner report does not have the length of this survey's reports.
    """
    return _decrypt(
        keys,
        _info(_ENVELOPE, digest, relay_id),
        sealed,
        relayed_size(packed_size),
        "sealed to the relay's key with this survey's digest and the relay's id",
    )


def open_relayed(
    keys: SealingKeys, digest: str, sealed: bytes, packed_size: int
) -> tuple[UUID, bytes]:
    """Decrypt a report that a relay passed on, and return its id and the packed report.

    Raises ReportError if the report was sealed to another key or for another survey, or altered.
    """
    plaintext = _decrypt(
        keys,
        _info(_RELAYED, digest),
        sealed,
        _ID + packed_size,
        "sealed to this survey's key with its digest",
        field="relayed",
    )
    return UUID(bytes=plaintext[:_ID]), plaintext[_ID:]


def _encrypt(field: str, public_key: str, info: bytes, plaintext: bytes) -> bytes:
    """Encrypt to the public key in a field."""
    try:
        key = X25519PublicKey.from_public_bytes(bytes.fromhex(public_key))
        return _SUITE.encrypt(plaintext, key, info=info)
    except ValueError:
        # Raise without the cause, since the message of the library could quote the bytes.
        raise ParameterError(
            f"{field}: expected an X25519 public key of 64 hexadecimal digits", field=field
        ) from None


def _decrypt(
    keys: SealingKeys, info: bytes, sealed: bytes, size: int, expected: str, field: str = "sealed"
) -> bytes:
    """Decrypt a plaintext of a known size."""
    plaintext = keys.decrypt(sealed, info) if len(sealed) == _ENC + size + _TAG else None
    if plaintext is None:
        raise ReportError(f"cannot be opened; expected a report {expected}", field=field)
    return plaintext


def _info(purpose: bytes, digest: str, bound: UUID | None = None) -> bytes:
    """Return the HPKE info to which sealed bytes are bound."""
    return purpose + bytes.fromhex(digest) + (b"" if bound is None else bound.bytes)
