"""Why a database file cannot be used: owners and modes, and the user of this process."""

from __future__ import annotations

import os
import stat
from pathlib import Path

#: Files that SQLite keeps beside a database; usually they have its owner.
_BESIDE = ("-wal", "-shm", "-journal")


def describe_access(file: Path) -> str:
    """Describe who may use a database file and its folder, in one line; empty on Windows."""
    if os.name != "posix":
        return ""
    file = file.absolute()
    database = _status(file)
    found = [_describe(file)]
    for suffix in _BESIDE:
        beside = file.with_name(file.name + suffix)
        status = _status(beside)
        if status is not None and database is not None and status.st_uid != database.st_uid:
            found.append(_describe(beside))
    if _status(file.parent) is None:
        found.append(_describe(file.parent))
    found.append(_describe(_nearest(file.parent)))
    return f"{', '.join(found)}; this program runs as {_name_user(os.geteuid())}"


def _describe(path: Path) -> str:
    status = _status(path)
    if status is None:
        return f"{path} {'does not exist' if _can_see(path.parent) else 'cannot be reached'}"
    owner, mode = _name_user(status.st_uid), stat.S_IMODE(status.st_mode)
    read_only = os.statvfs(path).f_flag & os.ST_RDONLY
    return (
        f"{path} belongs to {owner} with mode {mode:04o}"
        f"{' on a read-only file system' if read_only else ''}"
    )


def _can_see(folder: Path) -> bool:
    """Return whether this process would see a file in a folder, which need not exist."""
    return os.access(_nearest(folder), os.X_OK)


def _nearest(folder: Path) -> Path:
    """Return the folder itself, or else the first of its parents that this process can see."""
    return next(each for each in (folder, *folder.parents) if _status(each) is not None)


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


def _name_user(uid: int) -> str:
    # Imported here: Windows does not have it.
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        # A container's user need not have a name.
        return f"user {uid}"
