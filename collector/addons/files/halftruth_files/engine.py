"""DuckDB connections with access to named files and one folder only, and files that they write."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
from halftruth_shared import ParameterError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: Memory limit of a connection; larger data spill to disk.
MEMORY = "1GiB"

#: Disk limit for spilled data.
_MAX_SPILL = "100GiB"

#: Options for writing files of ids. Ids are all different, so a dictionary would only take time.
_PARQUET = "FORMAT parquet, COMPRESSION uncompressed, DICTIONARY_SIZE_LIMIT 1"


@contextmanager
def connect(folder: Path, files: Sequence[str] = ()) -> Iterator[DuckDBPyConnection]:
    """Open an in-memory database that can only read `files`, and read and write `folder`.

    All names are absolute, without symbolic links. It loads no extensions, cannot read variables of
    this process, spills data into the folder, and uses one thread, since tasks run in parallel.
    """
    spill = folder / f"spill-{secrets.token_hex(8)}"
    connection = duckdb.connect(
        config={
            "threads": 1,
            "memory_limit": MEMORY,
            "temp_directory": str(spill),
            "max_temp_directory_size": _MAX_SPILL,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "allow_community_extensions": False,
            "allow_persistent_secrets": False,
            "python_enable_replacements": False,
        }
    )
    try:
        connection.execute("SET enable_progress_bar = false")
        connection.execute(f"SET allowed_directories = {quote_list([f'{folder}/'])}")
        connection.execute(f"SET allowed_paths = {quote_list(files)}")
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        yield connection
    finally:
        connection.close()
        shutil.rmtree(spill, ignore_errors=True)


def quote(text: str | Path) -> str:
    """Format a text as an SQL literal."""
    return "'" + str(text).replace("'", "''") + "'"


def quote_list(texts: Sequence[str | Path]) -> str:
    """Format texts as an SQL list."""
    return f"[{', '.join(map(quote, texts))}]"


def read_parquet(paths: Iterable[str | Path]) -> str:
    """Return the SQL expression for the rows of some files."""
    return f"read_parquet({quote_list([*paths])}, hive_partitioning = false)"


def write_parquet(database: DuckDBPyConnection, query: str, path: Path) -> None:
    """Write the rows of a query into a file, which appears once it is complete."""
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        database.execute(f"COPY ({query}) TO {quote(unfinished)} ({_PARQUET})")
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


@contextmanager
def report_work_errors(folder: Path) -> Iterator[None]:
    """Convert errors of DuckDB to an error of one line, without any content of the files."""
    try:
        yield
    except duckdb.Error as error:
        raise ParameterError(
            f"output: the reports cannot be counted in {folder} ({type(error).__name__}); expected"
            " enough room and memory for them",
            field="output",
        ) from None
