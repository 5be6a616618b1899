"""Published surveys: their terms, when they take no more reports, and their state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from types import MappingProxyType
from typing import Annotated, Any, Literal, cast

import msgspec
from halftruth_shared import ParameterError, Survey
from halftruth_shared.protocol.base import Digest, Message
from halftruth_shared.protocol.terms import Signature, Terms
from msgspec import UNSET, Meta, UnsetType
from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Select,
    bindparam,
    exists,
    func,
    select,
    update,
)
from sqlalchemy.engine import Row

from ..errors import SignatureRefused, SurveyClosed, SurveyExists, UnknownSurvey
from ..offloading import Offload, run_inline
from .audit import AuditLog
from .database import Database
from .tables import COUNTED, cells, daily_outcomes, invitations, revoked_keys, sum_shards, surveys

Status = Literal["open", "closed"]

#: Why a survey takes no more reports.
Reason = Literal["operator", "deadline", "quota"]

#: All terms, or those that change by name.
Changes = Terms | Mapping[str, Any]


@dataclass(frozen=True)
class StoredSurvey:
    """A survey with its status and terms; `document` is the canonical JSON that is published."""

    number: int
    id: str
    digest: str
    document: str
    status: Status
    terms: Terms
    signature: Signature | None
    listed: bool
    published_at: datetime
    closed_at: datetime | None
    purged_at: datetime | None

    def survey(self) -> Survey:
        """The survey itself."""
        return _read(self.document)


class SurveyState(Message, frozen=True, kw_only=True):
    """State of one survey."""

    id: str
    title: str
    digest: Digest
    status: Literal["open", "closed"]
    closed_because: Annotated[
        Reason | None,
        Meta(description="Its operator closed it, or its deadline passed, or its quota is full."),
    ]
    listed: Annotated[
        bool, Meta(description="Whether everyone is told of it, or only who knows its address.")
    ]
    mechanism: str
    terms: Terms
    signed_by: Annotated[
        str | None, Meta(description="Public key of the operator who signed it, if anyone did.")
    ]
    reports: Annotated[int, Meta(description="Reports counted.")]
    invited: Annotated[int, Meta(description="Invitations issued.")]
    withdrawn: Annotated[int, Meta(description="Invitations withdrawn or purged.")]
    unused: Annotated[int, Meta(description="Invitations that are still good.")]
    published_at: datetime
    closed_at: datetime | None
    purged_at: Annotated[
        datetime | None,
        Meta(description="When the ids of its reports and its unused invitations were deleted."),
    ]


class SurveyStore:
    """Publishes, lists, opens and closes surveys.

    A call about a survey that there is not raises UnknownSurvey.

    Parameters
    ----------
    database : Database
    audit : AuditLog
    offload : callable, optional
        Where `get` waits for the database.
    """

    def __init__(self, database: Database, audit: AuditLog, offload: Offload = run_inline) -> None:
        self._database = database
        self._audit = audit
        self._offload = offload
        self._cache: dict[str, StoredSurvey] = {}

    def publish(
        self,
        survey: Survey,
        terms: Changes = MappingProxyType({}),
        signature: Signature | UnsetType | None = UNSET,
        *,
        listed: bool | None = None,
        actor: str | None = None,
    ) -> list[str]:
        """Publish a survey, or replace one of the same id that has no report yet.

        Terms that are not named, and whether it is listed, stay.

        Parameters
        ----------
        survey : Survey
        terms : Terms or mapping, optional
            For a new survey, neither invitations nor sealed reports by default.
        signature : Signature or None, optional
            Of the survey and its terms; by default the one that there is.
        listed : bool, optional
            Whether everyone is told of it; a new survey is listed by default.
        actor : str, optional

        Returns
        -------
        list of str
            The terms of a known survey that changed, with their old and new values.

        Raises
        ------
        SurveyExists
            If another survey of that id has reports.
        ParameterError
            If terms that are signed would change without a word about the signature, something of
            the survey was not confirmed after its import, or respondents randomized their answers
            themselves, so that nobody sends reports.
        SignatureRefused
            If the signature does not hold, or is by a key that was revoked.
        """
        if survey.unconfirmed:
            more = len(survey.unconfirmed) - 1
            raise ParameterError(
                f"{survey.unconfirmed[0]}{f' (and {more} more)' if more else ''}; expected that"
                " somebody checks it and deletes the line 'unconfirmed'",
                field="attributes",
            )
        if survey.mechanism.randomized_by != "device":
            raise ParameterError(
                f"mechanism.randomized_by: respondents of '{survey.id}' randomized their answers"
                " themselves; expected 'halftruth reports read', which publishes it as closed",
                field="mechanism.randomized_by",
            )
        row = {
            "digest": survey.digest,
            "document": survey.canonical_json.decode(),
            "status": "open",
            "published_at": datetime.now(UTC),
            "closed_at": None,
            "purged_at": None,
        }
        listing: dict[str, object] = {} if listed is None else {"unlisted": not listed}
        with self._database.writing() as connection:
            if signature:
                # Nobody revokes its key meanwhile.
                self._database.advisory_lock(connection)
            values, messages = change_terms(
                connection, survey.digest, Terms(), None, terms, signature
            )
            first = row | _term_columns(Terms(), None) | values | listing
            added = connection.execute(
                self._database.insert(surveys)
                .values(id=survey.id, invited=0, withdrawn=0, **first)
                .on_conflict_do_nothing(index_elements=[surveys.c.id])
                .returning(surveys.c.number)
            ).scalar()
            if added is None:
                statement = select(surveys).where(surveys.c.id == survey.id).with_for_update()
                known = as_stored(connection.execute(statement).one())
                other = known.digest != survey.digest
                by = None if other and signature is UNSET else signature
                values, messages = change_terms(
                    connection, survey.digest, known.terms, known.signature, terms, by
                )
                if other:
                    _check_replaceable(connection, known)
                    values |= row
                elif not values and not listing:
                    return []
                _update(connection, known, **values, **listing)
            listed_or_not = [] if listed is None else ["listed" if listed else "unlisted"]
            detail = "; ".join([survey.digest, *messages, *listed_or_not])
            self._audit.record(connection, "survey publish", survey.id, detail, actor=actor)
            return messages if added is None else []

    def set_terms(
        self,
        id: str,
        terms: Changes,
        signature: Signature | UnsetType | None = UNSET,
        *,
        actor: str | None = None,
    ) -> list[str]:
        """Change how the reports of a survey are taken from now on, and who signed that.

        See :func:`change_terms`, whose words are the value.

        Raises
        ------
        ParameterError, SignatureRefused
        """
        with self._database.writing() as connection:
            if signature:
                # Nobody revokes its key meanwhile.
                self._database.advisory_lock(connection)
            stored = find(connection, id, lock=True)
            values, messages = change_terms(
                connection, stored.digest, stored.terms, stored.signature, terms, signature
            )
            if values:
                _update(connection, stored, **values)
                self._audit.record(connection, "survey terms", id, "; ".join(messages), actor=actor)
            return messages

    def close(self, id: str, *, actor: str | None = None) -> None:
        """Take no more reports, and destroy the order in which they arrived.

        Closing a closed survey changes nothing. Where the database is too busy for the latter, it
        is left to :meth:`.RetentionStore.compact`, and a line in the log says so.
        """
        with self._database.writing() as connection:
            stored = find(connection, id, lock=True)
            if stored.status == "open":
                _update(connection, stored, status="closed", closed_at=datetime.now(UTC))
                self._audit.record(connection, "survey close", id, actor=actor)
        if stored.status == "open":
            self._database.compact_or_warn("order of arrival is not destroyed yet")

    def reopen(self, id: str, *, actor: str | None = None) -> None:
        """Take reports again for a survey that was closed before its first one.

        Once there are reports, the end of a survey is final: the order of their arrival is
        destroyed, its results were looked at, and its ids may have been purged. Reopening an open
        survey changes nothing.

        Raises
        ------
        SurveyClosed
            If it has reports.
        """
        with self._database.writing() as connection:
            stored = find(connection, id, lock=True)
            if stored.status == "open":
                return
            if has_reports(connection, stored.number):
                raise SurveyClosed(
                    f"survey '{id}': it has reports already, so that its end is final; expected"
                    " one that was closed before the first",
                    field="survey",
                )
            _update(connection, stored, status="open", closed_at=None, purged_at=None)
            self._audit.record(connection, "survey reopen", id, actor=actor)

    def set_listed(self, id: str, listed: bool, *, actor: str | None = None) -> None:
        """Tell everyone of a survey, or only those who know its address."""
        with self._database.writing() as connection:
            stored = find(connection, id, lock=True)
            if stored.listed != listed:
                _update(connection, stored, unlisted=not listed)
                action = "survey list" if listed else "survey unlist"
                self._audit.record(connection, action, id, actor=actor)

    def get(self, id: str) -> StoredSurvey:
        """One survey."""
        stored: StoredSurvey = self._offload(self._read, id)
        return stored

    def last_read(self, id: str) -> StoredSurvey | None:
        """Return a survey as it was when it was last read here; None before. Asks no database."""
        return self._cache.get(id)

    def listed(self) -> list[StoredSurvey]:
        """The surveys that everyone is told of, by id."""
        return [stored for stored in self.all() if stored.listed]

    def closed_because(self, stored: StoredSurvey) -> Reason | None:
        """Reason for which a survey takes no report now; None where it does."""
        limits, have = stored.terms, 0
        if limits.max_reports is not None:
            with self._database.reading_reports() as connection:
                have = report_count(connection, stored.number)
        now = datetime.now(UTC)
        return closed_reason(stored.status, limits.closes_at, now, limits.max_reports, have)

    def all(self) -> list[StoredSurvey]:
        """Every survey, by id."""
        with self._database.reading() as connection:
            rows = connection.execute(select(surveys).order_by(surveys.c.id)).all()
        return [as_stored(row) for row in rows]

    def of_series(self, id: str) -> list[StoredSurvey]:
        """Every survey of a series, by id."""
        surveys = ((stored, stored.survey().series) for stored in self.all())
        return [stored for stored, series in surveys if series is not None and series.id == id]

    def states(self) -> list[SurveyState]:
        """The states of all surveys, by id."""
        with self._database.reading_reports() as connection:
            return _read_states(connection)

    def state(self, id: str) -> SurveyState:
        """The state of one survey."""
        with self._database.reading_reports() as connection:
            [state] = _read_states(connection, find(connection, id).number)
        return state

    def _read(self, id: str) -> StoredSurvey:
        with self._database.reading() as connection:
            stored = self._cache[id] = find(connection, id)
        return stored


#: Built once: that takes as long as running it.
_FIND = select(surveys).where(surveys.c.id == bindparam("id"))
_LOCK = _FIND.with_for_update()


@lru_cache(maxsize=64)
def _read(document: str) -> Survey:
    """Read once what every request needs; the samplers and channels it prepares are kept too."""
    return Survey.from_json(document)


def find(connection: Connection, id: str, *, lock: bool = False) -> StoredSurvey:
    """One survey inside a transaction.

    Parameters
    ----------
    connection : Connection
    id : str
    lock : bool
        Whether nobody else may count its reports or change it until the transaction ends. Whoever
        changes more than one row begins with that, so that no two wait for each other.

    Raises
    ------
    UnknownSurvey
    """
    # PostgreSQL refuses to look for a text with this character, which no id has.
    row = None
    if "\0" not in id:
        row = connection.execute(_LOCK if lock else _FIND, {"id": id}).first()
    if row is None:
        raise UnknownSurvey(f"there is no survey '{id}'", field="survey")
    return as_stored(row)


def has_reports(connection: Connection, number: int) -> bool:
    """True if a survey has reports."""
    counted = select(exists().where(cells.c.survey == number))
    return bool(connection.execute(counted).scalar())


def as_stored(row: Row[*tuple[Any, ...]]) -> StoredSurvey:
    """A survey from its row."""
    return StoredSurvey(
        row.number,
        row.id,
        row.digest,
        row.document,
        cast(Status, row.status),
        Terms(
            invitations=row.invitations,
            sealing_key=row.sealing_key,
            closes_at=row.closes_at,
            max_reports=row.max_reports,
            shared_devices=row.shared_devices,
        ),
        None
        if row.signature_key is None
        else Signature(key=row.signature_key, value=row.signature),
        not row.unlisted,
        row.published_at,
        row.closed_at,
        row.purged_at,
    )


def _update(connection: Connection, stored: StoredSurvey, **values: object) -> None:
    """Set columns of a survey."""
    connection.execute(update(surveys).where(surveys.c.number == stored.number).values(values))


def _check_replaceable(connection: Connection, known: StoredSurvey) -> None:
    if has_reports(connection, known.number):
        raise SurveyExists(
            f"id: survey '{known.id}' has reports already and cannot be replaced;"
            " publish this one under another id",
            field="id",
        )


def closed_reason(
    status: str,
    closes_at: datetime | None,
    now: datetime,
    quota: int | None = None,
    have: int = 0,
) -> Reason | None:
    """Reason for which a survey takes no reports; None where it does.

    Parameters
    ----------
    status : {"open", "closed"}
    closes_at, now : datetime
        With a time zone.
    quota, have : int, optional
    """
    if status == "closed":
        return "operator"
    if closes_at is not None and now >= closes_at:
        return "deadline"
    return "quota" if quota is not None and have >= quota else None


def report_count(connection: Connection, number: int) -> int:
    """Number of a survey's reports."""
    return connection.execute(select(report_count_query(number))).scalar_one()


