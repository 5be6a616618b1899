"""A peer that counts nothing, in separate processes."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from flask import Flask, request
from flask.typing import ResponseReturnValue
from gunicorn.app.base import BaseApplication
from halftruth_collector.cli.serve import WORKERS

#: Threads per process of the peer.
THREADS = 16


class Bare(BaseApplication):
    """A typical threaded Flask server that parses JSON and returns a fixed response."""

    def load_config(self) -> None:
        settings: dict[str, Any] = {
            "bind": "127.0.0.1:0",
            "workers": WORKERS,
            "threads": THREADS,
            "worker_class": "gthread",
            "loglevel": "warning",
            "control_socket_disable": True,
            "when_ready": _say_address,
        }
        for name, value in settings.items():
            self.cfg.set(name, value)

    def load(self) -> Flask:
        app = Flask("bare")

        @app.post("/v1/surveys/<survey_id>/reports")
        def add_reports(survey_id: str) -> ResponseReturnValue:
            request.get_json()
            return {"accepted": 1, "duplicates": 0}, 202

        return app


def _say_address(arbiter: Any) -> None:
    host, port = arbiter.LISTENERS[0].sock.getsockname()
    print(f"http://{host}:{port}", flush=True)


@contextmanager
def bare() -> Iterator[str]:
    """Run the peer on a free loopback port until the block is left; the value is its address."""
    with subprocess.Popen([sys.executable, __file__], stdout=-1, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


if __name__ == "__main__":
    Bare().run()
