"""Where too little is known, every view says so before any number."""

import re
from datetime import UTC, datetime

import numpy as np
import pytest
from halftruth_collector.analyses import ANALYSES, Counted
from halftruth_collector.estimation import Counts
from halftruth_shared import Attribute, GammaDiagonal, RandomizedResponse, Schema, Survey
from halftruth_shared.analyses.itemsets import ItemsetsQuery
from halftruth_shared.analyses.measures import MeasuresQuery
from halftruth_shared.analyses.rules import RulesQuery
from halftruth_shared.analyses.table import TableQuery

SCHEMA = Schema([Attribute(name, ["no", "yes"]) for name in ("smoker", "coughs", "tired")])
PAIR = ["smoker", "coughs"]


def counted(mechanism, records, seed=1):
    survey = Survey("s", "S", SCHEMA, mechanism)
    reports = mechanism.perturb_many(SCHEMA, np.array(records), np.random.default_rng(seed))
    return Counted(survey, Counts.from_reports(survey, reports), datetime.now(UTC), min_reports=1)


@pytest.fixture
def two_reports():
    """Gamma-diagonal at 1.05: single supports come out beyond 100 %."""
    return counted(GammaDiagonal("1.05"), [[0, 0, 0], [1, 1, 1]])


@pytest.fixture
def many_reports():
    records = np.repeat([[0, 0, 0], [0, 1, 1], [1, 1, 1], [1, 1, 0]], 5_000, axis=0)
    return counted(RandomizedResponse(dict.fromkeys(SCHEMA.names, "0.9")), records)


def shown(analysis, result):
    """What a page or a command shows of a result: sentences, and rows of a table."""
    rows = [" | ".join(map(str, row)) for row in analysis.grid(result).rows]
    return analysis.notices(result), analysis.reading(result), rows


def percentages(text):
    for digits in re.findall(r"(−?[\d\u202f.]+)\u202f%", text):
        yield float(digits.replace("\u202f", "").replace("−", "-"))


QUESTIONS = {
    "itemsets": ItemsetsQuery(min_support=0.05, select="upper"),
    "rules": RulesQuery(min_support=0.01, min_confidence=0.0, include_uncertain=True),
    "table": TableQuery(attributes=PAIR),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_no_impossible_share_is_shown_without_its_verdict(two_reports, name):
    analysis = ANALYSES[name]
    result = analysis.compute(two_reports, QUESTIONS[name])
    notices, _, rows = shown(analysis, result)
    assert rows
    assert any(sentence.lower().count("not usable") for sentence in notices)
    wild = [row for row in rows if any(abs(p) > 100 for p in percentages(row))]
    assert wild
    for row in wild:
        first = next(m.start() for m in re.finditer(r"[\d\u202f.]+\u202f%", row))
        assert "not usable" in row[:first]


@pytest.mark.parametrize("name", ["measures", "associations"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_measures_of_two_reports_are_not_usable_in_any_view(name, seed):
    few = counted(GammaDiagonal("1.05"), [[0, 0, 0], [1, 1, 1]], seed)
    analysis = ANALYSES[name]
    result = analysis.compute(few, analysis.start(few.survey))
    notices, _, rows = shown(analysis, result)
    assert rows
    for row in rows:
        # Undefined, for a reason, or too uncertain.
        assert re.search(r"not usable \(|no positive|negative estimate|estimate is 0", row)
    values = any("not usable (" in row for row in rows)
    assert any(sentence.startswith("Not usable") for sentence in notices) == values
    assert set(notices) <= set(analysis.chart(result).notes)


def test_what_is_usable_is_said_and_bears_no_notice(many_reports):
    for name in ("table", "itemsets"):
        analysis = ANALYSES[name]
        result = analysis.compute(many_reports, QUESTIONS[name])
        notices, reading, rows = shown(analysis, result)
        assert notices == []
        assert any("usable: " in sentence.lower() for sentence in reading)
        assert not any("not usable" in row for row in rows)


def test_rules_that_are_left_out_are_counted(two_reports):
    analysis = ANALYSES["rules"]
    query = RulesQuery(min_support=0.01, min_confidence=0.0, measures=["lift"])
    result = analysis.compute(two_reports, query)
    assert result.rules == []
    assert result.left_out > 0
    notices, reading, _ = shown(analysis, result)
    assert f"Left out: {result.left_out} rules" in notices[0]
    assert any("as present where all of its items hold" in sentence for sentence in reading)


def test_measures_say_what_presence_is_and_what_is_no_test(many_reports):
    analysis = ANALYSES["measures"]
    query = MeasuresQuery(attributes=PAIR, present={"smoker": "no"})
    result = analysis.compute(many_reports, query)
    assert result.present == {"smoker": "no", "coughs": "yes"}
    presence, tests = analysis.reading(result)
    assert presence == "Presence means smoker=no, coughs=yes."
    assert "no tests" in tests
    assert presence in analysis.chart(result).notes
