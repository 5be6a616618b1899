"""Each report is counted once, despite lost answers and other failures."""

import time
from datetime import UTC, datetime
from itertools import count

import pytest
from halftruth_client import (
    Client,
    CollectorUnavailable,
    RecordError,
    RequestRefused,
    SurveyRefused,
)
from halftruth_client import client as client_module
from halftruth_collector import operations
from halftruth_collector.ops.settings import Config
from halftruth_collector.web import create_app
from halftruth_shared.protocol.terms import Terms
from wire import listening

from .conftest import Failing, counted


def test_many_reports_are_counted_in_batches(live, record, monkeypatch):
    monkeypatch.setattr(client_module, "BATCH", 4)
    client = Client(live.url, max_gamma="19")
    progress: list[int] = []
    delivery = client.submit_many(client.survey("health"), [record] * 10, progress=progress.append)
    assert (delivery.accepted, delivery.duplicates, delivery.waiting) == (10, 0, 0)
    assert progress == [4, 4, 2]
    assert counted(live.store) == 10


def test_submitting_no_records_sends_no_reports(live, survey):
    assert Client(live.url, max_gamma="19").submit_many(survey, []).accepted == 0


@pytest.mark.parametrize("status", ["502 Bad Gateway", "503 Service Unavailable", "429 Too Many"])
def test_a_report_whose_response_was_lost_counts_once(live, record, status, monkeypatch, caplog):
    monkeypatch.setattr("halftruth_client.transport._WORTH_SAYING", 0)
    failing = Failing(live.app, 2, status)
    with listening(failing) as url:
        client = Client(url, max_gamma="19", backoff=0.001)
        done = client.submit(client.survey("health"), record)
    assert failing.posts == 3
    said = [each.getMessage() for each in caplog.records if each.name.endswith("transport")]
    phrases = {502: "Bad Gateway", 503: "Service Unavailable", 429: "Too Many Requests"}
    answered = f"{status[:3]} {phrases[int(status[:3])]}"
    # Logged once, despite several retries.
    assert said == [f"the collector answered {answered}: waiting for 0 seconds"]
    assert done.status == "duplicate"
    assert counted(live.store) == 1


def test_one_invalid_record_refuses_the_whole_batch(live, survey, record):
    records = [record] * 12 + [{"smoker": "perhaps", "drinks": "daily"}]
    with pytest.raises(RecordError, match=r"record 12: attribute 'smoker': .* one of: no, yes"):
        Client(live.url, max_gamma="19").submit_many(survey, records)
    assert counted(live.store) == 0


def test_reports_beyond_the_rate_limit_wait(live, database, record, tmp_path, caplog, monkeypatch):
    """The client logs once that it does not wait an hour; an operator's token lifts the limit."""
    # Rate-limit windows begin with the hour; none must end during the test.
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


def test_after_a_refusal_by_a_deadline_the_same_report_is_sent_later(
    live, survey, record, tmp_path
):
    operations.set_terms(live.store, "health", Terms(closes_at=datetime(2020, 3, 31, tzinfo=UTC)))
    client = Client(live.url, max_gamma="19", outbox=tmp_path / "outbox.db")
    for answer in ("yes", "no"):
        with pytest.raises(RequestRefused, match="is closed since 2020-03-31") as refused:
            client.submit(survey, record | {"smoker": answer}, respondent="ada")
        assert (refused.value.status, refused.value.field) == (409, "closes_at")
    drawn = client._outbox.find("health", "ada")
    operations.set_terms(live.store, "health", Terms())
    done = client.submit(survey, record | {"smoker": "no"}, respondent="ada")
    assert (done.id, done.status) == (drawn.id, "accepted")
    assert counted(live.store) == 1


def test_a_survey_that_opens_later_is_not_asked_and_a_drawn_report_waits(
    live, survey, record, tmp_path
):
    opens_at = datetime(2131, 3, 31, 22, tzinfo=UTC)
    client = Client(live.url, max_gamma="19", outbox=tmp_path / "outbox.db")
    operations.set_terms(live.store, "health", Terms(opens_at=opens_at))
    with pytest.raises(SurveyRefused, match="opens at 2131-03-31 22:00:00 UTC") as refused:
        client.survey("health", respondent="ada")
    assert refused.value.field == "opens_at"
    # A program that had the survey before keeps its report, and draws no second one.
    first = client.submit(survey, record, respondent="ada")
    assert first.status == "waiting"
    assert client.survey("health", respondent="ada").digest == survey.digest
    drawn = client._outbox.find("health", "ada")
    assert client.submit(survey, record | {"smoker": "no"}, respondent="ada").id == first.id
    assert counted(live.store) == 0
    # Without an outbox, the same answers have the same report.
    hasty = Client(live.url, max_gamma="19", retries=0)
    for _ in range(2):
        with pytest.raises(CollectorUnavailable):
            hasty.submit(survey, record)
    operations.set_terms(live.store, "health", {"opens_at": None})
    assert client.flush().accepted == 1
    assert client._outbox.find("health", "ada") == drawn
    assert hasty.submit(survey, record).status == "accepted"
    assert counted(live.store) == 2


def test_a_batch_beyond_max_reports_is_refused_with_the_number_accepted(
    live, survey, record, monkeypatch
):
    monkeypatch.setattr(client_module, "BATCH", 4)
    operations.set_terms(live.store, "health", Terms(max_reports=9))
    client = Client(live.url, max_gamma="19")
    settled = count()
    with pytest.raises(RequestRefused, match="takes 1 more") as refused:
        client.submit_many(survey, [record] * 10, progress=lambda _: next(settled))
    assert (refused.value.status, refused.value.field) == (409, "max_reports")
    assert (refused.value.accepted, counted(live.store), next(settled)) == (8, 8, 2)
    # With a higher limit the same reports are sent, and none is counted twice.
    operations.set_terms(live.store, "health", Terms(max_reports=10))
    again = client.submit_many(survey, [record] * 10)
    assert (again.accepted, again.duplicates) == (2, 8)
    assert counted(live.store) == 10
