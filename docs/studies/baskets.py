"""Market baskets as answers to one question: which itemsets can be found, and by which scheme."""

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations
from typing import NamedTuple

import numpy as np
from halftruth_collector.estimation import Counts, Estimator
from halftruth_collector.estimation.reliability import WELL_FILLED
from halftruth_collector.estimation.selection import discoveries
from halftruth_collector.estimation.table import Table
from halftruth_shared import Attribute, Mechanism, Schema, SplitQuestionnaire, Survey, ViewClass
from halftruth_shared.attribute import MultipleResponse
from halftruth_shared.results.wording import number
from halftruth_studies.mining.quest import Quest
from halftruth_studies.schemes.baskets import Baskets, BasketScheme
from halftruth_studies.schemes.cut_and_paste import CutAndPaste
from halftruth_studies.schemes.mask import Mask
from numpy.typing import NDArray
from page import Page
from scipy.stats import norm

GAMMA = Fraction(19)
#: T10.I4 with 100 items, and the largest number of items of a basket.
MARKET, AT_MOST = Quest(baskets=60_000, items=100, itemsets=100), 15
SUPPORTS = (0.02, 0.05, 0.10)
LEVEL = 0.05

Array = NDArray[np.float64]


class Supports(NamedTuple):
    """Estimated supports of items or of pairs of items, with their standard errors.

    The error is infinite where too few reports are about an itemset for a normal approximation.
    """

    value: Array
    error: Array


#: Supports of all items, and of pairs of items, in the order of `combinations`.
Found = tuple[Supports, Supports]


def study(page: Page) -> None:
    """Fill the page."""
    rng = np.random.default_rng(4)
    drawn = MARKET.simulate(rng)
    baskets = limited(drawn, rng)
    truth = np.diag(joint(baskets)), _pairs(joint(baskets))
    page.table(
        "market",
        ["support of at least", *(f"{100 * each:.0f} %" for each in SUPPORTS)],
        [
            [name, *(number(int((true >= each).sum())) for each in SUPPORTS)]
            for name, true in zip(("items", "pairs of items"), truth, strict=True)
        ],
    )
    page.put("cut", f"{100 * (drawn.sum(axis=1) > AT_MOST).mean():.1f} %")
    errors, listed = [], []
    for name, scheme in schemes().items():
        found = scheme(baskets, np.random.default_rng(5))
        errors.append([name, *(_error(*each) for each in zip(found, truth, strict=True))])
        listed.append([name, *_listed(found, truth)])
    page.table("errors", ["", "items", "pairs of items"], errors)
    heads = [f"{kind} of {100 * each:.0f} %" for kind in ("items", "pairs") for each in SUPPORTS]
    page.table("found", ["", *heads, "not frequent"], listed)


def schemes() -> dict[str, Callable[[Baskets, np.random.Generator], Found]]:
    """Return functions that simulate one survey each, by name."""
    question = MultipleResponse("basket", at_most=AT_MOST)
    items = range(MARKET.items)
    as_set = [Attribute(f"basket.i{j}", ("no", "yes"), ("yes",), question=question) for j in items]
    alone = Schema(tuple([Attribute(f"i{j}", ("no", "yes"), ("yes",)) for j in items]))

    def of_set(*weights: tuple[int, bool]) -> Callable[[Baskets, np.random.Generator], Found]:
        views = [
            ViewClass(attributes=(("basket",),), weight=weight, pairs=pairs)
            for weight, pairs in weights
        ]
        mechanism = SplitQuestionnaire(GAMMA, views, [])
        return lambda baskets, rng: _survey(Schema(tuple(as_set)), mechanism, baskets, rng)

    each = SplitQuestionnaire.designed(alone, GAMMA, (), {1: 1.0, 2: 1.0})
    padded = Schema(tuple([Attribute(f"p{j}", ("no", "yes")) for j in range(AT_MOST)]))
    mask = Mask.for_amplification(padded, GAMMA)
    cut = CutAndPaste.best(padded, GAMMA, 2)
    assert cut is not None  # noqa: S101 - γ is large enough
    return {
        "one question, half about items and half about pairs": of_set((1, False), (1, True)),
        "one question, nine tenths about pairs": of_set((1, False), (9, True)),
        "an attribute for each item": lambda baskets, rng: _survey(alone, each, baskets, rng),
        "MASK": lambda baskets, rng: _scheme(mask, mask.perturb(baskets, rng), baskets.shape[1]),
        f"cut-and-paste, K = {cut.cutoff}": lambda baskets, rng: _scheme(
            cut, cut.perturb(filled(baskets), rng), baskets.shape[1]
        ),
    }


