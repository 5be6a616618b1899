"""The collector's sealing keys, as their file has them now."""

from __future__ import annotations

import logging
import os
from pathlib import Path

from halftruth_shared import HalftruthError
from halftruth_shared.protocol.sealing import SealingKeys

_log = logging.getLogger(__name__)


class SealingKeyFile:
    """A file of private keys, which is read again when it has changed.

    Where it cannot be read any more, the keys that were read last stay, and a line in the log says
    so.

    Parameters
    ----------
    path : Path

    Raises
    ------
    KeyFileError
        If the file cannot be read, others may read it, or it holds something else.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen = self._stamp()
        self._keys = SealingKeys.read(path)

    @property
    def keys(self) -> SealingKeys:
        """The keys of the file."""
        now = self._stamp()
        if now != self._seen:
            self._seen = now
            try:
                self._keys = SealingKeys.read(self.path)
            except HalftruthError:
                _log.warning("the file of sealing keys cannot be read any more: keeping its keys")
        return self._keys

    def _stamp(self) -> tuple[int, ...]:
        """Return a value that differs between two states of the file."""
        try:
            found = os.stat(self.path)
        except OSError:
            return ()
        return found.st_mtime_ns, found.st_ino, found.st_size, found.st_mode
