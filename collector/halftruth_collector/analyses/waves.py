"""Levels, changes and trends over the waves of a series."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import msgspec
import numpy as np
from halftruth_shared import (
    HalftruthError,
    ParameterError,
    Protection,
    Schema,
    Survey,
)
from halftruth_shared.analyses.waves import (
    NotComparable,
    WaveChange,
    WaveEstimate,
    WaveLevel,
    WavesQuery,
    WavesResult,
    WaveSurvey,
    WaveTrend,
)
from halftruth_shared.errors import listing

from ..estimation.answers import category_code
from ..estimation.estimates import estimates
from ..estimation.selection import adjusted_p_values
from ..estimation.waves import Contrasts, Levels, Rows, contrast, levels_of, slope_weights
from .base import Analysis, Counted, clearest
from .waves_shown import changes, chart, decide, grid, interpretation, state, warnings

E = TypeVar("E", bound=WaveEstimate)

_NOBODY = "who it is of cannot be told from nobody"
_LACKING = "one of the waves has no estimate, or none with an error"


def compute(counted: Counted, query: WavesQuery) -> WavesResult:
    """Levels as each wave's tables give them, and contrasts of these."""
    series, schema = counted.survey.series, counted.estimator.schema
    waves, described = _waves(counted)
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
    result = WavesResult(
        **counted.origin(),
        query=query,
        series=None if series is None else series.id,
        waves=described,
        reference=reference,
        levels=[],
        changes=[],
        trends=[],
        not_comparable=[],
    )
    for name in names:
        asked = []
        for place, wave in waves:
            reason, only_said = _difference(schema, wave, name)
            if reason is None and query.groups is not None:
                reason, only_said = _difference(schema, wave, query.groups)
            rows_of: dict[Rows, Levels] = {}
            if reason is None or only_said:
                try:
                    rows_of = _estimate(wave, query, name, reference)
                except HalftruthError as error:
                    if wave is counted:
                        raise
                    reason, only_said = str(error), False
            if reason is not None:
                result.not_comparable.append(
                    NotComparable(attribute=name, wave=place, reason=reason, only_said=only_said)
                )
            if rows_of:
                asked.append((place, rows_of))
        for rows in asked[0][1]:
            _add(result, rows, {place: rows_of[rows] for place, rows_of in asked})
    _adjust(result, schema)
    return result


def _waves(counted: Counted) -> tuple[list[tuple[int, Counted]], list[WaveSurvey]]:
    """Waves to compare, by number, and all of the series, with reasons where one is left out."""
    taken: list[tuple[int, Counted]] = []
    described: list[WaveSurvey] = []
    others = [replace(wave, question=counted.question) for wave in counted.waves()]
    for wave in [counted, *(wave for wave in others if wave.survey.id != counted.survey.id)]:
        number = 1 if wave.survey.series is None else wave.survey.series.wave
        same = [other.survey.id for place, other in taken if place == number]
        reason = f"'{same[0]}' is compared, which is the same wave" if same else None
        try:
            wave.check()
        except HalftruthError as error:
            reason = str(error)
        if reason is None:
            taken.append((number, wave))
        described.append(
            WaveSurvey(
                wave=number,
                survey=wave.survey.id,
                digest=wave.survey.digest,
                reports=wave.counts.reports,
                gamma=Protection.of(wave.survey).record.written,
                invited=wave.invited,
                left_out=reason,
            )
        )
    by_number = sorted(taken, key=lambda pair: pair[0])
    return by_number, sorted(described, key=lambda each: (each.wave, each.survey))


def _difference(schema: Schema, wave: Counted, name: str) -> tuple[str | None, bool]:
    """Why a question is not that of a wave, and whether it can be compared all the same."""
    attribute, asked = schema.attributes[schema.position(name)], wave.estimator.schema
    if name not in asked.names:
        return f"“{name}” is not asked", False
    other = asked.attributes[asked.position(name)]
    if (other.categories, other.missing) != (attribute.categories, attribute.missing):
        return f"“{name}” has other answers", False
    if other.ask_if != attribute.ask_if:
        return f"“{name}” is asked after other answers", False
    if other.label != attribute.label:
        return f"“{name}” is asked in other words", True
    return None, False


def _reference(counted: Counted, query: WavesQuery) -> str | None:
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


