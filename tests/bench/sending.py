"""Send prepared bodies over a few connections, and print the seconds taken.

A separate program, so that the client's work is not done by the compared process. Its arguments are
the address, the path, and the files that contain the bodies.
"""

import http.client
import queue
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

#: Number of concurrent requests.
CONNECTIONS = 4

_HEADERS = {"Content-Type": "application/json"}


def send(address: str, path: str, bodies: Sequence[bytes]) -> float:
    """Return the seconds from the first request to the last response."""
    waiting: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    for body in bodies:
        waiting.put(body)
    with ThreadPoolExecutor(CONNECTIONS) as threads:
        started = time.perf_counter()
        sent = [threads.submit(_send, address, path, waiting) for _ in range(CONNECTIONS)]
        for connection in sent:
            connection.result()
        return time.perf_counter() - started


def _send(address: str, path: str, waiting: "queue.SimpleQueue[bytes]") -> None:
    connection = http.client.HTTPConnection(urlsplit(address).netloc)
    while True:
        try:
            body = waiting.get_nowait()
        except queue.Empty:
            break
        connection.request("POST", path, body, _HEADERS)
        answer = connection.getresponse()
        said = answer.read()
        if answer.status != 202:
            raise RuntimeError(f"a batch was answered {answer.status}: {said.decode()}")
    connection.close()


if __name__ == "__main__":
    print(send(sys.argv[1], sys.argv[2], [Path(name).read_bytes() for name in sys.argv[3:]]))
