"""Shares of one answer in several groups, compared."""

from collections.abc import Iterator, Sequence

import numpy as np
from halftruth_shared import Attribute, ParameterError, Schema, Survey
from halftruth_shared.analyses.comparison import ComparisonQuery
from halftruth_shared.attribute import OPTION
from halftruth_shared.errors import listing
from halftruth_shared.results import (
    QUANTITIES,
    Block,
    Caveat,
    Labels,
    Result,
    Show,
    note,
)
from halftruth_shared.results.claims import Claim, Test
from halftruth_shared.results.layout import in_words
from msgspec.structs import replace

from ..estimation.answers import category_code
from ..estimation.bounds import normal_quantile
from ..estimation.contrasts import compare_groups, shares_of, trend_of
from ..estimation.estimates import Estimates, covariance_of, joint_covariance
from ..estimation.independence import margins_within
from ..estimation.intervals import INTERVAL
from ..estimation.measures import SCALE_NAMES
from ..estimation.reliability import NOT, grades
from ..estimation.scales import are_scales, estimate_scales
from ..estimation.selection import adjusted_p_values
from ..estimation.subgroups import Groups
from .base import (
    Analysis,
    AnalysisContext,
    RowBuilder,
    answers_to,
    asked_together,
    clearest,
    middle_answer,
)
from .deciding import AtLevel, as_selected, claimed, count_in_words, decide_rows
from .measures import of_scales


def compute(counted: AnalysisContext, query: ComparisonQuery) -> Result[ComparisonQuery]:
    """Compare groups from the table of the groups and the answer alone."""
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
    groups = Groups.of_codes(table, chosen, names)
    shares = shares_of(groups, answer, query.confidence)
    effects = compare_groups(groups, answer, reference, query.effect, query.confidence)
    tested = int(np.isfinite(np.asarray(effects.p_value)).sum()) or 1
    base = None if reference is None else names[reference]
    sets, grade = shares.interval(query.confidence), None
    if not table.logit:
        margins = margins_within(table, [0], normal_quantile(1 - query.confidence))
        grade = np.where(sets.kind == INTERVAL, grades(margins[chosen, answer]), NOT)
    every = [shares, effects]
    rows = RowBuilder(
        group=answers_to(query.groups, label=query.groups), against=answers_to(query.groups)
    )
    rows.add(shares.columns(query.confidence, grade=grade), group=names)
    adjusted = adjusted_p_values(np.asarray(effects.p_value), tested)
    rows.add(
        effects.columns(query.confidence, adjusted=adjusted),
        group=[name for name in names if name != base],
        against=base,
    )
    if query.trend:
        every.append(trend_of(groups, answer, query.confidence))
        rows.add(every[2].columns(query.confidence))
    scales = _of_scales(counted, query, name)
    for each in scales:
        rows.add(each.columns(query.confidence))
    people = Estimates.numbers(QUANTITIES["people"], table.reports * groups.base)
    rows.add(people.columns(), group=names)
    covariance = None
    if query.covariance:
        others = len(scales) + len(names)
        unknown = np.full((others, others), np.nan)
        covariance = covariance_of(joint_covariance(every), unknown)
    return counted.result(
        query, rows.keys, rows.parts, caveats=[*_method(query, effects)], covariance=covariance
    )


def _of_scales(counted: AnalysisContext, query: ComparisonQuery, name: str) -> list[Estimates]:
    """Return the correlations of both questions, beside a trend over all groups of two scales."""
    estimator = counted.estimator
    whole = query.trend and query.among is None and query.estimate != "model"
    if not whole or not are_scales(estimator.survey.schema, [query.groups, name]):
        return []
    return [estimate_scales(estimator, [query.groups, name], each) for each in SCALE_NAMES]


def _method(query: ComparisonQuery, effects: Estimates) -> Iterator[Caveat]:
    """Yield notes on the intervals and p-values of comparisons."""
    if np.isposinf(effects.interval(query.confidence).upper).any():
        yield note("open ratios")
    if len(effects.value) > 1:
        yield note("adjusted", rate=1 - query.confidence, what="comparison")
    yield note("p-values of shares", by_model=query.estimate == "model")


def _answer(schema: Schema, query: ComparisonQuery) -> tuple[str, str]:
    """Return the attribute and category of the answer; for an option, of choosing it."""
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
    """Return the codes of the groups, in the order of the survey."""
    if among is None:
        return list(range(len(attribute.categories)))
    codes = [category_code(attribute, category, "among") for category in among]
    if len(set(codes)) < max(len(codes), 2):
        raise ParameterError("among: expected two or more different categories", field="among")
    return sorted(codes)


