"""The command line ``halftruth``."""

import os
import sys
from importlib import import_module
from typing import Any

import click
from halftruth_shared import HalftruthError

#: Where each command is that is more than an analysis. A command is imported when it is asked for,
#: for what all of them need takes longer to load than most of them take.
_PLACES = {
    "audit": "audit:audit",
    "audit-log": "maintenance:audit_log",
    "backup": "maintenance:backup",
    "compact": "maintenance:compact",
    "count": "campaign:count",
    "demo": "demo:demo",
    "export": "maintenance:export_reports",
    "import": "maintenance:import_reports",
    "invite": "invite:invite",
    "key": "keys:key",
    "microdata": "microdata:microdata",
    "migrate": "maintenance:migrate",
    "perturb": "perturb:perturb",
    "plan": "plan:plan",
    "purge": "maintenance:purge",
    "report": "report:report",
    "reports": "campaign:reports",
    "restore": "maintenance:restore",
    "sealing-key": "keys:sealing_key",
    "serve": "serve:serve",
    "study": "study:study",
    "survey": "surveys:survey",
    "tables": "tables:tables",
    "token": "tokens:token",
}


class Commands(click.Group):
    """Says what is wrong in one line on standard error, and ends with status 2."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of all commands."""
        from .analyses import COMMANDS

        return sorted({*_PLACES, *COMMANDS})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name, if there is one."""
        if cmd_name in _PLACES:
            module, _, name = _PLACES[cmd_name].partition(":")
            command: click.Command = getattr(import_module(f"{__name__}.{module}"), name)
            return command
        from .analyses import COMMANDS

        return COMMANDS.get(cmd_name)

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
        except click.ClickException as error:
            message = error.format_message()
        except HalftruthError as error:
            message = str(error)
        finally:
            os.umask(umask)
        click.echo(f"halftruth: {' '.join(message.split())}", err=True)
        sys.exit(2)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="halftruth-collector", prog_name="halftruth")
def main() -> None:
    """Ask sensitive questions without ever learning anyone's answer."""


__all__ = ["main"]
