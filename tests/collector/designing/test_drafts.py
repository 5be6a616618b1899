"""Survey files that are changed piece by piece; what is read back is held against plain data."""

import tomllib

import pytest
from halftruth_collector.designing import edits, mechanism, text
from halftruth_collector.designing.questions import (
    KINDS,
    conditions,
    fields_of,
    languages,
    questions,
    with_fields,
)
from halftruth_shared import HalftruthError, ParameterError, Survey
from halftruth_shared.mechanisms.designs import DESIGNS

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
    assert edits.update_settings(data, edits.settings_of(data)) == data
    for question in questions(data):
        assert with_fields(question, fields_of(question, spoken), spoken) == question
    assert written(data) == WRITTEN


def test_what_is_not_changed_stays_as_it_was_written(data):
    changed = edits.update_settings(data, {"max_length": ["2"], "languages": ["en de"]})
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


def test_short_labels_are_said_of_questions_answers_and_options(data):
    changed = edits.edit(data, 0, {"short": ["Smoker", "raucht"], "called": ["\nsmokes"]})
    changed = edits.edit(changed, 0, {"categories": ["no\nyes, I do"]})
    changed = edits.edit(changed, 2, {"called": ["\nhot", "\nheiß"]})
    smoker, _, fever = (Survey.from_toml(written(changed)).schema.attributes[k] for k in (0, 1, 3))
    assert smoker.short == {"en": "Smoker", "de": "raucht"}
    assert smoker.short_answers == {"yes, I do": "smokes"}
    assert fever.short == {"en": "hot", "de": "heiß"}


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
    mechanism = edits.update_settings(data, given)["mechanism"]
    assert {key: mechanism[key] for key in ("gamma", "breach") if key in mechanism} == expected
    if "kind" in given:
        assert "max_length" not in mechanism


def test_the_slider_stands_where_the_promise_is(data):
    # ργ / (ργ + 1 − ρ) of 5 % and 19 is one half, and of 9 is 9/28.
    assert mechanism.chance(data) == 50
    assert mechanism.chance(edits.update_settings(data, {"gamma": ["9"]})) == 32
    assert mechanism.chance(edits.update_settings(data, {"gamma": ["much"]})) is None


@pytest.mark.parametrize(
    "odd",
    [
        "attributes = 3",
        "attributes = [1, 2]",
        "mechanism = 'none'",
        "languages = 'en'\n[[attributes]]\nname = 3\ncategories = 'a'",
        "[[attributes]]\nkind = 'several'\noptions = [1]",
        "[[attributes]]\nkind = 7\nanswers = 'x'\nmissing = 3",
        "form = 3\n[[attributes]]\nname = 'a'\ncategories = ['x', 'y']\nask_if = {b = 'x', c = []}",
        "[mechanism]\nkind = 'distortion-matrices'\ndesigns = {a = 3}\nmatrices = 3",
        "[mechanism]\nkind = 'distortion-matrices'\n[[attributes]]\nname = 'a'\ncategories = ['x']",
        "[a.b]\nc = 1\n[a]\nd = 2",
    ],
)
def test_what_is_no_survey_can_be_shown_and_changed_all_the_same(odd):
    data = text.read(odd)
    assert edits.update_settings(data, edits.settings_of(data)) == data
    for question in questions(data):
        assert with_fields(question, fields_of(question, [""]), [""]) == question
    written(edits.add(data, "scale", "more"), odd)


def test_a_published_survey_is_a_file_again():
    survey = Survey.from_toml(WRITTEN)
    found = text.of_survey(survey)
    assert Survey.from_toml(found).digest == survey.digest
    assert "views" not in found
    assert "max_length = 1" in found


