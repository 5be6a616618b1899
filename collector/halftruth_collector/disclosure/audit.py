"""Audit of a survey's protection before field work."""

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from halftruth_shared import DomainTooLarge, ParameterError, Protection, Survey
from halftruth_shared.analyses.plan import PlannedMargin, PlanQuery
from halftruth_shared.protection import Guarantee
from halftruth_shared.shuffling import Shuffled, shuffled

from ..estimation.planning.summaries import Chosen
from ..executors import Map
from .linking import linking_risk_of, shape_of
from .posterior import (
    AnswerPosterior,
    FalseReports,
    People,
    answer_posteriors,
    false_reports,
    repeat_guarantee,
)
from .series import SeriesAudit, audit_series

#: Number of repeated participations in an audit.
TIMES = 2

#: Default δ.
DELTA = 1e-6

#: Threshold of the risk of linking.
LIMIT = 0.5


@dataclass(frozen=True)
class Linking:
    """Risk that known quasi-identifiers of a pilot's people are linked; see `linking`.

    Attributes
    ----------
    one_by_one : float or None
        Largest risk if quasi-identifiers and answer are re-identified one by one; None unless
        attributes are perturbed independently.
    at_once : float
        Largest risk if whole reports are re-identified.
    above : float
        Share of the people whose larger risk of the two is above `LIMIT`.
    prior : float
        Probability, by the table alone, of the answer about which a report reveals the most.
    posterior : float
        Its mean posterior with a person's report.
    """

    quasi: tuple[str, ...]
    sensitive: str
    one_by_one: float | None
    at_once: float
    above: float
    prior: float
    posterior: float


@dataclass(frozen=True)
class Audit:
    """Audit of a survey: disclosure, influence of fake reports, and precision.

    `twice` is the guarantee for the whole record after `TIMES` independent reports. `counts` is the
    guarantee against an observer of counts alone; None if answers are unperturbed or provable,
    since they form distinguishable groups. `precision` are the planned margins of
    shares of answers to one question, to two and to three, and `false_reports` are for the same
    numbers of questions, in a survey that `has_tickets` of a ticket; they end before tables with
    too many cells. `series` is None if no device
    keeps a total.
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
    precision: tuple[PlannedMargin, ...]
    linking: Linking | None
    series: SeriesAudit | None = None
    has_tickets: bool = False


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
    respondents : int
        N, at least 2.
    delta : float
        δ of the guarantee against an observer of counts alone.
    people : callable, optional
        Counts of the people of a pilot by some attributes.
    quasi, sensitive : sequence of str, str
        Attributes known to the attacker, and the unknown attribute, for the risk of linking; both
        or neither, and only with a pilot.
    map_pieces : callable
        Executor of independent pieces; results do not depend on it.

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
    >>> result = audit(Survey("health", "Health", schema, GammaDiagonal("19")), 5_000)
    >>> str(result.protection.record), round(result.counts.epsilon, 2)
    ('from 5\u202f% to at most 50\u202f% (γ = 19)', 0.45)
    """
    linking = None
    if quasi or sensitive is not None:
        linking = _linking(survey, people, quasi, sensitive)
    protection = Protection.of(survey)
    chosen = Chosen(survey, PlanQuery(respondents=respondents), people)
    precision = chosen.shares_of_lengths(chosen.expectation(survey.perturbation))
    distinguishable = protection.unperturbed or protection.provable
    gamma: Fraction | float = math.inf if distinguishable else protection.record.gamma
    return Audit(
        survey=survey.id,
        title=survey.title_in(),
        digest=survey.digest,
        mechanism=survey.mechanism.kind,
        has_tickets=survey.has_tickets,
        questions=len(survey.schema.questions),
        respondents=respondents,
        pilot=None if people is None else int(people(survey.schema.names[:1]).sum()),
        protection=protection,
        answers=tuple(answer_posteriors(survey, people)),
        twice=repeat_guarantee(protection.record, TIMES),
        counts=shuffled(gamma, respondents, delta),
        false_reports=_false_reports(survey, range(1, len(precision) + 1), map_pieces),
        precision=tuple(precision),
        linking=linking,
        series=audit_series(survey, protection),
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
    risks = linking_risk_of(survey, quasi, sensitive, people([*quasi, sensitive]))
    whole = risks.of_whole_reports
    return Linking(
        tuple(quasi),
        sensitive,
        risks.maximum if risks.record is not risks.whole else None,
        whole.maximum,
        risks.of_the_larger.above(LIMIT),
        float(risks.share[risks.most_revealed]),
        float(risks.sensitive[risks.most_revealed]),
    )


def _false_reports(
    survey: Survey, lengths: Sequence[int], map_pieces: Map
) -> tuple[FalseReports, ...]:
    influences: list[FalseReports] = []
    # Lengths before the first with a table that is too large are kept.
    with suppress(DomainTooLarge):
        influences.extend(map_pieces(partial(false_reports, survey), lengths))
    return tuple(influences)
