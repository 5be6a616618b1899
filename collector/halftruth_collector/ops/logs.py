"""Logging to standard error, one line per event: text, or JSON objects.

Standard output is reserved for the output of commands. No line contains a path, a query, an
address, a token or any other value of a request. Exceptions are logged by type and location, and
messages of other libraries without their arguments.
"""

import json
import logging
import sys
import threading
from datetime import UTC, datetime
from types import TracebackType
from typing import Any

from .settings import LogFormat

#: Fields of a line about a request, besides time, level and event.
FIELDS = ("request", "method", "route", "survey", "status", "milliseconds", "bytes_in", "reason")

#: Loggers whose messages, apart from exceptions, do not quote requests.
_PACKAGE_LOGGER = "halftruth_collector"
_SERVER_LOGGER = "gunicorn.error"


def configure(log_format: LogFormat, *, quiet: bool = False) -> None:
    """Configure the logging of this process; `quiet` omits the lines of single requests."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if log_format == "json" else TextFormatter())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger(_PACKAGE_LOGGER).setLevel(logging.WARNING if quiet else logging.INFO)
    # Otherwise logging prints a message that cannot be written, with its arguments.
    logging.raiseExceptions = False
    threading.excepthook = _log_thread_exception


def fields(record: logging.LogRecord) -> dict[str, Any]:
    """Return the fields of a line: time, level, event, and those of FIELDS that are known."""
    kind, _, trace = record.exc_info or (None, None, None)
    # For a failed request, gunicorn's arguments contain the request.
    without_arguments = kind is not None or not _is_trusted(record.name)
    event = str(record.msg) if without_arguments else record.getMessage()
    if kind is not None:
        event = f"{event}: {kind.__name__} at {place(trace)}"
    values: dict[str, Any] = {
        "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
        "level": record.levelname.lower(),
        "event": " ".join(event.split()),
    }
    values.update((name, record.__dict__[name]) for name in FIELDS if name in record.__dict__)
    return values


def place(trace: TracebackType | None) -> str:
    """Return the function and line where an exception was raised."""
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "?" if trace is None else f"{trace.tb_frame.f_code.co_qualname}:{trace.tb_lineno}"


class TextFormatter(logging.Formatter):
    """Formatter of lines with time, level, event, and ``name=value`` for other fields."""

    def format(self, record: logging.LogRecord) -> str:
        values = fields(record)
        begin = f"{values.pop('time')} {values.pop('level')} {values.pop('event')}"
        return " ".join([begin, *(f"{name}={value}" for name, value in values.items())])


class JsonFormatter(logging.Formatter):
    """Formatter of lines with a JSON object each."""

    def format(self, record: logging.LogRecord) -> str:
        return json.dumps(fields(record), ensure_ascii=False)


def _is_trusted(name: str) -> bool:
    return name in (_SERVER_LOGGER, _PACKAGE_LOGGER) or name.startswith(f"{_PACKAGE_LOGGER}.")


def _log_thread_exception(failure: threading.ExceptHookArgs) -> None:
    if failure.exc_type is not SystemExit:
        logging.getLogger(_PACKAGE_LOGGER).error(
            "unforeseen %s at %s in a thread",
            failure.exc_type.__name__,
            place(failure.exc_traceback),
        )
