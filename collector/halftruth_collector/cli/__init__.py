"""The command line ``halftruth``."""

import os
import sys
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from importlib import import_module
from typing import Any

import click
from halftruth_shared import HalftruthError

#: Where each command is, by the path to it. A command is imported when it is asked for, for what
#: all of them need takes longer to load than most of them take.
_ADMIN = {
    "audit-log": "administration:audit_log",
    "backup": "administration:backup",
    "compact": "administration:compact",
    "key": "administration:key",
    "migrate": "administration:migrate",
    "purge": "administration:purge",
    "restore": "administration:restore",
    "sealing-key": "administration:sealing_key",
    "token": "administration:token",
}
_ANALYSE = {
    "microdata": "microdata:microdata",
    "page": "report:report",
}
_REPORTS = {
    "count": "report_files:count",
    "export": "administration:export_reports",
    "import": "administration:import_reports",
    "perturb": "perturb:perturb",
    "read": "perturb:read",
    "write": "report_files:write",
}
_MAIN = {
    "admin": ":admin",
    "analyse": ":analyse",
    "audit": "audit:audit",
    "demo": "demo:demo",
    "plan": "plan:plan",
    "relay": "relay:relay",
    "reports": ":reports",
    "serve": "serve:serve",
    "study": "study:study",
    "survey": "surveys:survey",
}


class Commands(click.Group):
    """Group of commands, of which some are imported when they are asked for.

    Parameters
    ----------
    places : mapping of str to str
        Module and name of each of these.
    """

    def __init__(self, *args: Any, places: Mapping[str, str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._places = places

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of all commands."""
        return sorted({*self.commands, *self._places})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name, if there is one."""
        if cmd_name not in self._places:
            return super().get_command(ctx, cmd_name)
        module, _, name = self._places[cmd_name].partition(":")
        command: click.Command = getattr(import_module(f"{__name__}.{module}".rstrip(".")), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command, or say which have a name nearly like it: of this group, or of any."""
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as error:
            wanted, root = error.command_name, ctx.find_root()
            here = "halftruth" + ctx.command_path.removeprefix(root.command_path)
            likely = [
                f"'{here} {name}'" for name in get_close_matches(wanted, self.list_commands(ctx))
            ]
            if not likely:
                paths = {path: path.split()[-1] for path in _paths(main, root)}
                near = get_close_matches(wanted, paths.values(), cutoff=0.75)
                likely = [f"'halftruth {path}'" for path, name in paths.items() if name in near]
            way_out = (
                f"did you mean {' or '.join(likely)}?"
                if likely
                else f"expected one of: {', '.join(self.list_commands(ctx))}"
            )
            message = f"there is no command '{wanted}'; {way_out}"
            raise click.NoSuchCommand(wanted, message, ctx=ctx) from None


class Analyses(Commands):
    """The group of all analyses, and of what is made of several."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of all commands."""
        from .analyses import COMMANDS

        return sorted({*COMMANDS, *self._places})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name, if there is one."""
        from .analyses import COMMANDS

        return super().get_command(ctx, cmd_name) or COMMANDS.get(cmd_name)


class Main(Commands):
    """Says what is wrong in one line on standard error, and ends with status 2."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command line; whatever it writes is for its user alone."""
        umask = os.umask(0o077)
        try:
            return super().main(*args, **{**kwargs, "standalone_mode": False})
        except click.exceptions.Exit as end:
            sys.exit(end.exit_code)
        except (click.Abort, KeyboardInterrupt):
            sys.exit(130)
        except BrokenPipeError:
            # The reader of a pipe had enough.
            sys.stderr.close()
            sys.exit(1)
        except click.exceptions.NoArgsIsHelpError as error:
            # Help keeps its lines.
            error.show()
            sys.exit(2)
        except click.ClickException as error:
            message = error.format_message()
        except HalftruthError as error:
            message = str(error)
        finally:
            os.umask(umask)
        click.echo(f"halftruth: {' '.join(message.split())}", err=True)
        sys.exit(2)


def _paths(group: click.Group, ctx: click.Context, path: str = "") -> Iterator[str]:
    """Paths of all commands of a group and of those in it."""
    for name in group.list_commands(ctx):
        command = group.get_command(ctx, name)
        yield f"{path}{name}"
        if isinstance(command, click.Group):
            yield from _paths(command, ctx, f"{path}{name} ")


@click.group(cls=Main, places=_MAIN, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="halftruth-collector", prog_name="halftruth")
def main() -> None:
    """Ask sensitive questions without ever learning anyone's answer."""


@click.group(cls=Commands, places=_ADMIN)
def admin() -> None:
    """Keys, tokens, tables and back-ups of a collector."""


@click.group(cls=Analyses, places=_ANALYSE)
def analyse() -> None:
    """Ask for results of a survey, one way or another."""


@click.group(cls=Commands, places=_REPORTS)
def reports() -> None:
    """Perturb records, and read, count, export and import reports in files."""


__all__ = ["main"]
