"""A survey is tried before it opens: no test report is counted as a real one, or the reverse."""

import threading
import time
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from databases import on_both
from halftruth_collector import operations
from halftruth_collector.collector_store import Store
from halftruth_collector.errors import (
    DeadlinePassed,
    InvitationRefused,
    StaleDigest,
    SurveyExists,
    SurveyPlanned,
)
from halftruth_shared import ParameterError, Survey, SurveyError
from halftruth_shared.protocol.reports import Report
from halftruth_shared.protocol.terms import Terms

FUTURE = datetime(2131, 3, 31, 22, tzinfo=UTC)
PAST = datetime(2020, 3, 31, 22, tzinfo=UTC)


@pytest.fixture
def planned(store, survey):
    """The id of the test of a survey that opens later."""
    operations.publish_survey(store, survey, Terms(opens_at=FUTURE, invitations=True))
    return operations.try_survey(store, "health")


def reports(count=1):
    return [Report(id=uuid4(), values=[number % 2, number % 3]) for number in range(count)]


def counted(store, id):
    return store.reports.counts(id)[1].reports


def test_a_test_takes_reports_of_its_own_until_the_survey_opens(store, survey, planned, http):
    assert planned == "health-test"
    test = store.surveys.get(planned)
    assert not test.listed
    assert test.terms == Terms(closes_at=FUTURE, shared_devices=True)
    shown = store.surveys.state(planned)
    assert (shown.test_of, shown.status) == ("health", "open")
    # The same questions and mechanism, under another digest.
    tried = test.survey()
    assert (tried.schema, tried.mechanism) == (survey.schema, survey.mechanism)
    assert tried == survey.for_test() == Survey.from_json(test.document)
    store.reports.add(planned, test.digest, reports(5))
    assert (counted(store, planned), counted(store, "health")) == (5, 0)
    # No report is accepted by the other survey, whatever it says.
    for id, digest in (("health", test.digest), (planned, survey.digest)):
        with pytest.raises(StaleDigest):
            store.reports.add(id, digest, reports())
    with pytest.raises(SurveyPlanned):
        store.reports.add("health", survey.digest, reports())
    page = http.get("/s/health-test").text
    assert "(test)</h1>" in page
    assert "health-test" not in http.get("/").text
    # Trying again changes nothing.
    assert operations.try_survey(store, "health") == planned
    assert counted(store, planned) == 5


def test_test_reports_are_dropped_at_once_by_an_action(store, planned):
    digest = store.surveys.get(planned).digest
    sent = reports(5)
    store.reports.add(planned, digest, sent)
    assert counted(store, planned) == 5
    assert operations.clear_test_reports(store, "health") == 5
    assert counted(store, planned) == 0
    # As many others are not taken for those that were dropped.
    store.reports.add(planned, digest, [Report(id=uuid4(), values=[1, 2]) for _ in range(5)])
    assert store.reports.counts(planned)[1].cells.tolist() == [[1, 2]]
    # A test is named by either id; another survey has none.
    assert operations.clear_test_reports(store, planned) == 5
    assert operations.clear_test_reports(store, "health") == 0
    entries = [entry for entry in store.audit.latest(9) if entry.action == "survey clear-test"]
    assert [entry.detail for entry in entries] == ["5 reports", "5 reports"]


@pytest.mark.parametrize("opens_at", [None, PAST])
def test_opening_by_hand_drops_test_reports_and_ends_the_test(store, survey, planned, opens_at):
    digest = store.surveys.get(planned).digest
    store.reports.add(planned, digest, reports(5))
    operations.set_terms(store, "health", {"opens_at": opens_at, "invitations": False})
    assert counted(store, planned) == 0
    with pytest.raises(DeadlinePassed):
        store.reports.add(planned, digest, reports())
    store.reports.add("health", survey.digest, reports(2))
    assert (counted(store, "health"), counted(store, planned)) == (2, 0)
    with pytest.raises(ParameterError, match="opens later"):
        operations.try_survey(store, "health")


