"""What SQLite's files hold of deleted rows; PostgreSQL's are tested by its compaction."""

from contextlib import closing
from pathlib import Path

import pytest
from halftruth_collector import operations
from halftruth_collector.collector_store import Store
from halftruth_collector.store.invitations import hash_invitation
from halftruth_shared.protocol.terms import Terms

from .conftest import cell_of, report


@pytest.fixture
def file(database) -> Path:
    return Path(database.removeprefix("sqlite:///"))


def test_files_hold_nothing_of_a_deleted_survey(file, store, published, second):
    for survey in (published, second):
        batch = [report(n, *cell_of(n)) for n in range(3)]
        store.reports.add(survey.id, survey.digest, batch)
    wanted = report(2).id.bytes, b"Health at work"

    def found():
        content = file.read_bytes() + file.with_name(f"{file.name}-wal").read_bytes()
        return [each in content for each in wanted]

    operations.delete_survey(store, "second", confirm="second")
    assert found() == [True, True]
    operations.delete_survey(store, "health", confirm="health")
    assert found() == [False, False]


def test_spent_and_withdrawn_invitations_are_overwritten_without_a_compaction(
    database, file, survey
):
    # Closing the store writes its log into the file.
    with closing(Store(database)) as store:
        operations.publish_survey(store, survey, Terms(invitations=True))
        spent, withdrawn, unused = operations.create_invitations(store, "health", 3)
        hashes = [hash_invitation(bytes.fromhex(each)) for each in (spent, withdrawn, unused)]
    assert all(each in file.read_bytes() for each in hashes)
    with closing(Store(database)) as store:
        store.reports.add("health", survey.digest, [report(1, 0, 0, invitation=spent)])
        operations.revoke_invitations(store, "health", [bytes.fromhex(withdrawn)])
    assert [each in file.read_bytes() for each in hashes] == [False, False, True]
