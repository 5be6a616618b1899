"""A peer that counts nothing, in separate processes."""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import waitress
from flask import Flask, request
from flask.typing import ResponseReturnValue
from halftruth_collector.cli.serve import WORKERS
from halftruth_collector.server.processes import Processes

#: Threads per process of the peer.
THREADS = 64


def serve(workers: int) -> None:
    """Serve an application that parses JSON and returns a fixed response."""
    app = Flask("bare")

    @app.post("/v1/surveys/<survey_id>/reports")
    def add_reports(survey_id: str) -> ResponseReturnValue:
        request.get_json()
        return {"accepted": 1, "duplicates": 0}, 202

    listening = socket.create_server(("127.0.0.1", 0), backlog=1024)

    def work(end: int) -> None:
        server = waitress.create_server(
            app, sockets=[listening], threads=THREADS, asyncore_use_poll=True, connection_limit=500
        )
        threading.Thread(target=server.run, daemon=True).start()
        os.read(end, 1)

    processes = Processes(workers, work=work, upgrade=lambda: None, ended=lambda _: None)
    processes.start()
    print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
    processes.keep()
    processes.end()


@contextmanager
def bare(workers: int = WORKERS) -> Iterator[str]:
    """Run the peer on a free loopback port until the block is left; the value is its address."""
    command = [sys.executable, __file__, str(workers)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


if __name__ == "__main__":
    serve(int(sys.argv[1]))
