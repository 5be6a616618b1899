"""Check of an invitation that was not used yet."""

from typing import Annotated

from msgspec import Meta

from .base import InvitationHash, Message, Request


class InvitationCheck(Request, frozen=True, kw_only=True):
    """Query for an invitation by its hash, which is no use for sending a report."""

    hash: InvitationHash


class InvitationState(Message, frozen=True, kw_only=True):
    """State of an invitation."""

    unspent: Annotated[
        bool, Meta(description="Whether it was issued here, and neither used nor withdrawn.")
    ]
