"""Tables, charts and sentences of changes over waves."""

from itertools import chain, pairwise

from halftruth_shared.analyses.waves import (
    WaveChange,
    WaveEstimate,
    WaveLevel,
    WavesResult,
    WaveTrend,
)
from halftruth_shared.results.charts import (
    Axis,
    Curve,
    CurveChart,
    EstimateChart,
    Mark,
    Panel,
    Reference,
)
from halftruth_shared.results.claims import Claim, Test
from halftruth_shared.results.wording import (
    interval_in_words,
    number,
    number_in_words,
    p_value,
    percent,
)

from . import sentences
from .base import Grid


def grid(result: WavesResult) -> Grid:
    """Table of the levels, each with its change; below those of one number, its trend."""
    level, grouped = sentences.level(result.query.confidence), result.query.groups is not None
    changes = {(*_what(each), each.wave): each for each in result.changes}
    rows: dict[tuple[str | None, ...], list[list[object]]] = {}
    for each in result.levels:
        change = changes.get((*_what(each), each.wave))
        cells = ["", "", "", ""] if change is None else _change(change, f"wave {change.since}")
        first = [*_begin(result, each), str(each.wave), *_cells(each, grouped=grouped)]
        rows.setdefault(_what(each), []).append([*first, *cells])
    for trend in result.trends:
        first = [*_begin(result, trend), "trend", "", ""]
        rows[_what(trend)].append([*first, *_change(trend, "per wave")])
    every = [*chain(*rows.values())]
    # Only the first row of a question names it.
    for above, row in reversed([*pairwise(every)]):
        row[0] = "" if row[0] == above[0] else row[0]
    header = ["question", "answer", *([f"group, against {result.reference}"] if grouped else [])]
    header += ["wave", "difference" if grouped else "share or mean", level, "since", "change"]
    return Grid([*header, level, "adjusted p-value"], every)


def _what(estimate: WaveEstimate) -> tuple[str | None, ...]:
    return estimate.attribute, estimate.answer, estimate.group


def _begin(result: WavesResult, estimate: WaveEstimate) -> list[object]:
    grouped = [estimate.group] if result.query.groups else []
    return [estimate.attribute, "mean" if estimate.answer is None else estimate.answer, *grouped]


def _cells(estimate: WaveEstimate, *, grouped: bool) -> tuple[str, str]:
    if estimate.answer is None:
        return sentences.number_cells(estimate)
    return (
        sentences.number_cells(sentences.points(estimate))
        if grouped
        else sentences.share_cells(estimate)
    )


def _change(change: WaveChange | WaveTrend, since: str) -> list[object]:
    shown = change if change.answer is None else sentences.points(change)
    return [since, *sentences.number_cells(shown), p_value(change.adjusted)]


def significant(result: WavesResult) -> list[WaveChange | WaveTrend]:
    """Changes and trends that are significant at a false discovery rate of 1 − confidence.

    Of the two answers to a yes/no question that of the last one.
    """
    every: list[WaveChange | WaveTrend] = [*result.changes, *result.trends]
    level = 1 - result.query.confidence
    answers: dict[str, dict[str, None]] = {}
    for each in every:
        if each.answer is not None:
            answers.setdefault(each.attribute, {})[each.answer] = None
    shown = {(name, answer) for name, shares in answers.items() for answer in shares}
    shown -= {(name, next(iter(shares))) for name, shares in answers.items() if len(shares) == 2}
    return [
        each
        for each in every
        if each.adjusted is not None
        and each.adjusted <= level
        and (each.answer is None or (each.attribute, each.answer) in shown)
    ]


def chart(result: WavesResult) -> CurveChart:
    """Levels of the first question over the waves, a line for each answer or group."""
    shares = [each for each in result.levels if each.answer is not None]
    first = [each for each in shares if each.attribute == shares[0].attribute]
    curves: dict[str, list[WaveLevel]] = {}
    for each in first:
        curves.setdefault(_named(each), []).append(each)
    questions = len({each.attribute for each in result.levels})
    grouped = result.query.groups is not None
    quantity = f"difference from {result.reference}" if grouped else "share of the people"
    return CurveChart(
        title=f"{first[0].attribute} · {_of_series(result)}",
        notes=(
            *sentences.notes(result, []),
            *warnings(result),
            *sentences.left_out(1, questions, "questions, the first one"),
        ),
        x_axis=Axis("wave", counted=True),
        y_axis=Axis(quantity, shares=True),
        curves=tuple(
            Curve(
                name,
                tuple(float(each.wave) for each in levels),
                tuple(each.value for each in levels),
                tuple(each.ends for each in levels),
            )
            for name, levels in curves.items()
        ),
    )


def changes(result: WavesResult) -> EstimateChart | None:
    """All changes and trends, in points or in what a number is measured in."""
    panels: dict[tuple[str, bool], list[Mark]] = {}
    for each in [*result.changes, *result.trends]:
        shown = each if each.answer is None else sentences.points(each)
        since = f"wave {each.wave}, since {each.since}" if isinstance(each, WaveChange) else "trend"
        row = sentences.drawn(f"{_named(each)}, {since}", shown)
        panels.setdefault((each.attribute, each.answer is None), []).append(row)
    if not panels:
        return None
    every = [row for rows in panels.values() for row in rows]
    return EstimateChart(
        title=f"Changes · {_of_series(result)}",
        notes=tuple(sentences.notes(result, every)),
        panels=tuple(
            Panel(
                Axis("change of the mean" if mean else "percentage points"),
                tuple(rows),
                name,
                Reference(0, "no change"),
            )
            for (name, mean), rows in panels.items()
        ),
    )


