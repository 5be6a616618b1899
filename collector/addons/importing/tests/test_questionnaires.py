"""Importing questionnaires of SurveyJS and LimeSurvey, with a report of omissions."""

import json
import operator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from halftruth_collector.importers import import_questionnaire, read_questionnaire
from halftruth_shared import HalftruthError, ParameterError
from questionnaires import attributes, by_name, lss, question, row, short_of_memory_and_time, text

#: A questionnaire written by SurveyJS.
SURVEYJS = json.loads(Path(__file__).with_name("surveyjs.json").read_text("utf-8"))


LIMESURVEY = lss(
    surveys=[row(sid=1, language="de")],
    surveys_languagesettings=[
        row(surveyls_language="de", surveyls_title="Gesundheit", surveyls_endtext="Danke"),
        row(surveyls_language="en", surveyls_title="Health", surveyls_endtext=""),
    ],
    groups=[row(gid=1, group_order=0, grelevance="")],
    group_l10ns=[
        row(gid=1, group_name="Gewohnheiten", language="de"),
        row(gid=1, group_name="Habits", language="en"),
    ],
    questions=[
        question(11, "L", "Q2", 2, relevance='((Q1.NAOK == "Y"))', other="Y"),
        question(10, "Y", "Q1", 1, mandatory="Y"),
        question(12, "M", "Q3", 3),
        question(13, "N", "Q4", 4, relevance='Q3_SQ2.NAOK == "Y" and Q2.NAOK == "A1"'),
        question(14, "F", "Q5", 5, relevance="count(Q3) > 1"),
        question(15, "T", "Q6", 6),
        question(16, "R", "Q7", 7),
        question(17, "5", "Q8", 8, relevance='1X1X12SQ1.NAOK == "Y" and Q11.NAOK == "A2"'),
        question(18, "X", "Q9", 9),
        question(19, "N", "Q10", 10),
    ],
    subquestions=[
        row(qid=21, parent_qid=12, title="SQ2", question_order=2),
        row(qid=20, parent_qid=12, title="SQ1", question_order=1),
        row(qid=22, parent_qid=14, title="SQ1", question_order=1),
    ],
    question_l10ns=[
        *text(10, de="<p>Rauchen Sie?</p>", en="Do you smoke?"),
        *text(11, de="Was?", en="What?"),
        *text(20, de="Husten", en="Cough"),
        *text(22, de="Arbeit", en="Work"),
        *text(14, de="Wie ist", en="How is"),
    ],
    answers=[
        row(aid=2, qid=11, code="A2", sortorder=2),
        row(aid=1, qid=11, code="A1", sortorder=1),
        row(aid=3, qid=14, code="A1", sortorder=1),
        row(aid=4, qid=14, code="A2", sortorder=2),
    ],
    answer_l10ns=[
        row(aid=1, answer="Pfeife", language="de"),
        row(aid=1, answer="A pipe", language="en"),
        row(aid=2, answer="Zigarren", language="de"),
    ],
    question_attributes=[
        row(qid=13, attribute="min_num_value_n", value="18"),
        row(qid=13, attribute="max_num_value_n", value="67"),
        row(qid=13, attribute="num_value_int_only", value="1"),
        row(qid=12, attribute="max_answers", value="1"),
    ],
    conditions=[row(qid=11, value="Y"), row(qid=12, value="Y")],
    quota=[row(id=1, name="men")],
)


@pytest.fixture
def imported(tmp_path):
    """Return a function that writes a questionnaire into a file and imports it."""

    def read(content, name="Health at work.json", **options):
        file = tmp_path / name
        file.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
        return import_questionnaire(str(file), **options)

    return read


