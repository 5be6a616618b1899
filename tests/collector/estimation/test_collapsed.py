"""Surveys with collapsed answers."""

import collapsed
import pytest
from halftruth_collector.estimation import Counts, Estimator
from halftruth_shared import ParameterError


def estimator(survey):
    return Estimator(survey, Counts.from_cells(survey, [[0]], [1]))


def test_reports_of_groups_of_answers_are_not_estimated_yet():
    with pytest.raises(ParameterError, match="attribute 'income': collapsed: ") as refused:
        estimator(collapsed.survey())
    assert refused.value.field == "collapsed"
    assert "\n" not in str(refused.value)


def test_reports_about_single_questions_are_estimated_in_detail():
    table = estimator(collapsed.survey(collapsed.ALONE)).table(["income"])
    assert table.value.shape == (5,)
