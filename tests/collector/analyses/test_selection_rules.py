"""Selection rules by their definitions, on reports whose number of candidates is known.

Every bound, interval and p-value is computed here again, by dense algebra and scipy. A rule that is
not applied, or is applied to another number of candidates, fails one of these tests.
"""

import math
from dataclasses import replace
from functools import reduce
from itertools import combinations, product

import numpy as np
import pytest
from halftruth_collector.analyses import ANALYSES, answer
from halftruth_collector.analyses.survey_report import survey_report
from halftruth_collector.estimation import Counts
from halftruth_shared import Attribute, RandomizedResponse, Schema, Series, Survey
from halftruth_shared.analyses.comparison import ComparisonQuery
from halftruth_shared.analyses.crosstab import CrosstabQuery
from halftruth_shared.analyses.distribution import DistributionQuery
from halftruth_shared.analyses.itemsets import ItemsetsQuery
from halftruth_shared.analyses.measures import MeasuresQuery
from halftruth_shared.analyses.overview import OverviewQuery
from halftruth_shared.analyses.regression import RegressionQuery
from halftruth_shared.analyses.rules import RulesQuery
from halftruth_shared.analyses.table import TableQuery
from halftruth_shared.analyses.waves import WavesQuery
from halftruth_shared.analyses.weighted import WeightedQuery
from halftruth_shared.attribute import MultipleResponse
from scipy.optimize import root
from scipy.special import expit
from scipy.stats import binomtest, chi2, false_discovery_control, gamma, norm
from sources import counts_of, source_of

ALPHA = 0.05


def compute(source, query):
    analysis = next(each for each in ANALYSES.values() if each.query is type(query))
    return answer(analysis, source, query)


class Reports:
    """Reports that keep each answer with a probability, and estimates by dense algebra.

    Other answers are equally likely to be reported for an answer that is not kept.
    """

    def __init__(self, people, keep="0.8", seed=3):
        people = np.asarray(people)
        self.shape, self.people = people.shape, int(people.sum())
        self.names = [f"q{j}" for j in range(len(self.shape))]
        schema = Schema(
            [
                Attribute(name, [f"c{code}" for code in range(size)], sensitive=keep != "1")
                for name, size in zip(self.names, self.shape, strict=True)
            ]
        )
        self.survey = Survey("s", "S", schema, RandomizedResponse(dict.fromkeys(self.names, keep)))
        self.matrices = [
            np.where(np.eye(size) > 0, float(keep), (1 - float(keep)) / (size - 1))
            for size in self.shape
        ]
        cells = np.stack(np.indices(self.shape), axis=-1).reshape(-1, len(self.shape))
        records = np.repeat(cells, people.ravel(), axis=0)
        counts = counts_of(self.survey, records, np.random.default_rng(seed))
        self.counts = counts.marginal(range(len(self.shape))).reshape(self.shape)
        self.source = source_of(self.survey, counts)

    def table(self, *axes):
        """Return the shares of a table of some questions, and their covariance."""
        others = tuple(axis for axis in range(len(self.shape)) if axis not in axes)
        counted = self.counts.sum(axis=others).transpose(np.argsort(np.argsort(axes)))
        reported = counted.ravel() / self.people
        inverse = reduce(np.kron, [np.linalg.inv(self.matrices[axis]) for axis in axes])
        shares = inverse @ reported
        covariance = (inverse * reported) @ inverse.T - np.outer(shares, shares)
        return shares, covariance / (self.people - 1)

    def one(self, axis):
        """Return the share of each answer to a question, and its variance and third moment.

        They are those of the weight of a single report in the estimate.
        """
        inverse = np.linalg.inv(self.matrices[axis])
        others = tuple(other for other in range(len(self.shape)) if other != axis)
        reported = self.counts.sum(axis=others) / self.people
        shares = inverse @ reported
        apart = inverse - shares[:, None]
        return shares, apart**2 @ reported, apart**3 @ reported


def independent(*margins, people=4_000, seed=1):
    """Return counts of reports with these margins, without an association, by chance."""
    shares = reduce(np.multiply.outer, [np.array(margin) for margin in margins])
    return np.random.default_rng(seed).multinomial(people, shares.ravel()).reshape(shares.shape)


def tilted(*margins, people=4_000, seed=1, by=0.15):
    """Return counts in which the first answers to all pairs of questions occur together."""
    shares = reduce(np.multiply.outer, [np.array(margin) for margin in margins])
    first = [
        (codes == 0) - margin[0]
        for codes, margin in zip(np.indices(shares.shape), margins, strict=True)
    ]
    shares = shares * np.exp(by * sum(a * b for a, b in combinations(first, 2)))
    draw = np.random.default_rng(seed).multinomial
    return draw(people, (shares / shares.sum()).ravel()).reshape(shares.shape)


