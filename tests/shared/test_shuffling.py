"""Amplification by shuffling: bounds against enumeration and published values."""

import itertools
import json
import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, permutations
from math import comb
from pathlib import Path

import dense_split
import numpy as np
import pytest
import scipy
from dense import gamma_diagonal, kronecker, randomized_response
from halftruth_shared import GammaDiagonal, ParameterError, Protection, Relay, Series, Survey
from halftruth_shared.relayed import Relayed, largest_gamma
from halftruth_shared.shuffling import Clones, at_least_half, binomial, divergence, shuffled
from witnesses import witness

SHUFFLED = json.loads((Path(__file__).parents[1] / "vectors" / "shuffled.json").read_text())[
    "vectors"
]
GAMMAS = [Fraction(3, 2), Fraction(3), Fraction(19)]


def hockey_stick(first, second, factor):
    """Return max over sets S of P(S) − factor·Q(S), with distributions as dictionaries."""
    return sum(max(first[y] - factor * second.get(y, 0), 0) for y in first)


def pair(clones, gamma):
    """Distributions of the number of reports like the first answer, under either true answer."""
    found = []
    for chance in (gamma / (gamma + 1), 1 / (gamma + 1)):
        distribution = Counter()
        for a in range(clones + 1):
            share = Fraction(comb(clones, a), 2**clones)
            distribution[a + 1] += share * chance
            distribution[a] += share * (1 - chance)
        found.append(distribution)
    return found


def counts_of(rows):
    """Distribution of the sorted reports of independent people, one row of probabilities each."""
    found = Counter({(0,) * len(rows[0]): Fraction(1)})
    for row in rows:
        longer = Counter()
        for counts, share in found.items():
            for y, chance in enumerate(row):
                more = (*counts[:y], counts[y] + 1, *counts[y + 1 :])
                longer[more] += share * chance
        found = longer
    return found


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("factor", [Fraction(1), Fraction(11, 10), Fraction(5, 3), Fraction(10)])
def test_the_divergence_given_the_clones_matches_enumeration(gamma, factor):
    clones = np.arange(14)
    found = divergence(math.log(factor), float(gamma), clones)
    exact = [float(hockey_stick(*pair(c, gamma), factor)) for c in clones.tolist()]
    np.testing.assert_allclose(found, exact, rtol=1e-6, atol=1e-8)
    assert (found >= exact).all()
    other_way = [float(hockey_stick(*pair(c, gamma)[::-1], factor)) for c in clones.tolist()]
    np.testing.assert_allclose(exact, other_way, rtol=1e-12)


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("delta", [0.3, 0.03])
def test_epsilon_is_the_smallest_for_delta(gamma, delta):
    respondents = 9
    found = shuffled(gamma, respondents, delta).epsilon

    def mean(factor):
        chances = [comb(8, c) * gamma**-c * (1 - 1 / gamma) ** (8 - c) for c in range(respondents)]
        return sum(
            chance * hockey_stick(*pair(c, gamma), factor) for c, chance in enumerate(chances)
        )

    assert mean(Fraction(math.exp(found))) <= delta
    if found > 0:
        assert mean(Fraction(math.exp(found - 1e-4))) > delta


@pytest.mark.parametrize("trials", [0, 1, 2, 5, 40, 1_000, 10**5, 10**7, 10**9])
@pytest.mark.parametrize("chance", [0.5, 1 / 19, 1 / 330])
def test_binomial_probabilities_match_scipy(trials, chance):
    spread = math.sqrt(trials * chance * (1 - chance))
    some = np.round(trials * chance + np.linspace(-20, 20, 301) * spread)
    some = np.unique(np.clip(some, -1, trials + 1))
    exact = scipy.stats.binom.pmf(some, trials, chance)
    np.testing.assert_allclose(binomial(some, trials, chance), exact, rtol=2e-10, atol=1e-250)
    if chance == 0.5:
        upper = some[some > trials / 2]
        found = at_least_half(upper, np.full(len(upper), trials))
        exact = scipy.stats.binom.sf(upper - 1, trials, 0.5)
        np.testing.assert_allclose(found, exact, rtol=2e-10, atol=1e-250)


