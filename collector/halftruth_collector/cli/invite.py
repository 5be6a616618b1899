"""``halftruth survey invite``: issue, count and withdraw invitations."""

import re
from urllib.parse import urlsplit

import click
from halftruth_shared import ParameterError

from .. import operations
from ..collector_store import Store
from ..web.invitations import as_csv, as_document, check_cards
from . import Commands, options
from .output import secrets_to, write


@click.group(cls=Commands, words="survey invite")
def invite() -> None:
    """Issue, count and withdraw invitations, each for one report."""


@invite.command()
@click.argument("survey")
@click.argument("count", type=int)
@click.option(
    "--links",
    "collector",
    metavar="URL",
    help="Address of the collector; print CSV with the address of the form for each invitation.",
)
@click.option(
    "--cards",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Also write a page for printing, with a QR code card for each invitation; needs --links.",
)
@options.secrets_file
@options.store
def create(
    survey: str,
    count: int,
    collector: str | None,
    cards: str | None,
    output: str | None,
    store: Store,
) -> None:
    """Print COUNT new invitations for SURVEY, one per line.

    They are not stored and cannot be shown again. Each can be used once, by anyone who has it. With
    forms hosted by the collector, the address for a person is /s/SURVEY#invitation=INVITATION.
    """
    form = None if collector is None else _form(collector, survey)
    if cards is not None:
        _check_cards(form, cards, count)
    with secrets_to(output, f"{count} invitations") as write_secrets:
        stored = store.surveys.get(survey)
        made = operations.create_invitations(store, survey, count)
        lines = "".join(f"{invitation}\n" for invitation in made)
        write_secrets(lines if form is None else as_csv(form, made))
    if form is not None and cards is not None:
        page = as_document(stored.survey().title_in(), form, made)
        write(cards, page.encode(), "cards")
    if not stored.terms.invitations:
        click.echo(
            f"halftruth: {survey} takes reports without invitations, too; see 'survey terms'",
            err=True,
        )


@invite.command()
@click.argument("survey")
@click.argument("invitations", nargs=-1)
@click.option(
    "--all", "every", is_flag=True, help="Withdraw all unused invitations; needs a confirmation."
)
@options.confirmed("SURVEY")
@options.store
def revoke(
    survey: str, invitations: tuple[str, ...], every: bool, confirm: str | None, store: Store
) -> None:
    """Withdraw unused INVITATIONS for SURVEY."""
    if every == bool(invitations):
        raise ParameterError("invitations: expected some of them, or --all", field="invitations")
    if not all(re.fullmatch("[0-9a-f]{32}", invitation) for invitation in invitations):
        raise ParameterError(
            "invitations: expected 32 hexadecimal digits each", field="invitations"
        )
    chosen = None if every else [bytes.fromhex(invitation) for invitation in invitations]
    count = operations.revoke_invitations(store, survey, chosen, confirm=confirm)
    click.echo(f"withdrawn {count}")


def _form(collector: str, survey: str) -> str:
    """Return the address of the hosted form of a survey."""
    parts = urlsplit(collector)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.query or parts.fragment:
        raise ParameterError(
            "links: expected the address of a collector, such as https://collect.example.org",
            field="links",
        )
    return f"{collector.rstrip('/')}/s/{survey}"


def _check_cards(form: str | None, file: str, count: int) -> None:
    """Check everything that can fail before creating invitations, which are shown only once."""
    if form is None:
        raise ParameterError("cards: expected --links with it", field="cards")
    check_cards(count)
    write(file, b"", "cards")
