"""Fixtures of all tests: a small survey, databases, and a collector on loopback."""

import gc
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import copyfile
from typing import Any, ClassVar
from uuid import uuid4

import installed
import pytest
import witnesses
from clusters import Cluster, started
from disks import keep_deleted_rows, wait_for_no_disk
from flask import Flask
from halftruth_collector import operations
from halftruth_collector.cli import main
from halftruth_collector.collector_store import Store
from halftruth_collector.ops.settings import Config
from halftruth_collector.store.tables import metadata
from halftruth_collector.web import create_app
from halftruth_shared import Attribute, GammaDiagonal, Schema, Survey
from halftruth_shared.protocol.sealing import create_sealing_key
from installed import missing
from jinja2.bccache import Bucket, BytecodeCache
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import OperationalError
from werkzeug.routing import Rule
from wire import listening

SCHEMA = Schema(
    (
        Attribute("smoker", ("no", "yes")),
        Attribute("drinks", ("never", "weekly", "daily")),
    )
)
Command = Callable[..., tuple[int, str, str]]

RECORD = {"smoker": "yes", "drinks": "weekly"}

wait_for_no_disk()
keep_deleted_rows()


class Compiled(BytecodeCache):
    """Cache of compiled templates, shared by all apps of this process."""

    def __init__(self) -> None:
        self._found: dict[str, bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        if bucket.key in self._found:
            bucket.bytecode_from_string(self._found[bucket.key])

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._found[bucket.key] = bucket.bytecode_to_string()


Flask.jinja_options["bytecode_cache"] = Compiled()


class Route(Rule):
    """Route whose builder of URLs, a compiled function, is shared by all apps of this process.

    Compiling them takes nine tenths of the time of creating an app.
    """

    _builders: ClassVar[dict[tuple[Any, ...], Any]] = {}

    def _compile_builder(self, append_unknown: bool = True) -> Any:
        key = (self.rule, append_unknown, *self._trace, *sorted((self.defaults or {}).items()))
        if key not in self._builders:
            self._builders[key] = super()._compile_builder(append_unknown)
        return self._builders[key]


Flask.url_rule_class = Route


class Statements(dict[Any, Any]):
    """Cache of compiled SQL, shared by the engines of all databases of one kind in this process.

    The cache of an engine has its dialect in each key, and compiling anew for each test takes a
    tenth of the time of tests with a database.
    """

    def get(self, key: Any, default: Any = None) -> Any:
        return super().get((type(key[0]), *key[1:]), default)

    def __setitem__(self, key: Any, compiled: Any) -> None:
        super().__setitem__((type(key[0]), *key[1:]), compiled)


STATEMENTS = Statements()


@event.listens_for(Engine, "engine_connect")
def share_statements(connection: Connection) -> None:
    """Let an engine use the shared cache from its first connection on."""
    connection.engine._compiled_cache = STATEMENTS


# Importing the tests leaves no garbage, for which every collection would look through all modules.
gc.disable()


def pytest_configure(config: pytest.Config) -> None:
    """Fail skipped tests in CI, and report published results without a witness."""
    config.pluginmanager.register(installed)
    config.pluginmanager.register(witnesses)


def pytest_collection_finish() -> None:
    """Exclude imported modules from garbage collection, which took a sixth of the time.

    Fewer collections of what tests leave save another twentieth.
    """
    gc.freeze()
    gc.set_threshold(50_000, 10, 10)
    gc.enable()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Release the resources of a failed test, which would make the next one fail, too."""
    failed = item.session.testsfailed
    done = yield
    if item.session.testsfailed > failed:
        sys.last_value = sys.last_traceback = sys.last_exc = None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()
    return done


#: Seconds that a test may take next to three others on two cores.
BUDGET = 10


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List the tests that exceeded the budget, except nightly ones."""
    calls = [
        report
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", None) == "call" and "nightly" not in report.keywords
    ]
    over = sorted((c for c in calls if c.duration > BUDGET), key=lambda c: -c.duration)
    if over:
        terminalreporter.section(f"over the budget of {BUDGET} s", sep="-")
        for call in over:
            terminalreporter.line(f"{call.duration:.0f} s {call.nodeid}")


@dataclass
class LiveCollector:
    """A collector served on loopback by a thread of this process."""

    url: str
    app: Flask
    store: Store


@pytest.fixture(scope="session")
def survey() -> Survey:
    return Survey("health", "Health at work", SCHEMA, GammaDiagonal("19"))


@pytest.fixture
def record() -> dict[str, str]:
    return dict(RECORD)


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a file with the tables, to be copied; creating them dominates small tests."""
    file = tmp_path_factory.mktemp("template") / "template.db"
    Store(f"sqlite:///{file}").close()
    return file


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Run a Dask cluster of two workers."""
    with started(tmp_path_factory.mktemp("cluster"), workers=2) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Engine]:
    """Return the engine of a PostgreSQL server on which databases may be created.

    It is that of HALFTRUTH_TEST_POSTGRES or the local one. Without a server its tests are skipped,
    and fail in CI.
    """
    url = os.environ.get("HALFTRUTH_TEST_POSTGRES", "postgresql://postgres@127.0.0.1:5432/postgres")
    engine = create_engine(
        make_url(url).set(drivername="postgresql+psycopg"),
        isolation_level="AUTOCOMMIT",
        connect_args={"connect_timeout": 5},
    )
    try:
        with engine.connect():
            pass
    except OperationalError:
        missing("PostgreSQL at HALFTRUTH_TEST_POSTGRES or 127.0.0.1:5432")
    yield engine
    engine.dispose()


