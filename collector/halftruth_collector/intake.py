"""From the reports of a request to what the store counts: opened, checked and packed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halftruth_shared import ReportError
from halftruth_shared.messages import ReportBatch, SealedBatch, SealedReport

from .errors import StoreUnavailable
from .store.submissions import Submission, combine, pack
from .store.surveys import StoredSurvey

if TYPE_CHECKING:
    # Only a collector with sealed surveys needs the cryptography.
    from halftruth_shared.sealing import SealingKeys


def submission(
    stored: StoredSurvey, batch: ReportBatch | SealedBatch, keys: SealingKeys | None
) -> Submission:
    """What is to be counted of a batch for a survey.

    Parameters
    ----------
    stored : StoredSurvey
    batch : ReportBatch or SealedBatch
    keys : SealingKeys, optional
        The private keys of this collector.

    Raises
    ------
    ReportError
        If a report does not fit the survey or cannot be opened, naming its index.
    ReportIdReused
        If one id comes with two reports.
    StoreUnavailable
        If the survey is sealed to a key that this collector does not have.
    """
    survey = stored.survey()
    shape = survey.mechanism.report_shape(survey.schema)
    if isinstance(batch, ReportBatch):
        return pack(stored.id, batch.digest, shape, batch.reports)
    if keys is None or stored.terms.sealing_key not in keys.public:
        # Not the client's fault: its report will be opened once the operator has seen to that.
        raise StoreUnavailable("this collector lacks the key that reports are sealed to")
    opened = [
        _open(stored, report, index, shape.packed_size, keys)
        for index, report in enumerate(batch.reports)
    ]
    for index, (cell, _) in enumerate(opened):
        shape.check(shape.unpack(cell), index)
    return combine(
        stored.id,
        batch.digest,
        [report.id.bytes for report in batch.reports],
        [cell for cell, _ in opened],
        [invitation for _, invitation in opened],
        sealed=True,
    )


def _open(
    stored: StoredSurvey, report: SealedReport, index: int, size: int, keys: SealingKeys
) -> tuple[bytes, bytes | None]:
    """The packed report and the invitation in a sealed report."""
    from halftruth_shared.sealing import open_sealed

    try:
        # Sealed for the digest that is published, whichever the batch names.
        cell, invitation = open_sealed(
            keys, stored.digest, report.id, report.sealed, size, stored.terms.invitations
        )
    except ReportError as error:
        raise ReportError(f"report {index}: {error}", field=error.field, index=index) from None
    return cell, None if invitation is None else bytes.fromhex(invitation)
