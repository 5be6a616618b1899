"""The files of a PostgreSQL server: of the tables of a database, and its write-ahead log."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import create_engine
from sqlalchemy.engine import Connection, make_url
from sqlalchemy.pool import NullPool

#: Bytes of a segment of the log.
_SEGMENT = 16 << 20


def log_position(url: str) -> int:
    """Return the number of bytes that the server has ever written to its log."""
    with _connected(url) as connection:
        return _position(connection)


def files_of(url: str, since: int) -> tuple[bytes, bytes]:
    """Return the contents of all files of a database, and what the log has got since a position.

    The tables are written before, by a checkpoint. The log is that of all databases of the server.
    """
    with _connected(url) as connection:
        connection.exec_driver_sql("CHECKPOINT")
        return b"".join(_tables(connection)), b"".join(_log(connection, since))


@contextmanager
def _connected(url: str) -> Iterator[Connection]:
    made = make_url(url).set(drivername="postgresql+psycopg")
    engine = create_engine(made, isolation_level="AUTOCOMMIT", poolclass=NullPool)
    with engine.connect() as connection:
        yield connection


def _position(connection: Connection) -> int:
    query = "SELECT pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0')::bigint"
    return int(connection.exec_driver_sql(query).scalar_one())


def _tables(connection: Connection) -> Iterator[bytes]:
    query = "SELECT 'base/' || oid FROM pg_database WHERE datname = current_database()"
    folder = connection.exec_driver_sql(query).scalar_one()
    for name in connection.exec_driver_sql(f"SELECT pg_ls_dir('{folder}')").scalars().all():
        yield _file(connection, f"{folder}/{name}")


def _log(connection: Connection, since: int) -> Iterator[bytes]:
    until = _position(connection)
    for start in range(since - since % _SEGMENT, until, _SEGMENT):
        lsn = f"{(start + 1) >> 32:X}/{(start + 1) & 0xFFFFFFFF:X}"
        name = connection.exec_driver_sql(f"SELECT pg_walfile_name('{lsn}')").scalar_one()
        # A segment that is used again has older bytes behind the position.
        yield _file(connection, f"pg_wal/{name}")[max(0, since - start) : until - start]


def _file(connection: Connection, path: str) -> bytes:
    # A file can go while the server works, and has 1 GiB at most.
    query = f"SELECT pg_read_binary_file('{path}', 0, {1 << 29}, true)"
    return bytes(connection.exec_driver_sql(query).scalar_one() or b"")
