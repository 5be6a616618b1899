"""The second step of a report's way in: sealed reports are opened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from halftruth_shared import ReportError, ReportSpace
from halftruth_shared.protocol.reports import (
    RelayedBatch,
    Report,
    ReportBatch,
    SealedBatch,
    SealedReport,
)

from ..errors import StoreUnavailable
from .checking import Batch

if TYPE_CHECKING:
    # Only a collector with sealed surveys needs the cryptography.
    from halftruth_shared.protocol.sealing import SealingKeys

    from ..store.surveys import StoredSurvey


def open_reports(
    stored: StoredSurvey, batch: ReportBatch | SealedBatch, keys: SealingKeys | None
) -> Sequence[Report]:
    """Return the reports of a batch, those that came sealed with the values inside.

    Parameters
    ----------
    stored : StoredSurvey
    batch : ReportBatch or SealedBatch
    keys : SealingKeys, optional
        The private keys of this collector.

    Raises
    ------
    ReportError
        If a report cannot be opened, naming its index.
    StoreUnavailable
        If the survey is sealed to a key that this collector does not have.
    """
    if isinstance(batch, ReportBatch):
        return batch.reports
    if keys is None or stored.terms.sealing_key not in keys.public:
        raise _missing_key()
    space, invited = stored.survey().report_space, stored.terms.invitations
    return [
        open_report(stored.digest, invited, space, report, index, keys)
        for index, report in enumerate(batch.reports)
    ]


def open_relayed_batch(
    stored: StoredSurvey, batch: RelayedBatch, keys: SealingKeys | None
) -> Batch:
    """Return the reports of a batch of the survey's relay, checked and packed.

    The relay cannot look into reports, so one that a sender made up does not keep out the others:
    those that cannot be opened or do not fit the survey are left out, and counted as refused.

    Raises
    ------
    StoreUnavailable
        If the survey is sealed to a key that this collector does not have.
    """
    from halftruth_shared.protocol.sealing import open_relayed

    survey = stored.survey()
    space, relay = survey.report_space, survey.relay
    if keys is None or relay is None or relay.sealing_key not in keys.public:
        raise _missing_key()
    ids: list[bytes] = []
    cells: dict[bytes, bytes] = {}
    for sealed in batch.relayed:
        try:
            id_, packed = open_relayed(keys, stored.digest, sealed, space.packed_size)
            space.check(space.unpack(packed), 0)
        except ReportError:
            continue
        ids.append(id_.bytes)
        cells.setdefault(id_.bytes, packed)
    refused = len(batch.relayed) - len(ids)
    return Batch(
        *(stored.id, stored.digest, ids, cells, {}),
        relayed=True,
        refused=refused,
        finished=batch.finished,
    )


def open_report(
    digest: str,
    invited: bool,
    space: ReportSpace,
    report: SealedReport,
    index: int,
    keys: SealingKeys,
) -> Report:
    """Open a sealed report, whose values may be out of range.

    It has to be sealed for this digest, of a survey that asks for invitations if it is `invited`;
    an error says its index.

    Raises
    ------
    ReportError
        If it cannot be opened.
    """
    from halftruth_shared.protocol.sealing import open_sealed

    try:
        cell, invitation = open_sealed(
            keys, digest, report.id, report.sealed, space.packed_size, invited
        )
    except ReportError as error:
        raise ReportError(f"report {index}: {error}", field=error.field, index=index) from None
    return Report(id=report.id, values=list(space.unpack(cell)), invitation=invitation)


def _missing_key() -> StoreUnavailable:
    """The error of reports that will be opened once the operator has seen to the key."""
    return StoreUnavailable("this collector lacks the key that reports are sealed to")
