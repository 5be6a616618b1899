"""The split questionnaire against dense matrices of fractions."""

import math
import secrets
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, product

import dense_split
import numpy as np
import pytest
from halftruth_shared import RecordError, SplitQuestionnaire, ViewClass
from halftruth_shared.mechanisms.split_questionnaire import inference
from scipy import stats

#: A correct sampler would fail for one seed in ten thousand; the seeds here are of the others.
SEEDED = 1e-4
FROM_OS = 1e-8


@dataclass(frozen=True)
class Case:
    """A mechanism; classes of views are groups of attributes, how many of each, and a weight."""

    name: str
    shape: tuple
    gamma: str
    prime: int
    direct: int
    classes: tuple
    public: tuple = ()

    @cached_property
    def mechanism(self):
        classes = [
            ViewClass(
                attributes=tuple(tuple(f"a{j}" for j in group) for group in groups),
                choose=choose,
                weight=weight,
            )
            for groups, choose, weight in self.classes
        ]
        public = [f"a{j}" for j in self.public]
        return SplitQuestionnaire(self.gamma, classes, public, prime=self.prime, direct=self.direct)

    @cached_property
    def matrix(self):
        return dense_split.matrix(
            self.shape, self.public, Fraction(self.gamma), self.prime, self.direct, self.classes
        )

    @cached_property
    def views(self):
        return [positions for _, positions in dense_split.views(self.shape, self.classes)]

    @cached_property
    def cells(self):
        return list(product(*map(range, self.shape)))


CASES = [
    Case("one-question", (2,), "3", 3, 2, ((((0,),), (1,), 1),)),
    Case("k-ary", (2, 3), "19/2", 7, 3, ((((1,),), (1,), 5), (((0,),), (1,), 2))),
    Case("k-ary-whole", (2, 3), "3/2", 2, 6, ((((0, 1),), (2,), 1),)),
    # As many cells as points.
    Case("plane-of-2", (7,), "3/2", 2, 2, ((((0,),), (1,), 1),)),
    Case("plane-of-3", (13,), "5", 3, 2, ((((0,),), (1,), 3),)),
    Case("space-of-2", (3, 5), "5/2", 2, 4, ((((1, 0),), (2,), 1),)),
    # Fewer.
    Case("some-of-a-plane", (2, 3), "7/3", 3, 5, ((((0, 1),), (2,), 1),)),
    Case("some-of-a-space", (2, 2, 2), "4", 2, 3, ((((0, 1, 2),), (3,), 1),)),
    Case("plane-of-5", (3, 3), "11/2", 5, 2, ((((0, 1),), (2,), 1), (((1,),), (1,), 1))),
    Case("pairs", (2, 3, 2), "19/2", 2, 4, ((((2, 0, 1),), (2,), 3), (((0, 1, 2),), (3,), 2))),
    Case("groups", (2, 3, 2, 2), "3", 2, 6,
         ((((3, 0), (2, 1)), (1, 2), 2), (((2,), (3,)), (1, 1), 1))),
    Case("public", (2, 3, 3), "5", 2, 2, ((((2, 1),), (2,), 1), (((2,),), (1,), 3)), (0,)),
    Case("two-public", (2, 3, 2, 2), "7/2", 3, 3, ((((1, 2),), (2,), 1),), (3, 0)),
]  # fmt: skip


@pytest.fixture(params=CASES, ids=lambda case: case.name)
def split(request):
    """A split questionnaire with its exact matrix."""
    return request.param


@pytest.fixture
def schema(split, schema_of):
    return schema_of(split.shape, split.public)


def test_every_outcome_of_perturb_gives_the_matrix(split, schema, walk):
    columns = [
        walk(lambda below, record=record: split.mechanism.perturb(schema, record, below))
        for record in split.cells
    ]
    for column in columns:
        assert all(type(value) is int for report in column for value in report)
        assert set(column) <= set(split.matrix)
    for report, row in split.matrix.items():
        assert [column.get(report, 0) for column in columns] == row


def test_a_report_holds_the_public_answers_and_a_symbol(split, schema):
    space = split.mechanism.report_space(schema)
    assert space.names == (*(f"a{j}" for j in sorted(split.public)), "(symbol)")
    assert set(product(*map(range, space.shape))) == set(split.matrix)


def test_a_report_says_in_words_what_it_is_about(split, schema, walk):
    abouts = set()
    for report in walk(lambda below: split.mechanism.perturb(schema, split.cells[-1], below)):
        words = split.mechanism.decode_report(schema, report)
        code, _, about = words.pop("(symbol)").partition(" about ")
        assert code == f"code {report[-1]}"
        abouts.add(tuple(about.replace(" and ", ", ").split(", ")))
        assert words == {f"a{j}": f"c{split.shape[j] - 1}" for j in split.public}
    assert abouts == {tuple(f"a{j}" for j in positions) for positions in split.views}


def test_the_words_of_a_report(schema_of):
    views = [ViewClass(attributes=(("a0", "a1", "a2"),), weight=1)]
    mechanism = SplitQuestionnaire("19", views)
    words = mechanism.decode_report(schema_of((2, 2, 2)), [5])
    assert words == {"(symbol)": "code 5 about a0, a1 and a2"}


