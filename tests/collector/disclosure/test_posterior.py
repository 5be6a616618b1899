"""Posteriors of answers by Bayes' rule over dense channels, and weights of false reports."""

from functools import reduce
from itertools import combinations

import numpy as np
import pytest
import weights_of_views
from halftruth_collector.disclosure.posterior import (
    answer_posteriors,
    false_reports,
    repeat_guarantee,
)
from halftruth_shared import (
    Attribute,
    DistortionMatrices,
    GammaDiagonal,
    RandomizedResponse,
    Schema,
    Survey,
)
from halftruth_shared.protection import Guarantee

SHAPE = (2, 3, 2)
SCHEMA = Schema(
    [Attribute(f"a{j}", [f"c{code}" for code in range(size)]) for j, size in enumerate(SHAPE)]
)
CELLS = 12
SKEWED = [["9/10", "3/10"], ["1/10", "7/10"]]
THREE = [["8/10", "1/10", "1/5"], ["1/10", "7/10", "1/5"], ["1/10", "2/10", "3/5"]]


def kept(size, p):
    return np.where(np.eye(size, dtype=bool), p, (1 - p) / (size - 1))


def numbers(matrix):
    return np.array([[int(e.split("/")[0]) / int(e.split("/")[1]) for e in row] for row in matrix])


#: Mechanism, and P(report | record) with a row for each report, by its definition.
CASES = {
    "gamma-diagonal": (GammaDiagonal("19"), kept(CELLS, 19 / (19 + CELLS - 1))),
    "randomized response": (
        RandomizedResponse({"a0": "7/10", "a1": "6/10", "a2": "9/10"}),
        reduce(np.kron, [kept(2, 0.7), kept(3, 0.6), kept(2, 0.9)]),
    ),
    "matrices": (
        DistortionMatrices({"a0": SKEWED, "a1": THREE, "a2": SKEWED}),
        reduce(np.kron, [numbers(SKEWED), numbers(THREE), numbers(SKEWED)]),
    ),
    # A report can prove c0 of the last question, so that c0 has no posterior.
    "designs": (
        DistortionMatrices(
            {"a1": THREE},
            {
                "a0": {"design": "forced-response", "yes": "1/6", "no": "1/4", "answer": "c1"},
                "a2": {
                    "design": "triangular",
                    "prevalence": "1/4",
                    "answer": "c1",
                    "not_sensitive": "c0",
                },
            },
        ),
        reduce(
            np.kron, [[[5 / 6, 1 / 4], [1 / 6, 3 / 4]], numbers(THREE), [[3 / 4, 0], [1 / 4, 1]]]
        ),
    ),
}


def split(name):
    survey = weights_of_views.survey_of(weights_of_views.DESIGNS[name])
    channel = weights_of_views.Definition(survey).channel
    return survey, channel.reshape(-1, channel.shape[-1])


def case(name):
    if name in CASES:
        mechanism, channel = CASES[name]
        return Survey("s", "S", SCHEMA, mechanism), channel
    return split(name)


def by_bayes(channel, prior, inside):
    """Posterior of being inside: its mean over the reports of people inside, and its maximum."""
    reports = channel @ prior
    own = channel @ (prior * inside)
    there = reports > 0
    posterior = own[there] / reports[there]
    return own[there] @ posterior / own.sum(), posterior.max()


def people(survey, table):
    """Return a function that yields margins of a table of a thousand people."""
    whole = 1_000 * np.reshape(table, survey.schema.shape)

    def by(names):
        positions = [survey.schema.names.index(name) for name in names]
        others = tuple(j for j in range(whole.ndim) if j not in positions)
        order = sorted(positions)
        return whole.sum(axis=others).transpose([order.index(j) for j in positions])

    return by


def codes_of(survey, name):
    j = survey.schema.names.index(name)
    return np.indices(survey.schema.shape).reshape(len(survey.schema.shape), -1)[j]


NAMES = [*CASES, "direct", "mixed", "public"]


