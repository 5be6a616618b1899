"""Signatures of operators, so that surveys cannot be weakened in transit.

A signature is Ed25519 (RFC 8032) over the digest of a survey and its terms. A client accepts a
survey only if it is signed by an operator key that the client has pinned.
"""

import re
from collections.abc import Collection
from pathlib import Path

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from ..errors import KeyFileError, SignatureError
from .base import check_hexadecimal
from .key_files import create_key_file, format_private_key, parse_private_key, read_key_file
from .terms import Signature, Terms

#: Prefix of the signed message, for domain separation.
_PURPOSE = b"halftruth survey 1\n"

_HEX_64 = re.compile(r"[0-9a-f]{128}", re.ASCII)


class OperatorKey:
    """The private key of an operator."""

    def __init__(self, private: Ed25519PrivateKey) -> None:
        self._private = private

    def __repr__(self) -> str:
        return f"<OperatorKey {self.public}>"

    @classmethod
    def create(cls) -> "OperatorKey":
        """Create a key from the operating system's randomness."""
        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def read(cls, path: str | Path) -> "OperatorKey":
        """Read a key from a PEM file (PKCS #8, not encrypted).

        Raises KeyFileError if the file cannot be read, others can read it, or it has no such key.
        """
        private = parse_private_key(read_key_file(path))
        if not isinstance(private, Ed25519PrivateKey):
            raise KeyFileError(f"{path}: expected an Ed25519 private key in PEM, not encrypted")
        return cls(private)

    def write(self, path: str | Path) -> None:
        """Write the key to a new PEM file (PKCS #8) that only its owner can read.

        Raises KeyFileError if the file exists or cannot be written.
        """
        create_key_file(path, format_private_key(self._private))

    @property
    def public(self) -> str:
        """The public key, as 64 hexadecimal digits."""
        return self._private.public_key().public_bytes_raw().hex()

    def sign(self, message: bytes) -> bytes:
        """Sign any bytes."""
        return self._private.sign(message)


def statement(digest: str, terms: Terms) -> bytes:
    """Return the bytes that an operator signs: purpose, then digest and terms in canonical JSON.

    Newer terms are omitted if they are not used, so that older signatures remain valid.
    """
    signed: dict[str, object] = {
        "digest": digest,
        "invitations": terms.invitations,
        "sealing_key": terms.sealing_key,
    }
    for name in ("opens_at", "closes_at", "max_reports", "shared_devices"):
        if value := getattr(terms, name):
            signed[name] = value
    return _PURPOSE + msgspec.json.encode(signed, order="sorted")


def sign(key: OperatorKey, digest: str, terms: Terms) -> Signature:
    """Sign a survey's digest and terms; ParameterError if digest or sealing key is invalid."""
    check_hexadecimal("digest", digest)
    if terms.sealing_key is not None:
        check_hexadecimal("sealing_key", terms.sealing_key)
    return Signature(key=key.public, value=key.sign(statement(digest, terms)).hex())


def verify(
    signature: Signature | None, digest: str, terms: Terms, operator_keys: Collection[str]
) -> None:
    """Check that one of the pinned operator keys signed a survey's digest and terms.

    The digest has to be computed, not taken from the sender. Raises SignatureError if the signature
    is missing, by another key, or of other content.
    """
    if signature is None or signature.key not in operator_keys:
        wrong = "there is none" if signature is None else "by a key that is not pinned"
        raise SignatureError(
            f"signature: {wrong}; expected one by a pinned operator key", field="signature"
        )
    try:
        if not _HEX_64.fullmatch(signature.value):
            raise InvalidSignature
        public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(signature.key))
        public.verify(bytes.fromhex(signature.value), statement(digest, terms))
    except InvalidSignature:
        raise SignatureError(
            "signature: does not match; expected one of this very digest and these terms",
            field="signature",
        ) from None
