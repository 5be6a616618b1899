"""Group commit without a database: the items of each transaction and their outcomes."""

import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from halftruth_collector.errors import StoreUnavailable
from halftruth_collector.intake import batching
from halftruth_collector.intake.batching import GroupCommit
from wire import PATIENCE


def group_commit(commit, *, max_size=10, max_queued=1000, timeout=PATIENCE, on_queue_change=None):
    """Return a group commit whose transactions begin at once."""
    return GroupCommit(
        lambda take: commit(take()),
        max_size=max_size,
        max_queued=max_queued,
        timeout=timeout,
        on_queue_change=on_queue_change,
    )


class Recorder:
    """Fake database that records groups, and can hold each before it is committed."""

    def __init__(self) -> None:
        self.groups: list[list[object]] = []
        self.started: dict[int, threading.Event] = {n: threading.Event() for n in range(100)}
        self.let: dict[int, threading.Event] = {}

    def hold(self, number: int) -> None:
        """Hold the group of this number until its event in `let` is set."""
        self.let[number] = threading.Event()

    def __call__(self, items: Sequence[object]) -> Sequence[object]:
        number = len(self.groups)
        self.groups.append(list(items))
        self.started[number].set()
        if number in self.let:
            assert self.let[number].wait(PATIENCE)
        return [self.outcome(item) for item in items]

    def outcome(self, item: object) -> object:
        return f"committed {item}"


class Crowd:
    """Threads that send items one after the other, while the first group is held."""

    def __init__(self, recorder: Recorder, *, max_size: int = 1000, **limits: float) -> None:
        self.recorder = recorder
        self.arrived = threading.Semaphore(0)
        self.waiting: list[int] = []
        self.commits = group_commit(
            recorder, max_size=max_size, on_queue_change=self._note, **limits
        )
        self.threads = ThreadPoolExecutor(16)

    def _note(self, waiting: int) -> None:
        self.waiting.append(waiting)
        self.arrived.release()

    def send(self, item: object, size: int = 1) -> Future[object]:
        """Send an item, and return once it is in the queue or in a group."""
        while self.arrived.acquire(blocking=False):
            pass
        sent = self.threads.submit(self.commits, item, size)
        assert self.arrived.acquire(timeout=PATIENCE)
        return sent

    def lead(self, item: object = "first") -> Future[object]:
        """Send an item whose group is held by the database."""
        self.recorder.hold(0)
        sent = self.send(item)
        assert self.recorder.started[0].wait(PATIENCE)
        return sent


def outcomes(*futures: Future[object]) -> list[object]:
    return [future.exception(PATIENCE) or future.result() for future in futures]


@pytest.fixture
def recorder():
    return Recorder()


def test_a_lone_item_gets_its_own_outcome_from_one_thread():
    threads: set[int] = set()

    def commit(items):
        threads.add(threading.get_ident())
        return [ValueError("its own") if items == ["bad"] else f"committed {items[0]}"]

    commits = group_commit(commit)
    assert commits("a") == "committed a"
    with pytest.raises(ValueError, match="its own"):
        commits("bad")
    assert commits("b") == "committed b"
    assert len(threads) == 1


def test_the_thread_ends_when_idle_and_the_next_item_starts_another(monkeypatch):
    monkeypatch.setattr(batching, "_IDLE_SECONDS", 0.01)
    threads: list[threading.Thread] = []
    commits = group_commit(lambda items: [threads.append(threading.current_thread())] and items)
    assert commits("a") == "a"
    threads[0].join(PATIENCE)
    assert not threads[0].is_alive()
    assert commits("b") == "b"
    assert threads[1] is not threads[0]


def test_requests_return_only_after_their_own_commit(recorder):
    crowd = Crowd(recorder)
    recorder.hold(1)
    first = crowd.lead()
    later = [crowd.send(item) for item in "ab"]
    recorder.let[0].set()
    assert first.result(PATIENCE) == "committed first"
    # The database has the group of a and b now.
    assert recorder.started[1].wait(PATIENCE)
    last = crowd.send("c")
    # One group at a time: c waits for the end of this one.
    assert not recorder.started[2].wait(0.2)
    assert not any(future.done() for future in (*later, last))
    assert recorder.groups == [["first"], ["a", "b"]]
    recorder.let[1].set()
    assert outcomes(*later, last) == ["committed a", "committed b", "committed c"]
    assert recorder.groups[2:] == [["c"]]


