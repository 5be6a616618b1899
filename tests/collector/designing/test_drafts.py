"""Survey files that are changed piece by piece; what is read back is held against plain data."""

import tomllib

import pytest
from halftruth_collector.designing import edits, text
from halftruth_collector.designing.questions import (
    KINDS,
    fields_of,
    languages,
    questions,
    with_fields,
)
from halftruth_shared import HalftruthError, ParameterError, Survey

WRITTEN = """\
# A pilot of last year.
id = "health"   # stands in addresses
title = {en = "Health", de = "Gesundheit"}

[mechanism]
kind = "split-questionnaire"
gamma = "19"  # as the board asked
max_length = 1
public = ["region"]

[[attributes]]
name = "smoker"
categories = ["no", "yes"]  # in this order
answers.no = { de = "nein" }
answers.yes = { de = "ja" }

[[attributes]]
name = "amount"
kind = "number"
minimum = 0
maximum = 60
step = 10
[attributes.ask_if]
smoker = ["yes"]

[[attributes]]
name = "symptoms"
kind = "several"
options = [
  {name = "cough", label = "A cough"}, # the first
  {name = "fever"},
]

[[attributes]]
name = "region"
sensitive = false
categories = ["north", "south"]
"""


@pytest.fixture
def data():
    return text.read(WRITTEN)


def written(changed, before=WRITTEN):
    """The file in which this stands, which holds exactly that and is a survey."""
    found = text.change(before, changed)
    assert tomllib.loads(found) == changed
    return found


def test_a_form_that_says_what_the_file_says_changes_nothing(data):
    spoken = languages(data)
    assert spoken == ["en", "de"]
    assert edits.settle(data, edits.settings_of(data)) == data
    for question in questions(data):
        assert with_fields(question, fields_of(question, spoken), spoken) == question
    assert written(data) == WRITTEN


def test_what_is_not_changed_stays_as_it_was_written(data):
    changed = edits.settle(data, {"max_length": ["2"], "languages": ["en de"]})
    changed = edits.edit(changed, 3, {"label": ["Where?", "Wo?"]})
    found = written(changed)
    for line in WRITTEN.splitlines():
        assert line in found or line == "max_length = 1"
    assert 'label = {en = "Where?", de = "Wo?"}' in found
    assert Survey.from_toml(found).mechanism.reconstruction(Survey.from_toml(found).schema)


def test_texts_of_answers_go_with_their_categories(data):
    question = edits.edit(data, 0, {"categories": ["no\nsometimes\nyes"]})["attributes"][0]
    assert question["answers"] == {"no": {"de": "nein"}, "yes": {"de": "ja"}}
    question = edits.edit(data, 0, {"categories": ["no\nyes, I do"]})["attributes"][0]
    assert question["answers"] == {"no": {"de": "nein"}, "yes, I do": {"de": "ja"}}
    shown = {"optional": ["yes"], "shown": ["\nyes, I do", "nein\nja\nkeine Angabe"]}
    question = edits.edit(data, 0, shown)["attributes"][0]
    assert question["answers"] == {
        "no": {"de": "nein"},
        "yes": {"en": "yes, I do", "de": "ja"},
        "no answer": {"de": "keine Angabe"},
    }


def test_a_name_changes_wherever_it_stands(data):
    changed = edits.edit(data, 0, {"name": ["smokes"]})
    assert changed["attributes"][1]["ask_if"] == {"smokes": ["yes"]}
    changed = edits.edit(changed, 3, {"name": ["place"]})
    assert changed["mechanism"]["public"] == ["place"]
    assert Survey.from_toml(written(changed)).schema.names[0] == "smokes"


