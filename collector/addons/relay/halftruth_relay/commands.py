"""``halftruth relay``: run a relay, which passes reports on to collectors in shuffled batches."""

import click
from halftruth_collector.cli import options
from halftruth_collector.cli.output import print_table
from halftruth_collector.cli.serve import listening, run_server
from halftruth_collector.ops.settings import Config

#: Default of the processes of a relay.
WORKERS = 1

#: Default database; its name differs from that of a collector in the same folder.
_database = click.option(
    "--database",
    envvar="HALFTRUTH_DATABASE",
    default="sqlite:///halftruth-relay.db",
    show_default=True,
    metavar="URL",
    help="SQLAlchemy URL of SQLite or PostgreSQL, of the relay alone.",
)


@click.group()
def relay() -> None:
    """Run a relay that hides from collectors who sent a report."""


@relay.command()
@_database
@listening(port=8001, workers=WORKERS)
def serve(database: str, workers: int | None, **settings: object) -> None:
    """Run the relay until it is interrupted."""
    from .app import key_file
    from .store import RelayStore

    # Fail here, in one line, if a setting is wrong or the database cannot be used.
    config = Config.from_environment()
    key_file(config)
    with options.naming(RelayStore(database)):
        pass
    number = workers or config.workers or WORKERS
    run_server(
        database,
        program="relay",
        module=f"{__package__}.app",
        workers=number,
        threads=1,
        **settings,
    )


@relay.command()
@click.argument("collector")
@click.argument("survey")
@click.option(
    "--token",
    envvar="HALFTRUTH_TOKEN",
    prompt="Token of the role relay",
    hide_input=True,
    help="Token of the role relay for this survey; by default HALFTRUTH_TOKEN, or asked for.",
)
@click.option("--digest", help="Refuse the survey unless it has this digest.")
@click.option(
    "--operator-key",
    "operator_keys",
    multiple=True,
    metavar="KEY",
    help="Refuse the survey unless this public key signed it; repeat it for others.",
)
@_database
def register(
    collector: str,
    survey: str,
    token: str,
    digest: str | None,
    operator_keys: tuple[str, ...],
    database: str,
) -> None:
    """Accept reports for SURVEY, as published by COLLECTOR.

    COLLECTOR is the URL of the collector. The survey has to name this relay by the URL in
    HALFTRUTH_RELAY_URL and by keys of the file in HALFTRUTH_RELAY_KEYS. From then on, only reports
    with the digest of this survey are accepted. Repeat the command to renew the token or the
    deadline.
    """
    from halftruth_shared import ParameterError
    from halftruth_shared.protocol.signed_tickets import TicketKeys

    from . import operations
    from .app import key_file
    from .store import RelayStore

    config = Config.from_environment()
    if config.relay_url is None:
        raise ParameterError(
            "HALFTRUTH_RELAY_URL: expected the address of this relay, as the survey names it",
            field="HALFTRUTH_RELAY_URL",
        )
    keys = key_file(config).keys
    with options.naming(RelayStore(database)) as store:
        done = operations.register(
            store,
            collector,
            survey,
            token,
            url=config.relay_url,
            keys=keys.public,
            tickets_keys=TicketKeys(keys).public,
            digest=digest,
            operator_keys=operator_keys,
        )
    until = "until the collector closes it"
    if done.closes_at is not None:
        until = f"until {done.closes_at:%Y-%m-%d %H:%M:%S} UTC"
    click.echo(f"registered {done.id} with digest {done.digest}, {until}")
    click.echo(f"passes on at least {done.relay.batch} reports, or none")


