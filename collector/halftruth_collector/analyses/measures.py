"""Association measures of two questions, and the map of all pairs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from halftruth_shared import ParameterError
from halftruth_shared.analyses.base import MeasureEstimate
from halftruth_shared.analyses.measures import Association, MeasuresQuery, MeasuresResult
from halftruth_shared.results.charts import (
    Axis,
    Chart,
    EstimateChart,
    HeatMap,
    Mark,
    Panel,
    Reference,
    Scale,
)
from halftruth_shared.results.claims import Claim, Test
from halftruth_shared.results.wording import number, p_value, percent, with_interval

from ..estimation.answers import present_items
from . import sentences
from .base import Analysis, Counted, Grid, asked
from .deciding import count_in_words, decide_each, first_known, p_in_words, tested_by

#: Ratios are drawn on a logarithmic axis where they differ by more than this factor.
_WIDE = 3.0


def compute(counted: Counted, query: MeasuresQuery) -> MeasuresResult:
    """Measures by ``Estimator.measures``, or the map by ``Estimator.associations``."""
    estimator = counted.estimator
    if query.maps_pairs:
        names = estimator.schema.names if query.attributes is None else query.attributes
        pairs = estimator.associations(names, query.confidence)
        return MeasuresResult(
            **counted.origin(), query=query, attributes=list(names), associations=pairs
        )
    if query.attributes is None:
        raise ParameterError(
            "attributes: expected two or more, which the measures are of", field="attributes"
        )
    return MeasuresResult(
        **counted.origin(),
        query=query,
        attributes=query.attributes,
        present=present_items(estimator.schema, query.attributes, query.present),
        measures=estimator.measures(**asked(query)),
    )


def grid(result: MeasuresResult) -> Grid:
    """Measures with their intervals, or the pairs of the map."""
    return _map_grid(result) if result.associations else sentences.estimates_grid(result)


def chart(result: MeasuresResult) -> Chart:
    """Measures by the scales on which they can be compared, or the map."""
    return _map_chart(result) if result.associations else _chart(result)


def decide(result: MeasuresResult) -> tuple[list[Test], list[Claim]]:
    """Which pairs of the map are associated; of measures the first one that is known."""
    if not result.associations:
        return [], first_known([*enumerate(result.measures)])
    # Both directions of a pair are one test.
    first: dict[frozenset[str], tuple[int, Association]] = {}
    for i, pair in enumerate(result.associations):
        first.setdefault(frozenset((pair.row, pair.column)), (i, pair))
    pairs = [*first.values()]
    return decide_each(
        "associated",
        pairs,
        name="Wald",
        rate=1 - result.query.confidence,
        direction=lambda _: None,
        candidates=len(pairs),
    )


def state(result: MeasuresResult, claim: Claim) -> str:
    """State a measure, an associated pair, or how many pairs are associated."""
    if not result.associations:
        about = sentences.listed([sentences.quoted(name) for name in result.attributes])
        if claim.kind == "untested":
            return f"No measure of {about} is known."
        measure = result.measures[claim.rows[0]]
        return f"{about}: {sentences.named(measure.name)} {with_interval(measure)}."
    if claim.kind == "untested":
        return "No association can be tested with these reports."
    if claim.kind == "none found":
        return (
            f"No significant association among {number(claim.count or 0)} pairs of questions (false"
            f" discovery rate {percent(1 - result.query.confidence)})."
        )
    if claim.by_rate:
        return count_in_words(claim, "associations of pairs")
    pair = result.associations[claim.rows[0]]
    return (
        f"{sentences.quoted(pair.row)} and {sentences.quoted(pair.column)} are associated"
        f" ({p_in_words(tested_by(result, claim))})."
    )


def warnings(result: MeasuresResult) -> list[str]:
    """Warn of measures, or of strengths of associations, that are too uncertain."""
    if result.associations:
        return _map_warnings(result)
    return sentences.uncertain_measures(result.measures)


def interpretation(result: MeasuresResult) -> list[str]:
    """Describe presence and which measures are no tests, or what significant means."""
    if result.associations:
        return _map_interpretation(result)
    names = [measure.name for measure in result.measures]
    return [*sentences.presence(result.present), *sentences.no_tests(names)]


def _chart(result: MeasuresResult) -> EstimateChart:
    """Association measures, one panel for each scale on which they can be compared."""
    known = {measure.name: measure for measure in result.measures}
    panels = [
        _panel(scale, [known.pop(name) for name in scale.names if name in known])
        for scale in _SCALES
    ]
    panels += [_panel(_MeasureScale("Other", (name,)), [known[name]]) for name in known]
    shown = tuple(panel for panel in panels if panel.rows)
    rows = [row for panel in shown for row in panel.rows]
    notes = [
        *sentences.presence(result.present),
        *sentences.notes(result, rows),
        *warnings(result),
        "Intervals of ratios are on the logarithmic scale; measures that cannot be negative are"
        " corrected for what chance adds.",
    ]
    return EstimateChart(
        title=sentences.title(result, "Association", " × ".join(result.attributes)),
        notes=tuple(notes),
        panels=shown,
    )


@dataclass(frozen=True)
class _MeasureScale:
    """Measures that are comparable on one axis, and their value at independence."""

    heading: str
    names: tuple[str, ...]
    independent: float | None = None
    ratios: bool = False


_SCALES = (
    _MeasureScale(
        "Correlations and differences: at most 1, and 0 when independent",
        (
            "phi",
            "kappa",
            "certainty",
            "added_value",
            "risk_difference",
            "column_risk_difference",
            "piatetsky_shapiro",
            "goodman_kruskal_gamma",
            "tau_b",
            "somers_d",
        ),
        independent=0,
    ),
    _MeasureScale(
        "Ratios: 1 when independent",
        ("odds_ratio", "interest", "conviction", "collective_strength"),
        independent=1,
        ratios=True,
    ),
    _MeasureScale(
        "Overlap and confidence: no fixed value when independent",
        ("jaccard", "cosine", "laplace"),
    ),
    _MeasureScale(
        "Information and explained variation: never negative in truth, and 0 when independent",
        ("mutual_information", "uncertainty_coefficient", "concentration", "j_measure"),
        independent=0,
    ),
    _MeasureScale(
        "Estimates of association that grow with the number of reports, and are no tests",
        ("chi_squared", "g_squared"),
    ),
    _MeasureScale(
        "Standardized residual: 0 when independent; grows with the root of the reports",
        ("standardized_residual",),
        independent=0,
    ),
)


def _panel(scale: _MeasureScale, measures: Sequence[MeasureEstimate]) -> Panel:
    rows = tuple(sentences.drawn(sentences.named(measure.name), measure) for measure in measures)
    line = None if scale.independent is None else Reference(scale.independent, "independent")
    axis = Axis("", scale=_ratio_scale(rows) if scale.ratios else "linear")
    logarithmic = ", on a logarithmic axis" if axis.scale == "log" else ""
    return Panel(axis, rows, scale.heading + logarithmic, line)


def _ratio_scale(rows: Sequence[Mark]) -> Scale:
    """Logarithmic where ratios differ widely, so that 1/2 and 2 are equally far from 1."""
    values = [1.0, *(row.value for row in rows if row.value is not None)]
    seen = values + [end for row in rows for end in row.interval or () if end > 0]
    return "log" if min(values) > 0 and max(seen) > _WIDE * min(seen) else "linear"


def _map_chart(result: MeasuresResult) -> HeatMap:
    """Heat map of the association of every ordered pair."""
    estimates = {(a.row, a.column): a for a in result.associations}
    names = tuple(result.attributes)
    cells = tuple(
        tuple(
            replace(
                sentences.drawn(f"{row} → {column}", estimates[row, column]),
                doubtful=False,
                category=None if significant(result, estimates[row, column]) else "not significant",
            )
            if row != column
            else None
            for column in names
        )
        for row in names
    )
    return HeatMap(
        title=sentences.title(result, "Associations of all pairs"),
        notes=(
            *sentences.notes(result, [cell for row in cells for cell in row if cell]),
            *_map_warnings(result),
            "Share by which the gini index of the column's attribute falls when the row's is"
            " known (concentration τ), without what chance adds.",
            f"Pale: not significant. {_rate(result)}",
        ),
        rows=names,
        columns=names,
        cells=cells,
    )


def significant(result: MeasuresResult, pair: Association) -> bool:
    """Return true if the association is significant among all pairs."""
    return pair.adjusted is not None and pair.adjusted <= 1 - result.query.confidence


def _strongest(result: MeasuresResult) -> list[Association]:
    """Each pair of questions once, in its stronger direction; significant ones first.

    Those whose strength is not known come last of these, the clearest first.
    """
    larger: dict[frozenset[str], Association] = {}
    for pair in sorted(result.associations, key=lambda each: -(each.value or 0.0)):
        larger.setdefault(frozenset((pair.row, pair.column)), pair)

    def place(pair: Association) -> tuple[bool, float, float]:
        clear = 1.0 if pair.p_value is None else pair.p_value
        return not significant(result, pair), -(pair.value or 0.0), clear

    return sorted(larger.values(), key=place)


def _map_grid(result: MeasuresResult) -> Grid:
    """Pairs of questions by the strength of their association, significant ones first."""
    level = sentences.level(result.query.confidence)
    return Grid(
        [
            "question",
            "explains",
            "association",
            "share of it (τ)",
            level,
            "adjusted p-value",
        ],
        [
            [
                pair.row,
                pair.column,
                "significant" if significant(result, pair) else "not significant",
                pair.undefined or sentences.share_cells(pair)[0],
                sentences.share_cells(pair)[1],
                p_value(pair.adjusted),
            ]
            for pair in _strongest(result)
        ],
    )


def _rate(result: MeasuresResult) -> str:
    return f"False discovery rate {percent(1 - result.query.confidence)}."


def _map_warnings(result: MeasuresResult) -> list[str]:
    """Warn of significant associations whose strength is too uncertain."""
    sure = [pair for pair in _strongest(result) if significant(result, pair)]
    vague = sum(pair.reliability == "not usable" for pair in sure)
    if not vague:
        return []
    return [
        f"The strength of {number(vague)} of {number(len(sure))} significant associations is not"
        " usable."
    ]


def _map_interpretation(result: MeasuresResult) -> list[str]:
    """Describe what significant means."""
    return [
        f"{_rate(result)} A pair without a mark may still be associated; the reports cannot show"
        " it."
    ]


ANALYSIS = Analysis(
    query=MeasuresQuery,
    title="Measures of association",
    compute=compute,
    start=lambda _: MeasuresQuery(),
    grid=grid,
    decide=decide,
    state=state,
    chart=chart,
    warnings=warnings,
    interpretation=interpretation,
    together=2,
    place="Relate",
    order=45,
)