def test_a_test_follows_a_moved_opening_and_another_version(store, survey, planned):
    digest = store.surveys.get(planned).digest
    store.reports.add(planned, digest, reports(3))
    later = FUTURE + timedelta(days=7)
    operations.set_terms(store, "health", {"opens_at": later})
    assert store.surveys.get(planned).terms.closes_at == later
    assert counted(store, planned) == 3
    # A test of another version would say nothing of the survey.
    other = Survey("health", "Another", survey.schema, survey.mechanism)
    operations.publish_survey(store, other)
    assert [state.id for state in store.surveys.states()] == ["health"]
    operations.try_survey(store, "health")
    assert store.surveys.get(planned).digest == other.for_test().digest != digest
    operations.delete_survey(store, "health", confirm="health")
    assert store.surveys.states() == []


def test_a_survey_that_is_planned_again_drops_its_test_reports_at_each_opening(
    store, survey, planned
):
    digest = store.surveys.get(planned).digest
    for _ in range(2):
        store.reports.add(planned, digest, reports(3))
        soon = datetime.now(UTC) + timedelta(seconds=1)
        operations.set_terms(store, "health", {"opens_at": soon})
        assert counted(store, planned) == 3
        while store.surveys.state("health").status == "planned":
            time.sleep(0.05)
        # A request that is refused is the first one after the opening.
        with pytest.raises(InvitationRefused):
            store.reports.add("health", survey.digest, reports())
        assert counted(store, planned) == 0
        operations.set_terms(store, "health", {"opens_at": FUTURE})
    assert counted(store, "health") == 0


def test_a_test_is_only_published_as_one(store, survey):
    test = survey.for_test()
    with pytest.raises(ParameterError, match="'halftruth survey test health'"):
        operations.publish_survey(store, test)
    operations.publish_survey(store, survey)
    with pytest.raises(ParameterError, match="opens later"):
        operations.try_survey(store, "health")
    operations.set_terms(store, "health", {"opens_at": FUTURE})
    mine = Survey("health-test", "Mine", survey.schema, survey.mechanism)
    operations.publish_survey(store, mine)
    with pytest.raises(SurveyExists, match="not a test of 'health'"):
        operations.try_survey(store, "health")
    assert operations.clear_test_reports(store, "health") == 0
    for wrong in ("other", "health-test", 5):
        with pytest.raises(SurveyError) as refused:
            Survey("health-test", "Mine", survey.schema, survey.mechanism, test_of=wrong)
        assert refused.value.field == "test_of"


def test_a_purge_deletes_a_test_that_is_over(store, planned):
    store.reports.add(planned, store.surveys.get(planned).digest, reports(3))
    assert operations.purge(store, 0) == []
    operations.set_terms(store, "health", {"opens_at": None})
    assert [done.id for done in operations.purge(store, 0, confirm="*")] == [planned]
    assert [state.id for state in store.surveys.states()] == ["health"]


@on_both
def test_around_the_opening_no_report_of_one_is_counted_by_the_other(database, store, survey):
    opens_at = (datetime.now(UTC) + timedelta(seconds=3)).replace(microsecond=0)
    operations.publish_survey(store, survey, Terms(opens_at=opens_at))
    planned = operations.try_survey(store, "health")
    digests = {"health": survey.digest, planned: survey.for_test().digest}
    others = [Store(database) for _ in range(3)]
    accepted, wrong = {"health": [], planned: []}, []
    stop = opens_at + timedelta(seconds=1)

    def send(store, id):
        while datetime.now(UTC) < stop:
            # A real report has codes 0 and 0, a test report 1 and 1.
            values = [0, 0] if id == "health" else [1, 1]
            try:
                store.reports.add(id, digests[id], [Report(id=uuid4(), values=values)])
            except (SurveyPlanned, DeadlinePassed):
                time.sleep(0.01)
            else:
                accepted[id].append(datetime.now(UTC))
            [other] = digests.keys() - {id}
            try:
                store.reports.add(other, digests[id], [Report(id=uuid4(), values=values)])
            except StaleDigest:
                continue
            wrong.append(id)

    sent = [(store, id) for store in others for id in digests]
    threads = [threading.Thread(target=send, args=each) for each in sent]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for other in others:
        other.close()
    assert wrong == []
    assert accepted["health"]
    assert accepted[planned]
    assert min(accepted["health"]) >= opens_at
    counts = store.reports.counts("health")[1]
    assert counts.cells.tolist() == [[0, 0]]
    assert counts.reports == len(accepted["health"])
    # Emptied by the transaction that counted the first report.
    assert counted(store, planned) == 0