def _of_series(result: WavesResult) -> str:
    return result.survey if result.series is None else f"the series {result.series}"


def _named(estimate: WaveEstimate) -> str:
    answer = "mean" if estimate.answer is None else estimate.answer
    return answer if estimate.group is None else f"{answer}, {estimate.group}"


def warnings(result: WavesResult) -> list[str]:
    """Warn of waves and questions that are left out, and of estimates that are undefined."""
    lines = []
    if result.series is None:
        lines.append("This survey belongs to no series.")
    lines += [
        f"Wave {wave.wave} ({wave.survey}) is left out: {wave.left_out}."
        for wave in result.waves
        if wave.left_out is not None
    ]
    for lacking in (False, True):
        waves: dict[str, list[str]] = {}
        for each in result.not_comparable:
            if each.only_said is lacking:
                waves.setdefault(each.reason, []).append(str(each.wave))
        begin = "Compared all the same" if lacking else "Not compared"
        lines += [
            f"{begin}: {reason} in wave{'s' * (len(numbers) > 1)} {sentences.listed(numbers)}."
            for reason, numbers in waves.items()
        ]
    named = [
        (f"{sentences.quoted(each.attribute)}: {_named(each)}", each)
        for each in [*result.levels, *result.changes, *result.trends]
    ]
    return [*lines, *sentences.undefined(named)]


def decide(result: WavesResult) -> tuple[list[Test], list[Claim]]:
    """Which changes and trends are significant among all."""
    if not result.changes:
        return [], [Claim(kind="untested")]
    every: list[WaveChange | WaveTrend] = [*result.changes, *result.trends]
    many = len(every)
    places = {id(each): i for i, each in enumerate(every, start=len(result.levels))}
    rows = [places[id(each)] for each in significant(result)]
    if not rows:
        return [], [Claim(kind="none found", count=many)]
    rate = 1 - result.query.confidence
    return [], [Claim(kind="changed", rows=rows, rate=rate, by_rate=True, count=many)]


def state(result: WavesResult, claim: Claim) -> str:
    """State the significant changes and trends, or that there is none."""
    if claim.kind == "untested":
        return "There are no two waves to compare: there are levels, and no change."
    many, level = number(claim.count or 0), percent(1 - result.query.confidence)
    if claim.kind == "none found":
        return f"No change or trend is significant ({many} tests, false discovery rate {level})."
    every: list[WaveChange | WaveTrend] = [*result.changes, *result.trends]
    found = [_in_words(every[row - len(result.levels)]) for row in claim.rows]
    return (
        f"{sentences.sentence(sentences.few(found))[:-1]} (significant of {many} changes and"
        f" trends, false discovery rate {level})."
    )


def interpretation(result: WavesResult) -> list[str]:
    """Say what changed, what intervals are of, and what nobody can tell."""
    listed = "; ".join(
        f"wave {wave.wave} ({wave.survey}) {number(wave.reports, 0)} reports, γ = {wave.gamma}"
        for wave in result.waves
        if wave.left_out is None
    )
    if not result.changes:
        return []
    lines = [f"Compared: {listed}."]
    if not significant(result):
        lines.append("That no change is significant does not say that nothing changed.")
    whom = {
        "population": "in a population that the respondents of each wave are a sample of",
        "respondents": "from exactly the respondents of one wave to those of the other",
    }[result.query.target]
    lines.append(
        f"A change is that {whom}. Reports are drawn anew in each wave, so what perturbation adds"
        " to a change is the sum of two waves. Sampling is taken to be so, too: where the same"
        " people answered again, intervals are rather too wide."
    )
    invited = [str(wave.wave) for wave in result.waves if wave.invited]
    lines.append(
        "No report says whose it is, so how single people changed, and who took part twice, cannot"
        " be told"
        + (
            f". Wave{'s' * (len(invited) > 1)} {sentences.listed(invited)} took invitations:"
            " whoever kept which person got which knows who took part in which wave, not with which"
            " report."
            if invited
            else "."
        )
    )
    if result.trends:
        lines.append(
            "A trend is the slope of a straight line, in points per wave, or what a number is"
            " measured in; waves weigh as much as they are precise."
        )
    return lines


def _in_words(change: WaveChange | WaveTrend) -> str:
    shown = change if change.answer is None else sentences.points(change)
    unit = "" if change.answer is None else " points"
    if isinstance(change, WaveTrend):
        when = "per wave"
    else:
        when = f"in wave {change.wave} since wave {change.since}"
    more = "+" if (change.value or 0) > 0 else ""
    return (
        f"“{change.attribute}” {_named(change)}:"
        f" {more}{number_in_words(shown)}{unit} {when} ({interval_in_words(shown)})"
    )
