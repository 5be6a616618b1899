"""``halftruth study``: commands of other distributions, such as halftruth-studies."""

from importlib.metadata import entry_points

import click

#: Entry points that are commands of ``halftruth study``.
_GROUP = "halftruth.studies"


class _Studies(click.Group):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Fail if no study is installed, even for ``--help``."""
        if not entry_points(group=_GROUP):
            raise click.ClickException(
                "study: there is no study; expected halftruth-studies to be installed, from"
                " docs/studies of the repository or a wheel of make dist"
            )
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(entry_points(group=_GROUP).names)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        for entry in entry_points(group=_GROUP, name=cmd_name):
            command: click.Command = entry.load()
            return command
        return None


@click.group(cls=_Studies)
def study() -> None:
    """Compare other methods of protecting records, on true records."""
