"""A question with groups of answers that no report uses."""

from halftruth_collector.estimation import Counts, Estimator
from halftruth_shared import Attribute, Schema, SplitQuestionnaire, Survey, ViewClass


def test_a_question_that_is_always_alone_is_estimated_in_detail():
    groups = {"low": ("a", "b"), "high": ("c", "d")}
    questions = [Attribute("x", tuple("abcd"), collapsed=groups), Attribute("y", ("no", "yes"))]
    alone = ViewClass(attributes=(("x", "y"),), choose=(1,), weight=1)
    survey = Survey("s", "S", Schema(questions), SplitQuestionnaire("19", [alone]))
    table = Estimator(survey, Counts.from_cells(survey, [[0]], [1])).table(["x"])
    assert table.value.shape == (4,)
