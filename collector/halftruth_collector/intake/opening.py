"""The first steps of a report's way in: sealed reports are opened, then all are checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halftruth_shared import ReportError
from halftruth_shared.protocol.reports import ReportBatch, SealedBatch, SealedReport

from ..errors import StoreUnavailable
from ..store.surveys import StoredSurvey
from .checking import Batch, check, collect

if TYPE_CHECKING:
    # Only a collector with sealed surveys needs the cryptography.
    from halftruth_shared.protocol.sealing import SealingKeys


def open_batch(
    stored: StoredSurvey, message: ReportBatch | SealedBatch, keys: SealingKeys | None
) -> Batch:
    """What is to be counted of the reports of a request.

    Parameters
    ----------
    stored : StoredSurvey
    message : ReportBatch or SealedBatch
    keys : SealingKeys, optional
        The private keys of this collector.

    Raises
    ------
    ReportError
        If a report does not fit the survey or cannot be opened, naming its index.
    StoreUnavailable
        If the survey is sealed to a key that this collector does not have.
    """
    space = stored.survey().report_space
    if isinstance(message, ReportBatch):
        return check(stored.id, message.digest, space, message.reports)
    if keys is None or stored.terms.sealing_key not in keys.public:
        # Not the client's fault: its report will be opened once the operator has seen to that.
        raise StoreUnavailable("this collector lacks the key that reports are sealed to")
    opened = [
        _open(stored, report, index, space.packed_size, keys)
        for index, report in enumerate(message.reports)
    ]
    for index, (cell, _) in enumerate(opened):
        space.check(space.unpack(cell), index)
    return collect(
        stored.id,
        message.digest,
        [report.id.bytes for report in message.reports],
        [cell for cell, _ in opened],
        [invitation for _, invitation in opened],
        sealed=True,
    )


def _open(
    stored: StoredSurvey, report: SealedReport, index: int, size: int, keys: SealingKeys
) -> tuple[bytes, bytes | None]:
    """The packed report and the invitation in a sealed report."""
    from halftruth_shared.protocol.sealing import open_sealed

    try:
        # Sealed for the digest that is published, whichever the batch names.
        cell, invitation = open_sealed(
            keys, stored.digest, report.id, report.sealed, size, stored.terms.invitations
        )
    except ReportError as error:
        raise ReportError(f"report {index}: {error}", field=error.field, index=index) from None
    return cell, None if invitation is None else bytes.fromhex(invitation)
