"""Reports that no shares of answers explain, and the limits of intervals."""

import csv
import io
import json
import math
from dataclasses import replace

import msgspec
import numpy as np
import pytest
from halftruth_collector.analyses import ANALYSES, answer
from halftruth_collector.analyses.base import choices
from halftruth_collector.analyses.survey_report import survey_report
from halftruth_collector.analyses.tabular import to_csv
from halftruth_collector.estimation.measures import MEASURE_NAMES
from halftruth_shared import Attribute, DistortionMatrices, HalftruthError, Schema, Survey
from halftruth_shared.analyses.base import Group
from halftruth_shared.analyses.comparison import ComparisonQuery
from halftruth_shared.analyses.crosstab import CrosstabQuery
from halftruth_shared.analyses.distribution import DistributionQuery
from halftruth_shared.analyses.itemsets import ItemsetsQuery
from halftruth_shared.analyses.measures import MeasuresQuery
from halftruth_shared.analyses.overview import OverviewQuery
from halftruth_shared.analyses.reading import fields
from halftruth_shared.analyses.regression import RegressionQuery
from halftruth_shared.analyses.rules import RulesQuery
from halftruth_shared.analyses.table import TableQuery
from halftruth_shared.analyses.weighted import WeightedQuery
from halftruth_shared.results import Result, Row
from halftruth_shared.results.estimate import Estimate
from sources import source_of

FORCED = {"design": "forced-response", "yes": "1/6", "no": "1/6"}
KEPT = [["4/5", "1/10", "1/10"], ["1/10", "4/5", "1/10"], ["1/10", "1/10", "4/5"]]
SURVEY = Survey(
    "s",
    "S",
    Schema(
        [
            Attribute("cheats", ["no", "yes"]),
            Attribute("smokes", ["no", "yes"]),
            Attribute("often", ["0", "5", "20"], ordered=True),
        ]
    ),
    DistortionMatrices({"often": KEPT}, {"cheats": FORCED, "smokes": FORCED}),
)
SCORES = {"often": "0,5,20"}
ASKED = [
    OverviewQuery(),
    OverviewQuery(missing="exclude", where={"smokes": "yes"}),
    TableQuery(attributes=["cheats", "smokes"]),
    *(
        CrosstabQuery(attributes=["cheats", "often"], percentages=percentages)
        for percentages in ("joint", "row", "column")
    ),
    *(
        ComparisonQuery(answer={"cheats": "yes"}, groups="often", effect=effect, trend=True)
        for effect in ("difference", "risk_ratio", "odds_ratio")
    ),
    ComparisonQuery(answer={"smokes": "yes"}, groups="cheats"),
    DistributionQuery(attribute="often", groups="cheats", scores=SCORES),
    ItemsetsQuery(min_support=0.01),
    RulesQuery(min_support=0.01, min_confidence=0.0, include_uncertain=True, measures=["phi"]),
    RulesQuery(min_support=0.01, antecedent={"cheats": "yes"}, consequent={"smokes": "yes"}),
    MeasuresQuery(),
    MeasuresQuery(attributes=["cheats", "smokes"]),
    MeasuresQuery(attributes=["cheats", "often"]),
    RegressionQuery(outcome="cheats", predictors=["smokes"]),
    RegressionQuery(outcome="often", predictors=["cheats"], model="linear", scores=SCORES),
    WeightedQuery(margins={"smokes": {"no": 0.5, "yes": 0.5}}),
]
#: Analyses that estimate, except waves, which has a test of its own.
ESTIMATING = set(ANALYSES) - {"waves", "counts", "risk", "microdata"}


def few(reports, seed):
    """Reports of a few people, 30 % of whom cheat."""
    rng = np.random.default_rng(seed)
    people = np.stack([rng.random(reports) < 0.3, rng.random(reports) < 0.1], axis=1).astype(int)
    often = rng.choice(3, size=reports, p=[0.9, 0.05, 0.05])
    return source_of(SURVEY, np.column_stack([people, often]), rng)


def contradictory(yes=220, reports=2_000):
    """Reports with `yes` answers to the first question, where a sixth is forced to say yes."""
    rng = np.random.default_rng(5)
    cheats = (np.arange(reports) < yes).astype(int)
    others = [rng.integers(0, size, reports) for size in (2, 3)]
    return source_of(SURVEY, np.column_stack([cheats, *others]))


def answers_of(source):
    """Yield each result with its analysis."""
    for query in ASKED:
        analysis = ANALYSES[next(n for n, each in ANALYSES.items() if each.query is type(query))]
        try:
            yield analysis, answer(analysis, source, query)
        except HalftruthError:
            # A group may be too small for an estimate.
            if not query.where:
                raise


