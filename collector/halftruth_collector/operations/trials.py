"""Trying a survey before it opens."""

from __future__ import annotations

from datetime import UTC, datetime

from halftruth_shared import ParameterError
from halftruth_shared.protocol.surveys import PublishedSurvey
from halftruth_shared.protocol.terms import SignedTerms, Terms
from halftruth_shared.survey import id_of_test
from sqlalchemy import select

from ..collector_store import Store
from ..errors import SurveyExists
from ..store.database import insert, lock_compacted
from ..store.retention import delete_survey_rows
from ..store.surveys import SurveyState, find, write_terms
from ..store.tables import surveys
from ..store.trials import clear_test, find_test_of
from .base import SURVEY, Call, Command, Form, Offer, action

_SECTION = "Test"


def _offer_test(state: SurveyState) -> Offer | None:
    if state.status != "planned":
        return None
    return Offer(
        f"Until it opens, it can be tried at /s/{id_of_test(state.id)}. Test reports are counted"
        " apart, have results of their own, and are dropped when it opens.",
        "Try the survey",
    )


@action(
    "survey test",
    about=SURVEY,
    call=Call(
        "POST",
        "/v1/surveys/<survey_id>/test",
        PublishedSurvey,
        answered=lambda store, _, id: store.surveys.published(id),
        errors=(SurveyExists,),
    ),
    command=Command(
        "survey test",
        "test reports are taken at /s/{result} until {subject} opens, and dropped then",
    ),
    form=Form("test", _SECTION, _offer_test),
    undone="its reports can be dropped",
)
def try_survey(store: Store, id: str) -> str:
    """Try a survey before it opens.

    A test of it is published, unlisted, under its id with '-test'. It takes reports without
    invitations until the survey opens. They are counted apart and dropped then, and no report of
    one is accepted by the other. A test of an earlier version is replaced.

    Returns
    -------
    str
        Id of the test.

    Raises
    ------
    ParameterError
        If the survey does not open later.
    SurveyExists
        If another survey has the id of the test.
    """
    now = datetime.now(UTC)
    with store.database.writing() as connection:
        stored = find(connection, id, lock=True)
        if stored.state(now, 0) != "planned":
            raise ParameterError(
                f"survey '{id}': expected one that opens later (opens_at)", field="survey"
            )
        test, terms = stored.survey().for_test(), stored.terms
        known = find_test_of(connection, id)
        if known is not None and known.digest == test.digest:
            return test.id
        if known is not None:
            lock_compacted(connection)
            delete_survey_rows(connection, known)
        document = {
            "digest": test.digest,
            "document": test.canonical_json.decode(),
            "status": "open",
            "published_at": now,
            "unlisted": True,
        }
        taking = Terms(sealing_key=terms.sealing_key, closes_at=terms.opens_at, shared_devices=True)
        written = write_terms(SignedTerms(terms=taking))
        added = connection.execute(
            insert(connection, surveys)
            .values(id=test.id, invited=0, withdrawn=0, terms=written, **document)
            .on_conflict_do_nothing(index_elements=[surveys.c.id])
            .returning(surveys.c.number)
        ).scalar()
        if added is None:
            raise SurveyExists(
                f"id: survey '{test.id}' is not a test of '{id}'; expected another id", field="id"
            )
        try_survey.log(store, connection, id, test.digest)
    return test.id


def _offer_clear(state: SurveyState) -> Offer | None:
    if state.test_of is None:
        return None
    return Offer(f"{state.reports} test reports were counted.", "Drop the test reports")


@action(
    "survey clear-test",
    about=SURVEY,
    call=Call(
        "DELETE",
        "/v1/surveys/<survey_id>/test",
        SurveyState,
        answered=lambda store, id, _: store.surveys.state(id),
    ),
    command=Command("survey clear-test", "dropped {result} test reports of {subject}"),
    form=Form("clear", _SECTION, _offer_clear),
    undone="it deletes test reports alone",
)
def clear_test_reports(store: Store, id: str) -> int:
    """Drop the test reports of a survey.

    The survey is named by its own id, or by that of its test, which goes on. Without a test this
    changes nothing.

    Returns
    -------
    int
        Number of dropped reports.
    """
    with store.database.writing() as connection:
        stored = find(connection, id)
        about = stored.survey().test_of or id
        # The survey before its test, as everywhere.
        connection.execute(select(surveys.c.number).where(surveys.c.id == about).with_for_update())
        test = find_test_of(connection, about)
        dropped = 0 if test is None else clear_test(connection, test)
        if dropped:
            clear_test_reports.log(store, connection, id, f"{dropped} reports")
    return dropped
