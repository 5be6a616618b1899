"""Delivery of reports to a collector, plain or sealed, with invitations if its terms require them;
or to the relay of the survey only.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, cast
from uuid import UUID

from halftruth_shared import HalftruthError, ParameterError
from halftruth_shared.protocol.reports import (
    Receipt,
    Report,
    ReportBatch,
    SealedBatch,
    SealedReport,
)
from halftruth_shared.protocol.surveys import survey_path

from .catalog import Catalog, Entry
from .drawing import DrawnReport
from .errors import RequestRefused, SurveyRefused

#: Largest number of reports in one request.
BATCH = 1_000

#: Final refusals of a report: survey closed or replaced, invalid report.
FINAL_STATUSES = (409, 422)

#: Further final refusals: of an invitation, or of a ticket.
_FINAL_FIELDS = ((403, "invitation"), (403, "ticket"))

#: Status of the rate limit, which does not apply to surveys with invitations.
TOO_MANY = 429

#: Prefix of a collector's message about one report of a batch.
_NUMBERED = re.compile(r"^report \d+: ")

_INVITATION = re.compile(r"[0-9a-f]{32}", re.ASCII)


@dataclass(frozen=True)
class Submission:
    """Outcome of sending one report.

    Attributes
    ----------
    id : UUID
        Id of the report.
    status : {"accepted", "duplicate", "waiting"}
        Counted now, counted before, or waiting in the outbox until the collector is available. If
        the survey has a relay: received by the relay now, received before, or waiting for it.
    """

    id: UUID
    status: Literal["accepted", "duplicate", "waiting"]


@dataclass(frozen=True)
class Unsent:
    """Reports of one survey that could not be delivered.

    Attributes
    ----------
    survey : str
        Id of the survey.
    reports : int
    reason : str
        Message of the collector, or the reason why its response is invalid, in one line.
    is_waiting : bool
        Whether they wait for a retry; otherwise they were given up.
    """

    survey: str
    reports: int
    reason: str
    is_waiting: bool


@dataclass(frozen=True)
class Delivery:
    """Outcome of sending many reports.

    As text it states how many reports were counted, and the outcome of the others.

    Attributes
    ----------
    accepted, duplicates, waiting : int
        Numbers of reports counted now, counted before, and waiting in the outbox.
    relayed : int
        Number of the accepted and duplicate reports that a relay has, to pass them on.
    unsent : tuple of Unsent
        Undelivered reports with reasons: waiting ones, and those that were given up.
    """

    accepted: int = 0
    duplicates: int = 0
    waiting: int = 0
    unsent: tuple[Unsent, ...] = ()
    relayed: int = 0

    @property
    def is_complete(self) -> bool:
        """Whether every report was counted, now or before."""
        return not self.waiting and not self.unsent

    def __str__(self) -> str:
        counted = self.accepted + self.duplicates
        where = "counted"
        if self.relayed:
            others = counted - self.relayed
            where = f"counted ({others}) or with the relay" if others else "with the relay"
        if self.is_complete:
            return f"all {counted} reports are {where}"
        given_up = sum(each.reports for each in self.unsent if not each.is_waiting)
        parts = [f"{counted} of {counted + self.waiting + given_up} reports are {where}"]
        for each in self.unsent:
            what = "waiting" if each.is_waiting else "given up"
            parts.append(f"survey '{each.survey}', {each.reports} {what}: {each.reason}")
        return f"incomplete: {'; '.join(parts)}"

    def __add__(self, other: "Delivery") -> "Delivery":
        return Delivery(
            self.accepted + other.accepted,
            self.duplicates + other.duplicates,
            self.waiting + other.waiting,
            self.unsent + other.unsent,
            self.relayed + other.relayed,
        )


def check_form(invitations: Sequence[str | None]) -> None:
    """Raise an error that names the position of a malformed invitation, and does not quote it."""
    for i, invitation in enumerate(invitations):
        is_text = isinstance(invitation, str)
        if invitation is not None and not (is_text and _INVITATION.fullmatch(invitation)):
            raise _unexpected(invitations, i, "32 lower-case hexadecimal digits")


def check_required(
    catalog: Catalog, id: str, digest: str, invitations: Sequence[str | None]
) -> None:
    """Check that invitations are given if and only if a survey requires them."""
    required = catalog.entry(id, digest).terms.invitations
    if any((invitation is not None) != required for invitation in invitations):
        # Fetch the terms again before raising an error, since they may have changed.
        required = catalog.entry(id, digest, refresh=True).terms.invitations
    expected = f"none, since survey '{id}' asks for no invitation"
    if required:
        expected = f"32 hexadecimal digits, since survey '{id}' asks for an invitation"
    for i, invitation in enumerate(invitations):
        if (invitation is not None) != required:
            raise _unexpected(invitations, i, expected)


def _unexpected(invitations: Sequence[str | None], i: int, expected: str) -> ParameterError:
    name = "invitation" if len(invitations) == 1 else f"invitation {i}"
    return ParameterError(f"{name}: expected {expected}", field="invitation")


def send(catalog: Catalog, reports: Sequence[DrawnReport]) -> Receipt:
    """Send reports of one survey in one request, and once more if its terms have changed.

    Reports to a survey with a relay go to the relay only; the digest fixes its address and keys.
    """
    survey, digest = reports[0].survey, reports[0].digest
    entry = catalog.entry(survey, digest)
    try:
        return _post(catalog, entry, reports)
    except RequestRefused as error:
        if error.status != 422:
            raise
        changed = catalog.entry(survey, digest, refresh=True)
        if changed.terms == entry.terms:
            raise
    return _post(catalog, changed, reports)


def _post(catalog: Catalog, entry: Entry, reports: Sequence[DrawnReport]) -> Receipt:
    id, terms = entry.survey.id, entry.terms
    if not terms.invitations:
        reports = [replace(report, invitation=None) for report in reports]
    for i, report in enumerate(reports):
        if terms.invitations and report.invitation is None:
            # Raise the error of a collector here, which cannot look into sealed reports.
            raise RequestRefused(
                f"report {i}: survey '{id}' asks for invitations; expected one",
                status=403,
                field="invitation",
                report=i,
            )
    path = survey_path(id, "reports")
    relay = entry.survey.relay
    transport = catalog.transport
    if relay is not None:
        transport = transport.to_relay(relay.url)
    if relay is not None or terms.sealing_key is not None:
        return transport.post(path, Receipt, _sealed_batch(entry, reports))
    plain = [
        Report(
            id=r.id,
            values=list(r.values),
            invitation=r.invitation,
            ticket=None if r.ticket is None else r.ticket.to_text(),
        )
        for r in reports
    ]
    return transport.post(path, Receipt, ReportBatch(digest=reports[0].digest, reports=plain))


def _sealed_batch(entry: Entry, reports: Sequence[DrawnReport]) -> SealedBatch:
    # Import here, since most surveys are not sealed, and cryptography is slow to import.
    from halftruth_shared.protocol.sealing import seal, seal_for_relay
    from halftruth_shared.protocol.tickets import ticket_size

    survey, relay, key = entry.survey, entry.survey.relay, entry.terms.sealing_key or ""
    sealed = []
    try:
        for report in reports:
            packed = survey.report_space.pack(report.values)
            if survey.has_tickets:
                # Zeros stand for none, so that all reports have one length.
                none = bytes(ticket_size(survey))
                packed += none if report.ticket is None else report.ticket.to_bytes()
            # Every report to a survey with a relay was drawn with a relay's id.
            id = report.id if relay is None else cast(UUID, report.relay_id)
            if relay is None:
                content = seal(key, survey.digest, id, packed, report.invitation)
            else:
                content = seal_for_relay(relay, survey.digest, report.id, id, packed)
            sealed.append(SealedReport(id=id, sealed=content))
    except ParameterError as error:
        field = "sealing_key" if relay is None else error.field
        raise SurveyRefused(f"survey '{survey.id}': {error}", field=field) from None
    return SealedBatch(digest=survey.digest, reports=sealed)


def find_refused(error: HalftruthError, reports: Sequence[DrawnReport]) -> Sequence[DrawnReport]:
    """Return the reports that an error refuses finally, so that a retry is pointless."""
    if not isinstance(error, RequestRefused):
        return []
    if error.status not in FINAL_STATUSES and (error.status, error.field) not in _FINAL_FIELDS:
        return []
    if error.report is None or not 0 <= error.report < len(reports):
        return reports
    return [reports[error.report]]


def without_number(message: str) -> str:
    """Return a collector's message without the position of the report in its batch."""
    return _NUMBERED.sub("", message)


def refusal_of_record(error: RequestRefused, order: Sequence[int], accepted: int) -> RequestRefused:
    """Convert the refusal of a batch into an error that names the record, undoing the shuffle."""
    about, message = None, str(error)
    if error.report is not None and 0 <= error.report < min(len(order), BATCH):
        about = order[error.report]
        message = f"record {about}: {without_number(message)}"
    return RequestRefused(
        message, status=error.status, field=error.field, report=about, accepted=accepted
    )
