"""Draw one report for each person, since two draws of the same answers reveal more than one.

A call that fails will be repeated. So the reports of a failed call are kept in the memory of the
process, and the next call with equal answers sends these instead of drawing again. Records are
recognized by a keyed digest, whose random key never leaves the process; records themselves are not
kept. The digest covers the id of the survey and the answers by name, so that a collector cannot get
a second draw by changing anything else of the survey.

The second call of one person cannot be distinguished from the first call of another person with
equal answers. Even so, each successful call sends its own report, since the memory is emptied on
success. Reports may be exchanged between people with equal answers; each is a valid draw for these
answers.
"""

import hashlib
import json
import secrets
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING
from uuid import UUID, uuid4

from halftruth_shared import HalftruthError, ParameterError, RecordError, Survey
from halftruth_shared.number import parse_number

from .errors import AnsweredBefore

if TYPE_CHECKING:
    from halftruth_shared.protocol.tickets import Ticket

#: A category, a number, or the chosen options of a multiple-response question.
Answer = str | float | Fraction | list[str] | tuple[str, ...] | set[str] | frozenset[str]

#: Answers by attribute; optional and unasked questions can be missing.
PersonRecord = Mapping[str, Answer]


@dataclass(frozen=True)
class DrawnReport:
    """A perturbed report with the survey that it answers."""

    id: UUID
    survey: str
    digest: str
    values: tuple[int, ...] = field(repr=False)
    invitation: str | None = field(default=None, repr=False)
    #: Id of the report at the relay of the survey, which never sees `id`.
    relay_id: UUID | None = None
    #: From which its view follows, until it was counted.
    ticket: "Ticket | None" = field(default=None, repr=False)


@dataclass(frozen=True)
class Draw:
    """A report, with the keyed digest of its record."""

    mark: bytes = field(repr=False)
    report: DrawnReport


class Unsettled:
    """Reports of failed calls, by keyed digests of their records."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._lock = threading.Lock()
        self._reports: dict[bytes, dict[UUID, DrawnReport]] = {}
        self._marks: dict[UUID, bytes] = {}

    def mark(self, survey: str, record: PersonRecord) -> bytes:
        """Return the keyed digest of a valid record, bound to the id of its survey."""
        answers = sorted((name, _normalize_answer(answer)) for name, answer in record.items())
        content = json.dumps([survey, answers]).encode()
        return hashlib.blake2b(content, key=self._key, digest_size=16).digest()

    def pop(self, mark: bytes, digest: str) -> DrawnReport | None:
        """Remove and return a report of a record; None if there is none.

        If there are only reports to another version of the survey, raise `AnsweredBefore`.
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
        """Keep the reports of a failed call."""
        with self._lock:
            for draw in draws:
                self._reports.setdefault(draw.mark, {})[draw.report.id] = draw.report
                self._marks[draw.report.id] = draw.mark

    def settle(self, reports: Iterable[DrawnReport]) -> None:
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
    take_tickets: "Callable[[Sequence[int]], Sequence[Ticket]] | None" = None,
) -> list[Draw] | HalftruthError:
    """Draw reports of records, or return the error of the first invalid record.

    The error is returned without its traceback, whose frames contain records, and names the index
    of the record. If there are invitations, there must be one for each record. If views follow from
    tickets, `take_tickets` returns those of the records at some positions, which are not drawn yet.
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
        # Errors of other mapping types can quote answers.
        return RecordError(
            f"record {len(codes)}: expected answers by name ({type(error).__name__})"
        )
    if invitations is not None and len(invitations) != len(codes):
        return ParameterError(
            f"invitations: expected one for each of the {len(codes)} records", field="invitations"
        )
    left: list[DrawnReport | None] = []
    try:
        for mark in marks:
            left.append(unsettled.pop(mark, survey.digest))
    except AnsweredBefore as error:
        taken = zip(marks, left, strict=False)
        unsettled.restore(Draw(mark, report) for mark, report in taken if report is not None)
        return AnsweredBefore(f"record {len(left)}: {error}", field=error.field)
    undrawn = [i for i, report in enumerate(left) if report is None]
    tickets: Sequence[Ticket | None] = [None] * len(undrawn)
    if take_tickets is not None and undrawn:
        try:
            tickets = take_tickets(undrawn)
        except HalftruthError as error:
            taken = zip(marks, left, strict=True)
            unsettled.restore(Draw(mark, report) for mark, report in taken if report is not None)
            return error.with_traceback(None)
    drawn = {
        i: _draw_report(survey, codes[i], ticket)
        for i, ticket in zip(undrawn, tickets, strict=True)
    }
    reports = (report or drawn[i] for i, report in enumerate(left))
    return [Draw(mark, report) for mark, report in zip(marks, reports, strict=True)]


def _draw_report(survey: Survey, codes: tuple[int, ...], ticket: "Ticket | None") -> DrawnReport:
    """Draw a report, with ids that stay the same when sending is retried."""
    if ticket is None:
        values = survey.perturbation.report(codes)
    else:
        # Import here, since a survey without tickets does not need it.
        from halftruth_shared.protocol.tickets import draw_view

        view = draw_view(survey.perturbation, survey.digest, ticket.id, ticket.secret)
        values = survey.perturbation.report(codes, view=view)
    relay_id = None if survey.relay is None else uuid4()
    return DrawnReport(uuid4(), survey.id, survey.digest, values, relay_id=relay_id, ticket=ticket)


def _normalize_answer(answer: Answer) -> str | list[str]:
    """Normalize an answer, so that equal answers have equal digests."""
    if isinstance(answer, str):
        return answer
    if isinstance(answer, list | tuple | set | frozenset):
        return sorted(answer)
    return str(parse_number(answer))
