"""Charts of schemes beside each other, by length of itemsets and by randomization."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..rivals.experiment import LengthErrors, RandomizedErrors, RivalsResult
from ..wording import number, percent
from .specification import Axis, Curve, CurveChart


@dataclass(frozen=True)
class RivalMeasure:
    """What a chart of schemes shows, by length."""

    title: str
    axis: Axis
    of: Callable[[LengthErrors], float | None]


#: By their names on the command line.
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


def rivals_chart(result: RivalsResult, measure: str) -> CurveChart:
    """One of :data:`RIVAL_MEASURES` against the length, a curve for each scheme that has it."""
    shown = RIVAL_MEASURES[measure]
    curves = [
        Curve(
            scheme.scheme,
            tuple(errors.length for errors in scheme.lengths),
            tuple(shown.of(errors) for errors in scheme.lengths),
        )
        for scheme in result.schemes
    ]
    return CurveChart(
        title=shown.title,
        notes=(
            f"{number(result.records)} records, amplification {number(result.gamma)}; frequent"
            f" from a support of {percent(result.min_support)} on; mean of {result.surveys}"
            " simulated surveys. A curve ends where it is undefined.",
        ),
        x_axis=Axis("length of itemsets"),
        y_axis=shown.axis,
        curves=tuple(curve for curve in curves if curve.known),
    )


def posterior_chart(points: Sequence[RandomizedErrors], prior: float) -> CurveChart:
    """Range of a property's posterior against the randomization α of RAN-GD."""
    alphas = tuple(point.alpha for point in points)
    return CurveChart(
        title="Posterior under randomized matrices",
        notes=(
            f"A property with a prior of {percent(prior)}, for someone who knows the r that a"
            " client drew. Nobody does: r is never sent.",
        ),
        x_axis=Axis("half-range α of r, as a share of γx"),
        y_axis=Axis("posterior", shares=True),
        curves=(
            Curve("r at its upper end", alphas, tuple(point.upper for point in points)),
            Curve("r at its lower end", alphas, tuple(point.lower for point in points)),
        ),
    )


def randomization_chart(points: Sequence[RandomizedErrors]) -> CurveChart:
    """Support error of RAN-GD against α, a curve for each length of itemsets."""
    lengths = range(len(points[0].errors.lengths))
    return CurveChart(
        title="Support error of randomized matrices",
        notes=("Relative to the supports of found frequent itemsets. α = 0 is gamma-diagonal.",),
        x_axis=Axis("half-range α of r, as a share of γx"),
        y_axis=Axis("mean error of supports", True),
        curves=tuple(
            Curve(
                f"length {k + 1}",
                tuple(point.alpha for point in points),
                tuple(point.errors.lengths[k].support_error for point in points),
            )
            for k in lengths
        ),
    )