def test_a_question_can_be_asked_after_any_answer_before_it(data):
    assert conditions(data, 0) == {}
    assert conditions(data, 3) == {
        "smoker": ["no", "yes"],
        "amount": [*(f"{low} to {low + 9}" for low in range(0, 60, 10)), "60", "not asked"],
        "symptoms.cough": ["no", "yes"],
        "symptoms.fever": ["no", "yes"],
    }
    ticked = ["symptoms.cough=yes", "smoker=no", "smoker=yes"]
    changed = edits.edit(data, 3, {"ask_if": ticked})
    asked = {"symptoms.cough": ["yes"], "smoker": ["no", "yes"]}
    assert changed["attributes"][3]["ask_if"] == asked
    # The order in which boxes stand on a page is no change.
    assert edits.edit(changed, 3, {"ask_if": ticked[::-1]}) == changed
    # Sent unperturbed, it would reveal the protected answers that it is asked after.
    with pytest.raises(HalftruthError, match=r"'region': ask_if: .* reveal the protected answer"):
        Survey.from_toml(written(changed))
    protected = written(changed).replace('public = ["region"]\n', "")
    region = Survey.from_toml(protected).schema.attributes[-1]
    assert dict(region.ask_if) == {name: tuple(said) for name, said in asked.items()}
    assert edits.edit(changed, 3, {"ask_if": []})["attributes"][3] == data["attributes"][3]


def test_conditions_go_with_the_answers_that_they_name(data):
    changed = edits.edit(data, 0, {"categories": ["no\nyes, I do"]})
    assert changed["attributes"][1]["ask_if"] == {"smoker": ["yes, I do"]}
    changed = edits.edit(data, 0, {"categories": ["never\nsometimes\noften"]})
    assert "ask_if" not in changed["attributes"][1]
    assert Survey.from_toml(written(changed)).schema.names[0] == "smoker"


def test_a_condition_on_what_is_not_there_is_shown_and_can_be_taken_away(data):
    data["attributes"][1]["ask_if"] = {"smoker": ["maybe"], "gone": ["yes"]}
    assert conditions(data, 1) == {"smoker": ["no", "yes", "maybe"], "gone": ["yes"]}
    changed = edits.edit(data, 1, {"ask_if": ["smoker=yes"]})
    assert Survey.from_toml(written(changed)).schema.attributes[1].ask_if == {"smoker": ("yes",)}


def test_answers_of_a_market_basket_and_bins_are_said(data):
    changed = edits.edit(data, 0, {"items": ["yes"]})
    changed = edits.edit(changed, 1, {"maximum": ["59"], "step": [""], "bins": ["4"]})
    first, second = Survey.from_toml(written(changed)).schema.attributes[:2]
    assert first.items == ("yes",)
    assert second.categories[:4] == ("0 to 14", "15 to 29", "30 to 44", "45 to 59")


def test_what_is_said_around_the_questions_has_a_table_of_its_own(data):
    said = {"asked_by": ["The board", "Der Vorstand"], "thanks": ["Thanks.", ""]}
    addresses = {"contact": ["board@example.org"], "privacy_notice": ["/privacy"]}
    addresses |= {"redirect": ["/thanks"], "redirect_after": ["9"]}
    changed = edits.update_settings(data, said | addresses)
    found = written(changed)
    assert "[form]\n" in found
    framing = Survey.from_toml(found).framing
    assert framing.asked_by == {"en": "The board", "de": "Der Vorstand"}
    assert (framing.thanks, framing.redirect, framing.redirect_after) == ("Thanks.", "/thanks", 9)
    assert (framing.contact, framing.privacy_notice) == ("board@example.org", "/privacy")
    nothing = {name: ["", ""] for name in said | addresses}
    assert edits.update_settings(tomllib.loads(found), nothing) == data


def test_a_wave_says_its_series_in_a_table_that_other_edits_leave(data):
    said = {"series": ["health"], "wave": ["2"], "total_gamma": ["81"]}
    changed = edits.update_settings(data, said)
    found = written(changed)
    assert "[series]\n" in found
    changed = edits.edit(changed, 0, {"name": ["smokes"]})
    series = Survey.from_toml(written(changed, found)).series
    assert (series.id, series.wave, series.total_gamma) == ("health", 2, "81")
    assert edits.update_settings(tomllib.loads(found), {what: [""] for what in said}) == data


