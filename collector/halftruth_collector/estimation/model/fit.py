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
from itertools import combinations

import numpy as np
from halftruth_shared import DomainTooLarge, EstimateError, ParameterError, Schema, Survey
from halftruth_shared.attribute import NOT_ASKED
from halftruth_shared.errors import listing
from numpy.typing import NDArray

from ..bounds import Array
from ..counts import Counts
from ..likelihood import project_to_simplex
from ..reconstruction import reconstruction
from ..report_model import ReportPart, report_parts
from .design import Design
from .information import Derivatives, Fitted, derivatives, log_likelihood

#: Largest table of a model.
MODEL_CELLS = 2**18


def check_told(schema: Schema, design: Design, parts: Sequence[ReportPart]) -> None:
    """Refuse interactions that the reports do not identify.

    Raises
    ------
    EstimateError
    """
    for term in design.terms:
        if not is_told(term, parts):
            raise EstimateError(
                f"terms: no report tells of {_listing(schema, term)}{' together' * (len(term) > 1)}"
                "; expected terms of attributes that are reported together",
                field="terms",
            )


def is_told(term: Collection[int], parts: Sequence[ReportPart]) -> bool:
    """Return whether the reports identify an interaction."""
    return any({*part.unperturbed, *part.axes}.issuperset(term) for part in parts)


def _listing(schema: Schema, term: Sequence[int]) -> str:
    names = [f"'{schema.names[axis]}'" for axis in term]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


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
    return Schema(tuple(whole.attributes[j] for j in positions))


def axes_of(schema: Schema, terms: Sequence[Collection[str]] | None) -> list[tuple[int, ...]]:
    """Axes of the highest-order interactions, all pairs by default."""
    if terms is None:
        return list(combinations(range(len(schema.names)), 2))
    return [schema.positions(list(term), "terms") for term in terms]


def independence(survey: Survey, counts: Counts, schema: Schema, design: Design) -> Array:
    """Return the parameters under independence (corner coding), from the marginal tables."""
    tables = (reconstruction(survey).table(counts, [name]) for name in schema.names)
    return of_independent(design, [off_the_edge(each.value, counts.reports) for each in tables])


def of_independent(design: Design, single: Sequence[Array]) -> Array:
    """Return the parameters under independence (corner coding), from positive marginal shares.

    Parameters
    ----------
    single : sequence of ndarray
        Marginal shares of each question.
    """
    corner = np.zeros(design.parameters)
    for axis, shares in enumerate(single):
        effects = np.log(shares[1:] / shares[0])
        corner[design.term_of == design.terms.index((axis,))] = effects
    return corner


def off_the_edge(shares: Array, reports: int) -> Array:
    """Project shares onto the simplex and keep them positive: an estimate of 0 is rarely true."""
    possible = project_to_simplex(shares)
    above = np.maximum(possible, np.sqrt(1 / reports) / possible.size)
    return np.asarray(above / above.sum())


def feasible(schema: Schema) -> NDArray[np.bool_] | None:
    """Return the records that are consistent with the routing (`ask_if`) of the questionnaire.

    Conditions on attributes outside the schema are ignored. None if all records are feasible.
    """
    if not schema.conditional:
        return None
    every, codes = np.ones(schema.shape, dtype=bool), np.indices(schema.shape, sparse=True)
    for j, attribute in enumerate(schema.attributes):
        if not attribute.ask_if or not set(attribute.ask_if) <= set(schema.names):
            continue
        asked = np.array(True)
        for name, answers in attribute.ask_if.items():
            i = schema.position(name)
            wanted = [schema.attributes[i].categories.index(answer) for answer in answers]
            asked = asked & np.isin(codes[i], wanted)
        every &= asked ^ (codes[j] == attribute.code(NOT_ASKED))
    return every


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

#: Smallest part of the information about a parameter that is not shared with others, if there is no
#: penalty (identification).
_SINGULAR = 1e-9