def p_value(split, reports, records):
    """p-value of a chi-square test of fit, each true record a multinomial of its own."""
    rows = {report: i for i, report in enumerate(split.matrix)}
    seen = np.zeros((len(rows), len(split.cells)))
    true = np.ravel_multi_index(tuple(records.T), split.shape)
    np.add.at(seen, ([rows[tuple(report)] for report in reports.tolist()], true), 1)
    expected = np.array(list(split.matrix.values()), dtype=float) * seen.sum(axis=0)
    possible = expected > 0
    assert not seen[~possible].any()
    assert expected[possible].min() >= 20
    statistic = ((seen - expected)[possible] ** 2 / expected[possible]).sum()
    freedom = possible.sum() - len(split.cells)
    return stats.chi2.sf(statistic, freedom)


@pytest.mark.parametrize("seed", [20240229, None], ids=["seeded", "operating-system"])
def test_many_reports_follow_the_matrix(split, schema, seed):
    rng = None if seed is None else np.random.default_rng(seed)
    records = np.tile(np.array(split.cells), (10_000, 1))
    reports = split.mechanism.perturb_many(schema, records, rng)
    assert reports.dtype == np.int64
    assert p_value(split, reports, records) > (FROM_OS if seed is None else SEEDED)


def test_weights_beyond_64_bits_are_sampled_record_by_record(schema_of):
    gamma = Fraction(5) + Fraction(1, 2**80)
    split = Case("long", (2, 2, 2), gamma, 2, 3, ((((0, 1, 2),), (3,), 1),))
    records = np.tile(np.array(split.cells), (1_000, 1))
    rng = np.random.default_rng(20240229)
    reports = split.mechanism.perturb_many(schema_of(split.shape), records, rng)
    assert p_value(split, reports, records) > SEEDED


def test_no_records_give_no_reports(split, schema):
    none = np.zeros((0, len(split.shape)), dtype=np.int64)
    assert split.mechanism.perturb_many(schema, none).shape == (0, len(split.public) + 1)


def test_a_single_record_is_perturbed_with_the_randomness_of_the_operating_system():
    assert secrets.randbelow in (SplitQuestionnaire.perturb.__defaults__ or ())


def subsets(count):
    return [subset for length in range(count + 1) for subset in combinations(range(count), length)]


def worst_ratio(split, known):
    """The largest quotient of a report's probabilities under records that agree on some answers."""
    worst = Fraction(1)
    for row in split.matrix.values():
        groups = {}
        for record, p in zip(split.cells, row, strict=True):
            groups.setdefault(tuple(record[j] for j in known), []).append(p)
        for group in groups.values():
            if max(group) > 0:
                worst = max(worst, math.inf if min(group) == 0 else max(group) / min(group))
    return worst


def test_the_amplification_is_the_worst_ratio_of_the_exact_matrix(split, schema):
    for known in subsets(len(split.shape)):
        names = [f"a{j}" for j in known]
        amplification = split.mechanism.amplification(schema, names)
        assert amplification == worst_ratio(split, known), known
        assert amplification == math.inf or isinstance(amplification, Fraction)


def test_what_is_public_is_sent_as_it_is(split, schema):
    assert split.mechanism.unperturbed(schema) == {f"a{j}" for j in split.public}


def unknown_ratio(split, known):
    """The largest quotient for a single answer, those not known being equally likely."""
    worst = Fraction(1)
    for j in set(range(len(split.shape))) - {*known, *split.public}:
        for row in split.matrix.values():
            means = {}
            for record, p in zip(split.cells, row, strict=True):
                groups = means.setdefault(tuple(record[i] for i in known), {})
                groups[record[j]] = groups.get(record[j], 0) + p
            for sums in means.values():
                if max(sums.values()) > 0:
                    worst = max(worst, max(sums.values()) / min(sums.values()))
    return worst


def test_a_single_answer_is_amplified_as_the_exact_matrix_says(split, schema):
    for known in subsets(len(split.shape)):
        answer = split.mechanism.answer_amplification(schema, [f"a{j}" for j in known])
        free = set(range(len(split.shape))) - {*known, *split.public}
        assert answer.unknown == unknown_ratio(split, known), known
        assert answer.known == max(
            [Fraction(1)]
            + [worst_ratio(split, sorted(set(range(len(split.shape))) - {j})) for j in free]
        )


def test_where_symbols_are_too_many_to_look_at_the_bound_is_taken(schema_of, monkeypatch):
    views = [ViewClass(attributes=(("a0", "a1", "a2"),), weight=1)]
    schema = schema_of((2, 2, 2))
    exact = SplitQuestionnaire("4", views, prime=3, direct=2).answer_amplification(schema)
    assert exact.unknown < exact.known == 4
    monkeypatch.setattr(inference, "MAX_SYMBOLS", 8 * 4 - 1)
    bound = SplitQuestionnaire("4", views, prime=3, direct=2).answer_amplification(schema)
    assert bound.unknown == bound.known == 4
    # Of k-ary randomized response there is a closed form.
    direct = SplitQuestionnaire("4", views, direct=8).answer_amplification(schema)
    assert direct.unknown == 1 + Fraction(3, 4)


def test_views_of_one_shape_are_looked_at_once(schema_of):
    # Three hundred million symbols of cells, if every view were.
    views = [ViewClass(attributes=(tuple(f"a{j}" for j in range(40)),), choose=(3,), weight=1)]
    mechanism = SplitQuestionnaire("19", views)
    answer = mechanism.answer_amplification(schema_of((5,) * 40))
    assert 1 < answer.unknown < answer.known == 19


def test_a_wrong_record_is_not_answered(split, schema, refused):
    wrong = (7_777, *split.cells[0][1:])
    refused(
        RecordError,
        lambda: split.mechanism.perturb(schema, wrong),
        field="a0",
        mentions=["a0", f"from 0 to {split.shape[0] - 1}"],
        never=["7777"],
    )
