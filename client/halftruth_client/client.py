"""Respondents' client: fetch a survey, perturb a record, send the report."""

import logging
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from random import SystemRandom
from typing import TYPE_CHECKING

from halftruth_shared import HalftruthError, ParameterError, Survey
from halftruth_shared.protocol.reports import Receipt
from halftruth_shared.rational import Rational

from .catalog import Catalog
from .delivery import (
    BATCH,
    FINAL_STATUSES,
    TOO_MANY,
    Delivery,
    Submission,
    Unsent,
    check_form,
    check_required,
    find_refused,
    refusal_of_record,
    send,
    without_number,
)
from .drawing import DrawnReport, PersonRecord, Unsettled, draw
from .errors import (
    AnsweredBefore,
    CollectorUnavailable,
    RequestRefused,
    SurveyRefused,
    check_callable,
    check_id,
    check_iterable,
    check_kind,
    check_number,
    check_respondent,
    check_survey,
)
from .ledger import Ledger, LedgerEntry
from .policy import PrivacyPolicy

if TYPE_CHECKING:
    import requests
    from halftruth_shared.protocol.tickets import Ticket

    from .outbox import Outbox
    from .ticketing import Tickets

_log = logging.getLogger(__name__)

#: Seconds for which `_flush_quietly` passes over a survey whose reports could not be sent.
_PASSED_OVER = 60.0


@cache
def _unsettled() -> Unsettled:
    """Return the unacknowledged reports of failed calls, shared by all clients of this process."""
    return Unsettled()


