"""Logging to standard error, one line per event: text, or JSON objects.

Standard output is reserved for the output of commands. No line contains a path, a query, an
address, a token or any other value of a request. Exceptions are logged by type and location, and
messages of other libraries without their arguments.

No line has the time of a respondent's request, since that says when somebody answered. A report
can cause any line, such as that of a failure, so lines are written at whole multiples of ten
seconds, unless the caller marks a line as independent of respondents (`AT_ONCE`).
"""

import json
import logging
import os
import sys
import threading
import time
from abc import abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, TextIO

from .settings import LogFormat

#: Fields of a line about a request, besides time, level and event.
FIELDS = ("request", "method", "route", "survey", "status", "milliseconds", "bytes_in", "reason")

#: Argument `extra` of a line that is written at once; with fields, ``{**AT_ONCE, …}``.
AT_ONCE = {"is_independent": True}

#: Other lines are written at multiples of these seconds.
STEP = 10

#: Loggers whose messages, apart from exceptions, do not quote requests.
_PACKAGE_LOGGERS = ("halftruth_collector", "halftruth_relay")

#: Logger of the server, whose messages can quote requests, and what they are about by function.
_SERVER_LOGGER = "waitress"
_SERVER_EVENTS = {"readable": "as many connections as a worker takes: others wait"}


def configure(log_format: LogFormat, *, quiet: bool = False) -> None:
    """Configure the logging of this process; `quiet` omits the lines of single requests."""
    handler = SteppedHandler(
        sys.stderr, JsonFormatter() if log_format == "json" else TextFormatter()
    )
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    for name in _PACKAGE_LOGGERS:
        logging.getLogger(name).setLevel(logging.WARNING if quiet else logging.INFO)
    # It warns of requests that wait for a thread, also of those whose thread is being started.
    logging.getLogger(f"{_SERVER_LOGGER}.queue").setLevel(logging.ERROR)
    # Otherwise logging prints a message that cannot be written, with its arguments.
    logging.raiseExceptions = False
    threading.excepthook = _log_thread_exception


def fields(record: logging.LogRecord) -> dict[str, Any]:
    """Return the fields of a line: time, level, event, and those of FIELDS that are known."""
    kind, _, trace = record.exc_info or (None, None, None)
    if record.name == _SERVER_LOGGER:
        event = _SERVER_EVENTS.get(record.funcName or "", f"the server, in {record.funcName}")
    elif kind is None and _is_trusted(record.name):
        event = record.getMessage()
    else:
        event = str(record.msg)
    if kind is not None:
        event = f"{event}: {kind.__name__} at {place(trace)}"
    values: dict[str, Any] = {
        "time": format_time(record.created),
        "level": record.levelname.lower(),
        "event": " ".join(event.split()),
    }
    values.update((name, record.__dict__[name]) for name in FIELDS if name in record.__dict__)
    return values


def format_time(seconds: float) -> str:
    """Return a time in UTC, as lines have it."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def place(trace: TracebackType | None) -> str:
    """Return the function and line where an exception was raised."""
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "?" if trace is None else f"{trace.tb_frame.f_code.co_qualname}:{trace.tb_lineno}"


class Formatter(logging.Formatter):
    """Formatter of lines with the fields of a record."""

    def format(self, record: logging.LogRecord) -> str:
        return self.write(fields(record))

    @abstractmethod
    def write(self, values: Mapping[str, Any]) -> str:
        """Return the line with these fields."""


class TextFormatter(Formatter):
    """Formatter of lines with time, level, event, and ``name=value`` for other fields."""

    def write(self, values: Mapping[str, Any]) -> str:
        when, level, event, *others = values.items()
        words = [str(value) for _, value in (when, level, event)]
        return " ".join([*words, *(f"{name}={value}" for name, value in others)])


class JsonFormatter(Formatter):
    """Formatter of lines with a JSON object each."""

    def write(self, values: Mapping[str, Any]) -> str:
        return json.dumps(values, ensure_ascii=False)


class SteppedHandler(logging.StreamHandler[TextIO]):
    """Writes lines at whole multiples of `STEP` seconds, equal ones once, or at once if marked.

    Parameters
    ----------
    stream : file
    formatter : Formatter
    """

    def __init__(self, stream: TextIO, formatter: Formatter) -> None:
        super().__init__(stream)
        self._lines = formatter
        self.setFormatter(formatter)
        #: Fields of the lines that wait, without time.
        self._waiting: dict[tuple[tuple[str, Any], ...], None] = {}
        self._process = os.getpid()
        self._is_scheduled = False

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record, now or later; called with the lock of this handler."""
        if getattr(record, "is_independent", False):
            super().emit(record)
            return
        if self._process != os.getpid():
            # The parent process writes its own lines.
            self._process, self._is_scheduled = os.getpid(), False
            self._waiting.clear()
        # Keep no record, since the frames of an exception refer to the request.
        values = fields(record)
        del values["time"]
        self._waiting[tuple(values.items())] = None
        if not self._is_scheduled:
            self._is_scheduled = True
            threading.Thread(target=self._write_later, name="log", daemon=True).start()

    def close(self) -> None:
        """Write the lines that wait, as at the end of the process."""
        if self._process == os.getpid():
            self.write_waiting()
        super().close()

    def write_waiting(self) -> None:
        """Write the lines that wait."""
        self.acquire()
        try:
            self._is_scheduled = False
            lines = [{"time": format_time(time.time()), **dict(each)} for each in self._waiting]
            self._waiting.clear()
            # As elsewhere in logging, a line that cannot be written is lost.
            with suppress(OSError, ValueError):
                for line in lines:
                    self.stream.write(f"{self._lines.write(line)}{self.terminator}")
                self.flush()
        finally:
            self.release()

    def _write_later(self) -> None:
        time.sleep(STEP - time.time() % STEP)
        self.write_waiting()


def _is_trusted(name: str) -> bool:
    return name.partition(".")[0] in _PACKAGE_LOGGERS


def _log_thread_exception(failure: threading.ExceptHookArgs) -> None:
    if failure.exc_type is not SystemExit:
        logging.getLogger(_PACKAGE_LOGGERS[0]).error(
            "unforeseen %s at %s in a thread",
            failure.exc_type.__name__,
            place(failure.exc_traceback),
        )
