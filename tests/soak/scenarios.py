"""The faults, and the databases that each applies to."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from itertools import cycle, islice
from pathlib import Path
from typing import Literal

from faults import Clock, CuttableDisk, SmallDisk
from halftruth_shared.protocol.key_files import create_key_file
from ledger import KEYS, Ledger
from load import PlainClient, sending
from programs import Collector, Nginx, Postgres, Sqlite, until
from promise import Broken, check_acknowledged, check_after_retries, expect
from trial import CollectorTrial, Database, Figures, RelayTrial, publish

Kind = Literal["SQLite", "PostgreSQL", "files"]
Fault = Callable[[], None]

_HERE = Path(__file__).parent

#: Bytes of a small disk: enough for an empty database and some reports.
_SMALL = {"SQLite": 12_000_000, "PostgreSQL": 96_000_000}

#: Maximum space left on a disk when it is filled; the load uses it up.
_LEFT = 300_000

#: Import paths that make a collector skip syncing.
_UNSYNCED = (_HERE / "unsynced", _HERE.parent / "support")

#: Requests answered with 503 that show that a fault took effect.
_NOTICED = 10

#: Reports acknowledged between two restarts.
_BETWEEN = 300

#: Seconds for which a collector is ready before the next one is restarted, as the manual says. A
#: proxy asks one that did not answer only after a while.
_READY_SECONDS = 5

#: Allowed growth of memory during the second half of the reports; meeting either limit is enough.
_GROWTH, _GROWN_BYTES = 0.10, 10_000_000

#: Reports in files, range of seconds between two kills of counting workers, maximum number of
#: these, and range of seconds after which a scheduler is busy.
_IN_FILES, _PAUSES, _KILLS, _AT_WORK = 3_000_000, (0.3, 2.0), 3, (0.9, 1.3)


class Stage:
    """The environment of one run of a scenario.

    `quick` requests few rounds; `folder` is empty and exclusive. Databases that are not `synced`
    acknowledge commits before they are on the disk, so a power cut must violate the invariant.
    """

    trial: CollectorTrial | RelayTrial
    #: Notes printed below the table.
    notes: tuple[str, ...] = ()

    def __init__(
        self, kind: Kind, rng: random.Random, folder: Path, *, quick: bool, synced: bool
    ) -> None:
        self.kind, self.rng, self.folder = kind, rng, folder
        self.quick, self.synced = quick, synced

    def bare(self, folder: Path) -> AbstractContextManager[Database]:
        """Return an empty database."""
        if self.kind == "SQLite":
            return nullcontext(Sqlite(folder / "soak.db"))
        return Postgres(folder, self.folder / f"{folder.name}-postgres.log", synced=self.synced)

    @contextmanager
    def database(self, folder: Path | None = None) -> Iterator[Database]:
        """Create a database with the surveys published, by default in a separate folder."""
        with self.bare(folder or self.subfolder("database")) as made:
            publish(made)
            yield made

    def collector(self, database: Database, clock: Clock | None = None) -> Collector:
        """Return a collector on a database, not yet started."""
        keys = self.folder / "sealing.keys"
        if not keys.exists():
            create_key_file(keys, KEYS.to_pem())
        environment = {"HALFTRUTH_SEALING_KEYS": str(keys), **(clock.environment if clock else {})}
        if not self.synced:
            environment["PYTHONPATH"] = os.pathsep.join(map(str, _UNSYNCED))
        return Collector(database.url, self.folder, environment)

    @contextmanager
    def collected(
        self, folder: Path | None = None, *, clock: Clock | None = None, collectors: int = 1
    ) -> Iterator[tuple[Database, list[Collector]]]:
        """Run collectors on a new database, and direct the clients of a new trial to them."""
        with ExitStack() as stack:
            database = stack.enter_context(self.database(folder))
            made = [stack.enter_context(self.collector(database, clock)) for _ in range(collectors)]
            self.begin(database, [collector.url for collector in made])
            yield database, made

    def begin(self, database: Database, urls: Sequence[str], certificate: Path | None = None):
        """Start a trial whose clients send to these addresses."""
        self.trial = CollectorTrial(
            database, urls, self.rng, self.folder, quick=self.quick, certificate=certificate
        )

    def subfolder(self, name: str) -> Path:
        """Create a folder that other users may enter."""
        made = self.folder / name
        made.mkdir(mode=0o755)
        return made


@contextmanager
def kill_collector(stage: Stage) -> Iterator[list[Fault]]:
    """Kill the whole collector, one of its workers, or their parent process."""
    with stage.collected() as (_, [collector]):

        def kill_first() -> None:
            collector.kill_first()
            collector.start()

        yield [collector.restart, lambda: collector.kill_worker(stage.rng), kill_first]


@contextmanager
def kill_postgres(stage: Stage) -> Iterator[list[Fault]]:
    """Kill all processes of PostgreSQL; the collector keeps running."""
    with stage.collected() as (database, _):
        yield [database.restart]


@contextmanager
def kill_one_of_two(stage: Stage) -> Iterator[list[Fault]]:
    """Kill one of two collectors on one database while clients send to both."""
    with stage.collected(collectors=2) as (_, collectors):
        yield [lambda: stage.rng.choice(collectors).restart()]


@contextmanager
def cut_power(stage: Stage) -> Iterator[list[Fault]]:
    """Cut the power: all processes end, and unsynced data are lost."""
    disk = CuttableDisk(stage.folder / "disk.img", stage.subfolder("disk"))
    with disk, stage.collected(disk.folder) as (database, [collector]):
        # The initial data must survive.
        disk.sync()
        programs = [collector, *([database] if isinstance(database, Postgres) else [])]

        def cut() -> None:
            # A sync during the shutdown of ext4 may falsely succeed: no client must hear of it.
            for program in programs:
                program.halt()
            disk.cut(stage.rng)
            for program in programs:
                program.kill()
            disk.restore()
            for program in programs[1:]:
                program.start()
            acknowledged = stage.trial.ledger.acknowledged_now()
            collector.start()
            check_acknowledged(database.read(), acknowledged)

        yield [cut]


def fill_until(stage: Stage, disk: SmallDisk, answers: int) -> None:
    """Keep a disk full until this number of requests is answered with 503."""
    goal = stage.trial.ledger.unavailable + answers

    def noticed() -> bool:
        # Also use up the space that the database has freed meanwhile.
        disk.fill()
        return stage.trial.ledger.unavailable >= goal

    until(noticed, "the disk to be full")


@contextmanager
def fill_disk(stage: Stage) -> Iterator[list[Fault]]:
    """Fill the database's disk; in every other round kill the collector while it is full."""
    disk = SmallDisk(stage.subfolder("disk"), _SMALL[stage.kind])
    with disk, stage.collected(disk.folder) as (database, [collector]):

        def fill(*, killing: bool) -> None:
            try:
                disk.fill(stage.rng.randrange(_LEFT))
                time.sleep(0.2)
                fill_until(stage, disk, _NOTICED)
                if killing:
                    collector.kill()
            finally:
                disk.free()
            if isinstance(database, Postgres):
                database.recover()
            if killing:
                collector.start()

        yield [lambda: fill(killing=False), lambda: fill(killing=True)]


