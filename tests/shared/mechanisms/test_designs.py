"""Named designs: the procedure of an interview, simulated as a story, gives the matrix."""

import json
import math
from fractions import Fraction
from itertools import product

import pytest
from halftruth_shared import (
    Attribute,
    DistortionMatrices,
    ParameterError,
    Protection,
    Schema,
    Survey,
)

SIXTHS, TWELFTHS, TENTHS = range(1, 7), range(1, 13), range(1, 11)


def share(reports):
    """Return the share of yes among equally likely reports."""
    reports = list(reports)
    return Fraction(sum(reports), len(reports))


# Stories map a truth (True for yes) to reports, by dice and cards with equally likely outcomes.


def warner(truth):
    """Of ten cards, three ask about the trait and seven about its absence."""
    return share(truth if card <= 3 else not truth for card in TENTHS)


def forced(truth):
    """A die: yes on a one, no on a six, the answer otherwise."""
    return share(die == 1 or (die != 6 and truth) for die in SIXTHS)


def unrelated(truth):
    """Of ten cards, seven ask the sensitive question and three about a birthday in spring."""
    return share(
        truth if card <= 7 else month in (3, 4, 5) for card, month in product(TENTHS, TWELFTHS)
    )


def kuk(truth):
    """A deck with eight red cards of ten for yes, and a deck with three for no."""
    return share(card <= (8 if truth else 3) for card in TENTHS)


def crosswise(truth):
    """Whether both answers are equal: the sensitive one, and a birthday in spring."""
    return share(truth == (month in (3, 4, 5)) for month in TWELFTHS)


def triangular(truth):
    """Whether at least one holds: the trait, or a birthday in spring."""
    return share(truth or month in (3, 4, 5) for month in TWELFTHS)


def mangat(truth):
    """People with the trait say yes; the others say yes if a die shows five or six."""
    return share(truth or die >= 5 for die in SIXTHS)


STORIES = {
    warner: {"design": "warner", "p": "0.3"},
    forced: {"design": "forced-response", "yes": "1/6", "no": "1/6"},
    unrelated: {"design": "unrelated-question", "p": "0.7", "prevalence": "1/4"},
    kuk: {"design": "kuk", "theta1": "0.8", "theta2": "0.3"},
    crosswise: {"design": "crosswise", "prevalence": "1/4"},
    triangular: {"design": "triangular", "prevalence": "1/4", "not_sensitive": "no"},
    mangat: {"design": "mangat", "p": "2/3", "not_sensitive": "no"},
}
PROVING = (triangular, mangat)
EVERY = pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)


def schema(*names, categories=("no", "yes")):
    return Schema([Attribute(name, categories) for name in names])


def of(story, **changed):
    return DistortionMatrices({}, {"trait": STORIES[story] | changed})


@EVERY
@pytest.mark.parametrize("order", [("no", "yes"), ("yes", "no")], ids="-".join)
def test_reports_have_the_probabilities_of_the_story(story, order, walk):
    asked = schema("trait", categories=order)
    for code, answer in enumerate(order):
        found = walk(lambda below, code=code: of(story).bind(asked).report((code,), below))
        assert found.get((order.index("yes"),), 0) == story(answer == "yes")
        assert sum(found.values()) == 1


@EVERY
def test_the_amplification_is_the_largest_ratio_of_the_story(story):
    yes, no = story(True), story(False)
    quotients = [
        a / b if b else math.inf
        for a, b in [(yes, no), (no, yes), (1 - yes, 1 - no), (1 - no, 1 - yes)]
    ]
    assert of(story).bind(schema("trait")).amplification() == max(quotients)
    assert (max(quotients) == math.inf) == (story in PROVING)


@EVERY
def test_a_design_is_published_by_name_and_can_be_read(story):
    survey = Survey("s", "S", schema("trait"), of(story))
    [design] = survey.document().mechanism.designs.values()
    words = {"design", "not_sensitive"}
    assert design == {
        key: given if key in words else str(Fraction(given))
        for key, given in STORIES[story].items()
    }
    assert "matrices" not in json.loads(survey.canonical_json)["mechanism"]
    assert Survey.from_json(survey.canonical_json).digest == survey.digest


def test_the_answers_of_a_design_can_be_renamed(walk):
    asked = schema("trait", categories=("ja", "nein"))
    mechanism = of(triangular, answer="ja", not_sensitive="nein")
    found = walk(lambda below: mechanism.bind(asked).report((1,), below))
    assert found == {(0,): Fraction(1, 4), (1,): Fraction(3, 4)}
    [provable] = mechanism.provable(asked).values()
    assert (provable.answer, provable.other, provable.amplification) == ("nein", "ja", 4)


