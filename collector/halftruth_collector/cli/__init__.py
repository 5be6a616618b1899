"""The command line ``halftruth``."""

import os
import sys
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import EntryPoint
from typing import Any

import click
from halftruth_shared import HalftruthError
from halftruth_shared.addons import load, points

from ..ops.settings import describe_unknown_variables

#: Module and function of each command, by name. A command is imported when it is used, because
#: importing all of them takes longer than running most of them.
_ADMIN = {
    "audit-log": "administration:audit_log",
    "backup": "administration:backup",
    "key": "administration:key",
    "migrate": "administration:migrate",
    "notify": "notify:notify",
    "restore": "administration:restore",
    "sealing-key": "administration:sealing_key",
    "token": "administration:token",
}
_ANALYSE = {
    "microdata": "microdata:microdata",
    "page": "report:report",
}
_REPORTS = {
    "export": "administration:export_reports",
    "import": "administration:import_reports",
    "perturb": "perturb:perturb",
}
_MAIN = {
    "admin": ":admin",
    "analyse": ":analyse",
    "audit": "audit:audit",
    "demo": "demo:demo",
    "plan": "plan:plan",
    "reports": ":reports",
    "serve": "serve:serve",
    "survey": "surveys:survey",
}

#: Commands of add-ons of this project, for the error where they are not installed.
_ADDED = {
    "relay": "halftruth-relay",
    "reports count": "halftruth-files",
    "reports read": "halftruth-field",
    "reports write": "halftruth-files",
    "study": "halftruth-studies",
}

#: Commands that optimize designs. Their matrices are so small that threads of BLAS only wait for
#: each other, which doubles the time. NumPy reads the number of threads when it is imported.
_SINGLE_THREADED = ("audit", "plan")


class Commands(click.Group):
    """Group of commands that are imported when they are used.

    Other packages add commands by the entry points ``halftruth.commands``, whose names are the
    words of the command, such as ``admin.token.renew``.

    Parameters
    ----------
    places : mapping of str to str
        Module and function of each command.
    words : str
        Words of this group, such as ``admin token``; actions with these words have a command in it.
    """

    def __init__(
        self, *args: Any, places: Mapping[str, str] | None = None, words: str = "", **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self._places, self._words = places or {}, words

    def _derived(self) -> dict[str, click.Command]:
        """Return the commands of actions by name."""
        if not self._words:
            return {}
        from .actions import commands_of

        return commands_of(self._words)

    def _added(self) -> dict[str, EntryPoint]:
        """Return the entry points of the commands that other packages add to this group."""
        found = {}
        for name, point in points("commands").items():
            before, _, last = name.replace(".", " ").rpartition(" ")
            if before == self._words:
                found[last] = point
        return found

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted({*self.commands, *self._places, *self._derived(), *self._added()})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command with a name, if there is one."""
        if cmd_name not in self._places:
            found = super().get_command(ctx, cmd_name) or self._derived().get(cmd_name)
            point = None if found else self._added().get(cmd_name)
            return load(point) if point else found
        if cmd_name in _SINGLE_THREADED:
            os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        module, _, name = self._places[cmd_name].partition(":")
        command: click.Command = getattr(import_module(f"{__name__}.{module}".rstrip(".")), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; for an unknown name, suggest similar commands of this or any group."""
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as error:
            unknown, root = error.command_name, ctx.find_root()
            words = ctx.command_path.removeprefix(root.command_path).strip()
            if package := _ADDED.get(f"{words} {unknown}".strip()):
                message = f"there is no command '{unknown}'; expected {package} to be installed"
                raise click.NoSuchCommand(unknown, message, ctx=ctx) from None
            group = f"halftruth {words}".strip()
            similar = [
                f"'{group} {name}'" for name in get_close_matches(unknown, self.list_commands(ctx))
            ]
            if not similar:
                paths = {path: path.split()[-1] for path in _list_paths(main, root)}
                near = get_close_matches(unknown, paths.values(), cutoff=0.75)
                similar = [f"'halftruth {path}'" for path, name in paths.items() if name in near]
            advice = (
                f"did you mean {' or '.join(similar)}?"
                if similar
                else f"expected one of: {', '.join(self.list_commands(ctx))}"
            )
            message = f"there is no command '{unknown}'; {advice}"
            raise click.NoSuchCommand(unknown, message, ctx=ctx) from None


class Analyses(Commands):
    """Group of all analyses, and of reports that combine several analyses."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        from .analyses import COMMANDS

        return sorted({*COMMANDS, *super().list_commands(ctx)})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command with a name, if there is one."""
        from .analyses import COMMANDS

        derived = None if cmd_name in self._places else COMMANDS.get(cmd_name)
        return derived or super().get_command(ctx, cmd_name)


class Main(Commands):
    """Main command, which prints errors as one line on standard error and exits with status 2."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command line, creating files that only their user can read."""
        umask = os.umask(0o077)
        for line in describe_unknown_variables(os.environ):
            click.echo(f"halftruth: {line}", err=True)
        try:
            return super().main(*args, **{**kwargs, "standalone_mode": False})
        except click.exceptions.Exit as end:
            sys.exit(end.exit_code)
        except (click.Abort, KeyboardInterrupt):
            sys.exit(130)
        except BrokenPipeError:
            # The reader closed the pipe.
            sys.stderr.close()
            sys.exit(1)
        except click.exceptions.NoArgsIsHelpError as error:
            # Show the help with its line breaks.
            error.show()
            sys.exit(2)
        except click.ClickException as error:
            message = error.format_message()
        except HalftruthError as error:
            message = getattr(error, "for_operators", str(error))
        finally:
            os.umask(umask)
        click.echo(f"halftruth: {' '.join(message.split())}", err=True)
        sys.exit(2)


def _list_paths(group: click.Group, ctx: click.Context, path: str = "") -> Iterator[str]:
    """Yield the paths of all commands of a group and its subgroups."""
    for name in group.list_commands(ctx):
        command = group.get_command(ctx, name)
        yield f"{path}{name}"
        if isinstance(command, click.Group):
            yield from _list_paths(command, ctx, f"{path}{name} ")


@click.group(cls=Main, places=_MAIN, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="halftruth-collector", prog_name="halftruth")
def main() -> None:
    """Ask sensitive questions without ever learning anyone's answer.

    \b
    Begin:
      halftruth demo                        try it on 48 842 records
      halftruth survey new                  write a survey, question by question
      halftruth survey from-csv FILE        make a survey from a table of records
      halftruth plan FILE --respondents 3000 --detect "smoker by sex: 10 points"
                                            predict how precise results will be
      halftruth COMMAND --help              explain a command and its options
    """  # noqa: D301 (click's mark of a paragraph that keeps its lines)


@click.group(cls=Commands, places=_ADMIN, words="admin")
def admin() -> None:
    """Keys, tokens, tables and back-ups of a collector."""


@click.group(cls=Analyses, places=_ANALYSE, words="analyse")
def analyse() -> None:
    """Analyse the reports of a survey."""


@click.group(cls=Commands, places=_REPORTS, words="reports")
def reports() -> None:
    """Perturb records in files; read, count, export and import reports."""


__all__ = ["main"]
