"""Files that only their owner may read, whatever the umask."""

import os
import stat
from contextlib import suppress
from typing import IO

#: Suffixes of the files of an SQLite database, which get the mode of the first.
_SUFFIXES = ("", "-wal", "-shm", "-journal")


def create_private(path: str | os.PathLike[str]) -> None:
    """Create an empty file for the owner of its folder, unless it exists; see `open_new`."""
    # An existing file is not opened: closing it would drop the locks that SQLite has on it.
    with suppress(FileExistsError):
        os.close(open_new(path, for_folder=True))


def open_new(path: str | os.PathLike[str], *, for_folder: bool = False) -> int:
    """Open a new file for writing, readable by its owner alone; FileExistsError if there is one.

    With `for_folder`, a file that root creates belongs to the owner of its folder, such as a
    service that has to use it.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    if for_folder and os.name == "posix" and os.geteuid() == 0:
        try:
            folder = os.stat(os.path.dirname(os.fspath(path)) or os.curdir)
            os.fchown(descriptor, folder.st_uid, folder.st_gid)
        except BaseException:
            os.close(descriptor)
            os.unlink(path)
            raise
    return descriptor


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
