"""Versions of the tables: a fresh database gets them, an older one is migrated when asked to."""

from pathlib import Path

from halftruth_shared import HalftruthError
from sqlalchemy import Connection, String, column, inspect, select, table

from ..errors import SchemaOutdated
from .database import Database

#: Versions as `migrations/versions` has them; this program works with the last one.
VERSIONS = ("0001", "0002", "0003")
HEAD = VERSIONS[-1]

#: Where a database has the version of its tables.
VERSION_TABLE = "alembic_version"

_SCRIPTS = Path(__file__).parent / "migrations"


def version(connection: Connection) -> str | None:
    """Version of the tables; None where there are none."""
    if VERSION_TABLE not in inspect(connection).get_table_names():
        return None
    statement = select(column("version_num", String)).select_from(table(VERSION_TABLE))
    found: str | None = connection.execute(statement).scalar()
    return found


def known(connection: Connection) -> str:
    """Version of the tables, this program's or an earlier one.

    Raises
    ------
    SchemaOutdated
        If there are none, or they are of a version that it does not know.
    """
    found = version(connection)
    if found not in VERSIONS:
        check(found)
    return str(found)


def check(found: str | None) -> None:
    """Make sure that the tables are of the version that this program works with.

    Raises
    ------
    SchemaOutdated
        If they are older, or of a version that it does not know.
    """
    if found == HEAD:
        return
    if found is None or found < HEAD:
        raise SchemaOutdated(
            f"database: its tables are of version {found or 'none'}, expected {HEAD}; back it up,"
            " then run 'halftruth migrate'",
            field="database",
        )
    raise SchemaOutdated(
        f"database: its tables are of version {found}, which is newer than {HEAD}; expected a"
        " newer halftruth",
        field="database",
    )


def migrate(database: Database, to: str = HEAD) -> tuple[str | None, str]:
    """Bring the tables to the version of this program, all of the way or not at all.

    Parameters
    ----------
    database : Database
    to : str
        An earlier version, for the file of an earlier back-up.

    Returns
    -------
    tuple of str
        The version before, None for a database without tables, and the version now.

    Raises
    ------
    SchemaOutdated
        If they are of a version that this program does not know.
    """
    # Imported here: a database that is up to date needs none of it.
    from alembic import command
    from alembic.config import Config
    from alembic.util import CommandError

    with database.writing() as connection:
        database.advisory_lock(connection)
        before = version(connection)
        if before == to:
            return before, to
        config = Config()
        config.set_main_option("script_location", str(_SCRIPTS))
        config.attributes["connection"] = connection
        try:
            command.upgrade(config, to)
        except CommandError:
            check(before)
            raise HalftruthError(f"database: cannot be migrated from {before}") from None
    return before, to