def _reference(attribute: Attribute, chosen: Sequence[int], name: str | None) -> int | None:
    """Return the position of the reference among the groups; by default the first of two."""
    if name is None:
        return 0 if len(chosen) == 2 else None
    code = category_code(attribute, name, "reference")
    if code not in chosen:
        raise ParameterError(
            f"reference: '{name}' is not among the groups; expected one of them", field="reference"
        )
    return chosen.index(code)


def layout(result: Result[ComparisonQuery], labels: Labels) -> list[Block]:
    """Arrange a line for each group: its size, its share, and its comparison."""
    query = result.query
    adjusted = len(result.places(query.effect)) > 1
    p = "adjusted_p_value" if adjusted else "p_value"
    compared = ["against"] if query.reference is not None or not adjusted else []
    of_effect = Show(quantity=query.effect, parts=[*compared, "value", "interval", p])
    if not compared:
        label = f"{QUANTITIES[query.effect].title} from all others"
        of_effect = replace(of_effect, label=label)
    what = labels.items(query.answer)
    blocks = [
        Block(
            title=f"{what} · by {labels.quoted(query.groups)}",
            lines=["group"],
            shows=[
                Show(quantity="people", parts=["value"], drawn=False),
                Show(quantity="share", label=f"share of {what}"),
                of_effect,
            ],
            picture="dots",
        )
    ]
    if query.trend:
        shows = [Show(quantity="trend", parts=["value", "interval", "p_value"])]
        blocks.append(Block(title="Trend", shows=shows, picture="dots"))
        blocks += of_scales(result)
    return blocks


def decide(result: Result[ComparisonQuery], at_level: AtLevel) -> tuple[list[Test], list[Claim]]:
    """Decide which groups differ, by the p-values of the comparisons."""
    query = result.query

    def shares(row: int) -> list[int]:
        """Return the usable shares of the two compared groups."""
        each = result.rows[row]
        return [
            int(place)
            for place in result.places("share")
            if (share := result.rows[place])["group"] in (each["group"], each["against"])
            and share.reliability != "not usable"
        ]

    return decide_rows(
        result,
        at_level,
        "different",
        result.places(query.effect),
        name="Wald" if query.estimate == "model" else "score",
        rate=1 - query.confidence,
        beside=shares,
    )


def state(result: Result[ComparisonQuery], claim: Claim, labels: Labels) -> str:
    """State a significant difference with the usable shares, or the absence of one."""
    what, groups = labels.quoted_items(result.query.answer), result.query.groups
    if claim.kind == "untested":
        return f"Whether groups differ in {what} cannot be tested with these reports."
    if claim.by_rate:
        return count_in_words(claim, "differences")
    each, said, p = claimed(result, claim)
    here, against = labels.quoted_items({groups: each["group"]}), each["against"]
    other = labels.quoted_items({groups: against}) if against else "all others"
    name = QUANTITIES[result.query.effect].title
    if claim.kind == "none found":
        return (
            f"No significant difference in {what} ({p}). Strongest evidence: {here} against"
            f" {other}, {name} {said}."
        )
    often = {None: "not as often", "more": "more often", "less": "less often"}[claim.direction]
    where = "where" if against else "among"
    shares = "; ".join(
        f"{in_words(share)} where {labels.quoted_items({groups: share['group']})}"
        for share in (as_selected(result, claim, place) for place in range(1, len(claim.rows)))
    )
    return (
        f"{what} occurs {often} where {here} than {where} {other}: {name} {said}, {p}."
        f"{f' Shares: {shares}.' if shares else ''}"
    )


def start(survey: Survey) -> ComparisonQuery:
    """Return the initial query: a question with few answers, by the one with the fewest."""
    first, second = (asked_together(survey, clearest(survey), 2) * 2)[:2]
    return ComparisonQuery(answer={second.name: middle_answer(second)}, groups=first.name)


ANALYSIS = Analysis(
    query=ComparisonQuery,
    title="Comparison of groups",
    compute=compute,
    start=start,
    layout=layout,
    decide=decide,
    state=state,
    table=lambda survey, query: [query.groups, _answer(survey.schema, query)[0]],
    min_order=2,
    place="Compare",
    order=4,
)
