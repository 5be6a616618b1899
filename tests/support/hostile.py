"""Requests designed to be expensive for a collector, and their cost to its workers."""

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

#: Bytes of the repeated part of a request.
SIZES = (8_192, 65_536, 1_048_576)

#: Processor seconds to spend on a size before their mean is reliable.
_ENOUGH = 0.03

#: Maximum number of requests of each size.
_MOST = 30


def _head(fields: bytes) -> bytes:
    return f"POST {REPORTS} HTTP/1.1\r\nHost: here\r\n".encode() + fields + b"\r\n\r\n"


#: Builders of whole requests, given the size of the expensive part in bytes.
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
    """Return a builder of requests of a given size whose last report is invalid."""

    def make(size: int) -> bytes:
        batch = [{"id": str(uuid4()), "values": [0, 1]} for _ in range(max(1, size // 66))]
        batch[-1]["values"] = [0, 9]
        return post(json.dumps({"digest": digest, "reports": batch}).encode())

    return make


def cost(url: str, workers: list[int], make: Callable[[int], bytes], size: int) -> float:
    """Return the processor seconds that one request of a size costs the workers."""
    request = make(size)
    before = processor_seconds(workers)
    sent = 0
    while not sent or (sent < _MOST and processor_seconds(workers) - before < _ENOUGH):
        ask(url, request)
        sent += 1
    return (processor_seconds(workers) - before) / sent


def ask(url: str, request: bytes) -> int:
    """Send a request and return the status of its answer, or 0 without one."""
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
    # A server that refuses early does not read the rest.
    with contextlib.suppress(OSError):
        connection.sendall(data)


@dataclass
class Beside:
    """Single reports sent one after the other during another activity.

    Attributes
    ----------
    statuses : set of int
    seconds : list of float
        Duration of each request.
    """

    statuses: set[int]
    seconds: list[float]


@contextmanager
def reports_beside(url: str, body: Callable[[], bytes]) -> Iterator[Beside]:
    """Send single reports until the block is left."""
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
    """Open `count` connections and send half a request head, or half a body, on each."""
    whole = get("/healthz") if heads else post(b"x" * 1_000)
    with ExitStack() as stack:
        connections = [stack.enter_context(connect(url)) for _ in range(count)]
        for connection in connections:
            connection.sendall(whole[: len(whole) // 2])
        yield connections
