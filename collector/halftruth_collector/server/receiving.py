"""Receive whole requests in the event loop of a worker, with limits of time and memory.

Each request is then handled in a thread pool for its kind of work, so that the event loop is never
blocked. Requests with few reports are handled in the event loop as long as they only wait for the
commit, since a thread for each of them takes twice the processor time.
"""

import io
import os
import socket
import time
from collections.abc import Callable, Iterable
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from werkzeug.exceptions import (
    BadRequest,
    HTTPException,
    RequestEntityTooLarge,
    RequestTimeout,
    ServiceUnavailable,
)
from werkzeug.wsgi import ClosingIterator

from ..blocking import WAIT, WouldBlock, forbid_blocking
from ..web.app import Workload, expected_workload
from ..web.budget import COMPUTATION, Computation
from ..web.errors import problem
from ..web.headers import API_HEADERS
from .event_loop import Threads, Timeout, call_when_closed, sleep, wait_in_loop

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment
    from flask import Flask

#: The request of this greenlet, set by gunicorn's hook `pre_request`.
current_request: ContextVar[Any] = ContextVar("current_request")

#: Bytes read at once before other requests are served. Less for a chunked body, whose chunks
#: gunicorn reads one by one, however small they are.
_PIECE, _CHUNKED_PIECE = 65_536, 8_192

#: Seconds to yield to other requests after each piece of a large body; any positive time suffices.
_TURN = 0.0001

#: Memory budget in bytes for larger bodies of a worker while they arrive. A body of a single piece
#: is always accepted, so that large bodies cannot keep out single reports.
_ROOM = 128_000_000

#: Seconds and bytes for which the rest of a refused body is read, so that the client gets the
#: response.
_LINGER, _MOST_LINGERING = 2.0, 16_000_000

#: Bytes of a request with reports that is handled in the event loop: a few reports.
_FEW_REPORTS = 4_096

#: Threads for other requests with reports, and for other short database requests.
_REPORTS, _BRIEF = 16, 8

#: Seconds for which a request waits for a thread, and the messages when none becomes free.
_PATIENCE = 30
_BUSY: dict[Workload, str] = {
    "reports": "the server does not keep up; nothing of this request was counted",
    "brief": "the database does not keep up; try again later",
    "long": "all threads of the server are computing; try again later",
}


