"""Questions and answers as objects, above all those of which several options may be chosen."""

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


def test_an_option_is_the_answer_of_those_who_chose_it(questions):
    assert questions.symptoms.cough == Answer("symptoms.cough", "yes")
    assert [str(option) for option in questions.symptoms][1:] == [
        "symptoms.fever=yes",
        "symptoms.pain=yes",
    ]
    answer = to_names(fields(ComparisonQuery)["answer"], questions.symptoms.cough)
    assert answer == {"symptoms.cough": "yes"}


def test_a_question_with_several_answers_is_one_question_or_stands_for_its_options(questions):
    assert [question.name for question in questions] == [
        "drinks", "smoker", "cigarettes", "content", "symptoms", "sleep",
    ]  # fmt: skip
    names = to_names(fields(OverviewQuery)["attributes"], [questions.smoker, questions.symptoms])
    assert names == ["smoker", "symptoms"]
    names = to_names(fields(TableQuery)["attributes"], [questions.smoker, questions.symptoms])
    assert names == ["smoker", "symptoms.cough", "symptoms.fever", "symptoms.pain"]
    line = next(line for line in repr(questions).splitlines() if line.startswith("symptoms"))
    assert line == "symptoms (Which did you have?), several of: cough, fever, pain"


def test_an_option_is_found_by_its_own_name_as_a_question(questions):
    option = questions["symptoms.cough"]
    assert isinstance(option, Question)
    assert option.no == Answer("symptoms.cough", "no")


def test_an_option_that_is_not_there_is_named_with_those_that_are(questions):
    with pytest.raises(AttributeError, match="expected one of: cough"):
        _ = questions.symptoms.couhg
