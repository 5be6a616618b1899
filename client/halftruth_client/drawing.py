"""One draw for each person, since two draws of the same answers reveal more than one.

Failed calls are repeated. So a failed call keeps its reports here, in the memory of the process
that perturbed the records, and the next call with equal answers sends these instead of drawing
anew. A record is recognized by a keyed digest, whose random key never leaves the process; the
record itself is not kept. The digest is of the survey's id and the answers by name: a collector
that changes anything else of a survey gets no second draw of them.

Nobody can tell the second call of one person from the first one of another with equal answers.
Each successful call still has a report of its own: the second person finds the memory empty. It
is reports of equal answers that may change hands, and every one of them is a fair draw of these.
"""

import hashlib
import json
import secrets
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from uuid import UUID, uuid4

import numpy as np
from halftruth_shared import HalftruthError, ParameterError, RecordError, Survey
from halftruth_shared.number import parse_number
from numpy.typing import NDArray

from .errors import AnsweredBefore
from .outbox import StoredReport

#: A category or, of a number, the number; of a question with several answers, the options chosen.
Answer = str | float | Fraction | list[str] | tuple[str, ...] | set[str] | frozenset[str]

#: Answers by attribute, without those to what is optional or not asked of such a person.
PersonRecord = Mapping[str, Answer]


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

    def mark(self, survey: str, record: PersonRecord) -> bytes:
        """Return the keyed digest of a valid record, bound to the id of its survey."""
        answers = sorted((name, _in_one_spelling(answer)) for name, answer in record.items())
        content = json.dumps([survey, answers]).encode()
        return hashlib.blake2b(content, key=self._key, digest_size=16).digest()

    def pop(self, mark: bytes, digest: str) -> StoredReport | None:
        """Remove and return a report of such a record, for this caller alone.

        Raises
        ------
        AnsweredBefore
            If it answers another version of the survey.
        """
        with self._lock:
            left = self._reports.get(mark)
            if left is None:
                return None
            fitting = [id for id, report in left.items() if report.digest == digest]
            if not fitting:
                [report, *_] = left.values()
                raise AnsweredBefore(
                    f"survey '{report.survey}': a report of these answers to another version of it"
                    " may have been sent, and a second draw would tell more; expected that version,"
                    " or a `respondent` for whoever has not answered yet",
                    field="respondent",
                )
            report = left.pop(fitting[-1])
            del self._marks[report.id]
            if not left:
                del self._reports[mark]
        return report

    def restore(self, draws: Iterable[Draw]) -> None:
        """Keep the reports of a failed call for its repetition."""
        with self._lock:
            for draw in draws:
                self._reports.setdefault(draw.mark, {})[draw.report.id] = draw.report
                self._marks[draw.report.id] = draw.mark

    def settle(self, reports: Iterable[StoredReport]) -> None:
        """Discard reports that the collector has acknowledged."""
        with self._lock:
            for report in reports:
                mark = self._marks.pop(report.id, None)
                if mark is not None:
                    del self._reports[mark][report.id]
                    if not self._reports[mark]:
                        del self._reports[mark]


def draw(
    survey: Survey,
    records: Iterable[PersonRecord],
    unsettled: Unsettled,
    invitations: Sequence[str] | None = None,
) -> list[Draw] | HalftruthError:
    """Draw reports of records, or return the error of the first invalid record.

    The error is new, without the traceback whose frames hold a record, and names the record by
    its position. Where there are invitations, there has to be one for each record.
    """
    codes: list[tuple[int, ...]] = []
    marks: list[bytes] = []
    try:
        for record in records:
            codes.append(survey.schema.encode(record))
            marks.append(unsettled.mark(survey.id, record))
    except RecordError as error:
        return RecordError(f"record {len(codes)}: {error}", field=error.field)
    except Exception as error:
        # Errors of foreign mappings may quote answers.
        return RecordError(
            f"record {len(codes)}: expected answers by name ({type(error).__name__})"
        )
    if invitations is not None and len(invitations) != len(codes):
        return ParameterError(
            f"invitations: expected one for each of the {len(codes)} records", field="invitations"
        )
    array = np.array(codes, dtype=np.int64).reshape(-1, len(survey.schema.shape))
    left: list[StoredReport | None] = []
    try:
        for mark in marks:
            left.append(unsettled.pop(mark, survey.digest))
    except AnsweredBefore as error:
        taken = zip(marks, left, strict=False)
        unsettled.restore(Draw(mark, report) for mark, report in taken if report is not None)
        return AnsweredBefore(f"record {len(left)}: {error}", field=error.field)
    values = _perturbed(survey, array[[report is None for report in left]])
    drawn = (_report(survey, each) for each in values)
    return [Draw(mark, report or next(drawn)) for mark, report in zip(marks, left, strict=True)]


def _report(survey: Survey, values: tuple[int, ...]) -> StoredReport:
    """Give a drawn report the ids that it has at every try."""
    relay_id = None if survey.relay is None else uuid4()
    return StoredReport(uuid4(), survey.id, survey.digest, values, relay_id=relay_id)


def _in_one_spelling(answer: Answer) -> str | list[str]:
    """Normalize an answer."""
    if isinstance(answer, str):
        return answer
    if isinstance(answer, list | tuple | set | frozenset):
        return sorted(answer)
    return str(parse_number(answer))


def _perturbed(survey: Survey, codes: NDArray[np.int64]) -> list[tuple[int, ...]]:
    if len(codes) == 1:
        return [survey.perturbation.report(codes[0].tolist())]
    return list(map(tuple, survey.perturbation.reports(codes).tolist()))
