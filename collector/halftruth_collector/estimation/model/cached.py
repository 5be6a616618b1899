"""Cache of models fitted to recent counts, shared by several queries."""

from collections.abc import Collection, Sequence
from itertools import combinations

from halftruth_shared import Survey
from halftruth_shared.analyses.base import ModelFit, TestedInteraction

from ...counts import Counts, CountsKey, RecentResults, key_of
from .adequacy import adequacy, has_room, omitted_interactions, size_of_tests
from .fit import LoglinearModel, design_of, fit_model

#: Number of cached models; the largest takes about twenty megabytes.
_KEPT = 8

#: Largest size of the tests of one model (see `size_of_tests`): some seconds of computation.
MOST_TESTED = 2**25

#: Largest number of interactions that are added to a model. A model that is still contradicted
#: needs so many interactions that it should be specified by a person.
MOST_ADDED = 4

#: Significance level at which an interaction is added. A test at 5 % has little power with few
#: reports, while a needless interaction only makes intervals wider (Bancroft 1944). In five
#: questions with two three-way interactions and 1 000 reports, default tables covered 91 % with
#: additions at 5 %, and 93 % with additions at 20 %, with half-widths of 3.2 and 3.3 points.
_ADDED = 0.2

_Terms = tuple[tuple[str, ...], ...]
_Key = tuple[CountsKey, _Terms, tuple[str, ...]]

_FITTED = RecentResults[_Key, LoglinearModel](_KEPT)
_DESCRIBED = RecentResults[tuple[CountsKey, _Terms, _Terms, tuple[str, ...]], ModelFit](_KEPT)
#: The omitted interaction with the strongest evidence, or the reason why there is no test.
_TESTED = RecentResults[_Key, TestedInteraction | str](256)


def cached_model(
    survey: Survey,
    counts: Counts,
    interactions: Sequence[Collection[str]] = (),
    attributes: Sequence[str] | None = None,
) -> LoglinearModel:
    """Return the model of asked pairs and further interactions, cached; see `fit_model`."""
    terms, names = _asked(survey, interactions, attributes)
    return _fitted(survey, counts, terms, names)


def described(
    survey: Survey,
    counts: Counts,
    interactions: Sequence[Collection[str]] = (),
    attributes: Sequence[str] | None = None,
    added: Sequence[TestedInteraction] = (),
) -> ModelFit:
    """Return the assumptions of the model of `cached_model` with their tests, cached by counts.

    `added` are further interactions of the model, by `completed`.
    """
    terms, names = _asked(survey, interactions, attributes)
    further = tuple(tuple(each.attributes) for each in added)
    key = key_of(survey, counts), terms, further, names
    return _DESCRIBED.get(key, lambda: _described(survey, counts, terms, names, added))


def completed(
    survey: Survey,
    counts: Counts,
    interactions: Sequence[Collection[str]] = (),
    attributes: Sequence[str] | None = None,
) -> list[TestedInteraction]:
    """Return the interactions to add to the model of `cached_model`, as the reports speak for them.

    As long as the test of the model has a p-value below 20 %, the omitted interaction with the
    strongest evidence is added, up to `MOST_ADDED`. Each has the p-value of the test of the model
    without it.
    """
    terms, names = _asked(survey, interactions, attributes)
    added: list[TestedInteraction] = []
    while len(added) < MOST_ADDED:
        clearest = _tested(survey, counts, terms, names)
        if isinstance(clearest, str) or (clearest.p_value or 0.0) >= _ADDED:
            break
        terms = (*terms, tuple(clearest.attributes))
        added.append(clearest)
    return added


def _asked(
    survey: Survey, interactions: Sequence[Collection[str]], attributes: Sequence[str] | None
) -> tuple[_Terms, tuple[str, ...]]:
    names = survey.schema.names if attributes is None else tuple(attributes)
    return tuple(map(tuple, interactions)), names


def _fitted(
    survey: Survey, counts: Counts, interactions: _Terms, names: tuple[str, ...]
) -> LoglinearModel:
    def fit() -> LoglinearModel:
        return fit_model(survey, counts, attributes=names, further=interactions)

    return _FITTED.get((key_of(survey, counts), interactions, names), fit)


def _described(
    survey: Survey,
    counts: Counts,
    interactions: _Terms,
    names: tuple[str, ...],
    added: Sequence[TestedInteraction],
) -> ModelFit:
    every = (*interactions, *(tuple(each.attributes) for each in added))
    model = _fitted(survey, counts, every, names)
    tested = _tested(survey, counts, every, names)
    clearest = None if isinstance(tested, str) else tested
    included = set(model.design.terms)
    default = design_of(survey, model.schema)
    return ModelFit(
        attributes=list(model.schema.names),
        interactions=[
            TestedInteraction(
                attributes=list(term), p_value=_p_value(survey, counts, term, every, names)
            )
            for term in interactions
            # Every model has the other interactions of all pairs that are asked together.
            if len(term) > 2 or tuple(sorted(model.schema.positions(term))) in default.linear
        ],
        added=[*added],
        unasked_pairs=[
            [model.schema.names[axis] for axis in pair]
            for pair in combinations(range(len(model.schema.names)), 2)
            if pair not in included
        ],
        linear_pairs=[
            [model.schema.names[axis] for axis in pair] for pair in sorted(model.design.linear)
        ],
        converged=model.converged,
        p_value=None if clearest is None else clearest.p_value,
        clearest=clearest,
        untested=tested if isinstance(tested, str) else None,
    )


def _tested(
    survey: Survey, counts: Counts, interactions: _Terms, names: tuple[str, ...]
) -> TestedInteraction | str:
    """Return the omitted interaction with the strongest evidence, or why there is no test."""

    def test() -> TestedInteraction | str:
        model = _fitted(survey, counts, interactions, names)
        if not (terms := omitted_interactions(survey, counts, model)):
            return "the reports do not identify such interactions"
        if not all(has_room(model.design, term) for term in terms):
            return "a model with such interactions would have too many parameters"
        if size_of_tests(survey, counts, model, terms) > MOST_TESTED:
            return "the test would take too long"
        first = adequacy(survey, counts, model, terms)[0]
        return TestedInteraction(attributes=list(first.term), p_value=first.adjusted_p_value)

    return _TESTED.get((key_of(survey, counts), interactions, names), test)


def _p_value(
    survey: Survey,
    counts: Counts,
    term: tuple[str, ...],
    interactions: _Terms,
    names: tuple[str, ...],
) -> float | None:
    """Return the p-value of an interaction, tested against the model without it."""
    others = tuple(each for each in interactions if each != term)
    # Its parts are full interactions, too; a pair has no parts.
    smaller = (*others, *(combinations(term, len(term) - 1) if len(term) > 2 else ()))
    model = _fitted(survey, counts, smaller, names)
    axes = model.schema.positions(term)
    if tuple(sorted(axes)) in {*model.design.terms} - model.design.linear:
        return None
    return adequacy(survey, counts, model, [tuple(sorted(axes))])[0].adjusted_p_value