def test_items_that_arrive_before_a_transaction_begins_share_it(recorder):
    begins, begin = threading.Event(), threading.Event()

    def commit(take):
        begins.set()
        assert begin.wait(PATIENCE)
        return recorder(take())

    crowd = Crowd(recorder)
    crowd.commits._commit = commit
    first = crowd.send("first")
    assert begins.wait(PATIENCE)
    others = [crowd.send(item) for item in "ab"]
    begin.set()
    assert outcomes(first, *others) == ["committed first", "committed a", "committed b"]
    assert recorder.groups == [["first", "a", "b"]]


def test_a_transaction_that_cannot_begin_fails_all_that_wait_for_it():
    begins, begin = threading.Event(), threading.Event()

    def commit(_):
        begins.set()
        assert begin.wait(PATIENCE)
        raise StoreUnavailable("the database does not answer", is_undone=True)

    arrived = threading.Semaphore(0)
    commits = GroupCommit(
        commit,
        max_size=10,
        max_queued=10,
        timeout=PATIENCE,
        on_queue_change=lambda _: arrived.release(),
    )
    with ThreadPoolExecutor(3) as threads:
        sent = [threads.submit(commits, item) for item in "abc"]
        for _ in sent:
            assert arrived.acquire(timeout=PATIENCE)
        assert begins.wait(PATIENCE)
        begin.set()
        errors = [one.exception(PATIENCE) for one in sent]
    assert [str(error) for error in errors] == ["the database does not answer"] * 3
    assert all(error.is_undone for error in errors)
    assert len({id(error) for error in errors}) == 3


def test_changes_of_the_queue_length_are_reported(recorder):
    crowd = Crowd(recorder)
    first = crowd.lead()
    later = [crowd.send(item) for item in "abc"]
    assert crowd.waiting == [1, 0, 1, 2, 3]
    recorder.let[0].set()
    outcomes(first, *later)
    assert crowd.waiting[5:] == [0]


@pytest.mark.parametrize(
    ("max_size", "sizes", "groups"),
    [
        (3, [1, 1, 1, 1, 1], [[0, 1, 2], [3, 4]]),
        (3, [2, 2, 1, 1], [[0], [1, 2], [3]]),
        (3, [3, 1], [[0], [1]]),
        (3, [7, 1, 1], [[0], [1, 2]]),
        (3, [1, 7, 1], [[0], [1], [2]]),
        (3, [0, 0, 3, 0, 1], [[0, 1, 2, 3], [4]]),
    ],
)
def test_groups_respect_the_maximum_size_except_for_larger_single_items(
    recorder, max_size, sizes, groups
):
    crowd = Crowd(recorder, max_size=max_size)
    first = crowd.lead()
    later = [crowd.send(position, size) for position, size in enumerate(sizes)]
    recorder.let[0].set()
    assert outcomes(first, *later)[1:] == [f"committed {n}" for n in range(len(sizes))]
    assert recorder.groups[1:] == groups


def answers_for_each(items):
    return [ValueError(item) if item == "bad" else f"committed {item}" for item in items]


def never_bad(items):
    if "bad" in items:
        raise ValueError("bad")
    return [f"committed {item}" for item in items]


def away_for_bad(items):
    if len(items) > 1:
        raise ValueError("together")
    if items == ["bad"]:
        raise StoreUnavailable("gone")
    return [f"committed {item}" for item in items]


@pytest.mark.parametrize(
    ("commit", "fails", "tries"),
    [
        (answers_for_each, ValueError, [["a", "bad", "b"]]),
        (never_bad, ValueError, [["a", "bad", "b"], ["a"], ["bad"], ["b"]]),
        (away_for_bad, StoreUnavailable, [["a", "bad", "b"], ["a"], ["bad"], ["b"]]),
    ],
)
def test_a_failing_item_does_not_fail_the_others_of_its_group(recorder, commit, fails, tries):
    """If a group cannot be committed, its items are tried one by one."""
    crowd = Crowd(recorder)

    def record(items):
        recorder(items)
        return commit(items)

    crowd.commits._commit = lambda take: record(take())
    first = crowd.lead()
    later = [crowd.send(item) for item in ("a", "bad", "b")]
    recorder.let[0].set()
    _, one, error, other = outcomes(first, *later)
    assert (one, other) == ("committed a", "committed b")
    assert isinstance(error, fails)
    assert recorder.groups[1:] == tries


