"""The document of a split questionnaire, and invalid documents."""

import json
import math
import sys

import pytest
from halftruth_shared import (
    Attribute,
    HalftruthError,
    ParameterError,
    Schema,
    SplitQuestionnaire,
    Survey,
    SurveyError,
    ViewClass,
)

ATTRIBUTES = """
[[attributes]]
name = "smoker"
categories = ["no", "yes"]
[[attributes]]
name = "coughs"
categories = ["never", "at times", "always"]
[[attributes]]
name = "age"
categories = ["young", "old"]
sensitive = false
"""

VIEWS = """
public = ["age"]
views = [{attributes = [["smoker"], ["coughs"]], choose = [1, 1], weight = 3},
         {attributes = [["coughs", "smoker"]], choose = [1], weight = 1}]
"""


def survey(mechanism):
    text = (
        f'id = "health"\ntitle = "Health"\n[mechanism]\nkind = "split-questionnaire"\n{mechanism}'
    )
    return Survey.from_toml(text + ATTRIBUTES)


def view(*groups, choose=None, weight=1):
    return ViewClass(attributes=groups, choose=choose, weight=weight)


def test_the_document_resolves_all_parameters_for_clients():
    made = survey(f'breach = ["0.05", "0.5"]\n{VIEWS}')
    assert json.loads(made.canonical_json)["mechanism"] == {
        "kind": "split-questionnaire",
        "gamma": "19",
        "prime": 19,
        "direct": 45,
        "public": ["age"],
        "views": [
            {"attributes": [["smoker"], ["coughs"]], "choose": [1, 1], "weight": 3},
            {"attributes": [["coughs", "smoker"]], "choose": [1], "weight": 1},
        ],
    }
    again = Survey.from_json(made.canonical_json)
    assert (again.digest, again.mechanism) == (made.digest, made.mechanism)
    assert hash(again.mechanism) == hash(made.mechanism)


def views(*written):
    return f'public = ["age"]\nviews = [{", ".join(written)}]'


def one(attributes, rest="weight = 1"):
    return f"{{attributes = {attributes}, {rest}}}"


BOTH = '[["smoker", "coughs"]]'
TWICE = "'smoker' is named twice"

#: Invalid members beside γ, the named field, and the message.
REFUSED = (
    {
        "views and max_length": (f"max_length = 2\n{VIEWS}", "max_length", "either views"),
        "views and lengths": (f"lengths = {{1 = 1}}\n{VIEWS}", "lengths", "either views"),
        "a prime that is none": (f"prime = 21\n{VIEWS}", "prime", "a prime up to 65521"),
        "a large prime": (f"prime = 65537\n{VIEWS}", "prime", "a prime up to 65521"),
        "direct of 1": (f"direct = 1\n{VIEWS}", "direct", "from 2 to 1048576"),
        "direct too large": (f"direct = 1048577\n{VIEWS}", "direct", "from 2 to 1048576"),
        "pairs of no more than direct": (
            f"direct = 9\npairs = 9\n{VIEWS}",
            "pairs",
            "is 9, and up",
        ),
        "too many pairs": (f"pairs = 513\n{VIEWS}", "pairs", "up to 512"),
        "pairs that are false": (f"pairs = false\n{VIEWS}", "pairs", "expected true"),
        "max_length of 0": ("max_length = 0", "max_length", "from 1 to 3"),
        "max_length too large": ("max_length = 4", "max_length", "from 1 to 3"),
        "public ones do not count": (
            'public = ["age"]\nmax_length = 3',
            "max_length",
            "from 1 to 2",
        ),
        "a length beyond the largest": (
            "max_length = 2\nlengths = {3 = 1}",
            "lengths",
            "which is 2",
        ),
        "a length beyond all": ("lengths = {4 = 1}", "lengths", "from 1 to 3"),
        "a length that is none": ("lengths = {two = 1}", "lengths", "from 1 to 3"),
        "importance of 0": ("lengths = {1 = 0}", "lengths", "above 0"),
        "infinite importance": ("lengths = {1 = inf}", "lengths", "above 0"),
        "importance that is no number": ("lengths = {1 = nan}", "lengths", "above 0"),
    }
    | {
        why: (views(*written), "views", f"views: {words}")
        for why, written, words in [
            ("no views", [], "in none"),
            ("an unknown attribute", [one('[["smoker", "cough"]]')], "unknown attribute 'cough'"),
            ("a public attribute", [one('[["smoker", "coughs", "age"]]')], "'age' is public"),
            ("an attribute twice", [one('[["smoker", "coughs", "smoker"]]')], TWICE),
            ("in two groups", [one('[["smoker", "coughs"], ["smoker"]]')], TWICE),
            ("no attributes", [one(BOTH), one("[]")], "a list with one or more of"),
            ("an empty group", [one('[["smoker"], []]')], "a list with one or more of"),
            ("an attribute in no view", [one('[["smoker"]]')], "'coughs' is in none"),
            ("a weight of 0", [one(BOTH, "weight = 0")], "from 1 to 4294967295"),
            ("a large weight", [one(BOTH, "weight = 4294967296")], "from 1 to 4294967295"),
            ("none chosen", [one(BOTH, "choose = [0], weight = 1")], "choose"),
            ("too many chosen", [one(BOTH, "choose = [3], weight = 1")], "choose"),
            ("too few numbers", [one(BOTH, "choose = [], weight = 1")], "choose"),
            ("too many numbers", [one(BOTH, "choose = [1, 1], weight = 1")], "choose"),
        ]
    }
    | {
        f"{why}, {chosen[:5]}": (f"public = {public}\n{chosen}", "public", f"public: {words}")
        for why, public, words in [
            ("a sensitive one", '["smoker"]', "'smoker' would be sent unperturbed"),
            ("an unknown one", '["ages"]', "unknown attribute 'ages'"),
            ("one twice", '["age", "age"]', "'age' is named twice"),
        ]
        for chosen in ("max_length = 1", f"views = [{one(BOTH)}]")
    }
)


