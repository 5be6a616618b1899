"""Kinds of questions in survey files: their attributes, invalid ones, and stable digests."""

import pickle
import re
import tomllib
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from halftruth_shared import (
    Attribute,
    GammaDiagonal,
    ParameterError,
    RecordError,
    Schema,
    SchemaError,
    Survey,
    SurveyError,
)
from halftruth_shared.attribute import MultipleResponse
from halftruth_shared.number import NumberRange
from halftruth_shared.texts import choose_language

ROOT = Path(__file__).parents[2]
HEAD = 'id = "s"\ntitle = "S"\n[mechanism]\nkind = "gamma-diagonal"\ngamma = "100000"\n'
SMOKER = '[[attributes]]\nname = "smoker"\ncategories = ["no", "yes"]\n'


def survey(lines, head=HEAD):
    """Return a survey with a question about smoking and another one."""
    return Survey.from_toml(f'{head}{SMOKER}[[attributes]]\nname = "a"\n{lines}\n')


def attribute(lines):
    return survey(lines).schema.attributes[1]


NUMBER = 'kind = "number"\nminimum = 0\nmaximum = 9\n'
SEVERAL = 'kind = "several"\noptions = [{ name = "x", label = "X" }, { name = "y" }]\n'

GOOD = {
    "a scale": 'kind = "scale"\ncategories = ["1", "2", "3"]\nanswers.1 = "not at all"',
    "an order": 'categories = ["x", "y", "z"]\nordered = true\nmissing = ["w"]',
    "a shuffled choice": 'categories = ["x", "y", "z"]\nshuffle = true\noptional = true',
    "a number by steps": f"{NUMBER}step = 5\noptional = true",
    "a number by bins": f"{NUMBER}bins = 2\nmissing = ['w']",
    "decimals": 'kind = "number"\nminimum = "0.5"\nmaximum = 3\nstep = "1/3"',
    "numbers that are not whole": f"{NUMBER}step = 3\nwhole = false",
    "several": f'{SEVERAL}label = "Q"\nhelp = "H"\npage = "P"\nshuffle = true\noptional = true',
    "a condition": 'categories = ["x", "y"]\nask_if = { smoker = ["yes"] }\nlabel = { de = "A" }',
    "several on a condition": f'{SEVERAL}ask_if = {{ smoker = ["yes"] }}\nmissing = ["w"]',
}


@pytest.mark.parametrize("lines", GOOD.values(), ids=GOOD)
def test_surveys_with_any_kind_of_question_survive_json(lines):
    made = survey(lines)
    again = Survey.from_json(made.canonical_json)
    assert again == made
    assert again.canonical_json == made.canonical_json
    assert hash(again.schema) == hash(made.schema)
    assert pickle.loads(pickle.dumps(made.schema)) == made.schema


