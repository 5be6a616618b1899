"""A worker of gunicorn that reads requests before it answers them.

gunicorn's own worker reads head and body in the thread that answers, so that a handful of clients
that send one byte a second hold every thread. Here a connection waits in the worker's main loop,
with as many others as there are, until a whole request has arrived; one that has not arrived in
time is answered 408. No thread waits for a client, except for one that does not take its answer.

Requests that the server calls brief are then answered in the main loop itself, as fibres, and all
others by threads.
"""

import errno
import gc
import logging
import socket
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from selectors import EVENT_READ
from typing import Any

from gunicorn.http.body import ChunkedReader
from gunicorn.http.errors import (
    ExpectationFailed,
    LimitRequestHeaders,
    LimitRequestLine,
    ParseException,
    UnsupportedTransferCoding,
)
from gunicorn.workers.gthread import PollableMethodQueue, ThreadWorker

from ..fibres import Fibre, Gathering, current
from ..logs import place
from .arrival import Limits, Refusal
from .connection import PIECE, Connection
from .refusals import refuse

_log = logging.getLogger(__name__)

#: Bytes that unfinished requests may take in one worker, beyond which the largest one is ended.
_MOST_UNFINISHED = 128_000_000

#: Seconds, and bytes, for which a closed connection is read on, so that its peer gets the answer.
_LINGER, _MOST_LINGERING = 2.0, 16_000_000

#: What a parser's complaint is answered with, where it is not 400.
_STATUS: dict[type[Exception], int] = {
    ExpectationFailed: 417,
    LimitRequestHeaders: 431,
    LimitRequestLine: 414,
    UnsupportedTransferCoding: 501,
}

#: Threads for what brief requests must not do in the main loop, besides commits.
_HELPERS = 4

#: Bytes of a request that may be brief.
_MOST_BRIEF = 8_192

#: Seconds between two connections of a burst, and for how long a worker that took one leaves the
#: next to the others. Otherwise one of them has most, and works while the others wait.
_BURST, _LEAVE = 0.001, 0.00005

#: Seconds for which no connection is taken after the system had no means for one, and between two
#: lines that say so.
_EXHAUSTED, _SAY_AGAIN = 0.05, 60.0

_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"

#: What handling a connection came to.
_MORE, _KEEP, _END = object(), object(), object()


class _Calls(PollableMethodQueue):
    """What threads want to be done in the main loop."""

    def close(self) -> None:
        """Leave the pipe open until the process ends.

        A thread that is late writes to it by its number, which might be that of the database by
        then.
        """