# -- headlines -------------------------------------------------------------------------------------

#: Reports about questions of 4, 3, 2, 3 and 2 answers, of a true association of all pairs.
UNEVEN = Reports(
    tilted(
        [0.4, 0.3, 0.2, 0.1],
        [0.5, 0.3, 0.2],
        [0.6, 0.4],
        [0.3, 0.4, 0.3],
        [0.5, 0.5],
        by=0.9,
    )
)

#: The same with weaker associations.
FAINT = Reports(
    tilted(
        [0.4, 0.3, 0.2, 0.1],
        [0.5, 0.3, 0.2],
        [0.6, 0.4],
        [0.3, 0.4, 0.3],
        [0.5, 0.5],
        by=0.5,
        seed=7,
    )
)

#: Quantities whose rows have the tests of these headlines.
TESTED = ("difference", "odds_ratio", "share", "cramers_v", "mean_difference", "coefficient")

GROUPS = {"answer": {"q2": "c0"}, "groups": "q0"}

#: Queries, the kind of the claim about a row, and the number of hypotheses, counted by hand.
HEADLINES = [
    # Each of four groups against all others, and each of three against the reference.
    (ComparisonQuery(**GROUPS), "different", 4),
    (ComparisonQuery(**GROUPS, reference="c3"), "different", 3),
    (ComparisonQuery(**GROUPS, effect="odds_ratio"), "different", 4),
    (ComparisonQuery(**GROUPS, among=["c0", "c1", "c2"], confidence=0.9), "different", 3),
    # All cells of 4 × 3, of 3 × 3, and of 4 × 3 in each of two layers.
    (CrosstabQuery(attributes=["q0", "q1"]), "different", 12),
    (CrosstabQuery(attributes=["q1", "q3"], percentages="joint"), "different", 9),
    (CrosstabQuery(attributes=["q0", "q1", "q4"]), "different", 24),
    # The pairs of five questions, and of three.
    (MeasuresQuery(), "associated", 10),
    (MeasuresQuery(attributes=["q0", "q1", "q2"], confidence=0.9), "associated", 3),
    # Four groups against the first.
    (DistributionQuery(attribute="q1", scores={"q1": "1,2,4"}, groups="q0"), "different", 3),
    # The coefficients without the intercept: 3, and 3 + 2.
    (RegressionQuery(outcome="q2", predictors=["q0"], present={"q2": "c0"}), "effect", 3),
    (
        RegressionQuery(
            outcome="q2", predictors=["q0", "q1"], present={"q2": "c0"}, estimate="moment"
        ),
        "effect",
        5,
    ),
    (
        RegressionQuery(
            outcome="q1", predictors=["q0", "q2"], model="linear", scores={"q1": "1,2,4"}
        ),
        "effect",
        4,
    ),
]


def rows_of(result, quantity):
    return [result.rows[place] for place in result.places(quantity)]


@pytest.mark.parametrize(("query", "kind", "many"), HEADLINES)
def test_a_headline_names_the_smallest_p_value_if_it_is_below_the_level_by_many(query, kind, many):
    result, alpha = compute(UNEVEN.source, query), 1 - query.confidence
    [claim] = [each for each in result.claims if each.kind == kind and not each.by_rate]
    row, test = result.rows[claim.rows[0]], result.tests[claim.test]
    others = [each.p_value for each in rows_of(result, row.quantity) if each.p_value is not None]
    assert row.p_value == pytest.approx(min(others), rel=1e-6, abs=1e-300)
    assert test.hypotheses == many
    assert test.p_value == pytest.approx(min(1.0, many * row.p_value), rel=1e-6)
    assert test.p_value <= alpha
    # The interval is that of the row at the level α/m.
    further = compute(UNEVEN.source, replace_confidence(query, 1 - alpha / many)).rows[
        claim.rows[0]
    ]
    assert (claim.sets[0].interval, claim.sets[0].set) == (further.interval, further.set)
    assert claim.sets[0].interval != row.interval
    none = 1.0 if row.quantity in ("odds_ratio", "risk_ratio") else 0.0
    effect = row.value - none if row.statistic is None else row.statistic
    assert kind == "associated" or claim.direction == ("more" if effect > 0 else "less")


def replace_confidence(query, confidence):
    fields = {name: getattr(query, name) for name in query.__struct_fields__}
    return type(query)(**{**fields, "confidence": confidence})


