"""Fibres by themselves: what they wait for, and what must not be done in one."""

import threading
from contextvars import ContextVar

import pytest
from flask import request
from halftruth_collector.fibres import Gathering, current, elsewhere, forbid

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
