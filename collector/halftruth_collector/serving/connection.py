"""A connection of a worker, and what has arrived on it."""

import select
import socket
import time
from typing import Any

from gunicorn.http.errors import NoMoreData
from gunicorn.http.parser import RequestParser
from gunicorn.http.unreader import Unreader
from gunicorn.workers.gthread import TConn

from .arrival import Arrival, Limits

#: Bytes taken from a socket at once.
PIECE = 65_536


class _Received(Unreader):
    """What has arrived; a parser that wants more finds the end."""

    def chunk(self, size_hint: int | None = None) -> bytes:
        raise NoMoreData


class Connection(TConn):
    """A connection and what has arrived on it.

    Parameters
    ----------
    limits : Limits
    cfg, sock, client, server
        As gunicorn's own connection takes them.
    """

    def __init__(self, limits: Limits, cfg: Any, sock: Any, client: Any, server: Any) -> None:
        super().__init__(cfg, sock, client, server)
        self._limits = limits
        self.parser = RequestParser(cfg, iter(()), client)
        self.parser.unreader = _Received()
        # What must not wait says so by itself; a change back and forth would cost every request.
        sock.setblocking(True)
        self.unfinished = 0
        #: Whether the main loop looks for another request on it, and whether it answers one.
        self.watched = False
        self.busy = False
        self.expect()
        self.begin()

    def expect(self) -> None:
        """Expect another request, which may have arrived together with the one before."""
        self.arrival = Arrival(self._limits, self.parser.unreader.take_buffered())

    def begin(self) -> None:
        """Give a request that begins to arrive its time."""
        self.deadline = time.monotonic() + self._limits.seconds

    def receive(self, pieces: int) -> bool:
        """Take what is there; whether that is a whole request.

        Parameters
        ----------
        pieces : int
            Most pieces to take.

        Raises
        ------
        Refusal
        EOFError
            If the peer is gone.
        """
        for _ in range(pieces):
            if self.arrival.is_whole():
                break
            try:
                data = self.sock.recv(PIECE, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return False
            except OSError:
                raise EOFError from None
            if not data:
                raise EOFError
            self.arrival.add(data)
        return self.arrival.is_whole()

    def has_room(self) -> bool:
        """Whether the system takes an answer without waiting for the peer."""
        poll = select.poll()
        poll.register(self.sock, select.POLLOUT)
        return bool(poll.poll(0))
