"""Reports of surveys: counting them, and reading the counts."""

from collections.abc import Sequence

from halftruth_shared.protocol.reports import Receipt, Report

from ..store.counts import CountStore, DailyOutcomes
from ..store.database import Database
from ..store.surveys import SurveyStore
from .checking import Batch, check
from .counting import Observer, ReportCounter


class ReportStore(CountStore):
    """Counts reports and reads the counts."""

    def __init__(
        self, database: Database, surveys: SurveyStore, observer: Observer | None = None
    ) -> None:
        super().__init__(database)
        self._surveys = surveys
        self._counter = ReportCounter(database, observer)

    def add(self, survey_id: str, digest: str, reports: Sequence[Report]) -> Receipt:
        """Check and count reports, all of them or none, and return once that is durable.

        Raises
        ------
        UnknownSurvey, SurveyClosed, StaleDigest, InvitationRefused
        ReportError
            If a report does not fit the survey.
        StoreUnavailable
        """
        space = self._surveys.get(survey_id).survey().report_space
        return self.count(check(survey_id, digest, space, reports))

    def count(self, batch: Batch) -> Receipt:
        """Count the reports of a request, all of them or none; return once that is durable.

        A report whose id was counted before is a duplicate, whatever it says.

        Raises
        ------
        UnknownSurvey, SurveyClosed, StaleDigest, ReportError, InvitationRefused
        StoreUnavailable
            Whether they were counted is then unknown; sending them again is safe.
        """
        return self._counter.count(batch)

    def refuse(self, survey_id: str, reason: str) -> None:
        """Remember that a request with reports was refused, and why.

        It is written down within a minute of further requests, or when the store is closed.
        """
        self._counter.refuse(survey_id, reason)

    def flush(self) -> None:
        """Write down the refusals that are remembered."""
        self._counter.flush()

    def daily_outcomes(self, survey_id: str) -> list[DailyOutcomes]:
        """What became of the reports of each day, the last one first.

        Raises
        ------
        UnknownSurvey, StoreUnavailable
        """
        self.flush()
        return super().daily_outcomes(survey_id)
