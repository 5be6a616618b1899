"""What reports can tell of single answers, several of one person, and false ones of all others.

An attacker sees a report and computes what it makes likely. How much that is depends on what else
they know of the other answers: nothing, how answers go together in a population, or all of them.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, islice

import numpy as np
from halftruth_shared import DomainTooLarge, Survey, worst_case_posterior
from halftruth_shared.channels.axes import Array
from halftruth_shared.mechanisms import Reconstruction
from halftruth_shared.protection import PRIOR, Guarantee

#: Most records, and most reports, that are looked at, over all answers to a question.
MAX_CELLS = 2**24

#: Most sets of attributes of one length whose weights are looked at.
MAX_SETS = 100


@dataclass(frozen=True)
class Told:
    """What a report tells of an answer.

    Attributes
    ----------
    mean : float
        Posterior of the answer, on average over the reports of those who gave it.
    most : float
        The same by the report that speaks most for it.
    """

    mean: float
    most: float


@dataclass(frozen=True)
class AnswerPosterior:
    """How likely an answer becomes to someone who sees a person's report.

    Attributes
    ----------
    attribute, category : str
    question, answer : str
        The same as people read them.
    prior : float
        How likely they thought it before.
    alone : Told or None
        To one who knows nothing of the other answers, all of which are equally likely to them; None
        where there are too many records or reports to look at, or a condition makes them unequal.
    together : Told or None
        To one who knows how all answers go together in a population; None where that is not known.
    known : float
        At most, to one who knows all the other answers.
    """

    attribute: str
    category: str
    question: str
    answer: str
    prior: float
    alone: Told | None
    together: Told | None
    known: float


@dataclass(frozen=True)
class FalseReports:
    """What made-up reports do to the shares of cells of tables of one length.

    Attributes
    ----------
    length : int
    weight : float
        Largest weight of a report: m made-up ones among N move a share by m/N of this at most,
        besides taking the place of true ones.
    examined, possible : int
        Sets of attributes that were looked at, and that there are.
    """

    length: int
    weight: float
    examined: int
    possible: int


#: Counts or shares of people by some attributes, an axis for each.
People = Callable[[Sequence[str]], Array]


def answer_posteriors(survey: Survey, people: People | None = None) -> list[AnswerPosterior]:
    """What one report tells of each answer that is perturbed and not provable by declaration.

    Parameters
    ----------
    survey : Survey
    people : callable, optional
        A population that the attacker knows, as its table of some attributes; an answer that
        nobody gives is left out. Without it they think each answer 5 % likely, and every other
        answer to the same question as likely as the next one.

    Examples
    --------
    >>> from halftruth_shared import Attribute, RandomizedResponse, Schema
    >>> schema = Schema([Attribute("smoker", ["no", "yes"])])
    >>> survey = Survey("s", "S", schema, RandomizedResponse({"smoker": "0.75"}))
    >>> [_, yes] = answer_posteriors(survey)
    >>> round(yes.alone.mean, 4), round(yes.alone.most, 4), round(yes.known, 4)
    (0.1066, 0.1364, 0.1364)
    """
    schema, mechanism = survey.schema, survey.mechanism
    reconstruction = mechanism.reconstruction(schema)
    as_they_are, provable = mechanism.as_they_are(schema), mechanism.provable(schema)
    few = schema.size * max(schema.shape) <= MAX_CELLS
    whole = people(schema.names) if people is not None and few else None
    found = []
    for j, attribute in enumerate(schema.attributes):
        if attribute.name in as_they_are:
            continue
        # What is asked after the answer changes with it.
        dependents = schema.dependents(attribute.name)
        others = frozenset(schema.names) - dependents
        one_sided = provable.get(attribute.name)
        gamma = mechanism.answer_amplification(schema, public=others).known
        if one_sided is not None:
            gamma = one_sided.amplification * mechanism.amplification(
                schema, public=others | {attribute.name}
            )
        margin = None if people is None else people([attribute.name])
        priors = _priors(len(attribute.categories), margin)
        unrelated = attribute.name not in schema.conditional
        alone = _alone(reconstruction, attribute.name, priors) if unrelated else None
        together = None if whole is None else _together(reconstruction, whole, j)
        answers = attribute.answers_in()
        for code, category in enumerate(attribute.categories):
            prior = float(priors[code, code])
            proved = one_sided is not None and category == one_sided.answer
            if prior > 0 and not proved:
                found.append(
                    AnswerPosterior(
                        attribute.name,
                        category,
                        attribute.label_in(),
                        answers[code],
                        prior,
                        None if alone is None else alone[code],
                        None if together is None else together[code],
                        _bound(prior, gamma),
                    )
                )
    return found


def repeated(guarantee: Guarantee, times: int) -> Guarantee:
    """What is left of a guarantee after so many independent reports of the same answers: γ^times.

    >>> str(repeated(Guarantee(Fraction(3)), 2).gamma)
    '9'
    """
    return Guarantee(guarantee.gamma**times)


def false_reports(survey: Survey, length: int) -> FalseReports:
    """What made-up reports do to tables of so many attributes.

    Parameters
    ----------
    survey : Survey
    length : int
        From 1 to the most attributes that the reports tell of together.

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
    reconstruction = survey.mechanism.reconstruction(survey.schema)
    names = survey.schema.names
    sets = list(islice(combinations(names, length), MAX_SETS))
    weight = max(map(reconstruction.largest_weight, sets))
    return FalseReports(length, weight, len(sets), math.comb(len(names), length))


