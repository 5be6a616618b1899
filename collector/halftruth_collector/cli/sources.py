"""Sources of counts: a database here, or a collector elsewhere."""

from collections.abc import Iterator
from contextlib import contextmanager

from halftruth_shared import ParameterError

from ..analyses import Analysis, Counted, stored
from ..analyses.base import Q, R
from ..collector_store import open_existing_store
from ..ops.settings import Config


@contextmanager
def counted_in(database: str, survey: str) -> Iterator[Counted]:
    """Read the counts of a survey from a database, and of its waves as long as it is open."""
    # Whoever has the database can read all of it: this keeps them from concluding.
    least = Config.from_environment(only=["min_reports"]).min_reports
    with open_existing_store(database) as store:
        yield stored.counted_in(store.surveys, store.reports, survey, least)


def result_of(
    analysis: Analysis[Q, R],
    query: Q,
    survey: str,
    database: str,
    url: str | None,
    token: str | None,
) -> R:
    """Ask the collector of an address, or compute from the counts of a database.

    Raises
    ------
    ParameterError
        If there is an address and no token.
    """
    if url is None:
        with counted_in(database, survey) as counted:
            return analysis.compute(counted, query)
    if token is None:
        raise ParameterError(
            "--token: expected an analyst's token with --url, or HALFTRUTH_TOKEN", field="token"
        )
    # Imported here: who computes from a database sends no requests.
    from halftruth_client import Analyst

    result: R = Analyst(url, token).ask(survey, query)
    return result
