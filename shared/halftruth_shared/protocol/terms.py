"""How a collector takes reports, and who signed that."""

from typing import Annotated

from msgspec import Meta

from .base import PublicKey, Request, SignatureValue


class Terms(Request, frozen=True, kw_only=True):
    """How a collector takes the reports of a survey.

    `invitations` says whether each report needs a single-use token; `sealing_key` is the X25519
    public key (hexadecimal) that every report is encrypted to, None where none is.
    """

    invitations: Annotated[
        bool, Meta(description="Whether each report needs a single-use invitation.")
    ] = False
    sealing_key: (
        Annotated[
            PublicKey, Meta(description="X25519 public key that every report is encrypted to.")
        ]
        | None
    ) = None


class Signature(Request, frozen=True, kw_only=True):
    """An operator's Ed25519 signature of a survey's digest and terms, both in hexadecimal."""

    key: Annotated[PublicKey, Meta(description="The operator's Ed25519 public key.")]
    value: Annotated[SignatureValue, Meta(description="Signature of the digest and the terms.")]


class SignedTerms(Request, frozen=True, kw_only=True):
    """How reports are to be taken from now on, and the signature of that."""

    terms: Terms
    signature: Signature | None = None
