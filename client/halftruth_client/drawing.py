"""One draw for each person: two draws of the same answers tell more than one.

Whoever is told that a call failed calls again. So a failed call leaves its reports here, in the
memory of the process that perturbed the records, and the next call with equal answers sends these
instead of drawing anew. A record is recognized by a keyed digest, whose random key never leaves
the process; the record itself is not kept.

Nobody can tell the second call of one person from the first one of another with equal answers.
Each successful call still has a report of its own: the second person finds the memory empty. It
is reports of equal answers that may change hands, and every one of them is a fair draw of these.
"""

import hashlib
import secrets
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID, uuid4

import numpy as np
from halftruth_shared import HalftruthError, ParameterError, RecordError, Survey
from numpy.typing import NDArray

from .outbox import StoredReport


@dataclass(frozen=True)
class Draw:
    """A report, and the keyed digest of the record that it was drawn for."""

    mark: bytes = field(repr=False)
    report: StoredReport


class Unsettled:
    """Reports of calls that failed, by keyed digests of their records."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._lock = threading.Lock()
        self._reports: dict[bytes, dict[UUID, StoredReport]] = {}
        self._marks: dict[UUID, bytes] = {}

    def marks(self, digest: str, codes: NDArray[np.int64]) -> list[bytes]:
        """Keyed digests of records, each bound to its survey."""
        survey = hashlib.blake2b(digest.encode(), key=self._key, digest_size=16)
        found = []
        for row in np.ascontiguousarray(codes):
            of_record = survey.copy()
            of_record.update(row.tobytes())
            found.append(of_record.digest())
        return found

    def take(self, mark: bytes) -> StoredReport | None:
        """A report that was left for such a record, for this caller alone."""
        with self._lock:
            left = self._reports.get(mark)
            if left is None:
                return None
            id, report = left.popitem()
            del self._marks[id]
            if not left:
                del self._reports[mark]
        return report

    def leave(self, draws: Iterable[Draw]) -> None:
        """Keep what a failed call drew for the call that tries again."""
        with self._lock:
            for draw in draws:
                self._reports.setdefault(draw.mark, {})[draw.report.id] = draw.report
                self._marks[draw.report.id] = draw.mark

    def settle(self, reports: Iterable[StoredReport]) -> None:
        """Forget reports that the collector has acknowledged."""
        with self._lock:
            for report in reports:
                mark = self._marks.pop(report.id, None)
                if mark is not None:
                    del self._reports[mark][report.id]
                    if not self._reports[mark]:
                        del self._reports[mark]


def draw(
    survey: Survey,
    records: Iterable[Mapping[str, str]],
    unsettled: Unsettled,
    invitations: Sequence[str] | None = None,
) -> list[Draw] | HalftruthError:
    """Reports of records, or what is wrong with the first record that does not fit.

    The error is new, without the traceback whose frames hold a record, and names the record by
    its position. Where there are invitations, there has to be one for each record.
    """
    codes: list[tuple[int, ...]] = []
    try:
        for record in records:
            codes.append(survey.schema.encode(record))
    except RecordError as error:
        return RecordError(f"record {len(codes)}: {error}", field=error.field)
    except Exception as error:
        # Whatever a strange mapping raises may quote the answers.
        return RecordError(
            f"record {len(codes)}: expected answers by name ({type(error).__name__})"
        )
    if invitations is not None and len(invitations) != len(codes):
        return ParameterError(
            f"invitations: expected one for each of the {len(codes)} records", field="invitations"
        )
    array = np.array(codes, dtype=np.int64).reshape(-1, len(survey.schema.shape))
    marks = unsettled.marks(survey.digest, array)
    left = [unsettled.take(mark) for mark in marks]
    values = iter(_perturbed(survey, array[[report is None for report in left]]))
    return [
        Draw(mark, report or StoredReport(uuid4(), survey.id, survey.digest, next(values)))
        for mark, report in zip(marks, left, strict=True)
    ]


def _perturbed(survey: Survey, codes: NDArray[np.int64]) -> list[tuple[int, ...]]:
    mechanism, schema = survey.mechanism, survey.schema
    if len(codes) == 1:
        return [mechanism.perturb(schema, codes[0].tolist())]
    return list(map(tuple, mechanism.perturb_many(schema, codes).tolist()))
