"""The document of a split questionnaire, and what is refused in it."""

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


def test_a_document_says_everything_that_clients_need():
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


def test_the_document_of_many_questions_is_small(schema_of):
    names = tuple(f"a{j}" for j in range(40))
    mechanism = SplitQuestionnaire("19", [view(names, choose=(2,)), view(names, choose=(1,))])
    made = Survey("many", "Many", schema_of((4,) * 40), mechanism)
    assert len(mechanism.views(made.schema)) == 40 * 39 // 2 + 40
    assert len(made.canonical_json) < 50_000


REFUSED = {
    "views and max_length": (
        f'gamma = "19"\nmax_length = 2\n{VIEWS}',
        "max_length",
        "either views",
    ),
    "views and lengths": (f'gamma = "19"\nlengths = {{1 = 1}}\n{VIEWS}', "lengths", "either views"),
    "a prime that is none": (f'gamma = "19"\nprime = 21\n{VIEWS}', "prime", "a prime up to 65521"),
    "a large prime": (f'gamma = "19"\nprime = 65537\n{VIEWS}', "prime", "a prime up to 65521"),
    "direct of 1": (f'gamma = "19"\ndirect = 1\n{VIEWS}', "direct", "from 2 to 1048576"),
    "direct too large": (f'gamma = "19"\ndirect = 1048577\n{VIEWS}', "direct", "from 2 to 1048576"),
    "max_length of 0": ('gamma = "19"\nmax_length = 0', "max_length", "from 1 to 3"),
    "max_length too large": ('gamma = "19"\nmax_length = 4', "max_length", "from 1 to 3"),
    "public ones do not count": (
        'gamma = "19"\npublic = ["age"]\nmax_length = 3',
        "max_length",
        "from 1 to 2",
    ),
    "a length beyond the largest": (
        'gamma = "19"\nmax_length = 2\nlengths = {3 = 1}',
        "lengths",
        "from 1 to max_length, which is 2",
    ),
    "a length beyond all": ('gamma = "19"\nlengths = {4 = 1}', "lengths", "from 1 to 3"),
    "a length that is none": ('gamma = "19"\nlengths = {two = 1}', "lengths", "from 1 to 3"),
    "importance of 0": ('gamma = "19"\nlengths = {1 = 0}', "lengths", "above 0"),
    "infinite importance": ('gamma = "19"\nlengths = {1 = inf}', "lengths", "above 0"),
    "importance that is no number": ('gamma = "19"\nlengths = {1 = nan}', "lengths", "above 0"),
}


@pytest.mark.parametrize("why", REFUSED)
def test_parameters_that_cannot_be_are_refused(why, refused):
    written, field, words = REFUSED[why]
    refused(ParameterError, lambda: survey(written), field=field, mentions=[words])


def views(*written, more=""):
    return f'gamma = "19"\npublic = ["age"]\n{more}\nviews = [{", ".join(written)}]'


def one(attributes, rest="weight = 1"):
    return f"{{attributes = {attributes}, {rest}}}"


BOTH = '[["smoker", "coughs"]]'

REFUSED_VIEWS = {
    "no views": (views(), "in none"),
    "an unknown attribute": (views(one('[["smoker", "cough"]]')), "unknown attribute 'cough'"),
    "a public attribute": (views(one('[["smoker", "coughs", "age"]]')), "'age' is public"),
    "an attribute twice": (
        views(one('[["smoker", "coughs", "smoker"]]')),
        "'smoker' is named twice",
    ),
    "in two groups": (views(one('[["smoker", "coughs"], ["smoker"]]')), "'smoker' is named twice"),
    "no attributes": (views(one(BOTH), one("[]")), "a list with one or more of"),
    "an empty group": (views(one('[["smoker", "coughs"], []]')), "a list with one or more of"),
    "an attribute in no view": (views(one('[["smoker"]]')), "'coughs' is in none"),
    "a weight of 0": (views(one(BOTH, "weight = 0")), "from 1 to 4294967295"),
    "a large weight": (views(one(BOTH, "weight = 4294967296")), "from 1 to 4294967295"),
    "none chosen": (views(one(BOTH, "choose = [0], weight = 1")), "choose"),
    "too many chosen": (views(one(BOTH, "choose = [3], weight = 1")), "choose"),
    "too few numbers": (views(one(BOTH, "choose = [], weight = 1")), "choose"),
    "too many numbers": (views(one(BOTH, "choose = [1, 1], weight = 1")), "choose"),
}


@pytest.mark.parametrize("why", REFUSED_VIEWS)
def test_views_that_cannot_be_are_refused(why, refused):
    written, words = REFUSED_VIEWS[why]
    refused(ParameterError, lambda: survey(written), field="views", mentions=["views: ", words])


REFUSED_PUBLIC = {
    "a sensitive one": ('["smoker"]', "'smoker' would be sent unperturbed"),
    "an unknown one": ('["ages"]', "unknown attribute 'ages'"),
    "one twice": ('["age", "age"]', "'age' is named twice"),
}


