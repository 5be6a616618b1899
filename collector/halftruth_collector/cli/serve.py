"""``halftruth serve``: run the collector."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from ..ops.settings import THREADS, Config
from . import options

C = TypeVar("C", bound=Callable[..., Any])

#: Default of the processes of a collector.
WORKERS = 2


def listening(port: int, workers: int) -> Callable[[C], C]:
    """Options of a server, with the defaults of its port and of its processes."""
    given = (
        click.option(
            "--host", default="127.0.0.1", show_default=True, help="Address to listen on."
        ),
        click.option(
            "--port",
            type=click.IntRange(0, 65_535),
            metavar="NUMBER",
            default=port,
            show_default=True,
            help="Port; 0 takes any free one.",
        ),
        click.option(
            "--workers",
            type=click.IntRange(1, 64),
            metavar="NUMBER",
            help=f"Processes; by default HALFTRUTH_WORKERS, or {workers}.",
        ),
        click.option("--quiet", is_flag=True, help="Log problems only, no line for each request."),
    )

    def add(command: C) -> C:
        for option in reversed(given):
            command = option(command)
        return command

    return add


def run_server(database: str, **settings: Any) -> None:
    """Become a server with these settings, in a fresh interpreter."""
    import json
    import os
    import sys

    os.environ["HALFTRUTH_DATABASE"] = database
    # Analyses run in parallel, so threads of BLAS would only wait for each other. NumPy reads this
    # variable when it is imported.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # The fresh interpreter does not contain the modules that this command imported.
    module = ["-m", "halftruth_collector.server.serve"]
    os.execv(sys.executable, [sys.executable, *module, json.dumps(settings)])  # noqa: S606


@click.command()
@options.database
@listening(port=8000, workers=WORKERS)
@click.option(
    "--threads",
    type=click.IntRange(1, 64),
    metavar="NUMBER",
    help=f"Analyses at the same time in each process; by default HALFTRUTH_THREADS, or {THREADS}.",
)
def serve(database: str, workers: int | None, threads: int | None, **settings: Any) -> None:
    """Run the collector until it is interrupted."""
    from ..collector_store import Store

    # Fail here, in one line, if a setting is wrong or the database cannot be used.
    config = Config.from_environment()
    if config.sealing_keys is not None:
        from ..store.keys import SealingKeyFile

        SealingKeyFile(config.sealing_keys)
    with options.naming(Store(database)):
        pass
    run_server(
        database,
        workers=workers or config.workers or WORKERS,
        threads=threads or config.threads or THREADS,
        **settings,
    )