def test_pairs_are_resolved_and_absent_without_the_member():
    plain = survey(f'gamma = "19"\n{VIEWS}')
    assert b"pairs" not in plain.canonical_json
    assert plain.mechanism.direct == 45
    chosen = survey(f'gamma = "19"\npairs = true\n{VIEWS}')
    assert (chosen.mechanism.direct, chosen.mechanism.pairs) == (28, 73)
    assert b'"pairs":73' in chosen.canonical_json
    again = Survey.from_json(chosen.canonical_json)
    assert again == chosen
    assert again.digest == chosen.digest
    # With a γ near 1, no view has more information by pairs than directly.
    none = survey(f'gamma = "1.001"\npairs = true\ndirect = 512\n{VIEWS}')
    assert none.mechanism.pairs is None
    designed = survey('gamma = "19"\npairs = true\nmax_length = 2')
    assert designed.mechanism.pairs == 73


@pytest.mark.parametrize("why", REFUSED)
def test_invalid_members_are_refused(why, refused):
    written, field, words = REFUSED[why]
    make = lambda: survey(f'gamma = "19"\n{written}')  # noqa: E731
    refused(ParameterError, make, field=field, mentions=words.split(": "))


@pytest.mark.parametrize(
    "written",
    [
        'views = [{attributes = [["smoker"]]}]',
        'views = [{attributes = ["smoker"], weight = 1}]',
        'views = [{attributes = [["smoker"]], weight = "1"}]',
        'views = [{attributes = [["smoker"]], weight = 1, more = 1}]',
        "views = {}",
        'public = "age"',
        'prime = "19"',
        'max_length = "3"',
    ],
)
def test_a_malformed_document_is_refused(written, refused):
    make = lambda: survey(f'gamma = "19"\n{written}')  # noqa: E731
    refused(SurveyError, make, mentions=["mechanism."])


def of(sizes):
    return Schema([Attribute(f"a{j}", [str(i) for i in range(d)]) for j, d in enumerate(sizes)])


def names(count):
    return tuple(f"a{j}" for j in range(count))


def test_a_view_has_at_most_a_million_cells(refused):
    SplitQuestionnaire("19", [view(names(20))]).bind(of([2] * 20))
    refused(
        ParameterError,
        lambda: SplitQuestionnaire("19", [view(names(21))]).bind(of([2] * 21)),
        field="views",
        mentions=["2097152 cells", "a0, a1", "at most 1048576"],
    )


def test_too_many_views_are_refused(refused):
    refused(
        ParameterError,
        lambda: SplitQuestionnaire("19", [view(names(1024), choose=(2,))]).bind(of([2] * 1024)),
        field="views",
        mentions=["expected 1 to 131072, got 523776"],
    )
    # This number of combinations is refused without enumeration.
    refused(
        ParameterError,
        lambda: SplitQuestionnaire("19", [view(names(1024), choose=(500,))]).bind(of([2] * 1024)),
        field="views",
        mentions=["expected 1 to 131072"],
    )


def test_a_symbol_takes_at_most_four_bytes(refused):
    schema = of([30, 40])
    one_view = SplitQuestionnaire("19", [view(("a0", "a1"))], prime=65521, direct=2)
    assert one_view.bind(schema).space.dtype == ">u4"
    two = SplitQuestionnaire("19", [view(("a0", "a1")), view(("a1",))], prime=65521, direct=2)
    refused(
        ParameterError, lambda: two.bind(schema), field="views", mentions=["at most 4294967295"]
    )


@pytest.mark.parametrize("bad", [True, "19", 19.0, 0, -7, 10**30], ids=repr)
def test_invalid_types_of_prime_and_direct_are_refused(bad, refused):
    for field in ("prime", "direct"):
        refused(
            ParameterError,
            lambda field=field: SplitQuestionnaire("19", [view(("a0",))], **{field: bad}),
            field=field,
            mentions=[f"{field}: expected"],
        )


def test_only_public_attributes_are_refused(refused):
    schema = Schema([Attribute("age", ["young", "old"], sensitive=False)])
    for views in ([], [view(("age",))]):
        refused(
            ParameterError,
            lambda views=views: SplitQuestionnaire("19", views, ["age"]).bind(schema),
            field="public",
            mentions=["at least one attribute that is not"],
        )
    assert SplitQuestionnaire.for_amplification(schema, "19", ["age"]) is None


def test_without_scipy_views_are_required(monkeypatch, refused):
    monkeypatch.setitem(sys.modules, "halftruth_shared.mechanisms.split_questionnaire.design", None)
    error = refused(
        ParameterError,
        lambda: survey('gamma = "19"'),
        field="views",
        mentions=["SciPy", "halftruth-collector"],
    )
    assert isinstance(error, HalftruthError)
    given = survey(f'gamma = "19"\n{VIEWS}')
    assert given.perturbation.amplification(public=["age"]) < math.inf


@pytest.mark.parametrize("asked", ["", "max_length = 1", "lengths = {2 = 3.5}"])
def test_publishing_resolves_design_options_into_views(asked):
    made = survey(f'gamma = "19"\npublic = ["age"]\n{asked}')
    written = json.loads(made.canonical_json)["mechanism"]
    assert set(written) == {"kind", "gamma", "prime", "direct", "public", "views"}
    assert Survey.from_json(made.canonical_json).digest == made.digest
    views = {view.positions for view in made.perturbation.views}
    assert {j for positions in views for j in positions} == {0, 1}
    assert ((0, 1) in views) >= (asked != "max_length = 1")
