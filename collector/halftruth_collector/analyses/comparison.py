"""Shares of one answer in several groups, compared."""

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
from halftruth_shared import Attribute, ParameterError, Schema, Survey
from halftruth_shared.analyses import Query
from halftruth_shared.analyses.charts import Axis, EstimateChart, Panel, Reference
from halftruth_shared.analyses.claims import Claim, Test
from halftruth_shared.analyses.comparison import (
    ComparisonQuery,
    ComparisonResult,
    GroupComparison,
    GroupShare,
)
from halftruth_shared.analyses.crosstab import CrosstabQuery
from halftruth_shared.analyses.distribution import DistributionQuery
from halftruth_shared.analyses.estimate import Estimate
from halftruth_shared.analyses.wording import (
    interval_in_words,
    items,
    number,
    number_in_words,
    p_value,
    percent,
    quoted_items,
    with_interval,
)
from halftruth_shared.attribute import OPTION
from halftruth_shared.errors import listing
from msgspec.structs import replace

from ..estimation.answers import category_code
from ..estimation.contrasts import (
    Estimates,
    Groups,
    compare_groups,
    shares_of,
    trend_of,
    trend_weights,
)
from ..estimation.estimates import covariance_of, estimates
from ..estimation.intervals import DIFFERENCE, RATIO, SHARE, Quantity
from . import sentences
from .base import Analysis, Counted, Grid, clearest, middle_answer
from .deciding import (
    as_selected,
    count_in_words,
    decide_each,
    p_in_words,
    sign,
    tested_by,
    with_adjusted,
)

E = TypeVar("E", bound=Estimate)

_EFFECTS = {"difference": "difference", "risk_ratio": "risk ratio", "odds_ratio": "odds ratio"}


def compute(counted: Counted, query: ComparisonQuery) -> ComparisonResult:
    """Comparisons from the table of the groups and the answer alone."""
    schema = counted.estimator.schema
    name, category = _answer(schema, query)
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
    effects = compare_groups(groups, reference, query.effect, query.confidence)
    every = [shares_of(groups, query.confidence), effects]
    if query.trend:
        every.append(trend_of(groups, query.confidence))
    gradient = np.vstack([each.gradient for each in every])
    against = None if reference is None else names[reference]
    of_trend = SHARE.contrast(trend_weights(len(names)).tolist())
    compared = [group for group in names if group != against]
    return ComparisonResult(
        **counted.origin(),
        query=query,
        reference=against,
        groups=[
            *_estimates(
                GroupShare,
                SHARE,
                every[0],
                group=names,
                base=(groups.reports * groups.base).tolist(),
            )
        ],
        comparisons=with_adjusted(
            [
                *_estimates(
                    GroupComparison,
                    DIFFERENCE if query.effect == "difference" else RATIO,
                    effects,
                    group=compared,
                    against=[against] * len(compared),
                )
            ]
        ),
        trend=next(_estimates(Estimate, of_trend, every[2])) if query.trend else None,
        covariance=covariance_of(gradient @ groups.covariance @ gradient.T)
        if query.covariance
        else None,
    )


def _answer(schema: Schema, query: ComparisonQuery) -> tuple[str, str]:
    """Attribute and category of the answer; of an option, that it was chosen."""
    [(name, category)] = query.answer.items()
    if name not in schema.options:
        return name, category
    options = {str(option.option): option.name for option in schema.options[name]}
    if category not in options:
        raise ParameterError(
            f"answer: '{name}' has no option '{category}'; expected one of: {listing([*options])}",
            field="answer",
        )
    return options[category], OPTION[-1]


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


def _estimates(kind: type[E], of: Quantity, columns: Estimates, **fields: Any) -> Iterator[E]:
    return estimates(
        kind,
        of,
        columns.value,
        columns.standard_error,
        (columns.lower, columns.upper),
        p_value=columns.p_value,
        undefined=columns.undefined,
        **fields,
    )


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
            "adjusted p-value" if len(result.comparisons) > 1 else "p-value",
        ],
        [
            [
                each.group,
                number(each.base, 0),
                *sentences.share_cells(each),
                *_compared(result, effects.get(each.group)),
            ]
            for each in result.groups
        ],
    )


def _compared(result: ComparisonResult, comparison: GroupComparison | None) -> list[str]:
    if comparison is None:
        return ["", "", "", ""]
    return [
        _other(comparison),
        *sentences.number_cells(_scaled(result, comparison)),
        p_value(comparison.adjusted),
    ]


def _other(comparison: GroupComparison) -> str:
    return "all others" if comparison.against is None else comparison.against


def _in_points(result: ComparisonResult) -> bool:
    return result.query.effect == "difference"


def _scaled(result: ComparisonResult, effect: Estimate) -> Estimate:
    """An effect for display: differences in percentage points."""
    return sentences.points(effect) if _in_points(result) else effect


def chart(result: ComparisonResult) -> EstimateChart:
    """Shares of the groups, below them the effects with a line where there is no difference."""
    query = result.query
    shares = [sentences.drawn(each.group, each) for each in result.groups]
    effects = [
        sentences.drawn(f"{each.group}, against {_other(each)}", _scaled(result, each))
        for each in result.comparisons
    ]
    axis = Axis("percentage points") if _in_points(result) else Axis("ratio", scale="log")
    line = Reference(0 if _in_points(result) else 1, "no difference")
    heading = f"{_EFFECTS[query.effect].capitalize()} of the shares"
    panels = [
        Panel(Axis("share of the group", shares=True), tuple(shares), f"Share: {_what(result)}"),
        Panel(axis, tuple(effects), heading, line),
    ]
    if result.trend is not None:
        row = sentences.drawn("from one group to the next", sentences.points(result.trend))
        points = Axis("percentage points")
        panels.append(Panel(points, (row,), "Average change", Reference(0, "no trend")))
    return EstimateChart(
        title=sentences.title(result, _what(result), f"by {sentences.quoted(query.groups)}"),
        notes=(
            *sentences.notes(result, [*shares, *effects]),
            *warnings(result),
        ),
        panels=tuple(panels),
    )