def test_surveys_of_choices_keep_their_digests():
    # The digest from before questions had kinds, and files of split questionnaires tickets.
    text = re.search(r"```toml\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    digest = "08585f6771c8d26da3db9b5acae58cbdd124535563e567cc2be8af9ce5df53ba"
    assert Survey.from_toml(f'{text.group(1)}[reports]\ntickets = "none"\n').digest == digest


def test_the_examples_of_the_manual_are_valid_surveys():
    text = (ROOT / "docs" / "surveys.md").read_text("utf-8")
    blocks = [b for b in re.findall(r"```toml\n(.*?)```", text, re.DOTALL) if "[[attributes]]" in b]
    whole, *parts = blocks
    assert whole == (ROOT / "docs" / "examples" / "teamwork.toml").read_text("utf-8")
    assert len(Survey.from_toml(whole).schema.questions) == 5
    assert len(parts) == 5
    split = HEAD.replace("gamma-diagonal", "split-questionnaire")
    for block in parts:
        head, questions = block.split("[[attributes]]", 1)
        needs_views = "collapsed" in questions or "at_most" in questions
        mechanism = split if needs_views else HEAD
        made = Survey.from_toml(f"{head}{mechanism}[[attributes]]{questions}")
        assert len(made.schema.questions) == len(tomllib.loads(block)["attributes"])


def test_bins_and_step_define_the_same_question():
    assert survey(f"{NUMBER}step = 5").digest == survey(f"{NUMBER}bins = 2").digest
    halves = survey(f"{NUMBER}bins = 2\nwhole = false").schema.attributes[1]
    assert halves.categories == ("[0, 4.5)", "[4.5, 9]")


def test_edges_and_midpoints_are_exact():
    ages = attribute(f"{NUMBER}step = 5").number
    assert ages.edges == (Fraction(-1, 2), Fraction(9, 2), Fraction(19, 2))
    assert ages.midpoints == (2, 7)
    thirds = NumberRange("0", "1", "1/3")
    assert thirds.edges == (0, Fraction(1, 3), Fraction(2, 3), 1)
    assert thirds.midpoints == (Fraction(1, 6), Fraction(1, 2), Fraction(5, 6))
    short = NumberRange(20, 45, 10)
    # Class marks computed by hand: the means of 20…29, 30…39 and 40…45.
    assert short.midpoints == (Fraction(49, 2), Fraction(69, 2), Fraction(85, 2))


def test_numbers_of_any_type_are_accepted():
    made = Attribute("a", number=NumberRange("0", "1", "1/10"))
    for answer, code in [(0.1, 1), ("0.3", 3), (np.float64(0.7), 7), (np.int64(1), 9), (1, 9)]:
        assert made.code(answer) == code
    assert made.code(Fraction(1, 3)) == 3
    assert made.code("[0.2, 0.3)") == 2


@pytest.mark.parametrize(
    "answer", [31415926535, "31415926535", 3.1415926535e30, True, None, "nan", float("nan"), [1]]
)
def test_no_error_about_a_number_contains_it(answer, refused):
    made = attribute(f"{NUMBER}step = 5\nmissing = ['w']\noptional = true")
    refused(
        RecordError,
        lambda: made.code(answer),
        field="a",
        mentions=["a whole number from 0 to 9, or one of: w, no answer"],
        never=["31415926535", "3.14", "True", "None", "nan"],
    )


def test_missing_answers_are_items_only_if_listed():
    made = attribute('categories = ["x", "y"]\nmissing = ["w"]\noptional = true')
    assert made.categories == ("x", "y", "w", "no answer")
    assert made.missing == ("w", "no answer")
    assert made.is_item == (True, True, False, False)
    assert made.is_missing == (False, False, True, True)
    named = attribute('categories = ["x", "w"]\nmissing = ["w"]\nitems = ["w"]')
    assert named.is_item == (False, True)


def test_options_are_attributes_of_one_question():
    made = survey(f'{SEVERAL}label = "Which?"\noptional = true')
    schema = made.schema
    assert schema.names == ("smoker", "a.x", "a.y")
    assert [option.question_name for option in schema.attributes] == [None, "a", "a"]
    smoker, question = schema.questions
    assert (smoker.name, smoker.kind, smoker.attributes) == (
        "smoker", "choice", schema.attributes[:1],
    )  # fmt: skip
    assert (question.name, question.kind, question.label) == ("a", "several", "Which?")
    assert [option.option_in() for option in question.attributes] == ["X", "y"]
    assert schema.attributes[1].label_in() == "Which? – X"
    assert schema.attributes[1].is_item == (False, True, False)
    some = Schema(schema.attributes[:2])
    assert [question.name for question in some.questions] == ["smoker", "a"]


def test_a_condition_on_an_option_refers_to_its_attribute():
    text = f'{HEAD}[[attributes]]\nname = "s"\n{SEVERAL}[[attributes]]\nname = "b"\n'
    schema = Survey.from_toml(
        f'{text}categories = ["p", "q"]\nask_if = {{ "s.x" = ["yes"] }}'
    ).schema
    assert schema.encode({"s": ["y"]}) == (0, 1, 2)
    assert schema.encode({"s": ["x"], "b": "q"}) == (1, 0, 1)


def test_texts_are_selected_by_language():
    made = survey(
        'label = { en = "A?", de = "Ä?" }\ncategories = ["x", "y"]\nanswers.x = { de = "ix" }',
        f'description = {{ en = "Who", fr = "Qui" }}\n{HEAD}',
    )
    assert made.languages == ("en", "fr", "de")
    assert made.description_in("fr-CA") == "Qui"
    assert made.description_in("de") == "Who"
    asked = made.schema.attributes[1]
    assert asked.label_in("de") == "Ä?"
    assert asked.answers_in("de") == ("ix", "y")
    assert asked.answers_in("fr", "en") == asked.answers_in() == ("x", "y")
    assert choose_language({"de": "D", "en": "E"}) == "D"


def test_the_first_language_survives_sorted_json():
    made = Survey.from_json(
        survey('label = { en = "A?", de = "Ä?" }\ncategories = ["x", "y"]').canonical_json
    )
    assert made.schema.attributes[1].label_in() == "A?"


XY = 'categories = ["x", "y"]\n'
FIVE = 'categories = ["1", "2", "3", "4", "5"]\n'
BAD = {
    "unknown kind": (f'{XY}kind = "date"', "kind", "choice, scale, number, several"),
    "no categories": ("", "categories", '["no", "yes"]'),
    "categories of a number": (f"{XY}{NUMBER}step = 5", "categories", "choice or scale"),
    "options of a choice": (f"{XY}options = [{{ name = 'x' }}]", "options", "several"),
    "no options": ('kind = "several"\noptions = []', "options", "one or more"),
    "an option twice": ("kind = 'several'\noptions = [{ name = 'x' }, { name = 'x' }]", "a.x",
                        "named twice"),
    "a bad option": ("kind = 'several'\noptions = [{ name = 'x y' }]", "name", "a letter"),
    "items of several": (f"{SEVERAL}items = ['yes']", "items", "choice or scale or number"),
    "a minimum of a choice": (f"{XY}minimum = 0", "minimum", "number"),
    "no maximum": ('kind = "number"\nminimum = 0', "minimum", "with a maximum"),
    "neither step nor bins": (NUMBER, "step", "either step or bins"),
    "step and bins": (f"{NUMBER}step = 5\nbins = 2", "step", "either step or bins"),
    "bins that do not divide": (f"{NUMBER}bins = 3", "bins", "divisor of the 10 whole numbers"),
    "one bin": (f"{NUMBER}step = 10", "step", "2 to 65536 bins"),
    "a step of nothing": (f"{NUMBER}step = 0", "step", "2 to 65536 bins"),
    "a step back": (f"{NUMBER}step = -1", "step", "2 to 65536 bins"),
    "a step as words": (f"{NUMBER}step = 'five'", "step", '"19"'),
    "many digits": (f"{NUMBER}step = '1/1000000000000000'", "step", "15 digits"),
    "nothing between": ('kind = "number"\nminimum = 9\nmaximum = 9\nstep = 1', "maximum", "more"),
    "halves that are whole": (f"{NUMBER}step = '0.5'\nwhole = true", "whole", "whole = false"),
    "a missing answer that is a number": (f"{NUMBER}step = 5\nmissing = ['99']", "missing",
                                          "words"),
    "all missing": (f"{XY}missing = ['x', 'y']", "missing", "a category besides"),
    "no answer, but required": (f"{XY}missing = ['no answer']", "missing", "optional"),
    "not asked, but everybody is": (f"{XY}missing = ['not asked']", "missing", "condition"),
    "a shuffled scale": (f"{XY}kind = 'scale'\nshuffle = true", "shuffle", "order"),
    "an order of several": (f"{SEVERAL}ordered = true", "ordered", "choice or scale or number"),
    "a condition on itself": (f"{XY}ask_if = {{ a = ['x'] }}", "ask_if", "expected one of: smoker"),
    "a condition on no answer": (f"{XY}ask_if = {{ smoker = ['maybe'] }}", "ask_if", "no, yes"),
    "a condition on no answers": (f"{XY}ask_if = {{ smoker = [] }}", "ask_if", "one answer or"),
    "texts of no category": (f"{XY}answers.z = 'Z'", "answers", "'z' is not one of"),
    "an empty text": (f"{XY}answers.x = ''", "answers", "by language"),
    "a label in no language": (f"{XY}label = {{}}", "label", "by language"),
    "a label in a bad language": (f"{XY}label = {{ German = 'x' }}", "label", "by language"),
    "a long label": (f"{XY}label = {{ de = '{'x' * 2001}' }}", "label", "2000 characters"),
    "answers in a language without it": (f"{XY}answers.x = {{ de = 'ix' }}", "languages", "'de'"),
    "groups of several": (f"{SEVERAL}collapsed = {{ a = ['no'], b = ['yes'] }}", "collapsed",
                          "choice or scale or number"),
    "a group of no answers": (f"{FIVE}collapsed = {{ a = [], b = ['1', '2', '3', '4', '5'] }}",
                              "collapsed", "'a' has no answers"),
    "an answer in no group": (f"{FIVE}collapsed = {{ a = ['1'], b = ['2', '3', '4'] }}",
                              "collapsed", "'5' is in no group"),
    "an answer in two groups": (f"{FIVE}collapsed = {{ a = ['1', '2'], b = ['2', '3', '4', '5'] }}",
                                "collapsed", "'2' is in two groups"),
    "a group of another answer": (f"{FIVE}collapsed = {{ a = ['1', '6'] }}", "collapsed",
                                  "'6' is not one of its categories: 1, 2, 3, 4, 5"),
    "a missing answer in a group": (f"{FIVE}missing = ['w']\n"
                                    "collapsed = { a = ['1', '2'], b = ['3', '4', '5', 'w'] }",
                                    "collapsed", "'b' has a missing category"),
    "a single group": (f"{FIVE}collapsed = {{ a = ['1', '2', '3', '4', '5'] }}", "collapsed",
                       "1 groups of 5 answers"),
    "one group and a missing answer": (f"{FIVE}optional = true\n"
                                       "collapsed = { a = ['1', '2', '3', '4', '5'] }",
                                       "collapsed", "1 groups of 5 answers"),
    "as many groups as answers": (
        f"{FIVE}collapsed = {{ a = ['1'], b = ['2'], c = ['3'], d = ['4'], e = ['5'] }}",
        "collapsed", "5 groups of 5 answers"),
    "a group that is named like another answer": (
        f"{FIVE}collapsed = {{ 1 = ['2', '3'], b = ['1', '4', '5'] }}", "collapsed",
        "'1' is an answer, too"),
    "a group with gaps in an order": (
        f"{FIVE}ordered = true\ncollapsed = {{ a = ['1', '3'], b = ['2', '4', '5'] }}",
        "collapsed", "neighbours in their order"),
    "a group without a name": (f"{FIVE}collapsed = {{ '' = ['1', '2'], b = ['3', '4', '5'] }}",
                               "collapsed", "1 to 256 characters"),
    "a text of no group": (f"{FIVE}collapsed = {{ a = ['1', '2'], b = ['3', '4', '5'] }}\n"
                           "answers.c = 'C'", "answers", "'c' is not one of"),
    # Of another type: the message names the place.
    "groups in a list": (f"{FIVE}collapsed = [['1', '2'], ['3', '4', '5']]", None,
                         ": collapsed: expected a table, got a list"),
    "a label of a number": (f"{XY}label = 5", None, ": label: expected"),
    "a number in a language": (f"{XY}label = {{ de = 5 }}", None, ": label: expected"),
    "a condition of a text": (f"{XY}ask_if = {{ smoker = 'yes' }}", None, ": ask_if: expected"),
    "a step of a float": (f"{NUMBER}step = 0.5", None, ": step: expected"),
}  # fmt: skip


@pytest.mark.parametrize(("lines", "field", "words"), BAD.values(), ids=BAD)
def test_an_invalid_question_is_refused_in_one_line(lines, field, words, refused):
    kind = SurveyError if field in ("languages", None) else SchemaError
    refused(kind, lambda: survey(lines), field=field, mentions=[words])


SPLIT_HEAD = """id = "s"
title = "S"
[mechanism]
kind = "split-questionnaire"
gamma = "19"
views = [{ attributes = [["a"]], weight = 1 }, { attributes = [["a", "smoker"]], weight = 1 }]
"""


def test_groups_of_answers_are_in_the_order_of_their_first_answers():
    made = survey(
        """
        categories = ["1", "2", "3", "4", "w", "5"]
        missing = ["w"]
        ordered = true
        optional = true
        collapsed = { low = ["2", "1"], "5" = ["5"], b = ["4", "3"] }
        answers.low = { en = "Low", de = "Tief" }
        """,
        SPLIT_HEAD.replace("[mechanism]", 'languages = ["en", "de"]\n[mechanism]'),
    )
    asked = made.schema.attributes[1]
    assert dict(asked.collapsed) == {
        "low": ("1", "2"),
        "b": ("3", "4"),
        "w": ("w",),
        "5": ("5",),
        "no answer": ("no answer",),
    }
    assert asked.groups.names == tuple(asked.collapsed)
    assert asked.groups.codes == (0, 0, 1, 1, 2, 3, 4)
    assert asked.short_groups_in("de") == ("Tief", "b", "w", "5", "no answer")
    again = Survey.from_json(made.canonical_json)
    assert again == made
    assert again.digest == made.digest
    assert tuple(again.schema.attributes[1].collapsed) == asked.groups.names
    assert made.schema.view_shape([0]) == (2,)
    assert made.schema.view_shape([1]) == (7,)
    assert made.schema.view_shape([0, 1]) == made.schema.group_shape[:2] == (2, 5)
    views = {view.positions: view for view in made.perturbation.views}
    assert (views[1,].shape, views[1,].collapsed) == ((7,), frozenset())
    assert (views[0, 1].shape, views[0, 1].collapsed) == ((2, 5), {1})


def test_groups_of_answers_change_the_digest_and_nothing_without_them_does():
    plain, groups = (
        survey(f"{FIVE}{more}", SPLIT_HEAD)
        for more in ("", 'collapsed = { a = ["1", "2"], b = ["3", "4", "5"] }')
    )
    assert b"collapsed" not in plain.canonical_json
    assert plain.schema.attributes[1].collapsed is None
    assert plain.schema.attributes[1].groups.names == ("1", "2", "3", "4", "5")
    assert plain.digest != groups.digest


def test_bins_of_a_number_can_be_collapsed():
    lines = f'{NUMBER}step = 2\ncollapsed = {{ low = ["0 to 1", "2 to 3"], high = %s }}'
    made = survey(lines % '["4 to 5", "6 to 7", "8 to 9"]', SPLIT_HEAD)
    assert made.schema.attributes[1].groups.codes == (0, 0, 1, 1, 1)


GROUPS = 'collapsed = { a = ["1", "2"], b = ["3", "4", "5"] }'
OTHER_KINDS = {
    "gamma-diagonal": 'gamma = "19"',
    "randomized-gamma-diagonal": 'gamma = "9"\nalpha = "1/2"',
    "randomized-response": 'gamma = "19"',
    "distortion-matrices": 'perturbed = ["smoker"]\n'
    'designs = { smoker = { design = "warner", p = "3/4" } }',
}


@pytest.mark.parametrize("kind", OTHER_KINDS)
def test_other_mechanisms_refuse_groups_of_answers(kind, refused):
    head = f'id = "s"\ntitle = "S"\n[mechanism]\nkind = "{kind}"\n{OTHER_KINDS[kind]}\n'
    survey(FIVE, head)
    said = ["attribute 'a': collapsed: ", '"split-questionnaire"', kind]
    refused(ParameterError, lambda: survey(FIVE + GROUPS, head), field="collapsed", mentions=said)


def test_public_answers_have_no_groups(refused):
    head = SPLIT_HEAD.replace('["a"]', '["smoker"]').replace('["a", "smoker"]', '["smoker"]')
    lines = f"{FIVE}sensitive = false\n"
    survey(lines, f'{head}public = ["a"]\n')
    refused(
        ParameterError,
        lambda: survey(lines + GROUPS, f'{head}public = ["a"]\n'),
        field="collapsed",
        mentions=["attribute 'a': collapsed: public attributes"],
    )


def test_inconsistent_options_are_refused(refused):
    several = MultipleResponse("a")
    options = [
        Attribute("a.x", ("no", "yes"), ("yes",), question=several),
        Attribute("a.y", ("no", "yes"), ("yes",), question=several, sensitive=False),
    ]
    refused(SchemaError, lambda: Schema(options), field="a", mentions=["alike"])
    apart = [options[0], Attribute("b", ("x", "y")), Attribute("a.z", ("no", "yes"), ("yes",),
             question=several)]  # fmt: skip
    refused(SchemaError, lambda: Schema(apart), field="a", mentions=["named twice"])
    refused(SchemaError, lambda: Attribute("x", ("no", "yes"), ("yes",), question=several))


def test_a_constructed_survey_has_the_languages_of_its_texts():
    schema = Schema([Attribute("a", ["x", "y"], label={"fr": "F", "en": "E"})])
    made = Survey("s", {"en": "S"}, schema, GammaDiagonal("9"))
    assert made.languages == ("en", "fr")
    assert Survey.from_json(made.canonical_json) == made


@pytest.mark.parametrize("languages", ['"en"', '["en", "en"]', '["German"]', '["de"]'])
def test_bad_languages_are_refused(languages, refused):
    text = f'languages = {languages}\n{HEAD}{SMOKER}label = {{ en = "A" }}'
    refused(SurveyError, lambda: Survey.from_toml(text), mentions=["languages"])
