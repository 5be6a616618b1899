"""Group commit by itself: who shares a transaction with whom, and what becomes of each."""

import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from halftruth_collector.errors import StoreUnavailable
from halftruth_collector.store.commits import GroupCommit

PATIENCE = 30


class Recorder:
    """Stands for the database: writes groups down, and commits each when it is let."""

    def __init__(self) -> None:
        self.groups: list[list[object]] = []
        self.started: dict[int, threading.Event] = {n: threading.Event() for n in range(100)}
        self.let: dict[int, threading.Event] = {}

    def hold(self, number: int) -> None:
        """Do not commit the group of this number before it is let."""
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
    """Threads whose items come one after the other, while the first group is held."""

    def __init__(self, recorder: Recorder, *, most: int = 1000) -> None:
        self.recorder = recorder
        self.arrived = threading.Semaphore(0)
        self.waiting: list[int] = []
        self.commits = GroupCommit(recorder, most=most, waiting=self._note)
        self.threads = ThreadPoolExecutor(16)

    def _note(self, waiting: int) -> None:
        self.waiting.append(waiting)
        self.arrived.release()

    def send(self, item: object, size: int = 1) -> Future[object]:
        """Return once the item waits for a group or, if it leads, is in one."""
        while self.arrived.acquire(blocking=False):
            pass
        sent = self.threads.submit(self.commits, item, size)
        assert self.arrived.acquire(timeout=PATIENCE)
        return sent

    def lead(self, item: object = "first") -> Future[object]:
        """Send an item whose group is held at the database."""
        self.recorder.hold(0)
        sent = self.send(item)
        assert self.recorder.started[0].wait(PATIENCE)
        return sent


def outcomes(*futures: Future[object]) -> list[object]:
    return [future.exception(PATIENCE) or future.result() for future in futures]


@pytest.fixture
def recorder():
    return Recorder()


def test_a_lone_item_is_committed_at_once_by_its_own_thread(recorder):
    threads: list[int] = []

    def commit(items):
        threads.append(threading.get_ident())
        return recorder(items)

    commits = GroupCommit(commit, most=10)
    assert commits("a") == "committed a"
    assert commits("b") == "committed b"
    assert recorder.groups == [["a"], ["b"]]
    assert set(threads) == {threading.get_ident()}


def test_those_that_come_while_one_commits_share_the_next_transaction(recorder):
    crowd = Crowd(recorder)
    first = crowd.lead()
    later = [crowd.send(item) for item in "abc"]
    assert not any(future.done() for future in (first, *later))
    recorder.let[0].set()
    assert outcomes(first, *later) == [
        "committed first",
        "committed a",
        "committed b",
        "committed c",
    ]
    assert recorder.groups == [["first"], ["a", "b", "c"]]


def test_nobody_returns_before_its_own_commit_is_over(recorder):
    crowd = Crowd(recorder)
    recorder.hold(1)
    first = crowd.lead()
    later = [crowd.send(item) for item in "ab"]
    recorder.let[0].set()
    assert first.result(PATIENCE) == "committed first"
    # The group of a and b is at the database now.
    assert recorder.started[1].wait(PATIENCE)
    last = crowd.send("c")
    # One group at a time: c has to wait for the end of that one.
    assert not recorder.started[2].wait(0.2)
    assert not any(future.done() for future in (*later, last))
    assert recorder.groups == [["first"], ["a", "b"]]
    recorder.let[1].set()
    assert outcomes(*later, last) == ["committed a", "committed b", "committed c"]
    assert recorder.groups[2:] == [["c"]]


def test_how_many_wait_is_told(recorder):
    crowd = Crowd(recorder)
    first = crowd.lead()
    later = [crowd.send(item) for item in "abc"]
    assert crowd.waiting == [1, 0, 1, 2, 3]
    recorder.let[0].set()
    outcomes(first, *later)
    assert crowd.waiting[5:] == [0]


def test_of_a_turn_of_fibres_is_told_only_what_waits_for_a_commit(recorder, fibre_loop):
    told: list[int] = []
    commits = GroupCommit(recorder, most=2, waiting=told.append)
    first = [fibre_loop.start(commits, item) for item in "abc"]
    assert told == []
    recorder.hold(0)
    fibre_loop.end_turn()
    assert recorder.started[0].wait(PATIENCE)
    assert told == [1]
    more = [fibre_loop.start(commits, item) for item in "de"]
    # Who comes while one commits waits for it.
    assert told == [1, 2, 3]
    recorder.let[0].set()
    fibre_loop.run_until(*first, *more)
    assert told == [1, 2, 3, 1, 0]


