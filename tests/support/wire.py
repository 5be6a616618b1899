"""Raw HTTP requests, and the processor time of the processes that answer them."""

import contextlib
import fcntl
import random
import socket
import ssl
import struct
import termios
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from socketserver import ThreadingMixIn
from typing import Any

from werkzeug.serving import make_server

#: Timeout in seconds of all waits.
PATIENCE = 120

REPORTS = "/v1/surveys/health/reports"


def connect(url: str) -> socket.socket:
    """Connect to a server on loopback."""
    host, port = url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=PATIENCE)


def post(body: bytes, *headers: str) -> bytes:
    """Return the bytes of a POST request."""
    lines = [f"POST {REPORTS} HTTP/1.1", "Host: here", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


def get(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: here\r\n\r\n".encode()


def in_chunks(*parts: bytes, path: str = REPORTS) -> bytes:
    """Return the bytes of a POST request whose body has these chunks."""
    head = f"POST {path} HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    return head + b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def answers(connection: socket.socket, count: int) -> list[int]:
    """Return the statuses of the next answers, fewer if the connection ends before."""
    reader = connection.makefile("rb")
    statuses: list[int] = []
    while len(statuses) < count and (line := reader.readline()):
        statuses.append(int(line.split()[1]))
        length, in_chunks = 0, False
        while (header := reader.readline()) not in (b"\r\n", b""):
            if header.lower().startswith(b"content-length:"):
                length = int(header.split(b":")[1])
            in_chunks |= header.lower().startswith(b"transfer-encoding: chunked")
        reader.read(length)
        while in_chunks and (size := int(reader.readline(), 16)):
            reader.read(size + 2)
        reader.read(2 * in_chunks)
    return statuses


def rest(connection: socket.socket) -> bytes:
    """Read until the other side closes the connection."""
    received = b""
    with contextlib.suppress(ConnectionResetError):
        while data := connection.recv(65_536):
            received += data
    return received


def taken(connection: socket.socket) -> bool:
    """Whether a server on loopback has read everything that was sent to it."""
    unsent = fcntl.ioctl(connection, termios.TIOCOUTQ, bytes(4))
    ends = [f":{port:04X}" for _, port in (connection.getpeername(), connection.getsockname())]
    for line in Path("/proc/net/tcp").read_text().splitlines():
        columns = line.split()
        if columns[1][-5:] == ends[0] and columns[2][-5:] == ends[1]:
            # The server's side; the receive queue follows the colon.
            return not struct.unpack("i", unsent)[0] and int(columns[4].split(":")[1], 16) == 0
    return False


def free_port() -> int:
    """Return an unused port outside the range of ephemeral ports.

    While the server is down, a client that connects to an ephemeral port may be assigned that
    very port and reach itself.
    """
    lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    while True:
        port = random.SystemRandom().randrange(10_000, lowest)
        with socket.socket() as tried, contextlib.suppress(OSError):
            tried.bind(("127.0.0.1", port))
            return port


@contextlib.contextmanager
def listening(
    app: Callable[..., Any], port: int = 0, tls: ssl.SSLContext | None = None
) -> Iterator[str]:
    """Serve an app on loopback until the block is left; the value is its URL."""

    def whole(*request: Any) -> list[bytes]:
        parts = app(*request)
        try:
            return list(parts)
        finally:
            # wsgiref skips this if the client disconnects meanwhile.
            if hasattr(parts, "close"):
                parts.close()

    made = make_server("127.0.0.1", port, whole, threaded=True, ssl_context=tls)
    with running(made) as server:
        yield f"http{'s' if tls else ''}://127.0.0.1:{server.server_port}"


@contextlib.contextmanager
def running(server: ThreadingMixIn) -> Iterator[ThreadingMixIn]:
    """Run a threaded server until the block is left.

    On exit its port is free and all requests have ended, so that none uses a resource that has been
    closed.
    """
    opened: weakref.WeakSet[socket.socket] = weakref.WeakSet()
    accept = server.get_request

    def note() -> tuple[socket.socket, object]:
        connection, address = accept()
        opened.add(connection)
        return connection, address

    server.get_request = note
    server.daemon_threads = False
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        for connection in list(opened):
            # Do not wait for idle keep-alive connections.
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RD)
        server.server_close()


def wait_until(condition: Callable[[], object], seconds: float = PATIENCE) -> None:
    """Poll for a condition that no event signals."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.005)


def children(pid: int) -> list[int]:
    """Return the running child processes of a process."""
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return sorted(int(child) for task in tasks for child in task.read_text().split())


def processor_seconds(pids: list[int]) -> float:
    """Return the processor time of all threads of these processes, to the nanosecond."""
    spent = 0
    for pid in pids:
        for task in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                spent += int((task / "schedstat").read_text().split()[0])
    return spent / 1e9