def test_questions_of_surveyjs_keep_kind_answers_conditions_and_languages(imported):
    made = imported(SURVEYJS, gamma="9")
    assert made.survey.id == "health-at-work"
    assert made.survey.languages == ("en", "de")
    assert made.survey.title_in("de") == "Gesundheit im Beruf"
    assert made.survey.framing.thanks == {"en": "Thank you & goodbye"}
    asked = attributes(made)
    assert list(by_name(made)) == [
        *("smoker", "how-many", "quit", "ease", "symptoms", "nights", "weight"),
        *("mood-morning", "mood-night"),
    ]
    smoker = asked["smoker"]
    assert (smoker.categories, smoker.optional, smoker.shuffle) == (("no", "yes"), False, True)
    assert smoker.label_in("en") == "Do you smoke?"
    assert smoker.answers_in("de") == ("nein", "ja")
    many = asked["how-many"]
    assert many.categories == ("1", "2", "3", "other", "don't know", "no answer", "not asked")
    assert many.missing == ("don't know", "no answer", "not asked")
    assert many.answers_in("en")[2] == "three or more"
    assert many.ask_if == {"smoker": ("yes",)}
    assert asked["quit"].answers_in("en")[:2] == ("no", "I did")
    assert asked["ease"].kind == "scale"
    assert asked["ease"].categories[:4] == ("1", "2", "3", "4")
    assert asked["ease"].answers_in("en")[0] == "1 – hard"
    assert asked["ease"].ask_if == {"smoker": ("yes",), "quit": ("yes",), "how-many": ("2",)}
    assert asked["symptoms.sore-throat"].option_in("en") == "A sore throat"
    assert asked["symptoms.sore-throat"].question.at_most == 1
    assert asked["nights"].ask_if == {"smoker": ("yes",), "symptoms.sore-throat": ("yes",)}
    assert (asked["nights"].number.minimum, asked["nights"].number.maximum) == (0, 14)
    assert not asked["nights"].optional
    assert asked["mood-night"].label_in("en") == "mood – At night"


def test_omissions_from_surveyjs_are_reported(imported):
    said = imported(SURVEYJS).left_out
    assert sorted(said) == sorted(
        [
            "the questionnaire's 'triggers' is left out",
            "10 texts are missing in 'de', and shown in another language: Two minutes.",
            "question 'how many': has another name: how-many",
            "question 'how many': the text for 'other' is not asked",
            "question 'how many': 'defaultValue' is left out",
            "question 'why': left out: it asks for free text, which cannot be perturbed",
            "question 'note': left out (html): nothing is answered there",
            "question 'symptoms': an option has another name: sore-throat",
            "question 'nights': a number: check the width of its bins",
            "question 'weight': a number: check the width of its bins",
            "question 'weight': has no range in the questionnaire; set the smallest and"
            " largest answer, since this is a placeholder: 0 to 100",
            "question 'mood': is one question for each row",
            *(
                f"question 'mood-{row}': asked of more people: a part of its condition cannot be"
                " written as answers to earlier questions: {smoker} = 'yes' or {quit} = false"
                for row in ("morning", "night")
            ),
            "question 'best': left out: a survey has no questions of kind 'ranking'",
        ]
    )


def test_the_map_holds_each_question_option_row_and_value_of_surveyjs(imported):
    made = imported(SURVEYJS)
    asked = attributes(made)
    assert {entry["name"] for entry in made.names.values()} == set(asked)
    for entry in made.names.values():
        assert set(entry["answers"].values()) <= set(asked[entry["name"]].categories)
    assert made.names["how many"] == {
        "name": "how-many",
        "answers": {"1": "1", "2": "2", "3": "3", "other": "other", "dontknow": "don't know"},
    }
    assert made.names["quit"] == {"name": "quit", "answers": {"false": "no", "true": "yes"}}
    assert made.names["nights"] == {"name": "nights", "answers": {}}
    assert made.names["symptoms[sore throat]"] == {
        "name": "symptoms.sore-throat",
        "answers": {"sore throat": "yes"},
    }
    assert made.names["mood.night"]["name"] == "mood-night"


