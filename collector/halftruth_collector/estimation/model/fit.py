"""Fit of a hierarchical loglinear model of the true answers to counts of perturbed reports.

The true table is π(u) = exp(D_u θ − ψ(θ)), reports have the probabilities λ = Aπ, and θ maximizes
Σ n_y ln λ_y, whatever the mechanism (van den Hout & van der Heijden 2004; Agresti 2013, ch. 9).

A weak ridge penalty, which is a normal prior of θ, keeps a parameter finite where hardly anybody
gives an answer. θ is in orthogonal contrasts of mean square 1, so that neither the order of
categories nor a reference matters to it.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from halftruth_shared import ParameterError, Schema, Survey
from numpy.typing import NDArray

from ..bounds import Array
from ..counts import Counts
from .design import Design
from .information import Fitted
from .maximum import Problem, maximum
from .preparation import axes_of, check_told, feasible, independence, parts_of, schema_of


@dataclass(frozen=True)
class Penalty:
    """Prior variances of the parameters, in contrasts of mean square 1.

    They are fixed. A variance of interactions that is estimated from the same reports makes
    intervals half as long where answers depend on each other weakly, but then a single strong
    interaction is held by as few as 22 % of its intervals of 95 % (simulated).

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
        (I + R)⁻¹, with the observed information I of the reports and the penalty's R. Where that
        is no maximum, because the fit did not converge, I is the expected information.
    penalty : ndarray, shape (p,)
        Diagonal of R: 1 / prior variance of each parameter; 0 without a penalty.
    reports : int
        Number of reports in the likelihood.
    log_likelihood : float
        Of these reports, given how many there are of each view.
    steps : int
        Steps of scoring.
    converged : bool
        Whether a further step would move nothing by a noticeable part of its standard error.
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
    parts = parts_of(survey, counts, schema)
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


def ridge(design: Design, penalty: Penalty | None) -> Array:
    """Return the penalty of each parameter, 1 / prior variance, or 0 without one."""
    if penalty is None:
        return np.zeros(design.parameters)
    return np.where(_is_main(design), 1 / penalty.main, 1 / penalty.interaction)


def _is_main(design: Design) -> NDArray[np.bool_]:
    """Return whether each parameter is of a main effect."""
    return np.asarray((design.codes > 0).sum(axis=1) == 1)