@contextmanager
def leave_and_return(stage: Stage) -> Iterator[list[Fault]]:
    """Make the database unavailable for some seconds, in each possible way."""
    with stage.collected() as (database, _):
        ledger = stage.trial.ledger

        def wait_for_refusals(count: int) -> None:
            goal = ledger.unavailable + count
            until(lambda: ledger.unavailable >= goal, "requests answered with 503")

        def stop() -> None:
            database.stop(signal.SIGINT)
            wait_for_refusals(_NOTICED)
            database.start()

        def lock() -> None:
            with database.held():
                wait_for_refusals(1)

        def lock_briefly() -> None:
            with database.held():
                time.sleep(stage.rng.uniform(1, 4))

        if isinstance(database, Postgres):
            yield [stop, lambda: database.pause(stage.rng.uniform(1, 4))]
        else:
            yield [lock, lock_briefly]


@contextmanager
def jump_in_time(stage: Stage) -> Iterator[list[Fault]]:
    """Set the collector's clock to just before the end of a day, a month and a year, and back."""
    clock = Clock(stage.folder / "clock")
    days: set[date] = set()
    with stage.collected(clock=clock) as (database, _):

        def cross(day: date) -> None:
            midnight = datetime(day.year, day.month, day.day, tzinfo=UTC)
            clock.set(midnight - timedelta(seconds=0.7))
            stage.trial.wait_for(20)
            clock.wait_until(midnight)
            days.add(day)

        def reset() -> None:
            clock.set(datetime.now(UTC))
            days.add(clock.now.date())

        today = clock.now.date()
        yield [
            lambda: cross(date(today.year + 1, 1, 1)),
            lambda: cross(date(today.year - 1, 3, 1)),
            lambda: cross(today + timedelta(days=3)),
            lambda: cross(date(2028, 2, 29)),
            reset,
        ]
        missing = sorted(days - {day for _, day in database.read().days})
        expect(not missing, f"nothing was counted on {missing}: the clock did not jump")


