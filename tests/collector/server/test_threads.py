"""The threads of a worker: which one gets a task, how many there are, and what they survive."""

import threading
from collections.abc import Callable
from queue import SimpleQueue

import pytest
from halftruth_collector.server.threads import LastIdleFirst
from wire import PATIENCE, wait_until


class Task:
    """A task that runs until it is let go, and records its thread."""

    def __init__(self, then: Callable[[], None] = lambda: None) -> None:
        self.begun, self.end = threading.Event(), threading.Event()
        self.thread = 0
        self._then = then

    def service(self) -> None:
        self.thread = threading.get_ident()
        self.begun.set()
        assert self.end.wait(PATIENCE)
        self._then()


def run(threads: LastIdleFirst, *tasks: Task) -> None:
    """Start tasks, which all run at the same time."""
    for task in tasks:
        threads.add_task(task)
        assert task.begun.wait(PATIENCE)


def finish(threads: LastIdleFirst, *tasks: Task) -> None:
    """End tasks in this order."""
    for task in tasks:
        idle = len(threads._idle)
        task.end.set()
        wait_until(lambda idle=idle: len(threads._idle) == idle + 1)


def test_the_thread_that_became_idle_last_gets_the_next_task():
    threads = LastIdleFirst(10)
    first, second, third = tasks = [Task() for _ in range(3)]
    run(threads, *tasks)
    finish(threads, first, third, second)
    later = [Task() for _ in range(4)]
    run(threads, *later)
    assert [task.thread for task in later[:3]] == [second.thread, third.thread, first.thread]
    assert later[3].thread not in {task.thread for task in tasks}
    finish(threads, *later)


def test_one_task_at_a_time_needs_one_thread():
    threads = LastIdleFirst(10)
    seen = set()
    for _ in range(20):
        task = Task()
        run(threads, task)
        finish(threads, task)
        seen.add(task.thread)
    assert len(seen) == 1


def test_tasks_beyond_the_number_of_threads_wait_in_their_order():
    threads, order = LastIdleFirst(2), SimpleQueue[int]()
    running = [Task(), Task()]
    run(threads, *running)
    waiting = [Task(lambda number=number: order.put(number)) for number in range(3)]
    for task in waiting:
        task.end.set()
        threads.add_task(task)
    assert not any(task.begun.is_set() for task in waiting)
    running[0].end.set()
    assert [order.get(timeout=PATIENCE) for _ in waiting] == [0, 1, 2]
    assert {task.thread for task in waiting} == {running[0].thread}
    running[1].end.set()


def test_a_thread_survives_a_task_that_fails(caplog):
    def fail() -> None:
        raise ValueError("a value that must not be logged")

    threads = LastIdleFirst(1)
    failing, later = Task(fail), Task()
    run(threads, failing)
    finish(threads, failing)
    run(threads, later)
    assert later.thread == failing.thread
    assert caplog.messages == ["unforeseen ValueError of a connection"]
    later.end.set()


@pytest.mark.parametrize("most", [1, 4])
def test_every_task_of_many_is_handled_once(most):
    threads, done = LastIdleFirst(most), SimpleQueue[int]()

    class Quick:
        def __init__(self, number: int) -> None:
            self.number = number

        def service(self) -> None:
            done.put(self.number)

    senders = [
        threading.Thread(target=lambda start=start: [threads.add_task(Quick(n)) for n in start])
        for start in (range(500), range(500, 1000))
    ]
    for sender in senders:
        sender.start()
    assert sorted(done.get(timeout=PATIENCE) for _ in range(1000)) == list(range(1000))
    for sender in senders:
        sender.join()
    assert threads._started <= most


def test_a_task_waits_if_the_system_has_no_more_threads(monkeypatch, caplog):
    threads = LastIdleFirst(10)
    running, waiting = Task(), Task()
    run(threads, running)

    def fail(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", fail)
        threads.add_task(waiting)
    assert caplog.messages == ["no thread can be started"]
    running.end.set()
    assert waiting.begun.wait(PATIENCE)
    assert waiting.thread == running.thread
    waiting.end.set()
