"""``halftruth serve``: run the collector."""

import click

from ..ops.settings import Config
from . import options


@click.command()
@options.database
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=8000,
    show_default=True,
    help="Port; 0 takes any free one.",
)
@click.option(
    "--workers", type=click.IntRange(1, 64), default=2, show_default=True, help="Processes."
)
@click.option(
    "--threads",
    type=click.IntRange(1, 64),
    default=4,
    show_default=True,
    help="Analyses at the same time in each process.",
)
@click.option("--quiet", is_flag=True, help="Log problems only, no line for each request.")
def serve(database: str, host: str, port: int, workers: int, threads: int, quiet: bool) -> None:
    """Run the collector until it is interrupted."""
    import json
    import os
    import sys

    from ..collector_store import Store

    # Fail here, in one line, if a setting is wrong or the database cannot be used.
    config = Config.from_environment()
    if config.sealing_keys is not None:
        from ..store.keys import SealingKeyFile

        SealingKeyFile(config.sealing_keys)
    Store(database).close()
    settings = {"host": host, "port": port, "workers": workers, "threads": threads, "quiet": quiet}
    os.environ["HALFTRUTH_DATABASE"] = database
    # Analyses run side by side, so threads of BLAS would only wait for each other. NumPy reads this
    # when it is imported.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # A fresh interpreter, without what this command has imported.
    module = ["-m", "halftruth_collector.server.serve"]
    os.execv(sys.executable, [sys.executable, *module, json.dumps(settings)])  # noqa: S606
