"""All that can be said of a survey's protection before anyone answers it."""

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from halftruth_shared import DomainTooLarge, ParameterError, Protection, Survey
from halftruth_shared.analyses.plan import LengthPlan, PlanQuery
from halftruth_shared.protection import Guarantee

from ..estimation.planning.planner import plan
from ..executors import Map
from .linking import linking_risk_of, shape_of
from .posterior import (
    AnswerPosterior,
    FalseReports,
    People,
    answer_posteriors,
    false_reports,
    repeated,
)
from .shuffling import Shuffled, shuffled

#: Times that somebody takes part, of which it is said what is left.
TIMES = 2

#: δ unless asked.
DELTA = 1e-6

#: Risk of linking that people are said to be above.
LIMIT = 0.5


@dataclass(frozen=True)
class Linking:
    """What someone who knows quasi-identifiers of a pilot's people may link; see `linking`.

    Attributes
    ----------
    quasi : tuple of str
    sensitive : str
    one_by_one : float or None
        The largest risk where quasi-identifiers and answer are put back one by one; None where
        attributes are not perturbed one by one.
    at_once : float
        The largest risk where whole reports are put back.
    above : float
        Share of the people whose larger risk of the two is above `LIMIT`.
    believed : float
        How likely the table alone makes the answer of which a report tells most beyond it.
    told : float
        The same with a person's report, on average over the reports they may send.
    """

    quasi: tuple[str, ...]
    sensitive: str
    one_by_one: float | None
    at_once: float
    above: float
    believed: float
    told: float


@dataclass(frozen=True)
class Audit:
    """What a survey discloses, what falsifies it, and what it tells for that.

    Attributes
    ----------
    survey, title, digest, mechanism : str
        The survey's id and title, what identifies what is asked and how, and the kind of mechanism.
    questions, respondents : int
        As people see them, and N, how many people are to answer.
    pilot : int or None
        Number of people whose answers were at hand.
    protection : Protection
        γ of the whole record and of a single answer.
    answers : tuple of AnswerPosterior
        What one report tells of each answer.
    twice : Guarantee
        Of the whole record after `TIMES` independent reports.
    counts : Shuffled or None
        Against someone who sees only the counts; None where answers are sent as they are or can
        be proved, which make groups that can be told apart.
    false_reports : tuple of FalseReports
        By length, as far as there are not too many cells.
    precision : tuple of LengthPlan
        How well shares will be known, by length; none where no attribute has items.
    linking : Linking or None
        Where it was asked for.
    """

    survey: str
    title: str
    digest: str
    mechanism: str
    questions: int
    respondents: int
    pilot: int | None
    protection: Protection
    answers: tuple[AnswerPosterior, ...]
    twice: Guarantee
    counts: Shuffled | None
    false_reports: tuple[FalseReports, ...]
    precision: tuple[LengthPlan, ...]
    linking: Linking | None


def audit(
    survey: Survey,
    respondents: int,
    delta: float = DELTA,
    people: People | None = None,
    quasi: Sequence[str] = (),
    sensitive: str | None = None,
    map_pieces: Map = map,
) -> Audit:
    """Audit a survey.

    Parameters
    ----------
    survey : Survey
    respondents : int
        N, at least 2.
    delta : float
        δ of what is said against someone who sees only the counts.
    people : callable, optional
        Counts of the people of a pilot by some attributes.
    quasi, sensitive : sequence of str, str
        What an attacker may know of a person, and what not, for the risk of linking; both or
        neither, and with a pilot.
    map_pieces : callable
        Where the false reports of each length are looked at; the numbers are the same everywhere.

    Raises
    ------
    ParameterError
        If an argument is outside its range.
    SchemaError
        If an attribute is unknown or named twice.

    Examples
    --------
    >>> from halftruth_shared import Attribute, GammaDiagonal, Schema
    >>> schema = Schema([Attribute(name, ["no", "yes"]) for name in ("smoker", "coughs")])
    >>> found = audit(Survey("health", "Health", schema, GammaDiagonal("19")), 5_000)
    >>> str(found.protection.record), round(found.counts.epsilon, 2)
    ('from 5\u202f% to at most 50\u202f% (γ = 19)', 0.45)
    """
    linking = None
    if quasi or sensitive is not None:
        linking = _linking(survey, people, quasi, sensitive)
    protection = Protection.of(survey)
    precision = _precision(survey, respondents)
    told_apart = protection.as_they_are or protection.provable
    gamma: Fraction | float = math.inf if told_apart else protection.record.gamma
    return Audit(
        survey=survey.id,
        title=survey.title_in(),
        digest=survey.digest,
        mechanism=survey.mechanism.kind,
        questions=len(survey.schema.questions),
        respondents=respondents,
        pilot=None if people is None else int(people(survey.schema.names[:1]).sum()),
        protection=protection,
        answers=tuple(answer_posteriors(survey, people)),
        twice=repeated(protection.record, TIMES),
        counts=shuffled(gamma, respondents, delta),
        false_reports=_false_reports(survey, [length.length for length in precision], map_pieces),
        precision=precision,
        linking=linking,
    )


def _linking(
    survey: Survey, people: People | None, quasi: Sequence[str], sensitive: str | None
) -> Linking:
    if people is None:
        raise ParameterError(
            "pilot: expected the answers of some people, to tell the risk of linking", field="pilot"
        )
    if sensitive is None or not quasi:
        missing = "sensitive" if quasi else "quasi"
        raise ParameterError(f"{missing}: expected too, for the risk of linking", field=missing)
    shape_of(survey, quasi, sensitive)
    found = linking_risk_of(survey, quasi, sensitive, people([*quasi, sensitive]))
    whole = found.of_whole_reports
    return Linking(
        tuple(quasi),
        sensitive,
        found.maximum if found.record is not found.whole else None,
        whole.maximum,
        found.of_the_larger.above(LIMIT),
        float(found.share[found.most_told]),
        float(found.sensitive[found.most_told]),
    )


def _precision(survey: Survey, respondents: int) -> tuple[LengthPlan, ...]:
    query = PlanQuery(respondents=respondents, alone=True)
    if not any(attribute.item_mask.any() for attribute in survey.schema.attributes):
        return ()
    return tuple(plan(survey, query).mechanisms[0].lengths)


def _false_reports(
    survey: Survey, lengths: Sequence[int], map_pieces: Map
) -> tuple[FalseReports, ...]:
    found: list[FalseReports] = []
    # From the first table on that is too large there is nothing more; those before it stay.
    with suppress(DomainTooLarge):
        found.extend(map_pieces(partial(false_reports, survey), lengths))
    return tuple(found)
