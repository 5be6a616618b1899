"""Fault injection: disks that are too small or lose power, and a clock that jumps."""

import ctypes
import fcntl
import os
import random
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Self

from programs import NotRun, run, until

#: Size in bytes of the disk whose power is cut.
_SIZE = 1_000_000_000

#: From Linux's ``ext4.h``: stop the file system at once, without flushing even its journal.
_SHUTDOWN, _NO_LOG_FLUSH = 0x8004587D, 2

#: From ``fs.h``: write these bytes of a file and wait for completion.
_WRITE_AND_WAIT = 2 | 4

_PAGE = 4096

#: Share of files, and maximum number of pages of each, that reach the disk before a power cut.
_FILES, _PAGES = 0.3, 64


class _Disk:
    """A file system; as a context manager, it is mounted until the block is left."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __enter__(self) -> Self:
        self.mount()
        return self

    def __exit__(self, *_: object) -> None:
        # Lazily, so that open files only delay the unmount.
        subprocess.run(["umount", "--lazy", self.folder], check=True)

    def mount(self) -> None:
        raise NotImplementedError


class SmallDisk(_Disk):
    """A file system in memory."""

    def __init__(self, folder: Path, size: int) -> None:
        super().__init__(folder)
        self._size, self._ballast = size, folder / "ballast"

    def mount(self) -> None:
        options = f"size={self._size},mode=755"
        run("mount", "-t", "tmpfs", "-o", options, "halftruth-soak", self.folder)

    def fill(self, leave: int = 0) -> None:
        """Use up the free space except for `leave` bytes."""
        state = os.statvfs(self.folder)
        taken = state.f_bavail * state.f_frsize - leave
        if taken <= 0:
            return
        with self._ballast.open("ab") as file:
            try:
                os.posix_fallocate(file.fileno(), file.tell(), taken)
            except OSError:
                # Another process took some of the space; the rest is small enough.
                return

    def free(self) -> None:
        """Free the space again."""
        self._ballast.unlink(missing_ok=True)


class CuttableDisk(_Disk):
    """An ext4 file system in a file, which takes minutes to write unsynced data."""

    def __init__(self, image: Path, folder: Path) -> None:
        super().__init__(folder)
        self._image = image

    def __enter__(self) -> Self:
        with self._image.open("wb") as file:
            file.truncate(_SIZE)
        run("mkfs.ext4", "-q", "-F", self._image)
        super().__enter__()
        self.folder.chmod(0o755)
        return self

    def mount(self) -> None:
        run("mount", "-o", "loop,commit=300", self._image, self.folder)

    def sync(self) -> None:
        """Write all data to the disk."""
        subprocess.run(["sync", "--file-system", self.folder], check=True)

    def cut(self, rng: random.Random) -> None:
        """Lose all unsynced data except for random pages that were written early."""
        for file in sorted(self.folder.rglob("*")):
            if rng.random() < _FILES:
                _write_some(file, rng)
        with _opened(self.folder) as descriptor:
            fcntl.ioctl(descriptor, _SHUTDOWN, struct.pack("I", _NO_LOG_FLUSH))

    def restore(self) -> None:
        """Mount the remaining data once no process has a file of the disk open."""

        def unmounted() -> bool:
            return subprocess.run(["umount", self.folder], capture_output=True).returncode == 0

        until(unmounted, "nobody to have a file of the disk open")
        self.mount()


def _write_some(file: Path, rng: random.Random) -> None:
    """Write some random pages of a file to the disk."""
    # The database may remove or rename the file meanwhile.
    try:
        pages = -(-file.stat().st_size // _PAGE) if file.is_file() else 0
        with _opened(file) as descriptor:
            for page in rng.sample(range(pages), rng.randint(0, min(pages, _PAGES))):
                _LIBC.sync_file_range(descriptor, page * _PAGE, _PAGE, _WRITE_AND_WAIT)
    except FileNotFoundError:
        return


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.sync_file_range.argtypes = (ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint)


class Clock:
    """The time of day as seen by a collector; correct until it is set."""

    def __init__(self, file: Path) -> None:
        libraries = sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
        if not libraries:
            raise NotRun("libfaketime is missing (Debian package libfaketime)")
        self._file = file
        shims = str(Path(__file__).with_name("shims"))
        path = [*filter(None, [shims, os.environ.get("PYTHONPATH")])]
        self.environment = {
            "LD_PRELOAD": str(libraries[0]),
            "FAKETIME_TIMESTAMP_FILE": str(file),
            "FAKETIME_NO_CACHE": "1",
            # Only the time of day jumps, not the clock for timeouts or the age of files, by which
            # the server monitors its workers.
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "NO_FAKE_STAT": "1",
            "PYTHONPATH": os.pathsep.join(path),
        }
        self.set(datetime.now(UTC))

    @property
    def now(self) -> datetime:
        """The collector's current time."""
        return datetime.now(UTC) + self._offset

    def set(self, moment: datetime) -> None:
        """Set the collector's current time."""
        self._offset = moment - datetime.now(UTC)
        # Replaced atomically, so that no reader sees a partial file.
        new = self._file.with_suffix(".new")
        new.write_text(f"{self._offset.total_seconds():+.3f}\n")
        os.replace(new, self._file)

    def wait_until(self, moment: datetime) -> None:
        """Wait until the collector's time has passed this moment."""
        time.sleep(max(0.0, (moment - self.now) / timedelta(seconds=1)))
