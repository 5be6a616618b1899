"""Tickets of a relay, which signs them, so that the collector recognizes them without issuing any.

The relay commits itself to the id of a ticket before anybody but the client knows the secret, as a
collector does; see :mod:`.tickets`. It knows which address it issued an id to, and neither the
secret nor the view. The collector learns id and secret from the report, and no address.
"""

from collections.abc import Callable

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from .sealing import SealingKeys
from .tickets import SIGNATURE, Ticket, commit, signed_bytes

#: First line of what a relay signs.
_PURPOSE = b"halftruth relay ticket 1\n"

#: Purpose of the secrets that the keys are derived from.
_DERIVED = b"halftruth relay tickets_key 1"


class TicketKeys:
    """The private keys by which a relay signs tickets, Ed25519 (RFC 8032), newest first.

    Each is derived from a key that reports are sealed to, so that a relay has one file of keys.
    """

    def __init__(self, keys: SealingKeys) -> None:
        seeds = keys.derive(_DERIVED)
        private = [Ed25519PrivateKey.from_private_bytes(seed) for seed in seeds]
        self._private = {key.public_key().public_bytes_raw().hex(): key for key in private}

    def __repr__(self) -> str:
        return f"<TicketKeys {', '.join(self.public)}>"

    @property
    def public(self) -> tuple[str, ...]:
        """The public keys, in the order of the file, each as 64 hexadecimal digits."""
        return tuple(self._private)

    def signer(self, public: str) -> Callable[[bytes], bytes] | None:
        """Return what signs the bytes of a ticket with the key of a public one; None without it."""
        private = self._private.get(public)
        return None if private is None else lambda message: private.sign(_PURPOSE + message)


def is_signed(public: str, digest: str, ticket: Ticket) -> bool:
    """Return whether a relay signed a ticket, for the commitment to its secret."""
    message = signed_bytes(digest, ticket.id, commit(digest, ticket.secret))
    if len(ticket.code) != SIGNATURE:
        return False
    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public))
        key.verify(ticket.code, _PURPOSE + message)
    except InvalidSignature:
        return False
    return True
