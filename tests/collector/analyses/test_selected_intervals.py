"""Intervals of headlines: those of the rows, at the level of the selection."""

import math

import msgspec
import numpy as np
import pytest
import recorded
from halftruth_collector.analyses import ANALYSES, answer
from halftruth_collector.analyses.deciding import as_selected
from halftruth_shared import (
    Attribute,
    HalftruthError,
    RandomizedResponse,
    Schema,
    Survey,
)
from halftruth_shared.analyses.comparison import ComparisonQuery
from halftruth_shared.analyses.overview import OverviewQuery
from halftruth_shared.analyses.reading import make
from halftruth_shared.analyses.rules import RulesQuery
from halftruth_shared.analyses.table import TableQuery
from halftruth_shared.analyses.weighted import WeightedQuery
from halftruth_shared.results import NAMES, quantity
from halftruth_shared.results.layout import in_words
from sources import source_of

#: Analyses whose headlines can name an estimate that was selected among several.
SELECTING = {"comparison", "crosstab", "distribution", "measures", "regression", "table", "waves"}
SELECTING |= {"weighted"}


def results():
    """Yield the results of all analyses on recorded surveys of few and of many questions."""
    for each in recorded.SURVEYS:
        if each.name not in ("kept-300", "kept-5000", "dice-300", "pairs-5000", "waves-5000"):
            continue
        for name, values in each.asked(each.source.survey):
            if name not in SELECTING:
                continue
            analysis = ANALYSES[name]
            query = make(analysis.query, values)
            try:
                yield analysis, query, answer(analysis, each.source, query), each.source
            except HalftruthError:
                continue


def contains(outer, inner):
    """Return whether one confidence set contains another; sets as in an estimate."""
    if outer.set == "everything" or inner.set == "empty":
        return True
    ends = [
        (-math.inf if lower is None else lower, math.inf if upper is None else upper)
        for lower, upper in (outer.interval, inner.interval)
    ]
    if outer.set != "interval" or inner.set != "interval":
        # Fieller's sets are nested, so the gap becomes smaller.
        return outer.set == "outside" and (
            inner.set == "interval"
            or (inner.gap or inner.interval)[0] <= (outer.gap or outer.interval)[0]
        )
    return ends[0][0] <= ends[1][0] + 1e-12 and ends[1][1] <= ends[0][1] + 1e-12


def test_sets_of_claims_are_those_of_their_rows_at_the_level_of_the_selection():
    """Equal to the same analysis at the level 1 − α/m, around the row's own and possible."""
    selecting = set()
    for analysis, query, result, source in results():
        for claim in result.claims:
            if not claim.sets:
                continue
            selecting.add(analysis.name)
            assert len(claim.sets) == len(claim.rows)
            many = claim.count if claim.kind == "none found" else None
            many = many or (result.tests[claim.test].hypotheses if claim.test is not None else None)
            if analysis.name == "table":
                many = len(result.rows)
            if analysis.name == "weighted":
                many = int(np.isfinite(result.estimates.value[result.places("share")]).sum())
            level = 1 - (1 - query.confidence) / many
            further = answer(analysis, source, msgspec.structs.replace(query, confidence=level))
            for place, (row, stated) in enumerate(zip(claim.rows, claim.sets, strict=True)):
                at_level, ordinary = further.rows[row], result.rows[row]
                assert (stated.interval, stated.set, stated.gap) == (
                    at_level.interval,
                    at_level.set,
                    at_level.gap,
                )
                assert contains(stated, ordinary), (analysis.name, query, ordinary)
                of = quantity(ordinary.quantity)
                for end in stated.interval or ():
                    assert end is None or of.lower - 1e-9 <= end <= of.upper + 1e-9
                said = analysis.state(result, claim, NAMES).replace(in_words(at_level), "")
                different = in_words(ordinary) != in_words(at_level)
                assert not (different and in_words(ordinary) in said), said
                assert as_selected(result, claim, place).value == ordinary.value
    assert selecting == SELECTING


YES = ["no", "yes"]
KEPT = Schema(
    [
        Attribute("a", ["no", "yes"]),
        Attribute("b", ["no", "yes"]),
        Attribute("c", ["x", "y", "z"]),
    ]
)
SURVEY = Survey("s", "S", KEPT, RandomizedResponse({"a": "0.75", "b": "0.75", "c": "0.6"}))