@pytest.mark.parametrize(
    ("members", "shown"),
    [
        ({"rateMin": 2}, "2345"),
        ({"rateMin": 0, "rateCount": 3}, "012"),
        ({"rateCount": 7, "rateMax": 7}, "1234567"),
        ({"rateMax": 4, "rateStep": 2}, "13"),
        ({"rateValues": [1, 2], "autoGenerate": True}, "12345"),
        ({"rateValues": [1, 2], "autoGenerate": False}, "12"),
    ],
)
def test_scales_have_the_answers_of_surveyjs(imported, members, shown):
    """Expected answers are those of survey-core 2.5.38."""
    made = imported({"elements": [{"type": "rating", "name": "r", "isRequired": True} | members]})
    assert attributes(made)["r"].categories == tuple(shown)


def test_special_answers_of_a_list_become_options_or_missing_answers(imported):
    more = ["showOtherItem", "showNoneItem", "showRefuseItem", "showDontKnowItem"]
    element = {"type": "checkbox", "name": "pets", "choices": ["cat", 2.0], "noneText": "None"}
    picker = {"type": "imagepicker", "name": "home", "choices": [{"value": "flat"}, "house"]}
    both = {"type": "imagepicker", "name": "seen", "choices": ["a", "b"], "multiSelect": True}
    made = imported({"elements": [element | dict.fromkeys(more, True), picker, both]})
    assert [each.name for each in made.survey.schema.attributes] == [
        *("pets.cat", "pets.q-2.0", "pets.other", "home", "seen.a", "seen.b")
    ]
    assert by_name(made)["pets"].attributes[0].missing == ("refused", "don't know", "no answer")
    said = {"none": "no", "refused": "refused", "dontknow": "don't know"}
    assert made.names["pets[2]"] == {"name": "pets.q-2.0", "answers": {"2": "yes"} | said}
    assert made.names["pets[other]"] == {"name": "pets.other", "answers": {"other": "yes"} | said}
    assert made.names["home"]["answers"] == {"flat": "flat", "house": "house"}


def test_questions_of_limesurvey_keep_kind_answers_conditions_and_languages(imported):
    made = imported(LIMESURVEY, "health.lss")
    assert made.survey.languages == ("de", "en")
    assert (made.survey.title_in("en"), made.survey.title_in("de")) == ("Health", "Gesundheit")
    assert made.survey.framing.thanks == {"de": "Danke"}
    assert list(by_name(made)) == ["Q1", "Q2", "Q3", "Q4", "Q5-SQ1", "Q8", "Q10"]
    asked = attributes(made)
    assert (asked["Q1"].categories, asked["Q1"].optional) == (("no", "yes"), False)
    assert asked["Q1"].label_in("de") == "Rauchen Sie?"
    assert asked["Q1"].page == {"de": "Gewohnheiten", "en": "Habits"}
    assert asked["Q2"].categories[:3] == ("A1", "A2", "other")
    assert asked["Q2"].answers_in("en")[:2] == ("A pipe", "Zigarren")
    assert asked["Q2"].ask_if == {"Q1": ("yes",)}
    assert [option.name for option in by_name(made)["Q3"].attributes] == ["Q3.SQ1", "Q3.SQ2"]
    assert asked["Q3.SQ1"].option_in("en") == "Cough"
    assert asked["Q3.SQ1"].question.at_most == 1
    assert asked["Q4"].ask_if == {"Q3.SQ2": ("yes",), "Q2": ("A1",)}
    assert asked["Q4"].number.categories[0] == "18 to 27"
    assert asked["Q5-SQ1"].label_in("en") == "How is – Work"
    assert not asked["Q5-SQ1"].ask_if
    assert asked["Q8"].kind == "scale"
    assert asked["Q8"].ask_if == {"Q3.SQ1": ("yes",), "Q2": ("A2",)}
    assert sorted(made.left_out) == sorted(
        [
            "the questionnaire's table 'quota' is left out (1 rows)",
            "2 texts are missing in 'en', and shown in another language: Danke",
            "question 'Q1': 'no', 'yes' have to be translated",
            *(f"question '{name}': has no text of its own" for name in ("Q3", "Q4", "Q8", "Q10")),
            "question 'Q2': the text for 'other' is not asked",
            "question 'Q3': its conditions are left out",
            "question 'Q4': a number: check the width of its bins",
            "question 'Q5': is one question for each row",
            "question 'Q5-SQ1': asked of everybody: its condition cannot be written as answers"
            " to earlier questions: count(Q3) > 1",
            "question 'Q6': left out: it asks for free text, which cannot be perturbed",
            "question 'Q7': left out: a survey has no questions with a ranking",
            "question 'Q9': left out (a text): nothing is answered there",
            "question 'Q10': a number: check the width of its bins",
            "question 'Q10': has no range in the questionnaire; set the smallest and"
            " largest answer, since this is a placeholder: 0 to 100",
        ]
    )


