"""Tables and figures of ``noise.md``: when correlations undo additive noise."""

from functools import partial

from halftruth_shared.results.charts import Axis, Curve, CurveChart, Reference
from halftruth_studies.attacks.experiments import (
    SIGMA,
    Point,
    larger_remainder,
    more_attributes,
    more_components,
    noise_like_the_data,
)
from page import Page

RECORDS, SEED = 10_000, 1
FILES = (300, 1_000, 3_000, 10_000, 30_000)

EXPERIMENTS = (
    ("1", more_attributes, "attributes", "Five components, more and more attributes"),
    ("2", more_components, "large eigenvalues", "100 attributes, more and more components"),
    ("3", larger_remainder, "the other 80 eigenvalues", "What is beside the components grows"),
    ("4", noise_like_the_data, "correlation dissimilarity", "Noise with the data's eigenvectors"),
)


def study(page: Page) -> None:
    """Run the four experiments, and one point of two of them with more and fewer records."""
    for number, experiment, x, title in EXPERIMENTS:
        points = list(experiment(records=RECORDS, seed=SEED))
        marker = None
        if number == "4":
            marker = Reference(points[len(points) // 2].x, "independent noise")
        page.figure(f"experiment-{number}", _chart(points, x, title, marker))
        page.table(f"errors-{number}", [x, *_header(points)], _rows(points))
    for place, repeat in (
        ("records-1", partial(more_attributes, [100])),
        ("records-3", partial(larger_remainder, [5])),
    ):
        points = [p for n in FILES for p in repeat(records=n, seed=SEED)]
        rows = [[_number(n), *row[1:]] for n, row in zip(FILES, _rows(points), strict=True)]
        page.table(place, ["records", *_header(points)], rows)


def _chart(points: list[Point], x: str, title: str, marker: Reference | None) -> CurveChart:
    places = tuple(round(point.x, 6) for point in points)
    errors = {name: tuple(p.errors[name] for p in points) for name in points[0].errors}
    del errors["NDR"]
    errors["BE-DR, covariance known"] = tuple(point.limit for point in points)
    return CurveChart(
        title=title,
        notes=(
            f"Root mean square error; normal data, {_number(RECORDS)} records, noise of {SIGMA:g}.",
        ),
        x_axis=Axis(x),
        y_axis=Axis("root mean square error"),
        x_marker=marker,
        curves=tuple(Curve(name, places, y) for name, y in errors.items()),
        y_marker=Reference(SIGMA, "the noise itself (NDR)"),
    )


def _number(n: int) -> str:
    return f"{n:,}".replace(",", " ")


def _header(points: list[Point]) -> list[str]:
    return [*points[0].errors, "BE-DR, covariance known"]


def _rows(points: list[Point]) -> list[list[str]]:
    return [
        [f"{round(p.x, 6):.3g}", *(f"{error:.2f}" for error in p.errors.values()), f"{p.limit:.2f}"]
        for p in points
    ]
