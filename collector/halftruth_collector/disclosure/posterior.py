"""Posteriors of single answers given reports, and the influence of fake reports.

An attacker sees a report and computes the posterior of an answer. It depends on their knowledge of
the other answers: all of them, their joint distribution in a population, or arbitrary knowledge.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import combinations, islice

import numpy as np
from halftruth_shared import DomainTooLarge, Perturbation, Survey, worst_case_posterior
from halftruth_shared.channels.axes import Array
from halftruth_shared.deadlines import check_deadline
from halftruth_shared.protection import PRIOR, Guarantee
from numpy.typing import NDArray

from ..estimation.reconstruction import of_table
from ..estimation.report_model import report_probabilities

#: Largest numbers of records and of reports for exact posteriors, over all answers to a question.
MAX_CELLS = 2**24

#: Largest number of sets of attributes of one length whose weights are computed.
MAX_SETS = 100


@dataclass(frozen=True)
class Posterior:
    """Posterior of an answer: the mean over the reports of people with it, and the maximum."""

    mean: float
    most: float


@dataclass(frozen=True)
class AnswerPosterior:
    """Prior and posteriors of an answer to an attacker who sees a person's report.

    `joint` is the posterior with the joint distribution of a population as prior; None without a
    population, and for too many records or reports. `known` bounds the posterior of an attacker who
    knows all other answers, and `bound` that with any other knowledge (amplification of the
    record); prior and bounds are given unperturbed answers, and answers that a report proves.
    `question` and `answer` are labels.
    """

    attribute: str
    category: str
    question: str
    answer: str
    prior: float
    joint: Posterior | None
    known: float
    bound: float


@dataclass(frozen=True)
class FalseReports:
    """Influence of fake reports on the shares of cells of tables of one length.

    m fake reports among N change a share by at most m/N of `weight`, the largest weight of a
    report, in addition to the effect of fewer honest reports. `examined` of `possible` sets of
    attributes were evaluated.
    """

    length: int
    weight: float
    examined: int
    possible: int


#: Counts or shares of people by some attributes, with an axis for each.
People = Callable[[Sequence[str]], Array]


def answer_posteriors(survey: Survey, people: People | None = None) -> list[AnswerPosterior]:
    """Compute posteriors of each answer that is perturbed and not declared provable.

    Parameters
    ----------
    people : callable, optional
        Population that the attacker knows, as a function that returns tables; answers of share 0
        are omitted. By default, each answer has a prior of 5 %.

    Examples
    --------
    >>> from halftruth_shared import Attribute, RandomizedResponse, Schema
    >>> schema = Schema([Attribute("smoker", ["no", "yes"])])
    >>> survey = Survey("s", "S", schema, RandomizedResponse({"smoker": "0.75"}))
    >>> [_, yes] = answer_posteriors(survey)
    >>> yes.prior, round(yes.known, 4), round(yes.bound, 4)
    (0.05, 0.1364, 0.1364)
    """
    schema, perturbation = survey.schema, survey.perturbation
    unperturbed, provable = perturbation.unperturbed, perturbation.provable
    few = schema.size * max(schema.shape) <= MAX_CELLS
    whole = people(schema.names) if people is not None and few else None
    question_of = {
        attribute.name: question
        for question in schema.questions
        for attribute in question.attributes
    }
    single, whole_record = perturbation.single_amplifications(), perturbation.spent_amplification
    posteriors = []
    for j, attribute in enumerate(schema.attributes):
        check_deadline()
        if attribute.name in unperturbed:
            continue
        one_sided = provable.get(attribute.name)
        hidden = np.isin(
            np.arange(len(attribute.categories)), survey.mechanism.protected_answers(attribute)
        )
        margin = None if people is None else people([attribute.name]) * hidden
        if margin is not None and not margin.any():
            continue
        priors = np.where(hidden, float(PRIOR), 0.0) if margin is None else margin / margin.sum()
        if hidden.sum() == 1:
            priors = hidden.astype(float)
        joint = None if whole is None else _by_population(perturbation, whole, j, hidden)
        answers = attribute.answers_in()
        for code, category in enumerate(attribute.categories):
            prior = float(priors[code])
            proved = one_sided is not None and category == one_sided.answer
            if prior > 0 and not proved:
                posteriors.append(
                    AnswerPosterior(
                        attribute.name,
                        category,
                        attribute.label_in(),
                        answers[code],
                        prior,
                        None if joint is None else joint[code],
                        _bound(prior, single[question_of[attribute.name].name]),
                        _bound(prior, whole_record),
                    )
                )
    return posteriors


def repeat_guarantee(guarantee: Guarantee, times: int) -> Guarantee:
    """Return the guarantee after several independent reports of the same answers: γ^times.

    >>> str(repeat_guarantee(Guarantee(Fraction(3)), 2).gamma)
    '9'
    """
    return Guarantee(guarantee.gamma**times)


def false_reports(survey: Survey, length: int) -> FalseReports:
    """Compute the influence of fake reports on tables of some length.

    Parameters
    ----------
    length : int
        From 1 to the largest number of attributes whose joint table reports identify.

    Raises
    ------
    DomainTooLarge
        If a table has too many cells.

    Examples
    --------
    >>> from halftruth_shared import Attribute, GammaDiagonal, Schema
    >>> schema = Schema([Attribute(name, ["no", "yes"]) for name in ("smoker", "coughs")])
    >>> round(false_reports(Survey("s", "S", schema, GammaDiagonal("19")), 1).weight, 4)
    1.1111
    """
    names = survey.schema.names
    sets = list(islice(combinations(names, length), MAX_SETS))
    weight = max(of_table(survey, each).largest_weight(each) for each in sets)
    return FalseReports(length, weight, len(sets), math.comb(len(names), length))


def _by_population(
    perturbation: Perturbation, whole: Array, axis: int, hidden: NDArray[np.bool_]
) -> list[Posterior] | None:
    """Return the posterior of each answer to one question, given the table of all records."""
    parts = np.zeros((whole.shape[axis], *whole.shape))
    for code in np.flatnonzero(hidden):
        check_deadline()
        place = (slice(None),) * axis + (code,)
        parts[code][place] = whole[place] / whole.sum()
    joint = _report_probabilities(partial(report_probabilities, perturbation), parts)
    return None if joint is None else [_posterior(joint, code) for code in range(len(joint))]


def _report_probabilities(forward: Callable[[Array], Array], parts: Array) -> Array | None:
    """Return probabilities of all reports, a row for each part of a table; None if too many."""
    rows: list[Array] = []
    try:
        for part in parts:
            rows.append(forward(part).ravel())
            if rows[0].size * len(parts) > MAX_CELLS:
                return None
    except DomainTooLarge:
        return None
    return np.array(rows)


def _posterior(joint: Array, code: int) -> Posterior:
    """Return the posterior from Pr(answer, report), a row for each answer to one question."""
    reports = joint.sum(axis=0)
    own = joint[code]
    posterior = np.divide(own, reports, out=np.zeros_like(own), where=reports > 0)
    return Posterior(
        float(own @ posterior / max(own.sum(), np.finfo(float).tiny)), float(posterior.max())
    )


def _bound(prior: float, gamma: Fraction | float) -> float:
    """Return the largest posterior under an amplification; a prior may be 1."""
    return 1.0 if prior >= 1 else float(worst_case_posterior(Fraction(prior), gamma))
