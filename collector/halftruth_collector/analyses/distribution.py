"""Means, deviations, quantiles and cumulative shares of numbers and of answers in an order."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

import numpy as np
import scipy
from halftruth_shared import ParameterError, Survey
from halftruth_shared.analyses.distribution import (
    DistributionQuery,
    DistributionResult,
    GroupDistribution,
    OrderedShare,
    QuantileEstimate,
)
from halftruth_shared.errors import listing
from halftruth_shared.results import Quantity
from halftruth_shared.results.charts import Axis, EstimateChart, Mark, Panel
from halftruth_shared.results.claims import Claim, Test
from halftruth_shared.results.estimate import Estimate
from halftruth_shared.results.wording import number, with_interval
from msgspec.structs import replace

from ..estimation.answers import answered, answers_of
from ..estimation.association import known_covariance
from ..estimation.bounds import TOO_SMALL, Array, normal_quantile
from ..estimation.distribution import (
    Distribution,
    Moment,
    Scale,
    distributions,
    mean_differences,
    scale_of,
)
from ..estimation.estimates import estimates
from ..estimation.intervals import SHARE, deviation_of, mean_of
from . import sentences
from .base import Analysis, Counted, Grid, errors_naming
from .deciding import as_selected, count_in_words, decide_each, p_in_words, sign, tested_by

E = TypeVar("E", bound=Estimate)

#: Answers up to which a chart has their cumulative shares, too.
_FEW_ANSWERS = 12


def compute(counted: Counted, query: DistributionQuery) -> DistributionResult:
    """Estimate the distribution of everybody and of each requested group."""
    _check_percentiles(query.percentiles)
    schema = counted.estimator.schema
    attribute = schema.attributes[schema.position(query.attribute, "attribute")]
    scale = scale_of(attribute, query.scores)
    by: list[list[str]] = [[]]
    groups: list[str | None] = [None]
    if query.groups is not None:
        grouping = schema.attributes[schema.position(query.groups, "groups")]
        if grouping is attribute:
            raise ParameterError(
                f"groups: '{attribute.name}' is the attribute that is described; expected another"
                " one",
                field="groups",
            )
        by.append([grouping.name])
        groups += answers_of(grouping)
    reference = _reference(query, groups[1:])
    of_groups: list[Distribution] = []
    differences: list[Estimate | None] = [None] * len(groups)
    for names in by:
        support, covariance = _table(counted, query, [*names, attribute.name])
        of_groups += distributions(support.reshape(-1, support.shape[-1]), covariance)
        if reference is not None and names:
            place = groups.index(reference) - 1
            differences[1:] = _differences(query, scale, support, covariance, place)
    reports = counted.estimator.table([attribute.name]).reports
    return DistributionResult(
        **counted.origin(),
        query=query,
        label=attribute.label_in(),
        ordered=attribute.ordered or len(scale.answers) == 2,
        answers=list(scale.answers),
        values=scale.values.tolist(),
        counted_as=scale.counted_as,
        bin_error=scale.bin_error,
        reference=reference,
        groups=[
            replace(_group(group, one, scale, query, reports), difference=difference)
            for group, one, difference in zip(groups, of_groups, differences, strict=True)
        ],
    )


def _table(counted: Counted, query: DistributionQuery, names: list[str]) -> tuple[Array, Array]:
    """Return support and covariance; errors about both attributes name the groups."""
    with errors_naming("attribute" if len(names) == 1 else "groups"):
        table = counted.estimator.table(names)
        covariance = known_covariance(table, query.target)
        return answered(counted.estimator.schema, table.support, covariance, names)


def _reference(query: DistributionQuery, groups: Sequence[str | None]) -> str | None:
    if query.reference is None:
        return groups[0] if groups else None
    if query.reference not in groups:
        raise ParameterError(
            f"reference: '{query.reference}' is none of the groups; expected one of:"
            f" {listing([group for group in groups if group])}",
            field="reference",
        )
    return query.reference


def _differences(
    query: DistributionQuery, scale: Scale, support: Array, covariance: Array, reference: int
) -> Iterator[Estimate | None]:
    """Difference of each group's mean from that of the reference, which has none."""
    values, errors = mean_differences(support, covariance, scale.values, reference)
    lacking = f"one of the groups has a share {TOO_SMALL}"
    half_widths = normal_quantile(1 - query.confidence) * errors
    differences = estimates(
        Estimate,
        mean_of(scale.values).contrast("mean_difference", [1, -1]),
        values,
        errors,
        (values - half_widths, values + half_widths),
        p_value=2 * scipy.special.ndtr(-np.abs(values) / np.where(errors > 0, errors, np.nan)),
        undefined=[lacking if np.isnan(value) else None for value in values],
    )
    for place, difference in enumerate(differences):
        yield None if place == reference else difference


