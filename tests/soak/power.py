"""A disk whose power can be cut."""

import ctypes
import fcntl
import os
import random
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from processes import NotRun, until

_SIZE = 1_000_000_000

#: From Linux's ``ext4.h``: the file system ends at once, and not even its journal is written out.
_SHUTDOWN, _NO_LOG_FLUSH = 0x8004587D, 2

#: From ``fs.h``: start to write these bytes of a file, and wait until they are written.
_WRITE_AND_WAIT = 2 | 4

_PAGE = 4096

#: Shares of files, and most pages of each, that reach the disk before its power is cut.
_FILES, _PAGES = 0.3, 64


class CuttableDisk:
    """An ext4 file system in a file; as a context, it is mounted until the block is left.

    By itself it writes what nobody asked it to sync only after minutes.
    """

    def __init__(self, image: Path, folder: Path) -> None:
        self.folder = folder
        self._image = image

    def __enter__(self) -> Self:
        with self._image.open("wb") as file:
            file.truncate(_SIZE)
        for command in (["mkfs.ext4", "-q", "-F", self._image], self._mount):
            try:
                done = subprocess.run(command, capture_output=True, text=True, check=False)
            except FileNotFoundError as missing:
                raise NotRun(f"{missing.filename} is missing") from None
            if done.returncode != 0:
                raise NotRun(f"a disk cannot be made or mounted: {done.stderr.strip()}")
        self.folder.chmod(0o755)
        return self

    def __exit__(self, *_: object) -> None:
        # Where something still has a file open, the disk goes as soon as that is closed.
        subprocess.run(["umount", "--lazy", self.folder], check=True)

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
            done = subprocess.run(["umount", self.folder], capture_output=True, check=False)
            return done.returncode == 0

        until(unmounted, "nobody to have a file of the disk open")
        subprocess.run(self._mount, check=True)

    @property
    def _mount(self) -> list[str | Path]:
        return ["mount", "-o", "loop,commit=300", self._image, self.folder]


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
