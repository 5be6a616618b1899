"""Fibres: what they wait for, what must not be done in one, and the loop that runs them."""

import contextlib
import os
import selectors
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from flask import request
from gunicorn.config import Config
from gunicorn.glogging import Logger
from gunicorn.workers.gthread import PollableMethodQueue
from halftruth_collector.fibres import Fibre, Gathering, current, elsewhere, forbid
from halftruth_collector.serving.arrival import Limits
from halftruth_collector.serving.server import Server
from halftruth_collector.serving.worker import Worker

PATIENCE = 30


def test_outside_of_a_fibre_nothing_goes_elsewhere():
    assert current() is None
    assert elsewhere(threading.get_ident) == threading.get_ident()


def test_what_waits_goes_to_a_thread_and_the_others_go_on(fibre_loop):
    let, said = threading.Event(), []

    def slow() -> int:
        assert let.wait(PATIENCE)
        return threading.get_ident()

    def first() -> int:
        said.append("first begins")
        thread = elsewhere(slow)
        said.append("first ends")
        return thread

    one = fibre_loop.start(first)
    two = fibre_loop.start(said.append, "second")
    assert two.done()
    assert not one.done()
    let.set()
    fibre_loop.run_until(one)
    assert said == ["first begins", "second", "first ends"]
    assert one.result() != threading.get_ident()


def test_what_fails_elsewhere_fails_here(fibre_loop):
    def fail(reason: str) -> None:
        raise ValueError(reason)

    future = fibre_loop.start(elsewhere, fail, "a reason")
    fibre_loop.run_until(future)
    with pytest.raises(ValueError, match="a reason"):
        future.result()


def test_a_fibre_is_current_in_itself_alone(fibre_loop):
    def inside() -> tuple[bool, bool]:
        here = current()
        there = elsewhere(current)
        return here is not None and here is current(), there is None

    future = fibre_loop.start(inside)
    fibre_loop.run_until(future)
    assert future.result() == (True, True)
    assert current() is None


def test_every_fibre_has_a_context_of_its_own(fibre_loop):
    variable: ContextVar[str] = ContextVar("variable", default="none")

    def inside(value: str) -> tuple[str, str]:
        before = variable.get()
        variable.set(value)
        elsewhere(lambda: None)
        return before, variable.get()

    futures = [fibre_loop.start(inside, value) for value in "abc"]
    fibre_loop.run_until(*futures)
    assert [future.result() for future in futures] == [("none", value) for value in "abc"]
    assert variable.get() == "none"


def test_requests_in_fibres_do_not_mix(fibre_loop, app):
    def inside(path: str) -> str:
        with app.test_request_context(path):
            elsewhere(lambda: None)
            return request.path

    futures = [fibre_loop.start(inside, f"/{name}") for name in "abc"]
    fibre_loop.run_until(*futures)
    assert [future.result() for future in futures] == ["/a", "/b", "/c"]


def test_what_may_wait_is_forbidden_in_a_fibre(fibre_loop):
    forbid("waiting")
    assert isinstance(fibre_loop.start(forbid, "waiting").exception(), RuntimeError)


@pytest.mark.parametrize("way", ["reading", "writing", "statements"])
def test_no_fibre_waits_for_the_database(fibre_loop, store, way):
    def use() -> bool:
        with getattr(store.database, way)():
            return True

    assert use()
    assert "the database" in str(fibre_loop.start(use).exception())
    future = fibre_loop.start(elsewhere, use)
    fibre_loop.run_until(future)
    assert future.result()


def test_a_lone_request_waits_for_no_others():
    gathering = Gathering()
    assert [gathering.pause(1, now) for now in range(3)] == [0, 0, 0]


def test_after_a_crowd_others_are_waited_for_but_not_long():
    gathering = Gathering()
    assert gathering.pause(10, 0.0) == 0
    # A few of them: the others have a millisecond.
    assert gathering.pause(3, 1.0) == pytest.approx(0.001)
    assert gathering.pause(4, 1.0004) == pytest.approx(0.0006)
    assert gathering.pause(4, 1.001) == 0
    # Those that are expected are waited for no longer once they are there.
    assert gathering.pause(5, 2.0) > 0
    assert gathering.pause(9, 2.0001) == 0


def test_a_crowd_that_does_not_return_is_forgotten():
    gathering = Gathering()
    gathering.pause(30, 0.0)
    turns = 0
    while gathering.pause(1, float(turns)):
        assert gathering.pause(1, turns + 0.5) == 0
        turns += 1
    assert 10 < turns < 50


