"""``halftruth invite``: issue, count and withdraw invitations."""

import re

import click
from halftruth_shared import ParameterError

from ..store import Store
from . import options
from .output import print_table


@click.group()
def invite() -> None:
    """Issue, count and withdraw invitations, each of which lets one report in."""


@invite.command()
@click.argument("survey")
@click.argument("count", type=int)
@options.database
def create(survey: str, count: int, database: str) -> None:
    """Print COUNT new invitations for SURVEY, one a line.

    They are not stored and cannot be shown again. Whoever has one can use it, once. Where forms are
    hosted by the collector, a person's address is /s/SURVEY#invitation=INVITATION.
    """
    with Store(database) as store:
        stored = store.surveys.get(survey)
        made = store.invitations.create(survey, count)
    for invitation in made:
        click.echo(invitation)
    if not stored.terms.invitations:
        click.echo(
            f"halftruth: {survey} takes reports without invitations, too; see 'survey terms'",
            err=True,
        )


@invite.command("list")
@click.argument("survey")
@options.database
def list_invitations(survey: str, database: str) -> None:
    """Count the invitations for SURVEY; which of them were used is not known."""
    with Store(database) as store:
        found = store.invitations.count(survey)
    print_table(
        ["survey", "issued", "used", "withdrawn", "unused"],
        [[survey, found.issued, found.used, found.withdrawn, found.unused]],
    )


@invite.command()
@click.argument("survey")
@click.argument("invitations", nargs=-1)
@click.option("--all", "every", is_flag=True, help="All that nobody used yet.")
@options.database
def revoke(survey: str, invitations: tuple[str, ...], every: bool, database: str) -> None:
    """Make INVITATIONS for SURVEY useless that nobody used yet."""
    if every == bool(invitations):
        raise ParameterError("invitations: expected some of them, or --all", field="invitations")
    if not all(re.fullmatch("[0-9a-f]{32}", invitation) for invitation in invitations):
        raise ParameterError(
            "invitations: expected 32 hexadecimal digits each", field="invitations"
        )
    chosen = None if every else [bytes.fromhex(invitation) for invitation in invitations]
    with Store(database) as store:
        click.echo(f"withdrawn {store.invitations.revoke(survey, chosen)}")
