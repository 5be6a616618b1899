"""The help of all commands, and the names of their options."""

import re

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


@pytest.mark.parametrize(("command", "ctx"), COMMANDS)
def test_help_fits_80_columns_without_truncated_sentences(command, ctx):
    lines = command.get_help(ctx).splitlines()
    assert not [line for line in lines if len(line) > 80]
    # Usage lines have "..." for repeated arguments.
    assert not [line for line in lines if line.endswith("...") and "Usage:" not in line]


def test_help_begins_with_commands_that_exist():
    _, ctx = next(walk())
    first = main.get_help(ctx).partition("Begin:")[2].partition("Options:")[0]
    begun = re.findall(r"^    halftruth ((?:[a-z-]+ ?)+)", first, re.M)
    assert [each.strip() for each in begun] == ["demo", "survey new", "survey from-csv", "plan"]
    for words in begun:
        command, parent = main, ctx
        for word in words.split()[:2]:
            command = command.get_command(parent, word)
            parent = click.Context(command, parent, word)
