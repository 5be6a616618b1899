"""One line for each event, to standard error: text, or JSON objects.

Standard output is for what a command was asked to print. No line holds a path, a query, an address,
a token or any other value of a request: only what this program's own templates name. Exceptions are
named by type and place, and what other libraries say is written without its arguments.
"""

import json
import logging
import sys
import threading
from datetime import UTC, datetime
from types import TracebackType
from typing import Any

from .settings import LogFormat

#: What a line about a request may tell, besides its time, level and event.
FIELDS = ("request", "method", "route", "survey", "status", "milliseconds", "bytes_in", "reason")

#: Loggers whose messages quote nothing of a request, unless they tell an exception.
_OURS = "halftruth_collector"
_SERVER = "gunicorn.error"


def configure(log_format: LogFormat, *, quiet: bool = False) -> None:
    """Write every log line of this process in one format.

    Parameters
    ----------
    log_format : {"text", "json"}
    quiet : bool
        Only warnings and errors, no line for each request.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if log_format == "json" else TextLines())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger(_OURS).setLevel(logging.WARNING if quiet else logging.INFO)
    # What could not be written must not be printed with its arguments.
    logging.raiseExceptions = False
    threading.excepthook = _thread_failed


def fields(record: logging.LogRecord) -> dict[str, Any]:
    """Fields of a line: time, level, event, and whatever else of FIELDS is known."""
    kind, _, trace = record.exc_info or (None, None, None)
    # Where a request failed, gunicorn names it among the arguments.
    quoted = kind is not None or not _is_trusted(record.name)
    event = str(record.msg) if quoted else record.getMessage()
    if kind is not None:
        event = f"{event}: {kind.__name__} at {place(trace)}"
    said: dict[str, Any] = {
        "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
        "level": record.levelname.lower(),
        "event": " ".join(event.split()),
    }
    said.update((name, record.__dict__[name]) for name in FIELDS if name in record.__dict__)
    return said


def place(trace: TracebackType | None) -> str:
    """Function and line where an exception was raised."""
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "?" if trace is None else f"{trace.tb_frame.f_code.co_qualname}:{trace.tb_lineno}"


class TextLines(logging.Formatter):
    """Time, level and event, then ``name=value`` for all else."""

    def format(self, record: logging.LogRecord) -> str:
        said = fields(record)
        begin = f"{said.pop('time')} {said.pop('level')} {said.pop('event')}"
        return " ".join([begin, *(f"{name}={value}" for name, value in said.items())])


class JsonLines(logging.Formatter):
    """A JSON object in each line."""

    def format(self, record: logging.LogRecord) -> str:
        return json.dumps(fields(record), ensure_ascii=False)


def _is_trusted(name: str) -> bool:
    return name in (_SERVER, _OURS) or name.startswith(f"{_OURS}.")


def _thread_failed(failure: threading.ExceptHookArgs) -> None:
    if failure.exc_type is not SystemExit:
        logging.getLogger(_OURS).error(
            "unforeseen %s at %s in a thread",
            failure.exc_type.__name__,
            place(failure.exc_traceback),
        )
