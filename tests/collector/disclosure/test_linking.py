"""Linking risk against published values and an exact enumeration of small surveys."""

from fractions import Fraction
from itertools import product

import dense_split
import numpy as np
import pytest
from adult import adult
from halftruth_collector.disclosure import linking
from halftruth_collector.disclosure.linking import (
    linking_risk,
    linking_risk_of,
    linking_risk_of_reports,
)
from halftruth_collector.estimation.report_model import ReportKinds, report_probabilities
from halftruth_shared import (
    Attribute,
    DistortionMatrices,
    DomainTooLarge,
    GammaDiagonal,
    HalftruthError,
    ParameterError,
    RandomizedResponse,
    Schema,
    SplitQuestionnaire,
    Survey,
)
from halftruth_shared.channels import Dense
from halftruth_shared.mechanisms import ViewClass
from witnesses import witness

#: Columns sum to 1; none is symmetric.
SKEWED = {
    2: [["9/10", "3/10"], ["1/10", "7/10"]],
    3: [["8/10", "1/10", "1/5"], ["1/10", "7/10", "1/5"], ["1/10", "2/10", "3/5"]],
}
#: People by two quasi-identifiers and an answer of three categories; some cells are empty.
PEOPLE = [[[6, 1, 2], [0, 4, 0]], [[3, 3, 0], [0, 0, 0]], [[1, 0, 2], [5, 2, 1]]]
SHAPE = (3, 2, 3)
CELLS = list(product(*map(range, SHAPE)))


def keep(size, p):
    """Channel that keeps an answer with p, and else draws another one."""
    matrix = np.full((size, size), (1 - p) / (size - 1))
    np.fill_diagonal(matrix, p)
    return Dense(matrix)


def fractions(matrix):
    return [[Fraction(entry) for entry in row] for row in matrix]


def people():
    total = sum(sum(sum(row) for row in rows) for rows in PEOPLE)
    return {cell: Fraction(PEOPLE[cell[0]][cell[1]][cell[2]], total) for cell in CELLS}


def survey_of(mechanism, sizes=SHAPE):
    names = [f"a{j}" for j in range(len(sizes))]
    attributes = [
        Attribute(name, [f"c{code}" for code in range(size)])
        for name, size in zip(names, sizes, strict=True)
    ]
    return Survey("s", "S", Schema(attributes), mechanism)


def worlds(likelihood, shares):
    """Probability that a report of each cell is linked to each cell, by Bayes as fractions.

    `likelihood` is report → cell → probability; the result is (true, drawn) → probability.
    """
    found = {}
    for row in likelihood:
        together = sum(row[cell] * share for cell, share in shares.items())
        for true, drawn in product(shares, repeat=2):
            if together and shares[true]:
                belief = row[drawn] * shares[drawn] / together
                found[true, drawn] = found.get((true, drawn), 0) + row[true] * belief
    return found


def assert_equals(found, expected):
    """Assert that cells with people have the expected values, and that all others are undefined."""
    for cell, value in np.ndenumerate(found):
        assert (cell in expected) == (not np.isnan(value))
        if cell in expected:
            assert value == pytest.approx(float(expected[cell]), rel=1e-12)


def test_published_parameters_meet_their_limit_on_adult():
    table = adult()
    assert table.shape == (16, 7, 2, 5, 7)
    witness("Guo", "Table 5.1").assert_own(table.sum())
    row = witness("Guo", "Lemma 2, Result 15 and Equation 5.14")
    published = (0.824, 0.872, 0.920, 0.941, 1)
    factors = [keep(size, p) for size, p in zip(table.shape, published, strict=True)]
    row.assert_own(2 * linking_risk(table, factors).maximum)


