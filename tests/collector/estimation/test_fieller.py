"""Fieller's set of a ratio against its definition, and its coverage."""

import numpy as np
import pytest
from halftruth_collector.estimation.estimates import Estimates
from halftruth_collector.estimation.intervals import SHARE, fieller_sets
from halftruth_shared.results import QUANTITIES
from mined import rows_of

from .definitions import Z


def holds(found, ratio):
    """Return whether the set of a result contains a ratio."""
    if found.set == "everything":
        return True
    if found.set == "outside":
        return not found.gap[0] < ratio < found.gap[1]
    lower, upper = found.interval
    return lower <= ratio <= upper


def messages(a, x, var_a, var_x, cov, of=QUANTITIES["coefficient"]):
    """Sets of ratios as rows of a result."""
    sets = fieller_sets(a, x, (var_a, var_x), cov, Z)
    nothing = np.full(len(sets.kind), np.nan)
    return rows_of(Estimates(of, nothing, nothing, lambda _: sets).columns())


def random_cases(count):
    """Estimates with positive definite covariances, with small to large errors."""
    rng = np.random.default_rng(5)
    roots = rng.normal(size=(count, 2, 2)) * rng.choice([0.01, 0.1, 1.0], size=(count, 1, 1))
    matrices = roots @ roots.transpose(0, 2, 1) + 1e-8 * np.eye(2)
    means = rng.uniform(-0.2, 1.0, size=(count, 2))
    return means, matrices


def test_a_set_contains_exactly_the_ratios_of_its_definition():
    means, matrices = random_cases(500)
    sets = messages(*means.T, matrices[:, 0, 0], matrices[:, 1, 1], matrices[:, 0, 1])
    tried = np.concatenate([np.linspace(-5, 5, 81), [-1e6, -1e3, 1e3, 1e6]])
    for row, ((a, x), matrix) in enumerate(zip(means, matrices, strict=True)):
        found = sets[row]
        for ratio in tried:
            direction = np.array([1, -ratio])
            slack = Z**2 * direction @ matrix @ direction - (a - ratio * x) ** 2
            if abs(slack) > 1e-9 * max(1, ratio**2):
                assert holds(found, ratio) == (slack > 0), (row, ratio)
    assert {found.set for found in sets} == {"interval", "outside", "everything"}


def test_a_set_of_shares_is_the_part_of_the_definition_between_0_and_1():
    """The interval encloses the set; a gap inside it is given separately."""
    means, matrices = random_cases(500)
    columns = (*means.T, matrices[:, 0, 0], matrices[:, 1, 1], matrices[:, 0, 1])
    kinds = set()
    for whole, found in zip(messages(*columns), messages(*columns, of=SHARE), strict=True):
        inside = [c for c in np.linspace(0, 1, 1001) if holds(whole, c)]
        kinds.add((whole.set, found.set, found.gap is None))
        if found.set == "empty":
            assert (inside, found.interval, found.reliability) == ([], None, "not usable")
            continue
        lower, upper = found.interval
        assert 0 <= lower <= upper <= 1
        assert all(lower <= c <= upper for c in inside)
        assert not inside or (inside[0] - lower < 2e-3 and upper - inside[-1] < 2e-3)
        if found.gap is not None:
            assert lower == 0 < found.gap[0] < found.gap[1] < upper == 1
    assert kinds >= {("outside", "outside", False), ("outside", "outside", True)}
    assert kinds >= {("interval", "empty", True), ("everything", "everything", True)}


@pytest.mark.nightly
@pytest.mark.parametrize("clear", [0.0, 0.5, 2.0, 10.0])
def test_coverage_is_nominal_however_small_the_denominator(clear):
    """With 20 000 normal pairs, the tolerance of 0.6 points is four standard deviations."""
    rng = np.random.default_rng(6)
    matrix = np.array([[0.02, 0.01], [0.01, 0.03]])
    x = clear * np.sqrt(matrix[1, 1])
    true_ratio = 0.4
    pairs = rng.multivariate_normal([true_ratio * x, x], matrix, size=20_000)
    columns = [np.full(20_000, value) for value in (matrix[0, 0], matrix[1, 1], matrix[0, 1])]
    sets = messages(*pairs.T, *columns)
    covered = np.mean([holds(found, true_ratio) for found in sets])
    assert covered == pytest.approx(0.95, abs=0.0062)


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ((0.2, 0.5, np.nan, 0.01, 0.001), None),
        ((0.2, 0.5, 0.01, np.nan, 0.001), None),
        ((0.2, 0.5, 0.0, 0.0, 0.0), None),
        ((0.0, 0.0, 0.01, 0.01, 0.0), "everything"),
    ],
)
def test_undefined_sets_are_none_and_unbounded_sets_are_everything(numbers, said):
    [found] = messages(*(np.array([number]) for number in numbers))
    assert (found.interval and found.set) == said
    if found.interval is not None:
        assert found.interval == (None, None)
