"""Expected precision of the model of all answers, by its Fisher information.

A survey of N respondents has the information N·I about the parameters of the model, with I that of
one report at evenly spread answers, where all interactions are 0. Margins of shares and of odds
ratios follow from (N·I + R)⁻¹, with the penalty R, as from the covariance of a fitted model.
"""

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np
import scipy
from halftruth_shared import Mechanism, Schema, Survey

from ..bounds import Array
from ..counts import Counts
from ..model.design import Design
from ..model.fit import LoglinearModel, Penalty, feasible, is_told, ridge, schema_of
from ..model.information import Fitted, derivatives
from ..model.tables import shares
from ..report_model import report_parts, report_probabilities

#: Reports of the expected survey; the information of one of them is a share of theirs.
_MANY = 10**12


def expected_model(schema: Schema, mechanism: Mechanism, respondents: int) -> LoglinearModel | None:
    """Model of all pairs as a survey of so many respondents would fit it to even answers.

    None where no report tells of some pair.

    Raises
    ------
    DomainTooLarge
        If the model has too many cells or parameters.
    """
    schema_of(schema, None)
    possible = feasible(schema)
    design = Design(schema.shape, list(combinations(range(len(schema.names)), 2)))
    fitted = Fitted(design, np.zeros(design.parameters), possible)
    survey = Survey("plan", "Plan", schema, mechanism)
    chances = report_probabilities(survey.perturbation, fitted.table)
    expected = np.rint(chances.ravel() * _MANY).astype(np.int64)
    cells = np.indices(survey.report_space.shape).reshape(len(survey.report_space.shape), -1).T
    counts = Counts.from_cells(survey, cells[expected > 0], expected[expected > 0])
    parts = report_parts(survey.perturbation, counts, schema.names)
    if not all(is_told(term, parts) for term in design.terms):
        return None
    of_one = derivatives(parts, fitted).recoded(design.corner).expected / counts.reports
    penalty = ridge(design, Penalty())
    return LoglinearModel(
        schema=schema,
        fitted=fitted,
        coefficients=np.zeros(design.parameters),
        covariance=np.asarray(scipy.linalg.inv(respondents * of_one + np.diag(penalty))),
        penalty=penalty,
        reports=respondents,
        log_likelihood=math.nan,
        steps=0,
        converged=True,
    )


def variance_of_tables(model: LoglinearModel, sets: Sequence[tuple[int, ...]]) -> float:
    """Mean variance of the cells of the tables of some sets of attributes, by their positions."""
    names = model.schema.names
    parts = [shares(model, [names[j] for j in positions]).variance().ravel() for positions in sets]
    return float(np.concatenate(parts).mean())


def variance_of_odds_ratios(model: LoglinearModel, positions: Sequence[int]) -> float:
    """Mean variance of the logarithms of odds ratios in regressions of one answer on all others.

    They are those of each answer against the first to one attribute by each against the first to
    another, given all others.
    """
    design = model.design
    about = design.codes > 0
    others = [j for j in range(len(model.schema.names)) if j not in positions]
    pairs = (about.sum(axis=1) == 2) & ~about[:, others].any(axis=1)
    corner: Array = design.corner[pairs]
    return float(np.einsum("kp,pq,kq->k", corner, model.covariance, corner).mean())
