"""Where the commands for results get their counts from, and what they all may be asked."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from typing import Any, TypeVar, get_args

import click
from halftruth_client import Analyst
from halftruth_shared import ParameterError, Survey
from halftruth_shared.messages import Method, Request, Result, Target

from ..estimate import Counts
from ..store import Store
from . import options

Q = TypeVar("Q", bound=Request)
R = TypeVar("R", bound=Result)


@dataclass(frozen=True)
class Source:
    """A survey at the collector of an address, or in a database."""

    survey: str
    database: str
    url: str | None
    token: str | None

    def result(
        self,
        there: Callable[[Analyst], R],
        here: Callable[[Survey, Counts, datetime, Q], R],
        query: Q,
    ) -> R:
        """Ask the collector, or compute from the counts."""
        if self.url is None:
            with Store(self.database) as store:
                stored, counts, as_of = store.reports.counts(self.survey)
            return here(stored.survey(), counts, as_of, query)
        return there(self.analyst())

    def analyst(self) -> Analyst:
        """Who asks the collector.

        Raises
        ------
        ParameterError
            If there is no token.
        """
        if self.url is None or self.token is None:
            raise ParameterError(
                "--token: expected an analyst's token with --url, or HALFTRUTH_TOKEN",
                field="token",
            )
        return Analyst(self.url, self.token)


def source(command: Callable[..., Any]) -> Callable[..., Any]:
    """Where the counts come from: a database here, or a collector elsewhere."""

    @wraps(command)
    def with_source(
        *, survey: str, database: str, url: str | None, token: str | None, **asked: Any
    ) -> Any:
        return command(source=Source(survey, database, url, token), **asked)

    with_token = click.option(
        "--token", envvar="HALFTRUTH_TOKEN", help="Analyst's token, with --url."
    )(with_source)
    with_url = click.option(
        "--url", envvar="HALFTRUTH_URL", help="Address of a collector, instead of --database."
    )(with_token)
    return options.database(click.argument("survey")(with_url))


confidence = click.option(
    "--confidence", type=float, default=0.95, show_default=True, help="Of each interval."
)

target = click.option(
    "--target",
    type=click.Choice(get_args(Target)),
    default="population",
    show_default=True,
    help="Whether the respondents are a sample of those spoken of, or all of them.",
)


def estimate(default: Method) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """What supports are; the moment estimate or one inside the simplex."""
    return click.option(
        "--estimate",
        type=click.Choice(get_args(Method)),
        default=default,
        show_default=True,
        help="What supports are; intervals are always those of the moment estimate.",
    )


attributes = click.option(
    "--attributes", required=True, callback=lambda *given: names(given[2]), help="With commas."
)

present = click.option(
    "--present",
    multiple=True,
    metavar="ATTRIBUTE=CATEGORY",
    callback=lambda *given: pairs(given[2], "present"),
    help="Category that counts as presence; once for each attribute.",
)

measure_names = click.option(
    "--measures",
    default=None,
    callback=lambda *given: None if given[2] is None else names(given[2]),
    help="Names of measures with commas between them; all by default.",
)


def names(text: str) -> list[str]:
    """Names between commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def pairs(texts: tuple[str, ...], option: str) -> Mapping[str, str]:
    """Categories by attribute.

    Raises
    ------
    ParameterError
        If one has no equals sign, or an attribute is named twice.
    """
    found: dict[str, str] = {}
    for text in texts:
        name, equals, category = text.partition("=")
        if not equals:
            raise ParameterError(f"--{option}: expected ATTRIBUTE=CATEGORY", field=option)
        if name in found:
            raise ParameterError(
                f"--{option}: '{name}' is given twice; expected once", field=option
            )
        found[name] = category
    return found
