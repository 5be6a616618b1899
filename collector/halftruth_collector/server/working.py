"""One worker: the application under waitress, with a thread for each connection."""

import faulthandler
import fcntl
import logging
import resource
import select
import socket
import time
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

import waitress
from flask import Flask
from halftruth_shared import KeyFileError

from ..collector_store import OpenStore
from ..errors import StoreUnavailable
from ..ops import logs
from ..ops.settings import Config
from .parsing import Channel
from .processes import GRACE

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

_log = logging.getLogger(__name__)

#: Connections of a worker, each with a thread, so that no request waits for one. Open files that
#: are left for the database, the metrics and the log.
_CONNECTIONS, _OTHER_FILES = 500, 64

#: Bytes of a request's head.
_HEAD = 8_192

#: Bytes of a body in memory; a larger one waits in a temporary file.
_BODY_IN_MEMORY = 1_000_000

#: Bytes of answers that wait for a client before further requests of its connection are handled;
#: answers themselves are never written to a file.
_UNREAD, _NEVER = 1_000_000, 2**62

#: Seconds without a turn of this thread after which the process ends, to be replaced.
_HUNG = 60

#: Seconds after which idle connections are closed when the worker ends.
_IDLE = 1

#: File in the shared folder that the worker with the background task locks.
_TURN = "turn"


def work(config: Config, program: str, listening: socket.socket, end: int, folder: Path) -> None:
    """Serve a program until the pipe `end` reaches its end and open requests are answered.

    Parameters
    ----------
    config : Config
    program : str
        Name of the module with the function that creates the application.
    listening : socket
    end : int
    folder : Path
        Folder that the workers share.
    """
    app = _create(config, program, end)
    if app is None:
        return
    service = app.extensions["halftruth"]
    server = waitress.create_server(
        _ClosedWhenStopping(app, service.stopping),
        sockets=[listening],
        threads=_most_connections(),
        # It counts the listening socket and a pipe, too.
        connection_limit=_most_connections() + 2,
        channel_timeout=config.request_seconds,
        cleanup_interval=1,
        max_request_header_size=_HEAD,
        # waitress expects fewer bytes than these.
        max_request_body_size=config.max_body + 1,
        inbuf_overflow=_BODY_IN_MEMORY,
        outbuf_high_watermark=_UNREAD,
        outbuf_overflow=_NEVER,
        asyncore_use_poll=True,
        # The application evaluates the headers of trusted proxies.
        clear_untrusted_proxy_headers=False,
        log_socket_errors=False,
        ident=None,
    )
    server.channel_class = Channel
    serving = _start(server.run)
    if service.background:
        _start(lambda: _run_alone(service.background, folder))
    while serving.is_alive() and not _has_ended(end):
        faulthandler.dump_traceback_later(_HUNG, exit=True)
    service.stopping.set()
    _drain(server, listening, serving)
    faulthandler.cancel_dump_traceback_later()
    service.store.close()


def _create(config: Config, program: str, end: int) -> Flask | None:
    """Create the application once its database and keys can be used; None if it is to end."""
    while True:
        try:
            OpenStore(config.database).close()
            app: Flask = import_module(program).create_app(config)
            return app
        except (StoreUnavailable, KeyFileError) as error:
            # The server had started with a usable database and keys, so they may come back.
            _log.error("waiting: %s", getattr(error, "for_operators", error), extra=logs.AT_ONCE)
            if _has_ended(end):
                return None


def _most_connections() -> int:
    """Return the number of connections for which this process may have enough open files."""
    return max(1, min(_CONNECTIONS, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - _OTHER_FILES))


def _start(function: Callable[[], object]) -> Thread:
    thread = Thread(target=function, daemon=True)
    thread.start()
    return thread


def _has_ended(end: int) -> bool:
    """Wait for a second, or until the other processes hold no writing end of a pipe."""
    return bool(select.select([end], [], [], 1)[0])


def _run_alone(background: Callable[[], None], folder: Path) -> None:
    """Run the background task of the application, in one worker at a time."""
    with (folder / _TURN).open("wb") as turn:
        # The lock is held until this process ends, for whatever reason.
        fcntl.flock(turn, fcntl.LOCK_EX)
        background()


def _drain(server: Any, listening: socket.socket, serving: Thread) -> None:
    """Accept no connection, and return once all are closed, or the time is over."""

    def stop_accepting() -> None:
        server.accepting = False
        listening.close()

    # In the thread of the server, which must not wait for a socket that is closed.
    server.trigger.pull_trigger(stop_accepting)
    server.adj.channel_timeout = _IDLE
    last = time.monotonic() + GRACE
    while server.active_channels and serving.is_alive() and time.monotonic() < last:
        time.sleep(0.05)


class _ClosedWhenStopping:
    """WSGI middleware that has each connection closed after its answer, once the server stops."""

    def __init__(self, app: "WSGIApplication", stopping: Event) -> None:
        self._app = app
        self._stopping = stopping

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        def start(status: str, headers: list[tuple[str, str]], *error: Any) -> Any:
            if self._stopping.is_set():
                # waitress closes a connection after an answer of unknown length.
                headers = [each for each in headers if each[0].lower() != "content-length"]
            return start_response(status, headers, *error)

        return self._app(environ, start)
