"""Commands of actions, derived from their declarations."""

from collections.abc import Iterator
from typing import Any

import click
import msgspec
from halftruth_shared.analyses.reading import fields, read

from ..operations import ACTIONS, Action, Command, Done, Table
from . import options
from .output import print_table, secrets_to

#: What confirms an action that is about no single survey or key.
_SEVERAL = "IDS"


def _command(action: Action[..., Any], shown: Command) -> click.Command:
    """Return a command of an action."""
    says, about, kind = shown.says, action.about, action.arguments
    has_lines = isinstance(says, Table) and says.has_lines
    params: list[click.Parameter] = []
    if about is not None:
        params.append(click.Argument(["subject"], metavar=about.metavar))
    fixed = {name: [str(value).lower()] for name, value in shown.given.items()}
    free = {name: each for name, each in fields(kind).items() if name not in fixed}
    params += options.make_query_options(free, {}, has_default=False)
    if has_lines:
        text = "Print one JSON object per line."
        params.append(click.Option(["--json", "as_lines"], is_flag=True, help=text))

    def run(store: Any, **given: Any) -> None:
        subject, confirm = given.pop("subject", None), given.pop("confirm", None)
        as_lines, output = given.pop("as_lines", False), given.pop("output", None)
        asked = read(kind, options.query_texts(given) | fixed)
        if shown.secret:
            with secrets_to(output, shown.secret) as write:
                done = Done(subject, asked, action.run(store, subject, asked, confirm))
                write("".join(f"{line}\n" for line in _lines(says, done)))
            return
        done = Done(subject, asked, action.run(store, subject, asked, confirm))
        if isinstance(says, Table) and not as_lines:
            print_table(says.header, [says.row(each) for each in says.elements(done)])
            return
        for line in _lines(says, done):
            click.echo(line)

    run = options.store(run)
    if action.is_final:
        run = options.confirmed(_SEVERAL if about is None else about.metavar)(run)
    if shown.secret:
        run = options.secrets_file(run)
    text = shown.summary or action.description
    made = click.command(shown.words.split()[-1], help=text)(run)
    made.params[:0] = params
    return made


def _lines(says: Any, done: Done) -> Iterator[str]:
    """Yield the lines that a command prints."""
    if isinstance(says, Table):
        yield from (msgspec.json.encode(each).decode() for each in says.elements(done))
    elif isinstance(says, str):
        yield says.format(subject=done.subject, arguments=done.arguments, result=done.result)
    else:
        yield from says(done)


#: Derived commands by their words: groups and name.
COMMANDS = {
    shown.words: _command(action, shown)
    for action in ACTIONS
    for shown in action.commands
    if shown.says is not None
}


def commands_of(group: str) -> dict[str, click.Command]:
    """Return the derived commands of a group, by name."""
    parts = ((words.rpartition(" "), command) for words, command in COMMANDS.items())
    return {name: command for (before, _, name), command in parts if before == group}