@relay.command()
@_database
def status(database: str) -> None:
    """Print the status and the numbers of reports of every survey."""
    from .operations import describe_doubt, describe_stop
    from .store import open_existing_relay

    with options.naming(open_existing_relay(database)) as store:
        rows = [(survey, store.held(survey)) for survey in store.all()]
    print_table(
        [
            *("survey", "digest", "status", "held", "passed on", "not opened", "tickets", "batch"),
            "collector",
        ],
        [
            [
                survey.id,
                survey.digest[:12],
                survey.status,
                str(held.reports),
                str(survey.passed),
                str(survey.unopened),
                "–" if survey.relay.tickets_key is None else str(survey.issued),
                str(survey.relay.batch),
                survey.collector,
            ]
            for survey, held in rows
        ],
    )
    for survey, held in rows:
        if survey.is_doubtful:
            click.echo(describe_doubt(survey))
        if survey.is_stopped:
            click.echo(describe_stop(survey))
        if survey.status == "withheld":
            click.echo(
                f"{survey.id}: {held.reports - held.due} reports are fewer than a batch, and are"
                " not passed on"
            )


@relay.command()
@click.argument("survey")
@options.confirmed("SURVEY")
@_database
def close(survey: str, confirm: str | None, database: str) -> None:
    """Close SURVEY, and take no more reports for it.

    Its last reports are passed on if they are enough for a batch.
    """
    from . import operations
    from .store import open_existing_relay

    with options.naming(open_existing_relay(database)) as store:
        operations.close(store, survey, confirm=confirm)
    click.echo(f"{survey} is closed; the running relay passes its reports on")


@relay.command()
@click.argument("survey")
@_database
def resume(survey: str, database: str) -> None:
    """Release further batches of SURVEY after a stop.

    A relay stops after a batch with many reports that the collector could not open.
    """
    from . import operations
    from .store import open_existing_relay

    with open_existing_relay(database) as store:
        was_stopped = operations.resume(store, survey)
    click.echo(
        f"{survey}: the running relay releases further batches"
        if was_stopped
        else f"{survey}: nothing was stopped"
    )


@relay.command()
@options.closed_for(
    "Only surveys that closed at least this many days ago; 0 for all closed surveys."
)
@options.confirmed("IDS")
@_database
def purge(days: int, confirm: str | None, database: str) -> None:
    """Delete ids of passed-on reports, and withheld reports.

    Withheld reports were fewer than a batch when their survey was closed. Surveys with reports that
    the collector has not acknowledged yet are skipped. Confirm with the ids of the surveys,
    separated by commas, or with '*' for all that closed so long ago.
    """
    from . import operations
    from .store import open_existing_relay

    with options.naming(open_existing_relay(database)) as store:
        done = operations.purge(store, days, confirm=confirm)
    for id, ids, reports in done:
        click.echo(f"{id}: {ids} ids and {reports} reports deleted")
    if not done:
        click.echo(f"no survey that closed {days} days ago still has ids")


@relay.group()
def key() -> None:
    """Create and list the keys of this relay.

    Devices seal their reports to these keys. With a second key the relay signs tickets.
    """


@key.command("create")
@click.argument("file", type=click.Path())
def create_key(file: str) -> None:
    """Add a new private key to FILE and print its public keys.

    They are printed as lines of a survey file: the key that reports are sealed to, and the one that
    tickets are signed with. FILE is created if it does not exist. Its other keys stay, for the
    surveys that name them.
    """
    from halftruth_shared.protocol.sealing import SealingKeys, create_sealing_key
    from halftruth_shared.protocol.signed_tickets import TicketKeys

    public = create_sealing_key(file)
    click.echo(f'key = "{public}"')
    click.echo(f'tickets_key = "{TicketKeys(SealingKeys.read(file)).public[0]}"')


@key.command("list")
@click.argument("file", type=click.Path())
def list_keys(file: str) -> None:
    """List the public keys of FILE, newest first."""
    from halftruth_shared.protocol.sealing import SealingKeys
    from halftruth_shared.protocol.signed_tickets import TicketKeys

    keys = SealingKeys.read(file)
    rows = zip(keys.public, TicketKeys(keys).public, strict=True)
    print_table(["key", "tickets_key"], [list(row) for row in rows])