@pytest.mark.parametrize(
    ("most", "sizes", "groups"),
    [
        (3, [1, 1, 1, 1, 1], [[0, 1, 2], [3, 4]]),
        (3, [2, 2, 1, 1], [[0], [1, 2], [3]]),
        (3, [3, 1], [[0], [1]]),
        (3, [7, 1, 1], [[0], [1, 2]]),
        (3, [1, 7, 1], [[0], [1], [2]]),
        (3, [0, 0, 3, 0, 1], [[0, 1, 2, 3], [4]]),
    ],
)
def test_a_group_holds_at_most_so_much_unless_a_single_item_is_larger(
    recorder, most, sizes, groups
):
    crowd = Crowd(recorder, most=most)
    first = crowd.lead()
    later = [crowd.send(position, size) for position, size in enumerate(sizes)]
    recorder.let[0].set()
    assert outcomes(first, *later)[1:] == [f"committed {n}" for n in range(len(sizes))]
    assert recorder.groups[1:] == groups


def test_an_error_among_the_outcomes_is_its_own_items_alone(recorder):
    recorder.outcome = lambda item: ValueError(item) if item == "bad" else f"committed {item}"
    crowd = Crowd(recorder)
    first = crowd.lead()
    later = [crowd.send(item) for item in ("a", "bad", "b")]
    recorder.let[0].set()
    _, one, error, other = outcomes(first, *later)
    assert (one, other) == ("committed a", "committed b")
    assert isinstance(error, ValueError)
    assert error.args == ("bad",)
    assert len(recorder.groups) == 2


def test_a_group_that_cannot_be_committed_is_tried_one_by_one(recorder):
    def commit(items):
        done = recorder(items)
        if "bad" in items:
            raise ValueError("bad")
        return done

    crowd = Crowd(recorder)
    crowd.commits._commit = commit
    first = crowd.lead()
    later = [crowd.send(item) for item in ("a", "bad", "b")]
    recorder.let[0].set()
    _, one, error, other = outcomes(first, *later)
    assert (one, other) == ("committed a", "committed b")
    assert isinstance(error, ValueError)
    assert recorder.groups[1:] == [["a", "bad", "b"], ["a"], ["bad"], ["b"]]


def test_a_database_that_is_away_is_away_for_all_and_not_asked_again(recorder):
    def commit(items):
        recorder(items)
        if len(recorder.groups) == 2:
            raise StoreUnavailable("gone", field="database")
        return [recorder.outcome(item) for item in items]

    crowd = Crowd(recorder)
    crowd.commits._commit = commit
    first = crowd.lead()
    later = [crowd.send(item) for item in "abc"]
    recorder.let[0].set()
    done, *errors = outcomes(first, *later)
    assert done == "committed first"
    assert [(type(error), str(error), error.field) for error in errors] == [
        (StoreUnavailable, "gone", "database")
    ] * 3
    # Each thread raises its own.
    assert len({id(error) for error in errors}) == 3
    assert recorder.groups[1:] == [["a", "b", "c"]]
    assert crowd.commits("later") == "committed later"


def test_a_database_that_goes_away_while_items_are_tried_alone_fails_only_those(recorder):
    def commit(items):
        recorder(items)
        if len(items) > 1:
            raise ValueError("bad")
        if items == ["b"]:
            raise StoreUnavailable("gone")
        return [recorder.outcome(item) for item in items]

    crowd = Crowd(recorder)
    crowd.commits._commit = commit
    first = crowd.lead()
    later = [crowd.send(item) for item in "abc"]
    recorder.let[0].set()
    _, one, error, other = outcomes(first, *later)
    assert (one, other) == ("committed a", "committed c")
    assert isinstance(error, StoreUnavailable)


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_interrupted_leader_leaves_nobody_waiting(recorder, interrupt):
    def commit(items):
        done = recorder(items)
        if "a" in items:
            raise interrupt
        return done

    crowd = Crowd(recorder, most=2)
    crowd.commits._commit = commit
    first = crowd.lead()
    # a and b are one group, c waits for the next one.
    later = [crowd.send(item) for item in "abc"]
    recorder.let[0].set()
    _, leader, follower, next_ = outcomes(first, *later)
    assert isinstance(leader, interrupt)
    assert isinstance(follower, StoreUnavailable)
    assert next_ == "committed c"
    assert crowd.commits("later") == "committed later"


