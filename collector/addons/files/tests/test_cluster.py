"""A cluster works like map, and the loss of its parts is told."""

import pytest
from clusters import started
from halftruth_collector.errors import WorkersLost
from halftruth_files.cluster import open_cluster
from halftruth_shared import ParameterError
from pieces import end_at, mark, works_like_map
from wire import free_port


@pytest.fixture
def own_cluster(tmp_path):
    with started(tmp_path, workers=1) as cluster:
        yield cluster


def test_a_cluster_works_like_map(cluster, tmp_path):
    with open_cluster(cluster.scheduler) as map_pieces:
        works_like_map(map_pieces, tmp_path, here=False)


def test_a_cluster_repeats_the_pieces_of_a_lost_worker(cluster, tmp_path):
    with open_cluster(cluster.scheduler) as map_pieces:
        once = tmp_path / "ended"
        assert list(map_pieces(end_at, range(6), [once] * 6)) == list(range(6))
        assert once.exists()


@pytest.mark.nightly
def test_a_piece_that_ends_every_worker_raises_workers_lost(cluster):
    with (
        pytest.raises(WorkersLost, match=r"its workers ended over the same piece$"),
        open_cluster(cluster.scheduler) as map_pieces,
    ):
        list(map_pieces(end_at, range(6), [None] * 6))


def test_a_lost_scheduler_raises_workers_lost(own_cluster, tmp_path):
    def work():
        with open_cluster(own_cluster.scheduler) as map_pieces:
            for _ in map_pieces(mark, [tmp_path] * 100, range(100)):
                own_cluster.end_scheduler()

    with pytest.raises(WorkersLost, match=r"went away before all pieces were done$"):
        work()


@pytest.mark.parametrize(
    ("scheduler", "said"),
    [
        ("127.0.0.1", "scheduler: 127.0.0.1: expected an address like tls://"),
        # A scheduler can run code in this process.
        *(
            (at, f"scheduler: {at}: expected an address like tls://host:8786, or")
            for at in ("tcp://10.0.0.5:8786", "tcp://[2001:db8::1]:1", "ws://127.0.0.1.example:1")
        ),
        ("tls://127.0.0.1:1", "scheduler: tls://127.0.0.1:1: expected certificates"),
    ],
)
def test_an_address_that_anybody_can_answer_at_is_refused(scheduler, said):
    with pytest.raises(ParameterError) as caught, open_cluster(scheduler):
        pass
    assert str(caught.value).startswith(said)


def test_a_missing_scheduler_raises_workers_lost(monkeypatch):
    monkeypatch.setattr("halftruth_files.cluster._PATIENCE", 1)
    address = f"tcp://127.0.0.1:{free_port()}"
    with (
        pytest.raises(WorkersLost, match=f"^scheduler: {address} does not answer$"),
        open_cluster(address),
    ):
        pass
