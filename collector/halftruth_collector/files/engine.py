"""DuckDB as the engine that reads, checks and counts: confined to named files and one folder."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: Memory of one connection; what needs more spills into the folder.
MEMORY = "1GiB"

#: Room for what spills.
_SPILL = "100GiB"

#: How files of ids are written. Ids are all different, and a dictionary of them only takes time.
PARQUET = "FORMAT parquet, COMPRESSION uncompressed, DICTIONARY_SIZE_LIMIT 1"


@contextmanager
def connect(folder: Path, files: Sequence[str] = ()) -> Iterator[DuckDBPyConnection]:
    """Open a database in memory that can read `files`, and read and write `folder`, alone.

    It loads no extension, reads no variable of this process and runs in one thread: several pieces
    of work run side by side instead.

    Parameters
    ----------
    folder : Path
        What does not fit into memory goes into a folder of its own in it, which is deleted.
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
            "max_temp_directory_size": _SPILL,
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
    """Write a text as a literal of SQL."""
    return "'" + str(text).replace("'", "''") + "'"


def quote_list(texts: Sequence[str | Path]) -> str:
    """Write texts as a list of SQL."""
    return f"[{', '.join(map(quote, texts))}]"
