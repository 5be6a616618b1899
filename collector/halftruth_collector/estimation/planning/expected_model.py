"""Expected precision of the model of all answers, by its Fisher information."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from halftruth_shared import Mechanism, Schema, Survey

from ..bounds import Array
from ..counts import Counts
from ..model.fit import LoglinearModel, at_independent_answers
from ..model.tables import shares

#: Reports of the expected survey; the information of one of them is a share of theirs.
_MANY = 10**12


def expected_model(
    schema: Schema,
    mechanism: Mechanism,
    respondents: int,
    attributes: Sequence[str] | None = None,
    single: Sequence[Array] | None = None,
) -> LoglinearModel | None:
    """Model of all pairs of some attributes as a survey of so many respondents would fit it.

    None where reports do not determine it.

    Parameters
    ----------
    attributes : sequence of str, optional
        All by default.
    single : sequence of ndarray, optional
        Shares of the answers to each question, all above 0, in the order of the survey; even by
        default.

    Raises
    ------
    DomainTooLarge
        If the model has too many cells or parameters.
    """
    survey = Survey("plan", "Plan", schema, mechanism)
    views = survey.perturbation.views
    # The expected information depends on how many reports there are of each view, not on which.
    cells = np.zeros((len(views), len(survey.report_space.shape)), dtype=np.int64)
    if not survey.perturbation.reports_records:
        cells[:, -1] = [view.first for view in views]
    weights = np.array([view.weight for view in views], dtype=np.float64)
    expected = np.rint(weights / weights.sum() * _MANY).astype(np.int64)
    counts = Counts.from_cells(survey, cells, expected)
    model = at_independent_answers(survey, counts, attributes or schema.names, single)
    if model is None:
        return None
    covariance = model.covariance * (counts.reports / respondents)
    return replace(model, covariance=covariance, reports=respondents)


def variance_of_tables(model: LoglinearModel, sets: Sequence[tuple[int, ...]]) -> float:
    """Mean variance of the cells of the tables of some sets of attributes, by their positions."""
    names = model.schema.names
    parts = [shares(model, [names[j] for j in positions]).variance().ravel() for positions in sets]
    return float(np.concatenate(parts).mean())
