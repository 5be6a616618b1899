"""Sources of counts: a local database, or a remote collector."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from halftruth_shared import ParameterError
from halftruth_shared.analyses.reading import read

from ..analyses import Analysis, AnalysisContext, answer, stored
from ..analyses.base import Q, R
from ..collector_store import open_existing_store
from ..ops.settings import Config
from .output import computing


@contextmanager
def counted_in(database: str, survey: str) -> Iterator[AnalysisContext]:
    """Open a database and yield the counts of a survey and of its waves.

    A terminal shows the progress of what is computed from them.
    """
    # The minimum prevents unreliable conclusions; anyone with the database can read all counts.
    least = Config.from_environment(only=["min_reports"]).min_reports
    with open_existing_store(database) as store, computing("estimating"):
        yield stored.counted_in(
            store.surveys, store.reports, survey, least, tickets=store.tickets.totals
        )


def result_of(
    analysis: Analysis[Q, R],
    texts: Mapping[str, Sequence[str]],
    survey: str,
    database: str,
    url: str | None,
    token: str | None,
) -> R:
    """Return the result of a query, from a remote collector or a local database.

    Without the texts of any field it is the query that the page of the analysis begins with.
    """
    query = read(analysis.query, texts) if texts else None
    if url is None:
        with counted_in(database, survey) as counted:
            asked = query or analysis.start(counted.survey)
            return analysis.described(answer(analysis, counted, asked))
    if token is None:
        raise ParameterError(
            "--token: expected an analyst's token with --url, or HALFTRUTH_TOKEN", field="token"
        )
    # Import here, since a local database needs no HTTP client.
    from halftruth_client import Analyst

    analyst = Analyst(url, token)
    asked = query or analysis.start(analyst.survey(survey).definition)
    result: R = analyst.ask(survey, asked)
    return result