def _check_percentiles(percentiles: Sequence[int]) -> None:
    if len(set(percentiles)) < len(percentiles):
        raise ParameterError(
            "percentiles: expected different ones, such as 25,50,75", field="percentiles"
        )


def _group(
    group: str | None,
    distribution: Distribution,
    scale: Scale,
    query: DistributionQuery,
    reports: int,
) -> GroupDistribution:
    base = reports * distribution.base
    z = normal_quantile(1 - query.confidence)
    if not distribution.defined:
        who = "who answered" if group is None else group
        lacking = f"{who}: the share of everybody is too small, {TOO_SMALL}"
        return GroupDistribution(
            group=group,
            base=base,
            mean=Estimate(undefined=lacking),
            deviation=Estimate(undefined=lacking),
            quantiles=[
                QuantileEstimate(percentile=p, undefined=lacking) for p in query.percentiles
            ],
            answers=[],
            undefined=lacking,
        )
    return GroupDistribution(
        group=group,
        base=base,
        mean=_moment(distribution.mean(scale.values, z), mean_of(scale.values)),
        deviation=_moment(distribution.deviation(scale.values, z), deviation_of(scale.values)),
        quantiles=[_quantile(distribution, scale, p, z) for p in query.percentiles],
        answers=_shares(distribution, scale, z),
    )


def _moment(moment: Moment, of: Quantity) -> Estimate:
    if np.isnan(moment.value):
        return Estimate(undefined="the estimate of the variance is not above 0")
    ends = (moment.lower, moment.upper)
    return next(estimates(Estimate, of, moment.value, moment.standard_error, ends))


def _quantile(
    distribution: Distribution, scale: Scale, percentile: int, z: float
) -> QuantileEstimate:
    one = distribution.quantile(percentile / 100, scale.values, z, scale.edges)
    answers = (scale.answers[one.first], scale.answers[one.last])
    return next(
        estimates(
            QuantileEstimate,
            mean_of(scale.values, scale.edges),
            one.value,
            np.nan,
            (one.lower, one.upper) if distribution.known else (np.nan, np.nan),
            percentile=[percentile],
            answer=[scale.answers[one.answer]],
            answers=[answers if distribution.known else None],
        )
    )


def _shares(distribution: Distribution, scale: Scale, z: float) -> list[OrderedShare]:
    unknown = 0.0 if distribution.known else np.nan

    def of(kind: type[E], shares: Array, errors: Array, **fields: Any) -> Iterator[E]:
        errors = errors + unknown
        ends = (shares - z * errors, shares + z * errors)
        return estimates(kind, SHARE, shares, errors, ends, **fields)

    cumulative = [*of(Estimate, distribution.cumulative, distribution.cumulative_error)]
    return [
        *of(
            OrderedShare,
            distribution.share,
            distribution.standard_error,
            answer=scale.answers,
            cumulative=cumulative,
        )
    ]


def grid(result: DistributionResult) -> Grid:
    """Numbers of each group, then its shares; percentiles with their answer and its interval."""
    others = {"base": "people, about", "answer": "answer there", "answer_from": "from answer"}
    return sentences.estimates_grid(result, {**others, "answer_to": "to answer"})


def _named(group: GroupDistribution) -> str:
    return "everybody" if group.group is None else group.group


