"""The respondent's side: fetch a survey, perturb a record, send the report."""

import logging
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from uuid import UUID, uuid4

import numpy as np
import requests
from halftruth_shared import ParameterError, RecordError, Survey
from halftruth_shared.messages import PublishedSurvey, Receipt, Report, ReportBatch
from halftruth_shared.rational import Rational, parse_rational

from .errors import AnsweredBefore, ClientError, CollectorUnavailable, RequestRefused, SurveyRefused
from .outbox import Outbox, StoredReport
from .transport import Transport, survey_path

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
    outbox : str or Path, optional
        File in which reports wait that could not be sent, and in which the reports of known
        respondents are remembered. Without it such a report is lost and an error says so.
    retries, backoff, timeout, session
        See :class:`~halftruth_client.transport.Transport`.

    Raises
    ------
    ParameterError
        If the address or the floor is not one.
    """

    def __init__(
        self,
        url: str,
        *,
        max_gamma: Rational,
        unprotected: Collection[str] = (),
        outbox: str | Path | None = None,
        retries: int = 5,
        backoff: float = 0.5,
        timeout: float = 10.0,
        session: requests.Session | None = None,
    ) -> None:
        self._max_gamma = parse_rational(max_gamma, "max_gamma")
        if self._max_gamma <= 1:
            raise ParameterError("max_gamma: expected an amplification above 1", field="max_gamma")
        if isinstance(unprotected, str):
            raise ParameterError("unprotected: expected a list of names", field="unprotected")
        self._unprotected = frozenset(unprotected)
        self._transport = Transport(
            url, retries=retries, backoff=backoff, timeout=timeout, session=session
        )
        self._outbox = None if outbox is None else Outbox(outbox)
        self._approved: set[str] = set()

    def survey(self, id: str) -> Survey:
        """Fetch a survey, verify its digest and hold it against the privacy floor.

        Raises
        ------
        SurveyRefused
            If the digest is not that of the survey, or the amplification exceeds the floor.
        RequestRefused, CollectorUnavailable
        SurveyError, SchemaError, ParameterError
            If what the collector sent is not a survey.
        """
        published = self._transport.get(survey_path(id), PublishedSurvey)
        survey = Survey.from_json(published.survey)
        if survey.digest != published.digest or survey.id != id:
            raise SurveyRefused(
                f"survey '{id}': the collector's digest is not that of what it sent",
                field="digest",
            )
        self._approve(survey)
        return survey

    def _approve(self, survey: Survey) -> None:
        """Refuse a survey that protects less than the floor."""
        if survey.digest in self._approved:
            return
        amplification = survey.mechanism.amplification(survey.schema, self._unprotected)
        if amplification > self._max_gamma:
            schema, mechanism = survey.schema, survey.mechanism
            revealed = [
                name
                for name in schema.names
                if name not in self._unprotected
                and mechanism.amplification(schema, set(schema.names) - {name}) == math.inf
            ]
            why = f"; a report can reveal '{revealed[0]}'" if revealed else ""
            raise SurveyRefused(
                f"survey '{survey.id}': its amplification {float(amplification):.6g} exceeds"
                f" max_gamma {float(self._max_gamma):.6g}{why}",
                field="max_gamma",
            )
        self._approved.add(survey.digest)

    def submit(
        self, survey: Survey, record: Mapping[str, str], *, respondent: str | None = None
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

        Raises
        ------
        RecordError
            If the record does not fit the survey; the message names the attribute and never the
            answer.
        SurveyRefused
            If the survey protects less than the floor.
        AnsweredBefore
            If this respondent answered another version of this survey.
        RequestRefused
            If the collector refuses the report, for instance since the survey is closed.
        CollectorUnavailable
            If it could not be sent and there is no outbox to keep it.
        """
        self._approve(survey)
        if respondent is not None and self._outbox is None:
            raise ParameterError(
                "respondent: expected a client with an outbox, which remembers the report",
                field="outbox",
            )
        stored = None if respondent is None else self._remembered(survey, respondent)
        if stored is None:
            report = _perturb(survey, record)
            # From here on no frame of this call holds the record, whatever goes wrong.
            del record
            if isinstance(report, RecordError):
                raise report
            [stored] = self._keep(survey, [report], respondent)
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
        progress: Callable[[int], object] | None = None,
    ) -> Delivery:
        """Perturb many records, each by itself, and send the reports in batches.

        Every record is read and perturbed before anything is sent, so that one that does not fit
        stops all of them.

        Parameters
        ----------
        survey : Survey
        records : iterable of mappings
            Of different respondents.
        progress : callable, optional
            Called with the number of reports of each batch once it is settled.

        Raises
        ------
        RecordError
            Naming the first record that does not fit, counted from 0, and its attribute.
        SurveyRefused, RequestRefused
        CollectorUnavailable
            If a batch could not be sent and there is no outbox to keep it; its ``accepted`` says
            how many reports were counted before. With an outbox all others wait there.
        """
        self._approve(survey)
        reports = _perturb_many(survey, records)
        del records
        if isinstance(reports, RecordError):
            raise reports
        delivery, reachable = Delivery(), True
        for start in range(0, len(reports), BATCH):
            stored = self._keep(survey, reports[start : start + BATCH], None)
            if reachable:
                try:
                    receipt = self._send(stored)
                    delivery += Delivery(receipt.accepted, receipt.duplicates)
                except CollectorUnavailable as error:
                    if self._outbox is None:
                        raise CollectorUnavailable(str(error), accepted=delivery.accepted) from None
                    reachable = False
            if not reachable:
                delivery += Delivery(waiting=len(stored))
            if progress is not None:
                progress(len(stored))
        return delivery

    def flush(self) -> Delivery:
        """Send the reports that wait in the outbox.

        Raises
        ------
        RequestRefused
            If the collector refuses some of them. Those of a closed or replaced survey are given
            up, all others keep waiting.
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
        except ClientError as error:
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

    def _keep(
        self, survey: Survey, reports: Sequence[tuple[int, ...]], respondent: str | None
    ) -> list[StoredReport]:
        """Give each report an id, and write it down where there is an outbox."""
        if self._outbox is None:
            return [StoredReport(uuid4(), survey.id, survey.digest, report) for report in reports]
        url = self._transport.url
        return self._outbox.add(url, survey.id, survey.digest, reports, respondent)

    def _send(self, reports: Sequence[StoredReport]) -> Receipt:
        """Send reports of one survey in one request, and settle them with the outbox."""
        batch = ReportBatch(
            digest=reports[0].digest,
            reports=[Report(id=report.id, values=list(report.values)) for report in reports],
        )
        try:
            path = survey_path(reports[0].survey, "reports")
            receipt = self._transport.post(path, Receipt, batch)
        except RequestRefused as error:
            if self._outbox is not None and error.status in _FINAL:
                self._outbox.settle(reports)
            raise
        if self._outbox is not None:
            self._outbox.settle(reports)
        return receipt


def _perturb(survey: Survey, record: Mapping[str, str]) -> tuple[int, ...] | RecordError:
    """Report of one record, or what is wrong with it.

    The error is new, without the traceback whose frames hold the record.
    """
    try:
        return survey.mechanism.perturb(survey.schema, survey.schema.encode(record))
    except RecordError as error:
        return RecordError(str(error), field=error.field)
    except Exception as error:
        # Whatever a strange mapping raises may quote the answers.
        return RecordError(f"record: cannot be read ({type(error).__name__})")


def _perturb_many(
    survey: Survey, records: Iterable[Mapping[str, str]]
) -> list[tuple[int, ...]] | RecordError:
    """Reports of many records, or what is wrong with the first that does not fit."""
    codes: list[tuple[int, ...]] = []
    try:
        for record in records:
            codes.append(survey.schema.encode(record))
        array = np.array(codes, dtype=np.int64).reshape(-1, len(survey.schema.shape))
        reports = survey.mechanism.perturb_many(survey.schema, array)
        return list(map(tuple, reports.tolist()))
    except RecordError as error:
        return RecordError(f"record {len(codes)}: {error}", field=error.field)
    except Exception as error:
        # Whatever a strange mapping raises may quote the answers.
        return RecordError(f"record {len(codes)}: cannot be read ({type(error).__name__})")
