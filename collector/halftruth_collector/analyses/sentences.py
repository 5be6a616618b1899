"""Tables and sentences common to several analyses."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from halftruth_shared.analyses.base import Interval, Items, MeasureEstimate, Method, OpenInterval
from halftruth_shared.analyses.showing import level as level
from halftruth_shared.analyses.showing import of_group as of_group
from halftruth_shared.analyses.showing import of_reports as of_reports
from halftruth_shared.analyses.wording import items, judged, number, value, value_interval

from ..charts.specification import Estimate
from ..estimation.bounds import normal_quantile
from .base import Grid

_SYMBOLS = {
    "phi": "φ",
    "kappa": "κ",
    "chi_squared": "χ²",
    "g_squared": "G²",
    "piatetsky_shapiro": "Piatetsky-Shapiro",
    "j_measure": "J-measure",
    "goodman_kruskal_gamma": "Goodman and Kruskal’s γ",
    "tau_b": "Kendall’s τ_b",
    "somers_d": "Somers’ d",
}


def named(measure: str) -> str:
    """Return the usual name of a measure."""
    return _SYMBOLS.get(measure, measure.replace("_", " "))


def measure_grid(measures: Sequence[MeasureEstimate], confidence: float) -> Grid:
    """Return a table of measures with their intervals."""
    return Grid(
        ["measure", "value, or why there is none", level(confidence)],
        [
            [
                named(measure.name),
                measure.undefined
                or judged(value(measure.value, measure.interval), measure.usability),
                value_interval(measure.interval),
            ]
            for measure in measures
        ],
    )


#: Legend of the thick and the thin part of an interval in two tones.
INNER, OUTER = "without perturbation the interval would be this long", "the interval"


def estimate(
    label: str, value: float | None, interval: OpenInterval | None, inner: Interval | None = None
) -> Estimate:
    """Make an estimate for charts, with open ends as infinite."""
    lower, upper = interval or (None, None)
    endless = interval is not None and upper is None
    return Estimate(label, value, lower, math.inf if endless else upper, inner=inner)


def of_sampling(
    interval: Interval | None, confidence: float, sampling_error: float | None
) -> Interval | None:
    """Return the interval without perturbation, around the same middle; None if unknown."""
    if interval is None or not sampling_error:
        return None
    middle, half = sum(interval) / 2, normal_quantile(1 - confidence) * sampling_error
    return middle - half, middle + half


def notes(result: Any, rows: Sequence[Estimate], *, together: bool = False) -> list[str]:
    """Describe the provenance of a chart's numbers, and how many are missing."""
    if _is_guess(result):
        return [f"{of_reports(result)}.", *of_group(result)]
    hold = "which hold all together" if together else "each by itself"
    people = {"population": "the population", "respondents": "exactly these respondents"}
    lines = [
        f"{of_reports(result)}; {level(result.query.confidence)}s, {hold}, for"
        f" {people[result.query.target]}.",
        *of_group(result),
    ]
    values = [row for row in rows if row.value is not None]
    without = sum(row.interval is None for row in values)
    if without:
        lines.append(f"Without interval, as the error is undefined: {without} of {len(values)}.")
    return lines


def estimated(method: Method) -> list[str]:
    """Describe the supports if the intervals are those of another estimate."""
    return {
        "moment": [],
        "projected": [
            "Supports are projected estimates; the intervals are those of the moment estimates."
        ],
        "likelihood": ["Supports are best guesses, which have no intervals."],
    }[method]


def _is_guess(result: Any) -> bool:
    return getattr(result.query, "estimate", None) == "likelihood"


def with_level(name: str, result: Any) -> str:
    """Name a column of a chart's values, with the level of its intervals if any."""
    return name if _is_guess(result) else f"{name} ({level(result.query.confidence)})"


def grid_of(result: Any, header: Sequence[str], rows: Sequence[Sequence[str]]) -> Grid:
    """Return a table, without its column of intervals for best guesses."""
    if not _is_guess(result):
        return Grid(header, rows)
    shown = [i for i, name in enumerate(header) if name != level(result.query.confidence)]
    return Grid([header[i] for i in shown], [[row[i] for i in shown] for row in rows])


def negative(rows: Sequence[Estimate]) -> list[str]:
    """Explain negative shares, if any."""
    if all(row.value is None or row.value >= 0 for row in rows):
        return []
    return ["A negative support means that the true one is small compared with the error."]


def in_one_tone(rows: Sequence[Estimate]) -> list[str]:
    """Count the intervals without two tones, if others have them."""
    whole = sum(row.interval is not None and row.inner is None for row in rows)
    if not whole or not any(row.inner for row in rows):
        return []
    return [
        "In one tone, as the error without perturbation is undefined for an estimate outside of"
        f" 0 to 100 %: {whole} of {len(rows)}."
    ]


def left_out(shown: int, total: int, which: str) -> list[str]:
    """Describe how much a chart leaves out."""
    if shown == total:
        return []
    return [f"Shown are the {shown} of {number(total, 0)} {which}."]


def listed(names: Sequence[str]) -> str:
    """Join names in a sentence.

    >>> listed(["age", "sex", "vote"])
    'age, sex and vote'
    """
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


#: Names that a sentence lists.
_LISTED = 8


def few(names: Sequence[str], most: int = 4) -> str:
    """Join the first of many names, with the number of others.

    >>> few(["age=old", "age=young", "sex=male"], 2)
    'age=old; age=young; 1 other'
    """
    more = len(names) - most
    rest = [f"{number(more, 0)} other{'' if more == 1 else 's'}"] if more > 0 else []
    return "; ".join([*names[:most], *rest])


def too_uncertain(measures: Iterable[tuple[str, MeasureEstimate]]) -> list[str]:
    """Warn of measures that are not usable without reserve, by the given names."""
    uncertain: dict[str, list[str]] = {"not usable": [], "barely usable": []}
    for name, measure in measures:
        if measure.undefined is None and measure.usability != "usable":
            uncertain[measure.usability].append(name)
    return [
        f"{word.capitalize()}, as too little is known:"
        f" {listed(names) if len(names) <= _LISTED else few(names, _LISTED)}."
        for word, names in uncertain.items()
        if names
    ]


def presence(present: Items) -> list[str]:
    """Describe the category of each attribute that counts as presence, if any."""
    return [f"Presence means {items(present)}."] if present else []


def no_tests(names: Iterable[str]) -> list[str]:
    """Explain χ² and G², if they are among some measures."""
    if not {"chi_squared", "g_squared"}.intersection(names):
        return []
    return [
        "χ² and G² are estimates of association, without what chance and perturbation add, and no"
        " tests; for a test ask for independence."
    ]
