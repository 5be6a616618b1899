"""``halftruth admin token``: create, list and revoke bearer tokens."""

from datetime import datetime
from typing import get_args

import click

from .. import operations
from ..collector_store import open_existing_store
from ..store.tokens import Role
from . import options
from .output import print_table, secrets_to


@click.group()
def token() -> None:
    """Create, list and revoke tokens."""


@token.command()
@click.option("--role", type=click.Choice(get_args(Role)), required=True, help="What it is for.")
@click.option("--survey", metavar="ID", help="The only survey that an analyst's token is for.")
@click.option("--name", metavar="TEXT", help="Whose it is or what it is for, to tell it by.")
@click.option(
    "--expires",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="DATE",
    help="The last day (UTC) on which it is good, such as 2027-12-31; for ever by default.",
)
@options.secrets_file
@options.database
def create(
    role: Role,
    survey: str | None,
    name: str | None,
    expires: datetime | None,
    output: str | None,
    database: str,
) -> None:
    """Print a new token. It is not stored and cannot be shown again.

    An operator may do everything, an analyst reads results, a monitor reads metrics.
    """
    last_day = None if expires is None else expires.date()
    with secrets_to(output, "a token") as write, open_existing_store(database) as store:
        token = operations.create_token(store, role, survey, name=name, expires=last_day)
        write(f"{token}\n")


@token.command("list")
@options.database
def list_tokens(database: str) -> None:
    """List the tokens by id; the tokens themselves are not stored."""
    with open_existing_store(database) as store:
        tokens = store.tokens.all()
    print_table(
        ["id", "name", "role", "survey", "created", "expires", "revoked"],
        [
            [
                known.id,
                known.name or "",
                known.role,
                known.survey or ("all" if known.role == "analyst" else ""),
                f"{known.created_at:%Y-%m-%d %H:%M}",
                f"{known.expires_at:%Y-%m-%d %H:%M}" if known.expires_at else "never",
                f"{known.revoked_at:%Y-%m-%d %H:%M}" if known.revoked_at else "no",
            ]
            for known in tokens
        ],
    )


@token.command()
@click.argument("id")
@options.database
def revoke(id: str, database: str) -> None:
    """Make the token with this ID useless."""
    with open_existing_store(database) as store:
        operations.revoke_token(store, id)
    click.echo(f"revoked {id}")