@dataclass(frozen=True, eq=False)
class Problem:
    """Maximization problem: the penalized log-likelihood of some reports.

    Attributes
    ----------
    names : tuple of str
        Of the attributes.
    design : Design
    parts : list of ReportPart
        Positions are axes of the table.
    ridge : ndarray, shape (p,)
        Diagonal of R.
    feasible : ndarray of bool or None
    """

    names: tuple[str, ...]
    design: Design
    parts: list[ReportPart]
    ridge: Array
    feasible: NDArray[np.bool_] | None = None

    def at(self, theta: Array) -> Fitted:
        return Fitted(self.design, self.design.corner @ theta, self.feasible)

    def level(self, theta: Array) -> float:
        """Penalized log-likelihood."""
        return log_likelihood(self.parts, self.at(theta)) - float(self.ridge @ theta**2) / 2

    def derivatives(self, theta: Array, *, expected: bool) -> Derivatives:
        """Penalized score and information in sum-to-zero coding."""
        of_parts = derivatives(self.parts, self.at(theta), expected=expected)
        recoded, added = of_parts.recoded(self.design.corner), np.diag(self.ridge)
        return Derivatives(
            recoded.score - self.ridge * theta, recoded.observed + added, recoded.expected + added
        )


@dataclass(frozen=True, eq=False)
class Maximum:
    """A maximum of the penalized likelihood.

    Attributes
    ----------
    theta : ndarray, shape (p,)
    covariance : ndarray, shape (p, p)
    level : float
        The penalized log-likelihood.
    penalty : float
        What was added to the log-likelihood for that, at most 0.
    steps : int
    converged : bool
    """

    theta: Array
    covariance: Array
    level: float
    penalty: float
    steps: int
    converged: bool


def maximum(problem: Problem, start: Array) -> Maximum:
    """Return a maximum of the penalized likelihood.

    The likelihood of perturbed reports is not concave. Steps are Newton's where the observed
    information is positive definite. Elsewhere they are those of Fisher scoring and, where these
    have become short, follow directions of negative curvature as well.
    """
    theta, level = start, problem.level(start)
    converged, steps, definite = False, 0, False
    while True:
        asked, here = not definite, problem.derivatives(theta, expected=not definite)
        definite = _is_definite(here.observed)
        if not definite and not asked:
            here = problem.derivatives(theta, expected=True)
        information = here.observed if definite else here.expected
        _check_identified(problem, information)
        covariance: Array = np.asarray(np.linalg.inv(information), dtype=np.float64)
        step = covariance @ here.score
        converged = definite and bool(here.score @ step <= _PRECISION**2)
        if not definite and here.score @ step < _FAR**2:
            step = _indefinite_step(here)
        if converged or steps == _STEPS:
            break
        for halving in range(_HALVINGS):
            trial = theta + step / 2**halving
            reached = problem.level(trial)
            if reached >= level - _ROUNDING * abs(level):
                break
        else:
            break
        theta, level, steps = trial, reached, steps + 1
    penalty = -float(problem.ridge @ theta**2) / 2
    return Maximum(theta, covariance, level, penalty, steps, converged)


def _is_definite(matrix: Array) -> bool:
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True


def _indefinite_step(here: Derivatives) -> Array:
    """Newton's step with the magnitudes of curvatures, in units of the expected information.

    Where the likelihood is convex in a direction it goes some way there even from where it is flat,
    which no maximum is.
    """
    root = np.linalg.cholesky(here.expected)
    half = np.linalg.solve(root, here.observed)
    curvatures, ways = np.linalg.eigh(np.linalg.solve(root, half.T))
    slopes = ways.T @ np.linalg.solve(root, here.score)
    small = (curvatures < 0) & (np.abs(slopes) < _LEAST_SLOPE)
    slopes[small] = np.copysign(_LEAST_SLOPE, slopes[small])
    step = ways @ (slopes / np.maximum(np.abs(curvatures), _LEAST_CURVATURE))
    return np.asarray(np.linalg.solve(root.T, step))


