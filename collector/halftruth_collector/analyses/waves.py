"""Levels, changes and trends over the waves of a series."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
from halftruth_shared import (
    Attribute,
    HalftruthError,
    ParameterError,
    Protection,
    Survey,
)
from halftruth_shared.analyses.waves import WavesQuery
from halftruth_shared.deadlines import check_deadline
from halftruth_shared.errors import listing
from halftruth_shared.results import (
    Block,
    Caveat,
    EstimateColumns,
    Labels,
    Quantity,
    Result,
    Show,
    note,
    quantity,
    warning,
)
from halftruth_shared.results.claims import Claim, Test

from ..estimation.answers import category_code
from ..estimation.bounds import Array
from ..estimation.estimates import Estimates
from ..estimation.groups import in_detail
from ..estimation.selection import adjusted_p_values
from ..estimation.waves import Rows, contrast, levels_of, slope_weights, stacked
from .base import Analysis, AnalysisContext, RowBuilder, answers_to, clearest, first_wanted
from .deciding import AtLevel, claimed, count_in_words, decide_rows

_NOBODY = "the size of the group is not significantly above zero"
_LACKING = "one of the waves has no estimate, or none with an error"

#: Values of the keys of rows.
_Values = dict[str, Any]

#: Kinds of rows, in their order.
_LEVEL, _CHANGE, _TREND = range(3)

#: Quantities that are tested.
_CHANGES = ("share_change", "mean_change")
_TRENDS = ("share_trend", "mean_trend")

#: Difference between waves with which a question is still compared.
_REWORDED = "asked in other words"


def compute(counted: AnalysisContext, query: WavesQuery) -> Result[WavesQuery]:
    """Return the levels from the tables of each wave, and their contrasts."""
    schema = counted.estimator.schema
    waves, caveats = _waves(counted)
    numbers = [wave for wave, _ in waves]
    if query.base is not None and query.base not in numbers:
        raise ParameterError(
            f"base: expected one of the waves {listing(list(map(str, numbers)))}", field="base"
        )
    names = [name for name in query.attributes or schema.names if name != query.groups]
    schema.positions(names)
    for name in query.scores:
        schema.position(name, "scores")
    reference = _reference(counted, query)
    parts: list[tuple[int, EstimateColumns, _Values]] = []
    different: dict[tuple[str, str], list[int]] = {}
    for name in names:
        asked = []
        for place, wave in waves:
            about, reason = _difference(counted, wave, name, query.groups)
            levels: dict[Rows, Estimates] = {}
            if reason in ("", _REWORDED):
                try:
                    levels = levels_of(
                        wave.estimator,
                        name,
                        groups=query.groups,
                        reference=reference,
                        scores=query.scores,
                        confidence=query.confidence,
                    )
                except HalftruthError as error:
                    if wave is counted:
                        raise
                    about, reason = name, str(error)
            if reason and place not in different.setdefault((about, reason), []):
                different[about, reason].append(place)
            if levels:
                asked.append((place, levels))
        for of in asked[0][1]:
            parts += _contrasts(query, of, {place: levels[of] for place, levels in asked})
    for (about, reason), places in different.items():
        said = {"question": about, "waves": places, "reason": reason}
        caveats.append(warning("not comparable", **said, compared=reason == _REWORDED))
    kinds = {kind for kind, *_ in parts}
    if _CHANGE in kinds:
        caveats += _method(counted, query, waves, trends=_TREND in kinds)
    group = answers_to(query.groups) if query.groups else {}
    of_groups = {"group": {"label": query.groups, **group}, "against": group} if group else {}
    rows = RowBuilder(
        question={"kind": "question"},
        answer={"kind": "answer"},
        **of_groups,
        wave={"kind": "number"},
        since={},
    )
    # Levels come before changes, and changes before trends.
    for _, part, values in sorted(parts, key=lambda part: part[0]):
        rows.add(part, against=reference, **values)
    return _adjusted(counted.result(query, rows.keys, rows.parts, caveats=caveats))


def _waves(counted: AnalysisContext) -> tuple[list[tuple[int, AnalysisContext]], list[Caveat]]:
    """Return the waves to compare, by number, and the reasons for omitting others."""
    taken: list[tuple[int, AnalysisContext]] = []
    left: list[tuple[int, str, str]] = []
    others = [replace(wave, question=counted.question) for wave in counted.waves()]
    for wave in [counted, *(wave for wave in others if wave.survey.id != counted.survey.id)]:
        check_deadline()
        number = 1 if wave.survey.series is None else wave.survey.series.wave
        same = [other.survey.id for place, other in taken if place == number]
        reason = f"'{same[0]}' is compared, which is the same wave" if same else None
        try:
            wave.check()
        except HalftruthError as error:
            reason = str(error)
        if reason is None:
            taken.append((number, wave))
        else:
            left.append((number, wave.survey.id, reason))
    caveats = [warning("no series")] if counted.survey.series is None else []
    caveats += [
        warning("wave left out", wave=wave, survey=survey, reason=reason)
        for wave, survey, reason in sorted(left)
    ]
    return sorted(taken, key=lambda pair: pair[0]), caveats


def _condition(wave: AnalysisContext, attribute: Attribute) -> Mapping[str, Sequence[str]]:
    """Return the condition of an attribute, by answers in detail; empty if it does not matter."""
    if not attribute.ask_if:
        return {}
    asked = in_detail(wave.survey.schema)
    return asked.attributes[asked.position(attribute.name)].ask_if


def _difference(
    counted: AnalysisContext, wave: AnalysisContext, name: str, groups: str | None
) -> tuple[str, str]:
    """Return the question of a wave that differs, and the reason; empty without a difference."""
    schema, asked = counted.estimator.schema, wave.estimator.schema
    for about in filter(None, (name, groups)):
        attribute, reason = schema.attributes[schema.position(about)], ""
        if about not in asked.names:
            return about, "not asked"
        other = asked.attributes[asked.position(about)]
        if (other.categories, other.missing) != (attribute.categories, attribute.missing):
            reason = "other answers"
        elif _condition(wave, other) != _condition(counted, attribute):
            reason = "asked after other answers"
        elif other.label != attribute.label:
            reason = _REWORDED
        if reason:
            return about, reason
    return "", ""


def _method(
    counted: AnalysisContext,
    query: WavesQuery,
    waves: Sequence[tuple[int, AnalysisContext]],
    *,
    trends: bool,
) -> Iterator[Caveat]:
    """Yield notes on the compared quantities, and on reading changes and trends."""
    compared = [
        {
            "wave": place,
            "survey": wave.survey.id,
            "reports": wave.counts.reports,
            "gamma": Protection.of(wave.survey).record.written,
        }
        for place, wave in waves
    ]
    yield note("compared waves", waves=compared)
    yield note("adjusted", rate=1 - query.confidence, what="change or trend")
    yield note("changes", target=query.target)
    yield note("unlinked", invited=[place for place, wave in waves if wave.invited])
    if trends:
        yield note("trends")


def _reference(counted: AnalysisContext, query: WavesQuery) -> str | None:
    if query.groups is None:
        if query.reference is not None:
            raise ParameterError("reference: expected none without groups", field="reference")
        return None
    schema = counted.estimator.schema
    grouping = schema.attributes[schema.position(query.groups, "groups")]
    if query.attributes and query.groups in query.attributes:
        raise ParameterError(
            f"groups: '{query.groups}' is among the attributes; expected another one",
            field="groups",
        )
    first = grouping.categories[0] if query.reference is None else query.reference
    return grouping.categories[category_code(grouping, first, "reference")]


def _contrasts(
    query: WavesQuery, rows: Rows, levels: Mapping[int, Estimates]
) -> Iterator[tuple[int, EstimateColumns, _Values]]:
    """Yield levels, changes and the trend of the numbers of one question, each with its kind."""
    waves, every = [*levels], [*levels.values()]
    yield _LEVEL, *_columns(query, rows, every, [(wave, None) for wave in waves])
    of_waves, changes = [], []
    for place, wave in enumerate(waves):
        check_deadline()
        since = _since(query, waves, place)
        if since is not None:
            weights = np.eye(len(waves))[place] - np.eye(len(waves))[since]
            changes.append(contrast(every, weights, _contrast(rows, _CHANGES, weights)))
            of_waves.append((wave, waves[since]))
    if changes:
        yield _CHANGE, *_columns(query, rows, changes, of_waves)
    # With two waves the trend equals the change.
    if len(waves) > 2:
        weights = slope_weights(every, waves)
        trend = contrast(every, weights, _contrast(rows, _TRENDS, weights))
        yield _TREND, *_columns(query, rows, [trend], [(None, None)])


def _contrast(rows: Rows, names: tuple[str, str], weights: Array) -> Quantity:
    """Return the change or trend of a share or of a mean."""
    return rows.of.contrast(names[rows.answers[0] is None], weights.tolist())


def _since(query: WavesQuery, waves: Sequence[int], place: int) -> int | None:
    """Return the position of the wave with which a wave is compared."""
    if query.base is None:
        return place - 1 if place else None
    if query.base not in waves or waves[place] == query.base:
        return None
    return waves.index(query.base)


def _columns(
    query: WavesQuery,
    rows: Rows,
    each: Sequence[Estimates],
    of_waves: Sequence[tuple[int | None, int | None]],
) -> tuple[EstimateColumns, _Values]:
    """Return the rows of each number, in the order of waves, with the values of their keys."""
    pairs = [
        (a, g, *pair) for a, g in zip(rows.answers, rows.groups, strict=True) for pair in of_waves
    ]
    answers, groups, waves, since = zip(*pairs, strict=True)
    every = stacked(each)
    known = np.isfinite(every.value)
    reason = _NOBODY if every.p_value is None else _LACKING
    every = every.where(known, [None if yes else reason for yes in known])
    return every.columns(query.confidence), {
        "question": rows.attribute,
        "answer": answers,
        "group": groups,
        "wave": [wave and str(wave) for wave in waves],
        "since": [wave and str(wave) for wave in since],
    }


def _hypotheses(result: Result[WavesQuery]) -> list[list[int]]:
    """Return the rows of each change and trend; both answers to a yes/no question are one."""
    rows = [*zip(*(key.values for key in result.keys), strict=True)]
    quantities, answers = result.estimates.texts("quantity"), defaultdict(set)
    for question, answer, *_ in rows:
        answers[question].add(answer)
    places: dict[tuple[Any, ...], list[int]] = {}
    for place, (name, (question, answer, *others)) in enumerate(zip(quantities, rows, strict=True)):
        if name in (*_CHANGES, *_TRENDS):
            two = len(answers[question] - {None}) == 2
            of = None if two else answer
            places.setdefault((name, question, of, *others), []).append(place)
    return [*places.values()]


def _adjusted(result: Result[WavesQuery]) -> Result[WavesQuery]:
    """Add the adjusted p-values of all changes and trends."""
    table, hypotheses = result.estimates, _hypotheses(result)
    p_values = table.numbers("p_value")[[places[-1] for places in hypotheses]]
    known = int(np.isfinite(p_values).sum())
    if not known:
        return result
    adjusted = np.full(len(table), np.nan)
    for places, rate in zip(hypotheses, adjusted_p_values(p_values, known), strict=True):
        adjusted[places] = rate
    return msgspec.structs.replace(
        result, estimates=msgspec.structs.replace(table, adjusted_p_value=adjusted)
    )


def decide(result: Result[WavesQuery], at_level: AtLevel) -> tuple[list[Test], list[Claim]]:
    """Decide which changes and trends are significant among all."""
    places = [places[-1] for places in _hypotheses(result)]
    if not places:
        return [], [Claim(kind="untested")]
    rate = 1 - result.query.confidence
    return decide_rows(result, at_level, "changed", places, name="score", rate=rate)


def state(result: Result[WavesQuery], claim: Claim, labels: Labels) -> str:
    """State the most significant change or trend, or that no change is significant."""
    if claim.kind == "untested":
        few = "There are no two waves to compare, so there are levels alone."
        return "No change can be tested with these reports." if claim.count else few
    if claim.by_rate:
        return count_in_words(claim, "changes and trends")
    each, said, p = claimed(result, claim)
    of = quantity(each.quantity)
    about = labels.quoted_items({each["question"]: each["answer"]}) if each["answer"] else ""
    about = about or f"the mean of {labels.quoted(each['question'])}"
    if groups := result.query.groups:
        here, other = (labels.quoted_items({groups: each[name]}) for name in ("group", "against"))
        about = f"the difference of {here} from {other} in {about}"
    since = f" from wave {each['since']} to wave {each['wave']}" if each["since"] else ""
    if claim.kind == "none found":
        return (
            f"No change is significant ({p}). Strongest evidence: {about},"
            f" {of.title}{since} {said}."
        )
    way = {None: "changed", "more": "rose", "less": "fell"}[claim.direction]
    begin = f"T{about[1:]}" if about.startswith("the ") else about
    return f"{begin} {way}{since}: {of.title} {said}, {p}."


def layout(result: Result[WavesQuery], labels: Labels) -> list[Block]:
    """Arrange levels, followed by changes and trends: of shares, and of means."""
    return [*_blocks(result, "share", labels), *_blocks(result, "mean", labels)]


def _blocks(result: Result[WavesQuery], what: str, labels: Labels) -> Iterator[Block]:
    level, title = what, f"{what[:1].upper()}{what[1:]}s"
    lines, label = ["question", "answer", "wave"], ""
    if (groups := result.query.groups) is not None:
        level, title = f"{what}_difference", f"Differences of {what}s"
        against = labels.answer(groups, result.key("against").values[0])
        lines, label = [*lines[:2], "group", "wave"], f"difference from {against}"
    if what == "mean":
        lines.remove("answer")
    if not len(result.places(level)):
        return
    yield Block(
        title=title,
        lines=lines,
        shows=[Show(quantity=level, label=label)],
        panels=1,
        picture="curves",
        along="wave",
    )
    parts = ["since", "value", "interval", "adjusted_p_value"]
    yield Block(
        title=f"Changes of {title[:1].lower()}{title[1:]}",
        lines=lines,
        shows=[Show(quantity=f"{what}_{name}", parts=parts) for name in ("change", "trend")],
        panels=1,
        picture="dots",
        stacked=True,
    )


def start(survey: Survey) -> WavesQuery:
    """Return the initial query: the first outcome that is wanted, or the clearest question."""
    return WavesQuery(attributes=[(first_wanted(survey) or clearest(survey))[0].name])


ANALYSIS = Analysis(
    query=WavesQuery,
    title="Change over waves",
    compute=compute,
    start=start,
    layout=layout,
    decide=decide,
    state=state,
    applies=lambda survey: survey.series is not None,
    place="Compare",
    order=60,
)
