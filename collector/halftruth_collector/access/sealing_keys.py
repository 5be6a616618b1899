"""Sealing keys of a collector, reloaded when their file changes."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from pathlib import Path

from halftruth_shared import HalftruthError, KeyFileError, ParameterError
from halftruth_shared.protocol.sealing import SealingKeys

from ..store.surveys import SurveyState

_log = logging.getLogger(__name__)


def check_unused(key: str, surveys: Iterable[SurveyState]) -> None:
    """Make sure that no report is sealed to a key any more, nor will be.

    Raises
    ------
    ParameterError
        If a survey asks for it that takes reports, or may be reopened.
    """
    for state in surveys:
        ended = state.closed_at is not None and state.reports > 0
        if state.terms.sealing_key == key and not ended:
            raise ParameterError(
                f"key: the reports of '{state.id}' are sealed to it; expected one that no survey"
                " uses which is open or has no report yet",
                field="key",
            )


class SealingKeyFile:
    """The file of private keys that HALFTRUTH_SEALING_KEYS names, reloaded when it changes.

    If it becomes unreadable, the last keys are kept and a warning is logged.

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
        self._loaded = self._state()
        try:
            self._keys = SealingKeys.read(path)
        except KeyFileError as error:
            raise KeyFileError(f"HALFTRUTH_SEALING_KEYS: {error}") from None

    @property
    def keys(self) -> SealingKeys:
        """Keys of the file."""
        now = self._state()
        if now != self._loaded:
            self._loaded = now
            try:
                self._keys = SealingKeys.read(self.path)
            except HalftruthError:
                _log.warning("the file of sealing keys cannot be read any more: keeping its keys")
        return self._keys

    def _state(self) -> tuple[int, ...]:
        """Return a value that differs between two states of the file."""
        try:
            status = os.stat(self.path)
        except OSError:
            return ()
        return status.st_mtime_ns, status.st_ino, status.st_size, status.st_mode
