"""Deleting and purging remove a survey's rows from all tables and files, and no others."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest
from halftruth_collector import operations
from halftruth_collector.errors import SurveyClosed, Unauthorized, UnknownSurvey
from halftruth_collector.store.retention import find_ended
from halftruth_collector.store.surveys import find, update_survey
from halftruth_collector.store.tables import metadata
from halftruth_shared import ParameterError
from halftruth_shared.protocol.terms import Terms

from .conftest import cell_of, report

pytestmark = pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)

INVITED = Terms(invitations=True)

#: Columns that identify the survey, by table.
OF_SURVEYS = {
    table.name: "number" if table.name == "surveys" else "survey"
    for table in metadata.sorted_tables
    if table.name == "surveys" or "survey" in table.c
}


@pytest.fixture
def numbers(store):
    return lambda: {each.id: each.number for each in store.surveys.all()}


@pytest.fixture
def of_survey(rows):
    """Return a function that counts the rows of a survey in each table."""
    return lambda number: {
        table: rows(f"SELECT count(*) FROM {table} WHERE {column} = {number}")[0][0]
        for table, column in OF_SURVEYS.items()
    }


@pytest.fixture
def filled(store, published, second):
    """Two surveys with three reports, two unused invitations and a token each."""
    for survey in (published, second):
        operations.set_terms(store, survey.id, INVITED)
        invitations = operations.create_invitations(store, survey.id, 5)
        store.reports.add(
            survey.id,
            survey.digest,
            [report(n, *cell_of(n), invitation=invitations[n]) for n in range(3)],
        )
        operations.create_token(store, "analyst", survey.id)
    return store


def closed_for(store, rows, raw, id, days):
    """Close a survey as of a number of days ago."""
    operations.close_survey(store, id, confirm=id)
    moment = datetime.now(UTC) - timedelta(days=days)
    with raw.begin() as connection:
        connection.exec_driver_sql(
            f"UPDATE surveys SET closed_at = '{moment:%Y-%m-%d %H:%M:%S.%f}' WHERE id = '{id}'"
        )


def test_deleting_a_survey_removes_all_its_rows_and_no_others(
    filled, dump, numbers, of_survey, published
):
    number, before = numbers()["health"], dump()
    kept = (
        operations.create_token(filled, "analyst", "second"),
        operations.create_token(filled, "analyst"),
    )
    lost = operations.create_token(filled, "analyst", "health")
    assert set(of_survey(number).values()) != {0}
    done = operations.delete_survey(filled, "health", confirm="health")
    assert (done.reports, done.ids, done.invitations, done.tokens) == (3, 3, 2, 2)
    assert set(of_survey(number).values()) == {0}
    for token in kept:
        assert filled.tokens.bearer(token)
    with pytest.raises(Unauthorized):
        filled.tokens.bearer(lost)
    after = dump()
    for table in ("report_ids", "invitations", "cells", "daily_outcomes", "surveys"):
        assert set(after[table]) < set(before[table])
        assert len(after[table]) == len(before[table]) / 2
    with pytest.raises(UnknownSurvey):
        filled.surveys.get("health")
    with pytest.raises(UnknownSurvey):
        operations.delete_survey(filled, "health", confirm="health")


def test_a_survey_published_again_after_deletion_starts_empty(
    filled, published, of_survey, numbers
):
    operations.delete_survey(filled, "health", confirm="health")
    operations.publish_survey(filled, published, INVITED)
    found = of_survey(numbers()["health"])
    assert found.pop("surveys") == 1
    assert set(found.values()) == {0}
    assert filled.surveys.state("health").reports == 0
    # Ids that were counted before are unknown.
    [invitation] = operations.create_invitations(filled, "health", 1)
    receipt = filled.reports.add(
        "health", published.digest, [report(0, 0, 0, invitation=invitation)]
    )
    assert (receipt.accepted, receipt.duplicates) == (1, 0)


def test_reports_that_arrive_during_a_deletion_leave_no_rows(store, published, of_survey):
    number = store.surveys.get("health").number
    digest = published.digest
    operations.set_terms(store, "health", Terms())

    def add(n):
        with suppress(UnknownSurvey):
            store.reports.add("health", digest, [report(n, *cell_of(n))])
            with suppress(UnknownSurvey):
                operations.create_invitations(store, "health", 3)

    with ThreadPoolExecutor(6) as threads:
        adding = [threads.submit(add, n) for n in range(60)]
        done = threads.submit(operations.delete_survey, store, "health", confirm="health").result()
        for each in adding:
            each.result()
    assert done.reports == done.ids
    assert set(of_survey(number).values()) == {0}


def test_only_surveys_closed_for_long_enough_are_purged(filled, rows, raw, numbers, of_survey):
    closed_for(filled, rows, raw, "health", days=31)
    assert operations.purge(filled, 32, confirm="*") == []
    counted = filled.reports.counts("health")[1]
    before = of_survey(numbers()["second"])
    [done] = operations.purge(filled, 31, confirm="*")
    assert (done.id, done.reports, done.ids, done.invitations, done.tokens) == (
        "health",
        0,
        3,
        2,
        0,
    )
    found = of_survey(numbers()["health"])
    assert (found["report_ids"], found["invitations"]) == (0, 0)
    after = filled.reports.counts("health")[1]
    assert (after.cells.tolist(), after.counts.tolist()) == (
        counted.cells.tolist(),
        counted.counts.tolist(),
    )
    assert of_survey(numbers()["second"]) == before
    state = filled.surveys.state("health")
    assert (state.reports, state.invited, state.withdrawn, state.unused) == (3, 5, 2, 0)
    assert state.purged_at is not None
    assert filled.invitations.count("health").used == 3
    assert operations.purge(filled, 0, confirm="*") == []


def counted_on(raw, number, day):
    """Move the counts of a survey to another day."""
    with raw.begin() as connection:
        connection.exec_driver_sql(
            f"UPDATE daily_outcomes SET day = '{day:%Y-%m-%d}' WHERE survey = {number}"
        )


NOW = datetime.now(UTC)
YESTERDAY = NOW - timedelta(days=1)


@pytest.mark.parametrize(
    "limits",
    [{"closes_at": NOW - timedelta(days=31)}, {"max_reports": 3}],
    ids=["deadline", "quota"],
)
def test_surveys_that_ended_by_their_terms_are_purged_for_good(
    filled, raw, numbers, of_survey, published, limits
):
    number = numbers()["health"]
    operations.set_terms(filled, "health", limits)
    # Its last reports arrived today, despite the deadline, and may be retried.
    assert operations.purge(filled, 30, confirm="*") == []
    counted_on(raw, number, NOW - timedelta(days=31))
    assert operations.purge(filled, 32, confirm="*") == []
    [done] = operations.purge(filled, 30, confirm="*")
    assert (done.id, done.ids, done.invitations) == ("health", 3, 2)
    found = of_survey(number)
    assert (found["report_ids"], found["invitations"]) == (0, 0)
    assert found["cells"] > 0
    assert filled.surveys.state("health").reports == 3
    assert operations.purge(filled, 0, confirm="*") == []
    # Its end is final, since purged ids would be counted twice.
    operations.set_terms(filled, "health", {"closes_at": None, "max_reports": 9})
    with pytest.raises(SurveyClosed):
        filled.reports.add("health", published.digest, [report(0, *cell_of(0))])
    with pytest.raises(SurveyClosed, match="its end is final"):
        operations.reopen_survey(filled, "health")


@pytest.mark.parametrize(
    "limits",
    [{}, {"closes_at": NOW + timedelta(days=1)}, {"max_reports": 4}, {"closes_at": YESTERDAY}],
    ids=["none", "deadline ahead", "quota not reached", "deadline of yesterday"],
)
def test_open_or_recently_ended_surveys_are_not_purged(filled, raw, numbers, dump, limits):
    operations.set_terms(filled, "health", limits)
    counted_on(raw, numbers()["health"], NOW - timedelta(days=99))
    before = dump()
    assert operations.purge(filled, 2, confirm="*") == []
    assert dump() == before


#: A time in the middle of a day, and the end of surveys that are purged then after 30 days.
THEN = datetime(2031, 5, 31, 14, 30, tzinfo=UTC)
LIMIT = THEN - timedelta(days=30)
MOMENT = timedelta(seconds=1)


@pytest.mark.parametrize(
    ("limits", "closed_at", "last_day", "is_over"),
    [
        # Closed by its operator, whenever its last report came.
        ({}, LIMIT, THEN, True),
        ({}, LIMIT + MOMENT, LIMIT - timedelta(days=9), False),
        # At its deadline or quota, if the whole day of the last report is so long ago, too.
        ({"closes_at": LIMIT}, None, LIMIT - timedelta(days=1), True),
        ({"closes_at": LIMIT}, None, LIMIT, False),
        ({"closes_at": LIMIT + MOMENT}, None, LIMIT - timedelta(days=1), False),
        ({"max_reports": 3}, None, LIMIT - timedelta(days=1), True),
        ({"max_reports": 3}, None, LIMIT, False),
        ({"max_reports": 4}, None, LIMIT - timedelta(days=1), False),
    ],
)
def test_the_first_moment_at_which_a_survey_is_purged(
    filled, raw, numbers, limits, closed_at, last_day, is_over
):
    operations.set_terms(filled, "health", limits)
    counted_on(raw, numbers()["health"], last_day)
    with filled.database.writing() as connection:
        if closed_at is not None:
            stored = find(connection, "health")
            update_survey(connection, stored, status="closed", closed_at=closed_at)
        ended = find_ended(connection, THEN, 30)
    assert [stored.id for stored in ended] == ["health"] * is_over


def test_a_deadline_is_over_at_its_moment(filled):
    operations.set_terms(filled, "health", {"closes_at": THEN, "max_reports": 3})
    operations.set_terms(filled, "second", {"closes_at": THEN + MOMENT, "max_reports": 3})
    with filled.database.writing() as connection:
        ended = find_ended(connection, THEN, 0)
    assert [(stored.id, stored.state(THEN, 3)) for stored in ended] == [
        ("health", "deadline"),
        ("second", "quota"),
    ]


def test_a_purged_survey_refuses_reports_exports_and_imports(filled, tmp_path, published):
    file = tmp_path / "before.reports"
    operations.export_reports(filled, "health", file)
    operations.close_survey(filled, "health", confirm="health")
    operations.purge(filled, 0, confirm="*")
    with pytest.raises(SurveyClosed):
        filled.reports.add("health", published.digest, [report(0, 0, 0)])
    with pytest.raises(ParameterError, match="ids of 'health' were purged"):
        operations.export_reports(filled, "health", tmp_path / "after.reports")
    with pytest.raises(ParameterError, match="ids of 'health' were purged"):
        operations.import_reports(filled, file)
    assert not (tmp_path / "after.reports").exists()
    assert filled.surveys.state("health").reports == 3


def test_states_hold_the_counts_of_each_survey(filled):
    first, second = filled.surveys.states()
    for state in (first, second):
        assert (state.reports, state.invited, state.withdrawn, state.unused) == (3, 5, 0, 2)
        assert state == filled.surveys.state(state.id)
    operations.revoke_invitations(filled, "second", confirm="second")
    assert filled.surveys.state("second").withdrawn == 2
    assert filled.surveys.state("health") == first
