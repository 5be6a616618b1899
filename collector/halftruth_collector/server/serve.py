"""The HTTP server: a collector or a relay under gunicorn's gevent worker, without monkey-patching.

The event loop receives requests and sends responses. The application runs in native threads, and
with a few reports in the event loop; see `receiving`.
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

#: Named explicitly, because this module also runs as a program.
_log = logging.getLogger("halftruth_collector.server.serve")

#: Seconds without a heartbeat after which a worker is replaced.
_TIMEOUT = 60

#: Seconds that open requests have to finish when the server stops.
_GRACE = 30

#: Connections of one worker. With those to the database, they stay below 1 024, the usual limit of
#: open files of a process.
_CONNECTIONS = 800

#: Connections that wait to be accepted.
_BACKLOG = 1024

#: Limits of the bytes of a request line, the number of header fields, and the bytes of a field.
_LINE, _FIELDS, _FIELD = 8_190, 64, 8_190

#: Thread switch interval in seconds. With Python's default of 5 ms, a report would wait ten times
#: as long while an analysis is computed.
_SWITCH = 0.0005

#: Modules that create each application, and modules that workers also need.
_PROGRAMS = {"collector": "halftruth_collector.web", "relay": "halftruth_collector.relay"}
_OF_WORKERS = ("halftruth_collector.collector_store", "halftruth_collector.server.receiving")

#: Variable that prometheus_client reads at import; see `metrics`.
_METRICS_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"

#: Prefix of folders of metrics, and the file in each that a running server locks.
_PREFIX, _LOCK = "halftruth-metrics-", "lock"

#: File in this folder that the worker with the background task locks.
_TURN = "turn"

#: Prefix of such a folder before its file is locked.
_UNLOCKED_PREFIX = "halftruth-starting-"

#: Folder in memory, so that a full disk cannot stop a worker.
_MEMORY = "/dev/shm"  # noqa: S108


class Server(BaseApplication):
    """Server of a collector or a relay, with several processes.

    Parameters
    ----------
    config : Config
    host : str
    port : int
        0 for any free port.
    workers : int
        Number of processes.
    threads : int
        Number of simultaneous long computations in each process.
    quiet : bool
        Whether to omit log lines for single requests.
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
            # This is also the timeout for receiving the header.
            "keepalive": config.request_seconds,
            "limit_request_line": _LINE,
            "limit_request_fields": _FIELDS,
            "limit_request_field_size": _FIELD,
            # The application evaluates the headers of trusted proxies.
            "forwarded_allow_ips": "",
            "logger_class": ServerLog,
            "loglevel": "warning",
            "proc_name": "halftruth",
            "control_socket_disable": True,
            "on_starting": self._on_starting,
            "post_worker_init": self._post_worker_init,
            "pre_request": _set_current_request,
            "child_exit": self._child_exit,
            "worker_exit": self._worker_exit,
        }
        super().__init__()

    def load_config(self) -> None:
        """Apply the settings; called by gunicorn."""
        for name, value in self._settings.items():
            self.cfg.set(name, value)

    def load(self) -> Any:
        """Create the application; called by gunicorn in each worker with a running event loop."""
        # Import only after the folder for the metrics is known; see `metrics`.
        from ..collector_store import OpenStore
        from .receiving import RequestBuffer

        sys.setswitchinterval(_SWITCH)
        event_loop.silence_errors()
        while True:
            try:
                OpenStore(self._config.database).close()
                self._app = import_module(_PROGRAMS[self._program]).create_app(self._config)
                break
            except (StoreUnavailable, KeyFileError) as error:
                # Retry, because a failing worker would stop the server, which had started with a
                # usable database and keys.
                cause = getattr(error, "for_operators", error)
                _log.error("waiting: %s", cause, extra=logs.AT_ONCE)
                event_loop.sleep(1)
        self._receiving = RequestBuffer(
            self._app,
            most=self._config.max_body,
            seconds=self._config.request_seconds,
            computations=self._threads,
            refused=self._refused,
        )
        return self._receiving

    def run(self) -> None:
        """Serve until the process is told to stop."""
        logs.configure(self._config.log_format, quiet=self._quiet)
        pid = os.getpid()
        _log.info("starting, version %s", version("halftruth-collector"), extra=logs.AT_ONCE)
        try:
            super().run()
        finally:
            # Workers are forks of this process, so they get here too.
            if os.getpid() == pid:
                self._clean_up()
                _log.info("stopped", extra=logs.AT_ONCE)

    def _refused(self, status: int, environ: dict[str, Any]) -> None:
        """Count a request that did not reach the application; log it unless of a respondent."""
        from ..web.observation import find_endpoint, is_logged

        metrics = self._app.extensions["halftruth"].metrics
        reason = HTTPStatus(status).phrase.lower().replace(" ", "-")
        metrics.refused(reason)
        if status >= 500:
            metrics.failed()
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        if is_logged(find_endpoint(self._app, method, path)):
            _log.info("refused", extra={**logs.AT_ONCE, "status": status, "reason": reason})

    def _post_worker_init(self, worker: Any) -> None:
        if worker.age == 1:
            # Until now, connections were only queued by the system.
            _print_address(self._program, worker.sockets[0].getsockname())
        # gunicorn has no hook for the stop signal of a worker, so poll for it.
        worker.stopping = event_loop.spawn(self._await_stop, worker)
        if background := self._app.extensions["halftruth"].background:
            threading.Thread(target=self._run_alone, args=(background,), daemon=True).start()

    def _run_alone(self, work: Callable[[], None]) -> None:
        """Run the background task of the application, in one worker at a time."""
        assert self._metrics is not None  # noqa: S101  (created before the workers)
        with (self._metrics / _TURN).open("wb") as turn:
            # The lock is held until this process ends, for whatever reason.
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
        # The lock is held until the last process with this open file has ended.
        self._held = os.open(made / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(self._held, fcntl.LOCK_EX)
        # Rename the folder only now, so that no other server removes it as a leftover.
        folder = made.rename(made.with_name(made.name.replace(_UNLOCKED_PREFIX, _PREFIX)))
        self._metrics = folder
        os.environ[_METRICS_VARIABLE] = str(folder)
        # Import the modules before forking, so that they are loaded once.
        for module in (*_OF_WORKERS, _PROGRAMS[self._program]):
            import_module(module)
        if self._program == "collector":
            from ..web.bundle import warn_if_not_built

            # Read the built form before forking, too.
            warn_if_not_built()
        # Exclude these objects from garbage collection, which would take 60 ms during a request.
        gc.freeze()

    def _child_exit(self, _: Any, worker: Any) -> None:
        from prometheus_client.multiprocess import mark_process_dead

        mark_process_dead(worker.pid, str(self._metrics))  # type: ignore[no-untyped-call]

    def _worker_exit(self, arbiter: Any, _: Any) -> None:
        if self._app is not None:
            self._app.extensions["halftruth"].store.close()
        # Write the lines that wait.
        logging.shutdown()
        if os.getppid() != arbiter.pid:
            # The arbiter was killed, so clean up here, and exit without waiting for threads.
            self._clean_up()
            os._exit(1)

    def _clean_up(self) -> None:
        if self._metrics is not None:
            shutil.rmtree(self._metrics, ignore_errors=True)


class ServerLog(Logger):
    """Logger of gunicorn's messages in our format, without the content of requests."""

    def setup(self, cfg: Any) -> None:
        super().setup(cfg)
        for handler in list(self.error_log.handlers):
            self.error_log.removeHandler(handler)
        self.error_log.propagate = True

    def warning(self, msg: Any, *args: Any, **kwargs: Any) -> None:
        # A message without arguments contains a request and its address.
        super().warning(msg if args else "a malformed request was refused", *args, **kwargs)


def _set_current_request(_: Any, request: Any) -> None:
    from .receiving import current_request

    current_request.set(request)


def _print_address(program: str, bound: tuple[Any, ...]) -> None:
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
    """Return a folder in memory, if there is one."""
    return _MEMORY if os.path.isdir(_MEMORY) and os.access(_MEMORY, os.W_OK) else None


def main() -> None:
    """Serve with the options of the first argument, as JSON; started by ``halftruth serve``."""
    options = sys.argv[1]
    # gunicorn restarts the program with these arguments on SIGUSR2.
    sys.argv = ["-m", "halftruth_collector.server.serve", options]
    Server(Config.from_environment(), **json.loads(options)).run()


if __name__ == "__main__":
    main()
