"""The faults, each on its databases."""

import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import cycle, islice
from pathlib import Path
from typing import Literal

from clock import Clock
from collectors import Collector
from disk import SmallDisk
from halftruth_shared.protocol.key_files import create_key_file
from ledger import Ledger
from load import PlainClient, sending
from postgres import Cluster
from power import CuttableDisk
from processes import Broken, resident, until
from promise import check_acknowledged, check_after_retries
from relayed import RelayTrial
from rolling import Proxy
from sealed import KEYS
from sqlite import SqliteFile
from trial import Figures, Trial, publish

Kind = Literal["SQLite", "PostgreSQL"]

_HERE = Path(__file__).parent

#: Bytes of a small disk: enough for an empty database and some reports.
_SQLITE_DISK, _POSTGRES_DISK = 12_000_000, 96_000_000

#: Most space left on a disk when it is filled up; the load takes it.
_LEFT = 300_000

#: What a collector imports that waits for no disk.
_UNSYNCED = (_HERE / "unsynced", _HERE.parent / "support")

#: Requests answered with 503 that make a fault one that was noticed.
_NOTICED = 10

#: Reports acknowledged after each restart, before the next one.
_BETWEEN = 300

#: By how much memory may grow while the second half of the reports arrives: either is enough.
_GROWTH, _GROWN_BYTES = 0.10, 10_000_000


@dataclass(frozen=True)
class Setting:
    """What one run of a scenario gets.

    `quick` asks for few rounds; `folder` is empty and its own. Databases that are not `synced`
    acknowledge a commit before it is on the disk, so that a power cut has to break the promise.
    """

    kind: Kind
    rng: random.Random
    folder: Path
    quick: bool
    synced: bool = True

    def bare(self, folder: Path) -> AbstractContextManager[SqliteFile | Cluster]:
        """A database without anything in it."""
        if self.kind == "SQLite":
            return nullcontext(SqliteFile(folder / "soak.db"))
        return Cluster(folder, self.folder / f"{folder.name}-postgres.log", synced=self.synced)

    @contextmanager
    def database(self, folder: Path | None = None) -> Iterator[SqliteFile | Cluster]:
        """A database with the surveys published, in a folder of its own unless one is named."""
        where = folder or self.subfolder("database")
        with self.bare(where) as made:
            publish(made)
            yield made

    def collector(self, database: SqliteFile | Cluster, clock: Clock | None = None) -> Collector:
        """A collector on a database, not started yet."""
        keys = self.folder / "sealing.keys"
        if not keys.exists():
            create_key_file(keys, KEYS.to_pem())
        environment = {"HALFTRUTH_SEALING_KEYS": str(keys), **(clock.environment if clock else {})}
        if not self.synced:
            environment["PYTHONPATH"] = os.pathsep.join(map(str, _UNSYNCED))
        return Collector(database.url, self.folder, environment)

    def trial(self, database: SqliteFile | Cluster, *collectors: Collector | Proxy) -> Trial:
        """Clients of these collectors, or of the proxy in front."""
        urls = [collector.url for collector in collectors]
        [trusted] = [each.certificate for each in collectors if isinstance(each, Proxy)] or [None]
        return Trial(database, urls, self.rng, self.folder, quick=self.quick, certificate=trusted)

    def subfolder(self, name: str) -> Path:
        """A folder that others than its owner may pass through."""
        made = self.folder / name
        made.mkdir(mode=0o755)
        return made


@dataclass(frozen=True)
class Scenario:
    """A fault with its name, what it is in words, and the databases that it can befall."""

    name: str
    title: str
    kinds: tuple[Kind, ...]
    run: Callable[[Setting], Figures]


def kill_collector(setting: Setting) -> Figures:
    """Kill all of the collector, one of its workers, or the process that started them."""
    with setting.database() as database, setting.collector(database) as collector:
        trial = setting.trial(database, collector)

        def kill_all() -> None:
            collector.kill()
            collector.start()

        def kill_one() -> None:
            collector.kill_worker(setting.rng)

        def kill_first() -> None:
            collector.kill_first()
            collector.start()

        faults = [kill_all, kill_one, kill_first, kill_all]
        for fault in islice(cycle(faults), 3 if setting.quick else 20):
            trial.round(fault)
        return _with_reports_in_flight(trial)


def kill_postgres(setting: Setting) -> Figures:
    """Kill every process of PostgreSQL; the collector keeps running."""
    with setting.database() as database, setting.collector(database) as collector:
        assert isinstance(database, Cluster)
        trial = setting.trial(database, collector)

        def kill() -> None:
            database.kill()
            database.start()

        for _ in range(2 if setting.quick else 20):
            trial.round(kill)
        return _with_reports_in_flight(trial)