def walk(part, path=()):
    """Yield every estimate of a result, with the structs that contain it."""
    if isinstance(part, Result):
        for row in part.rows:
            yield row, ((part, row.quantity),)
        return
    if isinstance(part, list | tuple):
        for each in part:
            yield from walk(each, path)
    if isinstance(part, msgspec.Struct):
        if isinstance(part, Estimate):
            yield part, path
        for name in part.__struct_fields__:
            yield from walk(getattr(part, name), (*path, (part, name)))


#: Ranges, other than −1 to 1, of measures of two questions with two answers each.
MEASURES = {
    **dict.fromkeys(("jaccard", "cosine", "laplace", "concentration", "cramers_v"), (0, 1)),
    **dict.fromkeys(("mutual_information", "uncertainty_coefficient", "j_measure"), (0, 1)),
    **dict.fromkeys(("odds_ratio", "interest", "conviction"), (0, math.inf)),
    "collective_strength": (0, math.inf),
    "certainty": (-math.inf, 1),
    "piatetsky_shapiro": (-0.25, 0.25),
}
GROWING = {"standardized_residual": (-1, 0.5), "chi_squared": (0, 1), "g_squared": (0, 1)}


def possible(estimate, path, result):
    """Return the smallest and the largest value that this quantity can have."""
    field = path[-1][1]
    measure = field if isinstance(estimate, Row) else getattr(estimate, "name", "")
    if measure in MEASURE_NAMES:
        if measure in GROWING:
            least, power = GROWING[measure]
            most = 2 * math.log(2) if measure == "g_squared" else 1
            return least * result.reports**power, most * result.reports**power
        return MEASURES.get(measure, (-1, 1))
    if field in ("odds", "odds_ratio"):
        return 0, math.inf
    if field in ("intercept", "coefficient", "marginal_effect"):
        return -math.inf, math.inf
    if field in ("risk_ratio", "odds_ratio", "design_effect"):
        return 0, math.inf
    if field == "trend" or (field == "difference" and isinstance(result.query, ComparisonQuery)):
        return -1, 1
    if field == "people":
        return 0, result.reports
    if field in ("mean", "percentile", "deviation", "mean_difference"):
        low, high = 0, 20
        of = {"deviation": (0, (high - low) / 2), "mean_difference": (low - high, high - low)}
        return of.get(field, (low, high))
    return 0, 1


@pytest.mark.parametrize(
    "source",
    [few(12, 1), few(12, 2), few(40, 3), few(40, 4), few(200, 5), contradictory()],
    ids=["12", "12 others", "40", "40 others", "200", "contradictory"],
)
def test_intervals_lie_within_the_range_of_possible_values(source):
    names, cut = set(), 0
    for analysis, result in answers_of(source):
        names.add(analysis.name)
        for estimate, path in walk(result):
            least, most = possible(estimate, path, result)
            for end in estimate.interval or ():
                assert end is None or least - 1e-9 <= end <= most + 1e-9, (analysis.name, estimate)
            if estimate.gap is not None:
                assert least <= estimate.gap[0] <= estimate.gap[1] <= most
            if estimate.set == "empty":
                assert (estimate.interval, estimate.reliability) == (None, "not usable")
            cut += least in (estimate.interval or ()) or most in (estimate.interval or ())
        if isinstance(result.group, Group) and result.group.interval:
            assert 0 <= result.group.interval[0] <= result.group.interval[1] <= 1
            assert 0 <= result.group.people_interval[0] <= result.reports
    assert names == ESTIMATING
    # Contradictory reports leave hardly any interval.
    assert cut > (0 if source.counts.reports == 2_000 else 10)


def rests_on(path, estimate):
    """Return whether an estimate may depend on the first question."""
    for part in [*(part for part, _ in path), estimate]:
        if isinstance(part, Result):
            # Lists cover all questions; other results the questions of their query.
            asked = json.dumps(msgspec.to_builtins(part.query))
            return "cheats" in f"{asked} {estimate.keys}"
        said = msgspec.to_builtins(part)
        about = [said.get(name) for name in ("attribute", "items", "antecedent", "row")]
        about += [said.get(name) for name in ("consequent", "column")]
        texts = " ".join(json.dumps(each) for each in about if each)
        if texts and "cheats" not in texts:
            return False
    return True