def test_an_interrupted_lone_item_does_not_stop_the_next_one(recorder):
    def commit(items):
        if items == ["a"]:
            raise KeyboardInterrupt
        return recorder(items)

    commits = GroupCommit(commit, most=10)
    with pytest.raises(KeyboardInterrupt):
        commits("a")
    assert commits("b") == "committed b"


def test_an_error_is_raised_for_a_lone_item(recorder):
    commits = GroupCommit(lambda items: [ValueError(items[0])], most=10)
    with pytest.raises(ValueError, match="a"):
        commits("a")


class Traffic:
    """Items from everywhere to a database that takes one group at a time and refuses every seventh.

    Attributes
    ----------
    groups : list of list of int
        As they came to the database.
    overlapping, wrong : list of int
        Items of a group that came during another one, and those with an outcome not their own.
    """

    def __init__(self, pause: float = 0.0) -> None:
        self.groups: list[list[int]] = []
        self.overlapping: list[int] = []
        self.wrong: list[int] = []
        self._pause = pause
        self._database = threading.Lock()
        self._commits = GroupCommit(self._commit, most=10)

    def send(self, item: int) -> None:
        try:
            outcome = self._commits(item, size=item % 4)
        except ValueError as error:
            if item % 7 or error.args != (item,):
                self.wrong.append(item)
        else:
            if item % 7 == 0 or outcome != -item:
                self.wrong.append(item)

    def threads(self, number: int, first: int, items: int) -> list[threading.Thread]:
        """Started threads that send items from this one on."""

        def work(begin: int) -> None:
            for item in range(begin, begin + items):
                self.send(item)

        begins = range(first, first + number * items, items)
        threads = [threading.Thread(target=work, args=(begin,)) for begin in begins]
        for thread in threads:
            thread.start()
        return threads

    def _commit(self, items: Sequence[int]) -> Sequence[int | Exception]:
        if not self._database.acquire(blocking=False):
            self.overlapping += items
            return [ValueError("two groups at the same time") for _ in items]
        try:
            self.groups.append(list(items))
            # Meanwhile the others come.
            time.sleep(self._pause)
            if any(item % 97 == 13 for item in items) and len(items) > 1:
                raise ValueError("a bad one is among them")
            return [ValueError(item) if item % 7 == 0 else -item for item in items]
        finally:
            self._database.release()


def test_of_thousands_of_items_from_many_threads_each_gets_its_own_outcome():
    traffic = Traffic()
    threads = traffic.threads(32, first=1, items=200)
    for thread in threads:
        thread.join(PATIENCE)
    assert not any(thread.is_alive() for thread in threads)
    assert traffic.wrong == traffic.overlapping == []
    # Each at least once, and more often only where a group was tried again.
    assert {item for group in traffic.groups for item in group} == set(range(1, 6401))
    assert all(len(group) == 1 or sum(item % 4 for item in group) <= 10 for group in traffic.groups)


def test_the_fibres_of_a_turn_share_a_transaction_in_a_thread_kept_for_it(recorder, fibre_loop):
    threads: list[int] = []

    def commit(items):
        threads.append(threading.get_ident())
        return recorder(items)

    commits = GroupCommit(commit, most=10)
    futures = [fibre_loop.start(commits, item) for item in "abc"]
    # Nothing happens before the end of the turn.
    assert recorder.groups == []
    fibre_loop.run_until(*futures)
    more = [fibre_loop.start(commits, item) for item in "de"]
    fibre_loop.run_until(*more)
    assert outcomes(*futures, *more) == [f"committed {item}" for item in "abcde"]
    assert recorder.groups == [["a", "b", "c"], ["d", "e"]]
    assert fibre_loop.ended == 2
    assert len(set(threads)) == 1
    assert threads[0] != threading.get_ident()


def test_fibres_that_come_while_one_commits_share_the_next_transaction(recorder, fibre_loop):
    commits = GroupCommit(recorder, most=2)
    recorder.hold(0)
    first = fibre_loop.start(commits, "first")
    fibre_loop.end_turn()
    assert recorder.started[0].wait(PATIENCE)
    later = [fibre_loop.start(commits, item) for item in "abc"]
    fibre_loop.end_turn()
    assert len(recorder.groups) == 1
    recorder.let[0].set()
    fibre_loop.run_until(first, *later)
    assert recorder.groups == [["first"], ["a", "b"], ["c"]]
    # The groups that waited already needed no further turn.
    assert fibre_loop.ended == 1