def test_lost_conditions_of_limesurvey_must_be_confirmed(imported):
    """Without them more people are asked."""
    made = imported(
        lss(
            surveys=[row(sid=1, language="en")],
            groups=[row(gid=1, group_order=0)],
            questions=[question(n, kind, f"Q{n}", n) for n, kind in enumerate("YFYMY", start=1)],
            subquestions=[
                row(qid=10, parent_qid=2, title="A", question_order=1, relevance="Q1 > Q3"),
                row(qid=11, parent_qid=2, title="B", question_order=2, relevance="1"),
                row(qid=12, parent_qid=4, title="A", question_order=1, relevance="Q1 == 'Y'"),
                row(qid=13, parent_qid=4, title="B", question_order=2),
            ],
            answers=[row(qid=2, aid=n, code=f"A{n}", sortorder=n) for n in (1, 2)],
            conditions=[row(qid=3, value="Y")],
            question_attributes=[
                row(qid=4, attribute="array_filter", value="Q2"),
                row(qid=5, attribute="random_group", value="1"),
                row(qid=5, attribute="em_validation_q", value="this == 'Y'"),
                row(qid=5, attribute="cssclass", value="wide"),
            ],
        ),
        "q.lss",
    )
    said = "asked of everybody: its condition cannot be written as answers to earlier questions"
    assert made.survey.unconfirmed == (
        f"attribute 'Q2-A': {said}: Q1 > Q3",
        "attribute 'Q3': its conditions are left out",
        "attribute 'Q4': 'array_filter' is left out; the condition of an option is left out: A",
        "attribute 'Q5': 'em_validation_q' is left out",
    )


def test_rows_of_limesurvey_have_conditions_of_their_own(imported):
    made = imported(
        lss(
            surveys=[row(sid=1, language="en")],
            groups=[row(gid=1, group_order=0)],
            questions=[
                question(1, "Y", "Q1", 1),
                question(2, "M", "Q2", 2),
                question(3, "F", "Q3", 3, relevance="Q1 == 'Y'"),
                question(4, "F", "Q4", 4),
            ],
            subquestions=[
                *(
                    row(qid=10 * n + k, parent_qid=n, title=code, question_order=k, **more)
                    for n in (2, 3, 4)
                    for k, (code, more) in enumerate(
                        [("A", {}), ("B", {"relevance": "Q2_A == 'Y'"} if n == 3 else {})]
                    )
                ),
                row(qid=50, parent_qid=4, title="C", question_order=3),
            ],
            answers=[row(qid=n, aid=10 * n + k, code=f"A{k}") for n in (3, 4) for k in (1, 2)],
            question_attributes=[
                row(qid=3, attribute="array_filter_exclude", value="Q2"),
                row(qid=4, attribute="array_filter", value="Q2"),
            ],
        ),
        "q.lss",
    )
    asked = attributes(made)
    no = ("no", "no answer")
    assert {name: dict(asked[name].ask_if) for name in ("Q3-A", "Q3-B", "Q4-A", "Q4-B")} == {
        "Q3-A": {"Q1": ("yes",), "Q2.A": no},
        "Q3-B": {"Q1": ("yes",), "Q2.A": ("yes",), "Q2.B": no},
        "Q4-A": {"Q2.A": ("yes",)},
        "Q4-B": {"Q2.B": ("yes",)},
    }
    # The filter has no row C.
    assert asked["Q4-C"].ask_if == {}
    assert "'array_filter' is left out: C" in made.survey.unconfirmed[0]


