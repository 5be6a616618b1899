"""Closed formulas of frequency oracles against the enumeration of all their reports, in fractions.

The oracle is the definition: the probability of each report for each answer, the answers that it
supports, and the weights of the unbiased estimate. Published variances are those of Wang, Blocki,
Li & Jha (2017) and of Ye & Barg (2018).
"""

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from halftruth_collector.estimation.planning.oracles import ORACLES, Moments, OracleTables
from halftruth_collector.estimation.planning.planner import plan
from halftruth_collector.estimation.planning.wording import mechanism_notes
from halftruth_shared import (
    Attribute,
    GammaDiagonal,
    RandomizedResponse,
    Schema,
    SplitQuestionnaire,
    Survey,
)
from halftruth_shared.analyses.plan import PlanQuery

from .definitions import schema_of


def k_ary(gamma, answers):
    for report in range(answers):
        chances = [gamma if report == answer else Fraction(1) for answer in range(answers)]
        yield [each / (gamma + answers - 1) for each in chances], {report}


def unary(gamma, answers):
    zero, one = 1 / (gamma + 1), Fraction(1, 2)
    for bits in product((0, 1), repeat=answers):
        chances = []
        for answer in range(answers):
            ones = [one if each == answer else zero for each in range(answers)]
            each = (p if bit else 1 - p for p, bit in zip(ones, bits, strict=True))
            chances.append(math.prod(each))
        yield chances, {each for each, bit in enumerate(bits) if bit}


def hashing(gamma, answers):
    values = int(gamma) + 1
    for hashes in product(range(values), repeat=answers):
        for value in range(values):
            chances = [(gamma if each == value else 1) / (gamma + values - 1) for each in hashes]
            supported = {answer for answer, each in enumerate(hashes) if each == value}
            yield [Fraction(each) / values**answers for each in chances], supported


def subsets(gamma, answers):
    best = []
    for size in range(1, answers):
        sets = [set(each) for each in combinations(range(answers), size)]
        total = sum(gamma if 0 in each else 1 for each in sets)
        channel = [
            ([(gamma if a in each else 1) / total for a in range(answers)], each) for each in sets
        ]
        best.append((variance_of_rare(channel), channel))
    # Of all sizes, the best one.
    return min(best, key=lambda each: each[0])[1]


ENUMERATED = dict(zip(ORACLES, (k_ary, unary, hashing, subsets), strict=True))


def chance(channel, answer, *supported):
    """Return the probability with which a report of an answer supports others."""
    return sum(chances[answer] for chances, each in channel if each.issuperset(supported))


def variance_of_rare(channel):
    p, q = chance(channel, 0, 0), chance(channel, 0, 1)
    return q * (1 - q) / (p - q) ** 2


def weights(channel, cells):
    """Return the weight of each report for each cell, which is a set of answers."""
    p, q = chance(channel, 0, 0), chance(channel, 0, 1)
    return [[sum((a in s) - q for a in cell) / (p - q) for cell in cells] for _, s in channel]


def products(channel, cells):
    """Return the expected product of the weights for two cells, by answer."""
    answers, each = len(channel[0][0]), weights(channel, cells)
    return [
        [
            [
                sum(chances[u] * w[a] * w[b] for (chances, _), w in zip(channel, each, strict=True))
                for b in range(len(cells))
            ]
            for a in range(len(cells))
        ]
        for u in range(answers)
    ]


@pytest.mark.parametrize("kind", ORACLES)
@pytest.mark.parametrize(("gamma", "answers"), [(Fraction(3), 2), (Fraction(2), 5), (3, 4)])
def test_support_and_amplification_are_those_of_all_reports(kind, gamma, answers):
    gamma = Fraction(gamma)
    channel = list(ENUMERATED[kind](gamma, answers))
    assert [sum(each) for each in zip(*(c for c, _ in channel), strict=True)] == [1] * answers
    assert max(max(chances) / min(chances) for chances, _ in channel) == gamma
    found = ORACLES[kind](gamma, answers)
    expected = [chance(channel, 0, 0), chance(channel, 0, 1), chance(channel, 0, 0, 1)]
    assert [found.true, found.other, found.with_true] == expected
    if answers > 2:
        assert found.two_others == chance(channel, 0, 1, 2)