@pytest.mark.parametrize(("query", "kind", "many"), HEADLINES)
def test_the_smallest_of_many_p_values_is_claimed_only_at_levels_above_many_times_it(
    query, kind, many
):
    """Asked at levels just below m·p and just above it, of weaker associations.

    Cells are claimed if the whole table is significant, too.
    """
    result = compute(FAINT.source, query)
    tested = [row.p_value for row in result.rows if row.quantity in TESTED]
    least = many * min(p for p in tested if p is not None)
    if isinstance(query, CrosstabQuery):
        least = max(least, result.tests[0].p_value)
    for level, expected in ((0.98 * least, False), (1.02 * least, True)):
        asked = compute(FAINT.source, replace_confidence(query, 1 - level))
        named = [each for each in asked.claims if each.kind == kind and not each.by_rate]
        assert bool(named) == expected


@pytest.mark.parametrize(
    ("query", "quantity"),
    [
        (HEADLINES[0][0], "difference"),
        (HEADLINES[1][0], "difference"),
        (HEADLINES[9][0], "mean_difference"),
        (HEADLINES[11][0], "odds_ratio"),
        (HEADLINES[11][0], "coefficient"),
        (HEADLINES[12][0], "coefficient"),
    ],
)
def test_adjusted_p_values_of_a_table_are_of_the_tests_of_all_its_rows(query, quantity):
    """The intercept is no hypothesis."""
    rows = rows_of(compute(FAINT.source, query), quantity)
    expected = false_discovery_control([row.p_value for row in rows])
    assert [row.adjusted_p_value for row in rows] == pytest.approx(expected, rel=1e-9)


def test_the_direction_of_a_claim_is_that_of_the_answers():
    """Yes is reported by 60 % of the first group, and by 40 % of the second."""
    for first, direction in ((0.6, "more"), (0.4, "less")):
        counts = np.round(1_000 * np.array([[first, 1 - first], [1 - first, first]])).astype(int)
        there = Reports(counts).source
        asked = {"outcome": "q1", "predictors": ["q0"], "present": {"q1": "c0"}}
        for query in (
            ComparisonQuery(answer={"q1": "c0"}, groups="q0", reference="c1"),
            RegressionQuery(**asked, reference={"q0": "c1"}),
            DistributionQuery(attribute="q1", scores={"q1": "0,1"}, groups="q0", reference="c0"),
        ):
            [claim] = [each for each in compute(there, query).claims if each.direction]
            assert claim.direction == direction, query
    result = compute(
        Reports([[600, 400], [400, 600]]).source, CrosstabQuery(attributes=["q0", "q1"])
    )
    [claim] = [each for each in result.claims if each.direction]
    row = result.rows[claim.rows[0]]
    assert (claim.direction, row["q0"]) == ("more", row["q1"])


def test_intervals_of_headlines_are_the_estimate_and_its_error_by_the_normal_quantile():
    """A difference of means of three, and one of five odds ratios on the scale of logarithms."""
    result = compute(
        UNEVEN.source, DistributionQuery(attribute="q1", scores={"q1": "1,2,4"}, groups="q0")
    )
    claim = next(each for each in result.claims if each.sets)
    row, z = result.rows[claim.rows[0]], norm.isf(ALPHA / 3 / 2)
    ends = row.value - z * row.standard_error, row.value + z * row.standard_error
    assert claim.sets[0].interval == pytest.approx(ends, rel=1e-9)
    asked = {"outcome": "q2", "predictors": ["q0", "q1"], "present": {"q2": "c0"}}
    result = compute(UNEVEN.source, RegressionQuery(**asked, estimate="moment"))
    claim = next(each for each in result.claims if each.sets)
    row, z = result.rows[claim.rows[0]], norm.isf(ALPHA / 5 / 2)
    ratio = np.exp(z * row.standard_error_log)
    assert claim.sets[0].interval == pytest.approx((row.value / ratio, row.value * ratio), rel=1e-9)


def wave(number, counts, keep="0.8"):
    """Return the counts of one wave of a panel."""
    there = Reports(counts, keep, seed=number)
    series = Series(id="panel", wave=number, total_gamma="1000000000", origin="https://a.test")
    survey = replace(there.survey, id=f"w{number}", series=series)
    cells = np.stack(np.indices(there.shape), axis=-1).reshape(-1, len(there.shape))
    return source_of(survey, Counts.from_cells(survey, cells, there.counts.ravel()))