def limited(baskets: Baskets, rng: np.random.Generator) -> Baskets:
    """Leave a random choice of items in baskets of more than `AT_MOST`."""
    order = np.where(baskets, rng.random(baskets.shape), 2.0).argsort(axis=1).argsort(axis=1)
    return np.asarray(baskets & (order < AT_MOST))


def filled(baskets: Baskets) -> Baskets:
    """Add artificial items, so that all baskets have `AT_MOST`."""
    missing = AT_MOST - baskets.sum(axis=1)
    return np.hstack([baskets, np.arange(AT_MOST) < missing[:, np.newaxis]])


def joint(baskets: Baskets) -> Array:
    """Return the shares of baskets with both of two items."""
    held = baskets.astype(np.float64)
    return np.asarray(held.T @ held / len(held))


def _pairs(matrix: Array) -> Array:
    return np.asarray(matrix[np.triu_indices(len(matrix), 1)])


def _survey(
    schema: Schema, mechanism: Mechanism, baskets: Baskets, rng: np.random.Generator
) -> Found:
    """Estimate by halftruth, from simulated reports."""
    survey = Survey("baskets", "Baskets", schema, mechanism)
    reports = survey.perturbation.reports(baskets.astype(np.int64), rng)
    estimator = Estimator(survey, Counts.from_reports(survey, reports))
    found = []
    for length in (1, 2):
        tables, cell = combinations(schema.names, length), (1,) * length
        numbers = [_cell(estimator.table(names), cell) for names in tables]
        value, variance, reports = np.array(numbers).T
        found.append(Supports(value, np.where(reports < WELL_FILLED, np.inf, np.sqrt(variance))))
    return found[0], found[1]


def _cell(table: Table, cell: tuple[int, ...]) -> tuple[float, float, float]:
    """Return the share of a cell, its variance and its effective reports."""
    return table.value[cell], table.variance()[cell], table.effective_reports[cell]


def _scheme(scheme: BasketScheme, reports: Baskets, items: int) -> Found:
    """Estimate by a scheme of the literature: means of weights by the number of items reported."""
    both = joint(reports[:, :items])
    single = np.diag(both)
    found = []
    for length in (1, 2):
        weights = scheme.weights(AT_MOST, length)
        assert weights is not None  # noqa: S101 - two items are identified
        value, square = (_mean(each, single, both) for each in (weights, weights**2))
        found.append(Supports(value, np.sqrt((square - value**2) / len(reports))))
    return found[0], found[1]


def _mean(weights: Array, single: Array, both: Array) -> Array:
    """Return the mean weight over reports, for each item or, with three weights, for each pair."""
    if len(weights) == 2:
        return np.asarray(weights[0] + (weights[1] - weights[0]) * single)
    either = _pairs(single[:, np.newaxis] + single)
    return np.asarray(
        weights[0]
        + (weights[1] - weights[0]) * either
        + (weights[2] - 2 * weights[1] + weights[0]) * _pairs(both)
    )


def _error(found: Supports, truth: Array) -> str:
    """Return the root mean square error in percentage points."""
    return number(100 * float(np.sqrt(np.mean((found.value - truth) ** 2))), 2)


def _listed(found: Found, truth: tuple[Array, Array]) -> list[str]:
    """Return how many itemsets are frequent and listed as such at each support, and the others.

    They are listed at a false discovery rate, of two-sided tests that the support is this one.
    """
    listed, wrong = [], []
    value, error, true = (
        np.concatenate(each)
        for each in zip(*((*s, t) for s, t in zip(found, truth, strict=True)), strict=True)
    )
    is_pair = np.arange(len(true)) >= len(truth[0])
    for least in SUPPORTS:
        distance = (value - least) / error
        above = discoveries(2 * norm.sf(abs(distance)), LEVEL) & (distance > 0)
        right = above & (true >= least)
        listed += [(right & ~is_pair).sum(), (right & is_pair).sum()]
        wrong.append((above & ~right).sum())
    return [number(int(each)) for each in (*listed[::2], *listed[1::2], sum(wrong))]
