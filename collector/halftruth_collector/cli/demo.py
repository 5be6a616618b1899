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
    # With fewer, there may be no report about some of the questions that are drawn together.
    type=click.IntRange(1_000, 48_842),
    metavar="N",
    help="Send the records of only N people, 1000 or more, evenly spaced.",
)
def demo(keep: str | None, people: int | None) -> None:
    """Compare estimates with the true values of 48 842 people.

    The records are CENSUS, from the Adult data. The real client perturbs them and sends them over
    HTTP to a collector on this machine: with a split questionnaire for wanted tables, and with
    three other designs of the same γ for comparison. Without --keep, all data are deleted
    afterwards.
    """
    # Import here, since no other command needs it.
    from ..demo.run import run_demo

    run_demo(keep, people)
