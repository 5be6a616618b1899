"""Cache of models fitted to recent counts, shared by several queries."""

from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import combinations

from halftruth_shared import Survey
from halftruth_shared.analyses.base import ModelFit, TestedInteraction

from ..counts import Counts, Snapshot
from .adequacy import adequacy, omitted_interactions, size_of_tests
from .fit import LoglinearModel, fit_model

#: Number of cached models; the largest takes about twenty megabytes.
_KEPT = 8

#: Largest size of the tests of one model (see `size_of_tests`): some seconds of computation.
MOST_TESTED = 2**25

_Terms = tuple[tuple[str, ...], ...]


def cached_model(
    survey: Survey,
    counts: Counts,
    interactions: Sequence[Collection[str]] = (),
    attributes: Sequence[str] | None = None,
) -> LoglinearModel:
    """Return the model of all pairs and further interactions, cached by counts; see `fit_model`."""
    return _fitted(*_key(survey, counts, interactions, attributes))


def described(
    survey: Survey,
    counts: Counts,
    interactions: Sequence[Collection[str]] = (),
    attributes: Sequence[str] | None = None,
) -> ModelFit:
    """Return the assumptions of the model of `cached_model` with their tests, cached by counts."""
    return _described(*_key(survey, counts, interactions, attributes))


def _key(
    survey: Survey,
    counts: Counts,
    interactions: Sequence[Collection[str]],
    attributes: Sequence[str] | None,
) -> tuple[Snapshot, _Terms, tuple[str, ...]]:
    names = survey.schema.names if attributes is None else tuple(attributes)
    return Snapshot.of(survey, counts), tuple(map(tuple, interactions)), names


@lru_cache(maxsize=_KEPT)
def _fitted(source: Snapshot, interactions: _Terms, names: tuple[str, ...]) -> LoglinearModel:
    terms = [*combinations(names, 2), *interactions]
    return fit_model(source.survey, source.counts, terms, names)


@lru_cache(maxsize=_KEPT)
def _described(source: Snapshot, interactions: _Terms, names: tuple[str, ...]) -> ModelFit:
    survey, counts = source.survey, source.counts
    model = _fitted(source, interactions, names)
    clearest = untested = None
    if not (terms := omitted_interactions(survey, counts, model)):
        untested = "the reports do not identify such interactions"
    elif size_of_tests(survey, counts, model, terms) > MOST_TESTED:
        untested = "the test would take too long"
    else:
        first = adequacy(survey, counts, model, terms)[0]
        clearest = TestedInteraction(attributes=list(first.term), p_value=first.adjusted_p_value)
    return ModelFit(
        attributes=list(model.schema.names),
        interactions=[
            TestedInteraction(
                attributes=list(term), p_value=_p_value(source, term, interactions, names)
            )
            for term in interactions
            # All pairwise interactions are in every model.
            if len(term) > 2
        ],
        converged=model.converged,
        p_value=None if clearest is None else clearest.p_value,
        clearest=clearest,
        untested=untested,
    )


def _p_value(
    source: Snapshot, term: tuple[str, ...], interactions: _Terms, names: tuple[str, ...]
) -> float | None:
    """Return the p-value of an interaction, tested against the model without it."""
    others = tuple(each for each in interactions if each != term)
    smaller = (*others, *combinations(term, len(term) - 1))
    model = _fitted(source, smaller, names)
    axes = model.schema.positions(term)
    if tuple(sorted(axes)) in model.design.terms:
        return None
    [test] = adequacy(source.survey, source.counts, model, [tuple(sorted(axes))])
    return test.p_value
