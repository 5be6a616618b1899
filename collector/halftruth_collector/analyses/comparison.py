"""Shares of one answer in several groups, compared."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from halftruth_shared import Attribute, ParameterError, Survey
from halftruth_shared.analyses.base import Interval, Usability
from halftruth_shared.analyses.comparison import (
    ComparisonQuery,
    ComparisonResult,
    EffectEstimate,
    GroupComparison,
    GroupShare,
)
from halftruth_shared.analyses.wording import (
    items,
    judged,
    number,
    p_value,
    share,
    share_interval,
    value,
    value_interval,
)

from ..charts.specification import Axis, Estimate, Panel, Reference, WhiskerChart
from ..estimation.answers import category_code
from ..estimation.bounds import optional
from ..estimation.contrasts import Estimates, Groups, compare_groups, shares_of, trend_of
from ..estimation.reliability import clear, judge, margin
from . import sentences
from .base import Analysis, Counted, Grid, clearest, middle_answer

_EFFECTS = {"difference": "difference", "risk_ratio": "risk ratio", "odds_ratio": "odds ratio"}


def compute(counted: Counted, query: ComparisonQuery) -> ComparisonResult:
    """Comparisons from the table of the groups and the answer alone."""
    schema = counted.estimator.schema
    [(name, category)] = query.answer.items()
    answered = schema.attributes[schema.position(name, "answer")]
    answer = category_code(answered, category, "answer")
    attribute = schema.attributes[schema.position(query.groups, "groups")]
    if attribute is answered:
        raise ParameterError(
            f"groups: '{name}' is the attribute of the answer; expected another one",
            field="groups",
        )
    chosen = _chosen(attribute, query.among)
    reference = _reference(attribute, chosen, query.reference)
    names = [attribute.categories[code] for code in chosen]
    table = counted.estimator.table([query.groups, name])
    groups = Groups.of_table(table, names, chosen, answer, query.target)
    effects = compare_groups(groups, reference, query.effect, query.simultaneous, query.confidence)
    ratio = query.effect != "difference"
    against = None if reference is None else names[reference]
    compared = [group for group in names if group != against]
    return ComparisonResult(
        **counted.origin(),
        query=query,
        reference=against,
        groups=_shares(groups, query.confidence),
        comparisons=[
            GroupComparison(group=group, against=against, effect=effect)
            for group, effect in zip(compared, _effects(effects, ratio=ratio), strict=True)
        ],
        trend=next(_effects(trend_of(groups, query.confidence))) if query.trend else None,
    )


def _chosen(attribute: Attribute, among: Sequence[str] | None) -> list[int]:
    """Codes of the groups, in the order of the survey."""
    if among is None:
        return list(range(len(attribute.categories)))
    codes = [category_code(attribute, category, "among") for category in among]
    if len(set(codes)) < max(len(codes), 2):
        raise ParameterError("among: expected two or more different categories", field="among")
    return sorted(codes)


def _reference(attribute: Attribute, chosen: Sequence[int], name: str | None) -> int | None:
    """Place of the reference among the groups; of two it is the first."""
    if name is None:
        return 0 if len(chosen) == 2 else None
    code = category_code(attribute, name, "reference")
    if code not in chosen:
        raise ParameterError(
            f"reference: '{name}' is not among the groups; expected one of them", field="reference"
        )
    return chosen.index(code)


def _verdicts(
    estimates: Estimates, *, ratio: bool = False, effect: bool = True
) -> Iterator[tuple[Usability, str]]:
    """Verdicts on shares or, by default, on effects."""
    directed = clear(estimates.lower, estimates.upper, ratio=ratio) & effect
    margins = margin(estimates.lower, estimates.upper, ratio=ratio)
    verdicts = judge(margins, ratio=ratio, directed=directed)
    for reason, verdict in zip(estimates.undefined, verdicts, strict=True):
        yield ("not usable", f"not usable: {reason}") if reason else verdict


def _shares(groups: Groups, confidence: float) -> list[GroupShare]:
    shares = shares_of(groups, confidence)
    return [
        GroupShare(
            group=group,
            base=groups.reports * float(groups.base[g]),
            share=optional(float(shares.value[g])),
            standard_error=optional(float(shares.standard_error[g])),
            interval=_interval(shares, g),
            usability=usability,
            verdict=verdict,
            undefined=shares.undefined[g] or None,
        )
        for g, (group, (usability, verdict)) in enumerate(
            zip(groups.names, _verdicts(shares, effect=False), strict=True)
        )
    ]


def _effects(effects: Estimates, *, ratio: bool = False) -> Iterator[EffectEstimate]:
    for k, (usability, verdict) in enumerate(_verdicts(effects, ratio=ratio)):
        interval = _interval(effects, k)
        yield EffectEstimate(
            value=optional(float(effects.value[k])),
            standard_error=optional(float(effects.standard_error[k])),
            interval=None if interval is None else (interval[0], optional(interval[1])),
            p_value=optional(float(effects.p_value[k])),
            usability=usability,
            verdict=verdict,
            undefined=effects.undefined[k] or None,
        )


def _interval(effect: Estimates, k: int) -> Interval | None:
    lower, upper = float(effect.lower[k]), float(effect.upper[k])
    return None if np.isnan(lower) or np.isnan(upper) else (lower, upper)


def grid(result: ComparisonResult) -> Grid:
    """Table of the groups' shares and comparisons."""
    query, level = result.query, sentences.level(result.query.confidence)
    effects = {compared.group: compared for compared in result.comparisons}
    return Grid(
        [
            query.groups,
            "people, about",
            f"share of {items(query.answer)}",
            level,
            "compared with",
            f"{_EFFECTS[query.effect]}{' in points' if _in_points(result) else ''}",
            level,
            "p-value",
        ],
        [
            [
                each.group,
                number(each.base, 0),
                _said(each.undefined, share(each.share, each.interval), each.usability),
                share_interval(each.interval),
                *_compared(result, effects.get(each.group)),
            ]
            for each in result.groups
        ],
    )


