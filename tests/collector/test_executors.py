"""Executors give the same results in this process and in other processes."""

import pytest
from halftruth_collector.cli import options
from halftruth_collector.disclosure.audit import audit
from halftruth_collector.errors import WorkersLost
from halftruth_collector.estimation.planning.planner import plan
from halftruth_collector.executors import open_executor
from halftruth_shared import Attribute, GammaDiagonal, Schema, Survey
from halftruth_shared.analyses.plan import PlanQuery
from pieces import end_at, works_like_map


@pytest.mark.parametrize("processes", [1, 2])
def test_every_executor_works_like_map(processes, tmp_path):
    with open_executor(processes) as map_pieces:
        works_like_map(map_pieces, tmp_path, here=processes == 1)


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
