"""The HTTP server: a collector or a relay under gunicorn's gevent worker, which is left unchanged.

The event loop receives requests and sends answers; native threads make these, see `receiving`.
"""

import fcntl
import gc
import json
import logging
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from gunicorn.app.base import BaseApplication
from gunicorn.glogging import Logger
from halftruth_shared import KeyFileError

from ..errors import StoreUnavailable
from ..ops import logs
from ..ops.settings import Config
from . import event_loop

#: By its name, for this module is also run as a program.
_log = logging.getLogger("halftruth_collector.server.serve")

#: Seconds without a sign of life after which a worker is replaced.
_TIMEOUT = 60

#: Seconds that open requests have to finish when the server is told to stop.
_GRACE = 30

#: Connections of one worker; with those to the database, fewer than the 1 024 files that a process
#: may usually open.
_CONNECTIONS = 800

#: Connections that wait to be taken.
_BACKLOG = 1024

#: Bytes of a request line, fields of a head, and bytes of each.
_LINE, _FIELDS, _FIELD = 8_190, 64, 8_190

#: Seconds after which a thread that computes lets the others go on; Python's own 5 ms would make
#: a report wait ten times as long beside an analysis.
_SWITCH = 0.0005

#: What makes each application, and what workers need besides it.
_PROGRAMS = {"collector": "halftruth_collector.web", "relay": "halftruth_collector.relay"}
_OF_WORKERS = ("halftruth_collector.collector_store", "halftruth_collector.server.receiving")

#: Read by prometheus_client when it is imported; see metrics.
_METRICS_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"

#: Folders of metrics, and the file in each that a running server has locked.
_PREFIX, _LOCK = "halftruth-metrics-", "lock"

#: Locked in it by the worker that does what is to be done by one alone.
_TURN = "turn"

#: Such a folder before its file is locked.
_UNLOCKED_PREFIX = "halftruth-starting-"

#: A folder in memory, where a full disk cannot stop a worker.
_MEMORY = "/dev/shm"  # noqa: S108


