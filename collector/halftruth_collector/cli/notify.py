"""``halftruth admin notify``: tell a program of the operator what happened to surveys."""

from datetime import UTC, datetime
from pathlib import Path

import click
from halftruth_shared import ParameterError

from ..collector_store import Store
from ..notices import find_notices, read_key, read_sent, send, write_sent
from ..ops.settings import Config
from . import options


@click.command()
@click.argument("state", type=click.Path(dir_okay=False, path_type=Path))
@options.store
def notify(state: Path, store: Store) -> None:
    """Post notices about surveys that closed, are full or silent.

    A timer runs this, at most once an hour. The address is HALFTRUTH_HOOK_URL, and the file
    HALFTRUTH_HOOK_KEY has the key of the signatures. STATE is a file for what was sent; the first
    run creates it, and sends nothing about earlier events.
    """
    config = Config.from_environment(only=["hook_url", "hook_key", "hook_silent_days"])
    if config.hook_url is None or config.hook_key is None:
        raise ParameterError(
            "HALFTRUTH_HOOK_URL, HALFTRUTH_HOOK_KEY: expected an address and a file with a key",
            field="HALFTRUTH_HOOK_URL",
        )
    key, sent = read_key(config.hook_key), read_sent(state)
    today = datetime.now(UTC).date()
    holds = find_notices(
        store.surveys.states(), store.reports.last_days(), today, config.hook_silent_days
    )
    if sent is None:
        write_sent(state, (notice.id for notice in holds))
        click.echo(f"created {state}; notices follow for what happens from now on")
        return
    # What no longer holds can happen again.
    done = {notice.id for notice in holds if notice.id in sent}
    write_sent(state, done)
    for notice in holds:
        if notice.id not in done:
            send(config.hook_url, key, notice)
            done.add(notice.id)
            write_sent(state, done)
            click.echo(f"sent: {notice.survey} {notice.event}")
