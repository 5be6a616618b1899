"""The folder in memory that the processes of a server share, with their metrics."""

import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

#: Prefix of these folders, and the file in each that a running server locks.
_PREFIX, _LOCK = "halftruth-metrics-", "lock"

#: Prefix of such a folder before its file is locked.
_UNLOCKED_PREFIX = "halftruth-starting-"

#: Folder in memory, so that a full disk cannot stop a worker.
_MEMORY = "/dev/shm"  # noqa: S108


def create_folder() -> Path:
    """Create a folder, which is locked until this process and its forks have ended.

    Folders of servers that were killed with all their workers are removed.
    """
    parent = _MEMORY if os.access(_MEMORY, os.W_OK) else tempfile.gettempdir()
    for folder in Path(parent).glob(f"{_PREFIX}*"):
        _remove_unlocked(folder)
    made = Path(tempfile.mkdtemp(prefix=_UNLOCKED_PREFIX, dir=parent))
    # It stays open, so that the lock is held.
    held = os.open(made / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(held, fcntl.LOCK_EX)
    # Rename the folder only now, so that no other server removes it.
    return made.rename(made.with_name(made.name.replace(_UNLOCKED_PREFIX, _PREFIX)))


def _remove_unlocked(folder: Path) -> None:
    with suppress(OSError):
        held = os.open(folder / _LOCK, os.O_RDWR)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(held)