def test_the_text_of_other_is_kept(imported):
    made = imported(
        lss(
            surveys=[row(sid=1, language="en")],
            groups=[row(gid=1, group_order=0)],
            questions=[
                question(n, kind, f"Q{n}", n, other="Y") for n, kind in ((1, "L"), (2, "M"))
            ],
            subquestions=[row(qid=10, parent_qid=2, title="A", question_order=1)],
            answers=[row(qid=1, aid=1, code="A1")],
            question_attributes=[
                row(qid=n, attribute="other_replace_text", language=tag, value=text)
                for n in (1, 2)
                for tag, text in (("en", "Something else"), ("de", "Etwas anderes"))
            ],
        ),
        "q.lss",
    )
    asked = attributes(made)
    assert asked["Q1"].answers_in("de")[1] == "Etwas anderes"
    assert asked["Q2.other"].option_in("en") == "Something else"


def test_what_determines_who_is_asked_or_which_answers_are_valid_must_be_confirmed(imported):
    """Members that are not known to be harmless make a question unconfirmed."""
    item = {"value": "x", "visibleIf": "{a} = 1"}
    made = imported(
        {
            "elements": [
                {"type": "checkbox", "name": "a", "choices": [1, 2], "minSelectedChoices": 1},
                {"type": "radiogroup", "name": "b", "choices": [item, "y"], "defaultValue": "y"},
                {"type": "rating", "name": "c", "requiredIf": "{b} = 'y'", "validators": []},
                {"type": "boolean", "name": "d", "unheardOf": 1, "minWidth": 3},
                {"type": "panel", "name": "p", "isRequired": True, "elements": [
                    {"type": "boolean", "name": "e", "startWithNewLine": False}
                ]},
            ],
            "showProgressBar": "top",
        }
    )  # fmt: skip
    assert made.survey.unconfirmed == (
        "attribute 'a': 'minSelectedChoices' is left out",
        "attribute 'b': 'visibleIf' of its answers is left out",
        "attribute 'c': 'requiredIf' is left out",
        "attribute 'd': 'unheardOf' is left out",
        "attribute 'e': 'isRequired' of 'p' is left out",
    )
    everything = imported(
        {
            "elements": [{"type": "boolean", "name": name} for name in "ab"],
            "triggers": [{"type": "complete", "expression": "{a} = true"}],
        }
    )
    assert everything.survey.unconfirmed == tuple(
        f"attribute '{name}': the questionnaire's 'triggers' is left out" for name in "ab"
    )


def test_a_question_with_the_choices_of_another_is_left_out(imported):
    elements = [
        {"type": "checkbox", "name": "a", "choices": ["x", "y"]},
        {"type": "radiogroup", "name": "b", "choices": ["v", "w"], "choicesFromQuestion": "a"},
    ]
    made = imported({"elements": elements})
    assert list(by_name(made)) == ["a"]
    assert made.left_out == ("question 'b': left out: its choices are those of another question",)