def test_a_question_that_is_deleted_is_named_nowhere(data):
    changed = edits.remove(edits.remove(data, 3), 0)
    assert [one["name"] for one in changed["attributes"]] == ["amount", "symptoms"]
    assert "ask_if" not in changed["attributes"][0]
    assert "public" not in changed["mechanism"]
    assert Survey.from_toml(written(changed)).schema.names[0] == "amount"
    nothing = edits.remove(edits.remove(changed, 0), 0)
    with pytest.raises(HalftruthError, match="attributes"):
        Survey.from_toml(written(nothing))


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("to", [-1, 0, 2, 9])
def test_questions_are_moved_whole(data, place, to):
    changed = edits.move(data, place, to)
    names = [one["name"] for one in data["attributes"]]
    names.insert(min(max(to, 0), 3), names.pop(place))
    found = tomllib.loads(written(changed))["attributes"]
    assert [one["name"] for one in found] == names
    assert sorted(map(str, found)) == sorted(map(str, data["attributes"]))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_can_be_added_and_is_a_survey_at_once(kind):
    data = edits.add(text.read(text.STARTER), kind)
    survey = Survey.from_toml(written(data, text.STARTER))
    assert survey.schema.questions[-1].kind == kind
    assert survey.schema.questions[-1].name == "question3"


def test_an_option_without_a_text_is_shown_by_its_name(data):
    given = {"shown": ["", "Husten"]}
    options = edits.edit(data, 2, given)["attributes"][2]["options"]
    assert options == [
        {"name": "cough", "label": {"en": "cough", "de": "Husten"}},
        {"name": "fever"},
    ]


def test_options_are_added_renamed_and_shown(data):
    given = {"options": ["cough\nrash\nfever"], "shown": ["A cough\nA rash\nFever", "\n\nFieber"]}
    options = edits.edit(data, 2, given)["attributes"][2]["options"]
    assert options == [
        {"name": "cough", "label": "A cough"},
        {"name": "rash", "label": "A rash"},
        {"name": "fever", "label": {"en": "Fever", "de": "Fieber"}},
    ]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"chance": ["32"]}, {"breach": ["0.05", "0.32"]}),
        ({"chance": ["32"], "gamma": ["9"]}, {"gamma": "9"}),
        ({"gamma": ["nine"]}, {"gamma": "nine"}),
        ({"kind": ["gamma-diagonal"]}, {"gamma": "19"}),
    ],
)
def test_the_promise_is_said_once(data, given, expected):
    mechanism = edits.settle(data, given)["mechanism"]
    assert {key: mechanism[key] for key in ("gamma", "breach") if key in mechanism} == expected
    if "kind" in given:
        assert "max_length" not in mechanism


def test_the_slider_stands_where_the_promise_is(data):
    # ργ / (ργ + 1 − ρ) of 5 % and 19 is one half, and of 9 is 9/28.
    assert edits.chance(data) == 50
    assert edits.chance(edits.settle(data, {"gamma": ["9"]})) == 32
    assert edits.chance(edits.settle(data, {"gamma": ["much"]})) is None


@pytest.mark.parametrize(
    "odd",
    [
        "attributes = 3",
        "attributes = [1, 2]",
        "mechanism = 'none'",
        "languages = 'en'\n[[attributes]]\nname = 3\ncategories = 'a'",
        "[[attributes]]\nkind = 'several'\noptions = [1]",
        "[[attributes]]\nkind = 7\nanswers = 'x'\nmissing = 3",
        "[a.b]\nc = 1\n[a]\nd = 2",
    ],
)
def test_what_is_no_survey_can_be_shown_and_changed_all_the_same(odd):
    data = text.read(odd)
    assert edits.settle(data, edits.settings_of(data)) == data
    for question in questions(data):
        assert with_fields(question, fields_of(question, [""]), [""]) == question
    written(edits.add(data, "scale", "more"), odd)


def test_a_published_survey_is_a_file_again():
    survey = Survey.from_toml(WRITTEN)
    found = text.of_survey(survey)
    assert Survey.from_toml(found).digest == survey.digest
    assert "views" not in found
    assert "max_length = 1" in found


def test_a_name_and_a_kind_that_are_none_are_refused(data):
    with pytest.raises(ParameterError, match="kind: expected one of: choice"):
        edits.add(data, "essay")
    with pytest.raises(ParameterError, match="question: expected one of: smoker"):
        edits.place_of(data, "drinks")
