"""The collector, or a peer that counts nothing, under the same gunicorn in its own processes."""

import os
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from flask import Flask, request
from flask.typing import ResponseReturnValue
from halftruth_collector.cli.serve import serve
from halftruth_collector.config import Config
from halftruth_collector.serving.server import Server

#: As many processes and threads as `halftruth serve` has by default.
SIZE = {option.name: option.default for option in serve.params}

#: Seconds for open requests to finish.
_GRACE = 40

#: Lines of a log that are shown.
_LAST = 20


class Bare(Server):
    """A server that parses what comes as JSON, and says thank you; in threads, as others do."""

    brief = None

    def load(self) -> Flask:
        app = Flask("bare")

        @app.post("/v1/surveys/<survey_id>/reports")
        def add_reports(survey_id: str) -> ResponseReturnValue:
            request.get_json()
            return {"accepted": 1, "duplicates": 0}, 202

        return app


class BareInLoop(Bare):
    """The same in the main loops of the workers, as the collector answers single reports."""

    brief = Server.brief


@contextmanager
def serving(kind: type[Server], database: str) -> Iterator[str]:
    """Run a server on a free loopback port until the block is left; the value is its address.

    What it logs goes to a file, and the end of that to standard error if the block fails.
    """
    inherited = {name: v for name, v in os.environ.items() if not name.startswith("HALFTRUTH_")}
    settings = {"HALFTRUTH_DATABASE": database, "HALFTRUTH_RATE_LIMIT": "off"}
    with (
        tempfile.TemporaryFile("w+") as log,
        subprocess.Popen(
            [sys.executable, __file__, kind.__name__],
            env={**inherited, **settings},
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as process,
    ):
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            if not address:
                raise RuntimeError("the server did not start")
            yield address
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


def main() -> None:
    """Serve what the argument names, and print the address."""
    kinds: dict[str, type[Server]] = {kind.__name__: kind for kind in (Server, Bare, BareInLoop)}
    kinds[sys.argv[1]](
        Config.from_environment(),
        host="127.0.0.1",
        port=0,
        workers=SIZE["workers"],
        threads=SIZE["threads"],
        ready=lambda address: print(address, flush=True),
    ).run()


if __name__ == "__main__":
    main()
