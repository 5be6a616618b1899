"""``halftruth admin``: tables, audit log, back-ups, tokens, keys; export and import of counts."""

from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import get_args

import click
import msgspec

from .. import operations
from ..collector_store import Store, open_existing_store
from ..store.database import Database
from ..store.retention import KEEP_DAYS
from ..store.tokens import Role
from . import options
from .output import print_table, progress_bar, secrets_to


@click.command()
@options.database
def migrate(database: str) -> None:
    """Bring the tables of a database to the version of this program.

    Stop every collector of this database and back it up before.
    """
    with closing(Database(database)) as opened:
        before, now = opened.migrate()
    if before == now:
        click.echo(f"the tables are of version {now} already")
    else:
        click.echo(f"migrated the tables from version {before or 'none'} to {now}")


@click.command()
@options.database
def compact(database: str) -> None:
    """Destroy the order in which reports arrived, as far as the database's files have it.

    Closing a survey does it, too. Reports that arrive meanwhile wait for it.
    """
    with open_existing_store(database) as store:
        operations.compact(store)
    click.echo("the files hold no order of arrival")


@click.command()
@click.option(
    "--closed-for",
    "days",
    type=int,
    default=KEEP_DAYS,
    show_default=True,
    metavar="DAYS",
    help="Surveys that ended so many days ago; 0 for all that have ended.",
)
@options.database
def purge(days: int, database: str) -> None:
    """Delete the ids of reports and the unused invitations of surveys that have ended; counts stay.

    A survey ends when it is closed, at its deadline, or when its quota is full; a deadline or quota
    that is purged cannot be extended any more.

    Ids tell who took part, to whoever has a person's device as well. They serve to count no report
    twice, so let the last retries arrive first. Reports of a purged survey can be exported no more.
    """
    with open_existing_store(database) as store:
        done = operations.purge(store, days)
    for each in done:
        click.echo(f"{each.id}: {each.ids} ids and {each.invitations} unused invitations deleted")
    if not done:
        click.echo(f"no survey that ended {days} days ago still has ids")


@click.command("audit-log")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
@options.database
def audit_log(as_json: bool, database: str) -> None:
    """Print what operators did, the oldest first."""
    with open_existing_store(database) as store:
        entries = store.audit.all()
    if as_json:
        for entry in entries:
            click.echo(msgspec.json.encode(entry).decode())
        return
    print_table(
        ["when (UTC)", "who", "what", "to", "detail"],
        [
            [
                f"{entry.at:%Y-%m-%d %H:%M:%S}",
                entry.actor,
                entry.action,
                entry.subject,
                entry.detail,
            ]
            for entry in entries
        ],
    )


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@options.database
def backup(file: Path, database: str) -> None:
    """Write everything into a new FILE, as it is at one moment, while the collector runs."""
    with open_existing_store(database) as store, progress_bar("rows") as progress:
        rows = operations.back_up(store, file, progress)
    click.echo(f"{rows} rows in {file}")


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@options.database
def restore(file: Path, database: str) -> None:
    """Read a back-up FILE into an empty database, of either kind."""
    with Store(database) as store, progress_bar("rows") as progress:
        rows = operations.restore(store, file, progress)
    click.echo(f"{rows} rows from {file}")


@click.command("export")
@click.argument("survey")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@options.database
def export_reports(survey: str, file: Path, database: str) -> None:
    """Write SURVEY and its perturbed reports into a new FILE, for another collector."""
    with open_existing_store(database) as store, progress_bar("reports") as progress:
        reports = operations.export_reports(store, survey, file, progress)
    click.echo(f"{reports} reports in {file}")


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@options.database
def import_reports(file: Path, database: str) -> None:
    """Count the reports of a FILE that another collector exported, or that 'count' made, each once.

    Its reports are all new here, or all known: importing a file again does no harm.
    """
    with Store(database) as store, progress_bar("reports") as progress:
        done = operations.import_reports(store, file, progress)
    click.echo(f"counted {done.counted} reports; {done.repeated} had been counted before")


@click.group()
def token() -> None:
    """Create, list and revoke tokens."""


