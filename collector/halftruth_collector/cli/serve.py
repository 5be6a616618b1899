"""``halftruth serve``: run the collector."""

import click

from ..config import Config
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
    "--threads", type=click.IntRange(1, 64), default=16, show_default=True, help="In each process."
)
@click.option("--quiet", is_flag=True, help="Log problems only, no line for each request.")
def serve(database: str, host: str, port: int, workers: int, threads: int, quiet: bool) -> None:
    """Run the collector until it is interrupted."""
    # Imported here: no other command needs the server, and it takes a while.
    from dataclasses import replace

    from ..serving.server import Server

    def ready(address: str) -> None:
        click.echo(f"halftruth collector on {address}")

    config = replace(Config.from_environment(), database=database)
    Server(
        config, host=host, port=port, workers=workers, threads=threads, ready=ready, quiet=quiet
    ).run()
