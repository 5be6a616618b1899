"""Background task of a relay: release full batches, and pass them on in random order."""

import logging
import math
import threading
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from secrets import SystemRandom

from halftruth_client.errors import CollectorUnavailable, RequestRefused
from halftruth_client.transport import Transport
from halftruth_collector.errors import StoreUnavailable
from halftruth_collector.intake.reading import MOST_SEALED
from halftruth_collector.store.audit import ACTOR
from halftruth_shared import HalftruthError
from halftruth_shared.protocol.reports import Receipt, RelayedBatch
from halftruth_shared.protocol.surveys import PublishedSurvey, survey_path

from . import operations
from .operations import Reason
from .store import RegisteredSurvey, RelayStore

_log = logging.getLogger(__name__)

#: Seconds between two checks of all surveys.
_PAUSE = 1.0

#: Seconds between two requests for the status of a survey, and before a retry after a failure.
_ASK, _RETRY = 60.0, 15.0

#: Full batches of open surveys are released at multiples of these seconds. Otherwise the time of a
#: release, in logs and at the collector, would be that of the report that filled the batch.
_RELEASE = 900

#: Seconds after which a request to a collector times out.
_TIMEOUT = 60.0


def shuffled(ids: Sequence[bytes]) -> list[bytes]:
    """Return ids in random order, independent of their order here."""
    order = sorted(ids)
    SystemRandom().shuffle(order)
    return order


