"""One collector's store: what it keeps, who may use it, and how reports come in."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

from halftruth_shared import ParameterError, Survey
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from .access.keys import KeyStore
from .access.tokens import TokenStore
from .errors import StoreUnavailable
from .intake.counting import Observer, ReportStore
from .offloading import Offload, run_inline
from .store import backups, schema, transfer
from .store.audit import ACTOR, AuditLog
from .store.compaction import compact
from .store.database import Database
from .store.files import Progress
from .store.invitations import InvitationStore
from .store.retention import RetentionStore
from .store.states import SurveyState, survey_states
from .store.surveys import SurveyStore


class Store:
    """Surveys, reports and tokens of one database; as a context, it closes its connections.

    Everything raises StoreUnavailable if the database does not answer.

    Parameters
    ----------
    url : str
        An SQLAlchemy URL of SQLite or PostgreSQL; a database without tables gets them.
    actor : str
        Who acts, for the audit log, where a call does not say.
    observer : Observer, optional
        Told of every commit and refusal, by the thread or greenlet that asked for it.
    offload : callable, optional
        Called with a function and its arguments for what a report waits for: it returns or raises
        what the function does. By default, whoever asks waits, as for everything else.

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
        self,
        url: str,
        *,
        actor: str = ACTOR,
        observer: Observer | None = None,
        offload: Offload = run_inline,
    ) -> None:
        self.database = Database(url)
        self._offload = offload
        self.audit = AuditLog(self.database, actor)
        self.surveys = SurveyStore(self.database, self.audit, offload)
        self.reports = ReportStore(self.database, self.surveys, observer, offload)
        self.invitations = InvitationStore(self.database, self.audit)
        self.retention = RetentionStore(self.database, self.audit)
        self.tokens = TokenStore(self.database, self.audit)
        self.keys = KeyStore(self.database, self.audit)
        try:
            offload(self._open)
        except BaseException as error:
            self.close()
            if not isinstance(error, StoreUnavailable):
                raise
            shown = self.database.engine.url.render_as_string(hide_password=True)
            raise StoreUnavailable(
                f"database {shown} cannot be used: {error}", field="database"
            ) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def states(self) -> list[SurveyState]:
        """Return the states of all surveys; see :mod:`~.store.states`."""
        return survey_states(self.database)

    def state(self, survey_id: str) -> SurveyState:
        """Return the state of one survey; see :mod:`~.store.states`."""
        [state] = survey_states(self.database, survey_id)
        return state

    def back_up(self, file: Path, progress: Progress | None = None) -> int:
        """Write everything into a new file; see :mod:`~.store.backups`."""
        return backups.back_up(self.database, file, progress)

    def restore(self, file: Path, progress: Progress | None = None) -> int:
        """Read a back-up into this empty store; see :mod:`~.store.backups`."""
        return backups.restore(self.database, file, progress)

    def export_reports(self, survey_id: str, file: Path, progress: Progress | None = None) -> int:
        """Write the reports of a survey into a file; see :mod:`~.store.transfer`."""
        return transfer.export_reports(self.database, survey_id, file, progress)

    def import_reports(self, file: Path, progress: Progress | None = None) -> transfer.Imported:
        """Count the reports of a file; see :mod:`~.store.transfer`."""
        return transfer.import_reports(self.database, self.audit, file, progress)

    def count_rows(
        self,
        survey: Survey,
        pages: Iterable[tuple[Sequence[bytes], Sequence[bytes]]],
        progress: Progress | None = None,
    ) -> transfer.Imported:
        """Count reports whose ids and cells are at hand; see :mod:`~.store.transfer`."""
        return transfer.count_rows(self.database, self.audit, survey, pages, progress)

    def compact(self) -> None:
        """Destroy the order in which reports arrived; see :mod:`~.store.compaction`."""
        compact(self.database)
        self.audit.note("compact", "")

    def check(self) -> None:
        """Raise unless reports can be counted: the database has this program's tables, and writes.

        Raises
        ------
        SchemaOutdated, StoreUnavailable
        """
        with self.database.reading() as connection:
            schema.check(schema.version(connection))
        self.database.probe()

    def close(self) -> None:
        """Write down what is remembered, and close every connection."""
        self.reports.flush()
        self._offload(self.database.close)

    def _open(self) -> None:
        """Check the tables, or make them where there are none."""
        with self.database.reading() as connection:
            version = schema.version(connection)
        if version is None:
            schema.migrate(self.database)
        else:
            schema.check(version)


def existing(database: str) -> Store:
    """Open a database that is there; that of a mistyped file would be made without a word.

    Raises
    ------
    ParameterError
        If there is no such file.
    """
    with suppress(ArgumentError):
        url = make_url(database)
        file = url.database if url.get_backend_name() == "sqlite" else None
        if file and not file.startswith(("file:", ":memory:")) and not Path(file).exists():
            raise ParameterError(
                f"database: there is no file {file}; expected one that 'halftruth serve' or"
                " 'halftruth survey publish' made",
                field="database",
            )
    return Store(database)
