"""``halftruth admin key`` and ``halftruth admin sealing-key``: files of private keys."""

from pathlib import Path

import click

from .. import operations
from ..collector_store import open_existing_store
from . import options
from .output import print_table


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
