"""Cache of models fitted to recent counts, shared by several queries."""

from collections.abc import Collection, Sequence
from itertools import combinations

from halftruth_shared import Survey
from halftruth_shared.analyses.base import ModelFit, TestedInteraction

from ..counts import Counts, CountsKey, RecentResults, key_of
from .adequacy import adequacy, omitted_interactions, size_of_tests
from .fit import LoglinearModel, fit_model

#: Number of cached models; the largest takes about twenty megabytes.
_KEPT = 8

#: Largest size of the tests of one model (see `size_of_tests`): some seconds of computation.
MOST_TESTED = 2**25

_Terms = tuple[tuple[str, ...], ...]
_Key = tuple[CountsKey, _Terms, tuple[str, ...]]

_FITTED = RecentResults[_Key, LoglinearModel](_KEPT)
_DESCRIBED = RecentResults[_Key, ModelFit](_KEPT)


def cached_model(
    survey: Survey,
    counts: Counts,
    interactions: Sequence[Collection[str]] = (),
    attributes: Sequence[str] | None = None,
) -> LoglinearModel:
    """Return the model of all pairs and further interactions, cached by counts; see `fit_model`."""
    terms, names = _asked(survey, interactions, attributes)
    return _fitted(survey, counts, terms, names)


def described(
    survey: Survey,
    counts: Counts,
    interactions: Sequence[Collection[str]] = (),
    attributes: Sequence[str] | None = None,
) -> ModelFit:
    """Return the assumptions of the model of `cached_model` with their tests, cached by counts."""
    terms, names = _asked(survey, interactions, attributes)
    key = key_of(survey, counts), terms, names
    return _DESCRIBED.get(key, lambda: _described(survey, counts, terms, names))


def _asked(
    survey: Survey, interactions: Sequence[Collection[str]], attributes: Sequence[str] | None
) -> tuple[_Terms, tuple[str, ...]]:
    names = survey.schema.names if attributes is None else tuple(attributes)
    return tuple(map(tuple, interactions)), names


def _fitted(
    survey: Survey, counts: Counts, interactions: _Terms, names: tuple[str, ...]
) -> LoglinearModel:
    def fit() -> LoglinearModel:
        return fit_model(survey, counts, [*combinations(names, 2), *interactions], names)

    return _FITTED.get((key_of(survey, counts), interactions, names), fit)


def _described(
    survey: Survey, counts: Counts, interactions: _Terms, names: tuple[str, ...]
) -> ModelFit:
    model = _fitted(survey, counts, interactions, names)
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
                attributes=list(term), p_value=_p_value(survey, counts, term, interactions, names)
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
    survey: Survey,
    counts: Counts,
    term: tuple[str, ...],
    interactions: _Terms,
    names: tuple[str, ...],
) -> float | None:
    """Return the p-value of an interaction, tested against the model without it."""
    others = tuple(each for each in interactions if each != term)
    smaller = (*others, *combinations(term, len(term) - 1))
    model = _fitted(survey, counts, smaller, names)
    axes = model.schema.positions(term)
    if tuple(sorted(axes)) in model.design.terms:
        return None
    [test] = adequacy(survey, counts, model, [tuple(sorted(axes))])
    return test.p_value