@pytest.mark.parametrize("story", PROVING, ids=lambda story: story.__name__)
def test_a_provable_answer_must_be_declared_not_sensitive(story, refused):
    undeclared = {key: x for key, x in STORIES[story].items() if key != "not_sensitive"}
    for given in (undeclared, undeclared | {"not_sensitive": "yes"}):
        refused(
            ParameterError,
            lambda given=given: DistortionMatrices({}, {"trait": given}).bind(schema("trait")),
            field="designs.trait.not_sensitive",
            mentions=["can prove the answer 'no'", 'not_sensitive = "no"'],
        )


def test_provable_answers_are_stated_with_the_bound_of_the_other_answer():
    mechanism = DistortionMatrices({}, {"a": STORIES[forced], "b": STORIES[triangular]})
    found = Protection.of(Survey("s", "S", schema("a", "b"), mechanism))
    assert (found.protected, found.unperturbed, [*found.provable]) == (("a",), (), ["b"])
    assert found.record.gamma == 5 * 4
    proved = found.sentences()[2].replace("\N{NARROW NO-BREAK SPACE}", " ")
    # 5 % · 4 / (5 % · 4 + 95 %) = 17.4 %.
    assert proved == (
        "For “b”, a report can prove the answer “no”, which this survey considers not sensitive."
        " It never proves “yes”: to someone who already knows all other answers, from 5 % to at"
        " most 17.4 % (γ = 4)."
    )
    assert found.sentences()[3].startswith(
        "All other answers together, among people with the same answer to “b” (where a report"
        " proves it): "
    )


def test_provable_answers_are_stated_for_questions_that_are_not_sensitive():
    asked = Schema([Attribute("trait", ["no", "yes"], sensitive=False)])
    found = Protection.of(Survey("s", "S", asked, of(triangular)))
    assert (found.unperturbed, [*found.provable]) == ((), ["trait"])


BAD = [
    ({"design": "dice"}, "designs.trait", "one of: warner, forced-response"),
    ({"p": "0.3"}, "designs.trait", "expected a table with a design"),
    ("warner", "designs.trait", "expected a table with a design"),
    ({"design": "warner"}, "designs.trait.p", "exact number"),
    ({"design": "warner", "p": "1"}, "designs.trait.p", "above 0 and below 1"),
    ({"design": "warner", "p": "0"}, "designs.trait.p", "above 0 and below 1"),
    ({"design": "warner", "p": 0.3}, "designs.trait.p", "exact number"),
    ({"design": "warner", "p": "1/2"}, "designs.trait", "nearly singular"),
    ({"design": "crosswise", "prevalence": "1/2"}, "designs.trait", "nearly singular"),
    ({"design": "kuk", "theta1": "0.3", "theta2": "0.3"}, "designs.trait", "nearly singular"),
    ({"design": "warner", "p": "0.3", "q": "0.7"}, "designs.trait.q", "unknown member 'q'"),
    (
        {"design": "warner", "p": "0.3", "not_sensitive": "no"},
        "designs.trait.not_sensitive",
        "warner has: answer, design, p",
    ),
    ({"design": "forced-response", "yes": "2/3", "no": "1/3"}, "designs.trait", "a sum of yes"),
    ({"design": "warner", "p": "0.3", "answer": "ja"}, "designs.trait.answer", "one of: no, yes"),
]


@pytest.mark.parametrize(("design", "field", "words"), BAD, ids=str)
def test_an_invalid_design_is_refused_with_its_field(design, field, words, refused):
    refused(
        ParameterError,
        lambda: DistortionMatrices({}, {"trait": design}).bind(schema("trait")),
        field=field,
        mentions=["designs.trait", words],
    )


def test_a_design_needs_two_answers_and_excludes_a_matrix(refused):
    three = schema("trait", categories=("no", "yes", "perhaps"))
    refused(ParameterError, lambda: of(warner).bind(three), mentions=["two answers, got 3"])
    both = {"trait": [["3/4", "1/4"], ["1/4", "3/4"]]}
    refused(
        ParameterError,
        lambda: DistortionMatrices(both, {"trait": STORIES[warner]}),
        field="designs.trait",
        mentions=["has a matrix, too"],
    )
    for names, wrong in ((["trait", "more"], "more"), (["other"], "trait")):
        asked = schema(*names)
        refused(
            ParameterError,
            lambda asked=asked: of(warner).bind(asked),
            field=f"designs.{wrong}",
            mentions=[f"'{wrong}'"],
        )
