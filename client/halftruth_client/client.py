"""The respondent's side: fetch a survey, perturb a record, send the report."""

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from uuid import UUID, uuid4

import requests
from halftruth_shared import HalftruthError, ParameterError, RecordError, Survey
from halftruth_shared.messages import Receipt
from halftruth_shared.rational import Rational

from .announcements import Announcements, Floor
from .errors import AnsweredBefore, CollectorUnavailable, RequestRefused
from .invitations import check_form, check_wanted, fit
from .outbox import Outbox, StoredReport
from .perturbing import perturb, perturb_many
from .sending import Sender
from .transport import Transport

#: Reports in one request.
BATCH = 1_000

#: Answers that make sending the same report again pointless: closed or replaced, not a report.
_FINAL = (409, 422)

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Submission:
    """What became of one report.

    Attributes
    ----------
    id : UUID
        Of the report.
    status : {"accepted", "duplicate", "waiting"}
        Counted now, counted before, or kept in the outbox until the collector can be reached.
    """

    id: UUID
    status: Literal["accepted", "duplicate", "waiting"]


@dataclass(frozen=True)
class Delivery:
    """What became of many reports: how many were counted now, before, or are waiting."""

    accepted: int = 0
    duplicates: int = 0
    waiting: int = 0

    def __add__(self, other: "Delivery") -> "Delivery":
        return Delivery(
            self.accepted + other.accepted,
            self.duplicates + other.duplicates,
            self.waiting + other.waiting,
        )


