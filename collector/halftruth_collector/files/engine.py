"""DuckDB connections with access to named files and one folder only."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: Memory limit of a connection; larger data spill to disk.
MEMORY = "1GiB"

#: Disk limit for spilled data.
_MAX_SPILL = "100GiB"

#: Options for writing files of ids. Ids are all different, so a dictionary would only take time.
PARQUET = "FORMAT parquet, COMPRESSION uncompressed, DICTIONARY_SIZE_LIMIT 1"


@contextmanager
def connect(folder: Path, files: Sequence[str] = ()) -> Iterator[DuckDBPyConnection]:
    """Open an in-memory database that can only read `files`, and read and write `folder`.

    It loads no extensions, cannot read variables of this process and uses one thread, since tasks
    run in parallel.

    Parameters
    ----------
    folder : Path
        Spilled data are in a temporary folder inside this one.
    files : sequence of str
        Absolute names without symbolic links.
    """
    import duckdb

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