def cut_power(setting: Setting) -> Figures:
    """Cut the power: all processes end, and with them what the disk was not asked to sync."""
    with (
        CuttableDisk(setting.folder / "disk.img", setting.subfolder("disk")) as disk,
        setting.database(disk.folder) as database,
        setting.collector(database) as collector,
    ):
        # What was set up for the trial is not in question.
        disk.sync()
        trial = setting.trial(database, collector)

        def cut() -> None:
            # A sync that ext4's end overtakes may say that all is written: nobody is to be told.
            collector.halt()
            if isinstance(database, Cluster):
                database.halt()
            disk.cut(setting.rng)
            collector.kill()
            if isinstance(database, Cluster):
                database.kill()
            disk.restore()
            if isinstance(database, Cluster):
                database.start()
            acknowledged = trial.ledger.acknowledged_now()
            collector.start()
            check_acknowledged(database.read(), acknowledged)

        for _ in range(2 if setting.quick else 50):
            trial.round(cut)
        return _with_reports_in_flight(trial)


def fill_disk(setting: Setting) -> Figures:
    """Fill the disk of the database; in every other round kill the collector while it is full."""
    size = _SQLITE_DISK if setting.kind == "SQLite" else _POSTGRES_DISK
    with (
        SmallDisk(setting.subfolder("disk"), size) as disk,
        setting.database(disk.folder) as database,
        setting.collector(database) as collector,
    ):
        trial = setting.trial(database, collector)

        def fill(*, killing: bool) -> None:
            goal = trial.ledger.unavailable + _NOTICED
            try:
                disk.fill(setting.rng.randrange(_LEFT))
                time.sleep(0.2)

                def noticed() -> bool:
                    # What the database gave up meanwhile is taken too.
                    disk.fill(0)
                    return trial.ledger.unavailable >= goal

                until(noticed, "the disk to be full")
                if killing:
                    collector.kill()
            finally:
                disk.free()
            if isinstance(database, Cluster):
                database.recover()
            if killing:
                collector.start()

        for number in range(2 if setting.quick else 8):
            trial.round(lambda number=number: fill(killing=number % 2 == 1))
        return trial.figures()


def leave_and_return(setting: Setting) -> Figures:
    """Take the database away for some seconds, in each way it can go."""
    with setting.database() as database, setting.collector(database) as collector:
        trial = setting.trial(database, collector)
        faults: list[Callable[[], None]]
        if isinstance(database, Cluster):

            def stop() -> None:
                goal = trial.ledger.unavailable + _NOTICED
                database.stop()
                until(lambda: trial.ledger.unavailable >= goal, "requests answered with 503")
                database.start()

            faults = [stop, lambda: database.pause(setting.rng.uniform(1, 4))]
        else:

            def lock() -> None:
                before = trial.ledger.unavailable
                with database.held():
                    until(lambda: trial.ledger.unavailable > before, "a request answered with 503")

            def lock_briefly() -> None:
                with database.held():
                    time.sleep(setting.rng.uniform(1, 4))

            faults = [lock, lock_briefly]
        for fault in islice(cycle(faults), 2 if setting.quick else 6):
            trial.round(fault)
        return trial.figures()


def jump_in_time(setting: Setting) -> Figures:
    """Set the collector's clock to just before the end of a day, a month and a year, and back."""
    clock = Clock(setting.folder / "clock")
    days: set[date] = set()
    with setting.database() as database, setting.collector(database, clock) as collector:
        trial = setting.trial(database, collector)

        def cross(day: date) -> None:
            midnight = datetime(day.year, day.month, day.day, tzinfo=UTC)
            clock.set(midnight - timedelta(seconds=0.7))
            trial.wait_for(20)
            clock.wait_until(midnight)
            days.add(day)

        def reset() -> None:
            clock.set(datetime.now(UTC))
            days.add(clock.now.date())

        today = clock.now.date()
        jumps: list[Callable[[], None]] = [
            lambda: cross(date(today.year + 1, 1, 1)),
            lambda: cross(date(today.year - 1, 3, 1)),
            lambda: cross(today + timedelta(days=3)),
            lambda: cross(date(2028, 2, 29)),
            reset,
        ]
        for jump in islice(cycle(jumps), 2 if setting.quick else 10):
            trial.round(jump)
        counted = {day for _, day in database.read().days}
        if not days <= counted:
            raise Broken(f"nothing was counted on {sorted(days - counted)}: the clock did not jump")
        return trial.figures()


def kill_one_of_two(setting: Setting) -> Figures:
    """Kill either of two collectors on one database while clients send to both at once."""
    with (
        setting.database() as database,
        setting.collector(database) as one,
        setting.collector(database) as other,
    ):
        trial = setting.trial(database, one, other)

        def kill() -> None:
            killed = setting.rng.choice((one, other))
            killed.kill()
            killed.start()

        for _ in range(2 if setting.quick else 8):
            trial.round(kill)
        return _with_reports_in_flight(trial)


