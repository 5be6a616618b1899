"""References: exact matrices from the formulas, and an enumeration of random outcomes."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType

import dense_split
import hypothesis
import numpy as np
import pytest
from dense import cells, gamma_diagonal, kronecker, randomized_response
from halftruth_shared import (
    Attribute,
    DistortionMatrices,
    GammaDiagonal,
    HalftruthError,
    RandomizedGammaDiagonal,
    RandomizedResponse,
    Schema,
    SplitQuestionnaire,
    ViewClass,
)
from scipy import stats
from walking import walked

# The same examples in every run, no database of them, and no deadline on a busy machine.
hypothesis.settings.register_profile("shared", derandomize=True, database=None, deadline=None)
hypothesis.settings.load_profile("shared")


def make_schema(shape, public=(), groups=MappingProxyType({})):
    """Return a schema of a0, a1, … with categories c0, c1, …; `public` ones are not sensitive.

    `groups` has for the positions of collapsed attributes the group of each answer.
    """
    return Schema(
        [
            Attribute(
                f"a{j}",
                [f"c{code}" for code in range(size)],
                sensitive=j not in public,
                collapsed=_collapsed(groups[j]) if j in groups else None,
            )
            for j, size in enumerate(shape)
        ]
    )


def _collapsed(codes):
    """Return groups of answers whose names are not in their order."""
    return {
        f"g{-group}": [f"c{code}" for code, of in enumerate(codes) if of == group]
        for group in sorted(set(codes), reverse=True)
    }


@dataclass(frozen=True)
class Case:
    """A mechanism on a small schema, with its expected matrix."""

    kind: str
    shape: tuple[int, ...]
    parameters: tuple
    public: tuple[int, ...] = ()
    #: Positions of collapsed attributes, with the group of each answer.
    collapsed: tuple[tuple[int, tuple[int, ...]], ...] = ()
    #: Largest number of cells whose pairs are symbols.
    pairs: int | None = None

    def __str__(self):
        words = "_".join(str(value) for value in self.parameters if not isinstance(value, tuple))
        words += "_collapsed" * bool(self.collapsed) + "_pairs" * bool(self.pairs)
        return f"{self.kind}-{'x'.join(map(str, self.shape))}-{words}".replace("/", ":")

    @cached_property
    def schema(self):
        return make_schema(self.shape, self.public, dict(self.collapsed))

    @cached_property
    def cells(self):
        return cells(self.shape)

    @cached_property
    def mechanism(self):
        if self.kind == "det":
            return GammaDiagonal(*self.parameters)
        if self.kind == "ran":
            gamma, alpha, steps = self.parameters
            return RandomizedGammaDiagonal(gamma, alpha, steps=steps)
        if self.kind == "response":
            return RandomizedResponse({f"a{j}": p for j, p in enumerate(self.parameters)})
        if self.kind == "split":
            gamma, prime, direct, classes = self.parameters
            views = [
                ViewClass(
                    attributes=tuple(tuple(f"a{j}" for j in group) for group in groups),
                    choose=choose,
                    weight=weight,
                )
                for groups, choose, weight in classes
            ]
            public = [f"a{j}" for j in self.public]
            how = {"prime": prime, "direct": direct, "pairs": self.pairs}
            return SplitQuestionnaire(gamma, views, public, **how)
        return DistortionMatrices({f"a{j}": P for j, P in enumerate(self.parameters)})

    @cached_property
    def perturbation(self):
        return self.mechanism.bind(self.schema)

    @cached_property
    def client_matrices(self):
        """For a randomized gamma-diagonal: A_r for each r of its grid, ascending."""
        gamma, alpha, steps = Fraction(self.parameters[0]), *self.parameters[1:]
        n = len(self.cells)
        reach = Fraction(alpha) * gamma / (gamma + n - 1)
        return [gamma_diagonal(n, gamma, reach * t / steps) for t in range(-steps, steps + 1)]

    @cached_property
    def _split(self):
        gamma, *parameters = self.parameters
        more = dict(self.collapsed), self.pairs or 0
        return dense_split.matrix(self.shape, self.public, Fraction(gamma), *parameters, *more)

    @cached_property
    def reports(self):
        """All reports, row-major."""
        return sorted(self._split) if self.kind == "split" else self.cells

    @cached_property
    def matrix(self):
        """A[v][u] as fractions; for a randomized gamma-diagonal E[A_r] = A (FRAPP §4)."""
        if self.kind == "split":
            return [self._split[report] for report in self.reports]
        if self.kind in ("det", "ran"):
            return gamma_diagonal(len(self.cells), Fraction(self.parameters[0]))
        if self.kind == "response":
            pairs = zip(self.shape, self.parameters, strict=True)
            return kronecker([randomized_response(size, Fraction(p)) for size, p in pairs])
        return kronecker([[[Fraction(x) for x in row] for row in P] for P in self.parameters])

    @cached_property
    def dense(self):
        """The matrix as an array of floats."""
        return np.array(self.matrix, dtype=np.float64)


SHAPES = [(2,), (3,), (2, 3), (2, 2, 3), (3, 2, 2)]

SKEWED = (("9/10", "3/10"), ("1/10", "7/10"))
REVERSING = (("1/7", "5/6"), ("6/7", "1/6"))
WITH_ZERO = (("7/10", "1/5", "0"), ("1/5", "3/5", "1/4"), ("1/10", "1/5", "3/4"))
CYCLIC = (("0", "1/8", "2/3"), ("3/4", "1/8", "1/3"), ("1/4", "3/4", "0"))
IDENTITY = ((1, 0), (0, 1))

DET_CASES = [
    Case("det", shape, (gamma,)) for shape in SHAPES for gamma in ("19", "19/2", "3/2", "1.01")
]
RAN_PARAMETERS = [
    ("19", "0", 2),
    ("19", "1/19", 1),
    ("19", "1/2", 1),
    ("19/2", "1", 1),
    ("3/2", "1", 2),
    ("19/2", "1/2", 2),
    ("3/2", "1/3", 3),
    ("3/2", "1/2", 1),
]
RAN_CASES = [
    Case("ran", shape, parameters)
    for shape in SHAPES
    # Fewer of the large cases, whose enumeration is slow.
    for parameters in RAN_PARAMETERS[: 5 if math.prod(shape) > 6 else None]
    if Fraction(parameters[1]) <= Fraction(math.prod(shape) - 1) / Fraction(parameters[0])
]
# Some clients have zeros off the diagonal, and never change the answer.
RAN_CASES += [Case("ran", (2,), ("19", "1/19", 3)), Case("ran", (2, 2, 3), ("19", "11/19", 1))]
RESPONSE_CASES = [
    Case("response", (2,), ("9/10",)),
    Case("response", (2,), ("0.51",)),
    Case("response", (3,), ("2/3",)),
    Case("response", (3,), ("0.34",)),
    Case("response", (2, 3), ("3/4", "2/5")),
    Case("response", (2, 3), ("7/10", 1), public=(1,)),
    Case("response", (2, 2, 3), ("9/10", 1, "1/2"), public=(1,)),
    Case("response", (3, 2, 2), ("3/5", "5/8", "5/7")),
]
DISTORTION_CASES = [
    Case("distortion", (2,), (SKEWED,)),
    Case("distortion", (2,), (REVERSING,)),
    Case("distortion", (3,), (WITH_ZERO,)),
    Case("distortion", (3,), (CYCLIC,)),
    Case("distortion", (2, 3), (REVERSING, WITH_ZERO)),
    Case("distortion", (2, 2, 3), (SKEWED, IDENTITY, CYCLIC), public=(1,)),
    Case("distortion", (3, 2, 2), (WITH_ZERO, SKEWED, (("3/4", "1/4"), ("1/4", "3/4")))),
]
RECORD_CASES = DET_CASES + RAN_CASES + RESPONSE_CASES + DISTORTION_CASES
SPLIT_CASES = [
    Case("split", (2,), ("3", 3, 2, ((((0,),), (1,), 1),))),
    Case("split", (2, 3), ("19/2", 7, 3, ((((1,),), (1,), 5), (((0,),), (1,), 2)))),
    Case("split", (2, 3), ("3/2", 2, 6, ((((0, 1),), (2,), 1),))),
    # As many cells as points: planes of orders 2 and 3, and a space of order 2.
    Case("split", (7,), ("3/2", 2, 2, ((((0,),), (1,), 1),))),
    Case("split", (13,), ("5", 3, 2, ((((0,),), (1,), 3),))),
    Case("split", (3, 5), ("5/2", 2, 4, ((((1, 0),), (2,), 1),))),
    # Fewer cells than points.
    Case("split", (2, 3), ("7/3", 3, 5, ((((0, 1),), (2,), 1),))),
    Case("split", (2, 2, 2), ("4", 2, 3, ((((0, 1, 2),), (3,), 1),))),
    Case("split", (3, 3), ("11/2", 5, 2, ((((0, 1),), (2,), 1), (((1,),), (1,), 1)))),
    Case("split", (2, 3, 2), ("19/2", 2, 4, ((((2, 0, 1),), (2,), 3), (((0, 1, 2),), (3,), 2)))),
    Case("split", (2, 3, 2, 2),
         ("3", 2, 6, ((((3, 0), (2, 1)), (1, 2), 2), (((2,), (3,)), (1, 1), 1)))),
    Case("split", (2, 3, 3), ("5", 2, 2, ((((2, 1),), (2,), 1), (((2,),), (1,), 3))), public=(0,)),
    Case("split", (2, 3, 2, 2), ("7/2", 3, 3, ((((1, 2),), (2,), 1),)), public=(3, 0)),
    Case("split", (3, 2), ("3", 2, 4, ((((0, 1),), (2,), 1), (((0, 1),), (1,), 2))),
         collapsed=((0, (0, 1, 0)),)),
    Case("split", (2, 4, 3), ("5/2", 2, 2, ((((1, 2),), (2,), 1), (((1,),), (1,), 3))),
         public=(0,), collapsed=((1, (0, 1, 1, 2)), (2, (0, 1, 1)))),
    Case("split", (3, 2), ("7/2", 3, 2, ((((0, 1),), (2,), 1), (((0, 1),), (1,), 2))), pairs=6),
    Case("split", (2, 4, 3), ("5/2", 2, 3, ((((1, 2),), (2,), 3), (((1,),), (1,), 1))),
         public=(0,), pairs=12),
]  # fmt: skip


@pytest.fixture
def cases():
    return RECORD_CASES + SPLIT_CASES


@pytest.fixture(params=RECORD_CASES + SPLIT_CASES, ids=str)
def case(request):
    """A mechanism of any kind with its exact matrix."""
    return request.param


@pytest.fixture(params=RECORD_CASES, ids=str)
def record_case(request):
    """A mechanism whose report is a record."""
    return request.param


@pytest.fixture(params=SPLIT_CASES, ids=str)
def split_case(request):
    """A split questionnaire."""
    return request.param


@pytest.fixture(params=RAN_CASES, ids=str)
def ran_case(request):
    """A randomized gamma-diagonal mechanism."""
    return request.param


@pytest.fixture(scope="session")
def case_of():
    """``case_of(kind, shape, parameters, public=())``: a mechanism with its exact matrix."""
    return Case


@pytest.fixture(scope="session")
def walk():
    """``walk(sample)``: the exact distribution of ``sample(randbelow)``."""
    return walked


@pytest.fixture(scope="session")
def schema_of():
    """``schema_of(shape, public=())``: a schema of that shape."""
    return make_schema


def _p_value(reports, records, shape, matrix, least=20, every=None):
    """Return the p-value of reports of these records under the matrix (chi-square).

    Impossible reports give 0. Each true record is a separate multinomial. No expected count may be
    below `least`, which has to be larger for tests at smaller p-values. `every` lists the reports,
    row-major, if they are not records of this shape.
    """
    shape_of_reports = shape if every is None else np.max(every, axis=0) + 1
    expected = np.array(matrix, dtype=np.float64)
    true, reported = (
        np.ravel_multi_index(tuple(np.asarray(x).T), sizes)
        for x, sizes in ((records, shape), (reports, shape_of_reports))
    )
    places = reported * expected.shape[1] + true
    seen = np.bincount(places, minlength=expected.size).reshape(expected.shape)
    totals = seen.sum(axis=0)
    expected = expected * totals
    possible = expected > 0
    if seen[~possible].any():
        return 0.0
    assert expected[possible].min() >= least, "too few records for the chi-square approximation"
    statistic = ((seen - expected)[possible] ** 2 / expected[possible]).sum()
    freedom = possible.sum() - (totals > 0).sum()
    return float(stats.chi2.sf(statistic, freedom)) if freedom else 1.0


@pytest.fixture(scope="session")
def p_value():
    """``p_value(reports, records, shape, matrix, least=20, every=None)`` of a chi-square test."""
    return _p_value


def _refused(kind, call, *, field=None, mentions=(), never=()):
    """Assert that `call` raises exactly `kind` with one line that has `mentions` and no `never`."""
    with pytest.raises(HalftruthError) as caught:
        call()
    error = caught.value
    message = str(error)
    assert type(error) is kind
    assert message
    assert "\n" not in message
    assert message.isprintable()
    if field is not None:
        assert error.field == field
    for words in mentions:
        assert words in message
    for secret in never:
        chain = [error]
        while chain[-1].__context__ is not None:
            chain.append(chain[-1].__context__)
        assert error.__cause__ is None
        for link in chain:
            assert secret not in str(link)
            assert secret not in repr(link.args)
            assert secret not in str(getattr(link, "field", "") or "")
    return error


@pytest.fixture(scope="session")
def refused():
    """``refused(kind, call, field=, mentions=, never=)``: assert a refusal."""
    return _refused
