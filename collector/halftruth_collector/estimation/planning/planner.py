"""Expected precision of a survey, before any field work."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache, partial

from halftruth_shared import (
    DomainTooLarge,
    ParameterError,
    Perturbation,
    Protection,
    Schema,
    Survey,
)
from halftruth_shared.analyses.base import Target
from halftruth_shared.analyses.plan import (
    DesignPlan,
    MechanismPlan,
    Planned,
    PlanQuery,
    PlanResult,
    PromisePlan,
    RelayedPlan,
)
from halftruth_shared.analyses.reading import check_questions
from halftruth_shared.deadlines import check_deadline
from halftruth_shared.rational import as_float
from halftruth_shared.relayed import bounds_of_batch, largest_gamma

from ...executors import Map
from ..bounds import checked, optional
from ..groups import in_groups
from ..reconstruction import of_perturbation
from ..table import Reconstruction
from .advice import advise_length, has_pairs, recommend
from .bound import information_bound, largest_error
from .changes import advise_changes
from .compared import Compared, compare_with, wanted_tables
from .margins import People
from .oracles import OracleTables
from .promises import compare_promises
from .proposals import goals_of, propose, tables_for
from .sets import even_variance, perturbed_of, sets_of, unit_variances
from .summaries import Chosen

#: Quantities that are planned for the survey, and for the comparison of mechanisms.
_ALL: tuple[Planned, ...] = (
    "share",
    "detectable_share",
    "mean",
    "share_within",
    "difference",
    "detectable_difference",
    "detectable_association",
    "detectable_correlation",
    "odds_ratio",
)
_COMPARED: tuple[Planned, ...] = ("share", "share_within")

#: Numbers of questions of the tables whose errors are compared with the information bound.
_BOUND = (1, 2)


def plan(
    survey: Survey, query: PlanQuery, map_pieces: Map = map, people: People | None = None
) -> PlanResult:
    """Return the expected precision of a survey, and advice on how to improve it.

    Parameters
    ----------
    survey : Survey
    query : PlanQuery
    map_pieces : callable
        Plans the mechanisms, possibly in several processes.
    people : callable, optional
        Counts of the people who are assumed to answer, by the names of some attributes; by default
        all answers are evenly spread.

    Raises
    ------
    SchemaError, ParameterError
        If a field of the query is outside its range, or names no attribute; or if designs are to be
        proposed for a survey that promises by answer.

    Examples
    --------
    >>> from halftruth_shared import Attribute, GammaDiagonal
    >>> schema = Schema([Attribute(name, ["no", "yes"]) for name in ("smoker", "coughs")])
    >>> survey = Survey("health", "Health", schema, GammaDiagonal("19"))
    >>> result = plan(survey, PlanQuery(respondents=5000))
    >>> result.recommended
    'gamma-diagonal'
    >>> [(each.quantity, round(each.median, 3)) for each in result.margins[::2][:2]]
    [('share', 0.017), ('share_within', 0.024)]
    """
    query = checked(query)
    check_questions(query, survey.schema)
    public = survey.perturbation.unperturbed
    gamma = _amplification(survey, public)
    chosen = Chosen(survey, query, people)
    goals = goals_of(survey.schema, query.detect or ())
    by_record = survey.promise == "record"
    if goals and not by_record:
        raise ParameterError(
            "detect: designs are proposed for a γ of the record, and this survey promises by"
            ' answer; expected a survey with promise = "record"',
            field="detect",
        )
    compared = [Compared(survey.mechanism.kind, survey.mechanism.kind, True, survey.perturbation)]
    about = chosen
    is_compared = by_record and not query.alone
    if is_compared and gamma is not None:
        longest = min(_max_length(survey, survey.perturbation), max(_BOUND))
        tables = tables_for(goals) if goals else wanted_tables(survey, query)
        compared = compare_with(survey, gamma, longest, tables, people)
        if goals:
            about = replace(chosen, wanted=[(goal.group, goal.outcome) for goal in goals])
    plans = list(map_pieces(partial(_plan_mechanism, about, gamma), compared))
    best, reason = recommend(plans)
    advice: list[str] = []
    proposed: list[DesignPlan] = []
    if goals and gamma is not None:
        proposed, advice = propose(chosen, goals, gamma)
    elif is_compared and gamma is not None and not any(survey.mechanism.wanted(survey.schema)):
        # Views of wanted tables are not those of any length.
        of_lengths = [
            (each, planned)
            for each, planned in zip(compared, plans, strict=True)
            if not each.for_tables and isinstance(each.mechanism, Perturbation)
        ]
        usual, _ = recommend([planned for _, planned in of_lengths])
        mechanism = next(each.mechanism for each, planned in of_lengths if planned is usual)
        assert isinstance(mechanism, Perturbation)  # noqa: S101 - oracles are left out
        design = chosen.expectation(mechanism)
        advice = [
            *advise_length(chosen, design, gamma),
            *advise_changes(chosen, design, gamma, usual.max_length),
        ]
    promises: list[PromisePlan] = []
    if not query.alone and gamma is not None and survey.mechanism.randomized_by == "device":
        longest = min(_max_length(survey, survey.perturbation), max(_BOUND))
        promises = compare_promises(chosen, gamma, longest, map_pieces)
    protection = Protection.of(survey)
    return PlanResult(
        query=query,
        gamma=None if gamma is None else optional(as_float(gamma)),
        margins=chosen.summaries(chosen.expectation(survey.perturbation), _ALL),
        mechanisms=plans,
        promises=promises,
        grouped=_grouped(compared),
        recommended=best.kind,
        reason=reason,
        advice=advice,
        protection=[*protection.sentences(), *protection.learning()],
        goals=goals,
        designs=proposed,
        relayed=_relayed(chosen),
        pilot=people is not None,
    )


def _relayed(chosen: Chosen) -> RelayedPlan | None:
    """Plan the survey behind a relay, with the largest amplification for the requested bound.

    Raises
    ------
    ParameterError
        If reports of the survey cannot hide among each other, or no mechanism of this kind has
        the amplification.
    """
    survey, query = chosen.survey, chosen.query
    if query.relay is None:
        return None
    if not isinstance(survey.perturbation.amplification(), Fraction):
        raise ParameterError(
            "relay: reports can reveal answers, and so be told apart in a batch; expected every"
            " question perturbed and none provable",
            field="relay",
        )
    batch = query.respondents if survey.relay is None else survey.relay.batch
    gamma = largest_gamma(query.relay, batch)
    mechanism = None
    if gamma > 1:
        longest = _max_length(survey, survey.perturbation)
        mechanism = survey.mechanism.with_amplification(survey.schema, gamma, longest)
    if mechanism is None:
        raise ParameterError(
            f"relay: no {survey.mechanism.kind} is made for γ = {gamma}; expected a larger bound,"
            " or another mechanism",
            field="relay",
        )
    apart, together = bounds_of_batch(Fraction(gamma), batch)
    perturbation = mechanism.bind(survey.schema)
    if survey.has_tickets:
        perturbation = perturbation.with_tickets()
    return RelayedPlan(
        batch=batch,
        gamma=gamma,
        pairs=has_pairs(perturbation),
        apart=apart,
        together=together,
        margins=chosen.summaries(chosen.expectation(perturbation), _ALL),
    )


def _max_length(survey: Survey, perturbation: Perturbation) -> int:
    """Number of questions in the largest tables of perturbed questions, at least 1."""
    return _longest_of(survey, perturbation)


def _longest_of(survey: Survey, mechanism: Perturbation | OracleTables) -> int:
    if isinstance(mechanism, OracleTables):
        most = mechanism.identified_sets.any_of
    else:
        most = of_perturbation(in_groups(mechanism)).identified_sets.any_of
    perturbed = len(perturbed_of(survey.schema, survey.perturbation.unperturbed))
    return max(1, min(most, perturbed))


def _amplification(survey: Survey, public: frozenset[str]) -> Fraction | None:
    """γ over the perturbed attributes; None if none is perturbed or γ is infinite."""
    gamma = survey.perturbation.amplification(public=public)
    return gamma if isinstance(gamma, Fraction) and gamma > 1 else None


def _grouped(compared: Sequence[Compared]) -> list[str]:
    """Return the names of the questions whose answers are in groups."""
    for each in compared:
        if isinstance(each.mechanism, Perturbation):
            found = [a.name for a in each.mechanism.schema.attributes if a.collapsed]
            if found:
                return found
    return []


def _plan_mechanism(chosen: Chosen, gamma: Fraction | None, compared: Compared) -> MechanismPlan:
    survey = chosen.survey
    whole, answer = compared.amplifications(survey)
    least = None if gamma is None else _times_bound(survey, compared.tables, gamma, chosen.query)
    return MechanismPlan(
        kind=compared.kind,
        name=compared.name,
        own=compared.own,
        collected=isinstance(compared.mechanism, Perturbation),
        max_length=_longest_of(survey, compared.mechanism),
        amplification=whole,
        answer_amplification=answer,
        times_bound=least,
        margins=chosen.summaries(compared.expectation(chosen), _COMPARED),
    )


def _times_bound(
    survey: Survey, tables: Reconstruction | OracleTables, gamma: Fraction, query: PlanQuery
) -> float | None:
    """Error of tables of one and two questions, under uniform answers, relative to the bound.

    None if some of these tables are not identified, or if they have groups of answers.
    """
    schema, public = survey.schema, survey.perturbation.unperturbed
    positions = perturbed_of(schema, public)
    lengths = tuple(length for length in _BOUND if length <= len(positions))
    if not lengths or lengths[-1] > tables.identified_sets.any_of:
        return None
    if any(each.collapsed for each in schema.attributes):
        return None
    try:
        least = _least_errors(schema, gamma, public, lengths, query.target)
        errors = []
        for length in lengths:
            check_deadline()
            sets = sets_of(schema, positions, length)
            variances = unit_variances(tables, sets, query.target)
            errors.append(even_variance(list(variances.values())) ** 0.5)
    except DomainTooLarge:
        return None
    bound = largest_error(list(least.values()))
    return largest_error(errors) / bound if bound > 0 else None


@lru_cache(maxsize=64)
def _least_errors(
    schema: Schema,
    gamma: Fraction,
    public: frozenset[str],
    lengths: tuple[int, ...],
    target: Target,
) -> Mapping[int, float]:
    """Information bound for a single respondent, which takes most of the time of a plan."""
    return information_bound(schema, gamma, 1, public, lengths, target)
