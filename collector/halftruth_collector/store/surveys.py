"""Published surveys."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, cast

from halftruth_shared import Survey
from halftruth_shared.protocol.terms import Signature, Terms
from sqlalchemy import Connection, exists, select, update
from sqlalchemy.engine import Row

from ..errors import SignatureRefused, StoreUnavailable, SurveyClosed, SurveyExists, UnknownSurvey
from .closing import Reason, counted, limits_said, reason
from .compaction import compact
from .database import Database
from .tables import cells, revoked_keys, surveys

if TYPE_CHECKING:
    # Who may do what builds upon the store.
    from ..access.audit import AuditLog

_log = logging.getLogger(__name__)

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
    """Publishes, lists, opens and closes surveys."""

    def __init__(self, database: Database, audit: AuditLog) -> None:
        self._database = database
        self._audit = audit
        self._seen: dict[str, StoredSurvey] = {}

    def publish(
        self,
        survey: Survey,
        terms: Terms | None = None,
        signature: Signature | None = None,
        *,
        listed: bool | None = None,
        actor: str | None = None,
    ) -> None:
        """Publish a survey, or replace one of the same id that has no report yet.

        Terms, and whether it is listed, stay as they are where nothing is said of them; a signature
        stays as long as survey and terms do.

        Parameters
        ----------
        survey : Survey
        terms : Terms, optional
            For a new survey, neither invitations nor sealed reports by default.
        signature : Signature, optional
            Of the survey and these terms.
        listed : bool, optional
            Whether everyone is told of it; a new survey is listed by default.
        actor : str, optional

        Raises
        ------
        SurveyExists
            If another survey of that id has reports.
        SignatureRefused
            If the signature does not hold, or is by a key that was revoked.
        StoreUnavailable
        """
        row = {
            "digest": survey.digest,
            "document": survey.canonical_json.decode(),
            "status": "open",
            "published_at": datetime.now(UTC),
            "closed_at": None,
            "purged_at": None,
            **_terms_row(terms or Terms(), signature),
        }
        listing: dict[str, object] = {} if listed is None else {"unlisted": not listed}

        def publish(connection: Connection) -> None:
            changes, taken = row | listing, terms or Terms()
            if signature is not None:
                # Nobody revokes its key meanwhile.
                self._database.exclude_others(connection)
            _check_signature(connection, survey.digest, terms or Terms(), signature)
            added = connection.execute(
                self._database.insert(surveys)
                .values(id=survey.id, invited=0, withdrawn=0, **changes)
                .on_conflict_do_nothing(index_elements=[surveys.c.id])
                .returning(surveys.c.number)
            ).scalar()
            if added is None:
                statement = select(surveys).where(surveys.c.id == survey.id).with_for_update()
                known = connection.execute(statement).one()
                if terms is None and signature is None:
                    taken = as_stored(known).terms
                if known.digest != survey.digest:
                    _check_replaceable(connection, known)
                    changes |= _terms_row(taken, signature)
                elif terms is None and signature is None:
                    if not listing:
                        return
                    changes = listing
                else:
                    changes = _terms_row(terms or Terms(), signature) | listing
                connection.execute(
                    update(surveys).where(surveys.c.number == known.number).values(changes)
                )
            said = [survey.digest]
            if changes is not listing:
                said.append(_said(taken, signature))
            if listed is not None:
                said.append("listed" if listed else "unlisted")
            self._audit.record(
                connection, "survey publish", survey.id, "; ".join(said), actor=actor
            )

        self._database.write(publish)

    def set_terms(
        self,
        id: str,
        terms: Terms,
        signature: Signature | None = None,
        *,
        actor: str | None = None,
    ) -> None:
        """Change how the reports of a survey are taken from now on, and who signed that.

        Raises
        ------
        UnknownSurvey
        SignatureRefused
            If the signature does not hold, or is by a key that was revoked.
        StoreUnavailable
        """

        def set_terms(connection: Connection) -> None:
            if signature is not None:
                # Nobody revokes its key meanwhile.
                self._database.exclude_others(connection)
            stored = find(connection, id, lock=True)
            _check_signature(connection, stored.digest, terms, signature)
            connection.execute(
                update(surveys)
                .where(surveys.c.number == stored.number)
                .values(_terms_row(terms, signature))
            )
            self._audit.record(connection, "survey terms", id, _said(terms, signature), actor=actor)

        self._database.write(set_terms)

    def close(self, id: str, *, actor: str | None = None) -> None:
        """Take no more reports, and destroy the order in which they arrived.

        Closing a closed survey changes nothing. Where the database is too busy for the latter, it
        is left to :meth:`.Store.compact`, and a line in the log says so.

        Raises
        ------
        UnknownSurvey
        """

        def close(connection: Connection) -> bool:
            is_open = find(connection, id, lock=True).status == "open"
            if is_open:
                connection.execute(
                    update(surveys)
                    .where(surveys.c.id == id)
                    .values(status="closed", closed_at=datetime.now(UTC))
                )
                self._audit.record(connection, "survey close", id, actor=actor)
            return is_open

        if self._database.write(close):
            try:
                self._database.offload(compact, self._database)
            except StoreUnavailable:
                _log.warning("order of arrival is not destroyed yet: run 'halftruth compact'")

    def reopen(self, id: str, *, actor: str | None = None) -> None:
        """Take reports again for a survey that was closed before its first one.

        Once there are reports, the end of a survey is final: the order of their arrival is
        destroyed, its results were looked at, and its ids may have been purged. Reopening an open
        survey changes nothing.

        Raises
        ------
        UnknownSurvey
        SurveyClosed
            If it has reports.
        StoreUnavailable
        """

        def reopen(connection: Connection) -> None:
            stored = find(connection, id, lock=True)
            if stored.status == "open":
                return
            if has_reports(connection, stored.number):
                raise SurveyClosed(
                    f"survey '{id}': it has reports already, so that its end is final; expected"
                    " one that was closed before the first",
                    field="survey",
                )
            connection.execute(
                update(surveys)
                .where(surveys.c.number == stored.number)
                .values(status="open", closed_at=None, purged_at=None)
            )
            self._audit.record(connection, "survey reopen", id, actor=actor)

        self._database.write(reopen)

    def set_listed(self, id: str, listed: bool, *, actor: str | None = None) -> None:
        """Tell everyone of a survey, or only those who know its address.

        Raises
        ------
        UnknownSurvey, StoreUnavailable
        """

        def set_listed(connection: Connection) -> None:
            stored = find(connection, id, lock=True)
            if stored.listed == listed:
                return
            connection.execute(
                update(surveys).where(surveys.c.number == stored.number).values(unlisted=not listed)
            )
            action = "survey list" if listed else "survey unlist"
            self._audit.record(connection, action, id, actor=actor)

        self._database.write(set_listed)

    def get(self, id: str) -> StoredSurvey:
        """One survey.

        Raises
        ------
        UnknownSurvey
        """
        found = self._database.read(lambda connection: find(connection, id))
        self._seen[id] = found
        return found

    def recent(self, id: str) -> StoredSurvey | None:
        """One survey as it was when it was last read here, which spares a look at the database."""
        return self._seen.get(id)

    def listed(self) -> list[StoredSurvey]:
        """The surveys that everyone is told of, by id."""
        return [stored for stored in self.all() if stored.listed]

    def closed_because(self, stored: StoredSurvey) -> Reason | None:
        """Why a survey takes no report now; None where it does."""
        now = datetime.now(UTC)
        why = reason(stored.status, stored.terms.closes_at, now)
        most = stored.terms.max_reports
        if why is not None or most is None:
            return why
        have = self._database.read_reports(lambda connection: counted(connection, stored.number))
        return "quota" if have >= most else None

    def all(self) -> list[StoredSurvey]:
        """Every survey, by id."""
        statement = select(surveys).order_by(surveys.c.id)
        rows = self._database.read(lambda connection: connection.execute(statement).all())
        return [as_stored(row) for row in rows]


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
    statement = select(surveys).where(surveys.c.id == id)
    # PostgreSQL refuses to look for a text with this character, which no id has.
    row = None
    if "\0" not in id:
        row = connection.execute(statement.with_for_update() if lock else statement).first()
    if row is None:
        raise UnknownSurvey(f"there is no survey '{id}'", field="survey")
    return as_stored(row)


def has_reports(connection: Connection, number: int) -> bool:
    """Whether a survey has reports."""
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


def _terms_row(terms: Terms, signature: Signature | None) -> dict[str, object]:
    return {
        "invitations": terms.invitations,
        "sealing_key": terms.sealing_key,
        "closes_at": terms.closes_at,
        "max_reports": terms.max_reports,
        "shared_devices": terms.shared_devices,
        "signature_key": None if signature is None else signature.key,
        "signature": None if signature is None else signature.value,
    }


def _said(terms: Terms, signature: Signature | None) -> str:
    """Terms in words, for the audit log."""
    return "; ".join(
        [
            "with invitations" if terms.invitations else "without invitations",
            f"sealed to {terms.sealing_key}" if terms.sealing_key else "not sealed",
            *limits_said(terms),
            f"signed by {signature.key}" if signature else "not signed",
        ]
    )


def _check_replaceable(connection: Connection, known: Row[*tuple[Any, ...]]) -> None:
    if has_reports(connection, known.number):
        raise SurveyExists(
            f"id: survey '{known.id}' has reports already and cannot be replaced;"
            " publish this one under another id",
            field="id",
        )


def _check_signature(
    connection: Connection, digest: str, terms: Terms, signature: Signature | None
) -> None:
    if signature is None:
        return
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
