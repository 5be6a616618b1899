"""Every outcome of the draw of a rotation, walked: its waves, and what they tell together."""

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import product
from math import prod

import pytest
from dense_split import matrix
from halftruth_shared import (
    GammaDiagonal,
    ParameterError,
)

#: Shape, and classes as groups of positions, how many of each, and weight.
SURVEYS = {
    "pairs of four": ((2, 2, 2, 2), [(((0, 1, 2, 3),), (2,), 1)]),
    "pairs of five, which do not come out even": ((2,) * 5, [(((0, 1, 2, 3, 4),), (2,), 3)]),
    "one or two of four": ((2,) * 4, [(((0, 1, 2, 3),), (1,), 2), (((0, 1, 2, 3),), (2,), 1)]),
    "one alone or with one of three":
        ((2, 2, 2, 3), [(((3,),), (1,), 4), (((3,), (2, 0, 1)), (1, 1), 1)]),
    "groups that overlap": ((2, 2, 2, 3), [(((0, 1, 2),), (2,), 2), (((2, 3),), (1,), 5)]),
    "all different": ((2, 3, 4), [(((0,),), (1,), 3), (((1, 0),), (2,), 2), (((2,),), (1,), 2)]),
    "the same view in two classes": ((2, 2, 3), [(((0, 1),), (2,), 3), (((0, 1, 2),), (2,), 2)]),
    "more than 64 turns":
        ((2, 3, 2), [(((0,),), (1,), 31), (((1,),), (1,), 19), (((0, 2),), (2,), 17)]),
}  # fmt: skip


@pytest.fixture(scope="module")
def designed(case_of):
    """A schema and a split questionnaire of these classes of views."""

    def make(shape, classes, public=()):
        case = case_of("split", shape, ("3", 2, 8, classes), public)
        return case.schema, case.mechanism

    return make


def views_of_waves(schema, mechanism, walk, waves):
    """The exact distribution of the numbers of the views of the waves."""
    rotation = mechanism.rotation(schema)

    def numbers(below):
        drawn = rotation.draw(below)
        return tuple(rotation.view(drawn, wave) for wave in range(1, waves + 1))

    return walk(numbers)


@pytest.fixture(scope="module", params=SURVEYS.values(), ids=SURVEYS.keys())
def rotated(request, walk, designed):
    """A survey, and the exact distribution of its views in six waves."""
    schema, mechanism = designed(*request.param)
    return schema, mechanism, views_of_waves(schema, mechanism, walk, 6)


def test_every_wave_alone_has_exactly_the_published_weights(rotated):
    schema, mechanism, distribution = rotated
    views = mechanism.views(schema)
    total = sum(view.weight for view in views)
    for wave in range(6):
        chances = defaultdict(Fraction)
        for row, chance in distribution.items():
            chances[row[wave]] += chance
        assert chances == {v: Fraction(view.weight, total) for v, view in enumerate(views)}


def test_questions_are_asked_as_often_as_stated_and_no_more(rotated):
    schema, mechanism, distribution = rotated
    rotation, views = mechanism.rotation(schema), mechanism.views(schema)
    for j, name in enumerate(schema.names):
        about = [[j in views[v].positions for v in row] for row in distribution]
        for count in range(1, 7):
            for first in (0, 6 - count):
                most = max(sum(row[first : first + count]) for row in about)
                assert most == rotation.most(name, count)


def test_no_question_comes_twice_before_every_one_of_its_kind_came(walk, designed):
    schema, mechanism = designed(*SURVEYS["pairs of five, which do not come out even"])
    views = mechanism.views(schema)
    for row in views_of_waves(schema, mechanism, walk, 4):
        dealt = Counter(j for number in row for j in views[number].positions)
        assert sorted(dealt.values()) == [1, 1, 2, 2, 2]


def joint(schema, mechanism, walk, waves):
    """For all views that can be drawn, the probability of all reports under each record.

    Computed from the matrix of a single report.
    """
    views = mechanism.views(schema)
    classes = [
        ([[schema.names.index(name) for name in g] for g in c.attributes], c.sizes, c.weight)
        for c in mechanism.classes
    ]
    rows = matrix(schema.shape, (), mechanism.gamma, mechanism.prime, mechanism.direct, classes)
    total = sum(view.weight for view in views)
    of_view = [
        [
            [chance * Fraction(total, view.weight) for chance in rows[(view.first + y,)]]
            for y in range(view.response.symbols)
        ]
        for view in views
    ]
    for drawn in views_of_waves(schema, mechanism, walk, waves):
        for reports in product(*(of_view[v] for v in drawn)):
            yield list(map(prod, zip(*reports, strict=True)))