def test_estimates_from_contradictory_reports_are_not_usable_and_say_so():
    said, kept = set(), 0
    for analysis, result in answers_of(contradictory()):
        if "cheats" not in json.dumps(msgspec.to_builtins(result.query)) and not (
            result.contradictions
        ):
            continue
        [one] = result.contradictions
        assert (one.attributes, one.p_value < 0.01) == (["cheats"], True)
        for estimate, path in walk(result):
            if not rests_on(path, estimate):
                kept += estimate.reliability == "usable"
                continue
            assert estimate.reliability == "not usable"
            assert (estimate.interval, estimate.p_value) == (None, None)
            assert (estimate.standard_error, estimate.standard_error_log) == (None, None)
            if possible(estimate, path, result) == (0, 1):
                assert estimate.value is None or -1e-9 <= estimate.value <= 1 + 1e-9
        shown = analysis.present(result)
        assert shown.headline.startswith(
            "No shares of answers explain the reports of cheats (p < 0.0001)"
        )
        # What a test says, and no cause.
        assert "If all reports were genuine" in shown.headline
        assert "of at most 1 of 100 results" in shown.headline
        assert shown.headline in repr(analysis.described(result))
        rows = list(csv.DictReader(io.StringIO(to_csv(result))))
        assert all(row["assumption"].startswith("No shares of answers") for row in rows)
        said.add(analysis.name)
    assert said == ESTIMATING
    # Rows of other questions remain usable in an overview and in lists.
    assert kept > 3


def words():
    """Every text that a query can contain without naming a question."""
    kinds = [analysis.query for analysis in ANALYSES.values()]
    every = [field for kind in kinds for field in fields(kind).values()]
    return {
        *(field.name for field in every),
        *(choice for field in every for choice in choices(field)),
    }


def test_contradictions_are_found_whatever_the_questions_are_called():
    """A question called like a parameter or its value hides no contradiction of another one."""
    queries = {type(query): query for query in ASKED if query.where == {}}.values()
    assert len(queries) > 8
    assert {"population", "moment", "confidence", "row", "difference", "keep", "auto"} <= words()
    rows = contradictory().counts
    for word in sorted(words()):
        called = {"smokes": word}
        schema = Schema([with_name(each, called) for each in SURVEY.schema.attributes])
        matrices = DistortionMatrices({"often": KEPT}, {"cheats": FORCED, word: FORCED})
        source = source_of(Survey("s", "S", schema, matrices), rows)
        for query in queries:
            found = replace(source, question=renamed(query, called)).contradictions
            expected = [["cheats"]] if about_cheats(query) else []
            assert [each.attributes for each in found] == expected, (word, query)


def renamed(query, called):
    """Return a query with other names of questions."""
    said = json.dumps(msgspec.to_builtins(query))
    for name, other in called.items():
        said = said.replace(f'"{name}"', f'"{other}"')
    return msgspec.json.decode(said, type=type(query))


def with_name(attribute, called):
    return replace(attribute, name=called.get(attribute.name, attribute.name))


def about_cheats(query):
    """Whether a query is about the first question or about all."""
    return (
        "cheats" in json.dumps(msgspec.to_builtins(query))
        or not any(name in json.dumps(msgspec.to_builtins(query)) for name in ("smokes", "often"))
        or isinstance(query, WeightedQuery)
    )


def test_contradictory_reports_yield_the_closest_possible_shares():
    result = answer(ANALYSES["overview"], contradictory(), OverviewQuery())
    no, yes, known, *_ = (result.rows[place] for place in result.places("share"))
    assert [no.value, yes.value] == pytest.approx([1, 0], abs=1e-6)
    assert {no.interval, yes.interval} == {None}
    assert [row.reliability for row in (no, yes, known)] == ["not usable"] * 2 + ["usable"]
    assert result.find("effective_reports", question="cheats").value is None
    assert result.find("effective_reports", question="smokes").value > 0
    report = survey_report(contradictory())
    assert report.unknown[0].startswith("No shares of answers explain the reports of ")
    assert not any("cheats" in str(row) for row in report.associations.rows)


def test_reports_that_fit_a_share_of_zero_are_no_contradiction():
    """A sixth of the reports say yes, as expected if no respondent did unforced."""
    result = answer(ANALYSES["overview"], contradictory(yes=326), OverviewQuery())
    assert result.contradictions == []
    no, yes = result.rows[:2]
    assert yes.value < 0 == yes.interval[0] < yes.interval[1]
    assert no.value > 1 == no.interval[1] > no.interval[0]
    assert yes.reliability == "usable"
    said = "outside the possible range is shown as the end of the range"
    assert [said in note for note in ANALYSES["overview"].present(result).notes].count(True) == 1
    cells = [row[2] for row in ANALYSES["overview"].present(result).grid.rows[:2]]
    assert [str(cell) for cell in cells] == ["100\u202f%", "0\u202f%"]
    assert all(cell.detail.startswith("unbiased estimate: ") for cell in cells)
    inside = answer(ANALYSES["overview"], contradictory(yes=700), OverviewQuery())
    assert not any(said in note for note in ANALYSES["overview"].present(inside).notes)