class RequestBuffer:
    """WSGI middleware that buffers whole requests and runs the application, mostly in threads.

    Receiving a body and sending a response have a timeout, because the number of connections is
    limited.

    Parameters
    ----------
    app : Flask
    most : int
        Largest body in bytes.
    seconds : float
        Timeout for receiving a body, and for each write of the response.
    computations : int
        Number of threads for long computations.
    refused : callable
        Called with status and environment of each request that does not reach the application.
    """

    def __init__(
        self,
        app: "Flask",
        *,
        most: int,
        seconds: float,
        computations: int,
        refused: Callable[[int, "WSGIEnvironment"], object],
    ) -> None:
        self._app = app
        # Matching a path takes as long as checking a report.
        self._workload = lru_cache(maxsize=256)(partial(expected_workload, app))
        self._threads: dict[Workload, Threads] = {
            "reports": Threads(_REPORTS),
            "brief": Threads(_BRIEF),
            "long": Threads(computations),
        }
        self._most = most
        self._seconds = seconds
        self._refused = refused
        self._room = _ROOM
        #: Connections that wait for another request.
        self._idle: WeakSet[socket.socket] = WeakSet()
        self._is_stopping = False

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        """Handle a request; called by the worker in the greenlet of the connection."""
        sock: socket.socket = environ["gunicorn.socket"]
        self._idle.discard(sock)
        # The timeout holds until the response is sent; then gunicorn waits for the next request.
        sock.settimeout(self._seconds)
        leave = [lambda: self._rest(sock)]
        try:
            with self._body(environ) as body:
                environ["wsgi.input"] = io.BytesIO(body)
                environ["CONTENT_LENGTH"] = str(len(body))
                environ.pop("HTTP_TRANSFER_ENCODING", None)
                answer = self._answer(environ, start_response, sock)
        except HTTPException as refusal:
            status = refusal.code or 500
            self._refused(status, environ)
            current_request.get().force_close()
            leave.append(lambda: _linger(sock, environ))
            refused = problem(status, "http", refusal.description or "")
            refused.headers.update(API_HEADERS)
            if status == 503:
                refused.headers["Retry-After"] = "5"
            answer = refused(environ, start_response)
        return ClosingIterator(answer, leave)

    def _answer(
        self, environ: "WSGIEnvironment", start_response: "StartResponse", sock: socket.socket
    ) -> Iterable[bytes]:
        work = self._workload(environ["REQUEST_METHOD"], environ["PATH_INFO"])
        if work == "none":
            return self._app(environ, start_response)
        if work == "reports" and int(environ["CONTENT_LENGTH"]) <= _FEW_REPORTS:
            environ[WAIT] = wait_in_loop
            try:
                with forbid_blocking():
                    return self._app(environ, start_response)
            except WouldBlock:
                # Run the request again below, in a thread.
                del environ[WAIT]
                environ["wsgi.input"].seek(0)
        computation = environ[COMPUTATION] = Computation()
        late = ServiceUnavailable(_BUSY[work])
        ends = work == "long"
        with call_when_closed(sock, computation.abandon) if ends else nullcontext():
            return self._threads[work].run(
                self._app, environ, start_response, patience=_PATIENCE, late=late
            )

    def stop(self) -> None:
        """Close connections that wait for another request, now or later."""
        self._is_stopping = True
        for sock in list(self._idle):
            _end(sock)

    @contextmanager
    def _body(self, environ: "WSGIEnvironment") -> Any:
        """Read the body of a request, and account for its memory during the block."""
        length = environ.get("CONTENT_LENGTH") or "0"
        if not length.isdigit() or len(length) > 15 or int(length) > self._most:
            raise self._too_large()
        taken = 0
        try:
            pieces, size = [], 0
            at_once = _PIECE if environ.get("CONTENT_LENGTH") else _CHUNKED_PIECE
            late = RequestTimeout("request: expected all of it sooner")
            with Timeout(self._seconds, late):
                while piece := environ["wsgi.input"].read(at_once):
                    pieces.append(piece)
                    size += len(piece)
                    if size > self._most:
                        raise self._too_large()
                    if size > _PIECE:
                        taken += len(piece)
                        self._room -= len(piece)
                    if len(piece) == at_once:
                        # With sleep(0), fifty pieces would be read before another request's.
                        sleep(_TURN)
                    if self._room < 0:
                        raise ServiceUnavailable(
                            "the server has too many unfinished requests; try again later"
                        )
            if environ.get("CONTENT_LENGTH") and size < int(length):
                raise BadRequest("body: expected as many bytes as its declared length")
            yield b"".join(pieces)
        finally:
            self._room += taken

    def _rest(self, sock: socket.socket) -> None:
        """Return a connection to gunicorn."""
        sock.settimeout(None)
        self._idle.add(sock)
        if self._is_stopping:
            _end(sock)

    def _too_large(self) -> HTTPException:
        return RequestEntityTooLarge(f"body: expected at most {self._most} bytes")


def _end(sock: socket.socket) -> None:
    """End the stream of requests of a connection.

    A duplicate of the socket is shut down, so that the greenlet of the connection sees the end of
    the stream; closing the socket itself would raise an error there.
    """
    with suppress(OSError), socket.socket(fileno=os.dup(sock.fileno())) as other:
        other.shutdown(socket.SHUT_RD)


def _linger(sock: socket.socket, environ: "WSGIEnvironment") -> None:
    """Read for a moment, since closing a connection with unread bytes can discard the response."""
    with suppress(OSError, Timeout):
        sock.shutdown(socket.SHUT_WR)
        end = time.monotonic() + _LINGER
        left = _MOST_LINGERING
        while left > 0 and (now := time.monotonic()) < end:
            sock.settimeout(end - now)
            data = sock.recv(_PIECE)
            if not data:
                break
            left -= len(data)