def test_a_change_is_claimed_among_all_changes_and_trends():
    """Of three waves: yes and no are one hypothesis, with two changes and a trend."""
    first = independent([0.5, 0.5], [0.4, 0.3, 0.3], people=2_000)
    waves = [wave(1, first), wave(2, first), wave(3, first + np.array([[90], [0]]))]
    last = replace(waves[-1], waves=lambda: waves)
    for names, many in ((["q0"], 3), (["q1"], 9), (None, 12)):
        result = compute(last, WavesQuery(attributes=names))
        [test] = result.tests
        assert test.hypotheses == many
        claim = result.claims[0]
        row = result.rows[claim.rows[0]]
        assert test.p_value == pytest.approx(min(1.0, many * row.p_value))
        at_level = compute(last, WavesQuery(attributes=names, confidence=1 - ALPHA / many))
        assert claim.sets[0].interval == at_level.rows[claim.rows[0]].interval


# -- the most frequent cell, and bounds of lists ---------------------------------------------------


def test_the_most_frequent_answer_is_above_all_others_at_the_level_by_cells():
    """Unperturbed answers have Wilson's intervals; the second of six answers comes closer."""
    agreed, differs = 0, 0
    for second in range(200, 300, 4):
        counts = np.array([300, second, 40, 30, 20, 10])
        people = counts.sum()
        result = compute(Reports(counts, "1").source, TableQuery(attributes=["q0"]))

        def ends(alpha, counts=counts, people=people):
            found = [
                binomtest(int(count), int(people)).proportion_ci(1 - alpha, method="wilson")
                for count in counts
            ]
            return np.array(found).T

        lower, upper = ends(ALPHA / 6)
        largest = lower[0] > upper[1:].max()
        [claim] = result.claims
        assert claim.kind == ("largest" if largest else "none found"), second
        if largest:
            assert claim.rows == [0]
            # Variances are divided by N − 1.
            assert claim.sets[0].interval == pytest.approx((lower[0], upper[0]), abs=1e-4)
        alone = ends(ALPHA)
        differs += largest != (alone[0][0] > alone[1][1:].max())
        agreed += largest
    assert agreed > 3
    assert differs > 3


def itemsets_of(reports, longest):
    """Yield each itemset as axes and codes, with its support and standard error."""
    for length in range(1, longest + 1):
        for axes in combinations(range(len(reports.shape)), length):
            shares, covariance = reports.table(*axes)
            errors = np.sqrt(np.diag(covariance))
            codes = product(*(range(reports.shape[axis]) for axis in axes))
            for code, share, error in zip(codes, shares, errors, strict=True):
                yield tuple(zip(axes, code, strict=True)), share, error


THRESHOLD = 0.05


@pytest.fixture(scope="module")
def mined():
    """Itemsets of one to three answers, by their keys, and their number."""
    return {key: (share, error) for key, share, error in itemsets_of(UNEVEN, 3)}


def key_of(reports, items):
    return tuple((reports.names.index(name), int(category[1:])) for name, category in items.items())


def itemsets(**asked):
    return compute(UNEVEN.source, ItemsetsQuery(min_support=THRESHOLD, max_length=3, **asked))


def test_itemsets_are_frequent_by_the_false_discovery_rate_over_all_candidates(mined):
    """One-sided tests at half of 5 %; itemsets that are not listed count as hypotheses."""
    result = itemsets()
    assert result.selection.candidates == len(mined) == 14 + 77 + 208
    supports, errors = np.array(list(mined.values())).T
    p_values = np.minimum(1, 2 * norm.sf((supports - THRESHOLD) / errors))
    adjusted = dict(zip(mined, false_discovery_control(p_values), strict=True))
    found = {key_of(UNEVEN, row["itemset"]): row.adjusted_p_value for row in result.rows}
    listed = {key for key, (share, _) in mined.items() if share >= THRESHOLD - 1e-9}
    assert found.keys() == listed
    assert found == pytest.approx({key: adjusted[key] for key in listed}, rel=1e-6, abs=1e-12)
    frequent = result.claims[0]
    assert (frequent.kind, frequent.rate) == ("frequent", pytest.approx(ALPHA / 2))
    assert frequent.rows == [k for k, p in enumerate(found.values()) if p <= ALPHA]
    assert 0 < len(frequent.rows) < len(found)


def test_intervals_of_listed_itemsets_have_a_false_coverage_rate(mined):
    """At the level 5 % · R/m for R listed of m candidates."""
    result = itemsets()
    z = norm.isf(ALPHA * len(result.rows) / len(mined) / 2)
    for row in result.rows:
        share, error = mined[key_of(UNEVEN, row["itemset"])]
        ends = max(share - z * error, 0), min(share + z * error, 1)
        assert row.interval == pytest.approx(ends, rel=1e-6)


