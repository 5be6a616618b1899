"""Means, deviations, quantiles and cumulative shares of numbers and of answers in an order."""

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np
from halftruth_shared import Attribute, ParameterError, Survey
from halftruth_shared.analyses.distribution import DistributionQuery
from halftruth_shared.errors import listing
from halftruth_shared.results import (
    QUANTITIES,
    Block,
    Caveat,
    EstimateColumns,
    Labels,
    Result,
    Show,
    note,
    warning,
)
from halftruth_shared.results.claims import Claim, Test
from halftruth_shared.results.layout import in_words, value_in_words
from msgspec.structs import replace

from ..estimation.answers import answers_of
from ..estimation.bounds import Array
from ..estimation.distribution import (
    Scale,
    cumulative_shares,
    deviations_of,
    mean_differences,
    means_of,
    quantiles_of,
    scale_of,
    scale_of_groups,
    shares_of_answers,
)
from ..estimation.estimates import Estimates
from ..estimation.groups import in_detail
from ..estimation.selection import adjusted_p_values
from ..estimation.subgroups import Groups
from .base import Analysis, AnalysisContext, RowBuilder, answers_to, errors_naming
from .deciding import AtLevel, as_selected, claimed, count_in_words, decide_rows

#: Largest number of answers for which the chart has cumulative shares, too.
_FEW_ANSWERS = 12

_NO_VARIANCE = "the estimate of the variance is not above 0"
_TOO_SMALL = "the share of the group is less than five standard errors above zero"


def compute(counted: AnalysisContext, query: DistributionQuery) -> Result[DistributionQuery]:
    """Estimate the distribution of all people and of each requested group."""
    _check_percentiles(query.percentiles)
    schema = counted.estimator.schema
    attribute = schema.attributes[schema.position(query.attribute, "attribute")]
    scale = _scale(counted, attribute, query)
    by: list[list[str]] = [[]]
    groups: tuple[str, ...] = ()
    if query.groups is not None:
        grouping = schema.attributes[schema.position(query.groups, "groups")]
        if grouping is attribute:
            raise ParameterError(
                f"groups: '{attribute.name}' is the attribute that is described; expected another"
                " one",
                field="groups",
            )
        by.append([grouping.name])
        groups = answers_of(grouping)
    reference = _reference(query, groups)
    every = [_grouped(counted, [*names, attribute.name]) for names in by]
    rows = _Rows(query, scale, groups)
    rows.add_moments(every)
    if reference is not None:
        rows.add_differences(every[-1], reference)
    rows.add_percentiles(every)
    rows.add_shares(every)
    base = np.concatenate([each.base for each in every])
    rows.add(
        Estimates.numbers(
            QUANTITIES["people"], counted.estimator.table([attribute.name]).reports * base
        ).columns(),
        group=rows.names[: len(base)],
    )
    falls = any((each.shares(each.table.value)[each.defined] < 0).any() for each in every)
    return counted.result(
        query, rows.keys, rows.parts, caveats=[*_caveats(query, attribute, scale, groups, falls)]
    )


def _scale(counted: AnalysisContext, attribute: Attribute, query: DistributionQuery) -> Scale:
    """Return the scores of the answers; of groups of answers, the middles of their scores."""
    schema, name = counted.survey.schema, attribute.name
    detail = in_detail(schema)
    if detail is schema or query.scores or name in query.merge:
        return scale_of(attribute, query.scores)
    own = detail.attributes[detail.position(name)]
    return scale_of_groups(attribute, own) if own.collapsed else scale_of(attribute, {})


