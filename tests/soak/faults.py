"""Disks that are too small or lose their power, and a clock that jumps."""

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

#: Bytes of the disk whose power is cut.
_SIZE = 1_000_000_000

#: From Linux's ``ext4.h``: the file system ends at once, and not even its journal is written out.
_SHUTDOWN, _NO_LOG_FLUSH = 0x8004587D, 2

#: From ``fs.h``: start to write these bytes of a file, and wait until they are written.
_WRITE_AND_WAIT = 2 | 4

_PAGE = 4096

#: Shares of files, and most pages of each, that reach the disk before its power is cut.
_FILES, _PAGES = 0.3, 64


class _Disk:
    """A file system; as a context, it is mounted until the block is left."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __enter__(self) -> Self:
        self.mount()
        return self

    def __exit__(self, *_: object) -> None:
        # Where something still has a file open, the disk goes as soon as that is closed.
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
        """Take all space that is free now, except for so many bytes."""
        state = os.statvfs(self.folder)
        taken = state.f_bavail * state.f_frsize - leave
        if taken <= 0:
            return
        with self._ballast.open("ab") as file:
            try:
                os.posix_fallocate(file.fileno(), file.tell(), taken)
            except OSError:
                # Somebody took some of it in between: what is left is little enough.
                return

    def free(self) -> None:
        """Give back what was taken."""
        self._ballast.unlink(missing_ok=True)


class CuttableDisk(_Disk):
    """An ext4 file system in a file, which writes what nobody asked it to sync after minutes."""

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
        """Write everything to the disk."""
        subprocess.run(["sync", "--file-system", self.folder], check=True)

    def cut(self, rng: random.Random) -> None:
        """Lose what was not synced, but for some pages that were written early, in no order."""
        for file in sorted(self.folder.rglob("*")):
            if rng.random() < _FILES:
                _write_some(file, rng)
        with _opened(self.folder) as descriptor:
            fcntl.ioctl(descriptor, _SHUTDOWN, struct.pack("I", _NO_LOG_FLUSH))

    def restore(self) -> None:
        """Mount what is left, once the threads of the dead are gone with their files."""

        def unmounted() -> bool:
            return subprocess.run(["umount", self.folder], capture_output=True).returncode == 0

        until(unmounted, "nobody to have a file of the disk open")
        self.mount()


def _write_some(file: Path, rng: random.Random) -> None:
    """Let the system write some pages of a file, if it has any that were not written."""
    # A database removes and renames its files meanwhile.
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
    """What a collector takes for the time, right until it is set."""

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
            # Only the time of day jumps: neither waiting nor the age of files, by which the server
            # watches its workers.
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "NO_FAKE_STAT": "1",
            "PYTHONPATH": os.pathsep.join(path),
        }
        self.set(datetime.now(UTC))

    @property
    def now(self) -> datetime:
        """What the collector takes for the time."""
        return datetime.now(UTC) + self._offset

    def set(self, moment: datetime) -> None:
        """Let the collector believe that it is this moment now."""
        self._offset = moment - datetime.now(UTC)
        # Replaced as a whole, so that nobody reads half of it.
        new = self._file.with_suffix(".new")
        new.write_text(f"{self._offset.total_seconds():+.3f}\n")
        os.replace(new, self._file)

    def wait_until(self, moment: datetime) -> None:
        """Wait until the collector believes that it is past this moment."""
        time.sleep(max(0.0, (moment - self.now) / timedelta(seconds=1)))
