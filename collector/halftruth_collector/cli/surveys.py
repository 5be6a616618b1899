"""``halftruth survey``: publish, list and close surveys."""

import click
from halftruth_shared import epsilon, read_survey, worst_case_posterior

from ..store import Store
from . import options
from .output import print_table


@click.group()
def survey() -> None:
    """Publish, list and close surveys."""


@survey.command()
@click.argument("file", type=click.Path())
@options.database
def publish(file: str, database: str) -> None:
    """Publish the survey of a TOML FILE."""
    new = read_survey(file)
    with Store(database) as store:
        store.surveys.publish(new)
    gamma = new.mechanism.amplification(new.schema)
    posterior = worst_case_posterior("0.05", gamma)
    click.echo(f"published {new.id}, digest {new.digest}")
    click.echo(
        f"amplification {float(gamma):.6g} (epsilon {epsilon(gamma):.4g}): what someone thought"
        f" 5 % likely, a report can at most make {float(posterior):.1%} likely"
    )


@survey.command("list")
@options.database
def list_surveys(database: str) -> None:
    """List the surveys with their status."""
    with Store(database) as store:
        surveys = store.surveys.all()
    print_table(
        ["id", "status", "title", "mechanism", "digest"],
        [
            [
                stored.id,
                stored.status,
                stored.survey().title,
                stored.survey().mechanism.kind,
                stored.digest,
            ]
            for stored in surveys
        ],
    )


@survey.command()
@click.argument("id")
@options.database
def close(id: str, database: str) -> None:
    """Take no more reports for the survey ID."""
    with Store(database) as store:
        store.surveys.close(id)
    click.echo(f"closed {id}")
