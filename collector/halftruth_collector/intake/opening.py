"""The first steps of a report's way in: sealed reports are opened, then all are checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halftruth_shared import ReportError, ReportSpace
from halftruth_shared.protocol.reports import ReportBatch, SealedBatch, SealedReport

from ..errors import StoreUnavailable
from .checking import Batch, check, collect

if TYPE_CHECKING:
    # Only a collector with sealed surveys needs the cryptography.
    from halftruth_shared.protocol.sealing import SealingKeys

    from ..store.surveys import StoredSurvey


def open_batch(
    stored: StoredSurvey, message: ReportBatch | SealedBatch, keys: SealingKeys | None
) -> Batch:
    """Open and check the reports of a request.

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
        # Sealed for the digest that is published, whichever the batch names.
        open_report(stored.digest, stored.terms.invitations, space, report, index, keys)
        for index, report in enumerate(message.reports)
    ]
    return collect(
        stored.id,
        message.digest,
        [report.id.bytes for report in message.reports],
        [cell for cell, _ in opened],
        [invitation for _, invitation in opened],
        sealed=True,
    )


def open_report(
    digest: str,
    invited: bool,
    space: ReportSpace,
    report: SealedReport,
    index: int,
    keys: SealingKeys,
) -> tuple[bytes, bytes | None]:
    """The packed report and the invitation in a sealed report.

    It has to be sealed for this digest, of a survey that asks for invitations if it is `invited`;
    an error says its index.

    Raises
    ------
    ReportError
        If it cannot be opened, or does not fit.
    """
    from halftruth_shared.protocol.sealing import open_sealed

    try:
        cell, invitation = open_sealed(
            keys, digest, report.id, report.sealed, space.packed_size, invited
        )
    except ReportError as error:
        raise ReportError(f"report {index}: {error}", field=error.field, index=index) from None
    space.check(space.unpack(cell), index)
    return cell, None if invitation is None else bytes.fromhex(invitation)