@pytest.mark.parametrize("seed", range(12))
def test_headlines_near_the_ends_of_the_possible_are_possible_and_contain_their_rows(seed):
    """Shares of 1 and 99 %, whose estimates are often outside of 0 to 1."""
    rng = np.random.default_rng(seed)
    shares = ([0.01, 0.99], [0.5, 0.5], [0.97, 0.02, 0.01])
    people = np.stack([rng.choice(len(p), 1_000, p=p) for p in shares], 1)
    source = source_of(SURVEY, people, rng)
    for query in (
        TableQuery(attributes=["a"]),
        WeightedQuery(margins={"b": {"no": 0.3, "yes": 0.7}}, attributes=["a", "c"]),
    ):
        analysis = next(each for each in ANALYSES.values() if each.query is type(query))
        result = answer(analysis, source, query)
        for claim in result.claims:
            for row, stated in zip(claim.rows, claim.sets, strict=False):
                ordinary = result.rows[row]
                assert contains(stated, ordinary)
                assert all(0 <= end <= 1 for end in stated.interval or ())


def test_a_standard_error_of_zero_decides_rightly():
    """Answers without perturbation that all agree: the largest share is the one of everybody."""
    schema = Schema(
        [
            Attribute(name, answers, sensitive=False)
            for name, answers in (("d", YES), ("e", ["u", "v"]))
        ]
    )
    survey = Survey("s", "S", schema, RandomizedResponse({"d": "1", "e": "1"}))
    for people in (60, 400):
        rows = np.column_stack([np.ones(people, int), np.arange(people) % 2])
        source = source_of(survey, rows)
        result = answer(ANALYSES["table"], source, TableQuery(attributes=["d"]))
        [claim] = result.claims
        assert (claim.kind, claim.rows) == ("largest", [1])
        said = ANALYSES["table"].headline(result).replace("\u202f", " ")
        assert "d=yes is the most frequent: 100" in said
        # Groups that all say yes do not differ, and groups that never agree do.
        query = ComparisonQuery(answer={"d": "yes"}, groups="e")
        same = answer(ANALYSES["comparison"], source, query)
        assert not any(claim.kind == "different" for claim in same.claims)
        rows[:, 0] = rows[:, 1]
        apart = answer(ANALYSES["comparison"], source_of(survey, rows), query)
        assert any(claim.kind == "different" for claim in apart.claims)


def test_the_largest_lower_bound_of_rules_is_at_most_everybody():
    """Reports about two questions agree in 80 %, and in 74.5 % if all people answer both alike."""
    schema = Schema([Attribute(name, YES) for name in "pqr"])
    survey = Survey("s", "S", schema, RandomizedResponse(dict.fromkeys("pqr", "0.85")))
    half = np.arange(3_000) % 2
    reports = np.column_stack([half, np.where(np.arange(3_000) % 10 < 8, half, 1 - half), half])
    result = answer(ANALYSES["rules"], source_of(survey, reports), RulesQuery())
    assert result.contradictions == []
    [bound] = [claim.bound for claim in result.claims if claim.kind == "at least"]
    assert bound == 1
    assert "at least 100" in ANALYSES["rules"].headline(result)


def test_the_typical_margin_is_of_intervals_before_they_are_cut():
    """Thirty rare answers, whose intervals end at 0: the plan's margin, not half of the rest."""
    schema = Schema([Attribute("a", [str(code) for code in range(30)])])
    survey = Survey("s", "S", schema, RandomizedResponse.for_amplification(schema, 19))
    rng = np.random.default_rng(3)
    source = source_of(survey, rng.integers(0, 30, (2_000, 1)), rng)
    result = answer(ANALYSES["overview"], source, OverviewQuery())
    [margin] = [claim.bound for claim in result.claims if claim.kind == "margin"]
    keep = 19 / (19 + 29)
    spread = (1 - keep) / 29
    chance = keep / 30 + spread * 29 / 30
    error = math.sqrt(chance * (1 - chance) / 2_000) / (keep - spread)
    assert margin == pytest.approx(1.96 * error, rel=0.02)