def _check_identified(problem: Problem, information: Array) -> None:
    """Refuse parameters that are not identified without a penalty.

    Raises
    ------
    EstimateError
    """
    if problem.ridge.all():
        return
    diagonal = np.diag(information)
    units = 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    values, vectors = np.linalg.eigh(information * np.outer(units, units))
    if values[0] > _SINGULAR:
        return
    of_term = np.bincount(problem.design.term_of, vectors[:, 0] ** 2)
    term = [problem.names[axis] for axis in problem.design.terms[int(np.argmax(of_term))]]
    raise EstimateError(
        f"terms: the reports do not determine the effect of {listing(term)}; expected a penalty,"
        " more reports, or terms without it",
        field="terms",
    )


@dataclass(frozen=True)
class Penalty:
    """Prior variances of the parameters, in contrasts of mean square 1.

    They are fixed. In simulations, an estimated variance of the interactions (empirical Bayes)
    halved the intervals for weak associations, but the coverage of 95 % intervals for a single
    strong interaction was as low as 22 %.

    Attributes
    ----------
    main : float
        Of main effects.
    interaction : float
        Of interactions. For two questions of two answers it is that of a quarter of their log odds
        ratio, so that 1 makes odds ratios up to exp(±8) plausible.
    """

    main: float = 100.0
    interaction: float = 1.0

    def __post_init__(self) -> None:
        for name in ("main", "interaction"):
            if not 0 < getattr(self, name) < math.inf:
                raise ParameterError(f"penalty: {name}: expected a variance above 0", field=name)


@dataclass(frozen=True, eq=False)
class LoglinearModel:
    """A fitted hierarchical loglinear model of the true answers.

    Attributes
    ----------
    schema : Schema
        Of the attributes that it is about.
    fitted : Fitted
        The estimated table, with the design.
    coefficients : ndarray, shape (p,)
        θ̂ in sum-to-zero coding.
    covariance : ndarray, shape (p, p)
        (I + R)⁻¹, with the observed information I and the penalty R. I is the expected information
        if the fit did not converge to a maximum.
    penalty : ndarray, shape (p,)
        Diagonal of R: 1 / prior variance of each parameter; 0 without a penalty.
    reports : int
        Number of reports in the likelihood.
    log_likelihood : float
        Log-likelihood of these reports, given the number of reports of each view.
    steps : int
        Steps of scoring.
    converged : bool
        Whether a further step would change no parameter by a relevant part of its standard error.
    """

    schema: Schema
    fitted: Fitted
    coefficients: Array
    covariance: Array
    penalty: Array
    reports: int
    log_likelihood: float
    steps: int
    converged: bool

    @property
    def design(self) -> Design:
        return self.fitted.design

    @property
    def table(self) -> Array:
        """π̂, an axis for each attribute."""
        return self.fitted.table

    @property
    def terms(self) -> list[tuple[str, ...]]:
        """Attributes of every interaction in the model, main effects first."""
        return [tuple(self.schema.names[axis] for axis in term) for term in self.design.terms]


