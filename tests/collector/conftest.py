"""Shortcuts to the HTTP interface of a collector in this process, and a loop of fibres."""

import queue
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pytest
from flask.testing import FlaskClient
from halftruth_collector.cli import main
from halftruth_collector.fibres import Fibre

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def http(app, store, survey) -> FlaskClient:
    """A test client of a collector with the small survey published."""
    store.surveys.publish(survey)
    return app.test_client()


@pytest.fixture
def analyst(store) -> dict[str, str]:
    return {"Authorization": f"Bearer {store.tokens.create('analyst')}"}


@pytest.fixture
def operator(store) -> dict[str, str]:
    return {"Authorization": f"Bearer {store.tokens.create('operator')}"}


@pytest.fixture
def batch(survey):
    """Make the body of a request from the values of its reports."""

    def make(*values: Any, digest: str | None = None) -> dict[str, Any]:
        return {
            "digest": survey.digest if digest is None else digest,
            "reports": [{"id": str(uuid4()), "values": value} for value in values],
        }

    return make


@pytest.fixture
def command(capsys) -> Command:
    """Run a command in this process; gives status, standard output and standard error."""

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
    """Run a command on the database of the test."""
    monkeypatch.setenv("HALFTRUTH_DATABASE", database)
    return command


@pytest.fixture
def counted(store):
    """How many reports of a survey are counted."""
    return lambda id="health": store.reports.counts(id)[1].reports


class FibreLoop:
    """A loop of fibres that runs as far as a test says.

    Attributes
    ----------
    threads : Executor
    ended : int
        Turns that were ended with something to do.
    """

    def __init__(self) -> None:
        self.threads = ThreadPoolExecutor(2)
        self.ended = 0
        self._due: queue.SimpleQueue[Sequence[Fibre]] = queue.SimpleQueue()
        self._endings: list[Callable[[], object]] = []

    def resume(self, fibres: Sequence[Fibre]) -> None:
        self._due.put(fibres)

    def at_end_of_turn(self, act: Callable[[], object]) -> None:
        self._endings.append(act)

    def start(self, function: Callable[..., object], *arguments: object) -> Future[object]:
        """Run a function as a fibre, as far as it comes; what becomes of it is in the future."""
        future: Future[object] = Future()

        def run() -> None:
            try:
                future.set_result(function(*arguments))
            except Exception as error:
                future.set_exception(error)

        Fibre(self, run).switch()
        return future

    def end_turn(self) -> None:
        """Do what waits for the end of the turn."""
        endings, self._endings = self._endings, []
        self.ended += bool(endings)
        for act in endings:
            act()

    def run_until(self, *futures: Future[object]) -> None:
        """Go on with all fibres, turn by turn, until these futures are done."""
        while not all(future.done() for future in futures):
            self.end_turn()
            for fibre in self._due.get(timeout=30):
                fibre.switch()


@pytest.fixture
def fibre_loop() -> Iterator[FibreLoop]:
    """Runs fibres in this thread."""
    loop = FibreLoop()
    yield loop
    loop.threads.shutdown()