@pytest.mark.parametrize("confidence", [0.95, 0.8])
def test_the_largest_lower_bound_of_an_itemset_is_at_the_level_by_candidates(mined, confidence):
    result = itemsets(confidence=confidence)
    z = norm.isf((1 - confidence) / len(mined) / 2)
    bounds = {key: s - z * error for key, (s, error) in mined.items() if len(key) > 1}
    best = max(bounds, key=bounds.get)
    [claim] = [each for each in result.claims if each.kind == "at least"]
    assert key_of(UNEVEN, result.rows[claim.rows[0]]["itemset"]) == best
    assert claim.bound == pytest.approx(bounds[best], rel=1e-6)


def fieller(reports, antecedent, consequent, z):
    """Return the ends of all ratios r with |XY − r·X| ≤ z·σ, by the roots of a quadratic."""
    axes = [axis for axis, _ in (*antecedent, *consequent)]
    shares, covariance = reports.table(*axes)
    codes = np.array(list(product(*(range(reports.shape[axis]) for axis in axes))))
    given = (codes[:, : len(antecedent)] == [code for _, code in antecedent]).all(axis=1)
    both = given & (codes[:, len(antecedent) :] == [code for _, code in consequent]).all(axis=1)
    forms = np.array([both, given], dtype=float)
    top, bottom = forms @ shares
    (a, b), (_, c) = forms @ covariance @ forms.T
    square = [bottom**2 - z**2 * c, -2 * (top * bottom - z**2 * b), top**2 - z**2 * a]
    assert square[0] > 0
    return tuple(sorted(np.roots(square)))


@pytest.mark.parametrize("confidence", [0.95, 0.9])
def test_the_largest_lower_bound_of_a_rule_is_at_the_level_by_candidates(confidence):
    """Of all rules between two questions, of which there are two for each itemset of two."""
    asked = {"min_support": THRESHOLD, "min_confidence": 0.3, "max_length": 2}
    result = compute(UNEVEN.source, RulesQuery(**asked, confidence=confidence, measures=[]))
    alpha, candidates = 1 - confidence, 2 * 77
    assert result.selection.candidates == candidates
    rules = [result.rows[place] for place in result.places("confidence")]
    sides = [[key_of(UNEVEN, row[side]) for side in ("antecedent", "consequent")] for row in rules]
    z = norm.isf(alpha / candidates / 2)
    bounds = [fieller(UNEVEN, *each, z)[0] for each in sides]
    [claim] = [each for each in result.claims if each.kind == "at least"]
    assert (claim.rows, claim.bound) == ([int(np.argmax(bounds))], pytest.approx(max(bounds)))
    # The interval of each row: 5 % · R/m.
    z = norm.isf(alpha * result.selection.listed / candidates / 2)
    for row, each in zip(rules, sides, strict=True):
        lower, upper = fieller(UNEVEN, *each, z)
        assert row.interval == pytest.approx((max(lower, 0), min(upper, 1)), rel=1e-6)


@pytest.mark.parametrize("method", ["raking", "calibration"])
def test_the_weighted_share_that_changes_most_has_an_interval_at_the_level_by_shares(method):
    """Of 3 + 2 + 3 + 2 shares of four questions."""
    margins = {"q0": {"c0": 0.25, "c1": 0.25, "c2": 0.25, "c3": 0.25}}
    result = compute(UNEVEN.source, WeightedQuery(margins=margins, method=method))
    [claim] = [each for each in result.claims if each.kind == "estimate"]
    row, without = (result.rows[place] for place in claim.rows)
    z = norm.isf(ALPHA / 10 / 2)
    ends = row.value - z * row.standard_error, row.value + z * row.standard_error
    assert claim.sets[0].interval == pytest.approx(ends, rel=1e-9)
    z = norm.isf(ALPHA / 2)
    ends = row.value - z * row.standard_error, row.value + z * row.standard_error
    assert row.interval == pytest.approx(ends, rel=1e-9)
    changes = [
        abs(one.value - other.value)
        for one, other in zip(rows_of(result, "share"), rows_of(result, "unweighted"), strict=True)
    ]
    assert abs(row.value - without.value) == pytest.approx(max(changes))


# -- independence: skewness, cells, pairs ----------------------------------------------------------


def scores(reports, one, other):
    """Return residuals of a table, and their scores corrected for skewness.

    A report moves the departure of a cell from independence by the product of its two weights, each
    less the share of the answer. Without an association, the variance and the third moment are
    products, too.
    """
    (rows, spread, third), (columns, of_columns, third_of_columns) = (
        reports.one(one),
        reports.one(other),
    )
    shares, _ = reports.table(one, other)
    departure = shares.reshape(len(rows), len(columns)) - np.outer(rows, columns)
    # Variances are divided by N − 1.
    error = np.sqrt(np.outer(spread, of_columns) / (reports.people - 1))
    residuals = departure / error
    skewness = np.outer(third, third_of_columns) / reports.people**2 / error**3
    # Wilson and Hilferty's transformation of a gamma variable to a normal one.
    cube = np.cbrt(skewness * residuals / 2 + 1)
    return residuals, 6 / skewness * (cube - 1) + skewness / 6


