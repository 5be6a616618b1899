"""Models of the last counts, which several questions about them have in common."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from itertools import combinations

from halftruth_shared import Survey

from ..counts import Counts
from .fit import LoglinearModel, fit_model

#: Models that are kept; the largest takes about twenty megabytes.
_KEPT = 8


@dataclass(frozen=True)
class _Source:
    """Counts of a survey, equal where all that a fit depends on is."""

    digest: str
    content: bytes
    survey: Survey = field(compare=False)
    counts: Counts = field(compare=False)


def cached_model(
    survey: Survey,
    counts: Counts,
    interactions: Sequence[Collection[str]] = (),
    attributes: Sequence[str] | None = None,
) -> LoglinearModel:
    """Return the model of all pairs and further interactions, fitted once for equal counts.

    Parameters
    ----------
    survey : Survey
    counts : Counts
    interactions : sequence of collections of str
        By attributes.
    attributes : sequence of str, optional
        Those that the model is about; all by default.

    Raises
    ------
    SchemaError, ParameterError, DomainTooLarge, EstimateError
        As of `fit_model`.
    """
    content = sha256(counts.cells.tobytes() + counts.counts.tobytes()).digest()
    source = _Source(survey.digest, content, survey, counts)
    further = tuple(tuple(names) for names in interactions)
    return _fitted(source, further, None if attributes is None else tuple(attributes))


@lru_cache(maxsize=_KEPT)
def _fitted(
    source: _Source, interactions: tuple[tuple[str, ...], ...], attributes: tuple[str, ...] | None
) -> LoglinearModel:
    names = source.survey.schema.names if attributes is None else attributes
    terms = [*combinations(names, 2), *interactions]
    return fit_model(source.survey, source.counts, terms, attributes)
