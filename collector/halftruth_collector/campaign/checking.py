"""Checks of a file's reports: the same that reports over HTTP go through."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from halftruth_shared import HalftruthError, ReportError, ReportSpace
from halftruth_shared.protocol.reports import SealedReport
from numpy.typing import NDArray

from ..errors import MalformedRequest, slug
from ..intake.checking import (
    fitting,
    pack_all,
    stale,
    unexpected_invitation_error,
    unexpected_seal_error,
)
from ..intake.opening import open_report

if TYPE_CHECKING:
    from halftruth_shared.protocol.sealing import SealingKeys


@dataclass(frozen=True)
class Rules:
    """Requirements of a campaign's reports.

    Attributes
    ----------
    survey_id, digest : str
    space : ReportSpace
    sealing_key : str or None
        Public key that they are sealed to.
    key_file : str or None
        Where the private keys are; they are read there, and travel nowhere.
    """

    survey_id: str
    digest: str
    space: ReportSpace
    sealing_key: str | None = None
    key_file: str | None = None


@dataclass
class Refusals:
    """Number of reports refused, by reason, and the first one of each in words."""

    counts: dict[str, int] = field(default_factory=dict)
    first: dict[str, str] = field(default_factory=dict)

    def add(self, reason: str, count: int, first: str) -> None:
        """Add so many of one reason."""
        self.counts[reason] = self.counts.get(reason, 0) + count
        self.first.setdefault(reason, first)


def check(
    rules: Rules, keys: SealingKeys | None, batch: pa.RecordBatch, start: int, refused: Refusals
) -> tuple[NDArray[np.void], NDArray[np.void]]:
    """Ids and packed reports of those that can be counted, in their order.

    Parameters
    ----------
    rules : Rules
    keys : SealingKeys, optional
        Of the collector, if reports are to be sealed; otherwise they are to be open.
    batch : pyarrow.RecordBatch
        As :func:`~.reading.batches` has it.
    start : int
        Position of its first report in the file.
    refused : Refusals
        To which the others are added.
    """
    rest = _Rest(batch, start, refused)
    has_values = rest.column("values").is_valid()
    rest.refuse(
        pc.or_(
            rest.column("id").is_null(),
            pc.or_(
                rest.column("digest").is_null(),
                pc.equal(has_values, rest.column("sealed").is_valid()),
            ),
        ),
        lambda index: MalformedRequest(
            f"report {index}: expected an id, a digest, and either 'values' or 'sealed'"
        ),
    )
    digests = rest.column("digest")
    other = np.array([each != rules.digest for each in digests.dictionary.to_pylist()], dtype=bool)
    rest.refuse(other[np.from_dlpack(digests.indices)], lambda _: stale(rules.survey_id))
    if keys is not None:
        rest.refuse(rest.column("sealed").is_null(), partial(unexpected_seal_error, sealed=False))
        cells = _opened(rules, keys, rest)
        return rest.ids(), cells
    rest.refuse(rest.column("values").is_null(), partial(unexpected_seal_error, sealed=True))
    rest.refuse(rest.column("invitation").is_valid(), unexpected_invitation_error)
    values = _values(rules.space, rest)
    return rest.ids(), pack_all(rules.space, values)


class _Rest:
    """The reports of a batch that nothing was found wrong with so far."""

    def __init__(self, batch: pa.RecordBatch, start: int, refused: Refusals) -> None:
        self._batch = batch
        self.positions = np.arange(start, start + batch.num_rows)
        self._refused = refused

    def column(self, name: str) -> Any:
        return self._batch.column(name)

    def ids(self) -> NDArray[np.void]:
        ids = self.column("id")
        return np.frombuffer(ids.buffers()[1], "V16", len(ids), 16 * ids.offset)

    def refuse(self, wrong: Any, error: Callable[[int], HalftruthError]) -> None:
        """Refuse some of them, by a mask."""
        if isinstance(wrong, pa.Array):
            # By way of bytes, for what Arrow itself does with bits loads pandas.
            wrong = np.from_dlpack(wrong.cast(pa.uint8())).view(np.bool_)
        if not wrong.any():
            return
        first = error(int(self.positions[wrong][0]))
        self._refused.add(slug(first), int(wrong.sum()), str(first))
        self._batch = self._batch.filter(pa.array(~wrong))
        self.positions = self.positions[~wrong]


def _values(space: ReportSpace, rest: _Rest) -> NDArray[np.integer]:
    """The values of open reports; those that do not fit are refused."""

    def unfit(where: NDArray[np.bool_]) -> Callable[[int], HalftruthError]:
        values = rest.column("values")[int(np.argmax(where))].as_py()

        def error(index: int) -> HalftruthError:
            try:
                space.check(values, index)
            except ReportError as error:
                return error
            raise AssertionError("a report was refused that fits")

        return error

    columns = len(space.shape)
    short = np.from_dlpack(pc.list_value_length(rest.column("values"))) != columns
    if short.any():
        rest.refuse(short, unfit(short))
    flat = rest.column("values").flatten()
    if flat.null_count:
        flat = pc.fill_null(flat.cast(pa.int64(), safe=False), -1)
    values: NDArray[Any] = np.from_dlpack(flat).reshape(-1, columns)
    outside = ~fitting(space, values)
    if outside.any():
        rest.refuse(outside, unfit(outside))
        values = values[~outside]
    return values


def _opened(rules: Rules, keys: SealingKeys, rest: _Rest) -> NDArray[np.void]:
    """The packed reports that sealed ones hold; those that cannot be opened are refused."""
    size = rules.space.packed_size
    cells = bytearray()
    wrong = np.zeros(len(rest.positions), dtype=bool)
    errors: list[HalftruthError] = []
    for place, (index, id_, sealed) in enumerate(
        zip(
            rest.positions.tolist(),
            rest.column("id").to_pylist(),
            rest.column("sealed").to_pylist(),
            strict=True,
        )
    ):
        report = SealedReport(id=UUID(bytes=id_), sealed=sealed)
        try:
            cells += open_report(rules.digest, False, rules.space, report, index, keys)[0]
        except ReportError as error:
            wrong[place] = True
            errors.append(error)
    rest.refuse(wrong, lambda _: errors[0])
    return np.frombuffer(bytes(cells), f"V{size}")
