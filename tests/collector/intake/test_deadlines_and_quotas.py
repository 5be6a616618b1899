"""Deadlines and quotas: new reports are refused, and known reports are duplicates."""

import hashlib
import threading
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from databases import on_both
from halftruth_collector import operations
from halftruth_collector.collector_store import Store
from halftruth_shared.protocol.reports import Report
from halftruth_shared.protocol.terms import Terms

URL = "/v1/surveys/health"
PAST = datetime(2020, 3, 31, 22, tzinfo=UTC)
FUTURE = datetime.now(UTC) + timedelta(days=9)


def refused(response, field, said):
    assert response.status_code == 409, response.text
    document = response.get_json()
    assert document["field"] == field
    assert said in document["detail"]


def state(http):
    published = http.get(URL).get_json()
    (listed,) = http.get("/v1/surveys").get_json()["surveys"]
    assert listed["status"] == published["status"]
    return published["status"], published["closed_because"]


def test_after_the_deadline_only_duplicates_are_accepted(http, store, batch, counted):
    operations.set_terms(store, "health", Terms(closes_at=FUTURE))
    assert state(http) == ("open", None)
    first = batch([0, 0], [1, 2])
    assert http.post(f"{URL}/reports", json=first).status_code == 202
    operations.set_terms(store, "health", Terms(closes_at=PAST))
    assert state(http) == ("closed", "deadline")
    refused(http.post(f"{URL}/reports", json=batch([0, 0])), "closes_at", "2020-03-31 22:00:00 UTC")
    repeated = http.post(f"{URL}/reports", json=first)
    assert repeated.get_json() == {"accepted": 0, "duplicates": 2}
    assert counted() == 2
    (today,) = store.reports.daily_outcomes("health")
    assert today.refused == {"deadline-passed": 1}


def test_a_quota_is_reached_exactly_by_whole_requests(http, store, batch, counted):
    operations.set_terms(store, "health", Terms(max_reports=3))
    first = batch([0, 0], [1, 2])
    assert http.post(f"{URL}/reports", json=first).status_code == 202
    refused(http.post(f"{URL}/reports", json=batch([0, 1], [0, 1])), "max_reports", "takes 1 more")
    assert state(http) == ("open", None)
    # Duplicates do not count towards the quota, even next to new reports.
    mixed = batch([0, 2])
    mixed["reports"] += first["reports"]
    assert http.post(f"{URL}/reports", json=mixed).get_json() == {"accepted": 1, "duplicates": 2}
    assert state(http) == ("closed", "quota")
    refused(http.post(f"{URL}/reports", json=batch([0, 0])), "max_reports", "all the reports")
    assert http.post(f"{URL}/reports", json=mixed).get_json() == {"accepted": 0, "duplicates": 3}
    assert counted() == 3
    # Closing by an operator takes precedence over the quota.
    operations.close_survey(store, "health", confirm="health")
    assert state(http) == ("closed", "operator")


def test_a_quota_can_be_set_below_the_count_and_raised(http, store, batch, counted):
    assert http.post(f"{URL}/reports", json=batch([0, 0], [1, 2])).status_code == 202
    operations.set_terms(store, "health", Terms(max_reports=1))
    refused(http.post(f"{URL}/reports", json=batch([0, 0])), "max_reports", "all the reports")
    operations.set_terms(store, "health", Terms(max_reports=4))
    assert http.post(f"{URL}/reports", json=batch([0, 0], [1, 2])).status_code == 202
    assert counted() == 4


@on_both
def test_concurrent_stores_fill_a_quota_exactly(database, store, survey, counted):
    operations.publish_survey(store, survey, Terms(max_reports=25))
    others = [Store(database) for _ in range(3)]
    outcomes, start = [], threading.Barrier(12)

    def send(through):
        start.wait()
        for _ in range(5):
            try:
                report = Report(id=uuid4(), values=[1, 2])
                through.reports.add("health", survey.digest, [report])
                outcomes.append("counted")
            except Exception as error:
                outcomes.append(type(error).__name__)

    threads = [threading.Thread(target=send, args=(others[n % 3],)) for n in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for other in others:
        other.close()
    assert sorted(set(outcomes)) == ["QuotaReached", "counted"]
    assert outcomes.count("counted") == counted() == 25


def hash_of(invitation):
    return hashlib.sha256(bytes.fromhex(invitation)).hexdigest()


def test_checking_an_invitation_neither_spends_it_nor_writes(http, store, batch, counted):
    operations.set_terms(store, "health", Terms(invitations=True))
    spent, unspent, withdrawn = operations.create_invitations(store, "health", 3)
    operations.revoke_invitations(store, "health", [bytes.fromhex(withdrawn)])
    body = batch([0, 0])
    body["reports"][0]["invitation"] = spent
    assert http.post(f"{URL}/reports", json=body).status_code == 202
    before = store.reports.daily_outcomes("health"), store.invitations.count("health")

    def good(invitation):
        answer = http.post(f"{URL}/invitations/check", json={"hash": hash_of(invitation)})
        assert answer.headers["Access-Control-Allow-Origin"] == "*"
        return answer.get_json()["unspent"]

    for _ in range(2):
        found = [good(each) for each in (spent, unspent, withdrawn, "0" * 32)]
        assert found == [False, True, False, False]
    assert before == (store.reports.daily_outcomes("health"), store.invitations.count("health"))
    # The hash of an invitation is not an invitation.
    body = batch([0, 0])
    body["reports"][0]["invitation"] = hash_of(unspent)[:32]
    assert http.post(f"{URL}/reports", json=body).status_code == 403
