"""The event loop without a server: clients that disconnect, and threads that are busy."""

import threading

import pytest
from gevent import sleep, socket, spawn
from halftruth_collector.server.event_loop import Threads, call_when_closed
from wire import PATIENCE


@pytest.mark.parametrize(("does", "gone"), [("close", True), ("send", False), ("wait", False)])
def test_only_clients_that_disconnect_trigger_the_callback(does, gone):
    client, server = socket.socketpair()
    called = []
    with client, server:
        with call_when_closed(server, lambda: called.append(True)):
            sleep(0)
            if does == "close":
                client.close()
            elif does == "send":
                client.send(b"GET / HTTP/1.1\r\n")
            sleep(0.1)
        assert called == [True] * gone


def test_a_call_without_a_free_thread_times_out():
    threads, called = Threads(1), []
    started, end = threading.Event(), threading.Event()

    def work():
        started.set()
        assert end.wait(PATIENCE)
        return "done"

    first = spawn(threads.run, work, patience=PATIENCE, late=TimeoutError())
    while not started.is_set():
        sleep(0.01)
    with pytest.raises(TimeoutError):
        threads.run(called.append, "second", patience=0.05, late=TimeoutError())
    end.set()
    assert first.get() == "done"
    assert threads.run(len, "four", patience=PATIENCE, late=TimeoutError()) == 4
    assert called == []