class Client:
    """Client for respondents: perturbs records on this device, and sends reports to a collector.

    Reports to a survey with a relay go to the relay only, which passes them on.

    A true record is never logged, stored, sent or included in an error. Its report is drawn once:
    every retry sends the same report, with the same id, until it is acknowledged (at-least-once
    delivery), and the collector counts it exactly once.

    What a client remembers of a person (one report to each survey, and the ledger of all reports)
    is in the outbox, a file that all processes of a machine have to share. Processes on another
    machine have another file, and know nothing of these reports.

    Parameters
    ----------
    url : str
        Address of the collector.
    max_gamma : Fraction, int or str
        Largest accepted amplification of a record; other surveys are refused.
    max_answer_gamma : Fraction, int or str, optional
        Largest accepted amplification of an answer, to someone who knows all other answers: a limit
        instead of `max_gamma` for surveys with the promise "answer". Whoever does not know the
        other answers can learn more of one. By default `max_gamma` limits those surveys, too.
    unprotected : collection of str
        Attributes that may be sent unperturbed; they are excluded from the amplification. The
        caller decides whether an attribute is sensitive, not the survey. The name of an attribute
        does not determine its question, so a survey with such an attribute is refused unless its
        digest or an operator's key is pinned.
    digests : collection of str
        Digests of the accepted surveys, as ``halftruth survey check`` prints them; by default all
        surveys are accepted.
    operator_keys : collection of str
        Pinned public keys of operators, each of 64 hexadecimal digits. With pins, a survey is
        refused unless one of the keys has signed it with its present terms.
    max_total_gamma : Fraction, int or str, optional
        Largest accepted amplification of all reports of a respondent together, to any surveys,
        whoever signed them. Requires an outbox.
    outbox : str or Path, optional
        File for waiting reports, and for the reports and ledgers of known respondents: one for all
        processes of the machine. With an outbox, every call except :meth:`flush` makes one attempt
        with a timeout of at most 3 seconds, and a report that was not acknowledged waits. Without
        one, every call retries, and raises an error if a report cannot be sent.
    token : str, optional
        An operator's token, for programs that send the reports of many people: it exempts them from
        the rate limit of the collector.
    retries, backoff, timeout, session
        See :class:`~halftruth_client.transport.Transport`; with an outbox, for :meth:`flush`.

    Raises
    ------
    ParameterError
        If the address, the outbox, a key or a largest amplification is invalid, or if
        `max_total_gamma` has no outbox.
    MissingExtra
        If a key is pinned and cryptography, the extra ``sealed``, is not installed.
    """

    def __init__(
        self,
        url: str,
        *,
        max_gamma: Rational,
        max_answer_gamma: Rational | None = None,
        unprotected: Collection[str] = (),
        digests: Collection[str] = (),
        operator_keys: Collection[str] = (),
        max_total_gamma: Rational | None = None,
        outbox: str | Path | None = None,
        token: str | None = None,
        retries: int = 5,
        backoff: float = 0.5,
        timeout: float = 10.0,
        session: "requests.Session | None" = None,
    ) -> None:
        self._policy = PrivacyPolicy(
            max_gamma,
            unprotected,
            digests,
            is_signed=bool(operator_keys),
            max_total_gamma=max_total_gamma,
            max_answer_gamma=max_answer_gamma,
        )
        # Import here, since requests takes longer to import than everything else.
        from .transport import Transport

        self._transport = Transport(
            url, token=token, retries=retries, backoff=backoff, timeout=timeout, session=session
        )
        #: Catalog over a connection that retries, for `flush`.
        self._patient = Catalog(self._transport, operator_keys, max_total_gamma is not None)
        self._catalog = self._patient
        self._outbox: Outbox | None = None
        if outbox is not None:
            self._catalog = self._patient.over(self._transport.once())
            self._outbox = _open_outbox(outbox)
        elif max_total_gamma is not None:
            raise _no_outbox("max_total_gamma")
        #: Whether the collector exempts the reports of this client from tickets. A relay does not,
        #: since it is never sent the token.
        self._is_exempt = token is not None
        self._tickets = cache(partial(_make_tickets, self._outbox))
        self._unsettled = _unsettled()
        #: Times until which `_flush_quietly` passes over surveys, by id and digest.
        self._passed_over: dict[tuple[str, str], float] = {}
        #: Whether it was logged that reports wait; reset when a report is counted.
        self._is_announced = False

    def survey(self, id: str, *, respondent: str | None = None) -> Survey:
        """Fetch a survey, verify its digest and signature, and check it against the policy.

        Parameters
        ----------
        respondent : str, optional
            Key of the respondent, to check the survey against their ledger before anything is
            asked. Requires an outbox.

        Raises
        ------
        SurveyRefused
            If the digest is wrong or not pinned, no pinned operator signed the survey, its
            amplification exceeds `max_gamma` or `max_answer_gamma`, or the respondent's reports
            together would exceed the total of the series or `max_total_gamma`; if several people
            may answer it on one device although a total limits their reports; if it opens later,
            unless the respondent has a report in the outbox; if it is sealed,
            signed or relayed and cryptography is not installed; or if its relay answers that it
            takes no reports of it.
            The relay is asked unless the respondent has a report in the outbox, or questions depend
            on answers.
        RequestRefused, CollectorUnavailable
        SurveyError, SchemaError, ParameterError
            If the response is not a valid survey; or if there is no outbox, which a `respondent`
            and a survey of a series require.
        """
        check_id(id)
        if respondent is not None:
            check_respondent(respondent)
        outbox = None if respondent is None else self._outbox_for("respondent")
        entry = self._catalog.fetch(id)
        self._policy.check(entry.survey)
        if entry.survey.series is not None:
            self._outbox_for(f"the series of survey '{id}'")
        self._catalog.accept(entry)
        if outbox is not None and respondent is not None:
            if outbox.find(id, respondent) is not None:
                return entry.survey
            self._check_ledger(outbox, entry.survey, respondent)
        if entry.is_planned and (opens_at := entry.terms.opens_at) is not None:
            raise SurveyRefused(
                f"survey '{id}' opens at {opens_at:%Y-%m-%d %H:%M:%S} UTC; nothing was asked or"
                " sent",
                field="opens_at",
            )
        self._catalog.check_relay(entry.survey)
        if self._needs_tickets(entry.survey):
            self._tickets().fetch_quietly(self._catalog, entry.survey)
        return entry.survey

    def fetch_tickets(
        self, survey: Survey, count: int = 1, *, invitations: Sequence[str] | None = None
    ) -> None:
        """Fetch tickets for people who will answer later, perhaps without a connection.

        They are kept in the outbox, or in memory without one. :meth:`survey` fetches one with the
        survey, and reports without one fetch their own. Those of a survey with a relay come from
        the relay. Does nothing for a survey without tickets; or, without a relay, for a client with
        an operator's token.

        Parameters
        ----------
        survey : Survey
        count : int
            Number of tickets; ignored if there are invitations.
        invitations : sequence of str, optional
            An invitation for each ticket, if the survey requires them. It admits three tickets.

        Raises
        ------
        ParameterError, RequestRefused, CollectorUnavailable
        """
        check_survey(survey)
        check_number(count, "count", int)
        if invitations is not None:
            check_iterable(invitations, "invitations", "invitations")
        codes: Sequence[str | None] = [None] * count if invitations is None else list(invitations)
        check_form(codes)
        if self._needs_tickets(survey):
            self._tickets().fetch(self._catalog, survey, codes)

    def _needs_tickets(self, survey: Survey) -> bool:
        """Return whether each report of this client to a survey needs a ticket."""
        return survey.has_tickets and not (self._is_exempt and survey.relay is None)

    def _ticket_source(
        self, survey: Survey, invitations: Sequence[str | None] | None
    ) -> "Callable[[Sequence[int]], Sequence[Ticket]] | None":
        """Return what takes the tickets of records at some positions; None if they need none."""
        if not self._needs_tickets(survey):
            return None
        codes = invitations

        def take(positions: Sequence[int]) -> "Sequence[Ticket]":
            own = [None if codes is None else codes[i] for i in positions]
            return self._tickets().take(self._catalog, survey, own)

        return take

    def ledger(self, respondent: str) -> Ledger:
        """Return the ledger of this respondent: the amplification of each report, and the total.

        It has all reports in the outbox, to surveys of any collector.
        """
        check_respondent(respondent)
        return self._outbox_for("respondent").ledger(respondent)

    def forget_ledger(self, respondent: str) -> None:
        """Delete the ledger of this respondent, which resets the protection.

        This deletes the entries of all their reports, to surveys of any collector. Afterwards no
        total limits earlier and later reports together. The reports are kept, so no survey is
        answered twice.
        """
        check_respondent(respondent)
        self._outbox_for("respondent").forget_ledger(respondent)

    def _outbox_for(self, what: str) -> "Outbox":
        """Return the outbox; raise ParameterError if there is none, and so no memory of people."""
        if self._outbox is None:
            raise _no_outbox(what)
        return self._outbox

    def submit(
        self,
        survey: Survey,
        record: PersonRecord,
        *,
        respondent: str | None = None,
        invitation: str | None = None,
    ) -> Submission:
        """Perturb a record and send the report.

        If the call fails, call it again with the same answers: it retries the report that was
        drawn, with the same id. A call that returns is complete. Do not repeat one with the status
        "waiting": its report will be sent by :meth:`flush`, or after another report.

        Without `respondent`, a retry for one person cannot be distinguished from the first call for
        another person with the same answers in this process. Each call that returns still has a
        different report, but the two people's draws may be swapped.

        Parameters
        ----------
        survey : Survey
        record : mapping of str to str, number or list of str
            An answer for each attribute: a category, or a number for a numeric question. A multiple
            response question can be answered by the list of chosen options, under its name. Answers
            to optional questions, and to questions that were not asked, may be omitted.
        respondent : str, optional
            Permanent key of this person. If they answer again, their first report is sent again,
            whatever they answer (idempotent). The report, never the record, is stored in the
            outbox, which is required. A respondent is required for surveys of a series and with
            `max_total_gamma`, which need a ledger.
        invitation : str, optional
            Single-use invitation of 32 hexadecimal digits, if the survey requires one.

        Raises
        ------
        RecordError
            If the record does not fit the survey; the message names the attribute and never the
            answer.
        ParameterError
            If the invitation is missing, invalid or not required, or if `respondent` or an outbox
            is required; nothing was sent.
        SurveyRefused
            If the amplification of the survey, or of all reports of this respondent, exceeds the
            policy, or the terms are not signed by a pinned key.
        AnsweredBefore
            If this respondent answered another version of this survey or, without `respondent`, a
            report of the same answers to another version may have been sent.
        RequestRefused
            If the collector refuses the report, for instance since the survey is closed.
        CollectorUnavailable
            If the report could not be sent and there is no outbox to store it.
        """
        # The record is in a list that is cleared, so that no frame of a traceback refers to it.
        records, record = [record], {}
        try:
            self._policy.check(survey)
            check_form([invitation])
            if respondent is not None:
                return self._submit_of(survey, records, respondent, invitation)
            self._check_uncounted(survey)
            source = self._ticket_source(survey, [invitation])
            drawn = draw(survey, records, self._unsettled, take_tickets=source)
        finally:
            records.clear()
        if isinstance(drawn, HalftruthError):
            raise _of_one(drawn)
        try:
            waits_for = self._check_invitations(survey, [invitation])
            report = replace(drawn[0].report, invitation=invitation)
            if self._outbox is not None:
                self._outbox.add(self._transport.url, [report])
            return self._submitted(report, waits_for)
        except BaseException:
            self._unsettled.restore(drawn)
            raise

    def _submit_of(
        self,
        survey: Survey,
        records: list[PersonRecord],
        respondent: str,
        invitation: str | None,
    ) -> Submission:
        """Send the stored report of a respondent; if there is none, draw and store it first."""
        check_respondent(respondent)
        outbox = self._outbox_for("respondent")
        report = outbox.find(survey.id, respondent)
        if report is None:
            self._check_ledger(outbox, survey, respondent)
            source = self._ticket_source(survey, [invitation])
            drawn = draw(survey, records, Unsettled(), take_tickets=source)
            records.clear()
            if isinstance(drawn, HalftruthError):
                raise _of_one(drawn)
            report = drawn[0].report
        if report.digest != survey.digest:
            raise AnsweredBefore(
                f"survey '{survey.id}': this respondent answered another version of it, and a"
                " second draw of the same answers would tell more than one",
                field="respondent",
            )
        report = replace(report, invitation=invitation or report.invitation)
        waits_for = self._check_invitations(survey, [report.invitation])
        entry = LedgerEntry.of(survey, report.values)
        limit = self._policy.max_total_gamma
        kept = outbox.add_once(self._transport.url, report, respondent, entry, limit)
        return self._submitted(kept, waits_for)

    def _check_ledger(self, outbox: "Outbox", survey: Survey, respondent: str) -> None:
        """Check a survey against a respondent's ledger."""
        entry = LedgerEntry.of(survey)
        outbox.ledger(respondent).check(entry, self._policy.max_total_gamma)

    def _check_uncounted(self, survey: Survey) -> None:
        """Refuse a survey that needs the ledger of a respondent, for calls without `respondent`."""
        if survey.series is not None or self._policy.max_total_gamma is not None:
            limit = "max_total_gamma" if survey.series is None else "its series"
            self._outbox_for(f"{limit} of survey '{survey.id}'")
            raise ParameterError(
                f"survey '{survey.id}': {limit} bounds what all reports of a person tell; expected"
                " submit with a `respondent`, whose they are",
                field="respondent",
            )

    def _submitted(self, report: DrawnReport, waits_for: str | None) -> Submission:
        """Send a report, or return the status "waiting"."""
        try:
            if waits_for is None:
                receipt = self._send(self._catalog, [report])
                self._flush_quietly()
                return Submission(report.id, "accepted" if receipt.accepted else "duplicate")
        except CollectorUnavailable as error:
            if self._outbox is None:
                raise
            waits_for = str(error)
        self._announce(report.survey, 1, waits_for)
        return Submission(report.id, "waiting")

    def _announce(self, survey: str, reports: int, waits_for: str) -> None:
        """Log that reports wait in the outbox, with the reason."""
        if not self._is_announced:
            self._is_announced = True
            plural = "" if reports == 1 else "s"
            wait = f"survey '{survey}': {reports} report{plural} not counted, waiting in the outbox"
            _log.warning("%s until flush() sends what is there: %s", wait, waits_for)

    def submit_many(
        self,
        survey: Survey,
        records: Iterable[PersonRecord],
        *,
        invitations: Iterable[str] | None = None,
        progress: Callable[[int], object] | None = None,
    ) -> Delivery:
        """Perturb many records independently, and send the reports in batches.

        All records are validated and perturbed before anything is sent, so that nothing is sent if
        one is invalid. With an outbox all reports are stored before the first is sent, and those
        that one attempt leaves uncounted wait for :meth:`flush`. They are stored and sent in random
        order.

        If the call fails and there is no outbox, call it again with the same records: it retries
        the same reports, and those that were counted are duplicates (idempotent).

        Parameters
        ----------
        survey : Survey
        records : iterable of mappings
            Records of different respondents, in the format of :meth:`submit`.
        invitations : iterable of str, optional
            An invitation for each record, in the same order, if the survey requires them.
        progress : callable, optional
            Called after each batch with its number of reports.

        Returns
        -------
        Delivery
            With an outbox, ``waiting`` reports are not counted yet, and ``unsent`` has the reasons;
            without an outbox, all reports are counted, or the call raises an error.

        Raises
        ------
        RecordError
            If a record is invalid; names the first one, counted from 0, and the attribute.
        AnsweredBefore
            If a report of a record to another version may have been sent; names the first one.
        ParameterError
            If invitations are missing, invalid or not required; or for a survey of a series or with
            `max_total_gamma`, which require :meth:`submit` with `respondent` and an outbox. Nothing
            was sent.
        SurveyRefused
        RequestRefused
            If the collector refuses a batch. ``accepted`` is the number of reports counted before,
            and ``report`` the index of the refused record, if known. With an outbox the other
            reports wait there.
        CollectorUnavailable
            If a batch could not be sent and there is no outbox to store it. ``accepted`` is the
            number of reports counted before.
        """
        self._policy.check(survey)
        self._check_uncounted(survey)
        if invitations is not None:
            check_iterable(invitations, "invitations", "invitations")
        check_callable(progress, "progress", "a function of the number of reports of a batch")
        codes = None if invitations is None else list(invitations)
        check_form(codes or [])
        source = self._ticket_source(survey, codes)
        drawn = draw(survey, records, self._unsettled, codes, source)
        del records
        if isinstance(drawn, HalftruthError):
            raise drawn
        if not drawn:
            return Delivery()
        order = list(range(len(drawn)))
        SystemRandom().shuffle(order)
        settled = 0
        try:
            invited: Sequence[str | None] = codes or [None] * len(drawn)
            waits_for = self._check_invitations(survey, invited)
            reports = [replace(drawn[i].report, invitation=invited[i]) for i in order]
            if self._outbox is not None:
                self._outbox.add(self._transport.url, reports)
            delivery = Delivery()
            for start in range(0, len(reports), BATCH):
                batch = reports[start : start + BATCH]
                try:
                    if waits_for is None:
                        receipt = self._send(self._catalog, batch)
                        delivery += self._delivered(receipt, batch)
                        settled += len(batch)
                except RequestRefused as error:
                    raise refusal_of_record(error, order[start:], delivery.accepted) from None
                except CollectorUnavailable as error:
                    if self._outbox is None:
                        raise CollectorUnavailable(
                            str(error), accepted=delivery.accepted, status=error.status
                        ) from None
                    waits_for = str(error)
                if progress is not None:
                    progress(len(batch))
            if waits_for is not None:
                left = len(reports) - settled
                self._announce(survey.id, left, waits_for)
                unsent = Unsent(survey.id, left, waits_for, is_waiting=True)
                delivery += Delivery(waiting=left, unsent=(unsent,))
            return delivery
        except BaseException:
            # With an outbox a caller retries only refused reports; without one, all of them.
            done = 0 if self._outbox is None else settled
            self._unsettled.restore(drawn[i] for i in order[done:])
            raise

    def flush(self) -> Delivery:
        """Retry all waiting reports, survey by survey.

        Only this call retries requests if there is an outbox, which can take minutes. Call it in
        the background, for instance every minute.

        Reports that cannot be sent do not block other surveys. After a final refusal (a closed or
        replaced survey, an invalid report or invitation) reports are given up. All others keep
        waiting, for instance if the survey is unknown or the rate limit is reached.

        Returns
        -------
        Delivery
            ``unsent`` has the number and the reason of the uncounted reports of each survey.

        Raises
        ------
        CollectorUnavailable
            If the collector is unavailable, so that no report was tried.
        """
        unsent: Counter[tuple[str, str, bool]] = Counter()
        delivery, is_answered = Delivery(), False
        outbox = self._outbox
        if outbox is None:
            return delivery
        silent: CollectorUnavailable | None = None
        is_away = False
        for survey, digest, count in outbox.count_waiting(self._transport.url):
            if silent is not None and is_away:
                # Do not try the other surveys, since the collector is unavailable.
                unsent[survey, str(silent), True] += count
                continue
            while waiting := outbox.waiting(self._transport.url, survey, digest, BATCH):
                try:
                    receipt = self._send(self._patient, waiting)
                except HalftruthError as error:
                    if isinstance(error, CollectorUnavailable) and error.status != TOO_MANY:
                        is_away |= error.status is None and not error.is_relay
                        silent = error if is_away or silent is None else silent
                    else:
                        is_answered = True
                    lost = find_refused(error, waiting)
                    if lost:
                        unsent[survey, without_number(str(error)), False] += len(lost)
                        count -= len(lost)
                        continue
                    unsent[survey, without_number(str(error)), True] += count
                    break
                is_answered = True
                count -= len(waiting)
                delivery += self._delivered(receipt, waiting)
        if silent is not None and not is_answered:
            raise silent
        left_over = tuple(
            Unsent(survey, count, reason, is_waiting)
            for (survey, reason, is_waiting), count in unsent.items()
        )
        still = sum(each.reports for each in left_over if each.is_waiting)
        return delivery + Delivery(waiting=still, unsent=left_over)

    def _flush_quietly(self) -> None:
        """Retry some waiting reports in one request, without errors: the caller's was counted.

        A survey whose reports could not be sent is passed over for a while, so that a server that
        is away does not delay every call.
        """
        if self._outbox is None:
            return
        for survey, digest, _ in self._outbox.count_waiting(self._transport.url):
            if time.monotonic() < self._passed_over.get((survey, digest), 0):
                continue
            waiting = self._outbox.waiting(self._transport.url, survey, digest, BATCH)
            if not waiting:
                # Another thread or process has sent them since they were counted.
                continue
            try:
                self._send(self._catalog, waiting)
            except HalftruthError as error:
                self._passed_over[survey, digest] = time.monotonic() + _PASSED_OVER
                _log.warning("waiting reports could not be sent: %s", error)
            return

    def _check_invitations(self, survey: Survey, invitations: Sequence[str | None]) -> str | None:
        """Check invitations against the survey's terms, before any report is stored.

        The value is the reason why reports have to wait, if the terms cannot be fetched.
        """
        try:
            check_required(self._catalog, survey.id, survey.digest, invitations)
        except CollectorUnavailable as error:
            if self._outbox is None:
                raise
            return str(error)
        except RequestRefused as error:
            if error.status in FINAL_STATUSES:
                raise
            # Sending would be refused too, but store the report for a later retry.
        return None

    @staticmethod
    def _delivered(receipt: Receipt, reports: Sequence[DrawnReport]) -> Delivery:
        """Return a receipt for reports of one survey as a `Delivery`."""
        relayed = sum(report.relay_id is not None for report in reports)
        return Delivery(receipt.accepted, receipt.duplicates, relayed=relayed)

    def _send(self, catalog: Catalog, reports: Sequence[DrawnReport]) -> Receipt:
        """Send reports of one survey in one request, and settle them."""
        try:
            receipt = send(catalog, reports)
        except RequestRefused as error:
            if self._outbox is not None:
                self._outbox.settle(find_refused(error, reports), counted=False)
            raise
        if self._outbox is not None:
            self._outbox.settle(reports)
        self._unsettled.settle(reports)
        self._is_announced = False
        return receipt


def _open_outbox(path: str | Path) -> "Outbox":
    # Import here, since a client without a file needs no SQLite.
    from .outbox import Outbox

    check_kind(path, (str, Path), "outbox", "a file for reports, as str or Path")
    return Outbox(path)


def _make_tickets(outbox: "Outbox | None") -> "Tickets":
    # Import here, since a survey without tickets needs none of it.
    from .ticketing import Tickets

    return Tickets(outbox)


def _no_outbox(what: str) -> ParameterError:
    """Return the error for a call that has to remember people, and has no file for it."""
    return ParameterError(
        f"outbox: {what} requires a memory that outlasts this process; expected"
        " Client(outbox=FILE), one file for all processes of this machine",
        field="outbox",
    )


def _of_one(error: HalftruthError) -> HalftruthError:
    """Return the error of a single record without its index; others are not of a record."""
    if not str(error).startswith("record 0: "):
        return error
    return type(error)(str(error).removeprefix("record 0: "), field=error.field)