def report_count_query(number: int | Column[int]) -> ColumnElement[int]:
    """Return the number of a survey's reports as a scalar subquery."""
    return (
        select(func.coalesce(sum_shards(daily_outcomes.c.count), 0))
        .where(daily_outcomes.c.survey == number, daily_outcomes.c.outcome == COUNTED)
        .scalar_subquery()
    )


def describe_limits(terms: Terms) -> list[str]:
    """Deadline, quota and shared devices in words; nothing where there are none."""
    return [
        *([] if terms.closes_at is None else [f"until {terms.closes_at:%Y-%m-%d %H:%M:%S} UTC"]),
        *([] if terms.max_reports is None else [f"at most {terms.max_reports} reports"]),
        *(["several people on a device"] if terms.shared_devices else []),
    ]


def _read_states(connection: Connection, number: int | None = None) -> list[SurveyState]:
    """States of all surveys by id, or of one."""
    chosen = select(surveys).order_by(surveys.c.id)
    counted = select(daily_outcomes.c.survey, sum_shards(daily_outcomes.c.count)).where(
        daily_outcomes.c.outcome == COUNTED
    )
    unused = select(invitations.c.survey, func.count())
    if number is not None:
        chosen = chosen.where(surveys.c.number == number)
        counted = counted.where(daily_outcomes.c.survey == number)
        unused = unused.where(invitations.c.survey == number)
    rows = connection.execute(chosen).all()
    reports = _by_survey(connection, counted.group_by(daily_outcomes.c.survey))
    left = _by_survey(connection, unused.group_by(invitations.c.survey))
    return [_state(row, reports.get(row.number, 0), left.get(row.number, 0)) for row in rows]


