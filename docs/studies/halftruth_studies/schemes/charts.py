"""Charts of the comparison of schemes, by length of itemsets and by randomization."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from halftruth_shared.results.charts import Axis, Curve, CurveChart, Reference
from halftruth_shared.results.wording import number, percent

from .results import LengthErrors, RivalsResult


@dataclass(frozen=True)
class RivalMeasure:
    """A measure of schemes by length of itemsets, for a chart."""

    title: str
    axis: Axis
    of: Callable[[LengthErrors], float | None]


#: Measures by length of itemsets.
RIVAL_MEASURES = {
    "support-error": RivalMeasure(
        "Support error by length",
        Axis("mean error of found frequent itemsets, relative to their supports", True, "log"),
        lambda errors: errors.support_error,
    ),
    "false-negatives": RivalMeasure(
        "False negatives by length",
        Axis("frequent itemsets not found, in percent of frequent ones", True),
        lambda errors: errors.false_negatives,
    ),
    "false-positives": RivalMeasure(
        "False positives by length",
        Axis("found itemsets not frequent, in percent of frequent ones", True),
        lambda errors: errors.false_positives,
    ),
    "root-mean-square": RivalMeasure(
        "Error of all supports by length",
        Axis("root-mean-square error of all supports", True, "log"),
        lambda errors: errors.root_mean_square,
    ),
    "condition-number": RivalMeasure(
        "Condition numbers by length",
        Axis("condition number", scale="log"),
        lambda errors: errors.condition_number,
    ),
}


def rivals_chart(measure: RivalMeasure, result: RivalsResult) -> CurveChart:
    """Draw a measure by length, with a curve for each scheme that has it."""
    curves = [
        Curve(
            scheme.scheme,
            tuple(errors.length for errors in scheme.lengths),
            tuple(measure.of(errors) for errors in scheme.lengths),
        )
        for scheme in result.schemes
    ]
    return CurveChart(
        title=measure.title,
        notes=(
            f"{number(result.records)} records, amplification {number(result.gamma)}; frequent"
            f" from a support of {percent(result.min_support)} on; mean of {result.surveys}"
            " simulated surveys. A curve ends where it is undefined.",
        ),
        x_axis=Axis("length of itemsets"),
        y_axis=measure.axis,
        curves=tuple(curve for curve in curves if curve.defined_points),
    )


def posterior_chart(result: RivalsResult) -> CurveChart:
    """Draw the range of a property's posterior by the randomization α of RAN-GD."""
    points = result.randomized
    alphas = tuple(point.alpha for point in points)
    prior = f"with a prior of {percent(points[0].prior)} " if points else ""
    return CurveChart(
        title="Posterior under randomized matrices",
        notes=(
            f"Of a property {prior}for someone who knows the r that a client drew. Nobody does: r"
            " is never sent.",
        ),
        x_axis=_ALPHA,
        y_axis=Axis("posterior", shares=True),
        curves=(
            Curve("r at its upper end", alphas, tuple(point.upper for point in points)),
            Curve("r at its lower end", alphas, tuple(point.lower for point in points)),
        ),
        y_marker=Reference(points[0].upper, "without knowing r") if points else None,
    )


def randomization_chart(result: RivalsResult) -> CurveChart:
    """Draw the error of all supports under RAN-GD by α, with a curve for each length."""
    points = result.randomized
    lengths = range(len(points[0].errors.lengths)) if points else ()
    return CurveChart(
        title="Error under randomized matrices",
        notes=("Root-mean-square error of all supports. α = 0 is gamma-diagonal.",),
        x_axis=_ALPHA,
        y_axis=Axis("root-mean-square error of all supports", shares=True, scale="log"),
        curves=tuple(
            Curve(
                f"length {k + 1}",
                tuple(point.alpha for point in points),
                tuple(point.errors.lengths[k].root_mean_square for point in points),
            )
            for k in lengths
        ),
    )


_ALPHA = Axis("half-range α of r, as a share of γx")

#: Every chart of schemes, by its name on the command line.
RIVAL_CHARTS: Mapping[str, Callable[[RivalsResult], CurveChart]] = {
    **{name: partial(rivals_chart, measure) for name, measure in RIVAL_MEASURES.items()},
    "posterior": posterior_chart,
    "randomization": randomization_chart,
}