class Client:
    """Perturbs records on this device and sends the reports to one collector.

    A true record is never logged, stored, sent or put into an error.

    Parameters
    ----------
    url : str
        Address of the collector.
    max_gamma : Fraction, int or str
        Privacy floor: a survey with a larger amplification is refused.
    unprotected : collection of str
        Attributes that may be sent as they are. The floor is then about the other ones, given
        these. Whether an attribute is sensitive is for the one who asks the respondent to say;
        what the survey says of it is not trusted.
    operator_keys : collection of str
        Public keys of the operators that are trusted, each of 64 hexadecimal digits. With any, a
        survey that none of them signed as it is, terms included, is refused.
    outbox : str or Path, optional
        File in which reports wait that could not be sent, and in which the reports of known
        respondents are remembered. Without it such a report is lost and an error says so.
    retries, backoff, timeout, session
        See :class:`~halftruth_client.transport.Transport`.

    Raises
    ------
    ParameterError
        If the address, the floor or a key is not one.
    """

    def __init__(
        self,
        url: str,
        *,
        max_gamma: Rational,
        unprotected: Collection[str] = (),
        operator_keys: Collection[str] = (),
        outbox: str | Path | None = None,
        retries: int = 5,
        backoff: float = 0.5,
        timeout: float = 10.0,
        session: requests.Session | None = None,
    ) -> None:
        self._floor = Floor(max_gamma, unprotected)
        self._transport = Transport(
            url, retries=retries, backoff=backoff, timeout=timeout, session=session
        )
        self._announcements = Announcements(self._transport, operator_keys)
        self._sender = Sender(self._transport, self._announcements)
        self._outbox = None if outbox is None else Outbox(outbox)

    def survey(self, id: str) -> Survey:
        """Fetch a survey, verify digest and signature and hold it against the privacy floor.

        Raises
        ------
        SurveyRefused
            If the digest is not that of the survey, no pinned operator signed it, or the
            amplification exceeds the floor.
        RequestRefused, CollectorUnavailable
        SurveyError, SchemaError, ParameterError
            If what the collector sent is not a survey.
        """
        survey, announced = self._announcements.fetch(id)
        self._floor.check(survey)
        self._announcements.remember(survey, announced)
        return survey

    def submit(
        self,
        survey: Survey,
        record: Mapping[str, str],
        *,
        respondent: str | None = None,
        invitation: str | None = None,
    ) -> Submission:
        """Perturb a record and send the report.

        Parameters
        ----------
        survey : Survey
        record : mapping of str to str
            One answer for each attribute.
        respondent : str, optional
            A key that stays with this person. If they answer again, the report they gave before
            is sent again, whatever they answer now: two fresh draws of one record tell more than
            one. Needs an outbox, which remembers the report and never the record.
        invitation : str, optional
            This person's single-use invitation of 32 hexadecimal digits, where the survey asks
            for one.

        Raises
        ------
        RecordError
            If the record does not fit the survey; the message names the attribute and never the
            answer.
        ParameterError
            If the invitation is missing, is none, or is not asked for; nothing was sent.
        SurveyRefused
            If the survey protects less than the floor, or the collector's terms for it are not
            signed as asked.
        AnsweredBefore
            If this respondent answered another version of this survey.
        RequestRefused
            If the collector refuses the report, for instance since the survey is closed.
        CollectorUnavailable
            If it could not be sent and there is no outbox to keep it.
        """
        self._floor.check(survey)
        if respondent is not None and self._outbox is None:
            raise ParameterError(
                "respondent: expected a client with an outbox, which remembers the report",
                field="outbox",
            )
        remembered = None if respondent is None else self._remembered(survey, respondent)
        report = perturb(survey, record) if remembered is None else remembered.values
        # From here on no frame of this call holds the record, whatever goes wrong.
        del record
        if isinstance(report, RecordError):
            raise report
        if invitation is None and remembered is not None:
            invitation = remembered.invitation
        reachable = self._check_invitations(survey, [invitation])
        if remembered is None:
            [stored] = self._keep(survey, [report], [invitation], respondent)
        else:
            stored = self._invite(remembered, invitation)
        if not reachable:
            return Submission(stored.id, "waiting")
        try:
            receipt = self._send([stored])
        except CollectorUnavailable:
            if self._outbox is None:
                raise
            return Submission(stored.id, "waiting")
        self._flush_quietly()
        return Submission(stored.id, "accepted" if receipt.accepted else "duplicate")

    def submit_many(
        self,
        survey: Survey,
        records: Iterable[Mapping[str, str]],
        *,
        invitations: Iterable[str] | None = None,
        progress: Callable[[int], object] | None = None,
    ) -> Delivery:
        """Perturb many records, each by itself, and send the reports in batches.

        Every record is read and perturbed before anything is sent, so that one that does not fit
        stops all of them. With an outbox all reports are written down before the first is sent.

        Parameters
        ----------
        survey : Survey
        records : iterable of mappings
            Of different respondents.
        invitations : iterable of str, optional
            One for each record, in their order, where the survey asks for invitations.
        progress : callable, optional
            Called with the number of reports of each batch once it is settled.

        Raises
        ------
        RecordError
            Naming the first record that does not fit, counted from 0, and its attribute.
        ParameterError
            If invitations are missing, are none, or are not asked for; nothing was sent.
        SurveyRefused
        RequestRefused
            If the collector refuses a batch; ``accepted`` says how many reports were counted
            before, and ``report`` which one it was, if it was one. With an outbox the others wait
            there.
        CollectorUnavailable
            If a batch could not be sent and there is no outbox to keep it; its ``accepted`` says
            how many reports were counted before. With an outbox all others wait there.
        """
        self._floor.check(survey)
        given = None if invitations is None else list(invitations)
        reports = perturb_many(survey, records, given)
        del records
        if isinstance(reports, HalftruthError):
            raise reports
        invited: Sequence[str | None] = [None] * len(reports) if given is None else given
        if not reports:
            return Delivery()
        reachable = self._check_invitations(survey, invited)
        stored = self._keep(survey, reports, invited, None)
        delivery = Delivery()
        for start in range(0, len(stored), BATCH):
            batch = stored[start : start + BATCH]
            if reachable:
                try:
                    receipt = self._send(batch)
                    delivery += Delivery(receipt.accepted, receipt.duplicates)
                except RequestRefused as error:
                    raise _refusal(error, start, len(batch), delivery.accepted) from None
                except CollectorUnavailable as error:
                    if self._outbox is None:
                        raise CollectorUnavailable(str(error), accepted=delivery.accepted) from None
                    reachable = False
            if not reachable:
                delivery += Delivery(waiting=len(batch))
            if progress is not None:
                progress(len(batch))
        return delivery

    def flush(self) -> Delivery:
        """Send the reports that wait in the outbox.

        Raises
        ------
        RequestRefused
            If the collector refuses some of them. Those of a closed or replaced survey and those
            without a valid invitation are given up, all others keep waiting.
        SurveyRefused
            If its terms for their survey are not signed as asked; the reports keep waiting.
        CollectorUnavailable
            If it still cannot be reached; the reports keep waiting.
        """
        delivery = Delivery()
        while (sent := self._flush_batch()) is not None:
            delivery += sent
        return delivery

    def _flush_batch(self) -> Delivery | None:
        """Send one batch of what waits; None where nothing does."""
        if self._outbox is None:
            return None
        waiting = self._outbox.waiting(self._transport.url, BATCH)
        if not waiting:
            return None
        receipt = self._send(waiting)
        return Delivery(receipt.accepted, receipt.duplicates)

    def _flush_quietly(self) -> None:
        """Send some of what waits, now that the collector answers.

        One batch at most, and no error: the caller asked for another report, and waits.
        """
        try:
            self._flush_batch()
        except HalftruthError as error:
            _log.warning("reports in the outbox could not be sent: %s", error)

    def _remembered(self, survey: Survey, respondent: str) -> StoredReport | None:
        """The report that this respondent gave before."""
        if self._outbox is None:
            return None
        stored = self._outbox.find(self._transport.url, survey.id, respondent)
        if stored is not None and stored.digest != survey.digest:
            raise AnsweredBefore(
                f"survey '{survey.id}': this respondent answered another version of it, and a"
                " second draw of the same answers would tell more than one",
                field="respondent",
            )
        return stored

    def _check_invitations(self, survey: Survey, invitations: Sequence[str | None]) -> bool:
        """Refuse invitations that the survey does not ask for, before any report is kept.

        Returns
        -------
        bool
            False where the collector cannot be reached, and reports have to wait for its terms.
        """
        check_form(invitations)
        try:
            terms = self._announcements.of(survey.id, survey.digest).terms
            if not fit(invitations, terms.invitations):
                # Before the caller is blamed: the terms may have changed.
                terms = self._announcements.of(survey.id, survey.digest, again=True).terms
        except CollectorUnavailable:
            if self._outbox is None:
                raise
            return False
        except RequestRefused as error:
            if error.status in _FINAL:
                raise
            # Sending will be refused too, but the report may be wanted later.
            return True
        check_wanted(invitations, survey.id, terms.invitations)
        return True

    def _keep(
        self,
        survey: Survey,
        reports: Sequence[tuple[int, ...]],
        invitations: Sequence[str | None],
        respondent: str | None,
    ) -> list[StoredReport]:
        """Give each report an id, and write it down where there is an outbox."""
        stored = [
            StoredReport(uuid4(), survey.id, survey.digest, report, invitation)
            for report, invitation in zip(reports, invitations, strict=True)
        ]
        if self._outbox is None:
            return stored
        return self._outbox.add(self._transport.url, stored, respondent)

    def _invite(self, remembered: StoredReport, invitation: str | None) -> StoredReport:
        """A remembered report with the invitation that was given now."""
        if self._outbox is None or invitation is None or invitation == remembered.invitation:
            return remembered
        return self._outbox.invite(remembered, invitation)

    def _send(self, reports: Sequence[StoredReport]) -> Receipt:
        """Send reports of one survey in one request, and settle them with the outbox."""
        try:
            receipt = self._sender.send(reports)
        except RequestRefused as error:
            self._settle(_given_up(error, reports))
            raise
        self._settle(reports)
        return receipt

    def _settle(self, reports: Sequence[StoredReport]) -> None:
        if self._outbox is not None:
            self._outbox.settle(reports)


def _given_up(error: RequestRefused, reports: Sequence[StoredReport]) -> Sequence[StoredReport]:
    """The reports that it is pointless to send again after this answer."""
    if error.status not in _FINAL and (error.status, error.field) != (403, "invitation"):
        return []
    if error.report is None or not 0 <= error.report < len(reports):
        return reports
    return [reports[error.report]]


def _refusal(error: RequestRefused, start: int, size: int, accepted: int) -> RequestRefused:
    """The refusal of one batch as one of all records."""
    return RequestRefused(
        f"records {start} to {start + size - 1}: {error}",
        status=error.status,
        field=error.field,
        report=None if error.report is None else start + error.report,
        accepted=accepted,
    )
