"""Files that only their owner may read, whatever the umask."""

import os
import stat
from contextlib import suppress
from typing import IO

#: Suffixes of the files of an SQLite database, which get the mode of the first.
_SUFFIXES = ("", "-wal", "-shm", "-journal")


def create_private(path: str | os.PathLike[str]) -> None:
    """Create an empty file, readable by its owner alone, unless it exists."""
    # An existing file is not opened: closing it would drop the locks that SQLite has on it.
    with suppress(FileExistsError):
        os.close(open_new(path))


def open_new(path: str | os.PathLike[str]) -> int:
    """Open a new file for writing; FileExistsError if there is one."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)


def write_durably(file: IO[bytes], content: bytes) -> None:
    """Write to the disk itself."""
    file.write(content)
    file.flush()
    os.fsync(file.fileno())


def tighten(path: str | os.PathLike[str]) -> None:
    """Remove permissions of others from a database and its logs, if they are ours."""
    for end in _SUFFIXES:
        file = f"{os.fspath(path)}{end}"
        with suppress(FileNotFoundError, PermissionError):
            mode = stat.S_IMODE(os.stat(file).st_mode)
            if mode & 0o077:
                os.chmod(file, mode & 0o700)