@pytest.mark.parametrize("kind", ORACLES)
def test_moments_of_sums_of_answers_are_those_of_all_reports(kind):
    cells = [{0, 1}, {2, 3}, {4, 5}] if kind != "optimized local hashing" else [{0, 1}, {2, 3}]
    gamma, answers = Fraction(2), sum(map(len, cells))
    by_answer = products(list(ENUMERATED[kind](gamma, answers)), cells)
    found = Moments.of(ORACLES[kind](gamma, answers), 2)
    assert found.own == pytest.approx(float(by_answer[0][0][0]), rel=1e-12)
    assert found.other == pytest.approx(float(by_answer[0][1][1]), rel=1e-12)
    assert found.with_own == pytest.approx(float(by_answer[0][0][1]), rel=1e-12)
    if len(cells) > 2:
        assert found.two_others == pytest.approx(float(by_answer[0][1][2]), rel=1e-12)


@pytest.mark.parametrize("kind", ORACLES)
@pytest.mark.parametrize("target", ["population", "respondents"])
@pytest.mark.parametrize("whole", [True, False])
def test_covariances_of_tables_are_those_of_all_reports(kind, target, whole):
    """A public question of two answers, and perturbed ones of two and of three or two."""
    sizes = (2, 2, 2) if kind == "optimized local hashing" else (2, 2, 3)
    schema, public = schema_of(sizes), frozenset("a")
    # γ = 4 is 2 for each of two questions.
    oracle = OracleTables(schema, kind, Fraction(2 if whole else 4), public, whole=whole)
    rng = np.random.default_rng(5)
    people = rng.dirichlet(np.ones(math.prod(sizes))).reshape(sizes)
    respondents = 101
    free = list(product(*map(range, sizes[1:])))
    if whole:
        channels = [list(ENUMERATED[kind](Fraction(2), len(free)))]
    else:
        channels = [list(ENUMERATED[kind](Fraction(2), size)) for size in sizes[1:]]
    for names in (("a",), ("b",), ("c", "a"), ("c", "b"), ("c", "a", "b")):
        axes = [schema.position(name) for name in names]
        # E[w_A w_B | record] for all pairs of cells, from reports of each question.
        cells = list(product(*(range(sizes[j]) for j in axes)))
        expected = np.zeros((len(cells), len(cells)))
        if whole:
            of = [
                {place for place, f in enumerate(free) if agrees(axes, cell, (None, *f))}
                for cell in cells
            ]
            inside = products(channels[0], of)
        else:
            alone = {
                j: products(channels[j - 1], [{k} for k in range(sizes[j])]) for j in axes if j > 0
            }
        for record in product(*map(range, sizes)):
            for first, second in product(range(len(cells)), repeat=2):
                one, two = cells[first], cells[second]
                known = all(record[j] == one[k] == two[k] for k, j in enumerate(axes) if j == 0)
                if whole:
                    asked = [j for j in axes if j > 0]
                    moment = inside[free.index(record[1:])][first][second] if asked else 1
                else:
                    moment = math.prod(
                        alone[j][record[j]][one[k]][two[k]] for k, j in enumerate(axes) if j > 0
                    )
                expected[first, second] += people[record] * float(known * moment)
        others = tuple(j for j in range(3) if j not in axes)
        kept = people.sum(axis=others)
        shares = kept.transpose(np.argsort(np.argsort(axes)))
        flat = shares.ravel()
        expected -= np.outer(flat, flat) if target == "population" else np.diag(flat)
        table = oracle.expected_table(names, shares, respondents)
        table = table.sampled(1.0 if target == "respondents" else 0.0)
        found = table.covariance() * (respondents - 1)
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-12), names
        assert table.variance().ravel() * (respondents - 1) == pytest.approx(
            np.diag(expected), rel=1e-9, abs=1e-12
        )
        unit = table.unit_variance()
        if len(names) < 3:
            assert unit.at(shares).ravel() == pytest.approx(np.diag(expected), rel=1e-9, abs=1e-12)
        # Under other shares, as a score test has them.
        again = oracle.expected_table(names, np.full(shares.shape, 1 / flat.size), respondents)
        again = again.sampled(table.fraction)
        assert again.covariance(shares=shares) == pytest.approx(
            table.covariance(), rel=1e-9, abs=1e-12
        )


