"""A survey that opens later: nothing is counted before, and the same reports are accepted then."""

import threading
import time
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from databases import on_both
from halftruth_collector import operations
from halftruth_collector.collector_store import Store
from halftruth_collector.errors import SurveyPlanned
from halftruth_shared import ParameterError
from halftruth_shared.protocol.reports import Report
from halftruth_shared.protocol.terms import Terms

URL = "/v1/surveys/health"
PAST = datetime(2020, 3, 31, 22, tzinfo=UTC)
FUTURE = datetime(2131, 3, 31, 22, tzinfo=UTC)


def test_before_the_opening_nothing_is_counted_and_after_it_the_same_reports(
    http, store, batch, counted
):
    operations.set_terms(store, "health", Terms(opens_at=FUTURE))
    published = http.get(URL).get_json()
    assert (published["status"], published["closed_because"]) == ("planned", None)
    assert published["terms"]["opens_at"] == "2131-03-31T22:00:00Z"
    (listed,) = http.get("/v1/surveys").get_json()["surveys"]
    assert listed["status"] == "planned"
    assert store.surveys.state("health").status == "planned"
    sent = batch([0, 0], [1, 2])
    early = http.post(f"{URL}/reports", json=sent)
    # Not a final refusal: clients keep the reports.
    assert early.status_code == 503
    problem = early.get_json()
    assert problem["type"] == "urn:halftruth:problem:survey-planned"
    assert problem["field"] == "opens_at"
    assert problem["detail"] == (
        "survey 'health' opens at 2131-03-31 22:00:00 UTC; send the same reports again then,"
        " nothing of this request was counted"
    )
    left = FUTURE - datetime.now(UTC)
    assert 0 <= int(early.headers["Retry-After"]) - left.total_seconds() < 60
    assert counted() == 0
    assert http.get("/").text.count("Opens at 2131-03-31 22:00 UTC") == 1
    [today] = store.reports.daily_outcomes("health")
    assert today.refused == {"survey-planned": 1}
    # Moved to an earlier moment, which has passed.
    assert operations.set_terms(store, "health", {"opens_at": PAST}) == [
        "opens_at: 2131-03-31T22:00:00Z → 2020-03-31T22:00:00Z"
    ]
    assert store.surveys.state("health").status == "open"
    assert http.post(f"{URL}/reports", json=sent).get_json() == {"accepted": 2, "duplicates": 0}
    assert http.post(f"{URL}/reports", json=sent).get_json() == {"accepted": 0, "duplicates": 2}
    assert counted() == 2


def test_the_opening_is_before_the_deadline_and_before_the_first_report(http, store, survey, batch):
    for closes_at in (FUTURE, FUTURE - timedelta(days=1)):
        with pytest.raises(ParameterError, match="after opens_at, 2131-03-31") as refused:
            operations.set_terms(store, "health", {"opens_at": FUTURE, "closes_at": closes_at})
        assert refused.value.field == "closes_at"
    assert http.post(f"{URL}/reports", json=batch([0, 0])).status_code == 202
    for change in (operations.set_terms, operations.publish_survey):
        about = "health" if change is operations.set_terms else survey
        with pytest.raises(ParameterError, match="has reports already") as refused:
            change(store, about, {"opens_at": FUTURE})
        assert refused.value.field == "opens_at"
    operations.set_terms(store, "health", {"opens_at": PAST})
    assert store.surveys.get("health").terms == Terms(opens_at=PAST)


def test_a_planned_survey_can_be_closed_and_reopened_and_is_not_purged(store, survey):
    operations.publish_survey(store, survey, Terms(opens_at=FUTURE))
    assert operations.purge(store, 0) == []
    operations.close_survey(store, "health")
    assert store.surveys.state("health").closed_because == "operator"
    operations.reopen_survey(store, "health")
    assert store.surveys.state("health").status == "planned"


@on_both
def test_reports_that_are_sent_around_the_opening_are_counted_once(database, store, survey):
    opens_at = (datetime.now(UTC) + timedelta(seconds=2)).replace(microsecond=0)
    operations.publish_survey(store, survey, Terms(opens_at=opens_at))
    others = [Store(database) for _ in range(2)]
    early, counted_at = [], []

    def send(store, number):
        report = Report(id=uuid4(), values=[number % 2, number % 3])
        while True:
            try:
                store.reports.add("health", survey.digest, [report])
            except SurveyPlanned as error:
                early.append(error.retry_after)
                time.sleep(0.05)
            else:
                counted_at.append(datetime.now(UTC))
                return

    threads = [threading.Thread(target=send, args=(others[i % 2], i)) for i in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert early
    assert min(counted_at) >= opens_at
    assert store.reports.counts("health")[1].reports == 12
    for other in others:
        other.close()
