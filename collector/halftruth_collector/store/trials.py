"""Test surveys: an operator tries a survey before it opens, and its test reports are dropped then.

The test of a survey is a survey of its own, with the same questions and mechanism, another id and
therefore another digest. A report names the digest that it was drawn for, so a test report cannot
be counted as one of the survey, nor the other way round. Its deadline is the opening of the survey.
"""

from datetime import UTC, datetime

import msgspec
from halftruth_shared.protocol.terms import SignedTerms, Terms
from halftruth_shared.survey import id_of_test
from sqlalchemy import Connection, delete

from ..errors import UnknownSurvey
from .database import lock_compacted
from .retention import purge_rows
from .surveys import StoredSurvey, find, report_count, update_survey, write_terms
from .tables import cells, daily_outcomes


def find_test_of(connection: Connection, id: str) -> StoredSurvey | None:
    """Lock and return the test of a survey; None if there is none.

    Lock the survey first. Ids are locked in sorted order, and that of the test is the later one.
    """
    try:
        found = find(connection, id_of_test(id), lock=True)
    except UnknownSurvey:
        return None
    return found if found.survey().test_of == id else None


def clear_test(connection: Connection, test: StoredSurvey) -> int:
    """Delete the reports of a test, and return their number; the survey stays."""
    reports = report_count(connection, test.number)
    lock_compacted(connection)
    # Spent tickets stay counted, so that none is spent twice.
    purge_rows(connection, test)
    for table in (cells, daily_outcomes):
        connection.execute(delete(table).where(table.c.survey == test.number))
    # Cached counts are of the survey as it was published, see `CountStore`.
    update_survey(connection, test, published_at=datetime.now(UTC))
    return reports


def follow_opening(connection: Connection, id: str, terms: Terms) -> int | None:
    """Let the test of a survey end when the survey opens, and clear it if that is now.

    Returns the number of dropped test reports; None if the test goes on, or there is none.
    """
    test, now = find_test_of(connection, id), datetime.now(UTC)
    if test is None:
        return None
    is_over = not terms.is_early(now)
    ends = msgspec.structs.replace(test.terms, closes_at=now if is_over else terms.opens_at)
    update_survey(connection, test, terms=write_terms(SignedTerms(terms=ends)))
    return clear_test(connection, test) if is_over else None