def agrees(axes, cell, record):
    """Return whether a record, whose public answer is not looked at, is in a cell."""
    return all(record[j] == code for j, code in zip(axes, cell, strict=True) if j > 0)


@pytest.mark.parametrize("gamma", [3, 19])
def test_variances_of_rare_answers_are_the_published_ones(gamma):
    gamma, answers = Fraction(gamma), 1_000
    best = 4 * gamma / (gamma - 1) ** 2
    for kind, expected in (
        ("k-ary randomized response", (gamma + answers - 2) / (gamma - 1) ** 2),
        ("optimized unary encoding", best),
        ("optimized local hashing", best),
    ):
        assert Moments.of(ORACLES[kind](gamma, answers), 1).other == pytest.approx(float(expected))
    # Subset selection with n/(γ + 1) answers (Ye & Barg 2018).
    if answers % (gamma + 1) == 0:
        size = answers / (gamma + 1)
        p = gamma * size / (gamma * size + answers - size)
        q = (p * (size - 1) + (1 - p) * size) / (answers - 1)
        found = Moments.of(ORACLES["subset selection"](gamma, answers), 1).other
        assert found == pytest.approx(float(q * (1 - q) / (p - q) ** 2))
        assert found < float(best)


def test_k_ary_response_of_the_record_and_of_each_question_are_mechanisms():
    """The gamma-diagonal mechanism, and randomized response with a divided budget."""
    schema = schema_of((2, 3, 4))
    for whole, mechanism in (
        (True, GammaDiagonal(19)),
        (False, RandomizedResponse.for_amplification(schema, 19)),
    ):
        oracle = OracleTables(
            schema, "k-ary randomized response", Fraction(19), frozenset(), whole=whole
        )
        survey = Survey("s", "S", schema, mechanism)
        other = plan(survey, PlanQuery(respondents=5_000, alone=True)).mechanisms[0]
        asked = float(oracle.amplification(["c"]))
        assert other.answer_amplification == pytest.approx(asked, rel=1e-6)
        assert other.amplification == pytest.approx(float(oracle.amplification("abc")), rel=1e-6)
        matrix = survey.perturbation.channel(["a", "c"])
        reported = matrix.forward(np.full((2, 4), 1 / 8))
        covariance = np.linalg.inv(matrix.forward(np.eye(8).reshape(8, 2, 4)).reshape(8, 8).T)
        expected = (covariance * reported.ravel()) @ covariance.T - 1 / 64
        table = oracle.expected_table(["a", "c"], np.full((2, 4), 1 / 8), 5_000)
        assert table.covariance() * 4_999 == pytest.approx(expected, rel=1e-6, abs=1e-9)


# -- the comparison --------------------------------------------------------------------------------

AGES = {"young": ["a0", "a1"], "middle": ["a2"], "old": ["a3", "a4", "a5"]}


def attributes(collapsed=None):
    sizes = {"sex": 2, "age": 6, "drugs": 2, "voted": 2}
    return [
        Attribute(
            name,
            [f"a{k}" for k in range(size)],
            collapsed=collapsed if name == "age" else None,
        )
        for name, size in sizes.items()
    ]


def test_both_promises_are_stated_for_all_mechanisms_and_protocols():
    schema = Schema(attributes())
    survey = Survey("s", "S", schema, SplitQuestionnaire.for_amplification(schema, 16, (), 2))
    result = plan(survey, PlanQuery(respondents=5_000))
    found = {
        each.name: (each.amplification, each.answer_amplification) for each in result.mechanisms
    }
    record, each = pytest.approx((16, 16)), pytest.approx((16, 2), rel=1e-6)
    assert found == {
        "split-questionnaire": record,
        "gamma-diagonal": record,
        "randomized-gamma-diagonal": record,
        "randomized-response": each,
        "optimized unary encoding (whole record)": record,
        "optimized local hashing (whole record)": record,
        "subset selection (whole record)": record,
        "optimized unary encoding (each question)": each,
        "optimized local hashing (each question)": each,
        "subset selection (each question)": each,
    }
    collected = [each.name for each in result.mechanisms if each.collected]
    assert collected == list(found)[:4]
    assert result.recommended in collected
    assert result.grouped == []


