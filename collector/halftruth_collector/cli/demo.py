"""``halftruth demo``: collection and estimation with real data."""

import click


@click.command()
@click.option(
    "--keep",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Keep the reports in this new SQLite file, for viewing with 'halftruth serve'.",
)
@click.option(
    "--people",
    type=click.IntRange(1, 48_842),
    metavar="N",
    help="Send the records of only N people, evenly spaced.",
)
def demo(keep: str | None, people: int | None) -> None:
    """Compare estimates with the true values of 48 842 people.

    The records are CENSUS, from the Adult data. The real client perturbs them and sends them over
    HTTP to a collector on this machine, with three mechanisms at the same privacy level. Without
    --keep, all data are deleted afterwards.
    """
    # Import here, since no other command needs it.
    from ..demo.run import run_demo

    run_demo(keep, people)