class MainLoop:
    """The main loop of a worker that runs turn by turn, with an application that waits.

    Attributes
    ----------
    worker : Worker
    waiting : list of Fibre
        Those in which requests wait for their answer.
    """

    def __init__(self) -> None:
        config = Config()
        app = SimpleNamespace(
            limits=Limits(1_000, 1_000, PATIENCE), brief=Server.brief, refused=lambda _: None
        )
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.waiting: list[Fibre] = []
        self.worker = Worker(0, os.getppid(), [self.listener], app, 60, config, Mock(Logger))
        self.worker.wsgi = self._answer
        # What gunicorn does in a worker's process before its loop begins.
        self.worker.tpool = ThreadPoolExecutor(1)
        self.worker.poller = selectors.DefaultSelector()
        self.worker.method_queue.init()
        queue = self.worker.method_queue
        self.worker.poller.register(queue.fileno(), selectors.EVENT_READ, queue.run_callbacks)
        self.worker.set_accept_enabled(True)
        self._own = set(self.watched())

    def _answer(self, environ: Any, start: Callable[..., Any]) -> Iterable[bytes]:
        fibre = current()
        if fibre is not None:
            self.waiting.append(fibre)
            fibre.wait()
        start("202 ACCEPTED", [("Content-Length", "0")])
        return []

    def watched(self) -> list[int]:
        return list(self.worker.poller.get_map())

    def turn(self) -> None:
        self.worker.wait_for_and_dispatch_events(0.01)

    def run_until(self, condition: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, "waited in vain"
            self.turn()

    def knows_no_connection(self) -> bool:
        return self.worker.nr_conns == 0 and set(self.watched()) == self._own

    def close(self) -> None:
        self.worker.tpool.shutdown()
        self.worker.threads.shutdown()
        self.worker.poller.close()
        # The worker leaves it to the end of its process.
        PollableMethodQueue.close(self.worker.method_queue)
        self.worker.tmp.close()
        self.listener.close()


@pytest.fixture
def main_loop() -> Iterator[MainLoop]:
    loop = MainLoop()
    yield loop
    loop.close()


def test_a_thread_that_is_late_writes_into_no_other_file(main_loop, tmp_path):
    main_loop.worker.method_queue.close()
    # These get the lowest numbers that are free.
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context((tmp_path / str(n)).open("wb")) for n in range(5)]
        main_loop.worker.resume([])
        assert [os.fstat(file.fileno()).st_size for file in files] == [0] * 5


def reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


REPORT = b"POST /v1/surveys/x/reports HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}"
LAST = REPORT.replace(b"\r\n", b"\r\nConnection: close\r\n", 1)


@pytest.mark.parametrize("sent", [REPORT, LAST, REPORT + REPORT, REPORT + LAST, REPORT + b"POST"])
@pytest.mark.parametrize(
    "then",
    [
        lambda connection: connection.sendall(REPORT),
        lambda connection: connection.sendall(b"x"),
        lambda connection: connection.shutdown(socket.SHUT_WR),
        socket.socket.close,
        reset,
    ],
    ids=["sends another", "sends something", "sends no more", "closes", "resets"],
)
@pytest.mark.parametrize("same_turn", [True, False])
def test_whatever_a_peer_does_about_its_answer_the_loop_forgets_it_in_the_end(
    main_loop, sent, then, same_turn
):
    connection = socket.create_connection(main_loop.listener.getsockname(), timeout=PATIENCE)
    connection.sendall(sent)
    main_loop.run_until(lambda: bool(main_loop.waiting))
    # A turn without news: whatever comes now is seen in the order in which it came.
    main_loop.turn()
    if not same_turn:
        then(connection)
        main_loop.turn()
    main_loop.worker.resume(main_loop.waiting[:1])
    if same_turn:
        then(connection)
    main_loop.turn()
    if connection.fileno() >= 0:
        assert connection.recv(30).startswith(b"HTTP/1.1 202 ")
        connection.close()
    answered = 1

    def forgotten() -> bool:
        nonlocal answered
        if len(main_loop.waiting) > answered:
            main_loop.worker.resume(main_loop.waiting[answered:])
            answered = len(main_loop.waiting)
        return main_loop.knows_no_connection()

    main_loop.run_until(forgotten)
    assert not main_loop.worker.keepalived_conns
    assert all(fibre.dead for fibre in main_loop.waiting)
