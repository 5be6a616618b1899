"""Cache of models fitted to recent counts, shared by several queries."""

from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import combinations

from halftruth_shared import Survey
from halftruth_shared.analyses.base import ModelFit, TestedInteraction

from ..counts import Counts, Snapshot
from .adequacy import LackOfFit, adequacy, work
from .fit import LoglinearModel, fit_model

#: Number of cached models; the largest takes about twenty megabytes.
_KEPT = 8

#: Largest size of the tests of one model (see `work`): some seconds of computation.
MOST_TESTED = 2**25

_Term = tuple[str, ...]
_Terms = tuple[_Term, ...]


def cached_model(
    survey: Survey,
    counts: Counts,
    interactions: Sequence[Collection[str]] = (),
    attributes: Sequence[str] | None = None,
) -> LoglinearModel:
    """Return the model of all pairs and further interactions, cached by counts.

    Parameters
    ----------
    survey : Survey
    counts : Counts
    interactions : sequence of collections of str
        By attributes.
    attributes : sequence of str, optional
        Attributes of the model; all by default.

    Raises
    ------
    SchemaError, ParameterError, DomainTooLarge, EstimateError
        As of `fit_model`.
    """
    return _fitted(
        Snapshot.of(survey, counts), _names(interactions), attributes and tuple(attributes)
    )


def described(
    survey: Survey,
    counts: Counts,
    interactions: Sequence[Collection[str]] = (),
    attributes: Sequence[str] | None = None,
) -> ModelFit:
    """Return the assumptions of the model of `cached_model`, with the tests of these.

    Parameters are as there.
    """
    source = Snapshot.of(survey, counts)
    return _described(source, _names(interactions), attributes and tuple(attributes))


def _names(interactions: Sequence[Collection[str]]) -> _Terms:
    return tuple(tuple(names) for names in interactions)


@lru_cache(maxsize=_KEPT)
def _fitted(source: Snapshot, interactions: _Terms, attributes: _Term | None) -> LoglinearModel:
    names = source.survey.schema.names if attributes is None else attributes
    terms = [*combinations(names, 2), *interactions]
    return fit_model(source.survey, source.counts, terms, attributes)


@lru_cache(maxsize=_KEPT)
def _described(source: Snapshot, interactions: _Terms, attributes: _Term | None) -> ModelFit:
    survey, counts = source.survey, source.counts
    model = _fitted(source, interactions, attributes)
    clearest: LackOfFit | None = None
    untested = None
    if not (numbers := work(survey, counts, model)):
        untested = "the reports do not identify such interactions"
    elif numbers > MOST_TESTED:
        untested = "the test would take too long"
    else:
        clearest = adequacy(survey, counts, model)[0]
    return ModelFit(
        attributes=list(model.schema.names),
        interactions=[
            TestedInteraction(
                attributes=list(term), p_value=_needed(source, term, interactions, attributes)
            )
            for term in interactions
            # All pairwise interactions are in every model.
            if len(term) > 2
        ],
        converged=model.converged,
        p_value=None if clearest is None else clearest.adjusted_p_value,
        clearest=None
        if clearest is None
        else TestedInteraction(attributes=list(clearest.term), p_value=clearest.adjusted_p_value),
        untested=untested,
    )


def _needed(
    source: Snapshot, term: _Term, interactions: _Terms, attributes: _Term | None
) -> float | None:
    """Return the p-value of the test against the model without an interaction."""
    others = tuple(each for each in interactions if each != term)
    smaller = (*others, *combinations(term, len(term) - 1))
    model = _fitted(source, smaller, attributes)
    if set(term) in map(set, model.terms):
        return None
    [test] = adequacy(source.survey, source.counts, model, [term])
    return test.p_value
