"""The collector's throughput: single reports, and batches of a thousand.

Single reports are compared with a Flask endpoint that only parses them, under the same server.
Batches are compared with the database's bulk path, which writes the same
rows without HTTP. All data are durable when acknowledged, and are counted again afterwards. As a
program, it prints only these comparisons.
"""

import gc
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any
from uuid import uuid4

import bulk
import msgspec
import numpy as np
import sending
import wrk
from halftruth_collector import operations
from halftruth_collector.collector_store import Store
from halftruth_collector.demo.census import census_codes, census_survey
from halftruth_collector.demo.process import collector_process
from halftruth_collector.store.tables import report_ids
from halftruth_shared import GammaDiagonal, SplitQuestionnaire, Survey
from halftruth_shared.protocol.reports import Report, ReportBatch, TicketRequest
from halftruth_shared.protocol.tickets import Ticket, commit, draw_view, new_secret
from halftruth_shared.survey import Reporting
from measure import Comparison, Figure, print_comparisons, print_figures, seconds_of
from servers import THREADS, WORKERS, bare
from sqlalchemy import func, select
from stores import Database, postgres_database, postgres_missing, sqlite_database, sync_seconds

SURVEY = census_survey("census", GammaDiagonal(19))
SHAPE = SURVEY.report_space
CODES = census_codes()
RNG = np.random.default_rng(1)
#: A split questionnaire of the same questions, without and with tickets.
PLAIN = Survey(
    "plain",
    "Views",
    SURVEY.schema,
    SplitQuestionnaire.designed(SURVEY.schema, "19", (), {1: 1.0, 2: 1.0}),
)
TICKETED = replace(PLAIN, id="ticketed", reporting=Reporting(tickets="required"))
PATH = f"/v1/surveys/{SURVEY.id}/reports"
BATCH = 1_000

#: Target shares of the peer's throughput, and 99th percentile of latency in milliseconds.
SINGLE, BESIDE_OTHERS, MANY, COPIED, LATENCY = 0.55, 0.4, 0.5, 1.0, 250.0

#: Target share of the throughput of single reports without tickets.
WITH_TICKETS = 0.9

#: Number of busy processes in the second comparison.
OTHERS = 9

#: Number of alternating pairs of slices, seconds of a slice of single reports, and batches in a
#: slice of batches.
PAIRS, SECONDS, BATCHES = 5, 4, 50


def missing() -> str | None:
    """Return the missing requirement in words, if any."""
    return wrk.missing() or (postgres_missing() if "CI" in os.environ else None)


def collecting(notes: list[str], figures: list[Figure]) -> Iterator[Comparison]:
    """Compare single reports and batches on each database, and add latencies to the figures."""
    notes.append(
        f"Collecting: {WORKERS} processes, the bare peer's of {THREADS} threads each;"
        f" a write is durable after {sync_seconds() * 1e3:.2f} ms."
    )
    absent = postgres_missing()
    if absent:
        notes.append(f"Collecting: PostgreSQL was not measured: {absent}.")
    databases: list[tuple[str, Database]] = [("SQLite", sqlite_database)]
    if not absent:
        databases.append(("PostgreSQL", postgres_database))
    for name, database in databases:
        yield from _single_reports(name, database, figures)
        yield from _with_tickets(name, database)
        with busy_programs(OTHERS):
            yield from _single_reports(f"{name}, busy", database, [], BESIDE_OTHERS)
    batches = [_batch() for _ in range((1 + PAIRS) * BATCHES)]
    yield _batches_beside("SQLite : executemany", sqlite_database, bulk.sqlite_bulk, batches, MANY)
    if not absent:
        yield _batches_beside(
            "PostgreSQL : COPY", postgres_database, bulk.postgres_bulk, batches, COPIED
        )


@contextmanager
def busy_programs(count: int) -> Iterator[None]:
    """Run busy processes until the block is left."""
    programs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for program in programs:
            program.kill()
            program.wait()


