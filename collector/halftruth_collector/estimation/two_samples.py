"""Samples of one question, each randomized with other probabilities.

In sample g somebody whose answer is yes and who follows the instructions reports yes with
probability a_g, somebody else who follows them with b_g, and whoever does not reports no. With θ₁
and θ₀ the shares of the first two, yes has the probability λ_g = a_g θ₁ + b_g θ₀ in sample g: two
equations, which are solved for two unknown shares. With Greenberg's unrelated question it is
p_g π + (1 − p_g) u, where p_g = a_g − b_g and u is the prevalence of that question.

Estimates maximize the likelihood of both samples among the shares that are possible, and intervals
are those of the profile likelihood. Standard errors are those of the unrestricted moment estimates,
by the delta method.

A regression has θ₁ = s m(x), θ₀ = s (1 − m(x)) or the like, with one share s of everybody; and of
strata that are samples of their own the prevalence is Σ W_h π_h, with Σ W_h² var(π̂_h) as its
variance (Hong, Yum and Lee 1994; with probabilities of each stratum Kim and Warde 2004).
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np
import scipy
from halftruth_shared import ParameterError
from halftruth_shared.analyses.two_samples import SampleDesign, Samples
from numpy.typing import NDArray

from .bounds import Array, normal_quantile
from .model.perturbed_outcome import perturbed_outcome_regression
from .predictors import Predictors
from .ratios import MIN_Z
from .regression import Regression, without_numbers
from .responses import Outcome

#: Corners of the shares (θ₁, θ₀) that are possible, as they follow each other.
_CORNERS = {
    "compliance": [(1, 0), (0, 1)],
    "cheater-detection": [(0, 0), (1, 0), (0, 1)],
    "lie-detector": [(0, 0), (1, 0), (0, 1)],
    "unrelated-question": [(0, 0), (1, 0), (1, 1), (0, 1)],
}

#: A share as a ratio of (θ₁, θ₀, 1): coefficients of its numerator and denominator.
_Ratio = tuple[tuple[int, int, int], tuple[int, int, int]]

_THETA_1, _THETA_0, _WHOLE = (1, 0, 0), (0, 1, 0), (0, 0, 1)

#: What each design identifies.
QUANTITIES: dict[Samples, dict[str, _Ratio]] = {
    "compliance": {"prevalence": (_THETA_1, _WHOLE)},
    "strata": {"prevalence": (_THETA_1, _WHOLE)},
    # Atsusaka and Stevenson 2023, here of θ₁ and θ₀ as those who do not answer at random.
    "anchor": {"prevalence": (_THETA_1, (1, 1, 0)), "attentive": ((1, 1, 0), _WHOLE)},
    # Clark and Desharnais 1998; what cheaters would answer is not known.
    "cheater-detection": {
        "honest yes": (_THETA_1, _WHOLE),
        "honest no": (_THETA_0, _WHOLE),
        "cheaters": ((-1, -1, 1), _WHOLE),
    },
    # Moshagen, Musch and Erdfelder 2012: every cheater's answer is yes.
    "lie-detector": {
        "prevalence": ((0, -1, 1), _WHOLE),
        "honest, of these": (_THETA_1, (0, -1, 1)),
    },
    # Greenberg, Abul-Ela, Simmons and Horvitz 1969.
    "unrelated-question": {
        "prevalence": (_THETA_1, _WHOLE),
        "prevalence of the harmless question": (_THETA_0, _WHOLE),
    },
}

#: What a regression estimates of the design besides, as a share of everybody.
SHARES: dict[SampleDesign, str] = {
    "cheater-detection": "cheaters",
    "lie-detector": "honest, of these",
    "unrelated-question": "prevalence of the harmless question",
}

#: Singular value below which samples count as randomized alike.
_ALIKE = 1e-9


@dataclass(frozen=True)
class Share:
    """Estimate of a share; NaN is what is not defined."""

    quantity: str
    value: float
    moment: float
    standard_error: float
    lower: float
    upper: float


@dataclass(frozen=True, eq=False)
class TwoSamples:
    """Answers of two samples.

    Parameters
    ----------
    yes, reports : ndarray, shape (2,)
        Reports of yes and all reports, of each sample at least one.
    channels : ndarray, shape (2, 2)
        For each sample a_g and b_g.
    design : SampleDesign

    Examples
    --------
    >>> yes, reports = np.array([320.0, 520.0]), np.array([1000.0, 1000.0])
    >>> half = TwoSamples(yes, reports, np.array([[1, 0.25], [1, 0.75]]), "cheater-detection")
    >>> [(share.quantity, round(share.value, 3)) for share in half.shares(0.95)]
    [('honest yes', 0.22), ('honest no', 0.4), ('cheaters', 0.38)]
    >>> half.p_value < 0.001
    True
    """

    yes: Array
    reports: Array
    channels: Array
    design: SampleDesign

    @property
    def _rows(self) -> Array:
        """Coefficients of θ₁ and θ₀ in λ, shape (2, 2)."""
        return _rows(self.channels, self.design)

    @property
    def undefined(self) -> str | None:
        """Why nothing is identified, if so."""
        return undefined(self.channels, self.design)

    def shares(self, confidence: float) -> Iterator[Share]:
        """Estimate every share that the design identifies."""
        corners = np.array(_CORNERS[self.design], dtype=float)
        moment, covariance = self._moments()
        if self.design != "compliance" and _is_inside(moment, corners):
            best, level = moment, float(self._level(self._rows @ moment))
        else:
            best, level = self._best(_edges(corners))
        limit = level - normal_quantile(1 - confidence) ** 2 / 2
        for quantity, ratio in QUANTITIES[self.design].items():
            top, bottom = np.array(ratio, dtype=float)

            def profile(value: float, top: Array = top, bottom: Array = bottom) -> float:
                segment = _clip(corners, top - value * bottom)
                return -math.inf if segment is None else self._best([segment])[1]

            value, unrestricted = (_ratio(top, bottom, shares) for shares in (best, moment))
            with np.errstate(divide="ignore", invalid="ignore"):
                slope = (top - unrestricted * bottom)[:2] / (bottom @ [*moment, 1.0])
            # Where nobody is in the denominator every ratio is as likely.
            middle = 0.5 if math.isnan(value) else min(max(value, 0.0), 1.0)
            yield Share(
                quantity,
                value,
                unrestricted,
                math.sqrt(slope @ covariance @ slope),
                _end(profile, 0.0, middle, limit),
                _end(profile, 1.0, middle, limit),
            )

    @property
    def p_value(self) -> float | None:
        """P-value of the test that all follow the instructions, if there is one.

        By the likelihood ratio, against any departure; where who does not answers no, against that.
        """
        if self.design == "unrelated-question":
            return None
        # Of all lines of λ, also with a prevalence below 0: else a test of 0, too, would be in it.
        contrast = self.channels[:, 0] - self.channels[:, 1]
        ends = np.sort((np.array([[0.0], [1.0]]) - self.channels[:, 1]) / contrast, axis=0)
        line = [[end, 1 - end] for end in (ends[0].max(), ends[1].min())]
        everybody = self._best([np.array(line)])[1]
        gain = float(self._level(self.yes / self.reports)) - everybody
        root = math.sqrt(max(0.0, 2 * gain))
        normal = NormalDist()
        if self.design == "compliance":
            return 2 * normal.cdf(-root)
        return normal.cdf(-root if self._moments()[0].sum() < 1 else root)

    def _moments(self) -> tuple[Array, Array]:
        """Unrestricted (θ₁, θ₀) with their covariance."""
        share = self.yes / self.reports
        variance = share * (1 - share) / np.maximum(self.reports - 1, 1)
        if self.design == "compliance":
            # Each sample has an estimate; weights are of shares that are never 0 or 1.
            contrast = self.channels[:, 0] - self.channels[:, 1]
            smooth = (self.yes + 0.5) / (self.reports + 1)
            weights = self.reports * contrast**2 / (smooth * (1 - smooth))
            slope = weights / weights.sum() / contrast
            prevalence = float(slope @ (share - self.channels[:, 1]))
            spread = float(slope**2 @ variance)
            return np.array([prevalence, 1 - prevalence]), spread * np.array([[1.0, -1], [-1, 1]])
        inverse = np.linalg.inv(self._rows)
        return inverse @ share, inverse @ np.diag(variance) @ inverse.T

    def _level(self, chances: Array) -> Array:
        """Log-likelihood of the probabilities of yes, shape (..., 2)."""
        yes = scipy.special.xlogy(self.yes, chances)
        no = scipy.special.xlog1py(self.reports - self.yes, -chances)
        return np.asarray((yes + no).sum(axis=-1))

    def _best(self, segments: Iterable[Array]) -> tuple[Array, float]:
        """Shares of the largest likelihood on segments between two, and its logarithm."""
        points = np.concatenate([self._stationary(*segment) for segment in segments])
        levels = self._level(np.clip(points @ self._rows.T, 0.0, 1.0))
        best = int(np.argmax(levels))
        return points[best], float(levels[best])

    def _stationary(self, start: Array, end: Array) -> Array:
        """Ends of a segment, and where the score is 0 on it: of a cubic, as λ is linear there."""
        chances, slopes = self._rows @ start, self._rows @ (end - start)
        cubic = np.zeros(4)
        for own, other in ((0, 1), (1, 0)):
            yes, reports, slope = self.yes[own], self.reports[own], slopes[own]
            excess = [-reports * slope, yes - reports * chances[own]]
            variance = np.convolve(
                [slopes[other], chances[other]], [-slopes[other], 1 - chances[other]]
            )
            cubic += slope * np.convolve(excess, variance)
        cubic[np.abs(cubic) < 1e-12 * np.abs(cubic).max()] = 0.0
        # Roots that are not on it stand for its ends, which are no maximum by mistake.
        places = np.concatenate([[0.0, 1.0], np.clip(np.roots(cubic).real, 0.0, 1.0)])
        return np.asarray(start + places[:, None] * (end - start))


def stratified(
    yes: Array, reports: Array, channels: Array, sizes: Array, confidence: float
) -> Share:
    """Estimate the prevalence in strata together.

    Parameters
    ----------
    yes, reports : ndarray, shape (strata,)
        Reports of yes and all reports, of each stratum at least two.
    channels : ndarray, shape (strata, 2)
    sizes : ndarray, shape (strata,)
        W_h, of which the sum is 1.
    """
    share, contrast = yes / reports, channels[:, 0] - channels[:, 1]
    each = (share - channels[:, 1]) / contrast
    variance = share * (1 - share) / (reports - 1) / contrast**2
    error = float(np.sqrt(sizes**2 @ variance))
    return _unrestricted("prevalence", float(sizes @ each), error, confidence)


def _unrestricted(quantity: str, moment: float, error: float, confidence: float) -> Share:
    half_width = normal_quantile(1 - confidence) * error
    return Share(quantity, moment, moment, error, moment - half_width, moment + half_width)


def anchored(both: Array, channels: Array, confidence: float) -> tuple[list[Share], float]:
    """Estimate a prevalence, and how many are attentive, by an anchor question of the same people.

    Who is not answers yes to either with 1/2: λ − 1/2 = γ (a π + b (1 − π) − 1/2), and as nobody
    has what the anchor asks about, λ' − 1/2 = γ (b' − 1/2).

    Parameters
    ----------
    both : ndarray, shape (2, 2)
        Reports by the question and the anchor, no and yes.
    channels : ndarray, shape (2, 2)
        Of the question a and b, and then of the anchor.

    Returns
    -------
    shares : list of Share
        NaN where reports do not tell that anybody is attentive.
    p_value : float
        Of the test that all are.
    """
    reports = both.sum()
    share = np.array([both[1].sum(), both[:, 1].sum()]) / reports
    covariance = np.diag(share) - np.outer(share, share)
    covariance[0, 1] = covariance[1, 0] = both[1, 1] / reports - share.prod()
    covariance /= max(reports - 1, 1)
    (of_yes, of_no), (_, anchor) = channels
    with np.errstate(divide="ignore", invalid="ignore"):
        attentive = (share[1] - 0.5) / (anchor - 0.5)
        own = (share[0] - 0.5) / attentive
        slope = np.array([1, -own / (anchor - 0.5)]) / attentive / (of_yes - of_no)
        prevalence = (own + 0.5 - of_no) / (of_yes - of_no)
        of_attentive = math.sqrt(covariance[1, 1]) / abs(anchor - 0.5)
    if not attentive >= MIN_Z * of_attentive:
        nothing = Share("", *[math.nan] * 5)
        return [replace(nothing, quantity=name) for name in QUANTITIES["anchor"]], math.nan
    errors = math.sqrt(slope @ covariance @ slope), of_attentive
    quantities = zip(QUANTITIES["anchor"], (prevalence, attentive), errors, strict=True)
    shares = [_unrestricted(name, float(share), e, confidence) for name, share, e in quantities]
    return shares, NormalDist().cdf((attentive - 1) / of_attentive)


def undefined(channels: Array, design: SampleDesign) -> str | None:
    """Why samples of these channels identify nothing, if so."""
    if design != "compliance" and np.linalg.matrix_rank(_rows(channels, design), _ALIKE) < 2:
        return "the samples were randomized with the same probabilities"
    return None


def _channels_by_share(channels: Array, design: SampleDesign, yes: int) -> tuple[Array, Array]:
    """Return channels where the share of `SHARES` is 0, and what they change by for a unit of it.

    Parameters
    ----------
    channels : ndarray, shape (samples, 2, 2)
        P(report | answer), of those who follow the instructions.
    yes : int
        Number of the answer that is yes.
    """
    no = 1 - yes
    of_yes, of_no = channels[:, yes, yes], channels[:, yes, no]
    asked, nobody = of_yes - of_no, np.zeros(len(channels))
    # P(yes | yes) and P(yes | no), where the share is 0 and where it is 1.
    ends = {
        "cheater-detection": ((of_yes, of_no), (nobody, nobody)),
        "lie-detector": ((nobody, of_no), (of_yes, of_no)),
        "unrelated-question": ((asked, nobody), (nobody + 1, 1 - asked)),
    }[design]
    at_ends = np.empty((2, *channels.shape))
    at_ends[:, :, yes, yes], at_ends[:, :, yes, no] = np.moveaxis(np.array(ends), 1, 0)
    at_ends[:, :, no] = 1 - at_ends[:, :, yes]
    return at_ends[0], at_ends[1] - at_ends[0]


def fit_samples(
    numbers: Array,
    channels: Array,
    rows: NDArray[np.int64],
    predictors: Predictors,
    outcome: Outcome,
    design: SampleDesign,
) -> Regression:
    """Fit a regression to samples, with the share that their design leaves unknown.

    Parameters
    ----------
    numbers : ndarray, shape (x, reports)
    channels : ndarray, shape (samples, reports, answers)
    rows : ndarray of int, shape (x,)
        Number of the sample of each row.
    predictors : Predictors
        Of each row.
    outcome : Outcome
    design : SampleDesign

    Raises
    ------
    ParameterError
        If a design with an unknown share has not an outcome of two answers, or the outcome has no
        probabilities.
    """
    if design == "compliance":
        return perturbed_outcome_regression(numbers, channels[rows], predictors, outcome)
    if outcome.model != "logistic" or not outcome.is_distribution:
        raise ParameterError(
            f"model: expected a logistic one of two answers for {design}", field="model"
        )
    yes = int(np.argmax(outcome.scores))
    of_yes = channels[:, yes][:, [yes, 1 - yes]]
    if reason := undefined(of_yes, design):
        return without_numbers(len(outcome.places(len(predictors.terms))), reason)
    by_share = [each[rows] for each in _channels_by_share(channels, design, yes)]
    return perturbed_outcome_regression(numbers, by_share[0], predictors, outcome, by_share[1])


def samples_of(question: str, names: Sequence[str]) -> dict[str, str]:
    """Questions that samples were asked for one, and what each sample is called.

    Raises
    ------
    ParameterError
        If there are fewer than two.
    """
    start = f"{question}_"
    samples = {name: name.removeprefix(start) for name in names if name.startswith(start)}
    if len(samples) < 2:
        raise ParameterError(
            f"samples: the survey has {len(samples)} questions '{start}…'; expected one for each"
            " sample",
            field="samples",
        )
    return samples


def _rows(channels: Array, design: SampleDesign) -> Array:
    """Coefficients of θ₁ and θ₀ in λ, shape (samples, 2)."""
    if design != "unrelated-question":
        return channels
    asked = channels[:, 0] - channels[:, 1]
    return np.stack([asked, 1 - asked], axis=1)


def _ratio(top: Array, bottom: Array, shares: Array) -> float:
    below = float(bottom @ [*shares, 1.0])
    return float(top @ [*shares, 1.0]) / below if below else math.nan


def _edges(corners: Array) -> Array:
    return np.stack([corners, np.roll(corners, -1, axis=0)], axis=1)


def _is_inside(point: Array, corners: Array) -> bool:
    """Return true if a point is inside a polygon whose corners follow each other to the left."""
    first, last = np.moveaxis(_edges(corners), 1, 0)
    (x, y), (u, v) = (last - first).T, (point - first).T
    return bool((x * v - y * u >= 0).all())


def _clip(corners: Array, line: Array) -> Array | None:
    """Segment of a polygon on a line of coefficients (of θ₁, θ₀, 1), None where there is none."""
    crossings = []
    for first, last in _edges(corners):
        at_first, at_last = line @ [*first, 1.0], line @ [*last, 1.0]
        if at_first == at_last == 0:
            return np.array([first, last])
        if at_first * at_last <= 0:
            crossings.append(first + at_first / (at_first - at_last) * (last - first))
    if not crossings:
        return None
    points = np.array(crossings)
    return np.array([points[0], points[np.argmax(np.abs(points - points[0]).sum(axis=1))]])


def _end(profile: Callable[[float], float], end: float, middle: float, limit: float) -> float:
    """End of an interval: where the profile falls to a limit, if it does so before 0 or 1."""

    def above(value: float) -> float:
        # Where reports rule a share out it is infinitely far below.
        return max(profile(value) - limit, -1e6)

    return end if above(end) >= 0 else float(scipy.optimize.brentq(above, end, middle, xtol=1e-7))
