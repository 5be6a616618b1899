"""Problem details of an error (RFC 9457)."""

from typing import Annotated

from msgspec import Meta

from .base import Message


class Problem(Message, frozen=True, kw_only=True):
    """Problem details of an error (RFC 9457)."""

    type: Annotated[str, Meta(description="A URN that names the problem.")]
    title: Annotated[str, Meta(description="The status in words.")]
    status: Annotated[int, Meta(description="The status of the answer.")]
    detail: Annotated[str, Meta(description="One line for a person.")]
    field: Annotated[str, Meta(description="The member or parameter that is wrong.")] | None = None
    report: Annotated[int, Meta(description="Index of the report in its batch, from 0.")] | None = (
        None
    )