def test_files_of_earlier_versions_of_limesurvey_are_read(imported):
    def both(**cells):
        return [
            row(**cells, language="de", question="Rauchen?", answer="ja", group_name="G"),
            row(**cells, language="en", question="Smoking?", answer="yes", group_name="H"),
        ]

    old = lss(
        surveys=[row(language="de")],
        surveys_languagesettings=[row(surveyls_language="de", surveyls_title="T")],
        groups=both(gid=1, group_order=0),
        questions=both(qid=1, parent_qid=0, gid=1, type="L", title="Q1", question_order=0),
        answers=[*both(qid=1, code="Y", sortorder=1), *both(qid=1, code="N", sortorder=2)],
    )
    [asked] = attributes(imported(old, "old.lss")).values()
    assert asked.categories == ("Y", "N", "no answer")
    assert (asked.label_in("en"), asked.label_in("de")) == ("Smoking?", "Rauchen?")
    assert asked.answers_in("en")[0] == "yes"


@pytest.mark.parametrize(
    ("condition", "carried"),
    [
        ("{a} = 'x'", {"a": ("x",)}),
        ('{a} == "x" && {b} = 1', {"a": ("x",), "b": ("1",)}),
        ("{a} = 'x' or {a} = 'y'", {"a": ("x", "y")}),
        ("({a} = 'x' || {a} = 'z') AND ({b} = 1)", {"a": ("x", "z"), "b": ("1",)}),
        ("{a} <> 'x'", {"a": ("y", "z", "no answer")}),
        ("not ({a} = 'x')", {"a": ("y", "z", "no answer")}),
        ("{a} notempty", {"a": ("x", "y", "z")}),
        ("!({a} empty) and {b} >= 2", {"a": ("x", "y", "z"), "b": ("2",)}),
        ("{a} anyof ['x', 'z']", {"a": ("x", "z")}),
        ("{a} = 'x' and ({a} = 'x' or {a} = 'y')", {"a": ("x",)}),
        *(
            (condition, {})
            for condition in (
                *("{a} > 'x'", "{a} = 'x' {b} = 1", "({a} = 'x'"),
                *("not ({a} = 'x' and {b} = 1)", "{a} = 'x' or {a} = 'y' and {b} = 1"),
                *("{a} = 'x' or {b} = 1", "{a} = 'x' = {b} = 1", "{c} = 'x'"),
            )
        ),
    ],
)
def test_conditions_are_imported_completely_or_reported_as_missing(imported, condition, carried):
    made = imported(
        {
            "elements": [
                {"type": "radiogroup", "name": "a", "choices": ["x", "y", "z"]},
                {"type": "radiogroup", "name": "b", "choices": [1, 2]},
                {"type": "boolean", "name": "c", "visibleIf": condition},
            ]
        }
    )
    assert attributes(made)["c"].ask_if == carried
    assert any(condition in sentence for sentence in made.left_out) != bool(carried)
    assert bool(made.survey.unconfirmed) != bool(carried)


@pytest.mark.parametrize(
    ("condition", "kept", "lost"),
    [
        ("{a} = 'x' and {b} = 3", {"a": ("x",)}, "{b} = 3"),
        ("{a} = 'x' and not {b}", {"a": ("x",)}, "not {b}"),
        ("({a} = 'x' or {b} = 1) and {b} = 2", {"b": ("2",)}, "{a} = 'x' or {b} = 1"),
    ],
)
def test_a_partly_imported_condition_must_be_confirmed(imported, condition, kept, lost):
    elements = [
        {"type": "radiogroup", "name": "a", "choices": ["x", "y", "z"]},
        {"type": "radiogroup", "name": "b", "choices": [1, 2]},
        {"type": "boolean", "name": "c", "visibleIf": condition},
    ]
    made = imported({"elements": elements})
    assert attributes(made)["c"].ask_if == kept
    [said] = made.survey.unconfirmed
    assert said.startswith("attribute 'c': asked of more people: a part of its condition")
    assert said.endswith(f": {lost}")


def test_a_question_whose_condition_never_holds_is_left_out(imported):
    elements = [
        {"type": "radiogroup", "name": "a", "choices": ["x", "y", "z"]},
        {"type": "boolean", "name": "c", "visibleIf": "{a} = 'x' and {a} = 'y'"},
    ]
    made = imported({"elements": elements})
    assert list(attributes(made)) == ["a"]
    assert any("its condition never holds" in said for said in made.left_out)


