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
from functools import cached_property
from itertools import combinations

import numpy as np
from halftruth_shared import DomainTooLarge, EstimateError, ParameterError, Schema, Survey
from halftruth_shared.attribute import NOT_ASKED
from halftruth_shared.mechanisms import Reconstruction
from halftruth_shared.mechanisms.parts import ReportPart
from numpy.typing import NDArray

from ..bounds import Array
from ..counts import Counts
from ..likelihood import project_to_simplex
from .design import Design
from .information import Fitted
from .maximum import Problem, maximum

#: Largest table that is modelled.
MODEL_CELLS = 2**18


@dataclass(frozen=True)
class Penalty:
    """Prior variances of the parameters, in contrasts of mean square 1.

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

    @cached_property
    def evidence(self) -> dict[tuple[str, ...], float]:
        """Share of the information about each interaction that is the reports', not the penalty's.

        It is the mean over its parameters of 1 − posterior variance / prior variance.
        """
        told = 1 - np.diag(self.covariance) * self.penalty
        sums = np.bincount(self.design.term_of, told)
        means = sums / np.bincount(self.design.term_of)
        return dict(zip(self.terms, means.tolist(), strict=True))

    @property
    def effective_parameters(self) -> float:
        """Σ of these shares over all parameters, the trace of I (I + R)⁻¹."""
        return float((1 - np.diag(self.covariance) * self.penalty).sum())


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
    schema = _schema_of(survey.schema, attributes)
    reconstruction = survey.mechanism.reconstruction(survey.schema)
    design = Design(schema.shape, _axes_of(schema, terms))
    parts = parts_of(survey, counts, schema)
    _check_told(schema, design, parts)
    ridge = _ridge(design, penalty)
    start = design.contrast @ _independence(reconstruction, counts, schema, design)
    problem = Problem(schema.names, design, parts, ridge, feasible(schema))
    found = maximum(problem, start)
    return LoglinearModel(
        schema=schema,
        fitted=problem.at(found.theta),
        coefficients=found.theta,
        covariance=found.covariance,
        penalty=ridge,
        reports=int(sum(part.counts.sum() for part in parts)),
        log_likelihood=found.level + float(ridge @ found.theta**2) / 2,
        steps=found.steps,
        converged=found.converged,
    )


def _check_told(schema: Schema, design: Design, parts: Sequence[ReportPart]) -> None:
    """Refuse an interaction of attributes that no report tells of together.

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
    """Return whether some reports tell of all attributes of an interaction together."""
    return any({*part.known, *part.positions}.issuperset(term) for part in parts)


def _listing(schema: Schema, term: Sequence[int]) -> str:
    names = [f"'{schema.names[axis]}'" for axis in term]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _schema_of(whole: Schema, attributes: Sequence[str] | None) -> Schema:
    """Return the attributes that the model is about, in their order in the survey."""
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


def _axes_of(schema: Schema, terms: Sequence[Collection[str]] | None) -> list[tuple[int, ...]]:
    if terms is None:
        return list(combinations(range(len(schema.names)), 2))
    return [schema.positions(list(term), "terms") for term in terms]


def parts_of(survey: Survey, counts: Counts, schema: Schema) -> list[ReportPart]:
    """Return the parts of the reports, with axes of the table of `schema` as their positions."""
    axes = {j: axis for axis, j in enumerate(survey.schema.positions(schema.names))}
    return [
        ReportPart(
            tuple(axes[j] for j in part.known),
            tuple(axes[j] for j in part.positions),
            part.operator,
            part.counts,
        )
        for part in survey.mechanism.reconstruction(survey.schema).parts(counts, schema.names)
        if part.counts.any()
    ]


def _ridge(design: Design, penalty: Penalty | None) -> Array:
    if penalty is None:
        return np.zeros(design.parameters)
    main = (design.codes > 0).sum(axis=1) == 1
    return np.where(main, 1 / penalty.main, 1 / penalty.interaction)


def _independence(
    reconstruction: Reconstruction, counts: Counts, schema: Schema, design: Design
) -> Array:
    """Return parameters in corner coding of independent answers, from the single tables."""
    corner = np.zeros(design.parameters)
    for axis, name in enumerate(schema.names):
        table = reconstruction.table(counts, [name])
        shares = project_to_simplex(table.support)
        # Far from an edge: what is estimated to be 0 is seldom that.
        shares = np.maximum(shares, np.sqrt(1 / counts.reports) / shares.size)
        effects = np.log(shares[1:] / shares[0])
        corner[design.term_of == design.terms.index((axis,))] = effects
    return corner


def feasible(schema: Schema) -> NDArray[np.bool_] | None:
    """Return the records that can be: who is asked a question answers it, others do not.

    Conditions on attributes that are not in the schema say nothing. None where all can be.
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