def _what(result: ComparisonResult) -> str:
    return items(result.query.answer)


def decide(result: ComparisonResult) -> tuple[list[Test], list[Claim]]:
    """Which groups differ, from the p-values of the comparisons."""
    none = 0.0 if _in_points(result) else 1.0
    tests, claims = decide_each(
        "different",
        [*enumerate(result.comparisons, start=len(result.groups))],
        name="Wald" if result.query.estimate == "model" else "score",
        rate=1 - result.query.confidence,
        direction=lambda i: sign(result.comparisons[i].value, none),
    )
    return tests, [claim if claim.by_rate else _with_shares(result, claim) for claim in claims]


def _with_shares(result: ComparisonResult, claim: Claim) -> Claim:
    """Add the usable shares that a difference is of to what is claimed."""
    if claim.kind != "different":
        return claim
    each = result.comparisons[claim.rows[0] - len(result.groups)]
    shares = [
        row
        for row, share in enumerate(result.groups)
        if share.group in (each.group, each.against) and share.reliability != "not usable"
    ]
    return replace(claim, rows=[*claim.rows, *shares])


def state(result: ComparisonResult, claim: Claim) -> str:
    """State a difference with the usable shares that it is of, or that none is significant."""
    what, groups = quoted_items(result.query.answer), result.query.groups
    if claim.kind == "untested":
        return f"Whether groups differ in {what} cannot be tested with these reports."
    if claim.by_rate:
        return count_in_words(claim, "differences")
    row, *of_shares = claim.rows
    p, each = p_in_words(tested_by(result, claim)), result.comparisons[row - len(result.groups)]
    here = quoted_items({groups: each.group})
    other = quoted_items({groups: each.against}) if each.against else "all others"
    name = _EFFECTS[result.query.effect]
    shown = _scaled(result, as_selected(each, claim))
    said = f"{with_interval(shown)}{' points' if _in_points(result) else ''}"
    if each.reliability == "not usable":
        said = "too imprecise to use"
    if claim.kind == "none found":
        return (
            f"No significant difference in {what} ({p}). Strongest evidence: {here} against"
            f" {other}, {name} {said}."
        )
    often = {None: "not as often", "more": "more often", "less": "less often"}[claim.direction]
    where = "where" if each.against else "among"
    shares = "; ".join(
        f"{sentences.of_share(share)} where {quoted_items({groups: share.group})}"
        for share in (result.groups[place] for place in of_shares)
    )
    return (
        f"{what} occurs {often} where {here} than {where} {other}: {name} {said}, {p}."
        f"{f' Shares: {shares}.' if shares else ''}"
    )


def warnings(result: ComparisonResult) -> list[str]:
    """Warn of estimates that are undefined or too uncertain."""
    named: list[tuple[str, Estimate]] = [
        *((f"share of {each.group}", each) for each in result.groups),
        *((f"{each.group} against {_other(each)}", each) for each in result.comparisons),
        *([] if result.trend is None else [("trend", result.trend)]),
    ]
    return [*sentences.undefined(named), *sentences.too_uncertain(named)]


def interpretation(result: ComparisonResult) -> list[str]:
    """Describe the trend, and interpret intervals and p-values."""
    query, lines = result.query, []
    if result.trend is not None and result.trend.value is not None:
        trend = sentences.points(result.trend)
        lines.append(
            f"Trend in the order of the groups: {number_in_words(trend)} percentage points"
            f" from each to the next on average ({interval_in_words(trend)}),"
            f" p-value {p_value(trend.p_value)}."
        )
    if any(each.interval and each.interval[1] is None for each in result.comparisons):
        lines.append(
            "Where a denominator is not significantly above zero, its ratio has no upper end."
        )
    if len(result.comparisons) > 1:
        lines.append(
            "Each interval is for one comparison by itself. Adjusted p-values are false discovery"
            f" rates among all comparisons: those up to {percent(1 - query.confidence)} are"
            " significant."
        )
    tests = "Wald tests by the model" if query.estimate == "model" else "score tests"
    lines.append(
        f"p-values are of {tests} and assume equal shares, so they can disagree with the interval."
        " A large p-value is no evidence that shares are equal: perturbation hides small"
        " differences."
    )
    return lines


def further(survey: Survey, query: ComparisonQuery) -> list[Query[Any]]:
    """All answers by the same groups, and their means where they are in an order."""
    [name] = query.answer
    schema = survey.schema
    if query.estimate == "model":
        return []
    attribute = schema.attributes_of(name)[0]
    name = attribute.several or name
    same: Any = {
        "where": query.where,
        "missing": query.missing,
        "confidence": query.confidence,
        "target": query.target,
    }
    answers: Query[Any] = CrosstabQuery(attributes=[query.groups, name], percentages="row", **same)
    if attribute.number is None and not attribute.ordered:
        return [answers]
    del same["missing"]
    return [answers, DistributionQuery(attribute=name, groups=query.groups, **same)]


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
    decide=decide,
    state=state,
    chart=chart,
    warnings=warnings,
    interpretation=interpretation,
    further=further,
    together=2,
    place="Compare",
    order=4,
)
