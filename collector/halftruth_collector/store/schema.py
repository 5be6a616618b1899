"""Version of the tables: a fresh database gets them, another version is migrated when asked to."""

from pathlib import Path

from halftruth_shared import HalftruthError
from sqlalchemy import Connection, String, column, inspect, select, table

from ..errors import SchemaOutdated
from .database import Database

#: Version of the tables that this program works with, the last one of `migrations/versions`.
HEAD = "0001"

#: Table of a database that has the version of its tables.
VERSION_TABLE = "alembic_version"

_SCRIPTS = Path(__file__).parent / "migrations"


def version(connection: Connection) -> str | None:
    """Return the version of the tables; None where there are none."""
    if VERSION_TABLE not in inspect(connection).get_table_names():
        return None
    statement = select(column("version_num", String)).select_from(table(VERSION_TABLE))
    number: str | None = connection.execute(statement).scalar()
    return number


def check(version: str | None) -> None:
    """Raise SchemaOutdated unless the tables are of this program's version."""
    if version == HEAD:
        return
    if version is None or version < HEAD:
        raise SchemaOutdated(
            f"database: its tables are of version {version or 'none'}, expected {HEAD}; back it up"
            " with the halftruth that wrote them, then run 'halftruth admin migrate'",
            field="database",
        )
    raise SchemaOutdated(
        f"database: its tables are of version {version}, which is newer than {HEAD}; expected a"
        " newer halftruth",
        field="database",
    )


def migrate(database: Database) -> tuple[str | None, str]:
    """Bring the tables to the version of this program, completely or not at all.

    Returns
    -------
    tuple of str
        The version before, None for a database without tables, and the version now.

    Raises
    ------
    SchemaOutdated
        If the tables are of a version that this program does not know.
    StoreUnavailable
        If others hold locks for too long; then try again.
    """
    # Imported here: a database that is up to date needs none of it.
    from alembic import command
    from alembic.config import Config
    from alembic.util import CommandError

    with database.writing() as connection:
        database.advisory_lock(connection)
        before = version(connection)
        if before == HEAD:
            return before, HEAD
        config = Config()
        config.set_main_option("script_location", str(_SCRIPTS))
        config.attributes["connection"] = connection
        try:
            command.upgrade(config, HEAD)
        except CommandError:
            check(before)
            raise HalftruthError(f"database: cannot be migrated from {before}") from None
    return before, HEAD
