"""Published surveys."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Literal, cast

from halftruth_shared import ParameterError, Survey
from halftruth_shared.protocol.terms import Signature, Terms
from msgspec import UNSET, UnsetType
from sqlalchemy import Connection, bindparam, exists, select, update
from sqlalchemy.engine import Row

from ..errors import SurveyClosed, SurveyExists, UnknownSurvey
from ..offloading import Offload, run_inline
from .audit import AuditLog
from .closing import Reason, counted, reason
from .compaction import compact_or_warn
from .database import Database
from .tables import cells, surveys
from .terms import Changes, changed, columns

Status = Literal["open", "closed"]


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
            If terms that are signed would change without a word about the signature, or respondents
            randomized their answers themselves, so that nobody sends reports.
        SignatureRefused
            If the signature does not hold, or is by a key that was revoked.
        """
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
            values, messages = changed(connection, survey.digest, Terms(), None, terms, signature)
            first = row | columns(Terms(), None) | values | listing
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
                values, messages = changed(
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

        See :func:`~.terms.changed`, whose words are the value.

        Raises
        ------
        ParameterError, SignatureRefused
        """
        with self._database.writing() as connection:
            if signature:
                # Nobody revokes its key meanwhile.
                self._database.advisory_lock(connection)
            stored = find(connection, id, lock=True)
            values, messages = changed(
                connection, stored.digest, stored.terms, stored.signature, terms, signature
            )
            if values:
                _update(connection, stored, **values)
                self._audit.record(connection, "survey terms", id, "; ".join(messages), actor=actor)
            return messages

    def close(self, id: str, *, actor: str | None = None) -> None:
        """Take no more reports, and destroy the order in which they arrived.

        Closing a closed survey changes nothing. Where the database is too busy for the latter, it
        is left to :meth:`.Store.compact`, and a line in the log says so.
        """
        with self._database.writing() as connection:
            stored = find(connection, id, lock=True)
            if stored.status == "open":
                _update(connection, stored, status="closed", closed_at=datetime.now(UTC))
                self._audit.record(connection, "survey close", id, actor=actor)
        if stored.status == "open":
            compact_or_warn(self._database, "order of arrival is not destroyed yet")

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

    def get_cached(self, id: str) -> StoredSurvey:
        """One survey as it was when it was last read here, which spares a look at the database."""
        return self._cache.get(id) or self.get(id)

    def listed(self) -> list[StoredSurvey]:
        """The surveys that everyone is told of, by id."""
        return [stored for stored in self.all() if stored.listed]

    def closed_because(self, stored: StoredSurvey) -> Reason | None:
        """Reason for which a survey takes no report now; None where it does."""
        limits, have = stored.terms, 0
        if limits.max_reports is not None:
            with self._database.reading_reports() as connection:
                have = counted(connection, stored.number)
        now = datetime.now(UTC)
        return reason(stored.status, limits.closes_at, now, limits.max_reports, have)

    def all(self) -> list[StoredSurvey]:
        """Every survey, by id."""
        with self._database.reading() as connection:
            rows = connection.execute(select(surveys).order_by(surveys.c.id)).all()
        return [as_stored(row) for row in rows]

    def of_series(self, id: str) -> list[StoredSurvey]:
        """Every survey of a series, by id."""
        surveys = ((stored, stored.survey().series) for stored in self.all())
        return [stored for stored, series in surveys if series is not None and series.id == id]

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