def _percentile(quantile: QuantileEstimate) -> str:
    return (
        "median"
        if quantile.percentile == 50
        else f"{number(quantile.percentile)}{_th(quantile)} percentile"
    )


def _th(quantile: QuantileEstimate) -> str:
    tens, ones = divmod(quantile.percentile, 10)
    return "th" if tens == 1 else {1: "st", 2: "nd", 3: "rd"}.get(ones, "th")


def chart(result: DistributionResult) -> EstimateChart:
    """Shares as a histogram or, of groups, their means, quantiles and cumulative shares."""
    level = sentences.level(result.query.confidence)
    if result.query.groups is None:
        return _histogram(result, level)
    unit = Axis(_unit(result))
    panels = [Panel(unit, tuple(_row(g, g.mean) for g in result.groups), "Mean")]
    if result.counted_as == "middles":
        for i, quantile in enumerate(result.groups[0].quantiles):
            name, rows = _percentile(quantile), (_row(g, g.quantiles[i]) for g in result.groups)
            panels.append(Panel(unit, tuple(rows), f"{name[0].upper()}{name[1:]}"))
    elif len(result.answers) <= _FEW_ANSWERS:
        shares = Axis("share of the group", shares=True)
        panels += [
            Panel(shares, tuple(_up_to(g, i) for g in result.groups), f"Up to “{answer}”")
            for i, answer in enumerate(result.answers[:-1])
        ]
    rows_shown = [row for panel in panels for row in panel.rows]
    return EstimateChart(
        title=sentences.title(result, *_about(result)),
        notes=(*sentences.notes(result, rows_shown), *warnings(result), *_counted_as(result)),
        panels=tuple(panels),
    )


def _about(result: DistributionResult) -> list[str]:
    groups = result.query.groups
    by = [] if groups is None else [f"by {sentences.quoted(groups)}"]
    return [result.query.attribute, *by]


def _row(group: GroupDistribution, mean: Estimate) -> Mark:
    return sentences.drawn(_named(group), mean)


def _up_to(group: GroupDistribution, i: int) -> Mark:
    if group.undefined:
        return Mark(_named(group), reason=group.undefined)
    return _row(group, group.answers[i].cumulative)


def _histogram(result: DistributionResult, level: str) -> EstimateChart:
    [everybody] = result.groups
    bars = [sentences.drawn(answer.answer, answer) for answer in everybody.answers]
    axis = Axis("share of those who answered", shares=True)
    panels = [Panel(axis, tuple(bars), "Share")]
    if len(bars) <= _FEW_ANSWERS:
        rising = [
            sentences.drawn(_upto(result, answer.answer), answer.cumulative)
            for answer in everybody.answers[:-1]
        ]
        panels.append(Panel(axis, tuple(rising), "Cumulative share"))
    return EstimateChart(
        title=sentences.title(result, *_about(result)),
        notes=(
            *sentences.notes(result, bars),
            *warnings(result),
            *sentences.negative(bars),
            *_counted_as(result),
        ),
        panels=tuple(panels),
        bars=True,
    )


def _upto(result: DistributionResult, answer: str) -> str:
    return f"{answer} and below" if result.counted_as == "middles" else f"up to “{answer}”"


def _unit(result: DistributionResult) -> str:
    return {"middles": "number", "numbers": "number", "scores": "score", "ranks": "rank"}[
        result.counted_as
    ]


def decide(result: DistributionResult) -> tuple[list[Test], list[Claim]]:
    """The mean of everybody, and which means of groups differ from that of the reference."""
    places = {id(each): i for i, (_, each, _) in enumerate(result.estimates())}
    everybody = result.groups[0]
    medians = [q for q in everybody.quantiles if q.percentile == 50 and q.undefined is None]
    rows = [places[id(each)] for each in (everybody.mean, *medians)]
    claims = [Claim(kind="estimate", rows=rows)]
    differences = [each.difference for each in result.groups if each.difference is not None]
    if not differences:
        return [], claims
    tests, found = decide_each(
        "different",
        [(places[id(each)], each) for each in differences],
        name="Wald",
        rate=1 - result.query.confidence,
        direction=lambda i: sign(differences[i].value),
    )
    return tests, [*found, *claims]