def restart_in_turn(setting: Setting) -> Figures:
    """Restart two collectors behind a proxy, one after the other."""
    with (
        setting.database() as database,
        setting.collector(database) as one,
        setting.collector(database) as other,
        Proxy(setting.folder, [one.url, other.url]) as proxy,
    ):
        trial = setting.trial(database, proxy)

        def restart() -> None:
            for collector in (one, other):
                collector.stop()
                trial.wait_for(_BETWEEN)
                collector.start()
                trial.wait_for(_BETWEEN)

        for _ in range(1 if setting.quick else 4):
            trial.round(restart)
        ledger = trial.ledger
        if refused := ledger.unavailable + ledger.unanswered + len(proxy.failed()):
            raise Broken(f"{refused} requests were refused: {proxy.failed()[-10:]}")
        return trial.figures(
            f"restart-in-turn: none of {len(ledger.sent)} reports was refused; nginx asked the"
            f" other collector for {proxy.passed_on()} requests"
        )


def grow(setting: Setting) -> Figures:
    """Count many reports in batches of a thousand while watching the collector's memory."""
    total = 20_000 if setting.quick else 1_000_000
    ledger = Ledger()
    with setting.database() as database, setting.collector(database) as collector:
        seeds = setting.rng.sample(range(2**32), 4)
        clients = [
            PlainClient([collector.url], ledger, seed, sizes=(1_000,), forged=0) for seed in seeds
        ]
        held: dict[int, int] = {}
        with sending(clients):
            for percent in range(5, 101, 5):
                goal = total * percent // 100
                until(lambda goal=goal: len(ledger.acknowledged) >= goal, f"{goal} reports")
                held[percent] = resident([collector.pid, *collector.workers])
        database.settle()
        reading = database.read()
        check_after_retries(reading, ledger)
    grown = held[100] - held[50]
    megabytes = {percent: held[percent] / 1e6 for percent in (10, 50, 100)}
    shown = ", ".join(f"{mb:.1f} MB at {percent} %" for percent, mb in megabytes.items())
    if grown > max(_GROWN_BYTES, _GROWTH * held[50]):
        raise Broken(f"memory is not flat: {shown}")
    return Figures(
        rounds=1,
        sent=len(ledger.sent),
        at_first=ledger.at_first,
        in_flight=len(ledger.in_flight),
        duplicates=0,
        counted=len(reading.ids),
        notes=(f"memory of the collector on {setting.kind}: {shown}",),
    )


def _with_reports_in_flight(trial: Trial) -> Figures:
    """Figures of a trial whose faults have to hit somebody."""
    if not trial.ledger.in_flight:
        raise Broken("no report was in flight at any fault")
    return trial.figures()


def kill_relay(setting: Setting) -> Figures:
    """Kill a relay and its collector in turn, and fill the relay's disk where it is SQLite's."""
    folder = setting.subfolder("relay")
    with ExitStack() as stack:
        disk = None
        if setting.kind == "SQLite":
            disk = stack.enter_context(SmallDisk(folder, _SQLITE_DISK))
        database = stack.enter_context(setting.bare(setting.subfolder("collector")))
        held = stack.enter_context(setting.bare(folder))
        trial = stack.enter_context(RelayTrial(database, held, setting.rng, setting.folder))

        def collector_away() -> None:
            trial.collector.kill()
            until(trial.says_held, "the relay to say that it holds reports")
            trial.collector.start()

        def fill() -> None:
            assert disk is not None
            goal = trial.unavailable + 1
            try:
                disk.fill(0)
                until(lambda: trial.unavailable >= goal, "the disk to be full")
            finally:
                disk.free()

        faults = [
            lambda: kill(trial.relay),
            lambda: kill(trial.collector),
            *([fill] if disk is not None else []),
            lambda: kill(trial.relay),
            collector_away,
        ]

        def kill(party: Collector) -> None:
            party.kill()
            party.start()

        for fault in islice(cycle(faults), len(faults) if setting.quick else 20):
            trial.round(fault)
        return trial.finish()


_BOTH: tuple[Kind, ...] = ("SQLite", "PostgreSQL")
_POSTGRESQL: tuple[Kind, ...] = ("PostgreSQL",)

SCENARIOS = (
    Scenario("kill-collector", "kill -9 of the collector", _BOTH, kill_collector),
    Scenario("kill-postgres", "kill -9 of PostgreSQL", _POSTGRESQL, kill_postgres),
    Scenario("power-cut", "power cut", _BOTH, cut_power),
    Scenario("full-disk", "disk full", _BOTH, fill_disk),
    Scenario("outage", "database away and back", _BOTH, leave_and_return),
    Scenario("clock", "clock jumps", _BOTH, jump_in_time),
    Scenario("two-collectors", "two collectors, one killed", _POSTGRESQL, kill_one_of_two),
    Scenario("restart-in-turn", "two collectors restarted", _POSTGRESQL, restart_in_turn),
    Scenario("relay", "kill -9 of relay and collector", _BOTH, kill_relay),
    Scenario("memory", "memory over many reports", _BOTH, grow),
)
