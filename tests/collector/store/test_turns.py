"""Processes that count reports in an SQLite file do so in turn."""

import fcntl
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from halftruth_collector.store import database as module
from halftruth_collector.store.database import Database
from wire import PATIENCE


@pytest.fixture
def there(database):
    opened = Database(database)
    yield opened
    opened.close()


def test_one_waits_until_the_other_has_written(there):
    """Each turn opens the folder again, as another process would."""
    order: list[str] = []
    has_turn = threading.Event()

    def other():
        with there.in_turn():
            has_turn.set()
            order.append("other")

    with ThreadPoolExecutor(1) as threads:
        with there.in_turn():
            waiting = threads.submit(other)
            assert not has_turn.wait(0.2)
            order.append("first")
        waiting.result(PATIENCE)
    assert order == ["first", "other"]


def test_a_turn_ends_with_its_process(there):
    reading, writing = os.pipe()
    if not (child := os.fork()):
        with there.in_turn():
            os.write(writing, b"x")
            os.kill(os.getpid(), 9)
    os.read(reading, 1)
    os.waitpid(child, 0)
    os.close(reading)
    os.close(writing)
    with there.in_turn():
        pass


def test_without_locks_in_the_file_system_there_are_no_turns(there, monkeypatch):
    def refuse(*_):
        raise OSError("no locks")

    monkeypatch.setattr(module.fcntl, "flock", refuse)
    with there.in_turn(), there.in_turn():
        pass


def test_a_database_server_needs_no_turns(monkeypatch):
    monkeypatch.setattr(fcntl, "flock", None)
    there = Database("postgresql://localhost/nothing")
    with there.in_turn(), there.in_turn():
        pass
    there.close()