class _Rows(RowBuilder):
    """Rows of the result, one quantity after the other."""

    def __init__(self, query: DistributionQuery, scale: Scale, groups: Sequence[str]) -> None:
        self.query, self.scale, self.groups = query, scale, groups
        #: Everybody and the groups.
        self.names = [None, *groups]
        of_groups = {}
        if query.groups is not None:
            group = answers_to(query.groups, label=query.groups, blank="everybody")
            of_groups = {"group": group, "against": answers_to(query.groups)}
        super().__init__(
            **of_groups,
            answer=answers_to(query.attribute, label=query.attribute),
            percentile={"kind": "number"},
        )

    def add_moments(self, every: Sequence[Groups]) -> None:
        """Add the mean and the standard deviation of everybody and of each group."""
        for how in (means_of, deviations_of):
            for names, each in zip(([None], self.groups), every, strict=False):
                found = how(each, self.scale.values)
                known = zip(np.isfinite(found.value), each.defined, strict=True)
                reasons = [None if yes else _NO_VARIANCE if d else _TOO_SMALL for yes, d in known]
                self._add(found, reasons, group=names)

    def add_differences(self, within: Groups, reference: int) -> None:
        """Add the difference of each group's mean from that of the reference, with its test."""
        found = mean_differences(within, self.scale.values, reference)
        reasons = [_TOO_SMALL if none else None for none in np.isnan(found.value)]
        adjusted, against = None, self.groups[reference]
        if found.p_value is not None:
            tested = int(np.isfinite(found.p_value).sum()) or 1
            adjusted = adjusted_p_values(found.p_value, tested)
        others = [group for group in self.groups if group != against]
        self._add(found, reasons, adjusted=adjusted, group=others, against=against)

    def add_percentiles(self, every: Sequence[Groups]) -> None:
        """Add the percentiles of everybody and of each group."""
        for percentile in self.query.percentiles:
            for names, each in zip(([None], self.groups), every, strict=False):
                found = quantiles_of(each, percentile / 100, self.scale.values, self.scale.edges)
                reasons = [_TOO_SMALL if none else None for none in np.isnan(found.value)]
                self._add(found, reasons, group=names, percentile=str(percentile))

    def add_shares(self, every: Sequence[Groups]) -> None:
        """Add the share and the cumulative share of each answer."""
        answers, confidence = self.scale.answers, self.query.confidence
        groups = np.flatnonzero(np.concatenate([each.defined for each in every]))
        if not len(groups):
            return
        # Rows are in the order of answers, then of groups.
        codes, of_groups = (each.ravel() for each in np.indices((len(answers), len(groups))))
        order = groups[of_groups] * len(answers) + codes
        for how in (shares_of_answers, cumulative_shares):
            parts = [how(each).columns(confidence) for each in every]
            self.add(
                EstimateColumns.concatenate(parts).take(order),
                group=[self.names[group] for group in groups[of_groups]],
                answer=[answers[code] for code in codes],
            )

    def _add(
        self,
        found: Estimates,
        reasons: Sequence[str | None] | None = None,
        adjusted: Array | None = None,
        **values: Sequence[str | None] | str | None,
    ) -> None:
        part = dataclasses.replace(found, undefined=reasons)
        self.add(part.columns(self.query.confidence, adjusted=adjusted), **values)


def _grouped(counted: AnalysisContext, names: list[str]) -> Groups:
    """Return the answers in a table; errors about both attributes name the groups."""
    with errors_naming("attribute" if len(names) == 1 else "groups"):
        table = counted.estimator.table(names)
        return Groups.answered(counted.estimator.schema, table)


def _reference(query: DistributionQuery, groups: Sequence[str]) -> int | None:
    if query.reference is None:
        return 0 if groups else None
    if query.reference not in groups:
        raise ParameterError(
            f"reference: '{query.reference}' is none of the groups; expected one of:"
            f" {listing(groups)}",
            field="reference",
        )
    return groups.index(query.reference)


def _check_percentiles(percentiles: Sequence[int]) -> None:
    if len(set(percentiles)) < len(percentiles):
        raise ParameterError(
            "percentiles: expected different ones, such as 25,50,75", field="percentiles"
        )


def _caveats(
    query: DistributionQuery,
    attribute: Attribute,
    scale: Scale,
    groups: Sequence[str],
    falls: bool,
) -> Iterator[Caveat]:
    """Yield notes on the scores of answers, and on reading percentiles and differences."""
    if not attribute.ordered and len(scale.answers) > 2:
        yield warning("unordered", question=attribute.name)
    if scale.counted_as in ("scores", "ranks"):
        scores = dict(zip(scale.answers, scale.values.tolist(), strict=True))
        kind = scale.counted_as.removesuffix("s")
        yield note("scores", question=attribute.name, kind=kind, scores=scores)
    if scale.bin_error:
        yield note("bin error", error=scale.bin_error)
    if scale.counted_as == "middles":
        yield note("interpolated")
    if falls:
        yield note("falling")
    if groups:
        yield note("overlap")
    if len(groups) > 2:
        yield note("adjusted", rate=1 - query.confidence, what="difference")