def fit_model(
    survey: Survey,
    counts: Counts,
    terms: Sequence[Collection[str]] | None = None,
    attributes: Sequence[str] | None = None,
    penalty: Penalty | None = Penalty(),
) -> LoglinearModel:
    """Fit a loglinear model of the answers to the counts of perturbed reports.

    Parameters
    ----------
    survey : Survey
    counts : Counts
    terms : sequence of collections of str, optional
        Highest-order interactions, by attributes; all pairs by default. What they contain is in the
        model, too, and so are all main effects.
    attributes : sequence of str, optional
        Those that the model is about; all by default. Views of a split questionnaire that are
        about others, too, contribute only where answered by k-ary randomized response.
    penalty : Penalty or None

    Raises
    ------
    SchemaError, ParameterError
        For unknown attributes.
    DomainTooLarge
        For a table of more than `MODEL_CELLS` cells, or too many parameters.
    EstimateError
        If no reports tell of an interaction.

    Examples
    --------
    >>> from halftruth_shared import Attribute, RandomizedResponse
    >>> schema = Schema([Attribute(name, ["no", "yes"]) for name in ("smoker", "coughs")])
    >>> mechanism = RandomizedResponse({"smoker": "0.9", "coughs": "0.9"})
    >>> survey = Survey("health", "Health", schema, mechanism)
    >>> cells = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> counts = Counts.from_cells(survey, cells, [500, 100, 150, 250])
    >>> fit_model(survey, counts, penalty=None).table.round(3).tolist()
    [[0.602, 0.023], [0.086, 0.289]]
    """
    counts.check(survey)
    schema = schema_of(survey.schema, attributes)
    design = Design(schema.shape, axes_of(schema, terms))
    parts = report_parts(survey.perturbation, counts, schema.names)
    check_told(schema, design, parts)
    problem = Problem(schema.names, design, parts, ridge(design, penalty), feasible(schema))
    optimum = maximum(problem, design.contrast @ independence(survey, counts, schema, design))
    return LoglinearModel(
        schema=schema,
        fitted=problem.at(optimum.theta),
        coefficients=optimum.theta,
        covariance=optimum.covariance,
        penalty=problem.ridge,
        reports=int(sum(part.counts.sum() for part in parts)),
        log_likelihood=optimum.level - optimum.penalty,
        steps=optimum.steps,
        converged=optimum.converged,
    )


def at_independence(survey: Survey, counts: Counts, model: LoglinearModel) -> LoglinearModel:
    """Return the expected model for independent answers with the estimated marginal shares.

    Its covariance is the expected one, independent of the estimated associations.
    """
    schema, design = model.schema, model.design
    parts = report_parts(survey.perturbation, counts, schema.names)
    problem = Problem(schema.names, design, parts, model.penalty, feasible(schema))
    theta = design.contrast @ independence(survey, counts, schema, design)
    return _expected(problem, schema, theta, counts.reports)


def at_independent_answers(
    survey: Survey,
    counts: Counts,
    attributes: Sequence[str],
    single: Sequence[Array] | None = None,
) -> LoglinearModel | None:
    """Return the expected model of all pairs for independent answers, without a penalty.

    Its covariance is the expected one, independent of all estimates. None if it is not identified.

    Parameters
    ----------
    attributes : sequence of str
    single : sequence of ndarray, optional
        Positive marginal shares of each question, in the order of the survey; even by default.
    """
    schema = schema_of(survey.schema, attributes)
    design = Design(schema.shape, axes_of(schema, None))
    parts = report_parts(survey.perturbation, counts, schema.names)
    problem = Problem(schema.names, design, parts, np.zeros(design.parameters), feasible(schema))
    if not all(is_told(term, parts) for term in design.terms):
        return None
    theta = np.zeros(design.parameters)
    if single is not None:
        theta = design.contrast @ of_independent(design, single)
    try:
        model = _expected(problem, schema, theta, counts.reports)
    except np.linalg.LinAlgError:
        return None
    return model if (np.diag(model.covariance) > 0).all() else None


def _expected(problem: Problem, schema: Schema, theta: Array, reports: int) -> LoglinearModel:
    """Return the model at some parameters, with the covariance by their expected information."""
    information = problem.derivatives(theta, expected=True).expected
    return LoglinearModel(
        schema=schema,
        fitted=problem.at(theta),
        coefficients=theta,
        covariance=np.asarray(np.linalg.inv(information)),
        penalty=problem.ridge,
        reports=reports,
        log_likelihood=math.nan,
        steps=0,
        converged=True,
    )


def ridge(design: Design, penalty: Penalty | None) -> Array:
    """Return the penalty of each parameter, 1 / prior variance, or 0 without one."""
    if penalty is None:
        return np.zeros(design.parameters)
    return np.where(_is_main(design), 1 / penalty.main, 1 / penalty.interaction)


def _is_main(design: Design) -> NDArray[np.bool_]:
    """Return whether each parameter is of a main effect."""
    return np.asarray((design.codes > 0).sum(axis=1) == 1)
