"""Fit of a hierarchical loglinear model of the true answers to counts of perturbed reports.

The true table is π(u) = exp(D_u θ − ψ(θ)), reports have the probabilities λ = Aπ, and θ maximizes
Σ n_y ln λ_y, whatever the mechanism (van den Hout & van der Heijden 2004; Agresti 2013, ch. 9).

A weak ridge penalty, equivalent to a normal prior of θ, keeps parameters of rare answers finite. θ
uses orthogonal contrasts of mean square 1, so the penalty does not depend on the order of
categories or on a reference category.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from halftruth_shared import Attribute, DomainTooLarge, EstimateError, Schema, Survey
from halftruth_shared.deadlines import check_deadline
from halftruth_shared.errors import listing
from numpy.typing import NDArray

from ...counts import Counts
from ..answers import answer_codes
from ..bounds import Array, project_to_simplex
from ..groups import records_of_cells, with_attributes
from ..reconstruction import reconstruction
from ..report_model import ReportPart, report_parts, with_reported
from .design import Design
from .information import Derivatives, Fitted, derivatives, largest_falls, log_likelihood

#: Largest table of a model.
MODEL_CELLS = 2**18


def is_identified(term: Collection[int], parts: Sequence[ReportPart]) -> bool:
    """Return whether the reports identify an interaction."""
    return any(part.tells_of(term) for part in parts)


def schema_of(whole: Schema, attributes: Sequence[str] | None) -> Schema:
    """Return the attributes of the model, in their order in the survey."""
    if attributes is None:
        positions: Sequence[int] = range(len(whole.names))
    else:
        positions = sorted(whole.positions(attributes))
    cells = math.prod(whole.shape[j] for j in positions)
    if cells > MODEL_CELLS:
        raise DomainTooLarge(
            f"attributes: a model of {cells} cells; expected at most {MODEL_CELLS}, so fewer"
            " attributes",
            field="attributes",
        )
    return with_attributes(whole, [whole.attributes[j] for j in positions])


def asked_pairs(survey: Survey, names: Sequence[str]) -> list[tuple[str, str]]:
    """Return the pairs of some attributes that some report asks together."""
    schema, family = survey.schema, reconstruction(survey).identified_sets
    pairs = family.pairs(schema.positions(names))
    return [(schema.names[one], schema.names[other]) for one, other in pairs]


#: Smallest number of answers of two ordered questions whose interaction is a linear-by-linear term
#: by default. The full interaction of two scales from 0 to 10 has 100 parameters; if they are
#: perturbed, their errors hide any association.
LINEAR_ANSWERS = 5


def design_of(
    survey: Survey,
    schema: Schema,
    terms: Sequence[Collection[str]] | None = None,
    further: Sequence[Collection[str]] = (),
) -> Design:
    """Return the design of a model of some attributes.

    Its interactions are `terms`, by default the `asked_pairs`, and `further` ones. Of the default
    pairs, those of two ordered attributes of `LINEAR_ANSWERS` answers or more have only the
    linear-by-linear term of their ranks, unless a further interaction has both.
    """
    named = [schema.positions(list(term), "terms") for term in (*(terms or ()), *further)]
    if terms is not None:
        return Design(schema.shape, named)
    pairs = [schema.positions(list(term)) for term in asked_pairs(survey, schema.names)]
    scores = {
        axis: ranks
        for axis, each in enumerate(schema.attributes)
        if each.ordered and np.isfinite(ranks := _ranks(each)).sum() >= LINEAR_ANSWERS
    }
    linear = [(one, other) for one, other in pairs if scores.keys() >= {one, other}]
    if not linear:
        return Design(schema.shape, [*pairs, *named])
    others = [pair for pair in pairs if pair not in linear]
    return Design(schema.shape, [*others, *named], scores, linear)


def _ranks(attribute: Attribute) -> Array:
    """Return the ranks of the answers to a question; NaN for missing categories."""
    ranks = np.full(len(attribute.categories), np.nan)
    answers = [*answer_codes(attribute)]
    ranks[answers] = np.arange(len(answers))
    return ranks


def off_the_edge(shares: Array, reports: int) -> Array:
    """Project shares onto the simplex and make them positive, since few true shares are 0."""
    possible = project_to_simplex(shares)
    above = np.maximum(possible, np.sqrt(1 / reports) / possible.size)
    return np.asarray(above / above.sum())


def feasible(schema: Schema) -> NDArray[np.bool_] | None:
    """Return the cells that are consistent with the routing (`ask_if`) and the sets of a survey.

    Conditions on attributes outside the schema are ignored. None if all cells are feasible.
    """
    if not schema.conditional and not schema.sets:
        return None
    return records_of_cells(schema) > 0


#: Largest number of scoring steps, and of halvings of each step.
_STEPS, _HALVINGS = 100, 30

#: Convergence: no linear function of θ changes by more than this part of its standard error.
_PRECISION = 1e-5

#: Length of a short step, in standard errors.
_FAR = 1.0

#: Smallest curvature that a step is divided by, as a share of the expected information, and
#: smallest slope in standard errors in a direction in which the likelihood is convex.
_LEAST_CURVATURE, _LEAST_SLOPE = 0.05, 0.01

#: Relative rounding error of a log-likelihood.
_ROUNDING = 1e-12

#: Prior variances of main effects and of interactions, in contrasts of mean square 1. For two
#: questions of two answers, the interaction is a quarter of the log odds ratio, so odds ratios up
#: to exp(±8) are plausible. They are fixed: in simulations, an estimated variance of the
#: interactions (empirical Bayes) halved the intervals for weak associations, but the coverage of
#: 95 % intervals for a single strong interaction was as low as 22 %.
PRIOR_VARIANCES = (100.0, 1.0)


@dataclass(frozen=True, eq=False)
class LoglinearModel:
    """A fitted hierarchical loglinear model of the true answers.

    Attributes
    ----------
    schema : Schema
    fitted : Fitted
        The estimated table, with the design.
    coefficients : ndarray, shape (p,)
        θ̂ in sum-to-zero coding.
    covariance : ndarray, shape (p, p)
        (I + R)⁻¹, with the observed information I and the penalty R. I is the expected information
        if the fit did not converge to a maximum.
    penalty : ndarray, shape (p,)
        Diagonal of R: 1 / prior variance of each parameter.
    reports : int
    parts : sequence of ReportPart
        The reports.
    log_likelihood : float
        Log-likelihood of these reports, given the number of reports of each view.
    converged : bool
        Whether a further step would change no parameter by a relevant part of its standard error.
    """

    schema: Schema
    fitted: Fitted
    coefficients: Array
    covariance: Array
    penalty: Array
    reports: int
    parts: Sequence[ReportPart]
    log_likelihood: float = math.nan
    converged: bool = True

    @property
    def design(self) -> Design:
        return self.fitted.design

    @property
    def table(self) -> Array:
        """π̂, an axis for each attribute."""
        return self.fitted.table

    def largest_falls(self, slopes: Array) -> Array:
        """Return how much one more report can lower functions of θ̂, shape (K,).

        Parameters
        ----------
        slopes : ndarray, shape (K, p)
            Gradients of the functions by θ.
        """
        return largest_falls(
            self.parts, self.fitted, slopes @ self.covariance @ self.design.corner.T, self.reports
        )

    @property
    def terms(self) -> list[tuple[str, ...]]:
        """Attributes of every interaction in the model, main effects first."""
        return [tuple(self.schema.names[axis] for axis in term) for term in self.design.terms]


@dataclass(frozen=True, eq=False)
class PenalizedLikelihood:
    """Penalized likelihood of a model of some reports.

    Attributes
    ----------
    schema : Schema
    design : Design
    parts : list of ReportPart
    penalty : ndarray, shape (p,)
        Diagonal of R.
    """

    schema: Schema
    design: Design
    parts: list[ReportPart]
    penalty: Array

    @cached_property
    def _feasible(self) -> NDArray[np.bool_] | None:
        return feasible(self.schema)

    def at(self, theta: Array) -> Fitted:
        """Return the table at some parameters."""
        return Fitted(self.design, self.design.corner @ theta, self._feasible)

    def level(self, theta: Array) -> float:
        """Return the penalized log-likelihood."""
        return log_likelihood(self.parts, self.at(theta)) - float(self.penalty @ theta**2) / 2

    def derivatives(self, theta: Array, *, expected: bool) -> Derivatives:
        """Return penalized score and information in sum-to-zero coding."""
        of_parts = derivatives(self.parts, self.at(theta), expected=expected)
        recoded, added = of_parts.recoded(self.design.corner), np.diag(self.penalty)
        return Derivatives(
            recoded.score - self.penalty * theta, recoded.observed + added, recoded.expected + added
        )

    def independence(self, single: Sequence[Array]) -> Array:
        """Return the parameters of independent answers, from positive shares of each question."""
        corner = np.zeros(self.design.columns)
        for axis, shares in enumerate(single):
            effects = np.log(shares[1:] / shares[0])
            corner[self.design.term_of == self.design.terms.index((axis,))] = effects
        return self.design.contrast @ corner

    def maximum(self, start: Array) -> LoglinearModel:
        """Return the model at a maximum.

        The likelihood of perturbed reports is not concave. Steps are Newton's if the observed
        information is positive definite. Otherwise they are Fisher's scoring steps and, once these
        are short, also follow directions of negative curvature.
        """
        theta, level = start, self.level(start)
        converged, steps, definite = False, 0, False
        while True:
            check_deadline()
            wanted, here = not definite, self.derivatives(theta, expected=not definite)
            definite = _is_definite(here.observed)
            if not definite and not wanted:
                here = self.derivatives(theta, expected=True)
            information = here.observed if definite else here.expected
            covariance: Array = np.asarray(np.linalg.inv(information), dtype=np.float64)
            step = covariance @ here.score
            converged = definite and bool(here.score @ step <= _PRECISION**2)
            if not definite and here.score @ step < _FAR**2:
                step = _indefinite_step(here)
            if converged or steps == _STEPS:
                break
            for halving in range(_HALVINGS):
                trial = theta + step / 2**halving
                reached = self.level(trial)
                if reached >= level - _ROUNDING * abs(level):
                    break
            else:
                break
            theta, level, steps = trial, reached, steps + 1
        return LoglinearModel(
            schema=self.schema,
            fitted=self.at(theta),
            coefficients=theta,
            covariance=covariance,
            penalty=self.penalty,
            reports=int(sum(part.counts.sum() for part in self.parts)),
            parts=self.parts,
            log_likelihood=level + float(self.penalty @ theta**2) / 2,
            converged=converged,
        )

    def expected_model(self, theta: Array, reports: int) -> LoglinearModel:
        """Return the model at some parameters, with the covariance by the expected information."""
        information = self.derivatives(theta, expected=True).expected
        covariance: Array = np.asarray(np.linalg.inv(information), dtype=np.float64)
        return LoglinearModel(
            self.schema, self.at(theta), theta, covariance, self.penalty, reports, self.parts
        )


def penalties(design: Design, variances: tuple[float, float] = PRIOR_VARIANCES) -> Array:
    """Return 1 / prior variance of each parameter.

    Linear-by-linear terms have that of main effects: many answers, most of them in the middle, need
    a large term for a moderate correlation (1.3 for a correlation of 0.4 on two scales of 0 to 10).
    """
    kept = design.kept
    is_main = (design.codes[kept] > 0).sum(axis=1) == 1
    is_linear = np.array([term in design.linear for term in design.terms])[design.term_of[kept]]
    return np.where(is_main | is_linear, 1 / variances[0], 1 / variances[1])


def _is_definite(matrix: Array) -> bool:
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True


def _indefinite_step(here: Derivatives) -> Array:
    """Return Newton's step with absolute curvatures, in units of the expected information.

    In a direction in which the likelihood is convex, the step has a minimum length even if the
    slope is 0, because such a point is no maximum.
    """
    root = np.linalg.cholesky(here.expected)
    half = np.linalg.solve(root, here.observed)
    curvatures, ways = np.linalg.eigh(np.linalg.solve(root, half.T))
    slopes = ways.T @ np.linalg.solve(root, here.score)
    small = (curvatures < 0) & (np.abs(slopes) < _LEAST_SLOPE)
    slopes[small] = np.copysign(_LEAST_SLOPE, slopes[small])
    step = ways @ (slopes / np.maximum(np.abs(curvatures), _LEAST_CURVATURE))
    return np.asarray(np.linalg.solve(root.T, step))


def fit_model(
    survey: Survey,
    counts: Counts,
    terms: Sequence[Collection[str]] | None = None,
    attributes: Sequence[str] | None = None,
    variances: tuple[float, float] = PRIOR_VARIANCES,
    further: Sequence[Collection[str]] = (),
) -> LoglinearModel:
    """Fit a loglinear model of the answers to the counts of perturbed reports.

    Parameters
    ----------
    survey : Survey
    counts : Counts
    terms : sequence of collections of str, optional
        Highest-order interactions, by attributes; by default all pairs that some report asks
        together, see `design_of`. Their lower-order parts and all main effects are included. Other
        pairs are assumed to be independent given the other answers.
    attributes : sequence of str, optional
        All by default. Views of a split questionnaire with further attributes contribute only if
        they are answered by k-ary randomized response.
    variances : tuple of float
        Prior variances of main effects and interactions; infinite without a penalty.
    further : sequence of collections of str
        Interactions besides `terms`.

    Raises
    ------
    SchemaError
        If an attribute is unknown.
    DomainTooLarge
        If the table has more than `MODEL_CELLS` cells, or there are too many parameters.
    EstimateError
        If the reports do not identify an interaction.

    Examples
    --------
    >>> from halftruth_shared import Attribute, RandomizedResponse
    >>> schema = Schema([Attribute(name, ["no", "yes"]) for name in ("smoker", "coughs")])
    >>> mechanism = RandomizedResponse({"smoker": "0.9", "coughs": "0.9"})
    >>> survey = Survey("health", "Health", schema, mechanism)
    >>> cells = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> counts = Counts.from_cells(survey, cells, [500, 100, 150, 250])
    >>> fit_model(survey, counts, variances=(math.inf, math.inf)).table.round(3).tolist()
    [[0.602, 0.023], [0.086, 0.289]]
    """
    counts.check(survey)
    schema = schema_of(survey.schema, attributes)
    return fit_design(survey, counts, schema, design_of(survey, schema, terms, further), variances)


def fit_design(
    survey: Survey,
    counts: Counts,
    schema: Schema,
    design: Design,
    variances: tuple[float, float] = PRIOR_VARIANCES,
) -> LoglinearModel:
    """Fit the model of a design, as `fit_model`."""
    parts = report_parts(survey.perturbation, counts, schema.names)
    for term in design.terms:
        if not is_identified(term, parts):
            *others, last = [f"'{schema.names[axis]}'" for axis in term]
            about = f"{', '.join(others)} and {last} together" if others else last
            needed = with_reported(survey.perturbation, schema.names)
            if further := listing([name for name in needed if name not in schema.names]):
                raise EstimateError(
                    f"attributes: the reports about {about} are about {further} as well; expected"
                    " them among the attributes of the model",
                    field="attributes",
                )
            raise EstimateError(
                f"terms: no report is about {about}; expected terms of attributes that are"
                " reported together",
                field="terms",
            )
    likelihood = PenalizedLikelihood(schema, design, parts, penalties(design, variances))
    single = marginal_shares(survey, counts, schema)
    return likelihood.maximum(likelihood.independence(single))


def marginal_shares(survey: Survey, counts: Counts, schema: Schema) -> list[Array]:
    """Return the estimated positive shares of each question."""
    tables = (reconstruction(survey).table(counts, [name]) for name in schema.names)
    return [off_the_edge(each.value, counts.reports) for each in tables]


def at_independence(survey: Survey, counts: Counts, model: LoglinearModel) -> LoglinearModel:
    """Return the expected model for independent answers with the estimated marginal shares.

    Its covariance is the expected one, independent of the estimated associations.
    """
    parts = report_parts(survey.perturbation, counts, model.schema.names)
    likelihood = PenalizedLikelihood(model.schema, model.design, parts, model.penalty)
    single = marginal_shares(survey, counts, model.schema)
    return likelihood.expected_model(likelihood.independence(single), counts.reports)


def at_even_answers(
    survey: Survey, counts: Counts, attributes: Sequence[str]
) -> LoglinearModel | None:
    """Return the expected model of asked pairs for evenly spread answers, without a penalty.

    Its covariance is the expected one, independent of all estimates. None if it is not identified.
    """
    schema = schema_of(survey.schema, attributes)
    design = design_of(survey, schema)
    parts = report_parts(survey.perturbation, counts, schema.names)
    if not all(is_identified(term, parts) for term in design.terms):
        return None
    nothing = np.zeros(design.parameters)
    likelihood = PenalizedLikelihood(schema, design, parts, nothing)
    try:
        model = likelihood.expected_model(nothing, counts.reports)
    except np.linalg.LinAlgError:
        return None
    return model if (np.diag(model.covariance) > 0).all() else None
