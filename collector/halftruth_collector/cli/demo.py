"""``halftruth demo``: the whole way, on real input."""

import click


@click.command()
@click.option(
    "--keep",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Keep the reports in this new SQLite file, to look at them with serve.",
)
@click.option(
    "--people",
    type=click.IntRange(1, 48_842),
    metavar="N",
    help="Send the records of so many people alone, evenly spread.",
)
def demo(keep: str | None, people: int | None) -> None:
    """Send CENSUS through the real client, and compare what comes back with the truth.

    48 842 records of the Adult data go over HTTP into a collector on this machine, with three
    mechanisms at the same privacy level. Without --keep nothing is left behind.
    """
    # Imported here: no other command needs it.
    from ..demo.run import run_demo

    run_demo(keep, people)