@pytest.mark.parametrize("why", REFUSED_PUBLIC)
@pytest.mark.parametrize("designed", [False, True])
def test_attributes_that_cannot_be_public_are_refused(why, designed, refused):
    public, words = REFUSED_PUBLIC[why]
    chosen = "max_length = 1" if designed else f"views = [{one(BOTH)}]"
    written = f'gamma = "19"\npublic = {public}\n{chosen}'
    refused(ParameterError, lambda: survey(written), field="public", mentions=["public: ", words])


@pytest.mark.parametrize(
    "written",
    [
        'gamma = "19"\nviews = [{attributes = [["smoker"]]}]',
        'gamma = "19"\nviews = [{attributes = ["smoker"], weight = 1}]',
        'gamma = "19"\nviews = [{attributes = [["smoker"]], weight = "1"}]',
        'gamma = "19"\nviews = [{attributes = [["smoker"]], weight = 1, more = 1}]',
        'gamma = "19"\nviews = {}',
        'gamma = "19"\npublic = "age"',
        'gamma = "19"\nprime = "19"',
        'gamma = "19"\nmax_length = "3"',
    ],
)
def test_a_document_of_another_shape_is_refused(written, refused):
    refused(SurveyError, lambda: survey(written), mentions=["$.mechanism."])


def of(sizes):
    return Schema([Attribute(f"a{j}", [str(i) for i in range(d)]) for j, d in enumerate(sizes)])


def names(count):
    return tuple(f"a{j}" for j in range(count))


def test_a_view_has_at_most_a_million_cells(refused):
    SplitQuestionnaire("19", [view(names(20))]).check(of([2] * 20))
    refused(
        ParameterError,
        lambda: SplitQuestionnaire("19", [view(names(21))]).check(of([2] * 21)),
        field="views",
        mentions=["2097152 cells", "a0, a1", "at most 1048576"],
    )


def test_there_are_at_most_as_many_views_as_a_client_can_list(refused):
    refused(
        ParameterError,
        lambda: SplitQuestionnaire("19", [view(names(1024), choose=(2,))]).check(of([2] * 1024)),
        field="views",
        mentions=["expected 1 to 131072, got 523776"],
    )
    # As many ways as there are atoms, and none of them is listed.
    refused(
        ParameterError,
        lambda: SplitQuestionnaire("19", [view(names(1024), choose=(500,))]).check(of([2] * 1024)),
        field="views",
        mentions=["expected 1 to 131072"],
    )


def test_a_symbol_takes_four_bytes(refused):
    schema = of([30, 40])
    one_view = SplitQuestionnaire("19", [view(("a0", "a1"))], prime=65521, direct=2)
    assert one_view.report_space(schema).dtype.itemsize == 4
    two = SplitQuestionnaire("19", [view(("a0", "a1")), view(("a1",))], prime=65521, direct=2)
    refused(
        ParameterError, lambda: two.check(schema), field="views", mentions=["at most 4294967295"]
    )


@pytest.mark.parametrize("bad", [True, "19", 19.0, 0, -7, 10**30], ids=repr)
def test_a_prime_and_direct_of_other_kinds_are_refused(bad, refused):
    for field in ("prime", "direct"):
        refused(
            ParameterError,
            lambda field=field: SplitQuestionnaire("19", [view(("a0",))], **{field: bad}),
            field=field,
            mentions=[f"{field}: expected"],
        )


def test_where_everything_is_public_there_is_nothing_to_propose(refused):
    schema = Schema([Attribute("age", ["young", "old"], sensitive=False)])
    for views in ([], [view(("age",))]):
        refused(
            ParameterError,
            lambda views=views: SplitQuestionnaire("19", views, ["age"]).check(schema),
            field="public",
            mentions=["at least one attribute that is not"],
        )
    assert SplitQuestionnaire.for_amplification(schema, "19", ["age"]) is None


def test_without_scipy_the_views_have_to_be_given(monkeypatch, refused):
    monkeypatch.setitem(sys.modules, "halftruth_shared.mechanisms.split_questionnaire.design", None)
    error = refused(
        ParameterError,
        lambda: survey('gamma = "19"'),
        field="views",
        mentions=["SciPy", "halftruth-collector"],
    )
    assert isinstance(error, HalftruthError)
    assert survey(f'gamma = "19"\n{VIEWS}').mechanism.amplification(of([2]), ["age"]) < math.inf


@pytest.mark.parametrize("asked", ["", "max_length = 1", "lengths = {2 = 3.5}"])
def test_publishing_resolves_what_an_author_wants_into_views(asked):
    made = survey(f'gamma = "19"\npublic = ["age"]\n{asked}')
    written = json.loads(made.canonical_json)["mechanism"]
    assert set(written) == {"kind", "gamma", "prime", "direct", "public", "views"}
    assert Survey.from_json(made.canonical_json).digest == made.digest
    views = {view.positions for view in made.mechanism.views(made.schema)}
    assert {j for positions in views for j in positions} == {0, 1}
    assert ((0, 1) in views) >= (asked != "max_length = 1")
