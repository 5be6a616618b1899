"""Respondents' client: fetch a survey, perturb a record, send the report."""

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import SystemRandom

import requests
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
    check_wanted,
    given_up,
    refusal_of_record,
    send,
    without_number,
)
from .drawing import PersonRecord, Unsettled, draw
from .errors import AnsweredBefore, CollectorUnavailable, RequestRefused
from .ledger import Ledger, LedgerEntry
from .outbox import Outbox, StoredReport
from .policy import PrivacyPolicy
from .transport import Transport

_log = logging.getLogger(__name__)


@cache
def _unsettled() -> Unsettled:
    """Return the reports that failed calls of this process left, shared by all its clients."""
    return Unsettled()


@cache
def _memory() -> Outbox:
    """Return the reports of respondents that clients of this process without an outbox keep."""
    return Outbox()


class Client:
    """Perturbs records on this device and sends the reports to one collector.

    Reports of a survey with a relay go to the relay, which passes them on. While it is away they
    wait as for a collector; the collector gets none of them from here, and none of their ids.

    A true record is never logged, stored, sent or put into an error, and is drawn once: until the
    collector has acknowledged a report, every further try sends the same one. Clients of one
    process remember together.

    Parameters
    ----------
    url : str
        Address of the collector.
    max_gamma : Fraction, int or str
        A survey with a larger amplification is refused.
    unprotected : collection of str
        Attributes that may be sent unperturbed. The amplification is then that of the others, given
        these. The caller decides whether an attribute is sensitive; the survey is not trusted
        about it. A name does not reveal the question, so a survey with such an attribute is refused
        unless its digest or an operator's key is pinned.
    digests : collection of str
        Digests of the surveys that may be answered, as ``halftruth survey check`` prints them; any
        by default.
    operator_keys : collection of str
        Public keys of the operators that are trusted, each of 64 hexadecimal digits. With any, a
        survey that none of them signed as it is, terms included, is refused.
    max_total_gamma : Fraction, int or str, optional
        A survey is refused to a respondent whose reports would together have a larger
        amplification, whatever surveys they are of. There is one ledger for each pinned key, and
        one for all collectors without pins.
    outbox : str or Path, optional
        File in which reports wait that could not be sent, and in which the reports of known
        respondents are remembered with what they cost. Without it an error says that a report
        could not be sent, and what is remembered ends with the process.
    token : str, optional
        An operator's token, for programs that send the reports of many people: the collector then
        takes any number of them from this address.
    retries, backoff, timeout, session
        See :class:`~halftruth_client.transport.Transport`.

    Raises
    ------
    ParameterError
        If the address, the outbox, a key or the largest amplification cannot be used.
    """

    def __init__(
        self,
        url: str,
        *,
        max_gamma: Rational,
        unprotected: Collection[str] = (),
        digests: Collection[str] = (),
        operator_keys: Collection[str] = (),
        max_total_gamma: Rational | None = None,
        outbox: str | Path | None = None,
        token: str | None = None,
        retries: int = 5,
        backoff: float = 0.5,
        timeout: float = 10.0,
        session: requests.Session | None = None,
    ) -> None:
        limits = max_gamma, unprotected, digests, bool(operator_keys), max_total_gamma
        self._policy = PrivacyPolicy(*limits)
        self._transport = Transport(
            url, token=token, retries=retries, backoff=backoff, timeout=timeout, session=session
        )
        self._catalog = Catalog(self._transport, operator_keys)
        self._outbox = _memory() if outbox is None else Outbox(outbox)
        #: True if waiting reports outlive the process, so that no error is raised.
        self._keeps = outbox is not None
        self._unsettled = _unsettled()
        #: Surveys, by id and digest, whose waiting reports could not be sent after another report.
        self._passed_over: set[tuple[str, str]] = set()
        #: Whether it was logged that reports wait, which is said once until one is counted.
        self._is_announced = False

    def survey(self, id: str, *, respondent: str | None = None) -> Survey:
        """Fetch a survey, verify digest and signature and hold it against the policy.

        Parameters
        ----------
        respondent : str, optional
            Who is to be asked, so that a survey that would tell too much together with what they
            sent before is refused before anything is asked.

        Raises
        ------
        SurveyRefused
            If the digest is not that of the survey or none that is pinned, no pinned operator
            signed it, or its amplification is above `max_gamma`; or, by the respondent's ledger,
            that of its series or of all their reports above the total.
        RequestRefused, CollectorUnavailable
        SurveyError, SchemaError, ParameterError
            If what the collector sent is not a survey.
        """
        entry = self._catalog.fetch(id)
        self._policy.check(entry.survey)
        self._catalog.accept(entry)
        if respondent is not None and self._outbox.find(id, respondent) is None:
            self._check_ledger(entry.survey, respondent)
        return entry.survey

    def ledger(self, respondent: str) -> Ledger:
        """Return what the reports that this respondent gave here cost, one by one and together."""
        return self._outbox.ledger(respondent, self._catalog.operators)

    def forget_ledger(self, respondent: str) -> None:
        """Forget what the reports of this respondent cost, which resets the protection.

        No total bounds what was sent before together with what is sent from then on. Reports
        themselves are not forgotten: no survey is answered twice.
        """
        self._outbox.forget_ledger(respondent, self._catalog.operators)

    def submit(
        self,
        survey: Survey,
        record: PersonRecord,
        *,
        respondent: str | None = None,
        invitation: str | None = None,
    ) -> Submission:
        """Perturb a record and send the report.

        If the call fails, call it again with the same answers: the report that was drawn is sent
        again, with the same id. Each call that returns is one person's. One whose status is
        "waiting" is not to be repeated: its report will be sent by :meth:`flush` or after another.

        If people with equal answers use one process, the second call of one cannot be distinguished
        from the first of another. Each call that returns still has a report of its own, but only
        with `respondent` is it certain whose draw it is.

        Parameters
        ----------
        survey : Survey
        record : mapping of str to str, number or list of str
            An answer for each attribute: a category or, of a number, the number; to a question with
            several answers also the list of the options chosen, by its name. What is optional or
            not asked of this person may be left out.
        respondent : str, optional
            A key that stays with this person. Whenever they answer again, the report they gave
            before is sent again, whatever they answer now. It is remembered in the outbox, or
            without one until the process ends, and the record is not. A survey of a series needs
            it, as `max_total_gamma` does: what a person's reports cost is added up.
        invitation : str, optional
            This person's single-use invitation of 32 hexadecimal digits, where the survey asks
            for one.

        Raises
        ------
        RecordError
            If the record does not fit the survey; the message names the attribute and never the
            answer.
        ParameterError
            If the invitation is missing, is none, or is not asked for, or a respondent is needed;
            nothing was sent.
        SurveyRefused
            If the survey protects less than the policy asks for, together with other reports of
            this respondent, too, or the collector's terms for it are not signed as asked.
        AnsweredBefore
            If this respondent answered another version of this survey or, without `respondent`, a
            report of the same answers to another version may have been sent.
        RequestRefused
            If the collector refuses the report, for instance since the survey is closed.
        CollectorUnavailable
            If it could not be sent and there is no outbox to keep it.
        """
        # Whatever goes wrong, no frame of this call holds the record then: they share this list.
        records, record = [record], {}
        try:
            self._policy.check(survey)
            check_form([invitation])
            if respondent is not None:
                return self._submit_of(survey, records, respondent, invitation)
            self._check_uncounted(survey)
            drawn = draw(survey, records, self._unsettled)
        finally:
            records.clear()
        if isinstance(drawn, HalftruthError):
            raise _of_one(drawn)
        try:
            waits_for = self._check_invitations(survey, [invitation])
            report = replace(drawn[0].report, invitation=invitation)
            if self._keeps:
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
        """Send the report of a respondent, which is remembered for them."""
        if not isinstance(respondent, str) or not respondent:
            raise ParameterError("respondent: expected text that is not empty", field="respondent")
        report, operator = self._outbox.find(survey.id, respondent), ""
        if report is None:
            operator = self._check_ledger(survey, respondent)
            drawn = draw(survey, records, Unsettled())
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
        entry = LedgerEntry.of(survey, operator, report.values)
        limit = self._policy.max_total_gamma
        kept = self._outbox.add_once(self._transport.url, report, respondent, entry, limit)
        return self._submitted(kept, waits_for)

    def _check_ledger(self, survey: Survey, respondent: str) -> str:
        """Check that a respondent's ledger has room for a report, and return whose ledger it is."""
        operator = self._catalog.operator(survey)
        entry = LedgerEntry.of(survey, operator)
        self._outbox.ledger(respondent, [operator]).check(entry, self._policy.max_total_gamma)
        return operator

    def _check_uncounted(self, survey: Survey) -> None:
        """Refuse a survey whose reports are added up for each person, where nobody says whose."""
        if survey.series is not None or self._policy.max_total_gamma is not None:
            limit = "max_total_gamma" if survey.series is None else "its series"
            raise ParameterError(
                f"survey '{survey.id}': {limit} bounds what all reports of a person tell; expected"
                " submit with a `respondent`, whose they are",
                field="respondent",
            )

    def _submitted(self, report: StoredReport, waits_for: str | None) -> Submission:
        """Send one report, or say that it waits."""
        try:
            if waits_for is None:
                receipt = self._send([report])
                self._flush_quietly()
                return Submission(report.id, "accepted" if receipt.accepted else "duplicate")
        except CollectorUnavailable as error:
            if not self._keeps:
                raise
            waits_for = str(error)
        self._announce(report.survey, 1, waits_for)
        return Submission(report.id, "waiting")

    def _announce(self, survey: str, reports: int, waits_for: str) -> None:
        """Log that reports wait in the outbox, and for what."""
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
        """Perturb many records, each by itself, and send the reports in batches.

        Every record is read and perturbed before anything is sent, so that one that does not fit
        stops all of them. With an outbox all reports are written down before the first is sent.
        They are kept and sent in a random order, independent of that of the records.

        If the call fails and there is no outbox, call it again with the same records: the same
        reports are sent again, and those that were counted are duplicates then.

        Parameters
        ----------
        survey : Survey
        records : iterable of mappings
            Of different respondents, each as :meth:`submit` takes it.
        invitations : iterable of str, optional
            One for each record, in their order, where the survey asks for invitations.
        progress : callable, optional
            Called with the number of reports of each batch once it is settled.

        Returns
        -------
        Delivery
            With an outbox its ``waiting`` reports are not counted yet, and ``unsent`` says why;
            without one every report is counted, or the call raises.

        Raises
        ------
        RecordError
            Naming the first record that does not fit, counted from 0, and its attribute.
        AnsweredBefore
            Naming the first record of which a report to another version may have been sent.
        ParameterError
            If invitations are missing, are none, or are not asked for, or the survey is one of a
            series, or there is a `max_total_gamma`, which :meth:`submit` adds up for each
            respondent; nothing was sent.
        SurveyRefused
        RequestRefused
            If the collector refuses a batch; ``accepted`` says how many reports were counted
            before, and ``report`` which record it was about, if it was about one. With an outbox
            the others wait there.
        CollectorUnavailable
            If a batch could not be sent and there is no outbox to keep it; its ``accepted`` says
            how many reports were counted before. With an outbox all others wait there.
        """
        self._policy.check(survey)
        self._check_uncounted(survey)
        codes = None if invitations is None else list(invitations)
        check_form(codes or [])
        drawn = draw(survey, records, self._unsettled, codes)
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
            if self._keeps:
                self._outbox.add(self._transport.url, reports)
            delivery = Delivery()
            for start in range(0, len(reports), BATCH):
                batch = reports[start : start + BATCH]
                try:
                    if waits_for is None:
                        receipt = self._send(batch)
                        delivery += self._delivered(receipt, batch)
                        settled += len(batch)
                except RequestRefused as error:
                    raise refusal_of_record(error, order[start:], delivery.accepted) from None
                except CollectorUnavailable as error:
                    if not self._keeps:
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
            # With an outbox the caller repeats at most what was refused, without one everything.
            self._unsettled.restore(drawn[i] for i in order[settled if self._keeps else 0 :])
            raise

    def flush(self) -> Delivery:
        """Send the reports that wait, survey by survey.

        Reports that cannot be sent hold up no other survey. Reports to a closed or replaced survey,
        invalid ones and those without a valid invitation are given up. All others keep waiting, for
        instance if the collector has no such survey or takes no more from this address now.

        Returns
        -------
        Delivery
            Its ``unsent`` says for each survey which reports were not counted and why.

        Raises
        ------
        CollectorUnavailable
            If no report could be tried, since the collector cannot be reached or is not available.
        """
        unsent: Counter[tuple[str, str, bool]] = Counter()
        delivery, is_answered = Delivery(), False
        silent: CollectorUnavailable | None = None
        is_away = False
        for survey, digest, count in self._outbox.count_waiting(self._transport.url):
            if silent is not None and is_away:
                # It would not answer for the other surveys either.
                unsent[survey, str(silent), True] += count
                continue
            while waiting := self._outbox.waiting(self._transport.url, survey, digest, BATCH):
                try:
                    receipt = self._send(waiting)
                except HalftruthError as error:
                    if isinstance(error, CollectorUnavailable) and error.status != TOO_MANY:
                        is_away |= error.status is None and not error.is_relay
                        silent = error if is_away or silent is None else silent
                    else:
                        is_answered = True
                    lost = given_up(error, waiting)
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
        """Send some waiting reports, now that the collector answers.

        One request at most, and no error: the caller asked for another report, and waits. Surveys
        whose reports could not be sent are passed over until all others had their turn.
        """
        for survey, digest, _ in self._outbox.count_waiting(self._transport.url):
            if (survey, digest) in self._passed_over:
                continue
            try:
                self._send(self._outbox.waiting(self._transport.url, survey, digest, BATCH))
            except HalftruthError as error:
                self._passed_over.add((survey, digest))
                _log.warning("waiting reports could not be sent: %s", error)
            return
        self._passed_over.clear()

    def _check_invitations(self, survey: Survey, invitations: Sequence[str | None]) -> str | None:
        """Refuse invitations that the survey does not ask for, before any report is kept.

        Returns
        -------
        str or None
            Why reports have to wait for the survey's terms, if the collector cannot be asked.
        """
        try:
            check_wanted(self._catalog, survey.id, survey.digest, invitations)
        except CollectorUnavailable as error:
            if not self._keeps:
                raise
            return str(error)
        except RequestRefused as error:
            if error.status in FINAL_STATUSES:
                raise
            # Sending will be refused too, but the report may be wanted later.
        return None

    @staticmethod
    def _delivered(receipt: Receipt, reports: Sequence[StoredReport]) -> Delivery:
        """Return what a receipt says of reports of one survey."""
        relayed = sum(report.relay_id is not None for report in reports)
        return Delivery(receipt.accepted, receipt.duplicates, relayed=relayed)

    def _send(self, reports: Sequence[StoredReport]) -> Receipt:
        """Send reports of one survey in one request, and settle them."""
        try:
            receipt = send(self._transport, self._catalog, reports)
        except RequestRefused as error:
            self._outbox.settle(given_up(error, reports))
            raise
        self._outbox.settle(reports)
        self._unsettled.settle(reports)
        self._is_announced = False
        return receipt


def _of_one(error: HalftruthError) -> HalftruthError:
    """Return the error of a single record, which needs no number."""
    return type(error)(str(error).removeprefix("record 0: "), field=error.field)