class Server(BaseApplication):
    """A collector or a relay served by several processes.

    Parameters
    ----------
    config : Config
    host : str
    port : int
        0 for any free port.
    workers : int
        Processes.
    threads : int
        Long computations at the same time in each of them.
    quiet : bool
        Whether to log no line for each request.
    program : {"collector", "relay"}
    """

    def __init__(
        self,
        config: Config,
        *,
        host: str,
        port: int,
        workers: int,
        threads: int,
        quiet: bool,
        program: str = "collector",
    ) -> None:
        self._config = config
        self._program = program
        self._threads = threads
        self._quiet = quiet
        self._metrics: Path | None = None
        self._held = -1
        self._app: Any = None
        self._settings: dict[str, Any] = {
            "bind": f"[{host}]:{port}" if ":" in host else f"{host}:{port}",
            "workers": workers,
            "worker_class": "gevent",
            "worker_connections": _CONNECTIONS,
            "worker_tmp_dir": folder_in_memory(),
            "backlog": _BACKLOG,
            "timeout": _TIMEOUT,
            "graceful_timeout": _GRACE,
            # Also the time in which a head must have arrived.
            "keepalive": config.request_seconds,
            "limit_request_line": _LINE,
            "limit_request_fields": _FIELDS,
            "limit_request_field_size": _FIELD,
            # Only the application knows how many proxies to believe.
            "forwarded_allow_ips": "",
            "logger_class": ServerLog,
            "loglevel": "warning",
            "proc_name": "halftruth",
            "control_socket_disable": True,
            "on_starting": self._on_starting,
            "post_worker_init": self._post_worker_init,
            "pre_request": _remember,
            "child_exit": self._child_exit,
            "worker_exit": self._worker_exit,
        }
        super().__init__()

    def load_config(self) -> None:
        """Take the settings over; called by gunicorn."""
        for name, value in self._settings.items():
            self.cfg.set(name, value)

    def load(self) -> Any:
        """Make the application; called by gunicorn in each worker, whose hub there is by now."""
        # Not imported before the folder for the metrics is known; see metrics.
        from ..collector_store import OpenStore
        from .receiving import Receiving

        sys.setswitchinterval(_SWITCH)
        event_loop.quiet()
        while True:
            try:
                OpenStore(self._config.database).close()
                self._app = import_module(_PROGRAMS[self._program]).create_app(self._config)
                break
            except (StoreUnavailable, KeyFileError) as error:
                # A worker that gave up would end the whole server, which began with a database and
                # keys.
                _log.error("waiting: %s", error)
                event_loop.sleep(1)
        self._receiving = Receiving(
            self._app,
            most=self._config.max_body,
            seconds=self._config.request_seconds,
            computations=self._threads,
            refused=self._refused,
        )
        return self._receiving

    def run(self) -> None:
        """Serve until told to stop."""
        logs.configure(self._config.log_format, quiet=self._quiet)
        pid = os.getpid()
        _log.info("starting, version %s", version("halftruth-collector"))
        try:
            super().run()
        finally:
            # The workers, which are copies of this process, leave by this way too.
            if os.getpid() == pid:
                self._clean_up()
                _log.info("stopped")

    def _refused(self, status: int) -> None:
        """Count and log a request that the application did not get."""
        reason = HTTPStatus(status).phrase.lower().replace(" ", "-")
        self._app.extensions["halftruth"].metrics.refused(reason)
        _log.info("refused", extra={"status": status, "reason": reason})

    def _post_worker_init(self, worker: Any) -> None:
        if worker.age == 1:
            # Not before: until then connections are taken by the system alone.
            _say_address(self._program, worker.sockets[0].getsockname())
        # The worker says nothing when it is told to stop, so it is asked.
        worker.stopping = event_loop.spawn(self._await_stop, worker)
        if background := self._app.extensions["halftruth"].background:
            threading.Thread(target=self._run_alone, args=(background,), daemon=True).start()

    def _run_alone(self, work: Callable[[], None]) -> None:
        """Run what an application does besides requests, once no other worker does."""
        assert self._metrics is not None  # noqa: S101  made before there are workers
        with (self._metrics / _TURN).open("wb") as turn:
            # Held until this process ends, however it ends.
            fcntl.flock(turn, fcntl.LOCK_EX)
            work()

    def _await_stop(self, worker: Any) -> None:
        while worker.alive:
            event_loop.sleep(0.1)
        self._app.extensions["halftruth"].stopping.set()
        self._receiving.stop()

    def _on_starting(self, _: Any) -> None:
        remove_leftovers()
        made = Path(tempfile.mkdtemp(prefix=_UNLOCKED_PREFIX, dir=folder_in_memory()))
        # Held until the last process that has it open is gone, however it goes.
        self._held = os.open(made / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(self._held, fcntl.LOCK_EX)
        # Known as a folder of metrics from now on, when no other server takes it for a leftover.
        folder = made.rename(made.with_name(made.name.replace(_UNLOCKED_PREFIX, _PREFIX)))
        self._metrics = folder
        os.environ[_METRICS_VARIABLE] = str(folder)
        # Workers are copies of this process, so what each of them would load is loaded once.
        for module in (*_OF_WORKERS, _PROGRAMS[self._program]):
            import_module(module)
        # It stays, so that no search for garbage looks through it: that takes a page 60 ms.
        gc.freeze()

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


class ServerLog(Logger):
    """gunicorn's own messages, in the format of all others and without what requests say."""

    def setup(self, cfg: Any) -> None:
        super().setup(cfg)
        for handler in list(self.error_log.handlers):
            self.error_log.removeHandler(handler)
        self.error_log.propagate = True

    def warning(self, msg: Any, *args: Any, **kwargs: Any) -> None:
        # A message without arguments is put together by a worker from a request and its address.
        super().warning(msg if args else "a malformed request was refused", *args, **kwargs)


def _remember(_: Any, request: Any) -> None:
    from .receiving import current_request

    current_request.set(request)


def _say_address(program: str, bound: tuple[Any, ...]) -> None:
    host, port = bound[:2]
    shown = f"[{host}]" if ":" in host else host
    print(f"halftruth {program} on http://{shown}:{port}", flush=True)


def remove_leftovers() -> None:
    """Remove the metrics of servers that were killed with all their workers."""
    for folder in Path(folder_in_memory() or tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):
            held = os.open(folder / _LOCK, os.O_RDWR)
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(held)


def folder_in_memory() -> str | None:
    """A folder that no disk is behind, if there is one."""
    return _MEMORY if os.path.isdir(_MEMORY) and os.access(_MEMORY, os.W_OK) else None


def main() -> None:
    """Serve with the options of the first argument, as JSON; started by ``halftruth serve``."""
    options = sys.argv[1]
    # As gunicorn starts this program once more when it is sent SIGUSR2.
    sys.argv = ["-m", "halftruth_collector.server.serve", options]
    Server(Config.from_environment(), **json.loads(options)).run()


if __name__ == "__main__":
    main()
