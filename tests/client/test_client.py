"""Reports arrive, each counted once, whatever happens on the way."""

import time

import pytest
from halftruth_client import Client, CollectorUnavailable, RecordError
from halftruth_collector import operations
from halftruth_collector.ops.settings import Config
from halftruth_collector.web import create_app
from wire import listening

from .conftest import Failing, counted


def test_many_reports_are_counted_in_batches(live, record):
    client = Client(live.url, max_gamma="19")
    progress: list[int] = []
    delivery = client.submit_many(
        client.survey("health"), [record] * 2_500, progress=progress.append
    )
    assert (delivery.accepted, delivery.duplicates, delivery.waiting) == (2_500, 0, 0)
    assert progress == [1_000, 1_000, 500]
    assert counted(live.store) == 2_500


def test_no_records_are_no_reports(live, survey):
    assert Client(live.url, max_gamma="19").submit_many(survey, []).accepted == 0


@pytest.mark.parametrize("status", ["502 Bad Gateway", "503 Service Unavailable", "429 Too Many"])
def test_a_report_whose_answer_was_lost_counts_once(live, record, status):
    failing = Failing(live.app, 2, status)
    with listening(failing) as url:
        client = Client(url, max_gamma="19", backoff=0.001)
        done = client.submit(client.survey("health"), record)
    assert failing.posts == 3
    assert done.status == "duplicate"
    assert counted(live.store) == 1


def test_one_bad_record_stops_all_of_them(live, survey, record):
    records = [record] * 1_200 + [{"smoker": "perhaps", "drinks": "daily"}]
    with pytest.raises(RecordError, match=r"record 1200: attribute 'smoker': .* one of: no, yes"):
        Client(live.url, max_gamma="19").submit_many(survey, records)
    assert counted(live.store) == 0


def test_more_reports_than_an_address_may_send_are_no_success(
    live, database, record, tmp_path, caplog, monkeypatch
):
    """The client does not wait for an hour, and says once why; with an operator's token it may."""
    # Windows of the limit begin with the hour: none is to end during the test.
    shift, real = 600 - time.time() % 3_600, time.time
    monkeypatch.setattr(time, "time", lambda: real() + shift)
    app = create_app(Config(database=database, proxies=1))
    token = operations.create_token(live.store, "operator")
    with listening(app) as url:
        client = Client(url, max_gamma="19", outbox=tmp_path / "outbox.db")
        survey = client.survey("health")
        begun = time.monotonic()
        delivery = client.submit_many(survey, [record] * 2_500)
        assert client.submit(survey, record).status == "waiting"
        assert client.submit(survey, record).status == "waiting"
        with pytest.raises(CollectorUnavailable, match=r"1000 per 1 hour .* try again in"):
            Client(url, max_gamma="19").submit_many(survey, [record])
        still = client.flush()
        assert time.monotonic() - begun < 50
        assert (delivery.accepted, delivery.waiting, delivery.is_complete) == (1_000, 1_500, False)
        reason = delivery.unsent[0].reason
        assert str(delivery) == (
            f"incomplete: 1000 of 2500 reports are counted; survey 'health', 1500 waiting: {reason}"
        )
        assert "at most 1000 per 1 hour from one address" in reason
        assert reason.endswith(" minutes")
        said = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
        assert said == [
            "survey 'health': 1500 reports not counted, waiting in the outbox until flush() sends"
            f" what is there: {reason}"
        ]
        assert (still.waiting, still.is_complete) == (1_502, False)
        allowed = Client(url, max_gamma="19", outbox=tmp_path / "outbox.db", token=token)
        assert str(allowed.flush()) == "all 1502 reports are counted"
    assert counted(live.store) == 2_502
    app.extensions["halftruth"].store.close()
