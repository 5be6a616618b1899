"""``halftruth token``: create, list and revoke bearer tokens."""

from typing import get_args

import click

from ..access.tokens import Role
from ..store import Store
from . import options
from .output import print_table


@click.group()
def token() -> None:
    """Create, list and revoke tokens."""


@token.command()
@click.option("--role", type=click.Choice(get_args(Role)), required=True, help="What it is for.")
@click.option("--survey", metavar="ID", help="The only survey that an analyst's token is for.")
@options.database
def create(role: Role, survey: str | None, database: str) -> None:
    """Print a new token. It is not stored and cannot be shown again.

    An operator may do everything, an analyst reads results, a monitor reads metrics.
    """
    with Store(database) as store:
        click.echo(store.tokens.create(role, survey))


@token.command("list")
@options.database
def list_tokens(database: str) -> None:
    """List the tokens by id; the tokens themselves are not stored."""
    with Store(database) as store:
        tokens = store.tokens.all()
    print_table(
        ["id", "role", "survey", "created", "revoked"],
        [
            [
                known.id,
                known.role,
                known.survey or ("all" if known.role == "analyst" else ""),
                f"{known.created_at:%Y-%m-%d %H:%M}",
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
    with Store(database) as store:
        store.tokens.revoke(id)
    click.echo(f"revoked {id}")