@contextmanager
def restart_in_turn(stage: Stage) -> Iterator[list[Fault]]:
    """Restart two collectors behind a proxy, one after the other."""
    with (
        stage.collected(collectors=2) as (database, collectors),
        Nginx(stage.folder, [collector.url for collector in collectors]) as proxy,
    ):
        stage.begin(database, [proxy.url], proxy.certificate)

        def restart() -> None:
            for collector in collectors:
                collector.stop()
                stage.trial.wait_for(_BETWEEN)
                collector.start()
                time.sleep(_READY_SECONDS)
                stage.trial.wait_for(_BETWEEN)

        yield [restart]
        ledger = stage.trial.ledger
        refused = ledger.unavailable + ledger.unanswered + len(proxy.failed())
        expect(not refused, f"{refused} requests were refused: {proxy.failed()[-10:]}")
        stage.notes = (
            f"restart-in-turn: none of {len(ledger.sent)} reports was refused; nginx asked the"
            f" other collector for {proxy.passed_on()} requests",
        )


@contextmanager
def kill_relay(stage: Stage) -> Iterator[list[Fault]]:
    """Kill a relay and its collector in turn, and fill the relay's disk if it uses SQLite."""
    with ExitStack() as stack:
        disk = SmallDisk(stage.subfolder("relay"), _SMALL["SQLite"])
        if stage.kind == "SQLite":
            stack.enter_context(disk)
        database = stack.enter_context(stage.bare(stage.subfolder("collector")))
        held = stack.enter_context(stage.bare(disk.folder))
        trial = RelayTrial(database, held, stage.rng, stage.folder)
        stage.trial = stack.enter_context(trial)

        def take_collector_away() -> None:
            trial.collector.kill()
            until(trial.says_held, "the relay to say that it holds reports")
            trial.collector.start()

        def fill() -> None:
            try:
                fill_until(stage, disk, 1)
            finally:
                disk.free()

        filled = [fill] if stage.kind == "SQLite" else []
        yield [trial.relay.restart, trial.collector.restart, *filled, take_collector_away]


def rounds_of(
    faults: Callable[[Stage], AbstractContextManager[Sequence[Fault]]],
    quick: int,
    rounds: int,
    *,
    must_hit: bool = False,
) -> Callable[[Stage], Figures]:
    """Return a run that cycles through faults; with `must_hit` some must hit a report in flight."""

    def run(stage: Stage) -> Figures:
        with faults(stage) as listed:
            for fault in islice(cycle(listed), quick if stage.quick else rounds):
                stage.trial.round(fault)
            if must_hit:
                expect(bool(stage.trial.ledger.in_flight), "no report was in flight at any fault")
            figures = stage.trial.finish()
        return replace(figures, notes=stage.notes)

    return run


def grow(stage: Stage) -> Figures:
    """Count many reports in batches of a thousand while monitoring the collector's memory."""
    total = 20_000 if stage.quick else 1_000_000
    ledger = Ledger()
    with stage.database() as database, stage.collector(database) as collector:
        seeds = stage.rng.sample(range(2**32), 4)
        clients = [
            PlainClient([collector.url], ledger, seed, sizes=(1_000,), forged=0) for seed in seeds
        ]
        held: dict[int, int] = {}
        with sending(clients):
            for percent in range(5, 101, 5):
                goal = total * percent // 100
                until(lambda goal=goal: len(ledger.acknowledged) >= goal, f"{goal} reports")
                held[percent] = sum(each.memory_info().rss for each in collector.family)
        database.settle()
        reading = database.read()
        check_after_retries(reading, ledger)
    megabytes = {percent: held[percent] / 1e6 for percent in (10, 50, 100)}
    shown = ", ".join(f"{mb:.1f} MB at {percent} %" for percent, mb in megabytes.items())
    grown = held[100] - held[50]
    expect(grown <= max(_GROWN_BYTES, _GROWTH * held[50]), f"memory is not flat: {shown}")
    return Figures(
        rounds=1,
        sent=len(ledger.sent),
        at_first=ledger.at_first,
        in_flight=len(ledger.in_flight),
        duplicates=0,
        counted=len(reading.ids),
        notes=(f"memory of the collector on {stage.kind}: {shown}",),
    )