class Worker(ThreadWorker):
    """Threads that answer, behind a main loop that receives.

    Of its server it needs ``limits`` and ``brief``, a pattern of the first bytes of requests that
    are answered as fibres, and that it takes ``refused(status)`` and ``stopping()``.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._limits: Limits = self.app.limits
        #: Connections with a part of a request, and closed ones; the first to end first.
        self._arriving: dict[Connection, None] = {}
        self._lingering: dict[Connection, None] = {}
        self._unfinished = 0
        self._accepted = 0.0
        self._said = -_SAY_AGAIN
        #: Fibres that run, and what to do once they all wait.
        self._fibres = 0
        self._endings: list[Callable[[], object]] = []
        self._gathering = Gathering()
        self.method_queue = _Calls()
        self.threads = ThreadPoolExecutor(_HELPERS, "halftruth-helper")

    def run(self) -> None:
        """Answer requests until told to stop; called by gunicorn."""
        # The modules and the application stay for good: looking through them for garbage, again
        # and again, would take a tenth of all time.
        gc.collect()
        gc.freeze()
        try:
            super().run()
        finally:
            self.threads.shutdown(wait=False)

    # In the main loop.

    def accept(self, listener: Any) -> None:
        """Take a new connection, which is idle until its first byte."""
        try:
            sock, client = listener.accept()
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.ECONNABORTED):
                self._is_exhausted(error)
            return
        self.nr_conns += 1
        self._idle(Connection(self._limits, self.cfg, sock, client, listener.getsockname()))
        now = time.monotonic()
        if now < self._accepted + _BURST and self.cfg.workers > 1:
            time.sleep(_LEAVE)
        self._accepted = now

    def _is_exhausted(self, error: OSError) -> None:
        """Pause where the system has no means for another connection, such as a file number."""
        now = time.monotonic()
        if now >= self._said + _SAY_AGAIN:
            _log.warning("connections wait to be taken: %s", errno.errorcode.get(error.errno or 0))
            self._said = now
        # The connection is still there: without a pause, it would be tried again at once.
        time.sleep(_EXHAUSTED)

    def set_accept_enabled(self, enabled: bool) -> None:
        """Take new connections or not; at the end, take those in the queue and refuse others."""
        super().set_accept_enabled(enabled)
        if enabled or self.alive:
            return
        for listener in self.sockets:
            while self._take(listener):
                pass
            listener.close()

    def _take(self, listener: Any) -> bool:
        before = self.nr_conns
        self.accept(listener)
        return bool(self.nr_conns > before)

    def is_parent_alive(self) -> bool:
        """Stop in order where the arbiter is gone."""
        if not super().is_parent_alive():
            self.alive = False
        return bool(self.alive)

    def handle_exit(self, sig: int, frame: Any) -> None:
        """Begin to stop."""
        self.app.stopping()
        super().handle_exit(sig, frame)

    def handle_quit(self, sig: int, frame: Any) -> None:
        """Stop at once, but not inside a fibre: what it is in would take that for its own error."""
        if current() is None:
            super().handle_quit(sig, frame)
        else:
            self.method_queue.defer(super().handle_quit, sig, frame)

    def wait_for_and_dispatch_events(self, timeout: float) -> None:
        """One turn of the main loop."""
        if self._endings:
            pause = self._gathering.pause(self._fibres, time.monotonic())
            if pause:
                timeout = min(timeout, pause)
            else:
                endings, self._endings = self._endings, []
                for act in endings:
                    act()
        super().wait_for_and_dispatch_events(timeout)

    def on_client_socket_readable(self, conn: Connection, client: Any) -> None:
        """Answer what begins to arrive on a connection, or give it to a thread."""
        if not conn.watched:
            # Something that happened in this very turn has ended it, or taken its request.
            return
        if conn.busy:
            # The next request, or the end; it has time until this one is answered.
            self._ignore(conn)
            return
        self.keepalived_conns.remove(conn)
        conn.begin()
        self._take_up(conn)

    def _take_up(self, conn: Connection) -> None:
        """Answer a request here if it is brief, collect it if it is not whole, or let a thread."""
        try:
            whole = conn.receive(1)
        except (Refusal, EOFError):
            # Whoever asks again is told again.
            self._ignore(conn)
            self.enqueue_req(conn)
            return
        if (
            whole
            and self.app.brief is not None
            and conn.arrival.begins(self.app.brief, _MOST_BRIEF)
        ):
            conn.busy = True
            self._fibres += 1
            Fibre(self, partial(self._answer, conn)).switch()
            return
        self._ignore(conn)
        if whole:
            self.enqueue_req(conn)
        else:
            self._go_on(conn, _MORE)

    def _answer(self, conn: Connection) -> None:
        """Answer a brief request; runs as a fibre."""
        try:
            outcome = self.handle(conn)
        finally:
            conn.busy = False
            self._fibres -= 1
        if outcome is not _KEEP or len(conn.parser.unreader.buf.getvalue()):
            self._ignore(conn)
        self._go_on(conn, outcome)

    def resume(self, fibres: Sequence[Fibre]) -> None:
        """Go on with fibres, which waited for a commit or a thread; called from any thread."""
        self.method_queue.defer(self._resume, fibres)

    def _resume(self, fibres: Sequence[Fibre]) -> None:
        for fibre in fibres:
            fibre.switch()

    def at_end_of_turn(self, act: Callable[[], object]) -> None:
        """Call this once nothing more is likely to come in this turn; called in a fibre."""
        self._endings.append(act)

    def finish_request(self, conn: Connection, future: Any) -> None:
        """Put a connection where it belongs after a thread had it."""
        self._go_on(conn, _END if future.cancelled() or future.exception() else future.result())

    def _go_on(self, conn: Connection, outcome: object) -> None:
        try:
            if outcome is _MORE:
                self._arrive(conn)
            elif outcome is _END:
                self._linger(conn)
            else:
                conn.expect()
                if len(conn.arrival):
                    conn.begin()
                    # Not now: this may be a fibre, and the next request needs one of its own.
                    self.method_queue.defer(self._take_up, conn)
                else:
                    self._idle(conn)
        except OSError:
            self._close(conn)

    def murder_keepalived(self, force: bool = False) -> None:
        """Close idle connections whose time is over, or all; called in every turn."""
        now = time.monotonic()
        while self.keepalived_conns and (force or self.keepalived_conns[0].timeout <= now):
            conn = self.keepalived_conns.popleft()
            self._ignore(conn)
            self._close(conn)

    def murder_pending(self) -> None:
        """End what takes too long; called in every turn of the main loop."""
        now = time.monotonic()
        for conn in _overdue(self._arriving, now):
            self._leave(conn)
            self._refuse(conn, 408)
            self._linger(conn)
        for conn in _overdue(self._lingering, now):
            self._forget(conn)

    def _idle(self, conn: Connection) -> None:
        conn.set_timeout()
        if not self.alive:
            conn.timeout = min(conn.timeout, time.monotonic() + _LINGER)
        self.keepalived_conns.append(conn)
        if not conn.watched:
            self._watch(conn, self.on_client_socket_readable)
            conn.watched = True

    def _ignore(self, conn: Connection) -> None:
        """Look for no request on a connection any more."""
        if conn.watched:
            self.poller.unregister(conn.sock)
            conn.watched = False

    def _arrive(self, conn: Connection) -> None:
        """Collect the rest of a request here."""
        if conn.arrival.waits:
            conn.arrival.waits = False
            conn.sock.send(_CONTINUE, socket.MSG_DONTWAIT)
        self._arriving[conn] = None
        self._watch(conn, self._on_more)
        self._weigh(conn)

    def _on_more(self, conn: Connection, _: Any) -> None:
        if conn not in self._arriving:
            # It was ended in this very turn, to make room.
            return
        try:
            whole = conn.receive(1)
        except Refusal as refusal:
            self._leave(conn)
            self._refuse(conn, refusal.status)
            self._linger(conn)
        except EOFError:
            self._leave(conn)
            self._close(conn)
        else:
            if whole:
                self._leave(conn)
                self._take_up(conn)
            else:
                self._weigh(conn)

    def _weigh(self, conn: Connection) -> None:
        """Keep what unfinished requests take below what this worker may use."""
        self._unfinished += len(conn.arrival) - conn.unfinished
        conn.unfinished = len(conn.arrival)
        if self._unfinished > _MOST_UNFINISHED:
            largest = max(self._arriving, key=lambda other: other.unfinished)
            self._leave(largest)
            self._refuse(largest, 503)
            self._linger(largest)

    def _leave(self, conn: Connection) -> None:
        """Collect no more of a request here."""
        del self._arriving[conn]
        self._unfinished -= conn.unfinished
        conn.unfinished = 0
        self.poller.unregister(conn.sock)

    def _linger(self, conn: Connection) -> None:
        """Close once the peer has closed, so that it gets the answer, but not in a thread."""
        try:
            conn.sock.shutdown(socket.SHUT_WR)
        except OSError:
            self._close(conn)
            return
        conn.unfinished = 0
        conn.deadline = time.monotonic() + _LINGER
        self._lingering[conn] = None
        self._watch(conn, self._on_rest)

    def _on_rest(self, conn: Connection, _: Any) -> None:
        try:
            rest = conn.sock.recv(PIECE, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        except OSError:
            rest = b""
        conn.unfinished += len(rest)
        if not rest or conn.unfinished > _MOST_LINGERING:
            self._forget(conn)

    def _forget(self, conn: Connection) -> None:
        del self._lingering[conn]
        self.poller.unregister(conn.sock)
        self._close(conn)

    def _close(self, conn: Connection) -> None:
        self.nr_conns -= 1
        conn.close()

    def _watch(self, conn: Connection, readable: Callable[[Connection, Any], None]) -> None:
        self.poller.register(conn.sock, EVENT_READ, partial(readable, conn))

    # In a thread, or in a fibre.

    def handle(self, conn: Connection) -> object:
        """Answer a request that has arrived; called by gunicorn, too."""
        try:
            # As many as its declared length may take, so that one connection ends at last.
            if not conn.receive(1 + self._limits.body // PIECE):
                return _MORE
        except Refusal as refusal:
            self._refuse(conn, refusal.status)
            return _END
        except EOFError:
            return _END
        if not conn.has_room():
            # It sends on and takes no answers; the next one would hold this thread.
            return _END
        conn.parser.unreader.unread(conn.arrival.take())
        request = None
        try:
            request = next(conn.parser)
            if isinstance(request.body.reader, ChunkedReader):
                # Malformed chunks are found now, and not by the application.
                decoded = request.body.read()
                request.body.buf.write(decoded)
            keep = self._keepalive_after(conn, self.handle_request(request, conn))
        except (OSError, StopIteration):
            # The peer is gone, or did not take its answer in time.
            return _END
        except Exception as error:
            self.handle_error(request, conn.sock, conn.client, error)
            return _END
        return _KEEP if keep else _END

    def handle_error(self, req: Any, client: Any, addr: Any, exc: Exception) -> None:
        """Refuse what the parser did not take, without quoting it."""
        status = _STATUS.get(type(exc), 400 if isinstance(exc, ParseException) else 500)
        if status == 500:
            _log.error("unforeseen %s at %s", type(exc).__name__, place(exc.__traceback__))
        self.app.refused(status)
        refuse(client, status)

    def _refuse(self, conn: Connection, status: int) -> None:
        self.app.refused(status)
        refuse(conn.sock, status)


def _overdue(connections: dict[Connection, None], now: float) -> list[Connection]:
    """The first ones whose time is over; they stand in the order of their deadlines."""
    overdue = []
    for conn in connections:
        if conn.deadline > now:
            break
        overdue.append(conn)
    return overdue
