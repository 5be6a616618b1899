"""The program of a server: a collector or a relay, in several processes on one socket."""

import errno
import gc
import json
import logging
import os
import shutil
import socket
import sys
from importlib import import_module
from importlib.metadata import version
from typing import Any

import msgspec

from ..ops import logs
from ..ops.settings import Config
from .processes import Processes
from .shared_folder import create_folder

#: Named explicitly, because this module runs as a program.
_log = logging.getLogger("halftruth_collector.server.serve")

#: Module that makes the application of a collector.
_COLLECTOR = "halftruth_collector.web"

#: Connections that wait to be accepted.
_BACKLOG = 1024

#: Variable that prometheus_client reads at import; see `metrics`.
_METRICS_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"

#: File descriptor of a socket that was opened by systemd, or by the server before this one.
_INHERITED = 3


def serve(
    config: Config,
    *,
    host: str,
    port: int,
    workers: int,
    threads: int,
    quiet: bool,
    program: str = "collector",
    module: str = _COLLECTOR,
) -> None:
    """Serve until the process is told to stop.

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
    program : str
        What the server is called.
    module : str
        Name of the module whose `create_app` makes its application from the settings.
    """
    logs.configure(config.log_format, quiet=quiet)
    try:
        listening = _listen(host, port, config.request_seconds)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            why = "another program listens there; expected a free one (--port)"
        else:
            why = str(error.strerror)
        sys.exit(f"halftruth: cannot listen on {host}, port {port}: {why}")
    _log.info("starting, version %s", version("halftruth-collector"), extra=logs.AT_ONCE)
    config = msgspec.structs.replace(config, threads=threads)
    parent, folder = os.getpid(), create_folder()
    # Before the modules that need the metrics; and these before forking, so that they are loaded
    # once.
    os.environ[_METRICS_VARIABLE] = str(folder)
    _load(module)

    def work(end: int) -> None:
        from .working import work

        try:
            work(config, module, listening, end, folder)
        finally:
            if os.getppid() != parent:
                # The parent was killed.
                shutil.rmtree(folder, ignore_errors=True)

    def ended(pid: int) -> None:
        from prometheus_client.multiprocess import mark_process_dead

        mark_process_dead(pid, str(folder))  # type: ignore[no-untyped-call]

    processes = Processes(workers, work=work, upgrade=lambda: _upgrade(listening), ended=ended)
    try:
        processes.start()
        name, bound, *_ = listening.getsockname()
        shown = f"[{name}]" if ":" in name else name
        print(f"halftruth {program} on http://{shown}:{bound}", flush=True)
        _notify_supervisor()
        processes.keep()
        listening.close()
        processes.end()
    finally:
        if os.getpid() == parent:
            shutil.rmtree(folder, ignore_errors=True)
            _log.info("stopped", extra=logs.AT_ONCE)


def _load(module: str) -> None:
    """Load what the workers need."""
    import_module("halftruth_collector.server.working")
    import_module(module)
    if module == _COLLECTOR:
        from ..web.bundle import warn_if_not_built

        # Read the built form, too.
        warn_if_not_built()
    # Exclude these objects from garbage collection, which would take 60 ms during a request.
    gc.freeze()


def _listen(host: str, port: int, seconds: int) -> socket.socket:
    """Return the inherited socket, or a new one."""
    if os.environ.pop("LISTEN_PID", "") == str(os.getpid()):
        opened = socket.socket(fileno=_INHERITED)
        opened.set_inheritable(False)
    elif ":" in host:
        both = socket.has_dualstack_ipv6()
        opened = socket.create_server(
            (host, port), family=socket.AF_INET6, backlog=_BACKLOG, dualstack_ipv6=both
        )
    else:
        opened = socket.create_server((host, port), backlog=_BACKLOG)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        # Connections inherit it. They end once a client has taken nothing for these seconds.
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 1000 * seconds)
    return opened


def _upgrade(listening: socket.socket) -> None:
    """Become another server, with the code that is installed now, on the same socket."""
    os.dup2(listening.fileno(), _INHERITED)
    os.set_inheritable(_INHERITED, True)
    os.environ["LISTEN_PID"] = str(os.getpid())
    words = ["-m", "halftruth_collector.server.serve", sys.argv[1]]
    os.execv(sys.executable, [sys.executable, *words])  # noqa: S606


def _notify_supervisor() -> None:
    """Tell systemd, if it has started this process, that the server is ready."""
    if address := os.environ.get("NOTIFY_SOCKET"):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as supervisor:
            supervisor.sendto(b"READY=1", address.replace("@", "\0", 1))


def main() -> None:
    """Serve with the options of the first argument, as JSON; started by ``halftruth serve``."""
    options: dict[str, Any] = json.loads(sys.argv[1])
    serve(Config.from_environment(), **options)


if __name__ == "__main__":
    main()