def _estimate(
    wave: Counted, query: WavesQuery, name: str, reference: str | None
) -> dict[Rows, Levels]:
    """Return the levels in one wave."""
    return levels_of(
        wave.estimator,
        name,
        groups=query.groups,
        reference=reference,
        scores=query.scores,
        confidence=query.confidence,
        target=query.target,
    )


def _add(result: WavesResult, rows: Rows, levels: Mapping[int, Levels]) -> None:
    """Add levels, changes and trends of the numbers of one question."""
    waves = [*levels]
    for wave, shown in levels.items():
        result.levels.extend(_messages(WaveLevel, rows, shown, wave=wave))
    every = Levels.stacked([*levels.values()])
    one_wave = np.eye(len(waves))
    for place, wave in enumerate(waves):
        since = _since(result.query, waves, place)
        if since is not None:
            weights = one_wave[place] - one_wave[since]
            of_change = rows._replace(
                of=rows.of.contrast(_CHANGED[rows.of.name][0], weights.tolist())
            )
            change = contrast(every, weights)
            result.changes.extend(
                _messages(WaveChange, of_change, change, wave=wave, since=waves[since])
            )
    # Of two waves the trend is the change.
    if len(waves) > 2:
        weights = slope_weights(every, waves)
        of_trend = rows._replace(of=rows.of.contrast(_CHANGED[rows.of.name][1], weights.tolist()))
        result.trends.extend(_messages(WaveTrend, of_trend, contrast(every, weights)))


#: Change and trend of each quantity.
_CHANGED = {
    "share": ("share_change", "share_trend"),
    "share_difference": ("share_change", "share_trend"),
    "mean": ("mean_change", "mean_trend"),
    "mean_difference": ("mean_change", "mean_trend"),
}


def _since(query: WavesQuery, waves: Sequence[int], place: int) -> int | None:
    """Place of the wave that one is compared with."""
    if query.base is None:
        return place - 1 if place else None
    if query.base not in waves or waves[place] == query.base:
        return None
    return waves.index(query.base)


def _messages(kind: type[E], rows: Rows, each: Levels, **fields: Any) -> Iterator[E]:
    many, lacking = len(rows.answers), np.isnan(each.value)
    reason = _LACKING if isinstance(each, Contrasts) else _NOBODY
    columns: dict[str, Any] = {name: [value] * many for name, value in fields.items()}
    return estimates(
        kind,
        rows.of,
        each.value,
        each.standard_error,
        (np.where(lacking, np.nan, each.lower), np.where(lacking, np.nan, each.upper)),
        errors=(each.perturbation, each.sampling),
        p_value=each.p_value if isinstance(each, Contrasts) else None,
        undefined=[reason if one else None for one in lacking],
        attribute=[rows.attribute] * many,
        answer=rows.answers,
        group=rows.groups,
        **columns,
    )


def _adjust(result: WavesResult, schema: Schema) -> None:
    """Add adjusted p-values of all changes and trends; yes and no to a question are one test."""

    def test(change: WaveChange | WaveTrend) -> tuple[object, ...]:
        attribute = schema.attributes[schema.position(change.attribute)]
        share = len(attribute.categories) == 2 and change.answer is not None
        waves = (change.wave, change.since) if isinstance(change, WaveChange) else ()
        return change.attribute, share or change.answer, change.group, *waves

    every: list[WaveChange | WaveTrend] = [*result.changes, *result.trends]
    tests = {test(each): each.p_value for each in every if each.p_value is not None}
    rates = adjusted_p_values(np.array([*tests.values()], dtype=float))
    adjusted = dict(zip(tests, rates.tolist(), strict=True))
    result.changes[:] = [
        msgspec.structs.replace(each, adjusted=adjusted.get(test(each))) for each in result.changes
    ]
    result.trends[:] = [
        msgspec.structs.replace(each, adjusted=adjusted.get(test(each))) for each in result.trends
    ]


def start(survey: Survey) -> WavesQuery:
    """The clearest question."""
    return WavesQuery(attributes=[clearest(survey)[0].name])


ANALYSIS = Analysis(
    query=WavesQuery,
    title="Change over waves",
    compute=compute,
    start=start,
    grid=grid,
    decide=decide,
    state=state,
    chart=chart,
    diagnostic=changes,
    warnings=warnings,
    interpretation=interpretation,
    applies=lambda survey: survey.series is not None,
    place="Compare",
    order=60,
)
