"""The help of all commands, and the names of their options."""

import click
import pytest
from halftruth_collector.cli import main

#: Options with the name of a file or folder that is read.
READ = {
    "--earlier", "--hierarchies", "--key", "--pilot", "--sealing-keys", "--survey",
    "--terms",
}  # fmt: skip
#: Options with the name of a further file that is written, besides the main output.
FURTHER = {"--cards", "--map", "--parquet", "--plot", "--records"}


def walk(command=main, parent=None, name="halftruth"):
    """Yield every command with its context, whose help is 80 columns wide at most."""
    settings = {"terminal_width": 78, "max_content_width": 78}
    ctx = click.Context(command, parent, name, **settings, **command.context_settings)
    yield command, ctx
    if isinstance(command, click.Group):
        for each in command.list_commands(ctx):
            yield from walk(command.get_command(ctx, each), ctx, each)


COMMANDS = [pytest.param(*each, id=each[1].command_path) for each in walk()]


@pytest.mark.parametrize(("command", "ctx"), COMMANDS)
def test_options_that_write_files_have_one_name(command, ctx):
    for option in command.params:
        if not isinstance(option, click.Option):
            continue
        if "--output" in option.opts:
            assert option.opts == ["-o", "--output"]
            assert option.name == "output"
        elif isinstance(option.type, (click.Path, click.File)):
            [name] = option.opts
            # The demo's reports are in a database, which stays.
            assert name in READ | FURTHER or (ctx.info_name, name) == ("demo", "--keep")
            assert option.help.startswith("Also ") == (name in FURTHER)
