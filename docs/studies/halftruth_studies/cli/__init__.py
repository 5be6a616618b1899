"""Commands of ``halftruth study``; other packages add theirs by entry points, as these do."""

import click
from halftruth_collector.cli import Commands


@click.group(cls=Commands, words="study")
def study() -> None:
    """Compare other methods of protecting records, on true records."""
