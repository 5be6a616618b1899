"""The HTTP server: this application under gunicorn."""

import fcntl
import logging
import os
import re
import shutil
import socket
import struct
import tempfile
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from typing import Any

from flask import Flask
from gunicorn.app.base import BaseApplication
from gunicorn.glogging import Logger

from .. import logs
from ..config import Config
from ..store import Store
from .arrival import Limits
from .worker import Worker

_log = logging.getLogger(__name__)

#: Seconds without a sign of life after which a worker is replaced.
_TIMEOUT = 60

#: Seconds that open requests have to finish when the server is told to stop.
_GRACE = 30

#: Seconds for which an idle connection is kept. Longer than most proxies keep theirs, so that these
#: do not send a request into a connection that is being closed.
_KEEPALIVE = 75

#: Connections of one worker; with those to the database, fewer than the 1 024 files that a process
#: may usually open.
_CONNECTIONS = 800

#: Connections that wait to be taken.
_BACKLOG = 1024

#: Bytes of a request line, fields of a head, bytes of a field, and bytes of the whole head.
_LINE, _FIELDS, _FIELD, _HEAD = 8_190, 64, 8_190, 32_768

#: What the system keeps of answers that are not taken yet. Whatever anyone may ask for without a
#: token fits in, so that no thread waits until a slow client has it.
_SEND_BUFFER = 262_144

#: What waits for nothing but a commit.
_BRIEF = re.compile(rb"POST /v1/surveys/[^/?#% ]+/reports HTTP/1\.1\r\n")

#: Read by prometheus_client when it is imported; see metrics.
_METRICS_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"

#: Folders of metrics, and the file in each that a running server has locked.
_PREFIX, _LOCK = "halftruth-metrics-", "lock"

#: Such a folder before its file is locked.
_UNLOCKED_PREFIX = "halftruth-starting-"

#: A folder in memory, where a full disk cannot stop a worker.
_MEMORY = "/dev/shm"  # noqa: S108


class Server(BaseApplication):
    """A collector served by several processes with several threads each.

    Parameters
    ----------
    config : Config
    host : str
    port : int
        0 for any free port.
    workers, threads : int
        Processes, and threads in each.
    ready : callable
        Called with the address once requests are answered.
    quiet : bool
        Whether to log no line for each request.

    Attributes
    ----------
    limits : Limits
        What one request may take.
    brief : pattern
        How requests begin that workers answer in their main loops; see :mod:`..fibres`.
    """

    brief: re.Pattern[bytes] | None = _BRIEF

    def __init__(
        self,
        config: Config,
        *,
        host: str,
        port: int,
        workers: int,
        threads: int,
        ready: Callable[[str], None],
        quiet: bool = False,
    ) -> None:
        self.limits = Limits(head=_HEAD, body=config.max_body, seconds=config.request_seconds)
        self._config = config
        self._quiet = quiet
        self._ready = ready
        self._app: Flask | None = None
        self._metrics: Path | None = None
        self._held = -1
        self._settings: dict[str, Any] = {
            "bind": f"[{host}]:{port}" if ":" in host else f"{host}:{port}",
            "workers": workers,
            "threads": threads,
            "worker_class": Worker,
            "worker_connections": _CONNECTIONS + threads,
            "worker_tmp_dir": _folder_in_memory(),
            "backlog": _BACKLOG,
            "timeout": _TIMEOUT,
            "graceful_timeout": _GRACE,
            "keepalive": _KEEPALIVE,
            "limit_request_line": _LINE,
            "limit_request_fields": _FIELDS,
            "limit_request_field_size": _FIELD,
            # Only the application knows how many proxies to believe.
            "forwarded_allow_ips": "",
            "logger_class": _Log,
            "loglevel": "warning",
            "proc_name": "halftruth",
            "control_socket_disable": True,
            "on_starting": self._on_starting,
            "when_ready": self._when_ready,
            "child_exit": self._child_exit,
            "worker_exit": self._worker_exit,
        }
        # Fails here, before any process starts, if the database cannot be used.
        Store(config.database).close()
        super().__init__()

    def load_config(self) -> None:
        """Take the settings over; called by gunicorn."""
        for name, value in self._settings.items():
            self.cfg.set(name, value)

    def run(self) -> None:
        """Serve until told to stop."""
        logs.configure(self._config.log_format, quiet=self._quiet)
        pid = os.getpid()
        try:
            super().run()
        finally:
            # The workers, which are copies of this process, leave by this way too.
            if os.getpid() == pid:
                self._clean_up()

    def load(self) -> Flask:
        """Make the application; called by gunicorn in each worker."""
        # Imported after the folder for the metrics is known; see metrics.
        from ..api import create_app

        self._app = create_app(self._config)
        return self._app

    def refused(self, status: int) -> None:
        """Count and log a request that the application did not get; called by a worker."""
        reason = HTTPStatus(status).phrase.lower().replace(" ", "-")
        if self._app is not None:
            from ..api.operations import metrics_of

            metrics_of(self._app).store.refused(reason)
        _log.info("refused", extra={"status": status, "reason": reason})

    def stopping(self) -> None:
        """Let the application say that it wants no more requests; called by a worker."""
        if self._app is not None:
            # Imported only here: a worker may be told to stop while it imports the application.
            from ..api.operations import stop

            stop(self._app)

    def _on_starting(self, _: Any) -> None:
        _remove_leftovers()
        made = Path(tempfile.mkdtemp(prefix=_UNLOCKED_PREFIX, dir=_folder_in_memory()))
        # Held until the last process that has it open is gone, however it goes.
        self._held = os.open(made / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(self._held, fcntl.LOCK_EX)
        # Known as a folder of metrics from now on, when no other server takes it for a leftover.
        folder = made.rename(made.with_name(made.name.replace(_UNLOCKED_PREFIX, _PREFIX)))
        self._metrics = folder
        os.environ[_METRICS_VARIABLE] = str(folder)

    def _when_ready(self, arbiter: Any) -> None:
        for listener in arbiter.LISTENERS:
            # Every connection inherits these.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
            timeout = struct.pack("ll", self._config.request_seconds, 0)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, timeout)
        self._ready(_address(arbiter))

    def _child_exit(self, _: Any, worker: Any) -> None:
        from prometheus_client.multiprocess import mark_process_dead

        mark_process_dead(worker.pid, str(self._metrics))  # type: ignore[no-untyped-call]

    def _worker_exit(self, arbiter: Any, _: Any) -> None:
        if self._app is not None:
            self._app.extensions["halftruth"].store.close()
        if os.getppid() != arbiter.pid:
            # The arbiter was killed: nobody is left to clean up, or to end a thread that hangs.
            self._clean_up()
            os._exit(1)

    def _clean_up(self) -> None:
        if self._metrics is not None:
            shutil.rmtree(self._metrics, ignore_errors=True)


class _Log(Logger):
    """gunicorn's own messages, in the format of all others."""

    def setup(self, cfg: Any) -> None:
        super().setup(cfg)
        for handler in list(self.error_log.handlers):
            self.error_log.removeHandler(handler)
        self.error_log.propagate = True


def _remove_leftovers() -> None:
    """Remove the metrics of servers that were killed with all their workers."""
    for folder in Path(_folder_in_memory() or tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):
            held = os.open(folder / _LOCK, os.O_RDWR)
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(held)


def _folder_in_memory() -> str | None:
    return _MEMORY if os.path.isdir(_MEMORY) and os.access(_MEMORY, os.W_OK) else None


def _address(arbiter: Any) -> str:
    host, port = arbiter.LISTENERS[0].sock.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