class Passing:
    """Closes surveys that have ended, and passes on their reports.

    A report is deleted once the collector has acknowledged it. After a crash in between it is sent
    again, and the collector counts it once (at-least-once delivery, and deduplication).

    Parameters
    ----------
    store : RelayStore
    stopping : Event
        Ends the task when set.
    clock : callable
        Returns monotonic seconds.
    """

    def __init__(
        self,
        store: RelayStore,
        stopping: threading.Event,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._stopping = stopping
        self._clock = clock
        #: Times of the next request for the status, and of the next retry, by survey.
        self._ask_at: dict[str, float] = {}
        self._retry_at: dict[str, float] = {}
        #: Last logged message about each survey, the database ("") and compaction ("*"), to log it
        #: only once.
        self._logged: dict[str, str] = {}
        #: Surveys whose collector was informed that there are no further reports.
        self._finished: set[str] = set()
        #: State of each survey at the last compaction: closed or not, and number of passed reports.
        self._compacted: dict[str, tuple[bool, int]] = {}
        #: Time of the next compaction after a failed compaction.
        self._compact_at = -math.inf

    def run(self) -> None:
        """Check all surveys periodically, until the relay stops."""
        ACTOR.set("relay")
        last = None
        while not self._stopping.wait(_PAUSE):
            now = time.time() // _RELEASE
            try:
                self.look(is_release_due=now != last)
                last = now
            except StoreUnavailable as error:
                self._log_once("", logging.ERROR, f"unavailable: {error.for_operators}")
            except Exception as error:
                # Log only the type, since the message can contain values.
                self._log_once("", logging.ERROR, f"unforeseen {type(error).__name__}")
            else:
                self._logged.pop("", None)

    def look(self, *, is_release_due: bool = True) -> None:
        """Close surveys that have ended, release full batches, and pass on released reports.

        `is_release_due` is whether to release full batches of open surveys now.
        """
        for survey in self._store.all():
            if survey.status == "open" and (reason := self._ended_because(survey)) is not None:
                operations.close(self._store, survey.id, reason)
                survey = self._store.get(survey.id)
            is_full_due = is_release_due and survey.relay.release == "batches"
            if survey.status == "closed" or is_full_due:
                operations.release(self._store, survey.id)
            if survey.is_stopped:
                stop = operations.describe_stop(survey)
                self._log_once(f"{survey.id}: stopped", logging.WARNING, stop)
            else:
                self._logged.pop(f"{survey.id}: stopped", None)
            if self._clock() >= self._retry_at.get(survey.id, 0):
                self._pass_on(survey)
                self._finish(survey.id)
            # Compact the files, which may show the order of arrival or reports that were passed on.
            changes = (survey.status != "open", self._store.get(survey.id).passed)
            if self._compacted.get(survey.id) != changes:
                self._compact(survey.id, changes)

    def _compact(self, id: str, changes: tuple[bool, int]) -> None:
        """Compact the files after changes of a survey; if that is not possible now, retry later.

        While a compaction waits for others that read or write, reports wait for it, and meanwhile
        the other surveys are passed on.
        """
        if self._clock() < self._compact_at:
            return
        try:
            self._store.database.compact()
        except StoreUnavailable as error:
            self._compact_at = self._clock() + _RETRY
            self._log_once("*", logging.WARNING, f"files are not compacted yet: {error}")
        else:
            self._compacted[id] = changes
            self._logged.pop("*", None)

    def _ended_because(self, survey: RegisteredSurvey) -> Reason | None:
        """Return the reason why a survey has ended; None if it has not."""
        if not survey.is_open(datetime.now(UTC)):
            return "deadline"
        if self._clock() < self._ask_at.get(survey.id, 0):
            return None
        self._ask_at[survey.id] = self._clock() + _ASK
        try:
            published = self._transport(survey).get(survey_path(survey.id), PublishedSurvey)
        except (CollectorUnavailable, RequestRefused) as error:
            self._log_once(survey.id, logging.WARNING, f"{survey.id} cannot be asked for: {error}")
            return None
        if published.digest != survey.digest:
            self._log_once(
                survey.id,
                logging.ERROR,
                f"the collector of {survey.id} publishes another digest: reports are taken under"
                " the registered one alone",
            )
            return None
        return "collector" if published.status == "closed" else None

    def _pass_on(self, survey: RegisteredSurvey) -> None:
        """Pass on the released reports of a survey; stop and retry later after a failure."""
        ids = shuffled(self._store.due_ids(survey))
        for start in range(0, len(ids), MOST_SEALED):
            if self._stopping.is_set():
                return
            chunk = ids[start : start + MOST_SEALED]
            try:
                receipt = self._send(survey, chunk)
            except HalftruthError as error:
                if isinstance(error, StoreUnavailable):
                    raise
                self._retry_at[survey.id] = self._clock() + _RETRY
                held = len(ids) - start
                self._log_once(
                    survey.id, logging.WARNING, f"{held} reports of {survey.id} are held: {error}"
                )
                return
            operations.acknowledge(self._store, survey, chunk, receipt)
            self._logged.pop(survey.id, None)
            _log.info(
                "passed on %d reports of %s: %d counted now, %d before, %d not to be opened;"
                " %d are held",
                len(chunk),
                survey.id,
                receipt.accepted,
                receipt.duplicates,
                receipt.refused,
                len(ids) - start - len(chunk),
            )

    def _finish(self, id: str) -> None:
        """Tell a collector, once, that there are no further reports to a survey."""
        survey = self._store.get(id)
        if survey.status not in ("released", "withheld") or id in self._finished:
            return
        if self._store.held(survey).due:
            return
        batch = RelayedBatch(digest=survey.digest, relayed=[], finished=True)
        try:
            self._transport(survey).post(survey_path(id, "reports"), Receipt, batch)
        except CollectorUnavailable:
            self._retry_at[id] = self._clock() + _RETRY
            return
        except RequestRefused as error:
            self._log_once(
                id, logging.WARNING, f"the collector of {id} is not told of its end: {error}"
            )
        self._finished.add(id)

    def _send(self, survey: RegisteredSurvey, ids: Sequence[bytes]) -> Receipt:
        relayed = self._store.sealed(survey, ids)
        if not relayed:
            # Another process of this relay has passed them on.
            return Receipt(accepted=0, duplicates=0)
        batch = RelayedBatch(digest=survey.digest, relayed=relayed)
        path = survey_path(survey.id, "reports")
        receipt = self._transport(survey).post(path, Receipt, batch)
        if receipt.accepted + receipt.duplicates + receipt.refused != len(relayed):
            raise RequestRefused(
                f"the receipt of {len(relayed)} reports is not of as many", status=202
            )
        return receipt

    def _transport(self, survey: RegisteredSurvey) -> Transport:
        return Transport(survey.collector, token=survey.token, retries=0, timeout=_TIMEOUT)

    def _log_once(self, about: str, level: int, message: str) -> None:
        """Log a message about a survey, unless it repeats the last one."""
        if self._logged.get(about) != message:
            self._logged[about] = message
            _log.log(level, "%s", message)
