"""Families of identified sets against enumeration, and mining and pages of unequal views."""

from itertools import chain, combinations

import numpy as np
import pytest
from halftruth_collector.analyses import ANALYSES, answer, identified
from halftruth_collector.estimation.identified import IdentifiedSets
from halftruth_collector.estimation.itemsets import count_itemsets
from halftruth_collector.estimation.reconstruction import reconstruction
from halftruth_shared import Attribute, ParameterError, Schema, SplitQuestionnaire, Survey
from halftruth_shared.analyses.itemsets import ItemsetsQuery
from halftruth_shared.analyses.measures import MeasuresQuery
from halftruth_shared.mechanisms.split_questionnaire.views import ViewClass
from sources import source_of

#: Views with and without unperturbed attributes, of six attributes.
FAMILIES = [
    ([(0, 1, 2, 3, 4, 5)], ()),
    ([(0, 1), (1, 2, 3), (4,), (5,)], ()),
    ([*combinations(range(6), 2)], ()),
    ([(0, 1), (2, 3), (4,)], (5,)),
    ([(1,), (2, 3), (2, 4)], (0, 5)),
]


def family_of(views, public, count=6):
    asked = np.zeros((len(views), count), dtype=bool)
    for row, view in enumerate(views):
        asked[row, list(view)] = True
    return IdentifiedSets(asked, public)


def subsets(views, public):
    """Return all subsets of views with the unperturbed attributes, by brute force."""
    return {
        tuple(sorted(each))
        for view in views
        for length in range(7)
        for each in combinations((*view, *public), length)
    }


@pytest.mark.parametrize(("views", "public"), FAMILIES)
def test_a_family_has_all_subsets_of_its_views_with_unperturbed_attributes(views, public):
    family, every = family_of(views, public), subsets(views, public)
    for each in chain(*(combinations(range(6), length) for length in range(7))):
        assert (each in family) == (each in every), each
        part = family.example(each)
        longest = max(len(s) for s in every if set(s) <= set(each))
        assert tuple(sorted(part)) in every
        assert len(part) == (2 if longest == 1 and len(part) > 1 else longest)
        assert len({*part} & {*each}) == longest
    assert family.longest == max(map(len, every))
    free = [j for j in range(6) if j not in public]
    lengths = [k for k in range(len(free) + 1) if {*combinations(free, k)} <= every]
    assert family.any_of == (6 if tuple(free) in every else max(lengths))
    for length in range(7):
        expected = sorted(each for each in every if len(each) == length)
        assert [*family.of_length(length)] == expected
        assert family.number(length) == len(expected)


@pytest.mark.parametrize(("views", "public"), FAMILIES)
def test_sets_beside_others_are_those_that_are_identified_with_them(views, public):
    family, every = family_of(views, public), subsets(views, public)
    for others in ((0,), (1, 2), (5,), (2, 5)):
        if others not in every:
            continue
        kept = [j for j in range(6) if j not in others]
        beside = family.beside(others)
        for each in chain(*(combinations(range(len(kept)), length) for length in range(5))):
            whole = tuple(sorted([*others, *(kept[j] for j in each)]))
            assert (each in beside) == (whole in every), (others, each)


@pytest.fixture(scope="module")
def unequal():
    """A survey that asks a with b and c, d with e, and f alone."""
    sizes = {"a": 2, "b": 3, "c": 2, "d": 2, "e": 3, "f": 2}
    schema = Schema(
        [Attribute(name, [f"{name}{k}" for k in range(n)]) for name, n in sizes.items()]
    )
    views = [
        ViewClass(attributes=(names,), weight=1) for names in (("a", "b", "c"), ("d", "e"), ("f",))
    ]
    survey = Survey("s", "S", schema, SplitQuestionnaire("99", views))
    rng = np.random.default_rng(4)
    people = np.column_stack([rng.integers(0, n, 20_000) for n in sizes.values()])
    people[:, 1] = np.where(people[:, 0] == 1, 2, people[:, 1])
    return source_of(survey, people, rng)


def test_every_analysis_begins_with_questions_that_are_asked_together(unequal):
    offered = {each.name for each in identified(unequal.survey)}
    assert offered == set(ANALYSES) - {"waves"}
    for name in offered:
        result = answer(ANALYSES[name], unequal, ANALYSES[name].start(unequal.survey))
        assert len(result.estimates), name


def test_itemsets_are_those_of_tables_that_are_identified(unequal):
    source = reconstruction(unequal.survey)
    family, schema = source.identified_sets, unequal.survey.schema
    assert (family.any_of, family.longest) == (1, 3)
    result = answer(ANALYSES["itemsets"], unequal, ItemsetsQuery(min_support=0.01, max_length=3))
    sets = {tuple(sorted(row["itemset"])) for row in result.rows}
    assert {"a,b", "a,b,c", "d,e"} <= {",".join(names) for names in sets}
    assert all(source.identified(names) for names in sets)
    # Singles, then pairs and a triple of the views: 14, 2·3 + 2·2 + 3·2 + 2·3, and 2·3·2.
    numbers = [count_itemsets(schema, family, length) for length in (1, 2, 3)]
    assert numbers == [14, 22, 12]
    assert result.selection.candidates == sum(numbers)


def test_a_map_leaves_out_pairs_that_no_report_tells_of(unequal):
    result = answer(ANALYSES["measures"], unequal, MeasuresQuery())
    for row in result.rows:
        pair = {row["row"], row["column"]}
        assert pair <= {"a", "b", "c"} or pair == {"d", "e"}
        assert row.undefined is None
    # a with b, a with c, b with c, d with e.
    assert (len(result.rows), result.tests[0].hypotheses) == (4, 4)
    [said] = [each.sentence for each in result.caveats if each.code == "asked together"]
    assert said == (
        "Reports ask 4 of the 15 pairs of questions together; only pairs of questions that are"
        " asked together are estimated."
    )
    assert {result.rows[result.claims[0].rows[0]][side] for side in ("row", "column")} == {"a", "b"}


def test_a_table_that_is_not_identified_names_a_part_that_is(unequal):
    with pytest.raises(
        ParameterError, match=r"'a', 'b' and 'd' together; expected .* 'a' and 'b'$"
    ):
        unequal.estimator.table(["a", "b", "d"])
