"""Terms on which a collector accepts reports, and their signature."""

from datetime import UTC, datetime
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from .base import PublicKey, Request, SignatureValue

Invitations = Annotated[
    bool, Meta(description="Whether each report needs a single-use invitation.")
]
SealingKey = Annotated[
    PublicKey, Meta(description="X25519 public key to which every report is sealed (encrypted).")
]
OpensAt = Annotated[datetime, Meta(tz=True, description="Time before which no report is counted.")]
ClosesAt = Annotated[datetime, Meta(tz=True, description="Time from which no report is counted.")]
MaxReports = Annotated[
    int, Meta(ge=1, le=2**53 - 1, description="Number of reports after which no more are counted.")
]
SharedDevices = Annotated[
    bool,
    Meta(description="Whether several people may answer on one device, one after the other."),
]


class Terms(Request, frozen=True, kw_only=True):
    """Terms on which a collector accepts the reports of a survey.

    `invitations` says whether each report needs a single-use token; `sealing_key` is the X25519
    public key (hexadecimal) to which every report is encrypted, or None without encryption. No
    report is counted before `opens_at`, from `closes_at` on, or after `max_reports` reports. With
    `shared_devices`, several people can answer on one device, one after the other.
    """

    invitations: Invitations = False
    sealing_key: SealingKey | None = None
    opens_at: OpensAt | None = None
    closes_at: ClosesAt | None = None
    max_reports: MaxReports | None = None
    shared_devices: SharedDevices = False

    def __post_init__(self) -> None:
        for name in ("opens_at", "closes_at"):
            given: datetime | None = getattr(self, name)
            if given is not None:
                # The format of the time is unique, since it is signed.
                moment = given.astimezone(UTC).replace(microsecond=0)
                msgspec.structs.force_setattr(self, name, moment)

    def is_early(self, now: datetime) -> bool:
        """Return whether the survey opens later."""
        return self.opens_at is not None and now < self.opens_at


class Signature(Request, frozen=True, kw_only=True):
    """An operator's Ed25519 signature of a survey's digest and terms, both in hexadecimal."""

    key: Annotated[PublicKey, Meta(description="The operator's Ed25519 public key.")]
    value: Annotated[SignatureValue, Meta(description="Signature of the digest and the terms.")]


class SignedTerms(Request, frozen=True, kw_only=True):
    """New terms of a survey, and their signature."""

    terms: Terms
    signature: Signature | None = None


class TermsPatch(Request, frozen=True, kw_only=True):
    """Terms to change: an absent term is kept, and null removes a term."""

    invitations: Invitations | UnsetType = UNSET
    sealing_key: SealingKey | UnsetType | None = UNSET
    opens_at: OpensAt | UnsetType | None = UNSET
    closes_at: ClosesAt | UnsetType | None = UNSET
    max_reports: MaxReports | UnsetType | None = UNSET
    shared_devices: SharedDevices | UnsetType = UNSET


class TermsChange(Request, frozen=True, kw_only=True):
    """Changes of terms, and the signature of the resulting terms.

    A signature covers all terms: a change of signed terms needs a new signature, or null.
    """

    terms: TermsPatch
    signature: Signature | UnsetType | None = UNSET