def _compared(result: ComparisonResult, comparison: GroupComparison | None) -> list[str]:
    if comparison is None:
        return ["", "", "", ""]
    effect, row = comparison.effect, _row("", comparison.effect, points=_in_points(result))
    return [
        _other(comparison),
        _said(effect.undefined, value(row.value, row.interval), effect.usability),
        value_interval(row.interval),
        p_value(effect.p_value),
    ]


def _said(undefined: str | None, text: str, usability: Usability) -> str:
    return "undefined" if undefined else judged(text, usability)


def _other(comparison: GroupComparison) -> str:
    return "all others" if comparison.against is None else comparison.against


def _in_points(result: ComparisonResult) -> bool:
    return result.query.effect == "difference"


def _row(label: str, effect: EffectEstimate, *, points: bool) -> Estimate:
    """Effect for display: differences in percentage points, open ends as infinite."""
    scale = 100.0 if points else 1.0
    ends = effect.interval
    return Estimate(
        label,
        None if effect.value is None else scale * effect.value,
        None if ends is None else scale * ends[0],
        None if ends is None else np.inf if ends[1] is None else scale * ends[1],
        reason=effect.undefined,
    )


def chart(result: ComparisonResult) -> WhiskerChart:
    """Shares of the groups, below them the effects with a line where there is no difference."""
    query = result.query
    shares = [
        replace(sentences.estimate(each.group, each.share, each.interval), reason=each.undefined)
        for each in result.groups
    ]
    effects = [
        _row(f"{each.group}, against {_other(each)}", each.effect, points=_in_points(result))
        for each in result.comparisons
    ]
    axis = Axis("percentage points") if _in_points(result) else Axis("ratio", scale="log")
    line = Reference(0 if _in_points(result) else 1, "no difference")
    heading = f"{_EFFECTS[query.effect].capitalize()} of the shares"
    panels = [
        Panel(Axis("share of the group", shares=True), tuple(shares), f"Share of {_what(result)}"),
        Panel(axis, tuple(effects), heading, line),
    ]
    if result.trend is not None:
        row = _row("from one group to the next", result.trend, points=True)
        points = Axis("percentage points")
        panels.append(Panel(points, (row,), "Average change", Reference(0, "no trend")))
    together = query.simultaneous != "none"
    return WhiskerChart(
        title=f"{_what(result)} in {result.survey}, by {query.groups}",
        notes=(
            *sentences.notes(result, [*shares, *effects], together=together),
            *(["Those of shares and of a trend are each by itself."] if together else []),
            *warnings(result),
        ),
        panels=tuple(panels),
        values_label=f"estimate ({sentences.level(query.confidence)})",
    )


def _what(result: ComparisonResult) -> str:
    return items(result.query.answer)


def warnings(result: ComparisonResult) -> list[str]:
    """Warn of estimates that are undefined or too uncertain."""
    named: list[tuple[str, Any]] = [(f"share of {each.group}", each) for each in result.groups]
    named += [(f"{each.group} against {_other(each)}", each.effect) for each in result.comparisons]
    named += [] if result.trend is None else [("trend", result.trend)]
    reasons = dict.fromkeys(each.undefined for _, each in named if each.undefined)
    return [
        *(
            f"Undefined, as {reason}: "
            f"{sentences.listed([name for name, each in named if each.undefined == reason])}."
            for reason in reasons
        ),
        *sentences.too_uncertain(named),
    ]


def interpretation(result: ComparisonResult) -> list[str]:
    """Describe the trend, and interpret intervals and p-values."""
    query, lines = result.query, []
    if result.trend is not None and result.trend.value is not None:
        row = _row("", result.trend, points=True)
        lines.append(
            f"Trend in the order of the groups: {value(row.value, row.interval)} percentage points"
            f" from each to the next on average ({value_interval(row.interval)}),"
            f" p-value {p_value(result.trend.p_value)}."
        )
    if any(c.effect.interval and c.effect.interval[1] is None for c in result.comparisons):
        lines.append(
            "Where a share that is divided by cannot be told from zero, its ratio has no upper end."
        )
    many = len(result.comparisons)
    if many > 1 and query.simultaneous == "none":
        lines.append(
            f"Each interval and p-value is for one comparison by itself; among {many}, chance"
            " differences are likelier than in one. simultaneous = maximum is for all together."
        )
    if query.simultaneous != "none":
        lines.append(
            "Intervals and p-values of the comparisons hold all together, those of shares and of a"
            " trend each by itself."
        )
    lines.append(
        "p-values are of tests that shares are equal, with the error that there is if they are, and"
        " so need not agree with every interval. A small one speaks against equal shares, a large"
        " one for nothing: perturbation hides small differences."
    )
    return lines


def start(survey: Survey) -> ComparisonQuery:
    """An answer to the second clearest question, by the clearest, whose groups are large."""
    first, second = (clearest(survey) * 2)[:2]
    return ComparisonQuery(answer={second.name: middle_answer(second)}, groups=first.name)


ANALYSIS = Analysis(
    query=ComparisonQuery,
    title="Comparison of groups",
    compute=compute,
    start=start,
    grid=grid,
    chart=chart,
    warnings=warnings,
    interpretation=interpretation,
    together=2,
    order=25,
)
