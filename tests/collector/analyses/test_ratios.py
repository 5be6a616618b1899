"""Odds ratios agree between analyses."""

import numpy as np
import pytest
from halftruth_collector.analyses import ANALYSES, answer
from respondents import SURVEYS, codes_of, people
from sources import source_of


def counted_of(survey):
    """A survey of 20 000 people."""
    return source_of(survey, codes_of(people(20_000)), np.random.default_rng(11))


def asked(name, counted, **query):
    analysis = ANALYSES[name]
    result = answer(analysis, counted, analysis.query(**query))
    return result, analysis.present(result).grid


@pytest.mark.parametrize("kind", SURVEYS)
def test_an_odds_ratio_is_the_same_in_measures_comparison_and_regression(kind):
    counted = counted_of(SURVEYS[kind])
    of_measures, measures = asked(
        "measures", counted, attributes=["sex", "town"], measures=["odds_ratio"]
    )
    of_groups, comparison = asked(
        "comparison",
        counted,
        answer={"town": "small"},
        groups="sex",
        reference="female",
        effect="odds_ratio",
    )
    of_model, regression = asked(
        "regression", counted, outcome="town", predictors=["sex"], estimate="moment"
    )
    [one], [other], model = (
        [of_measures.find("odds_ratio")],
        [of_groups.find("odds_ratio")],
        of_model.find("odds_ratio"),
    )
    assert one.value == pytest.approx(other.value)
    assert one.value == pytest.approx(model.value)
    assert one.standard_error_log == pytest.approx(other.standard_error_log)
    assert one.standard_error_log == pytest.approx(model.standard_error_log)
    assert one.interval == pytest.approx(other.interval)
    assert one.interval == pytest.approx(model.interval)
    assert one.interval[0] > 0
    # Also in their printed digits.
    printed = [str(cell) for cell in measures.rows[0][1:3]]
    assert [str(cell) for cell in comparison.rows[1][5:7]] == printed
    assert [str(cell) for cell in regression.rows[0][2:4]] == printed