#: Few reports about rare answers, whose skewness is large.
SKEWED = Reports(
    tilted([0.8, 0.12, 0.08], [0.7, 0.2, 0.1], [0.75, 0.25], people=400, by=0.3), "0.9"
)


def test_marks_of_cells_have_the_p_values_of_scores_corrected_for_skewness():
    result = compute(SKEWED.source, CrosstabQuery(attributes=["q0", "q1"]))
    residuals, corrected = scores(SKEWED, 0, 1)
    rows = rows_of(result, "share")
    assert [row.statistic for row in rows] == pytest.approx(residuals.ravel(), rel=1e-6)
    p_values = 2 * norm.sf(np.abs(corrected.ravel()))
    assert [row.p_value for row in rows] == pytest.approx(p_values, rel=1e-6)
    assert np.abs(p_values - 2 * norm.sf(np.abs(residuals.ravel()))).max() > 0.01
    adjusted = false_discovery_control(p_values)
    assert [row.adjusted_p_value for row in rows] == pytest.approx(adjusted, rel=1e-6)


def pairs_of(reports):
    """Return the p-value of each pair of questions: Bonferroni over the cells of its table."""
    found = {}
    for one, other in combinations(range(len(reports.shape)), 2):
        corrected = np.abs(scores(reports, one, other)[1])
        cells = reports.shape[one] * reports.shape[other]
        found[one, other] = min(1.0, cells * 2 * norm.sf(corrected.max()))
    return found


#: Weak associations of some pairs.
WEAK = Reports(
    tilted([0.4, 0.3, 0.3], [0.5, 0.3, 0.2], [0.6, 0.4], [0.5, 0.5], people=6_000, seed=12, by=0.3)
)


def test_the_map_of_pairs_corrects_for_cells_and_has_a_false_discovery_rate_over_pairs():
    result, expected = compute(WEAK.source, MeasuresQuery()), pairs_of(WEAK)
    adjusted = dict(zip(expected, false_discovery_control([*expected.values()]), strict=True))
    decided = [p <= ALPHA for p in adjusted.values()]
    assert 0 < sum(decided) < len(decided)
    for row in result.rows:
        pair = tuple(sorted(int(row[side][1:]) for side in ("row", "column")))
        if expected[pair] < 0.5:
            assert row.p_value == pytest.approx(expected[pair], rel=1e-6)
            assert row.adjusted_p_value == pytest.approx(adjusted[pair], rel=1e-6)
    named, counted = result.claims
    assert result.tests[named.test].p_value == pytest.approx(6 * min(expected.values()), rel=1e-6)
    assert (len(counted.rows), counted.count) == (sum(decided), 6)


def test_the_report_lists_pairs_by_the_false_discovery_rate_with_intervals_for_all_cells():
    """The share of a cell has an interval at the level 5 % · R/m, of m cells of all pairs."""
    report, expected = survey_report(WEAK.source), pairs_of(WEAK)
    adjusted = dict(zip(expected, false_discovery_control([*expected.values()]), strict=True))
    found = [pair for pair, p in adjusted.items() if p <= ALPHA]
    assert len(report.claim.rows) == len(found)
    assert report.claim.count == 6
    # Other rules would list more pairs.
    assert 0 < len(found) < sum(p <= ALPHA for p in expected.values())
    cells = sum(WEAK.shape[one] * WEAK.shape[other] for one, other in expected)
    alpha = ALPHA * len(found) / cells
    assert len(report.associations.rows) == len(found)
    for row in report.associations.rows:
        [axes] = [
            pair
            for pair in found
            if np.isclose(WEAK.table(*pair)[0], row[1].number, rtol=1e-9, atol=0).any()
        ]
        query = TableQuery(attributes=[WEAK.names[axis] for axis in axes], confidence=1 - alpha)
        rows = compute(WEAK.source, query).rows
        [same] = [each for each in rows if math.isclose(each.value, row[1].number, rel_tol=1e-9)]
        assert row[2].number == pytest.approx(same.interval[0], rel=1e-9)


