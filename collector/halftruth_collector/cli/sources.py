"""Sources of counts: a database here, or a collector elsewhere."""

from halftruth_shared import ParameterError

from ..analyses import Analysis, Counted
from ..analyses.base import Q, R
from ..collector_store import existing
from ..ops.settings import Config


def counted_in(database: str, survey: str) -> Counted:
    """Read the counts of a survey from a database."""
    with existing(database) as store:
        stored, counts, as_of, days = store.reports.snapshot(survey)
    # Whoever has the database can read all of it: this keeps them from concluding.
    least = Config.from_environment(only=["min_reports"]).min_reports
    return Counted(stored.survey(), counts, as_of, min_reports=least, days=days)


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
        return analysis.compute(counted_in(database, survey), query)
    if token is None:
        raise ParameterError(
            "--token: expected an analyst's token with --url, or HALFTRUTH_TOKEN", field="token"
        )
    # Imported here: who computes from a database sends no requests.
    from halftruth_client import Analyst

    result: R = Analyst(url, token).ask(survey, query)
    return result