def test_risk_is_the_chance_of_a_correct_link_column_by_column():
    witness("GYW", "Section IV (risk)")
    witness("Guo", "Equations 5.6–5.8")
    shares = people()
    matrices = {f"a{j}": SKEWED[size] for j, size in enumerate(SHAPE)}
    first, second, answer = (fractions(matrix) for matrix in matrices.values())
    groups = {
        (i, j): sum(shares[i, j, s] for s in range(3)) for i, j in product(range(3), range(2))
    }
    quasi = worlds(
        [
            {(i, j): first[v][i] * second[w][j] for i, j in groups}
            for v, w in product(range(3), range(2))
        ],
        groups,
    )
    expected = {}
    for group, share in groups.items():
        if share:
            given = {s: shares[*group, s] / share for s in range(3)}
            back = worlds([dict(enumerate(row)) for row in answer], given)
            for s in range(3):
                if given[s]:
                    expected[*group, s] = given[s] * quasi[group, group] * back[s, s]
    survey = survey_of(DistortionMatrices(matrices))
    found = linking_risk_of(survey, ["a0", "a1"], "a2", PEOPLE)
    assert_equals(found.risk, expected)
    assert found.maximum == pytest.approx(float(max(expected.values())))


def whole(likelihood, shares):
    """Expected `of_whole_reports` of every cell: risk, and belief if q is known."""
    back = worlds(likelihood, shares)
    risk, belief = {}, {}
    for cell, share in shares.items():
        if share:
            group = {c: shares[c] for c in shares if c[:-1] == cell[:-1]}
            risk[cell] = share / sum(group.values()) * back[cell, cell]
            belief[cell] = worlds(likelihood, group)[cell, cell]
    return risk, belief


def by_attribute():
    matrices = [fractions(SKEWED[size]) for size in SHAPE]
    return [
        {u: np.prod([m[v][c] for m, v, c in zip(matrices, report, u, strict=True)]) for u in CELLS}
        for report in CELLS
    ]


def gamma_diagonal(gamma):
    total = gamma + len(CELLS) - 1
    return [{u: Fraction(gamma if u == v else 1, total) for u in CELLS} for v in CELLS]


def split(gamma, classes, sizes):
    rows = dense_split.matrix(sizes, (), Fraction(gamma), 5, 4, classes).values()
    records = list(product(*map(range, sizes)))
    others = len(records) // len(CELLS)
    # The attributes after the third have uniform answers.
    return [
        {u: sum(p for r, p in zip(records, row, strict=True) if r[:3] == u) / others for u in CELLS}
        for row in rows
    ]


VIEWS = [(((0, 1, 2, 3),), (3,), 2), (((2,), (3,)), (1, 1), 1)]
SPLIT = SplitQuestionnaire(
    4,
    [
        ViewClass(
            attributes=[[f"a{j}" for j in group] for group in groups], choose=choose, weight=weight
        )
        for groups, choose, weight in VIEWS
    ],
    prime=5,
    direct=4,
)