def _priors(size: int, margin: Array | None) -> Array:
    """Of the answers to one question, a row for the prior that each of them is judged with."""
    if margin is not None:
        return np.tile(margin / margin.sum(), (size, 1))
    rows = np.full((size, size), float(1 - PRIOR) / max(size - 1, 1))
    np.fill_diagonal(rows, float(PRIOR) if size > 1 else 1.0)
    return rows


def _alone(reconstruction: Reconstruction, name: str, priors: Array) -> list[Told] | None:
    """Of each answer, with the other questions' answers evenly spread."""
    likelihood = _of_reports(
        lambda part: reconstruction.expected_of(part, [name]), np.eye(len(priors))
    )
    if likelihood is None:
        return None
    return [_told(row[:, None] * likelihood, code) for code, row in enumerate(priors)]


def _together(reconstruction: Reconstruction, whole: Array, axis: int) -> list[Told] | None:
    """Of each answer to the question of one axis, in the table of all records."""
    parts = np.zeros((whole.shape[axis], *whole.shape))
    for code, part in enumerate(parts):
        place = (slice(None),) * axis + (code,)
        part[place] = whole[place] / whole.sum()
    joint = _of_reports(reconstruction.expected, parts)
    return None if joint is None else [_told(joint, code) for code in range(len(joint))]


def _of_reports(forward: Callable[[Array], Array], parts: Array) -> Array | None:
    """Probabilities of all reports, a row for each part of a table; None if they are too many."""
    rows: list[Array] = []
    try:
        for part in parts:
            rows.append(forward(part).ravel())
            if rows[0].size * len(parts) > MAX_CELLS:
                return None
    except DomainTooLarge:
        return None
    return np.array(rows)


def _told(joint: Array, code: int) -> Told:
    """From Pr(answer, report), a row for each answer to one question."""
    reports = joint.sum(axis=0)
    own = joint[code]
    posterior = np.divide(own, reports, out=np.zeros_like(own), where=reports > 0)
    return Told(
        float(own @ posterior / max(own.sum(), np.finfo(float).tiny)), float(posterior.max())
    )


def _bound(prior: float, gamma: Fraction | float) -> float:
    """The largest posterior that an amplification allows; a prior may be 1."""
    return 1.0 if prior >= 1 else float(worst_case_posterior(Fraction(prior), gamma))