def test_imported_number_conditions_are_never_wider_than_the_original(imported):
    """Compare the bins that are asked with the condition for every age of a range."""
    rng = np.random.default_rng(8)
    signs = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
    signs |= {"=": operator.eq, "!=": operator.ne}
    narrowed = 0
    for _ in range(60):
        low, size = int(rng.integers(0, 30)), int(rng.integers(5, 80))
        compared = [(str(rng.choice([*signs])), int(rng.integers(low, low + size))) for _ in "ab"]
        join, denied = str(rng.choice(["and", "or"])), bool(rng.integers(2))
        condition = f" {join} ".join(f"{{n}} {sign} {bound}" for sign, bound in compared)
        condition = f"not ({condition})" if denied else condition
        number = {"type": "text", "inputType": "number", "name": "n"}
        asked = {"type": "boolean", "name": "c", "visibleIf": condition}
        made = imported({"elements": [number | {"min": low, "max": low + size}, asked]})
        assert made.survey.unconfirmed == ()
        questions = attributes(made)
        assert questions["n"].number.minimum == low
        assert questions["n"].number.maximum == low + size
        if "c" not in questions:
            continue
        for age in range(low, low + size + 1):
            held = [signs[sign](age, bound) for sign, bound in compared]
            holds = (all(held) if join == "and" else any(held)) != denied
            given = questions["c"].ask_if.get("n", questions["n"].categories)
            among = questions["n"].categories[questions["n"].number.bin(age)] in given
            assert holds or not among, (condition, age)
            narrowed += holds and not among
    assert narrowed


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"elements": [3]}', "expected a questionnaire of LimeSurvey"),
        ("{}", "expected a questionnaire of LimeSurvey"),
        ("[1]", "expected a questionnaire of LimeSurvey"),
        ("<html></html>", "expected a questionnaire of LimeSurvey"),
        ('<!DOCTYPE d [<!ENTITY a "b">]><document>&a;</document>', "expected a questionnaire"),
        ('{"elements": [{"type": "comment", "name": "why"}]}', "question 'why': left out"),
        ('{"elements": []}', "it has none"),
    ],
)
def test_other_files_are_refused(imported, content, said):
    with pytest.raises(HalftruthError, match=said):
        imported(content)


def test_an_invalid_question_does_not_prevent_the_import_of_others(imported):
    made = imported(
        {
            "elements": [
                {"type": "radiogroup", "name": "only", "choices": ["one"], "isRequired": True},
                {"type": "boolean", "name": "fine"},
            ]
        }
    )
    assert list(attributes(made)) == ["fine"]
    [said] = made.left_out
    assert said == "question 'only': left out: expected 2 to 65536 categories, got 1"
    assert made.survey.perturbation.amplification() == Fraction(19)


def test_the_command_writes_a_valid_file_and_reports_omissions(command, tmp_path):
    file, toml = tmp_path / "work.json", tmp_path / "work.toml"
    file.write_text(json.dumps(SURVEYJS), encoding="utf-8")
    status, said, complaint = command("survey", "import", file, "--id", "mine", "--output", toml)
    assert (status, said) == (0, f"mine: 9 questions in {toml}\n")
    assert "question 'why': left out: it asks for free text" in complaint
    assert command("survey", "check", toml)[0] == 0
    assert command("survey", "import", file, "--id", "mine")[1].strip() == toml.read_text().strip()
    names = tmp_path / "health.map.json"
    assert command("survey", "import", file, "--id", "mine", "--map", names)[0] == 0
    assert json.loads(names.read_text())["quit"]["answers"] == {"false": "no", "true": "yes"}
    status, _, complaint = command("survey", "import", tmp_path / "no.json")
    assert status != 0
    assert "no.json: cannot be read: No such file or directory" in complaint