def test_the_test_of_independence_has_a_gamma_distribution_with_the_variance_of_few_reports():
    result = compute(SKEWED.source, CrosstabQuery(attributes=["q0", "q1"]))
    test = result.tests[0]
    freedom, people = 4, SKEWED.people
    squares = []
    for axis in (0, 1):
        inverse = np.linalg.inv(SKEWED.matrices[axis])
        shares = SKEWED.one(axis)[0]
        reported = SKEWED.matrices[axis] @ shares
        weights = (inverse - shares[:, None])[:-1]
        spread = (weights * reported) @ weights.T
        length = np.einsum("ij,jk,ki->i", weights.T, np.linalg.inv(spread), weights)
        squares.append(reported @ length**2)
    # The variance of the sum of squares of N reports; V is divided by N − 1.
    excess = (squares[0] * squares[1] - freedom**2 - 2 * freedom) * ((people - 1) / people) ** 2
    scale = (2 * freedom + excess / people) / freedom
    expected = gamma.sf(test.statistic, freedom / scale, scale=scale)
    assert (test.df, test.hypotheses) == (freedom, 1)
    assert test.p_value == pytest.approx(expected, rel=1e-6)
    assert abs(expected - chi2.sf(test.statistic, freedom)) > 1e-4


def test_several_options_are_tested_with_bonferroni_s_correction():
    """Three options, each crossed with another question by itself."""
    question = MultipleResponse("o", "Which?")
    options = [
        Attribute(f"o.{k}", ["no", "yes"], ["yes"], label=str(k), question=question)
        for k in range(3)
    ]
    group = Attribute("g", ["x", "y"])
    schema = Schema([*options, group])
    survey = Survey("s", "S", schema, RandomizedResponse(dict.fromkeys(schema.names, "0.9")))
    rng = np.random.default_rng(2)
    people = rng.integers(0, 2, (1_500, 4))
    people[:, 0] = np.where(rng.random(1_500) < 0.12, people[:, 3], people[:, 0])
    source = source_of(survey, people, rng)
    several = compute(source, CrosstabQuery(attributes=["o", "g"]))
    alone = [
        compute(source, CrosstabQuery(attributes=[each.name, "g"])).tests[0] for each in options
    ]
    best = min(alone, key=lambda test: test.p_value)
    [test] = several.tests[:1]
    assert (test.statistic, test.hypotheses) == (pytest.approx(best.statistic), 3)
    assert test.p_value == pytest.approx(min(1.0, 3 * best.p_value))
    assert best.p_value < test.p_value < 0.5


# -- errors and grades -----------------------------------------------------------------------------


@pytest.mark.parametrize("keep", ["1", "0.95"])
def test_the_error_of_an_average_effect_includes_the_sampled_predictors(keep):
    """By numeric derivatives of the average effect by the shares of all cells."""
    design = np.array([[1, a, b] for a in (0, 1) for b in (0, 1)], dtype=float)
    people = np.outer([0.5, 0.5], [0.5, 0.5]).ravel()
    yes = expit(design @ [-6, 4, 6])
    counts = np.round(40_000 * np.stack([people * (1 - yes), people * yes], axis=1)).astype(int)
    reports = Reports(counts.reshape(2, 2, 2), keep)
    asked = {"outcome": "q2", "predictors": ["q0", "q1"], "present": {"q2": "c1"}}
    result = compute(reports.source, RegressionQuery(**asked, estimate="moment"))
    shares, covariance = reports.table(0, 1, 2)

    def effects(table, sampled=None):
        """Return average effects of people, by default those of the table itself."""
        table = table.reshape(4, 2)
        people = (table if sampled is None else sampled.reshape(4, 2)).sum(axis=1)

        def score(beta):
            return (table[:, 1] - table.sum(axis=1) * expit(design @ beta)) @ design

        best = root(score, np.zeros(3), tol=1e-13).x
        found = []
        for place in (1, 2):
            with_it, without = design.copy(), design.copy()
            with_it[:, place], without[:, place] = 1, 0
            change = expit(with_it @ best) - expit(without @ best)
            found.append(people @ change / people.sum())
        return np.array(found)

    def errors_of(given, step=1e-4):
        moves = step * np.eye(8)
        slopes = np.array([given(shares + s) - given(shares - s) for s in moves]) / (2 * step)
        return np.sqrt(np.diag(slopes.T @ covariance @ slopes))

    errors, rows = errors_of(effects), rows_of(result, "marginal_effect")
    assert [row.value for row in rows] == pytest.approx(effects(shares), rel=1e-5)
    assert [row.standard_error for row in rows] == pytest.approx(errors, rel=1e-4)
    of_these_people = errors_of(lambda table: effects(table, shares))
    assert np.abs(of_these_people / errors - 1).max() > 0.005


