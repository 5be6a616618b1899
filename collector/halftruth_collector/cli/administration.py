"""``halftruth admin``: tables, audit log, back-ups, tokens, keys; export and import of counts."""

from contextlib import closing
from pathlib import Path

import click
import msgspec
from msgspec.structs import astuple

from .. import operations
from ..collector_store import Store, open_existing_store
from ..store.database import Database
from . import Commands, options
from .output import print_table, progress_bar


@click.command()
@options.database
def migrate(database: str) -> None:
    """Migrate a database to the version of this program.

    First stop every collector of this database and back it up.
    """
    with closing(Database(database)) as opened:
        before, now = opened.migrate()
    if before != now:
        options.name_written(opened, is_new=before is None)
    if before == now:
        click.echo(f"the tables are of version {now} already")
    else:
        click.echo(f"migrated the tables from version {before or 'none'} to {now}")


@click.command("audit-log")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@options.store
def audit_log(as_json: bool, store: Store) -> None:
    """Print the actions of operators, oldest first."""
    entries = store.audit.all()
    if as_json:
        for entry in entries:
            click.echo(msgspec.json.encode(entry).decode())
        return
    print_table(
        ["when (UTC)", "who", "what", "to", "detail"],
        [[f"{at:%Y-%m-%d %H:%M:%S}", *rest] for _, at, *rest in map(astuple, entries)],
    )


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--check", is_flag=True, help="Verify an existing FILE; no database is needed.")
@options.database
def backup(file: Path, check: bool, database: str) -> None:
    """Write a back-up into a new FILE.

    The back-up is consistent even while the collector runs. With --check, verify the checksum of a
    back-up that was made before, the digests of its surveys, and that each survey has as many ids
    as reports. 'restore' verifies the same.
    """
    if check:
        found = operations.check_backup(file)
        click.echo(f"{file} is unchanged: {found.rows} rows, {found.reports} reports")
        return
    opened = options.naming(open_existing_store(database))
    with opened as store, progress_bar("rows") as progress:
        rows = operations.back_up(store, file, progress)
    click.echo(f"{rows} rows in {file}")


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@options.database
def restore(file: Path, database: str) -> None:
    """Restore a back-up FILE into an empty database.

    The database can be SQLite or PostgreSQL, whichever the back-up was made from.
    """
    # Before a new database is created.
    operations.check_backup(file)
    with options.naming(Store(database)) as store, progress_bar("rows") as progress:
        rows = operations.restore(store, file, progress)
    click.echo(f"{rows} rows from {file}")


@click.command("export")
@click.argument("survey")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@options.store
def export_reports(survey: str, file: Path, store: Store) -> None:
    """Write SURVEY and its perturbed reports into a new FILE.

    Another collector can add them to its own, with 'halftruth reports import'.
    """
    with progress_bar("reports") as progress:
        reports = operations.export_reports(store, survey, file, progress)
    click.echo(f"{reports} reports in {file}")


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@options.database
def import_reports(file: Path, database: str) -> None:
    """Count the reports of a FILE from 'export' or 'count', each once.

    Either all of its reports are new, or all were imported before; importing a file again is safe.
    """
    with options.naming(Store(database)) as store, progress_bar("reports") as progress:
        done = operations.import_reports(store, file, progress)
    click.echo(f"counted {done.counted} reports; {done.repeated} had been counted before")


@click.group(cls=Commands, words="admin token")
def token() -> None:
    """Create, list and revoke tokens."""


@click.group(cls=Commands, words="admin key")
def key() -> None:
    """Create, show, list and revoke the keys for signing surveys."""


@key.command("create")
@click.argument("file", type=click.Path())
def create_key(file: str) -> None:
    """Write a new private key to FILE and print its public key.

    Clients pin the public key and refuse surveys that it did not sign. The file need not be on
    the collector's machine, and nothing that runs there reads it.
    """
    # Import here and below, since few commands need cryptography, which is slow to import.
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


@click.group("sealing-key")
def sealing_key() -> None:
    """Create, list and retire the keys for sealed reports."""


@sealing_key.command("create")
@click.argument("file", type=click.Path())
def create_sealing(file: str) -> None:
    """Add a new private key to FILE and print its public key.

    The file is created if it does not exist. Its other keys stay, for reports under way.
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
@options.confirmed("PUBLIC")
# There is no default, since a newly created database has no survey that uses the key.
@click.option(
    "--database",
    envvar="HALFTRUTH_DATABASE",
    required=True,
    metavar="URL",
    help="SQLAlchemy URL of the collector's database.",
)
def retire_sealing(file: str, public: str, confirm: str | None, database: str) -> None:
    """Remove the private key of the key PUBLIC from FILE.

    Reports sealed to it cannot be opened any more. So first publish terms with another key, and
    wait until the reports under way have arrived. The command refuses while the key is used by a
    survey that is open, or that can be reopened because it has no reports.
    """
    with options.naming(open_existing_store(database)) as store:
        operations.retire_sealing_key(store, public, Path(file), confirm=confirm)
    click.echo(f"retired {public}")