def beside_smoker(**members):
    smoker = {"type": "radiogroup", "name": "smoker", "choices": ["no", "yes"]}
    return json.dumps({"elements": [smoker, {"name": "q", **members}]}).encode()


@pytest.mark.parametrize("end", ["1e99999999", "1e9999999", "9" * 5_000, 1e300, "1e-99999999"])
@pytest.mark.parametrize("member", ["min", "max"])
def test_numbers_with_huge_bounds_are_left_out_quickly(member, end):
    with short_of_memory_and_time():
        members = {"min": "-5", "max": "5", member: end}
        made = read_questionnaire(
            beside_smoker(type="text", inputType="number", **members), "q.json"
        )
    assert [attribute.name for attribute in made.survey.schema.attributes] == ["smoker"]
    [said] = made.left_out
    assert said.startswith("question 'q': left out: expected a minimum and a maximum of")


@pytest.mark.parametrize(
    "members",
    [{"rateMax": 2_000_000_000}, {"rateCount": 10**18}, {"rateMin": -(10**9), "rateMax": 5}],
)
def test_huge_scales_are_left_out_quickly(members):
    with short_of_memory_and_time():
        made = read_questionnaire(beside_smoker(type="rating", **members), "q.json")
    assert made.left_out == ("question 'q': left out: a scale has at most 1000 answers here",)


@pytest.mark.parametrize("content", [b'{"elements": [%s]}', b"<document>%s</document>"])
def test_questionnaires_of_many_empty_elements_are_refused_quickly(content):
    inside = b"<a/>" * 1_950_000 if content.startswith(b"<") else b",".join([b"{}"] * 2_600_000)
    with short_of_memory_and_time(), pytest.raises(ParameterError) as wrong:
        read_questionnaire(content % inside, "q.json")
    assert str(wrong.value) == "q.json: expected a questionnaire of at most 250000 elements"


def test_a_matrix_with_too_many_rows_is_left_out():
    rows = [f"r{n}" for n in range(1_025)]
    made = read_questionnaire(beside_smoker(type="matrix", rows=rows, columns=["a", "b"]), "q.json")
    assert made.left_out == ("question 'q': left out: it has more than 1024 rows",)


def test_comments_before_each_question_report_changes_and_omissions():
    elements = [
        {"type": "comment", "name": 'end"\n[mechanism]\ngamma = "99"\n#'},
        {"type": "text", "inputType": "number", "name": "age", "min": 18, "max": 67},
        {"type": "radiogroup", "name": "smoker", "choices": ["no", "yes"], "isRequired": True},
        {"type": "comment", "name": "remarks"},
    ]
    made = read_questionnaire(json.dumps({"elements": elements}).encode(), "q.json")
    lines = made.text.splitlines()
    assert lines[0] == "# Imported unchanged: 1 question. Changed: 1. Left out: 2."
    assert made.counts == lines[0].removeprefix("# ")
    first, second = (k for k, line in enumerate(lines) if line == "[[attributes]]")
    free_text = "left out: it asks for free text, which cannot be perturbed"
    assert lines[first - 2 : first] == [
        f'# \'end" [mechanism] gamma = "99" #\': {free_text}',
        "# changed: a number: check the width of its bins",
    ]
    assert lines[second - 1] == ""
    assert lines[-1] == f"# 'remarks': {free_text}"
    assert str(made.survey.mechanism.gamma) == "19"


def test_a_file_has_at_most_1024_comments_on_questions():
    elements = [{"type": "comment", "name": f"q{n}"} for n in range(2_000)]
    elements.append({"type": "boolean", "name": "smoker", "isRequired": True})
    made = read_questionnaire(json.dumps({"elements": elements}).encode(), "q.json")
    comments = [line for line in made.text.splitlines() if line.startswith("# 'q")]
    assert len(comments) == 1_024
    assert "# and 976 more that are changed or left out" in made.text
    assert "Left out: 2000." in made.text