MECHANISMS = {
    "each by itself": (
        survey_of(DistortionMatrices({f"a{j}": SKEWED[size] for j, size in enumerate(SHAPE)})),
        by_attribute,
    ),
    "whole records": (survey_of(GammaDiagonal("19")), lambda: gamma_diagonal(19)),
    "symbols about views": (survey_of(SPLIT, (*SHAPE, 2)), lambda: split(4, VIEWS, (*SHAPE, 2))),
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_risk_of_whole_reports_equals_the_enumeration(name):
    survey, likelihood = MECHANISMS[name]
    risk, belief = whole(likelihood(), people())
    found = linking_risk_of(survey, ["a0", "a1"], "a2", PEOPLE)
    assert_equals(found.of_whole_reports.risk, risk)
    assert_equals(found.sensitive, belief)


def test_hundreds_of_views_have_few_kinds_of_reports_about_three_questions():
    """The risk of distinct reports is the same, and takes minutes."""
    attributes = [Attribute(f"a{j}", ["no", "yes"]) for j in range(9)]
    schema = Schema(attributes)
    triples = SplitQuestionnaire.designed(schema, "19", (), {1: 1.0, 2: 1.0, 3: 1.0})
    survey = Survey("s", "S", schema, triples)
    rng = np.random.default_rng(5)
    table = rng.dirichlet(np.ones(8)).reshape(2, 2, 2)
    quasi, sensitive = ["a0", "a4"], "a8"
    names = [*quasi, sensitive]
    kinds = ReportKinds(survey.perturbation, names)
    assert kinds.number < 60 < 1000 < survey.perturbation.space.size
    every = linking_risk_of_reports(
        table, lambda part: report_probabilities(survey.perturbation, part, names)
    )
    found = linking_risk_of(survey, quasi, sensitive, table)
    for factor in ("quasi", "sensitive", "record", "whole"):
        np.testing.assert_allclose(getattr(found, factor), getattr(every, factor), rtol=1e-11)


def test_an_unperturbed_answer_that_equals_the_quasi_identifier_reveals_it():
    """The answer is q itself, so that the report shows q, which eq. 5.6 does not consider."""
    found = linking_risk([[10, 0], [0, 10]], [keep(2, 0.6), keep(2, 1)])
    assert found.maximum == pytest.approx(0.6**2 + 0.4**2)
    assert found.of_whole_reports.maximum == pytest.approx(1)


def test_risk_is_least_for_uninformative_reports_and_at_most_the_share_in_the_table():
    """At p = 1/d every factor is the share in the table."""
    witness("Guo", "Property 1")
    sizes = np.array(SHAPE)
    blind = linking_risk(PEOPLE, [keep(size, 1 / size) for size in SHAPE])
    np.testing.assert_allclose(blind.quasi, np.where(blind.quasi > 0, blind.table.sum(-1), np.nan))
    np.testing.assert_allclose(blind.sensitive, blind.share)
    rng = np.random.default_rng(1)
    for p in rng.uniform(1 / sizes, 1, (50, 3)):
        found = linking_risk(PEOPLE, [keep(d, k) for d, k in zip(SHAPE, p, strict=True)])
        there = found.table > 0
        assert (found.risk[there] >= blind.risk[there] - 1e-12).all()
        assert (found.risk[there] <= found.share[there] + 1e-12).all()


def test_the_only_answer_in_a_group_is_known_under_any_perturbation():
    witness("Guo", "Property 1 (one answer)")
    as_they_are = [keep(3, 1), keep(2, 1)]
    for p in (0.34, 0.5, 0.9):
        assert linking_risk(PEOPLE, [*as_they_are, keep(3, p)]).risk[0, 1, 1] == pytest.approx(1)


def test_people_are_counted_by_risk():
    found = linking_risk([[6, 2], [1, 1]], [keep(2, 1), keep(2, 1)])
    np.testing.assert_allclose(found.risk, [[0.75, 0.25], [0.5, 0.5]])
    assert found.quantiles([0.1, 0.2, 0.3, 0.4, 0.9]).tolist() == [0.25, 0.25, 0.5, 0.5, 0.75]
    assert [found.above(x) for x in (0.2, 0.25, 0.5, 0.75)] == pytest.approx([1, 0.8, 0.6, 0])


@pytest.mark.parametrize(
    "table", [[[-1, 2], [3, 4]], [[np.nan, 1], [1, 1]], [[0, 0], [0, 0]], [1, 2]]
)
def test_a_table_that_is_no_table_of_counts_is_refused(table):
    with pytest.raises(ParameterError, match="expected counts of at least 0"):
        linking_risk(table, [keep(2, 0.8)] * np.ndim(table))


def test_arguments_that_do_not_fit_the_survey_are_refused():
    survey = survey_of(RandomizedResponse({"a0": "1/2", "a1": "3/4", "a2": "1/2"}))
    for quasi, sensitive, table in (
        (["a0", "a2"], "a2", PEOPLE),
        (["a0", "a0"], "a2", PEOPLE),
        (["a0"], "b", PEOPLE),
        (["a1", "a0"], "a2", PEOPLE),
    ):
        with pytest.raises(HalftruthError, match=r"expected|unknown"):
            linking_risk_of(survey, quasi, sensitive, table)


@pytest.mark.parametrize(
    ("limit", "most", "mechanism"),
    [
        ("MAX_CELLS", 17, "each by itself"),
        ("MAX_CATEGORIES", 2, "each by itself"),
        ("MAX_PROBABILITIES", 150, "whole records"),
        ("MAX_AT_ONCE", 50, "whole records"),
    ],
)
def test_tables_that_exceed_the_limits_are_refused(monkeypatch, limit, most, mechanism):
    monkeypatch.setattr(linking, limit, most)
    with pytest.raises(DomainTooLarge, match="fewer quasi-identifiers"):
        linking_risk_of(MECHANISMS[mechanism][0], ["a0", "a1"], "a2", PEOPLE)
