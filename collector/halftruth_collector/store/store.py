"""One collector's store."""

from functools import cached_property
from pathlib import Path
from typing import Self

from ..errors import SchemaOutdated, StoreUnavailable
from . import schema, transfer
from .audit import AuditLog
from .counting import Observer, ReportCounter
from .database import Database
from .invitations import InvitationStore
from .keys import KeyStore
from .reports import ReportStore
from .surveys import SurveyStore
from .tokens import TokenStore


class Store:
    """Surveys, reports and tokens of one database; as a context, it closes its connections.

    Parameters
    ----------
    url : str
        An SQLAlchemy URL of SQLite or PostgreSQL; a database without tables gets them.
    actor : str
        Who acts, for the audit log, where a call does not say.
    observer : Observer, optional
        Told of every commit and refusal.

    Raises
    ------
    ParameterError
        If it is not such a URL.
    SchemaOutdated
        If its tables are of another version than this program's.
    StoreUnavailable
        If the database cannot be reached.
    """

    def __init__(
        self, url: str, *, actor: str = "command line", observer: Observer | None = None
    ) -> None:
        self.database = Database(url)
        self._observer = observer
        self.audit = AuditLog(self.database, actor)
        try:
            with self.database.reading() as connection:
                found = schema.version(connection)
            if found is None:
                schema.migrate(self.database)
            else:
                schema.check(found)
        except SchemaOutdated:
            self.close()
            raise
        except StoreUnavailable as error:
            self.close()
            shown = self.database.engine.url.render_as_string(hide_password=True)
            raise StoreUnavailable(
                f"database {shown} cannot be used: {error}", field="database"
            ) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @cached_property
    def surveys(self) -> SurveyStore:
        """Published surveys."""
        return SurveyStore(self.database, self.audit)

    @cached_property
    def reports(self) -> ReportStore:
        """Counts of perturbed reports."""
        counter = ReportCounter(self.database, self._observer)
        return ReportStore(self.database, self.surveys, counter)

    @cached_property
    def invitations(self) -> InvitationStore:
        """Invitations that let reports in."""
        return InvitationStore(self.database, self.audit)

    @cached_property
    def tokens(self) -> TokenStore:
        """Tokens of analysts, operators and monitors."""
        return TokenStore(self.database, self.audit)

    @cached_property
    def keys(self) -> KeyStore:
        """Operators' public keys."""
        return KeyStore(self.database, self.audit)

    def back_up(self, file: Path, progress: transfer.Progress | None = None) -> int:
        """Write everything into a new file; see :func:`~.transfer.back_up`."""
        return transfer.back_up(self.database, file, progress)

    def restore(self, file: Path, progress: transfer.Progress | None = None) -> int:
        """Read a back-up into this empty store; see :func:`~.transfer.restore`."""
        return transfer.restore(self.database, file, progress)

    def export_reports(
        self, survey_id: str, file: Path, progress: transfer.Progress | None = None
    ) -> int:
        """Write the reports of a survey into a file; see :func:`~.transfer.export_reports`."""
        return transfer.export_reports(self.database, survey_id, file, progress)

    def import_reports(
        self, file: Path, progress: transfer.Progress | None = None
    ) -> transfer.Imported:
        """Count the reports of a file; see :func:`~.transfer.import_reports`."""
        return transfer.import_reports(self.database, self.audit, file, progress)

    def check(self) -> None:
        """Raise unless the database answers and has the tables of this program.

        Raises
        ------
        SchemaOutdated, StoreUnavailable
        """
        with self.database.reading() as connection:
            schema.check(schema.version(connection))

    def close(self) -> None:
        """Close every connection."""
        self.database.close()
