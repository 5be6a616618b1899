"""One collector's store: an attribute for each kind of data.

The attributes read; :mod:`.operations` and the intake of reports write.
"""

from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import Self

from halftruth_shared import ParameterError
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from .errors import StoreUnavailable
from .intake.counting import Observer, ReportStore
from .intake.issuing import TicketIssuer
from .store.audit import AuditLog
from .store.database import Database, check_version, read_version
from .store.invitations import InvitationStore
from .store.keys import KeyStore
from .store.surveys import SurveyStore
from .store.tokens import TokenStore


class OpenStore:
    """One database with its audit log and tokens; as a context manager, it closes its connections.

    A database without tables gets them. Everything in it raises StoreUnavailable if the database
    does not answer, SchemaOutdated if its tables are of another version.
    """

    #: Whether the database had no tables before.
    is_new = False

    def __init__(self, url: str) -> None:
        self.database = Database(url)
        self.audit = AuditLog(self.database)
        self.tokens = TokenStore(self.database)
        try:
            self._open()
        except BaseException as error:
            self.database.close()
            if not isinstance(error, StoreUnavailable):
                raise
            raise StoreUnavailable(
                f"database {self.database.name} cannot be used: {error}",
                field="database",
                hint=error.hint,
            ) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self.database.close()

    def _open(self) -> None:
        """Check the tables, or create them if there are none."""
        with self.database.reading() as connection:
            version = read_version(connection)
        if version is None:
            self.database.migrate()
            self.is_new = True
        else:
            check_version(version)


class Store(OpenStore):
    """Surveys, reports, invitations, tickets and keys of a collector's database.

    Parameters
    ----------
    url : str
        An SQLAlchemy URL of SQLite or PostgreSQL.
    observer : Observer, optional
        Called at every commit and refusal, in the thread of the request.
    sealing_keys : callable, optional
        Returns the public keys that reports can be sealed to; any by default.
    sealing_file : Path, optional
        File of their private keys, if this program may change it.
    """

    def __init__(
        self,
        url: str,
        *,
        observer: Observer | None = None,
        sealing_keys: Callable[[], Collection[str]] | None = None,
        sealing_file: Path | None = None,
    ) -> None:
        super().__init__(url)
        self.sealing_keys, self.sealing_file = sealing_keys, sealing_file
        self.surveys = SurveyStore(self.database)
        self.reports = ReportStore(self.database, self.surveys, observer)
        self.invitations = InvitationStore(self.database, self.surveys)
        self.tickets = TicketIssuer(self.database, self.surveys)
        self.keys = KeyStore(self.database)

    def close(self) -> None:
        """Write pending outcomes and numbers of tickets, and close all connections."""
        self.reports.flush()
        self.tickets.flush()
        super().close()


def open_existing_store(
    database: str, sealing_keys: Callable[[], Collection[str]] | None = None
) -> Store:
    """Open an existing database; a mistyped name would create a new file."""
    check_existing(database, "'halftruth serve' or 'halftruth survey publish'")
    return Store(database, sealing_keys=sealing_keys)


def check_existing(database: str, makers: str) -> None:
    """Raise ParameterError if there is no file of a database, which some commands make."""
    with suppress(ArgumentError):
        url = make_url(database)
        file = url.database if url.get_backend_name() == "sqlite" else None
        if file and not file.startswith(("file:", ":memory:")) and not Path(file).exists():
            raise ParameterError(
                f"database: there is no file {file}; expected one that {makers} made",
                field="database",
            )