@pytest.mark.parametrize("vector", SHUFFLED, ids=lambda v: f"{v['gamma']} {v['respondents']}")
def test_grouping_numbers_of_clones_is_accurate_and_conservative(vector):
    # The vectors are computed with SciPy without grouping.
    found = shuffled(Fraction(vector["gamma"]), vector["respondents"], vector["delta"])
    for member in ("epsilon", "tail"):
        exact = vector[member]
        assert exact * (1 - 1e-5) <= getattr(found, member) <= exact * 1.002, member


def tail_of_clones(gamma, respondents, epsilon):
    """Probability that one person's loss among clones exceeds ε, summed over all counts."""
    others, found = scipy.stats.binom(respondents - 1, 1 / gamma), 0.0
    for c in range(int(others.ppf(1e-12)), int(others.isf(1e-12)) + 1):
        a = np.arange(c + 2)
        own, other = scipy.stats.binom.pmf(a - 1, c, 0.5), scipy.stats.binom.pmf(a, c, 0.5)
        first, second = gamma * own + other, own + gamma * other
        above = first > math.exp(epsilon) * second
        found += others.pmf(c) * first[above].sum() / (gamma + 1)
    return found


@pytest.mark.parametrize(("gamma", "respondents"), [(3, 200), (19, 5_000)])
def test_losses_above_the_tail_are_rarer_than_delta(gamma, respondents):
    found = shuffled(Fraction(gamma), respondents, 1e-6)
    assert 1e-7 < tail_of_clones(gamma, respondents, found.tail) <= 1e-6
    assert tail_of_clones(gamma, respondents, found.epsilon) > 1e-5
    assert found.epsilon < found.tail < 1.4 * found.epsilon


def rows_of(*arguments):
    return list(dense_split.matrix(*arguments).values())


# Columns are answers. Randomized response and gamma-diagonal treat all pairs of answers alike; in
# the asymmetric mechanism and split questionnaires, a report can be equally likely for two.
MECHANISMS = {
    "randomized response": randomized_response(2, Fraction(3, 4)),
    "randomized response, two questions": kronecker([randomized_response(2, Fraction(2, 3))] * 2),
    "gamma-diagonal": gamma_diagonal(3, Fraction(2)),
    "gamma-diagonal, two questions": gamma_diagonal(4, Fraction(5)),
    "asymmetric": [[Fraction(x, 10) for x in row] for row in ([2, 4, 4], [5, 3, 3], [3, 3, 3])],
    "split questionnaire of one question each": rows_of(
        (2, 2), (), Fraction(4), 3, 2, [([[0, 1]], [1], 1)]
    ),
    "split questionnaire by sets of symbols": rows_of(
        (2, 2), (), Fraction(3), 2, 2, [([[0, 1]], [2], 1)]
    ),
}
FACTORS = [Fraction(x, 4) for x in (4, 5, 6, 8, 10, 12, 16)]


@pytest.mark.parametrize("name", MECHANISMS)
def test_shuffled_reports_keep_to_the_bound_for_all_answers(name):
    matrix = MECHANISMS[name]
    gamma = max(max(row) / min(row) for row in matrix)
    columns = list(zip(*matrix, strict=True))
    respondents = 6 if len(columns) < 4 else 4 if len(matrix) < 7 else 3
    found = {delta: shuffled(gamma, respondents, delta) for delta in (0.2, 0.1, 0.05)}
    if len(matrix) < 7:
        assert min(each.epsilon for each in found.values()) < found[0.1].local_epsilon
    clones = Clones(float(gamma), respondents, 1e-12)
    curve = {factor: clones.divergence(math.log(factor)) for factor in FACTORS}
    for others in combinations_with_replacement(columns, respondents - 1):
        shared = counts_of(others)
        of_answer = []
        for own in columns:
            whole = Counter()
            for counts, share in shared.items():
                for y, chance in enumerate(own):
                    whole[*counts[:y], counts[y] + 1, *counts[y + 1 :]] += share * chance
            of_answer.append(whole)
        for first, second in permutations(of_answer, 2):
            for factor, most in curve.items():
                assert hockey_stick(first, second, factor) <= most
            for delta, each in found.items():
                assert hockey_stick(first, second, Fraction(math.exp(each.epsilon))) <= delta
                above = math.exp(each.tail) * (1 + 1e-12)
                losses = (p for y, p in first.items() if p > second[y] * above)
                assert sum(losses) <= delta