def _single_reports(
    name: str, database: Database, figures: list[Figure], target: float = SINGLE
) -> Iterator[Comparison]:
    with (
        database() as url,
        Store(url) as store,
        tempfile.TemporaryDirectory() as folder,
    ):
        operations.publish_survey(store, SURVEY)
        reports = Path(folder) / "reports"
        reports.write_text(_report_lines())
        with collector_process(url, "--quiet") as collector, bare() as peer:
            rounds = [
                [wrk.run(address, PATH, reports, SECONDS) for address in (peer, collector)]
                for _ in range(1 + PAIRS)
            ]
        # Count after the server has ended, since wrk leaves before its last requests are answered.
        counted, _ = _counted(store)
    bare_loads, ours = zip(*rounds, strict=True)
    acknowledged, sent = sum(load.answered for load in ours), sum(load.sent for load in ours)
    if not acknowledged <= counted <= sent:
        raise RuntimeError(
            f"{name}: {counted} reports are counted, {acknowledged} were acknowledged"
            f" and {sent} were sent"
        )
    # The first round is a warm-up.
    latency = median(load.slowest for load in ours[1:]) * 1e3
    figures.append(Figure(f"a report on {name}, 99th percentile", latency, LATENCY))
    yield Comparison(
        f"single reports, {name} : Flask",
        [load.seconds / load.answered for load in ours[1:]],
        [load.seconds / load.answered for load in bare_loads[1:]],
        lambda seconds: f"{1 / seconds:.0f} reports/s",
        target=target,
    )


def _report_lines() -> str:
    """Return the input of `report.lua`."""
    body = msgspec.json.encode(ReportBatch(digest=SURVEY.digest, reports=_reports(1))).decode()
    values = [_after_id(report.values) for report in _reports(10 * BATCH)]
    return "\n".join([body[: body.index('"id":"') + len('"id":"')], *values, ""])


def _after_id(values: Sequence[int], ticket: str | None = None) -> str:
    """Return what follows the id in a request with one report."""
    written = ",".join(map(str, values))
    return f'","values":[{written}]' + (f',"ticket":"{ticket}"' if ticket else "") + "}]}"


def _with_tickets(
    name: str, database: Database, target: float = WITH_TICKETS
) -> Iterator[Comparison]:
    """Compare single reports with tickets, which were taken before or one by one, and without.

    With one ticket each, a report is two requests, one after the other: their times add up.
    """
    with (
        database() as url,
        Store(url) as store,
        tempfile.TemporaryDirectory() as folder,
    ):
        for survey in (PLAIN, TICKETED):
            operations.publish_survey(store, survey)
        file, most = Path(folder) / "reports", 4_000 * SECONDS
        rounds: list[list[wrk.Load]] = []
        with collector_process(url, "--quiet") as collector:
            for _ in range(1 + PAIRS):
                loads = []
                for survey in (PLAIN, TICKETED):
                    file.write_text(_split_lines(store, survey, most))
                    path = f"/v1/surveys/{survey.id}/reports"
                    loads.append(wrk.run(collector, path, file, SECONDS))
                file.write_text(_ticket_lines())
                path = f"/v1/surveys/{TICKETED.id}/tickets"
                loads.append(wrk.run(collector, path, file, SECONDS))
                rounds.append(loads)
                # So many tickets that none is sent twice.
                most = max(most, 2 * max(load.sent for load in loads[:2]))
    plain, ours, taken = (
        [load.seconds / load.answered for load in loads] for loads in zip(*rounds[1:], strict=True)
    )
    yield Comparison(
        f"single reports, {name}, with tickets : without",
        ours,
        plain,
        lambda seconds: f"{1 / seconds:.0f} reports/s",
        target=target,
    )
    yield Comparison(
        f"single reports, {name}, with one ticket each : without",
        [report + ticket for report, ticket in zip(ours, taken, strict=True)],
        plain,
        lambda seconds: f"{1 / seconds:.0f} reports/s",
    )


def _ticket_lines() -> str:
    """Return the input of `report.lua` for requests for one ticket each."""
    head = f'{{"digest":"{TICKETED.digest}","commitments":["'
    made = (commit(TICKETED.digest, new_secret()).hex() for _ in range(BATCH))
    return "\n".join([head, *(f'{each}"]}}' for each in made), ""])


def _split_lines(store: Store, survey: Survey, count: int) -> str:
    """Return the input of `report.lua`, with a new ticket for each report if there are any."""
    head = f'{{"digest":"{survey.digest}","reports":[{{"id":"'
    record, lines = [0] * len(survey.schema.names), [head]
    stored = store.surveys.get(survey.id)
    for _ in range(0, count, BATCH):
        if not survey.has_tickets:
            drawn = (survey.perturbation.report(record) for _ in range(BATCH))
            lines += [_after_id(values) for values in drawn]
            continue
        secrets = [new_secret() for _ in range(BATCH)]
        asked = [commit(survey.digest, secret).hex() for secret in secrets]
        issued = store.tickets.issue(stored, TicketRequest(digest=survey.digest, commitments=asked))
        for text, secret in zip(issued, secrets, strict=True):
            ticket = Ticket.of_issued(text, secret)
            view = draw_view(survey.perturbation, survey.digest, ticket.id, ticket.secret)
            values = survey.perturbation.report(record, view=view)
            lines.append(_after_id(values, ticket.to_text()))
    return "\n".join([*lines, ""])


