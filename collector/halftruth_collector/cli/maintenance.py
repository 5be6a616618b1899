"""Commands that keep a collector's database: migrate, audit log, back-ups, and counts of others."""

from contextlib import closing
from pathlib import Path

import click
import msgspec

from .. import operations
from ..collector_store import Store, open_existing_store
from ..store.database import Database
from ..store.retention import KEEP_DAYS
from . import options
from .output import print_table, progress_bar


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