def test_an_unavailable_database_fails_the_whole_group_without_retries(recorder):
    def commit(items):
        recorder(items)
        if len(recorder.groups) == 2:
            raise StoreUnavailable("gone", field="database")
        return [recorder.outcome(item) for item in items]

    crowd = Crowd(recorder)
    crowd.commits._commit = lambda take: commit(take())
    first = crowd.lead()
    later = [crowd.send(item) for item in "abc"]
    recorder.let[0].set()
    done, *errors = outcomes(first, *later)
    assert done == "committed first"
    assert [(type(error), str(error), error.field) for error in errors] == [
        (StoreUnavailable, "gone", "database")
    ] * 3
    # Each thread raises its own instance.
    assert len({id(error) for error in errors}) == 3
    assert recorder.groups[1:] == [["a", "b", "c"]]
    assert crowd.commits("later") == "committed later"


def test_an_interrupted_request_leaves_the_queue_and_others_are_committed(recorder, monkeypatch):
    crowd = Crowd(recorder)
    first = crowd.lead()

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Future, "result", interrupt)
        with pytest.raises(KeyboardInterrupt):
            crowd.commits("a")
    other = crowd.send("b")
    recorder.let[0].set()
    assert outcomes(first, other) == ["committed first", "committed b"]
    assert recorder.groups == [["first"], ["b"]]


def test_a_timeout_error_of_a_commit_is_raised_unchanged():
    def commit(_: Sequence[object]) -> Sequence[object]:
        raise TimeoutError("of the driver")

    with pytest.raises(TimeoutError, match="of the driver"):
        group_commit(commit)("a")


@pytest.mark.parametrize("item", ["a", "bad"])
def test_a_request_committed_while_it_times_out_gets_its_outcome(item, monkeypatch):
    result = Future.result

    def late(future, seconds=None):
        if seconds is None:
            return result(future)
        future.exception(PATIENCE)
        raise TimeoutError

    monkeypatch.setattr(Future, "result", late)
    commits = group_commit(answers_for_each)
    if item == "bad":
        with pytest.raises(ValueError, match="bad"):
            commits(item)
    else:
        assert commits(item) == "committed a"


def test_each_of_thousands_of_concurrent_items_gets_its_own_outcome():
    """The database takes one group at a time and refuses every seventh item."""
    groups: list[list[int]] = []
    database = threading.Lock()

    def commit(items):
        assert database.acquire(blocking=False), "two groups at the same time"
        try:
            groups.append(list(items))
            if any(item % 97 == 13 for item in items) and len(items) > 1:
                raise ValueError("a bad one is among them")
            return [ValueError(item) if item % 7 == 0 else -item for item in items]
        finally:
            database.release()

    commits = group_commit(commit)

    def send(item):
        try:
            return commits(item, size=item % 4)
        except ValueError as error:
            return error.args

    items = range(1, 3201)
    with ThreadPoolExecutor(32) as threads:
        found = list(threads.map(send, items))
    assert found == [-item if item % 7 else (item,) for item in items]
    # Each item is committed at least once, and groups respect the maximum size.
    assert {item for group in groups for item in group} == set(items)
    assert all(len(group) == 1 or sum(item % 4 for item in group) <= 10 for group in groups)


def test_items_that_wait_too_long_time_out_and_are_not_committed(recorder):
    crowd = Crowd(recorder)
    first = crowd.lead()
    crowd.commits._timeout = 0.05
    late = [crowd.send(item) for item in "ab"]
    errors = outcomes(*late)
    assert [type(error) for error in errors] == [StoreUnavailable] * 2
    assert crowd.waiting[-1] == 0
    crowd.commits._timeout = PATIENCE
    recorder.let[0].set()
    assert first.result(PATIENCE) == "committed first"
    assert crowd.send("c").result(PATIENCE) == "committed c"
    assert recorder.groups == [["first"], ["c"]]


def test_items_beyond_the_maximum_queue_are_refused_at_once(recorder):
    crowd = Crowd(recorder, max_queued=5)
    first = crowd.lead()
    # A single item may be larger than the queue.
    large = crowd.send("a", 7)
    with pytest.raises(StoreUnavailable, match="does not keep up"):
        crowd.commits("b", 1)
    recorder.let[0].set()
    assert outcomes(first, large) == ["committed first", "committed a"]
    assert crowd.commits("b", 1) == "committed b"


def test_items_that_leave_the_queue_make_room_for_others(recorder):
    crowd = Crowd(recorder, max_queued=10)
    first = crowd.lead()
    crowd.commits._timeout = 0.05
    left = crowd.send("a", 10)
    assert isinstance(left.exception(PATIENCE), StoreUnavailable)
    crowd.commits._timeout = PATIENCE
    others = [crowd.send("b", 6), crowd.send("c", 4)]
    recorder.let[0].set()
    assert outcomes(first, *others) == ["committed first", "committed b", "committed c"]
