"""Executors give the same results in this process, in other processes and on a cluster."""

import os
from operator import truediv

import pytest
from clusters import started
from halftruth_collector.cli import options
from halftruth_collector.disclosure.audit import audit
from halftruth_collector.errors import WorkersLost
from halftruth_collector.estimation.planning.planner import plan
from halftruth_collector.executors import open_executor
from halftruth_shared import Attribute, GammaDiagonal, ParameterError, Schema, Survey
from halftruth_shared.analyses.plan import PlanQuery
from pieces import end_at, mark, square
from wire import free_port

PIECES = [7, 1, 4, 9, 2]


@pytest.fixture
def own_cluster(tmp_path):
    with started(tmp_path, workers=1) as cluster:
        yield cluster


@pytest.fixture(params=["here", "processes", "cluster"])
def places(request):
    """Arguments of `open_executor` for each kind of executor."""
    if request.param == "cluster":
        return {"scheduler": request.getfixturevalue("cluster").scheduler}
    return {"processes": {"here": 1, "processes": 2}[request.param]}


def test_every_executor_returns_results_in_the_order_of_the_pieces(places):
    with open_executor(**places) as map_pieces:
        found = list(map_pieces(square, PIECES))
    assert [value for value, _ in found] == [49, 1, 16, 81, 4]
    assert ({process for _, process in found} == {os.getpid()}) == (places == {"processes": 1})


def test_an_error_in_a_piece_is_raised(places):
    with open_executor(**places) as map_pieces, pytest.raises(ZeroDivisionError):
        list(map_pieces(truediv, [1, 1], [1, 0]))


def test_closing_the_results_cancels_waiting_pieces(places, tmp_path):
    with open_executor(**places) as map_pieces:
        results = map_pieces(mark, [tmp_path] * 100, range(100))
        assert next(iter(results)) == 0
        getattr(results, "close", lambda: None)()
    assert 1 <= len(list(tmp_path.iterdir())) < 20


def test_progress_is_reported(monkeypatch):
    told = []

    def bar(results, total, **_):
        for done, result in enumerate(results, 1):
            told.append((done, total))
            yield result

    monkeypatch.setattr(options, "tqdm", bar)
    with options.executor(1, "pieces") as map_pieces:
        assert list(map_pieces(divmod, [7, 9], iter([2, 4]))) == [(3, 1), (2, 1)]
    assert told == [(1, 2), (2, 2)]


def test_a_lost_process_raises_workers_lost():
    with (
        pytest.raises(WorkersLost, match=r"^processes: one of them ended before its piece was"),
        open_executor(processes=2) as map_pieces,
    ):
        list(map_pieces(end_at, range(6), [None] * 6))


def test_a_cluster_repeats_the_pieces_of_a_lost_worker(cluster, tmp_path):
    with open_executor(scheduler=cluster.scheduler) as map_pieces:
        once = tmp_path / "ended"
        assert list(map_pieces(end_at, range(6), [once] * 6)) == list(range(6))
        assert once.exists()


@pytest.mark.nightly
def test_a_piece_that_ends_every_worker_raises_workers_lost(cluster):
    with (
        pytest.raises(WorkersLost, match=r"its workers ended over the same piece$"),
        open_executor(scheduler=cluster.scheduler) as map_pieces,
    ):
        list(map_pieces(end_at, range(6), [None] * 6))


def test_a_lost_scheduler_raises_workers_lost(own_cluster, tmp_path):
    def work():
        with open_executor(scheduler=own_cluster.scheduler) as map_pieces:
            for _ in map_pieces(mark, [tmp_path] * 100, range(100)):
                own_cluster.end_scheduler()

    with pytest.raises(WorkersLost, match=r"went away before all pieces were done$"):
        work()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"processes": 2, "scheduler": "tcp://127.0.0.1:1"}, "processes, scheduler: expected one"),
        ({"scheduler": "127.0.0.1"}, "scheduler: 127.0.0.1: expected an address like tls://"),
        # A scheduler can run code in this process.
        *(
            ({"scheduler": at}, f"scheduler: {at}: expected an address like tls://host:8786, or")
            for at in ("tcp://10.0.0.5:8786", "tcp://[2001:db8::1]:1", "ws://127.0.0.1.example:1")
        ),
        ({"scheduler": "tls://127.0.0.1:1"}, "scheduler: tls://127.0.0.1:1: expected certificates"),
    ],
)
def test_invalid_arguments_of_executors_are_refused(given, said):
    with pytest.raises(ParameterError) as caught, open_executor(**given):
        pass
    assert str(caught.value).startswith(said)


def test_a_missing_scheduler_raises_workers_lost(monkeypatch):
    monkeypatch.setattr("halftruth_collector.executors._PATIENCE", 1)
    address = f"tcp://127.0.0.1:{free_port()}"
    with (
        pytest.raises(WorkersLost, match=f"^scheduler: {address} does not answer$"),
        open_executor(scheduler=address),
    ):
        pass


def computations():
    """Return the computations that take an executor, with arguments."""
    shape = {"v": 2, "w": 2, "x": 3}
    schema = Schema([Attribute(name, list("abc")[:size]) for name, size in shape.items()])
    survey = Survey("health", "Health", schema, GammaDiagonal("19"))
    asked = PlanQuery(respondents=1_000)
    return {
        "plan": lambda map_pieces: plan(survey, asked, map_pieces),
        "audit": lambda map_pieces: repr(audit(survey, 1_000, map_pieces=map_pieces)),
    }


def test_every_computation_gives_the_same_numbers_in_processes():
    found = computations()
    here = {name: work(map) for name, work in found.items()}
    with open_executor(processes=2) as map_pieces:
        for name, work in found.items():
            assert work(map_pieces) == here[name], name