@pytest.mark.parametrize("name", NAMES)
def test_joint_posteriors_equal_bayes_rule_over_the_table_of_a_pilot(name):
    survey, channel = case(name)
    cells = int(np.prod(survey.schema.shape))
    table = np.random.default_rng(5).dirichlet(np.full(cells, 0.5))
    table[: cells // 3] = 0
    table /= table.sum()
    found = answer_posteriors(survey, people(survey, table))
    assert {a.attribute for a in found} == set(
        survey.schema.names
    ) - survey.perturbation.unperturbed
    for answer in found:
        attribute = survey.schema.attributes[survey.schema.names.index(answer.attribute)]
        inside = codes_of(survey, answer.attribute) == attribute.categories.index(answer.category)
        assert answer.prior == pytest.approx(table @ inside)
        mean, most = by_bayes(channel, table, inside)
        assert (answer.joint.mean, answer.joint.most) == pytest.approx((mean, most))
        if not survey.perturbation.unperturbed:
            assert most <= answer.bound * (1 + 1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_no_prior_of_other_answers_raises_a_posterior_above_the_bound(name):
    survey, channel = case(name)
    sent = [codes_of(survey, n) for n in survey.perturbation.unperturbed]
    proofs = [codes_of(survey, n) for n in survey.perturbation.provable]
    rng = np.random.default_rng(9)
    for answer in answer_posteriors(survey):
        codes = codes_of(survey, answer.attribute)
        attribute = survey.schema.attributes[survey.schema.names.index(answer.attribute)]
        inside = codes == attribute.categories.index(answer.category)
        assert answer.prior == pytest.approx(0.05)
        assert answer.joint is None
        assert answer.known <= answer.bound + 1e-12
        for _ in range(20):
            # Restricted to the unperturbed and provable answers of one person.
            place = rng.integers(len(codes))
            alike = np.all([each == each[place] for each in [*sent, *proofs]], axis=0)
            alike = alike | np.zeros(len(codes), dtype=bool)
            if not (alike & inside).any() or not (alike & ~inside).any():
                continue
            others = rng.dirichlet(np.full(len(codes), 0.05)) * alike
            prior = np.zeros(len(codes))
            for part, share in ((inside, 0.05), (~inside, 0.95)):
                chosen = others * part + 1e-12 * (alike & part)
                prior += share * chosen / chosen.sum()
            assert by_bayes(channel, prior, inside)[1] <= answer.bound + 1e-9


@pytest.mark.parametrize("name", NAMES)
def test_knowing_all_other_answers_raises_a_posterior_at_most_to_known(name):
    survey, channel = case(name)
    shape = survey.schema.shape
    by_answer = {(a.attribute, a.category): a.known for a in answer_posteriors(survey)}
    largest = dict.fromkeys(by_answer, 0.0)
    for j, attribute in enumerate(survey.schema.attributes):
        if attribute.name in survey.perturbation.unperturbed:
            continue
        groups = np.moveaxis(np.arange(channel.shape[1]).reshape(shape), j, -1)
        for group in groups.reshape(-1, shape[j]):
            for code, category in enumerate(attribute.categories):
                prior = np.zeros(channel.shape[1])
                prior[group] = 0.95 / (shape[j] - 1)
                prior[group[code]] = 0.05
                _, most = by_bayes(channel, prior, prior == prior[group[code]])
                key = attribute.name, category
                if key in largest:
                    largest[key] = max(largest[key], most)
    for key, known in by_answer.items():
        assert largest[key] <= known + 1e-12


def test_dependent_answers_can_reveal_more_than_known_but_at_most_the_bound():
    # Three questions with identical answers, so that a report reveals each answer three times.
    mechanism = RandomizedResponse(dict.fromkeys(("a", "b", "c"), "3/4"))
    schema = Schema([Attribute(name, ["no", "yes"]) for name in "abc"])
    table = np.zeros((2, 2, 2))
    table[0, 0, 0], table[1, 1, 1] = 0.95, 0.05
    survey = Survey("s", "S", schema, mechanism)
    answer = answer_posteriors(survey, people(survey, table))[1]
    assert answer.known == pytest.approx(0.05 * 3 / (0.05 * 3 + 0.95))
    assert answer.joint.most == pytest.approx(0.05 * 27 / (0.05 * 27 + 0.95))
    assert answer.bound == pytest.approx(answer.joint.most)


def test_k_reports_of_one_person_have_the_kth_power_of_gamma():
    matrix = kept(2, 0.75)
    thrice = reduce(np.kron, [matrix] * 3).reshape(2, 2, 2, 2, 2, 2)
    alike = np.array([[thrice[(*y, x, x, x)] for x in (0, 1)] for y in np.ndindex(2, 2, 2)])
    found = repeat_guarantee(Guarantee(GammaDiagonal("3").gamma), 3)
    assert float(found.gamma) == pytest.approx((alike.max(axis=1) / alike.min(axis=1)).max())


@pytest.mark.parametrize("name", [*CASES, *weights_of_views.DESIGNS])
@pytest.mark.parametrize("length", [1, 2])
def test_a_false_report_has_the_largest_weight_of_any_report(name, length):
    survey, channel = case(name)
    expected = 0.0
    for positions in combinations(range(len(survey.schema.shape)), length):
        if name in CASES:
            weights = _inverse_of(channel, positions)
        else:
            definition = weights_of_views.Definition(survey)
            shares = np.array([float(view.weight) for view in definition.views])
            shares /= shares.sum()
            weights = definition.weights(positions, shares)
            for share, columns in zip(shares, definition.columns, strict=True):
                weights[..., columns] /= share
        expected = max(expected, np.abs(weights).max())
    found = false_reports(survey, length)
    assert found.weight == pytest.approx(expected, rel=1e-9)
    assert (found.examined, found.possible) == (found.possible, found.possible)


def _inverse_of(channel, positions):
    """Inverse of the channel restricted to a table of some attributes."""
    others = tuple(j for j in range(len(SHAPE)) if j not in positions)
    tensor = channel.reshape(*SHAPE, *SHAPE)
    # The average over the other answers; independent of their distribution, here uniform.
    summed = tensor.sum(axis=others).sum(axis=tuple(len(positions) + j for j in others))
    size = int(np.prod([SHAPE[j] for j in positions]))
    return np.linalg.inv(summed.reshape(size, size) * size / CELLS)