def state(result: DistributionResult, claim: Claim) -> str:
    """State a mean, or how the mean of a group differs from that of the reference."""
    about, what = sentences.quoted(result.query.attribute), f"mean {_unit(result)}"
    if claim.kind == "untested":
        return f"Whether groups differ in {about} cannot be tested with these reports."
    if claim.by_rate:
        return count_in_words(claim, "differences of means")
    if claim.kind == "estimate":
        everybody = result.groups[0]
        middle = "".join(
            f", median {q.answer}"
            for q in everybody.quantiles
            if len(claim.rows) > 1 and q.percentile == 50
        )
        return f"{about}: {what} {with_interval(everybody.mean)} of everybody{middle}."
    p = p_in_words(tested_by(result, claim))
    if claim.kind == "none found":
        return f"No significant difference in the {what} of {about} ({p})."
    (_, name, _), difference, _ = next(islice(result.estimates(), claim.rows[0], None))
    [group] = [each for each in result.groups if each.group == name]
    than = {None: "unlike", "more": "larger than", "less": "smaller than"}[claim.direction]
    said = with_interval(as_selected(difference, claim))
    return (
        f"{about}: the {what} of {name} is {than} that of {result.reference}: difference"
        f" {said}, {p}; {with_interval(group.mean)} of {name}."
    )


def warnings(result: DistributionResult) -> list[str]:
    """Warn of estimates that are undefined, too uncertain or without an order."""
    lines = []
    if not result.ordered:
        lines.append(
            f"The survey does not say that the answers to “{result.query.attribute}” are in an"
            " order; they are taken in that of the survey."
        )
    named: list[tuple[str, Estimate]] = [
        (f"{name} of {_named(group)}", one)
        for group in result.groups
        for name, one in (
            ("mean", group.mean),
            ("standard deviation", group.deviation),
            *((_percentile(quantile), quantile) for quantile in group.quantiles),
        )
    ]
    return [*lines, *sentences.undefined(named), *sentences.too_uncertain(named)]


def _counted_as(result: DistributionResult) -> list[str]:
    """Describe the scores."""
    if result.counted_as == "middles":
        if not result.bin_error:
            return []
        error = number(result.bin_error)
        return [
            "Numbers are known by their bins, of which each counts as its middle: means and"
            f" standard deviations are off by at most {error} for that, besides their intervals."
        ]
    if result.counted_as == "numbers":
        return []
    pairs = zip(result.answers, result.values, strict=True)
    listed = ", ".join(f"{answer} as {number(one)}" for answer, one in pairs)
    return [f"The answers count: {listed}."]


def interpretation(result: DistributionResult) -> list[str]:
    """Interpret scores, bases of shares, and quantiles."""
    lines = _counted_as(result)
    if result.counted_as == "middles":
        lines.append(
            "Percentiles are interpolated within their bin. The true percentile lies in these bins,"
            " however numbers are spread in them."
        )
    if any(
        g.undefined is None and any((a.value or 0) < 0 for a in g.answers) for g in result.groups
    ):
        lines.append(
            "Where cumulative shares fall, because an estimate is below 0, percentiles are those of"
            " shares that grow."
        )
    if result.query.groups is not None:
        lines.append(
            "Judge by the differences and the p-value of the headline, not by whether intervals of"
            " means overlap."
        )
    return lines


def start(survey: Survey) -> DistributionQuery:
    """Initial query: the first number, else an ordered question, or that with most answers."""
    attributes = survey.schema.attributes
    chosen = max(
        attributes, key=lambda a: (a.number is not None, a.ordered, min(len(a.categories), 3))
    )
    return DistributionQuery(attribute=chosen.name)


ANALYSIS = Analysis(
    query=DistributionQuery,
    title="Means and percentiles",
    compute=compute,
    start=start,
    grid=grid,
    decide=decide,
    state=state,
    chart=chart,
    warnings=warnings,
    interpretation=interpretation,
    place="Overview",
    order=28,
)
