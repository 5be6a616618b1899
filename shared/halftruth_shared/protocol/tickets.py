"""Tickets: who draws the view of a report is neither its sender nor its collector.

The view of a split questionnaire is part of the report, so it need not be drawn in secret. Whoever
may choose it makes up reports that weigh many people; a collector that chose it could ask one
person for exactly one question. So both contribute, and neither can answer the other: the client
commits to random bytes, its *secret*, before it knows the id of its ticket; the issuer draws the id
before it knows the secret. The view follows from both. Nobody else can spend the ticket, since the
commitment hides the secret.

The issuer is the collector, which recognizes its own tickets by a code, or the relay of the survey,
whose signature the collector checks (:mod:`.signed_tickets`). The collector issues none then, since
the request would tell it whose report has which id.

The view follows neither from the id alone nor from an invitation: counts are kept by view, and the
id is stored, so that it would name its report.
"""

import hashlib
import hmac
import re
import secrets
from bisect import bisect_right
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..errors import ReportError
from ..mechanisms import Perturbation

if TYPE_CHECKING:
    from ..survey import Survey

#: Numbers of bytes of a secret, of the id of a ticket, of a collector's code, and of a relay's.
SECRET, ID, CODE, SIGNATURE = 32, 16, 32, 64

#: First line of what a commitment is the hash of.
_COMMITMENT = b"halftruth ticket 1\n"

_COMMITMENT_DIGITS = re.compile(rf"[0-9a-f]{{{2 * SECRET}}}", re.ASCII)
_ISSUED_DIGITS = re.compile(rf"(?:[0-9a-f]{{2}}){{{ID + 1},}}", re.ASCII)


@dataclass(frozen=True)
class Ticket:
    """A ticket for one report to one version of one survey.

    Attributes
    ----------
    id : bytes
        Drawn by the issuer, which accepts it once.
    secret : bytes
        Drawn by the client; the issuer sees it with the report alone, and does not keep it.
    code : bytes
        By which it is recognized that `id` was issued for the commitment to `secret`: that of a
        collector, or the signature of a relay.
    """

    id: bytes
    secret: bytes = field(repr=False)
    code: bytes = field(repr=False)

    def to_text(self) -> str:
        """Return the ticket as it is sent with a report: id, secret and code, hexadecimal."""
        return (self.id + self.secret + self.code).hex()

    @classmethod
    def from_text(cls, text: str) -> "Ticket":
        """Return the ticket of a report; ReportError, which does not quote it, if it is none."""
        packed = b""
        with suppress(ValueError):
            packed = bytes.fromhex(text)
        # There is one notation, which the conversion does not check.
        if len(packed) <= ID + SECRET or packed.hex() != text:
            raise ReportError("ticket: expected its hexadecimal digits", field="ticket")
        return cls.from_bytes(packed)

    def to_bytes(self) -> bytes:
        """Return id, secret and code."""
        return self.id + self.secret + self.code

    @classmethod
    def from_bytes(cls, packed: bytes) -> "Ticket":
        """Return the ticket with these bytes."""
        return cls(packed[:ID], packed[ID : ID + SECRET], packed[ID + SECRET :])

    @classmethod
    def of_issued(cls, issued: str, secret: bytes) -> "Ticket":
        """Return the ticket of a client with this secret, from id and code as they were issued.

        Raises ReportError if these are none.
        """
        if not _ISSUED_DIGITS.fullmatch(issued):
            raise ReportError("ticket: expected the digits of an id and a code", field="ticket")
        packed = bytes.fromhex(issued)
        return cls(packed[:ID], secret, packed[ID:])


def ticket_size(survey: "Survey") -> int:
    """Return the number of bytes of a ticket in a sealed report; 0 if the survey has no tickets."""
    if not survey.has_tickets:
        return 0
    return ID + SECRET + (CODE if survey.relay is None else SIGNATURE)


def new_secret() -> bytes:
    """Draw the secret of a ticket from the operating system's randomness."""
    return secrets.token_bytes(SECRET)


def commit(digest: str, secret: bytes) -> bytes:
    """Return the commitment to a secret, for the survey with a digest."""
    return hashlib.sha256(_COMMITMENT + bytes.fromhex(digest) + secret).digest()


def read_commitments(texts: Sequence[str]) -> list[bytes]:
    """Return commitments from their digits; ReportError if one is none."""
    for text in texts:
        if not _COMMITMENT_DIGITS.fullmatch(text):
            raise ReportError(
                "commitments: expected 64 lower-case hexadecimal digits of each",
                field="commitments",
            )
    return [bytes.fromhex(text) for text in texts]


def signed_bytes(digest: str, id: bytes, commitment: bytes) -> bytes:
    """Return what the code of a ticket is a code of."""
    return bytes.fromhex(digest) + id + commitment


def issue(authenticate: Callable[[bytes], bytes], digest: str, commitment: bytes) -> str:
    """Issue a ticket for a commitment, and return the digits of its id and code.

    The id is drawn here, after the client has committed itself, from the operating system's
    randomness. `authenticate` returns the code of some bytes: those of :func:`signed_bytes`.
    """
    id_ = secrets.token_bytes(ID)
    return (id_ + authenticate(signed_bytes(digest, id_, commitment))).hex()


def code_by(key: bytes, message: bytes) -> bytes:
    """Return a collector's code of some bytes: HMAC-SHA-256 with the key of the survey."""
    return hmac.digest(key, message, "sha256")


def is_issued(key: bytes, digest: str, ticket: Ticket) -> bool:
    """Return whether a collector issued a ticket with a key, for the commitment to its secret."""
    expected = code_by(key, signed_bytes(digest, ticket.id, commit(digest, ticket.secret)))
    return hmac.compare_digest(expected, ticket.code)


def draw_view(perturbation: Perturbation, digest: str, id: bytes, secret: bytes) -> int:
    """Return the number of the view that follows from a ticket.

    It is an exact draw with the weights of the views: an integer below their sum, by the rule of
    every exact draw, from the bytes of SHA-256(digest, id, secret, counter), counter 0, 1, ….
    """
    outcomes = perturbation.cumulative_weights[-1]
    seed = bytes.fromhex(digest) + id + secret
    bits = outcomes.bit_length()
    size = (bits + 7) // 8
    stream, counter = b"", 0
    while True:
        stream += hashlib.sha256(seed + counter.to_bytes(4)).digest()
        while len(stream) >= size:
            number, stream = int.from_bytes(stream[:size]) >> (8 * size - bits), stream[size:]
            if number < outcomes:
                return bisect_right(perturbation.cumulative_weights, number)
        counter += 1