@pytest.mark.parametrize("first", ["thread", "fibre"])
@pytest.mark.parametrize("order", ["tf", "ft", "tft", "ftf"])
def test_threads_and_fibres_share_transactions(recorder, fibre_loop, first, order):
    crowd = Crowd(recorder)
    if first == "thread":
        leader = crowd.lead()
    else:
        recorder.hold(0)
        leader = fibre_loop.start(crowd.commits, "first")
        fibre_loop.end_turn()
        assert recorder.started[0].wait(PATIENCE)
    later = [
        crowd.send(position) if kind == "t" else fibre_loop.start(crowd.commits, position)
        for position, kind in enumerate(order)
    ]
    recorder.let[0].set()
    fibre_loop.run_until(
        *[future for future, kind in zip(later, order, strict=True) if kind == "f"]
    )
    if first == "fibre":
        fibre_loop.run_until(leader)
    everyone = outcomes(leader, *later)
    assert everyone == ["committed first", *(f"committed {n}" for n in range(len(order)))]
    assert recorder.groups == [["first"], list(range(len(order)))]
    assert crowd.commits("later") == "committed later"


def test_a_thread_that_comes_before_the_end_of_a_turn_goes_with_its_fibres(recorder, fibre_loop):
    crowd = Crowd(recorder)
    fibre = fibre_loop.start(crowd.commits, "fibre")
    # Nobody is told of it before the end of the turn.
    thread = crowd.threads.submit(crowd.commits, "thread")
    while len(crowd.commits._queue) < 2:
        time.sleep(0.001)
    assert recorder.groups == []
    fibre_loop.run_until(fibre)
    assert outcomes(fibre, thread) == ["committed fibre", "committed thread"]
    assert recorder.groups == [["fibre", "thread"]]


def test_each_fibre_gets_its_own_error(recorder, fibre_loop):
    def commit(items):
        if "bad" in items and len(items) > 1:
            raise ValueError("one of these")
        if "away" in items:
            raise StoreUnavailable("gone")
        return [ValueError(item) if item == "bad" else item for item in items]

    commits = GroupCommit(commit, most=3)
    futures = [fibre_loop.start(commits, item) for item in ("a", "bad", "b", "away", "c")]
    fibre_loop.run_until(*futures)
    one, bad, two, *away = outcomes(*futures)
    assert (one, two) == ("a", "b")
    assert isinstance(bad, ValueError)
    assert bad.args == ("bad",)
    assert all(isinstance(error, StoreUnavailable) for error in away)


def test_an_interrupted_thread_that_was_kept_leaves_no_fibre_waiting(recorder, fibre_loop):
    def commit(items):
        if "a" in items:
            raise KeyboardInterrupt
        return recorder(items)

    commits = GroupCommit(commit, most=1)
    futures = [fibre_loop.start(commits, item) for item in "ab"]
    fibre_loop.run_until(*futures)
    error, other = outcomes(*futures)
    assert isinstance(error, StoreUnavailable)
    assert other == "committed b"


def test_where_there_is_no_thread_to_lead_nobody_waits_for_one(recorder, fibre_loop, monkeypatch):
    crowd = Crowd(recorder)
    with monkeypatch.context() as patched:

        def refuse(*_: object) -> None:
            raise RuntimeError("can't start new thread")

        patched.setattr(ThreadPoolExecutor, "submit", refuse)
        fibres = [fibre_loop.start(crowd.commits, item) for item in "ab"]
        fibre_loop.run_until(*fibres)
    assert all(isinstance(error, StoreUnavailable) for error in outcomes(*fibres))
    assert recorder.groups == []
    # With a thread, it goes on.
    later = fibre_loop.start(crowd.commits, "later")
    fibre_loop.run_until(later)
    assert outcomes(later, crowd.send("thread")) == ["committed later", "committed thread"]


def test_of_hundreds_of_items_from_threads_and_fibres_each_gets_its_own_outcome(fibre_loop):
    traffic = Traffic(pause=0.001)
    threads = traffic.threads(8, first=1001, items=100)
    fibres = []
    # A few in each turn.
    for turn in range(40):
        fibres += [fibre_loop.start(traffic.send, 1 + 10 * turn + n) for n in range(10)]
        fibre_loop.run_until(*fibres[: -1 - turn % 10])
    fibre_loop.run_until(*fibres)
    for thread in threads:
        thread.join(PATIENCE)
    assert not any(thread.is_alive() for thread in threads)
    assert [future.exception() for future in fibres if future.exception()] == []
    assert traffic.wrong == traffic.overlapping == []
    items = {item for group in traffic.groups for item in group}
    assert items == {*range(1, 401), *range(1001, 1801)}
    assert any(min(group) <= 400 < max(group) for group in traffic.groups)