@dataclass(frozen=True)
class Batch:
    """The reports of one request: ids with packed reports, and the request's JSON."""

    reports: list[tuple[bytes, bytes]]
    body: bytes


def _batch() -> Batch:
    reports = _reports(BATCH)
    return Batch(
        [(report.id.bytes, SHAPE.pack(report.values)) for report in reports],
        msgspec.json.encode(ReportBatch(digest=SURVEY.digest, reports=reports)),
    )


def _reports(count: int) -> list[Report]:
    """Return reports of people drawn from CENSUS."""
    perturbed = SURVEY.perturbation.reports(RNG.choice(CODES, count), RNG).tolist()
    return [Report(id=uuid4(), values=values) for values in perturbed]


def _batches_beside(
    name: str,
    database: Database,
    bulk_path: Callable[[str], AbstractContextManager[Any]],
    batches: Sequence[Batch],
    target: float,
) -> Comparison:
    """Compare batches sent to a collector with the same rows written by the bulk path."""
    with ExitStack() as stack:
        ours, each = (_Destination(stack, database, batches) for _ in range(2))
        to = stack.enter_context(bulk_path(each.url))
        rows = to.prepare([bulk.rows(each.survey, batch.reports) for batch in batches])
        send = _sender(stack, ours, batches)
        times = _by_turns(send, lambda part: seconds_of(partial(to.write, rows[part])))
        for store in (ours, each):
            store.check()
    return Comparison(
        f"batches of {BATCH}, {name}",
        *times,
        lambda seconds: f"{BATCHES * BATCH / seconds / 1e3:.1f} k reports/s",
        target=target,
    )


class _Destination:
    """A database for the batches, with a check of its contents."""

    def __init__(self, stack: ExitStack, database: Database, batches: Sequence[Batch]) -> None:
        self.url = stack.enter_context(database())
        self._store = stack.enter_context(Store(self.url))
        operations.publish_survey(self._store, SURVEY)
        self.survey = self._store.surveys.get(SURVEY.id).number
        self._expected = Counter(cell for batch in batches for _, cell in batch.reports)

    def check(self) -> None:
        """Raise RuntimeError unless each report was counted in its cell."""
        ids, counts = _counted(self._store)
        if ids != self._expected.total() or counts != self._expected:
            raise RuntimeError(
                f"{self.url}: {ids} ids and {counts.total()} reports are counted, or in other"
                f" cells; expected {self._expected.total()}"
            )


def _counted(store: Store) -> tuple[int, Counter[bytes]]:
    """Return the number of ids, and the counts of packed reports."""
    with store.database.reading() as connection:
        ids = connection.execute(select(func.count()).select_from(report_ids)).scalar_one()
    _, counts, _ = store.reports.counts(SURVEY.id)
    cells = zip(map(SHAPE.pack, counts.cells.tolist()), counts.counts.tolist(), strict=True)
    counted = Counter(dict(cells))
    if counted.total() != ids:
        raise RuntimeError(f"{ids} ids are recorded, {counted.total()} reports counted")
    return ids, counted


def _sender(
    stack: ExitStack, store: _Destination, batches: Sequence[Batch]
) -> Callable[[slice], float]:
    """Return a function that sends a slice of the batches to a collector on a database."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    files = [folder / f"{number}.json" for number in range(len(batches))]
    for file, batch in zip(files, batches, strict=True):
        file.write_bytes(batch.body)
    address = stack.enter_context(collector_process(store.url, "--quiet"))

    def send(part: slice) -> float:
        program = [sys.executable, sending.__file__, address, PATH, *files[part]]
        return float(subprocess.run(program, check=True, stdout=subprocess.PIPE).stdout)

    return send


def _by_turns(*runs: Callable[[slice], float]) -> list[list[float]]:
    """Return the seconds of each run for each slice of the batches, without the warm-up."""
    ends = range(0, (2 + PAIRS) * BATCHES, BATCHES)
    gc.collect()
    gc.disable()
    rounds = [[run(slice(*part)) for run in runs] for part in pairwise(ends)]
    gc.enable()
    return [list(times) for times in zip(*rounds[1:], strict=True)]


def print_throughput() -> bool:
    """Print the comparisons, and return whether a target is missed."""
    notes: list[str] = []
    figures: list[Figure] = []
    comparisons = list(collecting(notes, figures))
    print_comparisons(comparisons, notes)
    print_figures("medians", figures)
    return any(measured.missed for measured in (*figures, *comparisons))


if __name__ == "__main__":
    sys.exit(missing() or int(print_throughput()))
