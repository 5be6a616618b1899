"""Sealed reports, and the key that every collector of this suite opens them with."""

import base64
from uuid import UUID

from halftruth_shared.protocol.sealing import SealingKeys, seal

KEYS = SealingKeys.create()

#: Bytes of an invitation, which ends what is sealed.
_INVITATION = 16


def seal_report(digest: str, id_: UUID, cell: bytes, invitation: str | None) -> str:
    """A packed report with its invitation, as it is sent."""
    content = seal(KEYS.public[0], digest, id_, cell, invitation)
    return base64.b64encode(content).decode()


def open_report(digest: str, id_: UUID, sealed: str) -> tuple[bytes, str] | None:
    """Packed report and invitation; None if they were sealed for another survey or id.

    What it is bound to is written here once more, from the protocol and not by the program.
    """
    info = b"halftruth sealed report 1\n" + bytes.fromhex(digest) + id_.bytes
    opened = KEYS.decrypt(base64.b64decode(sealed), info)
    return None if opened is None else (opened[:-_INVITATION], opened[-_INVITATION:].hex())
