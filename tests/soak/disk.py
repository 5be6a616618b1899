"""A disk that is too small."""

import os
import subprocess
from pathlib import Path
from typing import Self

from processes import NotRun


class SmallDisk:
    """A file system in memory; as a context, it is mounted until the block is left."""

    def __init__(self, folder: Path, size: int) -> None:
        self.folder = folder
        self._size = size
        self._ballast = folder / "ballast"

    def __enter__(self) -> Self:
        done = subprocess.run(
            [
                *["mount", "-t", "tmpfs", "-o", f"size={self._size},mode=755"],
                *["halftruth-soak", self.folder],
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise NotRun(f"a small disk cannot be mounted: {done.stderr.strip()}")
        return self

    def __exit__(self, *_: object) -> None:
        # Where something still has a file open, the disk goes as soon as that is closed.
        subprocess.run(["umount", "--lazy", self.folder], check=True)

    def fill(self, leave: int) -> None:
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
