"""Precision of levels and changes, by how a total amplification is split over waves of a series."""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

from halftruth_shared import HalftruthError, Mechanism, ParameterError, Survey
from halftruth_shared.analyses.plan import PlanQuery, WaveMargin, WavesPlan
from halftruth_shared.analyses.wording import half_width, number
from halftruth_shared.rational import as_float, format_rational, root_below
from msgspec.structs import replace

from .sets import margins, perturbed_of, sets_of


def plan_waves(
    survey: Survey,
    gamma: Fraction | None,
    public: frozenset[str],
    lengths: Sequence[int],
    query: PlanQuery,
) -> list[WavesPlan]:
    """Plan the series of a survey, for several numbers of waves that each person answers.

    With k answers of a person of w waves a report has at most the k-th root of the total, and a
    wave N·k/w reports. Where views rotate, there is another plan: everybody answers all waves, and
    the total is of each question alone; the root is that of the number m of views with a question.
    Its views are those of the first plan that has no more than m of them, and of several m the one
    with the smallest errors is taken.

    Errors of a change add up as those of independent waves (variances add); where the same people
    answer and their answers are positively correlated, it is known better. The trend is the slope
    of the least squares line over the waves.

    Raises
    ------
    ParameterError
        If there is no total, or the mechanism is none that is designed for an amplification.
    """
    waves = query.waves
    if waves is None:
        return []
    total = gamma if query.total_gamma is None else Fraction(str(query.total_gamma))
    if query.total_gamma is None and survey.series is not None:
        total = Fraction(survey.series.total_gamma)
    if total is None:
        raise ParameterError(
            "total_gamma: expected an amplification, since the survey has none",
            field="total_gamma",
        )
    counts = [*(2**i for i in range(waves.bit_length()) if 2**i < waves), waves]
    designs = [(k, _designed(survey, root_below(total, k), public, max(lengths))) for k in counts]
    plans = [
        _plan(survey, design, public, lengths, query, k)
        for k, design in designs
        if design is not None
    ]
    if not plans:
        raise ParameterError(
            f"waves: no {survey.mechanism.kind} is designed for an amplification; expected a survey"
            " with another mechanism",
            field="waves",
        )
    rotating = [
        _plan(survey, mechanism, public, lengths, query, waves)
        for most in counts[:-1]
        if (
            mechanism := _rotating(
                survey, [d for _, d in designs], root_below(total, most), most, waves
            )
        )
    ]
    if rotating:
        best = min(rotating, key=lambda plan: plan.margins[0].change)
        plans.append(replace(best, total_of="question"))
    return plans


def _rotating(
    survey: Survey, designs: Sequence[Mechanism | None], gamma: Fraction, most: int, waves: int
) -> Mechanism | None:
    """Return the first design whose questions are in so few views at most, at an amplification."""
    for design in designs:
        if design is not None and _most(survey, design, waves) <= most < waves:
            fields = {"gamma": format_rational(gamma, "gamma"), "prime": None, "direct": None}
            return replace(design.parameters(), **fields).mechanism(survey.schema)
    return None


def recommend_waves(plans: Sequence[WavesPlan], query: PlanQuery) -> Iterator[str]:
    """Say which split of a total is best for changes, and what rotation would add."""
    of_records = [plan for plan in plans if plan.total_of == "record"]
    if not of_records:
        return
    best, every = min(of_records, key=lambda plan: plan.margins[0].change), of_records[-1]
    yield (
        f"Series: changes of shares are known best where each person answers {best.answered} of"
        f" {query.waves} waves, {half_width(best.margins[0].change)}; where each answers"
        f" {every.answered}, {half_width(every.margins[0].change)}."
    )
    for plan in plans:
        if plan.total_of == "question":
            yield (
                "Were the total promised of each question and not of all answers, everybody could"
                f" answer all waves: {half_width(plan.margins[0].change)}; all answers together"
                f" would have an amplification of {number(plan.record)}. It may take views of fewer"
                " questions than are designed for this γ; 'halftruth audit' of all waves tells."
            )


def _designed(
    survey: Survey, gamma: Fraction, public: frozenset[str], longest: int
) -> Mechanism | None:
    """Return a mechanism of the survey's kind for a wave, None where there is none."""
    try:
        mechanism = survey.mechanism.for_amplification(survey.schema, gamma, public, longest)
        if mechanism is not None:
            mechanism.check(survey.schema)
    except HalftruthError:
        return None
    return mechanism


def _most(survey: Survey, mechanism: Mechanism, waves: int) -> int:
    """Largest number of reports about one question in so many waves."""
    rotation = mechanism.rotation(survey.schema)
    if rotation is None:
        return waves
    schema, most = survey.schema, 1
    for name in (schema.names[j] for block in rotation.blocks for j in block):
        # Reports on what is asked after a question tell of it, too.
        related = sum(rotation.most(each, waves) for each in schema.dependents(name))
        most = max(most, min(waves, related))
    return most


def _plan(
    survey: Survey,
    mechanism: Mechanism,
    public: frozenset[str],
    lengths: Sequence[int],
    query: PlanQuery,
    answered: int,
) -> WavesPlan:
    schema, waves = survey.schema, query.waves or 1
    positions, reconstruction = perturbed_of(schema, public), mechanism.reconstruction(schema)
    reports = max(2, query.respondents * answered // waves)
    usable = [n for n in lengths if n <= min(len(positions), reconstruction.max_order)]
    sets = {length: sets_of(schema, positions, length) for length in usable}
    gamma = mechanism.amplification(schema, public)
    known = mechanism.answer_amplification(schema, public).known
    asked = replace(query, respondents=reports)
    levels = changes = margins(reconstruction, sets, asked)
    if mechanism.rotation(schema) is not None:
        # Who is asked in one wave is not in the next: not even among the respondents is it less.
        changes = margins(reconstruction, sets, replace(asked, target="population"))
    # Σ(i − ī)² over the waves.
    spread = math.sqrt(waves * (waves**2 - 1) / 12)
    return WavesPlan(
        answered=answered,
        gamma=as_float(gamma),
        reports=reports,
        record=as_float(gamma**answered),
        question=as_float(known ** min(answered, _most(survey, mechanism, waves))),
        margins=[
            WaveMargin(
                length=level.length,
                level=level.half_width,
                change=math.sqrt(2) * change.half_width,
                trend=change.half_width / spread,
            )
            for level, change in zip(levels, changes, strict=True)
        ],
    )