@pytest.mark.parametrize(
    "name", ["pairs of four", "one alone or with one of three", "all different"]
)
@pytest.mark.parametrize("waves", [2, 3])
def test_reports_of_waves_amplify_as_stated(name, waves, walk, designed):
    schema, mechanism = designed(*SURVEYS[name])
    rotation, records = mechanism.rotation(schema), list(product(*map(range, schema.shape)))
    once = mechanism.answer_amplification(schema)
    whole, known, unknown = Fraction(1), {}, {}
    for row in joint(schema, mechanism, walk, waves):
        whole = max(whole, max(row) / min(row))
        for j, attribute in enumerate(schema.names):
            # Records by the answers to the others, and by the answer to this one.
            near, answers = defaultdict(list), defaultdict(Fraction)
            for record, chance in zip(records, row, strict=True):
                near[record[:j], record[j + 1 :]].append(chance)
                answers[record[j]] += chance
            known[attribute] = max(
                known.get(attribute, 1), *(max(alike) / min(alike) for alike in near.values())
            )
            quotient = max(answers.values()) / min(answers.values())
            unknown[attribute] = max(unknown.get(attribute, 1), quotient)
    gamma = mechanism.gamma
    assert whole == gamma**waves
    for attribute in schema.names:
        assert known[attribute] == gamma ** rotation.most(attribute, waves)
        bound = rotation.unknown_amplification(attribute, waves, once.known, once.unknown)
        assert unknown[attribute] <= bound <= known[attribute]
    if name == "pairs of four" and waves == 2:
        assert set(unknown.values()) == {once.unknown}


def test_a_report_about_a_view_has_the_chances_of_one_that_draws_it(walk, designed):
    schema, mechanism = designed(*SURVEYS["one alone or with one of three"])
    views, record = mechanism.views(schema), (1, 0, 1, 2)
    drawn = walk(lambda below: mechanism.perturb(schema, record, below))
    total = sum(view.weight for view in views)
    for number, view in enumerate(views):
        about = walk(lambda below, v=number: mechanism.perturb(schema, record, below, view=v))
        assert set(about) == {(view.first + y,) for y in range(view.response.symbols)}
        for report, chance in about.items():
            assert drawn[report] == chance * Fraction(view.weight, total)


def test_public_answers_are_in_no_rotation(designed):
    schema, mechanism = designed((2, 2, 2), [(((0, 2),), (1,), 1)], public=(1,))
    rotation = mechanism.rotation(schema)
    assert rotation.blocks == ((0, 2),)
    assert [rotation.most("a2", waves) for waves in (1, 2, 3)] == [1, 1, 2]
    with pytest.raises(ParameterError, match="name: expected an attribute that views"):
        rotation.most("a1", 2)


def test_where_there_are_many_kinds_of_views_an_upper_bound_is_stated(monkeypatch, designed):
    schema, mechanism = designed(*SURVEYS["one or two of four"])
    exact = [mechanism.rotation(schema).most("a0", waves) for waves in range(1, 9)]
    monkeypatch.setattr("halftruth_shared.mechanisms.rotation._MAX_KINDS", 1)
    bounded = mechanism.rotation(schema)
    # Two of four in every wave.
    assert [bounded.most("a0", waves) for waves in range(1, 9)] == [1, 1, 2, 2, 3, 3, 4, 4]
    # Four turns of seven take one, three take two, and they alternate: at most 2, 3, 5, 6, 8, …
    assert exact == [1, 1, 2, 2, 2, 3, 3, 3]
    assert bounded.unknown_amplification("a0", 3, Fraction(3), Fraction(2)) == 9


def test_conditions_leave_nobody_less_informed_than_who_knows_all_others(designed):
    schema, mechanism = designed(*SURVEYS["pairs of four"])
    free = mechanism.rotation(schema)
    assert free.unknown_amplification("a0", 2, Fraction(3), Fraction(2)) == 2
    asked = type(schema)(
        [
            *schema.attributes[:3],
            type(schema.attributes[0])("a3", ["c0", "c1"], ask_if={"a0": ["c1"]}, missing=["c0"]),
        ]
    )
    for name, bound in (("a0", 9), ("a1", 3)):
        rotation = mechanism.rotation(asked)
        assert rotation.unknown_amplification(name, 2, Fraction(3), Fraction(2)) == bound


def test_a_mechanism_without_views_has_no_rotation_and_takes_no_view(schema_of):
    schema = schema_of((2, 2))
    assert GammaDiagonal("19").rotation(schema) is None
    with pytest.raises(ParameterError, match="view: expected none"):
        GammaDiagonal("19").perturb(schema, (0, 1), view=0)


def test_a_view_that_there_is_not_is_refused(designed):
    schema, mechanism = designed(*SURVEYS["pairs of four"])
    for view in (-1, 6):
        with pytest.raises(ParameterError, match="view: expected an integer from 0 to 5"):
            mechanism.perturb(schema, (0, 1, 0, 1), view=view)
