"""Messages between operators and a collector that belong to no single action."""

from typing import Annotated

from halftruth_shared.protocol.base import Message, Request, prepare
from msgspec import Meta

from ..confirmation import EVERY


class Health(Message, frozen=True, kw_only=True):
    """State of the collector."""

    status: str


class Confirmation(Request, frozen=True, kw_only=True):
    """Confirmation of a final action."""

    confirm: (
        Annotated[
            str,
            Meta(
                description="Repeats the id of the survey, or the key, that the call is about. For"
                f" a purge: the ids of all surveys, with commas, or `{EVERY}`."
            ),
        ]
        | None
    ) = None


prepare(Message)
prepare(Request)