#: P(symbol | answer) of two questions with two answers at γ = 3, the views of tickets.
VIEW = [[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]]


def by_views(rows):
    """Distribution of the counts of symbols of each view, given how often each view was drawn.

    A row has the answers of one person to both questions. Views are drawn by chance and are public,
    and nobody knows whose they are. Given how often each was drawn, every assignment of views to
    people is equally likely, so that the weights of the views do not matter.
    """
    people = [
        [chance / 2 for view, answer in enumerate(row) for chance in VIEW[answer]] for row in rows
    ]
    found: dict[int, Counter] = {}
    for counts, share in counts_of(people).items():
        found.setdefault(counts[0] + counts[1], Counter())[counts] = share
    return {
        drawn: Counter({y: share / sum(given.values()) for y, share in given.items()})
        for drawn, given in found.items()
    }


def smallest_epsilon(first, second, delta):
    """Return the smallest ε of two distributions at a δ, from the ratios at which the sum bends."""
    ratios = sorted({first[y] / second[y] for y in first if second.get(y, 0)} | {Fraction(1)})
    known = [(r, hockey_stick(first, second, r)) for r in ratios if r >= 1]
    if known[0][1] <= delta:
        return 0.0
    (low, high), (after, most) = next(
        pair for pair in itertools.pairwise(known) if pair[1][1] <= delta
    )
    return math.log(low + (after - low) * (high - delta) / (high - most))


def test_views_of_tickets_keep_to_the_bound_whatever_was_drawn():
    """The collector sees the view of each report of a batch, and not whose it is.

    With tickets the views of a batch are drawn by chance, and their ids tell them. The bound holds
    for each number of reports about either question and all answers of all people: given the views,
    and so over all draws of them. Dealt to people in a known order, the same views exceed it.
    """
    respondents, gamma, delta = 6, Fraction(3), Fraction(1, 20)
    bound = shuffled(gamma, respondents, float(delta))
    clones = Clones(float(gamma), respondents, 1e-12)
    curve = {factor: clones.divergence(math.log(factor)) for factor in FACTORS}
    answers = [(a, b) for a in (0, 1) for b in (0, 1)]
    worst = dict.fromkeys(range(respondents + 1), 0.0)
    for others in combinations_with_replacement(answers, respondents - 1):
        of_answer = [by_views([own, *others]) for own in answers]
        for first, second in permutations(of_answer, 2):
            assert first.keys() == second.keys() == worst.keys()
            for drawn in first:
                for factor, most in curve.items():
                    assert hockey_stick(first[drawn], second[drawn], factor) <= most
                found = smallest_epsilon(first[drawn], second[drawn], delta)
                worst[drawn] = max(worst[drawn], found)
    print({drawn: round(epsilon, 3) for drawn, epsilon in worst.items()}, bound.epsilon)
    assert max(worst.values()) <= bound.epsilon
    # In a known order, the only report about a question hides among none.
    alone, other = (dict(enumerate(row)) for row in VIEW)
    assert smallest_epsilon(alone, other, delta) == pytest.approx(math.log(2.8))
    assert math.log(2.8) > bound.epsilon > max(worst.values()) > 0.7


