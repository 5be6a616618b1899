"""Shares of one answer in several groups, compared."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from halftruth_shared import Attribute, ParameterError, Schema, Survey
from halftruth_shared.analyses import Query
from halftruth_shared.analyses.comparison import ComparisonQuery
from halftruth_shared.analyses.crosstab import CrosstabQuery
from halftruth_shared.analyses.distribution import DistributionQuery
from halftruth_shared.attribute import OPTION
from halftruth_shared.errors import listing
from halftruth_shared.results import (
    QUANTITIES,
    Block,
    Caveat,
    Key,
    Result,
    Show,
    Texts,
    note,
)
from halftruth_shared.results.claims import Claim, Test
from halftruth_shared.results.layout import in_words
from halftruth_shared.results.wording import items, quoted_items
from msgspec.structs import replace

from ..estimation.answers import category_code
from ..estimation.contrasts import (
    Contrasts,
    Groups,
    compare_groups,
    shares_of,
    trend_of,
    trend_weights,
)
from ..estimation.estimates import columns, covariance_of
from ..estimation.intervals import SHARE
from ..estimation.selection import adjusted_p_values
from . import sentences
from .base import Analysis, AnalysisContext, clearest, middle_answer
from .deciding import as_selected, count_in_words, decide_rows, p_in_words, tested_by


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
    groups = Groups.of_table(table, names, chosen, answer)
    effects = compare_groups(groups, reference, query.effect, query.confidence)
    every = [shares_of(groups, query.confidence), effects]
    of_effect, tested = QUANTITIES[query.effect], int(np.isfinite(effects.p_value).sum()) or 1
    parts = [
        every[0].columns(SHARE),
        effects.columns(of_effect, adjusted=adjusted_p_values(effects.p_value, tested)),
    ]
    compared = [code for code in chosen if reference is None or code != chosen[reference]]
    rows = [(code, -1) for code in chosen]
    rows += [(code, -1 if reference is None else chosen[reference]) for code in compared]
    if query.trend:
        every.append(trend_of(groups, query.confidence))
        of_trend = SHARE.contrast("trend", trend_weights(len(names)).tolist())
        parts.append(every[2].columns(of_trend))
        rows.append((-1, -1))
    gradient = np.vstack([each.gradient for each in every])
    covariance = gradient @ groups.covariance @ gradient.T
    parts.append(columns(QUANTITIES["people"], groups.reports * groups.base))
    rows += [(code, -1) for code in chosen]
    people = len(chosen)
    codes, against = np.transpose(rows)
    known = attribute.categories
    return counted.result(
        query,
        [
            Key(
                name="group",
                kind="answer",
                question=query.groups,
                label=query.groups,
                values=Texts(codes, known),
            ),
            Key(name="against", kind="answer", question=query.groups, values=Texts(against, known)),
        ],
        parts,
        caveats=[*_method(query, effects)],
        covariance=covariance_of(covariance, np.full((people, people), np.nan))
        if query.covariance
        else None,
    )


def _method(query: ComparisonQuery, effects: Contrasts) -> Iterator[Caveat]:
    """Yield notes on the intervals and p-values of comparisons."""
    if np.isposinf(effects.upper).any():
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


def layout(result: Result[ComparisonQuery]) -> list[Block]:
    """Arrange a line for each group: its size, its share, and how that compares."""
    query = result.query
    adjusted = len(result.places(query.effect)) > 1
    p = "adjusted_p_value" if adjusted else "p_value"
    compared = ["against"] if query.reference is not None or not adjusted else []
    of_effect = Show(quantity=query.effect, parts=[*compared, "value", "interval", p])
    if not compared:
        label = f"{QUANTITIES[query.effect].title} from all others"
        of_effect = replace(of_effect, label=label)
    what = items(query.answer)
    blocks = [
        Block(
            title=f"{what} · by {sentences.quoted(query.groups)}",
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
    return blocks


def decide(result: Result[ComparisonQuery]) -> tuple[list[Test], list[Claim]]:
    """Decide which groups differ, by the p-values of the comparisons."""
    query = result.query
    tests, claims = decide_rows(
        result,
        "different",
        result.places(query.effect),
        name="Wald" if query.estimate == "model" else "score",
        rate=1 - query.confidence,
    )
    return tests, [claim if claim.by_rate else _with_shares(result, claim) for claim in claims]


def _with_shares(result: Result[ComparisonQuery], claim: Claim) -> Claim:
    """Add to a claim the usable shares of the two compared groups."""
    if claim.kind != "different":
        return claim
    each = result.rows[claim.rows[0]]
    shares = [
        int(place)
        for place in result.places("share")
        if (share := result.rows[place])["group"] in (each["group"], each["against"])
        and share.reliability != "not usable"
    ]
    return replace(claim, rows=[*claim.rows, *shares])


def state(result: Result[ComparisonQuery], claim: Claim) -> str:
    """State a significant difference with the usable shares, or that there is none."""
    what, groups = quoted_items(result.query.answer), result.query.groups
    if claim.kind == "untested":
        return f"Whether groups differ in {what} cannot be tested with these reports."
    if claim.by_rate:
        return count_in_words(claim, "differences")
    p, each = p_in_words(tested_by(result, claim)), result.rows[claim.rows[0]]
    here, against = quoted_items({groups: each["group"]}), each["against"]
    other = quoted_items({groups: against}) if against else "all others"
    name = QUANTITIES[result.query.effect].title
    said = in_words(as_selected(each, claim))
    if each.reliability == "not usable":
        said = "too imprecise to use"
    if claim.kind == "none found":
        return (
            f"No significant difference in {what} ({p}). Strongest evidence: {here} against"
            f" {other}, {name} {said}."
        )
    often = {None: "not as often", "more": "more often", "less": "less often"}[claim.direction]
    where = "where" if against else "among"
    shares = "; ".join(
        f"{in_words(share)} where {quoted_items({groups: share['group']})}"
        for share in (result.rows[place] for place in claim.rows[1:])
    )
    return (
        f"{what} occurs {often} where {here} than {where} {other}: {name} {said}, {p}."
        f"{f' Shares: {shares}.' if shares else ''}"
    )


def related(survey: Survey, query: ComparisonQuery) -> list[Query[Any]]:
    """Return queries for all answers by the same groups, and for means of ordered answers."""
    [name] = query.answer
    schema = survey.schema
    if query.estimate == "model":
        return []
    attribute = schema.attributes_of(name)[0]
    name = attribute.question_name or name
    same: Any = {
        "where": query.where,
        "merge": query.merge,
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
    """Return the initial query: a question with few answers, by the one with the fewest."""
    first, second = (clearest(survey) * 2)[:2]
    return ComparisonQuery(answer={second.name: middle_answer(second)}, groups=first.name)


ANALYSIS = Analysis(
    query=ComparisonQuery,
    title="Comparison of groups",
    compute=compute,
    start=start,
    layout=layout,
    decide=decide,
    state=state,
    related=related,
    table=lambda survey, query: [query.groups, _answer(survey.schema, query)[0]],
    min_order=2,
    place="Compare",
    order=4,
)
