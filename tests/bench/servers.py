"""The collector as it is run, or a peer that counts nothing, in processes of its own."""

import os
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from flask import Flask, request
from flask.typing import ResponseReturnValue
from gunicorn.app.base import BaseApplication
from halftruth_collector.cli.serve import serve

#: Processes of both, as `halftruth serve` has by default.
WORKERS = next(option.default for option in serve.params if option.name == "workers")

#: Threads of the peer in each of them.
THREADS = 16

#: Seconds for open requests to finish.
_GRACE = 40

#: Lines of a log that are shown.
_LAST = 20

COLLECTOR = [sys.executable, "-m", "halftruth_collector", "serve", "--port", "0", "--quiet"]
BARE = [sys.executable, __file__]


class Bare(BaseApplication):
    """A Flask that parses what comes as JSON and says thank you, in threads, as others do."""

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
def serving(command: list[str], database: str, **settings: str) -> Iterator[str]:
    """Run a server on a free loopback port until the block is left; the value is its address.

    What it logs goes to a file, and the end of that to standard error if the block fails.
    """
    inherited = {name: v for name, v in os.environ.items() if not name.startswith("HALFTRUTH_")}
    chosen = {"HALFTRUTH_DATABASE": database, "HALFTRUTH_RATE_LIMIT": "off", **settings}
    with (
        tempfile.TemporaryFile("w+") as log,
        subprocess.Popen(
            command,
            env={**inherited, **chosen},
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as process,
    ):
        try:
            assert process.stdout is not None
            said = process.stdout.readline().split()
            if not said:
                raise RuntimeError("the server did not start")
            yield said[-1]
        except BaseException:
            log.seek(0)
            sys.stderr.writelines(deque(log, _LAST))
            raise
        finally:
            process.terminate()
            try:
                process.wait(_GRACE)
            except subprocess.TimeoutExpired:
                process.kill()


if __name__ == "__main__":
    Bare().run()
