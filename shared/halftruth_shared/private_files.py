"""Files of databases that only their owner may read, whatever the umask."""

import os
import stat
from contextlib import suppress

#: What SQLite writes beside a database, with the mode that the database has then.
_BESIDE = ("", "-wal", "-shm", "-journal")


def create_private(path: str | os.PathLike[str]) -> None:
    """Make an empty file where there is none, for its owner alone from the first byte."""
    # One that is there is not opened: closing it would drop the locks that SQLite has on it.
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def tighten(path: str | os.PathLike[str]) -> None:
    """Take away what others may do with a database and its logs, unless it is somebody else's."""
    for end in _BESIDE:
        file = f"{os.fspath(path)}{end}"
        with suppress(FileNotFoundError, PermissionError):
            mode = stat.S_IMODE(os.stat(file).st_mode)
            if mode & 0o077:
                os.chmod(file, mode & 0o700)