def test_a_duplicate_stands_after_its_question_and_is_protected_as_it_is(data):
    changed = edits.duplicate(data, 3)
    assert [one["name"] for one in changed["attributes"]][3:] == ["region", "region-2"]
    assert changed["mechanism"]["public"] == ["region", "region-2"]
    again = edits.duplicate(changed, 3)
    assert [one["name"] for one in again["attributes"]][3:] == ["region", "region-3", "region-2"]
    assert Survey.from_toml(written(edits.duplicate(again, 2))).schema.names
    mechanism = {"kind": "randomized-response", "keep": {"a": "1/2"}}
    question = {"name": "a", "categories": ["no", "yes"]}
    draft = {"id": "s", "title": "S", "mechanism": mechanism, "attributes": [question]}
    assert edits.duplicate(draft, 0)["mechanism"]["keep"] == {"a": "1/2", "a-2": "1/2"}


BY_QUESTION = {"kind": [mechanism.BY_QUESTION]}


@pytest.mark.parametrize("design", DESIGNS)
def test_every_named_design_can_be_chosen_and_is_a_survey_at_once(design):
    data = edits.update_settings(text.read(text.STARTER), BY_QUESTION)
    assert edits.fields_of(data, 0)["design"] == ["warner"]
    assert "design" not in edits.fields_of(data, 1)
    data = edits.edit(data, 0, {"design": [design]})
    if mechanism.MAY_PROVE in edits.fields_of(data, 0):
        with pytest.raises(ParameterError, match="can prove the answer 'no'"):
            Survey.from_toml(written(data, text.STARTER))
        data = edits.edit(data, 0, {mechanism.MAY_PROVE: ["yes"]})
    survey = Survey.from_toml(written(data, text.STARTER))
    first, second = survey.schema.attributes
    found = survey.mechanism.provable(survey.schema).get("first")
    bound = found.amplification if found else survey.mechanism.attribute_amplification(first)
    assert bound == survey.mechanism.attribute_amplification(second) == 3
    # Each of its numbers has a field.
    fields = [name for name in edits.fields_of(data, 0) if name.startswith("design-")]
    for parameter in DESIGNS[design].parameters:
        assert f"design-{parameter}" in fields
        other = edits.edit(data, 0, {f"design-{parameter}": ["1/5"]})
        assert other["mechanism"]["designs"]["first"][parameter] == "1/5"


def test_a_design_goes_with_its_question(data):
    data = edits.update_settings(text.read(text.STARTER), BY_QUESTION)
    data = edits.edit(data, 0, {"design": ["triangular"]})
    data = edits.edit(data, 0, {mechanism.MAY_PROVE: ["yes"]})
    data = edits.edit(data, 0, {"name": ["cheated"], "categories": ["nein\nja"]})
    said = {"answer": "ja", "not_sensitive": "nein"}
    assert data["mechanism"]["designs"]["cheated"].items() >= said.items()
    # Another answer makes it a question that no design is for.
    data = edits.edit(data, 0, {"optional": ["yes"]})
    assert "designs" not in data["mechanism"]
    assert len(data["mechanism"]["matrices"]["cheated"]) == 3
    data = edits.add(data, "several", "habits")
    assert list(data["mechanism"]["designs"]) == ["habits.first", "habits.second"]
    assert Survey.from_toml(written(data, text.STARTER)).schema.names[0] == "cheated"
    gone = edits.remove(data, 2)
    assert "designs" not in gone["mechanism"]


def test_other_mechanisms_are_surveys_at_once(data):
    for kind in ("randomized-gamma-diagonal", "randomized-response", "gamma-diagonal"):
        changed = edits.update_settings(text.read(text.STARTER), {"kind": [kind]})
        assert Survey.from_toml(written(changed, text.STARTER)).mechanism.kind == kind


def test_an_unknown_kind_is_refused(data):
    with pytest.raises(ParameterError, match="kind: expected one of: choice"):
        edits.add(data, "essay")
