"""``halftruth study``: commands of other distributions, such as halftruth-studies."""

from functools import cached_property

import click
from halftruth_shared.addons import added


class _Studies(click.Group):
    @cached_property
    def _added(self) -> dict[str, click.Command]:
        return dict(added("studies"))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Fail if no study is installed, even for ``--help``."""
        if not self._added:
            raise click.ClickException(
                "study: there is no study; expected halftruth-studies to be installed, from"
                " docs/studies of the repository or a wheel of make dist"
            )
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(self._added)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return self._added.get(cmd_name)


@click.group(cls=_Studies)
def study() -> None:
    """Compare other methods of protecting records, on true records."""