@pytest.fixture(scope="session")
def postgresql_tables(postgresql: Engine) -> Iterator[str]:
    """URL of a database with tables, shared by the tests of a process."""
    with postgresql_database(postgresql) as url:
        Store(url).close()
        yield url


@pytest.fixture(scope="session")
def postgresql_without_tables(postgresql: Engine) -> Iterator[str]:
    """URL of a database whose tables are dropped before each test that creates them."""
    with postgresql_database(postgresql) as url:
        yield url


@contextmanager
def postgresql_database(engine: Engine) -> Iterator[str]:
    """Create a temporary database on a server; the value is its URL."""
    name = f"halftruth_test_{uuid4().hex}"
    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
        # As on SQLite, see support/disks.py.
        connection.exec_driver_sql(f"ALTER DATABASE {name} SET synchronous_commit = off")
    try:
        url = engine.url.set(drivername="postgresql", database=name)
        yield url.render_as_string(hide_password=False)
    finally:
        with engine.connect() as connection:
            connection.exec_driver_sql(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """URL of a database with tables: SQLite, unless a test requests PostgreSQL."""
    if getattr(request, "param", "sqlite") == "sqlite":
        file = tmp_path / "test.db"
        copyfile(request.getfixturevalue("sqlite_template"), file)
        yield f"sqlite:///{file}"
        return
    url = request.getfixturevalue("postgresql_tables")
    empty(url)
    yield url


def empty(url: str) -> None:
    """Delete all rows of a PostgreSQL database, and reset its sequences."""
    engine = create_engine(make_url(url).set(drivername="postgresql+psycopg"))
    with engine.begin() as connection:
        # Ten times as fast as TRUNCATE, which creates new files.
        for table in reversed(metadata.sorted_tables):
            connection.execute(table.delete())
        restart = "SELECT setval(sequencename::regclass, 1, false) FROM pg_sequences"
        connection.exec_driver_sql(restart)
    engine.dispose()


@pytest.fixture
def fresh_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """URL of a database without tables: SQLite, unless a test requests PostgreSQL."""
    if getattr(request, "param", "sqlite") == "sqlite":
        yield f"sqlite:///{tmp_path / 'fresh.db'}"
        return
    url = request.getfixturevalue("postgresql_without_tables")
    engine = create_engine(make_url(url).set(drivername="postgresql+psycopg"))
    with engine.begin() as connection:
        # Much faster than creating a database.
        connection.exec_driver_sql("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    engine.dispose()
    yield url


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    opened = Store(database)
    yield opened
    opened.close()


@pytest.fixture
def make_app(database: str) -> Iterator[Callable[..., Flask]]:
    """Create collectors with given settings, and close them after the test."""
    with ExitStack() as stack:

        def make(**settings: Any) -> Flask:
            made = create_app(Config(database=database, **settings))
            stack.callback(made.extensions["halftruth"].store.close)
            return made

        yield make


@pytest.fixture
def app(make_app: Callable[..., Flask], store: Store) -> Flask:
    return make_app(rate_limit=None, min_reports=1)


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    """Path of the private key of sealed reports."""
    return tmp_path / "sealing.pem"


@pytest.fixture
def sealing_key(key_file: Path) -> str:
    """Public key to which reports are sealed."""
    return create_sealing_key(key_file)


@pytest.fixture
def sealing_app(make_app: Callable[..., Flask], key_file: Path, sealing_key: str) -> Flask:
    """A collector that opens sealed reports."""
    return make_app(sealing_keys=key_file)


@pytest.fixture
def live(app: Flask, store: Store, survey: Survey) -> Iterator[LiveCollector]:
    """Serve a collector that has published the small survey."""
    operations.publish_survey(store, survey)
    with listening(app) as url:
        yield LiveCollector(url, app, store)


@pytest.fixture(autouse=True)
def no_settings_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("HALFTRUTH_") and not name.startswith("HALFTRUTH_TEST"):
            monkeypatch.delenv(name)


@pytest.fixture
def command(capsys) -> Command:
    """Run a command in this process; returns status, standard output and standard error."""

    def run(*words: object) -> tuple[int, str, str]:
        try:
            main([str(word) for word in words])
            status = 0
        except SystemExit as end:
            status = int(end.code or 0)
        return (status, *capsys.readouterr())

    return run


@pytest.fixture
def halftruth(command, database, monkeypatch) -> Command:
    """Run a command on the test's database."""
    monkeypatch.setenv("HALFTRUTH_DATABASE", database)
    monkeypatch.setenv("HALFTRUTH_MIN_REPORTS", "1")
    return command
