"""Score tests of the interactions that a model leaves out (Rao 1948; Agresti 2013, §1.3.3).

With U the score of the parameters of an interaction at 0, where all others are at their estimates,
and V its information less what these take of it, I_ss − I_sθ (I_θθ + R)⁻¹ I_θs, the statistic
U' V⁻¹ U has about a χ² distribution with as many degrees of freedom as there are parameters. It
needs no larger fit. Where reports are few for their kinds that is far off, so that its distribution
is that of simulated reports of the model: of their efficient scores at the estimates, which are
linear in the counts.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from halftruth_shared import ParameterError, Survey
from halftruth_shared.mechanisms.parts import ReportPart

from ..bounds import Array
from ..contrasts import holm_p_values
from ..counts import Counts
from .design import Design
from .fit import LoglinearModel
from .information import Fitted, blocks
from .preparation import is_told, parts_of

#: Smallest share of the largest eigenvalue of V that is not nothing.
_ROUNDING = 1e-9

#: Simulated counts that are held at once.
_AT_ONCE = 2**22


@dataclass(frozen=True)
class LackOfFit:
    """Test of an interaction that a model leaves out.

    Attributes
    ----------
    term : tuple of str
    statistic : float
    degrees_of_freedom : int
    p_value : float
        Chance of a statistic this large if the model holds, by simulation.
    adjusted_p_value : float
        The same for all tested interactions together (Holm).
    """

    term: tuple[str, ...]
    statistic: float
    degrees_of_freedom: int
    p_value: float
    adjusted_p_value: float


def adequacy(
    survey: Survey,
    counts: Counts,
    model: LoglinearModel,
    terms: Sequence[Collection[str]] | None = None,
    simulations: int = 199,
    seed: int = 0,
) -> list[LackOfFit]:
    """Test interactions that a model leaves out, the clearest one first.

    Parameters
    ----------
    survey : Survey
    counts : Counts
        Those that the model was fitted to.
    model : LoglinearModel
    terms : sequence of collections of str, optional
        Interactions all of whose parts are in the model; by default every such one that some
        reports tell of. Where reports are of pairs alone there is none.
    simulations : int
        At least 1; the smallest p-value is 1/(simulations + 1).
    seed : int

    Raises
    ------
    SchemaError, ParameterError
        For an interaction that is in the model, or has parts that are not.
    DomainTooLarge
        If the reports have too many kinds.
    """
    if simulations < 1:
        raise ParameterError("simulations: expected 1 or more", field="simulations")
    parts = parts_of(survey, counts, model.schema)
    if terms is None:
        candidates = [term for term in _next_terms(model.design) if is_told(term, parts)]
    else:
        candidates = [tuple(sorted(model.schema.positions(list(t), "terms"))) for t in terms]
        for term in candidates:
            if term in model.design.terms or not _parts_known(term, model.design):
                names = ", ".join(model.schema.names[axis] for axis in term)
                raise ParameterError(
                    f"terms: {names}; expected interactions that the model leaves out, all of whose"
                    " parts it has",
                    field="terms",
                )
    tests = [_Test(model, parts, term) for term in candidates]
    rng = np.random.default_rng(seed)
    p_values = np.array([test.p_value(simulations, rng) for test in tests])
    adjusted = np.minimum(holm_p_values(p_values), 1.0) if tests else p_values
    found = [
        LackOfFit(
            tuple(model.schema.names[axis] for axis in test.term),
            test.statistic,
            test.rank,
            float(p_value),
            float(each),
        )
        for test, p_value, each in zip(tests, p_values, adjusted, strict=True)
    ]
    return sorted(found, key=lambda test: (test.p_value, -test.statistic))


def _next_terms(design: Design) -> list[tuple[int, ...]]:
    """Interactions that are not in the model while everything that they contain is."""
    axes, longest = range(len(design.shape)), max(map(len, design.terms))
    return [
        term
        for length in range(2, min(longest + 1, len(design.shape)) + 1)
        for term in combinations(axes, length)
        if term not in design.terms and _parts_known(term, design)
    ]


def _parts_known(term: tuple[int, ...], design: Design) -> bool:
    return all(part in design.terms for part in combinations(term, len(term) - 1))


class _Test:
    """Efficient score of one interaction.

    Parameters
    ----------
    model : LoglinearModel
    parts : sequence of ReportPart
    term : tuple of int
    """

    def __init__(
        self, model: LoglinearModel, parts: Sequence[ReportPart], term: tuple[int, ...]
    ) -> None:
        self.term, self._parts = term, parts
        design = Design(model.design.shape, [*model.design.terms, term])
        self._own = design.term_of == design.terms.index(term)
        corner = np.zeros(design.parameters)
        corner[~self._own] = model.fitted.corner
        self._fitted = Fitted(design, corner, model.fitted.feasible)
        score, information = np.zeros(design.parameters), np.zeros((design.parameters,) * 2)
        for part in parts:
            for counts, probabilities, scores in self._scores(part):
                score += scores @ counts
                information += part.counts.sum() * (scores * probabilities) @ scores.T
        own, others = self._own, ~self._own
        within = information[np.ix_(others, others)] + np.diag(model.penalty)
        self._taken = np.linalg.solve(within, information[np.ix_(others, own)]).T
        spread = information[np.ix_(own, own)] - self._taken @ information[np.ix_(others, own)]
        values, vectors = np.linalg.eigh(spread)
        kept = values > _ROUNDING * max(float(values[-1]), 0.0)
        self.rank = int(kept.sum())
        self._root = vectors[:, kept] / np.sqrt(values[kept])
        # At the maximum all other scores are what the penalty takes from them.
        self.statistic = float(((score[own] @ self._root) ** 2).sum())

    def _scores(self, part: ReportPart) -> list[tuple[Array, Array, Array]]:
        """Counts, probabilities and scores of reports, in sum-to-zero coding."""
        recode, found = self._fitted.design.corner.T, []
        for counts, block in blocks(part, self._fitted):
            possible = block[0] > 0
            probabilities = block[0, possible]
            scores = recode @ (block[1:, possible] / probabilities)
            found.append((counts[possible], probabilities, scores))
        return found

    def p_value(self, simulations: int, rng: np.random.Generator) -> float:
        """Share of simulated statistics that are as large, the observed one among them."""
        totals = np.zeros((simulations, self.rank))
        for part in self._parts:
            every = self._scores(part)
            probabilities = np.concatenate([chances for _, chances, _ in every])
            scores = np.hstack([scores for _, _, scores in every])
            efficient = scores[self._own] - self._taken @ scores[~self._own]
            weights = efficient.T @ self._root
            step = max(1, _AT_ONCE // len(probabilities))
            for start in range(0, simulations, step):
                several = min(step, simulations - start)
                drawn = rng.multinomial(
                    int(part.counts.sum()), probabilities / probabilities.sum(), several
                )
                totals[start : start + several] += drawn @ weights
        larger = ((totals**2).sum(axis=1) >= self.statistic).sum()
        return float((1 + larger) / (1 + simulations))
