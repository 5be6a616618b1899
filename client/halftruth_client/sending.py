"""Reports on their way to a collector, plain or sealed as it asks."""

from collections.abc import Sequence
from dataclasses import replace

from halftruth_shared import ParameterError, ReportShape
from halftruth_shared.messages import Receipt, Report, ReportBatch, SealedBatch, SealedReport

from .announcements import Announced, Announcements
from .errors import RequestRefused, SurveyRefused
from .outbox import StoredReport
from .transport import Transport, survey_path


class Sender:
    """Sends reports on the terms that the collector announces.

    Parameters
    ----------
    transport : Transport
    announcements : Announcements
    """

    def __init__(self, transport: Transport, announcements: Announcements) -> None:
        self._transport = transport
        self._announcements = announcements

    def send(self, reports: Sequence[StoredReport]) -> Receipt:
        """Send reports of one survey in one request, and once more where its terms have changed.

        Raises
        ------
        SurveyRefused, RequestRefused, CollectorUnavailable
        """
        survey, digest = reports[0].survey, reports[0].digest
        announced = self._announcements.of(survey, digest)
        try:
            return self._post(reports, announced)
        except RequestRefused as error:
            if error.status != 422:
                raise
            changed = self._announcements.of(survey, digest, again=True)
            if changed.terms == announced.terms:
                raise
        return self._post(reports, changed)

    def _post(self, reports: Sequence[StoredReport], announced: Announced) -> Receipt:
        survey, terms = reports[0].survey, announced.terms
        if not terms.invitations:
            reports = [replace(report, invitation=None) for report in reports]
        for i, report in enumerate(reports):
            if terms.invitations and report.invitation is None:
                # As the collector would answer, who cannot look into what is sealed.
                raise RequestRefused(
                    f"report {i}: survey '{survey}' asks for invitations; expected one",
                    status=403,
                    field="invitation",
                    report=i,
                )
        batch = (
            _plain_batch(reports)
            if terms.sealing_key is None
            else _sealed_batch(reports, announced.shape, terms.sealing_key)
        )
        return self._transport.post(survey_path(survey, "reports"), Receipt, batch)


def _plain_batch(reports: Sequence[StoredReport]) -> ReportBatch:
    return ReportBatch(
        digest=reports[0].digest,
        reports=[
            Report(id=report.id, values=list(report.values), invitation=report.invitation)
            for report in reports
        ],
    )


def _sealed_batch(
    reports: Sequence[StoredReport], shape: ReportShape, sealing_key: str
) -> SealedBatch:
    # Imported here: most surveys are not sealed, and the library takes a while.
    from halftruth_shared.sealing import seal

    digest = reports[0].digest
    try:
        sealed = [
            seal(sealing_key, digest, report.id, shape.pack(report.values), report.invitation)
            for report in reports
        ]
    except ParameterError as error:
        raise SurveyRefused(f"survey '{reports[0].survey}': {error}", field="sealing_key") from None
    return SealedBatch(
        digest=digest,
        reports=[
            SealedReport(id=report.id, sealed=content)
            for report, content in zip(reports, sealed, strict=True)
        ],
    )
