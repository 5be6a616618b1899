"""One collector's store."""

from functools import cached_property
from typing import Self

from ..errors import StoreUnavailable
from .database import Database
from .reports import ReportStore
from .surveys import SurveyStore
from .tables import metadata
from .tokens import TokenStore


class Store:
    """Surveys, reports and tokens of one database; as a context, it closes its connections.

    Parameters
    ----------
    url : str
        An SQLAlchemy URL of SQLite or PostgreSQL; a database without tables gets them.

    Raises
    ------
    ParameterError
        If it is not such a URL.
    StoreUnavailable
        If the database cannot be reached.
    """

    def __init__(self, url: str) -> None:
        self.database = Database(url)
        try:
            with self.database.writing() as connection:
                metadata.create_all(connection)
        except StoreUnavailable as error:
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
        return SurveyStore(self.database)

    @cached_property
    def reports(self) -> ReportStore:
        """Counts of perturbed reports."""
        return ReportStore(self.database)

    @cached_property
    def tokens(self) -> TokenStore:
        """Tokens of analysts and operators."""
        return TokenStore(self.database)

    def ping(self) -> None:
        """Raise StoreUnavailable unless the database answers."""
        with self.database.reading() as connection:
            connection.exec_driver_sql("SELECT 1")

    def close(self) -> None:
        """Close every connection."""
        self.database.engine.dispose()
