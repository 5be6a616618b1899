"""Questions and answers as objects, in particular multiple-response questions."""

import pytest
from every_kind import survey
from halftruth_client.questions import Answer, Question, Questions, to_names
from halftruth_shared.analyses.comparison import ComparisonQuery
from halftruth_shared.analyses.overview import OverviewQuery
from halftruth_shared.analyses.reading import fields
from halftruth_shared.analyses.table import TableQuery


@pytest.fixture(scope="module")
def questions():
    return Questions(survey().schema)


def test_an_option_stands_for_the_answer_yes(questions):
    assert questions.symptoms.cough == Answer("symptoms.cough", "yes")
    assert [str(option) for option in questions.symptoms][1:] == [
        "symptoms.fever=yes",
        "symptoms.pain=yes",
    ]
    answer = to_names(fields(ComparisonQuery)["answer"], questions.symptoms.cough)
    assert answer == {"symptoms.cough": "yes"}


def test_a_multiple_response_question_expands_to_its_options(questions):
    assert [question.name for question in questions] == [
        "drinks", "smoker", "cigarettes", "content", "symptoms", "sleep",
    ]  # fmt: skip
    names = to_names(fields(OverviewQuery)["attributes"], [questions.smoker, questions.symptoms])
    assert names == ["smoker", "symptoms"]
    names = to_names(fields(TableQuery)["attributes"], [questions.smoker, questions.symptoms])
    assert names == ["smoker", "symptoms.cough", "symptoms.fever", "symptoms.pain"]
    line = next(line for line in repr(questions).splitlines() if line.startswith("symptoms"))
    assert line == "symptoms (Which did you have?), several of: cough, fever, pain"


def test_an_option_can_be_looked_up_as_a_question(questions):
    option = questions["symptoms.cough"]
    assert isinstance(option, Question)
    assert option.no == Answer("symptoms.cough", "no")


def test_an_unknown_option_is_an_error_that_lists_the_options(questions):
    with pytest.raises(AttributeError, match="expected one of: cough"):
        _ = questions.symptoms.couhg
