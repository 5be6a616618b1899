"""Messages with reports for a collector, and about invitations."""

from typing import Annotated
from uuid import UUID

import msgspec
from msgspec import Meta

from .base import (
    Commitment,
    Digest,
    Invitation,
    InvitationHash,
    IssuedTicket,
    Message,
    Request,
    TicketDigits,
)

_Id = Annotated[
    UUID, Meta(description="Random UUID of the report, the same whenever it is sent again.")
]


class Report(Request, frozen=True, kw_only=True):
    """One perturbed record, with invitation and ticket (hexadecimal) if they are required."""

    id: _Id
    values: Annotated[
        list[Annotated[int, Meta(extra_json_schema={"minimum": 0})]],
        Meta(description="One number for each column of the report, from 0."),
    ]
    invitation: (
        Annotated[
            Invitation,
            Meta(description="Single-use invitation, if the survey requires one."),
        ]
        | None
    ) = None
    ticket: (
        Annotated[
            TicketDigits,
            Meta(description="Ticket from which the view follows, if the survey requires one."),
        ]
        | None
    ) = None


class ReportBatch(Request, frozen=True, kw_only=True):
    """Reports that are counted together or not at all."""

    digest: Digest
    reports: list[Report]


class SealedReport(Request, frozen=True, kw_only=True):
    """One perturbed record, with its ticket and invitation, encrypted to the collector's key."""

    id: _Id
    sealed: Annotated[
        bytes,
        Meta(
            description="The encrypted report, base64 with padding.",
            extra_json_schema={"pattern": "^[A-Za-z0-9+/]*={0,2}$"},
        ),
    ]


class SealedBatch(Request, frozen=True, kw_only=True):
    """Sealed reports that are counted together or not at all."""

    digest: Digest
    reports: Annotated[list[SealedReport], Meta(extra_json_schema={"minItems": 1})]


class RelayedBatch(Request, frozen=True, kw_only=True):
    """Reports that a relay passes on, in random order and without the ids that the relay knows."""

    digest: Digest
    relayed: Annotated[
        list[
            Annotated[
                bytes,
                Meta(
                    description="The report with its id, encrypted to the survey's sealing key,"
                    " base64 with padding.",
                    extra_json_schema={"pattern": "^[A-Za-z0-9+/]*={0,2}$"},
                ),
            ]
        ],
        Meta(extra_json_schema={"maxItems": 1000}),
    ]
    finished: Annotated[
        bool, Meta(description="Whether the relay has no more reports of this survey to pass on.")
    ] = False


class Receipt(Message, frozen=True, kw_only=True, omit_defaults=True):
    """Numbers of reports of a batch that were counted now, and that were counted before."""

    accepted: Annotated[int, Meta(ge=0, description="Number of reports that were counted now.")]
    duplicates: Annotated[
        int, Meta(ge=0, description="Number of reports that had been counted before.")
    ]
    refused: Annotated[
        int,
        Meta(
            ge=0,
            description="Number of reports from a relay that cannot be decrypted, do not fit the"
            " survey or lack a valid ticket.",
        ),
    ] = 0


class InvitationCheck(Request, frozen=True, kw_only=True):
    """Query for an invitation by its hash, which cannot be used to send a report."""

    hash: InvitationHash


class InvitationState(Message, frozen=True, kw_only=True):
    """State of an invitation."""

    unspent: Annotated[
        bool,
        Meta(
            description="Whether the invitation was issued here and is neither used nor withdrawn."
        ),
    ]


class TicketRequest(Request, frozen=True, kw_only=True):
    """Request for tickets, one for each commitment."""

    digest: Digest
    commitments: Annotated[
        list[Commitment], Meta(extra_json_schema={"minItems": 1, "maxItems": 1000})
    ]
    invitations: Annotated[
        list[InvitationHash],
        Meta(
            description="The invitation of each, as its hash, if the survey requires them; each"
            " admits three tickets."
        ),
    ] = msgspec.field(default_factory=list)


class IssuedTickets(Message, frozen=True, kw_only=True):
    """Issued tickets, in the order of their commitments."""

    tickets: Annotated[
        list[IssuedTicket], Meta(description="Id and code of each, hexadecimal, without a space.")
    ]
