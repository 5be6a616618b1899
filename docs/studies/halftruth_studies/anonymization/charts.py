"""Chart of a comparison of releases: loss of information by limit."""

from collections.abc import Mapping

from halftruth_shared.results.charts import Axis, Curve, CurveChart
from halftruth_shared.results.wording import number

from .comparison import CompareResult

#: Labels of the measures that can be drawn.
COMPARED: Mapping[str, str] = {
    "variational": "variational distance",
    "l2": "L₂ distance",
    "kl": "Kullback-Leibler divergence",
    "chi_squared": "χ² distance",
    "base_error": "mean relative error of the cells",
    "cube_error": "mean relative error of the cube",
    "guessed": "people whose sensitive value is guessed",
    "over_limit": "people of whose value more than 1/l is told",
}

#: Measures that are shares of people.
_SHARES = ("guessed", "over_limit")


def compare_chart(result: CompareResult, measure: str = "variational") -> CurveChart:
    """Draw a measure of every release by l, as means over the repetitions.

    The split questionnaire, which has no l, is a horizontal line, and only its best guess is drawn.
    Undefined values have no point.

    Parameters
    ----------
    measure : str
        One of `COMPARED`.
    """
    limits = sorted(result.query.diversity)
    x = tuple(map(float, limits))
    curves: dict[str, dict[int, float | None]] = {}
    for release in result.means:
        if release.diversity is None and release.estimate != "likelihood":
            continue
        several = release.kind in ("randomized", "split-questionnaire")
        name = f"{release.kind}, {release.estimate}" if several else release.kind
        over = limits if release.diversity is None else [release.diversity]
        curves.setdefault(name, {}).update(dict.fromkeys(over, getattr(release, measure)))
    note = f"{number(result.people)} people: {', '.join(result.query.quasi)}; sensitive:"
    note += f" {result.query.sensitive}."
    shares = measure in _SHARES
    if shares:
        note += " Someone knows the former, and takes a release's table for the truth."
    return CurveChart(
        title=f"Releases compared: {COMPARED[measure]}",
        notes=(
            note,
            "What 1/l limits is not the same for all releases; the split questionnaire has no l,"
            f" but γ = {result.query.gamma}.",
        ),
        x_axis=Axis("l, of a limit 1/l"),
        y_axis=Axis(COMPARED[measure], shares=shares, scale="linear" if shares else "log"),
        curves=tuple(
            Curve(name, x, tuple(points.get(limit) for limit in limits))
            for name, points in curves.items()
            if any(value is not None for value in points.values())
        ),
    )