@token.command("create")
@click.option("--role", type=click.Choice(get_args(Role)), required=True, help="What it is for.")
@click.option(
    "--survey", metavar="ID", help="The only survey it is for: a relay's, or an analyst's."
)
@click.option("--name", metavar="TEXT", help="Whose it is or what it is for, to tell it by.")
@click.option(
    "--expires",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="DATE",
    help="The last day (UTC) on which it is good, such as 2027-12-31; for ever by default.",
)
@options.secrets_file
@options.database
def create_token(
    role: Role,
    survey: str | None,
    name: str | None,
    expires: datetime | None,
    output: str | None,
    database: str,
) -> None:
    """Print a new token. It is not stored and cannot be shown again.

    An operator may do everything, an analyst reads results, a monitor reads metrics, a relay passes
    on the reports of its survey.
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


@token.command("revoke")
@click.argument("id")
@options.database
def revoke_token(id: str, database: str) -> None:
    """Make the token with this ID useless."""
    with open_existing_store(database) as store:
        operations.revoke_token(store, id)
    click.echo(f"revoked {id}")


@click.group()
def key() -> None:
    """Create, show, list and revoke the keys that operators sign surveys with."""


@key.command("create")
@click.argument("file", type=click.Path())
def create_key(file: str) -> None:
    """Write a new private key to FILE and print its public key.

    Clients pin the public key and refuse surveys that it did not sign. The file need not be on
    the collector's machine, and nothing that runs there reads it.
    """
    # Imported here and below: few commands need cryptography, and the library takes a while.
    from halftruth_shared.protocol.signing import OperatorKey

    new = OperatorKey.create()
    new.write(file)
    click.echo(new.public)


@key.command("show")
@click.argument("file", type=click.Path())
def show_key(file: str) -> None:
    """Print the public key of the private key in FILE."""
    from halftruth_shared.protocol.signing import OperatorKey

    click.echo(OperatorKey.read(file).public)


@key.command("list")
@options.database
def list_keys(database: str) -> None:
    """List the public keys that signed a survey here or were revoked."""
    with open_existing_store(database) as store:
        known = store.keys.all()
    print_table(
        ["public key", "surveys", "revoked"],
        [
            [
                each.key,
                ", ".join(each.surveys),
                f"{each.revoked_at:%Y-%m-%d %H:%M}" if each.revoked_at else "no",
            ]
            for each in known
        ],
    )


@key.command("revoke")
@click.argument("public")
@options.database
def revoke_key(public: str, database: str) -> None:
    """Serve no signature by the key PUBLIC any more, and take no new one.

    Clients that pin it refuse its surveys until these are signed by another key that they pin. A
    client cannot learn here that a key was revoked: take it out of their pins, too.
    """
    with open_existing_store(database) as store:
        unsigned = operations.revoke_key(store, public)
    click.echo(f"revoked {public}")
    for id in unsigned:
        click.echo(f"{id} is not signed any more")


@click.group("sealing-key")
def sealing_key() -> None:
    """Create, list and retire the keys that reports are sealed to."""


@sealing_key.command("create")
@click.argument("file", type=click.Path())
def create_sealing(file: str) -> None:
    """Put a new private key into FILE and print its public key.

    The file is created where it does not exist. The keys that it has stay, for reports that are
    still under way.
    """
    from halftruth_shared.protocol.sealing import create_sealing_key

    click.echo(create_sealing_key(file))


@sealing_key.command("list")
@click.argument("file", type=click.Path())
def list_sealing(file: str) -> None:
    """List the public keys of FILE, newest first."""
    from halftruth_shared.protocol.sealing import SealingKeys

    print_table(["public key"], [[public] for public in SealingKeys.read(file).public])


@sealing_key.command("retire")
@click.argument("file", type=click.Path())
@click.argument("public")
# No default: in a file that is made just now no survey uses a key.
@click.option("--database", envvar="HALFTRUTH_DATABASE", required=True, help="Of the collector.")
def retire_sealing(file: str, public: str, database: str) -> None:
    """Take the private key of the key PUBLIC out of FILE.

    No report sealed to it can be opened again, so first publish terms with another key and wait
    until the reports under way have arrived. Refused as long as a survey of the database is
    sealed to it that is open, or can be reopened since it has no report.
    """
    with open_existing_store(database) as store:
        operations.retire_sealing_key(store, Path(file), public)
    click.echo(f"retired {public}")