@pytest.mark.parametrize(
    ("limit", "better", "worse"),
    [(0.05, "usable", "barely usable"), (0.1, "barely usable", "not usable")],
)
def test_a_share_is_usable_up_to_a_margin_of_five_points(limit, better, worse):
    """Half of Wilson's interval of an even yes/no question, whose margin is z·√(1/4/(N + z²))."""
    z = norm.isf(ALPHA / 2)
    grades = []
    for half in range(*(round(z**2 / 8 / limit**2) + step for step in (-6, 6))):
        lower, upper = binomtest(half, 2 * half).proportion_ci(method="wilson")
        row = compute(Reports([half, half], "1").source, OverviewQuery()).rows[0]
        assert row.interval == pytest.approx((lower, upper), abs=1e-3)
        assert row.reliability == (better if np.ptp(row.interval) / 2 <= limit else worse)
        if abs((upper - lower) / 2 - limit) > 1e-3:
            assert row.reliability == (better if (upper - lower) / 2 <= limit else worse)
        grades.append(row.reliability)
    assert {*grades} == {better, worse}


def test_an_interval_of_a_share_by_a_model_contains_its_normal_and_its_logit_interval():
    """Each end of the logit interval is at most as far as that for the fourth root."""
    result = compute(UNEVEN.source, TableQuery(attributes=["q0"], estimate="model"))
    z = norm.isf(ALPHA / 2)

    def upper(share, error):
        """Return the upper end; the lower one is that of all other answers."""
        odds = share / (1 - share) * np.exp(z * error / (share * (1 - share)))
        root = share ** (1 / 4) + z * error / (4 * share ** (3 / 4))
        return max(share + z * error, min(odds / (1 + odds), root**4))

    for row in result.rows:
        share, error = row.value, row.standard_error
        ends = 1 - upper(1 - share, error), upper(share, error)
        assert row.interval == pytest.approx(ends, rel=1e-9)


def test_shares_within_groups_are_graded_by_the_design_and_not_by_their_own_error():
    """The margin of the pooled share of the answer, in a group of the estimated size."""
    differs = 0
    for seed in range(6):
        people = independent([0.3, 0.5, 0.2], [0.9, 0.1], people=2_500, seed=seed)
        reports = Reports(people, seed=seed)
        table, _ = reports.table(0, 1)
        table = np.maximum(table.reshape(3, 2), 0)
        sizes, pooled = table.sum(axis=1) / table.sum(), table.sum(axis=0) / table.sum()
        channel = np.kron(*reports.matrices)
        reported = channel @ np.outer(sizes, pooled).ravel()
        expected, by_itself = [], []
        result = compute(reports.source, ComparisonQuery(answer={"q1": "c1"}, groups="q0"))
        for group, row in enumerate(rows_of(result, "share")):
            form = np.zeros((3, 2))
            form[group] = np.array([0, 1]) - pooled[1]
            weights = form.ravel() @ np.linalg.inv(channel)
            variance = reported @ weights**2 - (reported @ weights) ** 2
            error = np.sqrt(variance / (reports.people - 1)) / sizes[group]
            for margin, found in (
                (norm.isf(ALPHA / 2) * error, expected),
                (norm.isf(ALPHA / 2) * row.standard_error, by_itself),
            ):
                words = ["usable", "barely usable", "not usable"]
                found.append(words[int(np.searchsorted([0.05, 0.1], margin))])
        assert [row.reliability for row in rows_of(result, "share")] == expected
        differs += expected != by_itself
    assert differs > 0


def test_the_p_value_of_a_model_is_that_of_its_clearest_interaction_among_all():
    """Of ten omitted interactions: at least that of independent tests, at most Bonferroni's."""
    for seed in range(4):
        counts = independent(*[[0.6, 0.4]] * 5, people=3_000, seed=seed)
        reports = Reports(counts, "0.9")
        asked = {"attributes": reports.names[:3], "estimate": "model"}
        fit = compute(reports.source, TableQuery(**asked)).model_fit
        term = fit.clearest.attributes
        alone = compute(reports.source, TableQuery(**asked, interactions=[term])).model_fit
        [tested] = alone.interactions
        assert tested.attributes == term
        together = 1 - (1 - tested.p_value) ** 10
        # Of 199 simulations, with three standard errors of each p-value.
        error = 3 * math.sqrt(0.25 / 199) + 30 * math.sqrt(tested.p_value / 199)
        assert tested.p_value < fit.p_value == fit.clearest.p_value
        assert together - error < fit.p_value < min(1.0, 10 * tested.p_value) + error
        assert fit.p_value > 2 * tested.p_value