def kill_workers(stage: Stage) -> Figures:
    """Kill workers that count files; in every tenth round kill their scheduler instead.

    Without a scheduler there is one line of error, and no files are left.
    """
    sys.path.insert(0, str(_HERE.parent / "bench"))
    from clusters import started
    from counting import command, counted, make
    from distributed import Client

    rounds, reports = (2, _IN_FILES // 3) if stage.quick else (20, _IN_FILES)
    exact, killed, expected = 0, 0, make(stage.folder, reports)

    def kill_some(scheduler: str, counting: subprocess.Popen[str]) -> None:
        nonlocal killed
        with Client(scheduler, set_as_default=False) as client:
            for _ in range(_KILLS):
                try:
                    counting.wait(stage.rng.uniform(*_PAUSES))
                    return
                except subprocess.TimeoutExpired:
                    found = client.run(os.getpid, on_error="ignore").values()
                    pids = [pid for pid in found if isinstance(pid, int)]
                    if pids:
                        os.kill(stage.rng.choice(pids), 9)
                        killed += 1

    for number in range(rounds):
        to = stage.folder / f"counts-{number}"
        with started(stage.subfolder(f"cluster-{number}"), workers=2) as cluster:
            words = command(stage.folder, to, "--scheduler", cluster.scheduler)
            counting = subprocess.Popen(words, stdout=-1, stderr=-1, text=True)
            if number % 10 == 9:
                time.sleep(stage.rng.uniform(*_AT_WORK))
                cluster.end_scheduler()
            else:
                kill_some(cluster.scheduler, counting)
            _, complaint = counting.communicate(timeout=300)
        if counting.returncode == 0 and counted(to) == expected:
            exact += 1
        else:
            left = [each.name for each in stage.folder.iterdir() if "counts-" in each.name]
            is_refusal = counting.returncode == 2 and complaint.count("\n") == 1 and not left
            if number % 10 != 9 or not is_refusal:
                raise Broken(f"round {number + 1}: {counting.returncode}, {complaint}, {left}")
        shutil.rmtree(to, ignore_errors=True)
    return Figures(
        rounds=rounds,
        sent=rounds * reports,
        at_first=0,
        in_flight=0,
        duplicates=0,
        counted=exact * reports,
        notes=(f"files: {exact} of {rounds} counts exact, {killed} workers killed",),
    )


@dataclass(frozen=True)
class Scenario:
    """A fault with its name, its description, and the databases that it applies to."""

    name: str
    title: str
    kinds: tuple[Kind, ...]
    run: Callable[[Stage], Figures]


_BOTH: tuple[Kind, ...] = ("SQLite", "PostgreSQL")
_POSTGRESQL: tuple[Kind, ...] = ("PostgreSQL",)

SCENARIOS = (
    Scenario(
        *("kill-collector", "kill -9 of the collector", _BOTH),
        rounds_of(kill_collector, 3, 20, must_hit=True),
    ),
    Scenario(
        *("kill-postgres", "kill -9 of PostgreSQL", _POSTGRESQL),
        rounds_of(kill_postgres, 2, 20, must_hit=True),
    ),
    Scenario("power-cut", "power cut", _BOTH, rounds_of(cut_power, 2, 50, must_hit=True)),
    Scenario("full-disk", "disk full", _BOTH, rounds_of(fill_disk, 2, 8)),
    Scenario("outage", "database away and back", _BOTH, rounds_of(leave_and_return, 2, 6)),
    Scenario("clock", "clock jumps", _BOTH, rounds_of(jump_in_time, 2, 10)),
    Scenario(
        *("two-collectors", "two collectors, one killed", _POSTGRESQL),
        rounds_of(kill_one_of_two, 2, 8, must_hit=True),
    ),
    Scenario(
        *("restart-in-turn", "two collectors restarted", _POSTGRESQL),
        rounds_of(restart_in_turn, 1, 4),
    ),
    Scenario(
        *("relay", "kill -9 of relay and collector", _BOTH),
        rounds_of(kill_relay, 4, 20, must_hit=True),
    ),
    Scenario("memory", "memory over many reports", _BOTH, grow),
    Scenario("cluster", "kill -9 of workers that count files", ("files",), kill_workers),
)
