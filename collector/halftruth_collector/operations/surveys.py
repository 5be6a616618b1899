"""Surveys: published, closed, reopened, listed and deleted."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Annotated, Literal, get_args

from halftruth_shared import DomainTooLarge, ParameterError, SchemaError, Survey, SurveyError
from halftruth_shared.protocol.base import Message, Request
from halftruth_shared.protocol.surveys import PublishedSurvey
from halftruth_shared.protocol.terms import Signature, SignedTerms, Terms
from msgspec import UNSET, Meta, UnsetType
from sqlalchemy import Connection, select

from ..collector_store import Store
from ..confirmation import require
from ..errors import SurveyClosed, SurveyExists
from ..store.database import advisory_lock, insert, lock_compacted
from ..store.retention import DATA_LEFT, Deleted, delete_survey_rows
from ..store.surveys import (
    Closer,
    State,
    StoredSurvey,
    SurveyState,
    as_stored,
    describe_taking,
    find,
    has_reports,
    report_count,
    update_survey,
    write_terms,
)
from ..store.tables import audit, surveys
from ..store.trials import find_test_of, follow_opening
from .base import SURVEY, Call, Command, Form, Offer, Table, action, number
from .terms import Changes, change_terms, check_keys, check_opening, named

#: Events that change the state of a survey.
Event = Literal["close", "finish", "reopen", "replace", "purge"]

#: State of a survey after an event, by its state before; other states do not change.
TRANSITIONS: Mapping[Event, Mapping[State, State]] = {
    "close": {"planned": "closed", "open": "closed", "deadline": "closed", "quota": "closed"},
    "finish": dict.fromkeys(("open", "deadline", "quota"), "relay"),
    "reopen": {"closed": "open", "purged": "open"},
    "replace": dict.fromkeys(get_args(State), "open"),
    "purge": dict.fromkeys(("deadline", "quota", "closed", "relay"), "purged"),
}

#: Heading of the forms that change whether reports are accepted, and who finds the survey.
_OPENNESS = "Open or closed, listed or not"


class SurveyStates(Message, frozen=True, kw_only=True):
    """State of every survey."""

    surveys: list[SurveyState]


class PublishQuery(Request, frozen=True, kw_only=True):
    """Options of publishing a survey."""

    unlisted: Annotated[
        bool, Meta(description="Whether to publish it unlisted, reachable by its address only.")
    ] = False


class Listing(Request, frozen=True, kw_only=True):
    """Listing of a survey on the front page."""

    listed: Annotated[bool, Meta(description="Whether the front page lists the survey.")]


def _published(store: Store, id: str, _: object) -> PublishedSurvey:
    return store.surveys.published(id)


@action(
    call=Call("GET", "/v1/states", SurveyStates),
    command=Command(
        "survey list",
        Table(
            ("id", "status", "reports", "listed", "title", "mechanism", "taken", "digest"),
            lambda done: done.result.surveys,
            lambda state: (
                state.id,
                state.status,
                state.reports,
                "yes" if state.listed else "no",
                state.title,
                state.mechanism,
                describe_taking(state),
                state.digest,
            ),
            has_lines=True,
        ),
        summary="List the surveys with their status and number of reports.",
    ),
    undone="it reads",
)
def get_states(store: Store) -> SurveyStates:
    """Get the state of all surveys, including unlisted ones."""
    return SurveyStates(surveys=store.surveys.states())


@action(
    about=SURVEY,
    call=Call("GET", "/v1/surveys/<survey_id>/state", SurveyState),
    undone="it reads",
)
def get_state(store: Store, id: str) -> SurveyState:
    """Get the state of a survey."""
    return store.surveys.state(id)


def next_state(id: str, state: State, event: Event, *, has_reports: bool) -> State:
    """Return the state of a survey after an event.

    A survey with reports cannot be reopened: the order of arrival was erased, its results may have
    been read, and the ids of its reports may have been purged. It cannot be replaced either.

    Raises
    ------
    SurveyClosed, SurveyExists
    """
    new = TRANSITIONS[event].get(state, state)
    if has_reports and event == "reopen" and new != state:
        raise SurveyClosed(
            f"survey '{id}': it has reports already, so that its end is final; expected one that"
            " was closed before the first",
            field="survey",
        )
    if has_reports and event == "replace":
        raise SurveyExists(
            f"id: survey '{id}' has reports already and cannot be replaced; publish this one under"
            " another id",
            field="id",
        )
    return new


@action(
    "survey publish",
    arguments=PublishQuery,
    call=Call(
        "POST",
        "/v1/surveys",
        PublishedSurvey,
        answered=lambda store, survey, _: store.surveys.published(survey.id),
        status=201,
        errors=(SurveyExists, SurveyError, SchemaError, DomainTooLarge),
        document=True,
    ),
    command=Command("survey publish"),
    undone="it replaces only a survey without reports",
)
def publish_survey(
    store: Store,
    survey: Survey,
    terms: Changes = MappingProxyType({}),
    signature: Signature | UnsetType | None = UNSET,
    *,
    unlisted: bool = False,
) -> list[str]:
    """Publish a survey.

    Replaces a survey with the same id, if that has no reports. Publishing an identical survey again
    changes nothing.

    Parameters
    ----------
    store : Store
    survey : Survey
    terms : Terms, TermsPatch or mapping
        Terms to change; a new survey has neither invitations nor sealed reports.
    signature : Signature or None
        Signature of the terms; it is kept if omitted.
    unlisted : bool
        Whether to omit it from the list of surveys; otherwise the listing of a survey does not
        change, and a new one is listed.

    Returns
    -------
    list of str
        Changed terms of an existing survey, with their old and new values.

    Raises
    ------
    SurveyExists
        If another survey of that id has reports.
    ParameterError
        If a part of an imported survey was not confirmed, if respondents randomize their answers
        themselves (devices send no reports then), or if the terms are invalid.
    SignatureRefused
        See :func:`set_terms`.
    """
    if survey.unconfirmed:
        more = len(survey.unconfirmed) - 1
        raise ParameterError(
            f"{survey.unconfirmed[0]}{f' (and {more} more)' if more else ''}; expected that"
            " somebody checks it and deletes the line 'unconfirmed'",
            field="attributes",
        )
    if survey.test_of is not None:
        raise ParameterError(
            f"test_of: expected 'halftruth survey test {survey.test_of}', which publishes a test",
            field="test_of",
        )
    if survey.mechanism.randomized_by != "device":
        raise ParameterError(
            f"mechanism.randomized_by: respondents of '{survey.id}' randomized their answers"
            " themselves; expected 'halftruth reports read', which publishes it as closed",
            field="mechanism.randomized_by",
        )
    check_keys(store.sealing_keys, survey, named(terms).get("sealing_key"))
    document = {
        "digest": survey.digest,
        "document": survey.canonical_json.decode(),
        "published_at": datetime.now(UTC),
        **_columns("open"),
    }
    listing = {"unlisted": True} if unlisted else {}
    with store.database.writing() as connection:
        if signature:
            # Exclude revocations of its key until the commit.
            advisory_lock(connection)
        signed, messages = change_terms(
            connection, survey, SignedTerms(terms=Terms()), terms, signature
        )
        first = document | listing | {"terms": write_terms(signed)}
        added = connection.execute(
            insert(connection, surveys)
            .values(id=survey.id, invited=0, withdrawn=0, **first)
            .on_conflict_do_nothing(index_elements=[surveys.c.id])
            .returning(surveys.c.number)
        ).scalar()
        if added is not None:
            messages = []
        else:
            statement = select(surveys).where(surveys.c.id == survey.id).with_for_update()
            known = as_stored(connection.execute(statement).one())
            is_other = known.digest != survey.digest
            by = None if is_other and signature is UNSET else signature
            signed, messages = change_terms(connection, survey, known.signed, terms, by)
            if is_other:
                _next(connection, known, "replace")
            elif signed == known.signed and not listing:
                return []
            counted = has_reports(connection, known.number)
            check_opening(known, signed.terms, has_reports=counted)
            changed = document if is_other else {}
            update_survey(connection, known, terms=write_terms(signed), **changed, **listing)
            if is_other:
                _delete_test_of(connection, survey.id)
            else:
                follow_opening(connection, survey.id, signed.terms)
        detail = [survey.digest, *messages]
        detail += ["unlisted"] if unlisted else []
        publish_survey.log(store, connection, survey.id, "; ".join(detail))
    return messages


def _offer_close(state: SurveyState) -> Offer | None:
    if state.closed_at is not None:
        return None
    if state.reports:
        return Offer(
            "Closing it is final: with reports it cannot be opened again. The order in which they"
            " arrived is erased.",
            "Close the survey for good",
            "close it",
        )
    return Offer(
        "It has no report yet, so it can be opened again after it was closed.", "Close the survey"
    )


@action(
    "survey close",
    about=SURVEY,
    call=Call("POST", "/v1/surveys/<survey_id>/close", PublishedSurvey, answered=_published),
    command=Command("survey close", "closed {subject}"),
    form=Form("close", _OPENNESS, _offer_close),
)
def close_survey(store: Store, id: str, *, confirm: str | None = None) -> None:
    """Close a survey.

    It accepts no more reports, and the order in which they arrived is erased. With reports this is
    final, and has to be confirmed. Closing it again changes nothing.
    """
    with store.database.writing() as connection:
        stored = find(connection, id, lock=True)
        is_changed = move(connection, stored, "close")
        if is_changed:
            if reports := report_count(connection, stored.number):
                reason = f"with {number(reports, 'report')} it cannot be opened again"
                require(confirm, id, reason=reason, done="closed")
            close_survey.log(store, connection, id)
    if is_changed:
        # If the database is too busy now, compacting it later erases the order.
        store.database.compact_or_warn("order of arrival is not destroyed yet")


@action("relay finish", about=SURVEY, undone="it records what a relay has done")
def finish_relayed(store: Store, id: str) -> None:
    """Record that a relay has passed on its last reports, with the number of reports counted.

    The survey is closed, since the relay takes no more reports. The order of arrival is erased.
    """
    with store.database.writing() as connection:
        stored = find(connection, id, lock=True)
        is_closed = move(connection, stored, "finish")
        detail = f"{report_count(connection, stored.number)} reports"
        # A restarted relay may repeat the message.
        said = select(audit.c.detail).where(
            audit.c.action == finish_relayed.name, audit.c.subject == id
        )
        last = connection.execute(said.order_by(audit.c.number.desc()).limit(1)).scalar()
        if last == detail and not is_closed:
            return
        finish_relayed.log(store, connection, id, detail)
        if is_closed:
            close_survey.log(store, connection, id, "its relay has ended")
    store.database.compact_or_warn("order of arrival is not destroyed yet")


def _offer_reopen(state: SurveyState) -> Offer | None:
    if state.closed_at is None:
        return None
    if state.closed_because == "relay":
        return Offer("Its relay takes no more reports, so its end is final.")
    if state.reports:
        return Offer("It has reports, so its end is final.")
    return Offer(
        "It was closed before its first report, so it can be opened again.", "Reopen the survey"
    )


@action(
    "survey reopen",
    about=SURVEY,
    call=Call(
        "POST",
        "/v1/surveys/<survey_id>/reopen",
        PublishedSurvey,
        answered=_published,
        errors=(SurveyClosed,),
    ),
    command=Command("survey reopen", "reopened {subject}"),
    form=Form("reopen", _OPENNESS, _offer_reopen),
    undone="the survey can be closed again",
)
def reopen_survey(store: Store, id: str) -> None:
    """Reopen a survey.

    Only a survey without reports can be reopened. Reopening an open survey changes nothing.

    Raises
    ------
    SurveyClosed
        If it has reports, or its relay takes no more.
    ParameterError
        If the private key of its sealing key is missing.
    """
    with store.database.writing() as connection:
        stored = find(connection, id, lock=True)
        if stored.closed_by == "relay":
            raise SurveyClosed(
                f"survey '{id}': its relay takes no more reports, so that its end is final;"
                " expected one that an operator closed",
                field="survey",
            )
        check_keys(store.sealing_keys, stored.survey(), stored.terms.sealing_key)
        if move(connection, stored, "reopen"):
            reopen_survey.log(store, connection, id)


def _offer_unlist(state: SurveyState) -> Offer | None:
    if not state.listed:
        return None
    return Offer(
        "It is on the front page. If it is unlisted, only people who know its address find it;"
        " this is not access control.",
        "Unlist the survey",
    )


def _offer_list(state: SurveyState) -> Offer | None:
    if state.listed:
        return None
    return Offer("Only those find it who know its address.", "List the survey")


@action(
    "survey list",
    about=SURVEY,
    arguments=Listing,
    call=Call(
        "PUT",
        "/v1/surveys/<survey_id>/listing",
        SurveyState,
        answered=lambda store, id, _: store.surveys.state(id),
    ),
    command=(
        Command(
            "survey unlist",
            "unlisted {subject}",
            given={"listed": False},
            summary="Remove a survey from the public list.\n\n"
            "It can still be answered by its address.",
        ),
        Command(
            "survey relist",
            "listed {subject}",
            given={"listed": True},
            summary="Add a survey to the public list again.",
        ),
    ),
    form=(
        Form("unlist", _OPENNESS, _offer_unlist, given={"listed": False}),
        Form("list", _OPENNESS, _offer_list, given={"listed": True}),
    ),
    undone="it can be set again",
)
def set_listing(store: Store, id: str, listed: bool) -> None:
    """List or unlist a survey.

    An unlisted survey can be answered by anyone who knows its URL.
    """
    with store.database.writing() as connection:
        stored = find(connection, id, lock=True)
        if stored.listed != listed:
            update_survey(connection, stored, unlisted=not listed)
            name = set_listing.name if listed else "survey unlist"
            store.audit.record(connection, name, id)


def _offer_delete(state: SurveyState) -> Offer:
    return Offer(
        f"Deletes the survey with its {number(state.reports, 'report')}, their ids and counts, its"
        " invitations, and the tokens that are for it alone. Nothing brings them back but a"
        " back-up, and back-ups keep what they hold. To keep the counts, 'halftruth admin purge'"
        " deletes ids and unused invitations of closed surveys alone.",
        "Delete for good",
        "delete it",
    )


@action(
    "survey delete",
    about=SURVEY,
    call=Call("DELETE", "/v1/surveys/<survey_id>", Deleted),
    command=Command(
        "survey delete",
        "deleted {subject}: {result.reports} reports, {result.ids} ids, {result.invitations} unused"
        " invitations, {result.tokens} tokens",
    ),
    form=Form("delete", "Delete", _offer_delete),
)
def delete_survey(store: Store, id: str, *, confirm: str | None = None) -> Deleted:
    """Delete a survey.

    This also deletes its reports, their ids and counts, its invitations, and the tokens restricted
    to it. Only a back-up can restore them; existing back-ups still contain them. To keep the counts
    and delete only the ids, use 'halftruth admin purge'. It has to be confirmed.
    """
    with store.database.writing() as connection:
        stored = find(connection, id, lock=True)
        reports = number(report_count(connection, stored.number), "report")
        reason = f"'{stored.survey().title_in()}' would be lost with {reports}"
        require(confirm, id, reason=reason, done="deleted")
        lock_compacted(connection)
        _delete_test_of(connection, id)
        done = delete_survey_rows(connection, stored)
        detail = f"{stored.digest}; {done.in_words}"
        delete_survey.log(store, connection, id, detail)
    store.database.compact_or_warn(DATA_LEFT)
    return done


def _delete_test_of(connection: Connection, id: str) -> None:
    """Delete the test of a survey that is deleted, or replaced by another version."""
    test = find_test_of(connection, id)
    if test is not None:
        lock_compacted(connection)
        delete_survey_rows(connection, test)


def _next(connection: Connection, stored: StoredSurvey, event: Event) -> tuple[State, State]:
    """Return the state of a survey now, and its state after an event."""
    now, number = datetime.now(UTC), stored.number
    before = stored.state(now, report_count(connection, number))
    counted = has_reports(connection, number)
    return before, next_state(stored.id, before, event, has_reports=counted)


def move(connection: Connection, stored: StoredSurvey, event: Event) -> bool:
    """Change the state of a survey by an event, and return whether it changed."""
    before, after = _next(connection, stored, event)
    if after == before:
        return False
    update_survey(connection, stored, **_columns(after, stored.closed_at, stored.closed_by))
    return True


def _columns(
    state: State, closed_at: datetime | None = None, closed_by: Closer | None = None
) -> dict[str, object]:
    """Return the columns of a survey that enters a state now."""
    now = datetime.now(UTC)
    if state == "open":
        return {"status": "open", "closed_at": None, "closed_by": None, "purged_at": None}
    return {
        "status": "closed",
        "closed_at": closed_at or now,
        "closed_by": closed_by or ("relay" if state == "relay" else "operator"),
        "purged_at": now if state == "purged" else None,
    }