def _by_survey(connection: Connection, numbers: Select[int, int]) -> dict[int, int]:
    return dict(connection.execute(numbers).all())


def _state(row: Row[*tuple[Any, ...]], reports: int, unused: int) -> SurveyState:
    stored = as_stored(row)
    survey, signature, terms = stored.survey(), stored.signature, stored.terms
    why = closed_reason(
        stored.status, terms.closes_at, datetime.now(UTC), terms.max_reports, reports
    )
    return SurveyState(
        id=stored.id,
        title=survey.title_in(),
        digest=stored.digest,
        status="open" if why is None else "closed",
        closed_because=why,
        listed=stored.listed,
        mechanism=survey.mechanism.kind,
        terms=terms,
        signed_by=None if signature is None else signature.key,
        reports=reports,
        invited=row.invited,
        withdrawn=row.withdrawn,
        unused=unused,
        published_at=stored.published_at,
        closed_at=stored.closed_at,
        purged_at=stored.purged_at,
    )


def change_terms(
    connection: Connection,
    digest: str,
    terms: Terms,
    signed: Signature | None,
    changes: Changes,
    signature: Signature | UnsetType | None,
) -> tuple[dict[str, object], list[str]]:
    """The columns of a survey that change, and the same in words: old and new value of each term.

    Terms that are not named stay, and so does the signature where it is UNSET.

    Raises
    ------
    ParameterError
        If terms that are signed would change without a word about the signature.
    SignatureRefused
        If the signature does not hold, or is by a key that was revoked.
    """
    named = msgspec.structs.asdict(changes) if isinstance(changes, Terms) else changes
    new = msgspec.structs.replace(terms, **named)
    if signature is UNSET:
        signature = signed
        if signed is not None and new != terms:
            raise ParameterError(
                f"signature: the terms are signed by {signed.key}; expected a signature of the"
                " new ones, or none (--no-signature, or null)",
                field="signature",
            )
    elif signature is not None:
        _check_signature(connection, digest, new, signature)
    old, row = _term_columns(terms, signed), _term_columns(new, signature)
    said = [
        f"{name.replace('signature_key', 'signature')}: "
        f"{_describe_term(old[name])} → {_describe_term(value)}"
        for name, value in row.items()
        if value != old[name] and name != "signature"
    ]
    return {name: value for name, value in row.items() if value != old[name]}, said


def _term_columns(terms: Terms, signature: Signature | None) -> dict[str, object]:
    """The columns of a survey that say how its reports are taken."""
    return {
        **msgspec.structs.asdict(terms),
        "signature_key": None if signature is None else signature.key,
        "signature": None if signature is None else signature.value,
    }


def _describe_term(value: object) -> str:
    match value:
        case None:
            return "none"
        case bool():
            return "yes" if value else "no"
        case datetime():
            return f"{value:%Y-%m-%dT%H:%M:%SZ}"
    return str(value)


def _check_signature(
    connection: Connection, digest: str, terms: Terms, signature: Signature
) -> None:
    # Imported here: most collectors have no signed survey.
    from halftruth_shared import SignatureError
    from halftruth_shared.protocol.base import check_hexadecimal
    from halftruth_shared.protocol.signing import verify

    check_hexadecimal("signature.key", signature.key)

    statement = select(revoked_keys.c.key).where(revoked_keys.c.key == signature.key)
    if connection.execute(statement).first() is not None:
        raise SignatureRefused(
            "signature: its key was revoked; expected one by another key", field="signature"
        )
    try:
        verify(signature, digest, terms, {signature.key})
    except SignatureError as error:
        raise SignatureRefused(str(error), field="signature") from None
