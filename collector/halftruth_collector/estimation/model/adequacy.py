"""Score tests of the interactions that a model leaves out (Rao 1948; Agresti 2013, §1.3.3).

With U the score of the parameters of an interaction at 0, the others at their estimates, and V its
efficient information I_ss − I_sθ (I_θθ + R)⁻¹ I_θs, the statistic U' V⁻¹ U is about χ² distributed,
with the number of parameters as degrees of freedom. No larger model is fitted. With sparse counts
the χ² approximation is inaccurate, so the distribution is simulated (parametric bootstrap) from the
efficient scores of simulated reports at the estimates, which are linear in the counts. All
interactions are tested with the same simulations.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import scipy
from halftruth_shared import Survey
from halftruth_shared.deadlines import check_deadline
from numpy.typing import NDArray

from ...counts import Counts
from ..bounds import Array
from ..report_model import ReportPart, report_parts
from .design import MAX_PARAMETERS, Design
from .fit import LoglinearModel, is_identified
from .information import Fitted, blocks

#: Eigenvalues of V below this fraction of the largest one are treated as 0.
_ROUNDING = 1e-9

#: Largest degree of the polynomials of the scores by which a linear-by-linear term is tested. The
#: whole interaction is tested, too, but with so many degrees of freedom it has little power.
_DEGREE = 2

#: Number of simulated sets of reports; the smallest p-value is 1/(_SIMULATIONS + 1).
_SIMULATIONS = 199

#: Number of simulated counts in memory.
_AT_ONCE = 2**22

Term = tuple[int, ...]


@dataclass(frozen=True)
class LackOfFit:
    """Score test of an interaction that a model omits.

    Attributes
    ----------
    term : tuple of str
    statistic : float
    degrees_of_freedom : int
    p_value : float
        Simulated probability of a statistic at least this large under the model.
    adjusted_p_value : float
        The same for the most significant of all tested interactions (familywise error rate).
    """

    term: tuple[str, ...]
    statistic: float
    degrees_of_freedom: int
    p_value: float
    adjusted_p_value: float


def adequacy(
    survey: Survey, counts: Counts, model: LoglinearModel, terms: Sequence[Term] | None = None
) -> list[LackOfFit]:
    """Test omitted interactions by score tests, the most significant one first.

    A pair that has only its linear-by-linear term has two tests: of polynomials of the scores up to
    degree two, and of the whole interaction.

    Parameters
    ----------
    counts : Counts
        The counts to which the model was fitted.
    terms : sequence of tuple of int, optional
        Axes of interactions whose lower-order parts are in the model; by default the
        `omitted_interactions`.

    Raises
    ------
    DomainTooLarge
        If there are too many distinct reports.
    """
    parts = report_parts(survey.perturbation, counts, model.schema.names)
    if terms is None:
        terms = omitted_interactions(survey, counts, model)
    statistics: list[tuple[Term, int, Array]] = []
    for several in _grouped(model.design, terms):
        check_deadline()
        statistics += _Tests(model, parts, several).statistics()
    # Adjusted for all tests: smallest χ² p-value of each simulation.
    levels = np.empty((len(statistics), _SIMULATIONS + 1))
    for row, (_, rank, values) in zip(levels, statistics, strict=True):
        check_deadline()
        row[:] = scipy.stats.chi2.logsf(values, rank)
    least = levels.min(axis=0, initial=0.0)
    results = [
        LackOfFit(
            tuple(model.schema.names[axis] for axis in term),
            float(values[0]),
            rank,
            float((values >= values[0]).mean()),
            float((least[1:] <= level[0]).sum() + 1) / len(values),
        )
        for (term, rank, values), level in zip(statistics, levels, strict=True)
    ]
    return sorted(results, key=_evidence)


def _evidence(test: LackOfFit) -> tuple[float, float, float, float]:
    """Return what tests are sorted by: p-values that are as small as simulated ones can be tie."""
    level = float(scipy.stats.chi2.logsf(test.statistic, test.degrees_of_freedom))
    return test.adjusted_p_value, test.p_value, level, -test.statistic


def omitted_interactions(survey: Survey, counts: Counts, model: LoglinearModel) -> list[Term]:
    """Return the omitted interactions of the next order that the reports identify.

    These are also the pairs with a linear-by-linear term alone, before interactions of three.
    """
    parts = report_parts(survey.perturbation, counts, model.schema.names)
    axes = range(len(model.design.shape))
    included = set(model.design.terms) - model.design.linear
    longest = max(map(len, model.design.terms))
    return [
        term
        for length in range(2, min(longest + 1, len(axes)) + 1)
        for term in combinations(axes, length)
        if term not in included
        and included.issuperset(combinations(term, length - 1))
        and is_identified(term, parts)
    ]


def has_room(design: Design, term: Term) -> bool:
    """Return whether a model of this design could have a further interaction."""
    return design.columns + _columns(design, term) <= MAX_PARAMETERS


def size_of_tests(
    survey: Survey, counts: Counts, model: LoglinearModel, terms: Sequence[Term]
) -> int:
    """Return the number of distinct reports times the number of parameters."""
    parts = report_parts(survey.perturbation, counts, model.schema.names)
    columns = model.design.columns + sum(_columns(model.design, term) for term in terms)
    return sum(part.counts.size for part in parts) * columns


def _columns(design: Design, term: Term) -> int:
    """Return the number of columns that a term adds."""
    if term in design.linear:
        return 0
    return math.prod(design.shape[axis] - 1 for axis in term)


def _grouped(design: Design, terms: Sequence[Term]) -> Iterator[list[Term]]:
    """Group interactions that fit into one design."""
    several: list[Term] = []
    columns = design.columns
    for term in terms:
        if several and columns + _columns(design, term) > MAX_PARAMETERS:
            yield several
            several, columns = [], design.columns
        several.append(term)
        columns += _columns(design, term)
    if several:
        yield several


class _Tests:
    """Efficient scores and tests of omitted interactions."""

    def __init__(
        self, model: LoglinearModel, parts: Sequence[ReportPart], terms: Sequence[Term]
    ) -> None:
        self._parts = parts
        own_design = model.design
        full = [term for term in own_design.terms if term not in own_design.linear]
        design = Design(
            own_design.shape, [*full, *terms], own_design.scores, own_design.linear - {*terms}
        )
        numbers = [design.terms.index(term) for term in terms]
        old = np.isin(design.term_of, [design.terms.index(term) for term in own_design.terms])
        # Which parameters the model has; a pair can have a part of them.
        included = np.zeros(design.columns, dtype=bool)
        included[old] = own_design.kept
        self._others = included[design.kept]
        term_of = design.term_of[design.kept]
        corner = np.zeros(design.columns)
        corner[old] = model.fitted.corner
        self._fitted = Fitted(design, corner, model.fitted.feasible)
        score, information = np.zeros(design.parameters), np.zeros((design.parameters,) * 2)
        for part in parts:
            for counts, probabilities, scores in self._scores(part):
                check_deadline()
                score += scores @ counts
                information += part.counts.sum() * (scores * probabilities) @ scores.T
        others = self._others
        within = information[np.ix_(others, others)] + np.diag(model.penalty)
        smooth = design.of_degree(own_design.linear, _DEGREE)[design.kept]
        self._terms: list[Term] = []
        self._observed, weights = [], []
        tested: list[tuple[Term, NDArray[np.bool_]]] = []
        for term, number in zip(terms, numbers, strict=True):
            whole = (term_of == number) & ~others
            if term in own_design.linear:
                tested.append((term, whole & smooth))
            tested.append((term, whole))
        for term, own in tested:
            check_deadline()
            taken = np.linalg.solve(within, information[np.ix_(others, own)]).T
            spread = information[np.ix_(own, own)] - taken @ information[np.ix_(others, own)]
            values, vectors = np.linalg.eigh(spread)
            kept = values > _ROUNDING * max(float(values[-1]), 0.0)
            root = vectors[:, kept] / np.sqrt(values[kept])
            # At the maximum, the scores of the included parameters equal the gradient of the
            # penalty.
            self._terms.append(term)
            self._observed.append(score[own] @ root)
            efficient = np.zeros((design.parameters, root.shape[1]))
            efficient[own], efficient[others] = root, -taken.T @ root
            weights.append(efficient)
        self._weights = np.hstack(weights)

    def _scores(self, part: ReportPart) -> list[tuple[Array, Array, Array]]:
        """Return counts, probabilities and scores of reports, in sum-to-zero coding."""
        recode, scored = self._fitted.design.corner.T, []
        for counts, block in blocks(part, self._fitted):
            check_deadline()
            possible = block[0] > 0
            probabilities = block[0, possible]
            scores = recode @ (block[1:, possible] / probabilities)
            scored.append((counts[possible], probabilities, scores))
        return scored

    def statistics(self) -> list[tuple[Term, int, Array]]:
        """Return rank and statistics of each test: the observed one, then the simulated ones."""
        totals = np.zeros((_SIMULATIONS, self._weights.shape[1]))
        for number, part in enumerate(self._parts):
            # Use the same simulated reports for every group of interactions.
            rng = np.random.default_rng([0, number])
            every = self._scores(part)
            probabilities = np.concatenate([chances for _, chances, _ in every])
            weights = np.hstack([scores for _, _, scores in every]).T @ self._weights
            step = max(1, _AT_ONCE // len(probabilities))
            for start in range(0, _SIMULATIONS, step):
                check_deadline()
                several = min(step, _SIMULATIONS - start)
                drawn = rng.multinomial(
                    int(part.counts.sum()), probabilities / probabilities.sum(), several
                )
                totals[start : start + several] += drawn @ weights
        ends = np.cumsum([len(observed) for observed in self._observed])
        by_term = zip(self._terms, self._observed, np.split(totals, ends[:-1], axis=1), strict=True)
        return [
            (term, len(observed), np.append((observed**2).sum(), (simulated**2).sum(axis=1)))
            for term, observed, simulated in by_term
        ]
