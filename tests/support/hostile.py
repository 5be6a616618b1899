"""Requests that are made to cost a collector much, and what they cost its workers."""

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from uuid import uuid4

from wire import REPORTS, answers, connect, get, in_chunks, post, processor_seconds

#: Bytes of what is repeated in a request.
SIZES = (8_192, 65_536, 1_048_576)

#: Seconds of the processor that are to be used for a size before their mean means anything.
_ENOUGH = 0.03

#: Requests of each size, at the most.
_MOST = 30


def _head(fields: bytes) -> bytes:
    return f"POST {REPORTS} HTTP/1.1\r\nHost: here\r\n".encode() + fields + b"\r\n\r\n"


#: A whole request with so many bytes of what is bad about it.
ATTACKS: dict[str, Callable[[int], bytes]] = {
    "one-byte chunks": lambda size: in_chunks(*[b"x"] * size),
    "extensions of a chunk": lambda size: in_chunks().replace(
        b"0\r\n", b"0" + b";a=b" * (size // 4) + b"\r\n"
    ),
    "trailers": lambda size: in_chunks(b"x")[:-2] + b"X-More: x\r\n" * (size // 11) + b"\r\n",
    "blanks in a header": lambda size: _head(b"Expect: " + b" " * size + b"100-continue"),
    "blanks in Content-Type": lambda size: post(b"{}", "Content-Type: " + " " * size + "x"),
    "header fields": lambda size: _head(b"\r\n".join([b"X-More: x"] * (size // 11))),
    "a request line": lambda size: b"GET /" + b"%2e/" * (size // 4) + b" HTTP/1.1\r\n\r\n",
    "addresses of proxies": lambda size: post(b"{}", "X-Forwarded-For: " + "1, " * (size // 3)),
    "nested JSON": lambda size: post(b"[" * size),
    "nested JSON of a report": lambda size: post(
        b'{"digest": "x", "reports": [' + b"[" * (size // 2) + b"]" * (size // 2) + b"]}"
    ),
    "digits": lambda size: post(b"9" * size),
    "blanks in JSON": lambda size: post(b" " * size + b"x"),
    "escapes in JSON": lambda size: post(b'{"' + rb"\u0041" * (size // 6) + b'": 1}'),
    "members of JSON": lambda size: post(b"{" + b'"a":1,' * (size // 6) + b'"b":1}'),
    "empty reports": lambda size: post(
        b'{"digest": "x", "reports": [' + b"{}," * (size // 3) + b"{}]}"
    ),
}


def reports(digest: str) -> Callable[[int], bytes]:
    """Requests of so many bytes of reports that are well but for the last one."""

    def make(size: int) -> bytes:
        batch = [{"id": str(uuid4()), "values": [0, 1]} for _ in range(max(1, size // 66))]
        batch[-1]["values"] = [0, 9]
        return post(json.dumps({"digest": digest, "reports": batch}).encode())

    return make


def cost(url: str, workers: list[int], make: Callable[[int], bytes], size: int) -> float:
    """Seconds of the processor that one request of a size costs the workers."""
    request = make(size)
    before = processor_seconds(workers)
    sent = 0
    while not sent or (sent < _MOST and processor_seconds(workers) - before < _ENOUGH):
        ask(url, request)
        sent += 1
    return (processor_seconds(workers) - before) / sent


def ask(url: str, request: bytes) -> int:
    """Send a request whatever becomes of it, and return the status of its answer, 0 if none."""
    with connect(url) as connection:
        sending = threading.Thread(target=_send, args=(connection, request))
        sending.start()
        try:
            statuses = answers(connection, 1)
        except ConnectionError:
            statuses = []
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
        sending.join()
    return (statuses or [0])[0]


def _send(connection: socket.socket, data: bytes) -> None:
    # Refused in the middle, the rest of it is not taken.
    with contextlib.suppress(OSError):
        connection.sendall(data)


@dataclass
class Beside:
    """Single reports that were sent one after the other while something else went on.

    Attributes
    ----------
    statuses : set of int
    seconds : list of float
        How long each one took.
    """

    statuses: set[int]
    seconds: list[float]


@contextmanager
def reports_beside(url: str, body: Callable[[], bytes]) -> Iterator[Beside]:
    """Send single reports as long as the block runs."""
    seen, done = Beside(set(), []), threading.Event()

    def send() -> None:
        with connect(url) as connection:
            while not done.is_set():
                started = time.monotonic()
                connection.sendall(post(body()))
                seen.statuses.update(answers(connection, 1) or [0])
                seen.seconds.append(time.monotonic() - started)

    sender = threading.Thread(target=send)
    sender.start()
    try:
        yield seen
    finally:
        done.set()
        sender.join()


@contextmanager
def half_sent(url: str, count: int, *, heads: bool) -> Iterator[list[socket.socket]]:
    """So many connections with half a head, or with half a body."""
    whole = get("/healthz") if heads else post(b"x" * 1_000)
    with ExitStack() as stack:
        connections = [stack.enter_context(connect(url)) for _ in range(count)]
        for connection in connections:
            connection.sendall(whole[: len(whole) // 2])
        yield connections
