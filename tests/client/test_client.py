"""Reports arrive, each counted once, whatever happens on the way."""

import pytest
from halftruth_client import Client, RecordError
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
def test_a_report_whose_answer_was_lost_counts_once(live, record, status, monkeypatch, caplog):
    monkeypatch.setattr("halftruth_client.transport._WORTH_SAYING", 0)
    failing = Failing(live.app, 2, status)
    with listening(failing) as url:
        client = Client(url, max_gamma="19", backoff=0.001)
        done = client.submit(client.survey("health"), record)
    assert failing.posts == 3
    said = [each.getMessage() for each in caplog.records if each.name.endswith("transport")]
    assert said == [f"the collector answered {status[:3]}: waiting for 0 seconds"] * 2
    assert done.status == "duplicate"
    assert counted(live.store) == 1


def test_one_bad_record_stops_all_of_them(live, survey, record):
    records = [record] * 1_200 + [{"smoker": "perhaps", "drinks": "daily"}]
    with pytest.raises(RecordError, match=r"record 1200: attribute 'smoker': .* one of: no, yes"):
        Client(live.url, max_gamma="19").submit_many(survey, records)
    assert counted(live.store) == 0
