"""Versions of the tables: a fresh database gets them, an older one is migrated when asked to.

A version whose migration only adds is named with the oldest version whose programs can go on with
its tables, as ``0005_since_0003``. So the tables are migrated first, then collectors replaced one
after the other. What programs need no more is dropped by a version of a later release, whose name
has no such promise.
"""

import re
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

#: Seconds for which a migration holds up collectors that go on, before it gives up.
_PATIENCE = 2


def version(connection: Connection) -> str | None:
    """Version of the tables; None where there are none."""
    if VERSION_TABLE not in inspect(connection).get_table_names():
        return None
    statement = select(column("version_num", String)).select_from(table(VERSION_TABLE))
    number: str | None = connection.execute(statement).scalar()
    return number


def known(connection: Connection) -> str:
    """Version of the tables, this program's or an earlier one.

    Raises
    ------
    SchemaOutdated
        If there are none, or they are of a version that it does not know.
    """
    current = version(connection)
    if current not in VERSIONS:
        check(current, same=True)
    return str(current)


def check(now: str | None, *, same: bool = False) -> None:
    """Make sure that this program works with the tables of a version.

    Parameters
    ----------
    now : str or None
    same : bool
        Whether later tables will not do, of which this program would lose what it does not know.

    Raises
    ------
    SchemaOutdated
        If they are older, or of a later version that does not promise it.
    """
    if now == HEAD or (now is not None and now > HEAD and not same and serves(now, HEAD)):
        return
    if now is None or now < HEAD:
        raise SchemaOutdated(
            f"database: its tables are of version {now or 'none'}, expected {HEAD}; back it up,"
            " then run 'halftruth admin migrate'",
            field="database",
        )
    raise SchemaOutdated(
        f"database: its tables are of version {now}, which is newer than {HEAD}; expected a"
        " newer halftruth",
        field="database",
    )


def serves(version: str, earlier: str) -> bool:
    """Return whether programs of an earlier version can use tables of this one, by its name."""
    since = re.fullmatch(r"[0-9]{4}_since_([0-9]{4})", version)
    return since is not None and since[1] <= earlier[:4]


def migrate(
    database: Database, to: str | None = None, *, rolling: bool = False
) -> tuple[str | None, str]:
    """Bring the tables to the version of this program, all of the way or not at all.

    Parameters
    ----------
    database : Database
    to : str, optional
        An earlier version, for the file of an earlier back-up.
    rolling : bool
        Whether collectors of the version before go on meanwhile.

    Returns
    -------
    tuple of str
        The version before, None for a database without tables, and the version now.

    Raises
    ------
    SchemaOutdated
        If they are of a version that this program does not know.
    HalftruthError
        If collectors could not go on.
    StoreUnavailable
        If these would have to wait for too long; then try again.
    """
    # Imported here: a database that is up to date needs none of it.
    from alembic import command
    from alembic.config import Config
    from alembic.util import CommandError

    to = to or HEAD
    with database.writing(_PATIENCE if rolling else None) as connection:
        database.advisory_lock(connection)
        before = version(connection)
        if before == to:
            return before, to
        if rolling and before in VERSIONS:
            for step in VERSIONS[VERSIONS.index(before) + 1 :]:
                if not serves(step, before):
                    raise HalftruthError(
                        f"database: collectors of version {before} cannot go on with tables of"
                        f" {step}; stop all of them, then migrate without --rolling",
                        field="database",
                    )
        config = Config()
        config.set_main_option("script_location", str(_SCRIPTS))
        config.attributes["connection"] = connection
        try:
            command.upgrade(config, to)
        except CommandError:
            check(before)
            raise HalftruthError(f"database: cannot be migrated from {before}") from None
    return before, to
