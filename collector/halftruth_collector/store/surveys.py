"""Published surveys."""

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Literal, cast

from halftruth_shared import Survey
from sqlalchemy import Connection, exists, select, update
from sqlalchemy.engine import Row

from ..errors import SurveyExists, UnknownSurvey
from .database import Database
from .tables import cells, surveys

Status = Literal["open", "closed"]


@dataclass(frozen=True)
class StoredSurvey:
    """A survey with its status; `document` is the canonical JSON that is published."""

    id: str
    digest: str
    document: str
    status: Status

    def survey(self) -> Survey:
        """The survey itself."""
        return _read(self.document)


class SurveyStore:
    """Publishes, lists and closes surveys."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def publish(self, survey: Survey) -> None:
        """Publish a survey, or replace one of the same id that has no report yet.

        Publishing the very same survey again changes nothing.

        Raises
        ------
        SurveyExists
            If another survey of that id has reports.
        """
        row = {
            "digest": survey.digest,
            "document": survey.canonical_json.decode(),
            "status": "open",
            "published_at": datetime.now(UTC),
            "closed_at": None,
        }
        with self._database.writing() as connection:
            statement = select(surveys.c.digest).where(surveys.c.id == survey.id).with_for_update()
            digest = connection.execute(statement).scalar()
            if digest is None:
                connection.execute(self._database.insert(surveys).values(id=survey.id, **row))
            elif digest != survey.digest:
                counted = select(exists().where(cells.c.survey_id == survey.id))
                if connection.execute(counted).scalar():
                    raise SurveyExists(
                        f"id: survey '{survey.id}' has reports already and cannot be replaced;"
                        " publish this one under another id",
                        field="id",
                    )
                connection.execute(update(surveys).where(surveys.c.id == survey.id).values(row))

    def close(self, id: str) -> None:
        """Take no more reports. Closing a closed survey changes nothing.

        Raises
        ------
        UnknownSurvey
        """
        with self._database.writing() as connection:
            if find(connection, id).status == "open":
                connection.execute(
                    update(surveys)
                    .where(surveys.c.id == id)
                    .values(status="closed", closed_at=datetime.now(UTC))
                )

    def get(self, id: str) -> StoredSurvey:
        """One survey.

        Raises
        ------
        UnknownSurvey
        """
        with self._database.reading() as connection:
            return find(connection, id)

    def all(self) -> list[StoredSurvey]:
        """Every survey, by id."""
        statement = select(surveys).order_by(surveys.c.id)
        with self._database.reading() as connection:
            return [_stored(row) for row in connection.execute(statement)]


@lru_cache(maxsize=64)
def _read(document: str) -> Survey:
    """Read once what every request needs; the samplers and channels it prepares are kept too."""
    return Survey.from_json(document)


def find(connection: Connection, id: str, *, keep_open: bool = False) -> StoredSurvey:
    """One survey inside a transaction.

    Parameters
    ----------
    connection : Connection
    id : str
    keep_open : bool
        Whether nobody else may close or replace it before this transaction ends.

    Raises
    ------
    UnknownSurvey
    """
    statement = select(surveys).where(surveys.c.id == id)
    if keep_open:
        statement = statement.with_for_update(read=True)
    row = connection.execute(statement).first()
    if row is None:
        raise UnknownSurvey(f"there is no survey '{id}'", field="survey")
    return _stored(row)


def _stored(row: Row[tuple[object, ...]]) -> StoredSurvey:
    return StoredSurvey(row.id, row.digest, row.document, cast(Status, row.status))