def test_designs_for_wanted_tables_are_compared_if_there_are_any():
    schema = Schema(attributes())
    own = Survey("s", "S", schema, SplitQuestionnaire.for_amplification(schema, 19, (), 2))
    detect = ["drugs by age: 10 points"]
    result = plan(own, PlanQuery(respondents=5_000, detect=detect))
    names = [each.name for each in result.mechanisms if each.kind == "split-questionnaire"]
    assert names[-2:] == [
        "split-questionnaire (wanted tables)",
        "split-questionnaire (wanted tables and groups of answers)",
    ]
    assert result.grouped == ["age"]
    widths = {}
    for each in result.mechanisms:
        [within] = [m for m in each.margins if m.quantity == "share_within"]
        # Only the wanted pair.
        assert (within.possible, within.worst_of) == (1, ["age", "drugs"])
        widths[each.name] = math.inf if within.median is None else within.median
    assert min(widths, key=widths.get) == names[-1]
    # A query with groups wants their tables. Advice is still about lengths.
    result = plan(own, PlanQuery(respondents=5_000, groups=["age"], questions=["voted"]))
    assert "split-questionnaire (wanted tables)" in [each.name for each in result.mechanisms]
    assert result.advice[0].startswith("Shares of answers by max_length")
    assert any("can be public" in sentence for sentence in result.advice)
    assert "With differences to detect" in " ".join(mechanism_notes(result))


def test_other_mechanisms_are_planned_in_detail_and_read_in_the_groups_of_the_survey():
    """By dense algebra: the matrix of the record, whose tables are summed over classes of ages."""
    schema = Schema(attributes(AGES))
    tables = [{"of": ["drugs"], "by": ["age"]}]
    survey = Survey.from_toml(
        'id = "s"\ntitle = "S"\n[mechanism]\nkind = "split-questionnaire"\ngamma = "19"\n'
        f"tables = [{{ of = {tables[0]['of']}, by = {tables[0]['by']} }}]\n"
        + "".join(
            f'[[attributes]]\nname = "{each.name}"\ncategories = {list(each.categories)}\n'
            + (
                "collapsed = { "
                + ", ".join(f"{name} = {answers}" for name, answers in AGES.items())
                + " }\n"
                if each.collapsed
                else ""
            )
            for each in schema.attributes
        )
    )
    respondents = 40_000
    result = plan(survey, PlanQuery(respondents=respondents))
    assert result.grouped == ["age"]
    by_name = {each.name: each for each in result.mechanisms}
    assert "split-questionnaire (wanted tables)" in by_name  # without groups
    sums = np.zeros((3, 6))
    for place, answers in enumerate(AGES.values()):
        sums[place, [int(answer[1:]) for answer in answers]] = 1
    sums = np.kron(sums, np.eye(2))
    detail = Schema(attributes())
    for mechanism in (GammaDiagonal(19), RandomizedResponse.for_amplification(detail, 19)):
        channel = mechanism.bind(detail).channel(["age", "drugs"])
        matrix = channel.forward(np.eye(12).reshape(12, 6, 2)).reshape(12, 12).T
        inverse = np.linalg.inv(matrix)
        even = np.full(12, 1 / 12)
        covariance = (inverse * (matrix @ even)) @ inverse.T - np.outer(even, even)
        merged = sums @ covariance @ sums.T / (respondents - 1)
        shares = sums @ even
        halves = []
        for cell in range(6):
            group = [2 * (cell // 2), 2 * (cell // 2) + 1]
            form = np.eye(6)[cell] - 0.5 * np.eye(6)[group].sum(axis=0)
            halves.append(1.96 * np.sqrt(form @ merged @ form) / shares[group].sum())
        [within] = [
            each for each in by_name[mechanism.kind].margins if each.quantity == "share_within"
        ]
        # Fieller's sets are a little wider.
        assert within.median == pytest.approx(np.median(halves), rel=0.05)
    # The survey's own margin is the one of its groups, as in the table of all margins.
    [own] = [each for each in result.margins if each.quantity == "share_within"]
    assert result.mechanisms[0].margins[1] == own
