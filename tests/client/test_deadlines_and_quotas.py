"""Reports that come after a deadline or once enough were counted: refused in words, and no more."""

from datetime import UTC, datetime
from itertools import count

import pytest
from halftruth_client import Client, HalftruthError, RequestRefused
from halftruth_client import client as client_module
from halftruth_collector import operations
from halftruth_shared.protocol.terms import Terms

from .conftest import counted

PAST = datetime(2020, 3, 31, 22, tzinfo=UTC)
PASSED, FULL = Terms(closes_at=PAST), Terms(max_reports=1)

#: What is said of each, and the field that it is about.
SAID = {
    "closes_at": "survey 'health' is closed since 2020-03-31 22:00:00 UTC",
    "max_reports": "survey 'health' is closed, since it has all the reports that it asked for",
}


too_late = pytest.mark.parametrize(
    ("terms", "field"), [(PASSED, "closes_at"), (FULL, "max_reports")], ids=["deadline", "quota"]
)


@pytest.fixture
def one_counted(live, survey, record):
    """The collector, with the report of somebody else."""
    Client(live.url, max_gamma="19").submit(survey, record)
    assert counted(live.store) == 1
    return live


def is_refused(refused, field):
    """One line of the survey alone, about this field."""
    error = refused.value
    assert isinstance(error, HalftruthError)
    assert (error.status, error.field) == (409, field)
    assert str(error) == SAID[field]


@too_late
@pytest.mark.parametrize("keeps", [False, True])
def test_who_was_refused_sends_the_same_report_if_more_are_taken_later(
    one_counted, survey, tmp_path, terms, field, keeps
):
    outbox = tmp_path / "outbox.db" if keeps else None
    client = Client(one_counted.url, max_gamma="19", outbox=outbox)
    operations.set_terms(one_counted.store, "health", terms)
    for answer in ("yes", "no"):
        with pytest.raises(RequestRefused) as refused:
            client.submit(survey, {"smoker": answer, "drinks": "daily"}, respondent="ada")
        is_refused(refused, field)
    drawn = client._outbox.find("health", "ada")
    operations.set_terms(one_counted.store, "health", Terms(max_reports=2))
    done = client.submit(survey, {"smoker": "no", "drinks": "never"}, respondent="ada")
    assert (done.id, done.status) == (drawn.id, "accepted")
    assert counted(one_counted.store) == 2


def test_a_batch_for_which_there_is_no_room_is_refused_whole_and_says_what_was_counted(
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
    # Where there is room for all, the same reports are sent, and none is counted twice.
    operations.set_terms(live.store, "health", Terms(max_reports=10))
    again = client.submit_many(survey, [record] * 10)
    assert (again.accepted, again.duplicates) == (2, 8)
    assert counted(live.store) == 10