def test_many_yes_or_no_answers_keep_to_the_bound():
    respondents, delta, keep = 400, 1e-3, 0.75
    found = shuffled(Fraction(3), respondents, delta)
    epsilon = found.epsilon
    assert epsilon < 0.5
    assert found.tail < 0.6
    for yes in (0, 100, 399):
        tails = []
        for answer in (0, 1):
            chances = np.repeat([keep, 1 - keep], [yes + answer, respondents - yes - answer])
            distribution = np.ones(1)
            for chance in chances:
                distribution = np.convolve(distribution, [1 - chance, chance])
            tails.append(distribution)
        for first, second in permutations(tails):
            assert np.maximum(first - math.exp(epsilon) * second, 0).sum() <= delta
            assert first[first > math.exp(found.tail) * second].sum() <= delta


def test_epsilon_matches_the_program_of_the_authors():
    # Bounds of ε for ε₀ = 4 and δ = 10⁻⁶ by the program published with the paper.
    row = witness("Feldman, McMillan & Talwar 2021", "Bounds of ε")
    found = shuffled(Fraction(math.exp(4)), 100_000, 1e-6)
    assert 0.1675385583317841 < found.epsilon < 0.172790550755978
    row.assert_own(found.epsilon)
    # The program's closed form, 0.53780, is (γ−1)/(γ+1/(1+x)) where Theorem 3.1 has (γ−1)/(γ+1).
    gamma, x = math.exp(4), math.expm1(found.closed_form)
    x *= (gamma + 1) / (gamma - 1)
    assert math.log1p((gamma - 1) / (gamma + 1 / (1 + x)) * x) == pytest.approx(
        0.5378040242374512, rel=1e-9
    )


@pytest.mark.parametrize("gamma", [Fraction(2), Fraction(10**4)])
def test_epsilon_decreases_with_people_and_delta_and_is_at_most_the_local_one(gamma):
    people = [1, 2, 100, 10**4, 10**9, 10**15]
    deltas = [1e-12, 1e-6, 0.1]
    table = np.array([[shuffled(gamma, n, delta).epsilon for delta in deltas] for n in people])
    assert (np.diff(table, axis=0) <= 1e-8).all()
    assert (np.diff(table, axis=1) <= 1e-8).all()
    assert (table <= math.log(gamma) + 1e-12).all()
    assert (table >= 0).all()


def test_the_numerical_bound_is_below_the_closed_form():
    met = 0
    for gamma in map(Fraction, ("5/4", 2, 19, 200)):
        for respondents in (300, 10**5, 10**7):
            for delta in (1e-3, 1e-9):
                found = shuffled(gamma, respondents, delta)
                holds = gamma <= respondents / (16 * math.log(2 / delta))
                assert (found.closed_form is not None) == holds
                if holds:
                    met += 1
                    assert found.epsilon < found.closed_form / 2
    assert met > 10


def test_infinite_gamma_and_single_respondents_are_not_amplified():
    assert shuffled(math.inf, 1_000, 1e-6) is None
    assert shuffled(Fraction(19), 1, 1e-6).epsilon == pytest.approx(math.log(19), abs=1e-5)
    assert shuffled(Fraction(10**30), 10**6, 1e-6).epsilon == pytest.approx(30 * math.log(10))
    assert shuffled(Fraction(1), 10, 1e-6).epsilon == 0


@pytest.mark.parametrize(
    ("respondents", "delta", "field"), [(0, 0.1, "respondents"), (5, 0.0, "delta"), (5, 1, "delta")]
)
def test_parameters_out_of_range_are_refused(respondents, delta, field):
    with pytest.raises(ParameterError) as raised:
        shuffled(Fraction(19), respondents, delta)
    assert raised.value.field == field


# Statements about a relay.


def relay_of(batch, **members):
    keys = {"key": "1" * 64, "sealing_key": "2" * 64}
    return Relay(url="https://relay.example.edu", batch=batch, **keys, **members)


