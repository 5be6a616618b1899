"""Comparison of groups in Python, and its page, headline and undefined estimates."""

from math import inf

import numpy as np
import pytest
from halftruth_collector.analyses import ANALYSES, answer
from halftruth_collector.estimation.contrasts import (
    compare_groups,
    shares_of,
    trend_of,
)
from halftruth_collector.estimation.subgroups import Groups
from halftruth_shared.analyses.comparison import ComparisonQuery
from halftruth_shared.results import Texts
from msgspec.structs import replace
from sources import source_of

from .conftest import SURVEYS
from .test_surfaces import plain

COMPARISON = ANALYSES["comparison"]
AGES = ("young", "middle", "old")


def groups_of(study):
    table = study.counted["study"].estimator.table(["age", "vote"])
    return Groups.of_codes(table, [0, 1, 2], AGES)


def test_a_comparison_in_python_has_the_estimates_and_the_trend(study):
    found = study.analyst.comparison("study", answer={"vote": "left"}, groups="age", trend=True)
    groups = groups_of(study)
    shares, effects, trend = shares_of(groups, 0), compare_groups(groups, 0), trend_of(groups, 0)
    frame = found.to_pandas()
    frames = {name: frame.xs(name, level="quantity") for name in frame.index.unique("quantity")}
    assert frames["share"]["value"].tolist() == shares.value.tolist()
    assert frames["share"]["upper"].tolist() == shares.interval(0.95).upper.tolist()
    assert frames["people"]["value"].tolist() == pytest.approx((3000 * groups.base).tolist())
    compared = frames["difference"]
    assert compared.index.unique("group").tolist() == list(AGES)
    assert compared.index.unique("against").isna().all()
    for column in ("value", "standard_error", "p_value"):
        assert compared[column].tolist() == getattr(effects, column).tolist()
    sets = effects.interval(0.95)
    assert compared["lower"].tolist() == sets.lower.tolist()
    assert compared["upper"].tolist() == sets.upper.tolist()
    assert frames["trend"]["value"].tolist() == trend.value.tolist()
    # Half of the people vote according to their age.
    assert compared["p_value"].iloc[0] < 1e-6


def test_the_first_of_two_groups_is_the_default_reference(study):
    found = study.analyst.comparison("study", answer={"age": "old"}, groups="smoker")
    assert compared_in(found) == [("yes", "no")]
    every = study.analyst.comparison("study", answer={"smoker": "yes"}, groups="age")
    assert compared_in(every) == [(age, None) for age in AGES]
    some = study.analyst.comparison(
        "study", answer={"smoker": "yes"}, groups="age", among=["old", "young"]
    )
    # In the order of the survey.
    assert compared_in(some) == [("old", "young")]


def compared_in(result):
    rows = (result.rows[place] for place in result.places("difference"))
    return [(row["group"], row["against"]) for row in rows]


def test_the_page_lists_the_categories_of_the_groups(study):
    page = study.browser.get("/results/study/comparison?answer=smoker=yes&groups=vote").text
    page = " ".join(page.split())
    assert '<input type="checkbox" name="among" value="none, a=b">' in page
    assert '<option value="none, a=b">none, a=b</option>' in page
    assert '<option value="">by default</option>' in page
    assert 'value="young"' not in page.partition('name="among"')[2].partition("</fieldset>")[0]


def test_an_open_end_is_null_and_stated_in_words(study):
    query = ComparisonQuery(answer={"vote": "left"}, groups="age", effect="risk_ratio")
    result = answer(COMPARISON, study.counted["study"], query)
    [place, *_] = result.places("risk_ratio")
    opened = changed(result, place, lower=0.5, upper=np.inf)
    assert plain(opened)["estimates"]["upper"][place] is None
    assert "from 0.5 on" in {str(cell) for cell in COMPARISON.present(opened).grid.rows[0]}
    assert COMPARISON.chart(opened).panels[1].rows[0][1].drawn[1] == inf
    few = source_of(SURVEYS[0], study.counted["study"].counts.cells[:300])
    ratios = replace(query, effect="odds_ratio")
    said = COMPARISON.present(answer(COMPARISON, few, ratios)).notes
    assert any("its ratio has no upper end" in note for note in said)


def test_the_headline_states_the_clearest_difference_and_omits_unusable_shares(study):
    query = ComparisonQuery(answer={"vote": "left"}, groups="age", reference="old")
    result = answer(COMPARISON, study.counted["study"], query)
    [young, _, old] = 100 * shares_of(groups_of(study), 0).value
    said = COMPARISON.headline(result).replace("\u202f", " ")
    more = "vote=left occurs more often where age=young than where age=old: difference"
    assert said.startswith(f"{more} {young - old:.1f} (")
    assert said.index(f" {young:.1f} % (") < said.index(f"; {old:.1f} % (")
    unusable = replace(result.estimates, reliability=Texts.constant("not usable", len(result.rows)))
    said = COMPARISON.headline(decided(replace(result, estimates=unusable)))
    assert "difference too imprecise to use, p < 0.0001, adjusted for 2 tests." in said
    assert "Shares:" not in said
    none = changed(result, result.places("difference"), p_value=0.6)
    said = COMPARISON.headline(decided(none))
    assert said.startswith(
        "No significant difference in vote=left (p = 1, adjusted for 2 tests). Strongest evidence:"
        " age=young against"
    )


def changed(result, places, **columns):
    """Return a result with other numbers in some rows."""
    numbers = {name: result.estimates.numbers(name).copy() for name in columns}
    for name, number in columns.items():
        numbers[name][places] = number
    return replace(result, estimates=replace(result.estimates, **numbers))


def decided(result):
    tests, claims = COMPARISON.decide(result, lambda _: result)
    return replace(result, tests=tests, claims=claims)


def test_undefined_comparisons_have_a_reason_in_every_presentation(study):
    counted = source_of(SURVEYS[0], study.counted["study"].counts.cells[:30])
    query = ComparisonQuery(
        answer={"smoker": "yes"}, groups="age", effect="odds_ratio", trend=True, confidence=0.999
    )
    result = answer(COMPARISON, counted, query)
    undefined = [row for row in result.rows if row.quantity == "share" and row.undefined]
    assert undefined
    for found in undefined:
        assert (found.value, found.interval, found.reliability) == (None, None, "not usable")
        reason = f"{found['group']} is not significantly above zero"
        assert found.undefined == reason
        warnings = " ".join(COMPARISON.present(result).warnings)
        assert f"Undefined, because {reason}: share and odds ratio of {found['group']}" in warnings
        assert reason in {row.undefined for _, row in COMPARISON.chart(result).rows}
    assert result.find("trend").undefined
    assert undefined[0].undefined in {str(row[2]) for row in COMPARISON.present(result).grid.rows}
