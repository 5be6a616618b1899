"""Comparison of groups as people ask for it: one line, one command, one page."""

import html
from math import inf

import pytest
from halftruth_collector.analyses import ANALYSES
from halftruth_collector.estimation.contrasts import Groups, compare_groups, shares_of, trend_of
from halftruth_shared.analyses.comparison import ComparisonQuery
from msgspec.structs import replace
from sources import source_of

from .conftest import SURVEYS
from .test_surfaces import plain

COMPARISON = ANALYSES["comparison"]
AGES = ("young", "middle", "old")


def groups_of(study):
    table = study.counted["study"].estimator.table(["age", "vote"])
    return Groups.of_table(table, AGES, [0, 1, 2], 0)


def test_comparing_age_groups_is_one_line(study):
    found = study.analyst.comparison("study", answer={"vote": "left"}, groups="age", trend=True)
    groups = groups_of(study)
    shares, effects, trend = shares_of(groups), compare_groups(groups), trend_of(groups)
    frame = found.to_pandas()
    assert frame.loc["share"]["value"].tolist() == shares.value.tolist()
    assert frame.loc["share"]["upper"].tolist() == shares.upper.tolist()
    assert frame.loc["share"]["base"].tolist() == pytest.approx((3000 * groups.base).tolist())
    compared = frame.loc["difference"]
    assert compared.index.tolist() == [(age, "all others") for age in AGES]
    for column in ("value", "standard_error", "lower", "upper", "p_value"):
        assert compared[column].tolist() == getattr(effects, column).tolist()
    assert frame.loc["trend"]["value"].tolist() == trend.value.tolist()
    # Half of the people vote by their age.
    assert compared["p_value"].iloc[0] < 1e-6


def test_of_two_groups_the_first_is_the_reference(study):
    found = study.analyst.comparison("study", answer={"age": "old"}, groups="smoker")
    assert found.reference == "no"
    assert [(c.group, c.against) for c in found.comparisons] == [("yes", "no")]
    every = study.analyst.comparison("study", answer={"smoker": "yes"}, groups="age")
    assert every.reference is None
    some = study.analyst.comparison(
        "study", answer={"smoker": "yes"}, groups="age", among=["old", "young"]
    )
    # As ordered in the survey.
    assert [(c.group, c.against) for c in some.comparisons] == [("old", "young")]


def test_a_command_says_what_the_page_says(study, halftruth):
    words = ("--answer", "vote=left", "--groups", "age", "--reference", "old", "--effect")
    status, said, complaint = halftruth("analyse", "comparison", "study", *words, "risk_ratio")
    assert (status, complaint) == (0, "")
    asked = "answer=vote=left&groups=age&reference=old&effect=risk_ratio"
    page = html.unescape(study.browser.get(f"/results/study/comparison?{asked}").text)
    groups = groups_of(study)
    [ratio, _] = compare_groups(groups, 2, "risk_ratio").value
    for view in (said, page):
        assert "share of vote=left" in view
        assert f"{ratio:.1f}" in view
        assert "p-values are of score tests and assume equal shares," in view


def test_the_page_offers_the_groups_that_there_are(study):
    page = study.browser.get("/results/study/comparison?answer=smoker=yes&groups=vote").text
    assert '<input type="checkbox" name="among" value="none, a=b">' in page
    assert '<option value="none, a=b">none, a=b</option>' in page
    assert '<option value="">by default</option>' in page
    assert 'value="young"' not in page.partition('name="among"')[2].partition("</fieldset>")[0]


def test_an_open_end_is_null_and_said_in_words(study):
    query = ComparisonQuery(answer={"vote": "left"}, groups="age", effect="risk_ratio")
    result = COMPARISON.compute(study.counted["study"], query)
    effect = replace(result.comparisons[0], interval=(0.5, None))
    opened = replace(result, comparisons=[effect])
    assert plain(opened)["comparisons"][0]["interval"] == [0.5, None]
    assert COMPARISON.grid(opened).rows[0][6] == "from 0.5 on"
    assert "its ratio has no upper end" in " ".join(COMPARISON.interpretation(opened))
    assert COMPARISON.chart(opened).panels[1].rows[0].upper == inf


def test_the_headline_states_the_clearest_difference_and_leaves_out_unusable_shares(study):
    query = ComparisonQuery(answer={"vote": "left"}, groups="age", reference="old")
    result = COMPARISON.compute(study.counted["study"], query)
    [young, _, old] = 100 * shares_of(groups_of(study)).value
    said = COMPARISON.headline(result).replace("\u202f", " ")
    more = "vote=left occurs more often where age=young than where age=old: difference"
    assert said.startswith(f"{more} {young - old:.1f} (")
    assert said.index(f" {young:.1f} % (") < said.index(f"; {old:.1f} % (")
    unusable = [replace(each, reliability="not usable") for each in result.groups]
    said = COMPARISON.headline(decided(replace(result, groups=unusable)))
    assert " points, p < 0.0001, adjusted for 2 tests." in said
    assert "Shares:" not in said
    none = [replace(each, p_value=0.6) for each in result.comparisons]
    said = COMPARISON.headline(decided(replace(result, comparisons=none)))
    assert said.startswith(
        "No significant difference in vote=left (p = 1, adjusted for 2 tests). Strongest evidence:"
        " age=young against"
    )


def decided(result):
    tests, claims = COMPARISON.decide(result)
    return replace(result, tests=tests, claims=claims)


def test_what_cannot_be_compared_says_why_everywhere(study):
    counted = source_of(SURVEYS[0], study.counted["study"].counts.cells[:30])
    query = ComparisonQuery(
        answer={"smoker": "yes"}, groups="age", effect="odds_ratio", trend=True, confidence=0.999
    )
    result = COMPARISON.compute(counted, query)
    undefined = [found for found in result.groups if found.undefined]
    assert undefined
    for found in undefined:
        assert (found.value, found.interval, found.reliability) == (None, None, "not usable")
        reason = f"{found.group} is not significantly above zero"
        assert found.undefined == reason
        assert f"Undefined, as {reason}: share of {found.group}" in " ".join(
            COMPARISON.warnings(result)
        )
        assert reason in {row.reason for row in COMPARISON.chart(result).rows}
    assert result.trend.undefined
    assert "undefined" in {row[2] for row in COMPARISON.grid(result).rows}
