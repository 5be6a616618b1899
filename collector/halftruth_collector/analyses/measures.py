"""Association measures."""

from collections.abc import Sequence
from dataclasses import dataclass

from halftruth_shared.analyses.base import MeasureEstimate
from halftruth_shared.analyses.charts import Axis, EstimateChart, Mark, Panel, Reference, Scale
from halftruth_shared.analyses.measures import MeasuresQuery, MeasuresResult
from halftruth_shared.analyses.wording import with_interval

from ..estimation.answers import present_items
from . import sentences
from .base import Analysis, Counted, asked, names_of_clearest

#: Ratios are drawn on a logarithmic axis where they differ by more than this factor.
_WIDE = 3.0


def compute(counted: Counted, query: MeasuresQuery) -> MeasuresResult:
    """Association measures as ``Estimator.measures`` gives them."""
    measures = counted.estimator.measures(**asked(query))
    present = present_items(counted.estimator.schema, query.attributes, query.present)
    return MeasuresResult(**counted.origin(), query=query, present=present, measures=measures)


def chart(result: MeasuresResult) -> EstimateChart:
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
        title=sentences.title(result, "Association", " × ".join(result.query.attributes)),
        notes=tuple(notes),
        panels=shown,
        values_label=f"value ({sentences.level(result.query.confidence)})",
    )


def headline(result: MeasuresResult) -> str:
    """The first measure that is known."""
    about = sentences.listed([sentences.quoted(name) for name in result.query.attributes])
    known = [each for each in result.measures if each.value is not None]
    if not known:
        return f"No measure of {about} is known."
    return f"{about}: {sentences.named(known[0].name)} {with_interval(known[0])}."


def warnings(result: MeasuresResult) -> list[str]:
    """Warn of measures that are too uncertain."""
    return sentences.uncertain_measures(result.measures)


def interpretation(result: MeasuresResult) -> list[str]:
    """Describe presence, and which measures are no tests."""
    names = [measure.name for measure in result.measures]
    return [*sentences.presence(result.present), *sentences.no_tests(names)]


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


ANALYSIS = Analysis(
    query=MeasuresQuery,
    title="Measures",
    compute=compute,
    start=lambda survey: MeasuresQuery(attributes=names_of_clearest(survey)),
    grid=sentences.estimates_grid,
    headline=headline,
    chart=chart,
    warnings=warnings,
    interpretation=interpretation,
    together=2,
    place="Relate",
    order=50,
)