@pytest.mark.parametrize("vector", SHUFFLED, ids=lambda v: f"{v['gamma']} {v['respondents']}")
def test_the_figures_of_a_relay_match_the_vectors(vector):
    apart, together = vector["apart"], vector["together"]
    found = Relayed.of(relay_of(vector["respondents"]), Fraction(vector["gamma"]))
    assert (found.apart, found.together) == (apart, together)
    [said] = found.sentences()
    if apart < together:
        chance = f"{round(1 / vector['delta']):,}".replace(",", "\N{NARROW NO-BREAK SPACE}")
        assert (
            " If the relay does not cooperate with the people who run the survey, passes on all"
            " reports and adds none, and the other reports are honest and can be decrypted: at most"
            f" {apart} of 100 people, except with a probability of 1 in {chance}. In any other"
            f" case: at most {together}."
        ) in said
    else:
        assert said.endswith(f"than a single report does: at most {together} of 100 people.")


@pytest.mark.parametrize("batch", [2, 5_000, 40_000])
@pytest.mark.parametrize("at_most", [6, 50])
def test_the_largest_gamma_is_exact(batch, at_most):
    gamma = largest_gamma(at_most, batch)
    assert gamma >= math.floor(19 * at_most / (100 - at_most)) >= 1
    assert Relayed.of(relay_of(batch), Fraction(gamma)).apart <= at_most
    if gamma < batch:
        assert Relayed.of(relay_of(batch), Fraction(gamma + 1)).apart > at_most


def test_statements_cover_half_of_a_batch_and_two_waves():
    gamma = Fraction(100)
    rests = " ".join(Relayed.of(relay_of(80_000), gamma).rests_on(waves=True))
    half = Relayed.of(relay_of(40_000), gamma)
    assert f"half of a batch consists of these, at most {half.apart} of 100 people" in rests
    tail = shuffled(gamma, 80_000, 1e-8).tail
    odds = 5 / 95 * math.exp(2 * tail)
    most = math.ceil(100 * odds / (1 + odds))
    assert f"After two waves through the relay: at most {most} of 100 people" in rests


def test_statements_say_what_each_party_sees_of_tickets():
    bare, signed = (
        " ".join(Relayed.of(relay_of(80_000, **more), Fraction(100)).sees())
        for more in ({}, {"tickets_key": "3" * 64})
    )
    assert "ticket" not in bare
    assert "It does not see network addresses, the time of a report or an id that the relay" in bare
    # The id of a ticket is known to both.
    assert "an id that the relay knows" not in signed
    assert "the id of each ticket and the address that it was issued to, and neither the" in signed
    assert "which address a ticket was issued to, and must not store or request any" in signed


def test_half_of_an_odd_batch_has_the_smaller_number_of_honest_reports():
    # 1 001 honest reports leave 27 of 100, and 1 002 leave 26.
    rests = " ".join(Relayed.of(relay_of(2_003), Fraction(19)).rests_on())
    odds = [5 / 95 * math.exp(shuffled(Fraction(19), n, 1e-8).tail) for n in (1_001, 1_002)]
    assert [math.ceil(100 * each / (1 + each)) for each in odds] == [27, 26]
    assert "If half of a batch consists of these, at most 27 of 100 people" in rests


def test_the_promise_of_a_survey_includes_its_relay(schema_of):
    schema = schema_of((2, 3))
    survey = Survey("health", "Health", schema, GammaDiagonal("100"), relay=relay_of(40_000))
    found = Protection.of(survey)
    assert found.relayed == Relayed.of(survey.relay, Fraction(100))
    assert found.relayed.sentences()[0] in found.sentences()
    assert found.relayed.two_waves() not in found.sentences()
    wave = replace(
        survey, series=Series(id="panel", wave=1, total_gamma=10_000, origin="https://a.test")
    )
    assert found.relayed.two_waves() in Protection.of(wave).sentences()
    assert Protection.of(Survey("health", "Health", schema, survey.mechanism)).relayed is None
