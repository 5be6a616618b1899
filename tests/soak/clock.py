"""A clock for one collector, which can be set while it runs."""

import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from processes import NotRun

_SHIMS = Path(__file__).with_name("shims")


class Clock:
    """What a collector takes for the time, right until it is set."""

    def __init__(self, file: Path) -> None:
        libraries = sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
        if not libraries:
            raise NotRun("libfaketime is missing (Debian package libfaketime)")
        self._file = file
        self._offset = timedelta()
        self.environment = {
            "LD_PRELOAD": str(libraries[0]),
            "FAKETIME_TIMESTAMP_FILE": str(file),
            "FAKETIME_NO_CACHE": "1",
            # Only the time of day jumps: neither waiting nor the age of files, by which the server
            # watches its workers.
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "NO_FAKE_STAT": "1",
            "PYTHONPATH": os.pathsep.join([str(_SHIMS), *_python_path()]),
        }
        self._write()

    @property
    def now(self) -> datetime:
        """What the collector takes for the time."""
        return datetime.now(UTC) + self._offset

    def set(self, moment: datetime) -> None:
        """Let the collector believe that it is this moment now."""
        self._offset = moment - datetime.now(UTC)
        self._write()

    def wait_until(self, moment: datetime) -> None:
        """Wait until the collector believes that it is past this moment."""
        time.sleep(max(0.0, (moment - self.now).total_seconds()))

    def _write(self) -> None:
        # Replaced as a whole, so that nobody reads half of it.
        new = self._file.with_suffix(".new")
        new.write_text(f"{self._offset.total_seconds():+.3f}\n")
        os.replace(new, self._file)


def _python_path() -> list[str]:
    return [folder for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if folder]
