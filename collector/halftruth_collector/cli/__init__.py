"""The command line ``halftruth``."""

import sys
from typing import Any

import click
from halftruth_shared import HalftruthError

from .analyses import commands as analyses
from .attack import attack
from .audit import audit
from .classify import classify
from .compare import compare
from .demo import demo
from .invite import invite
from .keys import key, sealing_key
from .maintenance import (
    audit_log,
    backup,
    compact,
    export_reports,
    import_reports,
    migrate,
    restore,
)
from .perturb import perturb
from .plan import plan
from .rivals import rivals
from .serve import serve
from .surveys import survey
from .tokens import token


class OneLineErrors(click.Group):
    """Says what is wrong in one line on standard error, and ends with status 2."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command line."""
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
        click.echo(f"halftruth: {' '.join(message.split())}", err=True)
        sys.exit(2)


@click.group(cls=OneLineErrors, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="halftruth-collector", prog_name="halftruth")
def main() -> None:
    """Ask sensitive questions without ever learning anyone's answer."""


for command in (
    demo,
    serve,
    survey,
    token,
    key,
    sealing_key,
    invite,
    migrate,
    compact,
    backup,
    restore,
    export_reports,
    import_reports,
    audit_log,
    perturb,
    plan,
    audit,
    compare,
    rivals,
    *analyses,
    classify,
    attack,
):
    main.add_command(command)

__all__ = ["main"]