def layout(result: Result[DistributionQuery], labels: Labels) -> list[Block]:
    """Arrange the shares of answers as a histogram, after the compared means of groups, if any."""
    query, about = result.query, labels.quoted(result.query.attribute)
    mean = Show(quantity="mean", label=_mean(result))
    deviation, people = Show(quantity="deviation", drawn=False), Show(quantity="people")
    numbers = any(each.code == "interpolated" for each in result.caveats)
    # The last cumulative share is 100 % of every group.
    few = len(set(result.key("answer").values)) <= _FEW_ANSWERS
    names = _answers(result, labels)
    label = "answer" if names else "number"
    percentiles = [Show(quantity="percentile", label=label, names=names)]
    shares = [Show(quantity="share"), Show(quantity="cumulative_share", drawn=few)]
    if query.groups is None:
        return [
            Block(title=f"Shares · {about}", lines=["answer"], shows=shares, picture="bars"),
            Block(title="Summary", shows=[mean, deviation, people], stacked=True),
            Block(title="Percentiles", lines=["percentile"], shows=percentiles),
        ]
    differences = result.places("mean_difference")
    summary = [Show(quantity="people", parts=["value"], drawn=False)]
    summary += [replace(each, parts=["estimate"]) for each in (mean, deviation)]
    if len(differences):
        p = "adjusted_p_value" if len(differences) > 1 else "p_value"
        against = labels.answer(query.groups, result.rows[int(differences[0])]["against"])
        label = f"difference of means from {against}"
        summary.append(Show(quantity="mean_difference", label=label, parts=["estimate", p]))
    return [
        Block(
            title=f"Means · {about} by {labels.quoted(query.groups)}",
            lines=["group"],
            shows=summary,
            picture="dots",
        ),
        Block(
            title="Percentiles",
            lines=["percentile", "group"],
            panels=1,
            shows=percentiles,
            picture="dots" if numbers else None,
        ),
        Block(
            title="Shares of each group",
            lines=["answer", "group"],
            panels=1,
            shows=[shares[0], replace(shares[1], drawn=False)],
            picture="dots" if few and not numbers else None,
        ),
    ]


def _answers(result: Result[DistributionQuery], labels: Labels) -> dict[str, str]:
    """Return the answer of each rank or score; nothing for numeric answers."""
    scores = [each.values["scores"] for each in result.caveats if each.code == "scores"]
    about = result.query.attribute
    return {
        str(float(score)): labels.answer(about, answer)
        for each in scores
        for answer, score in each.items()
    }


def _mean(result: Result[DistributionQuery]) -> str:
    """Name the mean by the kind of its scores."""
    kinds = [each.values["kind"] for each in result.caveats if each.code == "scores"]
    return f"mean {next(iter(kinds), 'number')}"


def decide(result: Result[DistributionQuery], at_level: AtLevel) -> tuple[list[Test], list[Claim]]:
    """Decide which group means differ from the reference; the overall mean is a claim, too."""
    everybody = {} if result.query.groups is None else {"group": None}
    medians = [
        int(place)
        for place in result.places("percentile", percentile="50", **everybody)
        if result.rows[int(place)].undefined is None
    ]
    mean = int(result.places("mean", **everybody)[0])
    claims = [Claim(kind="estimate", rows=[mean, *medians])]
    differences = result.places("mean_difference")
    if not len(differences):
        return [], claims

    def mean_of_group(row: int) -> list[int]:
        """Return the mean of the named group, if it is usable."""
        [place] = result.places("mean", group=result.rows[row]["group"]).tolist()
        return [place] if result.rows[place].reliability != "not usable" else []

    tests, found = decide_rows(
        result,
        at_level,
        "different",
        differences,
        name="score",
        rate=1 - result.query.confidence,
        beside=mean_of_group,
    )
    return tests, [*found, *claims]


def state(result: Result[DistributionQuery], claim: Claim, labels: Labels) -> str:
    """State the overall mean, or the difference of a group from the reference."""
    about, what = labels.quoted(result.query.attribute), _mean(result)
    if claim.kind == "untested":
        return f"Whether groups differ in {about} cannot be tested with these reports."
    if claim.by_rate:
        return count_in_words(claim, "differences of means")
    if claim.kind == "estimate":
        mean, *medians = (result.rows[place] for place in claim.rows)
        names = _answers(result, labels)
        middle = "".join(f", median {value_in_words(each, names)}" for each in medians)
        return f"{what.capitalize()} of {about}: {in_words(mean)}{middle} (all people)."
    each, said, p = claimed(result, claim)
    if claim.kind == "none found":
        return f"No significant difference in the {what} of {about} ({p})."
    here, against = (
        labels.quoted_items({str(result.query.groups): each[name]}) for name in ("group", "against")
    )
    is_larger = {None: "differs", "more": "is larger", "less": "is smaller"}[claim.direction]
    means = [in_words(as_selected(result, claim, 1))] if len(claim.rows) > 1 else []
    of_group = "".join(f" Mean: {mean} where {here}." for mean in means)
    return (
        f"The {what} of {about} {is_larger} where {here} than where {against}: difference {said},"
        f" {p}.{of_group}"
    )


def start(survey: Survey) -> DistributionQuery:
    """Return the initial query: a number, else an ordered question or the one with most answers."""
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
    layout=layout,
    decide=decide,
    state=state,
    place="Overview",
    order=28,
)
