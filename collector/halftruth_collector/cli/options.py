"""Options that several commands share."""

import click

from ..config import DEFAULT_DATABASE

database = click.option(
    "--database",
    envvar="HALFTRUTH_DATABASE",
    default=DEFAULT_DATABASE,
    show_default=True,
    metavar="URL",
    help="SQLAlchemy URL of SQLite or PostgreSQL.",
)
