"""Weighting to known margins: raking, post-stratification and calibration, with design effects.

*Raking* corrects for nonresponse: the respondents are not a simple random sample, and are weighted
to the margins of the population (Deming & Stephan 1940; with one margin, post-stratification). It
assumes that, given the questions of the margins, response does not depend on the estimated answer,
and that response probabilities are products of one factor for each margin. *Calibration*
(regression estimation) uses the known margins of the target itself, without nonresponse: the error
of the estimated margins is known, and the correlated part of every other error is removed (Deville
& Särndal 1992, with the optimal coefficients of Montanari 1987).

Both need only an unbiased table of answer × margins and its covariance, whatever the mechanism,
and return the shares of the answers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

import numpy as np
import scipy
from halftruth_shared import Attribute, ParameterError, Schema
from halftruth_shared.deadlines import check_deadline
from halftruth_shared.errors import listing
from halftruth_shared.results.wording import number

from .answers import category_code
from .bounds import NEARLY_LINEAR, TOO_SMALL, Array
from .estimates import Estimates, normal_sets
from .intervals import SHARE
from .reliability import rounded_up
from .table import Table
from .variances import error_parts

#: Relative tolerance of the sum of a margin, since shares are written with few digits.
_WRITTEN = 1e-3

#: Smallest sum of a margin in numbers of people.
_PEOPLE = 2

#: Tolerance of raking, and its largest number of iterations.
_NEAR, _ROUNDS = 1e-11, 2_000

#: Smallest distance of margins, in standard errors. In 600 simulated surveys of 1 500 respondents,
#: a limit of five leaves an eighth undefined, three a sixtieth, with the same coverage.
_APART = 3

#: Relative size below which an eigenvalue, or a departure, is rounding error.
_ROUNDING, _AGREES = 1e-10, 1e-6


@dataclass(frozen=True, eq=False)
class Margin:
    """Known shares of the categories of one question, which sum to 1."""

    attribute: Attribute
    shares: Array


@dataclass(frozen=True, eq=False)
class Weighted:
    """Weighted distribution of the answers to a question, with errors by linearization.

    Attributes
    ----------
    answers : Estimates
        NaN if the margins cannot be used.
    weights : ndarray or None
        Raking weights of all combinations of the margins, with mean 1 over the respondents.
    design_effect : float or None
        Mean square of the weights: 1 plus their squared coefficient of variation (Kish 1965).
    p_value : float or None
        Of the test of calibration that the respondents have these margins.
    undefined : str or None
        Reason why the margins cannot be used.
    """

    answers: Estimates
    weights: Array | None = None
    design_effect: float | None = None
    p_value: float | None = None
    undefined: str | None = None

    @classmethod
    def of(
        cls, table: Table, shares: Array, gradient: Array, undefined: str | None = None, **more: Any
    ) -> "Weighted":
        """Return shares with the errors of their gradient by the cells of a table, (C, cells)."""
        rest = shares - gradient @ table.value.ravel()

        def linearized(people: Any) -> Any:
            cells = people.reshape(table.value.size, -1)
            found = gradient @ cells + rest[:, None]
            return found.reshape(len(shares), *people.shape[table.value.ndim :])

        answers, alone = (
            Estimates.contrast(each, linearized, SHARE) for each in (table, table.alone)
        )
        error = np.where(answers.standard_error > 0, answers.standard_error, np.nan)
        answers = replace(
            answers,
            standard_error=error,
            sets=normal_sets(shares, error),
            parts=error_parts(error**2, alone.standard_error**2),
            undefined=[undefined] * len(shares),
        )
        return cls(answers, undefined=undefined, **more)


def known_margins(
    schema: Schema, given: Mapping[str, Mapping[str, float]]
) -> tuple[list[Margin], float | None]:
    """Parse margins from a query; also return the number of people, None for shares.

    Parameters
    ----------
    given : mapping
        Share, or number of people, of every category of some attributes. A sum of shares may differ
        from 1 by a thousandth, due to rounding.

    Raises
    ------
    SchemaError
        If an attribute is unknown.
    ParameterError
        If a category is unknown or missing, or a sum is invalid.
    """
    margins: list[Margin] = []
    counted: dict[str, float] = {}
    for name, numbers in given.items():
        attribute = schema.attributes[schema.position(name, "margins")]
        shares = np.full(len(attribute.categories), np.nan)
        for category, share in numbers.items():
            shares[category_code(attribute, category, "margins")] = share
        missing = [c for c, s in zip(attribute.categories, shares, strict=True) if np.isnan(s)]
        if missing:
            raise _refused(f"expected a number for every category of '{name}', also '{missing[0]}'")
        total = float(shares.sum())
        if not isfinite(total) or (abs(total - 1) > _WRITTEN and total < _PEOPLE):
            raise _refused(
                f"those of '{name}' sum to {number(total)}; expected shares with the sum 1, or"
                " numbers of people"
            )
        if total >= _PEOPLE:
            counted[name] = total
        margins.append(Margin(attribute, shares / total))
    if counted and max(counted.values()) > (1 + _WRITTEN) * min(counted.values()):
        sums = ", ".join(f"{number(total)} of '{name}'" for name, total in counted.items())
        raise _refused(f"expected equally many people of each attribute, not {sums}")
    return margins, next(iter(counted.values()), None)


def rake(table: Table, margins: Sequence[Margin]) -> Weighted:
    """Estimate shares by raking: weight the respondents to the margins of the population.

    The factors of iterative proportional fitting solve Σ_h w_h π̂_h z_h = t, with w the product of
    one factor for each category in h, z the indicators of these categories and t the margins. For
    given factors, the equation is linear in the table, so an unbiased table gives an unbiased
    estimating equation. Negative estimates of cells are kept, since truncation would introduce a
    bias of the order of their error. The remaining bias is of order 1/N, as for every ratio.

    The error is that of the linear approximation: answer c of cell h counts with
    w_h (1 − x_h β_c), where x_h β_c is the weighted regression of the answer on the margins
    (Deville & Särndal 1992); for one margin that is the delta method of Σ_h t_h π̂(c|h).

    Parameters
    ----------
    table : Table
        Answers first, then an axis for each margin.

    Returns
    -------
    Weighted
        Undefined if a category with a positive margin is less than `NEARLY_LINEAR` standard errors
        above zero, if the margins are too collinear to identify their factors, or if no weights
        give these margins.
    """
    support, covariance = table.value, table.identified_covariance()
    kept = [np.flatnonzero(margin.shares) for margin in margins]
    inside = np.ix_(np.arange(len(support)), *kept)
    cells = np.arange(support.size).reshape(support.shape)[inside].ravel()
    shares, spread = support[inside], covariance[np.ix_(cells, cells)]
    answers, groups = len(shares), shares[0].size
    joint = spread.reshape(answers, groups, answers, groups)
    base, spread_base = shares.sum(axis=0), joint.sum(axis=(0, 2))
    indicators = _indicators(base.shape)
    variance = np.einsum("hk,hl,kl->h", indicators, indicators, spread_base)
    error = np.sqrt(np.maximum(variance, 0.0))
    distance = indicators @ base.ravel() / np.maximum(error, np.finfo(float).tiny)
    if distance.min() < NEARLY_LINEAR:
        row = int(np.argmin(distance))
        axis, code = _category([len(codes) for codes in kept], row)
        attribute = margins[axis].attribute
        name = f"{attribute.name}={attribute.categories[kept[axis][code]]}"
        return _undefined(
            table,
            f"nothing can be weighted by the share of respondents with {name}, {TOO_SMALL}"
            f"{_needed(table.reports, float(distance[row]))}",
        )
    known = [margin.shares[codes] for margin, codes in zip(margins, kept, strict=True)]
    factors = raking_factors(base, known)
    if factors is None:
        return _undefined(table, "no weights give the respondents these margins")
    weights = factors.ravel()
    weighted = weights * base.ravel()
    # One category of each margin follows from the others.
    free = np.concatenate([np.arange(len(t)) < len(t) - 1 for t in known])
    departures = (indicators - np.concatenate(known)[:, None])[free]
    slopes = (departures * weighted) @ departures.T
    if not _identified(slopes, departures, weights, spread_base, known):
        names = listing([margin.attribute.name for margin in margins])
        return _undefined(
            table,
            f"weights by {names} are not identified: these answers may be too dependent",
        )
    rows = shares.reshape(answers, groups)
    share = rows @ weights
    beta = np.linalg.solve(slopes, departures @ (weights * rows).T)
    predicted = share[:, None] + beta.T @ departures
    of_kept = weights * (np.eye(answers)[:, :, None] - predicted[:, None, :])
    gradient = np.zeros((answers, support.size))
    gradient[:, cells] = of_kept.reshape(answers, -1)
    everywhere = np.zeros(support.shape[1:])
    everywhere[np.ix_(*kept)] = factors
    effect = float(weighted @ weights)
    return Weighted.of(table, share, gradient, weights=everywhere, design_effect=effect)


def calibrate(table: Table, margins: Sequence[Margin]) -> Weighted:
    """Estimate shares by calibration to known margins of the target (regression estimator).

    The estimator π̂ + V_πt V_tt⁻¹ (t − t̂) has variance V − V_πt V_tt⁻¹ V_tπ. It reproduces the
    margins exactly, and its variance is at most that of π̂. It is biased under nonresponse; the
    hypothesis that the respondents have these margins is tested by (t − t̂)ᵀ V_tt⁻¹ (t − t̂) ~ χ².

    Parameters
    ----------
    table, margins
        As for :func:`rake`; the sampling fraction is that of the target of the margins: the
        respondents, or the sampled population.

    Returns
    -------
    Weighted
        Undefined if the covariance is not identified, or if unperturbed margins contradict the
        given ones.
    """
    support, covariance = table.value, table.identified_covariance()
    answers, groups = len(support), support[0].size
    if np.isnan(covariance).any():
        return _undefined(table, "the reports determine no error")
    free = np.concatenate([np.arange(len(m.shares)) < len(m.shares) - 1 for m in margins])
    known = np.concatenate([margin.shares for margin in margins])[free]
    sums = np.tile(_indicators(support.shape[1:])[free], (1, answers))
    with_margins = sums @ covariance
    of_margins = with_margins @ sums.T
    eigenvalues, vectors = np.linalg.eigh(of_margins)
    # Unperturbed answers of the respondents are known without error.
    uncertain = eigenvalues > _ROUNDING * np.diag(covariance).max()
    eigenvalues, vectors = eigenvalues[uncertain], vectors[:, uncertain]
    gap = known - sums @ support.ravel()
    along = vectors.T @ gap
    if np.abs(gap - vectors @ along).max(initial=0.0) > _AGREES:
        return _undefined(table, "the reports themselves tell margins without error, and others")
    per_answer = with_margins.reshape(len(sums), answers, groups).sum(axis=2)
    correction = per_answer.T @ vectors
    distance = along @ (along / eigenvalues)
    gradient = np.repeat(np.eye(answers), groups, axis=1)
    gradient -= (correction / eigenvalues) @ vectors.T @ sums
    return Weighted.of(
        table,
        support.reshape(answers, groups).sum(axis=1) + correction @ (along / eigenvalues),
        gradient,
        p_value=float(scipy.special.chdtrc(len(along), distance)) if len(along) else None,
    )


def _needed(reports: int, distance: float) -> str:
    """Return the number of reports with which an equal share would be large enough, in words."""
    # An error falls with the square root of the number of reports.
    if not distance > 1:
        return ""
    needed = rounded_up(reports * (NEARLY_LINEAR / distance) ** 2)
    return f"; with about {number(needed, 0)} reports such a share would do"


def _refused(message: str) -> ParameterError:
    return ParameterError(f"margins: {message}", field="margins")


def _undefined(table: Table, reason: str) -> Weighted:
    answers = len(table.value)
    share, gradient = np.full(answers, np.nan), np.full((answers, table.value.size), np.nan)
    return Weighted.of(table, share, gradient, reason)


def _indicators(shape: Sequence[int]) -> Array:
    """Return indicators of each category of each axis (rows) in the cells (columns)."""
    codes = np.indices(shape).reshape(len(shape), -1)
    return np.concatenate(
        [codes[axis] == np.arange(size)[:, None] for axis, size in enumerate(shape)]
    ).astype(np.float64)


def _category(sizes: Sequence[int], row: int) -> tuple[int, int]:
    """Return the axis and the code of a row of the indicators."""
    begins = np.cumsum([0, *sizes])
    axis = int(np.searchsorted(begins, row, side="right")) - 1
    return axis, row - int(begins[axis])


def raking_factors(table: Array, known: Sequence[Array]) -> Array | None:
    """Return the weights of iterative proportional fitting; None if it does not converge."""
    weights = np.ones_like(table)
    for _ in range(_ROUNDS):
        check_deadline()
        off = 0.0
        for axis, shares in enumerate(known):
            others = tuple(other for other in range(table.ndim) if other != axis)
            margin = (weights * table).sum(axis=others)
            # This happens only for tables with negative cells or empty categories.
            if not (margin > 0).all():
                return None
            off = max(off, float(np.abs(margin - shares).max()))
            weights = weights * np.expand_dims(shares / margin, others)
        if len(known) == 1 or off < _NEAR:
            return weights
    return None


def _identified(
    slopes: Array, departures: Array, weights: Array, spread: Array, known: Sequence[Array]
) -> bool:
    """Return whether the margins are not collinear, so that their factors are identified.

    The smallest unexplained variance of a category combination, given the others, has to be
    significantly above zero.
    """
    if len(known) == 1:
        return True
    sizes = [len(t) - 1 for t in known]
    alone = np.zeros_like(slopes)
    for begin, size in zip(np.cumsum([0, *sizes]), sizes, strict=False):
        part = slice(begin, begin + size)
        alone[part, part] = slopes[part, part]
    if not sum(sizes):
        return True
    left, combinations = scipy.linalg.eigh(slopes, alone)
    squares = weights * (combinations[:, 0] @ departures) ** 2
    return bool(left[0] > _APART * np.sqrt(squares @ spread @ squares))
